"""Control targets, such as the local disk beside a file server: what takes as long there is not the
file system's doing. A report compares the other targets with each other, and says of a control only
how much of their time it takes."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tailrace import units
from tailrace.study.analysis import words
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.findings import FindingKind, StudyFinding
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.typical import TypicalValues, typical_values


def controlled(study: Measured) -> tuple[StudyFactor, list[Any]] | None:
    """The factor that says where runs write, and its controls; None where there are none, or
    nothing else."""
    targets = study.plan["study"].get("target") or {}
    for factor in study.factors:
        if factor.kind == "target":
            found = [one for one in factor.levels if (targets.get(one) or {}).get("control")]
            if found and len(found) < len(factor.levels):
                return factor, found
    return None


def without_controls(study: Measured, named: Mapping[str, Iterable[Any]] | None = None) -> Measured:
    """What is compared; which runs were the first of their block remains known. `named`: levels by
    factor, of which a control stays."""
    found = controlled(study)
    if found is None:
        return study
    factor, controls = found[0], set(found[1]) - set((named or {}).get(found[0].name, ()))
    if not controls:
        return study
    factors = [
        _without(planned, controls) if planned["name"] == factor.name else planned
        for planned in study.plan["factors"]
    ]
    kept = [
        combination
        for combination in study.plan.get("combinations", ())
        if combination["levels"][factor.name] not in controls
    ]
    return replace(
        study,
        plan={**study.plan, "factors": factors, "combinations": kept},
        runs=study.runs[~study.runs[factor.name].isin(controls)].reset_index(drop=True),
        known_first_runs=study.all_first_runs,
    )


def _without(planned: dict[str, Any], controls: Collection[Any]) -> dict[str, Any]:
    """plan.json's factor, without these levels."""
    kept = [place for place, level in enumerate(planned["levels"]) if level not in controls]
    lists = {"levels": planned["levels"], "labels": planned.get("labels") or planned["levels"]}
    return {**planned, **{key: [values[at] for at in kept] for key, values in lists.items()}}


def control_findings(study: Measured, table: Layout) -> Iterator[StudyFinding]:
    """Of each control, how much of the others' time it takes where all else is the same."""
    found = controlled(study)
    if found is None or not study.response.is_time:
        return
    (factor, controls), values = found, typical_values(table)
    for control in controls:
        shares = _shares(values, factor.name, control)
        if shares:
            yield _finding(study, factor, control, shares)


def _shares(values: TypicalValues, name: str, control: Any) -> list[tuple[float, dict[str, Any]]]:
    """The control's typical time over another target's, and the other's levels."""
    alone = {
        _place(where, name): value
        for where, value in zip(values.where, values.value.tolist(), strict=True)
        if where[name] == control
    }
    return [
        (alone[place] / value, where)
        for where, value in zip(values.where, values.value.tolist(), strict=True)
        if where[name] != control and (place := _place(where, name)) in alone
    ]


def _place(where: dict[str, Any], name: str) -> tuple[Any, ...]:
    return tuple(level for factor, level in where.items() if factor != name)


def _finding(
    study: Measured,
    factor: StudyFactor,
    control: Any,
    shares: list[tuple[float, dict[str, Any]]],
) -> StudyFinding:
    least, (most, where) = min(share for share, _ in shares), max(shares, key=lambda one: one[0])
    low, high = units.percent(least), units.percent(most)
    takes = f"about {high}" if low == high else f"{low} to {high}"
    means = (
        "so much at most is not the file system's doing"
        if most < 1
        else "where it takes as long, it is not the file system's doing"
    )
    varied = {other.name: where[other.name] for other in study.varied}
    return StudyFinding(
        FindingKind.CONTROL,
        f"{words.named(factor, control)}, the control, takes {takes} of the"
        f" {study.response.words} elsewhere, all else equal: {means}",
        f"the largest share is of {words.places(study.factors, varied)}; of typical times",
    )
