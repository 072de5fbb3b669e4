"""Programs of several clients that were held out: what the model says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tailrace import engine
from tailrace.calibration.several import Sample, Several
from tailrace.gathering import Edge
from tailrace.predict.model import Model
from tailrace.units import to_seconds

Call = tuple[str, int, int, int]
# Room for the files of each rank.
FILES_A_RANK = 10_000


@dataclass(frozen=True)
class Together:
    """What ranks did at the same time, each on the next node, and what it took, s."""

    nodes: list[int]
    calls: list[list[Call]]
    measured_s: float

    def predicted_s(self, model: Model, edge: Edge = "value") -> float:
        ends = engine.model_ends(model.parameters(edge), self.nodes, self.calls)
        return to_seconds(max(ends))


def held_out(several: Several) -> list[Together]:
    """All programs that were drawn, and took a time."""
    made: dict[str, Callable[[Sample, int], list[Call]]] = {
        "write": _writes,
        "read": _reads,
        "names": _names,
    }
    return [
        Together(
            [rank % several.nodes for rank in range(sample.ranks)],
            [made[sample.experiment](sample, rank) for rank in range(sample.ranks)],
            sample.seconds,
        )
        for sample in several.samples
        if sample.held_out and sample.experiment in made and sample.seconds > 0
    ]


def _moves(kind: str, sample: Sample, rank: int) -> list[Call]:
    size = sample.block_bytes
    return [(kind, rank, offset, size) for offset in range(0, sample.bytes, size)]


def _writes(sample: Sample, rank: int) -> list[Call]:
    return [*_moves("write", sample, rank), ("synchronize", rank, 0, 0)]


def _reads(sample: Sample, rank: int) -> list[Call]:
    return _moves("read", sample, rank)


def _names(sample: Sample, rank: int) -> list[Call]:
    """Each file is made, closed, looked up and removed."""
    files = sample.count // sample.ranks
    return [
        (kind, rank * FILES_A_RANK + file, 0, 0)
        for file in range(files)
        for kind in ("create", "close", "look_up", "other")
    ]
