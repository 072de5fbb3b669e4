"""The tutorial in Python runs as it stands, and prints what it says; that of a first run shows the
run that README shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from ..conftest import ROOT
from .columns import SECOND
from .conftest import serial_master

pytest.importorskip("matplotlib").use("Agg")

TUTORIAL = ROOT / "docs" / "tutorial" / "python.md"
FIRST_RUN = ROOT / "docs" / "tutorial" / "first-run.md"


def test_tutorial(arithmetic, tmp_path, monkeypatch):
    for ranks in (1, 2, 4):
        path = arithmetic(
            f"model-{ranks}.tailrace", serial_master(ranks, work_ns=4 * SECOND // ranks)
        )
        arithmetic.stand_in.programs[path.name] = arithmetic.stand_in.programs[str(path)]
    monkeypatch.chdir(tmp_path)
    text = TUTORIAL.read_text("utf-8").replace("```\n", "\n").replace("```python", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "tutorial", str(TUTORIAL), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    outcome = runner.run(test, out=said.append)
    assert outcome.attempted > 20
    assert outcome.failed == 0, "".join(said)
    assert (tmp_path / "model-4.png").stat().st_size > 1000


def sessions(page: Path) -> list[str]:
    """What a page shows of a terminal: a prompt, a command and its output."""
    return re.findall(r"^```\n(\$ .*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_first_run_is_that_of_the_readme():
    """Two recorded runs would grow old by themselves, and differ in form from each other."""
    shown = sessions(FIRST_RUN)
    assert len(shown) == 2
    assert set(shown) <= set(sessions(ROOT / "README.md"))
