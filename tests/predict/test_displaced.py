"""Ranks wait less for a processor where client and servers take less of them, by arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.calibration import working
from tailrace.calibration.probe import MIB, SMALL, Probe, Sizes
from tailrace.calibration.working import processors
from tailrace.predict.change import Change
from tailrace.predict.displaced import displaced
from tailrace.predict.model import Model, load
from tailrace.predict.waits import Waits
from tailrace.predict.whatif import Run

from .test_model import toml, written
from .test_whatif import recorded


@pytest.mark.parametrize(
    ("was_s", "is_s", "left"),
    [
        # they took 8 of processors: all 4 of waits may be for them, and a quarter is left
        (8.0, 2.0, 0.25),
        (8.0, 0.0, 0.0),
        # 2 keep ranks waiting for 2 of the 4 at most
        (2.0, 0.0, 0.5),
        (2.0, 1.0, 0.75),
        # nobody waits longer
        (8.0, 16.0, 1.0),
        # nobody took any, so that ranks waited for others
        (0.0, 5.0, 1.0),
        (0.0, 0.0, 1.0),
    ],
)
def test_ranks_wait_less_as_client_and_servers_work_less(
    was_s: float, is_s: float, left: float
) -> None:
    assert displaced(4.0, was_s, is_s).left == pytest.approx(left)


def test_who_did_not_wait_waits_no_less() -> None:
    assert displaced(0.0, 8.0, 2.0).left == 1


WORKS = """
[processors]
write = {}
read = 0
lock = 0
call = 0
written_byte = 0
read_byte = 0
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("displaced"))


def works(tmp_path: Path, write_s: float | None, directory: Path | None = None) -> Model:
    """Calls take no time; client and servers take so much of processors for each write."""
    model = load(written(tmp_path, toml() + (WORKS.format(write_s) if write_s else "")))
    return model.model_copy(update={"directory": str(directory) if directory else None})


def waited(computed_s: float, **more: bool) -> Waits:
    """A quarter of all computing, and in files as much."""
    known = Waits(0.5, {"useful": 0.25}, {"useful": 0.25 * computed_s}, "", 1.0, True)
    return known._replace(**more)


def test_what_ranks_waited_goes_with_what_client_and_servers_do(
    trace: Path, tmp_path: Path
) -> None:
    """On files without cost the run is its computing, a quarter of it waits. Client and servers
    took 50 · 40 ms = 2 s of processors, and take a fifth of that: waits become a fifth as long."""
    here = trace.parents[1]
    target, own = works(tmp_path, 8e-3), works(tmp_path, 40e-3, here)
    computed_s = Run(trace).predict(Change(target=target, cache="cold")).predicted_s
    run = Run(trace, waited=waited(computed_s), models=[own])
    found = run.predict(Change(target=target, cache="cold"))
    assert found.predicted_s == pytest.approx(computed_s * (0.75 + 0.25 / 5), rel=1e-3)
    # gone at best, as they were at worst
    assert found.off_s == pytest.approx(
        (computed_s * 0.25 / 5, computed_s * 0.25 * 4 / 5), rel=0.01
    )
    said = next(words for words in found.change.assumes if "client and servers" in words)
    assert "take 400 ms of processors, where the run had them take 2.00 s: 20.0 %" in said


@pytest.mark.parametrize("why", ["target", "own", "elsewhere", "shared"])
def test_what_ranks_waited_stays_where_nothing_tells_for_whom(
    trace: Path, tmp_path: Path, why: str
) -> None:
    """A model does not say what client and servers take, or none is of the run's file system, or
    ranks had no processor each."""
    here = tmp_path if why == "elsewhere" else trace.parents[1]
    target = works(tmp_path, None if why == "target" else 8e-3)
    own = works(tmp_path, None if why == "own" else 40e-3, here)
    change = Change(target=target, cache="cold")
    computed_s = Run(trace).predict(change).predicted_s
    run = Run(trace, waited=waited(computed_s, alone=why != "shared"), models=[own])
    found = run.predict(change)
    assert found.predicted_s == pytest.approx(computed_s)
    assert any("elsewhere stays" in words for words in found.change.assumes)


def test_what_is_found_is_the_mean_of_what_was_used_less_what_belongs_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 4 MiB a byte takes 1 ns; 64 writes of 4 KiB take 1 ms each beyond these, scattered 2 ms,
    and 3 ms between two locks, which have 1 ms each of it; reads of a byte 2 ns, of a call 5 ms; of
    six calls on names 4 ms each."""
    bulk, of_page = 4 * MIB, SMALL * 1e-9
    used = {
        "bulk": bulk * 1e-9,
        "writes": 64 * (1e-3 + of_page),
        "scattered": 64 * (2e-3 + of_page),
        "locked": 32 * (3e-3 + of_page),
        "read": bulk * 2e-9,
        "reads": 32 * (5e-3 + 2 * of_page),
        "calls": 8 * 6 * 4e-3,
    }
    rounds = [
        {f"worked_{name}": times * each for name, each in used.items()} for times in (0.5, 1.5)
    ]
    found = processors([{}, *rounds], bulk)
    assert found is not None
    assert {name: quantity.value for name, quantity in found} == pytest.approx(
        {
            "write": 1e-3, "scattered_write": 1e-3, "read": 5e-3, "lock": 1e-3, "call": 4e-3,
            "written_byte": 1e-9, "read_byte": 2e-9,
        }
    )  # fmt: skip
    # two rounds of which each is half as much off: 1.645 · 0.5 · √2 / √2
    assert found.call.high == pytest.approx(4e-3 * (1 + 1.645 * 0.5))
    assert processors([{}, {}, rounds[0]], bulk) is None


def test_what_this_process_uses_belongs_to_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2 s on two processors one was idle for 1.5 s in sum and this process ran for 0.5: others
    for 2."""
    clocks = {"monotonic": iter([10.0, 12.0]), "process_time": iter([1.0, 1.5])}
    for name, readings in clocks.items():
        monkeypatch.setattr(working.time, name, lambda readings=readings: next(readings))
    idle = iter([3.0, 4.5])
    monkeypatch.setattr(working, "_idle_s", lambda: next(idle))
    monkeypatch.setattr(working.os, "cpu_count", lambda: 2)
    assert working.others_s(lambda: None) == pytest.approx(2.0)


def test_beside_others_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = Sizes(4 * MIB, 4 * MIB)
    for used, is_told in ((0.0, True), (1.0, False)):
        monkeypatch.setattr(working, "others_s", lambda call, used=used: call() or used)
        assert bool(working.working(Probe(tmp_path), sizes)) == is_told
