"""Who waits, where, for whom, and what that one did meanwhile: two ranks with a planted reason, on
both MPI families. Rank 0 measures its waits itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tailrace.library import Run
from tests.conftest import Mpi, find_mpi

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("who waited for what in a run")]


class Planted(NamedTuple):
    kind: str
    awaited: str
    function: str
    routine: str
    cause: tuple[int, str, str]


PLANTED = (
    Planted("sender", "late_sender", "MPI_Recv", "collect", (1, "useful", "")),
    Planted("receiver", "late_receiver", "MPI_Ssend", "hand_over", (1, "useful", "")),
    Planted("writer", "collective", "MPI_Barrier", "meet", (1, "io", "history.bin")),
    # Who asks again and again waits from the first time on.
    Planted("tested", "late_sender", "MPI_Test", "ask", (1, "useful", "")),
    Planted("probed", "late_sender", "MPI_Iprobe", "look", (1, "useful", "")),
    Planted("tested-writer", "collective", "MPI_Test", "ask", (1, "io", "history.bin")),
    Planted("thread", "late_sender", "MPI_Recv", "wait_for_thread", (0, "io", "thread.bin")),
)


@pytest.fixture(scope="session", params=("mpich", "openmpi"))
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Mpi, Path]:
    mpi = find_mpi(request.param)
    binary = tmp_path_factory.mktemp(f"waits-{request.param}") / "waits"
    source = Path(__file__).with_name("waits.c")
    subprocess.run([mpi.mpicc, "-g", "-O1", "-pthread", "-o", binary, source], check=True)
    return mpi, binary


def recorded(mpi: Mpi, binary: Path, kind: str, folder: Path) -> tuple[Run, float]:
    run, printed = captured(mpi.launch(2, binary, kind, folder), folder, mpi.variables())
    (waited,) = re.findall(r"^waited ([\d.]+)$", printed, re.M)
    return run, float(waited)


def before_the_end(run: Run, rows: str) -> list[dict[str, Any]]:
    """Without those of a rank that has nothing to do, in MPI_Finalize."""
    return [row for row in run.metrics["wait_states"][rows] if row["function"] != "MPI_Finalize"]


@pytest.mark.sampled
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.kind)
def test_the_wait_and_its_cause_are_named(
    program: tuple[Mpi, Path], planted: Planted, tmp_path: Path
) -> None:
    run, waited_s = recorded(*program, planted.kind, tmp_path)
    (wait, *_) = before_the_end(run, "calls")
    assert (wait["awaited"], wait["function"]) == (planted.awaited, planted.function)
    assert wait["place"].startswith(planted.routine)
    # The rank waits for nothing but this; what is left of its time in the call is transfer.
    assert 0.7 * waited_s <= wait["time_s"] <= 1.01 * waited_s
    (cause, *_) = before_the_end(run, "causes")
    rank, state, file = planted.cause
    assert (cause["cause_rank"], cause["cause_state"]) == (rank, state)
    assert Path(cause["cause_file"]).name == file
    assert cause["time_s"] >= 0.6 * wait["time_s"]
    if state == "io":
        assert cause["cause_place"].startswith("write_history")


@pytest.mark.sampled
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.kind)
def test_the_critical_path_leads_over_the_cause(
    program: tuple[Mpi, Path], planted: Planted, tmp_path: Path
) -> None:
    run, _ = recorded(*program, planted.kind, tmp_path)
    rank, state, file = planted.cause
    paths = run.metrics["critical_path"]
    for path in paths.values():
        parts = path["useful_s"] + path["io_s"] + path["mpi_s"] + path["start_s"]
        assert parts == pytest.approx(path["runtime_s"], abs=1e-8)
    # Either it computes and communicates, or it writes: all but the start and the end of the run.
    for key in ("measured", "ideal_network"):
        (most, *_) = paths[key]["parts"]
        assert (most["state"], most["rank"]) == (state, rank)
        assert Path(most["file"]).name == file
        assert most["share"] >= 0.4
    assert paths["ideal"]["io_s"] == 0
