"""What messages take, from what ranks on some nodes measured: a latency, and bytes over a rate."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from tailrace.calibration.programs import Errors, off_and_errors
from tailrace.calibration.quantities import quantity, rate
from tailrace.calibration.several import Sample, Several
from tailrace.gathering import Edge
from tailrace.predict.model import Network, Quantity, Rate
from tailrace.units import byte_count

SMALLEST_BYTES = 8
LEAST_HELD_OUT = 2
# The eager limit of rounds that agree.
SAME = 0.1
OPPOSITE: dict[Edge, Edge] = {"value": "value", "low": "high", "high": "low"}


class Messages:
    """The network, as far as ranks on these nodes can tell, and what could not be told. `errors`:
    on messages of sizes that were drawn, and are no part of the fit."""

    def __init__(self, several: Several) -> None:
        self._several = several
        self.unknown: list[str] = []
        found = Network(
            latency_s=self._latency("between"),
            bytes_per_s=self._rate("between", one=True),
            node_bytes_per_s=self._rate("between", one=False),
            inside_latency_s=self._latency("inside"),
            inside_bytes_per_s=self._rate("inside", one=True),
            eager_limit_bytes=self._eager_limit(),
        )
        held_out = [Sent(sample) for sample in several.samples if _is_drawn(sample)]
        self.network, self.errors = judged_messages(held_out, found)
        if several.nodes < 2:
            self.unknown.append("messages between nodes: all ranks ran on one")
        elif found.node_bytes_per_s is None:
            self.unknown.append("what several ranks of a node send together: each node had one")

    def _latency(self, where: str) -> Quantity | None:
        taken = [
            sample.seconds
            for sample in self._several.fitted("message", where)
            if sample.bytes == SMALLEST_BYTES
        ]
        return quantity(taken) if taken else None

    def _rate(self, where: str, one: bool) -> Rate | None:
        """Of one rank's messages, or of several ranks' of a node, when they follow each other."""
        rates = [
            sample.bytes / sample.seconds
            for sample in self._several.fitted("stream", where)
            if (sample.ranks == 1) == one and sample.seconds > 0
        ]
        return rate(rates) if rates else None

    def _eager_limit(self) -> int | None:
        """The largest message whose sender did not wait for a receiver that was late."""
        where = "between" if self._several.nodes > 1 else "inside"
        samples = self._several.fitted("eager", where)
        if not samples:
            return None
        if any(sample.block_bytes == 0 for sample in samples):
            tried = byte_count(max(sample.bytes for sample in samples))
            self.unknown.append(f"the eager limit: no sender waited, up to {tried}")
            return None
        limits = [sample.bytes for sample in samples]
        middle = int(median(limits))
        if max(limits) - min(limits) > SAME * middle:
            between = f"{byte_count(min(limits))} and {byte_count(max(limits))}"
            self.unknown.append(f"the eager limit: rounds found it between {between}")
            return None
        return middle


def _is_drawn(sample: Sample) -> bool:
    return sample.experiment == "message" and sample.held_out


class Sent(NamedTuple):
    """A message that was held out."""

    sample: Sample

    @property
    def measured_s(self) -> float:
        return self.sample.seconds

    def predicted_s(self, network: Network, edge: Edge = "value") -> float:
        inside = self.sample.where == "inside"
        latency, bytes_per_s = network.latency(inside), network.rate(inside, 1)
        if latency is None or bytes_per_s is None:
            return self.measured_s
        taken: float = getattr(latency, edge)
        return taken + self.sample.bytes / float(getattr(bytes_per_s, OPPOSITE[edge]))


def judged_messages(held_out: list[Sent], network: Network) -> tuple[Network, Errors | None]:
    """The network, its intervals widened by how far messages are off, and the errors on them."""
    if len(held_out) < LEAST_HELD_OUT:
        return network, None
    changes: dict[str, Quantity] = {}
    for where in ("between", "inside"):
        there = [sent for sent in held_out if sent.sample.where == where]
        if len(there) >= LEAST_HELD_OUT:
            off, _ = off_and_errors(there, network)
            changes |= _widened(network, where == "inside", off)
    return network.model_copy(update=changes), off_and_errors(held_out, network)[1]


def _widened(network: Network, inside: bool, off: Quantity) -> dict[str, Quantity]:
    """Rates and latencies of one place, so that messages take what was measured."""
    changes: dict[str, Quantity] = {}
    for name, given in network:
        if name.startswith("inside_") != inside or not isinstance(given, Quantity):
            continue
        wide = {"low": given.low * off.low, "high": given.high * off.high}
        if isinstance(given, Rate):
            wide = {"low": given.low / off.high, "high": given.high / off.low}
        changes[name] = given.model_copy(update=wide)
    return changes
