"""What capture itself took: measured where it was taken, bounded, and blamed on nothing else."""

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, mpi, useful


def run(own_ns: list[int] | None, length_ns: int = 10 * SECOND) -> Program:
    """Two ranks; the second makes a million calls, and computes a fifth longer."""
    busy = Interval("mpi", length_ns // 10, "MPI_Test", calls=1_000_000, layer="mpi")
    rows = [
        [useful(length_ns * 7 // 10), mpi(length_ns * 3 // 10)],
        [useful(length_ns * 9 // 10), busy],
    ]
    return Program(rows, length_ns, length_ns, length_ns, capture_ns=own_ns)


def of(program: Program, **rank) -> Evidence:
    columns = program.columns()
    columns["rank"].update(rank)
    return Evidence(columns)


def codes(evidence: Evidence) -> dict[str, float]:
    return {f.code.value: f.share_of_runtime for f in judge(evidence).findings}


def test_what_was_measured_counts_on_the_rank_with_most():
    evidence = of(run([SECOND // 100, 2 * SECOND]))
    assert evidence.overhead.share == pytest.approx(0.2)
    assert codes(evidence)["capture_overhead"] == pytest.approx(0.2)
    (found,) = [f for f in judge(evidence).findings if f.code.value == "capture_overhead"]
    assert found.finding == "capture itself takes 20.0 % of rank 1's time"
    assert found.evidence.startswith("2.00 s on rank 1: 1,000,000 events timed where")
    assert "the run is longer by less where that rank would have polled" in found.evidence


def test_of_one_rank_it_is_the_run_that_is_longer():
    busy = Interval("mpi", SECOND, "MPI_Test", calls=1_000_000, layer="mpi")
    lengths = [10 * SECOND] * 3
    alone = of(Program([[useful(9 * SECOND), busy]], *lengths, capture_ns=[2 * SECOND]))
    (found,) = [f for f in judge(alone).findings if f.code.value == "capture_overhead"]
    assert found.finding == "capture itself takes 20.0 % of the run"
    assert "polled" not in found.evidence and "rank" not in found.evidence


def test_uneven_computation_that_is_capture_is_not_blamed_on_the_program():
    assert "load_imbalance" in codes(of(run([0, SECOND // 10])))
    assert "load_imbalance" not in codes(of(run([0, 2 * SECOND])))


def test_what_was_taken_before_the_run_is_not_its_cost():
    """A tenth of the events lies in the run."""
    evidence = of(run([0, SECOND]), events=[0, 10_000_010])
    assert evidence.overhead.share == pytest.approx(0.01, rel=0.01)


def test_no_share_is_more_than_the_run_and_a_short_run_has_none():
    """371 % of a run of 1.7 ms was seen."""
    short = of(run([0, 6 * MILLISECOND], 2 * MILLISECOND))
    assert short.overhead.share == 1
    assert "capture_overhead" not in codes(short)
    unmeasured = of(run(None, 2 * MILLISECOND))
    assert unmeasured.overhead.share == 1 and not unmeasured.overhead.measured


def uneven(own_ns: list[int]) -> list[str]:
    """Of 20 ms the first rank computes 16 ms, the second 8 ms."""
    length = 20 * MILLISECOND
    rows = [
        [useful(16 * MILLISECOND), mpi(4 * MILLISECOND)],
        [useful(8 * MILLISECOND), mpi(12 * MILLISECOND)],
    ]
    program = Program(rows, length, length, length, capture_ns=own_ns)
    return [f.evidence for f in judge(of(program)).findings if f.code.value == "load_imbalance"]


def test_no_rank_computes_nothing_for_the_sake_of_capture():
    """10 ms of a rank that computes for 8 ms: part of them lies in MPI calls. What differs, 1 ms,
    is taken out all the same."""
    (found,) = uneven([9 * MILLISECOND, 10 * MILLISECOND])
    assert found == "useful time: 16.0 ms on rank 0, 11.5 ms on average, 7.00 ms on rank 1"


def test_what_capture_took_more_of_the_longest_does_not_make_it_long():
    """The 8 ms that rank 0 is longer are capture's, of which rank 1 has 9 ms itself."""
    assert not uneven([17 * MILLISECOND, 9 * MILLISECOND])


def test_what_capture_took_is_out_of_the_useful_time_where_it_fits():
    (found,) = uneven([4 * MILLISECOND, 4 * MILLISECOND])
    assert found == "useful time: 12.0 ms on rank 0, 8.00 ms on average, 4.00 ms on rank 1"
