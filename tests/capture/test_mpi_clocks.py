"""Clocks of different nodes: a rank in a time namespace of its own stands for a node whose clock is
far off."""

from __future__ import annotations

import subprocess

import pytest

HOURS_S = 7200
NS = 1_000_000_000


def offsets(stream) -> dict[str, tuple[int, int, int]]:
    """begin and end: CLOCK_MONOTONIC here, ns to add, uncertainty ns."""
    found = {}
    for value in stream.values["clock_offset"]:
        when, *numbers = value.split(",")
        found[when] = tuple(map(int, numbers))
    return found


@pytest.fixture
def unshare():
    command = ["unshare", "--time", "--monotonic", str(HOURS_S), "--"]
    if subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("no time namespace can be made here (unshare --time needs root)")
    return command


@pytest.mark.measured("the difference of two clocks")
def test_a_clock_that_is_off_is_found(workplace, unshare, tmp_path):
    program = workplace.compile("clocks.c")
    run = workplace.run(
        tmp_path / "raw", 1, program, ":", "-n", "1", *unshare, program,
        TAILRACE_CLOCK_ALIGNMENT="always", TAILRACE_CLOCK="monotonic",
    )  # fmt: skip
    here, there = run.ranks
    assert set(offsets(here)) == set(offsets(there)) == {"begin", "end"}
    for when in ("begin", "end"):
        assert offsets(here)[when][1:] == (0, 0)
        _, add_ns, uncertainty_ns = offsets(there)[when]
        assert 0 < uncertainty_ns < 0.1 * NS
        assert abs(add_ns + HOURS_S * NS) <= uncertainty_ns
    # On rank 0's clock both left the second barrier at the same time, as ranks leave barriers.
    left = [stream.of("MPI_Barrier")[1].end for stream in run.ranks]
    assert abs(left[1] + offsets(there)["end"][1] - left[0]) < 0.1 * NS


def test_ranks_with_one_clock_send_nothing_and_say_nothing(workplace, tmp_path):
    run = workplace.run(tmp_path / "raw", 2, workplace.compile("clocks.c"))
    assert all("clock_offset" not in stream.meta for stream in run.ranks)


def test_capture_s_own_messages_are_not_in_the_trace(workplace, unshare, tmp_path):
    program = workplace.compile("clocks.c")
    run = workplace.run(
        tmp_path / "raw",
        1,
        program,
        ":",
        "-n",
        "1",
        *unshare,
        program,
        TAILRACE_CLOCK_ALIGNMENT="always",
    )
    for stream in run.ranks:
        functions = [call.function for call in stream.calls if call.layer == 0]
        assert functions == ["MPI_Init", "MPI_Barrier", "MPI_Barrier", "MPI_Finalize"]
