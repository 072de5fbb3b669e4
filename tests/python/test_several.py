"""The first line about several runs: what it says, and when it must not say it."""

import pytest

from tailrace.labels import labels_of
from tailrace.verdict.scaling import scaling_table
from tailrace.verdict.several import headline_of_several

from .columns import MILLISECOND, SECOND, Program, mpi, useful, write
from .conftest import serial_master


def first_line(*runs: dict, labels: list[str] | None = None) -> str:
    scaling = scaling_table(runs)
    order = scaling["trace_index"]
    names = labels_of(runs, ["trace"] * len(runs), labels)
    return headline_of_several([runs[i] for i in order], [names[i] for i in order], scaling)


def master(ranks: int) -> dict:
    """8 s of work shared, 7.5 s written by rank 0: T = 8/P + 7.5."""
    return serial_master(ranks, work_ns=8 * SECOND // (10 * ranks)).columns()


def polling(ranks: int, wait_s: float) -> dict:
    """8 s of work shared; then every rank is in MPI for `wait_s`, which an ideal network saves."""
    work = 8 * SECOND // ranks
    rows = [[useful(work), mpi(int(wait_s * SECOND))]] * ranks
    return Program(rows, work, work, work).columns()


def test_a_serial_master_becomes_faster_and_io_balance_is_what_it_loses():
    """T = 15.5, 11.5, 9.5 s. T_even / T_net on 4 ranks: (2 + 7.5/4) / 9.5 = 40.8 %."""
    assert first_line(master(4), master(1), master(2)) == (
        "From 1 to 4 ranks the run becomes 1.63 times as fast, 15.5 s → 9.50 s; what costs most is"
        " that I/O balance efficiency falls from 100 % to 40.8 %."
    )


def test_what_becomes_slower_says_so():
    """8, 4 + 5, 2 + 10 s: transfer efficiency is 8/8, 4/9, 2/12."""
    assert first_line(polling(1, 0), polling(2, 5), polling(4, 10)) == (
        "From 1 to 4 ranks the run becomes slower, 8.00 s → 12.0 s, mostly because transfer"
        " efficiency falls from 100 % to 16.7 %."
    )


def test_the_fastest_is_named_where_it_lies_between():
    """8, 4 + 1, 2 + 5 s: from the fastest on, transfer efficiency falls from 4/5 to 2/7."""
    assert first_line(polling(1, 0), polling(2, 1), polling(4, 5)) == (
        "The run is fastest on 2 ranks, 5.00 s; on 4 ranks it takes 7.00 s, mostly because transfer"
        " efficiency falls from 80.0 % to 28.6 %."
    )


def test_two_runs_on_different_ranks_are_scaling_too():
    """4 and 2 + 5 s: transfer efficiency falls from 4/4 to 2/7."""
    assert first_line(polling(2, 0), polling(4, 5)) == (
        "From 2 to 4 ranks the run becomes slower, 4.00 s → 7.00 s, mostly because transfer"
        " efficiency falls from 100 % to 28.6 %."
    )


def test_ranks_that_share_cores_are_not_slower_because_of_the_network():
    """The same, and the kernel says that some rank waited for 5 s in MPI: 2 of 7 s are left."""
    columns = polling(4, 5)
    columns["any_waited"] = {"useful_ns": 0, "io_ns": 0, "mpi_ns": 5 * SECOND}
    waited = {"waited_useful_ns": 0, "waited_io_ns": 0, "waited_mpi_ns": 3 * SECOND}
    columns["rank"] |= {name: [wait_ns] * 4 for name, wait_ns in waited.items()}
    assert first_line(polling(2, 0), columns) == (
        "From 2 to 4 ranks the run becomes slower, 4.00 s → 7.00 s, mostly because processor"
        " availability falls from 100 % to 28.6 %."
    )


def writing(rows: list[tuple[int, int]]) -> dict:
    """Ranks compute so many ms and then write so long, all from when the last has computed."""
    last = max(computed for computed, _ in rows)
    ranks = [
        [
            useful(computed * MILLISECOND),
            *([mpi((last - computed) * MILLISECOND)] if computed < last else []),
            write(wrote * MILLISECOND, b"/run/out.%d" % rank, 10**6, 100),
        ]
        for rank, (computed, wrote) in enumerate(rows)
    ]
    end = (last + rows[0][1]) * MILLISECOND
    return Program(ranks, end, end, last * MILLISECOND).columns()


def test_a_small_imbalance_does_not_explain_what_the_files_take():
    """T grows by 1.8 s, of which 1.74 s are the writes. Load balance falls to 35/80, but that is of
    80 ms; T_ideal / T_even rises."""
    fewest, most = writing([(20, 960)]), writing([(80, 2700), *[(20, 2700)] * 3])
    assert first_line(fewest, most) == (
        "From 1 to 4 ranks, with a problem that grows with them, the run takes 184 % longer, 980 ms"
        " → 2.78 s, mostly because time lost to I/O transfer goes from 960 ms to 2.70 s."
    )
    # Where they compute for long, it does.
    fewest, most = writing([(2000, 100)]), writing([(5000, 100), *[(1000, 100)] * 3])
    assert first_line(fewest, most).endswith("because load balance falls from 100 % to 40.0 %.")


def test_ideal_scaling_has_nothing_that_falls():
    line = first_line(polling(1, 0), polling(2, 0), polling(4, 0))
    assert line == "From 1 to 4 ranks the run becomes 4.00 times as fast, 8.00 s → 2.00 s."


def test_what_is_waited_for_cores_is_no_larger_problem():
    """8 s of work; on 4 ranks each computes 2 s of it and waits 6 s for a core meanwhile."""
    columns = Program([[useful(8 * SECOND)]] * 4, *[8 * SECOND] * 3).columns()
    columns["any_waited"] = {"useful_ns": 6 * SECOND, "io_ns": 0, "mpi_ns": 0}
    waited = {"waited_useful_ns": 6 * SECOND, "waited_io_ns": 0, "waited_mpi_ns": 0}
    columns["rank"] |= {name: [wait_ns] * 4 for name, wait_ns in waited.items()}
    assert first_line(polling(1, 0), columns) == (
        "From 1 to 4 ranks the run time stays the same, 8.00 s → 8.00 s, mostly because processor"
        " availability falls from 100 % to 25.0 %."
    )


def test_no_reason_is_given_where_nothing_takes_longer():
    """A problem that grows with the ranks, 8 s on each; load balance is 8 of 8.05 s."""
    even = Program([[useful(8 * SECOND)]], *[8 * SECOND] * 3).columns()
    rows = [[useful(8050 * MILLISECOND)], [useful(7500 * MILLISECOND), mpi(550 * MILLISECOND)]]
    line = first_line(even, Program(rows, *[8050 * MILLISECOND] * 3).columns())
    assert line.endswith("the run takes no longer, 8.00 s → 8.05 s.")


def test_arguments_that_differ_may_be_what_the_runs_differ_by():
    def ran(ranks: int, command: str) -> dict:
        columns = polling(ranks, 0)
        return columns | {"meta": columns["meta"] | {"command": command}}

    also = "More than the ranks differs in their command lines: serial on 1 rank, collective on 2"
    other = first_line(ran(1, "mpiexec -n 1 ./model serial"), ran(2, "srun ./model collective"))
    assert f" {also} ranks." in other
    for one, two in (
        ("mpiexec -n 1 ./model a", "srun -N 2 ./model a"),
        ("mpiexec -n 1 ./model --px=1", "mpiexec -n 2 ./model --px=2"),  # the ranks
        ("mpiexec -n 1 ./model out-1.nc", "mpiexec -n 2 ./model out-2.nc"),
        ("mpiexec -n 1 ./model a /tmp/one", "mpiexec -n 2 ./model a /tmp/two"),  # where it writes
        ("sh run.sh 1", "sh run.sh 2"),  # the program is not among the words
    ):
        assert "command lines" not in first_line(ran(1, one), ran(2, two))


def test_on_the_same_ranks_the_fastest_stands_beside_the_slowest():
    line = first_line(polling(2, 1), polling(2, 5), polling(2, 0), labels=["b", "c", "a"])
    assert line.startswith("a is the fastest of 3 runs. c takes 9.00 s")
    assert "than a (4.00 s)" in line


def test_traces_of_different_programs_are_not_compared():
    runs = [polling(1, 0), polling(2, 0)]
    for run, program in zip(runs, ("/usr/bin/solver", "/home/me/other"), strict=True):
        run["meta"] = run["meta"] | {"exe": program}
    line = first_line(*runs)
    assert line.startswith("These traces are of different programs (other, solver)")
    assert "fast" not in line


@pytest.mark.parametrize("recorded", [["base", "tuned"], ["base", ""]])
def test_labels_recorded_with_the_runs_are_used_where_all_have_one(recorded):
    runs = [polling(2, 0), polling(2, 1)]
    for run, label in zip(runs, recorded, strict=True):
        run["meta"] = run["meta"] | ({"label": label} if label else {})
    names = labels_of(runs, ["a.tailrace", "b.tailrace"])
    assert (names == recorded) == all(recorded)
