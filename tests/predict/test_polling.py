"""Ranks that keep their processors while they wait, and what that makes of a model's numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tailrace import engine
from tailrace.calibration import among, beside
from tailrace.calibration.probe import MIB, SMALL, Probe, Sizes
from tailrace.calibration.waiting import USUAL
from tailrace.predict import polling as module
from tailrace.predict.model import Model, Quantity, load
from tailrace.predict.polling import UNKNOWN, Polling, polling
from tailrace.verdict.processors import Node

from .test_calibration_fit import CALL_S, RATE, fitted
from .test_model import toml, written

OPEN_MPI, MPICH = "Open MPI v4.1.4, package: Debian", "MPICH Version:\t4.3.0"


def found(monkeypatch: pytest.MonkeyPatch, mpi: str, *nodes: Node) -> Polling:
    class Found:
        def __init__(self) -> None:
            self.nodes = nodes

    monkeypatch.setattr(module, "processors_of", lambda _: Found() if nodes else None)
    return polling({"meta": {"mpi": mpi}})


def test_open_mpi_keeps_processors_where_each_rank_has_one(monkeypatch: Any) -> None:
    """It yields where a node has more ranks than cores; of two nodes the one with fewer counts."""
    two, four = Node("a", 2, 2), Node("b", 4, 8)
    assert found(monkeypatch, OPEN_MPI, two) == Polling(cores=2)
    assert found(monkeypatch, OPEN_MPI, two, four) == Polling(cores=2)
    assert found(monkeypatch, OPEN_MPI, four, Node("c", 3, 2)) == Polling(yields=True)
    assert found(monkeypatch, MPICH, two) == Polling(yields=True)


def test_of_others_nothing_is_assumed(monkeypatch: Any) -> None:
    """No MPI, one of which nobody here knows how it waits, or a trace that tells no cores."""
    for mpi, nodes in (
        ("", [Node("a", 2, 2)]),
        ("Intel(R) MPI Library 2021.9", [Node("a", 2, 2)]),
        (OPEN_MPI, [Node("a", 2, 0)]),
        (OPEN_MPI, []),
    ):
        assert found(monkeypatch, mpi, *nodes) == UNKNOWN


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """A lock after a write takes 4 ms more where ranks wait and 1 ms else."""
    model = load(written(tmp_path, toml(lock="1e-4")))
    more = {
        "lock_after_write": Quantity(value=4e-3, low=4e-3, high=4e-3),
        "lock_after_write_unwaited": Quantity(value=1e-3, low=1e-3, high=1e-3),
    }
    return model.model_copy(update={"calls": model.calls.model_copy(update=more)})


def test_who_yields_locks_as_who_waits_for_nobody(model: Model) -> None:
    as_measured = UNKNOWN.parameters(model, "value")
    assert as_measured["lock_after_write"] == pytest.approx(4e6)
    yields = Polling(yields=True).parameters(model, "value")
    assert yields["lock_after_write"] == yields["lock_after_write_unwaited"] == pytest.approx(1e6)
    assert (yields["cores"], Polling(cores=2).parameters(model, "value")["cores"]) == (None, 2)


def test_the_engine_takes_cores_and_what_arriving_takes_beside_others(tmp_path: Path) -> None:
    """A close waits until a write has arrived: 0.4 ms longer beside a rank that is in no call, on a
    node of two cores, and not on one of three."""
    model = load(written(tmp_path, toml(drains='["close"]'))).parameters()
    model |= {"arrival": 1e5, "arrival_beside": 5e5}
    calls = [("write", 0, 0, 4096), ("close", 0, 0, 0)]

    def end_ns(cores: int | None) -> int:
        return engine.model_ends(model | {"cores": cores}, [0, 0], [calls, []])[0]

    assert end_ns(2) - end_ns(None) == 400_000
    assert end_ns(3) == end_ns(None)


def test_what_was_not_measured_beside_ranks_is_as_it_is_alone(model: Model) -> None:
    calls = model.calls.model_copy(update={"arrival": Quantity(value=5e-4, low=5e-4, high=5e-4)})
    parameters = model.model_copy(update={"calls": calls}).parameters()
    assert parameters["arrival_beside"] == parameters["arrival"] == pytest.approx(5e5)


def test_arrivals_are_found_alone_and_beside() -> None:
    """Of a look-up that waits: alone 2 ms, beside 3, of which it takes 1 µs itself and the bytes of
    a small write 41 µs. Where a round has none beside, the others tell; where none has, nothing."""
    kept = {"under_way": 2.0 * MIB, "under_way_of_two": 2.0 * MIB, "copy_rate": 1e9}
    waits = {**kept, "look_up_dirty": 0.021, "look_up_after_small": 2e-3}
    itself = CALL_S + 4096 / RATE
    calls = fitted(**waits, look_up_after_small_beside=3e-3).model.calls
    assert calls.arrival.value == pytest.approx(2e-3 - itself)
    assert calls.arrival_beside is not None
    assert calls.arrival_beside.value == pytest.approx(3e-3 - itself)
    among = fitted(**waits, look_up_after_small_among=4e-3).model.calls.arrival_among
    assert among is not None and among.value == pytest.approx(4e-3 - itself)
    fit = fitted(**waits)
    assert fit.model.calls.arrival_beside is None and fit.model.calls.arrival_among is None
    assert any("while ranks keep all other cores" in words for words in fit.unknown)


def test_processes_that_keep_processors_end_with_what_they_are_for() -> None:
    core = min(os.sched_getaffinity(0))
    with beside.polling([core, core]) as processes:
        assert all(process.poll() is None for process in processes)
    assert all(process.poll() is not None for process in processes)


def test_calls_are_measured_beside_all_other_processors(tmp_path: Path, monkeypatch: Any) -> None:
    """On one processor there are no others."""
    monkeypatch.setattr(beside, "is_quiet", lambda: True)
    samples = beside.on_a_small_write_beside(Probe(tmp_path), Sizes(MIB, MIB))
    if len(os.sched_getaffinity(0)) > 1:
        (name,) = samples
        assert name in {f"{name}_after_small_beside" for name in USUAL}
        assert all(taken > 0 for taken in samples.values())
        assert len(os.sched_getaffinity(0)) > 1  # it is bound to one no more
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert beside.on_a_small_write_beside(Probe(tmp_path), Sizes(MIB, MIB)) == {}


def test_calls_are_measured_while_others_wait_for_theirs(tmp_path: Path, monkeypatch: Any) -> None:
    """Each process writes to a file of its own."""
    monkeypatch.setattr(among, "is_quiet", lambda: True)
    for name in USUAL:
        monkeypatch.setattr(among, "cheapest_that_waits", lambda _, name=name: name)
        monkeypatch.setattr(among, "several", lambda: 2)
        samples = among.on_small_writes_of_several(Probe(tmp_path), Sizes(MIB, MIB))
        assert set(samples) == {f"{name}_after_small_among"} and min(samples.values()) > 0
        sizes = [path.stat().st_size for path in tmp_path.iterdir() if path.name.count("-") == 2]
        assert sizes == [among.STEPS * SMALL] * 2
        for path in tmp_path.iterdir():
            path.unlink()


def test_who_started_them_and_is_killed_leaves_none() -> None:
    """They look whether their parent is there."""
    code = (
        "import os\nfrom tailrace.calibration.beside import polling\n"
        "with polling([min(os.sched_getaffinity(0))]) as [process]:\n"
        "    print(process.pid, flush=True)\n    os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(done.stdout)
    until = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()
