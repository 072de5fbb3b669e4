"""A rank that sleeps outside MPI and file calls may wait for one that is in file calls."""

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge
from tests.python.columns import MILLISECOND, Program, mpi, useful, write

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
