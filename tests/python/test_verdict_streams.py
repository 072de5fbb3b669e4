"""Standard streams, which no file system makes faster: what they take is said, less the waits for a
processor that lie in it. Every run is built by arithmetic."""

from __future__ import annotations

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, mpi, useful, write

STREAM = b"<stdout: pipe>"


def said(
    waited_ns: int, size: int = 1000, slept_ns: int = 0, calls: int = 50, stream: bytes = STREAM
) -> list[str]:
    """A program writes for half of its 2 s to a stream, which counts as useful, and waits for so
    long for a processor; so long its thread sleeps."""
    prints = Interval("io", 0, "pwrite", stream, size, calls)
    row = [useful(2 * SECOND), write(10 * MILLISECOND, b"/run/out", 1000), prints]
    end = 2 * SECOND + 10 * MILLISECOND
    waits = {"waited_ns": [(waited_ns, 0, 0)], "any_waited_ns": (waited_ns, 0, 0)}
    ran_ns = 2 * SECOND - waited_ns - slept_ns
    meta = {"usage": "0 0 0 0 0", "ran_ns": str(ran_ns)}
    columns = Program([row], end, end, end - 10 * MILLISECOND, meta=meta, **waits).columns()
    for table in ("files", "file_rank"):
        spent = [int(time_ns) or SECOND for time_ns in columns[table]["write_ns"]]
        columns[table]["write_ns"] = spent
    findings = judge(Evidence(columns)).findings
    return [found.finding for found in findings if found.code == "streams"]


@pytest.mark.parametrize(
    ("waited_ns", "share"),
    [(0, "49.8 %"), (SECOND, "24.9 %")],  # of half of the useful time, half is a wait
)
def test_waits_for_a_processor_are_taken_out(waited_ns: int, share: str):
    assert said(waited_ns) == [f"50 writes to {STREAM.decode()} take {share} of the run"]


def test_prints_in_which_the_program_mostly_waits_for_a_processor_are_not_named():
    """Of 2 s it waits 1.9 s: 0.05 s are left of the prints."""
    assert not said(1900 * MILLISECOND)


def test_nobody_waits_for_the_reader_of_a_pipe_that_holds_all():
    """Who sleeps somewhere else, until a child has ended, say, does not wait in 50 short writes."""
    text = f"50 writes to {STREAM.decode()} take 49.8 % of the run"
    waits = f"{text}, mostly waiting for whoever reads them"
    assert said(0, size=70_000, slept_ns=SECOND) == [waits]
    assert said(0, size=60_000, slept_ns=SECOND) == [text]


@pytest.mark.parametrize("terminal", ["/dev/pts/0", "/dev/tty", "/dev/ttyS1", "/dev/ptmx"])
def test_who_writes_to_a_terminal_waits_for_whoever_reads_it(terminal: str):
    """A terminal holds less than a pipe."""
    text = f"50 writes to the terminal {terminal} take 49.8 % of the run"
    path = terminal.encode()
    assert said(0, slept_ns=SECOND, stream=path) == [
        f"{text}, mostly waiting for whoever reads them"
    ]
    assert said(0, stream=path) == [text]
    assert not said(0, slept_ns=SECOND, stream=b"/dev/urandom")


@pytest.mark.parametrize(("who_print", "uneven"), [((0, 1), False), ((0,), True)])
def test_what_printing_takes_is_no_uneven_computation(who_print: tuple[int, ...], uneven: bool):
    """Ranks 0 and 1 are 1 s longer outside MPI than the others: where both print for that time, no
    rank computes longer; where only rank 0 does, rank 1."""
    prints = Interval("io", 0, "pwrite", STREAM, 1000, 50)
    printed = {rank: [prints] if rank in who_print else [] for rank in (0, 1)}
    rows = [[useful(2 * SECOND), *printed[rank]] for rank in (0, 1)]
    rows += [[useful(SECOND), mpi(SECOND)]] * 2
    columns = Program(rows, 2 * SECOND, 2 * SECOND, 2 * SECOND).columns()
    columns["file_rank"]["write_ns"] = [SECOND - int(rank) for rank in columns["file_rank"]["rank"]]
    found = {finding.code: finding.finding for finding in judge(Evidence(columns)).findings}
    assert found["streams"].startswith("rank 0's 50 writes to <stdout: pipe> take 50.0 %")
    assert ("load_imbalance" in found) == uneven
    if uneven:
        assert found["load_imbalance"].startswith("rank 1 computes 1.60 times as long")


@pytest.mark.parametrize(
    ("calls", "size", "text", "advised"),
    [
        (500_000, 0, "500,000 reads from <stdin: pipe> take", "these reads find nothing"),
        (500_000, 500_000, "500,000 reads from <stdin: pipe> take", "read larger parts"),
        (1, 4_000_000, "1 read from <stdin: pipe> takes", "read larger parts"),
        # 0.2 s each for 20 bytes, as of who waits for children's answers; above, 2 µs each
        (5, 100, "5 reads from <stdin: pipe> take 50.0 % of the run, mostly wait", "find out why"),
    ],
)
def test_reads_that_find_nothing_are_not_advised_to_be_larger(calls, size, text, advised):
    polls = Interval("io", 0, "pread", b"<stdin: pipe>", size, calls)
    row = [useful(2 * SECOND), polls]
    columns = Program([row], 2 * SECOND, 2 * SECOND, 2 * SECOND).columns()
    for table in ("files", "file_rank"):
        columns[table]["read_ns"] = [SECOND]
    (found,) = (f for f in judge(Evidence(columns)).findings if f.code == "streams")
    assert found.finding.startswith(text)
    assert found.advice.startswith(advised)


def test_one_write_is_waited_for_by_its_name():
    slept = said(0, size=4_000_000, slept_ns=SECOND, calls=1)
    assert slept[0].endswith("takes 49.8 % of the run, mostly waiting for whoever reads it")


@pytest.mark.parametrize("stream", [b"<pipe>", STREAM])
def test_a_pipe_to_a_process_of_the_program_is_not_called_a_standard_stream(stream: bytes):
    """As tar feeds a compressor: 1 s of 2.2 s in the pipe, and 0.2 s in small writes of a file. The
    first line names both kinds, since it may be either."""
    pipe = Interval("io", 0, "pwrite", stream, 1000, 50)
    row = [useful(2 * SECOND), write(200 * MILLISECOND, b"/run/in", 8 * 100_000, 100_000), pipe]
    length = 2200 * MILLISECOND
    columns = Program([row], length, length, 2 * SECOND).columns()
    columns["files"]["place"] = ["file_system", "device"]
    for table in ("files", "file_rank"):
        columns[table]["write_ns"] = [200 * MILLISECOND, SECOND]
    headline = judge(Evidence(columns)).headline
    words = (
        "Reading from or writing to a pipe or a standard stream takes 45.5 % of this run, I/O 9.1 %"
    )
    assert headline.startswith(words), headline
