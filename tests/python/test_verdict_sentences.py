"""Sentences that were false or of no use once: each where it is said, and where it is not."""

from io import StringIO

import pytest
from rich.console import Console

from tailrace.page import render
from tailrace.report.text import print_report, print_verdict
from tailrace.verdict.as_json import report
from tailrace.verdict.comparison import sentence
from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, mpi, read, useful, write
from .test_processors import BUSY_POLLING, without_waits
from .test_verdict_why import MB, call, first


def found(program: Program, code: str) -> Finding:
    (finding,) = [f for f in judge(Evidence(program.columns())).findings if f.code == code]
    return finding


def headline(program: Program) -> str:
    return judge(Evidence(program.columns())).headline


def in_mpi(ranks: int, calls: int, size: int, function: str = "MPI_Recv") -> Program:
    """8 s useful and 2 s in calls that an ideal network would save."""
    row = [useful(8 * SECOND), Interval("mpi", 2 * SECOND, function, b"", size, calls, "mpi")]
    return Program([row] * ranks, *[8 * SECOND] * 3)


def test_one_rank_has_no_network_to_blame():
    finding = found(in_mpi(1, 100, 800), "network")
    assert finding.finding == "MPI calls take 20.0 % of the run"
    assert finding.gain == "without MPI calls the run would be up to 2.00 s shorter"
    assert "network" not in finding.finding + finding.evidence + finding.gain + finding.advice
    two = found(in_mpi(2, 100, 800), "network")
    assert two.gain == "an ideal network would save at most 2.00 s"


@pytest.mark.parametrize(
    ("calls", "size", "advised"),
    [
        (10_000, 80_000, "merge messages"),  # 8 bytes each
        (100, 800, "start communication earlier"),  # as small, but few
        (100, 10**8, "send less"),  # 1 MB each
        (10_000, 10_000 * 20_000, "start communication earlier"),  # neither small nor large
        (10_000, 0, "start communication earlier"),  # of unknown size
    ],
)
def test_only_many_small_messages_are_to_be_merged(calls, size, advised):
    finding = found(in_mpi(4, calls, size), "network")
    assert advised in finding.advice
    assert (
        f"MPI_Recv has 100 % of the time in MPI outside file calls, {4 * calls:,}"
        in finding.evidence
    )


def talking(*calls: tuple[str, int, int, int]) -> str:
    """The advice to two ranks that lose time in MPI: milliseconds, calls and bytes of functions."""
    row = [useful(8 * SECOND)]
    for function, time_ms, number, size in calls:
        row.append(Interval("mpi", time_ms * 10**6, function, b"", size, number, "mpi"))
    return found(Program([row] * 2, *[8 * SECOND] * 3), "network").advice


def test_messages_are_to_be_merged_where_the_small_ones_take_the_time():
    small = ("MPI_Isend", 10, 20_000, 20_000 * 100), ("MPI_Irecv", 10, 20_000, 20_000 * 100)
    assert "merge messages" in talking(*small, ("MPI_Waitall", 1900, 10_000, 0))
    assert "merge messages" in talking(("MPI_Send", 500, 9000, 9000), ("MPI_Recv", 900, 9000, 9000))


def test_who_waits_for_calls_of_mpiio_is_not_told_to_send_earlier():
    waits, writes = ("MPI_Wait", 1900, 24, 0), ("MPI_File_iwrite_at_all", 10, 24, 24 * 10**7)
    assert "MPI-IO calls that do not block" in talking(waits, writes)
    for beside in ("MPI_Irecv", "MPI_Iallreduce", "MPI_Rput"):  # which they may be for
        assert "MPI-IO" not in talking(waits, writes, (beside, 10, 24, 240))
    assert "MPI-IO" in talking(waits, writes, ("MPI_Init", 10, 1, 0), ("MPI_Info_set", 1, 1, 0))


def test_who_waits_for_a_window_is_not_told_to_send_earlier():
    locks = ("MPI_Win_lock", 1500, 40, 0), ("MPI_Win_unlock", 400, 40, 0)
    assert talking(*locks).startswith("lock a window only while data move")
    assert "window" not in talking(*locks, ("MPI_Bcast", 2000, 9, 9 * 10**6))
    rows = [[useful(2 * SECOND), mpi(2 * SECOND, "MPI_Win_lock")] for _ in range(2)]
    held = Program(rows, *[4 * SECOND] * 3)
    assert found(held, "serialization").advice.startswith("lock a window only while data move")


@pytest.mark.parametrize("function", ["MPI_Win_allocate", "MPI_Comm_dup", "MPI_Type_create_struct"])
def test_who_makes_windows_and_communicators_is_not_told_to_send_earlier(function):
    made = talking((function, 1900, 800, 0), ("MPI_Bcast", 100, 9, 9 * 10**6))
    assert made.startswith("make windows, communicators and the like once, and keep them")
    asked = talking(("MPI_Comm_rank", 1900, 800, 0), ("MPI_Bcast", 100, 9, 9 * 10**6))
    assert "windows" not in asked


def test_messages_are_not_to_be_merged_where_something_else_takes_the_time():
    small = ("MPI_Send", 100, 20_000, 20_000 * 100)
    assert "merge" not in talking(small, ("MPI_Alltoall", 1900, 100, 100 * 10**7))
    assert "send less" in talking(small, ("MPI_Alltoall", 1900, 100, 100 * 10**7))
    assert "leave out barriers" in talking(small, ("MPI_Barrier", 1900, 20_000, 0))
    # small by their number, but the large ones among them carry the bytes
    large = ("MPI_Isend", 10, 200, 200 * 10**6)
    assert "merge" not in talking(large, small, ("MPI_Waitall", 1900, 10_000, 0))
    halves = ("MPI_Send", 700, 9000, 9000), ("MPI_Bcast", 700, 9, 9 * 10**6)
    assert "merge" not in talking(*halves, ("MPI_Comm_split", 600, 4, 0))


def test_small_collective_calls_are_no_messages():
    advised = talking(("MPI_Allreduce", 2000, 20_000, 160_000))
    assert "merge collective calls" in advised
    assert "merge messages" not in advised
    assert "merge" not in talking(("MPI_Allreduce", 2000, 100, 800))


def test_no_function_is_named_where_none_has_half_of_the_time_in_mpi():
    names = ("MPI_Send", "MPI_Recv", "MPI_Wait")
    row = [useful(7 * SECOND), *(mpi(SECOND, name) for name in names)]
    finding = found(Program([row] * 2, *[7 * SECOND] * 3), "network")
    assert "of the time in MPI" not in finding.evidence


def synchronising(files: int, each: int, size: int) -> Program:
    """Each of two ranks opens files, writes `size` bytes and synchronises each so many times."""
    row = [useful(6 * SECOND)]
    for number in range(files):
        path = b"/run/out.%d" % number
        row += [Interval("io", 0, "open", path), write(0, path, size)]
        row.append(Interval("io", 4 * SECOND // files, "fsync", path, 0, each))
    return Program([row] * 2, 10 * SECOND, 10 * SECOND, 6 * SECOND)


@pytest.mark.parametrize(
    ("files", "each", "size", "advised"),
    [
        (1, 100, 1000, "synchronise once per output"),
        (10, 1, 1000, "only once each time that it is opened"),
        (10, 1, 10**8, "write less, or to faster storage"),  # whatever their number
        (1, 10, 10**9, "write less, or to faster storage"),  # 100 MB each
    ],
)
def test_who_synchronises_once_is_not_told_to(files, each, size, advised):
    assert advised in found(synchronising(files, each, size), "sync").advice


def test_savings_are_said_in_plain_words():
    finding = found(synchronising(1, 100, 1000), "sync")
    assert finding.gain == "if file calls took no time, the run would be up to 4.00 s shorter"
    # Rank 1 writes half as much: evenly they would take 3 s.
    rows = [write(4 * SECOND, size=2 * 10**9)], [write(2 * SECOND, size=10**9), mpi(2 * SECOND)]
    uneven = Program(
        [[useful(6 * SECOND), *row] for row in rows], 10 * SECOND, 9 * SECOND, 6 * SECOND
    )
    beside = found(uneven, "slow_file_system")
    assert beside.gain == (
        "if file calls took no time, the run would be up to 3.00 s shorter still"
    )
    chain = [
        [*([mpi(r * SECOND)] if r else []), useful(SECOND), mpi((3 - r) * SECOND)] for r in range(4)
    ]
    gain = found(Program(chain, *[4 * SECOND] * 3), "serialization").gain
    assert (
        gain == "without waiting for each other's computation the run would be up to 3.00 s shorter"
    )


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_takes_more_than_io_comes_first_in_few_words(ranks):
    """T = 10 s: 5 s useful, 1 s in fsync, and 4 s that an ideal network would save."""
    sync = Interval("io", SECOND, "fsync", b"/run/journal", 0, 100)
    rows = [[useful(5 * SECOND), sync, mpi(4 * SECOND)]] * ranks
    line = headline(Program(rows, 6 * SECOND, 6 * SECOND, 5 * SECOND))
    first = "MPI calls take" if ranks == 1 else "Transfers and the MPI library take"
    rest = f"{100 * ranks} fsyncs of 10.0 ms each take 100 % of the I/O time."
    assert line == f"{first} 40.0 % of this run, I/O 10.0 %: {rest}"
    assert len(line.split()) <= 31


def test_io_comes_first_where_it_takes_more():
    sync = Interval("io", 4 * SECOND, "fsync", b"/run/journal", 0, 100)
    rows = [[useful(5 * SECOND), sync, mpi(SECOND)]] * 2
    line = headline(Program(rows, 9 * SECOND, 9 * SECOND, 5 * SECOND))
    assert line.startswith("I/O takes 40.0 % of this run: 200 fsyncs")
    assert "Transfers" not in line


def printed(show, program: Program, *more, width: int = 160) -> str:
    out = Console(file=StringIO(), width=width)
    show(report(program.columns()), *more, out)
    return out.file.getvalue()


def test_the_first_line_is_not_said_again_after_a_run():
    """20 ms of work: long enough to judge."""
    quiet = Program([[useful(20 * MILLISECOND)]], *[20 * MILLISECOND] * 3)
    assert printed(print_verdict, quiet).count("I/O does not hold this run back") == 1
    other = printed(print_verdict, in_mpi(2, 100, 800))
    assert "→ start communication earlier" in other  # what has more to say is said


def test_what_capture_took_before_the_run_is_not_its_cost_in_it():
    """100 calls in the run; the rank's other million events were before MPI_Init returned."""
    columns = in_mpi(2, 50, 800).columns()
    columns["rank"]["events"] = [10**9, 10**9]
    assert "capture_overhead" not in [f.code for f in judge(Evidence(columns)).findings]
    columns["functions"]["calls"] = [10**9]
    assert "capture_overhead" in [f.code for f in judge(Evidence(columns)).findings]


def test_a_run_too_short_to_judge_is_not_judged():
    row = [useful(5 * MILLISECOND), write(4 * MILLISECOND, size=10)]
    short = Program([row], 9 * MILLISECOND, 9 * MILLISECOND, 5 * MILLISECOND)
    verdict = judge(Evidence(short.columns()))
    length = "9.00 ms between MPI_Init and MPI_Finalize"
    assert verdict.headline == f"This run is too short to judge: {length}."
    alone = Program([row], 9 * MILLISECOND, 9 * MILLISECOND, 5 * MILLISECOND, meta={"mpi": ""})
    assert judge(Evidence(alone.columns())).headline.endswith("too short to judge: 9.00 ms.")
    assert not verdict.findings


def test_the_efficiencies_show_waits_for_a_processor_apart():
    """Of 10 s, 6 would be saved by an ideal network, and are the processors': T_net / T is 40 %,
    the network's own factor 100 %."""
    text = printed(print_report, BUSY_POLLING, "trace")
    (transfer,) = [line.split() for line in text.splitlines() if "Transfer efficiency" in line][:1]
    assert transfer[2:6] == ["40.0", "%", "100", "%"]
    (row,) = [line.split() for line in text.splitlines() if "Processor availability" in line]
    assert row[2:5] == ["–", "40.0", "%"]
    assert "(waits for a processor included)" in text
    bare = printed(print_report, without_waits(BUSY_POLLING), "trace")
    assert "Processor availability" not in bare and "waits apart" not in bare


def test_the_losses_hold_no_wait_for_a_processor():
    lost = report(BUSY_POLLING.columns())["losses_s"]
    assert (lost["transfer"], lost["processors"]) == (0, 6)
    lost = report(without_waits(BUSY_POLLING).columns())["losses_s"]
    assert (lost["transfer"], lost["processors"]) == (6, 0)


def test_a_run_that_waited_for_processors_is_not_compared_as_a_slow_network():
    """2 s of work on each rank in both; 8 s in MPI, 6 of which the processors take."""
    quick = Program([[useful(2 * SECOND), mpi(2 * SECOND)]] * 4, *[4 * SECOND] * 3)
    both = (quick.columns(), BUSY_POLLING.columns())
    line = sentence(*both, ("idle", "busy"))
    assert line.endswith("mostly because the wait for processors goes from 0 s to 6.00 s.")
    both = (quick.columns(), without_waits(BUSY_POLLING).columns())
    line = sentence(*both, ("idle", "busy"))
    assert "because time lost to the network goes from 0 s to 6.00 s;" in line


def test_the_page_shows_waits_for_a_processor_apart():
    bars = {
        name: render([program.columns()], ["trace"]).replace("\u00a0", " ")
        for name, program in (("waits", BUSY_POLLING), ("none", without_waits(BUSY_POLLING)))
    }
    assert 'class="loss-processors" style="width:60.000%"' in bars["waits"]
    assert 'class="loss-transfer" style' not in bars["waits"]
    assert "Processor availability" in bars["waits"]
    assert 'class="loss-transfer" style="width:60.000%"' in bars["none"]
    assert 'loss-processors"' not in bars["none"] and "Processor availability" not in bars["none"]


def test_more_time_in_another_file_is_said_beside_a_cause():
    """Rank 0 writes for 4 s while the other waits; both read for 5 s before, one of them more."""

    def headline(path: bytes) -> str:
        first, other = (read(5 * SECOND, path, size, 8) for size in (6 * 10**8, 10**9))
        rows = [
            [useful(SECOND), first, write(4 * SECOND, b"/run/out", 8 * 10**8, 8)],
            [useful(SECOND), other, mpi(4 * SECOND)],
        ]
        program = Program(rows, 10 * SECOND, 8 * SECOND, SECOND)
        return judge(Evidence(program.columns())).headline

    alone = "rank 0 writes out alone while the other rank waits"
    more = "more time goes to reading in at 160 MB/s a rank"
    assert headline(b"/run/in").endswith(f"{alone}; {more}.")
    assert headline(b"/run/out").endswith(f"{alone}.")


def test_locks_that_ranks_wait_for_are_said_beside_what_takes_long():
    """Of 10 s two ranks rename files for 5 s and wait for a lock for 2 s, or for 0.5 s."""

    def headline(locked_s: float, ranks: int = 2) -> str:
        renames = Interval("io", 5 * SECOND, "rename", b"/run/out", calls=30)
        locked_ns = int(locked_s * SECOND)
        lock = Interval("io", locked_ns, "fcntl", b"/run/lock", calls=60)
        row = [useful(5 * SECOND - locked_ns), renames, lock]
        program = Program([row] * ranks, *[10 * SECOND] * 2, 5 * SECOND - locked_ns)
        return judge(Evidence(program.columns())).headline

    assert headline(2).endswith("the I/O time; and ranks wait for file locks 20.0 % of the time.")
    assert headline(0.5).endswith("take 90.9 % of the I/O time.")
    assert headline(2, ranks=1).endswith("take 71.4 % of the I/O time.")


def test_what_the_only_writer_does_badly_is_said_beside_who_it_is():
    """Rank 0 writes 4 s of 6 s, and the other waits."""

    def headline(calls: int, sync: bool = False) -> str:
        name = b"/run/out"
        wrote = write(SECOND if sync else 4 * SECOND, name, 4_000_000, calls)
        safe = [Interval("io", 3 * SECOND, "fsync", name, calls=40)] if sync else []
        rows = [[useful(2 * SECOND), wrote, *safe], [useful(2 * SECOND), mpi(4 * SECOND)]]
        program = Program(rows, 6 * SECOND, 4 * SECOND, 2 * SECOND)
        return judge(Evidence(program.columns())).headline

    alone = "rank 0 writes out alone while the other rank waits"
    small = "100,000 small writes of 40 B on average take 100 % of the I/O time"
    assert headline(100_000).endswith(f"{alone}; and {small}.")
    assert headline(4).endswith(f"{alone}.")
    assert headline(100, sync=True).endswith(f"{alone}, mostly in 40 fsyncs of 75.0 ms each.")


def of_locks(*paths: bytes) -> str:
    """A rank makes 40,000 lock calls of 25 µs on its path: 1 s of 4.5 s, and writes for 0.5 s."""
    lock = (Interval("io", SECOND, "fcntl", path, 0, 40_000) for path in paths)
    row = [useful(3 * SECOND), write(SECOND // 2, b"/run/out", 10_000 * 128, 10_000)]
    end = 9 * SECOND // 2
    return found(Program([[*row, each] for each in lock], end, end, 3 * SECOND), "locks").finding


def test_who_locks_what_another_locks_is_not_said_not_to_wait():
    """Four ranks that add to one counter under a lock wait for a few microseconds each time."""
    said = "160,000 lock calls of 25.0 µs each take 22.2 % of the time"
    assert of_locks(b"/run/0", b"/run/1", b"/run/2", b"/run/3") == (
        f"{said}, without waiting for another"
    )
    assert of_locks(*[b"/run/counter"] * 4) == said


def test_what_is_said_of_small_files_is_theirs():
    """200 files are opened in 3 s, 1 s is spent in seeks of 40 others, and 2 s in writing to one:
    theirs are 50 % of the I/O time, not 66.7. Of temporary ones likewise."""
    written = write(2 * SECOND, b"/run/out", 1000 * MB, 100)
    apart = [call("lseek", SECOND // 40, 1, b"/run/other.%d" % i) for i in range(40)]
    pieces = []
    for i in range(200):
        path = b"/run/piece.%d" % i
        pieces += [call("open", 15 * MILLISECOND, 1, path), write(0, path, 225, 1)]
    nameless = [
        call("open", 3 * SECOND, 200, b"<temporary file>"),
        write(0, b"<temporary file>", 200 * 225, 200),
    ]
    for calls, mean in ((pieces, "200 files of 900 B"), (nameless, "800 temporary files of 225 B")):
        found = first(written, *apart, *calls)
        what = f"{mean} on average: their opens, closes and the like take 50.0 % of the I/O time"
        assert found.finding == what
