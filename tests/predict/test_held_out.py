"""How far a model is off, by programs whose times are known."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from tailrace.calibration.probe import KIB, Probe, Sizes
from tailrace.calibration.programs import Program, Programs, judged, run_to_run
from tailrace.predict.model import load

from .test_model import toml, written


def test_the_interval_holds_nine_tenths_of_the_time(tmp_path: Path) -> None:
    """Each program opens files for 1 s each; they take so many times as long as the model says."""
    model = load(written(tmp_path, toml(open="1")))

    def program(files: int, ratio: float) -> Program:
        return Program([("open", file, 0, 0) for file in range(files)], (files * ratio,))

    # in order of their ratios they reach 0.1, 10.1, 11, 61 and 100 s: 5 s lie at 0.5, 95 at 1.5
    programs = [
        program(20, 0.5),  # 10 s
        program(50, 1.0),  # 50 s
        program(26, 1.5),  # 39 s
        program(1, 0.1), program(1, 0.9),  # 1 s together
    ]  # fmt: skip
    widened, errors = judged(programs, model)
    off = widened.held_out.measured_over_predicted
    assert (off.low, off.value, off.high) == (0.5, 1, 1.5)
    # 1/0.5 − 1 = 1, 0, 1/1.5 − 1 = −1/3, 9 and 1/0.9 − 1 = 1/9: in order 0, 1/9, 1/3, 1, 9
    assert errors["median_error"] == pytest.approx(1 / 3)
    assert errors["worst_error"] == pytest.approx(9)
    # by the others alone: 0.5 is outside of 1 to 1.5, 1.5 of 0.5 to 1, 0.1 of 0.5 to 1.5
    assert errors["within_interval"] == pytest.approx(2 / 5)
    assert errors["runs"] == 5


def test_a_model_that_is_right_keeps_its_edges(tmp_path: Path) -> None:
    model = load(written(tmp_path, toml(open="1")))
    programs = [Program([("open", 0, 0, 0)], (1.0,)) for _ in range(3)]
    widened, errors = judged(programs, model)
    assert widened == model
    assert errors["within_interval"] == 1 and errors["worst_error"] == 0


def test_each_program_is_run_in_one_round_and_again_in_the_next(tmp_path: Path) -> None:
    held_out = Programs(random.Random(1), Sizes(64 * KIB, 64 * KIB))
    runs = []
    for _ in range(3):
        held_out.begin_round()
        for _ in range(2):
            held_out.run(Probe(tmp_path))
        runs.append([len(program.times_s) for program in held_out.done])
    assert runs == [[1, 1], [2, 2], [2, 2, 1, 1]]


def test_by_how_much_one_run_differs_from_the_next() -> None:
    """Two runs of 10 % more and less than their mean each: twice 0.1 over the root of two."""
    low, high = math.exp(-0.1), math.exp(0.1)
    one = 1.645 * 0.2 / math.sqrt(2)
    assert run_to_run([(low, high), (high, low), (1.0,)]) == pytest.approx(one)
    # as long again without any difference: half the variance
    assert run_to_run([(low, high), ((low + high) / 2,) * 2]) == pytest.approx(one / math.sqrt(2))
    assert run_to_run([(1.0,)]) is None
