"""A rank that formats, and is busy longer than the others besides: it may do so where no call shows
it, or compute. Every run is built by arithmetic."""

import numpy as np
import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, called_from, mpi, read, useful, write

MB = 1_000_000
TEXT = b"/run/state.json"
LENGTH = 50 * MILLISECOND


def uneven(call: Interval, other: Interval, between_s: int, others: int = 3) -> tuple[Finding, str]:
    """The finding about it, and the first line.

    Rank 0 is outside of calls for 9 s, and for so long of these between the 1000 pieces of a call;
    others are for 3 s, and read or write half as many bytes in ten pieces each."""
    rows = [[useful(9 * SECOND), call]]
    rows += [[useful(3 * SECOND), other, mpi(6 * SECOND)]] * others
    columns = Program(rows, *[9 * SECOND + call.length_ns] * 2, 9 * SECOND).columns()
    called_from(columns, [("dump", "/m"), ("main", "/m")])
    between_ns = np.array([between_s * SECOND])
    by_rank = {"path": np.array([0]), "rank": np.array([0]), "time_ns": between_ns}
    again = {"again": np.array([999]), "again_ns": between_ns, "again_rank": by_rank}
    columns["places"] |= again
    verdict = judge(Evidence(columns))
    (finding,) = (each for each in verdict.findings if each.code == "load_imbalance")
    return finding, verdict.headline


@pytest.mark.parametrize(
    ("made", "begins", "advice"),
    [
        (write, "prepares what it writes", "what it does to write counts"),
        (read, "works on what it has read", "what it does to read counts"),
    ],
)
def test_who_formats_may_do_so_where_no_call_shows_it(made, begins: str, advice: str):
    """For 2 s between writes, of the 3 s that it is busy longer than the mean rank besides: pandas
    makes a block's text before the first of them."""
    calls = (made(LENGTH, TEXT, 20 * MB, 1000), made(LENGTH, TEXT, 10 * MB, 10))
    finding, _ = uneven(*calls, between_s=2)
    rest = "computes 1.75 times as long as the ranks on average, apart from what other findings"
    assert finding.finding == f"rank 0 {begins} where no call shows it, or {rest} name"
    assert finding.advice.startswith(advice)
    assert finding.advice.endswith("; else change the decomposition")


def test_who_formats_little_of_what_it_is_busy_longer_computes():
    """For 1 s, and beside that for 8 s, where the other rank computes for 3 s."""
    calls = (write(LENGTH, TEXT, 10 * MB, 1000), write(LENGTH, TEXT, 5 * MB, 10))
    finding, _ = uneven(*calls, between_s=1, others=1)
    rest = "as long as the ranks on average, apart from what other findings name"
    assert finding.finding == f"rank 0 computes 1.45 times {rest}"
    assert finding.advice.startswith("change the decomposition")


@pytest.mark.parametrize(
    ("made", "between_s", "or_works"),
    [
        (write, 2, ", or preparing what is written,"),
        (read, 2, ", or working on what was read,"),
        (write, 1, ""),
    ],
)
def test_the_first_line_leaves_open_which_it_is_as_well(made, between_s: int, or_works: str):
    """Calls of 1 s, so that I/O is much of the run, too."""
    calls = (made(SECOND, TEXT, 20 * MB, 1000), made(SECOND, TEXT, 10 * MB, 10))
    _, headline = uneven(*calls, between_s)
    assert f"neven computation{or_works} takes" in headline
