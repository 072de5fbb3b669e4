"""Levels and comparisons in words."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.grammar import agreeing, is_plural
from tailrace.study.analysis.intervals import UNBOUNDED, Estimate
from tailrace.study.analysis.responses import Response

_OF_KIND = {
    "target": "writing to {}",
    "read_target": "reading from {}",
    "size": "size {}",
    "cache": "{} cache",
    "placeholder": "{name} {}",
}
_NOUNS = {
    "ranks": ("rank", "ranks"),
    "nodes": ("node", "nodes"),
    "ranks_per_node": ("rank per node", "ranks per node"),
    "threads": ("thread", "threads"),
}
# Of these something happens when writing there, not with it.
_WHERE = ("target", "read_target")
# In sentences, conditions stand in this order.
_ORDER = (
    "method",
    "pair",
    "format",
    "target",
    "read_target",
    "size",
    "cache",
    "set",
    "hint",
    "setting",
    "placeholder",
)


def plain(factor: StudyFactor, level: Any) -> str:
    """A level by itself: `4`, `nfs`, `64 MiB`."""
    text = factor.labels.get(level, str(level))
    return f"{text} {factor.unit}" if factor.unit and factor.unit not in text else text


def named(factor: StudyFactor, level: Any) -> str:
    """A level that says what it is of: `4 ranks`, `writing to nfs`, `size small`, `chunk 64
    KiB`."""
    text = plain(factor, level)
    if factor.kind in _NOUNS:
        return (
            text
            if text.endswith(_NOUNS[factor.kind])
            else f"{text} {_NOUNS[factor.kind][int(str(level) != '1')]}"
        )
    if factor.kind == "placeholder" and text.lower().startswith(spaced(factor.name).lower()):
        # `node7` of the factor node
        return text
    if factor.kind in _OF_KIND:
        return _OF_KIND[_kind(factor)].format(text, name=spaced(factor.name))
    return text if factor.kind in ("method", "format", "pair") else f"{spaced(factor.name)} {text}"


def under(factor: StudyFactor, level: Any) -> str:
    """Of what happens there: `with 4 ranks`, `when writing to nfs`."""
    return either(factor, [level])


def either(factor: StudyFactor, levels: Sequence[Any]) -> str:
    """The same of several: `with 4 or 8 ranks`."""
    when = "when" if factor.kind in _WHERE else "with"
    return f"{when} {_either(factor, list(levels))}"


def are_several(factor: StudyFactor, level: Any) -> bool:
    """Whether the level is several of something: `4 ranks take`, and `1 rank takes`."""
    return factor.kind in _NOUNS and str(level) != "1"


def spaced(name: str) -> str:
    return name.replace("_", " ")


def subject(factor: StudyFactor) -> str:
    """A factor as the subject of a sentence."""
    subjects = {
        "target": "where it writes",
        "read_target": "where it reads",
        "ranks": "the number of ranks",
        "nodes": "the number of nodes",
        "ranks_per_node": "the number of ranks per node",
    }
    subjects |= {
        "threads": "the number of threads",
        "method": "the method",
        "format": "the format",
        "size": "the size",
        "cache": "what is in the cache",
    }
    return subjects.get(_kind(factor), spaced(factor.name))


def _kind(factor: StudyFactor) -> str:
    """A target is written to; not where the study is about what is read from it."""
    return "read_target" if factor.kind == "target" and factor.is_read else factor.kind


def about(factor: StudyFactor, verb: str) -> str:
    """The same with its verb: `the method matters`, `buffers matter`."""
    name = subject(factor)
    return f"{name} {agreeing(verb, name == spaced(factor.name) and is_plural(name))}"


def span(factor: StudyFactor, first: Any, last: Any) -> str:
    """`from 1 to 8 ranks`, `from chunk 4 KiB to 64 KiB`."""
    end, whole = plain(factor, last), named(factor, last)
    if whole != end and whole.endswith(end):
        return f"from {named(factor, first)} to {end}"
    return f"from {plain(factor, first)} to {whole}"


def places(factors: Sequence[StudyFactor], where: Mapping[str, Any]) -> str:
    """`collective, writing to nfs, size small`."""
    return conditions(factors, {name: [level] for name, level in where.items()})


def conditions(factors: Sequence[StudyFactor], where: Mapping[str, Iterable[Any]]) -> str:
    """The same of several levels each: `writing to nfs or striped`."""
    known = {factor.name: factor for factor in factors}
    chosen = sorted((known[name] for name in where), key=_place)
    return ", ".join(_either(factor, list(where[factor.name])) for factor in chosen)


def _place(factor: StudyFactor) -> int:
    return _ORDER.index(factor.kind) if factor.kind in _ORDER else len(_ORDER)


def _either(factor: StudyFactor, levels: list[Any]) -> str:
    first = named(factor, levels[0])
    others = [plain(factor, level) for level in levels[1:]]
    return " or ".join([", ".join([first, *others[:-1]]), others[-1]]) if others else first


def when(factors: Sequence[StudyFactor], where: Mapping[str, Any]) -> str:
    """Of what happens there, a list standing for any of its levels: `with serial and 8 ranks when
    writing to nfs`."""
    known = {factor.name: factor for factor in factors}
    chosen = sorted((known[name] for name in where), key=_place)
    texts: dict[str, list[str]] = {"with": [], "when": []}
    for factor in chosen:
        levels = where[factor.name]
        some = list(levels) if isinstance(levels, list | tuple) else [levels]
        texts["when" if factor.kind in _WHERE else "with"].append(_either(factor, some))
    return " ".join(f"{lead} {joined(some)}" for lead, some in texts.items() if some)


def opened(
    factor: StudyFactor, level: Any, number: int, blocks: int, on_targets: bool = False
) -> str:
    """Why a difference may be due to the order of runs."""
    if on_targets:
        went = f"{named(factor, level)} was the first on its target {number} of {blocks} times"
        return f"{went}, and a first run may differ from later ones"
    which = f"each of {blocks}" if number == blocks else f"{number} of {blocks}"
    began = f"{which} blocks began with {named(factor, level)}"
    return f"{began}, and a first run may differ from later ones"


def joined(texts: Sequence[str], last: str = "and") -> str:
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


NO_INTERVAL = "one block: no interval"
# Of a ratio: its two sides ran in no block together.
APART = "no block has both"
UNKNOWN = "unknown"
ANYTHING = "anything"


def times(estimate: Estimate) -> str:
    """A ratio with its interval: `1.83 times (1.71 to 1.96)`."""
    if math.isnan(estimate.value):
        return f"an unknown number of times ({APART})"
    return f"{number(estimate.value)} times ({interval(estimate)})"


def interval(estimate: Estimate) -> str:
    if not estimate.known:
        return NO_INTERVAL
    if estimate.high >= UNBOUNDED:
        return f"at least {number(estimate.low)}" if estimate.low > 1 / UNBOUNDED else ANYTHING
    if estimate.low <= 1 / UNBOUNDED:
        return f"at most {number(estimate.high)}"
    return f"{number(estimate.low)} to {number(estimate.high)}"


def number(value: float, digits: int = 2) -> str:
    if value >= 1 and not digits:
        return f"{value:,.0f}"
    if value >= 1e5 or 0 < value < 1e-3:
        return f"{value:.1e}"
    if 0 < value < 0.1:
        return f"{value:.2g}"
    return (
        f"{value:,.0f}"
        if value >= 100
        else f"{value:.1f}"
        if value >= 20
        else f"{value:.{digits}f}"
    )


def change(estimate: Estimate) -> str:
    """A ratio near 1 as a change: `+1.2 % (−0.8 to +3.3 %)`."""
    value, low, high = (signed(ratio) for ratio in (estimate.value, estimate.low, estimate.high))
    return f"{value} % ({low} to {high} %)" if estimate.known else f"{value} % ({NO_INTERVAL})"


def signed(ratio: float) -> str:
    share = round((ratio - 1) * 100, 1) + 0.0  # not −0.0
    return f"{'−' if share < 0 else '+'}{abs(share):.1f}" if abs(share) < 1000 else f"+{share:,.0f}"


def short(estimate: Estimate) -> str:
    """For a table: `1.83 (1.71–1.96)`."""
    if math.isnan(estimate.value):
        return UNKNOWN
    if estimate.known and estimate.open:
        return f"{number(estimate.value)} ({interval(estimate)})"
    if not estimate.known:
        return number(estimate.value)
    return f"{number(estimate.value)} ({number(estimate.low)}–{number(estimate.high)})"


def becomes(estimate: Estimate, response: Response) -> str:
    """What a change does to a response, after its name."""
    if math.isnan(estimate.value):
        return f"cannot be compared ({APART})"
    if _near(estimate):
        return f"{response.verb('changes')} by {change(estimate)}"
    to = interval(estimate).replace(" to ", "–")
    surely = "rises" if estimate.value > 1 else "falls"
    verb = response.verb(surely if estimate.decided else "goes")
    return f"{verb} to {number(estimate.value)}× ({to})"


def compared(estimate: Estimate) -> str:
    """A ratio, in whichever of the two ways reads better."""
    return change(estimate) if _near(estimate) else times(estimate)


def _near(estimate: Estimate) -> bool:
    """Whether it reads better as a change in per cent."""
    if estimate.known:
        return estimate.low > 0.8 and estimate.high < 1.25
    return 0.8 < estimate.value < 1.25


def worse(response: Response) -> str:
    return response.verb("falls" if response.more_is_better else "rises")


def better(response: Response) -> str:
    return response.verb("rises" if response.more_is_better else "falls")


def lower(response: Response) -> str:
    return "higher" if response.more_is_better else "lower"


def higher(response: Response) -> str:
    return "lower" if response.more_is_better else "higher"


def falling(response: Response) -> str:
    return "rising" if response.more_is_better else "falling"


def extreme(response: Response) -> str:
    return "highest" if response.more_is_better else "lowest"


def p_short(p: float) -> str:
    """For a table, whose heading says what it is."""
    return p_value(p).removeprefix("p ").removeprefix("= ")


def p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
