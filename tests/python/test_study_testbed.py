"""What a study says of a test bed that does not work as it should."""

from __future__ import annotations

import pytest

from tailrace.bench.launcher import OPEN_MPI
from tailrace.bench.placement import Placement
from tailrace.capture.launch import spans_nodes
from tailrace.errors import TailraceError
from tailrace.study.running import placing, testbed

BROKEN = "the client of node9 does not reach server3 of striped"


def beds(state: str) -> list[dict[str, object]]:
    reason = BROKEN if state == "broken" else None
    mounts = ["/beds/striped/mnt/0"] if state == "up" else []
    return [
        {"name": name, "state": state, "reason": reason, "mounts": mounts, "hosts": ["node1"],
         "ssh": "ssh"}
        for name in ("striped", "cluster")
    ]  # fmt: skip


def test_a_broken_bed_is_not_used_and_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testbed, "status", lambda: beds("broken"))
    with pytest.raises(TailraceError) as refused:
        testbed.mount_of("striped")
    sentence, hint = str(refused.value), refused.value.hint
    assert sentence.startswith(f"striped of the test bed is broken: {BROKEN}")
    assert hint is not None and hint.endswith("testbed down striped, then up again")


def test_ranks_are_not_placed_on_a_broken_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testbed, "status", lambda: beds("broken"))
    placing.nodes.cache_clear()
    with pytest.raises(TailraceError, match="cluster of the test bed is broken: the client of"):
        placing.nodes(())
    placing.nodes.cache_clear()


def test_capture_sees_that_ranks_start_on_several_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind python, the launcher was an argument of somebody's program, and streams stayed on the
    nodes."""
    monkeypatch.setattr(testbed, "status", lambda: beds("up"))
    placing.nodes.cache_clear()
    placed = Placement(1, 2, placing.nodes(()))
    assert spans_nodes([*placed.launcher(("mpiexec",), OPEN_MPI), "-n", "2", "ls"])
    placing.nodes.cache_clear()


def test_a_bed_that_is_up_is_used_and_one_that_is_down_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(testbed, "status", lambda: beds("up"))
    assert str(testbed.mount_of("striped")) == "/beds/striped/mnt/0"
    monkeypatch.setattr(testbed, "status", lambda: beds("down"))
    with pytest.raises(FileNotFoundError):
        testbed.mount_of("striped")
