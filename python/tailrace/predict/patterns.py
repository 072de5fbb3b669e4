"""File calls of several clients at once, as benchmarks make them, for a model to be tried with."""

from __future__ import annotations

from typing import NamedTuple

Call = tuple[str, int, int, int]
FIRST_FILE = 1


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
