"""Ranks that MPI_Comm_spawn starts while others wait for them. Runs built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge

from .columns import SECOND, Program, mpi, useful


def judged(start_s: int, computed_s: int = 1, world: int = 2) -> Verdict:
    """Two ranks compute for 1 s and wait 9 s in MPI; two more begin `start_s` s after them, compute
    for `computed_s` s and wait. On an ideal network and file system that takes 6 s."""
    rest = [mpi((10 - start_s - computed_s) * SECOND)]
    first = [useful(SECOND), mpi(9 * SECOND, "MPI_Comm_spawn")]
    later = [mpi(start_s * SECOND), useful(computed_s * SECOND), *rest]
    meta = {"ranks": str(world), "mpi": "MPICH"}
    program = Program([first, first, later, later], *[6 * SECOND] * 3, meta=meta)
    columns = program.columns()
    paths = {"ideal": {"start_ns": start_s * SECOND}}
    causes = {"function": [], "cause": {"state": [], "time_ns": []}}
    columns["dependences"] = {"paths": paths, "causes": causes}
    return judge(Evidence(columns))


def test_who_waits_for_ranks_to_be_started_waits_for_no_computation():
    """T_ideal = 6 s, 4 s of which pass before the later ranks begin; max U = 1 s."""
    verdict = judged(start_s=4)
    (found,) = [f for f in verdict.findings if f.code == "serialization"]
    assert found.finding == "ranks wait until the 2 that MPI_Comm_spawn starts have begun"
    assert (found.gain_s, found.share_of_runtime) == (4, pytest.approx(0.4))
    assert found.evidence.endswith("takes 6.00 s, 4.00 s of which pass before that")
    assert found.advice.startswith("start all ranks at once")
    assert "computation" not in verdict.headline


@pytest.mark.parametrize(
    ("start_s", "computed_s", "world", "gain_s"),
    [
        (1, 1, 2, 4),  # of the 5 s beyond max U, 1 s passes before they begin
        (4, 1, 4, 5),  # all ranks are of one world
    ],
)
def test_what_else_ranks_wait_for_is_told_without_that(start_s, computed_s, world, gain_s):
    verdict = judged(start_s, computed_s, world)
    (found,) = [f for f in verdict.findings if f.code == "serialization"]
    assert found.finding == "ranks wait for each other's computation"
    assert found.gain_s == gain_s
