"""Where ranks and files lie: staging near the ranks, ranks on nodes, files on servers. Two ranks on
one node that write files of their own, on models whose numbers are plain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tailrace
from tailrace.errors import TailraceError
from tailrace.predict.change import Change
from tailrace.predict.model import load, named
from tailrace.predict.whatif import Run

from ..conftest import find_mpi
from .test_model import toml, written

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
RANKS, WRITES, BYTES = 2, 20, 100_000
PROGRAM = rf"""
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {{
  static char bytes[{BYTES}];
  char name[32];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "output-%d", rank);
  int file = open(name, O_CREAT | O_WRONLY, 0600);
  for (int step = 0; step < {WRITES}; step++) {{
    if (write(file, bytes, sizeof bytes) < 0) return 1;
    usleep(2000);
  }}
  close(file);
  MPI_Finalize();
}}
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("placing")
    mpi = find_mpi("mpich")
    (place / "program.c").write_text(PROGRAM)
    subprocess.run([mpi.mpicc, "-o", place / "program", place / "program.c"], check=True)
    command = [TAILRACE, "run", "--no-report", "-o", "trace", "--"]
    command += map(str, mpi.launch(RANKS, "./program"))
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    return next((place / "trace").glob("*.tailrace"))


def useful_s(trace: Path) -> float:
    """Of the rank that computes longest."""
    return float(tailrace.open(trace).times.useful_ns.max()) / 1e9


def test_what_is_staged_is_moved_beside_the_computation(trace: Path, tmp_path: Path) -> None:
    """Far, a write takes 10 ms; near, nothing. The mover of the node makes 2 · 20 writes one after
    another, 400 ms, and begins when a rank first writes; until then little was computed. Without
    the stage each rank computes and then makes its 20 writes, which nothing holds up: 200 ms."""
    far = load(written(tmp_path, toml(write="10e-3")))
    near = load(written(tmp_path, toml(name="near")))
    run = Run(trace)
    alone = run.predict(Change(target=far)).predicted_s
    staged = run.predict(Change(target=far, stage=near)).predicted_s
    assert alone == pytest.approx(useful_s(trace) + 0.2, rel=0.1)
    assert 0.4 <= staged <= 0.4 + useful_s(trace)


def test_a_stage_that_hides_all_leaves_the_computation(trace: Path, tmp_path: Path) -> None:
    """Both are free: what is left is what ranks compute."""
    near = load(written(tmp_path, toml(name="near")))
    found = Run(trace).predict(Change(target=near, stage=near))
    assert found.predicted_s == pytest.approx(useful_s(trace), rel=0.1)
    assert found.change.words == "on near, staged on near"
    assert found.change.arguments["stage"] == "near"


def test_only_files_in_the_directory_are_staged(trace: Path, tmp_path: Path) -> None:
    """Elsewhere there is none: the run takes what it took."""
    slow = load(written(tmp_path, toml(write="1", name="slow")))
    run = Run(trace)
    elsewhere = run.predict(Change(stage=slow, directory=tmp_path / "elsewhere"))
    assert elsewhere.predicted_s == run.measured_s
    here = run.predict(Change(stage=slow, directory=trace.parents[1]))
    assert here.predicted_s > WRITES


def test_ranks_of_a_node_share_its_link(trace: Path, tmp_path: Path) -> None:
    """20 writes of 100 kB pass a link of 1 MB/s in 2 s; those of two ranks of a node in 4 s."""
    link = "\n[client]\nbytes_per_s = 1e6\n"
    model = load(written(tmp_path, toml() + link))
    run = Run(trace)
    together = run.predict(Change(target=model)).predicted_s
    apart = run.predict(Change(target=model, ranks_per_node=1)).predicted_s
    again = run.predict(Change(target=model, ranks_per_node=RANKS)).predicted_s
    assert together == again == pytest.approx(4.0, rel=0.05)
    assert apart == pytest.approx(2.0 + useful_s(trace), rel=0.05)


def test_files_are_striped_over_so_many_servers(trace: Path, tmp_path: Path) -> None:
    """A server takes 1 MB/s and each file lies on one: 2 MB take 2 s. Over two servers of two, in
    stripes of 50 kB, each server has half of both files, in no other time; over one of one it would
    have all of both."""
    servers = "\n[servers]\ncount = 2\nstripe_bytes = 50000\n"
    model = load(written(tmp_path, toml(write_rate="1e6") + servers))
    run = Run(trace)
    one = run.predict(Change(target=model, stripes=1))
    two = run.predict(Change(target=model, stripes=2))
    striped = load(written(tmp_path, toml(write_rate="1e6") + servers + "stripe_count = 2\n"))
    assert two.predicted_s == run.predict(Change(target=striped)).predicted_s
    assert one.predicted_s == run.predict(Change(target=model)).predicted_s
    assert two.change.words == "on plain, striped over 2 servers"


def test_a_model_without_servers_cannot_be_striped(tmp_path: Path) -> None:
    plain = load(written(tmp_path, toml()))
    with pytest.raises(TailraceError, match="says nothing of servers"):
        plain.striped(2)
    with pytest.raises(TailraceError, match="has 24 servers: files cannot be striped over 25"):
        named("lustre").striped(25)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--stripes", "2"], "--stripes says something about a target"),
        (["--ranks-per-node", "2"], "--ranks-per-node says something about a target"),
        (["--files", "."], "--files says what moves, so it goes with --target or --stage"),
        (["--target", "nfs", "--stripes", "2"], "nfs has 1 server: files cannot be"),
        (["--stage", "nfs", "--all"], "--all makes each change by itself"),
        (["--stage", "nfs", "--ranks", "9"], "--ranks goes with no other change"),
    ],
)
def test_wrong_uses(trace: Path, words: list[str], sentence: str) -> None:
    command = [TAILRACE, "whatif", str(trace), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and sentence in done.stderr
    assert "hint:" in done.stderr or "--help" in done.stderr


def test_the_answer_names_them(trace: Path) -> None:
    command = [TAILRACE, "whatif", str(trace), "--target", "lustre", "--stripes", "4"]
    command += ["--ranks-per-node", "1", "--stage", "node-local-ssd", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (change,) = json.loads(done.stdout)["changes"]
    assert change["arguments"] == {
        "target": "lustre", "stripes": 4, "ranks_per_node": 1, "stage": "node-local-ssd",
    }  # fmt: skip
    assert any("node-local-ssd first" in sentence for sentence in change["assumes"])
