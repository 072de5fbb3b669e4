"""The page: what was predicted, what was measured, and how the two compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from minijinja import Environment

from .machine import MOST_LOAD
from .scores import NOTABLE_CHANGE, Pair, summary


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
            "percent": lambda share: f"{share:.0%}",
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
        classes={name: summary(found) for name, found in _classes(notable).items() if found},
        frozen=frozen,
        held_out=held_out,
        command=command,
        told=told,
        most_load=f"{MOST_LOAD:.0%}",
        notable_change=f"{NOTABLE_CHANGE:.0%}",
    )


def _classes(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    targets = dict.fromkeys(pair.target for pair in pairs)
    return {
        "bound by bytes": [pair for pair in pairs if pair.is_bound_by_bytes],
        "bound by calls": [pair for pair in pairs if not pair.is_bound_by_bytes],
        **{f"to {name}": [pair for pair in pairs if pair.target == name] for name in targets},
        "all": list(pairs),
    }
