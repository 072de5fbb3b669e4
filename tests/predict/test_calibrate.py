"""A file system that sleeps is measured, and what is held out says whether the model is right."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.predict.model import load

from ..processes import started, until
from ..python.test_report import check_schema

TAILRACE = str(Path(sys.executable).with_name("tailrace"))


def test_a_directory_is_measured_and_left_as_it_was(tmp_path: Path) -> None:
    target, model = tmp_path / "target", tmp_path / "model.toml"
    target.mkdir()
    (target / "mine").write_text("kept")
    command = [TAILRACE, "calibrate", target, "-o", model, "--budget", "2s", "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    document = json.loads(done.stdout)
    check_schema(document, "calibrate.json")
    assert document["model"] == model.read_text("utf-8")
    assert document["held_out"]["runs"] >= 12
    assert load(model).name == "target"
    assert load(model).bytes_per_s.write.value > 1e5
    assert [path.name for path in target.iterdir()] == ["mine"]
    assert done.stderr.startswith("tailrace: ") and "were held out" in done.stderr


def test_asked_to_end_it_removes_its_files(tmp_path: Path) -> None:
    with started([TAILRACE, "calibrate", tmp_path, "--budget", "10m"]) as process:
        until(lambda: any(tmp_path.glob(".tailrace-calibrate-*/*")), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.write_text(""), "Not a directory"),
    ],
)
def test_what_cannot_be_measured_is_told(tmp_path: Path, make, sentence: str) -> None:
    place = tmp_path / "place"
    make(place)
    done = subprocess.run([TAILRACE, "calibrate", place], capture_output=True, text=True)
    assert done.returncode == 2
    assert sentence in done.stderr and "hint: give a directory" in done.stderr
