"""Capture over several nodes: one file a node, clocks on one time, nodes that die, and directories
that only one node sees."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tailrace
from tailrace.study.library import open_study
from tests.conftest import find_mpi
from tests.processes import LONGEST_WAIT_S, until
from tests.testbed.bed import Testbed
from tests.testbed.conftest import require
from tests.testbed.test_cluster import Nodes, enter, entering

if TYPE_CHECKING:
    import pandas as pd

pytestmark = pytest.mark.slow

CLI = [sys.executable, "-m", "tailrace"]
PROGRAMS = Path(__file__).parent / "programs"
DRIFT_PPM = 50


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Four, with clocks 1000 s apart that drift, and NFS, where traces go."""
    require("cluster")
    require("nfs")
    testbed = Testbed(tmp_path_factory.mktemp("capture") / "bed")
    bed = testbed.up("cluster", "--nodes", "4", "--clock-drift", str(DRIFT_PPM))
    mounts = {"nfs": Path(testbed.up("nfs")["mounts"][0])}
    yield Nodes(testbed, bed, mounts)
    testbed.down("--force")
    assert testbed.nothing_is_left()


def compiled(name: str, tmp_path: Path, mpi: str = "mpich") -> Path:
    program = tmp_path / name
    subprocess.run([find_mpi(mpi).mpicc, "-O2", PROGRAMS / f"{name}.c", "-o", program], check=True)
    return program


def launch(nodes: Nodes, ranks: int, per_node: int) -> list[str]:
    """The words before the program."""
    ssh = ["-launcher", "ssh", "-launcher-exec", nodes.bed["ssh"], "-iface", "eth0"]
    hosts = ["-hosts", ",".join(nodes.bed["hosts"]), "-ppn", str(per_node), "-n", str(ranks)]
    return [str(find_mpi("mpich").mpiexec), *ssh, *hosts]


def recorded(nodes: Nodes, output: Path, *command: str | Path) -> subprocess.Popen[str]:
    words = [*CLI, "run", "-o", output, "--", *command]
    return subprocess.Popen(
        entering(nodes.testbed, "node1", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_on(nodes: Nodes) -> list[str]:
    """Directories of runs that nodes still hold."""
    found = []
    for node in nodes.bed["hosts"]:
        listed = enter(nodes.testbed, node, "sh", "-c", "ls $TMPDIR")
        found += [node for name in listed.split() if re.match(r"tailrace-\d+-[0-9a-f]{16}$", name)]
    return found


@pytest.mark.measured("the clocks of nodes")
def test_clocks_come_to_one_time(nodes: Nodes, tmp_path: Path) -> None:
    """Median error of every rank's clock within 1 % of the shortest message; nothing of the run is
    left on the nodes, nor a stream on the shared file system."""
    program = compiled("truth", tmp_path)
    output = nodes.mounts["nfs"] / tmp_path.name
    run = recorded(nodes, output, *launch(nodes, 8, 2), program, "300")
    printed, said = run.communicate(timeout=LONGEST_WAIT_S)
    assert run.returncode == 0, said
    assert left_on(nodes) == []
    names = sorted(path.name for path in output.iterdir())
    assert names == ["report.html", "truth.tailrace"]
    errors_ns = clock_errors_ns(tailrace.open(output / "truth.tailrace"))
    assert len(errors_ns) == 8
    shortest_ns = float(printed)
    assert np.median(np.abs(np.concatenate(list(errors_ns.values())))) < 0.01 * shortest_ns


def clock_errors_ns(run: tailrace.Run) -> dict[int, np.ndarray]:
    """Of each rank's clock against rank 0's, by the time-stamp counter, ten stretches of the run.

    From reading the counter to the begin of the call nothing is as short as the shortest of many:
    of each stretch the least counts, and rank 0's line is fitted to its shortest.
    """
    calls = run.calls().to_pandas()
    writes = calls[calls.function == "pwrite"]
    first = writes[writes["rank"] == 0].iloc[0]
    true = (writes.offset - first.offset).astype(float)
    aligned = (writes.begin_ns - first.begin_ns).astype(float)
    slope, start = line_below(true[writes["rank"] == 0], aligned[writes["rank"] == 0])
    late = aligned - (slope * true + start)
    found = {}
    for rank, of_rank in late.groupby(writes["rank"]):
        found[int(rank)] = np.array([part.min() for part in np.array_split(of_rank, 10)])
    return found


def line_below(true: pd.Series, aligned: pd.Series) -> tuple[float, float]:
    for _ in range(8):
        slope, start = np.polyfit(true, aligned, 1)
        late = aligned - (slope * true + start)
        kept = late <= late.quantile(0.6)
        true, aligned = true[kept], aligned[kept]
    return slope, start


def test_a_node_that_dies_is_named_and_what_others_hold_is_collected(
    nodes: Nodes, tmp_path: Path
) -> None:
    program, begun = compiled("waits", tmp_path), nodes.mounts["nfs"] / "begun"
    output = nodes.mounts["nfs"] / "dies"
    run = recorded(nodes, output, *launch(nodes, 8, 2), program, begun, "600")
    until(begun.exists)
    enter(nodes.testbed, "node3", "sh", "-c", "kill -9 $(pidof waits)")
    said = run.communicate(timeout=LONGEST_WAIT_S)[1]
    assert run.returncode != 0
    held = left_on(nodes)
    assert held
    assert f"what was recorded on {', '.join(held)} is still there" in said
    assert "hint: on each of them `tailrace collect " in said
    for number, node in enumerate(held, 1):
        done = subprocess.run(
            entering(nodes.testbed, node, *CLI, "collect", output), capture_output=True, text=True
        )
        assert re.match(r"2 streams collected", done.stdout), done.stderr
        assert done.returncode == (0 if number == len(held) else 1)
    assert left_on(nodes) == []
    subprocess.run([*CLI, "pack", output / "raw"], check=True)
    packed = tailrace.open(output / "dies.tailrace")
    assert len(packed.ranks) == 8


def test_what_is_never_found_is_left_out_and_its_node_named(nodes: Nodes, tmp_path: Path) -> None:
    """The streams are gone with the node's disk: its ranks do not count as idle."""
    program, begun = compiled("waits", tmp_path), nodes.mounts["nfs"] / "begun-lost"
    output = nodes.mounts["nfs"] / "lost"
    run = recorded(nodes, output, *launch(nodes, 4, 1), program, begun, "20")
    until(begun.exists)
    enter(nodes.testbed, "node2", "sh", "-c", "rm -r $TMPDIR/tailrace-*")
    said = run.communicate(timeout=LONGEST_WAIT_S)[1]
    assert run.returncode == 0, said
    found = tailrace.open(output / "waits.tailrace")
    sentences = " ".join(str(finding) for finding in found.findings)
    assert "nothing was found of rank 1, left out of every average" in sentences
    assert "node2 still held what was recorded there" in sentences


def test_an_output_directory_that_only_one_node_sees_works(nodes: Nodes, tmp_path: Path) -> None:
    """What nodes leave goes beside the program until it is packed."""
    program = compiled("waits", tmp_path)
    here = nodes.mounts["nfs"] / "here"
    here.mkdir()
    command = [*CLI, "run", "--no-report", "-o", "/dev/shm/trace", "--", *launch(nodes, 4, 1)]
    text = " ".join(map(str, [*command, program, "begun", "4"]))
    enter(nodes.testbed, "node1", "sh", "-c", f"cd {here} && {text} && ls /dev/shm/trace >listed")
    assert (here / "listed").read_text() == "waits.tailrace\n"
    assert sorted(path.name for path in here.iterdir()) == ["begun", "listed"]


def test_where_nothing_is_seen_by_all_the_program_is_told_of_first(
    nodes: Nodes, tmp_path: Path
) -> None:
    program = compiled("waits", tmp_path)
    for strict in ([], ["--strict"]):
        words = [*CLI, "run", *strict, "-o", "/dev/shm/trace", "--", *launch(nodes, 2, 1)]
        text = " ".join(map(str, [*words, program, "/dev/shm/begun", "3"]))
        script = f"cd /dev/shm; {text} 2>said; echo $?; cat said; ls; rm -f begun"
        answer = enter(nodes.testbed, "node1", "sh", "-c", script)
        assert "/dev/shm/trace is on this node only, and the ranks are on several" in answer
        assert "hint: name a directory that all nodes see with -o" in answer
        assert answer.startswith("2" if strict else "0")
        assert ("begun" in answer.split()) is not bool(strict)


STUDY = """\
schema = 1
name = "placed"
description = "Where ranks run, and what each writes."
repetitions = 1
[run]
command = ["sh", "-c", "hostname >{target}/$(hostname).$PMI_RANK$PMIX_RANK; echo wrote 1"]
output_pattern = "wrote (?P<wrote>.)"
ranks_per_node = 2
[factor.nodes]
levels = [1, 4]
[target.net]
testbed = "nfs"
"""


def run_study(
    nodes: Nodes, folder: Path, name: str, *options: str
) -> subprocess.CompletedProcess[str]:
    mpi = Path(find_mpi("mpich").mpiexec).parent
    variables = {
        "TAILRACE_TESTBED": str(nodes.testbed.directory),
        "PATH": f"{mpi}:{os.environ['PATH']}",
    }
    return subprocess.run(
        [*CLI, "study", "run", name, "-o", "out", "--no-report", *options],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
    )


def test_a_study_places_ranks(nodes: Nodes, tmp_path: Path) -> None:
    """By a factor; results say where, and the target is the same directory on all."""
    (tmp_path / "placed.toml").write_text(STUDY)
    done = run_study(nodes, tmp_path, "placed.toml", "--keep")
    assert done.returncode == 0, done.stderr
    runs = open_study(tmp_path / "out").done.set_index("nodes")
    assert runs.placement[1] == "node1:2"
    assert runs.placement[4] == "node1:2,node2:2,node3:2,node4:2"
    written = [path.name for path in nodes.mounts["nfs"].glob("tailrace-study-*/run-*/node*")]
    assert len(written) == 2 + 8
    assert sum(name.startswith("node4.") for name in written) == 2


WORKLOAD = """\
schema = 1
name = "kernel"
description = "A kernel whose ranks are placed."
repetitions = 1
[run]
workload = "h5perf"
size = "tiny"
method = "collective"
format = "mpiio"
set = { iterations = 1 }
[factor.nodes]
levels = [2]
[target.net]
testbed = "nfs"
"""


def test_a_kernel_on_nodes_is_verified_and_its_place_is_no_program(
    nodes: Nodes, tmp_path: Path
) -> None:
    (tmp_path / "kernel.toml").write_text(WORKLOAD)
    done = run_study(nodes, tmp_path, "kernel.toml")
    assert done.returncode == 0, done.stderr
    runs = open_study(tmp_path / "out").done
    assert list(runs.placement) == ["node1:1,node2:1"]
    assert list(runs.program.fillna("")) == [""]
    assert list(runs.verified.astype(str)) == ["True"]
