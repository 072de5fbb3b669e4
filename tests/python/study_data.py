"""Synthetic studies: times that follow from a formula, scattered log-normally, in randomised
complete blocks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tailrace.study.analysis.measured import Measured

Levels = Mapping[str, Any]
KINDS = {
    name: name
    for name in (
        *("target", "read_target", "ranks", "nodes", "ranks_per_node", "threads"),
        *("size", "method", "format"),
    )
}


def factors(**levels: Sequence[Any]) -> list[dict[str, Any]]:
    """As plan.json has them; the kind follows from the name."""
    return [
        {"name": name, "kind": KINDS.get(name, "placeholder"), "unit": "", "levels": list(values)}
        for name, values in levels.items()
    ]


def study(
    levels: Mapping[str, Sequence[Any]],
    time_s: Callable[[Levels], float],
    *,
    blocks: int = 3,
    scatter: float | Callable[[Levels], float] = 0.03,
    seed: int = 1,
    drift: float = 0.0,
    block_scatter: float = 0.0,
    in_order: bool = False,
    others: Mapping[str, Callable[[Levels, float], float]] | None = None,
    expect: Sequence[Mapping[str, Any]] = (),
    response: str = "elapsed_s",
    noise: Callable[[np.random.Generator, Levels], float] | None = None,
    failing: float = 0.0,
) -> Measured:
    """`time_s`: the true median of a combination. `scatter`: standard deviation of its logarithm.
    `drift`: by what the logarithm rises from the first run to the last. `in_order`: combination
    after combination instead of random blocks. `others`: further columns, from levels and elapsed
    time. `noise`: of the logarithm of a run, instead of what is normal. `failing`: the share of
    runs that fail.
    """
    random = np.random.default_rng(seed)
    places = [dict(zip(levels, some, strict=True)) for some in itertools.product(*levels.values())]
    order = _order(random, len(places), blocks, in_order)
    offsets = random.normal(0, block_scatter, blocks)
    rows = []
    for place, (block, combination) in enumerate(order):
        where = places[combination]
        spread = scatter(where) if callable(scatter) else scatter
        away = noise(random, where) if noise else random.normal(0, spread)
        away += offsets[block] + drift * place / len(order)
        elapsed = time_s(where) * float(np.exp(away))
        more = {name: value(where, elapsed) for name, value in (others or {}).items()}
        rows.append(
            {"run": place, "block": block, "order": place, **where, "elapsed_s": elapsed, **more}
        )
    runs = pd.DataFrame(rows).assign(status="done", reason="")
    if failing:
        bad = random.random(len(runs)) < failing
        runs.loc[bad, ["status", "elapsed_s"]] = ["failed", np.nan]
    return Measured(plan(levels, expect, response), runs)


def _order(
    random: np.random.Generator, combinations: int, blocks: int, in_order: bool
) -> list[tuple[int, int]]:
    if in_order:
        return [
            (block, combination) for combination in range(combinations) for block in range(blocks)
        ]
    return [
        (block, int(combination))
        for block in range(blocks)
        for combination in random.permutation(combinations)
    ]


def plan(
    levels: Mapping[str, Sequence[Any]], expect: Sequence[Mapping[str, Any]], response: str
) -> dict[str, Any]:
    return {
        "name": "synthetic",
        "description": "Times from a formula.",
        "paper": "",
        "seed": 1,
        "response": response,
        "factors": factors(**levels),
        "study": {"expect": list(expect)},
    }
