"""The page is one file that needs no network, draws in a browser, and shows foreign names as
nothing but text."""

from __future__ import annotations

import base64
import re
import zlib

import numpy as np
import pytest
from markupsafe import Markup
from minijinja import TemplateError

from tailrace.page import render
from tailrace.page.charts import line_chart
from tailrace.page.data import pack, timeline_data
from tailrace.page.templates import rendered

from .chromium import open_page
from .columns import MILLISECOND, SECOND, Program, open_close, read, useful, write
from .conftest import serial_master

EVIL = b"/run/</script><img src=x onerror=alert(1)>\x1b[31m\xff\"'&" + b"x" * 4000 + b"end.nc"


@pytest.fixture
def page(tmp_path):
    """A function that writes the page of some programs and returns its path."""

    def write_page(*programs: Program):
        path = tmp_path / "report.html"
        traces = [program.columns(bins=1000) for program in programs]
        path.write_text(render(traces, [f"run-{i}.tailrace" for i in range(len(traces))]), "utf-8")
        return path

    return write_page


def evil_program() -> Program:
    row = [useful(SECOND), write(SECOND, EVIL, 10**6, 10), open_close(SECOND, EVIL)]
    return Program(
        [row, row],
        3 * SECOND,
        3 * SECOND,
        SECOND,
        meta={"program": "<b>model</b>", "hosts": "<i>n1</i>"},
    )


def decoded(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def test_a_page_refers_to_nothing_outside(page):
    text = page(serial_master(4)).read_text("utf-8")
    assert not re.search(
        r"(?:src|href|action)\s*=\s*[\"']?(?!data:)\w|url\(|@import|https?://", text
    )
    assert "default-src 'none'" in text


def test_the_verdict_comes_first(page):
    text = page(serial_master(4)).read_text("utf-8")
    body = text[text.index("<main>") :].replace("\u00a0", " ")
    assert body.index("I/O takes 42.9 % of this run: rank 0 writes history.nc alone") < body.index(
        "<table"
    )


def test_a_template_shows_what_is_there_and_nothing_else(tmp_path):
    macro = "{% macro cell(x) %}<td>{{ x }}, {{ all }}</td>{% endmacro %}"
    (tmp_path / "macros.j2").write_text(macro)
    source = "{% from 'macros.j2' import cell %}{{ cell(name) }}{{ mark }}"
    (tmp_path / "page.j2").write_text(source + "{{ 1.5 }}{{ 'no' if not mark }}")
    values = {"name": "<a/b>'", "mark": Markup("<i>"), "all": "&"}
    shown = rendered(tmp_path, "page.j2", {}, values)
    assert shown == "<td>&lt;a/b&gt;&#39;, &amp;</td><i>1.5"
    for undefined in ("{{ nothing }}", "{{ page.nothing }}", "{% if nothing %}{% endif %}"):
        (tmp_path / "page.j2").write_text(undefined)
        with pytest.raises(TemplateError, match="undefined value"):
            rendered(tmp_path, "page.j2", {}, {"page": {}})


def test_foreign_names_are_text(page):
    text = page(evil_program()).read_text("utf-8")
    assert (
        "<img" not in text and "<b>model" not in text and "<i>n1" not in text and "\x1b" not in text
    )
    assert text.count("</script>") == text.count("<script")
    assert "&lt;img src=x onerror=alert(1)&gt;\\x1b[31m\\xff" in text


def test_long_names_are_elided_and_whole_in_the_title(page):
    text = page(evil_program()).read_text("utf-8")
    cell = re.search(r'<td class="path" title="([^"]*)">([^<]*)</td>', text)
    assert len(cell[1]) > 4000 and cell[1].endswith("end.nc")
    assert len(cell[2]) < 200 and "…" in cell[2] and cell[2].endswith("end.nc")


def test_timeline_bins_hold_the_shares():
    """Rank 0: 1 s useful, then 0.75 s I/O in 1.75 s steps; rank 1: MPI instead. 7 bins of 0.25 s a
    step."""
    data = timeline_data(serial_master(2).columns(bins=70), 4096, 100)
    mix = decoded(data["mix"], "u1").reshape(2, 70)
    assert mix[0, :7].tolist() == [0, 0, 0, 0, 0xF0, 0xF0, 0xF0]
    assert mix[1, :7].tolist() == [0, 0, 0, 0, 0x0F, 0x0F, 0x0F]
    assert data["bin_ns"] == 250 * MILLISECOND
    # all calls are among the longest: nothing is left beside them
    assert decoded(data["rest"], "u1").max() == 0
    assert decoded(data["rates"]["bytes_written"], "<f4").sum() == pytest.approx(2e9)


def test_fewer_bins_join_neighbours_and_keep_sums():
    data = timeline_data(serial_master(2).columns(bins=70), 35, 0)
    mix = decoded(data["mix"], "u1").reshape(2, 35)
    assert mix[0, :7].tolist() == [0, 0, 0xF0, 0x80, 0, 0x80, 0xF0]
    assert data["bin_ns"] == 500 * MILLISECOND
    assert decoded(data["rates"]["bytes_written"], "<f4").sum() == pytest.approx(2e9)
    assert decoded(data["rates"]["ranks_in_io"], "<f4")[:4].tolist() == [0, 0, 1, 0.5]
    # no call is drawn exactly
    assert decoded(data["rest"], "u1").tolist() == mix.reshape(-1).tolist()


def sizes_in_words(*intervals) -> str:
    """What the page says beside the map of the file that these intervals use."""
    text = render([Program([list(intervals)], SECOND, SECOND, 0).columns()], ["a.tailrace"])
    return re.search(r'class="map-name".*?<span class="muted">(.*?)</span>', text)[1]


def test_sizes_of_requests_are_said_of_all_of_them():
    small, large = write(SECOND, size=300 * 470, calls=300), write(SECOND, size=8_000_000)
    assert sizes_in_words(small) == "300 writes of 470 B"
    assert sizes_in_words(small, large) == "301 writes of 470 B to 8.00 MB, most of 100 B to 1 kB"
    assert sizes_in_words(write(SECOND, size=470), large) == "2 writes of 470 B to 8.00 MB"
    both = sizes_in_words(small, read(SECOND, b"/run/history.nc", size=4096))
    assert both == "1 read of 4.10 kB; 300 writes of 470 B"


def test_calls_are_exact():
    data = timeline_data(serial_master(2).columns(), 4096, 3)["calls"]
    assert data["count"] == 3
    begin, end = decoded(data["begin"], "<f8"), decoded(data["end"], "<f8")
    assert (end - begin == 750 * MILLISECOND).all()
    assert set(begin % (1750 * MILLISECOND)) == {SECOND}


def test_a_page_of_a_large_trace_is_small():
    """256 rows × 4096 bins, six maps of files and 20,000 calls of noise that does not compress: the
    largest page there is."""
    random = np.random.default_rng(1)
    writes = [write(SECOND, b"/run/%d.nc" % i, 1000) for i in range(7)]
    columns = Program([writes] * 2, 7 * SECOND, 7 * SECOND, 0).columns()
    io, other = random.integers(0, 1000, (2, 256, 4096))
    columns["timeline"] = {"io": io, "mpi": other, "useful": 2000 - io - other, "row_ranks": 40}
    columns["rates"] = {
        key: random.random(4096) * 1e9 for key in ("bytes_read", "bytes_written", "ranks_in_io")
    }
    begin = random.integers(0, columns["runtime_ns"], 20_000)
    columns["longest"] = {
        "rank": random.integers(0, 2, 20_000),
        "begin_ns": begin,
        "end_ns": begin + random.integers(1, 10**6, 20_000),
        "function": [f"function_{i % 40}" for i in range(20_000)],
        "file": [b"/scratch/output/file.%d" % (i % 300) for i in range(20_000)],
        "bytes": random.integers(0, 10**9, 20_000),
        "state": ["io", "mpi"] * 10_000,
    }
    files = len(columns["files"]["path"])
    columns["file_uses"] |= {
        kind: random.integers(0, columns["file_uses"]["bin_ns"] * 40, (files, 256, 256)) / 3
        for kind in ("read", "write", "other")
    }
    page = render([columns], ["large.tailrace"]).encode()
    assert page.count(b'class="file-map"') == 6 and len(page) < 3_000_000


def test_pack_round_trip():
    values = np.arange(1000, dtype="<u4")
    assert decoded(pack(values), "<u4").tolist() == values.tolist()


def test_ideal_speedup_is_a_straight_line():
    chart = line_chart("Speedup", [1, 2, 8], {"ideal": [1, 2, 8]})
    (first, second, third) = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', chart)
    slope = (float(second[1]) - float(first[1])) / (float(second[0]) - float(first[0]))
    assert (float(third[1]) - float(first[1])) / (
        float(third[0]) - float(first[0])
    ) == pytest.approx(slope, rel=0.01)


def test_missing_values_leave_a_gap():
    assert line_chart("E", [1, 2, 4], {"a": [1.0, None, 0.5]}, percent=True).count("<circle") == 2


@pytest.mark.parametrize(
    "programs", [[serial_master(4)], [serial_master(1), serial_master(4)], [evil_program()]]
)
def test_the_page_draws_without_complaint(page, programs):
    opened = open_page(page(*programs))
    assert opened.errors == []
    assert re.search(r'<details class="run[^>]*data-drawn="[1-9]', opened.document)
    assert '<p class="drawing-failed" hidden' in opened.document


@pytest.mark.parametrize(
    "said, shown",
    [
        ("MPICH Version: 5.0.2", "MPICH 5.0.2"),
        ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI v4.1.4"),
        ("MPICH Version:      4.2.0\nMPICH Release date: …", "MPICH 4.2.0"),
    ],
)
def test_an_mpi_is_called_by_its_name_and_number(said, shown):
    columns = serial_master(4).columns(bins=1000)
    columns["meta"] = {**columns["meta"], "mpi": said}
    facts = re.search(r'<p class="facts">(.*?)</p>', render([columns], ["a.tailrace"]), re.S)[1]
    assert f"· {shown}" in facts and "package" not in facts and "Version" not in facts
