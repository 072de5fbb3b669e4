"""What the ranks of a run waited for a processor: it belongs to what their calls and their
computation took, and no other network or processor takes it away. Another file system may, where
its client and servers had the processors (`displaced.py`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from tailrace.units import to_seconds
from tailrace.verdict.processors import STATES, processors_of


class Waits(NamedTuple):
    """`share`: of the run. `by_state`: of the time in each state, summed over ranks. `most_s`: for
    how long some rank waited in each state, at most. `caution`: a sentence without its full
    stop. `all_s`: what all ranks waited in sum. `alone`: there was a processor for each. `notable`:
    of the run; of what is left of it on a quicker file system less may be much."""

    share: float
    by_state: dict[str, float]
    most_s: dict[str, float]
    caution: str
    all_s: float = 0.0
    alone: bool = False
    notable: bool = True


def waits(columns: dict[str, Any]) -> Waits | None:
    """Of a trace's columns; None where the trace does not tell."""
    found = processors_of(columns)
    if found is None:
        return None
    spent_ns = {state: int(columns["rank"][f"{state}_ns"].sum()) for state in STATES}
    shares = {
        state: min(found.waited_in(state) / spent, 1.0)
        for state, spent in spent_ns.items()
        if spent
    }
    most_s = {state: to_seconds(time_ns) for state, time_ns in found.any_waited_ns.items()}
    caution = found.described()
    return Waits(
        found.share,
        shares,
        most_s,
        caution[0].upper() + caution[1:],
        to_seconds(int(found.waited_ns.sum())),
        all(node.ranks <= node.cores for node in found.nodes),
        found.notable,
    )
