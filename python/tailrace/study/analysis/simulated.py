"""What was simulated, in words that cannot be taken for a measurement."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tailrace.study.analysis import words
from tailrace.study.analysis.cautions import Caution
from tailrace.study.analysis.contenders import Race, Timed, choices, races
from tailrace.study.analysis.findings import FindingKind, StudyFinding
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.places import where_words
from tailrace.study.definition.columns import (
    RUN_TIME,
    SIMULATED_HIGH,
    SIMULATED_LOW,
    SIMULATED_TOGETHER,
    RunStatus,
)
from tailrace.units import count

HINT = "docs/reference/simulate.md says what is simulated, and how far to trust it"


def timed(study: Measured) -> list[Timed]:
    """The combinations that were simulated."""
    names = [factor.name for factor in study.factors]
    columns = [*names, RUN_TIME, SIMULATED_LOW, SIMULATED_HIGH]
    rows = study.simulated[columns].astype(object).to_numpy().tolist()
    return [Timed(dict(zip(names, row, strict=False)), *map(float, row[-3:])) for row in rows]


def on_models(study: Measured, places: Sequence[Mapping[str, Any]] = ()) -> str:
    """`places`: those that are spoken of; all without them."""
    models = {name for where in places or [{}] for name in study.models_of(where)}
    return f"simulated on {words.joined(sorted(models))}"


def simulated_findings(study: Measured) -> list[StudyFinding]:
    """Which choice would take the least time, in which places; or, where nothing is chosen, what
    would take the least and the most."""
    every = timed(study)
    if len(every) < 2:
        return []
    if not choices(study.factors):
        return [_range(study, every)]
    groups: dict[tuple[str, ...], list[Race]] = {}
    for race in races(study.factors, every):
        if len(race.runners) > 1:
            groups.setdefault(_names(study, race), []).append(race)
    return [_finding(study, names, group) for names, group in groups.items()]


def _names(study: Measured, race: Race) -> tuple[str, ...]:
    """In the order of the factors' levels."""
    chosen = choices(study.factors)
    ordered = sorted(
        race.contenders,
        key=lambda runner: [one.levels.index(runner.levels[one.name]) for one in chosen],
    )
    return tuple(_chosen(study, runner) for runner in ordered)


def _chosen(study: Measured, runner: Timed) -> str:
    names = [factor.name for factor in choices(study.factors)]
    return words.places(study.factors, {name: runner.levels[name] for name in names})


def _finding(study: Measured, names: tuple[str, ...], group: Sequence[Race]) -> StudyFinding:
    places = [race.where for race in group]
    where = where_words(study, places)
    there = "" if where == "everywhere" else f"{where}: "
    either = words.joined(names, "or")
    if len(names) == 1:
        text = f"{either} would take the least time"
    else:
        text = f"which of {either} would take the least time cannot be told"
    gaps = [_gap(race) for race in group]
    closest = group[gaps.index(min(gaps))]
    return StudyFinding(
        FindingKind.SIMULATED,
        f"{there}{text} ({on_models(study, places)})",
        _evidence(study, closest, alone=len(group) == 1),
        worth=min(gaps),
    )


def _gap(race: Race) -> float:
    """The logarithm of how many times longer the second takes at least."""
    if not race.decided:
        return 0.0
    best = race.contenders[0]
    second = min(runner.low for runner in race.runners if runner is not best)
    return math.log(second / best.high) if best.high > 0 else 0.0


def _evidence(study: Measured, race: Race, alone: bool) -> str:
    shown = race.runners[:3] if len(race.contenders) < 3 else race.contenders
    times = ", ".join(f"{_chosen(study, runner)} {_time(study, runner)}" for runner in shown)
    there = words.places(study.factors, _varied(study, race.where))
    if alone or not there:
        return times
    return f"{there}, where it is closest: {times}" if race.decided else f"as {there}: {times}"


def _time(study: Measured, one: Timed) -> str:
    value, low, high = map(study.response.text, (one.value, one.low, one.high))
    return value if low == high else f"{value} ({low} to {high})"


def _varied(study: Measured, where: Mapping[str, Any]) -> dict[str, Any]:
    varied = {factor.name for factor in study.varied}
    return {name: level for name, level in where.items() if name in varied}


def _range(study: Measured, every: Sequence[Timed]) -> StudyFinding:
    ends = [chosen(every, key=lambda one: one.value) for chosen in (min, max)]
    least, most = (
        f"{words.places(study.factors, _varied(study, one.levels))} would take {_time(study, one)}"
        for one in ends
    )
    return StudyFinding(FindingKind.SIMULATED, f"{least}; {most} ({on_models(study)})")


def simulated_cautions(study: Measured) -> list[Caution]:
    found = []
    if number := len(study.simulated):
        free = "; in them computing takes no time, as long as run.step_seconds does not say what"
        free = "" if study.states_computing else free
        text = f"the times of {count(number, 'combination')} are {on_models(study)}"
        text += f", and nothing of them was measured{free}{_together(study)}"
        found.append(Caution("simulated", text, HINT))
    left = study.runs[study.runs["status"] == RunStatus.UNAVAILABLE]
    for reason, some in left.groupby("reason", sort=False):
        text = f"{count(len(some), 'combination')} cannot be simulated: {reason}"
        found.append(Caution("not simulated", text, HINT, tuple(map(int, some["run"]))))
    return found


def _together(study: Measured) -> str:
    """In how many a rank's calls were too many to be simulated one by one."""
    taken = study.simulated.get(SIMULATED_TOGETHER)
    some = taken[taken > 1] if taken is not None else []
    if not len(some):
        return ""
    are = "is" if len(some) == 1 else "are"
    most = int(max(some))
    return f"; {len(some)} of them {are} coarse: up to {most:,} calls of a rank are taken as one"


def simulated_facts(study: Measured) -> str:
    """What else there is beside runs, for the line of facts."""
    left = int((study.runs["status"] == RunStatus.UNAVAILABLE).sum())
    parts = []
    if number := len(study.simulated):
        parts.append(f"{count(number, 'combination')} {on_models(study)}, not run")
    if left:
        parts.append(f"{count(left, 'combination')} cannot be simulated")
    return "".join(f"; {part}" for part in parts)
