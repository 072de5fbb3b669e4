"""A cause of slow file calls, and the words that causes share."""

from typing import NamedTuple

import numpy as np

from tailrace.names import base_name
from tailrace.units import percent
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import KINDS, MOVING_KINDS

# Of the time in a kind of call, so much is in files of which a cause holds.
CAUSE_SHARE = 0.5
# One file with so much of that time stands for all of them.
ONE_FILE_SHARE = 0.9

# How a file is opened whose requests wait for the device each.
OPENED_WITH = {"direct": "O_DIRECT", "synchronous": "O_SYNC or O_DSYNC"}


class Cause(NamedTuple):
    """Why the I/O takes long: the finding's kind, its sentence, the facts behind it, and the file
    (a row of "files") that it is about."""

    code: Kind
    finding: str
    facts: str
    file: int | None = None
    functions: tuple[str, ...] = ()
    # Which advice fits, where the library in use does not say.
    advised: str = ""


def part_of_io(evidence: Evidence, time_ns: int, calls: int = 2) -> str:
    verb = "takes" if calls == 1 else "take"
    return f"{verb} {percent(time_ns / evidence.io_time_ns)} of the I/O time"


def where_of(evidence: Evidence, rows: np.ndarray) -> str:
    """The file's name, or how many there are."""
    path = evidence.files["path"]
    return base_name(path[rows[0]]) if len(rows) == 1 else evidence.count_of(map(int, rows))


def only_row(rows: np.ndarray) -> int | None:
    return int(rows[0]) if len(rows) == 1 else None


def dominant(evidence: Evidence, kind: str, holds: np.ndarray) -> np.ndarray | None:
    """The files of which it holds, where they have most of the time in such calls; one file where
    the others hardly count."""
    time_ns = np.asarray(evidence.files[f"{kind}_ns"], dtype=np.int64)
    rows = np.flatnonzero(holds)
    enough = len(rows) and time_ns[rows].sum() >= CAUSE_SHARE * time_ns.sum() > 0
    if not enough:
        return None
    rows = rows[np.argsort(-time_ns[rows], kind="stable")]
    return rows[:1] if time_ns[rows[0]] >= ONE_FILE_SHARE * time_ns[rows].sum() else rows


def opened_otherwise(evidence: Evidence, kind: str, ranks: np.ndarray) -> str:
    """How these ranks opened what they read or write, where that makes each request wait for the
    device and the others' do not."""
    own, others = _moved(evidence, kind, ranks)
    if own & others:
        return ""  # flags are known of files, and not of ranks
    how = _opened(evidence, kind, own)
    return "" if how == evidence.opened(others) else how


def opened_by_some(evidence: Evidence, kind: str, ranks: np.ndarray) -> str:
    """`in.dat is opened with O_DIRECT: by which of the ranks is not known`, of what these and the
    others both read or write."""
    own, others = _moved(evidence, kind, ranks)
    both = own & others
    if not (how := _opened(evidence, kind, both)):
        return ""
    name = where_of(evidence, np.asarray(sorted(both)))
    verb = "is" if len(both) == 1 else "are"
    return f"{name} {verb} opened with {OPENED_WITH[how]}: by which of the ranks is not known"


def _opened(evidence: Evidence, kind: str, files: set[int]) -> str:
    how = evidence.opened(files)
    in_memory = kind == "read" and how == "synchronous"  # only writes wait then
    return "" if in_memory else how


def _moved(evidence: Evidence, kind: str, ranks: np.ndarray) -> tuple[set[int], set[int]]:
    """The files that these ranks read or write by such calls, and those that the others do."""
    if kind not in MOVING_KINDS:
        return set(), set()
    table = evidence.file_rank
    moving = np.asarray(table[KINDS[kind][0]]) > 0
    own = np.isin(np.asarray(table["rank"]), ranks)
    files = np.asarray(table["file"])
    return set(files[moving & own].tolist()), set(files[moving & ~own].tolist())
