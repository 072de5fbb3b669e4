"""A run that is rebuilt by another method writes what a real run by that method writes: rank by
rank and in order, offsets and bytes.

What one rank writes one behind the other counts as one write: ranks that write into one file by
themselves do not tell where one variable ends, but for MPI-IO. Of a file of its own, gridio's
header is left out: only a run by that method has one for each rank.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailrace import engine
from tailrace.bench import gridio
from tailrace.predict.change import Change
from tailrace.predict.methods import Way
from tailrace.predict.model import load
from tailrace.predict.whatif import Prediction, Run

from ..python.bench_runs import Bench, bench, built  # noqa: F401
from ..python.test_report import check_schema
from .test_model import toml, written

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
METHODS = ("serial", "independent", "collective", "aggregated", "file-per-rank")
# Of a file: offset and bytes.
Writes = list[tuple[str, int, int]]
Traces = dict[str, Path]


def writes(calls: list[Any]) -> Writes:
    """Of the workload's output, what touches as one."""
    found: Writes = []
    for kind, path, offset, size in calls:
        below = re.search(r"/tailrace-[^/]*/run-1/([^/]+\.grid)", path)
        if kind != "write" or below is None:
            continue
        name = below[1]
        if found and found[-1][0] == name and found[-1][1] + found[-1][2] == offset:
            found[-1] = (name, found[-1][1], found[-1][2] + size)
        else:
            found.append((name, offset, size))
    return found


def rebuilt(trace: Path, method: str, **given: Any) -> list[Writes]:
    return [writes(calls) for calls in calls_by(trace, method, **given)]


def calls_by(trace: Path, method: str, **given: Any) -> list[list[Any]]:
    # tiles lie between each other in the file
    network = {"latency": 2000.0, "byte": 0.2, "eager_limit_bytes": 32768, "piece_bytes": 1}
    steps, told = engine.steps(trace, outputs=True).by_method(method, **network, **given)
    assert told["bytes"] > 0 and told["apart_bytes"] == 0
    calls: list[list[Any]] = steps.calls()
    return calls


def recorded(trace: Path) -> list[Writes]:
    return [writes(calls) for calls in engine.recorded_calls(trace)]


@pytest.fixture
def traces(bench: Bench) -> Callable[[str, int, str], Traces]:  # noqa: F811
    """A small run by each method."""

    def record(workload: str, ranks: int, format_: str) -> Traces:
        found = {}
        for method in METHODS:
            if gridio.possible(method, format_):
                words = ("--size", "tiny", "--method", method, "--format", format_, "--capture")
                before = set(bench.directory.parent.rglob("*.tailrace"))
                result = bench.run(workload, *words, ranks=ranks)
                assert result.exit_code == 0, result.output
                (found[method],) = set(bench.directory.parent.rglob("*.tailrace")) - before
        return found

    return record


@pytest.mark.slow
@pytest.mark.sampled(apart=True)
@pytest.mark.parametrize(
    ("workload", "ranks", "format_"),
    [
        # tiles of rows alone would lie behind each other in a layer: ROMIO then exchanges nothing,
        # which a trace by another method does not tell
        ("roms", 4, "mpiio"),
        ("wrf", 4, "mpiio"),
        ("cmaq", 4, "mpiio"),
        ("roms", 4, "posix"),
        ("wrf", 2, "posix"),
        ("cmaq", 3, "posix"),
    ],
)
def test_writes_are_those_of_a_real_run(
    traces: Callable[[str, int, str], Traces], workload: str, ranks: int, format_: str
) -> None:
    runs = traces(workload, ranks, format_)
    for method, trace in runs.items():
        by_one = [name for name in ("serial", "aggregated", "collective") if name in runs]
        if method == "file-per-rank":
            # all headers are written into the one file: what is left are the data, but for these
            for other in by_one:
                found, real = rebuilt(trace, other), recorded(runs[other])
                assert found[1:] == real[1:] == [[]] * (ranks - 1)
                assert bytes_of(found[0]) > bytes_of(real[0])
        else:
            for other in by_one:
                assert rebuilt(trace, other) == recorded(runs[other]), (method, other)
            found = [bytes_of(own) for own in rebuilt(trace, "file-per-rank")[1:]]
            real = engine.recorded_calls(runs["file-per-rank"])[1:]
            assert found == [sum(data_of(calls).values()) for calls in real]
        if method in ("independent", "file-per-rank"):
            assert rebuilt(trace, method) == recorded(trace)
    if format_ == "mpiio":
        # where a variable ends is told by the places of the ranks' calls
        real = moved(engine.recorded_calls(runs["collective"]))
        assert moved(calls_by(runs["independent"], "collective")) == real


def moved(calls: list[list[Any]]) -> list[Counter[str]]:
    """By rank: how many writes and locks of the workload's output."""
    return [
        Counter(kind for kind, path, *_ in own if ".grid" in path and kind in ("write", "lock"))
        for own in calls
    ]


def bytes_of(found: Writes) -> int:
    return sum(size for _, _, size in found)


def data_of(calls: list[Any]) -> dict[str, int]:
    """By file of the rank: bytes behind the header, which is what it writes first."""
    headers: dict[str, int] = {}
    found: dict[str, int] = {}
    for kind, path, offset, size in calls:
        below = re.search(r"/tailrace-[^/]*/run-1/([^/]+\.grid)", path)
        if kind == "write" and below is not None:
            header = headers.setdefault(below[1], size)
            found[below[1]] = found.get(below[1], 0) + (size if offset >= header else 0)
    return found


@pytest.mark.slow
def test_the_command_says_what_it_cannot_know(
    bench: Bench,  # noqa: F811
    traces: Callable[[str, int, str], Traces],
    tmp_path: Path,
) -> None:
    trace = traces("roms", 2, "posix")["serial"]
    model = written(tmp_path, toml(name="slow", write="1e-3", write_rate="1e8"))

    def asked(*words: str) -> dict[str, Any]:
        command = [TAILRACE, "whatif", trace, "--target", model, *words, "--json"]
        document = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        check_schema(document, "whatif.json")
        return document

    (own,) = asked("--method", "file-per-rank")["changes"]
    assert own["arguments"] == {"target": "slow", "method": "file-per-rank"}
    assert not any("--piece says it" in sentence for sentence in own["assumes"])
    (pieces,) = asked("--method", "independent")["changes"]
    assert any("--piece says it" in sentence for sentence in pieces["assumes"])
    assert not any("call of MPI-IO" in sentence for sentence in pieces["assumes"])
    low, high = pieces["interval_s"]
    assert low < pieces["predicted_s"] < high
    (said,) = asked("--method", "independent", "--piece", "1MB")["changes"]
    assert not any("--piece says it" in sentence for sentence in said["assumes"])
    assert said["predicted_s"] < pieces["predicted_s"]
    # of tiles in one piece each rank locks and writes its own, otherwise one writes for all
    (either,) = asked("--method", "collective")["changes"]
    assert any("leaves each to write its own" in sentence for sentence in either["assumes"])
    said = [asked("--method", "collective", "--piece", size) for size in ("8", "1MB")]
    between, apart = (each["changes"][0] for each in said)
    assert between["predicted_s"] != apart["predicted_s"]
    for change in (between, apart):
        assert change["interval_s"][0] >= either["interval_s"][0]
        assert change["interval_s"][1] <= either["interval_s"][1]
        assert not any("leaves each" in sentence for sentence in change["assumes"])
    found = {change["change"] for change in asked("--all")["changes"]}
    assert {f"{method} output, on slow" for method in METHODS} <= found


@pytest.mark.slow
def test_each_piece_may_be_a_call_of_its_own(
    traces: Callable[[str, int, str], Traces], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one call ROMIO writes what lies around the pieces; where a write takes 1 ms, one for each
    piece takes longer."""
    run = Run(traces("roms", 2, "mpiio")["collective"], outputs=True)
    target = load(written(tmp_path, toml(write="1e-3")))
    found = run.predict(Change(target=target, way=Way("independent")))
    assert any("call of its own" in sentence for sentence in found.change.assumes)
    each = run.predict(Change(target=target, way=Way("independent", by_calls=True)))
    assert not any("call of its own" in sentence for sentence in each.change.assumes)
    assert found.edges_s[1] == each.edges_s[1] > 2 * found.predicted_s
    monkeypatch.setattr(Way, "layouts", lambda *_: {})
    without = run.predict(Change(target=target, way=Way("independent")))
    assert without.edges_s[1] < each.edges_s[1]


@pytest.mark.slow
def test_what_rebuilding_misses_of_the_recorded_method_is_in_the_interval(
    traces: Callable[[str, int, str], Traces],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = traces("roms", 2, "posix")["serial"]
    change = Change(target=load(written(tmp_path, toml())), way=Way("aggregated"))
    run = Run(trace, outputs=True)
    found = run.predict(change)
    missed_s = found.change.told.missed_s
    assert missed_s != 0
    assert any("than recorded" in sentence for sentence in found.change.assumes)
    assert found.off_s == pytest.approx((abs(missed_s), abs(missed_s)))
    monkeypatch.setattr(Run, "_missed_s", lambda *_: 0.0)
    without = run.predict(change)
    assert without.edges_s == found.edges_s
    assert without.off_s == (0, 0)
    assert without.interval_s[1] < found.interval_s[1]


@pytest.mark.slow
def test_calls_that_stay_cost_what_they_did_where_the_model_was_measured(
    bench: Bench,  # noqa: F811
    traces: Callable[[str, int, str], Traces],
    tmp_path: Path,
) -> None:
    """The model says that nothing takes any time: what opening, closing and synchronising took is
    what they take beyond it."""
    run = Run(traces("roms", 2, "posix")["serial"], outputs=True)
    model = load(written(tmp_path, toml()))

    def found(directory: Path | None) -> Prediction:
        where = directory and str(directory)
        target = model.model_copy(update={"directory": where})
        return run.predict(Change(target=target, way=Way("file-per-rank")))

    own, elsewhere, plain = (found(each) for each in (bench.directory, tmp_path / "other", None))
    assert own.predicted_s > plain.predicted_s == elsewhere.predicted_s
    sentence = "calls that stay and move no data"
    assert any(sentence in assumed for assumed in own.change.assumes)
    assert not any(sentence in assumed for assumed in elsewhere.change.assumes)
    # of a run by the same method nothing is taken but what the model says
    moved = Change(target=model.model_copy(update={"directory": str(bench.directory)}))
    assert run.predict(moved).predicted_s == run.predict(Change(target=model)).predicted_s
