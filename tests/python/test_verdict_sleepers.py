"""A rank that sleeps outside MPI and file calls may wait for one that is in file calls."""

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge
from tests.python.columns import MILLISECOND, Interval, Program, mpi, useful, write

RUN = 1000 * MILLISECOND


def judged(ran_ms: int, written_ms: int, ideal_ms: int, asks: int = 0) -> Verdict:
    """Rank 0 is outside calls for 0.9 s and runs for `ran_ms` of it; rank 1 computes unless it
    writes."""
    rest, written = (900 - asks) * MILLISECOND, written_ms * MILLISECOND
    asking = [mpi(MILLISECOND, "MPI_Test")] * asks
    end = mpi(100 * MILLISECOND)
    rows = [
        [useful(rest), *asking, end],
        [write(written, b"/data/h.bin", 1 << 20), useful(900 * MILLISECOND - written), end],
    ]
    run = Program(rows, RUN, RUN, ideal_ms * MILLISECOND, waited_ns=[(0, 0, 0)] * 2)
    ran = [ran_ms, 900 - written_ms]
    run.meta = {"usage": "0 0 0 0 0", "ran_ns": ",".join(str(ms * MILLISECOND) for ms in ran)}
    return judge(Evidence(run.columns()))


@pytest.mark.parametrize(("asks", "said"), [(0, ""), (50, ", between 50 calls of MPI_Test")])
def test_it_is_not_said_that_io_does_not_hold_the_run_back(asks: int, said: str):
    verdict = judged(ran_ms=50, written_ms=600, ideal_ms=995, asks=asks)
    assert (
        f" of the run outside MPI and file calls{said}, and rank 1 spends 60.0 % of it in file "
        in (verdict.headline)
    )
    assert verdict.headline.startswith("Rank 0 sleeps 8")
    assert "whether rank 0 waits for that is not known" in verdict.headline
    assert "does not hold" not in verdict.headline and "times as long" not in verdict.headline
    (found,) = [each for each in verdict.findings if each.code == "sleeps_beside_files"]
    assert ("MPI_Wait" in found.advice) == bool(asks) and found.ranks == (0, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"ran_ms": 880},  # it computes
        {"written_ms": 30},  # there is little to wait for
        {"ideal_ms": 500},  # the wait is known: others wait for it in MPI
    ],
)
def test_nothing_is_said_of_who_computes_or_of_a_wait_that_is_known(change: dict):
    verdict = judged(**({"ran_ms": 50, "written_ms": 600, "ideal_ms": 995} | change))
    assert not [each for each in verdict.findings if each.code == "sleeps_beside_files"]


LARGE = write(600 * MILLISECOND, b"/data/h.bin", 600_000_000, 60)


def beside(
    function: str, calls: int, overlapped_ms: int = 0, own: Interval = LARGE
) -> tuple[str, str]:
    """Rank 0 sleeps for 0.9 s, rank 1 writes 600 MB in 0.6 s, or makes calls of its `own`, and two
    others make such calls on a log for 0.5 s each. What is said of rank 1, and what is advised. Its
    other threads are in file calls for `overlapped_ms`."""
    end = mpi(100 * MILLISECOND)
    log = Interval("io", 500 * MILLISECOND, function, b"/data/log", 0, calls)
    rows = [
        [useful(900 * MILLISECOND), end],
        [own, useful(300 * MILLISECOND), end],
        *[[log, useful(400 * MILLISECOND), end]] * 2,
    ]
    run = Program(rows, RUN, RUN, 995 * MILLISECOND, waited_ns=[(0, 0, 0)] * 4)
    run.overlapped_io_ns = [0, overlapped_ms * MILLISECOND, 0, 0]
    ran = ",".join(str(ms * MILLISECOND) for ms in (50, 300, 400, 400))
    run.meta = {"usage": "0 0 0 0 0", "ran_ns": ran}
    found = judge(Evidence(run.columns())).findings
    (caution,) = [each for each in found if each.code == "sleeps_beside_files"]
    return caution.finding.partition(", and ")[2], caution.advice


@pytest.mark.parametrize(("function", "calls"), [("fsync", 5000), ("open", 5000), ("rename", 5000)])
def test_why_a_rank_is_in_file_calls_is_told_of_its_own(function: str, calls: int):
    """The others make far more calls, which are no reason for rank 1's time."""
    said, advised = beside(function, calls)
    assert said.startswith(
        "rank 1 spends 60.0 % of it in file calls (writing h.bin at 1.00 GB/s): whether"
    )
    assert "synchronise" not in advised and "keep open" not in advised


def test_why_a_rank_is_in_file_calls_is_not_known_of_its_other_threads():
    """A tenth of its time in file calls is theirs: the tables of files hold both."""
    said, advised = beside("fsync", 5000, overlapped_ms=70)
    assert said.startswith("rank 1 spends 60.0 % of it in file calls: whether rank 0 waits for")
    assert "if it waits for these calls" not in advised
    assert "(writing h.bin" in beside("fsync", 5000, overlapped_ms=20)[0]


def test_ranks_that_lock_one_file_wait_for_each_other():
    """Though only rank 1's calls are told. Where the others lock nothing, another process does."""
    own = Interval("io", 600 * MILLISECOND, "fcntl", b"/data/log", 0, 300)
    said, advised = beside("fcntl", 100, own=own)
    assert "(300 lock calls of 2.00 ms each take 100 % of the I/O time)" in said
    assert "no other rank takes one" not in advised
    assert "no other rank takes one" in beside("fsync", 100, own=own)[1]


def test_what_a_rank_does_as_all_do_has_its_words():
    """Rank 1 synchronises, too: 300 times for 0.6 s, by the one function that is called."""
    end, log = mpi(100 * MILLISECOND), b"/data/log"
    syncs = [
        Interval("io", ms * MILLISECOND, "fsync", log, 0, n) for ms, n in ((600, 300), (500, 9))
    ]
    rows = [[useful(900 * MILLISECOND), end]]
    rows += [[sync, useful(900 * MILLISECOND - sync.length_ns), end] for sync in syncs]
    run = Program(rows, RUN, RUN, 995 * MILLISECOND, waited_ns=[(0, 0, 0)] * 3)
    ran = ",".join(str(ms * MILLISECOND) for ms in (50, 300, 400))
    run.meta = {"usage": "0 0 0 0 0", "ran_ns": ran}
    headline = judge(Evidence(run.columns())).headline
    assert "(300 fsyncs of 2.00 ms each take 100 % of the I/O time)" in headline


@pytest.mark.parametrize("shared", [True, False])
def test_who_may_look_at_shared_memory_is_not_said_to_compute(shared: bool):
    """Rank 0 runs for 0.9 s outside calls, and rank 1 writes for 0.6 of it."""
    window = [mpi(MILLISECOND, "MPI_Win_allocate_shared")] if shared else []
    end = mpi(100 * MILLISECOND)
    rows = [
        [*window, useful((900 - shared) * MILLISECOND), end],
        [*window, LARGE, useful((300 - shared) * MILLISECOND), end],
    ]
    run = Program(rows, RUN, RUN, 995 * MILLISECOND, waited_ns=[(0, 0, 0)] * 2)
    run.meta = {"usage": "0 0 0 0 0", "ran_ns": f"{900 * MILLISECOND},{300 * MILLISECOND}"}
    verdict = judge(Evidence(run.columns()))
    said = "Ranks share memory (MPI_Win_allocate_shared), rank 0 is 89.9 % of the run outside MPI"
    assert verdict.headline.startswith(said) == shared
    assert ("whether rank 0 looks there until that is done is not known" in verdict.headline) == (
        shared
    )
    assert any("times as long" in found.finding for found in verdict.findings) != shared
