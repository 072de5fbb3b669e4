"""The plan that a kernel is started with, from a workload and one run's choices. kernels/README.md states its keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.bench.workload import Btio, Input, Output, Solver, Transfers, Variable, Workload, Zones
from tailrace.errors import TailraceError
from tailrace.names import printable

# Of the formats, as in kernels/gridio.
SUFFIX = {
    "posix": ".grid",
    "mpiio": ".grid",
    "hdf5": ".h5",
    "netcdf4": ".nc",
    "netcdf3": ".nc",
    "pnetcdf": ".nc",
    "cgns": ".cgns",
}
# BT-IO's own ways of writing (NPB 3: full, simple, epio), by the pair that they are.
BTIO_MODES = {("collective", "mpiio"): "full", ("independent", "mpiio"): "simple", ("file-per-rank", "posix"): "epio"}
CGNS_CALLS = {("collective", "cgns"), ("independent", "cgns")}


@dataclass(frozen=True)
class Choices:
    """What the user chose for a run. `directory` and `read_directory` are this run's own."""

    ranks: int
    method: str
    format: str
    directory: Path
    read_directory: Path
    hints: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    cold: bool = False
    fingerprints: bool = True
    time_limit_s: int = 0
    all_interfaces: bool = False


def write(path: Path, lines: Iterator[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def prepares(workload: Workload) -> bool:
    """Whether files must be there before the run, which reads them."""
    return bool(workload.input) or (isinstance(workload.parameters, Zones) and workload.parameters.operation == "read")


def plan(workload: Workload, choices: Choices, prepare: bool = False) -> Iterator[str]:
    """The lines of the plan that runs the workload, or of the one that prepares what it reads."""
    for path in (choices.directory, choices.read_directory):
        if any(ord(character) < 32 for character in str(path)):
            raise TailraceError(f"{printable(str(path))}: a directory's name may not hold line breaks or tabs")
    yield f"# tailrace bench {workload.name}, on {choices.ranks} ranks"
    yield f"name {workload.name}"
    yield f"cache {'cold' if choices.cold else 'warm'}"
    yield f"fingerprints {_yes(choices.fingerprints)}"
    if choices.time_limit_s:
        yield f"time_limit_s {choices.time_limit_s}"
    table = workload.parameters
    if isinstance(table, Solver):
        yield from _solver(workload, table, choices, prepare)
    elif isinstance(table, Btio):
        yield from _btio(table, choices)
    elif isinstance(table, Zones):
        yield from _zones(table, choices, prepare)
    elif isinstance(table, Transfers):
        yield from _transfers(table, choices)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _access(choices: Choices) -> str:
    return "collective" if choices.method == "collective" else "independent"


def _section(kind: str, name: str, path: Path, choices: Choices) -> Iterator[str]:
    yield f"{kind} {name}"
    yield f"path {path}"
    yield f"method {choices.method}"
    yield f"format {choices.format}"
    yield from _given(choices)


def _given(choices: Choices) -> Iterator[str]:
    yield from (f"hint {hint}" for hint in choices.hints)
    yield from (f"setting {setting}" for setting in choices.settings)


def _solver(workload: Workload, table: Solver, choices: Choices, prepare: bool) -> Iterator[str]:
    if prepare:
        yield "task prepare"
    yield f"grid {_by(table.grid)}"
    if table.tiles and table.tiles[0] * table.tiles[1] == choices.ranks:
        yield f"tiles {_by(table.tiles)}"
    yield from _numbers(table, "steps", "step_s", "tracers", "work")
    for stream in workload.input:
        yield from _stream("input", stream, table, choices, choices.read_directory)
    for stream in () if prepare else workload.output:
        yield from _stream("output", stream, table, choices, choices.directory)


def _stream(kind: str, stream: Input, table: Solver, choices: Choices, directory: Path) -> Iterator[str]:
    path = directory / f"{stream.name}{SUFFIX[choices.format]}"
    yield from _section(kind, stream.name, path, choices)
    yield f"every {stream.every or table.every}"
    yield f"steps_per_file {stream.steps_per_file}"
    if isinstance(stream, Output):
        yield f"initial {_yes(stream.initial)}"
        yield f"values {stream.values}"
        yield f"sync {_yes(stream.sync)}"
    for variable in stream.variable:
        yield from _variable(variable)


def _variable(variable: Variable) -> Iterator[str]:
    shape = ",".join(variable.shape) or "none"
    names = f" dimensions={','.join(variable.dimensions)}" if variable.dimensions else ""
    for number, name in enumerate(variable.names, 1):
        source = variable.source.replace("{n}", str(number))
        role = variable.role.replace("{n}", str(number))
        line = f"variable {name} type={variable.type} units={variable.units} shape={shape}{names}"
        yield f"{line} source={source} when={variable.when}" + ("" if role == "none" else f" role={role}")


def _numbers(table: object, *keys: str) -> Iterator[str]:
    yield from (f"{key} {getattr(table, key)}" for key in keys)


def _by(sizes: list[int]) -> str:
    return "x".join(map(str, sizes))


def btio_mode(table: Btio, choices: Choices) -> str:
    return table.mode or BTIO_MODES.get((choices.method, choices.format), "gridio")


def _btio(table: Btio, choices: Choices) -> Iterator[str]:
    yield from _numbers(table, "points", "steps", "every", "work")
    mode = btio_mode(table, choices)
    yield f"mode {mode}"
    yield f"read {_yes(table.read)}"
    path = choices.directory / f"solution{SUFFIX[choices.format]}"
    if mode == "gridio":
        yield from _section("output", "solution", path, choices)
    else:
        yield "output solution"
        yield f"path {path}"
        yield from (f"hint {hint}" for hint in choices.hints)


def _zones(table: Zones, choices: Choices, prepare: bool) -> Iterator[str]:
    interface = table.interface or ("cgp" if (choices.method, choices.format) in CGNS_CALLS else "gridio")
    yield f"operation {'prepare' if prepare else table.operation}"
    yield from _numbers(table, "points", "fields", "type", "iterations")
    yield f"interface {interface}"
    if interface == "cgp":
        yield f"access {_access(choices)}"
    reading = table.operation == "read"
    folder = choices.read_directory if reading else choices.directory
    path = folder / f"zones{SUFFIX[choices.format]}"
    kind = "input" if reading and not prepare else "output"
    if interface == "gridio":
        yield from _section(kind, "zones", path, choices)
    else:
        yield f"{kind} zones"
        yield f"path {path}"
        yield from _given(choices)


def _transfers(table: Transfers, choices: Choices) -> Iterator[str]:
    yield from _numbers(table, "file_bytes", "transfer_bytes", "block_bytes", "pattern", "iterations")
    yield f"access {_access(choices)}"
    if not choices.all_interfaces:
        yield f"interfaces {choices.format}"
    yield f"operations {' '.join(table.operations)}"
    yield "output transfers"
    yield f"path {choices.directory / 'transfers'}"
    yield from _given(choices)
