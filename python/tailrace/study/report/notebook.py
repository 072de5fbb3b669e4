"""A study in a notebook: the answer, the chart of its response, and the first findings."""

from html import escape
from typing import TYPE_CHECKING

from tailrace.names import printable
from tailrace.study.report.charts import chart, key
from tailrace.study.report.facets import figure

if TYPE_CHECKING:
    from tailrace.study.analysis.summary import Summary

# A notebook has neither the page's style nor a known background: colours that show on both.
HUES = ("#4f86c6", "#d6482b", "#2a9d8f", "#8f7fd0", "#c98a1b", "#7a8494")
STYLE = (
    "".join(f".tailrace-study .hue-{i}{{--hue:{hue}}}" for i, hue in enumerate(HUES))
    + ".tailrace-study svg{width:420px;max-width:100%;height:auto}"
    ".tailrace-study svg.key-shape{width:14px}"
    ".tailrace-study .marker,.tailrace-study .run{fill:var(--hue)}.tailrace-study .run{opacity:.4}"
    ".tailrace-study .marker.simulated{fill:none;stroke:var(--hue)}"
    ".tailrace-study .interval,.tailrace-study .curve{stroke:var(--hue);fill:none}"
    ".tailrace-study .ideal{stroke:#7a8494;fill:none;stroke-dasharray:5 4}"
    ".tailrace-study .grid{stroke:#b9c1cb;stroke-width:.5}"
    ".tailrace-study .tick{fill:#7a8494;font:12px system-ui,sans-serif}"
)
FACETS, FINDINGS = 4, 3


def study_html(summary: "Summary") -> str:
    text = f"<p><b>{escape(summary.headline)}</b></p><p>{escape(summary.facts)}</p>"
    if not summary.study.done.empty:
        text += _chart(summary) + _findings(summary)
    return f'<div class="tailrace-study"><style>{STYLE}</style>{text}</div>'


def _chart(summary: "Summary") -> str:
    drawn = figure(summary, summary.study.response)
    names = {line.number: line.name for facet in drawn.facets for line in facet.lines}
    legend = " ".join(
        f"<span>{key(number)} {escape(name)}</span>" for number, name in sorted(names.items())
    )
    facets = "".join(
        f'<figure style="display:inline-block;margin:4px"><figcaption>{escape(facet.title)}'
        f"</figcaption>{chart(drawn, facet)}</figure>"
        for facet in drawn.facets[:FACETS]
    )
    return f"<p>{legend}</p>{facets}"


def _findings(summary: "Summary") -> str:
    lines = "".join(
        f"<li>{escape(printable(finding.text))}</li>"
        for finding in summary.found.findings[:FINDINGS]
    )
    return f"<ul>{lines}</ul>" if lines else ""
