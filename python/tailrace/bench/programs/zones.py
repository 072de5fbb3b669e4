"""Zones of a CGNS file, by the CGNS library's parallel calls or by gridio."""

from collections.abc import Iterator

from tailrace.bench import gridio, plan
from tailrace.bench.plan import Choices
from tailrace.bench.programs.kernel import Kernel
from tailrace.bench.workload import Workload, Zones

# The pairs for which the CGNS library has calls of its own.
CGNS_CALLS = {("collective", "cgns"), ("independent", "cgns")}


class ZonesProgram(Kernel):
    def prepares(self, workload: Workload) -> bool:
        return _table(workload).operation == "read"

    def lines(self, workload: Workload, choices: Choices, prepare: bool) -> Iterator[str]:
        table = _table(workload)
        of_pair = "cgp" if (choices.method, choices.format) in CGNS_CALLS else "gridio"
        interface = table.interface or of_pair
        yield f"operation {'prepare' if prepare else table.operation}"
        yield from plan.numbers(table, "points", "fields", "type", "iterations")
        yield f"interface {interface}"
        if interface == "cgp":
            yield f"access {plan.access(choices)}"
        reading = table.operation == "read"
        folder = choices.read_directory if reading else choices.directory
        path = folder / f"zones{gridio.suffix(choices.format)}"
        kind = "input" if reading and not prepare else "output"
        if interface == "gridio":
            yield from plan.section(kind, "zones", path, choices)
        else:
            yield f"{kind} zones"
            yield f"path {path}"
            yield from plan.given(choices)


def _table(workload: Workload) -> Zones:
    assert workload.zones is not None
    return workload.zones
