"""The library: tables with units in their column names, numbers equal to the report's, and pictures that show them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tailrace
from tailrace.cli import cli

from .columns import SECOND
from .conftest import serial_master

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def run(arithmetic, master):
    return tailrace.open(arithmetic("model.tailrace", master))


def test_open_answers_what_the_report_says(run, arithmetic, master):
    printed = CliRunner().invoke(cli, ["report", "--json", str(arithmetic("same.tailrace", master))])
    assert run.metrics == json.loads(printed.stdout)
    assert run.headline == run.metrics["headline"]
    assert run.efficiency.io_balance == run.metrics["efficiency"]["io_balance"]
    assert run.pop.serialization == run.metrics["pop"]["serialization"]


def test_ranks(run):
    assert run.ranks["useful_s"].tolist() == [10, 10, 10, 10]
    assert run.ranks["io_s"].tolist() == [7.5, 0, 0, 0]
    assert run.ranks["mpi_s"].tolist() == [0, 7.5, 7.5, 7.5]
    assert run.ranks["bytes_written"].tolist() == [2 * 10**9, 0, 0, 0]
    assert "instructions" not in run.ranks.columns  # not counted: absent, not zero


def test_files_and_functions(run):
    (row,) = run.files.to_dict("records")
    assert (row["path"], row["ranks"], row["writes"], row["write_s"]) == ("/run/history.nc", 1, 200, 7.5)
    functions = run.functions.set_index("name")
    assert functions.loc["MPI_Bcast", "time_s"] == 3 * 7.5
    assert functions.loc["pwrite", "calls"] == 200


def test_phases_alternate_and_fill_the_run(run):
    phases = run.phases
    assert phases["kind"].tolist() == ["compute", "io"] * 10
    assert (phases["end_s"] - phases["begin_s"]).sum() == pytest.approx(17.5)
    assert phases.loc[phases["kind"] == "io", "ranks_in_io_mean"].tolist() == [1.0] * 10


def test_no_column_holds_nanoseconds(run):
    for table in (run.ranks, run.files, run.file_ranks, run.functions, run.phases):
        assert isinstance(table, pd.DataFrame)
        assert not [name for name in table.columns if name.endswith("_ns")]


def test_compare_takes_runs_and_paths(arithmetic):
    paths = [arithmetic(f"run-{p}.tailrace", serial_master(p, SECOND * 4 // p)) for p in (2, 1, 4)]
    table = tailrace.compare([tailrace.open(paths[0]), *paths[1:]])
    assert table.index.tolist() == [1, 2, 4]
    assert table["runtime_s"].tolist() == [47.5, 27.5, 17.5]
    assert table["speedup"].tolist() == pytest.approx([1, 47.5 / 27.5, 47.5 / 17.5])
    assert table["io_balance_efficiency"].iloc[0] == 1
    assert np.isnan(table["ipc_scalability"]).all()
    assert table.attrs == {"kind": "strong", "reference_ranks": 1, "counters": False}


def test_pictures_show_the_numbers(run):
    timeline = run.plot_timeline()
    assert timeline.get_xlim() == (0, 17.5)
    image = np.asarray(timeline.images[0].get_array())
    assert image.shape[0] == 4 and set(np.unique(image[0])) == {0, 2} and set(np.unique(image[1])) == {0, 1}
    bars = run.plot_efficiency()
    assert [round(bar.get_width(), 1) for bar in bars.patches] == [57.1, 100, 100, 57.1, 67.9, 84.2, 100]
    rates = run.plot_io()
    written = rates.patches[0].get_data()
    assert (written.values * np.diff(written.edges)).sum() == pytest.approx(2000)  # MB


def test_pictures_draw_into_given_axes(run):
    axes = matplotlib.pyplot.subplots()[1]
    assert run.plot_io(axes) is axes


def test_errors_are_tailrace_errors(tmp_path):
    with pytest.raises(tailrace.TailraceError):
        tailrace.open(tmp_path / "absent.tailrace")


def test_everything_heavy_comes_late():
    import subprocess
    import sys

    code = "import tailrace.cli, sys; print({'pandas', 'numpy', 'matplotlib', 'rich', 'jinja2'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
