"""Scaling tables of runs whose speedups and scalabilities follow by arithmetic."""

import pytest

from tailrace.errors import TailraceError
from tailrace.verdict.explanations import scaling_words
from tailrace.verdict.scaling import scaling_table
from tailrace.verdict.several import headline_of_several

from .columns import SECOND, Program, useful, write
from .conftest import serial_master


def computing(ranks: int, seconds: float, instructions: int = 0, cycles: int = 0) -> dict:
    """Every rank computes `seconds`; instructions and cycles are per rank."""
    time_ns = int(seconds * SECOND)
    counters = (
        {"instructions": [instructions] * ranks, "cycles": [cycles] * ranks} if instructions else {}
    )
    return Program([[useful(time_ns)]] * ranks, time_ns, time_ns, time_ns, **counters).columns()


def test_strong_scaling_of_a_serial_master():
    """8 s of work shared, 7.5 s written by rank 0: T = 8/P + 7.5."""
    table = scaling_table(
        [serial_master(p, work_ns=8 * SECOND // (10 * p)).columns() for p in (4, 1, 2)]
    )
    assert (table["kind"], table["reference_ranks"], table["trace_index"]) == (
        "strong",
        1,
        [1, 2, 0],
    )
    assert [row["runtime_s"] for row in table["rows"]] == [15.5, 11.5, 9.5]
    assert [row["speedup"] for row in table["rows"]] == pytest.approx([1, 15.5 / 11.5, 15.5 / 9.5])
    assert [row["scalability"]["computation"] for row in table["rows"]] == [1, 1, 1]
    # global = parallel × computation scalability = (8/P) / T
    assert [row["global"] for row in table["rows"]] == pytest.approx([8 / 15.5, 4 / 11.5, 2 / 9.5])
    assert not table["counters"]


def test_weak_scaling_is_told_by_the_work():
    """2 s on every rank at any number of ranks, 2.5 s on 4: computation scalability 2/2.5, speedup
    scaled by P."""
    table = scaling_table([computing(1, 2), computing(2, 2), computing(4, 2.5)])
    assert table["kind"] == "weak"
    assert [row["scalability"]["computation"] for row in table["rows"]] == [1, 1, 0.8]
    assert [row["speedup"] for row in table["rows"]] == [1, 2, 3.2]


def test_counters_split_computation_scalability():
    """4 ranks: 1.25 × the instructions in all, IPC 2 → 1.6, frequency 1 GHz → 0.8 GHz."""
    single = computing(1, 8, instructions=16 * 10**9, cycles=8 * 10**9)
    four = computing(4, 3.90625, instructions=5 * 10**9, cycles=3125 * 10**6)
    row = scaling_table([single, four])["rows"][1]["scalability"]
    assert row["instruction"] == pytest.approx(0.8)
    assert row["ipc"] == pytest.approx(0.8)
    assert row["frequency"] == pytest.approx(0.8)
    assert row["computation"] == pytest.approx(0.8**3)


def test_counters_tell_strong_from_weak_where_time_would_mislead():
    """The same instructions on 1 and 4 ranks, but four times the useful time (memory-bound):
    strong."""
    single = computing(1, 2, instructions=10**9, cycles=10**9)
    four = computing(4, 2, instructions=25 * 10**7, cycles=10**9)
    assert scaling_table([single, four])["kind"] == "strong"


@pytest.mark.parametrize(
    ("output_bytes", "kind", "decided_by"),
    [
        (lambda ranks: 4_000_000 // ranks, "strong", "bytes_written"),
        (lambda ranks: 4_000_000, "weak", "bytes_written"),
        # a log of each rank says nothing of the problem
        (lambda ranks: 10_000, "weak", "useful_time"),
    ],
)
def test_output_tells_a_shared_memory_from_a_problem_that_grows(output_bytes, kind, decided_by):
    """Without counters: each rank computes 2 s on 1 and on 4 ranks, and then writes."""

    def run(ranks: int) -> dict:
        interval = write(SECOND, b"/data/out", size=output_bytes(ranks))
        return Program([[useful(2 * SECOND), interval]] * ranks, *[3 * SECOND] * 3).columns()

    traces = [run(1), run(4)]
    table = scaling_table(traces)
    assert (table["kind"], table["decided_by"]) == (kind, decided_by)
    seems = kind == "weak" and decided_by == "useful_time"
    assert ("as it seems" in scaling_words(table)) == seems
    assert ("seems to grow" in headline_of_several(traces, ["1", "4"], table)) == seems


def test_the_reference_can_be_named():
    table = scaling_table([computing(1, 8), computing(2, 4), computing(4, 2)], reference_ranks=2)
    assert [row["speedup"] for row in table["rows"]] == [0.5, 1, 2]
    with pytest.raises(TailraceError, match="no trace with 3 ranks") as error:
        scaling_table([computing(1, 8), computing(2, 4)], reference_ranks=3)
    assert "1, 2" in error.value.hint


def test_repeated_runs_are_no_scaling():
    assert scaling_table([computing(2, 4), computing(2, 4.1)])["kind"] == "none"
