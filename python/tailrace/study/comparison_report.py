"""Two studies beside each other, in the terminal and on a page."""

import math
from typing import Any

from rich.console import Console
from rich.text import Text

from tailrace.names import elided, printable
from tailrace.study import words
from tailrace.study.comparison import Changed, Comparison, label
from tailrace.text_report import console, table

ROWS_SHOWN = 40
PAGE_ROWS = 400


def print_comparison(found: Comparison, out: Console | None = None) -> None:
    out = out or console()
    out.print(Text(found.headline, style="bold"), soft_wrap=True)
    for note in notes(found):
        out.print(Text(note, style="dim"), soft_wrap=True)
    shown = table("By level", "factor", "level", ">ratio (95 % interval)")
    for row in level_rows(found):
        shown.add_row(*row)
    out.print()
    out.print(shown)
    if found.answers:
        answers = table("What was expected", "first", "second", "claim")
        for one, other in found.answers:
            answers.add_row(one.answer, other.answer, elided(printable(one.claim), 120))
        out.print()
        out.print(answers)
    headings = ("combination", ">first", ">second", ">ratio (95 % interval)", ">p", "")
    cells = table(_cells_title(found, ROWS_SHOWN), *headings)
    for row in cell_rows(found)[:ROWS_SHOWN]:
        cells.add_row(*row)
    out.print()
    out.print(cells)


def _cells_title(found: Comparison, most: int) -> str:
    number = len(found.combinations)
    return "Combinations: those that changed, then the others, the largest ratio first" + (
        f" (the first {most} of {number:,})" if number > most else ""
    )


def notes(found: Comparison) -> list[str]:
    """What was compared with what, and what was not."""
    texts = [
        f"first: {label(found.first)}, second: {label(found.second)}; ratios are second over first, Welch's"
        " intervals on logarithms; a combination has changed where Holm's correction over all of them allows to say so"
    ]
    if found.only_first or found.only_second:
        texts.append(
            f"only in the first: {found.only_first} combinations, only in the second: {found.only_second};"
            " they are not compared"
        )
    hosts = [study.environment.get("host") for study in (found.first, found.second)]
    if all(hosts) and hosts[0] != hosts[1]:
        texts.append("the two ran on different machines")
    return texts


def level_rows(found: Comparison) -> list[tuple[str, ...]]:
    return [
        (words.spaced(name), words.plain(found.first.factor(name), level), words.short(one))
        for name, level, one in found.by_level
    ]


def cell_rows(found: Comparison) -> list[tuple[str, ...]]:
    ranked = sorted(found.combinations, key=lambda one: (not one.certain, -abs(math.log(one.ratio.value))))
    return [_cell_row(found, one) for one in ranked]


def _cell_row(found: Comparison, one: Changed) -> tuple[str, ...]:
    study = found.first
    values = [_value(side, one) for side in (found.first, found.second)]
    ratio = words.short(one.ratio)
    return (
        words.places(study.factors, one.where),
        *values,
        ratio,
        words.p_short(one.p_holm),
        "changed" if one.certain else "",
    )


def _value(study: Any, one: Changed) -> str:
    table_ = study.table(study.response).restricted(one.where)
    return study.response.text(math.exp(float(table_.logs[~(table_.logs != table_.logs)].mean())))


def render(found: Comparison) -> str:
    from tailrace.study.report_page import environment, style

    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            found=found,
            style=style(),
            first=label(found.first),
            second=label(found.second),
            notes=notes(found),
            levels=level_rows(found),
            cells=cell_rows(found)[:PAGE_ROWS],
            cells_title=_cells_title(found, PAGE_ROWS),
        )
    )
