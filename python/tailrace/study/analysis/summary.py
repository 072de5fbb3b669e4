"""Everything that a report says, computed once; `as_json` is what `tailrace study report --json`
prints."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tailrace.names import printable
from tailrace.output import SCHEMA
from tailrace.study.analysis import by_chance, words
from tailrace.study.analysis.cautions import (
    Caution,
    bounded,
    busy,
    cautions,
    crowded,
    first_runs,
    one_order,
    rebuilt,
    rounded,
    side_by_side,
)
from tailrace.study.analysis.controls import control_findings, without_controls
from tailrace.study.analysis.effect import Effect
from tailrace.study.analysis.effects import Analysis, analyse
from tailrace.study.analysis.expect import Answer, Judgement, Simulated, evaluate
from tailrace.study.analysis.findings import (
    AVERAGED,
    FindingKind,
    Found,
    StudyFinding,
    find,
)
from tailrace.study.analysis.intervals import Estimate
from tailrace.study.analysis.layout import Layout
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.overtaking import FactorCrossover, FactorLead
from tailrace.study.analysis.responses import Response
from tailrace.study.analysis.simulated import (
    on_models,
    simulated_cautions,
    simulated_facts,
    simulated_findings,
)
from tailrace.study.analysis.trends import Speedup, Trend
from tailrace.study.analysis.typical import TypicalValues, typical_values
from tailrace.study.definition.columns import RunStatus
from tailrace.units import count

HEADLINE_FINDINGS = 2
# How runs ended, and not what they say of the response.
_WITHOUT_RATIO = (FindingKind.WRONG_DATA, FindingKind.RUNS)


class Summary:
    """Of one study. `ran`: what of it was run, which warnings are of. `rivals`: the same without
    controls, which effects and trends are of."""

    def __init__(self, study: Measured) -> None:
        self.study, self.ran = study, study.only_run
        self.rivals = without_controls(self.ran)
        self._tables: dict[str, Layout] = {}

    def table(self, response: Response) -> Layout:
        if response.column not in self._tables:
            self._tables[response.column] = self.study.table(response)
        return self._tables[response.column]

    def _ran_table(self, response: Response) -> Layout:
        return self.table(response) if self.ran is self.study else self.ran.table(response)

    @cached_property
    def analyses(self) -> dict[str, Analysis]:
        """By response."""
        return {
            response.column: analyse(self.rivals.compared(response), not self.study.only_factors)
            for response in self.study.responses
        }

    @property
    def analysis(self) -> Analysis:
        return self.analyses[self.study.response.column]

    @cached_property
    def found(self) -> Found:
        found = find(self.rivals, self.analysis, self.ran)
        controls = control_findings(self.ran, self._ran_table(self.study.response))
        findings = [*found.findings, *controls]
        if self.ran is not self.study:
            findings = [replace(one, text=f"of what was run: {one.text}") for one in findings]
            findings += simulated_findings(without_controls(self.study))
        return replace(found, findings=tuple(sorted(findings, key=lambda one: one.place)))

    @cached_property
    def answers(self) -> list[Answer]:
        return evaluate(self.study)

    @cached_property
    def cautions(self) -> list[Caution]:
        return [*self._ran_cautions(), *simulated_cautions(self.study)]

    def _ran_cautions(self) -> list[Caution]:
        response, done, varied = self.study.response, self.ran.done, self.study.varied
        if done.empty:
            return []
        table = self._ran_table(response)
        found = cautions(done, varied, response, table, self.ran.planned)
        limit = bounded(table, self.study.time_limit_s, response.words)
        first = first_runs(table.first_runs, response.words, self._opened)
        coarse = rounded(table, response.words)
        built = rebuilt(done, [factor.name for factor in varied])
        found += [one for one in (built, limit, first, coarse) if one is not None]
        order = one_order() if self.ran.has_one_order else None
        if order is not None and order.kind not in {one.kind for one in found}:
            found.append(order)
        # it ran on nodes that this environment does not describe
        if self.study.plan["study"].get("slurm"):
            return found
        environment = self.study.environment
        machine = [
            busy(environment),
            side_by_side(int(self.study.plan["study"].get("blocks_at_once") or 1)),
            crowded(done, varied, int(environment.get("cores") or 0)),
        ]
        return found + [caution for caution in machine if caution is not None]

    @cached_property
    def _opened(self) -> str:
        """Which levels went first so often that what they do cannot be told from that."""
        doubted = [effect for effect in self.analysis.effects if effect.may_be_first_runs]
        ways = dict.fromkeys((effect.factors[0], effect.on_targets) for effect in doubted)
        return "; ".join(
            words.opened(
                self.rivals.factor(name), *self.ran.opened_most(name, on_targets), on_targets
            )
            for name, on_targets in ways
        )

    @cached_property
    def headline(self) -> str:
        """The answer: what the study's paper said, where it did, and what was found."""
        if self.study.done.empty:
            return self._nothing()
        findings = self._telling()
        sentences = [_sentence(finding.text.removesuffix(AVERAGED)) for finding in findings]
        if all(finding.kind in _WITHOUT_RATIO for finding in findings) and not (
            sentences and self._has_no_ratio
        ):
            sentences.append(self._uncertain())
        return ". ".join([*sentences, *self._verdict()]) + "."

    @property
    def _has_no_ratio(self) -> bool:
        """Whether runs have ended, and of none can a ratio be taken."""
        some = self.rivals.compared(self.study.response)
        return not self.ran.done.empty and not len(some.logs)

    def _nothing(self) -> str:
        """Where no run has ended well: how they ended."""
        name = printable(self.study.plan["name"])
        ended = [finding for finding in self.found.findings if finding.kind in _WITHOUT_RATIO]
        how = [f"{one.text}{f' ({one.evidence})' if one.evidence else ''}" for one in ended]
        if not how:
            return f"No run of {name} has finished well; there is nothing to report yet."
        return f"No run of {name} has finished well: {words.joined(how)}."

    def _telling(self) -> list[StudyFinding]:
        """What must be said first, the findings that are worth most, and one that says what does
        not matter. None where nothing is certain yet."""
        findings = self.found.findings
        kinds = {finding.kind for finding in findings}
        uncertain = {
            *(FindingKind.UNKNOWN, FindingKind.RUNS),
            *(FindingKind.SIMULATED, FindingKind.CONTROL),
        }
        certain = self.analysis.blocks > 1 and kinds - uncertain
        first = [finding for finding in findings if finding.place[0] == 0]
        if self.ran.done.empty:
            return first + [one for one in findings if one not in first][:HEADLINE_FINDINGS]
        if not certain:
            return first
        quiet = [finding for finding in findings if finding.kind is FindingKind.NO_EFFECT]
        controls = [finding for finding in findings if finding.kind is FindingKind.CONTROL]
        small = (FindingKind.UNKNOWN, FindingKind.NO_EFFECT, FindingKind.RUNS, FindingKind.CONTROL)
        worth = [one for one in findings if one not in first and one.kind not in small]
        return first + worth[:HEADLINE_FINDINGS] + controls[:1] + quiet[:1]

    def _uncertain(self) -> str:
        """What can be said all the same."""
        response = self.study.response
        if not self.study.varied:
            (value,) = typical_values(self.table(response)).value
            is_ = response.verb("is") if self.ran is self.study else "would be"
            how = "" if self.ran is self.study else f" ({on_models(self.study)})"
            text = f"{response.words} {is_} {response.text(float(value))}{how}"
            return _sentence(f"{text}, and nothing was varied")
        if self.ran.done.empty:
            return f"One combination was {on_models(self.study)}, and none was run"
        known = typical_values(self._ran_table(response))
        if len(known.where) == 1:
            place = words.when(self.study.varied, self._varied(known.where[0]))
            value = response.text(float(known.value[0]))
            is_ = f"{_sentence(response.words)} {response.verb('is')} {value}"
            return f"{is_} {place}, and not known elsewhere"
        if self.analysis.blocks < 2:
            return "With one run of each combination nothing is certain yet"
        compared = self.rivals.table(response).codes
        levels = max(len(np.unique(codes)) for codes in compared.T)
        if by_chance.tells_nothing(levels, len(compared), self.analysis.blocks):
            return (
                f"Two blocks of {len(known.where)} combinations cannot tell a difference from"
                f" chance{self._ends(known)}; a study with a third (--set repetitions=3) can"
            )
        alone = [one for one in self.analysis.effects if one.matters and len(one.factors) == 1]
        if alone:
            of = words.joined([words.subject(self.rivals.factor(*one.factors)) for one in alone])
            depends = f"{_sentence(response.words)} {response.verb('depends')} on {of}"
            return f"{depends}; these runs cannot tell yet how"
        why = f": {self._opened}" if self._opened else ""
        return f"These runs cannot tell yet what matters to {response.words}{why}"

    def _varied(self, where: Mapping[str, Any]) -> dict[str, Any]:
        return {factor.name: where[factor.name] for factor in self.study.varied}

    def _ends(self, known: TypicalValues) -> str:
        """The least and the most of what was measured, of which nothing is said to be certain."""
        response, factors = self.study.response, self.study.varied
        least, most = (
            f"{response.text(float(known.value[at]))}"
            f" {words.when(factors, self._varied(known.where[at]))}"
            for at in (int(np.argmin(known.value)), int(np.argmax(known.value)))
        )
        return f": {response.words} {response.verb('was')} {least} and {most}"

    def _verdict(self) -> list[str]:
        """How the expectations came out, in one sentence."""
        if not self.answers:
            return []
        asked = [answer for answer in self.answers if answer.answer is not Judgement.SKIPPED]
        if not asked:
            return []
        number = {
            judgement: sum(answer.answer is judgement for answer in asked)
            for judgement in Judgement
        }
        rest = _rest_on_simulations(asked)
        if len(asked) == 1:
            how = {Judgement.HELD: "held", Judgement.NOT_HELD: "did not hold"}
            return [f"The expectation {how.get(asked[0].answer, 'is undecided')}{rest}"]
        held, undecided = number[Judgement.HELD], number[Judgement.UNDECIDED]
        if held == len(asked) > 1:
            return [f"{'Both' if held == 2 else f'All {held}'} expectations held{rest}"]
        parts = [f"Of {count(len(asked), 'expectation')} {held or 'none'} held"]
        if number[Judgement.NOT_HELD]:
            parts.append(f"{number[Judgement.NOT_HELD]} did not")
        if undecided:
            parts.append(f"{undecided} {'is' if undecided == 1 else 'are'} undecided")
        return [words.joined(parts) + rest]

    @property
    def facts(self) -> str:
        """What was run, in one line."""
        study, number, runs = self.study, self.study.planned, self.ran.runs
        blocks = runs["block"].nunique() if len(runs) else 0
        names = " × ".join(words.spaced(factor.name) for factor in study.varied)
        levels = " × ".join(str(len(factor.levels)) for factor in study.varied)
        factors = f" ({names}: {levels})" if study.varied else ""
        return (
            f"{printable(study.plan['name'])}: {count(len(runs), 'run')} of"
            f" {count(number, 'combination')}"
            f"{factors} in {count(blocks, 'block')},"
            f" {count(len(self.ran.done), 'run')} ended well{simulated_facts(study)}"
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
            "expect": [_answer(answer) for answer in self.answers],
            "findings": [_finding(finding) for finding in found.findings],
            "trends": [_trend(along) for along in found.trends],
            "speedups": [_speedup(gained, found.weak) for gained in found.speedups],
            "crossovers": [_crossover(crossing) for crossing in found.crossovers],
            "leads": [_lead(ahead) for ahead in found.leads],
            "responses": [self._response(response) for response in study.responses],
            "warnings": [vars(caution) | {"runs": list(caution.runs)} for caution in self.cautions],
            "environment": dict(study.environment),
        }

    def _runs(self) -> dict[str, int]:
        counts = self.study.runs["status"].value_counts()
        by_status = {str(status): int(counts.get(status, 0)) for status in RunStatus}
        return {"all": len(self.study.runs)} | by_status

    def _response(self, response: Response) -> dict[str, Any]:
        analysis = self.analyses[response.column]
        return {
            "column": response.column,
            "words": response.words,
            "unit": response.unit,
            "more_is_better": response.more_is_better,
            "combinations_analysed": analysis.combinations,
            "blocks_analysed": analysis.blocks,
            "not_estimable": [list(names) for names in analysis.not_estimable],
            "lack_of_fit": _lack_of_fit(analysis),
            "effects": [_effect(self.rivals, effect) for effect in analysis.effects],
            "combinations": _combinations(typical_values(self.table(response))),
        }


def _rest_on_simulations(asked: list[Answer]) -> str:
    number = sum(answer.simulated is not Simulated.NOTHING for answer in asked)
    if not number:
        return ""
    if len(asked) == 1:
        return " (it rests on simulated times)"
    which = "all" if number == len(asked) else str(number)
    return f" ({which} of them {'rests' if number == 1 else 'rest'} on simulated times)"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _combinations(found: TypicalValues) -> list[dict[str, Any]]:
    numbers = found.runs, found.value, found.low, found.high, found.simulated
    rows = zip(found.where, *numbers, strict=True)
    return [
        {
            "levels": where,
            "runs": int(runs),
            "value": _number(value),
            "low": _number(low),
            "high": _number(high),
            "simulated": bool(simulated),
        }
        for where, runs, value, low, high, simulated in rows
    ]


def _lack_of_fit(analysis: Analysis) -> dict[str, Any] | None:
    lack = analysis.lack_of_fit
    if lack is None:
        return None
    strange = [{"levels": one.where, "ratio": one.ratio} for one in lack.strange]
    return {"p_holm": lack.p_holm, "combinations": strange}


def _effect(study: Measured, effect: Effect) -> dict[str, Any]:
    def levels(codes: tuple[int, ...]) -> dict[str, Any]:
        return {
            name: study.factor(name).levels[code]
            for name, code in zip(effect.factors, codes, strict=True)
        }

    return {
        "factors": list(effect.factors),
        "matters": effect.matters,
        "size": effect.size_said.numbers(),
        "high": levels(effect.high),
        "low": levels(effect.low),
        "share_of_variation": effect.share,
        "freedom": effect.freedom,
        "error_freedom": _number(effect.error_freedom),
        "f": _number(effect.f),
        "p": effect.p,
        "p_holm": effect.p_holm,
        "p_runs": effect.p_runs,
        "aliases": [list(names) for names in effect.aliases],
        "may_be_three": effect.may_be_three,
        "may_be_first_runs": effect.may_be_first_runs,
    }


def _answer(answer: Answer) -> dict[str, Any]:
    where, estimate = dict(answer.where), _numbers(answer.estimate)
    return vars(answer) | {"where": where, "estimate": estimate}


def _finding(finding: StudyFinding) -> dict[str, Any]:
    worth = finding.worth if math.isfinite(finding.worth) else None
    return vars(finding) | {"estimate": _numbers(finding.estimate), "worth": worth}


def _numbers(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.numbers()


def _trend(along: Trend) -> dict[str, Any]:
    return {
        "where": dict(along.curve.where),
        "averaged": along.curve.averaged,
        "shape": along.shape,
        "best": along.best,
        "may_be_best": list(along.between),
        "best_against_first": _numbers(along.until),
        "last_against_best": _numbers(along.beyond),
        "contrary_steps": [list(step) for step in along.contrary],
        "doubtful_steps": [list(step) for step in along.doubtful],
        "settles_at": along.settles,
        "peak": along.peak,
        "plateaus": [vars(one) for one in along.plateaus],
    }


def _speedup(gained: Speedup, weak: bool) -> dict[str, Any]:
    return {
        "where": dict(gained.curve.where),
        "scaling": "weak" if weak else "strong",
        "base": gained.base,
        "base_value": gained.base_value.numbers(),
        "levels": [
            {"level": level, "speedup": estimate.numbers(), "ideal": gained.ideal[level]}
            for level, estimate in gained.by_level.items()
        ],
    }


def _crossover(found: FactorCrossover) -> dict[str, Any]:
    crossing = found.crossover
    where, between = dict(crossing.where), list(crossing.between)
    return {"factor": found.factor} | vars(crossing) | {"where": where, "between": between}


def _lead(found: FactorLead) -> dict[str, Any]:
    return {"factor": found.factor} | vars(found.lead) | {"where": dict(found.lead.where)}
