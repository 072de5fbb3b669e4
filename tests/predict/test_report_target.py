"""Findings that advise another method say what it would give: what `tailrace whatif` says of the
method by which the run is shortest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tailrace import engine
from tailrace.predict.methods import METHODS
from tailrace.predict.model import load
from tailrace.report.by_method import with_methods

from ..python.bench_runs import Bench, bench, built  # noqa: F401
from ..python.test_report import check_schema
from .test_model import toml, written

TAILRACE = str(Path(sys.executable).with_name("tailrace"))


def answer(*words: str | Path) -> dict[str, Any]:
    done = subprocess.run([TAILRACE, *words, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measured_in(directory: Path, content: str) -> str:
    return content.replace("[calls]", f'directory = "{directory}"\n[calls]')


@pytest.fixture
def trace(bench: Bench) -> Path:  # noqa: F811
    """One of two ranks writes for both, by small requests."""
    words = ("--size", "small", "--method", "serial", "--format", "netcdf3", "--capture")
    result = bench.run("wrf", *words, ranks=2)
    assert result.exit_code == 0, result.output
    (found,) = bench.directory.parent.rglob("*.tailrace")
    return found


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.measured("which findings a run of two ranks has")
def test_a_serial_writer_is_told_the_method_by_which_the_run_is_shortest(
    trace: Path,
    bench: Bench,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Each write takes 0.1 ms on that file system, so that methods differ."""
    model = written(tmp_path, measured_in(bench.directory, toml(write="1e-4")))
    plain, told = answer("report", trace), answer("report", trace, "--target", model)
    check_schema(told, "report.json")
    (before,), (found,) = (
        [each for each in report["verdict"] if each["code"] == "serial_writer"]
        for report in (plain, told)
    )
    assert before["prediction"] is None
    by_method = {
        method: answer(
            *("whatif", trace, "--target", model, "--files", bench.directory, "--method", method)
        )["changes"][0]
        for method in METHODS
        if method in ("collective", "independent")  # by the others not all ranks write that file
    }
    best = min(by_method, key=lambda method: by_method[method]["predicted_s"])
    prediction = found["prediction"]
    assert prediction["change"] == f"by {best} output"
    assert prediction["runtime_s"] == by_method[best]["predicted_s"]
    assert prediction["interval_s"] == by_method[best]["interval_s"]
    # beside what an ideal would give at most
    assert found["gain"].startswith(f"by {best} output the run would take ")
    assert found["gain"].endswith(f"; {before['gain']}")
    rest = [report | {"verdict": None} for report in (plain, told)]
    assert rest[0] == rest[1]


@pytest.mark.slow
def test_who_is_advised_to_write_to_node_local_storage_is_told_what_that_would_give(
    trace: Path,
    bench: Bench,  # noqa: F811
    tmp_path: Path,
) -> None:
    """As `tailrace whatif` says of the model that comes with Tailrace; not of another advice."""
    own = load(written(tmp_path, measured_in(bench.directory, toml(write="1e-4"))))
    slow = {"code": "slow_file_system", "finding": "writing out at 90 MB/s a rank"}
    slow |= {"gain": "as it was", "gain_s": 0.0, "prediction": None}
    near = slow | {"advice": "write less, or to node-local storage"}
    shared = slow | {"advice": "compare with a file per rank"}
    columns = engine.analyze(trace, critical_paths=False)
    told = with_methods({"verdict": [near, shared]}, trace, columns, own, {})["verdict"]
    whatif = answer("whatif", trace, "--target", "node-local-ssd", "--files", bench.directory)
    (expected,) = whatif["changes"]
    assert told[0]["prediction"]["change"] == "on node-local-ssd"
    assert told[0]["prediction"]["runtime_s"] == expected["predicted_s"]
    assert list(told[0]["prediction"]["interval_s"]) == expected["interval_s"]
    assert told[0]["gain"].endswith("; as it was")
    assert told[1] == shared


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.measured("which findings a run of two ranks has")
def test_a_model_of_another_file_system_is_refused(
    trace: Path,
    bench: Bench,  # noqa: F811
    tmp_path: Path,
) -> None:
    for content, said in (
        (toml(), "plain does not say where it was measured"),
        (measured_in(Path("/nowhere"), toml()), "lies in /nowhere, where plain was measured"),
    ):
        words = [TAILRACE, "report", trace, "--target", written(tmp_path, content)]
        refused = subprocess.run(words, capture_output=True, text=True)
        assert refused.returncode == 2 and said in refused.stderr and "hint:" in refused.stderr
