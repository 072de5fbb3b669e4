"""What output costs in all: the routine from which files are written, or read, with all that it
does for that.

The engine's table "routines" has the time of each routine with all that it calls: in file calls,
in MPI, and between these calls for as long as it was in the routine for sure. What is said is
therefore "at least": what lies before a routine's first call and behind its last one is unknown.
"""

import re
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from tailrace.names import base_name, printable
from tailrace.units import count, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.places import Frame, Places, of_interpreter, shortened
from tailrace.verdict.processors import STATES
from tailrace.verdict.requests import KINDS

# A file belongs to a routine through which at least so much of its bytes goes.
OF_FILE = 0.9
# A routine that is entered once, or that takes nearly the whole run, or in which nearly all of the
# program's MPI calls are, is the program rather than its output.
FEWEST_ENTRIES = 2
OF_PROGRAM = 0.9
# One in which more ranks than that receive data is a step of the computation: outputs are collected
# by few.
MOST_RECEIVERS = 0.5
# It reads or writes most times that it is entered.
MOST_ENTRIES = 0.5
# Formatting makes more bytes than that in a second; what makes less computes something.
SLOWEST_BYTES_PER_S = 1e6
# Of two routines, one in the other, the inner one is named if it has so much of the cost.
SAME_COST = 0.9
# Worth a word: so much of the run, and so many times what the file calls alone say.
NOTABLE_SHARE = 0.02
MORE_THAN_CALLS = 1.25
# Where so much time may have been spent outside, so may have been what seems to be inside: a
# routine that is entered again and again, with nothing but computation in between, goes back in its
# code as often as on.
MOST_UNSURE = 0.25
# Rows of the JSON.
MOST_ROUTINES = 20
# Functions of NumPy that do nothing but pack, or unpack, a file. They begin and end with other
# calls than those of the loop in which they do, so that none was left between two of these.
PACKERS = {"savez_compressed": "write", "__getitem__": "read"}
OF_NUMPY = re.compile(r"/numpy/lib/[^/]*npyio[^/]*\.py$")

WAYS = {"read": ("bytes_read", "readers", "reads"), "write": ("bytes_written", "writers", "writes")}
WORDS = {
    "read": ("read", "parsing", "handing out"),
    "write": ("written", "formatting", "gathering"),
}
PACKING = {"read": "decompressing", "write": "compressing"}
NUMBERS = (
    "useful_ns",
    "unsure_ns",
    "mpi_ns",
    "io_ns",
    "mpi_calls",
    "ranks",
    "receivers",
    "entries",
)
# Function, module, source file.
Name = tuple[str, str, str]
# Rows of the table of places, with the bytes that are moved from there.
Rows = list[tuple[int, int]]


class Routine(NamedTuple):
    """Times are summed over ranks. `row`: of the engine's table."""

    row: int
    name: Name
    useful_ns: int
    unsure_ns: int
    mpi_ns: int
    io_ns: int
    mpi_calls: int
    ranks: int
    receivers: int
    entries: int
    # By way: of the times that it was entered on ranks that read or write in it, the share in which
    # they do.
    moves: dict[str, float]

    @property
    def total_ns(self) -> int:
        return self.useful_ns + self.mpi_ns + self.io_ns


class Output(NamedTuple):
    """A routine and the files that are written (or read) from it."""

    routine: Routine
    way: str
    files: tuple[int, ...]
    place: str


class Routines:
    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.places = Places(evidence.columns)
        self.by_name = self._without_pipes(_routines(evidence.columns))
        self.all_mpi_calls = max((row.mpi_calls for row in self.by_name.values()), default=0)
        self.is_output = cache(self._is_output)

    @cached_property
    def names_of_path(self) -> list[list[tuple[Name, int]]]:
        """By path: the program's own routines with their frame, the innermost first."""
        return [
            [
                (_name(frame), row)
                for row, frame in self.places.own(path)
                if not of_interpreter(frame)
            ]
            for path in range(len(self.places.table["paths"]))
        ]

    def _without_pipes(self, by_name: dict[Name, Routine]) -> dict[Name, Routine]:
        """What calls on no file system take, on a pipe say, counts as useful, and is none of what a
        routine does between its calls."""
        table, spent = self.places.table, dict.fromkeys(by_name, 0)
        elsewhere = self.evidence.elsewhere
        rows = [row for row, file in enumerate(self.places.files) if file >= 0 and elsewhere[file]]
        for row in rows if by_name else ():
            time_ns = sum(int(table[f"{kind}_ns"][row]) for kind in KINDS)
            for name in {name for name, _ in self._path(row)} & spent.keys():
                spent[name] += time_ns
        return {
            name: routine._replace(useful_ns=max(routine.useful_ns - spent[name], 0))
            for name, routine in by_name.items()
        }

    @cached_property
    def bytes_from(self) -> dict[Name, int]:
        """Read and written from each routine, or from what it calls."""
        table = self.places.table
        moved: dict[Name, int] = {}
        for row, sizes in enumerate(zip(table["bytes_read"], table["bytes_written"], strict=True)):
            for name in {name for name, _ in self._path(row)}:
                moved[name] = moved.get(name, 0) + int(sum(sizes))
        return moved

    @cached_property
    def outputs(self) -> list[Output]:
        """The costliest first; each routine once."""
        found: dict[tuple[Name, str], dict[int, Rows]] = {}
        for way in WAYS if self.by_name else ():
            for file, rows in self._rows_of_files(way).items():
                routine = self._routine_of(rows, file, way) or self._packer_of(rows, file, way)
                if routine is not None:
                    found.setdefault((routine.name, way), {})[file] = rows
        outputs = [
            Output(
                self.packers.get(name) or self.by_name[name],
                *(way, tuple(files), self._place(name, files.values())),
            )
            for (name, way), files in found.items()
        ]
        return sorted(outputs, key=lambda output: -output.routine.total_ns)

    def _rows_of_files(self, way: str) -> dict[int, Rows]:
        """By file, the places from which it is written or read, and the bytes from each."""
        rows: dict[int, Rows] = {}
        moved = zip(self.places.files, self.places.table[WAYS[way][0]], strict=True)
        for row, (file, size) in enumerate(moved):
            if file >= 0 and size > 0 and not self.evidence.elsewhere[file]:
                rows.setdefault(int(file), []).append((row, int(size)))
        return rows

    def _routine_of(self, rows: Rows, file: int, way: str) -> Routine | None:
        """The innermost routine that has nearly all of what the costliest around it has."""
        whole = max(int(self.evidence.columns["files"][WAYS[way][0]][file]), 1)
        shares: dict[Name, float] = {}
        depths: dict[Name, int] = {}
        for row, size in rows:
            path = [name for name, _ in self._path(row)]
            for name in set(path):
                shares[name] = shares.get(name, 0.0) + size / whole
                depths[name] = min(depths.get(name, len(path)), path.index(name))
        possible = [
            self.by_name[name]
            for name, share in shares.items()
            if share >= OF_FILE and self.is_output(name, way)
        ]
        most = max((routine.total_ns for routine in possible), default=0)
        enough = [routine for routine in possible if routine.total_ns >= SAME_COST * most]
        return min(enough, key=lambda routine: depths[routine.name], default=None)

    def _packer_of(self, rows: Rows, file: int, way: str) -> Routine | None:
        """A packer through which nearly all of the bytes go."""
        whole = max(int(self.evidence.columns["files"][WAYS[way][0]][file]), 1)
        shares: dict[Name, float] = {}
        for row, size in rows:
            name = self._packer_on(row)
            if name and _packs(name) == way:
                shares[name] = shares.get(name, 0.0) + size / whole
        found = max(shares, key=lambda name: shares[name], default=None)
        return self.packers[found] if found and shares[found] >= OF_FILE else None

    @cached_property
    def packers(self) -> dict[Name, Routine]:
        return {
            name: row._replace(useful_ns=row.useful_ns + row.unsure_ns, unsure_ns=0)
            for name, row in self.by_name.items()
            if _packs(name)
        }

    def _packer_on(self, row: int) -> Name | None:
        """The innermost packer on the way of these calls."""
        frames = self.places.table["paths"][int(self.places.table["path"][row])]
        names = (_name(self.places.frame(frame)) for frame in frames)
        return next((name for name in names if name in self.packers), None)

    def _path(self, row: int) -> list[tuple[Name, int]]:
        return self.names_of_path[int(self.places.table["path"][row])]

    def _is_output(self, name: Name, way: str) -> bool:
        routine = self.by_name.get(name)
        if routine is None or routine.entries < FEWEST_ENTRIES:
            return False
        return (
            self.share(routine.total_ns) < OF_PROGRAM
            and routine.mpi_calls <= OF_PROGRAM * self.all_mpi_calls
            and (self.evidence.ranks == 1 or routine.receivers <= MOST_RECEIVERS * routine.ranks)
            and routine.moves[way] >= MOST_ENTRIES
            and self.bytes_from[name] * 1e9 >= SLOWEST_BYTES_PER_S * routine.useful_ns
        )

    def share(self, time_ns: int) -> float:
        """Of all ranks' time."""
        return self.evidence.share(time_ns / max(self.evidence.ranks, 1))

    def _place(self, name: Name, files: Iterable[Rows]) -> str:
        """The routine, and who calls it, on the way of most bytes."""
        row, _ = max((row for rows in files for row in rows), key=lambda row: row[1])
        if _packs(name):
            return self.places.name(int(self.places.table["path"][row]))
        index = next(index for other, index in reversed(self._path(row)) if other == name)
        return self.places.name_from(int(self.places.table["path"][row]), index)


def _routines(columns: dict[str, Any]) -> dict[Name, Routine]:
    table = columns.get("routines")
    if not table:
        return {}
    frames = table["frames"]
    names = zip(frames["function"], frames["module"], frames["source"], strict=True)
    routines = {}
    for row, (function, module, source) in enumerate(names):
        name = _name((function, source, 0, module))
        numbers = {key: int(table[key][row]) for key in NUMBERS}
        if numbers["unsure_ns"] > MOST_UNSURE * numbers["useful_ns"]:
            numbers["unsure_ns"] += numbers["useful_ns"]
            numbers["useful_ns"] = 0
        moves = {
            way: int(table[f"entries_with_{moves}"][row])
            / max(int(table[f"entries_of_{movers}"][row]), 1)
            for way, (_, movers, moves) in WAYS.items()
        }
        routines[name] = Routine(row, name, **numbers, moves=moves)
    return routines


def _packs(name: Name) -> str:
    """Which way, if it does nothing else."""
    function, module, source = name
    way = PACKERS.get(function.rpartition(".")[2], "")
    return way if not module and OF_NUMPY.search(source) else ""


def _name(frame: Frame) -> Name:
    function, source, _, module = frame
    return function.removesuffix(".cold"), module, source


@lru_cache(maxsize=1)  # several sentences are about the same
def routines_of(evidence: Evidence) -> Routines:
    return Routines(evidence)


def output_routines(evidence: Evidence) -> Finding | None:
    """The costliest routine from which files are written or read, where that is more than its file
    calls."""
    routines = routines_of(evidence)
    output = _costliest(routines)
    return None if output is None else _finding(routines, output)


def output_routine_ns(evidence: Evidence) -> np.ndarray:
    """Length P: what of each rank's useful time that sentence is about."""
    time_ns, table = np.zeros(evidence.ranks), evidence.columns.get("routine_ranks")
    output = _costliest(routines_of(evidence)) if table else None
    if output is None or not table:
        return time_ns.astype(np.int64)
    rows = table["routine"] == output.routine.row
    spent_ns = table["useful_ns"] + (table["unsure_ns"] if _packs(output.routine.name) else 0)
    np.add.at(time_ns, table["rank"][rows], spent_ns[rows])
    # without what goes to pipes, and none where too much of it is unsure
    sure = min(output.routine.useful_ns / max(time_ns.sum(), 1), 1.0)
    waited_ns = evidence.waited_by_rank_ns("useful")
    return np.clip(time_ns * sure - waited_ns, 0, None).astype(np.int64)


def _costliest(routines: Routines) -> Output | None:
    """Worth a word, for more than its file calls. Of those that cost nearly as much, of which one
    may call the other, the one that most bytes go through: the outer one may write a file of its
    own once, and that file is not what it costs."""
    worth = [output for output in routines.outputs if _is_notable(routines, output.routine)]
    least = SAME_COST * worth[0].routine.total_ns if worth else 0
    enough = [output for output in worth if output.routine.total_ns >= least]
    return max(enough, key=lambda output: sum(_bytes_of(routines, output)), default=None)


def _is_notable(routines: Routines, routine: Routine) -> bool:
    times = _times(routines.evidence, routine)
    more = sum(times) >= MORE_THAN_CALLS * times[1]
    return more and routines.share(sum(times)) >= NOTABLE_SHARE


def _bytes_of(routines: Routines, output: Output) -> list[int]:
    """Of each of its files."""
    moved = routines.evidence.columns["files"][WAYS[output.way][0]]
    return [int(moved[file]) for file in output.files]


def _times(evidence: Evidence, routine: Routine) -> tuple[int, int, int]:
    """Useful, in file calls, in MPI. Waits for a processor, wherever they were, are taken out: what
    is left is the routine's."""
    times = (routine.useful_ns, routine.io_ns, routine.mpi_ns)
    waited = (evidence.waited_ns(state) for state in STATES)
    useful_ns, io_ns, mpi_ns = (
        max(time_ns - waited_ns, 0) for time_ns, waited_ns in zip(times, waited, strict=True)
    )
    return useful_ns, io_ns, mpi_ns


def _finding(routines: Routines, output: Output) -> Finding:
    routine, evidence = output.routine, routines.evidence
    useful_ns, io_ns, mpi_ns = _times(evidence, routine)
    share = routines.share(useful_ns + io_ns + mpi_ns)
    file = _main_file(routines, output)
    done, work, moving = WORDS[output.way]
    work = PACKING[output.way] if _packs(routine.name) else work
    parts = [
        f"{percent(routines.share(time_ns))} {what}"
        for time_ns, what in (
            (useful_ns, f"between its calls ({work}, or what else it does)"),
            (mpi_ns, f"in MPI ({moving}, waiting)"),
            (io_ns, "in file calls"),
        )
        if time_ns
    ]
    return Finding(
        Kind.OUTPUT_ROUTINE,
        f"{shortened(routine.name[0])}, from which {_files(evidence, output, file)} {done}, "
        f"takes at least "
        f"{percent(share)} of the run",
        f"of that {', '.join(parts)}; entered at least {count(routine.entries, 'time')}",
        share,
        advice=advice(Kind.OUTPUT_ROUTINE, _by(output, evidence)),
        file="" if file is None else evidence.path_of(file),
        place=output.place,
    )


def _main_file(routines: Routines, output: Output) -> int | None:
    """The one with nearly all of the bytes."""
    moved = _bytes_of(routines, output)
    most = max(moved)
    return output.files[moved.index(most)] if most >= OF_FILE * sum(moved) else None


def _files(evidence: Evidence, output: Output, file: int | None) -> str:
    """`traj.trr and 1 other file are`."""
    others = len(output.files) - (file is not None)
    if file is None:
        return f"{count(others, 'file')} are"
    name = base_name(evidence.path_of(file))
    return f"{name} and {count(others, 'other file')} are" if others else f"{name} is"


def _by(output: Output, evidence: Evidence) -> str:
    """The way, and what there is no use in advising."""
    if _packs(output.routine.name):
        return f"{output.way}, packed"
    if any(int(evidence.columns["files"]["mpiio_ns"][file]) for file in output.files):
        return f"{output.way}, MPI-IO"
    return f"{output.way}, one rank" if evidence.ranks == 1 else output.way


def as_json(evidence: Evidence) -> list[dict[str, Any]]:
    """The routines from which files are written or read, the costliest first."""
    routines = routines_of(evidence)
    return [
        _as_json(evidence, routines.share(output.routine.total_ns), output)
        for output in routines.outputs[:MOST_ROUTINES]
    ]


def _as_json(evidence: Evidence, share: float, output: Output) -> dict[str, Any]:
    routine = output.routine
    return {
        "routine": printable(routine.name[0]),
        "place": output.place,
        "access": output.way,
        "files": [evidence.path_of(file) for file in output.files],
        "ranks": routine.ranks,
        "entries": routine.entries,
        "share_of_runtime": share,
        "useful_s": to_seconds(routine.useful_ns),
        "mpi_s": to_seconds(routine.mpi_ns),
        "io_s": to_seconds(routine.io_ns),
        "unsure_s": to_seconds(routine.unsure_ns),
    }
