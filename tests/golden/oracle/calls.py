"""What each call of a table is: by its name, its layer and what it refers to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import tailrace

# "A POSIX, STDIO or asynchronous I/O call is I/O wherever it is nested" (decision 0001).
IO_LAYERS = {"posix", "stdio", "asynchronous"}
SENDS = re.compile(r"MPI_([IP]?[sbr]?send|[SBR]?send)(_init)?$", re.I)
RECEIVES = re.compile(r"MPI_(Recv|Irecv|Recv_init|Precv_init|Mrecv|Imrecv)$")
BOTH = re.compile(r"MPI_I?sendrecv(_replace)?$", re.I)
PROBES = re.compile(r"MPI_I?m?probe$", re.I)
WAITS = re.compile(r"MPI_(Wait|Test)(all|any|some)?$")
ON_REQUESTS = re.compile(r"MPI_(Start(all)?|Cancel|Request_free|Pready\w*)$")
EVERYONE = re.compile(
    r"MPI_(I?([bB]arrier|[aA]llreduce|[aA]llgatherv?|[aA]lltoall[vw]?|[rR]educe_scatter)"
    r"|Comm_(dup|split|create)|Cart_create|Graph_create|Dist_graph_create(_adjacent)?"
    r"|Intercomm_(create|merge)|Win_(create|allocate|free|fence))$"
)
FROM_ROOT = re.compile(r"MPI_I?([bB]cast|[sS]catterv?)$")
TO_ROOT = re.compile(r"MPI_I?([rR]educe|[gG]atherv?)$")
PREFIX = re.compile(r"MPI_I?([sS]can|[eE]xscan)$")
NEIGHBOURS = re.compile(r"MPI_I?neighbor_(allgatherv?|alltoall[vw]?)$", re.I)
COLLECTIVES = (EVERYONE, FROM_ROOT, TO_ROOT, PREFIX, NEIGHBOURS)
EPOCHS = re.compile(r"MPI_Win_(post|start|complete|wait)$")
LOCKS = re.compile(r"MPI_Win_(lock|flush|unlock)$")
LOCAL = re.compile(
    r"MPI_(Init(_thread)?|Finalize|Pcontrol|Comm_(rank|size|free|group|set_\w+|get_\w+)"
    r"|Cart_(coords|shift|rank)|Type_\w+|Info_\w+|Get_\w+|Dims_create|Error_\w+|Group_\w+"
    r"|Buffer_\w+|Put|Get|Accumulate)$"
)
KINDS = (SENDS, RECEIVES, BOTH, PROBES, WAITS, ON_REQUESTS, *COLLECTIVES, EPOCHS, LOCKS, LOCAL)


@dataclass(frozen=True, eq=False)
class Call:
    row: dict[str, Any]
    is_main: bool

    def __getitem__(self, column: str) -> Any:
        return self.row[column]

    @property
    def name(self) -> str:
        return str(self.row["function"])

    @property
    def rank(self) -> int:
        return int(self.row["rank"])

    @property
    def begin(self) -> int:
        return int(self.row["begin_ns"])

    @property
    def end(self) -> int:
        return self.begin + int(self.row["duration_ns"])

    def matches(self, *kinds: re.Pattern[str]) -> bool:
        return any(kind.match(self.name) for kind in kinds)

    @property
    def prepares(self) -> bool:
        return self.name.endswith("_init") and self["request"] is not None

    @property
    def starts(self) -> bool:
        return self["request"] is not None and not self.prepares

    @property
    def is_of_file(self) -> bool:
        return self["layer"] in IO_LAYERS

    @property
    def is_collective_on_file(self) -> bool:
        return self["layer"] == "mpiio" and self["communicator"] is not None

    @property
    def is_collective(self) -> bool:
        return self["layer"] == "mpi" and self.matches(*COLLECTIVES)


class Recorded:
    """The calls of a run: those of each rank's main thread, outer before inner, and of others."""

    def __init__(self, run: tailrace.Run) -> None:
        self.runtime = int(run.columns["runtime_ns"])
        self.ranks = int(run.columns["ranks"])
        # Memory, devices and streams are on no file system: their time is that of what is around.
        elsewhere = set(run.files.path[run.files.place != "file_system"])
        rows = run.calls().to_arrow().to_pylist()
        # The main thread is the one that calls MPI_Init; without MPI the first.
        main = {(rank, 0) for rank in range(self.ranks)}
        begun = {
            (row["rank"], row["thread"]) for row in rows if row["function"].startswith("MPI_Init")
        }
        main = begun or main
        calls = [
            Call(row, (row["rank"], row["thread"]) in main)
            for row in rows
            if row["layer"] not in IO_LAYERS or row["file"] not in elsewhere
        ]
        calls.sort(key=lambda call: (call.begin, -call.end, call["depth"]))
        self.all = calls
        self.main = [
            [call for call in calls if call.is_main and call.rank == rank]
            for rank in range(self.ranks)
        ]
        self.others = [call for call in calls if not call.is_main]

    def is_known(self) -> bool:
        """Whether all that the program does is known here: a collective call on a file that goes on
        after it returned is not."""
        mpi = [call for call in self.all if call["layer"] == "mpi"]
        unknown = [call for call in self.all if call.is_collective_on_file and call.starts]
        return not unknown and all(call.matches(*KINDS) for call in mpi)
