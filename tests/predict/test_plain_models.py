"""A model that says nothing of several nodes gives what it gave before models could: the numbers
here were made by the release before `[client]`, `[servers]`, `[locks]` and `[metadata]`, but for
the last millionths: a client's room is counted in bytes now, and not in the time that they take.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tailrace import engine
from tailrace.bench import loader
from tailrace.predict.model import KINDS, load
from tailrace.simulate import description

from .test_model import CALLS, toml, written
from .test_simulate import NETWORK, WORKLOAD

SHARED = ("link", "servers", "locks", "metadata")


def awkward(directory: Path, rereads: str) -> dict:
    """Numbers that no sum in another order would give again to the nanosecond."""
    costs = {name: str(1e-6 * (3 + place) / 7) for place, name in enumerate(CALLS)}
    rates = {"copy_in": "3.1e9", "copy_out": "7.3e9", "write_rate": "0.37e9", "read_rate": "0.91e9"}
    content = toml(
        **costs, **rates, write_behind_bytes="5e5", drains='["close"]', rereads=f'"{rereads}"'
    )
    more = {"scattered_write": 777.7, "sent_write": 1234.5, "sent_scattered_write": 99.9}
    arrivals = dict.fromkeys(("arrival", "arrival_beside", "arrival_among"), 31_415.9)
    return load(written(directory, content)).parameters() | more | arrivals


def calls(count: int) -> list[tuple[str, int, int, int]]:
    drawn = random.Random(7)
    sizes = (0, 1, 100, 47_008, 1 << 20)
    return [
        (drawn.choice(KINDS), drawn.randrange(5), drawn.randrange(1 << 22), drawn.choice(sizes))
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("rereads", "total", "some"),
    [
        ("never", 292_258_940, [1143, 1571, 1000, 1000, 857]),
        ("while_open", 265_556_588, [1143, 1571, 1000, 1000, 857]),
        ("always", 244_182_410, [1143, 1571, 1000, 1000, 857]),
    ],
)
def test_calls_take_what_they_took(
    tmp_path: Path, rereads: str, total: int, some: list[int]
) -> None:
    model = awkward(tmp_path, rereads)
    times = engine.model_times(model, calls(3000))
    assert (sum(times), times[-5:]) == (total, some)
    older = {key: value for key, value in model.items() if key not in SHARED}
    assert engine.model_times(older, calls(3000)) == times


@pytest.mark.parametrize(
    ("method", "each", "together"),
    [
        ("serial", 57_102_004, 57_102_083),
        ("independent", 275_425_386, 275_577_782),
        ("file-per-rank", 58_682_285, 58_745_023),
        ("aggregated", 60_322_486, 60_342_044),
    ],
)
def test_runs_take_what_they_took(tmp_path: Path, method: str, each: int, together: int) -> None:
    (tmp_path / "small.toml").write_text(WORKLOAD)
    changes = {"grid": [64, 64, 8], "steps": 40}
    workload = loader.sized(loader.load(str(tmp_path / "small.toml")), None, changes, "")
    described = description.described(workload, 16, 4, (method, "posix"), 1e-4, {})
    model = awkward(tmp_path, "while_open")
    found = [
        engine.simulate(described, model, **NETWORK, calls_at_most=most)["runtime_ns"]
        for most in (10_000_000, 500)
    ]
    assert found == [each, together]
