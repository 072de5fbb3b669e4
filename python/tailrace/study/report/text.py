"""The report in the terminal. The first line is the answer; nothing depends on colour."""

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tailrace.names import elided, printable
from tailrace.study.analysis import words
from tailrace.study.analysis.effect import Effect
from tailrace.study.analysis.expect import Judgement, Simulated
from tailrace.study.analysis.findings import IRRELEVANT
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.responses import Response
from tailrace.study.analysis.summary import Summary
from tailrace.study.analysis.trends import Speedup
from tailrace.study.analysis.typical import typical_values
from tailrace.terminal import console, table
from tailrace.units import percent

COMBINATIONS_SHOWN = 60
EFFECTS_SHOWN = 12
SPEEDUPS_SHOWN = 16
STYLES = {Judgement.HELD: "green", Judgement.NOT_HELD: "red"}
CLAIM_WIDTH = 300
SIMULATED = {
    Simulated.NOTHING: "",
    Simulated.PART: " (partly simulated)",
    Simulated.ALL: " (simulated)",
}


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
    for answer in summary.answers:
        claim = elided(printable(answer.claim), CLAIM_WIDTH)
        style = STYLES.get(answer.answer, "yellow")
        ours = " (ours, not the paper's)" if answer.ours else ""
        ours += SIMULATED[answer.simulated]
        lines.append(Text.assemble((f"{answer.answer:>9}", style), f"  {claim}{ours}"))
        lines.append(_indented(answer.evidence, 11, "dim"))
        if answer.paper_value:
            there = elided(printable(answer.paper_value), CLAIM_WIDTH)
            lines.append(_indented(f"there: {there}", 11, "dim"))
    return Group(*lines)


def findings(summary: Summary) -> RenderableType | None:
    texts = [
        (f"• {printable(finding.text)}", printable(finding.evidence))
        for finding in summary.found.findings
    ]
    return _listed("Findings", texts)


def warnings(summary: Summary) -> RenderableType | None:
    texts = [(f"{caution.kind}: {caution.text}", caution.hint) for caution in summary.cautions]
    return _listed("Warnings", texts)


def _listed(title: str, texts: Sequence[tuple[str, str]]) -> RenderableType | None:
    """Each with what stands under it, where there is anything."""
    if not texts:
        return None
    lines: list[RenderableType] = [Text(title, style="bold")]
    for text, under in texts:
        lines.append(_indented(text, 2))
        if under:
            lines.append(_indented(under, 4, "dim"))
    return Group(*lines)


def _indented(text: str, by: int, style: str = "") -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, by), expand=False)


def endings(summary: Summary) -> RenderableType | None:
    runs = summary.study.runs
    if runs.empty:
        return None
    reasons = runs["reason"].dropna().value_counts()
    lines = [Text(f"{number} × {printable(str(reason))}") for reason, number in reasons.items()]
    return Group(*lines) if lines else None


def effects(summary: Summary) -> RenderableType | None:
    analysis = summary.analysis
    if not analysis.effects:
        return None
    title = f"What matters to {summary.study.response.words}"
    result = table(
        title, "factor", ">of variation", "between", "ratio (95 % interval)", ">p", "matters"
    )
    for effect in analysis.effects[:EFFECTS_SHOWN]:
        result.add_row(*effect_row(summary.rivals, effect))
    return Group(result, Text(effects_note(summary), style="dim"))


def effect_row(study: Measured, effect: Effect) -> tuple[str, ...]:
    """A row of the table of effects, for the terminal and the page."""
    small = effect.size_said.within(IRRELEVANT)
    certain = f"by under {IRRELEVANT * 100:g} %" if small else "yes"
    open_ = "no" if small else "not certain"
    return (
        " × ".join(words.spaced(name) for name in effect.factors),
        percent(effect.share),
        between(study, effect),
        words.short(effect.size_said),
        words.p_short(effect.p_said),
        certain if effect.is_clear else open_,
    )


def between(study: Measured, effect: Effect) -> str:
    """The levels that differ most; of an interaction, where the ratio of the first factor does."""
    high, low = (
        [
            words.plain(study.factor(name), study.factor(name).levels[code])
            for name, code in zip(effect.factors, codes, strict=True)
        ]
        for codes in (effect.high, effect.low)
    )
    if len(effect.factors) == 1:
        return f"{high[0]} / {low[0]}"
    if len(effect.factors) == 3:
        first = f"({high[0]} / {low[0]}) at {high[1]} / at {low[1]}"
        return f"({first}) with {high[2]} / with {low[2]}"
    return f"({high[0]} / {low[0]}) at {high[1]} / at {low[1]}"


def effects_note(summary: Summary) -> str:
    """How the table came about."""
    analysis = summary.analysis
    text = (
        f"{analysis.combinations} of {analysis.combinations_all} combinations in"
        f" {analysis.blocks} blocks; logarithms, without what a block has in common; p by F that"
        " allows for unequal scatter, with Holm's correction over all rows, or by F from block to"
        " block where that is larger;"
        " the ratio is between the levels that differ most (Scheffé's interval)."
    )
    if summary.rivals is not summary.ran:
        text += " Controls are not in it."
    if analysis.not_estimable:
        names = words.joined([" × ".join(names) for names in analysis.not_estimable])
        text += f" Not analysed, for lack of combinations or too many levels: {names}."
    return text


def speedups(summary: Summary) -> RenderableType | None:
    if not summary.found.speedups:
        return None
    rows = speedup_rows(summary)
    kind = "Scaled speedup (the problem grows with the ranks)" if summary.found.weak else "Speedup"
    result = table(
        f"{kind} over {rows['base']}", "where", ">base", *(f">{level}" for level in rows["levels"])
    )
    for row in rows["rows"]:
        result.add_row(row["place"], row["base"], *row["values"])
    result.add_row("ideal", "", *rows["ideal"], style="dim")
    return result


def speedup_rows(summary: Summary) -> dict[str, Any]:
    """The table of speedups, for the terminal and the page: the base case is named, and ideal is
    its last row."""
    study, found = summary.study, summary.found.speedups
    axis = study.axis
    assert axis is not None
    ideal = {level: value for gained in found for level, value in gained.ideal.items()}
    levels = sorted(ideal)
    bases = dict.fromkeys(words.named(axis, gained.base) for gained in found)
    return {
        "base": words.joined(list(bases), "or"),
        "levels": [words.plain(axis, level) for level in levels],
        "rows": [_speedup_row(study, gained, levels) for gained in found[:SPEEDUPS_SHOWN]],
        "ideal": [words.number(ideal[level]) for level in levels],
    }


def _speedup_row(study: Measured, gained: Speedup, levels: list[Any]) -> dict[str, Any]:
    varied = {factor.name for factor in study.varied}
    where = {name: level for name, level in gained.curve.where.items() if name in varied}
    shown = [gained.by_level.get(level) for level in levels]
    return {
        "place": words.places(study.factors, where) or "all",
        "base": study.response.text(gained.base_value.value),
        "values": [
            "–" if estimate is None or not estimate.blocks else words.short(estimate)
            for estimate in shown
        ],
    }


def combinations(summary: Summary) -> Table | None:
    study, response = summary.study, summary.study.response
    found = typical_values(summary.table(response))
    if not found.where:
        return None
    title = f"{response.words[:1].upper()}{response.words[1:]} of each combination"
    more = len(found.where) - COMBINATIONS_SHOWN
    if more > 0:
        title += f" (the first {COMBINATIONS_SHOWN}; {more:,} more are in runs.csv and on the page)"
    interval_of = "95 % interval" if not found.simulated.any() else "95 %, or simulated, interval"
    result = table(
        title, *(words.spaced(f.name) for f in study.varied), ">runs", ">typical", f">{interval_of}"
    )
    for number, where in enumerate(found.where[:COMBINATIONS_SHOWN]):
        levels = (words.plain(factor, where[factor.name]) for factor in study.varied)
        interval = interval_words(response, float(found.low[number]), float(found.high[number]))
        typical = response.text(float(found.value[number]))
        runs = runs_words(int(found.runs[number]), bool(found.simulated[number]))
        result.add_row(*levels, runs, typical, interval or "–")
    return result


def interval_words(response: Response, low: float, high: float) -> str:
    """Of a combination, in a table; empty where there is none."""
    if not math.isfinite(low):
        return ""
    if not math.isfinite(high):
        return f"at least {response.text(low)}"
    return f"{response.text(low)} to {response.text(high)}"


def runs_words(runs: int, simulated: bool) -> str:
    """How many there are of a combination, in a table."""
    return "simulated" if simulated else str(runs)
