"""What writes under locks take beyond the rest of a model, by arithmetic and by a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace import engine
from tailrace.calibration import locking, processes
from tailrace.calibration.probe import SMALL, Probe, Sizes
from tailrace.predict.model import Model, Quantity, load

from .test_model import toml, written

STEP = [("lock", 0, 0, 0), ("write", 0, 0, SMALL), ("lock", 0, 0, 0)]


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """A lock takes 0.1 ms and a write 0.2 beyond its bytes, of which 4,096 take 1 ms to come; the
    write waits for its own, and a lock for all."""
    figures = {"lock": "1e-4", "write": "2e-4", "copy_in": "1e15", "write_rate": "4.096e6"}
    return load(written(tmp_path, toml(**figures, drains='["lock"]')))


def test_what_a_step_takes_more_is_the_locks(model: Model) -> None:
    """By one process 0.1 + 0.2 + 1 + 0.1 = 1.4 ms; where two write at once, the bytes of both."""
    by_one, by_two = 1.4e-3, 2.4e-3
    assert locking._predicted_step_s(model, 1) == pytest.approx(by_one)
    assert locking._predicted_step_s(model, 2) == pytest.approx(by_two)
    rounds = [
        {"locked_by_1": by_one + 0.1e-3, "locked_by_2": by_two + 1.9e-3, "lock": 1.0}
        for _ in range(3)
    ]
    found = locking.lock_after_write(rounds, model)
    assert (found.low, found.value, found.high) == pytest.approx((0.1e-3, 1.9e-3, 1.9e-3))
    # others had the processors whenever there were two
    alone = [{"locked_by_1": by_one + 0.1e-3}] * 3
    found = locking.lock_after_write(alone, model)
    assert (found.low, found.value, found.high) == pytest.approx((0.1e-3,) * 3)
    # no less than nothing
    faster = [{"locked_by_1": by_one / 2}] * 3
    assert locking.lock_after_write(faster, model).value == 0


def test_who_waits_for_nobody_is_measured_apart(model: Model) -> None:
    """In step 1.9 ms beyond the model's 2.4, each as fast as it can 0.5, by one process 0.1."""
    rounds = [
        {"locked_by_1": 1.5e-3, "locked_by_2": 4.3e-3, "locked_unwaited_by_2": 2.9e-3}
        for _ in range(3)
    ]
    found = locking.lock_after_write(rounds, model, locking.UNWAITED)
    assert (found.low, found.value, found.high) == pytest.approx((0.1e-3, 0.5e-3, 0.5e-3))
    assert locking.lock_after_write(rounds, model).value == pytest.approx(1.9e-3)


def test_what_several_take_is_told_where_both_ways_were_measured() -> None:
    """In any round, and not in the same."""
    several = processes.several()
    step, at_once = {f"locked_by_{several}": 4e-3}, {f"locked_unwaited_by_{several}": 3e-3}
    assert locking.are_told([{"locked_by_1": 1e-3} | step, at_once])
    assert not locking.are_told([step, step])
    assert not locking.are_told([at_once])


def test_a_model_takes_as_much_for_a_write_under_locks(model: Model) -> None:
    """1.4 ms, and 1.9 more when the second lock, which gives the first back, follows the write;
    the next step's first lock follows none."""
    more = Quantity(value=1.9e-3, low=1.9e-3, high=1.9e-3)
    calls = model.calls.model_copy(update={"lock_after_write": more})
    parameters = model.model_copy(update={"calls": calls}).parameters()
    taken = engine.model_times(parameters, [*STEP, *STEP])
    assert taken == [100_000, 1_200_000, 2_000_000] * 2


def test_processes_in_step_write_all_their_parts(tmp_path: Path) -> None:
    probe, number = Probe(tmp_path), 8
    ways = [(1, True, "lock"), (2, True, "lock"), (2, False, "lock"), (2, False, "write")]
    for place, (count, waits, does) in enumerate(ways, 1):
        taken = processes.steps(probe, count, number, SMALL, does, waits=waits)
        assert taken is not None
        assert 0 < taken.time_s <= taken.arrived_s
        assert (tmp_path / f"probe-{place}").stat().st_size == count * number * SMALL
    assert "locked_by_1" in locking.writes_under_locks(probe, Sizes(SMALL, SMALL))


def test_what_cannot_be_locked_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some mounts refuse locks; there the rest of a model is still measured."""
    refusing = tmp_path / "in_step.py"
    refusing.write_text("raise OSError(37, 'No locks available')")
    monkeypatch.setattr(processes, "PROGRAM", refusing)
    assert locking.writes_under_locks(Probe(tmp_path), Sizes(SMALL, SMALL)) == {}
    slow = tmp_path / "slow.py"
    slow.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(processes, "PROGRAM", slow)
    monkeypatch.setattr(processes, "LONGEST_S", 0.2)
    assert locking.writes_under_locks(Probe(tmp_path), Sizes(SMALL, SMALL)) == {}
