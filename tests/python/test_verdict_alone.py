"""Equal numbers of calls that are not equal work: one rank has a file of its own beside files that
all use alike. Every run is built by arithmetic."""

from __future__ import annotations

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, open_close, read, write
from .test_verdict_who import own, program, who

MODULES = [b"/lib/module.%d.so" % number for number in range(6)]


def of_modules(calls: int) -> list[Interval]:
    return [open_close(MILLISECOND, path, calls) for path in MODULES]


def test_opens_of_modules_make_no_straggler_of_who_opens_a_file_alone():
    """Both open 600 modules in 6 ms; rank 0 opens field.xdmf 30 times beside them, which takes 2 s:
    630 opens and 600 are nearly as many, and not as much."""
    alone = open_close(2 * SECOND, b"/run/field.xdmf", 30)
    said = who(program([*of_modules(100), alone], of_modules(100)))
    assert said == "rank 0 opens field.xdmf alone while the other rank waits"


def test_who_opens_as_many_files_of_its_own_is_a_straggler():
    """The same, but rank 1 opens a file of its own 30 times, too, in a hundredth of the time."""
    rows = [
        [*of_modules(100), open_close(length_ns, own(rank), 30)]
        for rank, length_ns in enumerate((2 * SECOND, 20 * MILLISECOND))
    ]
    assert "times as long as the other for as many opens" in who(program(*rows))


def test_bytes_of_what_all_read_make_no_straggler_of_who_reads_a_file_alone():
    """All read 60 MB of modules; rank 0 reads 10 MB of input.nc beside them: 70 MB are less than
    1.3 times the mean, and its 2 s are none that the others could need for theirs."""
    modules = [read(MILLISECOND, path, 10**7, 10) for path in MODULES]
    alone = read(2 * SECOND, b"/run/input.nc", 10**7, 10)
    assert who(program([*modules, alone], modules)) == (
        "rank 0 reads input.nc alone while the other rank waits"
    )


def test_several_files_of_one_rank_make_no_straggler_either():
    """As EnSight's: four tables of contents, each opened a few times, of which one takes 9/10."""
    tables = [open_close(100 * MILLISECOND, b"/run/%d.case" % k, 5) for k in range(3)]
    alone = [*tables, open_close(2700 * MILLISECOND, b"/run/fluid.case", 13)]
    said = who(program([*of_modules(100), *alone], of_modules(100)))
    assert said == "rank 0 opens fluid.case alone while the other rank waits"


def test_beside_a_rank_of_which_nothing_was_found_nobody_is_alone_or_waits_for_the_network():
    """Rank 0 opens field.xdmf for 2 s, and both are in MPI for 2 s more, for which an ideal network
    would spare. Where nothing was found of rank 1, it may have done as much, and be waited for."""
    alone = open_close(2 * SECOND, b"/run/field.xdmf", 30)
    whole, left = (program([*of_modules(100), alone], of_modules(100)).columns() for _ in "12")
    for columns in (whole, left):
        columns["runtime_ns"] += 2 * SECOND
        columns["rank"]["mpi_ns"] = [ns + 2 * SECOND for ns in columns["rank"]["mpi_ns"]]
    left["rank"]["host"], left["rank"]["events"] = ["node", ""], [1, 0]
    told, unknown = (judge(Evidence(columns)) for columns in (whole, left))
    assert {"network", "serial_metadata"} <= {finding.code for finding in told.findings}
    assert "nothing was found of rank 1" in unknown.headline
    assert "alone" not in " ".join(finding.finding for finding in unknown.findings)
    assert "network" not in {finding.code for finding in unknown.findings}


def test_a_rank_that_is_slow_at_one_call_is_said_to_be_slow_there():
    """100 writes of 10 ms each to a file of its own, and beside them a few to a log, which take 4 s
    on rank 2: 5 s instead of 1 s. Of 101 calls one is few, of 110 ten are not."""
    told = "rank 2 takes 5.00 times as long as the others for as many writes"
    of_log = {1: f"{told}, most of it in 1 of them (log.2)", 10: told}
    for calls, said in of_log.items():
        rows = [
            [
                write(SECOND, own(rank), 10**8, 100),
                write(MILLISECOND + 4 * SECOND * (rank == 2), b"/run/log.%d" % rank, 10, calls),
            ]
            for rank in range(4)
        ]
        assert who(program(*rows)) == said
        findings = judge(Evidence(program(*rows).columns())).findings
        (advice,) = [finding.advice for finding in findings if finding.code == "straggler"]
        assert advice.startswith("run it again") == (calls == 1)
