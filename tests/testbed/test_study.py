"""Studies on the beds: a target that names one is where its mount is, and runs have what programs
need there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.study.library import open_study
from tests.python.study_files import command_of

# What a run sees of the variable is its result: 1 for FALSE, 2 for anything else, 0 for none.
SEES = """\
schema = 1
name = "sees"
description = "What the environment of a run is."
repetitions = 1
[run]
command = '''test -d {target} && case "$HDF5_USE_FILE_LOCKING" in FALSE) s=1;; \
"") s=0;; *) s=2;; esac; echo saw $s'''
shell = true
launcher = "none"
output_pattern = "saw (?P<seen>.)"
[factor.target]
levels = ["bed", "own"]
[target.bed]
testbed = "striped"
[target.own]
directory = "own"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options,own,seen",
    [([], {}, 1), ([], {"HDF5_USE_FILE_LOCKING": "BEST_EFFORT"}, 2), (["bed"], {}, 0)],
)
def test_a_bed_s_environment_is_that_of_every_run(
    tmp_path: Path,
    session_beds: Callable[[str], dict],
    options: list[str],
    own: dict[str, str],
    seen: int,
) -> None:
    """Unless the user has said otherwise, or named another directory than the bed's."""
    mount = Path(session_beds("striped")["mounts"][0])
    (tmp_path / "sees.toml").write_text(SEES)
    for name in ("own", "elsewhere"):
        (tmp_path / name).mkdir()
    elsewhere = [f"--target={name}={tmp_path / 'elsewhere'}" for name in options]
    environment = os.environ | {"TAILRACE_TESTBED": str(mount.parents[2])} | own
    command = command_of("sees.toml", "out", "--no-report", *elsewhere)
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    study = open_study(tmp_path / "out")
    assert set(study.done["seen"]) == {seen} and len(study.done) == 2
    assert (
        study.environment["variables"].get("HDF5_USE_FILE_LOCKING")
        == (None, "FALSE", "BEST_EFFORT")[seen]
    )
    assert not list(mount.glob("tailrace-study-*"))
