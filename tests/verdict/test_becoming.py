"""Programs that become another one (`exec`) of which nothing is recorded."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

BECOMES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **words)
{
    FILE *file = fopen("before", "w");
    for (int i = 0; i < 20000; i++)
        fprintf(file, "%d\n", i);
    fclose(file);
    execvp("/nowhere/at/all", words + 1);
    const char *how = getenv("HOW");
    if (how && !strcmp(how, "execl"))
        execl("/bin/sh", words[1], words[2], words[3], NULL);
    if (how && !strcmp(how, "execlp"))
        execlp(words[1], words[1], words[2], words[3], NULL);
    if (how && !strcmp(how, "execle"))
        execle("/bin/sh", words[1], words[2], words[3], NULL, environ);
    if (count > 1)
        execvp(words[1], words + 1);
    return 0;
}
"""


def becoming(command: list[str], folder: Path, how: str = "execvp"):
    (folder / "becomes.c").write_text(BECOMES)
    subprocess.run(["gcc", "-O1", "-o", "becomes", "becomes.c"], cwd=folder, check=True)
    return captured(["./becomes", *command], folder, os.environ | {"HOW": how})[0]


@pytest.mark.parametrize("how", ["execvp", "execl", "execlp", "execle"])
def test_what_a_program_becomes_is_named_and_no_part_of_the_run(how, tmp_path: Path):
    run = becoming(["sh", "-c", "sleep 1; true"], tmp_path, how)
    said = "The program became sh, which was not recorded: 1."
    assert said in run.headline, run.headline
    assert "does not hold" not in run.headline
    assert run.columns["runtime_ns"] < 900_000_000
    assert not run.columns["capture"]["notes"]
    assert run.columns["capture"]["complete"]


@pytest.mark.parametrize("command", [[], ["true"]])
def test_neither_a_refused_one_nor_one_that_is_soon_over_is_told(command, tmp_path: Path):
    run = becoming(command, tmp_path)
    assert "became" not in run.columns["meta"] or command
    assert "killed" not in " ".join(run.columns["capture"]["notes"])
    assert run.columns["capture"]["complete"]


def test_what_was_recorded_before_a_shell_is_not_left_out(tmp_path: Path):
    """The last command of the shell takes its place, and is recorded."""
    run = becoming(["sh", "-c", "sleep 1; exec ./becomes"], tmp_path)
    assert "only becomes" not in run.headline.lower(), run.headline
    assert "the program was sh for 1." in run.headline.lower(), run.headline
