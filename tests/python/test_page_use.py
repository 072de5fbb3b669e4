"""The page as a person uses it, in headless Chromium: drag, tap, keys, search, address, tables."""

from __future__ import annotations

import csv
import re
from html import escape

import numpy as np
import pytest

from tailrace.page import render

from .chromium import opened, until
from .columns import SECOND, Program, read, useful, write
from .conftest import serial_master

GUTTER = 64


@pytest.fixture
def path(tmp_path):
    result = tmp_path / "report.html"
    result.write_text(render([serial_master(4).columns(bins=1000)], ["run.tailrace"]), "utf-8")
    return result


def on_stage(tab):
    """Adds where the timeline's moments and ranks lie, of ranks that take 17.5 s."""
    tab.locator(".timeline .stage").scroll_into_view_if_needed()
    tab.box = tab.locator("canvas.ranks-by-time").bounding_box()
    tab.at = lambda s: tab.box["x"] + GUTTER + (tab.box["width"] - GUTTER) * s / 17.5
    tab.row = lambda rank: tab.box["y"] + tab.box["height"] * (rank + 0.5) / 4
    tab.zoomed = lambda: tab.locator(".view-label").inner_text()
    tab.tip = lambda: tab.locator(".timeline .tooltip").inner_text()
    return tab


def places(label: str) -> tuple[float, float]:
    begin, end = (float(number) for number in re.findall(r"[\d.]+(?= s)", label))
    return begin, end


def canvas_pixel(tab, x: int, y: int) -> list[int]:
    return tab.evaluate(
        "([x, y]) => [...document.querySelector('canvas.ranks-by-time').getContext('2d')"
        ".getImageData(x, y, 1, 1).data.slice(0, 3)]",
        [x, y],
    )


@pytest.fixture
def stage(path):
    """The page of four ranks, of which rank 0 writes 0.75 s after every second of work."""
    with opened(path) as tab:
        yield on_stage(tab)
        assert tab.complaints == []


def drag(tab, begin_s: float, end_s: float) -> None:
    tab.mouse.move(tab.at(begin_s), tab.row(0))
    tab.mouse.down()
    tab.mouse.move(tab.at((begin_s + end_s) / 2), tab.row(1))
    tab.mouse.move(tab.at(end_s), tab.row(1))
    tab.mouse.up()


def test_the_states_have_their_colours(stage):
    place = lambda s: round(stage.at(s) - stage.box["x"])  # noqa: E731
    height = round(stage.box["height"])
    assert canvas_pixel(stage, place(0.25), 5) == [0x5B, 0x8F, 0xD0]
    assert canvas_pixel(stage, place(1.4), 5) == [0xE8, 0x70, 0x3A]
    assert canvas_pixel(stage, place(1.4), round(height * 0.9)) == [0xCF, 0xD5, 0xDD]


def test_a_drag_zooms_in_and_a_double_click_out(stage):
    drag(stage, 1, 3)
    assert places(stage.zoomed()) == pytest.approx((1, 3), abs=0.03)
    stage.keyboard.down("Control")
    stage.mouse.wheel(0, -200)
    stage.keyboard.up("Control")
    until(stage, "document.querySelector('details.run').dataset.drawn > 2")
    begin, end = places(stage.zoomed())
    assert end - begin == pytest.approx(2 * np.exp(-0.7), abs=0.05)
    stage.mouse.dblclick(stage.at(8), stage.row(2))
    assert stage.zoomed() == ""


def test_hovering_shows_the_call(stage):
    stage.mouse.move(stage.at(1.3), stage.row(0))
    assert all(text in stage.tip() for text in ("rank 0", "pwrite", "/run/history.nc", "750 ms"))


def test_tables_sort_by_a_click(stage):
    ranks = stage.locator("table.sortable", has_text="events")
    ranks.locator("th button").first.click()
    assert ranks.locator("tbody td").first.inner_text() == "3"


def test_a_tap_shows_the_call_and_a_tap_elsewhere_hides_it(path):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with opened(path, **phone) as tab:
        on_stage(tab)
        tab.touchscreen.tap(tab.at(1.3), tab.row(0))
        assert "pwrite" in tab.tip() and "750 ms" in tab.tip()
        assert tab.locator(".timeline .tooltip").is_visible()
        tab.locator(".timeline h2").tap()
        assert tab.locator(".timeline .tooltip").is_hidden()
        assert tab.complaints == []


def test_a_phone_shows_the_page_without_scrolling_sideways(path):
    with opened(path, viewport={"width": 390, "height": 844}) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        cut = tab.locator(".files .scroll").first
        assert "more" in cut.get_attribute("class") and cut.get_attribute("tabindex") == "0"
        name = tab.locator("table[data-name=functions] td code").first
        assert name.evaluate("cell => cell.getClientRects().length") == 1


def test_keys_walk_from_call_to_call(stage):
    stage.locator(".timeline .stage").focus()
    stage.keyboard.press("ArrowRight")
    assert "rank 0, at 1.00" in stage.tip() and "pwrite" in stage.tip()
    stage.keyboard.press("ArrowRight")
    assert "rank 0, at 2.75" in stage.tip()
    stage.keyboard.press("ArrowDown")
    assert "rank 1, at 2.75" in stage.tip() and "MPI_Bcast" in stage.tip()
    assert "MPI_Bcast" in stage.locator(".spoken").inner_text()
    stage.keyboard.press("ArrowLeft")
    assert "rank 1, at 1.00" in stage.tip()
    box = stage.locator(".marker").bounding_box()
    assert box["x"] == pytest.approx(stage.at(1), abs=2)
    assert box["width"] == pytest.approx(stage.at(0.75) - stage.at(0), abs=2)
    stage.keyboard.press("Enter")
    assert places(stage.zoomed()) == pytest.approx((0.25, 2.5), abs=0.02)
    stage.keyboard.press("Escape")
    assert stage.locator(".marker").is_hidden()
    stage.keyboard.press("Escape")
    assert stage.zoomed() == ""


def test_the_stretch_shown_has_its_sums(stage):
    """One step and its write: 1.75 s, of which rank 0 writes 0.75 s while three ranks wait."""
    words = stage.locator(".statistics .shares")
    assert "useful 57.1 % · MPI 32.1 % · I/O 10.7 %" in words.inner_text()
    drag(stage, 0, 1.75)
    until(stage, "document.querySelector('.statistics').innerText.includes('–')")
    assert "written 200 MB (114 MB/s)" in words.inner_text()
    row = stage.locator(".statistics .functions tbody tr", has_text="MPI_Bcast")
    assert row.locator("td").all_inner_texts() == ["MPI_Bcast", "3", "2.25 s", "0 B"]


def test_colour_by_file(tmp_path):
    """Rank 0 writes one file in its first second, then reads another."""
    program = Program(
        [[useful(SECOND), write(SECOND, b"/run/a.nc", 100), read(SECOND, b"/run/b.nc", 100)]],
        3 * SECOND,
        3 * SECOND,
        SECOND,
    )
    path = tmp_path / "files.html"
    path.write_text(render([program.columns(bins=1000)], ["run.tailrace"]), "utf-8")
    with opened(path) as tab:
        width = tab.locator("canvas.ranks-by-time").bounding_box()["width"] - GUTTER
        colours = lambda: [canvas_pixel(tab, round(GUTTER + width * s), 5) for s in (0.5, 0.83)]  # noqa: E731
        assert colours()[0] == colours()[1] == [0xE8, 0x70, 0x3A]
        tab.locator("button[data-by=file]").click()
        until(tab, "location.hash === '#colour=file'")
        until(tab, "document.querySelector('.states').innerText.includes('a.nc')")
        assert colours() == [[0xD5, 0x5E, 0x00], [0x00, 0x72, 0xB2]]
        tab.get_by_label("find a file or function").fill("pread")
        until(tab, "document.querySelector('.found').innerText === '1 calls'")
        until(tab, "document.querySelector('.statistics .files tbody').rows.length == 1")
        assert colours() == [[0xEC, 0xEF, 0xF2], [0xD5, 0x5E, 0x00]]  # the first of those found


def test_the_address_keeps_the_view(stage, path):
    drag(stage, 2, 6)
    stage.locator("button[data-by=function]").click()
    address = stage.evaluate("location.hash")
    with opened(path, address) as again:
        begin, end = places(again.locator(".view-label").inner_text())
        assert (begin, end) == pytest.approx((2, 6), abs=0.05)
        pressed = again.locator("button[aria-pressed=true]").all_inner_texts()
        assert pressed == ["function"] and again.complaints == []
        again.locator(".timeline .reset").click()
        assert again.evaluate("location.hash") == "#colour=function"


@pytest.mark.parametrize(
    "address", ["#from=5&to=1", "#from=x&to=NaN", "#colour=%3Cimg%3E&run=99", "#from=-1e9&to=1e99"]
)
def test_a_broken_address_does_no_harm(path, address):
    with opened(path, address) as tab:
        assert tab.complaints == []
        assert tab.locator(".timeline button[aria-pressed=true]").all_inner_texts() == ["state"]


def test_a_sandboxed_frame_does_without_an_address(path):
    host = path.with_name("host.html")
    source = escape(path.read_text("utf-8"))
    host.write_text(f'<iframe sandbox="allow-scripts" width=900 height=900 srcdoc="{source}">')
    with opened(host) as tab:
        frame = tab.frame_locator("iframe")
        frame.locator("button[data-by=function]").click()
        assert "pwrite" in frame.locator(".states").inner_text()
        assert tab.complaints == []


def test_a_long_table_shows_its_first_rows_until_asked(tmp_path):
    rows = [write(SECOND, f"/run/{n:02}.nc".encode(), n + 1) for n in range(40)]
    program = Program([rows], 40 * SECOND, 40 * SECOND, 0)
    path = tmp_path / "long.html"
    path.write_text(render([program.columns()], ["run.tailrace"]), "utf-8")
    with opened(path) as tab:
        table = tab.locator("table[data-name=files]")
        shown = lambda: [row for row in table.locator("tbody tr").all() if row.is_visible()]  # noqa: E731
        assert len(shown()) == 20
        table.get_by_role("button", name="written").click()
        assert "39.nc" in shown()[0].inner_text()
        tab.get_by_role("button", name="show all 40 rows").click()
        assert len(shown()) == 40


def test_a_table_is_saved_as_csv(stage):
    with stage.expect_download() as download:
        stage.locator(".files .save").first.click()
    assert download.value.suggested_filename == "files.csv"
    with open(download.value.path(), newline="") as file:  # noqa: PTH123
        rows = list(csv.reader(file))
    assert (
        rows[0][0] == "file" and rows[0][3] == "written (bytes)" and rows[0][8] == "write time (s)"
    )
    assert rows[1][0] == "/run/history.nc" and rows[1][3] == "2000000000" and rows[1][8] == "7.5"


def test_a_name_is_no_formula_in_a_csv(tmp_path):
    program = Program([[write(SECOND, b'=cmd|"x"!A1', 10)]], SECOND, SECOND, 0)
    path = tmp_path / "formula.html"
    path.write_text(render([program.columns()], ["run.tailrace"]), "utf-8")
    with opened(path) as tab:
        with tab.expect_download() as download:
            tab.locator(".files .save").first.click()
        with open(download.value.path(), newline="") as file:  # noqa: PTH123
            assert list(csv.reader(file))[1][0] == '\'=cmd|"x"!A1'


def map_pixels(tab, at_s: float) -> list[list[int]]:
    """Of the first and the last rank, at a moment of the 17.5 s."""
    drawn = """(x) => { const map = document.querySelector("canvas.file-map");
      const context = map.getContext("2d");
      const pixel = (y) => context.getImageData(x, map.height * y, 1, 1).data;
      return [0.1, 0.9].map((y) => [...pixel(y).slice(0, 3)]); }"""
    width = tab.locator("canvas.file-map").bounding_box()["width"]
    return tab.evaluate(drawn, round(GUTTER + (width - GUTTER) * at_s / 17.5))


WRITING, NOTHING = [0xE8, 0x70, 0x3A], [0xEC, 0xEF, 0xF2]


def test_the_map_of_a_file_shows_who_uses_it_when(stage):
    assert map_pixels(stage, 1.4) == [WRITING, NOTHING]
    assert "200 writes of 10.0 MB" in stage.locator(".map-name").inner_text()


def test_the_map_of_more_calls_than_the_page_holds_is_whole(tmp_path):
    """Twenty thousand longer calls on another file leave none of this one's: its bins are drawn."""
    columns = serial_master(4).columns(bins=1000)
    begin = np.arange(20_000) * 10
    columns["longest"] = {
        "rank": np.ones(20_000, dtype=int),
        "begin_ns": begin,
        "end_ns": begin + 5,
        "function": ["pread"] * 20_000,
        "file": [b"/run/other"] * 20_000,
        "bytes": np.ones(20_000, dtype=int),
        "state": ["io"] * 20_000,
    }
    path = tmp_path / "many.html"
    path.write_text(render([columns], ["run.tailrace"]), "utf-8")
    with opened(path) as tab:
        assert map_pixels(tab, 1.4) == [WRITING, NOTHING]
        assert map_pixels(tab, 0.5) == [NOTHING, NOTHING]
        assert "200 writes of 10.0 MB" in tab.locator(".map-name").inner_text()
        box = tab.locator("canvas.file-map").bounding_box()
        x = box["x"] + GUTTER + (box["width"] - GUTTER) * 1.4 / 17.5
        tab.mouse.move(x, box["y"] + box["height"] * 0.1)
        tip = tab.locator(".map .tooltip").inner_text()
        assert "rank 0, 68.4 ms at 1.4" in tip and "writing 100 %" in tip
        tab.mouse.move(x, box["y"] + box["height"] * 0.9)
        assert "no call on this file" in tab.locator(".map .tooltip").inner_text()
        assert tab.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_that_axe_core_objects_to(path, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened(path, color_scheme=scheme, viewport={"width": width, "height": 900}) as tab:
        found = axe.run(tab).response["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []
