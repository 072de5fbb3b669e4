"""`tailrace study plan`: reads the study and the models, selects, and says what to measure."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from tailrace.errors import TailraceError
from tailrace.names import elided, printable
from tailrace.output import print_json
from tailrace.shipped import STUDIES
from tailrace.study.analysis import words
from tailrace.study.analysis.contenders import Race, Timed, choices
from tailrace.study.analysis.expect import Judgement
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.measured import factors_of
from tailrace.study.definition import loader
from tailrace.study.definition.loader import Loaded
from tailrace.study.definition.setups import setup
from tailrace.study.planning import prediction
from tailrace.study.planning.claims import NO_COMPUTING, Claim, claims
from tailrace.study.planning.leaving_out import command
from tailrace.study.planning.selection import Cost, Selection, select
from tailrace.study.running import plan
from tailrace.terminal import console, table
from tailrace.units import count, percent, seconds

ROWS_SHOWN = 40
CLAIM_WIDTH = 200
QUESTIONS = ("best", "claims", "both")


@dataclass(frozen=True)
class PlanOptions:
    """The command line's, as they are given."""

    size: str | None = None
    changes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    question: str = "both"
    as_json: bool = False


@dataclass(frozen=True)
class Planned:
    """What was found of a study, and the command that measures what has to be."""

    loaded: Loaded
    factors: Sequence[StudyFactor]
    selection: Selection
    command: Sequence[str]


def main(word: str, options: PlanOptions) -> None:
    planned = make(word, options)
    if options.as_json:
        print_json(as_json(planned))
    else:
        print_plan(planned)


def make(word: str, options: PlanOptions) -> Planned:
    changes = dict(loader.parsed_change(text) for text in options.changes)
    loaded = loader.load(STUDIES.find(word), options.size, changes)
    prediction.check(loaded)
    values = plan.new(loaded, seed=0)
    factors = factors_of(values)
    _check_question(loaded, factors, options.question)
    predicted = prediction.predictions(loaded, prediction.chosen_models(loaded, options.models))
    asked = claims(values, predicted) if options.question != "best" else []
    best = factors if options.question != "claims" else []
    selection = select(best, predicted, asked, loaded.study.repetitions)
    return Planned(loaded, factors, selection, _command(word, loaded, options, selection))


def _check_question(loaded: Loaded, factors: Sequence[StudyFactor], question: str) -> None:
    study = loaded.study
    has = {"best": bool(choices(factors)), "claims": bool(study.expect)}
    if not (has[question] if question in has else any(has.values())):
        wanted = {
            "best": "no factor among whose levels one is chosen",
            "claims": "no [[expect]]",
        }
        missing = [text for name, text in wanted.items() if question in (name, "both")]
        raise TailraceError(
            f"{study.name} has {words.joined(missing, 'and')}: there is nothing to decide",
            "vary a method, format, pair, hint or setting, or state an [[expect]]",
        )


def _command(word: str, loaded: Loaded, options: PlanOptions, selection: Selection) -> list[str]:
    """Empty where nothing has to be measured."""
    if not selection.why:
        return []
    wanted = [selection.predicted[number].timed.levels for number in selection.why]
    others = [
        one.timed.levels
        for number, one in enumerate(selection.predicted)
        if number not in selection.why
    ]
    size = ["--size", options.size] if options.size else []
    changes = [part for text in options.changes for part in ("--set", text)]
    return command(word, loaded, [*size, *changes, *_directories(loaded, wanted)], others)


def _directories(loaded: Loaded, wanted: Sequence[Mapping[str, Any]]) -> list[str]:
    """Targets that the study file simulates need a directory to be measured in."""
    study, made = loaded.study, [setup(loaded.study, levels) for levels in wanted]
    used = {name for one in made for name in (one.target, one.read_target)}
    return [
        part
        for name, target in study.target.items()
        if target.simulate is not None and name in used
        for part in ("--target", f"{name}=DIR")
    ]


# --- in words


def headline(selection: Selection) -> str:
    number, every = len(selection.why), len(selection.predicted)
    if not number:
        return "Nothing has to be measured: the predictions decide it."
    cost, whole = selection.planned, selection.whole
    runs = count(number * selection.repetitions, "run")
    known = cost.combinations - cost.unknown
    of_them = f" for the {known} that have a prediction" if cost.unknown else ""
    took = f", about {seconds(cost.value)}{of_them}" if known else ""
    which = f"all {count(every, 'combination')}" if number == every else f"{number} of {every}"
    start = f"Measure {which}{' combinations' if number < every else ''}: {runs}{took}"
    if number == every:
        return f"{start}; the predictions rule none out."
    if selection.saving is None:
        return f"{start}."
    return f"{start} instead of {seconds(whole.value)}, which saves {percent(selection.saving)}."


def notes(selection: Selection) -> list[str]:
    cost, whole = selection.planned, selection.whole
    texts = []
    if whole.value:
        between = f"between {seconds(cost.low)} and {seconds(cost.high)}"
        of_all = f"{seconds(whole.low)} and {seconds(whole.high)} of the whole study"
        texts.append(
            f"the runs' own time, {count(selection.repetitions, 'repetition')} each: {between},"
            f" against {of_all}; preparing and verifying come on top"
        )
    if any(claim.evidence == NO_COMPUTING for claim in selection.claims):
        texts.append(f"no claim is decided: {NO_COMPUTING}")
    if coarse := [one.together for one in selection.predicted if one.together > 1]:
        texts.append(
            f"{count(len(coarse), 'prediction')} of {len(selection.predicted)} took up to"
            f" {max(coarse):,} calls of a rank as one"
        )
    if whole.unknown:
        reason = next(one.why for one in selection.predicted if not one.known)
        texts.append(
            f"{count(whole.unknown, 'combination')} of {len(selection.predicted)} have no"
            f" prediction, so that nothing rules them out: {reason}"
        )
    return texts


def print_plan(planned: Planned, out: Console | None = None) -> None:
    out, selection = out or console(), planned.selection
    out.print(Text(headline(selection), style="bold"), soft_wrap=True)
    for note in notes(selection):
        out.print(Text(printable(note), style="dim"), soft_wrap=True)
    if selection.races:
        out.print()
        out.print(_places(planned))
    if selection.claims:
        out.print()
        out.print(_claims(selection.claims))
    if planned.command:
        out.print()
        out.print(Text("Measure them with"), soft_wrap=True)
        out.print(Text(f"  {printable(shlex.join(planned.command))}"), soft_wrap=True)


def _places(planned: Planned) -> Any:
    found = planned.selection.races
    title = "Which may be the best"
    if len(found) > ROWS_SHOWN:
        title += f" (the first {ROWS_SHOWN} of {len(found):,} places; --json has all)"
    rows = table(title, "where", "may be the best", "cannot be", "measure")
    for race in found[:ROWS_SHOWN]:
        contenders = race.contenders
        others = [runner for runner in race.runners if runner not in contenders]
        rows.add_row(
            _where(planned.factors, race),
            "\n".join(_runner(planned.factors, runner) for runner in contenders),
            "\n".join(_runner(planned.factors, runner) for runner in others) or "–",
            "no" if race.decided else "yes",
        )
    return rows


def _where(factors: Sequence[StudyFactor], race: Race) -> str:
    varied = [factor.name for factor in factors if len(factor.levels) > 1]
    there = {name: level for name, level in race.where.items() if name in varied}
    return words.places(factors, there) or "everywhere"


def _runner(factors: Sequence[StudyFactor], runner: Timed) -> str:
    chosen = {factor.name: runner.levels[factor.name] for factor in choices(factors)}
    name = words.places(factors, chosen)
    if not math.isfinite(runner.high):
        return f"{name}: no prediction"
    low, high = seconds(runner.low), seconds(runner.high)
    return f"{name}: {low}" if low == high else f"{name}: {low} to {high}"


def _claims(found: Sequence[Claim]) -> Any:
    rows = table("What was expected", "claim", "predicted", ">to measure")
    for claim in found[:ROWS_SHOWN]:
        text = elided(printable(claim.text), CLAIM_WIDTH)
        said = "open" if claim.answer is Judgement.UNDECIDED else str(claim.answer)
        rows.add_row(text, said, count(len(claim.needs), "combination"))
    return rows


# --- as JSON


def as_json(planned: Planned) -> dict[str, Any]:
    """docs/schema/study-to-measure.json."""
    selection, loaded = planned.selection, planned.loaded
    return {
        "schema": 1,
        "study": loaded.study.name,
        "size": loaded.size,
        "headline": headline(selection),
        "repetitions": selection.repetitions,
        "measure": [
            _combination(selection, number) | {"reasons": list(reasons)}
            for number, reasons in selection.why.items()
        ],
        "leave_out": [
            _combination(selection, number)
            for number in range(len(selection.predicted))
            if number not in selection.why
        ],
        "cost": _cost(selection.planned),
        "whole_cost": _cost(selection.whole),
        "saving": selection.saving,
        "places": [_race(race) for race in selection.races],
        "claims": [
            {
                "claim": claim.text,
                "predicted": claim.answer,
                "evidence": claim.evidence,
                "combinations": list(claim.needs),
            }
            for claim in selection.claims
        ],
        "command": list(planned.command),
    }


def _combination(selection: Selection, number: int) -> dict[str, Any]:
    timed, why, model, together = selection.predicted[number]
    found = None if why else {"value": timed.value, "low": timed.low, "high": timed.high}
    return {
        "combination": number,
        "levels": dict(timed.levels),
        "predicted_s": found,
        "model": model,
        "together": together,
        "why_not": why,
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "value_s": cost.value,
        "low_s": cost.low,
        "high_s": cost.high,
        "combinations": cost.combinations,
        "without_prediction": cost.unknown,
    }


def _race(race: Race) -> dict[str, Any]:
    return {
        "where": dict(race.where),
        "decided": race.decided,
        "may_be_best": [_chosen(race, runner) for runner in race.contenders],
    }


def _chosen(race: Race, runner: Timed) -> dict[str, Any]:
    return {name: level for name, level in runner.levels.items() if name not in race.where}
