"""Calls that were to write, and failed: what they were to bring to a file may be lost. And those of
MPI-IO that failed by themselves: unlike MPI's other calls they return, and the program goes on.

| sentence                              | said when                    | not said of             |
|---------------------------------------|------------------------------|-------------------------|
| n of m writes to F failed (No space …)| an error of LOSSES; or any,  | EINTR and EAGAIN, which |
|                                       | of half of the calls         | ask to try again        |
| n calls that synchronise, close or    | the same, where no write     | a try with O_DIRECT     |
| set the size of F failed (…)          | failed: a server may tell of | that does not fit, nor a|
|                                       | it only then                 | terminal synchronised   |
| MPI_File_open of F failed (…)         | MPI-IO's call failed         | a file that was used    |
|                                       |                              | all the same            |
| n MPI-IO writes to F failed (…)       | the same, and no call below  |                         |
|                                       | it is said to have failed    |                         |
| n MPI-IO calls to close or preallocate| what the program calls of    | to close, where F was   |
| F failed (…)                          | those that neither open nor  | closed below as often as|
|                                       | move                         | it was opened, and one  |
|                                       |                              | of the others may have  |
"""

import errno
import os

import numpy as np

from tailrace.names import base_name
from tailrace.units import byte_count, count, nanoseconds
from tailrace.verdict.advice import advice
from tailrace.verdict.cause import CAUSE_SHARE, Cause, only_row, where_of
from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.requests import Use, calls_of_functions, sum_use

# With one of these errors what was written is lost; with others a program may have asked for what
# it then does in another way.
LOSSES = {
    errno.ENOSPC: "space",
    errno.EDQUOT: "space",
    errno.EFBIG: "size",
    errno.EIO: "device",
    errno.ESTALE: "device",
    errno.ENXIO: "device",
    errno.EROFS: "device",
}
# Files with different errors, or one with several: as the engine says it.
SEVERAL = -1
# What says more of MPI-IO than the system's text: numbers of docs/reference/internals/trace.md.
OF_MPIIO = {
    errno.EROFS: "the file or its file system is read-only",
    4097: "MPI_ERR_AMODE: the file is not open for that",
    4098: "MPI_ERR_FILE: no open file",
    4099: "MPI_ERR_NOT_SAME: ranks gave different arguments",
    4100: "MPI_ERR_ARG: an argument is wrong",
}
NO_ERRNO = 4096
CLOSE = "close"
# Calls of MPI-IO that neither open nor move: what is to be done to a file.
OTHERS = {
    "MPI_File_close": CLOSE,
    "MPI_File_sync": "synchronise",
    "MPI_File_set_size": "set the size of",
    "MPI_File_preallocate": "preallocate",
}


def failed_writes(evidence: Evidence) -> Finding | None:
    """A caution: the run may take as long as it does because it writes nothing."""
    rows = _failing(evidence)
    if not len(rows):
        return None
    cause = _told(evidence, rows)
    return Finding(
        cause.code,
        cause.finding,
        cause.facts,
        0.0,
        advice=advice(cause.code, cause.advised, evidence.mpi),
        file=evidence.path_of(cause.file),
    )


def failed_mpiio(evidence: Evidence) -> Finding | None:
    """A caution: who does not look at what MPI-IO returns does not know of it."""
    files = evidence.columns["files"]
    opens, writes, others = (
        np.asarray(files[f"failed_mpiio_{name}"]) for name in ("opens", "writes", "others")
    )
    keys = ("bytes_read", "bytes_written", "mpiio_bytes_read", "mpiio_bytes_written")
    unused = np.sum([np.asarray(files[key]) for key in keys], axis=0) == 0
    opened = np.where(unused, opens, 0)
    rows = np.setdiff1d(np.flatnonzero(opened + writes + others), _failing(evidence))
    if not len(rows):
        return None
    text = _told_of_mpiio(evidence, rows, *(int(n[rows].sum()) for n in (opened, writes, others)))
    return Finding(
        Kind.FAILED_MPIIO,
        f"{text} failed{_reason(np.asarray(files['failed_mpiio_error'])[rows])}",
        "calls of MPI-IO return an error where other calls of MPI end the program: it went on",
        0.0,
        advice=advice(Kind.FAILED_MPIIO, mpi=evidence.mpi),
        file=evidence.path_of(only_row(rows)),
    )


def _told_of_mpiio(
    evidence: Evidence, rows: np.ndarray, opened: int, writes: int, others: int
) -> str:
    where = where_of(evidence, rows)
    if opened:
        everywhere = opened == len(rows) * evidence.ranks > 1
        all_ranks = "both ranks" if evidence.ranks == 2 else f"all {evidence.ranks} ranks"
        whose = f" on {all_ranks}" if everywhere else ""
        return f"MPI_File_open of {where}{whose}"
    if writes:
        return f"{count(writes, 'MPI-IO write')} to {where}"
    return f"{count(others, 'MPI-IO call')} to {_what_may_fail(evidence, rows, others)} {where}"


def _what_may_fail(evidence: Evidence, rows: np.ndarray, failed: int) -> str:
    """Of calls that are counted together, what the program calls; closing only where more failed
    than were made of the others, or a file stayed open below."""
    functions = evidence.columns["functions"]
    calls = {verb: calls_of_functions(functions, [name]) for name, verb in OTHERS.items()}
    made = {verb: number for verb, number in calls.items() if number}
    if failed <= sum(made.values()) - made.get(CLOSE, 0) and _are_closed(evidence, rows):
        made.pop(CLOSE, None)
    *first, last = made or OTHERS.values()
    return f"{', '.join(first)} or {last}" if first else last


def _are_closed(evidence: Evidence, rows: np.ndarray) -> bool:
    """Whether each of these files was closed as often as it was opened, and no call failed that
    synchronises or closes it: then MPI-IO did what it was to do to close them."""
    opens, closes, failed = (
        np.asarray(evidence.columns["files"][name])[rows]
        for name in ("opens", "closes", "failed_others")
    )
    return bool(((closes >= opens) & (closes > 0) & (failed == 0)).all())


def _reason(errors: np.ndarray) -> str:
    """` (No space left on device)`; empty where there are several, or one that has no name."""
    error = int(errors[0]) if len(set(errors.tolist())) == 1 else SEVERAL
    text = OF_MPIIO.get(error) or (os.strerror(error) if 0 < error < NO_ERRNO else "")
    return f" ({text})" if text else ""


def failing(evidence: Evidence, kind: str) -> Cause | None:
    """Where those that fail take most of the time of writes, no other sentence about them holds."""
    rows = _failing(evidence)
    spent = int(np.asarray(evidence.files["failed_ns"])[rows].sum())  # on file systems
    if kind != "write" or not len(rows) or spent < CAUSE_SHARE * evidence.use.time_ns("write"):
        return None
    return _told(evidence, rows)


def _failing(evidence: Evidence) -> np.ndarray:
    """Files (rows of "files") that may lack what was to be written."""
    files = evidence.columns["files"]
    writes, others, error = (
        np.asarray(files[f"failed_{name}"]) for name in ("writes", "others", "error")
    )
    lost = np.isin(error, list(LOSSES)) & (writes + others > 0)
    tried = np.asarray(files["writes"]) + np.asarray(files["syncs"]) + np.asarray(files["closes"])
    # a terminal or a pipe holds nothing that could be synchronised
    asked = writes + np.where(evidence.elsewhere, 0, others)
    return np.flatnonzero(lost | (2 * asked > tried))


def _told(evidence: Evidence, rows: np.ndarray) -> Cause:
    files = evidence.columns["files"]
    writes, others, errors = (
        np.asarray(files[f"failed_{name}"])[rows] for name in ("writes", "others", "error")
    )
    use = sum_use(files, rows)
    error = int(errors[0]) if len(set(errors.tolist())) == 1 else SEVERAL
    where = where_of(evidence, rows)
    number = int(writes.sum())
    if number:
        which = f"{number:,} of {count(use.calls('write'), 'write')} to {where}"
    else:
        calls = count(int(others.sum()), "call")
        verbs = "synchronises, closes" if others.sum() == 1 else "synchronise, close"
        set_size = "sets" if others.sum() == 1 else "set"
        which = f"{calls} that {verbs} or {set_size} the size of {where}"
    text = f"{which} failed{f' ({os.strerror(error)})' if error > 0 else ''}"
    return Cause(
        Kind.FAILED_WRITES, text, _facts(evidence, rows, use), only_row(rows),
        advised=LOSSES.get(error, ""),
    )  # fmt: skip


def _facts(evidence: Evidence, rows: np.ndarray, use: Use) -> str:
    spent = nanoseconds(int(np.asarray(evidence.columns["files"]["failed_ns"])[rows].sum()))
    first = base_name(evidence.files["path"][rows[0]])
    among = "" if len(rows) == 1 else f"{first} among others; "
    return f"{among}{byte_count(use.bytes('write'))} were written there, and {spent} spent in vain"
