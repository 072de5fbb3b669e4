"""Collectives, communicators, windows and MPI-IO in the stream; the program is programs/groups.c,
run on 3 ranks."""

from __future__ import annotations

import pytest

INT, DOUBLE = 4, 8
RANKS = 3
ALL, FROM_ROOT, TO_ROOT, EXCLUSIVE_PREFIX = 0, 1, 2, 4


@pytest.fixture
def run(workplace, tmp_path):
    program = workplace.compile("groups.c")
    return workplace.run(tmp_path / "raw", RANKS, program, tmp_path / "file")


def test_collectives_say_who_waits_for_whom_and_how_many_bytes_moved(run):
    for rank in range(RANKS):
        root = rank == 0
        expected = {
            "MPI_Bcast": [0, FROM_ROOT, 1, 10 * INT * (rank == 1), 10 * INT * (rank != 1), 0],
            "MPI_Gather": [0, TO_ROOT, 0, 2 * INT, RANKS * 2 * INT * root, 0],
            "MPI_Gatherv": [0, TO_ROOT, 0, (rank + 1) * INT, (1 + 2 + 3) * INT * root, 0],
            "MPI_Allreduce": [0, ALL, -1, 3 * DOUBLE, 3 * DOUBLE, 0],
            # in place: nothing says how much is given
            "MPI_Allgather": [0, ALL, -1, 0, RANKS * INT, 0],
            "MPI_Exscan": [0, EXCLUSIVE_PREFIX, -1, INT, INT, 0],
            "MPI_Iallreduce": [0, ALL, -1, INT, INT, 1],
        }
        for function, words in expected.items():
            assert run.words(rank, function) == [words], function


def test_communicators_have_members_and_one_identity(run):
    identities = set()
    for rank, stream in enumerate(run.ranks):
        # the key was −rank
        members = [member for member in reversed(range(RANKS)) if member % 2 == rank % 2]
        barriers = [call.words[0] for call in run.calls(rank, "MPI_Barrier")]
        half, copy = (number for number in barriers if number)  # others are of MPI_COMM_WORLD
        assert stream.communicators[half].members == stream.communicators[copy].members == members
        assert stream.communicators[half].rank == members.index(rank)
        assert run.words(rank, "MPI_Comm_split")[0] == [0, half, 0]
        # MPI_UNDEFINED elsewhere
        assert (run.words(rank, "MPI_Comm_split")[1][1] == -1) == (rank != 0)
        assert run.words(rank, "MPI_Comm_idup") == [[half, -1, 1]]
        identities.add(
            (rank % 2, stream.communicators[half].identity, stream.communicators[copy].identity)
        )
    assert len(identities) == 2, "members of one communicator disagree about its identity"
    assert len({identity for _, *pair in identities for identity in pair}) == 4, (
        "two communicators share an identity"
    )


def test_windows(run):
    for rank in range(RANKS):
        assert (
            run.words(rank, "MPI_Win_create")
            == run.words(rank, "MPI_Win_free")
            == [[11, 0, -1, 0, 0, 0]]
        )
        assert run.words(rank, "MPI_Win_fence") == [[3, 0, -1, 0, 0, 0, 0]] * 2
        assert run.words(rank, "MPI_Put") == [[0, 0, (rank + 1) % RANKS, 4 * INT, 0, 0, 0]]


def test_files(run, tmp_path):
    for rank in range(RANKS):
        opened = run.calls(rank, "MPI_File_open")[0]
        file = opened.words[2]
        assert opened.path == str(tmp_path / "file").encode()
        assert opened.words == [0, 2 | 8, file, 0, 0, 0, 0]
        assert run.words(rank, "MPI_File_write_at_all") == [[3, 1 | 2, file, 64, 64 * rank, 0, 0]]
        assert run.words(rank, "MPI_File_sync") == [[4, 2, file, 0, 0, 0, 0]]
        # The end of the file came after 4 bytes, though the program ignored the status that says
        # so.
        assert run.words(rank, "MPI_File_read_at") == [[2, 1, file, 4, 64 * RANKS - 4, 0, 0]]
        assert run.words(rank, "MPI_File_iwrite_at") == [[3, 1 | 4, file, 8, 64 * rank, 0, 0]]
        assert run.words(rank, "MPI_File_close") == [[1, 2, file, 0, 0, 0, 0]]
        assert all(
            call.layer == 1
            for call in run.ranks[rank].calls
            if call.function.startswith("MPI_File")
        )


def test_posix_calls_are_recorded_inside_the_mpi_io_call_that_made_them(run, tmp_path):
    path = str(tmp_path / "file").encode()
    inside = [
        call for stream in run.streams for call in stream.calls
        if call.layer == 2 and call.path == path and call.op == "write" and call.parent is not None
    ]  # fmt: skip
    assert (
        sum(call.bytes for call in inside if call.parent.function == "MPI_File_write_at_all")
        == 64 * RANKS
    )
