"""How ranks cut what they share. Of a grid that is written into one file each has a part; where all
runs had 2 or 3 ranks, say, it was cut in one direction, and 4 may cut it in two, 2 × 2. Then parts
have gaps in which those of others lie, and MPI-IO reads and writes all from a part's begin to its
end: no law of the number of ranks has that, as no run did it. Programs that call MPI_Dims_create
have MPI cut the grid as evenly as can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tailrace.units import byte_count, count

# Data are the same where they differ by no more.
SAME = 0.01
CHOOSES = "MPI_Dims_create"


class Shared(NamedTuple):
    """What all ranks write into files that they share, in one run: `bytes` is how long these are,
    `written` counts what is written again. `is_read`: something of them is read, as data sieving
    does. `by_mpi`: MPI is asked how to cut a grid."""

    ranks: int
    bytes: int
    written: int
    is_read: bool
    by_mpi: bool = False

    @property
    def between(self) -> float:
        """How much of the data each further part reaches over: what lies in its gaps."""
        return (self.written - self.bytes) / (self.ranks - 1)


class Cut(NamedTuple):
    """The grid of ranks: that many in each direction; and what is written of data cut that way
    beyond what laws say. `is_chosen`: MPI cuts it, and in no other way."""

    sides: tuple[int, int]
    more_bytes: int
    is_chosen: bool = False

    def described(self, ranks: int) -> str:
        sides = " × ".join(map(str, self.sides))
        more = (
            f"in two directions, {sides}, which none of these runs did: then"
            f" {byte_count(self.more_bytes)} more are written, and all is read before"
        )
        if self.is_chosen:
            return f"{CHOOSES} cuts what {count(ranks, 'rank')} share {more}"
        return f"{count(ranks, 'rank')} may cut what they share {more} (in the interval alone)"


def shared(ranks: int, columns: dict[str, Any]) -> Shared:
    files, of_ranks = columns["files"], columns["file_rank"]
    writes = np.asarray(of_ranks["writes"]) > 0
    writers = np.bincount(np.asarray(of_ranks["file"])[writes], minlength=len(files["path"]))
    begin, end = (np.asarray(files[f"writes_{edge}"]) for edge in ("begin", "end"))
    by_all = (writers == ranks) & (begin >= 0)
    read, written = (
        int(np.asarray(files[f"bytes_{moved}"])[by_all].sum()) for moved in ("read", "written")
    )
    by_mpi = CHOOSES in columns["functions"]["name"]
    return Shared(ranks, int((end - begin)[by_all].sum()), written, read > 0, by_mpi)


def new_cut(runs: Sequence[Shared], ranks: int) -> Cut | None:
    """Where so many ranks may cut in two directions the same data that all of these cut in one, and
    sieve what they write. A strip of an array of several layers reaches over all layers but one,
    and the strips share the last. Parts that lie beside each other in a strip reach over all of it,
    so what is in one piece is written once more for each of them but the first. In how many
    directions MPI is to cut is not known; where both sides are primes it makes no difference."""
    sides = most_even(ranks)
    together = [run for run in runs if run.ranks > 1]
    if sides[1] == 1 or not together or any(most_even(run.ranks)[1] > 1 for run in together):
        return None
    sizes = [run.bytes for run in runs]
    is_same = min(sizes) > 0 and max(sizes) <= (1 + SAME) * min(sizes)
    if not is_same or not any(run.is_read for run in together):
        return None
    in_one = max(sizes) - max(together).between
    is_chosen = all(run.by_mpi for run in runs) and all(most_even(side)[1] == 1 for side in sides)
    return Cut(sides, round((sides[1] - 1) * max(in_one, 0)), is_chosen)


def most_even(ranks: int) -> tuple[int, int]:
    """As MPI_Dims_create makes it of two directions, the longer side first."""
    shorter = next(side for side in range(math.isqrt(ranks), 0, -1) if ranks % side == 0)
    return ranks // shorter, shorter
