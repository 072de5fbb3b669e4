"""Each finding is right where its cause is there, and absent where it is not. Every run is built by
arithmetic."""

import pytest

from tailrace.verdict.as_json import report
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge

from .columns import MILLISECOND, SECOND, Interval, Program, mpi, open_close, read, useful, write
from .conftest import serial_master


def verdict(program: Program, **options) -> Verdict:
    return judge(Evidence(program.columns(**options)))


def codes(program: Program) -> list[str]:
    return [finding.code for finding in verdict(program).findings]


def finding(program: Program, code: str):
    (found,) = [f for f in verdict(program).findings if f.code == code]
    return found


def test_serial_master_is_named_with_rank_and_file():
    program = serial_master(4)
    assert verdict(program).headline == (
        "I/O takes 42.9 % of this run: rank 0 writes history.nc alone while 3 ranks wait."
    )
    found = finding(program, "serial_writer")
    # T_net − T_even = 10 × 0.75 × 3/4 s of 17.5 s
    assert (found.gain_s, found.share_of_runtime) == (5.625, 5.625 / 17.5)
    assert "save at most 5.62 s" in found.gain
    assert "nc_create_par" in found.advice
    assert "200 writes of 10.0 MB on average, 37.5 ms each, 267 MB/s" in found.evidence
    assert codes(program) == ["serial_writer", "slow_file_system", "outputs"]


def test_two_ranks_in_the_singular():
    assert "alone while the other rank waits" in verdict(serial_master(2)).headline


def test_one_rank_has_nobody_waiting():
    program = serial_master(1)
    assert codes(program) == ["slow_file_system", "outputs"]
    assert (
        verdict(program).headline == "I/O takes 42.9 % of this run: writing history.nc at 267 MB/s."
    )


def test_serial_reader():
    """Rank 2 reads 2 s, then all compute 8 s: T = 10 = T_net, T_even = 8 + 2/4, T_ideal = 8."""
    rows = [[mpi(2 * SECOND), useful(8 * SECOND)] for _ in range(4)]
    rows[2] = [read(2 * SECOND, b"/data/grid.nc", 10**9, 10), useful(8 * SECOND)]
    program = Program(rows, 10 * SECOND, 8 * SECOND + SECOND // 2, 8 * SECOND)
    assert verdict(program).headline.endswith("rank 2 reads grid.nc alone while 3 ranks wait.")
    assert codes(program)[0] == "serial_reader"


def test_a_serial_writer_is_found_beside_reads_that_all_ranks_share():
    """All read 1 s together; rank 0 writes 2 s. T = 10, T_even = 7 + 1 + 2/4, T_ideal = 7: the
    reads are even."""
    row = [useful(7 * SECOND), read(SECOND, size=10**8), mpi(2 * SECOND)]
    first = [*row[:2], write(2 * SECOND, b"/run/out.nc", 10**9, 100)]
    program = Program([first, row, row, row], 10 * SECOND, 8500 * MILLISECOND, 7 * SECOND)
    assert (
        finding(program, "serial_writer").finding == "rank 0 writes out.nc alone while 3 ranks wait"
    )


def test_few_aggregators():
    """Two of eight write 4 s, the rest wait: T_even = 6 + 4 × 2/8."""
    rows = [[useful(6 * SECOND), mpi(4 * SECOND)] for _ in range(8)]
    rows[0] = rows[4] = [useful(6 * SECOND), write(4 * SECOND, size=10**9, calls=64)]
    program = Program(rows, 10 * SECOND, 7 * SECOND, 6 * SECOND)
    assert (
        finding(program, "few_ranks").finding
        == "only 2 of 8 ranks write history.nc while the others wait"
    )


def test_even_writes_are_no_imbalance():
    """File per rank, all at once: T_even = T_net."""
    rows = [
        [useful(6 * SECOND), write(4 * SECOND, b"/run/out.%d" % rank, 10**9, 64)]
        for rank in range(4)
    ]
    program = Program(rows, 10 * SECOND, 10 * SECOND, 6 * SECOND)
    assert codes(program) == ["slow_file_system"]
    assert (
        verdict(program).headline
        == "I/O takes 40.0 % of this run: writing 4 files at 250 MB/s a rank."
    )


def test_ranks_that_take_turns():
    """Each of four ranks holds a lock for 1 s in turn: equal times in I/O, one at a time. T_even =
    6 + 4 × 1/4."""
    rows = [
        [
            useful(6 * SECOND),
            *([mpi(r * SECOND)] if r else []),
            write(SECOND, size=10**8),
            mpi((3 - r) * SECOND),
        ]
        for r in range(4)
    ]
    program = Program(rows, 10 * SECOND, 7 * SECOND, 6 * SECOND)
    found = finding(program, "taking_turns")
    assert found.finding == "ranks do their I/O one after another: 1.0 of 4 at a time"
    assert found.gain_s == 3


def test_small_requests_are_named_only_when_they_cost():
    def small(calls: int, time_ns: int) -> Program:
        rest = 10 * SECOND - time_ns
        row = [useful(rest), write(time_ns, size=100 * calls, calls=calls)]
        return Program([row, row], 10 * SECOND, 10 * SECOND, rest)

    assert finding(small(100_000, 3 * SECOND), "small_requests").finding == (
        "200,000 small writes of 100 B on average take 100 % of the I/O time"
    )
    assert codes(small(100_000, 50 * MILLISECOND)) == ["io_fine"]  # many, but 0.5 % of the run
    assert codes(small(100, 3 * SECOND)) == ["slow_small_requests"]  # few, 30 ms each


def test_metadata_storm():
    row = [
        useful(7 * SECOND),
        open_close(2 * SECOND - MILLISECOND, b"/run/zones", 4000),
        Interval("io", MILLISECOND, "close", b"/run/zones", 0, 4000),
        write(SECOND, b"/run/zones", 10**9, 10),
    ]
    program = Program([row, row], 10 * SECOND, 10 * SECOND, 7 * SECOND)
    assert finding(program, "reopened").finding == (
        "zones is opened 8,000 times, for 0.0 requests each time"
    )


def test_locks():
    row = [
        useful(7 * SECOND),
        Interval("io", 2 * SECOND, "fcntl", b"/nfs/out.nc", 0, 50),
        write(SECOND, size=10**9),
    ]
    program = Program([row, row], 10 * SECOND, 10 * SECOND, 7 * SECOND)
    assert "locks" in codes(program)
    assert "metadata" not in codes(program)


def test_time_between_the_layers():
    row = [useful(6 * SECOND), mpi(3 * SECOND, "MPI_File_write_all"), write(SECOND, size=10**9)]
    layers = {"mpiio_ns": 8 * SECOND, "posix_in_mpiio_ns": 2 * SECOND, "between_ns": 6 * SECOND}
    program = Program([row, row], 10 * SECOND, 10 * SECOND, 9 * SECOND, layers=layers)
    found = finding(program, "between_layers")
    assert found.finding == "75.0 % of the time in MPI-IO is spent outside the file system"
    assert found.share_of_runtime == 0.3  # 6 s of 2 × 10 s


def test_io_is_not_fine_where_mpiio_takes_time_around_it():
    """4 s of 10 s in opening, 1 ms of it in file calls; of the 4 s a rank waited 1 s for a
    processor. The ideal run times know of no loss: all ranks open together."""
    opening = [mpi(3 * SECOND, "MPI_File_open"), mpi(SECOND, "MPI_File_close")]
    row = [useful(6 * SECOND - MILLISECOND), *opening, write(MILLISECOND, size=100)]
    layers = {"mpiio_ns": 8 * SECOND, "posix_in_mpiio_ns": 0, "between_ns": 8 * SECOND}
    times = (10 * SECOND, 10 * SECOND, 10 * SECOND - MILLISECOND)
    quiet = Program([row, row], *times, layers=layers)
    text = verdict(quiet).headline
    assert text.startswith("I/O takes < 0.1 % of this run, MPI-IO around its file calls 40.0 %: ")
    assert "io_fine" not in codes(quiet)
    waits = [(0, 0, SECOND), (0, 0, SECOND)]
    found = finding(Program([row, row], *times, layers=layers, waited_ns=waits), "between_layers")
    assert found.finding == "100 % of the time in MPI-IO is spent outside the file system"
    assert found.share_of_runtime == 0.3


def test_an_exchange_inside_mpiio_is_not_to_be_overlapped():
    """T_net is 7 s: of the 3 s lost to transfers MPI-IO can account for all, or for 1 s."""
    row = [useful(6 * SECOND), mpi(3 * SECOND), write(SECOND, size=10**9)]
    for between_s, advised in ((3, True), (1, False)):
        layers = {"mpiio_ns": 8 * SECOND, "between_ns": 2 * between_s * SECOND}
        program = Program([row, row], *[7 * SECOND] * 2, 6 * SECOND, layers=layers)
        assert ("MPI-IO itself exchanges" in finding(program, "network").advice) == advised


def test_no_io_problem_says_so_and_names_what_is():
    """Rank 0 computes 8 s, the other 4 s: load balance 6/8; the 10 ms of writing are 0.1 % of the
    run."""
    rows = [
        [useful(8 * SECOND), write(10 * MILLISECOND, size=10**6), mpi(1990 * MILLISECOND)],
        [useful(4 * SECOND), mpi(6 * SECOND)],
    ]
    program = Program(rows, 9 * SECOND, 8 * SECOND + 5 * MILLISECOND, 8 * SECOND)
    program.ideal_network_ns = 8010 * MILLISECOND
    text = verdict(program).headline
    assert text.startswith(
        "I/O does not hold this run back (0.1 % of the run time); rank 0 computes 1.33 times"
    )
    assert set(codes(program)) == {"load_imbalance", "network", "io_fine"}


def test_a_rank_that_writes_while_the_others_compute_has_no_time_to_compute_more():
    """Rank 0 computes 1 s and writes 3 s, while the others compute 8 s: with 6.25 s of computation
    each, rank 0 would take 9.25 s; with 7 s of all each, the run is 1 s shorter. Where it writes
    for 7 s, nothing is to be had. Where it writes after the others have computed, for 2 s, it would
    be 6.25 s of computation and 2 s of writing instead of 10 s."""
    computes = [useful(8 * SECOND)]

    def beside(writes_s: int) -> Program:
        row = [useful(SECOND), write(writes_s * SECOND, size=10**9)]
        row += [mpi((7 - writes_s) * SECOND)] if writes_s < 7 else []
        return Program([row, *[computes] * 3], *[8 * SECOND] * 3)

    found = finding(beside(3), "load_imbalance")
    assert found.gain == "computation and file calls spread evenly would save at most 1.00 s"
    assert found.share_of_runtime == pytest.approx(1 / 8)
    assert "load_imbalance" not in codes(beside(7))

    row = [useful(SECOND), mpi(7 * SECOND), write(2 * SECOND, size=10**9)]
    after = Program([row, *[[*computes, mpi(2 * SECOND)]] * 3], 10 * SECOND, 9 * SECOND, 8 * SECOND)
    assert finding(after, "load_imbalance").gain == "an even computation would save at most 1.75 s"


def test_a_rank_that_tries_to_open_what_another_makes_is_not_at_work():
    """Rank 0 computes 8 s, rank 1 opens a file all the while that is not there before; or closes it
    each time; or does as much with other files."""

    def of(*calls: Interval) -> Program:
        rest = 8 * SECOND - sum(call.length_ns for call in calls)
        return Program([[useful(8 * SECOND)], [*calls, useful(rest)]], *[8 * SECOND] * 3)

    tried = Interval("io", 7 * SECOND, "open", b"/run/flag", 0, 10**6)
    found = finding(of(tried), "load_imbalance")
    assert found.finding == "rank 0 computes 1.78 times as long as the ranks on average"
    assert found.evidence.endswith("; rank 1 tries in vain to open flag 1,000,000 times")
    closes = Interval("io", MILLISECOND, "close", b"/run/flag", 0, 10**6)
    beside = Interval("io", MILLISECOND, "stat", b"/run/other", 0, 10**6)
    for work in (closes, beside):
        assert "load_imbalance" not in codes(of(tried, work))


@pytest.mark.parametrize(
    ("function", "size", "said"),
    [
        ("stat", 0, "; rank 1 looks up flag 1,000,000 times"),
        ("pread", 4000, "; rank 1 reads nothing of flag 1,000,000 times"),
        ("pread", 10**6 - 1, ""),
    ],
)
def test_a_rank_that_looks_for_what_another_writes_is_not_at_work(function, size, said):
    """Rank 0 computes 8 s; rank 1 asks for a file's size, or reads at its end, all the while."""
    polls = Interval("io", 7 * SECOND, function, b"/run/flag", size, 10**6)
    rows = [[useful(8 * SECOND)], [polls, useful(SECOND)]]
    found = judge(Evidence(Program(rows, *[8 * SECOND] * 3).columns())).findings
    uneven = [finding for finding in found if finding.code == "load_imbalance"]
    assert bool(uneven) == bool(said)
    assert all(finding.evidence.endswith(said) for finding in uneven)


def test_a_master_that_hands_out_work_is_named_and_not_a_worker():
    """Of four ranks one computes 1 s and three 10 s; in the second run they are uneven, too; in the
    third two of four do nothing, so that none can be told from the rule."""

    def said(*computed_s: int) -> str:
        rows = [[useful(s * SECOND), mpi((10 - s) * SECOND)] for s in computed_s]
        found = finding(Program(rows, *[10 * SECOND] * 3), "load_imbalance")
        return f"{found.finding} → {found.advice}"

    assert said(1, 10, 10, 10).startswith("rank 0 computes 10.0 % of what the others compute → let")
    assert said(1, 7, 10, 6).startswith(
        "rank 2 computes 1.67 times as long as the ranks on average"
    )
    assert said(1, 1, 10, 10).startswith("rank 2 computes 1.82 times as long as the ranks on ")
    assert said(0, 10, 10, 0, 10).startswith("2 ranks compute 0 % of what the others compute → let")


def test_a_balanced_run_has_nothing_to_complain_of():
    program = Program([[useful(10 * SECOND)]] * 4, 10 * SECOND, 10 * SECOND, 10 * SECOND)
    assert (
        verdict(program).headline
        == "I/O does not hold this run back (0 % of the run time); nothing else does either."
    )
    assert codes(program) == ["io_fine"]


def test_serialization():
    """A chain of four: each computes 1 s after the one before. T_ideal = 4 s, max U = 1 s."""
    rows = [
        [*([mpi(r * SECOND)] if r else []), useful(SECOND), mpi((3 - r) * SECOND)] for r in range(4)
    ]
    program = Program(rows, 4 * SECOND, 4 * SECOND, 4 * SECOND)
    assert finding(program, "serialization").gain_s == 3
    assert "balance the work of each step" in finding(program, "serialization").advice
    rows = [[mpi(i.length_ns, "MPI_Recv") if i.function else i for i in row] for row in rows]
    program = Program(rows, *[4 * SECOND] * 3)
    assert finding(program, "serialization").advice.startswith("start communication earlier")
    assert "io_fine" in codes(program)


def test_capture_overhead_and_lost_calls_are_told():
    row = [useful(9 * SECOND), mpi(SECOND)]
    busy = Interval("mpi", SECOND, "MPI_Test", calls=20_000_000, layer="mpi")
    capture = {"events_lost": 7, "complete": False, "notes": ["no space left on device on rank 1"]}
    program = Program(
        [row, [useful(9 * SECOND), busy]], 10 * SECOND, 10 * SECOND, 10 * SECOND, capture=capture
    )
    # 20 M × 40 ns of 10 s
    assert finding(program, "capture_overhead").share_of_runtime == pytest.approx(0.08)
    lost = "the trace is not complete: 7 of 20,000,008 calls could not be recorded"
    assert finding(program, "incomplete_trace").finding.startswith(lost)
    assert finding(program, "incomplete_trace").advice.startswith("give the trace more room")
    assert f". But {lost}" in verdict(program).headline


def test_with_many_lost_calls_all_is_said_of_what_was_recorded():
    """Half of the calls of a run in which one rank writes while the others wait: the others may
    have written, too."""
    whole = serial_master(4)
    assert "serial_writer" in codes(whole)
    recorded = whole.columns()["capture"]["events"]
    whole.capture = {"events_lost": recorded, "complete": False}
    found = verdict(whole)
    assert found.headline.startswith(
        f"The trace is not complete: {recorded} of {2 * recorded} calls could not be recorded. "
    )
    assert "of this run as far as it was recorded" in found.headline
    assert not {"serial_writer", "load_imbalance", "serialization"} & {
        f.code for f in found.findings
    }
    quiet = _quiet(capture={"events_lost": 10**6, "complete": False})
    assert verdict(quiet).headline.endswith(
        "I/O takes 1.0 % of this run as far as it was recorded."
    )


def test_findings_come_by_their_share():
    *findings, last = verdict(serial_master(8)).findings
    assert last.code == "outputs"  # which is no cause
    shares = [f.share_of_runtime for f in findings]
    assert shares == sorted(shares, reverse=True)


def test_an_empty_trace_is_no_crash():
    program = Program([[useful(0)]], 0, 0, 0)
    assert verdict(program, bins=1).headline == "Nothing was recorded: the trace has no run time."
    assert verdict(program, bins=1).findings == []


def test_ranks_whose_mpi_was_not_seen_put_all_in_doubt():
    program = serial_master(4)
    assert "mpi_not_recorded" not in codes(program)
    program.meta["mpi"] = ""
    assert codes(program)[0] == "mpi_not_recorded"
    assert verdict(program).headline.endswith(
        "But no MPI call was recorded: time that ranks waited for each other counts as computation."
    )
    alone = serial_master(1)
    alone.meta["mpi"] = ""
    assert "mpi_not_recorded" not in codes(alone)


def test_a_run_that_ended_in_mpi_init_is_said_to_have():
    """In the call itself, or in a file call inside."""
    said = "the run ended while MPI was being initialised: the report is about what came before."
    columns = serial_master(2).columns()
    columns["meta"]["mpi"] = ""
    columns["capture"]["notes"] = ["rank 1 was in MPI_Init_thread when it ended"]
    assert judge(Evidence(columns)).headline.endswith(said)
    rows = [[mpi(SECOND, "MPI_Init"), useful(SECOND)] for _ in range(2)]
    assert verdict(Program(rows, *[SECOND] * 3, meta={"mpi": ""})).headline.endswith(said)


def _quiet(**more):
    """Two ranks that compute, and hardly write."""
    ranks = [[useful(990 * MILLISECOND), write(10 * MILLISECOND, size=1000)]] * 2
    return Program(ranks, SECOND, SECOND, 990 * MILLISECOND, **more)


def test_a_run_that_a_signal_ended_says_so():
    verdict = judge(Evidence(_quiet(meta={"ended_by": "SIGTERM"}).columns()))
    assert verdict.headline.endswith("But the run was stopped early by SIGTERM.")


def test_an_exit_status_that_is_not_zero_is_said_beside_what_stopped_the_run():
    def found(**meta):
        columns = _quiet(meta={"command_name": "mpiexec", **meta}).columns()
        columns["rank"]["ended"] = ["aborted", "known"] if "mpi" in meta else ["known", "known"]
        return judge(Evidence(columns))

    said = found(exit_status="3")
    assert said.headline.endswith("But mpiexec ended with exit status 3.")
    assert "exit_status" in {finding.code for finding in said.findings}
    assert found(exit_status="0").headline.endswith("nothing else does either.")
    assert found(exit_status="143", ended_by="SIGTERM").headline.endswith("early by SIGTERM.")
    both = "But rank 0 called MPI_Abort, and mpiexec ended with exit status 5."
    assert found(exit_status="5", mpi="MPICH").headline.endswith(both)


def test_a_rank_of_which_nothing_was_found_counts_in_no_average():
    columns = _quiet().columns()
    rank = columns["rank"]
    for name in ("useful_ns", "io_ns", "mpi_ns", "events"):
        rank[name] = [*rank[name], SECOND if name == "mpi_ns" else 0]
    for name in set(rank) - {"useful_ns", "io_ns", "mpi_ns", "events"}:
        rank[name] = [*rank[name], "" if name == "host" else 0] if rank[name] is not None else None
    columns["ranks"] = 3
    verdict = judge(Evidence(columns))
    assert "nothing was found of rank 2, left out of every average" in verdict.headline
    assert "load_imbalance" not in [finding.code for finding in verdict.findings]
    assert report(columns)["useful_s"]["mean"] == pytest.approx(0.99)
    assert report(columns)["efficiency"]["load_balance"] == pytest.approx(1)


@pytest.mark.parametrize(("by_first", "by_second", "said"), [(40, 0, True), (40, 20, False)])
@pytest.mark.parametrize(
    ("call", "verb", "work"), [(write, "writes", "formatting"), (read, "reads", "parsing")]
)
def test_who_computes_longest_and_moves_the_bytes_is_said_to(
    call, verb, work, by_first, by_second, said
):
    """Rank 0 computes 8 s, the other 4 s: it may format what it writes, or parse what it reads,
    which no call shows."""
    found = _uneven_beside(
        *(call(MILLISECOND, b"/run/t", n * 10**6) for n in (by_first, by_second))
    )
    assert (f", which {verb} 100 % of the bytes, computes 1.33 times" in found.finding) == said
    assert (work in found.advice) == said


def _uneven_beside(*calls: Interval):
    """Rank 0 computes 8 s, the other 4 s; of the calls, in turn, half are each rank's."""
    each = len(calls) // 2
    rows = [
        [useful(compute * SECOND), *calls[i * each : (i + 1) * each], mpi(wait * SECOND)]
        for i, (compute, wait) in enumerate(((8, 0), (4, 4)))
    ]
    end = 8 * SECOND + sum(call.length_ns for call in calls[:each])
    return finding(Program(rows, end, end, 8 * SECOND), "load_imbalance")


@pytest.mark.parametrize(
    ("name", "written", "opens", "verb", "advised"),
    [
        (b"/run/t", 30, 1, "reads and writes", "keep binary numbers"),
        (b"/run/t", 4, 1, "reads", "read binary numbers"),
        (b"/run/chain.h5", 30, 1, "reads and writes", "what the library does to read and write"),
        (b"/run/chain.h5", 30, 300, "reads and writes", "open the file once and keep it open"),
        (b"/run/t", 30, 300, "reads and writes", "keep binary numbers"),
    ],
)
def test_who_reads_and_writes_is_said_to_do_both(name, written, opens, verb, advised):
    """40 MB are read by rank 0; of HDF5 and netCDF nobody is told to use binary numbers."""
    calls = [
        read(MILLISECOND, name, 40 * 10**6),
        write(MILLISECOND, name, written * 10**6),
        open_close(MILLISECOND, name, opens),
    ]
    idle = [Interval("io", MILLISECOND, "stat", b"/run/other")] * 3
    found = _uneven_beside(*calls, *idle)
    assert f", which {verb} 100 % of the bytes, computes 1.33 times" in found.finding
    assert advised in found.advice
    assert ("binary numbers" in found.advice) == (name == b"/run/t")


def test_calls_that_never_returned_want_no_room():
    """What a longjmp leaves is lost on any disk, and the thread may have slept in it."""
    lost = _quiet(capture={"events_lost": 10**6, "complete": False})
    advised = finding(lost, "incomplete_trace").advice
    assert "longjmp" in advised
    assert "room" not in advised
