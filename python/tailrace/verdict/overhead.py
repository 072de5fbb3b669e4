"""What capture itself took of the run.

Capture measures it where it takes it, for each thread; traces of other versions only know what
recording an event takes in a loop of its own. Nearly all of it lies between the calls, and so in
useful time: what is said of uneven or late computation is said without it.
"""

from typing import Any, NamedTuple

import numpy as np

from tailrace.verdict.efficiencies import Times

# About what two runs of one program differ by; and what may change the thing that is measured.
NOTABLE_OVERHEAD = 0.02


class Overhead(NamedTuple):
    """`own_ns`: by rank, at most the run time. `measured`: where it was taken."""

    own_ns: np.ndarray
    measured: bool
    runtime_ns: int

    @property
    def rank(self) -> int:
        """That with most of it."""
        return int(self.own_ns.argmax())

    @property
    def most_ns(self) -> int:
        return int(self.own_ns.max(initial=0))

    @property
    def share(self) -> float:
        return self.most_ns / self.runtime_ns if self.runtime_ns else 0.0

    @property
    def notable(self) -> bool:
        return self.share >= NOTABLE_OVERHEAD


def overhead_of(columns: dict[str, Any], times: Times) -> Overhead:
    rank = columns["rank"]
    events = np.asarray(rank["events"], dtype=np.int64)
    known = rank.get("capture_ns") or [None] * times.ranks
    measured = any(own is not None for own in known)
    inside = _events_inside(columns, events)
    if measured:
        own = np.array([own or 0 for own in known], dtype=float) * inside / np.maximum(events, 1)
    else:
        own = inside * float(columns["capture"]["cost_ns_per_event"] or 0)
    limited = np.clip(own, 0, times.runtime_ns).astype(np.int64)
    return Overhead(limited, measured, times.runtime_ns)


def _events_inside(columns: dict[str, Any], events: np.ndarray) -> np.ndarray:
    """Of a rank's events those that lie in the run: at most all ranks' calls there."""
    functions = columns["functions"]
    recorded = sum(map(int, functions["calls"])) - sum(map(int, functions["counted"]))
    return np.minimum(events, recorded)


def without_capture(useful_ns: np.ndarray, overhead: Overhead) -> np.ndarray:
    """Useful time by rank, without what capture took of it where that is notable.

    Where nothing would be left of a rank's, part of that was taken elsewhere, and nobody knows how
    much: then only what it took of a rank beyond the least of all, which could make them differ."""
    if not overhead.notable:
        return useful_ns
    own_ns = overhead.own_ns
    if (useful_ns <= own_ns).any():
        own_ns = own_ns - own_ns.min()
    return np.clip(useful_ns - own_ns, 0, None)
