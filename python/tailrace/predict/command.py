"""`tailrace whatif`: reads the trace, predicts, and says which change gives most."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import print_json
from tailrace.predict.model import load
from tailrace.predict.whatif import Change, Prediction, Run, usual
from tailrace.store import opened_trace
from tailrace.terminal import console, print_numbers, table, tell
from tailrace.units import digits, percent, seconds

WORTH_IT = 0.01


def main(
    path: Path,
    factors: dict[str, Any],
    targets: list[Path],
    moving: dict[str, Any],
    overlap: bool,
    every: bool,
    eager_limit_bytes: int | None,
    as_json: bool,
) -> None:
    models = [load(target) for target in targets]
    with opened_trace(path) as trace:
        run = Run(trace, eager_limit_bytes)
    directory = moving.get("directory")
    if directory is not None and not run.has_files_in(directory):
        raise TailraceError(
            f"no file of {printable(trace.name)} lies in {printable(str(directory))}",
            f"`tailrace report {printable(str(path))}` lists its files",
        )
    if every or not (factors or models or overlap):
        found = run.ranked(usual(models, moving))
        predictions = [each for each in found if each.moves(run.measured_s)] or found
    else:
        base = replace(Change(overlap=overlap), **factors)
        moved = [replace(base, target=model, **moving) for model in models]
        predictions = run.ranked(moved or [base])
    if not run.is_identical:
        tell(
            f"taken again without a change, {printable(trace.name)} takes {seconds(run.again_s)}"
            f" and not {seconds(run.measured_s)}: its ranks wait for each other in a way that the"
            " trace does not tell, so do not rely on what follows\n\nhint: compare with"
            " `tailrace report`, which says in its warnings what is missing"
        )
    if as_json:
        print_json(
            {
                "schema": 1,
                "trace": str(trace),
                "measured_s": run.measured_s,
                "changes": [prediction.as_json() for prediction in predictions],
            }
        )
    else:
        _print(trace, run, predictions)


def _print(trace: Path, run: Run, predictions: list[Prediction]) -> None:
    out = console()
    out.print(headline(run.measured_s, predictions), style="bold", soft_wrap=True)
    out.print()
    rows = table(
        f"{printable(trace.name)}, {seconds(run.measured_s)} as measured",
        "change", ">predicted", ">between", ">saved", "what is left to gain",
    )  # fmt: skip
    for found in predictions:
        rows.add_row(
            found.change.words,
            seconds(found.predicted_s),
            _between(found),
            _saved(found.predicted_s, run.measured_s),
            found.next,
        )
    print_numbers(out, rows)
    out.print()
    assumed = dict.fromkeys(
        f"{found.change.words}: {sentence}"
        for found in predictions
        for sentence in found.change.assumes
    )
    out.print("Each assumes:", soft_wrap=True)
    for sentence in assumed:
        out.print(f"- {sentence}", soft_wrap=True)
    out.print("Not in the interval: how much one run differs from the next.", soft_wrap=True)


def headline(measured_s: float, predictions: list[Prediction]) -> str:
    """The answer in a sentence."""
    best = predictions[0]
    change = best.change.words[0].upper() + best.change.words[1:]
    saved = measured_s - best.predicted_s
    between = f" (between {between})" if (between := _between(best)) else ""
    outcome = f"the run would take {seconds(best.predicted_s)}{between}"
    if len(predictions) == 1:
        return f"{change}: {outcome} instead of {seconds(measured_s)}."
    if saved < WORTH_IT * measured_s:
        return (
            f"None of {len(predictions)} changes would save more than"
            f" {percent(WORTH_IT)} of the run's {seconds(measured_s)}."
        )
    return (
        f"Of {len(predictions)} changes this gives most: {best.change.words};"
        f" {outcome} instead of {seconds(measured_s)}."
    )


def _between(found: Prediction) -> str:
    """The interval, where it can be told from the prediction."""
    low, high = map(seconds, found.interval_s)
    return "" if low == high else f"{low} and {high}"


def _saved(predicted_s: float, measured_s: float) -> str:
    if predicted_s <= measured_s:
        return percent(1 - predicted_s / measured_s) if measured_s else ""
    return f"none: {digits(predicted_s / measured_s)} times as long" if measured_s else ""
