"""The page: what was predicted, what was measured, and how the two compare."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import get_args

from minijinja import Environment

from .machine import MOST_LOAD
from .moves import Kind
from .scores import NOTABLE_CHANGE, Pair, named_better, summary


def page(
    pairs: Sequence[Pair],
    frozen: str,
    held_out: dict[str, dict[str, float]],
    command: str,
    told: dict[str, str],
) -> str:
    """`frozen`: the hash of the predictions. `told`: what stands in the head, by name."""
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
    notable = [pair for pair in pairs if pair.is_notable]
    return templates.render_template(
        "page.md.j2",
        pairs=sorted(notable, key=lambda pair: -abs(pair.error)),
        small=sorted(
            (pair for pair in pairs if not pair.is_notable),
            key=lambda pair: -abs(pair.error_of_run),
        ),
        classes={name: summary(found) for name, found in _classes(pairs).items() if found},
        better=named_better([pair for pair in pairs if pair.kind == "method"]),
        frozen=frozen,
        held_out=held_out,
        command=command,
        told=told,
        most_load=f"{MOST_LOAD:.0%}",
        notable_change=f"{NOTABLE_CHANGE:.0%}",
    )


def _percent(share: float) -> str:
    return "–" if isnan(share) else f"{share:.0%}"


def _classes(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    kinds: dict[str, list[Pair]] = {kind: [] for kind in get_args(Kind)}
    for pair in pairs:
        kinds[pair.kind].append(pair)
    moved = kinds.pop("file system")
    return {
        "file system, bound by bytes": [pair for pair in moved if pair.is_bound_by_bytes],
        "file system, bound by calls": [pair for pair in moved if not pair.is_bound_by_bytes],
        **kinds,
        "all": list(pairs),
    }
