"""What the advice of a finding would give, by taking the run again: calls that are spared take no
time, writes that are gathered are made as one, and all who waited for them go on as early.

| finding                              | taken again                                               |
|--------------------------------------|-----------------------------------------------------------|
| sync, locks, look_ups                | without the calls of this kind                            |
| reopened                             | without opening and closing that file                     |
| small_requests, slow_small_requests  | what each rank writes one behind the other into a file is |
|                                      | gathered, where at best that saves a notable share        |

Nothing is said where ranks waited for a processor, which they might do elsewhere then; of very many
calls, since that takes long; and where the run as it was cannot be taken again
(tests/python/test_gains.py has each case, and those in which nothing is said).
"""

from __future__ import annotations

from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any

from tailrace import engine
from tailrace.errors import TailraceError
from tailrace.units import seconds, to_seconds
from tailrace.verdict.evidence import Evidence, Finding, Kind, Prediction

# Steps of so many calls are there in a moment.
MOST_EVENTS = 2_000_000
SPARED: dict[Kind, tuple[str, ...]] = {
    Kind.SYNC: ("synchronize",),
    Kind.LOCKS: ("lock",),
    Kind.LOOK_UPS: ("look_up",),
    Kind.REOPENED: ("open", "close"),
}
GATHERED = frozenset({Kind.SMALL_REQUESTS, Kind.SLOW_SMALL_REQUESTS})
GATHERED_BYTES = 4_000_000
# A byte that is copied, ns: 10, 3 and 1 GB/s.
COPIED_NS = {"low": 0.1, "value": 0.33, "high": 1.0}
# Less than this may be noise: what is gathered is not worth a word.
NOTABLE_SHARE = 0.02


def with_prediction(evidence: Evidence, finding: Finding) -> Finding:
    """The finding, with what its advice would give where that can be said."""
    if finding.code not in SPARED and finding.code not in GATHERED:
        return finding
    steps = _steps(evidence)
    if steps is None:
        return finding
    prediction = _spared(steps, finding) if finding.code in SPARED else _gathered(steps)
    if prediction is None:
        return finding
    saved_s = max(to_seconds(steps.runtime_ns) - prediction.interval_s[0], 0.0)
    gain = _words(prediction, steps.runtime_ns)
    return finding._replace(gain=gain, gain_s=saved_s, prediction=prediction)


def _steps(evidence: Evidence) -> Any:
    """None where the run cannot be taken again, or should not."""
    path = evidence.columns.get("trace")
    busy = evidence.processors is not None and evidence.processors.notable
    if path is None or busy or int(evidence.columns["capture"]["events"]) > MOST_EVENTS:
        return None
    return _known(str(path))


@lru_cache(maxsize=1)
def _known(path: str) -> Any:
    if not Path(path).exists():  # of a run that went on there was a trace for the moment only
        return None
    try:
        steps = engine.steps(Path(path))
    except TailraceError:
        return None
    is_identical = steps.replay()["runtime_ns"] == steps.runtime_ns
    return steps if is_identical else None


def _spared(steps: Any, finding: Finding) -> Prediction:
    """At best: what the calls did for others is not done."""
    file = finding.file if finding.code is Kind.REOPENED and finding.file else None
    replayed = steps.replay(spared=(list(SPARED[finding.code]), file))
    runtime_s = to_seconds(replayed["runtime_ns"])
    return Prediction("without these calls", runtime_s, (runtime_s, runtime_s))


def _gathered(steps: Any) -> Prediction | None:
    law = steps.write_law()
    saved = {"low": inf, "value": 0.0 if law is None else law[0], "high": 0.0}
    found = {}
    for edge, by_itself in saved.items():
        gathered = (GATHERED_BYTES, COPIED_NS[edge], by_itself)
        found[edge] = to_seconds(steps.replay(merged=gathered)["runtime_ns"])
    measured = to_seconds(steps.runtime_ns)
    if measured - found["low"] < NOTABLE_SHARE * measured:
        return None
    edges = sorted(found.values())
    change = f"with writes gathered up to {GATHERED_BYTES // 10**6} MB"
    return Prediction(change, found["value"], (edges[0], edges[-1]))


def _words(prediction: Prediction, measured_ns: int) -> str:
    found, low, high = map(seconds, (prediction.runtime_s, *prediction.interval_s))
    between = "at best," if low == high else f"(between {low} and {high})"
    measured = seconds(to_seconds(measured_ns))
    return f"{prediction.change} the run would take {found} {between} instead of {measured}"
