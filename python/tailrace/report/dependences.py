"""Critical path and wait states in the terminal."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tailrace.units import percent, seconds
from tailrace.verdict.dependences import causes_of, part_words, useful_words, wait_words

TOP_PARTS = 6
TOP_WAITS = 4
# Shares of the run that are worth a line.
NOTABLE_PART = 0.02
NOTABLE_WAITS = 0.01


def critical_path(report: dict[str, Any]) -> RenderableType | None:
    """What made the run as long as it was."""
    path = (report["critical_path"] or {}).get("measured")
    if path is None:
        return None
    shown = [part for part in path["parts"][:TOP_PARTS] if part["share"] >= NOTABLE_PART]
    rows = Table.grid(padding=(0, 2, 0, 0))
    rows.add_column(justify="right", min_width=7)
    for part in shown:
        rows.add_row(percent(part["share"]), Text(part_words(part, useful_words(report))))
        if part["place"]:
            rows.add_row("", Text(f"at {part['place']}", style="dim"))
    return Group(Text("Critical path: what made the run as long as it was", style="bold"), rows)


def wait_states(report: dict[str, Any]) -> RenderableType | None:
    """Who waited, and what those did meanwhile for whom it was."""
    waits = report["wait_states"]
    time_s = report["runtime_s"] * report["ranks"]
    if waits is None or waits["time_s"] < NOTABLE_WAITS * time_s:
        return None
    rows = Table.grid(padding=(0, 2, 0, 0))
    rows.add_column(justify="right", min_width=7)
    for call in waits["calls"][:TOP_WAITS]:
        if call["time_s"] >= NOTABLE_WAITS * time_s:
            rows.add_row(percent(call["time_s"] / time_s), Text(wait_words(call)))
            for text in causes_of(waits, call, useful_words(report)):
                rows.add_row("", Text(text, style="dim"))
    title = (
        f"Waits in MPI: {seconds(waits['time_s'])} over all ranks,"
        f" {percent(waits['time_s'] / time_s)} of their time"
    )
    return Group(Text(title, style="bold"), rows)
