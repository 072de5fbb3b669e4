"""What MPI answers from memory is counted, and neither timed nor recorded."""

from __future__ import annotations

import platform

import pytest

from tailrace.capture.build import semantics, standard

RANKS = 2
ASKED = 200_000


@pytest.fixture
def binary(workplace):
    return workplace.compile("questions.c")


def asked(streams, function):
    return sum(stream.asked(function) for stream in streams)


def test_each_question_is_counted_and_takes_no_time(workplace, tmp_path, binary):
    run = workplace.run(tmp_path / "raw", RANKS, binary)
    for rank, stream in enumerate(run.ranks):
        assert stream.asked("MPI_Comm_rank") == ASKED
        assert stream.asked("MPI_Type_size") == 7
        assert stream.asked("MPI_Get_count") == 5
        assert all(row.begin == row.end for row in stream.questions)
        assert not [call for call in stream.calls if call.function in semantics.QUESTIONS]
        assert [call.function for call in run.calls(rank, "MPI_Sendrecv")] == ["MPI_Sendrecv"]


def test_those_of_other_threads_are_not_lost(workplace, tmp_path, binary):
    """Of a thread that ends, and of one that still runs when the process does."""
    run = workplace.run(tmp_path / "raw", RANKS, binary)
    assert asked(run.streams, "MPI_Comm_size") == RANKS * (3 + 4)


def test_a_rank_that_is_killed_lacks_few(workplace, tmp_path, binary):
    run = workplace.run(tmp_path / "raw", 1, binary, "kill", check=False)
    (stream,) = run.ranks
    assert ASKED - 2**16 < stream.asked("MPI_Comm_rank") <= ASKED


@pytest.mark.skipif(platform.machine() != "x86_64", reason="steps by x86's trap flag")
def test_each_is_counted_once_where_a_signal_handler_makes_counts_due(workplace, tmp_path, binary):
    """A handler's file call writes what was counted so far, at each instruction of a question."""
    run = workplace.run(tmp_path / "raw", 1, binary, "stepped", tmp_path / "written")
    (stream,) = run.ranks
    written = [call for call in stream.of("write") if call.path.endswith(b"/written")]
    assert len(written) == 40
    assert len([row for row in stream.questions if row.function == "MPI_Type_size"]) >= 40
    assert stream.asked("MPI_Type_size") == 40 * 11


def test_there_are_few_bytes(workplace, tmp_path, binary):
    run = workplace.run(tmp_path / "raw", 1, binary)
    (stream,) = run.ranks
    assert stream.bytes_of_records < 100_000


def test_a_question_means_nothing_else():
    """What has a meaning for the replay must be recorded."""
    assert not semantics.QUESTIONS & set(semantics.table())
    assert set(standard.wrapped_names()) >= semantics.QUESTIONS
