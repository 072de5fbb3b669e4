"""Whether ranks that wait for each other leave their processors to a file system's client and
servers.

Who waits in Open MPI looks for messages all the time and keeps its processor, unless its node has
more ranks than cores: then it yields after each look, as MPICH always does. What a model says of
ranks that wait for nobody is right for those that yield
(docs/decisions/0051-who-waits-keeps-its-processor.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tailrace.gathering import Edge
from tailrace.predict.model import Model
from tailrace.verdict.processors import processors_of

KEEPS, YIELDS = "Open MPI", "MPICH"


class Polling(NamedTuple):
    """`cores`: of each node, the fewest that its ranks may use, where they keep them; None where
    the trace does not tell. `yields`: ranks leave theirs."""

    cores: int | None = None
    yields: bool = False

    def parameters(self, model: Model, edge: Edge, off: Edge | None = None) -> dict[str, Any]:
        """What the engine takes of the model for these ranks."""
        taken = model.parameters(edge, off) | {"cores": self.cores}
        if self.yields:
            taken["lock_after_write"] = taken["lock_after_write_unwaited"]
        return taken


UNKNOWN = Polling()


def polling(columns: dict[str, Any]) -> Polling:
    """Of a trace's columns."""
    found, mpi = processors_of(columns), columns["meta"].get("mpi", "")
    if mpi.startswith(YIELDS):
        return Polling(yields=True)
    if found is None or not mpi.startswith(KEEPS) or not all(node.cores for node in found.nodes):
        return UNKNOWN
    if any(node.ranks > node.cores for node in found.nodes):
        return Polling(yields=True)
    return Polling(cores=min(node.cores for node in found.nodes))
