"""Combinations as [[leave_out]] has them, and the command that leaves them out."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tailrace.study.definition.loader import Loaded
from tailrace.study.definition.model import LeaveOut, Level
from tailrace.study.definition.placeholders import as_text

Levels = Mapping[str, Level]


def conditions(levels: Mapping[str, Sequence[Level]], some: Sequence[Levels]) -> list[LeaveOut]:
    """`levels`: of each factor; `some`: the combinations, not all that there could be. Levels that
    are left out with the same others are named together."""
    rows = {tuple(every.index(one[name]) for name, every in levels.items()) for one in some}
    found = []
    for product in _products(rows, len(levels)):
        when: dict[str, Level | list[Level]] = {}
        for (name, every), places in zip(levels.items(), product, strict=True):
            chosen = [every[place] for place in places]
            if len(chosen) < len(every):
                when[name] = chosen if len(chosen) > 1 else chosen[0]
        found.append(LeaveOut(when=when))
    return found


Row = tuple[int, ...]


def _products(rows: Collection[Row], depth: int) -> list[tuple[Row, ...]]:
    """Products of levels that have all these rows and no others, and no row twice."""
    if depth == 0:
        return [()]
    company: dict[int, set[Row]] = {}
    for first, *rest in sorted(rows):
        company.setdefault(first, set()).add(tuple(rest))
    alike: dict[frozenset[Row], list[int]] = {}
    for level, others in company.items():
        alike.setdefault(frozenset(others), []).append(level)
    return [
        (tuple(merged), *product)
        for others, merged in alike.items()
        for product in _products(others, depth - 1)
    ]


def command(
    word: str, loaded: Loaded, options: Sequence[str], left_out: Sequence[Levels]
) -> list[str]:
    """What runs the others. `options`: those that the study was chosen with."""
    words = ["tailrace", "study", "run", word, *options]
    if not left_out:
        return words
    levels = {name: factor.levels for name, factor in loaded.study.factor.items()}
    every = [*loaded.study.leave_out, *conditions(levels, left_out)]
    return [*words, "--set", f"leave_out=[{', '.join(map(_inline, every))}]"]


def _inline(left_out: LeaveOut) -> str:
    when = ", ".join(f"{name} = {_value(wanted)}" for name, wanted in left_out.when.items())
    because = f", because = {_value(left_out.because)}" if left_out.because else ""
    return f"{{ when = {{ {when} }}{because} }}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    # what JSON escapes, TOML does alike
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else as_text(value)
