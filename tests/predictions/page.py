"""The page: what was predicted, what was measured, and how the two compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .machine import MOST_LOAD
from .scores import Pair, summary


def page(
    pairs: Sequence[Pair],
    frozen: str,
    held_out: dict[str, dict[str, float]],
    command: str,
    told: dict[str, str],
) -> str:
    """`frozen`: the hash of the predictions. `told`: what stands in the head, by name."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined
    )
    templates.filters["percent"] = lambda share: f"{share:.0%}"
    templates.filters["signed"] = lambda share: f"{share:+.0%}"
    return templates.get_template("page.md.j2").render(
        pairs=sorted(pairs, key=lambda pair: -abs(pair.error)),
        classes={name: summary(found) for name, found in _classes(pairs).items() if found},
        frozen=frozen,
        held_out=held_out,
        command=command,
        told=told,
        most_load=f"{MOST_LOAD:.0%}",
    )


def _classes(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    targets = dict.fromkeys(pair.target for pair in pairs)
    return {
        "bound by bytes": [pair for pair in pairs if pair.is_bound_by_bytes],
        "bound by calls": [pair for pair in pairs if not pair.is_bound_by_bytes],
        **{target: [pair for pair in pairs if pair.target == target] for target in targets},
        "all": list(pairs),
    }
