"""`tailrace whatif`: reads the trace, predicts, and says which change gives most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tailrace import engine
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import print_json
from tailrace.predict.change import Change, by_methods, default_changes
from tailrace.predict.model import Model, named
from tailrace.predict.whatif import NOTABLE, Prediction, Run
from tailrace.store import opened_trace
from tailrace.terminal import console, print_numbers, table, tell
from tailrace.units import count, digits, percent, seconds


def main(
    path: Path,
    changes: dict[str, Any],
    targets: list[Path],
    moving: dict[str, Any],
    stage: Path | None,
    every: bool,
    eager_limit_bytes: int | None,
    as_json: bool,
) -> None:
    """`changes`: fields of Change that are made together, `moving`: those that say what moves to
    `targets` and how."""
    models = _told_apart([named(target) for target in targets])
    for model in models if "stripes" in moving else ():
        model.striped(moving["stripes"])
    if stage is not None:
        changes["stage"] = named(stage)
    with opened_trace(path) as trace:
        outputs = "way" in changes or (every and bool(models))
        columns = engine.analyze(trace, critical_paths=False)
        run = Run.of(trace, columns, models, outputs, eager_limit_bytes)
    directory = moving.get("directory")
    if directory is not None and not run.has_files_in(directory):
        raise TailraceError(
            f"no file of {printable(trace.name)} lies in {printable(str(directory))}",
            f"`tailrace report {printable(str(path))}` lists its files",
        )
    if models and run.moves_nothing(directory):
        where = "" if directory is None else f" in {printable(str(directory))}"
        raise TailraceError(
            f"the files of {printable(trace.name)}{where} are memory (/dev/shm), and what is done"
            " with memory takes no time in files that could change",
            "record the run with its files on a file system",
        )
    if every or not (changes or models):
        methods = run.possible(by_methods(models, moving)) if models else []
        found = run.ranked([*default_changes(models, moving), *methods])
        predictions = [each for each in found if each.moves(run.measured_s)] or found
    else:
        base = Change(directory=directory, **changes)
        moved = [replace(base, target=model, **moving) for model in models]
        predictions = run.ranked(moved or [base])
    if not run.is_identical:
        tell(
            f"taken again without a change, {printable(trace.name)} takes {seconds(run.again_s)}"
            f" and not {seconds(run.measured_s)}: its ranks wait for each other in a way that the"
            " trace does not tell, so do not rely on what follows\n\nhint: compare with"
            " `tailrace report`, which says in its warnings what is missing"
        )
    told = run.waits if run.waits is not None and run.waits.notable else None
    if as_json:
        of = {"trace": str(trace), "processor_wait_share": told.share if told else 0.0}
        _print_json(of, run.measured_s, predictions)
    else:
        caution = f"{told.caution}. " if told else ""
        _print(printable(trace.name), run.measured_s, predictions, caution)


def _told_apart(models: list[Model]) -> list[Model]:
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise TailraceError(
                f"two of the targets are called {name}, so their answers could not be told apart",
                "name each model once, or change `name` in one of the files",
            )
    return models


def of_ranks(
    paths: Sequence[Path],
    ranks: int,
    targets: Sequence[Path],
    eager_limit_bytes: int | None,
    as_json: bool,
) -> None:
    """The same of so many ranks, by runs on other numbers of them. `targets`: of their own file
    system, which says by how much its runs differ."""
    from tailrace.predict.ranks import read  # tables and verdict, which one trace does not need

    runs = read(paths, eager_limit_bytes, [named(target) for target in targets])
    if targets and runs.of_files is None:
        raise TailraceError(
            "no model that was given says by how much runs differ where these have their files:"
            " with --ranks a target is their own file system",
            "tailrace calibrate makes such a model, in a directory above the runs' files",
        )
    predictions = [runs.predict(ranks)]
    if as_json:
        _print_json({"traces": [str(path) for path in paths]}, runs.measured_s, predictions)
    else:
        _print(count(runs.most, "rank"), runs.measured_s, predictions)


def _print_json(of: dict[str, Any], measured_s: float, predictions: list[Prediction]) -> None:
    changes = [prediction.as_json(measured_s) for prediction in predictions]
    print_json({"schema": 1, **of, "measured_s": measured_s, "changes": changes})


def _print(of: str, measured_s: float, predictions: list[Prediction], caution: str = "") -> None:
    out = console()
    out.print(caution + headline(measured_s, predictions), style="bold", soft_wrap=True)
    out.print()
    several = len(predictions) > 1
    rows = table(
        f"{of}, {seconds(measured_s)} as measured",
        *([">"] if several else []),
        "change", ">predicted", ">between", ">saved", "what is left to gain",
    )  # fmt: skip
    for number, found in enumerate(predictions, 1):
        rows.add_row(
            *([str(number)] if several else []),
            found.change.words,
            seconds(found.predicted_s),
            _between(found),
            _saved(found, measured_s),
            found.next,
        )
    print_numbers(out, rows)
    out.print()
    out.print("What they assume, by number:" if several else "It assumes:", soft_wrap=True)
    for line in _assumed(predictions):
        out.print(f"- {line}", soft_wrap=True)
    alike = [number for number, found in enumerate(predictions, 1) if not found.change.holds_spread]
    if alike:
        which = f" of {stretches(alike)}" if len(alike) < len(predictions) else ""
        sentence = f"Not in the interval{which}: how much one run differs from the next."
        out.print(sentence, soft_wrap=True)


def _assumed(predictions: list[Prediction]) -> list[str]:
    """Each sentence once, behind the numbers of the changes that assume it where others do not."""
    by_sentence: dict[str, list[int]] = {}
    for number, found in enumerate(predictions, 1):
        for sentence in found.change.assumes:
            by_sentence.setdefault(sentence, []).append(number)
    return [
        sentence if len(numbers) == len(predictions) else f"{stretches(numbers)}: {sentence}"
        for sentence, numbers in by_sentence.items()
    ]


def stretches(numbers: list[int]) -> str:
    """Of ascending numbers: 1–3, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(parts)


def headline(measured_s: float, predictions: list[Prediction]) -> str:
    """The answer in a sentence."""
    best = predictions[0]
    change = best.change.words[0].upper() + best.change.words[1:]
    between = f" (between {between})" if (between := _between(best)) else ""
    would = f"would take {seconds(best.predicted_s)}{between}"
    if len(predictions) == 1 and best.is_open(measured_s):
        return (
            f"{change}: whether the run becomes shorter than its {seconds(measured_s)} cannot be"
            f" told; it {would}."
        )
    if len(predictions) == 1 and seconds(best.predicted_s) == seconds(measured_s):
        return f"{change}: the run would take {seconds(measured_s)}{between}, as it did."
    if len(predictions) == 1:
        return f"{change}: the run {would} instead of {seconds(measured_s)}."
    if measured_s - best.predicted_s < NOTABLE * measured_s:
        return _none(measured_s, predictions)
    gives = "may give" if best.is_open(measured_s) else "gives"
    return (
        f"Of {len(predictions)} changes this {gives} most: {best.change.words};"
        f" the run {would} instead of {seconds(measured_s)}.{_rivals(predictions)}"
    )


def _none(measured_s: float, predictions: list[Prediction]) -> str:
    """Of changes that save next to nothing: some may, by what they leave open."""
    found = f"None of {len(predictions)} changes"
    of_run = f"save more than {percent(NOTABLE)} of the run's {seconds(measured_s)}"
    may = sum(each.edges_s[0] < (1 - NOTABLE) * measured_s for each in predictions)
    if not may:
        return f"{found} would {of_run}."
    return f"{found} is predicted to {of_run}; {may} may."


def _rivals(predictions: list[Prediction]) -> str:
    """How many others may be as good, by what they and the best one leave open."""
    best, *others = predictions
    rivals = sum(found.interval_s[0] <= best.interval_s[1] for found in others)
    if not rivals:
        return ""
    who = "Another" if rivals == 1 else f"{rivals} others"
    return f" {who} may give as much."


def _between(found: Prediction) -> str:
    """The interval, where it can be told from the prediction."""
    low, high = map(seconds, found.interval_s)
    return "" if low == high else f"{low} and {high}"


def _saved(found: Prediction, measured_s: float) -> str:
    if not measured_s:
        return ""
    if found.is_open(measured_s):
        return "cannot be told"
    times = digits(found.predicted_s / measured_s)
    if found.predicted_s <= measured_s or times == digits(1):
        return percent(max(1 - found.predicted_s / measured_s, 0.0))
    return f"none: {times} times as long"
