"""What comes out on paper: every timeline is drawn, however the page is printed."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from tailrace.page import render
from tailrace.page.picture import round_step, timeline_svg

from .chromium import opened, print_with_command_line
from .columns import SECOND, Program, mpi, useful, write
from .conftest import serial_master

IO = (0xE8, 0x70, 0x3A)
# Only the timelines, a sheet of paper each (the first has the runs side by side): what is of the
# colour of I/O there was drawn by them.
TIMELINES_ALONE = (
    "<style>@media print { .top, footer, summary, .timeline .bar, section:not(.timeline)"
    " { display: none } section.timeline { break-after: page } }</style></head>"
)


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "report.html"
    traces = [serial_master(ranks).columns(bins=1000) for ranks in (2, 4, 8)]
    text = render(traces, [f"run-{i}.tailrace" for i in range(3)])
    path.write_text(text.replace("</head>", TIMELINES_ALONE), "utf-8")
    return path


def io_pixels(pdf: bytes | Path) -> list[int]:
    """How many pixels of each sheet have the colour of I/O; sheets with nothing left out."""
    pdfium = pytest.importorskip("pypdfium2")
    source = pdfium.PdfDocument(pdf if isinstance(pdf, Path) else io.BytesIO(pdf))
    sheets = [sheet.render(scale=1, rev_byteorder=True).to_numpy()[..., :3] for sheet in source]
    drawn = [sheet for sheet in sheets if (sheet < 128).any()]
    return [int((abs(sheet.astype(int) - IO).sum(axis=2) < 12).sum()) for sheet in drawn]


def test_the_command_line_prints_every_timeline(page):
    """It prints before the scripts have decoded anything, and two of the runs are folded."""
    counts = io_pixels(print_with_command_line(page))
    assert len(counts) == 4 and min(counts) > 300


def test_a_browser_prints_every_timeline(page):
    with opened(page) as tab:
        counts = io_pixels(tab.pdf())
    assert len(counts) == 4 and min(counts) > 300


RESIZE = """() => new Promise((done) => {
  const stage = document.querySelector(".stage");
  const canvas = stage.querySelector("canvas");
  let resized = false;
  new ResizeObserver(() => {
    if (resized) done(canvas.getContext("2d").getImageData(canvas.width / 2, 5, 1, 1).data[3]);
    resized = true;
    stage.style.width = "600px";
  }).observe(stage);
})"""


def test_a_resized_timeline_is_drawn_at_once(page):
    """A print may come before the next animation frame; fitting a canvas empties it."""
    with opened(page) as tab:
        assert tab.evaluate(RESIZE) == 255
        assert min(io_pixels(tab.pdf())) > 200


def test_paper_is_white_in_the_dark(page):
    with opened(page, color_scheme="dark") as tab:
        assert min(io_pixels(tab.pdf())) > 300


def test_without_scripts_the_picture_stands(page):
    text = page.read_text("utf-8")
    page.write_text(text.replace(TIMELINES_ALONE, "</head>"), "utf-8")
    assert re.search(r"<noscript><p[^>]*>[^<]*need JavaScript", text)
    with opened(page, java_script_enabled=False) as tab:
        section = tab.locator("details.run[open]")
        assert section.locator(".still svg").is_visible()
        assert section.locator(".stage").first.is_hidden()
    with opened(page) as tab:
        assert tab.locator("details.run[open] .still").is_hidden()
        assert tab.locator("details.run[open] .timeline .stage").is_visible()


def test_the_picture_has_the_shares_as_heights():
    """1 s useful, then 1 s of I/O on rank 0 while rank 1 is in MPI; rows of 26 with a gap of
    1.5."""
    program = Program(
        [[useful(SECOND), write(SECOND)], [useful(SECOND), mpi(SECOND)]], 2 * SECOND, 2, 1
    )
    picture = str(timeline_svg(program.columns(bins=10)))
    areas = dict(re.findall(r'<path class="fill-(io|mpi)" d="([^"]*)"', picture.split("rank 0")[0]))
    assert areas["io"] == areas["mpi"] == "M72 24.5V24.5H536.0V0.0H1000.0V24.5z"
    assert "fill-io" not in picture.split("rank 0")[1].split("rank 1")[0]


def test_a_short_call_is_seen_in_the_picture():
    program = Program([[useful(999_999), write(1)]], 10**6, 10**6, 999_999)
    assert 'class="fill-io"' in timeline_svg(program.columns(bins=10))


@pytest.mark.parametrize(
    "length, most, step", [(17.5, 8, 5), (1, 10, 0.1), (0.0037, 8, 0.0005), (0, 8, 1)]
)
def test_axis_steps_are_round(length, most, step):
    assert round_step(length, most) == pytest.approx(step)
