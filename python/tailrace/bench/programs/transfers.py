"""Transfers of fixed sizes, as h5perf makes them, by every interface or by one."""

from collections.abc import Iterator

from tailrace.bench import plan
from tailrace.bench.plan import Choices
from tailrace.bench.programs.kernel import Kernel
from tailrace.bench.workload import Transfers, Workload


class TransfersProgram(Kernel):
    covers_all_formats = True

    def problems(self, workload: Workload) -> Iterator[tuple[str, str]]:
        table = _table(workload)
        if table.transfer_bytes % table.block_bytes:
            yield (
                "transfer_bytes",
                f"{table.transfer_bytes} is not a multiple of block_bytes, {table.block_bytes}",
            )

    def lines(self, workload: Workload, choices: Choices, _prepare: bool) -> Iterator[str]:
        table = _table(workload)
        yield from plan.numbers(
            table, "file_bytes", "transfer_bytes", "block_bytes", "pattern", "iterations"
        )
        yield f"access {plan.access(choices)}"
        if not choices.all_interfaces:
            yield f"interfaces {choices.format}"
        yield f"operations {' '.join(table.operations)}"
        yield "output transfers"
        yield f"path {choices.directory / 'transfers'}"
        yield from plan.given(choices)


def _table(workload: Workload) -> Transfers:
    assert workload.transfers is not None
    return workload.transfers
