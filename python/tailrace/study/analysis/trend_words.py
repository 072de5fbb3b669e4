"""Trends in words."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tailrace.study.analysis import words
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.intervals import UNBOUNDED, Estimate
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.responses import Response
from tailrace.study.analysis.trends import FLAT, Plateau, Trend, TrendShape

NO_MORE = "no further change can be told"
# Of more plateaus it is said only that there are some.
PLATEAUS_SHOWN = 2


def sentence(study: Measured, axis: StudyFactor, along: Trend) -> str:
    """What a trend says of every level."""
    of, response = study.response, study.response.words
    levels, is_ = along.curve.levels, study.response.verb("is")
    first, last = levels[0], levels[-1]
    best = words.named(axis, along.best)
    down, up = words.better(study.response), words.worse(study.response)
    match along.shape:
        case TrendShape.FLAT | TrendShape.UNCLEAR | TrendShape.PEAKS:
            return _without_turn(study, axis, along)
        case TrendShape.IMPROVES if along.settles is not None and not along.contrary:
            until = words.named(axis, along.settles)
            after = f"{is_} flat from there" if along.settles_flat else NO_MORE
            uneven = _uneven(of, axis, along.plateaus)
            return f"{response} {down} until {until}, and {after}{uneven}"
        case _ if along.contrary or along.doubtful:
            lowest = f"{response} {is_} {words.extreme(of)} at {_turn(axis, along)[0]}"
            return f"{lowest}, but {_against(of, axis, along)}"
        case TrendShape.TURNS:
            until, beyond = _turn(axis, along)
            uneven = _uneven(of, axis, along.plateaus)
            return f"{response} {down} until {until} and {up} beyond{beyond}{uneven}"
        case TrendShape.IMPROVES if along.between == (last,):
            uneven = _uneven(of, axis, along.plateaus)
            planned = study.levels_planned(axis.name, along.curve.where)
            # the runs beyond may have failed, or have yet to be made
            most = "that was tried" if max(planned) == last else "with a result"
            return f"{response} {down} until {best}, the most {most}{uneven}"
        case TrendShape.IMPROVES:
            lower = f"{response} {is_} {words.lower(of)} at {best} than at"
            stop = f"where {of.pronoun} {of.verb('stops')} {words.falling(of)} cannot be told"
            return f"{lower} {words.plain(axis, first)}; {stop}"
        case TrendShape.WORSENS:
            if _no_step(along.plateaus):
                than = f"{is_} {words.higher(of)} at {words.named(axis, last)} than at"
                where = f"where {of.pronoun} {up} cannot be told"
                return f"{response} {than} {words.plain(axis, first)}; {where}"
            return f"{response} {_worsens(of, axis, along)}"
        case _:
            lowest, beyond = _turn(axis, along)
            uneven = _uneven(of, axis, along.plateaus)
            if not beyond:
                return f"{response} {up} beyond {lowest}{uneven}"
            is_lowest = f"{response} {is_} {words.extreme(of)} at {lowest}"
            return f"{is_lowest} and {up} beyond{beyond}{uneven}"


def _without_turn(study: Measured, axis: StudyFactor, along: Trend) -> str:
    """Where no level is better than both ends."""
    response, first, last = study.response.words, along.curve.levels[0], along.curve.levels[-1]
    if along.shape is TrendShape.FLAT:
        span = words.span(axis, first, last)
        return f"{response} {study.response.verb('changes')} by less than {FLAT * 100:g} % {span}"
    if along.shape is TrendShape.UNCLEAR:
        goes = study.response.verb("goes")
        return f"how {response} {goes} with {words.subject(axis)} cannot be told from these runs"
    there, ends = words.named(axis, along.peak), words.plain(axis, first)
    higher = words.higher(study.response)
    is_ = study.response.verb("is")
    return f"{response} {is_} {higher} at {there} than at {ends} and at {words.named(axis, last)}"


def _worsens(response: Response, axis: StudyFactor, along: Trend) -> str:
    """From the first level on, or from a plateau on, and to where."""
    levels, plateaus = along.curve.levels, list(along.plateaus)
    up, is_ = words.worse(response), response.verb("is")
    start, until, after = levels[0], "", ""
    if len(plateaus) and plateaus[-1].to == levels[-1]:
        last = plateaus.pop()
        until = f" until {words.named(axis, last.since)}"
        after = f", and {f'{is_} flat from there' if last.flat else NO_MORE}"
    if len(plateaus) and plateaus[0].since == start:
        lead = plateaus.pop(0)
        span = words.span(axis, start, lead.to)
        before = f"{is_} flat {span}" if lead.flat else f"{span} no change can be told"
        return f"{up} beyond {words.named(axis, lead.to)}{until}, and {before}{after}"
    if until:
        return f"{up}{until}{after}{_uneven(response, axis, plateaus)}"
    return f"{up} from {words.named(axis, start)} on{_uneven(response, axis, plateaus)}"


def _uneven(response: Response, axis: StudyFactor, plateaus: Sequence[Plateau]) -> str:
    """Where what the sentence says cannot be told of a part."""
    if not plateaus:
        return ""
    if len(plateaus) > PLATEAUS_SHOWN or _no_step(plateaus):
        return ", though not each step can be told"
    flat, open_ = ([one for one in plateaus if one.flat is flat] for flat in (True, False))
    parts = [f"{response.verb('is')} flat {_spans(axis, flat)}"] if flat else []
    if open_:
        parts.append(f"{_spans(axis, open_)} no change can be told")
    return f", but {words.joined(parts)}"


def _no_step(plateaus: Sequence[Plateau]) -> bool:
    """Whether one follows on another, so that no step between them can be told."""
    return any(before.to == after.since for before, after in pairwise(plateaus))


def _spans(axis: StudyFactor, plateaus: Sequence[Plateau]) -> str:
    return words.joined([words.span(axis, one.since, one.to) for one in plateaus])


def _against(response: Response, axis: StudyFactor, along: Trend) -> str:
    """The first step that goes, or seems to go, another way than the rest."""
    levels = along.curve.levels
    down, up = words.better(response), words.worse(response)
    (a, b), *_ = along.contrary or along.doubtful
    goes = up if levels.index(a) < levels.index(along.best) else down
    step = words.span(axis, a, b)
    if along.contrary:
        return f"{goes} {step}"
    return f"whether {response.pronoun} {up if goes == down else down} {step} cannot be told"


def _turn(axis: StudyFactor, along: Trend) -> tuple[str, str]:
    """Where the best may be, and from where on it is surely over, where those differ."""
    if len(along.between) == 1:
        return words.named(axis, along.best), ""
    *some, last = along.between
    texts = [*(words.plain(axis, level) for level in some), words.named(axis, last)]
    return words.joined(texts, "or"), f" {words.plain(axis, last)}"


def evidence(axis: StudyFactor, group: Sequence[Trend]) -> str:
    """Of places whose trends have the same shape."""
    parts = []
    until: list[Estimate] = []
    head = group[0]
    first, last = head.curve.levels[0], head.curve.levels[-1]
    best = words.plain(axis, head.best)
    if len({along.best for along in group}) == 1:
        if until := [along.until for along in group if along.until is not None]:
            parts.append(f"{best} against {words.named(axis, first)}: {_range(until)}")
        if beyond := [along.beyond for along in group if along.beyond is not None]:
            parts.append(f"{words.named(axis, last)} against {best}: {_range(beyond)}")
    if head.shape is TrendShape.UNCLEAR and any(change.decided for change in until):
        parts.append(f"all comparisons together leave open whether {words.about(axis, 'matters')}")
    return "; ".join(parts)


def _range(changes: Sequence[Estimate]) -> str:
    if len(changes) == 1:
        return words.compared(changes[0])
    values = sorted(change.value for change in changes)
    span = f"{words.number(values[0])} to {words.number(values[-1])} times"
    if not all(change.known for change in changes):
        return f"{span} ({words.NO_INTERVAL})"
    low, high = min(change.low for change in changes), max(change.high for change in changes)
    ends = words.interval(replace(changes[0], low=low, high=high))
    if low <= 1 / UNBOUNDED or high >= UNBOUNDED:
        return f"{span}, or {ends}" if ends == words.ANYTHING else f"{span}, {ends}"
    return f"{span}, intervals from {ends}"
