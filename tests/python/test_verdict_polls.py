"""Who asks again and again whether a file is there, with pauses or without: programs built by
arithmetic."""

import pytest

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import Verdict, judge
from tests.python.columns import MILLISECOND, SECOND, Interval, Program, asleep_for, useful, write
from tests.python.test_verdict_why import call, first


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
    assert found.finding.endswith("outside MPI and file calls, and it looks up flag 9,000 times")
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
    assert found.finding.endswith(", and rank 1 looks up flag 900 times") == named


@pytest.mark.parametrize(
    ("look_ups", "opens", "others", "named"),
    [
        (400, 1, 100, "looks up 20 files 8,000 times"),
        (400, 1, 3000, "looks up 20 files 8,000 times"),
        (10, 1, 100, "looks up 20 files 200 times"),
        (5, 1, 10, ""),
        (400, 0, 100, ""),
        (400, 100, 100, ""),
        (400, 1, 20_000, ""),
    ],
)
def test_who_waits_for_a_file_at_each_step_looks_up_several(look_ups, opens, others, named):
    """20 files, each of which is opened and closed once when it is there; access or stat fails ten
    times for each where the pause is long. Not where each is looked up as often as a program may
    that does not wait, where none is ever there, where they are opened about as often, and beside
    many more calls than that."""
    steps = [
        Interval("io", MILLISECOND // 10, name, b"/run/in.%d" % step, 0, calls)
        for step in range(20)
        for name, calls in (("stat", look_ups), ("open", opens), ("close", opens))
    ]
    writes = write(4 * MILLISECOND, size=8000, calls=others)
    row = [useful(990 * MILLISECOND), *steps, writes]
    known = asleep_for(0.9, ranks=1)
    verdict = _judged(Program([row], SECOND, SECOND, 990 * MILLISECOND, **known))
    (found,) = (finding for finding in verdict.findings if finding.code == "sleep")
    assert ("looks up" in found.finding) == bool(named)
    assert found.finding.endswith(named and f", and it {named}")


@pytest.mark.parametrize(
    ("function", "files", "look_ups", "opens", "writes", "exe"),
    [
        ("stat", 300, 3, 1, 0, ""),  # who looks at each of many files before it opens it
        ("stat", 300, 5, 0, 0, ""),  # who compares times, as a build does
        ("stat", 4, 100, 1, 100, ""),  # who asks for a log's size before each line
        ("fstat", 20, 10, 1, 0, ""),  # who asks how much is left before each read
        ("stat", 20, 10, 1, 0, "/usr/bin/python3.11"),  # who imports
        ("stat", 2, 20, 1, 0, ""),  # too few to tell
    ],
)
def test_who_sleeps_and_looks_up_files_does_not_always_wait_for_them(
    function, files, look_ups, opens, writes, exe
):
    """A program that sleeps for 0.9 s of 1 s."""
    folder = b"/usr/lib/python3.11" if exe else b"/run"
    calls = [
        Interval("io", MILLISECOND // 100, name, b"%s/%d.x" % (folder, file), 0, times)
        for file in range(files)
        for name, times in (("stat", look_ups), ("open", opens), ("close", opens))
        if times
    ]
    for file in range(files if writes else 0):
        calls.append(write(MILLISECOND, b"%s/%d.x" % (folder, file), 100 * writes, writes))
    whole = SECOND + sum(interval.length_ns for interval in calls)
    known = asleep_for(0.9, ranks=1, **({"exe": exe} if exe else {}))
    columns = Program([[useful(SECOND), *calls]], whole, whole, SECOND, **known).columns()
    names = columns["functions"]["name"]
    columns["functions"]["name"] = [function if name == "stat" else name for name in names]
    findings = judge(Evidence(columns)).findings
    (found,) = (finding for finding in findings if finding.code == "sleep")
    assert found.finding.endswith("outside MPI and file calls")


@pytest.mark.parametrize("beside", [(), (write(MILLISECOND, b"/run/lock", 600, 100),)])
def test_a_lock_file_that_another_holds_is_not_to_be_kept_open(beside):
    """Each of 4 ranks has it 100 times (`O_CREAT | O_EXCL`), tries for it 50,000 times, and may
    write its number into it; meanwhile it opens a log for a request each time. Neither is it absent
    then; what never was there is, whatever else is opened."""
    log = [call("open", MILLISECOND, 100, b"/run/log"), write(MILLISECOND, b"/run/log", 600, 100)]
    log += [call("close", MILLISECOND, 100, b"/run/log")]
    tries = call("open", SECOND, 50_000, b"/run/lock")
    used = (call("close", MILLISECOND, 100, b"/run/lock"), *beside)
    found = first(tries, *used, *log)
    assert found.finding.startswith("200,000 opens of lock, nearly all of them in vain, take 99.")
    assert found.code == "look_ups" and "wakes at once who waits for a file" in found.advice
    absent = first(tries, *log)
    assert absent.finding.startswith("200,000 opens of lock, hardly any of them closed again, take")
    assert "name the right place" in absent.advice
    # as often as it is opened it may be kept open
    kept = first(tries, call("close", MILLISECOND, 50_000, b"/run/lock"), *beside)
    assert kept.code == "reopened" and "keep it open" in kept.advice
