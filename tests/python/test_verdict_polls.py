"""Who sleeps between calls that ask whether a file is there: programs built by arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge
from tests.python.columns import MILLISECOND, SECOND, Interval, Program, asleep_for, useful, write


def _judged(program: Program) -> Verdict:
    return judge(Evidence(program.columns()))


def test_who_sleeps_between_look_ups_of_one_name_waits_for_it():
    """Not where other calls on files are as many, nor of a name that is looked up now and then."""

    def sleeping(*calls, **meta):
        row = [useful(990 * MILLISECOND), *calls]
        known = asleep_for(0.9, ranks=1, **meta)
        program = Program([row], SECOND, SECOND, 990 * MILLISECOND, **known)
        return {finding.code: finding for finding in _judged(program).findings}["sleep"]

    def look_ups(times):
        return Interval("io", 5 * MILLISECOND, "stat", b"/run/flag", 0, times)

    writes = write(5 * MILLISECOND, size=1000, calls=9000)
    found = sleeping(look_ups(9000), write(5 * MILLISECOND, size=1000))
    assert found.finding.endswith("outside MPI and file calls, and it looks flag up 9,000 times")
    assert "inotify" in found.advice
    assert "flag" not in sleeping(look_ups(9000), writes).finding
    assert "flag" not in sleeping(look_ups(20)).finding
    # Who reads where nothing is yet, as `tail -f` does, waits as well.
    empty = sleeping(Interval("io", 10 * MILLISECOND, "pread", b"/run/log", 10, 900))
    assert empty.finding.endswith(", and it reads nothing of log 900 times")
    # What Python imports is not what the program does.
    modules = Interval("io", 5 * MILLISECOND, "pread", b"/usr/lib/python3.11/os.py", 1000, 9000)
    assert "flag" in sleeping(look_ups(9000), modules, exe="/usr/bin/python3.11").finding
    assert "flag" not in sleeping(look_ups(9000), modules).finding


@pytest.mark.parametrize(
    ("opens", "closes", "reads", "named"),
    [
        (558, 50, 0, ", and it tries in vain to open LOCK 508 times"),
        (558, 558, 0, ""),
        (558, 0, 558, ""),
        (60, 20, 0, ""),
    ],
)
def test_who_sleeps_between_opens_in_vain_waits_for_the_file(opens, closes, reads, named):
    """A file by which processes take turns (`O_CREAT | O_EXCL`): 508 of 558 opens fail. Beside them
    are 100 writes of what it guards. Not where each opened file is closed, or read, nor for 40."""
    calls = [
        Interval("io", MILLISECOND, name, b"/run/LOCK", 0, times)
        for name, times in (("open", opens), ("close", closes), ("pread", reads))
        if times
    ]
    guarded = write(8 * MILLISECOND, size=8, calls=100)
    row = [useful(990 * MILLISECOND), *calls, guarded]
    known = asleep_for(0.9, ranks=1)
    verdict = _judged(Program([row], SECOND, SECOND, 990 * MILLISECOND, **known))
    (found,) = (finding for finding in verdict.findings if finding.code == "sleep")
    assert found.finding.endswith(f"outside MPI and file calls{named}")


@pytest.mark.parametrize(("slept_s", "named"), [(0.8, True), (0.3, False)])
def test_who_waits_for_a_file_sleeps_less_than_who_makes_it(slept_s, named):
    """Rank 0 sleeps for 0.9 s, while rank 1 looks again and again for the file."""
    polls = Interval("io", 10 * MILLISECOND, "stat", b"/run/flag", 0, 900)
    rows = [[useful(SECOND)], [useful(990 * MILLISECOND), polls]]
    known = asleep_for(0.9)
    known["meta"]["ran_ns"] = f"{SECOND // 10},{int((0.99 - slept_s) * SECOND)}"
    verdict = _judged(Program(rows, SECOND, SECOND, SECOND, **known))
    (found,) = (finding for finding in verdict.findings if finding.code == "sleep")
    assert found.finding.endswith(", and rank 1 looks flag up 900 times") == named
