"""BT-IO of the NAS Parallel Benchmarks, with its own ways of writing and by gridio."""

from collections.abc import Iterator

from tailrace.bench import gridio, plan
from tailrace.bench.plan import Choices
from tailrace.bench.programs.kernel import Kernel
from tailrace.bench.workload import Btio, Workload

# BT-IO's own ways of writing (NPB 3: full, simple, epio), by the pair that they are.
MODES = {
    ("collective", "mpiio"): "full",
    ("independent", "mpiio"): "simple",
    ("file-per-rank", "posix"): "epio",
}


class BtioProgram(Kernel):
    def problems(self, workload: Workload) -> Iterator[tuple[str, str]]:
        table = _table(workload)
        yield from plan.cadence_problems(table.steps, [table.every])

    def lines(self, workload: Workload, choices: Choices, _prepare: bool) -> Iterator[str]:
        table = _table(workload)
        yield from plan.numbers(table, "points", "steps", "every", "work")
        mode = table.mode or MODES.get((choices.method, choices.format), "gridio")
        yield f"mode {mode}"
        yield f"read {plan.yes(table.read)}"
        path = choices.directory / f"solution{gridio.suffix(choices.format)}"
        if mode == "gridio":
            yield from plan.section("output", "solution", path, choices)
        else:
            yield "output solution"
            yield f"path {path}"
            yield from (f"hint {hint}" for hint in choices.hints)


def _table(workload: Workload) -> Btio:
    assert workload.btio is not None
    return workload.btio
