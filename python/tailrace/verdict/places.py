"""From where in the program calls come, in words: `write_history (output.f90:212) ← step ← main`.

The engine's table "places" has a row for each call path and file (−1: in MPI). A path is shown from
the innermost function that is the program's own: what libraries do inside is left out.
"""

import re
from collections.abc import Iterable
from functools import cache, cached_property
from typing import Any

import numpy as np

from tailrace.names import base_name, elided, printable
from tailrace.units import to_seconds
from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.requests import KINDS, MOVING_KINDS

# A place is named where at least this share of the time in question is spent in calls from there.
NAMED_PLACE_SHARE = 0.5
# Functions of a path that are shown: the innermost, and the outermost.
SHOWN_INNER, SHOWN_OUTER = 3, 1
NAME_WIDTH = 60
# Places of a file in the JSON.
PLACES_OF_FILE = 3

# Libraries that stand between the program and the system; their names as they begin.
LIBRARIES = (
    *("libc.so", "libc-", "libm.so", "libpthread", "libdl", "librt", "ld-linux", "libgcc_s"),
    *("libstdc++", "libc++", "libgfortran", "libgomp", "libomp", "libifcore", "libimf", "libasan"),
    *("libmpi", "mca_", "libmca_", "libompi", "libmpich", "libpmpi", "libopen-", "libpmix"),
    *("libpmi", "libucp", "libucs"),
    *("libfabric", "libhdf5", "libnetcdf", "libpnetcdf", "libcgns", "libadios", "libsz", "libz.so"),
    *("libpython", "python", "libffi", "libtailrace"),
)
# What runs programs of other languages: its functions are no routines of theirs.
INTERPRETERS = (
    *("libR.so", "libperl", "libruby", "liboctinterp", "libjvm", "libnode", "libtcl", "liblua"),
    *("libjulia", "libphp", "libmono", "libcoreclr", "perl", "ruby", "node", "tclsh", "lua"),
    *("php", "octave", "julia", "gawk", "mawk"),
)
# Where a system has the libraries of its packages; of a program that is a package, too, its own.
SYSTEM = ("/usr/lib", "/lib")
INSTALLED = ("/usr/", "/lib", "/bin", "/opt/conda", "/nix/store", "/gnu/store")
# Inlined pieces of the C library's and the compiler's headers, and Rust's own library.
HEADERS = ("/usr/include/", "/usr/lib/gcc/", "/usr/local/include/", "/rustc/")
# Functions of C++'s and Rust's own libraries that the compiler made in the program: templates,
# generics and implementations of their traits.
STANDARD = re.compile(r"<?&?(mut )?(std|core|alloc)::|<.* as (std|core|alloc)::")
# Functions of HDF5, MPI and PnetCDF, where these are linked statically.
LINKED_IN = re.compile(
    r"H5([A-Z]{1,2}(_|[a-z])|::)|P?MPI_[A-Z]|(ADIOI?|MPI[DIR]+|ompi|opal|mca|ncmpio?)_"
)
# What `_words` says of the line.
LINE = re.compile(r" \([^()]*:\d+\)")
# Python's own library, packages, and what of them is machine code.
PACKAGES = ("/lib/python3", "/lib64/python3", "/site-packages/", "/dist-packages/")
EXTENSIONS = (".cpython-", ".abi3.so")
# What calls main, and the functions of threads.
C_LIBRARY = ("libc.so", "libc-", "libpthread", "ld-linux")

DATA = ("read", "write")
NAMES = ("open", "close", "look_up", "other")
# The kinds of call that a finding about files is about, where it does not say; of those that are
# not here, all.
KINDS_OF: dict[Kind, tuple[str, ...]] = {
    Kind.LOCKS: ("lock",),
    Kind.SYNC: ("sync",),
    Kind.REOPENED: ("open", "close"),
    Kind.MANY_FILES: ("open", "close", *DATA),
    Kind.LOOK_UPS: ("look_up", "open"),
    Kind.METADATA: NAMES,
    Kind.SMALL_REQUESTS: DATA,
    Kind.SLOW_SMALL_REQUESTS: DATA,
    Kind.RANDOM_REQUESTS: DATA,
    Kind.REDUNDANT_READS: ("read",),
    Kind.REDUNDANT_WRITES: ("write",),
    Kind.AMPLIFICATION: (*DATA, "other"),  # a stream reads when it seeks
}
ABOUT_FILES = frozenset(KINDS_OF) | {
    *(Kind.SERIAL_READER, Kind.SERIAL_WRITER, Kind.SERIAL_METADATA),
    *(Kind.FEW_RANKS, Kind.TAKING_TURNS, Kind.UNEVEN_BYTES, Kind.UNEVEN_CALLS),
    *(Kind.STRAGGLER, Kind.SLOW_FILE_SYSTEM, Kind.FEW_AGGREGATORS),
    Kind.PREALLOCATION,
}
ABOUT_MPI = frozenset({Kind.NETWORK, Kind.SERIALIZATION})

# Function, source file, line, module.
Frame = tuple[str, str, int, str]


class Places:
    """The table with names for its paths."""

    def __init__(self, columns: dict[str, Any]) -> None:
        table = columns.get("places") or {"file": [], "paths": []}
        self.table = table
        self.files = np.asarray(table["file"], dtype=np.int64)
        self.program = str(columns["meta"].get("program", ""))
        self.name = cache(self._name)
        # asked of the same frames in each of, at times, tens of thousands of paths
        self.frame = cache(self._frame)
        self.is_own = cache(self._is_own)
        self.is_built = cache(self._is_built)

    def time_ns(self, kinds: Iterable[str]) -> np.ndarray:
        """By row, in calls of these kinds."""
        if not len(self.files):
            return np.zeros(0, dtype=np.int64)
        times = [np.asarray(self.table[f"{kind}_ns"], dtype=np.int64) for kind in kinds]
        return np.sum(times, axis=0)

    def most(self, rows: np.ndarray, time_ns: np.ndarray, whole_ns: float) -> str:
        """The place, or rather its words, with at least NAMED_PLACE_SHARE of a time."""
        by_name: dict[str, int] = {}
        for row in np.flatnonzero(rows & (time_ns > 0)):
            name = self.name(int(self.table["path"][row]))
            by_name[name] = by_name.get(name, 0) + int(time_ns[row])
        by_name.pop("", None)
        if not by_name:
            return ""
        return _foremost(by_name, whole_ns) or _foremost(_without_lines(by_name), whole_ns)

    def of_file(self, file: int) -> list[dict[str, Any]]:
        """The places from which most time is spent on a row of "files"."""
        rows, files, time_ns = self._by_file
        begin, end = np.searchsorted(files, (file, file + 1))
        by_name: dict[str, int] = {}
        for row in rows[begin:end]:
            if name := self.name(int(self.table["path"][row])):
                by_name[name] = by_name.get(name, 0) + int(time_ns[row])
        order = sorted(by_name, key=lambda name: -by_name[name])[:PLACES_OF_FILE]
        return [{"place": name, "time_s": to_seconds(by_name[name])} for name in order]

    @cached_property
    def _by_file(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows in order of their files, these files, and the time of each row: there may be tens of
        thousands of both."""
        order = np.argsort(self.files, kind="stable")
        return order, self.files[order], self.time_ns(KINDS)

    def _name(self, path: int) -> str:
        frames = [self.frame(frame) for frame in self.table["paths"][path]]
        frames = _below_the_start([frame for frame in frames if frame[0]])
        frames = [frame for frame in frames if not _is_standard(frame)] or frames
        owned = [i for i, frame in enumerate(frames) if self.is_own(frame)]
        built = [i for i in owned if self.is_built(frames[i])]
        own = next(iter(owned), None)
        if own is not None and built and frames[own][3].startswith(SYSTEM):
            own = built[0]  # what it calls into is no part of it
        if own is None:  # a package alone, started by python -m
            named = (i for i, frame in enumerate(frames) if _is_script(frame, of_files=True))
            own = next(named, None)
        return "" if own is None else _words(frames[own:])

    def own(self, path: int) -> list[tuple[int, Frame]]:
        """The program's own frames of a path, rows of "frames", from the innermost; without what is
        before main."""
        named = [(row, self.frame(row)) for row in self.table["paths"][path]]
        named = [(row, frame) for row, frame in named if frame[0]]
        count = len(_below_the_start([frame for _, frame in named]))
        owned = [(row, frame) for row, frame in named[:count] if self.is_own(frame)]
        if not any(self.is_built(frame) for _, frame in owned):
            return owned
        return [(row, frame) for row, frame in owned if not frame[3].startswith(SYSTEM)]

    def name_from(self, path: int, row: int) -> str:
        """The words for a path from one of its own frames on."""
        outer = list(self.table["paths"][path])
        frames = [self.frame(frame) for frame in outer[outer.index(row) :]]
        return _words(_below_the_start([frame for frame in frames if frame[0]]))

    def _is_built(self, frame: Frame) -> bool:
        """The user's: a script, or machine code that is not installed on the system. Of a program
        that is, its libraries are part."""
        outside = not self.program.startswith(INSTALLED)
        return _is_script(frame) or (outside and frame[3] == self.program)

    def _frame(self, frame: int) -> Frame:
        frames = self.table["frames"]
        texts = (str(frames[key][frame]) for key in ("function", "source", "module"))
        function, source, module = texts
        return function, source, int(frames["line"][frame]), module

    def _is_own(self, frame: Frame) -> bool:
        _, source, _, module = frame
        if _is_script(frame):
            return not (source.startswith("<") or any(part in source for part in PACKAGES))
        name = module.rpartition("/")[2]
        if not module or _is_standard(frame) or any(part in name for part in EXTENSIONS):
            return False
        return (module == self.program and not _is_python(name)) or not name.startswith(LIBRARIES)


def _foremost(by_name: dict[str, int], whole_ns: float) -> str:
    name = max(by_name, key=lambda name: by_name[name])
    return name if by_name[name] >= NAMED_PLACE_SHARE * whole_ns else ""


def _without_lines(by_name: dict[str, int]) -> dict[str, int]:
    """A routine that writes a variable in each of its lines."""
    by_routine: dict[str, int] = {}
    for name, time_ns in by_name.items():
        routine = LINE.sub("", name, count=1)
        by_routine[routine] = by_routine.get(routine, 0) + time_ns
    return by_routine


def of_interpreter(frame: Frame) -> bool:
    return frame[3].rpartition("/")[2].startswith(INTERPRETERS)


def _below_the_start(frames: list[Frame]) -> list[Frame]:
    """Without what the C library and `_start` do before main."""
    end = len(frames)
    if end > 1 and not _is_of_c(frames[-1]) and _is_of_c(frames[-2]):
        end -= 1
    while end and _is_of_c(frames[end - 1]):
        end -= 1
    return frames[:end]


def _is_script(frame: Frame, of_files: bool = False) -> bool:
    """`of_files`: not what the interpreter has inside, as <frozen importlib._bootstrap>."""
    return not frame[3] and bool(frame[1]) and not (of_files and frame[1].startswith("<"))


def _is_standard(frame: Frame) -> bool:
    by_name = STANDARD.match(frame[0]) or LINKED_IN.match(frame[0])
    return frame[1].startswith(HEADERS) or bool(frame[3] and by_name)


def _is_python(name: str) -> bool:
    return name.startswith("python")


def _is_of_c(frame: Frame) -> bool:
    return frame[3].rpartition("/")[2].startswith(C_LIBRARY)


def _words(frames: list[Frame]) -> str:
    """The first with its line, those around it by name, a recursion once."""
    function, source, line, _ = frames[0]
    names = [shortened(function)]
    for outer, *_ in frames[1:]:
        if (name := shortened(outer)) != names[-1]:
            names.append(name)
    if len(names) > SHOWN_INNER + SHOWN_OUTER:
        names = [*names[:SHOWN_INNER], "…", *names[-SHOWN_OUTER:]]
    if source and line:
        names[0] += f" ({base_name(source)}:{line})"
    return " ← ".join(names)


def shortened(function: str) -> str:
    return elided(printable(function), NAME_WIDTH)


def placed(evidence: Evidence, findings: Iterable[Finding]) -> list[Finding]:
    """The findings with the places that they are about, where one stands for most of it."""
    places = Places(evidence.columns)
    if not len(places.files):
        return list(findings)
    return [
        finding._replace(place=finding.place or _place(evidence, places, finding))
        for finding in findings
    ]


def _place(evidence: Evidence, places: Places, finding: Finding) -> str:
    if finding.code in ABOUT_MPI:
        time_ns = places.time_ns(KINDS)
        rows = places.files < 0
        return places.most(rows, time_ns, float(time_ns[rows].sum()))
    if finding.code not in ABOUT_FILES:
        return ""
    kinds = finding.kinds or _kinds_of(evidence, finding)
    wanted = _files_of(evidence, finding, kinds)
    time_ns = places.time_ns(kinds)
    on_files = places.files >= 0
    rows = on_files & wanted[np.where(on_files, places.files, 0)]
    whole_ns = sum(np.asarray(evidence.files[f"{kind}_ns"])[wanted].sum() for kind in kinds)
    return places.most(rows, time_ns, float(whole_ns))


def _kinds_of(evidence: Evidence, finding: Finding) -> tuple[str, ...]:
    """A file system is slow to read or to write, whichever takes longer: but where functions are
    named that wait for either."""
    if finding.code is Kind.SLOW_FILE_SYSTEM and not finding.functions:
        return (max(MOVING_KINDS, key=evidence.use.time_ns),)
    return KINDS_OF.get(finding.code, tuple(KINDS))


def _files_of(evidence: Evidence, finding: Finding, kinds: Iterable[str]) -> np.ndarray:
    """For each file whether the finding is about it: the one that it names, else those that its
    ranks use by such calls, else all."""
    files = range(len(evidence.elsewhere))
    if finding.file:
        named = np.asarray([evidence.path_of(file) == finding.file for file in files], dtype=bool)
        if named.any():
            return named
    if not finding.ranks:
        return ~evidence.elsewhere
    table = evidence.file_rank
    calls = np.sum([np.asarray(table[KINDS[kind][0]]) for kind in kinds], axis=0)
    rows = (calls > 0) & np.isin(np.asarray(table["rank"]), finding.ranks)
    return np.isin(files, np.asarray(table["file"])[rows])
