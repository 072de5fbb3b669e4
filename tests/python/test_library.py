"""The library: tables with units in their column names, numbers equal to the report's, and pictures
that show them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tailrace
from tailrace.cli import cli
from tailrace.plots import GRADES

from .columns import SECOND, Program, useful, write
from .conftest import serial_master

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def run(arithmetic, master):
    return tailrace.open(arithmetic("model.tailrace", master))


def test_open_answers_what_the_report_says(run, arithmetic, master):
    printed = CliRunner().invoke(
        cli, ["report", "--json", str(arithmetic("same.tailrace", master))]
    )
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
    assert (row["path"], row["ranks"], row["writes"], row["write_s"]) == (
        "/run/history.nc",
        1,
        200,
        7.5,
    )
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
    image = timeline.images[0].get_array()
    rows = image.reshape(4, -1, image.shape[1])
    assert all(row[-1].mask.all() and not row[:-1].mask.any() for row in rows)  # rows stand apart
    assert set(rows[0].compressed()) == {0, 2} and set(rows[1].compressed()) == {0, 1}
    bars = run.plot_efficiency()
    widths = [round(bar.get_width(), 1) for bar in bars.patches]
    assert widths == [57.1, 100, 100, 57.1, 67.9, 84.2, 100]
    colours = [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in bars.patches]
    assert colours[:2] == [GRADES["poor"], GRADES["good"]] and colours[5] == GRADES["fair"]
    rates = run.plot_io()
    written = rates.patches[0].get_data()
    assert (written.values * np.diff(written.edges)).sum() == pytest.approx(2000)  # MB


def test_the_shortest_io_is_seen_in_the_timeline():
    program = Program([[useful(999_999), write(1)]], 10**6, 10**6, 999_999)
    axes = tailrace.Run(program.columns(bins=10)).plot_timeline()
    assert (axes.images[0].get_array() == 2).sum() == 1


def test_a_plot_of_several_runs_adds_up(run, arithmetic):
    other = arithmetic("other.tailrace", serial_master(2))
    axes = tailrace.plot_compare([run, other], labels=["four", "two"])
    ends = {}
    for bar in axes.patches:
        place = round(bar.get_y() + bar.get_height() / 2)
        ends[place] = max(ends.get(place, 0), bar.get_x() + bar.get_width())
    assert ends == {0: pytest.approx(17.5), 1: pytest.approx(17.5)}
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["four", "two"]


def test_pictures_draw_into_given_axes(run):
    axes = matplotlib.pyplot.subplots()[1]
    assert run.plot_io(axes) is axes


def test_completion_offers_what_there_is():
    offered = dir(tailrace)
    assert {"open", "compare", "open_study", "Run", "Study", "plot_compare"} <= set(offered)
    assert all(hasattr(tailrace, name) for name in offered)
    assert not {"Any", "TYPE_CHECKING"} & set(offered)


def test_a_directory_of_a_run_is_opened(arithmetic, master, tmp_path):
    (tmp_path / "out").mkdir()
    trace = arithmetic("out/model.tailrace", master)
    assert tailrace.open(trace.parent).metrics["runtime_s"] == 17.5


@pytest.mark.parametrize(
    "options, error",
    [
        ({"bins": 0}, ValueError),
        ({"bins": 10**9}, ValueError),
        ({"bins": -1}, ValueError),
        ({"bins": 2.5}, TypeError),
        ({"bins": True}, TypeError),
        ({"eager_limit_bytes": -1}, ValueError),
        ({"eager_limit_bytes": 2**64}, ValueError),
    ],
)
def test_arguments_are_bounded(arithmetic, master, options, error):
    (name,) = options
    with pytest.raises(error, match=f"^{name} is "):
        tailrace.open(arithmetic("model.tailrace", master), **options)


def test_compare_refuses_what_it_cannot_compare(run):
    with pytest.raises(ValueError, match="kind is 'auto', 'strong', 'weak', not 'foo'"):
        tailrace.compare([run], kind="foo")
    for single in (run, "model.tailrace", Path("model.tailrace")):
        with pytest.raises(TypeError, match="give a list"):
            tailrace.compare(single)
    with pytest.raises(ValueError, match="empty"):
        tailrace.compare([])
    with pytest.raises(tailrace.TailraceError, match="1 label for 2 runs"):
        tailrace.compare([run, run], labels=["only"])


def test_runs_keep_their_labels(arithmetic, master):
    paths = [arithmetic(f"{name}.tailrace", master) for name in "ab"]
    runs = [tailrace.open(path, label=f"try {path.stem}") for path in paths]
    assert tailrace.compare(runs)["label"].tolist() == ["try a", "try b"]
    assert "try a" in repr(runs[0])
    assert tailrace.compare(paths)["label"].tolist() == ["a.tailrace", "b.tailrace"]
    assert tailrace.compare(paths, labels=["x", "y"])["label"].tolist() == ["x", "y"]


def test_functions_come_in_order_of_time(run):
    assert run.functions["name"].tolist() == ["MPI_Bcast", "pwrite"]


def test_a_finding_says_what_it_is_about(run):
    serial = next(finding for finding in run.findings if finding.code == "serial_writer")
    assert (serial.file, serial.ranks, serial.functions) == ("/run/history.nc", (0,), ())


def test_a_notebook_shows_verdict_picture_and_table(arithmetic, master):
    run = tailrace.open(arithmetic("model.tailrace", master), label="<b>mine</b>")
    html = run._repr_html_()
    assert run.headline in html and "&lt;b&gt;mine&lt;/b&gt;" in html and "<b>mine" not in html
    assert html.count("<svg") == 1 and 'class="fill-io"' in html and "<style>" in html
    assert "<th>Parallel efficiency</th>" in html and "<td>57.1 %</td>" in html
    assert "<script" not in html and len(html) < 200_000


def test_errors_are_tailrace_errors(tmp_path):
    with pytest.raises(tailrace.TailraceError):
        tailrace.open(tmp_path / "absent.tailrace")


def test_everything_heavy_comes_late():
    import subprocess
    import sys

    code = (
        "import tailrace.cli, sys; "
        "print({'pandas', 'numpy', 'matplotlib', 'rich', 'jinja2'} & set(sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "set()"
