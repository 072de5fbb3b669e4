"""Files in memory, of the kernel and of devices, which no file system makes faster: what they take
is said, and nothing is where they take little. Every run is built by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge

from .columns import MILLISECOND, SECOND, Interval, Program, mpi, useful, write

MB = 1_000_000


def judged(path: bytes, spent_ns: int, ranks: int = 1, threads: int = 0) -> Verdict:
    """Each rank writes 10 ms to a file, and reads 300 times from the path, which counts as useful
    time; rank 1 half as long."""
    rows, paths = [], [path, b"/run/out"]
    for rank in range(ranks):
        own_ns = spent_ns // (1 + rank)
        reads = Interval("io", own_ns, "pread", path, 30 * MB, 300)
        rest = [mpi(spent_ns - own_ns)] if own_ns < spent_ns else []
        rows.append([useful(SECOND), reads, write(10 * MILLISECOND, b"/run/out", MB), *rest])
    end = SECOND + spent_ns + 10 * MILLISECOND
    others = {"bytes_by_other_threads": [threads] * ranks}
    program = Program(rows, end, end, end - 10 * MILLISECOND, others=others)
    columns = program.columns()
    own = np.array([spent_ns // (1 + rank) for rank in range(ranks)])
    columns["rank"]["io_ns"] = columns["rank"]["io_ns"] - own
    columns["rank"]["useful_ns"] = columns["rank"]["useful_ns"] + own
    assert [bytes(name) for name in columns["files"]["path"]] == paths
    return judge(Evidence(columns))


@pytest.mark.parametrize(
    ("path", "what", "advised"),
    [
        (b"/dev/shm/a", "/dev/shm/a, which is memory,", "move less"),
        (b"/proc/self/stat", "/proc/self/stat, which is the kernel's,", "ask less often"),
        (b"/dev/urandom", "/dev/urandom, which is a device,", "ask for more at once"),
    ],
)
def test_what_takes_much_of_the_run_is_named(path: bytes, what: str, advised: str):
    verdict = judged(path, SECOND)
    assert verdict.headline == (
        "I/O on storage does not hold this run back (0.5 % of the run time), but 300 calls on "
        f"{what} take 49.8 % of the run."
    )
    (found,) = [finding for finding in verdict.findings if finding.code == "elsewhere"]
    assert found.advice.startswith(advised)
    assert found.evidence.startswith("30.0 MB in 1.00 s")


def test_many_small_files_in_memory_are_not_advised_to_be_smaller():
    rows = [useful(SECOND)]
    for i in range(300):
        path = b"/dev/shm/%d" % i
        rows += [Interval("io", 3 * MILLISECOND, "open", path), write(MILLISECOND, path, 100)]
    end = sum(row.length_ns for row in rows)
    columns = Program([rows], end, end, end).columns()
    columns["rank"] |= {"io_ns": np.array([0]), "useful_ns": np.array([end])}
    findings = judge(Evidence(columns)).findings
    (found,) = [finding for finding in findings if finding.code == "elsewhere"]
    assert found.finding.startswith("600 calls on files in /dev/shm, which are memory, take 54.5 %")
    assert found.advice.startswith("use fewer files")


def test_waits_for_a_processor_are_taken_out():
    """Half of what the rank is outside I/O, it waits."""
    row = [useful(SECOND), Interval("useful", SECOND), write(10 * MILLISECOND, b"/run/out", MB)]
    reads = Interval("io", 0, "pread", b"/proc/stat", 30 * MB, 300)
    end = 2 * SECOND + 10 * MILLISECOND
    known = {"waited_ns": [(SECOND, 0, 0)], "any_waited_ns": (SECOND, 0, 0)}
    columns = Program([[*row, reads]], end, end, end, **known).columns()
    for table in ("files", "file_rank"):
        columns[table]["read_ns"] = np.where(columns[table]["reads"] == 300, SECOND, 0)
    findings = judge(Evidence(columns)).findings
    (found,) = [finding for finding in findings if finding.code == "elsewhere"]
    assert "take 24.9 % of the run" in found.finding


def test_the_rank_with_most_of_it_is_named():
    verdict = judged(b"/proc/stat", SECOND, ranks=2)
    (found,) = [finding for finding in verdict.findings if finding.code == "elsewhere"]
    assert found.finding.startswith("rank 0's 300 calls on /proc/stat, which is the kernel's, take")
    assert found.ranks == (0,)


@pytest.mark.parametrize(
    ("path", "spent_ns", "threads"),
    [
        (b"/proc/self/stat", 10 * MILLISECOND, 0),  # little
        # streams, of which another finding speaks
        (b"<pipe>", SECOND, 0),
        (b"/dev/pts/0", SECOND, 0),
        (b"/dev/ptmx", SECOND, 0),
        (b"/dev/shm/a", SECOND, MB),  # perhaps by others than the main thread
    ],
)
def test_nothing_is_said_of(path: bytes, spent_ns: int, threads: int):
    assert "elsewhere" not in {f.code for f in judged(path, spent_ns, threads=threads).findings}


def test_nothing_is_said_of_more_than_the_main_thread_can_have_spent():
    """Four threads of a rank read in memory for 1 s each, while the main thread waits for 1 s."""
    reads = Interval("io", 4 * SECOND, "pread", b"/dev/shm/a", 30 * MB, 300)
    columns = Program([[useful(SECOND), reads]], *[5 * SECOND] * 2, SECOND).columns()
    columns["rank"] |= {"io_ns": np.array([0]), "useful_ns": np.array([2 * SECOND])}
    assert "elsewhere" not in {f.code for f in judge(Evidence(columns)).findings}
