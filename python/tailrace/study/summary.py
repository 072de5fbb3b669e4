"""Everything that a report says, computed once; `as_json` is what `tailrace study report --json` prints."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from tailrace.names import printable
from tailrace.study import words
from tailrace.study.cautions import Caution, busy, cautions, crowded, side_by_side
from tailrace.study.crossover import Crossover
from tailrace.study.effects import RESAMPLES, Analysis, Effect, analyse
from tailrace.study.expect import HELD, NOT_HELD, UNDECIDED, Answer, evaluate
from tailrace.study.findings import AVERAGED, Finding, Found, find
from tailrace.study.intervals import LEVEL
from tailrace.study.layout import Layout
from tailrace.study.measured import Measured
from tailrace.study.responses import Response
from tailrace.study.trends import Speedup, Trend
from tailrace.units import count

SCHEMA = 1
HEADLINE_FINDINGS = 2
# What the first line is made of, the most telling kind first.
TELLING = ("wrong data", "trend", "crossover", "effect", "no effect", "interaction", "speedup", "runs", "unknown")


@dataclass(frozen=True)
class Cells:
    """Each combination's typical value and interval; arrays of one row per combination, NaN where there is none."""

    where: list[dict[str, Any]]
    runs: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def cells(table: Layout) -> Cells:
    """Geometric mean and Student's interval of each combination, as `intervals.typical` has it, all at once."""
    runs = np.isfinite(table.logs).sum(axis=1)
    mean = np.nansum(table.logs, axis=1) / np.maximum(runs, 1)
    squares = np.nansum((table.logs - mean[:, None]) ** 2, axis=1)
    freedom = np.where(runs > 1, runs - 1, np.nan)
    half = stats.t.ppf(0.5 + LEVEL / 2, freedom) * np.sqrt(squares / freedom / np.maximum(runs, 1))
    return Cells(table.where, runs, np.exp(mean), np.exp(mean - half), np.exp(mean + half))


class Summary:
    """Of one study."""

    def __init__(self, study: Measured) -> None:
        self.study = study
        self._tables: dict[str, Layout] = {}

    def table(self, response: Response) -> Layout:
        if response.column not in self._tables:
            self._tables[response.column] = self.study.table(response)
        return self._tables[response.column]

    @cached_property
    def analyses(self) -> dict[str, Analysis]:
        """By response; the randomisation test is of the main one."""
        main, seed = self.study.response.column, int(self.study.plan.get("seed") or 0)
        return {
            one.column: analyse(self.table(one), RESAMPLES * (one.column == main), seed) for one in self.study.responses
        }

    @property
    def analysis(self) -> Analysis:
        return self.analyses[self.study.response.column]

    @cached_property
    def found(self) -> Found:
        return find(self.study, self.analysis)

    @cached_property
    def answers(self) -> list[Answer]:
        return evaluate(self.study)

    @cached_property
    def cautions(self) -> list[Caution]:
        response = self.study.response
        if self.study.done.empty:
            return []
        done, varied = self.study.done, self.study.varied
        found = cautions(done, varied, response, self.table(response), self.study.planned)
        if self.study.plan["study"].get("slurm"):  # it ran on nodes that this environment does not describe
            return found
        environment = self.study.environment
        machine = [
            busy(environment),
            side_by_side(int(self.study.plan["study"].get("blocks_at_once") or 1)),
            crowded(done, varied, int(environment.get("cores") or 0)),
        ]
        return found + [one for one in machine if one is not None]

    @cached_property
    def headline(self) -> str:
        """The answer: what the study's document said, where it did, and what was found."""
        if self.study.done.empty:
            return f"No run of {printable(self.study.plan['name'])} has finished well; there is nothing to report yet."
        findings = sorted(self.found.findings, key=lambda one: TELLING.index(one.kind))
        chosen = _telling(findings)
        told = (
            [_sentence(one.text.removesuffix(AVERAGED)) for one in chosen]
            if self._certain(findings)
            else [self._uncertain()]
        )
        return ". ".join([*told, *self._verdict()]) + "."

    def _certain(self, findings: list[Finding]) -> bool:
        if findings and findings[0].kind == "wrong data":
            return True
        return self.analysis.blocks > 1 and any(one.kind != "unknown" for one in findings)

    def _uncertain(self) -> str:
        """What can be said all the same."""
        response = self.study.response
        if not self.study.varied:
            (value,) = cells(self.table(response)).value
            return _sentence(f"{response.words} is {response.text(float(value))}, and nothing was varied")
        if self.analysis.blocks < 2:
            return "With one run of each combination nothing is certain yet"
        return f"These runs cannot tell yet what matters to {response.words}"

    def _verdict(self) -> list[str]:
        """How the expectations came out, in one sentence."""
        if not self.answers:
            return []
        number = {answer: sum(one.answer == answer for one in self.answers) for answer in (HELD, NOT_HELD, UNDECIDED)}
        if number[HELD] == len(self.answers) > 1:
            return ["Both expectations held" if number[HELD] == 2 else f"All {number[HELD]} expectations held"]
        text = f"Of {count(len(self.answers), 'expectation')} {number[HELD] or 'none'} held"
        more = [f"{number[NOT_HELD]} did not"] * (number[NOT_HELD] > 0)
        more += [f"{number[UNDECIDED]} {'is' if number[UNDECIDED] == 1 else 'are'} undecided"] * (number[UNDECIDED] > 0)
        return [words.joined([text, *more])]

    @property
    def facts(self) -> str:
        """What was run, in one line."""
        study, number = self.study, self.study.planned
        blocks = study.runs["block"].nunique() if len(study.runs) else 0
        factors = words.joined([f"{len(factor.levels)} {words.spaced(factor.name)}" for factor in study.varied])
        return (
            f"{printable(study.plan['name'])}: {count(len(study.runs), 'run')} of {count(number, 'combination')}"
            f" ({factors}) in {count(blocks, 'block')}, {count(len(study.done), 'run')} ended well"
        )

    def as_json(self) -> dict[str, Any]:
        """docs/schema/study-report.json."""
        study, found = self.study, self.found
        return {
            "schema": SCHEMA,
            "name": study.plan["name"],
            "headline": self.headline,
            "response": study.response.column,
            "runs": self._runs(),
            "expect": [_answer(one) for one in self.answers],
            "findings": [_finding(one) for one in found.findings],
            "trends": [_trend(one) for one in found.trends],
            "speedups": [_speedup(one, found.weak) for one in found.speedups],
            "crossovers": [_crossover(name, one) for name, one in found.crossovers],
            "responses": [self._response(one) for one in study.responses],
            "warnings": [vars(one) | {"runs": list(one.runs)} for one in self.cautions],
            "environment": dict(study.environment),
        }

    def _runs(self) -> dict[str, int]:
        counts = self.study.runs["status"].value_counts()
        return {"all": len(self.study.runs)} | {
            status: int(counts.get(status, 0)) for status in ("done", "failed", "timeout", "wrong")
        }

    def _response(self, one: Response) -> dict[str, Any]:
        analysis = self.analyses[one.column]
        return {
            "column": one.column,
            "words": one.words,
            "unit": one.unit,
            "more_is_better": one.more_is_better,
            "combinations_analysed": analysis.cells,
            "blocks_analysed": analysis.blocks,
            "not_estimable": [list(names) for names in analysis.not_estimable],
            "effects": [_effect(self.study, effect) for effect in analysis.effects],
            "combinations": _cells(cells(self.table(one))),
        }


def _telling(findings: list[Finding]) -> list[Finding]:
    """The first ones; one of another kind where they are all alike; and one that says what does not matter."""
    first, others = findings[:HEADLINE_FINDINGS], findings[HEADLINE_FINDINGS:]
    alike = len({one.kind for one in first}) == 1
    different = [one for one in others if alike and one.kind in ("crossover", "effect")]
    return [*first, *different[:1], *[one for one in others if one.kind == "no effect"][:1]]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _cells(found: Cells) -> list[dict[str, Any]]:
    rows = zip(found.where, found.runs, found.value, found.low, found.high, strict=True)
    return [
        {"levels": where, "runs": int(runs), "value": _number(value), "low": _number(low), "high": _number(high)}
        for where, runs, value, low, high in rows
    ]


def _effect(study: Measured, one: Effect) -> dict[str, Any]:
    def levels(codes: tuple[int, ...]) -> dict[str, Any]:
        return {name: study.factor(name).levels[code] for name, code in zip(one.factors, codes, strict=True)}

    return {
        "factors": list(one.factors),
        "matters": one.matters,
        "size": one.size.numbers(),
        "high": levels(one.high),
        "low": levels(one.low),
        "share_of_variation": one.share,
        "freedom": one.freedom,
        "error_freedom": _number(one.error_freedom),
        "f": _number(one.f),
        "p": one.p,
        "p_holm": one.p_holm,
        "p_randomisation": one.p_randomisation,
        "test": one.test,
    }


def _answer(one: Answer) -> dict[str, Any]:
    kept = {key: getattr(one, key) for key in ("claim", "seed_value", "kind", "answer", "evidence", "response", "runs")}
    return kept | {"where": dict(one.where), "estimate": one.estimate and one.estimate.numbers()}


def _finding(one: Finding) -> dict[str, Any]:
    return vars(one) | {"estimate": one.estimate and one.estimate.numbers()}


def _trend(one: Trend) -> dict[str, Any]:
    return {
        "where": dict(one.curve.where),
        "averaged": one.curve.averaged,
        "shape": one.shape,
        "best": one.best,
        "may_be_best": list(one.between),
        "best_against_first": one.until and one.until.numbers(),
        "last_against_best": one.beyond and one.beyond.numbers(),
    }


def _speedup(one: Speedup, weak: bool) -> dict[str, Any]:
    return {
        "where": dict(one.curve.where),
        "scaling": "weak" if weak else "strong",
        "base": one.base,
        "base_value": one.base_value.numbers(),
        "levels": [
            {"level": level, "speedup": estimate.numbers(), "ideal": one.ideal[level]}
            for level, estimate in one.by_level.items()
        ],
    }


def _crossover(name: str, one: Crossover) -> dict[str, Any]:
    plain: Mapping[str, Any] = vars(one)
    kept = {key: plain[key] for key in ("first", "second", "at", "low", "high", "blocks", "level")}
    return {"factor": name, "where": dict(one.where), **kept, "between": list(one.between)}
