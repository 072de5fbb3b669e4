"""docs/tutorial/python.md runs as it stands, and prints what it says."""

from __future__ import annotations

import doctest

import pytest

from ..conftest import ROOT
from .columns import SECOND
from .conftest import serial_master

pytest.importorskip("matplotlib").use("Agg")

TUTORIAL = ROOT / "docs" / "tutorial" / "python.md"


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
