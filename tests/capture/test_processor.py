"""How long the main thread waited for a processor, as the kernel counts it."""

import itertools
import os
import subprocess
import sys

import pytest
import rawstream

NANOSECONDS_PER_MILLISECOND = 1_000_000


def cores_of(text: str) -> set[int]:
    cores: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cores |= set(range(int(first), int(last or first) + 1))
    return cores


@pytest.mark.measured("a wait for a processor")
def test_waits_add_up_to_the_run_delay(program, capture):
    done = capture(program("shared_core"), "0.6")
    if done.returncode == 77:
        pytest.skip("this kernel has no schedstat")
    _core, delay_ns = map(int, done.stdout.split())
    waits = done.stream.waits
    assert delay_ns > 100 * NANOSECONDS_PER_MILLISECOND  # a child spins on the same core
    # The kernel's own figure was read a little later and earlier than the trace's.
    assert sum(ns for _, _, ns in waits) == pytest.approx(delay_ns, rel=0.15)


def test_waits_follow_each_other_and_fit_their_intervals(program, capture):
    stream = capture(program("shared_core"), "0.3").stream
    ticks_per_ns = stream.header["ticks_per_s"] / 1e9
    reached = stream.header["start"]
    assert stream.waits[0][0] == stream.waits[0][1] and stream.waits[0][2] == 0
    for begin, end, ns in stream.waits[1:]:
        assert reached <= begin < end
        assert 0 < ns <= 1.05 * (end - begin) / ticks_per_ns + NANOSECONDS_PER_MILLISECOND
        reached = end


def test_a_run_begins_with_the_program_and_not_with_its_first_call(program, capture, tmp_path):
    """Else a program without MPI that writes in its last second seems to do nothing else. A child
    begins with its own first call."""
    capture(program("late_call"), TAILRACE_PROCESSES="all")
    streams = rawstream.read_all(tmp_path / "raw")
    parent, child = sorted(streams, key=lambda stream: stream.header["start"])
    slept = parent.header["ticks_per_s"] // 5
    assert min(call.begin for call in parent.calls) - parent.header["start"] >= 2 * slept
    assert child.header["start"] - parent.header["start"] >= slept
    assert parent.waits[0][:2] == (parent.header["start"], parent.header["start"])


@pytest.mark.measured("a wait for a processor")
def test_intervals_end_where_calls_begin(program, capture):
    """So that a wait during computation is not taken for one during the call after it."""
    stream = capture(program("shared_core"), "0.6", "60").stream
    begins = [call.begin for call in stream.calls]
    waits = [wait for wait in stream.waits if wait[2] > 5 * NANOSECONDS_PER_MILLISECOND]
    near = stream.header["ticks_per_s"] // 1000
    ended = [any(0 <= begin - end < near for begin in begins) for _, end, _ in waits]
    assert len(ended) >= 3
    assert sum(ended) >= 0.7 * len(ended)  # the thread may lose the core between the two


def test_quick_calls_are_sampled_once_a_millisecond_at_most(program, capture):
    stream = capture(program("shared_core"), "0.3", "0").stream
    assert len(stream.calls) > 2000
    assert_sampled_apart(stream)


def assert_sampled_apart(stream: rawstream.Stream) -> None:
    pause = 0.99 * stream.header["ticks_per_s"] / 1000
    begins = [begin for begin, _, _ in stream.waits[1:]]
    assert all(later - begin >= pause for begin, later in itertools.pairwise(begins))


def test_a_first_call_that_follows_at_once_is_not_sampled_at_once(program, capture, tmp_path):
    """On busy cores the program has often waited by then."""
    spinners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * len(os.sched_getaffinity(0)))
    ]
    try:
        for _ in range(20):
            capture(program("shared_core"), "0.02", "0", read=False)
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    streams = rawstream.read_all(tmp_path / "raw")
    assert len(streams) == 20
    for stream in streams:
        assert_sampled_apart(stream)


def test_cores_that_the_process_may_use(program, capture):
    stream = capture(program("shared_core"), "0.02").stream
    assert cores_of(stream.meta["cores"]) == os.sched_getaffinity(0)
