"""Two studies beside each other, in the terminal and on a page."""

import math

import numpy as np
from rich.console import Console
from rich.text import Text

from tailrace.names import elided, printable
from tailrace.study.analysis import words
from tailrace.study.analysis.comparison import Changed, Comparison, label
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.responses import Response
from tailrace.study.report.facets import Facet, Figure, Line, Point
from tailrace.terminal import console, table
from tailrace.units import count

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
        for before, after in found.answers:
            answers.add_row(before.answer, after.answer, elided(printable(before.claim), 120))
        out.print()
        out.print(answers)
    headings = ("combination", ">first", ">second", ">ratio (95 % interval)", ">p", "")
    combinations = table(_combinations_title(found, ROWS_SHOWN), *headings)
    for row in combination_rows(found)[:ROWS_SHOWN]:
        combinations.add_row(*row)
    out.print()
    out.print(combinations)


def _combinations_title(found: Comparison, most: int) -> str:
    number = len(found.combinations)
    return "Combinations: those that changed, then the others, the largest ratio first" + (
        f" (the first {most} of {number:,})" if number > most else ""
    )


def notes(found: Comparison) -> list[str]:
    """What was compared with what, and what was not."""
    texts = [
        f"first: {label(found.first)}, second: {label(found.second)}; ratios are second over"
        " first, Welch's"
        " intervals on logarithms; combinations count as changed after Holm's correction over"
        " all of them"
    ]
    if found.only_first or found.only_second:
        texts.append(
            f"only in the first: {count(found.only_first, 'combination')}, only in the second:"
            f" {found.only_second}; they are not compared"
        )
    texts += _fails_more(found)
    hosts = [study.environment.get("host") for study in (found.first, found.second)]
    if all(hosts) and hosts[0] != hosts[1]:
        texts.append("the two ran on different machines")
    return texts


def _fails_more(found: Comparison) -> list[str]:
    """In which of the two more runs fail, and how many."""
    names = "the first", "the second"
    sides = [bool(side.any()) for side in found.unlike.sides.T]
    lost = [f"{names[at]} ({bad} of {all_})" for at, (bad, all_) in enumerate(found.unlike.counts)]
    if not any(sides):
        return []
    more, less = lost if sides[0] else reversed(lost)
    where = "" if not all(sides) else ", and in some places the other way round"
    return [
        f"more runs fail in {more} than in {less}{where}: those that ended may be the quick ones,"
        " and nothing is said of such combinations"
    ]


def level_rows(found: Comparison) -> list[tuple[str, ...]]:
    return [
        (words.spaced(name), words.plain(found.first.factor(name), level), words.short(ratio))
        for name, level, ratio in found.by_level
    ]


def combination_rows(found: Comparison) -> list[tuple[str, ...]]:
    ranked = sorted(
        found.combinations,
        key=lambda changed: (not changed.certain, -abs(math.log(changed.ratio.value))),
    )
    return [_combination_row(found, changed) for changed in ranked]


def _combination_row(found: Comparison, changed: Changed) -> tuple[str, ...]:
    study = found.first
    values = [_value(side, changed) for side in (found.first, found.second)]
    ratio = words.short(changed.ratio)
    return (
        words.places(study.factors, changed.where),
        *values,
        ratio,
        words.p_short(changed.p_holm),
        "changed" if changed.certain else "",
    )


def _value(study: Measured, changed: Changed) -> str:
    logs = study.table(study.response).restricted(changed.where).logs
    return study.response.text(math.exp(float(np.nanmean(logs))))


def level_figures(found: Comparison) -> list[Figure]:
    """A chart for each factor: by how much the response has changed at each of its levels."""
    ratio = Response("ratio", "second over first", "×")
    return [_level_figure(found, factor, ratio) for factor in found.first.varied]


def _level_figure(found: Comparison, factor: StudyFactor, ratio: Response) -> Figure:
    changes = {level: change for name, level, change in found.by_level if name == factor.name}
    place = {level: float(number) for number, level in enumerate(changes)}
    points = tuple(
        Point(place[level], level, one.value, one.low, one.high, (), one.blocks)
        for level, one in changes.items()
    )
    ends = min(place.values(), default=0.0), max(place.values(), default=0.0)
    same = tuple((end, 1.0) for end in ends)
    title = words.spaced(factor.name)
    facet = Facet(title, (Line(0, "second over first", points),), same, "no change")
    ticks = tuple((at, words.plain(factor, level)) for level, at in place.items())
    # beside the others: as if it were one of several
    return Figure(ratio, (facet, facet), title, ticks, factor.positive)


def render(found: Comparison) -> str:
    from tailrace.study.report.charts import chart
    from tailrace.study.report.page import page_of, style
    from tailrace.study.report.scatter import compared, plane

    values = {
        "found": found,
        "style": style(),
        "first": label(found.first),
        "second": label(found.second),
        "notes": notes(found),
        "drawn": None if (drawn := compared(found)) is None else plane(drawn),
        "by_level": [
            {"title": figure.facets[0].title, "svg": chart(figure, figure.facets[0])}
            for figure in level_figures(found)
        ],
        "levels": level_rows(found),
        "combinations": combination_rows(found)[:PAGE_ROWS],
        "combinations_title": _combinations_title(found, PAGE_ROWS),
    }
    return page_of("comparison.html.j2", values)
