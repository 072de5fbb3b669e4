"""Short writes of several to one file, by arithmetic, by the engine and by a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace import engine
from tailrace.calibration import short_writes
from tailrace.calibration.probe import MIB, Probe, Sizes
from tailrace.calibration.processes import several
from tailrace.predict.model import NOTHING, Quantity, load

from .test_model import toml, written

FEW, MANY = short_writes.FEW, short_writes.MANY


def rounds(few_s: float, many_s: float) -> list[dict[str, float]]:
    return [{f"{short_writes.NAME}{FEW}": few_s, f"{short_writes.NAME}{MANY}": many_s}] * 3


def test_each_takes_longer_for_each_that_is_on_its_way() -> None:
    """All are on their way at once, so that in the mean half of them are found there. A client with
    room for a quarter of the many finds that much but for the first: 0.25 - 0.25² / 2 of all."""
    few, many = FEW * several(), MANY * several()
    shared, queued = short_writes.shared_write(rounds(2e-4, 3e-4), 1e15)
    assert queued.value == pytest.approx(1e-4 / ((many - few) / 2))
    assert shared.value == pytest.approx(2e-4 - queued.value * few / 2)
    room = short_writes.SHORT * many / 4
    shared, queued = short_writes.shared_write(rounds(2e-4, 3e-4), room)
    assert queued.value == pytest.approx(1e-4 / (many * (0.25 - 0.25**2 / 2) - few / 2))
    # what many share takes less each
    shared, queued = short_writes.shared_write(rounds(3e-4, 2e-4), room)
    assert (shared.value, queued) == (pytest.approx(2e-4), NOTHING)
    for lacking in ({}, {f"{short_writes.NAME}{MANY}": 1e-4}):
        assert short_writes.shared_write([lacking], room) == (NOTHING, NOTHING)


def test_what_was_measured_is_what_the_engine_then_takes(tmp_path: Path) -> None:
    """Two ranks write as many of 256 bytes as were measured, and wait until all have arrived."""
    shared, queued = short_writes.shared_write(rounds(2e-4, 9e-4), 1e15)
    # copied in turns
    rates = {"copy_in": "1e9", "write_rate": "1e9"}
    model = load(written(tmp_path, toml(**rates, write_behind_bytes="1e10")))
    more = {"shared_write": shared, "shared_write_queued": queued}
    calls = model.calls.model_copy(update=more)
    model = model.model_copy(update={"calls": calls})
    number, size = MANY * several() // 2, short_writes.SHORT
    ranks = [
        [("write", 0, (2 * place + rank) * size, size) for place in range(number)]
        + [("synchronize", 0, 0, 0)]
        for rank in range(2)
    ]
    end_s = max(engine.model_ends(model.parameters(), [0, 0], ranks)) * 1e-9
    assert end_s == pytest.approx(9e-4 * 2 * number, rel=0.02)


def test_a_client_that_is_slow_with_them_has_room_for_others(tmp_path: Path) -> None:
    """100 of 256 bytes take 1 ms each on their way and fill a quarter of the room. A write to
    another file meanwhile returns when it is copied, and one of all the room does not."""
    rates = {"copy_in": "1e9", "write_rate": "1e9"}
    model = load(written(tmp_path, toml(**rates, write_behind_bytes="102400")))
    slow = Quantity(value=1e-3, low=1e-3, high=1e-3)
    calls = model.calls.model_copy(update={"shared_write": slow})
    model = model.model_copy(update={"calls": calls})

    def end_s(size: int) -> float:
        ranks = [
            [("write", 0, (2 * place + rank) * 256, 256) for place in range(50)] for rank in (0, 1)
        ]
        ranks[0].append(("write", 1, 0, size))
        return engine.model_ends(model.parameters(), [0, 0], ranks)[0] * 1e-9

    assert end_s(1000) < 1e-4
    assert end_s(102_400) > 0.09


def test_the_engine_takes_as_much_where_several_write_to_a_file(tmp_path: Path) -> None:
    """A write returns when it has come, 4,096 bytes after 1 ms, and 16 after 4 µs. From the second
    rank's on each takes 0.3 ms at least."""
    model = load(written(tmp_path, toml(write_rate="4.096e6")))
    least = Quantity(value=3e-4, low=3e-4, high=3e-4)
    calls = model.calls.model_copy(update={"shared_write": least})
    model, long, short = model.model_copy(update={"calls": calls}), 4096, 16

    def end_ns(ranks: list[int], size: int) -> int:
        calls = [[("write", 0, place * size, size)] for place in range(len(ranks))]
        return max(engine.model_ends(model.parameters(), ranks, calls))

    assert end_ns([0, 0], long) == pytest.approx(2e6, rel=1e-3)
    assert end_ns([0, 0], short) == pytest.approx(3.9e3 + 3e5, rel=1e-2)
    # another node has a client of its own
    assert end_ns([0, 1], short) == pytest.approx(2 * 3.9e3, rel=1e-2)


def test_they_are_measured_by_as_many_processes_as_there_are_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = short_writes.short_writes_of_several(Probe(tmp_path), Sizes(MIB, MIB))
    if several() > 1 and found:  # nobody else used them
        assert all(taken > 0 for taken in found.values())
        assert {path.stat().st_size for path in tmp_path.iterdir()} == {
            several() * number * short_writes.SHORT for number in (64, 1024)
        }
    monkeypatch.setattr(short_writes, "several", lambda: 1)
    assert short_writes.short_writes_of_several(Probe(tmp_path), Sizes(MIB, MIB)) == {}
