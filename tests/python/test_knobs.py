"""The page's sliders: the numbers of `tailrace whatif`, and silence where it would have none."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import tailrace
from tailrace.page import render
from tailrace.predict.change import Change
from tailrace.predict.whatif import Run
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.knobs import knobs

from ..conftest import find_mpi
from .chromium import opened

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
# Rank 0 writes while the other waits for it, and both compute, meet and look a file up.
PROGRAM = r"""
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
  static char bytes[1 << 20];
  int rank;
  struct stat status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 5; step++) {
    usleep(2000 * (rank + 1));
    MPI_Bcast(bytes, 1 << 18, MPI_CHAR, 1, MPI_COMM_WORLD);
    if (rank == 0) {
      int file = open("output", O_CREAT | O_WRONLY | O_SYNC, 0600);
      if (write(file, bytes, sizeof bytes) < 0) return 1;
      close(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    stat("output", &status);
  }
  MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tailrace.Run:
    place = tmp_path_factory.mktemp("knobs")
    mpi = find_mpi("mpich")
    (place / "program.c").write_text(PROGRAM)
    subprocess.run([mpi.mpicc, "-o", place / "program", place / "program.c"], check=True)
    command = [TAILRACE, "run", "--no-report", "-o", "trace", "--", *mpi.launch(2, "./program")]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    return tailrace.open(place / "trace")


def evidence_of(run: tailrace.Run) -> Evidence:
    evidence = Evidence(run.columns)
    evidence.__dict__["processors"] = None  # nobody waited for one
    return evidence


def test_each_place_of_the_sliders_is_what_whatif_says(run: tailrace.Run) -> None:
    table = knobs(evidence_of(run))
    assert table is not None
    again = Run(Path(run.path))
    chosen = list(product(*(knob["factors"] for knob in table["knobs"])))
    assert len(chosen) == len(table["runtime_ns"]) == len(table["worst_ns"])
    for place, (io, network, compute) in enumerate(chosen):
        said = again.predict(Change(io=io, network=network, compute=compute))
        assert table["runtime_ns"][place] == pytest.approx(said.predicted_s * 1e9, abs=1)
        assert table["worst_ns"][place] == pytest.approx(said.interval_s[1] * 1e9, abs=1)
    assert table["runtime_ns"][0] == run.times.runtime_ns
    assert table["runtime_ns"][-1] < run.times.runtime_ns


def test_there_are_none_where_the_run_cannot_be_taken_again(run: tailrace.Run) -> None:
    class Busy:
        notable = True

    busy = Evidence(run.columns)
    busy.__dict__["processors"] = Busy()
    gone = Evidence({**run.columns, "trace": "/nonexistent/trace.tailrace"})
    assert knobs(busy) is None and knobs(gone) is None


@pytest.mark.slow
def test_a_slider_says_what_the_run_would_take(
    run: tailrace.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Evidence, "processors", None)
    page = tmp_path / "report.html"
    page.write_text(render([run.columns], ["two words.tailrace"]), "utf-8")
    with opened(page) as tab:
        section = tab.locator("section.knobs")
        answer = section.locator(".answer")
        assert answer.inner_text().endswith(", as measured")
        assert section.locator(".command").inner_text() == "tailrace whatif 'two words.tailrace'"
        section.locator("input").first.focus()
        tab.keyboard.press("ArrowRight")
        said = Run(Path(run.path)).predict(Change(io=2))
        assert " instead of " in answer.inner_text()
        assert float(answer.inner_text().split()[0]) == pytest.approx(
            said.predicted_s * 1e3, rel=0.01
        )
        assert section.locator("output").first.inner_text() == "2 times as fast"
        assert section.locator(".command").inner_text().endswith("' --io-rate 2x")
        assert tab.complaints == []


def test_a_page_of_several_runs_has_none(
    run: tailrace.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Evidence, "processors", None)
    text = render([run.columns, run.columns], ["one.tailrace", "other.tailrace"])
    assert '<section class="knobs"' not in text
    assert '<section class="knobs"' in render([run.columns], ["one.tailrace"])
