"""Which [[expect]] the predictions decide, and which combinations the others compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tailrace.study.analysis.expect import Answer, Judgement, evaluate
from tailrace.study.analysis.measured import Measured
from tailrace.study.definition.columns import RUN_TIME, SIMULATED_HIGH, SIMULATED_LOW, RunStatus
from tailrace.study.definition.design import matches
from tailrace.study.definition.model import Expect, Turn
from tailrace.study.planning.prediction import Predicted

Levels = Mapping[str, Any]
NO_COMPUTING = "the predictions are without computing: state run.step_seconds, be it 0"


@dataclass(frozen=True)
class Claim:
    """`answer`: what the predictions say; where they leave it open, `needs` are the numbers of the
    combinations that have to be measured."""

    text: str
    answer: Judgement
    evidence: str
    needs: tuple[int, ...] = ()


def claims(plan: Mapping[str, Any], predicted: Sequence[Predicted]) -> list[Claim]:
    """`plan`: as of a study that begins."""
    study = _study(plan, predicted)
    expected = [Expect.model_validate(given) for given in plan["study"].get("expect", [])]
    return [_claim(study, expect, predicted) for expect in expected]


def _study(plan: Mapping[str, Any], predicted: Sequence[Predicted]) -> Measured:
    """As if it had been simulated, as far as there are predictions."""
    names = [factor["name"] for factor in plan["factors"]]
    own = ["run", "block", "order", "status", "reason", "simulated_on"]
    status = str(RunStatus.SIMULATED)
    rows = [
        {
            **one.timed.levels,
            **dict(zip(own, (number, 0, number, status, "", one.model), strict=True)),
            RUN_TIME: one.timed.value,
            SIMULATED_LOW: one.timed.low,
            SIMULATED_HIGH: one.timed.high,
        }
        for number, one in enumerate(predicted)
        if one.known
    ]
    columns = [*own, *names, RUN_TIME, SIMULATED_LOW, SIMULATED_HIGH]
    return Measured(plan, pd.DataFrame(rows, columns=columns))


def _claim(study: Measured, expect: Expect, predicted: Sequence[Predicted]) -> Claim:
    whole = _answers(study, [expect])[0]
    if whole.answer is Judgement.SKIPPED:
        return Claim(expect.claim, whole.answer, whole.evidence)
    compared = [
        number for number, one in enumerate(predicted) if _compares(expect, one.timed.levels)
    ]
    if (expect.response or study.plan["response"]) != RUN_TIME or expect.share is not None:
        of = expect.response or study.plan["response"]
        text = f"predictions say nothing of {of}"
        return Claim(expect.claim, Judgement.UNDECIDED, text, tuple(compared))
    if not study.states_computing:
        return Claim(expect.claim, Judgement.UNDECIDED, NO_COMPUTING, tuple(compared))
    if all(predicted[number].known for number in compared) and _decided(whole):
        return Claim(expect.claim, whole.answer, whole.evidence)
    needs = _open(study, expect, compared, predicted)
    return Claim(expect.claim, Judgement.UNDECIDED, whole.evidence, tuple(needs))


def _decided(answer: Answer) -> bool:
    return answer.answer in (Judgement.HELD, Judgement.NOT_HELD)


def _answers(study: Measured, expected: Sequence[Expect]) -> list[Answer]:
    given = [expect.model_dump(by_alias=True, exclude_none=True) for expect in expected]
    plan = {**study.plan, "study": {**study.plan["study"], "expect": given}}
    return evaluate(replace(study, plan=plan))


def _open(
    study: Measured, expect: Expect, compared: Sequence[int], predicted: Sequence[Predicted]
) -> list[int]:
    """All of what it compares; of a statement about each place, not the places in which the
    predictions say that it holds."""
    if not expect.everywhere:
        return list(compared)
    along = _along(expect)
    places: dict[tuple[Any, ...], list[int]] = {}
    for number in compared:
        levels = predicted[number].timed.levels
        place = tuple((name, level) for name, level in levels.items() if name not in along)
        places.setdefault(place, []).append(number)
    pieces = [
        expect.model_copy(update={"where": {**expect.where, **dict(place)}, "everywhere": False})
        for place in places
    ]
    answers = _answers(study, pieces)
    return [
        number
        for answer, numbers in zip(answers, places.values(), strict=True)
        if answer.answer is not Judgement.HELD
        or not all(predicted[number].known for number in numbers)
        for number in numbers
    ]


def _along(expect: Expect) -> set[str]:
    """The factors whose levels it compares."""
    more = expect.matters_more
    if more is not None:
        return {more.factor, *more.with_, *more.than}
    ((_, asked),) = expect.given.items()
    return {str(getattr(asked, "factor", ""))}


def _compares(expect: Expect, levels: Levels) -> bool:
    """Whether a combination is among those that a statement compares."""
    if not matches(expect.where, levels):
        return False
    if (faster := expect.faster) is not None:
        return levels[faster.factor] in (faster.level, faster.than)
    if (more := expect.matters_more) is not None:
        ends = (more.level, more.to)
        named = None in ends or levels[more.factor] in ends
        return named and (matches(more.with_, levels) or matches(more.than, levels))
    for turn, beyond in (
        (expect.rises_beyond, True),
        (expect.flat_beyond, True),
        (expect.falls_until, False),
    ):
        if isinstance(turn, Turn):
            level: Any = levels[turn.factor]
            return level >= turn.level if beyond else level <= turn.level
    return True
