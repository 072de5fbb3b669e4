"""What is said of the file calls of other threads while the main thread sleeps: programs built by
arithmetic."""

import numpy as np
import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.off_path import who_else
from tests.python.columns import (
    MILLISECOND,
    SECOND,
    Interval,
    Program,
    asleep_for,
    mpi,
    useful,
    write,
)

MB = 1_000_000


def small_writes_of_others(spent_ms: int, main_ms: int = 10, **meta: str) -> str:
    """1,000 writes of 1 kB by other threads, while the main thread sleeps; the first line."""
    others = {"bytes_by_other_threads": [MB]}
    spent = [spent_ms * MILLISECOND]
    told = asleep_for(0.9, ranks=1, **meta)
    calls = [useful((1000 - main_ms) * MILLISECOND), write(main_ms * MILLISECOND, size=MB)]
    times = (SECOND, SECOND, 990 * MILLISECOND)
    program = Program([calls], *times, overlapped_io_ns=spent, others=others, **told)
    columns = program.columns()
    for table in ("files", "file_rank"):
        columns[table] |= {"writes": np.array([1000]), "writes_small": np.array([1000])}
        columns[table] |= {"bytes_written": np.array([MB])}
        for name in ("write_ns", "writes_small_ns"):
            columns[table][name] = np.array([spent[0]])
    return judge(Evidence(columns)).headline


def test_small_requests_of_others_may_wait_for_a_processor():
    """Of whose waits nothing is known; of those to a file opened with O_SYNC it is."""
    each = "1,000 writes of 1.00 kB on average, 300 µs each: so small, they wait for a device"
    said = small_writes_of_others(300)
    assert said.startswith(f"Other threads move all 1.00 MB and spend 300 ms in file calls ({each}")
    assert "a device, a server or a processor), while the main thread sleeps" in said
    path = write(1).path.decode()
    assert "a device or a server)" in small_writes_of_others(300, opened_synchronous=path)


def test_what_is_a_small_part_of_the_run_does_not_lead_the_first_line():
    """As pigz, whose threads write for 2.7 % of it."""
    assert small_writes_of_others(60).startswith("Other threads move all 1.00 MB")
    said = small_writes_of_others(40)
    assert said.startswith("I/O takes 1.0 % of this run as far as the main thread shows")
    assert "But other threads move all 1.00 MB and spend 40.0 ms in file calls" in said


def test_of_calls_that_may_be_the_main_threads_nothing_is_said_of_others():
    """It has a tenth of the time in file calls: whose calls take longest is not known."""
    assert "in file calls (1,000 writes of" in small_writes_of_others(300)
    said = small_writes_of_others(300, main_ms=35)
    assert said.startswith("Other threads move all 1.00 MB and spend 300 ms in file calls, while")


@pytest.mark.parametrize(
    ("threads", "processes", "who"),
    [
        (3560, 62_914_560, "other threads and processes of the program"),
        (0, 62_914_560, "other processes of the program"),
        (3560, 0, "other threads"),
        (0, 0, "other processes or threads of the program"),
    ],
)
def test_whose_the_time_is_follows_from_no_bytes(threads: int, processes: int, who: str):
    """A thread synchronises a log of 3.56 kB for a second, a process copies 62.9 MB in no time."""
    others = {"bytes_by_other_threads": [threads], "bytes_by_other_processes": [processes]}
    calls = [useful(SECOND)]
    columns = Program([calls], *[SECOND] * 3, others=others, meta={"processes": "all"}).columns()
    assert who_else(Evidence(columns)) == who


def workers(own: Interval, overlapped_ms: int = 0) -> Finding:
    """Rank 0's other thread polls in MPI for the answers of two workers: rank 1 makes its `own`
    calls for 300 ms, and rank 2 synchronises a log 200 times in 250 ms. An ideal file system saves
    nothing that is seen. What is said of the other thread."""
    syncs = Interval("io", 250 * MILLISECOND, "fsync", b"/run/log", 0, 200)
    calls = [[useful(SECOND)]]
    calls += [[each, mpi(SECOND - each.length_ns)] for each in (own, syncs)]
    talk = {"other_threads_in_mpi": [1, 0, 0], "overlapped_mpi_calls": [900, 0, 0]}
    talk["overlapped_mpi_ns"] = [800 * MILLISECOND, 0, 0]
    overlapped = [0, overlapped_ms * MILLISECOND, 0]
    run = Program(calls, *[SECOND] * 3, others=talk, overlapped_io_ns=overlapped)
    found = judge(Evidence(run.columns())).findings
    return next(each for each in found if each.code == "other_threads")


def test_what_takes_longest_of_a_worker_is_its_own():
    """All synchronising is rank 2's, and of all ranks' I/O time rank 1's writes take 54.5 %. Where
    another thread of it is in file calls, too, it is not known what its own are."""
    own = write(300 * MILLISECOND, b"/run/notes.dat", 8 * 300_000, calls=300_000)
    said = "file calls take 30.0 % of rank 1's time (300,000 small writes of 8 B on average take"
    found = workers(own)
    assert f"{said} 100 % of the I/O time)" in found.finding
    assert found.advice.startswith("gather in memory") and "synchronise" not in found.advice
    unknown = workers(own, overlapped_ms=100)
    assert unknown.finding.endswith("and file calls take 30.0 % of rank 1's time")
    assert unknown.advice.startswith("compare with a run")
