"""Trends in words."""

from collections.abc import Sequence

from tailrace.study.analysis import words
from tailrace.study.analysis.intervals import Estimate
from tailrace.study.analysis.layout import StudyFactor
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.trends import FLAT, Trend, TrendShape


def sentence(study: Measured, axis: StudyFactor, along: Trend) -> str:
    """What a trend says of every level."""
    response, levels = study.response.words, along.curve.levels
    first, last = levels[0], levels[-1]
    best = words.named(axis, along.best)
    down, up = words.better(study.response), words.worse(study.response)
    match along.shape:
        case TrendShape.TURNS | TrendShape.IMPROVES if along.contrary:
            (a, b), *_ = along.contrary
            goes = up if levels.index(a) < levels.index(along.best) else down
            step = f"{words.plain(axis, a)} to {words.named(axis, b)}"
            return (
                f"{response} is {words.extreme(study.response)} at {best}, but {goes} from {step}"
            )
        case TrendShape.TURNS:
            return f"{response} {down} until {best} and {up} beyond"
        case TrendShape.IMPROVES if along.settles is not None:
            until = words.named(axis, along.settles)
            after = "is flat from there" if along.settles_flat else "no further change can be told"
            return f"{response} {down} until {until}, and {after}"
        case TrendShape.IMPROVES:
            most = ", the most that was tried" if along.best == last else ""
            return f"{response} {down} until {best}{most}"
        case TrendShape.WORSENS:
            return f"{response} {up} from {words.named(axis, first)} on"
        case TrendShape.WORSENS_BEYOND:
            return f"{response} {up} beyond {best}"
        case TrendShape.FLAT:
            span = f"from {words.plain(axis, first)} to {words.named(axis, last)}"
            return f"{response} changes by less than {FLAT * 100:g} % {span}"
        case TrendShape.UNCLEAR:
            about = words.subject(axis)
            return f"how {response} goes with {about} cannot be told from these runs"


def evidence(axis: StudyFactor, group: Sequence[Trend]) -> str:
    """Of places whose trends have the same shape."""
    parts = []
    head = group[0]
    first, last = head.curve.levels[0], head.curve.levels[-1]
    best = words.plain(axis, head.best)
    if len({along.best for along in group}) == 1:
        if until := [along.until for along in group if along.until is not None]:
            parts.append(f"{best} against {words.named(axis, first)}: {_range(until)}")
        if beyond := [along.beyond for along in group if along.beyond is not None]:
            parts.append(f"{words.named(axis, last)} against {best}: {_range(beyond)}")
    others = [level for along in group for level in along.between if level != along.best]
    bounded = head.shape in (TrendShape.TURNS, TrendShape.WORSENS_BEYOND)
    if others and len(group) == 1 and bounded:
        texts = [words.plain(axis, level) for level in dict.fromkeys(others)]
        parts.append(f"{words.joined(texts, 'or')} may be just as good")
    return "; ".join(parts)


def _range(changes: Sequence[Estimate]) -> str:
    if len(changes) == 1:
        return words.compared(changes[0])
    values = sorted(change.value for change in changes)
    span = f"{words.number(values[0])} to {words.number(values[-1])} times"
    if not all(change.known for change in changes):
        return f"{span} ({words.NO_INTERVAL})"
    low, high = min(change.low for change in changes), max(change.high for change in changes)
    return f"{span}, intervals from {words.number(low)} to {words.number(high)}"
