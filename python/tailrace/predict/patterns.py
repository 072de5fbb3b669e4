"""File calls of several clients at once, as benchmarks make them, for a model to be tried with."""

from __future__ import annotations

from typing import NamedTuple

from tailrace import engine
from tailrace.gathering import Edge
from tailrace.predict.model import Model
from tailrace.units import to_seconds

Call = tuple[str, int, int, int]
FIRST_FILE = 1
# IO500's ior-hard: pieces that fit no page, block or stripe. Its ior-easy asks for large ones; a
# megabyte is the size that most papers take.
HARD_BYTES, EASY_BYTES = 47_008, 1 << 20


class Clients(NamedTuple):
    """Ranks go round the nodes, so that neighbours in a file are on different ones."""

    nodes: int
    ranks_per_node: int

    @property
    def node_of(self) -> list[int]:
        return [rank % self.nodes for rank in range(self.nodes * self.ranks_per_node)]


def own_files(ranks: int, size: int, count: int, kind: str = "write") -> list[list[Call]]:
    """Each rank moves so many pieces, one after another, in a file of its own, and brings what it
    wrote to the servers."""
    return [
        [
            *((kind, FIRST_FILE + rank, piece * size, size) for piece in range(count)),
            ("synchronize", FIRST_FILE + rank, 0, 0),
        ]
        for rank in range(ranks)
    ]


def one_file(ranks: int, size: int, count: int) -> list[list[Call]]:
    """Ranks take turns in one file, piece by piece."""
    return [
        [
            *(("write", FIRST_FILE, (turn * ranks + rank) * size, size) for turn in range(count)),
            ("synchronize", FIRST_FILE, 0, 0),
        ]
        for rank in range(ranks)
    ]


def bytes_per_s(
    model: Model, clients: Clients, calls: list[list[Call]], edge: Edge = "value"
) -> float:
    """What all of them move, until the last is done."""
    ends = engine.model_ends(model.parameters(edge), clients.node_of, calls)
    moved = sum(size for rank in calls for *_, size in rank)
    return moved / to_seconds(max(ends))


def shared_over_own(
    model: Model, clients: Clients, own: int, turns: int, edge: Edge = "value"
) -> float:
    """The bandwidth of small pieces in one file over that of large ones in files of their own, of
    which each rank writes as many."""
    ranks = len(clients.node_of)
    easy = bytes_per_s(model, clients, own_files(ranks, EASY_BYTES, own), edge)
    return bytes_per_s(model, clients, one_file(ranks, HARD_BYTES, turns), edge) / easy
