"""What is run: programs and formats on which no model was made; a model is made by `tailrace
calibrate`, which runs none of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tailrace.predict.methods import Method
from tailrace.usage import Cache


@dataclass(frozen=True)
class Case:
    workload: str
    size: str
    ranks: int
    method: Method
    format: str
    changes: tuple[str, ...] = ()
    # Whether what is read is in the client's memory.
    cache: Cache = "cold"
    # Where it is measured; everywhere if none is named.
    beds: tuple[str, ...] = ()
    # How many ranks write by aggregated output; 0: one on each node.
    aggregators: int = 0
    # On nodes of the test bed's cluster; 0: all ranks on this machine, behind one client.
    ranks_per_node: int = 0

    @property
    def nodes(self) -> int:
        return self.ranks // self.ranks_per_node if self.ranks_per_node else 0

    @property
    def name(self) -> str:
        nodes = f" on {self.nodes} node{'s' * (self.nodes > 1)}" if self.nodes else ""
        warm = ", warm" if self.cache == "warm" else ""
        size = " ".join((self.size, *self.changes))
        writers = f" by {self.aggregators}" if self.aggregators else ""
        method = f"{self.method}{writers} {self.format}"
        return f"{self.workload} {size}, {method}, {self.ranks}{nodes}{warm}"

    @property
    def family(self) -> tuple[str, ...]:
        """Cases of one are measured in turns: they differ in method, aggregators, ranks or cache
        alone."""
        each = str(self.ranks_per_node)
        return self.workload, self.size, self.format, each, *self.changes

    def options(self) -> list[str]:
        """Of `tailrace bench`."""
        chosen = ["--size", self.size, "--ranks", str(self.ranks), "--method", self.method]
        chosen += ["--format", self.format, "--no-verify"]
        if self.cache == "cold":
            chosen.append("--cold")
        if self.aggregators:
            chosen += ["--setting", f"writers={self.aggregators}"]
        return [self.workload, *chosen, *(word for s in self.changes for word in ("--set", s))]


def by(methods: Iterable[Method], case: Case) -> list[Case]:
    return [replace(case, method=method) for method in methods]


def on(ranks: Iterable[int], case: Case) -> list[Case]:
    return [replace(case, ranks=number) for number in ranks]


# Once: `whatif` is asked what the client knows when the run begins, and what `--cold` drops before
# each reading is that, if there is one.
READ_ONCE = Case("cgns", "read64", 2, "collective", "hdf5", ("iterations=1",))
# Behind links of 100 Mb/s most methods take as long as the bytes. Where nothing but the method
# decides, runs of less than 0.3 s tell little: these are as large as that takes.
ON_DISK = ("local",)
OVER_LINKS = ("nfs", "striped")

# Each rank has a zone of its own; or rows of what all ranks write.
ZONES = Case("cgns", "write50", 2, "independent", "cgns", ("iterations=1",), beds=OVER_LINKS)
ROWS = Case("wrf", "small", 2, "independent", "mpiio", ("steps=2",), beds=OVER_LINKS)

# Family by family; the first are those that a short time is best spent on.
CASES = (
    *by(
        ("serial", "independent", "aggregated", "file-per-rank"),
        Case("roms", "small", 2, "serial", "posix"),
    ),
    # by these a network file system takes twice as long by one as by another
    *by(("serial", "independent", "collective"), Case("wrf", "small", 2, "serial", "mpiio")),
    *by(("serial", "collective"), Case("roms", "small", 2, "serial", "netcdf4")),
    READ_ONCE,
    replace(READ_ONCE, cache="warm"),
    *by(("independent", "collective"), Case("cgns", "write50", 2, "independent", "cgns")),
    Case("wrf", "small", 2, "serial", "netcdf3"),
    *by(("serial", "file-per-rank"), Case("roms", "small", 2, "serial", "netcdf3")),
    # rows of 240 bytes, by turns of the ranks
    *by(("independent", "collective"), Case("btio", "S", 4, "independent", "mpiio", ("steps=50",))),
    *by(
        ("collective", "independent", "serial", "aggregated", "file-per-rank"),
        Case("wrf", "medium", 2, "collective", "mpiio", ("steps=4",), beds=ON_DISK),
    ),
    *by(
        ("independent", "collective"),
        Case("cgns", "write150", 2, "independent", "cgns", beds=ON_DISK),
    ),
    *by(
        ("collective", "independent"),
        Case("h5perf", "small", 2, "collective", "mpiio", beds=ON_DISK),
    ),
    # More ranks where I/O decides, at most 3 s a run. Each rank has a zone of its own, so twice the
    # ranks write twice the bytes: over a link, and into memory.
    *on((1, 2, 3, 4, 6), ZONES),
    *on(
        (1, 2, 3, 4),
        Case("cgns", "write150", 2, "independent", "cgns", ("iterations=1",), beds=ON_DISK),
    ),
    # The ranks share the same bytes, and each locks, reads and writes its rows of every variable.
    *on((1, 2, 3, 4), ROWS),
    # Up to sixteen on eight nodes, each with a client and a link of its own.
    *on((2, 4, 8, 16), replace(ZONES, ranks_per_node=2)),
    *on((2, 4, 8, 16), replace(ROWS, ranks_per_node=2)),
    # How many ranks write by aggregated output: parts of a file that lie side by side.
    *(replace(ROWS, ranks=4, method="aggregated", aggregators=number) for number in (1, 2, 4)),
    # These take minutes, or change little.
    *on((1, 2, 3, 4), Case("cmaq", "small", 2, "serial", "netcdf3")),
    Case("btio", "W", 4, "collective", "mpiio"),
)
