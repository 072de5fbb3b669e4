"""What is said of how ranks ended, of runs built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge

from .columns import SECOND, Interval, Program, mpi, useful, write


def test_what_a_killed_rank_did_last_may_be_computation():
    """Of 10 s, ranks compute 8, 4 and 2 s; of the last one's other 8 s nothing is known of 0, 5 or
    8. It may have computed 2, 7 or, as long as the first, 8 s: the mean of what they compute is
    then 14/3, 19/3 or 20/3 s. With 8 s on an ideal network, 2 s would be lost to transfers. That is
    not said where ranks may have waited for the one that was killed."""

    def judged(unknown: int) -> Verdict:
        rows = [[useful(n * SECOND), mpi((10 - n) * SECOND)] for n in (8, 4, 2)]
        columns = Program(rows, *[8 * SECOND] * 3).columns()
        columns["rank"]["unknown_ns"] = [0, 0, unknown * SECOND]
        columns["rank"]["ended"] = ["known", "known", "unknown" if unknown else "known"]
        columns["meta"]["mpi"] = "MPI"
        return judge(Evidence(columns))

    for unknown, said, gain_s in (
        (0, "rank 0 computes 1.71 times as long as the ranks on average", 8 - 14 / 3),
        (5, "rank 0 computes at least 1.26 times as long as the ranks on average", 8 - 19 / 3),
        (8, "rank 0 computes at least 1.20 times as long as the ranks on average", 8 - 20 / 3),
    ):
        verdict = judged(unknown)
        found = {finding.code: finding for finding in verdict.findings}
        uneven = found["load_imbalance"]
        assert uneven.finding == said
        assert uneven.gain_s == pytest.approx(gain_s)
        assert uneven.gain.endswith("nothing is known of them") == bool(unknown)
        assert ("network" in found) == (not unknown)
        assert ("stopped_early" in found) == bool(unknown)
    assert "But rank 2 was killed, or ended at once, and what rank 2 did in the last 80" in (
        verdict.headline
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("others", [1, 3])
def test_who_was_killed_while_another_waited_for_its_input_is_not_supposed_to_compute(others: int):
    """Rank 0 reads from a pipe for 9.8 of its 10 s outside MPI, and the others are in a call of MPI
    when they are killed: nobody computes for longer than 0.2 s that is known."""
    reads = Interval("io", 0, "pread", b"<stdin: pipe>")
    rows = [[reads, useful(10 * SECOND)]] + [[mpi(10 * SECOND)]] * others
    columns = Program(rows, *[10 * SECOND] * 3).columns()
    for table in ("files", "file_rank"):
        columns[table]["read_ns"] = [98 * SECOND // 10]
    columns["rank"]["unknown_ns"] = [0] + [10 * SECOND] * others
    columns["rank"]["ended"] = ["unknown"] * (1 + others)
    columns["meta"]["mpi"] = "MPI"
    found = {finding.code for finding in judge(Evidence(columns)).findings}
    assert "streams" in found and "load_imbalance" not in found


def test_who_ended_without_finalize_is_named_where_another_was_killed():
    """Alone, and with status 0, it is no early stop; and where calls were lost, MPI_Finalize may be
    one of them."""
    failed = "both ranks ended without MPI_Finalize, and mpiexec ended with exit status 124"
    for ends, lost, status, said in (
        (["left", "unknown"], 0, "0", "rank 0 ended without MPI_Finalize, and rank 1 was killed"),
        (["left", "unknown"], 50, "0", "rank 1 was killed"),
        (["left", "left"], 0, "0", None),
        (["left", "left"], 0, "124", failed),
        (["left", "left"], 50, "124", None),
    ):
        rows = [[useful(6 * SECOND), write(4 * SECOND)]] * 2
        columns = Program(rows, *[8 * SECOND] * 3).columns()
        columns["rank"]["ended"] = ends
        columns["meta"] |= {"mpi": "MPI", "exit_status": status, "command_name": "mpiexec"}
        columns["capture"] |= {"events_lost": lost, "events": 50}
        found = {one.code: one for one in judge(Evidence(columns)).findings}.get("stopped_early")
        assert (found is None) == (said is None)
        assert found is None or found.finding.startswith(said)
