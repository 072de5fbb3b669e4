"""The report as one HTML page that opens without a network and has no script at all.

What stands in it comes from outside (claims, names of factors, levels and targets, the
environment); it reaches the page through MiniJinja's escaping only. The content security policy
admits nothing but the page's own style.
"""

import re
from pathlib import Path
from typing import Any

from tailrace import page
from tailrace.names import printable
from tailrace.page.templates import rendered
from tailrace.study.analysis import words
from tailrace.study.analysis.effect import ERROR_RATE
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary
from tailrace.study.analysis.typical import typical_values
from tailrace.study.report import machine
from tailrace.study.report.charts import chart, key
from tailrace.study.report.facets import Figure, figures
from tailrace.study.report.scatter import plane, residuals, trade_offs
from tailrace.study.report.text import (
    SIMULATED,
    effect_row,
    effects_note,
    interval_words,
    runs_words,
)

TEMPLATES = Path(__file__).parent / "templates"
ROWS_SHOWN = 400
COMBINATION_RESPONSES = 6
# Charts of other responses that are open from the beginning, beside those that an expectation
# speaks of.
OPEN_RESPONSES = 2
FILTERS = {"printable": printable, "capital": lambda text: text[:1].upper() + text[1:]}


def render(summary: Summary) -> str:
    study = summary.study
    drawn = [] if study.done.empty else figures(summary)
    values = {
        "summary": summary,
        "simulated": {str(how): words_ for how, words_ in SIMULATED.items()},
        "name": printable(study.plan["name"]),
        "description": printable(study.plan.get("description") or ""),
        "paper": printable(study.plan.get("paper") or ""),
        "style": style(),
        "main": _figure(drawn[0]) if drawn else None,
        "others": [_figure(figure) for figure in drawn[1:]],
        "opened": _opened(summary),
        "trade_offs": _trade_offs(summary) if drawn else [],
        "residuals": _residuals(summary) if drawn else None,
        "effects": {
            name: [effect_row(summary.rivals, effect) for effect in all_.effects]
            for name, all_ in _analyses(summary)
        },
        "effects_note": effects_note(summary) if drawn else "",
        "others_note": _others_note(summary) if drawn else "",
        "speedups": _speedups(summary),
        "combinations": _combinations(summary) if drawn else None,
        "targets": machine.targets(study.environment),
        "environment": list(machine.rows(study.environment)),
    }
    return page_of("study.html.j2", values)


def _trade_offs(summary: Summary) -> list[dict[str, Any]]:
    return [{"title": drawn.title, "svg": plane(drawn)} for drawn in trade_offs(summary)]


def _residuals(summary: Summary) -> Any:
    drawn = residuals(summary)
    return None if drawn is None else plane(drawn)


def page_of(name: str, values: dict[str, Any]) -> str:
    """A template of studies with these values."""
    return rendered(TEMPLATES, name, FILTERS, values)


def _opened(summary: Summary) -> set[str]:
    expected = {answer.response for answer in summary.answers}
    return expected | {
        response.column for response in summary.study.responses[1 : OPEN_RESPONSES + 1]
    }


def _analyses(summary: Summary) -> list[tuple[str, Any]]:
    return [] if summary.study.done.empty else list(summary.analyses.items())


def _others_note(summary: Summary) -> str:
    """What the tables of several responses together do not promise."""
    some = sum(bool(all_.effects) for _, all_ in _analyses(summary))
    if some < 2:
        return ""
    chance = 1 - (1 - ERROR_RATE) ** some
    return (
        f"p values allow for all rows of one table, and not for there being {some} tables: where"
        f" nothing matters to any response, some row says that it does in up to {chance:.0%} of"
        " studies. What the report says in words is of the first response alone."
    )


def style() -> str:
    return page.style() + (TEMPLATES / "study.css").read_text("utf-8")


def _figure(figure: Figure) -> dict[str, Any]:
    lines = {line.number: line.name for facet in figure.facets for line in facet.lines}
    return {
        "response": figure.response,
        "legend": [
            {"key": key(number), "name": name} for number, name in sorted(lines.items()) if name
        ],
        "ideal": _ideal_name(figure),
        "trends": any(facet.trends for facet in figure.facets),
        "marks": any(facet.marks for facet in figure.facets),
        "facets": [{"title": facet.title, "svg": chart(figure, facet)} for facet in figure.facets],
        "left_out": figure.left_out,
    }


def _ideal_name(figure: Figure) -> str:
    """One for all facets: each has the bound from its own best line, which the drawing names."""
    names = list(dict.fromkeys(facet.ideal_name for facet in figure.facets if facet.ideal_name))
    return names[0] if len(names) == 1 else re.sub(r" \(.*\)", "", names[0]) if names else ""


def _speedups(summary: Summary) -> dict[str, Any] | None:
    if summary.study.done.empty or not summary.found.speedups:
        return None
    from tailrace.study.report.text import speedup_rows

    return speedup_rows(summary)


def _combinations(summary: Summary) -> dict[str, Any]:
    """A row per combination: the typical value of the main responses, with its interval."""
    study, shown = summary.study, summary.study.responses[:COMBINATION_RESPONSES]
    tables = [summary.table(response) for response in shown]
    found = [_by_place(table) for table in tables]
    places = list(found[0])
    rows = [_row(study, place, found, shown) for place in places[:ROWS_SHOWN]]
    return {
        "factors": [words.spaced(factor.name) for factor in study.varied],
        "responses": [response.words for response in shown],
        "rows": rows,
        "more": max(0, len(places) - ROWS_SHOWN),
    }


def _by_place(table: Layout) -> dict[tuple[Any, ...], tuple[int, float, float, float, bool]]:
    found = typical_values(table)
    numbers = zip(found.runs, found.value, found.low, found.high, found.simulated, strict=True)
    return {
        tuple(where.values()): values for where, values in zip(found.where, numbers, strict=True)
    }


def _row(
    study: Measured, place: tuple[Any, ...], found: list[Any], shown: list[Any]
) -> dict[str, Any]:
    levels = dict(zip((factor.name for factor in study.factors), place, strict=True))
    values = []
    for of_response, response in zip(found, shown, strict=True):
        runs, value, low, high, simulated = of_response.get(place, (0, 0.0, 0.0, 0.0, False))
        ends = interval_words(response, low, high)
        interval = f" ({ends})" if ends and response is shown[0] else ""
        values.append(f"{response.text(value)}{interval}" if runs or simulated else "–")
    named = [words.plain(factor, levels[factor.name]) for factor in study.varied]
    runs, *_, simulated = found[0][place]
    return {"levels": named, "runs": runs_words(int(runs), bool(simulated)), "values": values}
