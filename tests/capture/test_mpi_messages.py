"""What a program's messages look like in its stream; the program is programs/messages.c, run on 3
ranks.

Words are those of docs/reference/internals/trace.md. Rank r sends to r + 1 and receives
from r − 1 (modulo 3).
"""

from __future__ import annotations

import pytest

INT = 4
RANKS = 3


@pytest.fixture
def run(workplace, tmp_path):
    return workplace.run(tmp_path / "raw", RANKS, workplace.compile("messages.c"))


def token_numbers(stream, classes_that_start):
    """Replays the numbering of requests: of every completion, the numbers it names."""
    started, completed = 0, []
    for call in stream.calls:
        if call.class_number == 5:
            triples = [call.words[2 + 3 * i : 5 + 3 * i] for i in range(call.words[1])]
            completed.append(
                (call.function, [(started - token, peer, tag) for token, peer, tag in triples])
            )
        flags = classes_that_start.get(call.class_number)
        if flags is not None and call.words[flags] & 1:
            started += 1
    return started, completed


def test_the_run_is_described(run):
    assert len(run.ranks) == RANKS
    for rank, stream in enumerate(run.ranks):
        assert (stream.meta["rank"], stream.meta["ranks"]) == (str(rank), str(RANKS))
        assert "MPI" in stream.meta["mpi"] or "MPICH" in stream.meta["mpi"]
        assert [call.words[0] for call in stream.calls if call.class_number == 10] == [0, 1]
        assert stream.header["lost"] == 0
        assert stream.communicators[0].members == list(range(RANKS))
        assert stream.communicators[1].members == [rank]
    assert run.stdout.count("done") == RANKS  # launchers mix lines


def test_blocking_messages(run):
    for rank in range(RANKS):
        left, right = (rank - 1) % RANKS, (rank + 1) % RANKS
        assert run.words(rank, "MPI_Sendrecv") == [
            [0, right, 1, 3 * INT, 0, left, 1, 3 * INT, left, 1]
        ]
        assert run.words(rank, "MPI_Ssend") == [[0, right, 2, 5 * INT, 2, 0]]
        # Both wildcards, status ignored by the program: what matched is known all the same.
        assert run.words(rank, "MPI_Recv") == [[0, -2, -1, 8 * INT, 0, left, 2]]
        assert run.words(rank, "MPI_Mprobe") == [[0, -2, 3, 2, left, 3]]
        assert run.words(rank, "MPI_Mrecv") == [[0, left, 3, 8 * INT, 0, left, 3]]
        assert run.words(rank, "MPI_Iprobe") == [[0, -2, 99, 1, -2, -1]]
        assert run.words(rank, "MPI_Send")[1] == [0, -1, 9, INT, 0, 0]


def test_completions_name_what_they_completed(run):
    for rank, stream in enumerate(run.ranks):
        left = (rank - 1) % RANKS
        started, completed = token_numbers(stream, {2: 5, 3: 4, 6: 5})
        done = [(function, named) for function, named in completed if named]
        assert started == 8
        assert done[:4] == [
            # a wildcard is resolved, a send has nothing to resolve
            ("MPI_Waitall", [(0, left, 4), (1, -2, -1)]),
            ("MPI_Waitany", [(2, -2, -1)]),
            ("MPI_Waitsome", [(3, left, 6)]),
            ("MPI_Test", [(4, -2, -1)]),
        ]
        # Persistent requests 5 and 6, twice; request 7 was cancelled and waited for.
        assert done[4:] == [("MPI_Waitall", [(5, -2, -1), (6, -2, -1)])] * 2 + [
            ("MPI_Wait", [(7, -2, -1)])
        ]
        assert (
            sum(1 for function, named in completed if function == "MPI_Waitall" and not named) == 2
        )


def test_persistent_requests_are_started_by_name(run):
    for rank in range(RANKS):
        assert [call.words[:2] for call in run.calls(rank, "MPI_Recv_init")] == [
            [0, (rank - 1) % RANKS]
        ]
        assert [call.words[4] for call in run.calls(rank, "MPI_Recv_init")] == [3]
        # seven were started: 5 and 6 are two and one back
        assert run.words(rank, "MPI_Startall") == [[2, 2, 1]] * 2
        assert run.words(rank, "MPI_Cancel") == [[1, 1]]
        assert run.words(rank, "MPI_Request_free") == [[2, 0], [1, 0]]


def test_polling_says_that_nothing_was_completed(run):
    for rank in range(RANKS):
        tests = run.words(rank, "MPI_Test")
        assert all(words == [3, 0] for words in tests[:-1])
        assert tests[-1][:2] == [1, 1]
