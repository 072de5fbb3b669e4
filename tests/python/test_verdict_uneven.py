"""Ranks that do more than others, or take longer for the same: where in the program that is, which
of them are named, and how they opened their files. Every run is built by arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.headline import judge
from tailrace.verdict.requests import KINDS

from .columns import MILLISECOND, SECOND, Interval, Program, open_close, read, useful, write
from .test_verdict_who import fsync, on_path, own, program, turns, who

MEGABYTE = 1_000_000
# Function in the program, file, kind of call, time.
Place = tuple[str, bytes, str, int]


def found(columns: dict[str, Any], code: Kind) -> Finding:
    (finding,) = [f for f in judge(Evidence(columns)).findings if f.code is code]
    return finding


def with_places(columns: dict[str, Any], places: list[Place]) -> dict[str, Any]:
    """Has the calls come from these functions of the program, each called by main."""
    number = len(places)
    table: dict[str, Any] = {calls: np.zeros(number, dtype=int) for calls, _ in KINDS.values()}
    table |= {f"{kind}_ns": np.zeros(number, dtype=int) for kind in KINDS}
    table |= {name: np.zeros(number, dtype=int) for name in ("bytes_read", "bytes_written")}
    for row, (_, _, kind, time_ns) in enumerate(places):
        table[f"{kind}_ns"][row] = time_ns
    table["file"] = [columns["files"]["path"].index(path) for _, path, _, _ in places]
    table |= {"path": list(range(number)), "cut": [False] * number}
    table["paths"] = [[row, number] for row in range(number)]
    table["again_rank"] = {name: np.zeros(0, dtype=int) for name in ("path", "rank", "time_ns")}
    names = [*(function for function, *_ in places), "main"]
    table["frames"] = {"function": names, "module": ["/home/model"] * (number + 1)}
    table["frames"] |= {"source": [""] * (number + 1), "line": [0] * (number + 1)}
    return columns | {"places": table}


def test_the_place_of_who_makes_more_calls_is_that_of_these_calls():
    """Both read in.dat for 3 s; rank 0 opens it 8,000 times, in 2 s, and rank 1 1,000 times. Most
    of the time is in reads, which are no matter of this finding."""
    path = b"/run/in.dat"
    rows = [
        [read(3 * SECOND, path, 10**9, 300), open_close(length_ns, path, calls)]
        for length_ns, calls in ((2 * SECOND, 8000), (SECOND // 4, 1000))
    ]
    places = [("read_data", path, "read", 6 * SECOND), ("check", path, "open", 9 * SECOND // 4)]
    finding = found(with_places(program(*rows).columns(), places), Kind.UNEVEN_CALLS)
    assert finding.finding == "rank 0 makes 88.9 % of the opens and the other waits for it"
    assert finding.place == "check ← main"


def test_the_place_of_who_waits_for_its_bytes_is_where_it_writes_or_waits():
    """Both read for 4 s; rank 1 wrote eight times as much, and waits for 2 s to synchronise it."""
    rows = [
        [read(4 * SECOND, b"/run/in", 10**9, 100), write(MILLISECOND, own(rank), size, 4)]
        for rank, size in enumerate((10**8, 8 * 10**8))
    ]
    rows[0].append(fsync(SECOND // 4, own(0), 4))
    rows[1].append(fsync(2 * SECOND, own(1), 4))
    places = [
        ("load", b"/run/in", "read", 8 * SECOND),
        ("save", own(1), "write", MILLISECOND),
        ("sync_output", own(1), "sync", 2 * SECOND),
    ]
    finding = found(with_places(program(*rows).columns(), places), Kind.UNEVEN_BYTES)
    assert finding.place == "sync_output ← main"


def test_the_place_of_a_slow_rank_is_in_files_that_it_uses():
    """Rank 2 takes 5 s for what takes the others 2 s each, 6 s in all, in files of their own."""
    rows = [[write((5 if rank == 2 else 2) * SECOND, own(rank), 10**8, 50)] for rank in range(4)]
    places = [("dump", own(2), "write", 5 * SECOND)]
    places += [("history", own(rank), "write", 2 * SECOND) for rank in (0, 1, 3)]
    finding = found(with_places(program(*rows).columns(), places), Kind.STRAGGLER)
    assert finding.place == "dump ← main"


def test_the_place_of_a_lock_that_one_rank_alone_takes_is_not_where_it_opens():
    """100,000 locks that are granted at once, and opens beside them."""
    state = b"/run/state"
    row = [Interval("io", 2 * SECOND, "fcntl", state, 0, 100_000), open_close(SECOND, state, 10)]
    places = [("take", state, "lock", 2 * SECOND), ("prepare", state, "open", SECOND)]
    finding = found(with_places(program(row, [], []).columns(), places), Kind.SERIAL_METADATA)
    assert (finding.finding[:23], finding.place) == ("rank 0 locks state alon", "take ← main")


def test_the_place_of_a_slow_file_is_where_it_is_read():
    """2 s of reads; 1 s of fsyncs and 1.2 s of opens are more together, and what no rate is of."""
    path = b"/run/in.dat"
    row = [read(2 * SECOND, path, 10**8, 10), fsync(SECOND, path, 3)]
    row.append(open_close(1200 * MILLISECOND, path, 3))
    end = 6 * SECOND + 4200 * MILLISECOND
    columns = Program([[useful(6 * SECOND), *row]], end, end, 6 * SECOND).columns()
    places = [("load", path, "read", 2 * SECOND), ("prepare", path, "sync", SECOND)]
    places.append(("prepare", path, "open", 1200 * MILLISECOND))
    finding = found(with_places(columns, places), Kind.SLOW_FILE_SYSTEM)
    assert finding.finding.startswith("reading in.dat at")
    assert finding.place == "load ← main"


def test_turns_on_a_file_are_about_the_calls_that_are_named():
    columns = turns(SECOND, 0).columns()
    (finding,) = [
        f for f in judge(on_path(columns, 0, 4 * SECOND)).findings if f.code is Kind.TAKING_TURNS
    ]
    assert "ranks write history.nc one after another" in finding.finding
    assert finding.kinds == ("write",)


def writing(parts: tuple[float, ...], seconds: tuple[float, ...]) -> Program:
    """Each rank writes so many parts of 100 MB to a file of its own, in so many seconds."""
    return program(
        *(
            [write(int(took * SECOND), own(rank), int(part * 100) * MEGABYTE, 100)]
            for rank, (part, took) in enumerate(zip(parts, seconds, strict=True))
        )
    )


@pytest.mark.parametrize(
    ("parts", "seconds", "said"),
    [
        (
            (1, 1, 8, 8),
            (1, 1, 5, 4),
            "ranks 2 and 3 write 88.9 % of the bytes and the others wait for them",
        ),
        # The one with most time has a little less than the other.
        (
            (1, 1, 8, 7.9),
            (1, 1, 4, 5),
            "ranks 2 and 3 write 88.8 % of the bytes and the others wait for them",
        ),
        # Rank 3 writes as much, as quickly as the others do a part of it: nobody waits for it.
        (
            (1, 1, 8, 8),
            (1, 1, 5, 1),
            "rank 2 writes 44.4 % of the bytes and the others wait for it",
        ),
        (
            (1, 4, 4),
            (1, 2.5, 4),
            "ranks 1 and 2 write 88.9 % of the bytes and the other waits for them",
        ),
        (
            (1, 1, 1, 8, 8, 8),
            (1, 1, 1, 5, 5, 4),
            "3 of 6 ranks write 88.9 % of the bytes and the others wait for them",
        ),
        # Half as much is not as much.
        (
            (1, 1, 4, 8),
            (1, 1, 3, 5),
            "rank 3 writes 57.1 % of the bytes and the others wait for it",
        ),
        # The one with most time is not among those with most bytes.
        ((1, 1, 8, 1), (1, 1, 4, 6), ""),
    ],
)
def test_all_ranks_with_as_much_as_the_most_are_named(parts, seconds, said):
    assert who(writing(parts, seconds)) == said


def test_the_part_of_several_ranks_is_compared_with_an_even_part_of_them():
    finding = found(writing((1, 1, 8, 8), (1, 1, 5, 4)).columns(), Kind.UNEVEN_BYTES)
    assert finding.evidence.startswith("an even part of 2 ranks is 50.0 %; ranks spend 1.00 s to")
    assert finding.file == ""  # each has one of its own
    assert finding.ranks == (2, 3)


def test_ranks_that_make_as_many_calls_are_all_named():
    rows = [
        [write((1 + calls // 250) * SECOND, own(rank), 10**8, calls)]
        for rank, calls in enumerate((125, 125, 1000, 1000))
    ]
    said = "ranks 2 and 3 make 88.9 % of the writes and the others wait for them"
    assert who(program(*rows)) == said


def test_a_file_that_both_write_is_named_where_one_is_much_slower():
    """Nearly all of the excess is rank 3's: rank 2 writes as much of the same file."""
    rows = [
        [write(int(took * SECOND), name, size * MEGABYTE, 8)]
        for name, size, took in (
            *((b"/run/A.dat", 4, 1), (b"/run/A.dat", 4, 1)),
            *((b"/run/B.dat", 32, 1.4), (b"/run/B.dat", 32, 5)),
        )
    ]
    finding = found(program(*rows).columns(), Kind.UNEVEN_BYTES)
    assert finding.finding.startswith("ranks 2 and 3 write 88.9 % of the bytes")
    assert finding.file.endswith("B.dat")


@pytest.mark.parametrize("kind", ["fsync", "close", "pwrite"])
@pytest.mark.parametrize(
    ("function", "advised"),
    [
        ("MPI_File_write_at_all", "give the ranks equal parts: in collective calls, too"),
        ("MPI_File_write_at", "give the ranks equal parts, or write collectively"),
    ],
)
def test_who_waits_for_what_it_wrote_collectively_need_not_be_told_to(kind, function, advised):
    """Two halves of the ranks write a file each by MPI-IO, one of them eight times as much, and
    wait for it: in the write itself, or as they synchronise or close."""
    rows = []
    for rank, size in enumerate((4, 4, 32, 32)):
        path = b"/run/B.dat" if rank > 1 else b"/run/A.dat"
        wait_ns = size * SECOND // 8
        row = [Interval("mpi", MILLISECOND, function, layer="mpiio")]
        row.append(write(MILLISECOND, path, size * MEGABYTE, 8, layer="mpiio"))
        rows.append([*row, Interval("io", wait_ns, kind, path, 0, 8, layer="mpiio")])
    finding = found(program(*rows).columns(), Kind.UNEVEN_BYTES)
    assert finding.finding.startswith("ranks 2 and 3 write 88.9 % of the bytes")
    assert finding.advice.startswith(advised)


def slower(rows: list[list[Interval]], **opened: str) -> Finding:
    run = program(*rows)
    run.meta |= opened
    return found(run.columns(), Kind.STRAGGLER)


def test_of_a_file_that_ranks_share_it_is_not_known_who_opened_it_so():
    """Rank 1 takes four times as long: flags are known of the file, and not of its users."""

    def both(call: Any, **opened: str) -> Finding:
        rows = [[call((4 if rank == 1 else 1) * SECOND, b"/run/F", 10**8, 100)] for rank in (0, 1)]
        return slower(rows, **opened)

    for call, noun in ((read, "reads"), (write, "writes")):
        direct = both(call, opened_direct="/run/F")
        told = f"rank 1 takes 4.00 times as long as the other for as many {noun}"
        assert direct.finding == told
        assert "; F is opened with O_DIRECT: by which of the ranks is not known;" in direct.evidence
        assert "O_DIRECT" in direct.advice and "the others do not use" not in direct.advice
        assert "O_DIRECT" not in both(call).evidence
    assert (
        "F is opened with O_SYNC or O_DSYNC:" in both(write, opened_synchronous="/run/F").evidence
    )
    assert "O_SYNC" not in both(read, opened_synchronous="/run/F").evidence  # no read waits for it


def test_flags_are_nobodys_where_others_use_the_file_too():
    """Rank 0 writes to F, and half of its bytes to G: it may be the one that opened F so."""
    rows = [
        [write(SECOND // 2, b"/run/F", 10**8, 50), write(SECOND // 2, b"/run/G", 10**8, 50)],
        [write(4 * SECOND, b"/run/F", 2 * 10**8, 100)],
    ]
    finding = slower(rows, opened_direct="/run/F")
    assert finding.finding == "rank 1 takes 4.00 times as long as the other for as many writes"


def test_a_file_that_few_ranks_write_is_named_where_one_of_them_is_much_slower():
    """Ranks 0 and 2 write as much of out.h5, and nearly all of the excess is rank 0's."""
    rows = [
        [write(int(took * SECOND), b"/run/out.h5", 10**9, 64)] if took else []
        for took in (5, 0, 0.4, 0)
    ]
    finding = found(program(*rows).columns(), Kind.FEW_RANKS)
    assert finding.finding == "only 2 of 4 ranks write out.h5 while the others wait"
    assert finding.evidence.startswith("128 writes of 15.6 MB on average")
    assert "by 2 ranks;" in finding.evidence
