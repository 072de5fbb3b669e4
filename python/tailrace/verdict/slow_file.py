"""Where no other cause is found: the file with most of the time, and the rate at which its bytes
move."""

from collections.abc import Sequence

import numpy as np

from tailrace.units import byte_count, percent, to_seconds
from tailrace.verdict.cause import ONE_FILE_SHARE, OPENED_WITH, Cause
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import KINDS, is_copied, sum_use

# So few of the files can stand for all where nearly all of the time is theirs.
FEW_FILES = 0.1
# About what a core copies: another file system would hardly be quicker.
MEMORY_BYTES_PER_S = 2_000_000_000


# How the sentence about a rate begins.
DOING = {"read": "reading", "write": "writing"}


def tells_a_rate(sentence: str) -> bool:
    """Whether it says how quickly something is read or written, which is no cause."""
    return sentence.startswith(tuple(f"{doing} " for doing in DOING.values()))


def slow_file(evidence: Evidence, kind: str) -> Cause:
    """The file with most of the time, and the rate at which a rank moves its bytes."""
    table = evidence.file_rank
    file = _without_equal(evidence, evidence.named_file(kind), kind)
    rows = evidence.rows_of_file(
        np.flatnonzero(np.asarray(table[KINDS[kind][0]]) > 0).tolist(), file
    )
    rows = _without_quick(evidence, rows, kind)
    use = sum_use(table, rows)
    rate = evidence.rate_of(use, kind)
    at = f" at {rate}" if rate else ""
    what = f"{DOING[kind]} {evidence.name_of(rows, file)}"
    quick = use.bytes(kind) >= MEMORY_BYTES_PER_S * to_seconds(use.time_ns(kind))
    advised = f"{kind} memory" if quick else "read" if kind == "read" else ""
    if kind == "read" and (alike := _read_alike(evidence, file, rows)):
        what, advised = f"{alike},", "same"
    if kind == "write" and is_copied(evidence.columns["functions"], use.bytes("write")):
        advised = "copied"
    if kind == "write" and not advised and _is_shared(evidence, file, rows):
        advised = "shared"
    text = f"{what}{at}".removesuffix(",")
    facts = evidence.described(use, kind) + _crooked(evidence, file, kind)
    used = {int(table["file"][row]) for row in rows}
    if how := evidence.opened(used):
        facts = f"{facts}; opened with {OPENED_WITH[how]}"
        advised = how if how == "direct" or kind == "write" else advised
    return Cause(Kind.SLOW_FILE_SYSTEM, text, facts, file, advised=advised)


def _without_quick(evidence: Evidence, rows: Sequence[int], kind: str) -> list[int]:
    """Rows of the few files that nearly all of the time goes to, where many others hardly count: a
    thousand small ones beside them are not what takes long."""
    table = evidence.file_rank
    files, time_ns = np.asarray(table["file"])[rows], np.asarray(table[f"{kind}_ns"])[rows]
    if not time_ns.sum():
        return list(rows)
    used, spent_ns = np.unique(files), np.bincount(files, weights=time_ns)
    order = used[np.argsort(-spent_ns[used], kind="stable")]
    enough = np.cumsum(spent_ns[order]) >= ONE_FILE_SHARE * time_ns.sum()
    least_ns = spent_ns[order[int(enough.argmax())]]
    few = used[2 * spent_ns[used] >= least_ns]  # with those that are like them
    if len(few) > FEW_FILES * len(used):
        return list(rows)
    return [row for row in rows if table["file"][row] in set(few.tolist())]


def _is_shared(evidence: Evidence, file: int | None, rows: Sequence[int]) -> bool:
    """Whether several ranks write to it by calls of their own: MPI-IO knows of the others."""
    return file is not None and len(rows) > 1 and not int(evidence.files["mpiio_ns"][file])


def _without_equal(evidence: Evidence, file: int | None, kind: str) -> int | None:
    """The file, unless another has half of its time: ranks with a file each are not to be taken for
    one file."""
    times = np.asarray(evidence.files[f"{kind}_ns"], dtype=np.int64)
    if file is None or (2 * times > times[file]).sum() > 1:
        return None
    return file


def _read_alike(evidence: Evidence, file: int | None, rows: Sequence[int]) -> str:
    """Ranks that read as many bytes of one file, from places that are not known, as of files read
    from their begin on. They may be the same bytes."""
    each = np.asarray(evidence.file_rank["bytes_read"])[rows]
    if file is None or len(rows) < 2 or int(evidence.files["reads_begin"][file]) >= 0:
        return ""
    if each.min() != each.max() or not each.max():
        return ""
    everyone = len(rows) == evidence.ranks
    ranks = f"each of {len(rows)} ranks reads" if everyone else f"{len(rows)} ranks each read"
    return f"{ranks} {byte_count(each[0])} of {evidence.name_of(rows, file)}"


def _crooked(evidence: Evidence, file: int | None, kind: str) -> str:
    """How many of the requests to a file that several ranks share begin within a block."""
    if file is None or int(evidence.files["ranks"][file]) < 2:
        return ""
    use = sum_use(evidence.files, [file])
    calls, crooked = use.calls(kind), use.pattern(kind, "unaligned")
    if 2 * crooked < calls:
        return ""
    return f"; {percent(crooked / calls)} do not begin at a multiple of 4 KiB"
