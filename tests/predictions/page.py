"""The page: what was predicted, what was measured, and how the two compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import get_args

from minijinja import Environment

from .cases import Case
from .machine import MOST_LOAD
from .models import Calibrated
from .moves import Kind
from .scores import (
    LEAST_CHANGE_S,
    MOST_NOISE,
    NOTABLE_CHANGE,
    Pair,
    Summary,
    named_better,
    scored,
    summary,
)


@dataclass(frozen=True)
class Fixed:
    """When a family's predictions were, and their hash. `first`: of its cases."""

    first: Case
    at: str
    fingerprint: str


def page(
    pairs: Sequence[Pair],
    declined: int,
    fixed: Sequence[Fixed],
    calibrated: Sequence[Calibrated],
    command: str,
    told: dict[str, str],
) -> str:
    """`declined`: how many pairs nothing was said of. `told`: what stands in the head, by name."""
    templates = Environment(
        loader=lambda name: Path(__file__).with_name(name).read_text(),
        filters={
            "percent": _percent,
            "signed": lambda share: f"{share:+.0%}",
            "seconds": lambda time: f"{time:.2f}",
            "more": lambda time: f"{time:+.2f}",
        },
        undefined_behavior="strict",
    )
    said = [pair for pair in pairs if not pair.is_open]
    large = [pair for pair in pairs if pair.is_large]
    return templates.render_template(
        "page.md.j2",
        pairs=_worst_first(pair for pair in said if pair.is_notable),
        open=_worst_first(pair for pair in large if pair.is_open),
        noise=_worst_first(pair for pair in large if pair.is_noise and not pair.is_open),
        small=sorted(
            (pair for pair in pairs if not pair.is_large),
            key=lambda pair: -abs(pair.error_of_run),
        ),
        classes=_rows(pairs),
        declined=declined,
        better=named_better([pair for pair in said if pair.kind == "method"]),
        fixed=fixed,
        calibrated=calibrated,
        file_systems=len({each.bed for each in calibrated}),
        command=command,
        told=told,
        most_load=f"{MOST_LOAD:.0%}",
        notable_change=f"{NOTABLE_CHANGE:.0%}",
        least_change_s=f"{LEAST_CHANGE_S:.2f}",
        most_noise=f"{MOST_NOISE:.0%}",
    )


def _percent(share: float) -> str:
    return "–" if isnan(share) else f"{share:.0%}"


def _worst_first(pairs: Iterable[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda pair: -abs(pair.error))


def _rows(pairs: Sequence[Pair]) -> dict[str, Summary]:
    """What was said by its kind of change; by themselves what was said to be open, and changes that
    are mostly noise, with every pair of them scored; and all of it together."""
    said = [pair for pair in pairs if not pair.is_open]
    rows = {name: summary(found) for name, found in _classes(said).items() if found}
    apart = {
        "said to be open": [pair for pair in pairs if pair.is_open],
        "mostly noise": [pair for pair in said if pair.is_noise],
    }
    for name, found in apart.items():
        if found:
            rows[name] = scored(found, [pair for pair in found if pair.is_large])
    return rows | {"all, these too": scored(pairs, [pair for pair in pairs if pair.is_large])}


def _classes(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    kinds: dict[str, list[Pair]] = {kind: [] for kind in get_args(Kind)}
    for pair in pairs:
        kinds[pair.kind].append(pair)
    moved = kinds.pop("file system")
    return {
        "file system, bound by bytes": [pair for pair in moved if pair.is_bound_by_bytes],
        "file system, bound by calls": [pair for pair in moved if not pair.is_bound_by_bytes],
        **kinds,
    }
