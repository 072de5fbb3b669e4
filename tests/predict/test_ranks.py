"""What more ranks would give, by runs on fewer: on a device with one queue, whose rate is known,
and with ranks that sleep instead of computing, so that there may be more of them than cores."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tailrace.errors import TailraceError
from tailrace.predict import command
from tailrace.predict.model import load
from tailrace.predict.ranks import FARTHEST, PARTS, Runs, _of_files
from tailrace.predict.spread import NINE_OF_TEN, PART_NOISE

from ..python.test_report import check_schema
from . import test_truth
from .test_model import toml, written
from .test_truth import program, recorded

__all__ = ["program"]
TAILRACE = str(Path(sys.executable).with_name("tailrace"))
RANKS = np.asarray([1.0, 2.0, 4.0])


def runs(**parts: np.ndarray) -> Runs:
    """So many seconds of each part, on 1, 2 and 4 ranks; none of the others."""
    columns = [parts.get(part.replace(" ", "_"), 0 * RANKS) for part in PARTS]
    return Runs(RANKS, np.column_stack(columns), waited=False)


def test_each_part_follows_a_law_of_its_own() -> None:
    """8 s are shared out, files take 1 s on any number of ranks, transfers 0.5 s a rank."""
    known = runs(computing=8 / RANKS, files=1 + 0 * RANKS, transfers=0.5 * RANKS)
    # on 4 ranks 2 + 1 + 2, on 16 ranks 0.5 + 1 + 8
    assert known.measured_s == pytest.approx(5)
    found = known.predict(16)
    assert found.predicted_s == pytest.approx(9.5)
    assert found.interval_s[0] <= 9.5 <= found.interval_s[1]
    assert found.efficiency == pytest.approx(
        {
            "parallel": 0.5 / 9.5,
            "load_balance": 1,
            "serialization": 1,
            "io": 0.5 / 1.5,
            "transfer": 1.5 / 9.5,
        }
    )
    assert found.next == "time in MPI"
    assert "computing: 8.00 s / n on n ranks" in found.change.assumes


def test_as_many_ranks_take_what_they_took() -> None:
    """No law goes through these; what the run on 4 ranks took beyond its law it takes on 8 too."""
    known = runs(computing=np.asarray([8.0, 4.0, 2.6]))
    assert known.predict(4).predicted_s == pytest.approx(2.6)
    law = known.predict(8).change.laws["computing"].best
    assert float(law.at(4)) != pytest.approx(2.6, rel=0.01)
    assert known.predict(8).predicted_s == pytest.approx(2.6 + float(law.at(8) - law.at(4)))


def test_that_runs_differ_is_in_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    command._print("4 ranks", 5.0, [runs(computing=8 / RANKS).predict(8)])
    assert "Not in the interval" not in capsys.readouterr().out


def test_where_files_differ_little_their_law_is_surer() -> None:
    """Files take 1 s a rank; from three numbers of ranks other laws are open, if each may be off
    by 8 %."""
    known = runs(files=1.0 * RANKS)

    def width_s(of_files: float | None) -> float:
        low, high = replace(known, of_files=of_files).predict(8).interval_s
        return high - low

    assert width_s(0.01) < width_s(None) / 2 < width_s(NINE_OF_TEN * PART_NOISE)
    assert width_s(NINE_OF_TEN * PART_NOISE) == pytest.approx(width_s(None))


def test_a_model_speaks_of_runs_that_have_their_files_where_it_was_measured(tmp_path: Path) -> None:
    model = load(written(tmp_path, f"{toml()}\n[held_out]\nrun_to_run = 0.1\n"))
    own = model.model_copy(update={"directory": "/scratch"})
    one, other = (
        SimpleNamespace(columns={"files": {"path": [b"/etc/passwd", path]}})
        for path in (b"/scratch/out", b"/home/out")
    )
    assert _of_files([one, one], [model, own]) == 0.1
    assert _of_files([one, other], [own]) is _of_files([one], [model]) is None


def test_far_away_nothing_is_said() -> None:
    known = runs(computing=8 / RANKS)
    known.predict(FARTHEST * 4)
    with pytest.raises(TailraceError, match="65 ranks are more than 16 times the 4"):
        known.predict(FARTHEST * 4 + 1)


def test_runs_on_too_few_numbers_of_ranks_are_refused(tmp_path: Path) -> None:
    command = [TAILRACE, "run", "--no-report", "-o", "run", "--", sys.executable, "-c", "pass"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    asked = [TAILRACE, "whatif", "run", "run", "--ranks", "4"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "a law needs runs on 3 numbers of ranks at least, and these are on 1" in done.stderr
    assert "hint: record the program on more numbers of ranks" in done.stderr


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.measured("what a run takes on eight ranks, against the prediction")
@pytest.mark.parametrize(
    "program", ["mpich", pytest.param("openmpi", marks=pytest.mark.whole)], indirect=True
)
def test_eight_ranks_are_predicted_from_fewer(
    program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rank 0 writes for all on a slow device: its time in files grows with the ranks. (From one
    rank to two it grows less: the second one computes longer, and rank 0 writes meanwhile.)"""
    traces = {}
    for ranks in (2, 3, 4, 6, 8):
        monkeypatch.setattr(test_truth, "RANKS", ranks)
        traces[ranks] = recorded(program, "serial", tmp_path / str(ranks), slow=True)
    command = [TAILRACE, "whatif", *(traces[n] for n in (2, 3, 4, 6)), "--ranks", "8"]
    answer = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    document = json.loads(answer.stdout)
    check_schema(document, "whatif.json")
    (told,) = document["changes"]
    assert told["arguments"] == {"ranks": 8}
    measured_s = test_truth.Run(traces[8]).measured_s
    assert told["predicted_s"] == pytest.approx(measured_s, rel=0.1)
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert words.startswith("8 ranks: the run would take ")
    assert "\n- files: " in words
