"""The ideal run times a second time: a plain replay of the table of calls (`Run.calls`), written
from docs/reference/report.md and replay.md, which shares nothing with the engine.

Every call is in memory, all are taken in order of measured time, and each rank carries by how much
its three clocks are ahead of its own time. It knows what most programs do: messages and requests,
collectives, MPI-IO with POSIX calls inside, main threads alone. `None` is its answer to the rest.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import tailrace

IO_LAYERS = {"posix", "stdio"}
SENDS = re.compile(r"MPI_(I?[sbr]?send|[SBR]?send)$", re.I)
RECEIVES = re.compile(r"MPI_(Recv|Irecv)$")
BOTH = re.compile(r"MPI_(Sendrecv|Sendrecv_replace)$")
WAITS = re.compile(r"MPI_(Wait|Test)(all|any|some)?$")
EVERYONE = re.compile(
    r"MPI_(I?([bB]arrier|[aA]llreduce|[aA]llgatherv?|[aA]lltoallv?|[rR]educe_scatter)"
    r"|Comm_(dup|split|create)|Cart_create)$"
)
FROM_ROOT = re.compile(r"MPI_I?([bB]cast|[sS]catterv?)$")
TO_ROOT = re.compile(r"MPI_I?([rR]educe|[gG]atherv?)$")
PREFIX = re.compile(r"MPI_I?([sS]can|[eE]xscan)$")
LOCAL = re.compile(
    r"MPI_(Init(_thread)?|Finalize|Comm_(rank|size|free|set_\w+|get_\w+)|Cart_(coords|shift|rank)"
    r"|Type_\w+|Info_\w+|Get_\w+|Dims_create|Error_\w+|Group_\w+|Buffer_\w+)$"
)


class Call(NamedTuple):
    row: dict[str, Any]
    begin: int
    end: int

    @property
    def name(self) -> str:
        return str(self.row["function"])

    @property
    def starts(self) -> bool:
        return self.row["request"] is not None


# Ideal network; even I/O, in units of 1/P ns; ideal file system.
Clocks = tuple[int, int, int]


def latest(*moments: Clocks) -> Clocks:
    return tuple(map(max, zip(*moments, strict=True)))


class Local:
    """A rank's own time up to any moment: outside of calls, in file calls, and ∫k dt over them."""

    def __init__(self, calls: list[tuple[int, int]], files: list[tuple[int, int]], area) -> None:
        self.calls, self.files = calls, files
        self.begins = [[begin for begin, _ in spans] for spans in (calls, files)]
        length = [end - begin for begin, end in calls]
        self.before = [0, *accumulate(length)]
        self.io_before = [0, *accumulate(end - begin for begin, end in files)]
        self.shared_before = [0, *accumulate(area(end) - area(begin) for begin, end in files)]
        self.area = area

    def at(self, moment: int, ranks: int) -> Clocks:
        number = bisect.bisect_left(self.begins[0], moment)
        inside = self.before[number]
        if number and self.calls[number - 1][1] > moment:
            inside -= self.calls[number - 1][1] - moment
        useful = moment - inside
        number = bisect.bisect_left(self.begins[1], moment)
        io, shared = self.io_before[number], self.shared_before[number]
        if number and (last := self.files[number - 1][1]) > moment:
            io -= last - moment
            shared -= self.area(last) - self.area(moment)
        return useful + io, useful * ranks + shared, useful


def area_of(spans: list[tuple[int, int]]):
    """∫k dt as a function of time, k being how many of the spans are open."""
    changes = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    times, totals, open_now = [0], [0], [0]
    for time, by in changes:
        totals.append(totals[-1] + open_now[-1] * (time - times[-1]))
        times.append(time)
        open_now.append(open_now[-1] + by)

    def area(moment: int) -> int:
        place = bisect.bisect_right(times, moment) - 1
        return totals[place] + open_now[place] * (moment - times[place])

    return area


def union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


class Oracle:
    def __init__(self, run: tailrace.Run, eager_limit: int) -> None:
        self.eager_limit = eager_limit
        self.runtime = int(run.columns["runtime_ns"])
        self.ranks = int(run.columns["ranks"])
        elsewhere = set(run.files.path[run.files.place != "file_system"])
        rows = run.calls().to_arrow().to_pylist()
        # Libraries have threads of their own, which do not communicate.
        talking = {(row["rank"], row["thread"]) for row in rows if row["layer"] in {"mpi", "mpiio"}}
        self.known = len(talking) == self.ranks == len({rank for rank, _ in talking})
        rows = [row for row in rows if (row["rank"], row["thread"]) in talking]
        self.calls: list[list[Call]] = [[] for _ in range(self.ranks)]
        for row in rows:
            if row["layer"] not in IO_LAYERS or row["file"] not in elsewhere:
                begin = row["begin_ns"]
                self.calls[row["rank"]].append(Call(row, begin, begin + row["duration_ns"]))
        for calls in self.calls:
            calls.sort(key=lambda call: (call.begin, -call.end, call.row["depth"]))
        self.files = [self.spans(calls, io=True) for calls in self.calls]
        area = area_of([span for spans in self.files for span in spans])
        self.local = [
            Local(self.spans(calls, io=False), files, area)
            for calls, files in zip(self.calls, self.files, strict=True)
        ]
        self.moments: dict[tuple[str, int, int], Clocks] = {}
        self.ahead: list[Clocks] = [(0, 0, 0)] * self.ranks
        self.match()

    def spans(self, calls: list[Call], io: bool) -> list[tuple[int, int]]:
        wanted = [call for call in calls if not io or call.row["layer"] in IO_LAYERS]
        cut = [(max(call.begin, 0), min(call.end, self.runtime)) for call in wanted]
        return union([span for span in cut if span[0] < span[1]])

    def match(self) -> None:
        """What each call meets: the n-th send of a channel the n-th receive, the n-th collective of
        a rank on a communicator the n-th of the others."""
        self.sends, self.receives = defaultdict(list), defaultdict(list)
        self.instances, self.of_request = defaultdict(list), {}
        self.met: dict[tuple[int, int], tuple] = {}
        numbers = defaultdict(int)
        for rank, calls in enumerate(self.calls):
            for place, (row, *_) in enumerate(calls):
                call, key = calls[place], (rank, place)
                if call.starts:
                    self.of_request[row["request"]] = key
                where, both = row["communicator"], BOTH.match(call.name)
                if (SENDS.match(call.name) or both) and row["peer"] is not None:
                    self.sends[where, rank, row["peer"], row["tag"]].append(key)
                source, tag = ("source", "source_tag") if both else ("peer", "tag")
                if (RECEIVES.match(call.name) or both) and row[source] is not None:
                    self.receives[where, row[source], rank, row[tag]].append(key)
                if self.is_collective(call):
                    group = (where, row["layer"], rank)
                    self.instances[where, row["layer"], numbers[group]].append(key)
                    self.met[key] = (where, row["layer"], numbers[group])
                    numbers[group] += 1
        self.send_of = self.pairs(self.receives, self.sends)
        self.receive_of = self.pairs(self.sends, self.receives)

    @staticmethod
    def pairs(of, others) -> dict[tuple[int, int], tuple[int, int]]:
        return {
            one: other
            for channel, ones in of.items()
            for one, other in zip(ones, others.get(channel, []), strict=False)
        }

    def is_collective(self, call: Call) -> bool:
        if call.row["layer"] == "mpiio":
            return call.row["communicator"] is not None
        kinds = (EVERYONE, FROM_ROOT, TO_ROOT, PREFIX)
        return any(kind.match(call.name) for kind in kinds)

    def is_known(self) -> bool:
        kinds = (SENDS, RECEIVES, BOTH, WAITS, EVERYONE, FROM_ROOT, TO_ROOT, PREFIX, LOCAL)
        names = {call.name for calls in self.calls for call in calls if call.row["layer"] == "mpi"}
        asynchronous = any(
            call.row["layer"] not in {"mpi", "mpiio", *IO_LAYERS}
            or (call.row["layer"] == "mpiio" and call.starts)
            for calls in self.calls
            for call in calls
        )
        return (
            self.known
            and not asynchronous
            and all(any(kind.match(name) for kind in kinds) for name in names)
        )

    def run(self) -> Clocks:
        events = []
        for rank, calls in enumerate(self.calls):
            inside: list[tuple[int, int]] = []  # collective calls of MPI-IO around
            for place, call in enumerate(calls):
                while inside and call.begin >= calls[inside[-1][1]].end:
                    inside.pop()
                if call.row["layer"] in IO_LAYERS and inside:
                    events.append((call.begin, 1, rank, place, "join", inside[-1]))
                    events.append((call.end, 0, rank, place, "moved", inside[-1]))
                events.append((call.begin, 2, rank, place, "begin", None))
                events.append((call.end, 0, rank, -place, "end", (rank, place)))
                if call.row["layer"] == "mpiio" and call.row["communicator"] is not None:
                    inside.append((rank, place))
        self.moved = defaultdict(list)
        self.movers = set()
        for time, _, rank, place, what, key in sorted(events, key=lambda event: event[:4]):
            if what == "begin":
                self.moments[rank, place] = self.now(rank, time)
            elif what == "join":
                self.wait(rank, time, self.everyone(key, time))
            elif what == "moved":
                self.movers.add(key)
                self.moved[self.met[key]].append((time, self.now(rank, time)))
            else:
                self.end(rank, time, key)
        ends = [self.now(rank, self.runtime) for rank in range(self.ranks)]
        net, even, ideal = latest(*ends)
        return net, even // self.ranks, ideal

    def now(self, rank: int, time: int) -> Clocks:
        local = self.local[rank].at(min(max(time, 0), self.runtime), self.ranks)
        return tuple(map(sum, zip(self.ahead[rank], local, strict=True)))

    def wait(self, rank: int, time: int, moment: Clocks) -> None:
        now = self.now(rank, time)
        behind = (max(0, other - own) for other, own in zip(moment, now, strict=True))
        self.ahead[rank] = tuple(map(sum, zip(self.ahead[rank], behind, strict=True)))

    def end(self, rank: int, time: int, key: tuple[int, int]) -> None:
        call = self.calls[rank][key[1]]
        if WAITS.match(call.name):
            for request in call.row["completes"]:
                if request in self.of_request:
                    self.wait(rank, time, self.depends(self.of_request[request], rank, time))
        elif not call.starts:
            self.wait(rank, time, self.depends(key, rank, time))

    def begun(self, key: tuple[int, int] | None, time: int) -> Clocks:
        """A wait is for what happened before, as measured."""
        if key is None or self.calls[key[0]][key[1]].begin >= time:
            return (0, 0, 0)
        return self.moments[key]

    def everyone(self, key: tuple[int, int], time: int) -> Clocks:
        """The others' entry into a collective call of MPI-IO, which need not synchronize: only if
        all entered."""
        others = self.instances[self.met[key]]
        entered = [other for other in others if self.calls[other[0]][other[1]].begin < time]
        size = len({rank for rank, _ in others})
        if len(entered) < size or size < 2:
            return (0, 0, 0)
        return latest(*(self.begun(other, time) for other in entered))

    def depends(self, key: tuple[int, int], rank: int, time: int) -> Clocks:
        call = self.calls[key[0]][key[1]]
        row, name = call.row, call.name
        moments = [(0, 0, 0)]
        if RECEIVES.match(name) or BOTH.match(name):
            moments.append(self.begun(self.send_of.get(key), time))
        if SENDS.match(name) or BOTH.match(name):
            synchronous = name in {"MPI_Ssend", "MPI_Issend"}
            buffered = name in {"MPI_Bsend", "MPI_Ibsend"}
            large = not buffered and self.sent(row, key) > self.eager_limit
            if synchronous or large:
                moments.append(self.begun(self.receive_of.get(key), time))
        if row["layer"] == "mpiio" and row["communicator"] is not None:
            moments.append(self.everyone(key, time))
            # others read for the rank, or wrote for it if it made no file call itself
            is_served = "read" in name or ("write" in name and key not in self.movers)
            if is_served and moments[-1] != (0, 0, 0):
                moments += [moment for at, moment in self.moved[self.met[key]] if at < time]
        elif self.is_collective(call):
            moments += self.entries(key, rank, time)
        return latest(*moments)

    def sent(self, row: dict[str, Any], key: tuple[int, int]) -> int:
        """A call that sends and receives has the bytes of both; what it sends, another receives."""
        if not BOTH.match(row["function"]):
            return row["bytes"] or 0
        return (row["bytes"] or 0) // 2

    def entries(self, key: tuple[int, int], rank: int, time: int) -> list[Clocks]:
        call, others = self.calls[key[0]][key[1]], self.instances[self.met[key]]
        if FROM_ROOT.match(call.name):
            root = call.row["peer"]
            others = [other for other in others if other[0] == root != rank]
        elif TO_ROOT.match(call.name) and call.row["peer"] != rank:
            others = []
        elif PREFIX.match(call.name):
            others = [other for other in others if other[0] <= rank]
        return [self.begun(other, time) for other in others]


def ideal_times(trace: Path, eager_limit: int = 32 * 1024) -> Clocks | None:
    """T_net, T_even and T_ideal in nanoseconds; None of a program that does more than is known
    here."""
    oracle = Oracle(tailrace.open(trace), eager_limit)
    return oracle.run() if oracle.is_known() else None
