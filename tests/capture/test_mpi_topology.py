"""Topologies in the stream; the program is programs/topology.c, run on 3 ranks."""

from __future__ import annotations

RANKS = 3
NEIGHBOURS, INT = 5, 4


def test_communicators_say_whom_neighbourhood_collectives_receive_from(workplace, tmp_path):
    program = workplace.compile("topology.c")
    run = workplace.run(tmp_path / "raw", RANKS, program)
    expected = {
        0: [[1, 2], [1], [1], [0, 1, 2], [0, 1, 2]],
        1: [[0, 2], [0, 2], [0, 2], [], []],
        2: [[0, 1], [1], [1], [], []],
    }
    for rank, stream in enumerate(run.ranks):
        calls = run.words(rank, "MPI_Neighbor_allgather")
        found = [stream.communicators[words[0]].sources for words in calls]
        assert [sorted(sources) for sources in found] == expected[rank]
        assert {words[1] for words in calls} == {NEIGHBOURS}
        # a torus has two neighbours in each direction, a line's ends are counted as well
        assert [words[4] for words in calls][:2] == [2 * INT, 2 * INT]
        assert stream.communicators[0].sources is None
