"""What is said of a run that was stopped in a file call which it never left, of runs built by
arithmetic."""

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge

from .columns import SECOND, Interval, Program, mpi, useful, write


def held(length_ns: int, function: str) -> Interval:
    """Time in a file call that is of no file."""
    return Interval("io", length_ns, function)


def judged(rows: list[list[Interval]], functions: list[str], lengths: list[int], ideal: int):
    runtime = sum(interval.length_ns for interval in rows[0])
    columns = Program(rows, runtime, runtime, ideal).columns()
    columns["rank"]["unfinished"] = functions
    columns["rank"]["unfinished_ns"] = [length * SECOND for length in lengths]
    return judge(Evidence(columns))


def codes(verdict: Verdict) -> set[str]:
    return {finding.code.value for finding in verdict.findings}


def test_a_run_that_hangs_in_a_call_says_in_which_and_blames_no_file():
    """Of 100 s, it computes 1 s, writes for 2 s by small calls, and waits for a lock."""
    row = [
        useful(SECOND),
        write(2 * SECOND, size=4096 * 1000, calls=1000),
        held(97 * SECOND, "flock"),
    ]
    verdict = judged([row], ["flock"], [97], SECOND)
    assert verdict.headline == (
        "The run was stopped while it had been in flock for 97.0 s, 97.0 % of the run. "
        "The file calls that ended take 2.0 % of this run."
    )
    assert verdict.findings[0].code == "unfinished_call"
    assert max(finding.share_of_runtime for finding in verdict.findings[1:]) < 0.021
    assert max(finding.gain_s for finding in verdict.findings) <= 2


def test_what_ended_before_is_still_told():
    """40 of 100 s in small writes, 50 in a read that may be a pipe's."""
    row = [
        useful(10 * SECOND),
        write(40 * SECOND, size=4096 * 1000, calls=1000),
        held(50 * SECOND, "fgets"),
    ]
    verdict = judged([row], ["fgets"], [50], 10 * SECOND)
    assert verdict.headline.startswith(
        "The run was stopped while it had been in fgets for 50.0 s, 50.0 % of the run. "
        "I/O takes 40.0 % of this run: "
    )
    first = verdict.findings[0]
    assert "a file, a pipe or a terminal" in first.evidence
    assert max(finding.gain_s for finding in verdict.findings) <= 40


def test_who_hangs_is_named_of_several_ranks():
    """The other one waits for it: neither computation nor the network is to blame."""
    rows = [
        [useful(10 * SECOND), held(90 * SECOND, "flock")],
        [useful(10 * SECOND), mpi(90 * SECOND)],
    ]
    verdict = judged(rows, ["flock", "MPI_Barrier"], [90, 90], 10 * SECOND)
    assert verdict.headline.startswith(
        "Rank 0 was in flock for the last 90.0 s, 90.0 % of the run, and never left it. "
    )
    assert codes(verdict) == {"unfinished_call"}


def test_a_write_that_was_under_way_is_no_word_worth():
    row = [useful(60 * SECOND), write(39 * SECOND), held(SECOND, "write")]
    verdict = judged([row], ["write"], [1], 60 * SECOND)
    assert "unfinished_call" not in codes(verdict)
    assert verdict.headline.startswith("I/O takes 40.0 % of this run")
