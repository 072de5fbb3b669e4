"""What more ranks write of data that they may cut as no run did, by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.predict.asked import KINDS, Asked
from tailrace.predict.cuts import Cut, Shared, new_cut, shared
from tailrace.predict.ranks import PARTS, Runs

RANKS = np.asarray([1.0, 2.0, 3.0])
# The same 10 MB on each number of ranks: five layers of 2 MB, of which each has its strip. So each
# but the last reaches over 8 MB, and what is in gaps is read.
SAME = tuple(Shared(n, 10_000_000, 2_000_000 + n * 8_000_000, n > 1) for n in (1, 2, 3))
# … and one layer, of which strips lie one behind the other.
FLAT = tuple(Shared(n, 10_000_000, 10_000_000, n > 1) for n in (1, 2, 3))


def test_a_cut_is_new_where_all_runs_had_one_direction() -> None:
    # Four parts of 2 × 2 reach over four layers and half of one, 4 × 9 MB, and four strips over
    # 4 × 8 + 2: one layer more. Nine of 3 × 3 are 9 × (8 + 2 / 3), and strips 9 × 8 + 2: two more.
    assert new_cut(SAME, 4) == Cut((2, 2), 2_000_000)
    assert new_cut(SAME, 6) == Cut((3, 2), 2_000_000)
    assert new_cut(SAME, 9) == Cut((3, 3), 4_000_000)
    # of one layer each strip is one piece, and halves of strips are not
    assert new_cut(FLAT, 4) == Cut((2, 2), 10_000_000)
    # five ranks can only be in one row
    assert new_cut(SAME, 5) is None
    # where MPI cuts, 2 × 2 is all that there is, in two directions or three; 8 may be 2 × 2 × 2
    by_mpi = [run._replace(by_mpi=True) for run in SAME]
    assert new_cut(by_mpi, 4) == Cut((2, 2), 2_000_000, is_chosen=True)
    assert new_cut(by_mpi, 8) == Cut((4, 2), 2_000_000)
    assert new_cut([*SAME[:2], by_mpi[2]], 4) == Cut((2, 2), 2_000_000)
    # four ranks have done it
    assert new_cut((*SAME, SAME[2]._replace(ranks=4)), 6) is None


def test_a_cut_matters_where_ranks_sieve_the_same_data() -> None:
    # each rank brings its own: nothing is cut
    own = [Shared(n, n * 10_000_000, n * 10_000_000, n > 1) for n in (1, 2, 3)]
    assert new_cut(own, 4) is None
    # nobody reads what it writes back, or writes into what others write
    assert new_cut([run._replace(is_read=False) for run in SAME], 4) is None
    assert new_cut([run._replace(bytes=0) for run in SAME], 4) is None
    assert new_cut([], 4) is None


def test_shared_are_files_that_all_write() -> None:
    """Rank 1 of two writes the second file alone, and one reads the third; of the first 100 to 160
    are written, and it is read."""
    files = {
        "path": [b"a", b"b", b"c"],
        "writes_begin": [100, 0, -1],
        "writes_end": [160, 500, -1],
        "bytes_read": [8, 0, 9],
        "bytes_written": [90, 500, 0],
    }
    ranks = {"file": [0, 0, 1, 2], "writes": [3, 1, 7, 0]}
    functions = {"name": ["MPI_Send", "MPI_Dims_create"]}
    columns = {"files": files, "file_rank": ranks, "functions": {"name": ["MPI_Send"]}}
    assert shared(2, columns | {"functions": functions}) == Shared(2, 60, 90, True, by_mpi=True)
    assert shared(2, columns) == Shared(2, 60, 90, True)
    assert shared(1, columns) == Shared(1, 500, 500, False)


def runs(files_s: np.ndarray, counts: dict[str, np.ndarray], cut: tuple[Shared, ...]) -> Runs:
    parts = np.column_stack([files_s if part == "files" else 0 * RANKS for part in PARTS])
    known = Asked(RANKS, {kind: counts.get(kind, 0 * RANKS) for kind in KINDS})
    return Runs(RANKS, parts, waited=False, of_files=0.01, asked=known, shared=cut)


def test_what_may_be_written_besides_is_in_the_interval_alone() -> None:
    """Each rank writes 10 MB at 10 MB/s, so four take 4 s; 10 MB more are one second more."""
    counts = {"bytes_written": 1e7 * RANKS}
    one, two = (runs(RANKS, counts, cut).predict(4) for cut in ((), FLAT))
    assert one.predicted_s == two.predicted_s
    assert one.interval_s[1] < 4.5 < 5 <= two.interval_s[1]
    words = "4 ranks may cut what they share in two directions, 2 × 2, which none of these runs did"
    assert [words in assumed for assumed in two.change.assumes].count(True) == 1
    assert not any("directions" in assumed for assumed in one.change.assumes)


def test_all_may_be_read_before_it_is_written() -> None:
    """Each rank writes 1,000 times, and reads 100 times if there are others, 1 ms each: four take
    4.4 s, and 8 s where they read before each write."""
    counts = {"writes": 1000 * RANKS, "reads": np.asarray([0, 200.0, 300.0])}
    counts["bytes_written"] = 1e3 * RANKS
    times_s = (counts["writes"] + counts["reads"]) / 1e3
    one, two = (runs(times_s, counts, cut).predict(4) for cut in ((), SAME))
    assert one.interval_s[1] < 5 < 8 <= two.interval_s[1]
    # no other cut is possible where MPI chooses: what laws say is the least
    by_mpi = tuple(run._replace(by_mpi=True) for run in SAME)
    told = runs(times_s, counts, by_mpi).predict(4)
    assert one.predicted_s == pytest.approx(4.4, rel=0.01)
    assert told.predicted_s == pytest.approx(8, rel=0.01)
    assert told.interval_s[0] <= 4.4
    assert any(words.startswith("MPI_Dims_create cuts") for words in told.change.assumes)
