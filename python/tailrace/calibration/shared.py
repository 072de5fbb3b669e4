"""What nodes have of their own and what they share, from what several of them reached at the same
time: their links, the servers' rate, locks, and the service for names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tailrace.calibration.quantities import ENDLESS, HIGH, LOW, quantity, rate
from tailrace.calibration.several import Several
from tailrace.predict.model import (
    ByteRates,
    Client,
    Locks,
    Metadata,
    Model,
    Rate,
)
from tailrace.units import byte_count

# Several reach more than one if they reach so many times as much; all together no more than they
# are given if it is less than such a share of as many times what one reaches.
MORE, FULL = 1.25, 0.8
# Rates that are one.
SAME = 1.25
# Calls on names for each file that is made, closed, looked up and removed.
CALLS_A_FILE = 4
OWN_FILES = 0


class Way(NamedTuple):
    """Bytes or calls a second by number of ranks, each number with a value for each round."""

    rates: dict[int, np.ndarray]

    @property
    def alone(self) -> np.ndarray:
        return self.rates[1]

    @property
    def most(self) -> int:
        """The largest number of ranks."""
        return max(self.rates)

    @property
    def together(self) -> np.ndarray:
        """Of the number of ranks that reached most."""
        return max(self.rates.values(), key=lambda values: float(np.median(values)))

    @property
    def grows(self) -> bool:
        """Whether several reach more than one."""
        return bool(np.median(self.together) > MORE * np.median(self.alone))

    @property
    def is_full(self) -> bool:
        """Whether they hold each other up."""
        of_all = float(np.median(self.rates[self.most]))
        return of_all < FULL * self.most * float(np.median(self.alone))


class Shared:
    """The model of one client with what several told beside it, and what could not be told."""

    def __init__(self, model: Model, several: Several) -> None:
        self._several = several
        self.unknown: list[str] = []
        if several.nodes < 2:
            self.unknown.append(
                "what several nodes have of their own and what they share: all ranks ran on one"
            )
            self.model = model
            return
        # of what began when the ways stood idle; they share one bucket or have one each: at least
        self._at_once = model.bucket.bytes.value if model.bucket else 0.0
        ways = {name: self._moved(name) for name in ("write", "read")}
        rates = {name: self._rate(model, name, way) for name, way in ways.items()}
        changed: dict[str, object] = {
            "bytes_per_s": ByteRates(
                copy_in=model.bytes_per_s.copy_in, copy_out=model.bytes_per_s.copy_out, **rates
            ),
            "client": self._client(ways),
            "locks": self._locks(model),
            "metadata": self._metadata(),
        }
        self.model = model.model_copy(update=changed)

    def _by_ranks(self, experiment: str, amount: str) -> dict[int, np.ndarray]:
        """What all ranks together did in a second."""
        found: dict[int, list[float]] = {}
        for sample in self._several.fitted(experiment):
            each = getattr(sample, amount)
            all_ranks = max(each * sample.ranks - self._at_once, 0) if amount == "bytes" else each
            found.setdefault(sample.ranks, []).append(all_ranks / sample.seconds)
        return {ranks: np.asarray(values) for ranks, values in found.items()}

    def _moved(self, experiment: str) -> Way:
        return Way(self._by_ranks(experiment, "bytes"))

    # --- bytes ---

    def _rate(self, model: Model, name: str, way: Way) -> Rate:
        """Of all nodes together."""
        one: Rate = getattr(model.bytes_per_s, name)
        all_of_them = way.rates[way.most]
        if not way.grows:
            low = float(np.percentile(all_of_them, LOW))
            if np.median(all_of_them) < np.median(way.alone) / SAME:
                self.unknown.append(
                    f"why {way.most} nodes together {name} {_a_second(all_of_them)}, and one"
                    f" {_a_second(way.alone)}"
                )
            return one.model_copy(update={"low": min(one.low, low)})
        if way.is_full:
            return rate(way.together)
        self.unknown.append(
            f"what the servers {name} beyond {_a_second(all_of_them)}: {way.most} nodes did not"
            " hold each other up"
        )
        return rate(all_of_them).model_copy(update={"high": ENDLESS})

    def _client(self, ways: dict[str, Way]) -> Client | None:
        """A node's own link: where several nodes reach more than one, one is held up by it."""
        own = [way.alone for way in ways.values() if way.grows]
        if not own:
            nodes = self._several.nodes
            self.unknown.append(
                f"the rate of a node's own link: {nodes} nodes together reach no more than one"
            )
            return None
        # where one node reaches all that the servers give, its link is no slower than that
        every = [*own, *(way.alone for way in ways.values() if not way.grows)]
        fastest = max(every, key=lambda values: float(np.median(values)))
        if np.median(fastest) <= SAME * np.median(np.concatenate(own)):
            return Client(bytes_per_s=rate(np.concatenate(own)))
        self.unknown.append(
            f"a node's link by one number: alone it writes {_a_second(ways['write'].alone)} and"
            f" reads {_a_second(ways['read'].alone)}"
        )
        low = min(float(np.percentile(values, LOW)) for values in every)
        return Client(bytes_per_s=rate(fastest).model_copy(update={"low": low}))

    # --- locks ---

    def _locks(self, model: Model) -> Locks | None:
        """Handed over at each turn in one file, where that takes longer than in files of their
        own."""
        turns = {
            apart: np.asarray(
                [each.seconds for each in self._several.fitted("turns") if each.bytes == apart]
            )
            for apart in sorted({sample.bytes for sample in self._several.fitted("turns")})
        }
        own = turns.pop(OWN_FILES)
        held_up = [apart for apart, values in turns.items() if _is_longer(values, own)]
        if not held_up:
            self.unknown.append(
                "locks: in turns, two nodes write to one file as fast as to files of their own"
            )
            return None
        farthest = max(held_up)
        beyond = [apart for apart in turns if apart > farthest]
        if beyond:
            self.unknown.append(
                f"how much of a file is locked at once, beyond that it is more than"
                f" {byte_count(farthest)} and up to {byte_count(min(beyond))}"
            )
        explained = np.median(own) + _arrival_s(model, self._several.fitted("turns")[0].block_bytes)
        return Locks(
            granularity_bytes=min(beyond) if beyond else "file",
            hand_over_s=quantity(np.clip(turns[farthest] - explained, 0, None)),
        )

    # --- names ---

    def _metadata(self) -> Metadata | None:
        """Those of all ranks, if nodes hold each other up: ranks of one node may do so in their
        client."""
        files = self._by_ranks("names", "count")
        every = Way({ranks: CALLS_A_FILE * values for ranks, values in files.items()})
        nodes = Way(
            {ranks: values for ranks, values in every.rates.items() if ranks <= self._several.nodes}
        )
        if nodes.is_full:
            return Metadata(per_second=rate(every.together))
        calls = float(np.median(nodes.rates[nodes.most]))
        self.unknown.append(
            f"how many calls on names the servers take: {nodes.most} nodes made {calls:.0f} a"
            " second and did not hold each other up"
        )
        return None


def _is_longer(values: np.ndarray, own: np.ndarray) -> bool:
    apart = np.percentile(values, LOW) > np.percentile(own, HIGH)
    return bool(apart and np.median(values) > MORE * np.median(own))


def _arrival_s(model: Model, size: int) -> float:
    """What a write waits for that another node's is awaited before it."""
    sent = model.calls.sent_write.value + size / model.bytes_per_s.write.value
    return sent + model.calls.arrival.value


def _a_second(values: np.ndarray) -> str:
    return f"{byte_count(float(np.median(values)))}/s"
