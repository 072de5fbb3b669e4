"""A study's report as a page: what it shows, and that foreign texts are nothing but text."""

from __future__ import annotations

import re

import pytest

from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary
from tailrace.study.report import page as report_page

from .chromium import open_page
from .study_cmaq import cmaq, printed, typical
from .study_data import study

EVIL = "</style><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m&\"'"


def test_a_page_refers_to_nothing_outside_and_has_no_script():
    text = report_page.render(typical())
    assert not re.search(
        r"(?:src|href|action)\s*=\s*[\"']?(?!data:)\w|url\(|@import|https?://|<script", text
    )
    assert "default-src 'none'" in text
    assert text.index('class="headline"') < text.index("<svg")


def test_a_page_has_a_facet_per_size_a_line_per_target_and_the_bound():
    text = report_page.render(typical())
    first = text[text.index("<h2>Elapsed time</h2>") : text.index("<h2>Findings")]
    assert re.findall(r"<figcaption>([^<]*)", first) == ["size s", "size l"]
    assert len(re.findall(r'class="curve', first)) == 2 * 4
    assert len(re.findall(r'class="marker hue-\d" d="[^"]*"><title>', first)) == 32
    assert len(re.findall(r'class="interval', first)) == 32
    assert len(re.findall(r'class="run ', first)) == 96
    assert (
        "ideal scaling from the best line at 1 rank" in first and first.count('class="ideal"') == 2
    )


def test_no_line_where_interpolation_is_meaningless():
    measured = study(
        {"method": ["serial", "collective", "independent"], "target": ["a", "b"]}, lambda where: 3.0
    )
    text = report_page.render(Summary(measured))
    assert 'class="marker' in text and 'class="curve' not in text and 'class="ideal"' not in text


def test_the_longest_number_on_an_axis_has_room():
    """`1,000 MB/s` has ten characters of 6.2 pixels, and ends eight before the axis."""
    rate = {"write_rate_mb_per_s": lambda where, elapsed: 1000 / elapsed}
    measured = study({"ranks": [1, 8, 64]}, lambda where: where["ranks"], others=rate)
    text = report_page.render(Summary(measured))
    ticks = re.findall(
        r'<text class="tick" x="([0-9.]+)" y="[^"]*" text-anchor="end">([^<]*)', text
    )
    assert any(words == "1,000 MB/s" for _, words in ticks)
    assert all(float(x) >= 6.2 * len(words) for x, words in ticks)


def evil() -> Measured:
    measured = study(
        {"target": ["a", EVIL], "ranks": [1, 2]},
        lambda where: 3.0,
        expect=[{"claim": EVIL, "paper_value": EVIL, "matters": {"factor": "target"}}],
    )
    plan = measured.plan | {"name": EVIL, "description": EVIL, "paper": EVIL}
    runs = measured.runs.copy()
    runs.loc[0, ["status", "reason"]] = ["failed", EVIL]
    return Measured(
        plan,
        runs,
        {EVIL: {EVIL: [EVIL]}, "targets": {EVIL: {"path": EVIL, "bed": {"is_not": EVIL}}}},
    )


def test_foreign_texts_are_nothing_but_text():
    summary = Summary(evil())
    text = report_page.render(summary)
    assert "<script" not in text and "<img" not in text and "\x1b" not in text
    assert text.count("</style>") == 1
    assert "\x1b" not in printed(evil()) and "\x1b" not in summary.headline


@pytest.mark.parametrize("make", [pytest.param(cmaq, marks=pytest.mark.slow), evil])
def test_the_page_opens_without_complaint(make, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(report_page.render(Summary(make())), "utf-8")
    opened = open_page(page)
    assert opened.errors == []
    assert "<main>" in opened.document


def test_a_page_says_what_a_target_is_and_is_not():
    bed = {"file_system": "NFS 3", "is": "a server", "is_not": "a cluster", "rate_bit_per_s": 1e8}
    there = {
        "targets": {
            "remote": {"path": "/mnt/r", "known": {"description": "the file server"}, "bed": bed}
        }
    }
    measured = cmaq()
    text = report_page.render(Summary(Measured(measured.plan, measured.runs, there)))
    assert (
        "the file server; a server; links of 100 Mbit/s" in text and "It is not a cluster." in text
    )


def crossing() -> Measured:
    """serial overtakes collective at 6 ranks; what is faster is larger."""
    measured = study(
        {"ranks": [1, 2, 4, 8, 16, 32], "method": ["serial", "collective"]},
        lambda w: 10.0 if w["method"] == "serial" else 10.0 * (6 / w["ranks"]) ** 0.4,
        scatter=0.03,
        others={"size_mb": lambda w, elapsed: 100 / elapsed**0.5},
    )
    sizes = {"size_mb": {"words": "size", "unit": "MB", "better": "less"}}
    return Measured(measured.plan | {"study": {"expect": [], "responses": sizes}}, measured.runs)


def test_charts_show_what_the_findings_say():
    text = report_page.render(Summary(crossing()))
    assert text.count('<line class="crossing"') == 1
    assert text.count('<polyline class="trend"') >= 1
    mark = text[text.index('<rect class="crossing"') - 300 :]
    assert "serial beats collective below" in mark
    assert 'viewBox="0 0 1080' in text  # one facet takes the whole width


def test_a_page_says_that_many_responses_have_many_chances():
    note = "not for there being 2 tables: where nothing matters to any response, some row says"
    text = " ".join(report_page.render(Summary(crossing())).split())
    assert f"{note} that it does in up to 10% of studies" in text
    alone = crossing()
    runs = alone.runs.drop(columns="size_mb")
    assert "there being" not in report_page.render(Summary(Measured(alone.plan, runs)))


def test_a_page_has_residuals_and_one_response_against_another():
    text = report_page.render(Summary(crossing()))
    against = text[text.index("Elapsed time against size") :]
    first = against[: against.index("</svg>")]
    # of what takes longer, all is smaller: none is beaten, but where two take as long
    assert first.count("<circle") == 12 and 6 <= first.count("dot hue-2 front") <= 12
    left = text[text.index("Each run against the mean of its combination") :]
    assert left[: left.index("</svg>")].count("<circle") == 36
