"""A run in a notebook: the verdict, the timeline as a picture, and the efficiencies."""

from html import escape
from typing import TYPE_CHECKING

from tailrace.names import elided
from tailrace.page.picture import timeline_svg
from tailrace.units import count, percent, seconds
from tailrace.verdict.efficiencies import TAILRACE_FACTORS

if TYPE_CHECKING:
    from tailrace.library import Run

# A notebook has neither the page's style nor a known background: colours that show on both.
STYLE = (
    ".fill-useful{fill:#5b8fd0}.fill-mpi{fill:#b9c1cb}.fill-io,.fill-written{fill:#e8703a}"
    ".fill-read{fill:#2a9d8f}.tick{fill:#7a8494;font:12px system-ui,sans-serif}"
    ".rule{stroke:#b9c1cb;fill:none}"
)
LEGEND = (("useful", "#5b8fd0"), ("MPI", "#b9c1cb"), ("I/O", "#e8703a"))
FINDINGS = 3


def run_html(run: "Run") -> str:
    """At most a few ten kilobytes, whatever the run."""
    legend = " ".join(f'<span style="color:{colour}">■</span> {word}' for word, colour in LEGEND)
    about = f"{count(run.times.ranks, 'rank')} · {seconds(run.metrics['runtime_s'])}"
    return (
        f'<div style="max-width:900px"><p><b>{escape(run.headline)}</b></p>'
        f"<p>{escape(elided(run.label, 80))} · {about} · {legend}</p>"
        f"{timeline_svg(run.columns, STYLE)}{_findings(run)}{_efficiencies(run)}</div>"
    )


def _findings(run: "Run") -> str:
    lines = "".join(
        f"<li>{percent(finding.share_of_runtime)}: {escape(finding.finding)}</li>"
        for finding in run.findings[:FINDINGS]
    )
    return f"<ul>{lines}</ul>" if lines else ""


def _efficiencies(run: "Run") -> str:
    names = "".join(f"<th>{escape(factor.name)}</th>" for factor in TAILRACE_FACTORS)
    values = "".join(
        f"<td>{percent(getattr(run.efficiency, factor.key))}</td>" for factor in TAILRACE_FACTORS
    )
    return f"<table><thead><tr>{names}</tr></thead><tbody><tr>{values}</tr></tbody></table>"
