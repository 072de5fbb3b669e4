"""What the findings look at: a trace's columns with the few sums that several of them need."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tailrace.analysis import Losses, Times, losses, times_of
from tailrace.names import base_name
from tailrace.units import NANOSECONDS_PER_SECOND, byte_count, count, nanoseconds, rate

# A file is named when at least this share of the time in question is spent on it; below, files are counted.
NAMED_FILE_SHARE = 0.5

STANDARD_STREAMS = frozenset({b"<stdin>", b"<stdout>", b"<stderr>"})


@dataclass(frozen=True)
class Finding:
    """One reason why the run is slow, or may not be believed.

    `share_of_runtime` orders findings; shares of different findings overlap where one explains another.
    `gain` says what removing the cause would buy, `gain_s` how much of the run time, in seconds (0 where unknown).
    """

    code: str
    finding: str
    evidence: str
    share_of_runtime: float
    gain: str = ""
    gain_s: float = 0.0


@dataclass(frozen=True)
class Requests:
    """Sums over a set of files: numbers of calls, bytes, and nanoseconds in them, over all ranks."""

    reads: int
    writes: int
    metadata_calls: int
    bytes_read: int
    bytes_written: int
    read_ns: int
    write_ns: int
    metadata_ns: int

    @property
    def time_ns(self) -> int:
        return self.read_ns + self.write_ns + self.metadata_ns

    @property
    def kind(self) -> str:
        """What takes most of the time: "read", "write" or "metadata"."""
        return max(("write", "read", "metadata"), key=lambda kind: getattr(self, f"{kind}_ns"))

    def moved(self, kind: str) -> tuple[int, int, int]:
        """Calls, bytes and nanoseconds of "read", "write" or "metadata"."""
        if kind == "metadata":
            return self.metadata_calls, 0, self.metadata_ns
        if kind == "read":
            return self.reads, self.bytes_read, self.read_ns
        return self.writes, self.bytes_written, self.write_ns

    def speed(self, kind: str) -> str:
        """Bytes over the time in these calls, summed over ranks: what one rank sees. Empty where none moved."""
        _, size, time_ns = self.moved(kind)
        return rate(size * NANOSECONDS_PER_SECOND / time_ns) if size and time_ns else ""

    def described(self) -> str:
        """`120 writes of 10 MB on average, 36 ms each, 279 MB/s a rank`, for the kind that takes most of the time."""
        calls, size, time_ns = self.moved(self.kind)
        each = f"{nanoseconds(time_ns // max(calls, 1))} each"
        if self.kind == "metadata":
            return f"{count(calls, 'call')} that open, close, synchronise or look up, {each}"
        speed = self.speed(self.kind)
        mean = f"{count(calls, self.kind)} of {byte_count(size / max(calls, 1))} on average"
        return ", ".join(part for part in (mean, each, f"{speed} a rank" if speed else "") if part)


REQUEST_COLUMNS = tuple(Requests.__dataclass_fields__)


def sum_requests(table: dict[str, Any], rows: Iterable[int] | None = None) -> Requests:
    """Sums of `table` ("files" or "file_rank") over `rows`, or over all."""
    columns = {name: np.asarray(table[name], dtype=np.int64) for name in REQUEST_COLUMNS}
    if rows is not None:
        chosen = np.fromiter(rows, dtype=np.int64)
        columns = {name: column[chosen] for name, column in columns.items()}
    return Requests(**{name: int(column.sum()) for name, column in columns.items()})


@dataclass(frozen=True)
class Evidence:
    columns: dict[str, Any]

    @cached_property
    def times(self) -> Times:
        return times_of(self.columns)

    @cached_property
    def losses(self) -> Losses:
        return losses(self.times)

    @property
    def ranks(self) -> int:
        return self.times.ranks

    def share(self, time_ns: float) -> float:
        """A time as a share of the run time."""
        return float(time_ns / self.times.runtime_ns) if self.times.runtime_ns else 0.0

    @property
    def io_share(self) -> float:
        """The share that an ideal file system would save, on an ideal network: (T_net − T_ideal) / T."""
        return self.share(self.losses.io_ns)

    @cached_property
    def requests(self) -> Requests:
        return sum_requests(self.columns["files"])

    @cached_property
    def concurrency(self) -> float:
        """Mean number of ranks in a file call while any is; 0 without I/O."""
        phases = self.columns["phases"]
        lengths = np.asarray(phases["end_ns"], dtype=np.int64) - np.asarray(phases["begin_ns"], dtype=np.int64)
        io = np.asarray([kind == "io" for kind in phases["kind"]], dtype=bool)
        stretch = int(lengths[io].sum()) if len(lengths) else 0
        return int(self.times.io_ns.sum()) / stretch if stretch else 0.0

    @cached_property
    def io_excess_ns(self) -> np.ndarray:
        """How much longer each rank is in file calls than the middle rank: what all do alike keeps nobody waiting."""
        io = self.times.io_ns
        return np.clip(io - (np.sort(io)[(len(io) - 1) // 2] if len(io) else 0), 0, None)

    def ranks_with_excess(self, share: float) -> np.ndarray:
        """The fewest ranks that together have at least `share` of the excess, the largest first."""
        order = np.argsort(-self.io_excess_ns, kind="stable")
        reached = np.cumsum(self.io_excess_ns[order])
        enough = int(np.searchsorted(reached, share * reached[-1])) + 1 if len(reached) and reached[-1] else 0
        return order[:enough]

    @cached_property
    def file_excess_ns(self) -> np.ndarray:
        """For each row of "file_rank": time in calls beyond that of the middle rank on the same file."""
        table = self.columns["file_rank"]
        time_ns = sum(np.asarray(table[f"{kind}_ns"], dtype=np.int64) for kind in ("read", "write", "metadata"))
        file = np.asarray(table["file"], dtype=np.int64)
        if not len(file):
            return np.zeros(0, dtype=np.int64)
        ordered = time_ns[np.lexsort((time_ns, file))]
        users = np.bincount(file)
        # Ranks that never touched the file count as zeros, which come first.
        middle = (self.ranks - 1) // 2 - (self.ranks - users)
        place = np.concatenate(([0], np.cumsum(users)[:-1])) + np.clip(middle, 0, None)
        base = np.where(middle >= 0, ordered[np.minimum(place, len(ordered) - 1)], 0)
        return np.clip(time_ns - base[file], 0, None)

    def rows_of_ranks(self, ranks: Sequence[int]) -> list[int]:
        """Rows of "file_rank" that belong to `ranks`."""
        return np.flatnonzero(np.isin(np.asarray(self.columns["file_rank"]["rank"]), ranks)).tolist()

    def file_of(self, rows: Sequence[int], time_ns: np.ndarray) -> int | None:
        """The file (row of "files") with at least NAMED_FILE_SHARE of `time_ns` over these rows of "file_rank"."""
        if not len(rows) or not time_ns.sum():
            return None
        per_file = np.bincount(np.asarray(self.columns["file_rank"]["file"], dtype=np.int64)[rows], weights=time_ns)
        return int(per_file.argmax()) if per_file.max() >= NAMED_FILE_SHARE * per_file.sum() else None

    def rows_of_file(self, rows: Sequence[int], file: int | None) -> list[int]:
        """Those of the rows that belong to `file`; all of them where it is None."""
        files = self.columns["file_rank"]["file"]
        return [row for row in rows if file is None or files[row] == file]

    def name_of(self, rows: Sequence[int], file: int | None) -> str:
        """The file's name, or how many files the rows are about."""
        if file is not None:
            return base_name(self.columns["files"]["path"][file])
        return count(len({int(self.columns["file_rank"]["file"][row]) for row in rows}), "file")


def io_verb(kind: str) -> str:
    return {"read": "reads", "write": "writes", "metadata": "opens, closes and looks up"}[kind]
