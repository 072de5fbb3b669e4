"""The verdict in a few lines, as it stands after a run: they need no tables, so nothing that draws
them is imported."""

from collections.abc import Iterator
from typing import Any

from tailrace.units import percent

MOST = 3


def short_lines(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each line and its style. A finding that the first line has in full is not said again."""
    headline = report["headline"]
    yield headline, "bold"
    told = [
        f for f in report["verdict"] if f["gain"] or f["advice"] or f["finding"] not in headline
    ]
    for finding in told[:MOST]:
        yield f"{percent(finding['share_of_runtime']):>7}  {finding['finding']}", ""
        for text in filter(None, what_to_do(finding)):
            yield f"{'':9}{text}", "dim"


def what_to_do(finding: dict[str, Any]) -> tuple[str, str, str]:
    """Where it is, what it would buy, and how; each may be empty."""
    place, advice = finding["place"], finding["advice"]
    return f"at {place}" if place else "", finding["gain"], f"→ {advice}" if advice else ""
