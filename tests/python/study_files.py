"""A small study of a command, and what the tests of studies share."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tailrace.cli import cli

# Appends its run's number to a file, so that what was really executed can be counted.
COMMAND = """\
schema = 1
name = "mine"
description = "A study of a command."
repetitions = 3

[run]
command = ["/bin/sh", "-c", 'echo "$1" >> "$2"; echo "took $3 s"', "sh", \
"{run}", "EXECUTED", "0.{first}"]
launcher = "none"
output_pattern = "took (?P<took_s>[0-9.]+) s"

[factor.first]
levels = [1, 2, 5]
unit = "things"

[factor.second]
levels = ["a", "b"]
labels = ["alpha", "beta"]

[[leave_out]]
when = {first = 5, second = "b"}

[size.small]

[size.large]
factor.first.levels = [1, 2, 5, 9]
"""


def write(folder: Path, text: str = COMMAND, name: str = "mine.toml") -> Path:
    """The study file; EXECUTED in it becomes a file in the same folder."""
    path = folder / name
    path.write_text(text.replace("EXECUTED", str(folder / "executed")))
    return path


def study(*words: object) -> Result:
    return CliRunner().invoke(cli, ["study", *map(str, words)])


def command_of(study_file: Path | str, directory: Path | str, *more: object) -> list[str]:
    """The command that runs a study file into a directory."""
    words = ["study", "run", study_file, "-o", directory, *more]
    return [sys.executable, "-m", "tailrace", *map(str, words)]


def start(path: Path, directory: Path) -> subprocess.Popen[bytes]:
    """A study in a process of its own; what it says is added to `said` beside the study file."""
    with (path.parent / "said").open("ab") as said:
        return subprocess.Popen(
            command_of(path, directory), stdout=said, stderr=said, cwd=path.parent
        )


def executed(folder: Path) -> list[int]:
    """The runs that were really begun, in their order."""
    path = folder / "executed"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "runs.jsonl").read_text().splitlines()]
