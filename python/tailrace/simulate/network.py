"""What messages take: by the command line, else by the model, else what networks take."""

from __future__ import annotations

from typing import NamedTuple

from tailrace.engine import eager_limit_bytes
from tailrace.errors import TailraceError
from tailrace.gathering import EDGES, Edge
from tailrace.predict.model import Model, Quantity, Rate
from tailrace.predict.network import BYTE_NS, LATENCY_NS
from tailrace.simulate.prediction import Network
from tailrace.units import NANOSECONDS_PER_SECOND, byte_count, seconds

ALL: tuple[Edge, ...] = ("value", *EDGES)


class Messages(NamedTuple):
    """`assumes`: a sentence for each figure that nobody gave."""

    network: Network
    assumes: tuple[str, ...]


class Given(NamedTuple):
    """What somebody says of messages; None: nothing."""

    latency_s: float | None = None
    bytes_per_s: int | None = None
    eager_limit_bytes: int | None = None


NOTHING = Given()


def chosen(model: Model, ranks: int, ranks_per_node: int, given: Given = NOTHING) -> Messages:
    """Of so many ranks. Raises TailraceError for what no message can do."""
    inside = ranks <= ranks_per_node
    latency = rate = limit = None
    if model.network is not None:
        latency = model.network.latency(inside)
        rate = model.network.rate(inside, ranks_per_node)
        limit = model.network.eager_limit_bytes
    if given.bytes_per_s == 0:
        raise TailraceError(
            "messages that move no bytes a second never arrive", "--bandwidth takes 1 or more"
        )
    if given.eager_limit_bytes is not None:
        limit = given.eager_limit_bytes
    latency_ns, of_latency = _latency(given.latency_s, latency, model.name)
    byte_ns, of_rate = _byte(given.bytes_per_s, rate, model.name)
    network = Network(latency_ns, byte_ns, eager_limit_bytes() if limit is None else limit)
    return Messages(network, of_latency + of_rate)


def _latency(
    given_s: float | None, known: Quantity | None, name: str
) -> tuple[dict[Edge, float], tuple[str, ...]]:
    if given_s is not None:
        return dict.fromkeys(ALL, given_s * NANOSECONDS_PER_SECOND), ()
    if known is not None:
        said = f"a message takes {seconds(known.value)}, as {name} says"
        return {edge: getattr(known, edge) * NANOSECONDS_PER_SECOND for edge in ALL}, (said,)
    said = "a message takes 2 µs, between 1 and 5: --latency says what it takes"
    return LATENCY_NS, (said,)


def _byte(
    given: int | None, known: Rate | None, name: str
) -> tuple[dict[Edge, float], tuple[str, ...]]:
    if given is not None:
        return dict.fromkeys(ALL, NANOSECONDS_PER_SECOND / max(given, 1)), ()
    if known is not None:
        # the lowest rate takes most
        rates: dict[Edge, float] = {"value": known.value, "low": known.high, "high": known.low}
        said = f"a rank's messages move {byte_count(known.value)}/s, as {name} says"
        return {edge: NANOSECONDS_PER_SECOND / rate for edge, rate in rates.items()}, (said,)
    said = "a rank's messages move 5 GB/s, between 1 and 20: --bandwidth says what they move"
    return BYTE_NS, (said,)
