"""What a change gives, by arithmetic on a run that was recorded: one process, without MPI, so that
every nanosecond outside of its file calls is useful time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

import tailrace
from tailrace.predict import command
from tailrace.predict.change import Change, default_changes
from tailrace.predict.model import Quantity, load
from tailrace.predict.spread import RUN_TO_RUN
from tailrace.predict.waits import Waits
from tailrace.predict.whatif import COMPUTATION, Prediction, Run

from ..python.test_report import check_schema
from .test_model import toml, written

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
WRITES, BYTES = 50, 1000
PROGRAM = f"""
import os, time
file = os.open("output", os.O_CREAT | os.O_WRONLY, 0o600)
for _ in range({WRITES}):
    time.sleep(0.002)
    os.write(file, b"x" * {BYTES})
os.close(file)
"""


def recorded(directory: Path) -> Path:
    command = [TAILRACE, "run", "--no-report", "-o", "trace", "--", sys.executable, "-c", PROGRAM]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return next((directory / "trace").glob("*.tailrace"))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("whatif"))


@pytest.fixture(scope="module")
def times(trace: Path) -> tuple[int, int, dict[str, int]]:
    """Run time, time in files, and of these by kind of call, ns."""
    columns = tailrace.open(trace).columns
    files = columns["files"]
    kinds = ("read", "write", "open", "close")
    by_kind = {kind: int(files[f"{kind}_ns"].sum()) for kind in kinds}
    return int(columns["runtime_ns"]), int(columns["rank"]["io_ns"].sum()), by_kind


def predicted_ns(run: Run, change: Change) -> list[int]:
    found = run.predict(change)
    return [round(seconds * 1e9) for seconds in (found.predicted_s, *found.interval_s)]


def test_no_change_is_the_run(trace, times) -> None:
    runtime, *_ = times
    assert predicted_ns(Run(trace), Change()) == [runtime] * 3


def test_a_file_system_twice_as_fast_halves_the_time_in_files(trace, times) -> None:
    runtime, io, kinds = times
    found, low, high = predicted_ns(Run(trace), Change(io=2))
    assert found == low == pytest.approx(runtime - io / 2, abs=2 * WRITES + 1000)
    # at worst it makes nothing but reads and writes faster
    assert high == pytest.approx(
        runtime - (kinds["read"] + kinds["write"]) / 2, abs=2 * WRITES + 1000
    )


def test_no_efficiency_is_above_one_where_an_ideal_network_brings_calls_in_a_worse_order(
    trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, useful = Run(trace), [50, 30]

    def replayed(change, edge="value", network=True, files=True) -> dict[str, object]:
        # 200 ns, 300 without a network, 100 without files as well
        return {"runtime_ns": 200 if network else 300 if files else 100, "useful_ns": useful}

    monkeypatch.setattr(run, "_replay", replayed)
    found = run.predict(Change(compute=2)).efficiency
    assert found == {
        "parallel": 40 / 200, "load_balance": 40 / 50, "serialization": 50 / 100,
        "io": 100 / 200, "transfer": 1,
    }  # fmt: skip


def test_processors_twice_as_fast_halve_the_rest(trace, times) -> None:
    runtime, io, _ = times
    found, *_ = predicted_ns(Run(trace), Change(compute=2))
    assert found == pytest.approx((runtime + io) / 2, abs=2 * WRITES + 1000)


def test_on_a_file_system_without_cost_useful_time_is_left(trace, times, tmp_path) -> None:
    runtime, io, _ = times
    change = Change(target=load(written(tmp_path, toml())))
    prediction = Run(trace).predict(change)
    assert round(prediction.predicted_s * 1e9) == pytest.approx(runtime - io, abs=50_000)
    assert prediction.next == COMPUTATION


def test_a_model_is_asked_for_each_call(trace, times, tmp_path) -> None:
    """1 ms for each write, and 1000 bytes at 1 MB/s are another: 50 times 2 ms."""
    runtime, io, _ = times
    model = load(written(tmp_path, toml(write="1e-3", write_rate="1e6")))
    found, *_ = predicted_ns(Run(trace), Change(target=model))
    expected = runtime - io + WRITES * 2_000_000
    assert found == pytest.approx(expected, abs=50_000)


MAKER = """
import os
for _ in range(3):
    os.close(os.open("output", os.O_CREAT | os.O_WRONLY, 0o600))
os.unlink("output")
os.close(os.open("output", os.O_CREAT | os.O_WRONLY, 0o600))
"""


def test_files_are_made_by_the_first_open_that_may(tmp_path: Path) -> None:
    """Two of four opens make the file, for 1 s each; the others take 1 ms."""
    command = [TAILRACE, "run", "--no-report", "-o", "trace", "--", sys.executable, "-c", MAKER]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    run = Run(next((tmp_path / "trace").glob("*.tailrace")))
    model = load(written(tmp_path, toml(open="1e-3")))
    calls = model.calls.model_copy(update={"create": Quantity(value=1, low=1, high=1)})
    makes, free = model.model_copy(update={"calls": calls}), load(written(tmp_path, toml()))
    slow, nothing = (
        predicted_ns(run, Change(target=each, directory=tmp_path))[0] for each in (makes, free)
    )
    assert slow - nothing == pytest.approx(2_002_000_000, abs=1000)


READER = """
import os
file = os.open("input", os.O_RDONLY)
for place in (0, 1000, 0, 500):
    os.lseek(file, place, os.SEEK_SET)
    os.read(file, 1000)
os.close(file)
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a directory of its own, as its input is."""
    directory = tmp_path_factory.mktemp("reader")
    (directory / "input").write_bytes(bytes(4000))
    command = [TAILRACE, "run", "--no-report", "-o", "trace", "--", sys.executable, "-c", READER]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return next((directory / "trace").glob("*.tailrace"))


def test_what_is_read_is_known_by_its_place(reader: Path, tmp_path: Path) -> None:
    """Reads that name no place read where the program went: 2000 bytes at 1 MB/s,
    and 2000 that are known by then."""
    change = Change(
        target=load(written(tmp_path, toml(read_rate="1e6", rereads='"while_open"'))),
        directory=reader.parents[1],
        cache="cold",
    )
    free = replace(change, target=load(written(tmp_path, toml())))
    taken, nothing = (predicted_ns(Run(reader), each)[0] for each in (change, free))
    assert taken - nothing == pytest.approx(2_000_000, abs=1000)


DROPPER = """
import os
file = os.open("input", os.O_RDONLY)
os.pread(file, 2000, 0)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_{advice})
os.pread(file, 2000, 0)
os.close(file)
"""


@pytest.mark.parametrize(("advice", "read_bytes"), [("DONTNEED", 4000), ("NORMAL", 2000)])
def test_what_the_program_drops_is_read_again(tmp_path: Path, advice: str, read_bytes: int) -> None:
    """At 1 MB/s, from capture on."""
    (tmp_path / "input").write_bytes(bytes(4000))
    program = DROPPER.format(advice=advice)
    command = [TAILRACE, "run", "--no-report", "-o", "trace", "--", sys.executable, "-c", program]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    run = Run(next((tmp_path / "trace").glob("*.tailrace")))
    slow, free = (
        Change(target=load(written(tmp_path, toml(**rates))), directory=tmp_path, cache="cold")
        for rates in ({"read_rate": "1e6", "rereads": '"while_open"'}, {})
    )
    taken = predicted_ns(run, slow)[0] - predicted_ns(run, free)[0]
    assert taken == pytest.approx(read_bytes * 1000, abs=1000)


def test_a_warm_cache_is_the_low_edge_unless_it_is_known(reader: Path, tmp_path: Path) -> None:
    model = load(written(tmp_path, toml(read="1", rereads='"always"')))
    run = Run(reader)
    change = Change(target=model, directory=reader.parents[1])
    cold, *edges = predicted_ns(run, replace(change, cache="cold"))
    assert edges == pytest.approx(around(cold), abs=1)
    warm, *edges = predicted_ns(run, replace(change, cache="warm"))
    assert edges == pytest.approx(around(warm), abs=1)
    value, *edges = predicted_ns(run, change)
    assert value == cold
    assert edges == pytest.approx([around(warm)[0], around(cold)[1]], abs=1)
    # two reads of four find what the first two read
    assert cold - warm == pytest.approx(2_000_000_000, abs=1000)


def around(taken_ns: int) -> list[float]:
    """By how much a run on a model differs from one time to the next."""
    return [taken_ns * (1 - RUN_TO_RUN), taken_ns * (1 + RUN_TO_RUN)]


def test_only_files_in_the_directory_move(reader: Path, tmp_path: Path) -> None:
    model = load(written(tmp_path, toml(open="1")))
    run = Run(reader)
    moved, *_ = predicted_ns(run, Change(target=model, directory=reader.parents[1]))
    # it opens its input once; what Python opens lies elsewhere and takes what it took
    assert 1e9 < moved < 1e9 + run.measured_s * 1e9
    everything, *_ = predicted_ns(run, Change(target=model))
    assert everything > moved
    assert run.has_files_in(reader.parents[1]) and not run.has_files_in(tmp_path)
    asked = [TAILRACE, "whatif", reader, "--target", tmp_path / "model.toml", "--files", tmp_path]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"no file of {reader.name} lies in {tmp_path}" in done.stderr


def test_two_targets_of_one_name_are_refused(reader: Path) -> None:
    """Their rows would both read “on lustre”."""
    asked = [TAILRACE, "whatif", reader, "--target", "lustre", "--target", "lustre"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 2
    assert "two of the targets are called lustre" in done.stderr


def test_what_says_something_about_a_target_needs_one(reader: Path) -> None:
    asked = [TAILRACE, "whatif", reader, "--merge", "0"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 2 and "--merge takes a size" in done.stderr
    for option, value, said in (("--files", ".", "what moves"), ("--cache", "warm", "something")):
        asked = [TAILRACE, "whatif", reader, option, value]
        done = subprocess.run(asked, capture_output=True, text=True)
        assert done.returncode == 2 and f"{option} says {said}" in done.stderr


def test_output_beside_computation_ends_when_both_have(trace, times, tmp_path) -> None:
    """Each write takes 10 ms, each computation less: the run ends when the last write does."""
    runtime, io, _ = times
    model = load(written(tmp_path, toml(write="10e-3")))
    run = Run(trace)
    beside, *_ = predicted_ns(run, Change(target=model, overlap=True))
    in_turns, *_ = predicted_ns(run, Change(target=model))
    assert in_turns == pytest.approx(runtime - io + WRITES * 10_000_000, abs=50_000)
    assert WRITES * 10_000_000 < beside < WRITES * 10_000_000 + runtime - io
    assert beside < in_turns
    fast = load(written(tmp_path, toml(write="1e-6")))
    hidden, *_ = predicted_ns(run, Change(target=fast, overlap=True))
    assert hidden == pytest.approx(runtime - io, abs=200_000)


def test_writes_that_are_gathered_cost_one_call_for_many(trace, times, tmp_path) -> None:
    """50 writes of 1000 bytes that follow one another are 5 of 10,000, at 1 ms each."""
    runtime, io, _ = times
    model = load(written(tmp_path, toml(write="1e-3")))
    found, *_ = predicted_ns(Run(trace), Change(target=model, merge=10_000))
    assert found == pytest.approx(runtime - io + 5_000_000, abs=100_000)


def test_what_gathering_saves_is_open_where_writes_are_all_of_one_size(trace, times) -> None:
    runtime, _, kinds = times
    run = Run(trace)
    found, low, high = predicted_ns(run, Change(merge=1_000_000))
    # at worst as long as measured, but for the copies: 50 times 1 µs
    assert high - runtime == pytest.approx(WRITES * 1000, abs=1000)
    # else copies of 0.33 µs, less what 49 writes take beyond their 1000 bytes: at 100 MB/s 10 µs
    # each, or 1 µs where they only copy into memory
    saved = (WRITES - 1) * run._steps.write_call_ns()
    assert run._steps.write_call_ns() <= max(0, kinds["write"] / WRITES * 2 - 1000)
    assert found - runtime == pytest.approx(WRITES * 330 - saved, abs=1000)
    # or one write of the mean time, and copies of 0.1 µs
    expected = runtime - kinds["write"] * (1 - 1 / WRITES) + WRITES * 100
    assert low == pytest.approx(expected, abs=1000)


def test_efficiencies_multiply_and_changes_are_ranked(trace, tmp_path) -> None:
    run = Run(trace)
    model = load(written(tmp_path, toml(write="1")))
    found = run.ranked(default_changes([model]))
    assert [p.predicted_s for p in found] == sorted(p.predicted_s for p in found)
    for prediction in found:
        parts = dict(prediction.efficiency)
        whole = parts.pop("parallel")
        product = 1.0
        for part in parts.values():
            product *= part
        assert whole == pytest.approx(product)
    assert found[-1].change == Change(target=model) and found[-1].next == "time in files"


def test_the_command_answers_in_words_and_json(trace, tmp_path) -> None:
    words = subprocess.run(
        [TAILRACE, "whatif", trace, "--compute", "2x"], check=True, capture_output=True, text=True
    ).stdout
    assert "Processors twice as fast: the run would take " in words.splitlines()[0]
    assert "time outside of MPI and files is divided by the factor" in words
    target = written(tmp_path, toml(name="slow", write="1"))
    asked = [TAILRACE, "whatif", trace, "--all", "--target", target, "--json"]
    document = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    check_schema(document, "whatif.json")
    assert document["changes"][0]["change"] == "processors twice as fast"
    assert {change["change"] for change in document["changes"]} >= {"on slow"}


def test_what_several_changes_assume_stands_once(trace, tmp_path, capsys) -> None:
    models = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        models.append(written(tmp_path / name, toml(name=name)))
    command.main(trace, {}, models, {}, None, False, None, False)
    assert capsys.readouterr().out.count("\n- every call in every file costs what") == 1
    command.main(trace, {}, models[:1], {}, None, True, None, False)
    told = capsys.readouterr().out
    assert re.search(r"\n- \d(, |–)\d: every call in every file costs", told)


def test_numbers_that_follow_one_another_are_a_stretch() -> None:
    assert command.stretches([1]) == "1"
    assert command.stretches([1, 2, 4, 5, 6, 9]) == "1, 2, 4–6, 9"


def test_who_may_give_as_much_is_told() -> None:
    """Of what is said to take 3 s, 4 s (2.9 s at best) and 5 s (3.1 s at best) the second may."""
    found = [
        Prediction(Change(io=factor), predicted, (low, predicted), {}, COMPUTATION)
        for factor, predicted, low in ((4, 3.0, 3.0), (3, 4.0, 2.9), (2, 5.0, 3.1))
    ]
    assert command.headline(6.0, found).endswith("instead of 6.00 s. Another may give as much.")
    assert command.headline(6.0, [found[0], found[2]]).endswith("instead of 6.00 s.")


def test_a_change_that_may_go_either_way_is_not_said_to_help_or_to_harm() -> None:
    """Of a run of 4 s: between 3.9 and 4.02 s is one way, 3.9 and 4.1 s either; 26 s is no more
    than a guess between 3 and 300."""

    def said(predicted: float, low: float, high: float) -> tuple[str, str]:
        found = Prediction(Change(io=2), predicted, (low, high), {}, COMPUTATION)
        assert found.as_json(4.0)["open"] == ("cannot" in command.headline(4.0, [found]))
        return command.headline(4.0, [found]), command._saved(found, 4.0)

    assert said(3.9, 3.9, 4.02) == (
        "File system twice as fast: the run would take 3.90 s (between 3.90 s and 4.02 s) instead"
        " of 4.00 s.",
        "2.5 %",
    )
    assert said(26.0, 3.0, 300.0) == (
        "File system twice as fast: whether the run becomes shorter than its 4.00 s cannot be"
        " told; it would take 26.0 s (between 3.00 s and 300 s).",
        "cannot be told",
    )
    one, other = (
        Prediction(Change(io=factor), 3.5, (3.0, high), {}, COMPUTATION)
        for factor, high in ((2, 9.0), (3, 3.8))
    )
    assert "this may give most" in command.headline(4.0, [one, other])
    assert "this gives most" in command.headline(4.0, [other, one])


def test_that_runs_differ_is_left_out_where_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = Change(target=load(written(tmp_path, toml()))), Change(io=2)
    made = [Prediction(change, 2.0, (2.0, 2.0), {}, COMPUTATION) for change in changes]
    sentence = "Not in the interval{}: how much one run differs from the next."
    for shown, expected in ((made[:1], None), (made[1:], ""), (made, " of 2")):
        command._print("run", 4.0, shown)
        said = capsys.readouterr().out
        assert sentence.format(expected) in said if expected is not None else "Not in" not in said


def test_what_ranks_waited_for_a_processor_stays(trace, times) -> None:
    """Half the time in files was such a wait, so that a file system twice as fast takes a quarter
    of it away, at best half; and no processor may be free for a thread that writes."""
    runtime, io, kinds = times
    run = Run(trace, waited=Waits(0.4, {"io": 0.5, "useful": 0.25}, {}, ""))
    found, low, high = predicted_ns(run, Change(io=2))
    assert found == pytest.approx(runtime - io / 4, abs=2 * WRITES + 1000)
    assert low == pytest.approx(runtime - io / 2, abs=2 * WRITES + 1000)
    moved = kinds["read"] + kinds["write"]
    assert high == pytest.approx(runtime - moved / 4, abs=2 * WRITES + 1000)
    found, low, high = predicted_ns(run, Change(compute=2))
    useful = runtime - io
    assert found == high == pytest.approx(runtime - useful * 0.75 / 2, abs=2 * WRITES + 1000)
    assert low == pytest.approx(runtime - useful / 2, abs=2 * WRITES + 1000)
    assert predicted_ns(run, Change(overlap=True))[2] == runtime
    assert predicted_ns(run, Change()) == [runtime] * 3
    assumed = run.predict(Change(io=2)).change.assumes
    assert any("waited for a processor" in sentence for sentence in assumed)
    assert not any(
        "waited" in sentence for sentence in Run(trace).predict(Change(io=2)).change.assumes
    )


def test_a_run_that_cannot_be_taken_again_is_told(trace, monkeypatch, capsys) -> None:
    """Only then: a run of which all is known is taken again to the nanosecond."""
    words = "do not rely on what follows"
    for identical in (True, False):
        monkeypatch.setattr(Run, "is_identical", identical)
        command.main(trace, {"io": 2.0}, [], {}, None, False, None, False)
        assert (words in capsys.readouterr().err) is not identical
    monkeypatch.undo()
    assert Run(trace).is_identical


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--method", "serial"), "takes a model of a file system"),
        (("--method", "serial", "--target", "nfs", "--merge", "4M"), "there are none for --merge"),
        (("--method", "serial", "--target", "nfs"), "is known to come from several ranks"),
        (
            ("--method", "serial", "--target", "nfs", "--aggregators", "2"),
            "--aggregators goes with",
        ),
        (("--piece", "4K"), "--piece says something about another method"),
        (("--method", "serial", "--ranks", "4"), "--ranks goes with no other change"),
    ],
)
def test_methods_that_cannot_be(trace: Path, words: tuple[str, ...], told: str) -> None:
    """One process writes all: there is nobody to gather from."""
    done = subprocess.run([TAILRACE, "whatif", trace, *words], capture_output=True, text=True)
    assert done.returncode == 2 and told in done.stderr and "hint: " in done.stderr


@pytest.mark.parametrize(
    ("name", "is_told"), [("nonblocking", True), ("posix_files", False), ("states_alone", True)]
)
def test_a_trace_without_file_calls_says_so(name: str, is_told: bool) -> None:
    """Extrae records them only where it is told to: a faster file system changes nothing then."""
    path = Path(__file__).parents[1] / "trace" / "data" / "prv" / f"{name}.prv"
    answer = subprocess.run(
        [TAILRACE, "whatif", path, "--io-rate", "2x"], check=True, capture_output=True, text=True
    ).stdout
    assert ("file calls are not in the trace" in answer) == is_told


def test_files_in_memory_do_not_move(tmp_path: Path) -> None:
    """The program writes into memory and onto a disk: the model moves the second alone."""
    (tmp_path / "model.toml").write_text(toml())
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        program = (
            f"for where in ({memory!r}, {str(tmp_path)!r}): open(where + '/f', 'w').write('x')"
        )
        command = [
            TAILRACE,
            "run",
            "--no-report",
            "-o",
            "trace",
            "--",
            sys.executable,
            "-c",
            program,
        ]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        trace = next((tmp_path / "trace").glob("*.tailrace"))
        asked = [TAILRACE, "whatif", trace, "--target", tmp_path / "model.toml"]
        said = "files in /dev/shm are memory, not files, and do not move"
        assert said in subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        one = [*asked, "--files", tmp_path]
        assert said not in subprocess.run(one, capture_output=True, text=True, check=True).stdout
        done = subprocess.run([*asked, "--files", memory], capture_output=True, text=True)
    assert done.returncode == 2 and f"in {memory} are memory (/dev/shm)" in done.stderr
