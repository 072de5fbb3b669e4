"""The runner: how runs end, what is left of them, what it costs, and that killing it loses
nothing."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest

import tailrace
from tailrace.bench import guardian
from tailrace.study.running import leftovers, page_cache

from ..conftest import Mpi
from ..processes import LONGEST_WAIT_S, until
from .study_files import COMMAND, executed, lines, start, study, write

# What is run stands in the shell's text; a file `go` lets it do what only some combinations do.
SHELL = """\
schema = 1
name = "mine"
description = "A study of what a shell does."
repetitions = 1
[run]
command = '''TEXT'''
shell = true
launcher = "none"
time_limit_s = 3
[factor.how]
levels = ["good", "bad"]
"""


# Of this test alone: the same may run beside it.
SLEEP = f"987.{os.getpid()}"


def of_text(folder: Path, text: str, *more: str) -> dict[str, dict]:
    """Runs a study whose shell does this, perhaps on `disk`; its lines by level of `how`."""
    (folder / "disk").mkdir(exist_ok=True)
    path = write(folder, "\n".join([SHELL.replace("TEXT", text.replace("987", SLEEP)), *more]))
    study("run", path, "-o", folder / "out")
    return {line["levels"]["how"]: line for line in lines(folder / "out")}


def test_a_failed_run_is_a_result_with_its_reason(tmp_path: Path) -> None:
    path = write(
        tmp_path, SHELL.replace("TEXT", "test {how} = good || { echo no space on it >&2; exit 3; }")
    )
    result = study("run", path, "-o", tmp_path / "out")
    assert result.exit_code == 2  # the braces of a shell are no placeholders
    path = write(
        tmp_path,
        SHELL.replace("TEXT", "test {how} = good || {{ echo no space on it >&2; exit 3; }}"),
    )
    result = study("run", path, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "1 of 2 combinations has no successful run" in result.stderr
    by_level = {line["levels"]["how"]: line for line in lines(tmp_path / "out")}
    assert by_level["good"]["status"] == "done"
    assert by_level["bad"]["status"] == "failed"
    assert by_level["bad"]["reason"] == "it ended with status 3: no space on it"
    assert "how bad" in result.stderr and "no space on it" in result.stderr
    assert tailrace.open_study(tmp_path / "out").runs["reason"].str.contains("no space").sum() == 1


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    text = (
        "test {how} = good || "
        "{{ trap '' TERM; setsid sleep 987 & (trap '' TERM; sleep 987) & sleep 987; }}"
    )
    by_level = of_text(tmp_path, text)
    assert by_level["good"]["status"] == "done"
    assert by_level["bad"]["status"] == "timeout"
    assert (
        by_level["bad"]["reason"] == "it was not over after 3 s, and all its processes were ended"
    )
    assert not sleeping()


def test_what_a_run_left_in_the_background_is_ended(tmp_path: Path) -> None:
    assert of_text(tmp_path, "test {how} = good || setsid sleep 987 &")["bad"]["status"] == "done"
    assert not sleeping()


def test_what_is_just_being_replaced_by_another_program_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For a moment of execve a process shows no environment, here when it is first looked at."""
    mark, looked = f"replaced-{os.getpid()}", itertools.count(1)
    with subprocess.Popen(["sleep", SLEEP], env={leftovers.MARK: mark}) as child:
        until(lambda: leftovers.marked(mark))
        really = guardian._environment
        monkeypatch.setattr(
            guardian,
            "_environment",
            lambda pid: b"" if pid == child.pid and next(looked) < 3 else really(pid),
        )
        leftovers.end_of_run(mark)
        left = sleeping()
        child.kill()  # or it would be waited for
        assert next(looked) > 3 and not left


def test_orphans_are_adopted_while_a_study_runs_and_not_beyond(tmp_path: Path) -> None:
    """Whoever runs a study from Python would be left with dead processes that it does not know
    of."""
    assert of_text(tmp_path, "test {how} = good || setsid sleep 987 &")["bad"]["status"] == "done"
    reaper = ctypes.c_int(-1)
    assert (
        ctypes.CDLL(None).prctl(leftovers.PR_GET_CHILD_SUBREAPER, ctypes.byref(reaper), 0, 0, 0)
        == 0
    )
    assert reaper.value == 0


def sleeping() -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if entry.read_bytes() == f"sleep\0{SLEEP}\0".encode():
                found.append(str(entry))
    return found


def test_a_signal_is_told(tmp_path: Path) -> None:
    reason = of_text(tmp_path, "test {how} = good || kill -SEGV $$")["bad"]["reason"]
    assert reason == "it was ended by signal 11"


def test_output_that_is_not_what_was_expected_is_wrong(tmp_path: Path) -> None:
    text = (
        "test {how} = good && echo solved in 3.5 s && touch {target}/result || echo solved in no s"
    )
    first = of_text(tmp_path, text, "[target.disk]", f"directory = '{tmp_path}/disk'", *EXPECTED)
    assert first["good"]["status"] == "done"
    assert first["good"]["numbers"]["solve_s"] == 3.5
    assert first["bad"]["status"] == "wrong"
    target = next(line for line in first["bad"]["reason"].split("; ") if "no file" in line)
    assert first["bad"]["reason"].startswith(
        "the output's solve_s is 'no', which is not a number; "
    )
    assert target.startswith(f"there is no file {tmp_path}/disk/tailrace-study-")


EXPECTED = (
    "[size.small]",
    'run.output_pattern = "in (?P<solve_s>.+) s"',
    'run.expected_files = ["{target}/result"]',
)


def test_a_level_is_an_argument_and_never_a_command(tmp_path: Path) -> None:
    level = "x; touch hacked; $(touch hacked) `touch hacked` ' \" *"
    text = COMMAND.replace('levels = ["a", "b"]', f"levels = ['''{level}''', 'b']").replace(
        '"sh", "{run}"', '"sh", "{run}{second}"'
    )
    text = text.replace('echo "$1" >> "$2";', 'printf "%s\\\\n" "$1" >> "$2";').replace(
        'second = "b"', 'second = "b"'
    )
    result = study("run", write(tmp_path, text), "-o", tmp_path / "out", "--set", "repetitions=1")
    assert result.exit_code == 0, result.output
    said = (tmp_path / "executed").read_text()
    assert f"{level}\n" in said
    assert not list(tmp_path.rglob("hacked")) and not Path("hacked").exists()


def test_a_run_has_directories_of_its_own_which_go_with_it(tmp_path: Path) -> None:
    """{target} is empty for every run though all write the same names, and nothing of the user's is
    touched."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "mine").write_text("stays")
    text = 'test -z \\"$(ls {target} {directory} | grep -v :)\\" && touch {target}/f {directory}/f'
    path = write(
        tmp_path,
        SHELL.replace("TEXT", text.replace('\\"', '"'))
        + f"[target.disk]\ndirectory = '{tmp_path}/disk'\n",
    )
    assert study("run", path, "-o", tmp_path / "out").exit_code == 0
    assert [entry.name for entry in (tmp_path / "disk").iterdir()] == ["mine"]
    assert not list((tmp_path / "out").rglob("scratch"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)], capture_output=True
    ).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_target_is_a_reason(tmp_path: Path, small_disk: Path) -> None:
    text = "test {how} = good || head -c 9999999 /dev/zero > {target}/f"
    by_level = of_text(tmp_path, text, "[target.disk]", f"directory = '{small_disk}'")
    assert by_level["good"]["status"] == "done"
    assert by_level["bad"]["status"] == "failed"
    assert "No space left on device" in by_level["bad"]["reason"]
    assert list(small_disk.iterdir()) == []


def test_without_room_for_results_it_says_so_and_goes_on_when_there_is(
    tmp_path: Path, small_disk: Path
) -> None:
    """Each run says 60 kB; the study's own disk has room for a few."""
    path = write(tmp_path, SHELL.replace("TEXT", "head -c 60000 /dev/zero; : {how}"))
    more = ("--set", "repetitions=5", "--set", "run.time_limit_s=60")
    result = study("run", path, "-o", small_disk / "out", *more)
    assert result.exit_code == 2, result.output
    assert "No space left on device" in result.stderr
    assert "Traceback" not in result.output
    before = [line["run"] for line in lines(small_disk / "out")]
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    study("run", small_disk / "out")
    made = [line["run"] for line in lines(small_disk / "out")]
    assert made[: len(before)] == before
    assert sorted(made) == list(range(10))


def test_adaptive_repetitions_stop_when_the_intervals_are_narrow(tmp_path: Path) -> None:
    """The response is printed: of `good` 1 s ± 1 %, of `bad` from 1 to 7 s."""
    text = "test {how} = good && echo took 1.0$(({run} % 4)) s || echo took $(({run} % 7 + 1)) s"
    adaptive = '[adaptive]\ninterval = 0.05\nat_most = 6\n[size.small]\nresponse = "took_s"'
    shell = SHELL.replace("repetitions = 1", "repetitions = 3")
    pattern = '\nrun.output_pattern = "took (?P<took_s>.+) s"\n'
    wide = write(tmp_path, shell.replace("TEXT", text) + adaptive + pattern)
    assert study("run", wide, "-o", tmp_path / "wide").exit_code == 0
    assert len(lines(tmp_path / "wide")) == 12
    narrow = write(
        tmp_path,
        shell.replace("TEXT", text).replace('"good", "bad"', '"good"') + adaptive + pattern,
    )
    assert study("run", narrow, "-o", tmp_path / "narrow").exit_code == 0
    assert len(lines(tmp_path / "narrow")) == 3


@pytest.mark.alone
@pytest.mark.measured("the time between two runs")
def test_the_runner_costs_little(tmp_path: Path) -> None:
    """From one run's begin to the next's, less the run itself: at most 50 ms, in the middle of 50
    runs."""
    text = COMMAND.replace("repetitions = 3", "repetitions = 10")
    assert study("run", write(tmp_path, text), "-o", tmp_path / "out").exit_code == 0
    made = lines(tmp_path / "out")
    between = [
        after["begun_unix_s"] - before["begun_unix_s"] for before, after in itertools.pairwise(made)
    ]
    costs = sorted(
        gap - line["numbers"]["elapsed_s"] for gap, line in zip(between, made, strict=False)
    )
    cost_s = costs[len(costs) // 2]
    if cost_s >= 0.05 and os.getloadavg()[0] > 2 * len(os.sched_getaffinity(0)):
        pytest.skip(
            f"{cost_s * 1000:.0f} ms, on a machine that does much else: load"
            f" {os.getloadavg()[0]:.0f}"
        )
    assert cost_s < 0.05


def test_cold_and_warm_are_what_the_kernel_says(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(os.urandom(1 << 20))
    assert page_cache.make_warm([file]) == "warm"
    assert page_cache._resident(file)
    if (state := page_cache.make_cold([file])) != "cold":
        pytest.skip(f"this file system keeps its pages: {state}")
    assert not page_cache._resident(file)


def test_the_cache_policy_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "input").write_bytes(b"x" * 100_000)
    more = ("[target.disk]", f"directory = '{tmp_path}/disk'", "[size.small]", 'cache = "warm"')
    more = (*more, 'run.reads = ["{read_target}/input"]')
    assert (
        of_text(tmp_path, "cat {read_target}/input > /dev/null", *more)["good"]["cache"] == "warm"
    )


LONG = (
    COMMAND.replace("repetitions = 3", "repetitions = 40")
    .replace('echo "took', 'sleep 0.0$3; echo "took')
    .replace("0.{first}", "{first}")
)
LONG = LONG.replace("took_s>[0-9.]+", "took_s>[0-9]+")


@pytest.mark.slow
@pytest.mark.parametrize("times", [4, pytest.param(20, marks=pytest.mark.whole)])
def test_killed_several_times_nothing_is_lost_and_nothing_repeated(
    tmp_path: Path, times: int
) -> None:
    repetitions = 2 * times
    runs = 5 * repetitions
    path = write(tmp_path, LONG.replace("repetitions = 40", f"repetitions = {repetitions}"))
    directory = tmp_path / "out"
    lot = random.Random(os.environ.get("TAILRACE_TEST_SEED", "7"))
    kills, before = 0, []
    while kills < times:
        process = start(path, directory)
        # by runs stored, not by the clock: a fast machine would be done before the last kill
        more = lot.randrange(6)
        while process.poll() is None and len(whole_lines(directory)) < len(before) + more:
            time.sleep(0.005)
        time.sleep(lot.uniform(0, 0.15))
        assert process.poll() is None, (tmp_path / "said").read_text()[-2000:]
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        now = whole_lines(directory)
        assert now[: len(before)] == before  # what was stored stays as it was
        before = now
    assert start(path, directory).wait() == 0, (tmp_path / "said").read_text()[-2000:]
    made = [line["run"] for line in lines(directory)]
    assert sorted(made) == list(range(runs))
    begun = Counter(executed(tmp_path))
    assert set(begun) == set(range(runs))
    assert sum(begun.values()) - runs <= kills  # at most the run in flight, each time
    assert leftovers.marked(tailrace.open_study(directory).plan["identity"]) == []


def whole_lines(directory: Path) -> list[bytes]:
    path = directory / "runs.jsonl"
    return (
        [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        if path.exists()
        else []
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_asked_to_end_it_ends_its_run_and_says_how_to_go_on(tmp_path: Path, number: int) -> None:
    path = write(tmp_path, LONG.replace("sleep 0.0$3", "sleep 9$3"))
    process = start(path, tmp_path / "out")
    until(lambda: executed(tmp_path), process)
    process.send_signal(number)
    assert process.wait(LONGEST_WAIT_S) == 130, (tmp_path / "said").read_text()
    said = (tmp_path / "said").read_text()
    assert f"continue with `tailrace study run {tmp_path / 'out'}`" in said
    assert "Traceback" not in said
    assert whole_lines(tmp_path / "out") == []
    assert leftovers.marked(tailrace.open_study(tmp_path / "out").plan["identity"]) == []


def test_a_program_that_does_not_start_is_a_reason(tmp_path: Path) -> None:
    """One that is not executable is told before the first run; one that only the kernel refuses is
    a failed run."""
    (tmp_path / "no-program").write_text("text")
    (tmp_path / "no-program").chmod(0o644)
    text = COMMAND.replace(
        'command = ["/bin/sh", "-c",', f'command = ["{tmp_path}/{{second}}", "-c",'
    )
    text = text.replace('levels = ["a", "b"]', 'levels = ["no-program", "sh"]').replace(
        'second = "b"', 'second = "sh"'
    )
    (tmp_path / "sh").symlink_to("/bin/sh")
    path = write(tmp_path, text.replace("repetitions = 3", "repetitions = 1"))
    assert "there is no program" in study("run", path, "-o", tmp_path / "out").stderr
    (tmp_path / "no-program").chmod(0o755)
    (tmp_path / "no-program").write_bytes(b"\x7fELF no program at all")
    assert study("run", path, "-o", tmp_path / "out").exit_code == 1
    reasons = {line["levels"]["second"]: line["reason"] for line in lines(tmp_path / "out")}
    assert reasons["sh"] == ""
    assert "Exec format error" in reasons["no-program"]


def test_a_command_under_capture_has_its_files_and_efficiencies(tmp_path: Path) -> None:
    text = COMMAND[: COMMAND.index("command =")] + (
        'command = ["dd", "if=/dev/zero", "of={target}/f", "bs={piece}", "count=50",'
        ' "status=none"]\n'
        'launcher = "none"\ncapture = true\n[factor.piece]\nlevels = [1000, 4000]\n'
    )
    result = study("run", write(tmp_path, text), "-o", tmp_path / "out", "--set", "repetitions=1")
    assert result.exit_code == 0, result.output
    opened = tailrace.open_study(tmp_path / "out")
    assert escape(opened.headline) in opened._repr_html_()
    runs = opened.runs
    assert (runs["bytes_written"] == 50 * runs["piece"]).all()
    assert runs["efficiency_io"].between(0, 1).all() and (runs["write_s"] > 0).all()
    assert [path.name for path in (tmp_path / "out" / "runs" / "000000").glob("*.tailrace")] == [
        "dd.tailrace"
    ]


def test_ranks_are_started_by_the_mpiexec_of_either_family(mpi: Mpi, tmp_path: Path) -> None:
    """More ranks than this machine has cores, as root where the tests are; each says that it is
    there."""
    text = COMMAND[: COMMAND.index("command =")] + (
        f'command = ["/bin/sh", "-c", "echo one of {{ranks}}"]\nlauncher = "{mpi.mpiexec}"\n'
        "[factor.ranks]\nlevels = [1, 3]\n"
    )
    result = study("run", write(tmp_path, text), "-o", tmp_path / "out", "--set", "repetitions=1")
    assert result.exit_code == 0, result.output
    for line in lines(tmp_path / "out"):
        said = (tmp_path / "out" / "runs" / f"{line['run']:06}" / "output").read_text().splitlines()
        assert said == [f"one of {line['levels']['ranks']}"] * line["levels"]["ranks"], line


AS_FACTOR = """\
schema = 1
name = "mine"
description = "Where a run is."
repetitions = 1
[run]
command = COMMAND
launcher = "none"
output_pattern = "saw (?P<where>[0-9]+)"
[factor.target]
levels = ["first", "second"]
[target.first]
directory = "one"
[target.second]
directory = "two"
"""
CASES = "in */one/*) echo saw 1;; */two/*) echo saw 2;; *) echo saw 0;; esac"
WAYS = (
    f"""'''case {{target}} {CASES}'''
shell = true""",
    f"""["sh", "-c", 'case "$1" {CASES}', "sh", "{{target}}"]""",
)


@pytest.mark.parametrize("command", WAYS, ids=("shell", "words"))
def test_a_target_that_is_a_factor_stands_for_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path)
    done = study("run", write(tmp_path, AS_FACTOR.replace("COMMAND", command)), "-o", "out")
    assert done.exit_code == 0, done.output
    made = lines(tmp_path / "out")
    found = {line["levels"]["target"]: line["numbers"]["where"] for line in made}
    assert found == {"first": 1, "second": 2}
