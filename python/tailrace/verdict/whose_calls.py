"""Why the file calls take long of those whom a sentence names: of one rank, or of the threads and
processes beside the main threads. The tables of files hold the calls of all threads; those of one
rank are told apart, those of one thread are not."""

from typing import Any

import numpy as np

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.off_path import overlapped_io_ns
from tailrace.verdict.requests import COLUMNS, LENGTHS, NEARLY_ALL, OTHERS
from tailrace.verdict.why import what_takes_longest

# Bytes in a file from the first that is read, or written, to the last.
_REACH = ("reads_begin", "reads_end", "writes_begin", "writes_end")
_SYNCS = ("fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range")
# For each kind of call whose functions have words of their own, the functions by word.
_WORDS = ({name: frozenset({name}) for name in _SYNCS}, LENGTHS, OTHERS)
_SPENT = ("io_ns", "overlapped_io_ns")


class _OfRank(Evidence):
    """Of one rank's calls; but ranks that write to one file, or lock it, wait for each other."""

    def __init__(self, columns: dict[str, Any], whole: Evidence) -> None:
        super().__init__(columns)
        self._whole = whole
        self.libraries = whole.libraries

    def users_of(self, file: int, kind: str) -> list[int]:
        """As of all ranks, but of who reads."""
        whole = self._whole.users_of(file, kind)
        return super().users_of(file, kind) if kind == "read" else whole


def why_of_rank(evidence: Evidence, rank: int) -> tuple[str, str]:
    """The cause in words and what is advised, of the main thread of this rank; empty where other
    threads, or processes that it started, have a notable part of the rank's time in file calls."""
    own_ns, others_ns = int(evidence.times.io_ns[rank]), evidence.of_ranks("overlapped_io_ns")[rank]
    if own_ns < NEARLY_ALL * (own_ns + int(others_ns)):
        return "", ""
    alone = own_ns >= NEARLY_ALL * evidence.io_time_ns
    what, advised = what_takes_longest(evidence if alone else of_rank(evidence, rank))
    return what.removesuffix(" a rank"), advised  # of a rate: it is this rank's


def are_of_others(evidence: Evidence) -> bool:
    """Whether nearly all of the time in file calls is that of threads and processes beside the main
    threads, so that what takes longest is theirs."""
    others_ns = overlapped_io_ns(evidence)
    return others_ns >= NEARLY_ALL * (others_ns + int(evidence.times.io_ns.sum()))


def of_rank(evidence: Evidence, rank: int) -> Evidence:
    """As if this rank alone had made file calls. By which functions and from which places it made
    them is not known."""
    columns = evidence.columns
    table = columns["file_rank"]
    mine = np.asarray(table["rank"]) == rank
    of_files, own = columns["files"], columns["rank"]
    only = np.arange(evidence.ranks) == rank
    spent = {name: np.where(only, evidence.of_ranks(name), 0) for name in _SPENT}
    tables = {
        "files": of_files | _files_of(columns, mine),
        "file_rank": table | {n: np.where(mine, np.asarray(table[n]), 0) for n in COLUMNS},
        "functions": _functions_of(columns["functions"]),
        "rank": own | spent,
    }
    known = {name: value for name, value in columns.items() if name != "places"}
    return _OfRank(known | tables, evidence)


def _files_of(columns: dict[str, Any], mine: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of the table of files, of these rows of that of files and ranks."""
    table, number = columns["file_rank"], len(columns["files"]["path"])
    rows = np.asarray(table["file"], dtype=np.int64)[mine]
    found = {name: np.zeros(number, dtype=np.int64) for name in COLUMNS}
    found |= {name: np.full(number, -1, dtype=np.int64) for name in _REACH}
    for name, column in found.items():
        column[rows] = np.asarray(table[name])[mine]
    return found | {"ranks": np.ones(number, dtype=np.int64)}


def _functions_of(functions: dict[str, Any]) -> dict[str, Any]:
    """Only those that are the rank's in any case: where no other of their kind is called, all such
    calls are by them."""
    called = set(map(str, functions["name"]))
    kept: set[str] = set()
    for words in _WORDS:
        found = [names & called for names in words.values() if names & called]
        kept |= found[0] if len(found) == 1 else set()
    rows = [row for row, name in enumerate(functions["name"]) if str(name) in kept]
    return {name: [values[row] for row in rows] for name, values in functions.items()}
