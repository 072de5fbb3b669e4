"""The solver: a model on tiles of a grid, whose files a workload describes."""

from collections.abc import Iterator
from pathlib import Path

from tailrace.bench import gridio, plan
from tailrace.bench.plan import Choices
from tailrace.bench.programs.kernel import Kernel
from tailrace.bench.workload import Input, Output, Solver, Variable, Workload


class SolverProgram(Kernel):
    described_files = True

    def problems(self, workload: Workload) -> Iterator[tuple[str, str]]:
        table = _table(workload)
        cadences = [stream.every or table.every for stream in workload.output] or [table.every]
        yield from plan.cadence_problems(table.steps, cadences)

    def prepares(self, workload: Workload) -> bool:
        return bool(workload.input)

    def lines(self, workload: Workload, choices: Choices, prepare: bool) -> Iterator[str]:
        table = _table(workload)
        if prepare:
            yield "task prepare"
        yield f"grid {plan.by(table.grid)}"
        if table.tiles and table.tiles[0] * table.tiles[1] == choices.ranks:
            yield f"tiles {plan.by(table.tiles)}"
        yield from plan.numbers(table, "steps", "step_s", "tracers", "work")
        for stream in workload.input:
            yield from _stream("input", stream, table, choices, choices.read_directory)
        for stream in () if prepare else workload.output:
            yield from _stream("output", stream, table, choices, choices.directory)


def _table(workload: Workload) -> Solver:
    assert workload.solver is not None
    return workload.solver


def _stream(
    kind: str, stream: Input, table: Solver, choices: Choices, directory: Path
) -> Iterator[str]:
    path = directory / f"{stream.name}{gridio.suffix(choices.format)}"
    yield from plan.section(kind, stream.name, path, choices)
    yield f"every {stream.every or table.every}"
    yield f"steps_per_file {stream.steps_per_file}"
    if isinstance(stream, Output):
        yield f"initial {plan.yes(stream.initial)}"
        yield f"values {stream.values}"
        yield f"sync {plan.yes(stream.sync)}"
    for variable in stream.variable:
        yield from _variable(variable)


def _variable(variable: Variable) -> Iterator[str]:
    shape = ",".join(variable.shape) or "none"
    names = f" dimensions={','.join(variable.dimensions)}" if variable.dimensions else ""
    for number, name in enumerate(variable.names, 1):
        source = variable.source.replace("{n}", str(number))
        role = variable.role.replace("{n}", str(number))
        line = f"variable {name} type={variable.type} units={variable.units} shape={shape}{names}"
        yield f"{line} source={source} when={variable.when}" + (
            "" if role == "none" else f" role={role}"
        )
