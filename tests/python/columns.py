"""Builds by arithmetic what the engine yields for a trace, so that every number a test expects can
be derived by hand.

`Program` lists, for each rank, intervals (state, length in ns, function, file, bytes) on one clock;
every rank must come to the same run time. The ideal run times are given by the test, which states
how they follow.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tailrace.verdict.requests import COLUMNS, KINDS, METADATA_KINDS

SUMS = (*COLUMNS, "metadata_calls", "metadata_ns")
ERRORS = ("failed_error", "failed_mpiio_error")
REACH = ("reads_begin", "reads_end", "writes_begin", "writes_end")
# Functions of the intervals, by kind of call.
FUNCTIONS = {
    "read": {"pread", "fread"},
    "write": {"pwrite", "pwritev2", "fwrite", "fflush", "fprintf", "dprintf", "__dprintf_chk"}
    | {"MPI_File_iwrite_at", "sendfile", "copy_file_range"},
    "open": {"open"},
    "close": {"close"},
    "look_up": {"stat"},
    "sync": {"fsync", "fdatasync", "sync"},
    "lock": {"fcntl", "flock"},
    "truncate": {"ftruncate", "posix_fallocate", "fallocate"},
    "other": {"rename", "readdir", "rmdir", "mkdir", "posix_fadvise", "ioctl"},
}
SMALL_BYTES = 64 * 1024

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND


def place_of(path: bytes) -> str:
    """As the engine tells a file that is on no file system."""
    kinds = {b"/proc/": "kernel", b"/sys/": "kernel", b"/dev/shm/": "memory", b"/dev/": "device"}
    kinds[b"<std"] = "device"
    return next((kind for start, kind in kinds.items() if path.startswith(start)), "file_system")


@dataclass(frozen=True)
class Interval:
    state: str  # useful, io, mpi
    length_ns: int
    function: str = ""
    path: bytes = b""
    size: int = 0
    calls: int = 1
    layer: str = "posix"
    # Of all calls, those that go on where the one before ended, skip forward, and go back.
    steps: tuple[int, int, int] = (0, 0, 0)
    # First byte and the one after the last; −1 where no offset is known.
    reach: tuple[int, int] = (-1, -1)
    # Bytes that MPI-IO was asked for.
    asked: int = 0
    # Calls of stdio that the calls are the requests of.
    buffered: int = 0
    # Bytes that these were asked for; as many as the requests moved where it is None.
    buffered_size: int | None = None
    # Calls of MPI-IO around them that failed, by column without its prefix; and their error.
    failed_mpiio: tuple[str, int, int] | None = None


def useful(length_ns: int) -> Interval:
    return Interval("useful", length_ns)


def mpi(length_ns: int, function: str = "MPI_Barrier") -> Interval:
    return Interval("mpi", length_ns, function, layer="mpi")


def write(
    length_ns: int, path: bytes = b"/run/history.nc", size: int = 0, calls: int = 1, **more: Any
) -> Interval:
    return Interval("io", length_ns, "pwrite", path, size, calls, **more)


def read(
    length_ns: int, path: bytes = b"/run/input.nc", size: int = 0, calls: int = 1, **more: Any
) -> Interval:
    return Interval("io", length_ns, "pread", path, size, calls, **more)


def open_close(length_ns: int, path: bytes, calls: int = 1) -> Interval:
    return Interval("io", length_ns, "open", path, 0, calls)


@dataclass
class Program:
    ranks: list[list[Interval]]
    ideal_network_ns: int
    ideal_network_even_io_ns: int
    ideal_ns: int
    instructions: list[int] | None = None
    cycles: list[int] | None = None
    layers: dict[str, int] = field(default_factory=dict)
    capture: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    warnings: list[dict[str, str]] = field(default_factory=list)
    overlapped_io_ns: list[int] | None = None
    outside_io_ns: list[int] | None = None
    # By rank: waited for a processor while useful, in I/O and in MPI; and of all ranks any, at most
    waited_ns: list[tuple[int, int, int]] | None = None
    any_waited_ns: tuple[int, int, int] = (0, 0, 0)
    cores: list[str] | None = None
    hosts: list[str] | None = None
    # By rank, measured where capture took it.
    capture_ns: list[int] | None = None
    # By rank, of threads that are not the main ones, by the columns' names.
    others: dict[str, list[int]] = field(default_factory=dict)
    # Files that were renamed, by the names that they got.
    renames: dict[bytes, bytes] = field(default_factory=dict)

    def columns(self, bins: int = 200) -> dict[str, Any]:
        """As `tailrace.engine.analyze` returns them."""
        (runtime,) = {sum(i.length_ns for i in intervals) for intervals in self.ranks}
        calls = list(self._calls())
        on_files = [call for call in calls if call[4].path]  # waits for requests are on none
        return {
            "format": "tailrace",
            "ranks": len(self.ranks),
            "runtime_ns": runtime,
            "ideal_network_ns": self.ideal_network_ns,
            "ideal_network_even_io_ns": self.ideal_network_even_io_ns,
            "ideal_ns": self.ideal_ns,
            "meta": {
                "program": "model",
                "command": "mpiexec -n 4 ./model",
                "mpi": "MPICH 5.0",
                "hosts": "node1",
            }
            | self.meta,
            "rank": self._rank_columns(),
            "files": _file_columns(on_files) | {"former": _former(on_files, self.renames)},
            "file_rank": _file_columns(on_files, per_rank=True),
            "file_sizes": _file_sizes(on_files),
            "file_uses": _file_uses(on_files, len(self.ranks), runtime),
            "functions": _function_columns(calls),
            "phases": self._phases(calls, runtime),
            **self._timeline(calls, runtime, bins),
            "layers": {"mpiio_ns": 0, "posix_in_mpiio_ns": 0, "between_ns": 0} | self.layers,
            "capture": {
                "events": sum(c[4].calls for c in calls),
                "events_lost": 0,
                "cost_ns_per_event": 40.0,
            }
            | {"complete": True, "notes": []}
            | self.capture,
            "warnings": self.warnings,
            **self._any_waited(),
        }

    def _any_waited(self) -> dict[str, Any]:
        if self.waited_ns is None:
            return {}
        names = ("useful_ns", "io_ns", "mpi_ns")
        return {"any_waited": dict(zip(names, self.any_waited_ns, strict=True))}

    def _calls(self):
        """(rank, begin, end, state, interval) of every captured call, in order of rank and time."""
        for rank, intervals in enumerate(self.ranks):
            now = 0
            for interval in intervals:
                if interval.state != "useful":
                    yield rank, now, now + interval.length_ns, interval.state, interval
                now += interval.length_ns

    def _sum(self, state: str, value=lambda i: i.length_ns) -> np.ndarray:
        return np.array(
            [sum(value(i) for i in r if i.state == state) for r in self.ranks], dtype=np.int64
        )

    def _rank_columns(self) -> dict[str, Any]:
        moved = {
            word: [sum(i.size for i in r if i.function == word) for r in self.ranks]
            for word in ("pread", "pwrite")
        }
        calls = [sum(i.calls for i in r if i.state != "useful") for r in self.ranks]
        counters = (self.instructions, self.cycles)
        instructions, cycles = (
            None if c is None else np.array(c, dtype=np.int64) for c in counters
        )
        overlapped = self.overlapped_io_ns or [0] * len(self.ranks)
        return {
            **{f"{state}_ns": self._sum(state) for state in ("useful", "io", "mpi")},
            "overlapped_io_ns": np.array(overlapped, dtype=np.int64),
            "outside_io_ns": np.array(self.outside_io_ns or [0] * len(self.ranks), dtype=np.int64),
            **self._others(),
            "bytes_read": np.array(moved["pread"], dtype=np.int64),
            "bytes_written": np.array(moved["pwrite"], dtype=np.int64),
            "events": np.array(calls, dtype=np.int64),
            "instructions": instructions,
            "cycles": cycles,
            "host": self.hosts or ["node1"] * len(self.ranks),
            "cores": self.cores or [""] * len(self.ranks),
            "capture_ns": self.capture_ns or [None] * len(self.ranks),
            **self._waited(),
        }

    def _others(self) -> dict[str, Any]:
        """Of threads and processes that are not the main ones."""
        names = ("other_threads_in_mpi", "overlapped_mpi_calls", "overlapped_mpi_ns")
        names += ("bytes_by_other_threads", "bytes_by_other_processes")
        names += ("device_read_by_others_ns", "device_write_by_others_ns")
        nothing = [0] * len(self.ranks)
        return {n: np.array(self.others.get(n, nothing), dtype=np.int64) for n in names}

    def _waited(self) -> dict[str, Any]:
        if self.waited_ns is None:
            return {}
        states = enumerate(("useful", "io", "mpi"))
        return {f"waited_{state}_ns": [rank[i] for rank in self.waited_ns] for i, state in states}

    def _phases(self, calls: list, runtime: int) -> dict[str, Any]:
        """One I/O phase per maximal stretch in which some rank is in a file call."""
        stretches: list[list] = []
        for _, begin, end, _, interval in sorted(
            (c for c in calls if c[3] == "io"), key=lambda c: c[1]
        ):
            if not stretches or begin > stretches[-1][1]:
                stretches.append([begin, end, []])
            stretches[-1][1] = max(stretches[-1][1], end)
            stretches[-1][2].append((begin, end, interval))
        rows = []
        now = 0
        for begin, end, members in stretches:
            if begin > now:
                rows.append(("compute", now, begin, 0, 0, 0, 0, 0, 0.0))
            io_ns = sum(e - b for b, e, _ in members)
            moved = [
                sum(i.size for _, _, i in members if i.function == f) for f in ("pread", "pwrite")
            ]
            most = max(sum(b <= at < e for b, e, _ in members) for at, _, _ in members)
            row = (io_ns, end - begin, most, io_ns / max(end - begin, 1))
            rows.append(("io", begin, end, *moved, *row))
            now = end
        if now < runtime:
            rows.append(("compute", now, runtime, 0, 0, 0, 0, 0, 0.0))
        names = ["kind", "begin_ns", "end_ns", "bytes_read", "bytes_written", "io_ns", "busy_ns"]
        names += ["ranks_in_io_max", "ranks_in_io_mean"]
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def _timeline(self, calls: list, runtime: int, bins: int) -> dict[str, Any]:
        edges = np.linspace(0, runtime, bins + 1)
        rows = {state: np.zeros((len(self.ranks), bins)) for state in ("io", "mpi")}
        rates = {"bytes_read": np.zeros(bins), "bytes_written": np.zeros(bins)}
        for rank, begin, end, state, interval in calls:
            inside = np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, None)
            rows[state][rank] += inside
            key = {"pread": "bytes_read", "pwrite": "bytes_written"}.get(interval.function)
            if key:
                rates[key] += interval.size * inside / max(end - begin, 1)
        width = runtime / bins
        table = {s: np.rint(v).astype(np.uint32) for s, v in rows.items()}
        table["useful"] = np.rint(width - rows["io"] - rows["mpi"]).astype(np.uint32)
        ranks_in_io = rows["io"].sum(axis=0) / max(width, 1)
        longest = sorted(calls, key=lambda c: c[1] - c[2])[:20000]
        return {
            "timeline": table | {"row_ranks": 1},
            "rates": rates | {"ranks_in_io": ranks_in_io},
            "longest": {
                "rank": [c[0] for c in longest],
                "begin_ns": [c[1] for c in longest],
                "end_ns": [c[2] for c in longest],
                "function": [c[4].function for c in longest],
                "file": [c[4].path for c in longest],
                "bytes": [c[4].size for c in longest],
                "state": [c[3] for c in longest],
            },
        }


def _file_columns(calls: list, per_rank: bool = False) -> dict[str, list]:
    names = ["ranks", *SUMS, *REACH, *ERRORS]
    used = [(c[4].path, c[0] if per_rank else None) for c in calls if c[3] == "io"]
    keys = list(dict.fromkeys(used))
    table: dict[str, list] = {
        "path": [],
        "layer": [],
        "place": [],
        **{n: [] for n in names},
        "slowest_rank": [],
        "slowest_rank_ns": [],
    }
    if per_rank:
        table["file"], table["rank"] = [], []
    paths = list(dict.fromkeys(c[4].path for c in calls if c[3] == "io"))
    for path, rank in keys:
        mine = [c for c in calls if c[3] == "io" and c[4].path == path and rank in (None, c[0])]
        row = {
            "path": path,
            "layer": mine[0][4].layer,
            "place": place_of(path),
            "ranks": len({c[0] for c in mine}),
        } | _file_totals(mine)
        each = {c[0]: sum(d[2] - d[1] for d in mine if d[0] == c[0]) for c in mine}
        row["slowest_rank"] = max(each, key=lambda p: each[p])
        row["slowest_rank_ns"] = max(each.values())
        row |= {"file": paths.index(path), "rank": rank}
        for key in table:
            table[key].append(row[key])
    texts = ("path", "layer", "place")
    return {key: rows if key in texts else np.array(rows) for key, rows in table.items()}


def _former(calls: list, renames: dict[bytes, bytes]) -> np.ndarray:
    """By row of the files: the row of what it was."""
    rows = {path: row for row, path in enumerate(_paths(calls))}
    return np.array([rows.get(renames.get(path, b""), -1) for path in rows], dtype=np.int64)


def _paths(calls: list) -> list[bytes]:
    """The files in order of their rows."""
    return list(dict.fromkeys(c[4].path for c in calls if c[3] == "io"))


def _file_sizes(calls: list) -> dict[str, np.ndarray]:
    """Calls by decade of bytes; an interval's calls are of equal size."""
    paths = _paths(calls)
    table = {}
    for kind in ("read", "write"):
        decades = np.zeros((len(paths), 8), dtype=np.int64)
        sizes: list[list[int]] = [[] for _ in paths]
        for call in calls:
            if call[3] == "io" and kind_of(call) == kind:
                size, row = call[4].size // call[4].calls, paths.index(call[4].path)
                decades[row, min(max(len(str(size)) - 2, 0), 7)] += call[4].calls
                sizes[row].append(size)
        table[f"{kind}s"] = decades
        table[f"{kind}s_least"] = np.array([min(row, default=0) for row in sizes])
        table[f"{kind}s_most"] = np.array([max(row, default=0) for row in sizes])
    return table


def _file_uses(calls: list, ranks: int, runtime: int) -> dict[str, Any]:
    paths, bins = _paths(calls), 256
    width = max(-(-runtime // bins), 1)
    bins = max(-(-runtime // width), 1)
    edges = np.arange(bins + 1) * width
    uses = {kind: np.zeros((len(paths), ranks, bins)) for kind in ("read", "write", "other")}
    for call in calls:
        rank, begin, end, state, interval = call
        if state == "io":
            inside = np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, None)
            kind = kind_of(call) if kind_of(call) in uses else "other"
            uses[kind][paths.index(interval.path), rank] += inside
    return {"file": np.arange(len(paths)), "bin_ns": width} | uses


def kind_of(call: tuple) -> str:
    return next((k for k, names in FUNCTIONS.items() if call[4].function in names), "other")


def _asked_of_stdio(call: Interval) -> int:
    if not call.buffered:
        return 0
    return call.size if call.buffered_size is None else call.buffered_size


def _file_totals(calls: list) -> dict[str, int]:
    row = dict.fromkeys((*SUMS, *ERRORS), 0)
    for kind, (plural, _) in KINDS.items():
        chosen = [c for c in calls if kind_of(c) == kind]
        row[plural] = sum(c[4].calls for c in chosen)
        row[f"{kind}_ns"] = sum(c[2] - c[1] for c in chosen)
        if kind in ("read", "write"):
            row |= _pattern(plural, [c[4] for c in chosen])
            done = "read" if kind == "read" else "written"
            row[f"bytes_{done}"] = sum(c[4].size for c in chosen)
            row[f"mpiio_bytes_{done}"] = sum(c[4].asked for c in chosen)
            row[f"buffered_{plural}"] = sum(c[4].buffered for c in chosen)
            row[f"buffered_bytes_{done}"] = sum(_asked_of_stdio(c[4]) for c in chosen)
    for failed in filter(None, (c[4].failed_mpiio for c in calls)):
        row[f"failed_mpiio_{failed[0]}"] += failed[1]
        row["failed_mpiio_error"] = failed[2]
    return row | {
        "metadata_calls": sum(row[KINDS[k][0]] for k in (*METADATA_KINDS, "sync", "lock")),
        "metadata_ns": sum(row[f"{k}_ns"] for k in (*METADATA_KINDS, "sync", "lock")),
        "mpiio_ns": sum(c[2] - c[1] for c in calls if c[4].layer == "mpiio"),
    }


def called_from(columns: dict[str, Any], frames: list[tuple[str, str]]) -> None:
    """Has all calls on the one file come from one place: functions and their modules, the innermost
    first."""
    files, (functions, modules) = columns["files"], zip(*frames, strict=True)
    table = {calls: files[calls] for calls, _ in KINDS.values()}
    table |= {f"{kind}_ns": files[f"{kind}_ns"] for kind in KINDS}
    table |= {name: files[name] for name in ("bytes_read", "bytes_written")}
    table |= {"again_rank": {name: np.zeros(0, dtype=int) for name in ("path", "rank", "time_ns")}}
    table |= {"file": [0], "path": [0], "paths": [list(range(len(frames)))], "cut": [False]}
    names = {"function": list(functions), "module": list(modules)}
    lines = {"source": [""] * len(frames), "line": [0] * len(frames)}
    columns["places"] = table | {"frames": names | lines}


def _pattern(noun: str, intervals: list[Interval]) -> dict[str, int]:
    small = [i for i in intervals if i.size < SMALL_BYTES * i.calls]
    known = [i.reach for i in intervals if i.reach != (-1, -1)]
    steps = zip(("consecutive", "forward", "backward"), range(3), strict=True)
    return {
        **{f"{noun}_{name}": sum(i.steps[k] for i in intervals) for name, k in steps},
        f"{noun}_small": sum(i.calls for i in small),
        f"{noun}_small_ns": sum(i.length_ns for i in small),
        f"{noun}_empty": sum(i.calls for i in intervals if not i.size),
        f"{noun}_begin": min((begin for begin, _ in known), default=-1),
        f"{noun}_end": max((end for _, end in known), default=-1),
    }


def _function_columns(calls: list) -> dict[str, list]:
    names = sorted({c[4].function for c in calls})
    table: dict[str, list] = {
        key: [] for key in ("name", "layer", "calls", "time_ns", "bytes", "rank_max")
    }
    for name in names:
        mine = [c for c in calls if c[4].function == name]
        row = (
            name,
            mine[0][4].layer,
            sum(c[4].calls for c in mine),
            sum(c[2] - c[1] for c in mine),
        )
        for key, value in zip(table, (*row, sum(c[4].size for c in mine), mine[0][0]), strict=True):
            table[key].append(value)
    return table | {"counted": [0] * len(names)}


def asleep_for(slept_s: float, ranks: int = 2, **meta: str) -> dict[str, Any]:
    """What tells that main threads slept so long of their 990 ms of useful time."""
    ran = ",".join([str(int((0.99 - slept_s) * SECOND))] * ranks)
    meta = {"usage": "0 0 0 0 0", "ran_ns": ran} | meta
    return {"meta": meta, "waited_ns": [(0, 0, 0)] * ranks}
