"""What the findings look at: a trace's columns with the few sums that several of them need."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tailrace.names import base_name, printable
from tailrace.units import count, percent
from tailrace.verdict.efficiencies import Losses, Times, times_of
from tailrace.verdict.file_calls import holds_file_calls
from tailrace.verdict.libraries import by_calls, library_of
from tailrace.verdict.overhead import Overhead, overhead_of, without_capture
from tailrace.verdict.processors import (
    STATES,
    Processors,
    computed_ns,
    processors_of,
    without_waiting,
)
from tailrace.verdict.renamed import former_names
from tailrace.verdict.requests import COLUMNS, KINDS, Use, calls_of, notably_failed, sum_use

# A file is named when at least this share of the time in question is spent on it; below, files are
# counted.
NAMED_FILE_SHARE = 0.5

# The engine's word for a file that is on one.
ON_FILE_SYSTEM = "file_system"

# POP takes 0.8 for the product of the factors as acceptable; one factor below 0.95 is worth a word.
NOTABLE_LOSS = 0.05

# Where waits for a processor are so much of the run, what is little of it may be much of the rest.
MUCH_WAITED = 0.2
# Less is 0 to the digits shown.
LEAST_SHARE = 0.001

# Starting and ending alone take this long, and vary by as much.
TOO_SHORT_NS = 10_000_000


class Kind(StrEnum):
    """Every kind of finding; the words stand in the JSON as `code` (docs/reference/report.md)."""

    SERIAL_READER = "serial_reader"
    SERIAL_WRITER = "serial_writer"
    SERIAL_METADATA = "serial_metadata"
    FEW_RANKS = "few_ranks"
    FEW_AGGREGATORS = "few_aggregators"
    TAKING_TURNS = "taking_turns"
    UNEVEN_BYTES = "uneven_bytes"
    UNEVEN_CALLS = "uneven_calls"
    STRAGGLER = "straggler"
    LOCKS = "locks"
    SYNC = "sync"
    REOPENED = "reopened"
    MANY_FILES = "many_files"
    LOOK_UPS = "look_ups"
    METADATA = "metadata"
    SMALL_REQUESTS = "small_requests"
    SLOW_SMALL_REQUESTS = "slow_small_requests"
    RANDOM_REQUESTS = "random_requests"
    REDUNDANT_READS = "redundant_reads"
    REDUNDANT_WRITES = "redundant_writes"
    AMPLIFICATION = "amplification"
    SLOW_FILE_SYSTEM = "slow_file_system"
    PREALLOCATION = "preallocation"
    BETWEEN_LAYERS = "between_layers"
    OUTPUTS = "outputs"
    OUTPUT_ROUTINE = "output_routine"
    BETWEEN_CALLS = "between_calls"
    COMPRESSION = "compression"
    DECOMPRESSION = "decompression"
    MADE_BEFORE = "made_before"
    IO_FINE = "io_fine"
    IO_NOT_IN_TRACE = "io_not_in_trace"
    LOAD_IMBALANCE = "load_imbalance"
    SERIALIZATION = "serialization"
    NETWORK = "network"
    PROCESSORS = "processors"
    CAPTURE_OVERHEAD = "capture_overhead"
    INCOMPLETE_TRACE = "incomplete_trace"
    MPI_NOT_RECORDED = "mpi_not_recorded"
    NOT_RECORDED = "not_recorded"
    OTHER_THREADS = "other_threads"
    OVERLAPPED_IO = "overlapped_io"
    STREAMS = "streams"
    ELSEWHERE = "elsewhere"
    SLEEP = "sleep"
    SLEEPS_BESIDE_FILES = "sleeps_beside_files"
    FAILED_WRITES = "failed_writes"
    FAILED_MPIIO = "failed_mpiio"
    MISSING_RANKS = "missing_ranks"
    PART_OF_RUN = "part_of_run"
    STOPPED_EARLY = "stopped_early"
    UNFINISHED_CALL = "unfinished_call"
    EXIT_STATUS = "exit_status"


class Prediction(NamedTuple):
    """What a run would take with a change, s."""

    change: str
    runtime_s: float
    interval_s: tuple[float, float]


class Finding(NamedTuple):
    """One reason why the run is slow, or may not be believed.

    `share_of_runtime` orders findings; shares of different findings overlap where one explains
    another. `gain` says what removing the cause would buy at most, `gain_s` how much of the run
    time, in seconds (0 where unknown), `advice` what to change; `prediction` is the run with that
    changed, where it could be taken again. `file`, `ranks`, `kinds` (of KINDS), `functions` and
    `place` (from where in the program) say what it is about; they are empty where that is the whole
    run, or not known.
    """

    code: Kind
    finding: str
    evidence: str
    share_of_runtime: float
    gain: str = ""
    gain_s: float = 0.0
    advice: str = ""
    file: str = ""
    ranks: tuple[int, ...] = ()
    functions: tuple[str, ...] = ()
    place: str = ""
    prediction: Prediction | None = None
    kinds: tuple[str, ...] = ()


class RankUse(NamedTuple):
    """What each rank did by one kind of call: arrays with one entry per rank."""

    calls: np.ndarray
    bytes: np.ndarray
    time_ns: np.ndarray

    @property
    def work(self) -> np.ndarray:
        """The bytes, or where none moved the calls."""
        return self.bytes if self.bytes.any() else self.calls


class Evidence:
    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = columns

    @cached_property
    def times(self) -> Times:
        return times_of(self.columns)

    @cached_property
    def losses(self) -> Losses:
        """Without what ranks waited for a processor, where that is notable."""
        return without_waiting(self.times, self.processors)

    @cached_property
    def processors(self) -> Processors | None:
        return processors_of(self.columns)

    @cached_property
    def holds_file_calls(self) -> bool:
        return holds_file_calls(self.columns)

    @cached_property
    def libraries(self) -> dict[int, str]:
        """By file: the library through which most of the time in its calls is spent, where the call
        paths tell it."""
        return by_calls(self.columns)

    @cached_property
    def computed_ns(self) -> np.ndarray:
        """By rank: useful time, less notable waits for a processor and what capture took of it."""
        return without_capture(computed_ns(self.times, self.processors), self.overhead)

    @property
    def chosen_of_ns(self) -> int:
        """How long the whole run is of which MPI_Pcontrol chose a part; 0 where it did not."""
        text = self.columns["meta"].get("chosen_of_ns", "")
        return int(text) if text.isdigit() else 0

    def of_ranks(self, key: str) -> np.ndarray:
        """A column by rank, length P; zeros in a trace of another tool, which does not know of
        it."""
        rank: dict[str, Any] = self.columns["rank"]
        return np.asarray(rank.get(key, np.zeros(self.ranks)), dtype=np.int64)

    @cached_property
    def overhead(self) -> Overhead:
        return overhead_of(self.columns, self.times)

    @property
    def lost_share(self) -> float:
        """Of all calls, the share that could not be recorded."""
        capture = self.columns["capture"]
        lost = int(capture["events_lost"])
        return lost / max(lost + int(capture["events"]), 1)

    def waited_by_rank_ns(self, state: str) -> np.ndarray:
        """Length P: notable waits for a processor in this state, what is no other cause's."""
        if self.processors is None or not self.processors.notable:
            return np.zeros(self.ranks, dtype=np.int64)
        return self.processors.waited_ns[:, STATES.index(state)]

    def waited_ns(self, state: str) -> int:
        """The same, summed over ranks."""
        return int(self.waited_by_rank_ns(state).sum())

    @property
    def ran_in_io(self) -> float:
        """Of the time in file calls, the share in which their ranks had a processor."""
        return 1 - self.waited_ns("io") / max(int(self.times.io_ns.sum()), 1)

    def ran_while_useful(self, rank: int) -> float:
        """Of what the rank did outside MPI and file calls, the share in which it had a processor:
        what it did to no file system there was as much shorter without the waits."""
        waited, useful = self.waited_by_rank_ns("useful"), self.times.useful_ns
        return 1 - min(float(waited[rank] / max(int(useful[rank]), 1)), 1.0)

    @property
    def ranks(self) -> int:
        return self.times.ranks

    @property
    def mpi(self) -> str:
        """The MPI library, as it names itself; empty where none is known."""
        return str(self.columns["meta"].get("mpi", ""))

    def library_in(self, file: int | None) -> str:
        """Through which a row of "files" is used; "" where it is None."""
        if file is None:
            return ""
        path, layer, mpiio_ns = (self.files[name][file] for name in ("path", "layer", "mpiio_ns"))
        return self.libraries.get(int(file)) or library_of(path, str(layer), int(mpiio_ns))

    def rate_of(self, use: Use, kind: str) -> str:
        """`325 MB/s a rank`, of one process `325 MB/s`; empty where no time was spent."""
        speed = use.speed(kind)
        return f"{speed} a rank" if speed and self.ranks > 1 else speed

    def described(self, use: Use, kind: str) -> str:
        """As `calls_of`, with the rate."""
        rate = self.rate_of(use, kind)
        failed = notably_failed(use, kind)
        beside = f"; {failed:,} more failed" if failed else ""
        words = calls_of(use, kind, self.columns["functions"])
        return f"{words}{f', {rate}' if rate else ''}{beside}"

    def share(self, time_ns: float) -> float:
        """A time as a share of the run time."""
        return float(time_ns / self.times.runtime_ns) if self.times.runtime_ns else 0.0

    @property
    def io_share(self) -> float:
        """The share that an ideal file system would save, on an ideal network: (T_net − T_ideal) /
        T."""
        return self.share(self.losses.io_ns)

    @cached_property
    def ran_share(self) -> float:
        """Of the run, what is left of it at most without waits for a processor, where those are
        much of it; else 1. What they cost several ranks is taken out of their losses too much
        rather than too little, and so counts for no more than the waits themselves."""
        waited = self.processors.share if self.processors is not None else 0.0
        waited = min(waited, self.share(float(self.losses.processors_ns)))
        return 1 - waited if MUCH_WAITED <= waited < 1 else 1.0

    def is_notable(self, share: float, least: float) -> bool:
        """Whether a share of the run is at least so much of what is left without these waits."""
        return share >= least * self.ran_share

    def without_waits(self, share: float, form: str = " ({})") -> str:
        """` (13.2 % without waits for a processor)`; empty where those are not much of the run."""
        left = share / self.ran_share
        if self.ran_share == 1 or left < LEAST_SHARE:
            return ""
        least = "at least " if self.ranks > 1 else ""
        return form.format(f"{least}{percent(left)} without waits for a processor")

    @cached_property
    def elsewhere(self) -> np.ndarray:
        """For each file whether it is on no file system, as the engine tells by its path."""
        places = self.columns["files"]["place"]
        return np.asarray([place != ON_FILE_SYSTEM for place in places], dtype=bool)

    @cached_property
    def files(self) -> dict[str, Any]:
        """The table of files, in which nothing was done to what is not on a file system."""
        return _without(self.columns["files"], self.elsewhere)

    @cached_property
    def file_rank(self) -> dict[str, Any]:
        """The same of the table of files and ranks."""
        table = self.columns["file_rank"]
        rows = np.asarray(table["file"], dtype=np.int64)
        return _without(table, self.elsewhere[rows] if len(rows) else rows.astype(bool))

    @cached_property
    def away(self) -> int | None:
        """The file (row of "files") that is not on a file system and took most time, where such
        files took most of the time in file calls."""
        table = self.columns["files"]
        times = np.sum([np.asarray(table[f"{kind}_ns"]) for kind in KINDS], axis=0)
        whole = int(times.sum())
        if not whole or self.use.time_ns() >= NAMED_FILE_SHARE * whole:
            return None
        return int(np.where(self.elsewhere, times, 0).argmax())

    @cached_property
    def use(self) -> Use:
        """Of all files on file systems, by all ranks."""
        return sum_use(self.files)

    @property
    def io_time_ns(self) -> int:
        """In file calls, and in waits for those that do not block, which are in no file's row;
        summed over ranks, and over all threads of theirs."""
        return max(self.use.time_ns(), int(self.times.io_ns.sum()))

    def by_rank(self, kind: str) -> RankUse:
        """Calls of one of KINDS on all files, by rank."""
        table = self.file_rank
        moved = {"read": "bytes_read", "write": "bytes_written"}.get(kind)
        names = (KINDS[kind][0], moved, f"{kind}_ns")
        rank = np.asarray(table["rank"], dtype=np.int64)
        sums = np.zeros((len(names), self.ranks), dtype=np.int64)
        for row, name in zip(sums, names, strict=True):
            if name is not None:
                np.add.at(row, rank, np.asarray(table[name], dtype=np.int64))
        return RankUse(*sums)

    @cached_property
    def concurrency(self) -> float:
        """Mean number of ranks in a file call while at least one is; 0 without I/O."""
        busy_ns = int(np.sum(self.columns["phases"]["busy_ns"], dtype=np.int64))
        io_ns = int(np.sum(self.columns["phases"]["io_ns"], dtype=np.int64))
        return io_ns / busy_ns if busy_ns else 0.0

    @cached_property
    def chance_concurrency(self) -> float:
        """What `concurrency` would be if ranks did their I/O in the I/O phases whenever they like:
        with the share f of the phases that each spends in file calls, Σ f / (1 − Π (1 − f))."""
        phases = self.columns["phases"]
        io = np.asarray([kind == "io" for kind in phases["kind"]], dtype=bool)
        ends, begins = (np.asarray(phases[f"{edge}_ns"])[io] for edge in ("end", "begin"))
        length_ns = int(np.sum(ends - begins, dtype=np.int64)) if io.any() else 0
        if not length_ns:
            return 0.0
        shares = np.clip(self.times.io_ns / length_ns, 0.0, 1.0)
        return float(shares.sum() / (1.0 - np.prod(1.0 - shares))) if shares.any() else 0.0

    @cached_property
    def unfinished(self) -> list[str]:
        """By rank the function in which its process was killed; empty where in none."""
        names = self.columns["rank"].get("unfinished", [""] * self.ranks)
        return [printable(name) for name in names]

    def critical_path(self, replay: str) -> dict[str, Any]:
        """The critical path of that replay ("ideal_network", say); empty where it is not known."""
        paths = (self.columns.get("dependences") or {}).get("paths") or {}
        return paths.get(replay) or {}

    @property
    def _path(self) -> dict[str, Any]:
        return self.critical_path("ideal_network")

    @property
    def knows_path(self) -> bool:
        return bool(self._path)

    @cached_property
    def io_on_path_ns(self) -> np.ndarray:
        """By file: time in its calls on the critical path of the run on an ideal network; zeros
        where that is not known, and for what is not on a file system."""
        on_path = np.zeros(len(self.elsewhere), dtype=np.int64)
        if path := self._path:
            file, time_ns = (np.asarray(path[name], dtype=np.int64) for name in ("file", "time_ns"))
            io = (np.asarray(path["state"]) == "io") & (file >= 0)
            np.add.at(on_path, file[io], time_ns[io])
        return np.where(self.elsewhere, 0, on_path)

    @property
    def at_a_time(self) -> str:
        mean = f"{self.concurrency:.1f} of {self.ranks}"
        return f"while any rank is in a file call, {mean} are on average"

    @cached_property
    def io_excess_ns(self) -> np.ndarray:
        """How much longer each rank is in file calls than the middle rank: what all do alike keeps
        nobody waiting."""
        io = self.times.io_ns
        return np.clip(io - (np.sort(io)[(len(io) - 1) // 2] if len(io) else 0), 0, None)

    def ranks_with_excess(self, share: float) -> np.ndarray:
        """The fewest ranks that together have at least `share` of the excess, the largest first."""
        order = np.argsort(-self.io_excess_ns, kind="stable")
        reached = np.cumsum(self.io_excess_ns[order])
        enough = (
            int(np.searchsorted(reached, share * reached[-1])) + 1
            if len(reached) and reached[-1]
            else 0
        )
        return order[:enough]

    def rows_of_ranks(self, ranks: Sequence[int]) -> list[int]:
        """Rows of "file_rank" that belong to `ranks`."""
        return np.flatnonzero(np.isin(np.asarray(self.file_rank["rank"]), ranks)).tolist()

    def file_of(self, rows: Sequence[int], time_ns: np.ndarray) -> int | None:
        """The file (row of "files") with at least NAMED_FILE_SHARE of `time_ns` over these rows of
        "file_rank"."""
        if not len(rows) or not time_ns.sum():
            return None
        per_file = np.bincount(
            np.asarray(self.file_rank["file"], dtype=np.int64)[rows], weights=time_ns
        )
        return (
            int(per_file.argmax()) if per_file.max() >= NAMED_FILE_SHARE * per_file.sum() else None
        )

    def named_file(self, kind: str) -> int | None:
        """The file with at least NAMED_FILE_SHARE of the time in a kind of call."""
        table = self.file_rank
        time_ns = np.asarray(table[f"{kind}_ns"], dtype=np.int64)
        return self.file_of(list(range(len(time_ns))), time_ns)

    def users_of(self, file: int, kind: str) -> list[int]:
        """Rows of "file_rank" whose rank made calls of that one of KINDS on the file."""
        calls = self.file_rank[KINDS[kind][0]]
        return [row for row in self.rows_of_file(range(len(calls)), file) if calls[row]]

    def rows_of_file(self, rows: Sequence[int], file: int | None) -> list[int]:
        """Those of the rows that belong to `file`; all of them where it is None."""
        files = self.file_rank["file"]
        return [row for row in rows if file is None or files[row] == file]

    def opened(self, rows: Iterable[int]) -> str:
        """How the program opened all these files, where that makes each request wait for the
        device: "direct" (O_DIRECT) or "synchronous" (O_SYNC, O_DSYNC)."""
        rows = list(rows)
        ways = ("direct", "synchronous")
        return next((way for way in ways if self._are_all_of(rows, f"opened_{way}")), "")

    def written_synchronously(self, rows: Iterable[int]) -> bool:
        """Whether each of these files was written to by calls whose own flags tell them to wait for
        the device."""
        return self._are_all_of(rows, "written_synchronously")

    def _are_all_of(self, rows: Iterable[int], meta: str) -> bool:
        paths = {bytes(self.files["path"][row]).decode("utf-8", "replace") for row in rows}
        return bool(paths) and paths <= set(self.columns["meta"].get(meta, "").split("\x1f"))

    def path_of(self, file: int | None) -> str:
        """The path of a row of "files", printable; empty where it is None."""
        return "" if file is None else printable(self.files["path"][file])

    def name_of(self, rows: Sequence[int], file: int | None) -> str:
        """The file's name, or how many files the rows are about."""
        if file is not None:
            return base_name(self.files["path"][file])
        return self.count_of({int(self.file_rank["file"][row]) for row in rows})

    @cached_property
    def former_names(self) -> dict[int, int]:
        return former_names(self.columns)

    def once(self, files: Iterable[int]) -> set[int]:
        """Without names that the others of them got later."""
        named = set(files)
        return {file for file in named if self.former_names.get(file) not in named}

    def count_of(self, files: Iterable[int]) -> str:
        """`3 files`: a standard stream that is a file, too, is none that the program made."""
        named = self.once(files)
        own = [file for file in named if not bytes(self.files["path"][file]).startswith(b"<std")]
        return count(len(own or named), "file")


def _without(table: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """The table with nothing done in these rows, which keep their places.

    A call of MPI-IO that does not block counts as one call where the table is made; what it asks
    the system for shows in how the requests lie.
    """
    done = {name: np.where(rows, 0, np.asarray(table[name], dtype=np.int64)) for name in COLUMNS}
    for noun in ("reads", "writes"):
        lie = sum(done[f"{noun}_{way}"] for way in ("consecutive", "forward", "backward"))
        done[noun] = np.maximum(done[noun], lie)
    return table | done
