"""Time in which ranks were ready and had no processor is said first, and blamed on nothing else."""

from dataclasses import replace

import pytest

from tailrace.verdict.as_json import report
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Program, mpi, useful, write

# T = 10 s; T_net = 4 s: by the replay alone, an ideal network would save 6 s.
BUSY_POLLING = Program(
    [[useful(2 * SECOND), mpi(8 * SECOND)]] * 4,
    *[4 * SECOND] * 3,
    waited_ns=[(0, 0, 5 * SECOND)] * 4,
    any_waited_ns=(0, 0, 10 * SECOND),
    cores=["0-1"] * 4,
)


def judged(program: Program):
    return judge(Evidence(program.columns()))


def codes(program: Program) -> list[str]:
    return [finding.code for finding in judged(program).findings]


def gain_s(program: Program, code: str) -> float:
    (found,) = [finding for finding in judged(program).findings if finding.code == code]
    return found.gain_s


def without_waits(program: Program) -> Program:
    return replace(program, waited_ns=None)


def test_ranks_that_share_cores_are_said_first_and_the_network_is_not_blamed():
    assert "network" in codes(without_waits(BUSY_POLLING))
    assert "network" not in codes(BUSY_POLLING)
    assert judged(BUSY_POLLING).headline.startswith(
        "4 ranks shared 2 cores: they waited for a processor 50.0 % of the time. "
    )
    (found,) = [f for f in judged(BUSY_POLLING).findings if f.code == "processors"]
    assert found.evidence.startswith("a rank waited 5.00 s in MPI on average; ")
    # all that an ideal network would have saved, 6 s of 10, while each rank waited 5 s
    assert found.evidence.endswith(
        "; with others' waiting for those ranks it costs 60.0 % of the run"
    )


def test_of_one_process_no_rank_is_spoken_of():
    program = replace(BUSY_POLLING, ranks=[[useful(10 * SECOND)]], cores=["0-1"])
    program = replace(program, waited_ns=[(5 * SECOND, 0, 0)])
    (found,) = [f for f in judged(program).findings if f.code == "processors"]
    assert found.finding == "the program waited for a processor 50.0 % of the time"
    assert found.evidence == (
        "it waited 5.00 s computing; none of that is blamed on the file system"
    )
    assert judged(program).headline.startswith("The program waited for a processor 50.0 % of ")


def test_nothing_else_is_not_said_beside_a_wait():
    program = replace(BUSY_POLLING, ideal_network_ns=10 * SECOND)
    program = replace(program, ideal_network_even_io_ns=10 * SECOND, ideal_ns=10 * SECOND)
    program = replace(program, any_waited_ns=(8 * SECOND, 0, 10 * SECOND))
    assert judged(program).headline.endswith(
        "; whether anything else does cannot be told beside that wait."
    )
    # Ranks that compute for 10 s, and wait for a tenth of it: no loss that the wait could hide.
    rows = [[useful(10 * SECOND)]] * 4
    alone = replace(program, ranks=rows, waited_ns=[(SECOND, 0, 0)] * 4)
    assert judged(alone).headline.endswith("; nothing else does beside that wait.")
    # Of half of it: what is little of 10 s may be much of 5.
    longer = replace(program, ranks=rows, waited_ns=[(5 * SECOND, 0, 0)] * 4)
    assert judged(longer).headline.endswith(
        "(0 % of the run time); whether anything else does cannot be told beside that wait."
    )


def _contended(io_ms: int, io_waited_ms: int, waited_s: int = 8) -> Program:
    """One process that runs for 2 of 10 s, by what file calls take of both."""
    io_ns, waited_ns = io_ms * MILLISECOND, io_waited_ms * MILLISECOND
    return Program(
        [[useful(10 * SECOND - io_ns), write(io_ns, size=10**8)]],
        10 * SECOND,
        10 * SECOND,
        10 * SECOND - io_ns,
        waited_ns=[(waited_s * SECOND - waited_ns, waited_ns, 0)],
        any_waited_ns=(waited_s * SECOND - waited_ns, waited_ns, 0),
        cores=["0"],
    )


def test_little_of_a_run_may_be_much_of_what_is_left_without_the_waits():
    """100 ms of the 2 s that ran, but 1.0 % of 10 s."""
    program = _contended(500, 400)
    assert judged(program).headline.startswith(
        "The program waited for a processor 80.0 % of the time. "
        "I/O takes 1.0 % of this run (5.0 % without waits for a processor): writing history.nc"
    )
    assert "io_fine" not in codes(program)
    assert "io_fine" in codes(_contended(100, 0, waited_s=1))


def test_what_is_little_of_both_is_said_of_both():
    assert judged(_contended(100, 80)).headline.endswith(
        "I/O does not hold this run back (0.2 % of the run time, 1.0 % without waits for a "
        "processor); whether anything else does cannot be told beside that wait."
    )


def test_of_several_ranks_it_is_the_least_that_is_left():
    """What their waits cost each other is not known: 5 s of 10 are left at most."""
    program = Program(
        [[useful(8 * SECOND), write(2 * SECOND, size=10**8)]] * 2,
        10 * SECOND,
        10 * SECOND,
        8 * SECOND,
        waited_ns=[(4 * SECOND, SECOND, 0)] * 2,
        any_waited_ns=(8 * SECOND, 2 * SECOND, 0),
    )
    assert "I/O takes 10.0 % of this run (at least 20.0 % without" in judged(program).headline


def test_what_remains_of_a_loss_is_promised():
    program = replace(BUSY_POLLING, any_waited_ns=(0, 0, 4 * SECOND))
    assert gain_s(without_waits(program), "network") == 6
    assert gain_s(program, "network") == 2


def test_waits_below_two_per_cent_change_nothing():
    program = replace(BUSY_POLLING, waited_ns=[(0, 0, SECOND // 10)] * 4)
    assert codes(program) == codes(without_waits(program))
    assert judged(program).headline == judged(without_waits(program)).headline
    assert gain_s(program, "network") == 6


def test_uneven_waits_are_no_imbalance():
    """Rank 0 is useful for 8 s, 4 of them without a processor; the others for 4 s."""
    rows = [[useful(8 * SECOND)]] + [[useful(4 * SECOND), mpi(4 * SECOND)]] * 3
    program = Program(
        rows,
        *[8 * SECOND] * 3,
        waited_ns=[(4 * SECOND, 0, 0)] + [(0, 0, 0)] * 3,
        any_waited_ns=(4 * SECOND, 0, 0),
        cores=["0-7"] * 4,
    )
    assert "load_imbalance" in codes(without_waits(program))
    assert not {"load_imbalance", "serialization"} & set(codes(program))
    assert judged(program).headline.startswith(
        "4 ranks waited for a processor 12.5 % of the time, though they may use 8 cores. "
    )


def test_waits_in_file_calls_are_not_the_file_system():
    """Each rank writes for 4 of 10 s, and waits for a processor for 3.95 of these."""
    program = Program(
        [[useful(6 * SECOND), write(4 * SECOND, size=10**9)]] * 2,
        10 * SECOND,
        10 * SECOND,
        6 * SECOND,
        waited_ns=[(0, 3950 * MILLISECOND, 0)] * 2,
        any_waited_ns=(0, 4 * SECOND, 0),
        cores=["0"] * 2,
    )
    assert "slow_file_system" in codes(without_waits(program))
    assert "slow_file_system" not in codes(program)
    assert "io_fine" in codes(program)


def test_what_file_calls_take_without_the_waits_is_still_the_file_system():
    """Of 4 s of writing each rank waits for 1 s for a processor: at most 3 of 10 s are saved, even
    if the ranks waited one after another, so that some rank waited for 2 s."""
    program = Program(
        [[useful(6 * SECOND), write(4 * SECOND, size=10**9)]] * 2,
        10 * SECOND,
        10 * SECOND,
        6 * SECOND,
        waited_ns=[(0, SECOND, 0)] * 2,
        any_waited_ns=(0, 2 * SECOND, 0),
        cores=["0"] * 2,
    )
    assert gain_s(program, "slow_file_system") == 3
    quiet = without_waits(program)
    # What a call takes on average is as it was measured, and so says what of it is that wait.
    for each, end in ((program, ", 25.0 % of that waiting for a processor"), (quiet, "")):
        told = [finding.evidence for finding in judged(each).findings if finding.file]
        assert told[0].endswith(f"time is spent in file calls{end}")


@pytest.mark.parametrize(
    ("hosts", "cores", "start"),
    [
        (["a", "a", "b", "b"], ["0"] * 4, "4 ranks shared 2 cores of 2 nodes: they waited"),
        (["a"] * 4, ["0", "0", "1", "1"], "4 ranks shared 2 cores: they waited"),
        (["a"] * 4, ["0-3"] * 4, "4 ranks waited for a processor 50.0 % of the time, though"),
        (["a"] * 4, [""] * 4, "4 ranks waited for a processor 50.0 % of the time. "),
        (["a"] * 4, ["broken-"] * 4, "4 ranks waited for a processor 50.0 % of the time. "),
    ],
)
def test_cores_of_a_node_count_once(hosts, cores, start):
    program = replace(BUSY_POLLING, hosts=hosts, cores=cores)
    assert judged(program).headline.startswith(start)


def test_ranks_of_which_nothing_is_known_are_left_out():
    waited = [(None, None, None), *[(0, 0, 5 * SECOND)] * 3]
    answer = report(replace(BUSY_POLLING, waited_ns=waited).columns())
    assert answer["processors"]["share"] == 0.5
    assert answer["per_rank"][0]["processor_wait_s"] is None
    assert answer["per_rank"][1]["processor_wait_s"] == {"useful": 0, "io": 0, "mpi": 5}


def test_json_says_what_is_not_known():
    answer = report(without_waits(BUSY_POLLING).columns())
    assert answer["processors"] is None
    assert {row["processor_wait_s"] for row in answer["per_rank"]} == {None}


def test_json_names_nodes_and_cores():
    assert report(BUSY_POLLING.columns())["processors"] == {
        "share": 0.5,
        "any_rank_waits_s": {"useful": 0, "io": 0, "mpi": 10},
        "nodes": [{"host": "node1", "ranks": 4, "cores": 2}],
        # All 6 s that an ideal network would save are the processors': 4 of 10 s are left, and
        # ranks compute for 2 of these.
        "efficiency": {
            "parallel": 0.2,
            "load_balance": 1,
            "serialization": 0.5,
            "io": 1,
            "io_balance": 1,
            "io_transfer": 1,
            "transfer": 1,
            "processors": 0.4,
        },
    }


def test_a_wait_in_file_calls_is_taken_out_of_the_io_losses_once():
    """Rank 0 writes 8 of 10 s while rank 1 waits for it: T_net = 10, T_even = 2 + 8/2 = 6,
    T_ideal = 2 s: 4 s of transfer and 4 s of imbalance. Rank 0 waited for 5 of its 8 s, so that
    3/8 of each are left."""
    program = Program(
        [
            [useful(2 * SECOND), write(8 * SECOND, size=10**9)],
            [useful(2 * SECOND), mpi(8 * SECOND)],
        ],
        10 * SECOND,
        6 * SECOND,
        2 * SECOND,
        waited_ns=[(0, 5 * SECOND, 0), (0, 0, 0)],
        any_waited_ns=(0, 5 * SECOND, 0),
        cores=["0-1"] * 2,
    )
    losses = Evidence(program.columns()).losses
    assert (losses.io_transfer_ns, losses.io_balance_ns) == (1500 * MILLISECOND,) * 2
