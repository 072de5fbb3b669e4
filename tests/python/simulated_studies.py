"""How often the sentences of a study's report are false, by simulation.

    .venv/bin/python -m tests.python.simulated_studies [STUDIES [WORD]]

prints the figures of docs/reference/study-report.md. Each case simulates studies whose truth is
known and counts those that say something false of it (at most 5 %), or those that find what was
planted (at least so many).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.expect import Judgement, evaluate
from tailrace.study.analysis.findings import Found
from tailrace.study.analysis.measured import Measured

from .simulated_adaptive import ADAPTIVE
from .simulated_averages import AVERAGES, best_speedup_missed
from .simulated_blocks import UNLIKE_BLOCKS
from .simulated_comparisons import CHANGED, COMPARISONS
from .simulated_curves import (
    CROSSING,
    INTERACTION,
    RANKS,
    SIZE,
    Where,
    at_a_limit,
    beats_nowhere_else,
    crossing_at_a_limit,
    found_in,
)
from .simulated_dependent import LEVELS_THAT_DEPEND
from .simulated_failures import FAILING
from .simulated_first_runs import FIRST_RUNS, TWO_BLOCKS, finds_what_is_slower
from .simulated_fractions import ANSWERS, FRACTIONS
from .simulated_further import FALSE_OF_FURTHER
from .simulated_gaps import GAPPY
from .simulated_noises import FALSE_OF_NOISES
from .simulated_order import IN_ORDER
from .simulated_rounding import ROUNDED, finds_twice
from .simulated_shapes import FALSE_OF_SHAPES
from .simulated_shares import SHARES
from .simulated_trends import TRENDS
from .study_data import study

Noise = Callable[[np.random.Generator, Where], float]

# --- how runs scatter

NOISES: dict[str, Noise] = {
    "normal": lambda random, where: random.normal(0, 0.05),
    "grows with ranks": lambda random, where: random.normal(0, 0.01 * where["ranks"] ** 0.75),
    "one target scatters": lambda random, where: random.normal(
        0, 0.1 if where["target"] == "nfs" else 0.02
    ),
    "Laplace": lambda random, where: random.laplace(0, 0.05),
    "Student's, 2 degrees": lambda random, where: 0.05 * random.standard_t(2),
    "waits only": lambda random, where: math.log1p(0.1 * random.exponential()),
    "1 of 30 takes 10 times": lambda random, where: (
        random.normal(0, 0.03) + math.log(10) * (random.random() < 1 / 30)
    ),
    "two modes": lambda random, where: random.normal(0, 0.02) + 0.3 * (random.random() < 0.3),
}
LAYOUTS: dict[str, dict[str, list[Any]]] = {
    "6 × 2": {"ranks": RANKS, "target": ["local", "nfs"]},
    "4 × 2 × 3": {"ranks": [1, 2, 4, 8], "target": ["local", "nfs"], "method": ["a", "b", "c"]},
    "3 × 2 × 2 × 2": {
        "ranks": [1, 8, 64],
        "target": ["local", "nfs"],
        "method": ["a", "b"],
        "size": ["s", "l"],
    },
}


CLAIMS = ("trend", "crossover", "lead", "effect", "interaction", "combination", "speedup")


def says_something(found: Found) -> bool:
    return any(finding.kind in CLAIMS for finding in found.findings)


def nothing(layout: str, noise: str, blocks: int, failing: float) -> Callable[[int], bool]:
    def false(seed: int) -> bool:
        measured = study(
            LAYOUTS[layout],
            lambda where: 10.0,
            blocks=blocks,
            noise=NOISES[noise],
            block_scatter=0.05,
            failing=failing,
            seed=seed,
        )
        return says_something(found_in(measured))

    return false


# --- who overtakes whom


def x_gains(gain: Callable[[int], float]) -> Callable[[Where], float]:
    """x takes less time than y by that share."""
    return lambda where: 10.0 * (1 - gain(where["ranks"]) * (where["tool"] == "x"))


CURVES = {
    "equal from 4 on": x_gains(lambda ranks: {1: 0.3, 2: 0.2}.get(ranks, 0.0)),
    "equal until 8": x_gains(lambda ranks: {16: 0.2, 32: 0.3}.get(ranks, 0.0)),
    "ever nearer": x_gains(lambda ranks: 0.4 / ranks),
    "equal in between": x_gains(lambda ranks: 0.0 if ranks in (4, 8) else 0.25),
    "always 30 %": x_gains(lambda ranks: 0.3),
}


def crossovers(name: str, blocks: int, growing: bool) -> Callable[[int], bool]:
    """A crossover, or a lead where x is not ahead."""
    gain = CURVES[name]

    def false(seed: int) -> bool:
        found = found_in(
            study(
                {"ranks": RANKS, "tool": ["x", "y"]},
                gain,
                blocks=blocks,
                scatter=lambda where: 0.01 * where["ranks"] ** 0.75 if growing else 0.05,
                seed=seed,
            )
        )
        wrong = any(ahead.lead.first != "x" for ahead in found.leads)
        return bool(found.crossovers) or wrong

    return false


def crossing(seed: int) -> bool:
    """Planted at 6 ranks."""
    measured = study(
        {"ranks": RANKS, "tool": ["x", "y"]},
        lambda w: 10.0 if w["tool"] == "x" else 10.0 * (6 / w["ranks"]) ** 0.4,
        scatter=0.05,
        seed=seed,
    )
    found = found_in(measured).crossovers
    return len(found) == 1 and found[0].crossover.low <= 6 <= found[0].crossover.high


# --- factors

EIGHT = {"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]}


def parity(where: Where) -> float:
    sign = math.prod(1 if where[name] == "1" else -1 for name in "abc")
    return 10.0 * 1.3**sign


def three_together(seed: int) -> bool:
    analysis = analyse(study(EIGHT, parity, scatter=0.05, seed=seed).table("elapsed_s"))
    return bool(analysis.act_together("a", "b", "c"))


def denied(time_s: Callable[[Where], float], levels: Mapping[str, Any], scatter: float, who: str):
    """Something that matters is said not to."""

    def false(seed: int) -> bool:
        found = found_in(study(levels, time_s, scatter=scatter, seed=seed))
        return any(f"{who} does not matter" in finding.text for finding in found.findings)

    return false


def six_percent(where: Where) -> float:
    return 10.0 * (1.06 if where["target"] == "nfs" else 1.0)


def odd_combination(seed: int) -> bool:
    """One of 24 takes twice as long; it is named first, or an interaction of three is."""
    measured = study(
        LAYOUTS["4 × 2 × 3"],
        lambda w: 20.0 if (w["ranks"], w["target"], w["method"]) == (4, "nfs", "b") else 10.0,
        scatter=0.05,
        seed=seed,
    )
    kinds = {finding.kind for finding in found_in(measured).findings}
    return bool(kinds & {"combination", "interaction"})


# --- expectations

PLACES = {"ranks": [1, 2, 4], "target": ["a", "b", "c"], "method": ["x", "y"]}


def expected(
    given: Mapping[str, Any],
    time_s: Callable[[Where], float],
    levels: Mapping[str, Any],
    wrong: Judgement,
    others: Mapping[str, Callable[[Where, float], float]] | None = None,
) -> Callable[[int], bool]:
    def false(seed: int) -> bool:
        expect = [{"claim": "?", **given}]
        options = {"expect": expect, "others": others, "blocks": 4, "scatter": 0.04}
        (answer,) = evaluate(study(levels, time_s, seed=seed, block_scatter=0.05, **options))
        return answer.answer is wrong

    return false


def falls_but_in_one(where: Where) -> float:
    flat = where["target"] == "b" and where["method"] == "y"
    return 10.0 * (1.0 if flat else where["ranks"] ** -0.5)


FALLS = {"falls_until": {"factor": "ranks", "level": 4}, "everywhere": True}
MORE = {
    "matters_more": {"factor": "method", "with": {"target": "b"}, "than": {"target": "a"}},
}
TWICE = {"target": ["a", "b"], "method": ["x", "y"], "ranks": [1, 2]}


def steps(*times: float) -> Callable[[Where], float]:
    return lambda where: dict(zip(RANKS, times, strict=False))[where["ranks"]]


TEN_PLACES = {"tool": ["x", "y"], "place": [*"abcdefghij"]}


def reversed_in_one(times: float) -> Callable[[Where], float]:
    """y takes 1.3 times as long as x, but for one place, where x takes so many times as long."""
    return lambda w: (
        10.0 * (1.3 ** (w["tool"] == "y") if w["place"] != "d" else times ** (w["tool"] == "x"))
    )


def one_far_off(exponent: float, wrong: Judgement) -> Callable[[int], bool]:
    scales = {"factor": "ranks", "exponent_at_least": 0.7, "exponent_at_most": 1.3}

    def false(seed: int) -> bool:
        measured = study(
            {"ranks": [1, 2, 4]},
            lambda w: 10.0 * w["ranks"] ** exponent,
            seed=seed,
            expect=[{"claim": "?", "scales": scales}],
        )
        runs = measured.runs.copy()
        runs.loc[np.random.default_rng(seed).integers(len(runs)), "elapsed_s"] *= 10
        (answer,) = evaluate(Measured(measured.plan, runs))
        return answer.answer is wrong

    return false


EXPECTED = {
    "everywhere, but not in 1 of 6 places: held": expected(
        FALLS, falls_but_in_one, PLACES, Judgement.HELD
    ),
    "everywhere, and so it is: not held": expected(
        FALLS, lambda w: 10.0 * w["ranks"] ** -0.5, PLACES, Judgement.NOT_HELD
    ),
    "falls at each step, but one: held": expected(
        {"falls_until": {"factor": "ranks", "level": 8}},
        steps(10, 7, 7, 5),
        {"ranks": [1, 2, 4, 8]},
        Judgement.HELD,
    ),
    "falls at each step by 8 %: not held": expected(
        {"falls_until": {"factor": "ranks", "level": 8}},
        steps(10, 9.2, 8.5, 7.8),
        {"ranks": [1, 2, 4, 8]},
        Judgement.NOT_HELD,
    ),
    "does not matter by 10 %, but 10.5 % in one place: held": expected(
        {"does_not_matter": {"factor": "method", "within": 0.1}, "everywhere": True},
        lambda w: 11.05 if (w["method"], w["target"]) == ("y", "c") else 10.0,
        PLACES,
        Judgement.HELD,
    ),
    "power of 0.7 to 1.3, but 1.35: held": expected(
        {"scales": {"factor": "ranks", "exponent_at_least": 0.7, "exponent_at_most": 1.3}},
        lambda w: w["ranks"] ** 1.35,
        {"ranks": [1, 2, 4, 8]},
        Judgement.HELD,
    ),
    "power of 0.7 to 1.3, but 1.5 and then 0.5: held": expected(
        {"scales": {"factor": "ranks", "exponent_at_least": 0.7, "exponent_at_most": 1.3}},
        lambda w: min(w["ranks"], 4) ** 1.5 * max(w["ranks"] / 4, 1) ** 0.5,
        {"ranks": [1, 2, 4, 8, 16]},
        Judgement.HELD,
    ),
    "power of 0.7 to 1.3, but 1.35 at one step: held": expected(
        {"scales": {"factor": "ranks", "exponent_at_least": 0.7, "exponent_at_most": 1.3}},
        lambda w: w["ranks"] * (2**0.35 if w["ranks"] > 2 else 1.0),
        {"ranks": [1, 2, 4, 8]},
        Judgement.HELD,
    ),
    "power of 1 at least, and 1.05 at each step: not held": expected(
        {"scales": {"factor": "ranks", "exponent_at_least": 1.0}},
        lambda w: w["ranks"] ** 1.05,
        {"ranks": [1, 2, 4, 8]},
        Judgement.NOT_HELD,
    ),
    "power of 0.7 at most everywhere, but 0.75 in one place: held": expected(
        {"scales": {"factor": "ranks", "exponent_at_most": 0.7}, "everywhere": True},
        lambda w: w["ranks"] ** (0.75 if (w["method"], w["target"]) == ("y", "c") else 0.4),
        PLACES,
        Judgement.HELD,
    ),
    **{
        f"everywhere, but the reverse in 1 of 10 places, {times} times: {answer}": expected(
            {"faster": {"factor": "tool", "level": "x", "than": "y"}, "everywhere": True},
            reversed_in_one(times),
            TEN_PLACES,
            answer,
        )
        for times, answer in ((1.0, Judgement.HELD), (1.1, Judgement.HELD))
    },
    "planted: everywhere, but the reverse in 1 of 10 places, 1.3 times: not held": expected(
        {"faster": {"factor": "tool", "level": "x", "than": "y"}, "everywhere": True},
        reversed_in_one(1.3),
        TEN_PLACES,
        Judgement.NOT_HELD,
    ),
    "power of 0.7 to 1.3, and 1, but one run takes 10 times: not held": one_far_off(
        1.0, Judgement.NOT_HELD
    ),
    "power of 0.7 to 1.3, but 1.4, and one run takes 10 times: held": one_far_off(
        1.4, Judgement.HELD
    ),
    "planted: power of 0.7 to 1.3, and 1 at each step: held": expected(
        {"scales": {"factor": "ranks", "exponent_at_least": 0.7, "exponent_at_most": 1.3}},
        lambda w: w["ranks"],
        {"ranks": [1, 2, 4, 8]},
        Judgement.HELD,
    ),
    "matters more, but as much: held": expected(
        MORE, lambda w: 12.0 if w["method"] == "y" else 10.0, TWICE, Judgement.HELD
    ),
    "matters more, but as much the other way round: held": expected(
        MORE,
        lambda w: 10.0 * 1.2 ** ((w["method"] == "y") * (1 if w["target"] == "b" else -1)),
        TWICE,
        Judgement.HELD,
    ),
}


@dataclass(frozen=True)
class Case:
    """`happens`: whether it does in the study of that seed, or in which share of its answers. It
    should in `at_most` of all, or, of what is planted, in `at_least`."""

    happens: Callable[[int], float]
    at_most: float = 0.05
    at_least: float = 0.0

    def share(self, studies: int) -> float:
        return float(np.mean([self.happens(seed) for seed in range(studies)]))

    def tolerates(self, share: float, studies: int) -> bool:
        """Within three standard errors of the simulation itself."""
        if self.at_least:
            rate = self.at_least
            return share >= rate - 3 * math.sqrt(rate * (1 - rate) / studies)
        rate = self.at_most
        return share <= rate + 3 * math.sqrt(rate * (1 - rate) / studies)


def _cases() -> dict[str, Case]:
    found = {
        f"no effect, {layout}, {noise}, {blocks} blocks{', 10 % fail' if failing else ''}": Case(
            nothing(layout, noise, blocks, failing)
        )
        for layout in LAYOUTS
        for noise in NOISES
        for blocks, failing in ((3, 0.0), (5, 0.1))
    }
    found |= {
        f"crossover, {name}, {blocks} blocks{', scatter grows' if growing else ''}": Case(
            crossovers(name, blocks, growing)
        )
        for name in CURVES
        for blocks, growing in ((3, False), (3, True), (8, False))
    }
    found |= {
        f"crossover {name}, {blocks} blocks: beats elsewhere too": Case(
            beats_nowhere_else(name, blocks, growing=blocks > 3)
        )
        for name in CROSSING
        for blocks in (3, 5)
    }
    found |= {
        f"expectation, {name}": Case(false, at_least=0.9 if "planted" in name else 0.0)
        for name, false in EXPECTED.items()
    }
    for sort, cases in (
        ("average", AVERAGES),
        ("fraction", FRACTIONS),
        ("expectations of a fraction", ANSWERS),
        ("dependent levels", LEVELS_THAT_DEPEND),
        ("two studies", COMPARISONS),
        ("slow runs fail", FAILING),
        ("any runs fail", GAPPY),
        ("share", SHARES),
        ("adaptive", ADAPTIVE),
        ("slow first runs", FIRST_RUNS),
        ("two blocks", TWO_BLOCKS),
        ("trend", TRENDS),
        ("whole seconds", ROUNDED),
        ("unlike blocks", UNLIKE_BLOCKS),
        ("order of runs", IN_ORDER),
        ("shape", FALSE_OF_SHAPES),
        ("noise", FALSE_OF_NOISES),
        ("further", FALSE_OF_FURTHER),
    ):
        found |= {f"{sort}, {name}": Case(false) for name, false in cases.items()}
    found |= {
        f"planted: two studies, {name}": Case(each, at_least=0.9) for name, each in CHANGED.items()
    }
    return found | {
        "does not matter, but 6 %": Case(
            denied(six_percent, LAYOUTS["4 × 2 × 3"], 0.03, "where it writes")
        ),
        "does not matter, but three act together": Case(denied(parity, EIGHT, 0.05, "")),
        **{
            f"ended after {limit:g} s, {blocks} blocks: {what}": Case(
                at_a_limit(limit, blocks, what)
            )
            for limit, blocks in ((14, 3), (9, 5), (5, 3))
            for what in (SIZE, INTERACTION)
        },
        "planted: a crossover, runs that are ended": Case(crossing_at_a_limit, at_least=0.9),
        "best of nine speedups, not in its interval": Case(best_speedup_missed),
        "planted: a crossover, in its interval": Case(crossing, at_least=0.9),
        "planted: twice, whole seconds": Case(finds_twice, at_least=0.9),
        "planted: 20 %, slow first runs": Case(finds_what_is_slower, at_least=0.9),
        "planted: three act together": Case(three_together, at_least=0.95),
        "planted: one odd combination of 24": Case(odd_combination, at_least=0.95),
    }


CASES = _cases()


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, case in CASES.items():
        if word in name:
            share = case.share(studies)
            bound = f"≥ {case.at_least:.0%}" if case.at_least else f"≤ {case.at_most:.0%}"
            bad = "" if case.tolerates(share, studies) else "   !"
            print(f"{share:6.1%}  {bound:7} {name}{bad}", flush=True)


if __name__ == "__main__":
    main()
