"""Several runs on one page: told apart by name, side by side on one axis, with what differs."""

from __future__ import annotations

import re

import pytest

from tailrace.page import render
from tailrace.verdict import comparison

from .chromium import opened
from .columns import SECOND, Program, mpi, useful, write
from .conftest import serial_master

GUTTER = 64


def collective() -> Program:
    """The serial master's steps with the writes spread evenly: each rank writes a quarter."""
    step = [useful(SECOND), write(SECOND // 4, size=50_000_000, calls=5)]
    return Program(
        [step * 10] * 4,
        12_500_000_000,
        12_500_000_000,
        10 * SECOND,
        meta={"command": "mpiexec -n 4 ./model --method collective"},
    )


def serial() -> Program:
    program = serial_master(4)
    program.meta = {"command": "mpiexec -n 4 ./model --method serial"}
    return program


@pytest.fixture
def both():
    return [serial().columns(bins=1000), collective().columns(bins=1000)]


@pytest.fixture
def text(both):
    return render(both, ["a/run.tailrace", "b/run.tailrace"])


def test_runs_of_equally_many_ranks_are_called_by_what_differs(text):
    assert "<h1>model: serial, collective</h1>" in text
    assert "<title>model: serial, collective · Tailrace</title>" in text
    assert re.findall(r"<summary><span>([^<]*)</span>", text) == ["serial", "collective"]
    headings = re.findall(r'<th scope="col" class="number">(serial|collective)', text)
    assert headings.count("serial") == headings.count("collective")
    # one of them is the reference, and no curve runs over a single number of ranks
    assert text.count('<span class="muted">reference</span>') == 1
    assert "<figure" not in text


def test_given_labels_are_escaped(both):
    text = render(both, ["a", "b"], ["<i>old</i>", "new"])
    assert "<h1>model: &lt;i&gt;old&lt;/i&gt;, new</h1>" in text


def test_the_first_line_says_which_run_is_faster_and_why(text):
    first = re.search(r'<h2 class="headline">([^<]*)', text)[1]
    assert "17.5\u00a0s" in first  # a number and its unit stay on one line
    assert first.replace("\u00a0", " ") == (
        "collective takes 12.5 s, 28.6 % less than serial (17.5 s), mostly because time lost"
        " to I/O imbalance goes from 5.62 s to 0 s."
    )


def test_differences_of_the_parts_add_up(both):
    whole, *parts = comparison.run_times(*both)
    assert whole.change == pytest.approx(-5)
    assert sum(part.change for part in parts) == pytest.approx(-5)
    use = {row.name: (row.first, row.second) for row in comparison.file_use(*both)}
    assert use["writes"] == (200, 200) and use["bytes written"] == (2e9, 2e9)
    (bcast, pwrite) = comparison.functions(*both)
    assert (bcast.name, bcast.first, bcast.second, bcast.ratio) == ("MPI_Bcast", 22.5, 0, 0)
    assert (pwrite.first, pwrite.second) == (7.5, 10)


def test_equal_runs_are_called_equal():
    same = serial().columns()
    assert comparison.sentence(same, same, ("a", "b")).startswith("a and b take the same time")


def test_a_run_without_time_is_compared_without_division_by_zero():
    nothing = Program([[useful(0)]], 0, 0, 0).columns()
    assert "longer than a" in comparison.sentence(nothing, serial().columns(), ("a", "b"))


def test_timelines_share_one_axis(tmp_path, text):
    """The shorter run ends where its time does: at 12.5 of 17.5 s."""
    path = tmp_path / "two.html"
    path.write_text(text, "utf-8")
    drawn = """(share) => {
      const canvases = [...document.querySelectorAll(".together canvas.ranks-by-time")];
      return canvases.map((canvas) => {
        const x = 64 + (canvas.width - 64) * share;
        return canvas.getContext("2d").getImageData(x, 3, 1, 1).data[3]; }); }"""
    with opened(path) as tab:
        assert tab.evaluate(drawn, 12.4 / 17.5) == [255, 255]
        assert tab.evaluate(drawn, 12.7 / 17.5) == [255, 0]
        canvas = tab.locator(".together canvas.ranks-by-time").nth(1)
        box = canvas.bounding_box()
        canvas.hover(position={"x": GUTTER + (box["width"] - GUTTER) * 1.1 / 17.5, "y": 5})
        assert "pwrite" in tab.locator(".together .tooltip").inner_text()
        assert tab.complaints == []


def test_several_runs_stay_small(both):
    many = render(both * 8, [f"{i}.tailrace" for i in range(16)])
    assert len(many.encode()) < 3_000_000 and many.count('class="picture"') == 24


def test_scaling_keeps_its_curves():
    traces = [serial_master(ranks).columns() for ranks in (1, 2, 4)]
    text = render(traces, ["1", "2", "4"])
    assert text.count("<figure") == 2 and "<h1>model: 1 rank, 2 ranks, 4 ranks</h1>" in text


def test_program_without_captured_calls_in_one_run():
    busy = Program([[useful(SECOND), mpi(SECOND)]], 2 * SECOND, SECOND, SECOND).columns()
    idle = Program([[useful(SECOND)]], SECOND, SECOND, SECOND).columns()
    assert "Differences" in render([busy, idle], ["a", "b"])


def test_a_phone_scrolls_the_tables_of_differences_and_not_the_page(text, tmp_path):
    path = tmp_path / "two.html"
    path.write_text(text, "utf-8")
    with opened(path, viewport={"width": 390, "height": 844}) as tab:
        for table in tab.locator(".differences .scroll").all():
            assert table.evaluate("box => box.getBoundingClientRect().right") <= 390
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
