"""What may be compressing or formatting though no call shows it: a text that is made as a whole, as
by `json.dumps`, or an archive's member, is handed over by few writes, and what made it lies before
these. That is a bound, and no more: a step of the program lies there, too.

| sentence                                  | said when                                           |
|-------------------------------------------|-----------------------------------------------------|
| up to x % of the run, right before n      | the files' names say that they are packed, or text; |
| writes to F, may be compressing           | so much lies before the calls from where they are   |
| (formatting), which counts as computation | written, or sought in, but no more than the slowest |
|                                           | packing, or formatting, would take; NOTABLE_LOSS;   |
|                                           | no finding says what packing or formatting takes    |
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tailrace.names import base_name
from tailrace.units import byte_count, count, nanoseconds, percent
from tailrace.verdict.advice import advice
from tailrace.verdict.between import (
    FORMATTED_BYTES_PER_S,
    PACKED_BYTES_PER_S,
    WORK,
    between_calls,
    named_ranks,
    ran,
)
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.libraries import content_of, is_of_steps, is_text
from tailrace.verdict.routines import output_routines

SLOWEST_BYTES_PER_S = {"packed": PACKED_BYTES_PER_S, "": FORMATTED_BYTES_PER_S}


class _Made(NamedTuple):
    """Files of one content; the time is summed over the ranks that write them."""

    content: str
    files: list[int]
    writes: int
    bytes: int
    time_ns: float


@lru_cache(maxsize=1)  # of whom it is said is not said to compute alone
def made_before(evidence: Evidence) -> Finding | None:
    """Of the content with most time."""
    found = [made for content in SLOWEST_BYTES_PER_S if (made := _made(evidence, content))]
    most = max(found, key=lambda made: made.time_ns, default=None)
    if most is None:
        return None
    users = {row for file in most.files for row in evidence.users_of(file, "write")}
    ranks = sorted({int(evidence.file_rank["rank"][row]) for row in users})
    few = len(ranks) < evidence.ranks
    share = evidence.share(most.time_ns / max(len(ranks), 1))
    who = f" on {named_ranks(evidence, ranks)}" if few else evidence.without_waits(share)
    notable = evidence.is_notable(share, NOTABLE_LOSS)
    if not notable or between_calls(evidence) or output_routines(evidence):
        return None
    paths = evidence.columns["files"]["path"]
    only = len(most.files) == 1
    name = base_name(paths[most.files[0]]) if only else count(len(most.files), "file")
    work, writes = WORK[most.content]["write"], count(most.writes, "write")
    before = nanoseconds(int(most.time_ns))
    return Finding(
        Kind.MADE_BEFORE,
        f"up to {percent(share)} of the run{who}, right before {writes} to {name}, may be {work}, "
        "which counts as computation",
        f"{before} before writes of {byte_count(most.bytes)} in all; no call shows what is done "
        "there",
        share,
        advice=advice(Kind.MADE_BEFORE, most.content),
        file=evidence.path_of(most.files[0]) if only else "",
        ranks=tuple(ranks) if few else (),
    )


def _made(evidence: Evidence, content: str) -> _Made | None:
    """Text may be made before its file is opened, and is packed behind that. Who is about to write
    may ask for the position first, or go to it. What lies before calls from a path through which
    several files are written counts once."""
    table = evidence.columns.get("places")
    if not table or "before_ns" not in table:
        return None
    paths = evidence.columns["files"]["path"]
    written, sought, opened = (
        np.asarray(table[name]) for name in ("bytes_written", "others", "opens")
    )
    files = sorted(
        file
        for file in {int(table["file"][row]) for row in np.flatnonzero(written > 0)} - {-1}
        if not evidence.elsewhere[file] and _holds(paths[file], content)
    )
    if not files:
        return None
    # Python's `open` seeks, too, from where it opens.
    made = (written > 0) | np.where(opened > 0, content == "", sought > 0)
    rows = np.flatnonzero(np.isin(table["file"], files) & made)
    size, writes = (
        sum(int(table[name][row]) for row in rows) for name in ("bytes_written", "writes")
    )
    before_ns = sum(int(table["before_ns"][path]) for path in _mostly_to(table, files, rows))
    most_ns = size * 1e9 / SLOWEST_BYTES_PER_S[content]
    return _Made(content, files, writes, size, min(before_ns * ran(evidence), most_ns))


def _mostly_to(table: dict[str, Any], files: list[int], rows: np.ndarray) -> set[int]:
    """The paths of these rows, but for those from which more is written to other files: where no
    call path is known, as in Node, all files have the same one."""
    writes, path = np.asarray(table["writes"]), np.asarray(table["path"])
    ours = np.isin(table["file"], files)
    paths = {int(path[row]) for row in rows}
    return {
        each
        for each in paths
        if 2 * writes[ours & (path == each)].sum() >= writes[path == each].sum()
    }


def _holds(path: bytes | str, content: str) -> bool:
    """Before what a simulation writes at each step lies the step: that is no bound worth a word."""
    holds = content_of(path) == content if content else is_text(path)
    return holds and not is_of_steps(path)
