"""Whatever ends a program, forks it, jumps through it or fills its disk: it goes on as ever, and
the trace is whole."""

import contextlib
import itertools
import os
import platform
import random
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest
import rawstream
from tests.processes import started, until


@pytest.fixture
def life(program):
    return program("life")


def writes(stream: rawstream.Stream) -> list[rawstream.Call]:
    return stream.of("pwrite")


@pytest.mark.parametrize(
    ("how", "status", "closed"),
    [("exit", 7, 1), ("_exit", 7, 1), ("quick_exit", 7, 1), ("abort", -signal.SIGABRT, 1),
     ("assert", -signal.SIGABRT, 1), ("kill", -signal.SIGKILL, 0), ("crash", -signal.SIGSEGV, 0)],
)  # fmt: skip
def test_every_call_is_there_however_the_program_ends(life, capture, how, status, closed):
    done = capture(life, how, 1000)
    assert done.returncode == status
    assert [call.offset for call in writes(done.stream)] == list(range(1000))
    assert done.stream.header["closed"] == closed
    assert done.stream.ended == bool(closed)
    assert done.stream.header["lost"] == 0


def test_an_abort_that_a_handler_leaves_again_is_no_end(life, capture):
    """What is written behind it follows, and the end once more."""
    done = capture(life, "caught", 1000)
    assert done.returncode == 7
    assert [call.offset for call in writes(done.stream)] == 2 * list(range(1000))
    assert done.stream.ended and done.stream.header["lost"] == 0


def test_a_run_lasts_until_its_end_at_once(program, capture):
    stream = capture(program("at_once"), "sleeps").stream
    known_ns = [monotonic for _, monotonic, *_ in stream.clocks]
    assert max(known_ns) - min(known_ns) >= 190_000_000


def test_the_end_of_a_child_that_shares_the_memory_is_not_the_programs(program, capture):
    done = capture(program("at_once"), "vfork")
    assert (done.returncode, done.stream.header["closed"]) == (-signal.SIGKILL, 0)


def test_handlers_end_the_program_wherever_they_interrupt_the_recorder(program, capture):
    done = capture(program("at_once"), "handler", TAILRACE_PROCESSES="all", read=False)
    assert done.stdout == "100 of 100\n"


def test_calls_of_late_destructors_follow(life, capture):
    """atexit handlers run before the library's own destructor, destructors of the program after
    it."""
    done = capture(life, "late", 10, LATE="1")
    assert len(writes(done.stream)) == 20
    assert done.stream.ended and done.stream.header["lost"] == 0


def progress(folder: Path) -> int:
    """The writes that the program knows to be done."""
    file = folder / "progress"
    content = file.read_bytes() if file.exists() else b""
    return struct.unpack_from("<q", content)[0] if len(content) >= 8 else 0


@pytest.mark.parametrize("attempt", range(3))
def test_sigkill_at_a_random_moment_loses_nothing(life, environment, tmp_path, attempt):
    environment = environment | {"TAILRACE_PROGRAM": str(life.resolve())}
    with started([life, "endless"], env=environment, cwd=tmp_path) as running:
        until(lambda: list((tmp_path / "raw").glob("*.stream")), running)
        until(lambda: progress(tmp_path) > 0, running)
        time.sleep(random.Random(attempt).uniform(0.05, 0.5))
        running.kill()
        running.wait()
    done = progress(tmp_path)
    (stream,) = rawstream.read_all(tmp_path / "raw")
    assert done > 0
    assert done <= len(writes(stream)) <= done + 1
    assert [stream.open_at_end, stream.header["lost"]] == [[], 0]


def test_forked_child_records_nothing(life, capture):
    assert len(writes(capture(life, "fork", 10).stream)) == 10


def test_forked_child_has_its_own_stream_when_asked_for(life, capture):
    done = capture(life, "fork", 10, TAILRACE_PROCESSES="all")
    assert sorted(len(writes(stream)) for stream in done.streams) == [10, 1000]
    assert len({stream.header["process"] for stream in done.streams}) == 2


def test_fork_behind_libc_harms_nothing(life, capture):
    done = capture(life, "raw_fork", 10)
    assert done.returncode == 0
    assert len(writes(done.stream)) == 10


def test_vfork_child_leaves_the_table_of_descriptors_alone(life, capture, tmp_path):
    done = capture(life, "vfork", 10)
    assert done.returncode == 0
    assert {call.path for call in writes(done.stream)} == {os.fsencode(tmp_path / "data")}


def test_exec_goes_on_in_a_stream_of_its_own(life, capture):
    done = capture(life, "exec", 10)
    assert done.returncode == 7
    first, second = done.streams
    assert first.header["process"] == second.header["process"]
    assert [len(writes(first)), len(writes(second))] == [10, 20]
    assert sorted(path.name.split(".")[-2] for path in done.raw.iterdir()) == ["0", "1"]


def test_shells_and_pipes_of_the_program_work(life, capture):
    done = capture(life, "system", 10)
    assert done.returncode == 0
    assert len(writes(done.stream)) == 10


def test_64_threads(life, capture, tmp_path):
    done = capture(life, "threads", 500)
    assert len(done.streams) == 65
    assert sorted(stream.header["thread"] for stream in done.streams) == list(range(65))
    workers = [stream for stream in done.streams if stream.header["thread"]]
    for stream in workers:
        assert [call.offset for call in writes(stream)] == list(range(500))
        assert len({call.path for call in writes(stream)}) == 1
        assert stream.header["closed"] == 1
    assert {call.path for stream in workers for call in writes(stream)} == {
        os.fsencode(tmp_path / f"data.{i}") for i in range(64)
    }
    assert [
        stream.header["flags"] & 1 for stream in done.streams if not stream.header["thread"]
    ] == [1]


def test_threads_in_turn_go_on_with_one_stream(life, capture, tmp_path):
    """Making a file for each took longer than what it did."""
    done = capture(life, "threads_in_turn", 500)
    main, worker = sorted(done.streams, key=lambda stream: stream.header["thread"])
    assert not writes(main) and worker.header["lost"] == 0
    paths = [os.fsencode(tmp_path / f"data.{i}") for i in range(64) for _ in range(500)]
    assert [call.path for call in writes(worker)] == paths
    assert [call.offset for call in writes(worker)] == 64 * list(range(500))


def test_destructors_of_a_thread_are_recorded(life, capture):
    done = capture(life, "thread_destructor", 10)
    assert sorted(len(writes(stream)) for stream in done.streams) == [0, 13]


def test_thread_cancelled_inside_a_call(life, capture):
    done = capture(life, "cancel", 10)
    assert done.returncode == 0
    assert sorted(len(writes(stream)) for stream in done.streams) == [10, 10]


def test_signal_handlers_are_recorded_or_counted(life, capture):
    done = capture(life, "signals", 200_000)
    handled = int(done.stdout)
    assert handled > 100, "the handler hardly ran: the test shows nothing"
    assert len(writes(done.stream)) + done.stream.header["lost"] == 200_000 + handled
    assert done.stream.header["lost"] < handled / 2


@pytest.mark.skipif(platform.machine() != "x86_64", reason="steps by x86's trap flag")
def test_a_signal_handler_after_every_instruction(life, capture):
    """Each call once: recorded, or counted as lost."""
    done = capture(life, "stepped", 500)
    handled = int(done.stdout)
    assert handled > 500 * 50, "not every instruction was stepped over"
    assert len(writes(done.stream)) + done.stream.header["lost"] == 500 + handled
    assert all(call.bytes == 1 for call in writes(done.stream))


def test_longjmp_out_of_calls(life, capture):
    done = capture(life, "longjmp", 200)
    assert done.returncode == 0
    assert len(writes(done.stream)) == 100
    # On a busy machine an alarm may come before its read has begun, or while capture writes.
    reads = done.stream.of("read")
    assert 100 < len(reads) <= 200
    assert done.stream.header["lost"] + len(done.stream.open_at_end) <= 200 - len(reads)


def test_12000_files_one_after_another(life, capture):
    done = capture(life, "many_files", 12_000)
    assert [len(done.stream.of(name)) for name in ("open", "pwrite", "close")] == [
        12_001,
        12_000,
        12_000,
    ]
    assert all(
        call.path.split(b"/")[-1] == b"many.%d" % (i % 100)
        for i, call in enumerate(writes(done.stream))
    )


def test_out_of_descriptors_is_counted_and_passes(life, capture):
    done = capture(life, "no_descriptors", 50_000)
    assert done.returncode == 0
    recorded, lost = len(writes(done.stream)), done.stream.header["lost"]
    assert lost > 0
    assert recorded > 50_000
    assert recorded + lost >= 100_000
    assert done.stderr.count("tailrace:") == 1 and "no file can be opened" in done.stderr


def test_descriptors_beyond_the_table(life, capture):
    done = capture(life, "high_descriptors", 10)
    if done.returncode == 77:
        pytest.skip("this user may not open descriptors beyond 150,000")
    assert [call.path.split(b"/")[-1] for call in writes(done.stream)] == [b"data"] * 10


def test_descriptor_that_was_never_seen_opened(life, capture, tmp_path):
    done = capture(life, "unseen", 10)
    assert {call.path for call in writes(done.stream)} == {os.fsencode(tmp_path / "unseen")}


def test_program_that_closes_everything(life, capture):
    done = capture(life, "close_all", 100_000)
    assert done.returncode == 0
    assert len(writes(done.stream)) == 100_000


# --- Space ---


def assert_ends_for_want_of_space(done, calls):
    assert done.returncode == 0
    recorded, lost = len(writes(done.stream)), done.stream.header["lost"]
    assert recorded > 10_000 and lost > 0
    assert recorded + lost == calls
    assert done.stream.header["full_at"] > 0
    assert done.stderr.count("tailrace:") == 1 and "The program runs on." in done.stderr


def test_limit_of_file_sizes(life, capture):
    done = capture(life, "size_limit", 400_000)
    assert_ends_for_want_of_space(done, 400_000)
    assert "ulimit -f" in done.stderr


def pipe_without_reader(_):
    reader, writer = os.pipe()
    os.close(reader)
    return [writer]


def pipe_that_nobody_empties(_):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    return [writer, reader]


def file_over_the_limit(folder):
    messages = os.open(folder / "messages", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.ftruncate(messages, 2 << 20)
    return [messages]


@pytest.mark.parametrize(
    "stderr", [pipe_without_reader, pipe_that_nobody_empties, file_over_the_limit]
)
def test_what_capture_says_neither_ends_nor_stops_it(life, environment, tmp_path, stderr):
    """Whoever writes there gets SIGPIPE or SIGXFSZ, or waits."""
    opened = stderr(tmp_path)
    environment = environment | {"TAILRACE_PROGRAM": str(life.resolve())}
    command = [life, "size_limit", "400000"]
    try:
        done = subprocess.run(command, cwd=tmp_path, env=environment, stderr=opened[0], timeout=60)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    assert done.returncode == 0


def test_full_disk(life, capture, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1M", "tailrace-test", disk], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("only root can mount a file system that is small enough to fill")
    try:
        (disk / "raw").mkdir()
        done = capture(life, "exit", 400_000, TAILRACE_RAW=str(disk / "raw"))
        done.returncode -= 7
        assert_ends_for_want_of_space(done, 400_000)
        assert "no space left" in done.stderr
    finally:
        subprocess.run(["umount", disk], check=True)


def test_directory_that_cannot_be_written(life, capture, tmp_path):
    done = capture(life, "exit", 10, read=False, TAILRACE_RAW=str(tmp_path / "nowhere"))
    assert done.returncode == 7
    assert done.stderr.count("tailrace:") == 1


@pytest.mark.whole
def test_five_million_events(life, capture):
    done = capture(life, "exit", 5_000_000, read=False)
    assert done.returncode == 7
    (path,) = done.raw.glob("*.stream")
    assert rawstream.count_calls(path) == 5_000_001  # and one open
    assert path.stat().st_size < 8 * 5_000_000


# --- Times, and what is counted ---


def seconds_between(stream, first, second):
    (tick0, ns0, _, _), (tick1, ns1, _, _) = stream.clocks[0], stream.clocks[-1]
    return (second - first) * (ns1 - ns0) / (tick1 - tick0) / 1e9


@pytest.mark.parametrize(("clock", "kind"), [("", {1, 2}), ("monotonic", {2})])
def test_times(life, capture, clock, kind):
    done = capture(life, "sleep", TAILRACE_CLOCK=clock)
    begins = [call.begin for call in writes(done.stream)]
    pauses = [seconds_between(done.stream, *pair) for pair in itertools.pairwise(begins)]
    assert done.stream.header["clock"] in kind
    assert min(pauses) >= 0.0999
    assert len(done.stream.clocks) >= 5
    ticks = [reading[0] for reading in done.stream.clocks]
    assert ticks == sorted(ticks) and done.stream.header["start"] <= ticks[0]
    assert 0 < done.stream.header["event_cost_ps"] < 10_000_000


def test_characters_are_counted_not_recorded_one_by_one(life, capture):
    done = capture(life, "characters", 100_000)
    assert done.stdout == "y" * 10
    of_file = [call for call in done.stream.calls if call.path.endswith(b"characters")]
    assert sum(call.bytes for call in of_file if call.op == "write") == 100_000
    assert sum(call.bytes for call in of_file if call.op == "read") == 100_000
    assert done.stream.counted("write", of_file[0].words[2]) == (100_000, 100_000)
    assert done.stream.counted("read", of_file[0].words[2]) == (100_001, 100_000)
    assert sum(call.bytes for call in done.stream.calls if call.path == b"<stdout: pipe>") == 10
    assert len(of_file) < 200


def test_private(life, capture):
    done = capture(life, "exit", 10)
    (path,) = done.raw.glob("*.stream")
    assert path.stat().st_mode & 0o777 == 0o600
