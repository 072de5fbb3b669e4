"""Who does the I/O: for each sentence a run of which it is true, and one in which it must not be
said. Every run is built by arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, mpi, open_close, read, useful, write

COMPUTED = 6 * SECOND
WHO = (Kind.SERIAL_READER, Kind.SERIAL_WRITER, Kind.SERIAL_METADATA, Kind.FEW_RANKS)
WHO += (Kind.UNEVEN_BYTES, Kind.UNEVEN_CALLS, Kind.STRAGGLER, Kind.TAKING_TURNS)


def program(*calls: list[Interval]) -> Program:
    """All compute 6 s, then do their calls at once; who is done waits for the slowest. T_even: the
    sum of the times spread over all ranks, which is ∫ k(t)/P dt for the slowest if k falls to 1."""
    lengths = [sum(call.length_ns for call in row) for row in calls]
    rows = [
        [useful(COMPUTED), *row, *([mpi(max(lengths) - length)] if length < max(lengths) else [])]
        for row, length in zip(calls, lengths, strict=True)
    ]
    even = COMPUTED + sum(lengths) // len(calls)
    return Program(rows, COMPUTED + max(lengths), even, COMPUTED)


def who(run: Program) -> str:
    """What is said about who does the I/O; empty where nothing is."""
    findings = judge(Evidence(run.columns())).findings
    return "; ".join(finding.finding for finding in findings if finding.code in WHO)


def fsync(length_ns: int, path: bytes, calls: int) -> Interval:
    return Interval("io", length_ns, "fsync", path, 0, calls)


def own(rank: int) -> bytes:
    return b"/run/out.%d" % rank


def test_alone_is_said_of_a_file_that_no_other_rank_writes():
    row = [write(2 * SECOND, b"/run/out.nc", 10**9, 100)]
    assert who(program(row, [], [], [])) == "rank 0 writes out.nc alone while 3 ranks wait"


def test_alone_is_not_said_where_each_rank_writes_a_file_of_its_own():
    rows = [[write((1 + rank) * SECOND, own(rank), 10**8, 100)] for rank in range(4)]
    assert "alone" not in who(program(*rows))


def test_alone_is_not_said_where_others_write_less_in_files_of_their_own():
    def beside(size: int) -> str:
        rows = [[write(2 * SECOND, own(0), 10**9, 100)]]
        rows += [[write(MILLISECOND, own(rank), size // 3, 1)] for rank in (1, 2, 3)]
        return who(program(*rows))

    assert beside(10**8) == "rank 0 does 90.9 % of all writing, mainly on out.0"
    # Logs beside the output that one rank writes.
    assert beside(10**7) == "rank 0 writes out.0 alone while 3 ranks wait"


def test_who_synchronises_few_bytes_is_not_advised_to_let_others_write():
    def advised(size: int) -> str:
        row = [write(MILLISECOND, b"/run/state", size, 40), fsync(2 * SECOND, b"/run/state", 40)]
        found = judge(Evidence(program(row, [], [], []).columns())).findings
        (serial,) = [finding for finding in found if finding.code == Kind.SERIAL_WRITER]
        assert "alone while 3 ranks wait, mostly in 40 fsyncs of 50.0 ms each" in serial.finding
        return serial.advice

    assert advised(40 * 8192).startswith("synchronise less often")
    assert "let all ranks write" in advised(10**9)


def test_a_synchronisation_of_all_files_is_named():
    row = [Interval("io", 2 * SECOND, "sync", b"<all files>", 0, 10)]
    assert who(program(row, [])) == (
        "rank 0 synchronises <all files> alone while the other rank waits, in 10 syncs of 200 ms "
        "each"
    )


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("mkdir", "rank 0 makes 40 directories alone while the other rank waits"),
        ("rmdir", "rank 0 removes 40 files alone while the other rank waits"),
        ("rename", "rank 0 renames 40 files alone while the other rank waits"),
        ("posix_fadvise", "rank 0 advises the system about 40 files alone while the other"),
        ("ioctl", "rank 0 renames, removes or positions 40 files alone while the other rank waits"),
    ],
)
def test_what_one_rank_does_alone_to_names_is_said(function, said):
    calls = [
        Interval("io", 50 * MILLISECOND, function, b"/run/step.%d" % i, 0, 10) for i in range(40)
    ]
    assert who(program(calls, [])).startswith(said)


def test_alone_is_not_said_where_others_write_a_little():
    rows = [[write(2 * SECOND, b"/run/out", 10**9, 100)]]
    rows += [[write(MILLISECOND, b"/run/out", 10**7, 1)] for _ in range(3)]
    assert who(program(*rows)) == "rank 0 does 97.1 % of all writing, mainly on out"


def test_who_synchronises_a_file_writes_it():
    row = [write(8 * MILLISECOND, b"/run/out.nc", 10**9, 8)]
    row += [fsync(264 * MILLISECOND, b"/run/out.nc", 8)]
    text = who(program(row, [], [], []))
    assert (
        text == "rank 0 writes out.nc alone while 3 ranks wait, mostly in 8 fsyncs of 33.0 ms each"
    )
    assert "mostly" not in who(program([*reversed(row), write(SECOND, b"/run/out.nc")], [], [], []))


def test_one_slow_call_among_equal_ones_does_not_name_its_file():
    """Eight files alike, and one fsync that met a busy disk: 57 % of the time, an eighth of the
    work."""
    row = [fsync((8 if n else 75) * 10 * MILLISECOND, b"/run/step.%d" % n, 1) for n in range(8)]
    assert who(program(row, [], [], [])) == (
        "rank 0 synchronises 8 files alone while 3 ranks wait, in 8 fsyncs of 164 ms each"
    )


def test_only_few_is_said_where_the_others_do_nothing():
    row = [write(2 * SECOND, b"/run/out.h5", 10**9, 64)]
    text = "only 2 of 4 ranks write out.h5 while the others wait"
    assert who(program(row, [], row, [])) == text


def test_of_files_of_their_own_none_is_written_by_several():
    """However much longer one of them takes, as where a rank writes for each node."""
    rows = [[write(t * SECOND, own(rank), 10**9, 64)] for rank, t in ((0, 5), (2, 2))]
    said = who(program(rows[0], [], rows[1], []))
    assert said == "only 2 of 4 ranks write 2 files while the others wait"


def test_only_few_is_not_said_where_all_write_and_two_are_slower():
    rows = [[write(t * SECOND, b"/run/out.h5", 10**9, 64)] for t in (4, 1, 4, 1)]
    assert "only" not in who(program(*rows))


def test_uneven_bytes():
    rows = [[write(n * SECOND // 4, own(n), n * 10**8, 4)] for n in (1, 4, 9, 16)]
    assert who(program(*rows)) == "rank 3 writes 53.3 % of the bytes and the others wait for it"


def test_bytes_are_not_blamed_where_they_are_even():
    rows = [[write(t * SECOND, own(t), 10**8, 4)] for t in (1, 2, 3, 4)]
    assert "bytes" not in who(program(*rows))


def test_uneven_calls_of_equal_bytes():
    rows = [[write(3 * SECOND, own(0), 10**8, 9000)]]
    rows += [[write(SECOND, own(rank), 10**8, 1000)] for rank in (1, 2, 3)]
    assert who(program(*rows)) == "rank 0 makes 75.0 % of the writes and the others wait for it"


def test_a_straggler_does_the_same_in_more_time():
    rows = [[write((5 if rank == 2 else 1) * SECOND, own(rank), 10**8, 50)] for rank in range(4)]
    assert who(program(*rows)) == "rank 2 takes 5.00 times as long as the others for as many writes"


def test_who_waits_longest_to_synchronise_may_have_written_most():
    """Four fsyncs each, 1 s but on rank 3: there they take 5 s, behind twelve times the bytes."""

    def synchronising(sizes: tuple[int, ...]) -> str:
        rows = [
            [write(MILLISECOND, own(rank), size * 10**6, 4), fsync(length * SECOND, own(rank), 4)]
            for rank, (size, length) in enumerate(zip(sizes, (1, 1, 1, 5), strict=True))
        ]
        return who(program(*rows))

    told = "rank 3 writes 80.0 % of the bytes and the others wait for it"
    assert synchronising((4, 4, 4, 48)) == told
    assert "times as long as the others for as many fsyncs" in synchronising((48, 48, 48, 48))


def test_a_rank_that_does_as_much_as_each_other_that_does_any_is_not_blamed():
    """Rank 0 hands out work: a third each is an even part of three. With four times the writes of
    each of two others it is not."""
    rows = [[write((10 + n) * SECOND, own(n), n * 10**8, 100)] for n in (1, 1, 1)]
    assert "and the others wait for it" not in who(program([], *rows))
    rows[2] = [write(40 * SECOND, own(3), 4 * 10**8, 400)]
    assert "rank 3 writes 66.7 % of the bytes and the others wait" in who(program([], *rows))


def test_who_waits_for_a_processor_is_no_straggler():
    """Rank 2 writes for 5 s and waits for a processor for 4 of them; for 1 of them, 4 are left."""
    rows = [[write((5 if rank == 2 else 1) * SECOND, own(rank), 10**8, 50)] for rank in range(4)]

    def waiting(time_ns: int) -> str:
        waited = [(0, time_ns if rank == 2 else 0, 0) for rank in range(4)]
        return who(replace(program(*rows), waited_ns=waited, any_waited_ns=(0, time_ns, 0)))

    assert "times as long" not in waiting(4 * SECOND)
    assert waiting(SECOND) == "rank 2 takes 4.00 times as long as the others for as many writes"


def test_several_ranks_may_be_slower_than_the_others():
    """Ranks 0 and 1 take 4 s and 5 s for what takes the others 1 s; with three of four there would
    be no others to compare with."""
    rows = [[write(s * SECOND, own(r), 10**8, 50)] for r, s in enumerate((4, 5, 1, 1))]
    several = "2 of 4 ranks take 4.50 times as long as the others for as many writes"
    assert who(program(*rows)) == several
    rows = [[write(s * SECOND, own(r), 10**8, 50)] for r, s in enumerate((4, 5, 5, 1))]
    assert "times as long" not in who(program(*rows))


def test_times_stand_beside_the_sentence_that_they_show():
    """Rank 2 writes for 5 s, of which it waits 1 s for a processor: 4 s are four times the 1 s."""
    rows = [[write((5 if rank == 2 else 1) * SECOND, own(rank), 10**8, 50)] for rank in range(4)]
    waited = [(0, SECOND if rank == 2 else 0, 0) for rank in range(4)]
    run = replace(program(*rows), waited_ns=waited, any_waited_ns=(0, SECOND, 0))
    findings = judge(Evidence(run.columns())).findings
    (found,) = [finding for finding in findings if finding.code is Kind.STRAGGLER]
    spent = "ranks spend 1.00 s to 4.00 s in these calls, without waiting for a processor"
    assert spent in found.evidence


def test_who_waits_for_locks_is_no_straggler():
    """Equal calls, but rank 1 waits longer: that is the time of who holds the lock."""

    def locking(function: str) -> str:
        rows = [
            [Interval("io", (1 + 9 * (rank == 1)) * SECOND, function, own(rank), 0, 100)]
            for rank in range(2)
        ]
        return who(program(*rows))

    assert "takes" not in locking("fcntl")
    assert locking("fsync") == "rank 1 takes 10.0 times as long as the other for as many fsyncs"


def test_who_synchronises_one_file_first_waits_for_what_all_wrote():
    """Rank 0's fsyncs of the file take 4.5 s, the others find nothing left to be written; of files
    of their own it would be a straggler."""

    def synchronising(path):
        slow = [(1 + 8 * (rank == 0)) * SECOND // 2 for rank in range(4)]
        rows = [
            [write(SECOND, path(rank), 10**6, 30), fsync(slow[rank], path(rank), 30)]
            for rank in range(4)
        ]
        return who(program(*rows))

    assert "times as long" not in synchronising(lambda rank: b"/run/shared.dat")
    assert synchronising(own) == "rank 0 takes 9.00 times as long as the others for as many fsyncs"


def test_a_straggler_among_other_calls_does_many_of_them():
    """Few calls of equal number need not be the same ones: a removal here, a seek there."""

    def calling(function: str, calls: int) -> str:
        rows = [
            [Interval("io", (1 + 9 * (rank == 1)) * SECOND, function, own(rank), 0, calls)]
            for rank in range(2)
        ]
        return who(program(*rows))

    assert calling("rename", 100) == (
        "rank 1 takes 10.0 times as long as the other for as many renames"
    )
    assert "times as long" not in calling("rename", 3)


def test_a_rank_that_does_more_is_not_a_straggler():
    rows = [[write(n * SECOND, own(n), n * 10**8, n * 50)] for n in (1, 1, 5, 1)]
    assert "times as long" not in who(program(*rows))


def test_the_kind_of_call_is_that_of_the_excess():
    """All read 3 s; rank 0 opens for 2 s more."""
    rows = [[read(3 * SECOND, b"/run/in", 10**9, 100)] for _ in range(4)]
    rows[0].append(open_close(2 * SECOND, b"/run/list", 10_000))
    assert who(program(*rows)) == "rank 0 opens list alone while 3 ranks wait"


def turns(length_ns: int, gap_ns: int) -> Program:
    """Rank after rank is in a file call for a while; T_even: a quarter of it on each."""
    wait = [mpi(length_ns + gap_ns)] if gap_ns + length_ns else []
    call = [write(length_ns, size=10**6), *([mpi(gap_ns)] if gap_ns else [])]
    rows = [[useful(COMPUTED), *wait * r, *call, *wait * (3 - r)] for r in range(4)]
    total = COMPUTED + 4 * (length_ns + gap_ns)
    return Program(rows, total, COMPUTED + length_ns, COMPUTED)


def test_one_after_another_needs_ranks_that_do_not_overlap():
    text = "ranks do their I/O one after another: 1.0 of 4 at a time"
    assert who(turns(SECOND, 0)) == text


def on_path(columns: dict, file: int, io_ns: int) -> Evidence:
    """With a critical path that leads over so much of what is done to a file."""
    path = {"state": ["io", "useful"], "file": [file, -1], "time_ns": [io_ns, SECOND]}
    causes = {"function": [], "cause": {"state": [], "time_ns": []}}
    return Evidence(columns | {"dependences": {"paths": {"ideal_network": path}, "causes": causes}})


def test_who_comes_late_from_its_computation_takes_no_turns():
    """Each rank writes when it has computed, and not because another one is done: the path leads
    over what the last of them writes, 1 s of 4, and not over all."""
    columns = turns(SECOND, 0).columns()

    def found(io_ns: int) -> list[str]:
        findings = judge(on_path(columns, 0, io_ns)).findings
        return [finding.finding for finding in findings if finding.code is Kind.TAKING_TURNS]

    assert found(SECOND) == []
    assert len(found(4 * SECOND)) == 1


def test_turns_on_a_file_are_on_the_critical_path_whatever_else_is_written():
    """Rank after rank writes F for 1 s, and each a file of its own for the 3 s that it would wait:
    four ranks are in file calls all the time. Of the 4 s on F the path leads over 4 s; where it
    leads over 1 s, ranks write F at the same time."""
    shared = [[write(SECOND, b"/run/shared", 10**6), write(3 * SECOND, own(p))] for p in range(4)]
    rows = [[*row[1:], *row[:1]] if p % 2 else row for p, row in enumerate(shared)]
    columns = program(*rows).columns()
    columns["ideal_network_even_io_ns"] -= 2 * SECOND
    shared_row = columns["files"]["path"].index(b"/run/shared")

    def found(on_path_ns: int) -> list[str]:
        findings = judge(on_path(columns, shared_row, on_path_ns)).findings
        return [finding.finding for finding in findings if finding.code is Kind.TAKING_TURNS]

    assert found(4 * SECOND) == ["ranks write shared one after another"]
    assert found(SECOND) == []


def test_short_calls_far_apart_are_not_one_after_another():
    """Calls that fill a fiftieth of the I/O phases meet rarely by chance as well."""
    gaps = turns(SECOND, 0).columns()
    phases = gaps["phases"]
    io = phases["kind"].index("io")
    phases["end_ns"][io] = phases["begin_ns"][io] + 50 * 4 * SECOND
    findings = judge(Evidence(gaps)).findings
    assert not [finding for finding in findings if finding.code is Kind.TAKING_TURNS]


def test_ranks_that_overlap_are_not_one_after_another():
    rows = [[write(2 * SECOND, own(rank), 10**8, 10)] for rank in range(4)]
    run = program(*rows)
    run.ideal_network_even_io_ns -= SECOND  # whatever else makes T_even smaller
    assert who(run) == ""


def test_equal_work_in_equal_time_says_nothing_and_leaves_the_loss_to_the_calls():
    rows = [[fsync(2 * SECOND, own(rank), 100)] for rank in range(4)]
    run = program(*rows)
    run.ideal_network_even_io_ns -= SECOND
    (found,) = judge(Evidence(run.columns())).findings
    assert found.finding == "400 fsyncs of 20.0 ms each take 100 % of the I/O time"
    assert found.gain_s == 2


def test_what_is_not_on_a_file_system_is_nobodys_io():
    rows = [[write(2 * SECOND, b"/dev/shm/segment", 10**9, 100)], [], [], []]
    verdict = judge(Evidence(program(*rows).columns()))
    assert verdict.headline == (
        "I/O takes 25.0 % of this run, mostly on /dev/shm/segment, which is not on a file system."
    )
    assert [finding.code for finding in verdict.findings] == [Kind.ELSEWHERE]


def test_who_is_slower_in_a_file_that_all_write_may_wait_for_the_others():
    """Its node is the first guess only where each rank writes a file of its own."""

    def writing(name: Callable[[int], bytes]) -> list[list[Interval]]:
        lengths = (SECOND, SECOND, 5 * SECOND, SECOND)
        return [[write(length, name(rank), 10**8, 50)] for rank, length in enumerate(lengths)]

    assert "to one file at once wait for each other" in advised(writing(lambda _: b"/run/out"))
    assert advised(writing(own)).startswith("compare node")


def test_what_one_rank_writes_alone_beside_what_all_write_is_named():
    """The shared file has more of the time and of the bytes, but as much of each rank's."""

    def beside(alone: list[Interval], ranks: int) -> Program:
        shared = write(4 * SECOND, b"/run/shared.dat", 10**9, 100)
        return program([shared, *alone], *([[shared]] * (ranks - 1)))

    serial = [write(2 * SECOND, b"/run/serial.dat", 2 * 10**9, 100)]
    for ranks, share, wait in ((2, "75.0", "the other waits"), (4, "50.0", "the others wait")):
        verdict = judge(Evidence(beside(serial, ranks).columns()))
        (found,) = [f for f in verdict.findings if f.code is Kind.UNEVEN_BYTES]
        among = f"{share} % of the bytes, all of serial.dat among them, and {wait} for it"
        assert found.finding == f"rank 0 writes {among}"
        assert str(found.file).endswith("serial.dat")
    unequal = [[write(n * SECOND, own(n), n * 10**9, 100)] for n in (4, 1, 1, 1)]
    assert who(program(*unequal)) == "rank 0 writes 57.1 % of the bytes and the others wait for it"


def test_flags_of_files_are_no_matter_of_calls_that_move_nothing():
    slow = [
        [Interval("io", (1 + 9 * (rank == 1)) * SECOND, "rename", own(rank), 0, 100)]
        for rank in range(2)
    ]
    assert advised(slow) == "compare node and cores with the others'"
    slow = [[write((1 + 9 * (rank == 1)) * SECOND, own(rank), 10**8, 50)] for rank in range(2)]
    assert "O_SYNC" in advised(slow)


def advised(rows: list[list[Interval]]) -> str:
    findings = judge(Evidence(program(*rows).columns())).findings
    return next(finding.advice for finding in findings if finding.code is Kind.STRAGGLER)


def test_who_alone_synchronises_what_others_write_too_does_not_write_alone():
    def text(path: bytes, others: int, at_once: bytes) -> str:
        row = [write(MILLISECOND, own(0), 10**6, 30), fsync(SECOND, own(0), 30)]
        row.append(Interval("io", 2 * SECOND, "fsync", at_once, 0, 30))
        rest = [[write(MILLISECOND, path or own(rank), others, 30)] for rank in (1, 2, 3)]
        return who(program(row, *rest))

    everything = b"<all files>"
    alone = "alone while 3 ranks wait"
    assert text(b"", 10**6, everything) == (
        f"rank 0 synchronises 2 files {alone}, in 60 fsyncs of 50.0 ms each"
    )
    assert text(b"", 1000, everything).startswith(f"rank 0 writes 2 files {alone}, mostly in")
    assert text(b"", 10**6, own(0)).startswith(f"rank 0 writes out.0 {alone}, mostly in")
    assert text(own(0), 1000, own(0)).startswith(f"rank 0 synchronises out.0 {alone}, in 60")


def test_who_waits_for_a_lock_does_no_io_that_others_could_share():
    def found(lock_ns: int) -> list[Finding]:
        row = [Interval("io", lock_ns * 100, "fcntl", b"/run/state", 0, 100)]
        return judge(Evidence(program(row, [], []).columns())).findings

    waits = found(20 * MILLISECOND)
    assert [finding.code for finding in waits if finding.code in WHO] == []
    (cause, *_) = waits
    assert cause.code == Kind.LOCKS and "lslocks" in cause.advice
    assert "no other rank locks state" in cause.evidence
    # Granted at once, of which a hundred thousand take as long: these could be spread.
    row = [Interval("io", 2 * SECOND, "fcntl", b"/run/state", 0, 100_000)]
    assert who(program(row, [], [])).startswith("rank 0 locks state alone")


def test_who_opens_each_file_once_could_keep_none_open():
    def advised(times: int) -> str:
        row = [open_close(10 * MILLISECOND, b"/run/%d" % n, times) for n in range(200)]
        (found,) = [f for f in findings_of(program(row, [], [])) if f.code in WHO]
        assert found.finding.startswith("rank 0 opens 200 files alone")
        return found.advice

    assert "keep it open" in advised(10)
    assert "keep it open" not in advised(1) and "fewer files" in advised(1)


def findings_of(run: Program) -> list[Finding]:
    return judge(Evidence(run.columns())).findings


def test_a_straggler_that_opened_its_file_otherwise_is_said_to():
    def found(**opened: str) -> Finding:
        rows = [[write((4 if rank == 1 else 1) * SECOND, own(rank), 10**8, 100)] for rank in (0, 1)]
        run = program(*rows, [write(SECOND, own(2), 10**8, 100)])
        run.meta |= opened
        return next(f for f in findings_of(run) if f.code == Kind.STRAGGLER)

    text = "rank 1 takes 4.00 times as long as the others for as many writes"
    assert found().finding == text
    told = found(opened_synchronous="/run/out.1")
    assert told.finding == f"{text}, with O_SYNC or O_DSYNC"
    assert told.advice.startswith("with O_SYNC or O_DSYNC, which the others do not use")
    everyone = "\x1f".join(f"/run/out.{rank}" for rank in range(3))
    assert found(opened_synchronous=everyone).finding == text


def test_who_reads_back_what_it_wrote_reads_for_nobody_else():
    def advised(name: bytes, written: int) -> str:
        reads = read(2 * SECOND, name, 400_000_000, 2000, reach=(0, 20_000_000))
        writes = write(MILLISECOND, name, written, 1000, reach=(0, 20_000_000))
        (found,) = [f for f in findings_of(program([reads, writes], [], [])) if f.code in WHO]
        assert found.code == Kind.SERIAL_READER
        return found.advice

    assert advised(b"/run/o3.nc", 300_000_000).startswith("a classic file's data are moved")
    assert advised(b"/run/scratch", 20_000_000).startswith("keep in memory what was written")
    assert "MPI_Bcast" in advised(b"/run/scratch", 1000)
