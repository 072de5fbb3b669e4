"""Simulated studies of fractions of designs, in which factors and interactions of two matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from tailrace.study.analysis import aliasing
from tailrace.study.analysis.effect import Effect
from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.expect import evaluate
from tailrace.study.analysis.findings import find
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.view import View
from tailrace.study.definition.design import combinations
from tailrace.study.definition.model import Fraction, StudyDefinition

from .simulated_curves import Where
from .study_data import plan

# Logarithms of the ratio of "on" to "off", and of how many times that is as large with another on.
Planted = Mapping[tuple[str, ...], float]
PLANTED: dict[str, Planted] = {
    "nothing": {},
    "a factor": {("f2",): 0.26},
    "an interaction": {("f0", "f1"): 0.67},
    "a factor and an interaction": {("f2",): 0.26, ("f0", "f1"): 0.67},
    "two interactions": {("f0", "f1"): 0.67, ("f2", "f3"): 0.52},
    "a factor that an interaction hides": {("f3",): 0.26, ("f0", "f1"): -0.52},
    "three that act together": {("f0", "f1", "f2"): 0.67},
}
DESIGNS: dict[str, tuple[dict[str, Any], int]] = {
    "resolution 3, 6 factors": ({"resolution": 3}, 6),
    "resolution 3, 12 factors": ({"resolution": 3}, 12),
    "resolution 4, 6 factors": ({"resolution": 4}, 6),
    "resolution 4, 8 factors": ({"resolution": 4}, 8),
    "resolution 5, 6 factors": ({"resolution": 5}, 6),
    "screening, 7 factors": ({"screening": True}, 7),
    "screening, 11 factors": ({"screening": True}, 11),
    "screening, 12 factors": ({"screening": True}, 12),
    "screening, 20 factors": ({"screening": True}, 20),
}


@cache
def _places(design: str) -> tuple[Where, ...]:
    fraction, number = DESIGNS[design]
    given = {"schema": 1, "name": "mine", "description": "Many factors.", "fraction": fraction}
    factors = {f"f{i}": {"levels": ["off", "on"]} for i in range(number)}
    command = {"command": ["true"], "launcher": "none"}
    return combinations(StudyDefinition.model_validate(given | {"run": command, "factor": factors}))


def measured(
    design: str,
    planted: Planted,
    seed: int,
    scatter: float = 0.03,
    expect: list[dict[str, Any]] | None = None,
) -> Measured:
    """Three blocks."""
    random, places = np.random.default_rng(seed), _places(design)
    order = [(block, int(at)) for block in range(3) for at in random.permutation(len(places))]
    rows = [
        {"run": run, "block": block, "order": run, "elapsed_s": _time(places[at], planted)}
        | dict(places[at])
        for run, (block, at) in enumerate(order)
    ]
    runs = pd.DataFrame(rows).assign(status="done", reason="")
    runs["elapsed_s"] *= np.exp(random.normal(0, scatter, len(runs)))
    asked = plan({name: ["off", "on"] for name in places[0]}, [], "elapsed_s")
    fraction = Fraction.model_validate(DESIGNS[design][0]).model_dump()
    return Measured(asked | {"study": {"expect": expect or [], "fraction": fraction}}, runs)


def _time(where: Where, planted: Planted) -> float:
    """Each half of it, up and down."""
    signs = {name: 1 if level == "on" else -1 for name, level in where.items()}
    return 10 * float(
        np.exp(
            sum(
                size / 2 ** len(names) * np.prod([signs[n] for n in names])
                for names, size in planted.items()
            )
        )
    )


def false_of(design: str, name: str) -> Callable[[int], bool]:
    """Something is said of what was not planted: of one factor or interaction alone, or of several
    of which none was."""
    planted = PLANTED[name]
    together = {names for names in planted if len(names) > 1}
    three = any(len(names) == 3 for names in planted)

    def wrong(study: Measured, effect: Effect) -> bool:
        if study.is_screening:
            return effect.factors not in planted and not together
        said = bool({effect.factors, *effect.aliases} & set(planted))
        return not said and not (three and effect.may_be_three)

    def false(seed: int) -> bool:
        study = measured(design, planted, seed)
        analysis = analyse(study.table(study.response), not study.only_factors)
        view, found = View(study, analysis), find(study, analysis)
        told = [*view.main_effects(), *view.interactions()]
        quiet = [e for e in view.quiet() if view.does_not_matter(e) and e.factors in planted]
        hidden = any(not (aliasing.is_ambiguous(study, e) and together) for e in quiet)
        lack = any(f.kind == "combination" for f in found.findings) and not together
        return any(wrong(study, effect) for effect in told) or hidden or lack

    return false


FRACTIONS = {f"{design}, {name}": false_of(design, name) for design in DESIGNS for name in PLANTED}


def _expects(names: tuple[str, str], planted: Planted) -> list[tuple[dict[str, Any], set[str]]]:
    """Statements about two factors, and the answers to each that are false."""
    one, other = names
    matters = {"factor": one, "within": 0.05}
    more = {"factor": one, "with": {other: "on"}, "than": {other: "off"}}
    size = planted.get((one,), 0.0)
    wrong = "held" if abs(size) < math.log(1.05) else "not held"
    there = {"claim": "?", "where": {other: "on"}, "matters": matters}
    return [
        ({"claim": "?", "faster": {"factor": one, "level": "off", "than": "on"}}, {wrong}),
        ({"claim": "?", "matters": matters}, {wrong}),
        (there, {wrong}),
        ({"claim": "?", "matters_more": more}, {"held", "not held"}),
    ]


def false_answers(design: str, name: str) -> Callable[[int], float]:
    """The share of statements about one factor, alone and with another, whose answer is false, and
    not hedged. Neither acts together with any; three others look like f4 in resolution 4."""
    planted = PLANTED[name]
    asked = _expects(("f4" if name.startswith("three") else "f3", "f5"), planted)

    def false(seed: int) -> float:
        study = measured(design, planted, seed, expect=[given for given, _ in asked])
        return float(
            np.mean(
                [
                    str(answer.answer) in wrong and "unless three others" not in answer.evidence
                    for answer, (_, wrong) in zip(evaluate(study), asked, strict=True)
                ]
            )
        )

    return false


# Screening decides nothing of such statements.
ANSWERS = {
    f"{design}, {name}": false_answers(design, name)
    for design in DESIGNS
    if design.startswith("resolution")
    for name in ("an interaction", "a factor that an interaction hides", "three that act together")
}
