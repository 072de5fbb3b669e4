"""What the advice of a finding would give, by taking the run again: calls that are spared take no
time, writes or reads that are gathered are made as one, and all who waited for them go on as early.

| finding                              | taken again                                               |
|--------------------------------------|-----------------------------------------------------------|
| sync, locks, look_ups                | without the calls of this kind                            |
| reopened                             | without opening and closing that file                     |
| many_files                           | without opening, closing and looking up any file          |
| redundant_reads of a file that all   | without the reads of all ranks but the one whose reads    |
| who read it read alike               | took least: these as long, or, where ranks shared the way |
|                                      | to the file, in a part of that for each who read          |
| small_requests, slow_small_requests  | what each rank writes one behind the other into a file is |
|                                      | gathered, or reads, whichever the finding speaks of,      |
|                                      | where that is expected to save a notable share            |

Nothing is said where the run cannot be taken again (`again.py`; tests/python/test_gains.py has each
case, and those in which nothing is said).
"""

from __future__ import annotations

import re
from typing import Any, Literal

from tailrace.gathering import GATHERED_BYTES, Edge, gathered
from tailrace.names import printable
from tailrace.units import chosen_bytes, seconds, to_seconds
from tailrace.verdict.again import steps_of
from tailrace.verdict.evidence import Evidence, Finding, Kind, Prediction
from tailrace.verdict.same_bytes import readers_of_the_same

SPARED: dict[Kind, tuple[str, ...]] = {
    Kind.SYNC: ("synchronize",),
    Kind.LOCKS: ("lock",),
    Kind.LOOK_UPS: ("look_up",),
    Kind.REOPENED: ("open", "close"),
    Kind.MANY_FILES: ("open", "close", "look_up"),
}
GATHERED = frozenset({Kind.SMALL_REQUESTS, Kind.SLOW_SMALL_REQUESTS})
TAKEN_AGAIN = GATHERED | {*SPARED, Kind.REDUNDANT_READS}
ABOUT_READS = re.compile(r"\b(reads|reading)\b")
# What `replay` calls it.
TAKEN_AS = {"write": "merged", "read": "ahead"}
# Of the run, what is worth a word.
NOTABLE_SHARE = 0.02


def with_prediction(evidence: Evidence, finding: Finding) -> Finding:
    """The finding, with what its advice would give where that can be said, beside what an ideal
    would at most."""
    if finding.code not in TAKEN_AGAIN:
        return finding
    steps = steps_of(evidence)
    prediction = None if steps is None else _predicted(steps, evidence, finding)
    if prediction is None:
        return finding
    gain, gain_s = gained(prediction, to_seconds(steps.runtime_ns), finding.gain)
    return finding._replace(gain=gain, gain_s=gain_s, prediction=prediction)


def gained(prediction: Prediction, measured_s: float, ideal: str) -> tuple[str, float]:
    """What a finding says of both, the prediction before what an ideal would give; and how much
    shorter the run becomes at most, s."""
    words = "; ".join(filter(None, (_words(prediction, measured_s), ideal)))
    return words, max(measured_s - prediction.interval_s[0], 0.0)


def _predicted(steps: Any, evidence: Evidence, finding: Finding) -> Prediction | None:
    if finding.code is Kind.REDUNDANT_READS:
        return _read_once(steps, evidence, finding)
    if finding.code in SPARED:
        return _spared(steps, finding)
    return _gathered(steps, "read" if ABOUT_READS.search(finding.finding) else "write")


def _read_once(steps: Any, evidence: Evidence, finding: Finding) -> Prediction | None:
    """What one rank reads all have, as soon as they go on to read it. Whether it reads more quickly
    where the others do not is not in the trace: that is the interval, and the middle is said."""
    paths = [printable(path) for path in evidence.files["path"]]
    if finding.file not in paths or not steps.files_below(finding.file):
        return None
    table = evidence.file_rank
    readers = readers_of_the_same(evidence, paths.index(finding.file))
    if not readers:
        return None

    def runtime_s(by: int | None) -> float:
        return to_seconds(steps.replay(spared=(["read"], finding.file, by))["runtime_ns"])

    fastest = min(readers, key=lambda row: int(table["read_ns"][row]))
    by_one_s, by_none_s = runtime_s(int(table["rank"][fastest])), runtime_s(None)
    shared_s = by_none_s + (by_one_s - by_none_s) / len(readers)
    change = "with these bytes read by one rank for all"
    return Prediction(change, (shared_s + by_one_s) / 2, (shared_s, by_one_s))


def _spared(steps: Any, finding: Finding) -> Prediction | None:
    """At best: what the calls did for others is not done."""
    file = finding.file if finding.code is Kind.REOPENED and finding.file else None
    if file is not None and not steps.files_below(file):
        return None  # its name has bytes that are printed in another way
    replayed = steps.replay(spared=(list(SPARED[finding.code]), file, None))
    runtime_s = to_seconds(replayed["runtime_ns"])
    if finding.code is Kind.LOOK_UPS and replayed["runtime_ns"] >= steps.runtime_ns:
        return None  # opens that look for files, not look-ups
    return Prediction("without these calls", runtime_s, (runtime_s, runtime_s))


def _gathered(steps: Any, kind: Literal["write", "read"]) -> Prediction | None:
    def runtime_s(edge: Edge) -> float:
        taken = {TAKEN_AS[kind]: gathered(steps, GATHERED_BYTES, edge, kind)}
        return to_seconds(steps.replay(**taken)["runtime_ns"])

    measured = to_seconds(steps.runtime_ns)
    enough = (1 - NOTABLE_SHARE) * measured
    if (low := runtime_s("low")) > enough or (value := runtime_s("value")) > enough:
        return None
    high = runtime_s("high")
    change = f"with {kind}s gathered up to {chosen_bytes(GATHERED_BYTES)}"
    return Prediction(change, value, (min(low, value, high), max(low, value, high)))


def _words(prediction: Prediction, measured_s: float) -> str:
    found, low, high = map(seconds, (prediction.runtime_s, *prediction.interval_s))
    between = "at best," if low == high else f"(between {low} and {high})"
    measured = seconds(measured_s)
    if found == measured:
        return f"{prediction.change} the run would take about as long, {measured}"
    return f"{prediction.change} the run would take {found} {between} instead of {measured}"
