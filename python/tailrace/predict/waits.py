"""What the ranks of a run waited for a processor: it belongs to what their calls and their
computation took, and no other file system, network or processor takes it away."""

from __future__ import annotations

from typing import Any, NamedTuple

from tailrace.units import to_seconds
from tailrace.verdict.processors import STATES, processors_of


class Waits(NamedTuple):
    """`share`: of the run. `by_state`: of the time in each state, summed over ranks. `most_s`: for
    how long some rank waited in each state, at most. `caution`: a sentence without its full
    stop."""

    share: float
    by_state: dict[str, float]
    most_s: dict[str, float]
    caution: str


def waits(columns: dict[str, Any]) -> Waits | None:
    """Of a trace's columns; None where they are not notable, or the trace does not tell."""
    found = processors_of(columns)
    if found is None or not found.notable:
        return None
    spent_ns = {state: int(columns["rank"][f"{state}_ns"].sum()) for state in STATES}
    shares = {
        state: min(found.waited_in(state) / spent, 1.0)
        for state, spent in spent_ns.items()
        if spent
    }
    caution = found.described()
    most_s = {state: to_seconds(time_ns) for state, time_ns in found.any_waited_ns.items()}
    return Waits(found.share, shares, most_s, caution[0].upper() + caution[1:])
