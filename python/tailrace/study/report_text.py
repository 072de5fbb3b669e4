"""The report in the terminal. The first line is the answer; nothing depends on colour."""

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tailrace.names import elided, printable
from tailrace.study import words
from tailrace.study.effects import Effect
from tailrace.study.expect import HELD, NOT_HELD
from tailrace.study.measured import Measured
from tailrace.study.summary import Summary, cells
from tailrace.study.trends import Speedup
from tailrace.text_report import console, table
from tailrace.units import percent

CELLS_SHOWN = 60
EFFECTS_SHOWN = 12
SPEEDUPS_SHOWN = 16
STYLES = {HELD: "green", NOT_HELD: "red"}
CLAIM_WIDTH = 300


def print_study(summary: Summary, out: Console | None = None) -> None:
    out = out or console()
    out.print(Text(summary.headline, style="bold"), soft_wrap=True)
    out.print(Text(summary.facts, style="dim"), soft_wrap=True)
    if summary.study.done.empty:
        blocks: list[RenderableType | None] = [endings(summary)]
    else:
        blocks = [expectations(summary), findings(summary), effects(summary), speedups(summary)]
        blocks += [combinations(summary), warnings(summary)]
    for block in blocks:
        if block is not None:
            out.print()
            out.print(block)


def expectations(summary: Summary) -> RenderableType | None:
    if not summary.answers:
        return None
    lines: list[RenderableType] = [Text("What was expected", style="bold")]
    for one in summary.answers:
        claim = elided(printable(one.claim), CLAIM_WIDTH)
        lines.append(Text.assemble((f"{one.answer:>9}", STYLES.get(one.answer, "yellow")), f"  {claim}"))
        lines.append(_under(one.evidence))
        if one.seed_value:
            lines.append(_under(f"there: {elided(printable(one.seed_value), CLAIM_WIDTH)}"))
    return Group(*lines)


def findings(summary: Summary) -> RenderableType | None:
    if not summary.found.findings:
        return None
    lines: list[RenderableType] = [Text("Findings", style="bold")]
    for one in summary.found.findings:
        lines.append(Padding(Text(f"• {printable(one.text)}"), (0, 0, 0, 2), expand=False))
        if one.evidence:
            lines.append(Padding(Text(printable(one.evidence), style="dim"), (0, 0, 0, 4), expand=False))
    return Group(*lines)


def _under(text: str) -> RenderableType:
    return Padding(Text(text, style="dim"), (0, 0, 0, 11), expand=False)


def endings(summary: Summary) -> RenderableType | None:
    bad = summary.study.runs
    reasons = bad["reason"].dropna().value_counts() if len(bad) else []
    lines = [Text(f"{number} × {printable(str(reason))}") for reason, number in getattr(reasons, "items", list)()]
    return Group(*lines) if lines else None


def effects(summary: Summary) -> RenderableType | None:
    analysis = summary.analysis
    if not analysis.effects:
        return None
    title = f"What matters to {summary.study.response.words}"
    result = table(title, "factor", ">of variation", "between", "ratio (95 % interval)", ">p", "by", "matters")
    for one in analysis.effects[:EFFECTS_SHOWN]:
        result.add_row(*effect_cells(summary.study, one))
    return Group(result, Text(effects_note(summary), style="dim"))


def effect_cells(study: Measured, one: Effect) -> tuple[str, ...]:
    """A row of the table of effects, for the terminal and the page."""
    return (
        " × ".join(words.spaced(name) for name in one.factors),
        percent(one.share),
        between(study, one),
        words.short(one.size),
        words.p_short(one.p_holm),
        one.test,
        "yes" if one.matters else "no" if one.size.within(0.05) else "not certain",
    )


def between(study: Measured, one: Effect) -> str:
    """The levels that differ most."""

    def side(codes: tuple[int, ...]) -> str:
        factors = [study.factor(name) for name in one.factors]
        return ", ".join(words.plain(f, f.levels[code]) for f, code in zip(factors, codes, strict=True))

    if len(one.factors) == 1:
        return f"{side(one.high)} / {side(one.low)}"
    first, second = (study.factor(name) for name in one.factors)
    ratio = f"{words.plain(first, first.levels[one.high[0]])} / {words.plain(first, first.levels[one.low[0]])}"
    places = [words.plain(second, second.levels[codes[1]]) for codes in (one.high, one.low)]
    return f"({ratio}) at {places[0]} / at {places[1]}"


def effects_note(summary: Summary) -> str:
    """How the table came about."""
    analysis = summary.analysis
    text = (
        f"{analysis.cells} of {analysis.cells_all} combinations in {analysis.blocks} whole blocks; logarithms, compared"
        " within blocks; p with Holm's correction, by exchanging levels at random within blocks, of interactions by F;"
        " the ratio is between the levels that differ most (Scheffé's interval)."
    )
    if analysis.not_estimable:
        names = words.joined([" × ".join(names) for names in analysis.not_estimable])
        text += f" Not analysed, for want of combinations or for too many levels: {names}."
    return text


def speedups(summary: Summary) -> RenderableType | None:
    if not summary.found.speedups:
        return None
    rows = speedup_rows(summary)
    kind = "Scaled speedup (the problem grows with the ranks)" if summary.found.weak else "Speedup"
    result = table(f"{kind} over {rows['base']}", "where", ">base", *(f">{level}" for level in rows["levels"]))
    for row in rows["rows"]:
        result.add_row(row["place"], row["base"], *row["cells"])
    result.add_row("ideal", "", *rows["ideal"], style="dim")
    return result


def speedup_rows(summary: Summary) -> dict[str, Any]:
    """The table of speedups, for the terminal and the page: the base case is named, and ideal is its last row."""
    study, found = summary.study, summary.found.speedups
    axis = study.axis
    assert axis is not None
    levels = sorted({level for one in found for level in one.by_level})
    ideal = {level: value for one in found for level, value in one.ideal.items()}
    return {
        "base": words.joined(list(dict.fromkeys(words.named(axis, one.base) for one in found)), "or"),
        "levels": [words.plain(axis, level) for level in levels],
        "rows": [
            {
                "place": _place(study, one),
                "base": study.response.text(one.base_value.value),
                "cells": _speedup_cells(one, levels),
            }
            for one in found[:SPEEDUPS_SHOWN]
        ],
        "ideal": [words.number(ideal[level]) for level in levels],
    }


def _place(study: Measured, one: Speedup) -> str:
    varied = {key: level for key, level in one.curve.where.items() if len(study.factor(key).levels) > 1}
    return words.places(study.factors, varied) or "all"


def _speedup_cells(one: Speedup, levels: list[Any]) -> list[str]:
    shown = (one.by_level.get(level) for level in levels)
    return ["–" if e is None or not e.blocks else words.short(e) for e in shown]


def combinations(summary: Summary) -> Table | None:
    study, response = summary.study, summary.study.response
    found = cells(summary.table(response))
    title = f"{response.words[:1].upper()}{response.words[1:]} of each combination"
    more = len(found.where) - CELLS_SHOWN
    if more > 0:
        title += f" (the first {CELLS_SHOWN}; {more:,} more are in runs.csv and on the page)"
    result = table(title, *(words.spaced(f.name) for f in study.varied), ">runs", ">typical", ">95 % interval")
    for number, where in enumerate(found.where[:CELLS_SHOWN]):
        levels = (words.plain(factor, where[factor.name]) for factor in study.varied)
        interval = "–"
        if found.runs[number] > 1:
            interval = f"{response.text(float(found.low[number]))} to {response.text(float(found.high[number]))}"
        typical = response.text(float(found.value[number]))
        result.add_row(*levels, str(int(found.runs[number])), typical, interval)
    return result


def warnings(summary: Summary) -> RenderableType | None:
    if not summary.cautions:
        return None
    lines: list[RenderableType] = [Text("Warnings", style="bold")]
    for one in summary.cautions:
        lines.append(Padding(Text(f"{one.kind}: {one.text}"), (0, 0, 0, 2), expand=False))
        if one.hint:
            lines.append(Padding(Text(one.hint, style="dim"), (0, 0, 0, 4), expand=False))
    return Group(*lines)
