"""Between what a run may take, and how much longer or shorter it may become, by arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tailrace.predict.change import Change
from tailrace.predict.methods import Outputs
from tailrace.predict.model import load
from tailrace.predict.spread import RUN_TO_RUN, share
from tailrace.predict.waits import Waits
from tailrace.predict.whatif import COMPUTATION, Prediction, Run

from .test_model import toml, written
from .test_whatif import reader  # noqa: F401


def test_of_a_modelled_change_both_runs_differ_from_the_next(tmp_path: Path) -> None:
    """Between 3 and 4 s, and so 2.85 and 4.2 s with what the changed run differs by. Of the change
    the recorded run's 4 s differ besides: by 5 % of the hypotenuse of both, 5 s and 4 √2 s."""
    on_a_model = Change(target=load(written(tmp_path, toml())))
    told = Prediction(on_a_model, 3.5, (3.0, 4.0), {}, COMPUTATION, differ=(0.05, 0.05))
    assert told.interval_s == pytest.approx((2.85, 4.2))
    assert told.change_interval_s(4.0) == pytest.approx((-1.25, 0.2 * 2**0.5))
    scaled = Prediction(Change(io=2), 3.5, (3.0, 4.0), {}, COMPUTATION)
    assert scaled.interval_s == (3.0, 4.0) and scaled.change_interval_s(4.0) == (-1.0, 0.0)


def test_of_what_is_independent_the_root_of_squares_counts(tmp_path: Path) -> None:
    """A model's numbers leave 0.5 s open below and 0.3 above, what it leaves out 1.2 and 0.4 s.
    Where assumptions are open, they stay so as a whole."""
    change = Change(target=load(written(tmp_path, toml())))

    def found(by_numbers: bool) -> tuple[float, float]:
        of_model = (3.5, (3.0, 3.8), {}, COMPUTATION)
        return Prediction(change, *of_model, by_numbers, (1.2, 0.4)).interval_s

    assert found(by_numbers=True) == pytest.approx((3.5 - 1.3, 3.5 + 0.5))
    assert found(by_numbers=False) == pytest.approx((3.0 - 1.2, 3.8 + 0.4))


def test_what_a_model_left_out_of_programs_it_may_leave_out_of_the_run(tmp_path: Path) -> None:
    """Opening takes 1 s, and programs took half to twice what the model says: the numbers are
    exact, and so the edges."""
    off = "[held_out]\nmeasured_over_predicted = { value = 1, low = 0.5, high = 2 }\n"
    parameters = load(written(tmp_path, f"{toml(open='1')}\n{off}")).parameters
    opened = [parameters("value", edge)["calls"]["open"] for edge in ("low", "value", "high")]
    assert opened == [0.5e9, 1e9, 2e9]
    assert parameters("high", "value")["calls"]["open"] == 1e9


def test_how_much_files_differ_is_what_programs_did_that_were_run_twice() -> None:
    """Of a run that spends 0.8 of its time in files, which differ by 10 %: 8 % of it. The rest
    differs by 1.645 × 8 % of 0.2: 2.6 %; of a run that has no files it would be 13 %, and that is
    more than a run differs where nothing is known."""
    assert share(0.8, 0.1) == pytest.approx(math.hypot(0.08, 1.645 * 0.08 * 0.2))
    assert share(0.0, 0.1) == share(0.5, None) == RUN_TO_RUN


def test_a_model_of_where_the_run_was_says_how_much_it_differs(
    reader: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    off = "[held_out]\nrun_to_run = 0.5\n"
    target = load(written(tmp_path, f"{toml(open='1')}\n{off}"))
    own = target.model_copy(update={"directory": str(reader.parents[1])})
    change = Change(target=target)
    there, elsewhere = (Run(reader, models=[model]).predict(change) for model in (own, target))
    assert there.interval_s == elsewhere.interval_s
    assert elsewhere.differ[1] == RUN_TO_RUN != there.differ[1]
    assert any("that were run twice" in sentence for sentence in there.change.assumes)


def test_the_recorded_run_differs_as_the_numbers_of_its_file_system_do(
    reader: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """It opens one file there, which takes 100 s, or 90 to 120 s, and all else next to nothing: it
    may have been 20 % longer."""
    opening = "{ value = 100, low = 90, high = 120 }"
    known = written(tmp_path, f"{toml(open=opening)}\n[held_out]\nrun_to_run = 0\n")
    own = load(known).model_copy(update={"directory": str(reader.parents[1])})
    run = Run(reader, models=[own])
    differs = run.predict(Change(target=own, directory=reader.parents[1], cache="cold")).differ[1]
    assert differs == pytest.approx(math.hypot(0.2, RUN_TO_RUN), rel=0.05)


def test_a_program_may_be_off_to_the_other_side_than_those_that_were_held_out(
    reader: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Opening takes 100 s and all else next to nothing. Programs took between half of that and as
    much, as far as was seen: this one may take twice as much as well."""
    off = "[held_out]\nmeasured_over_predicted = { value = 1, low = 0.5, high = 1 }\n"
    target = load(written(tmp_path, f"{toml(open='100')}\n{off}"))
    found = Run(reader).predict(Change(target=target, cache="cold"))
    assert found.off_s == pytest.approx((found.predicted_s / 2, found.predicted_s), rel=0.01)


def test_on_another_file_system_ranks_may_wait_for_no_processor(
    reader: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """At best what the run waited for outside of its file calls is gone, and no more than there is:
    without MPI it is all computing."""
    target = load(written(tmp_path, toml()))

    def less_s(change: Change, **most_s: float) -> float:
        run = Run(reader, waited=Waits(0.5, {"useful": 0.5}, most_s, ""))
        return run.predict(change).off_s[0]

    moved = Change(target=target)
    assert less_s(moved, useful=1e-5, io=1.0, mpi=1.0) == pytest.approx(1e-5)
    computed_s = Run(reader).predict(replace(moved, cache="warm")).predicted_s
    assert less_s(moved, useful=1e3) <= computed_s * 1.01
    assert less_s(Change(io=2), useful=1e-5) == 0


def test_what_took_longer_beside_waits_may_cost_nothing(tmp_path: Path) -> None:
    """At best; what is most likely, and at worst, has it all."""
    asked = []

    class Steps:
        def transfers_ns(self) -> None:
            return None

        def beyond(self, *_: object, warm: bool, waits: bool) -> None:
            asked.append(waits)

    model = load(written(tmp_path, toml()))
    outputs = Outputs(Steps(), "run", 1024)
    for edge in ("low", "value", "high"):
        outputs.beyond(model, edge, warm=False, off="value")
    assert asked == [False, True, True]
