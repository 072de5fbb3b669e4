"""Short writes of several to one file, by arithmetic, by the engine and by a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace import engine
from tailrace.calibration import short_writes
from tailrace.calibration.probe import MIB, Probe, Sizes
from tailrace.calibration.processes import several
from tailrace.calibration.quantities import ENDLESS
from tailrace.predict.model import NOTHING, Quantity, load

from .test_model import toml, written

ROUNDS = [{"shared_write_of_64": 2e-4, "shared_write_of_1024": 3e-4}] * 3


def test_each_may_take_as_long_as_with_a_full_client() -> None:
    """From 64 to 1,024 of each process a write takes 0.1 ms longer, and the client has room for
    1,504 of each, 480 more. A room without an end says nothing. What one round in three showed may
    be so."""
    room = 1504 * short_writes.SHORT * several()
    found = short_writes.shared_write(ROUNDS, room)
    assert (found.low, found.value) == pytest.approx((3e-4, 3e-4))
    assert found.high == pytest.approx(3e-4 + 1e-4 / 960 * 480)
    assert short_writes.shared_write(ROUNDS, ENDLESS).high == pytest.approx(3e-4)
    assert short_writes.shared_write([{}], room) == NOTHING
    even = {"shared_write_of_64": 2e-4, "shared_write_of_1024": 2e-4}
    found = short_writes.shared_write([even, even, *ROUNDS[:1]], room)
    assert found.value == pytest.approx(2e-4)
    assert found.high > 2.5e-4


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
