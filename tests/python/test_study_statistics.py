"""What the statistics of studies promise, on synthetic studies whose effects are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailrace.study.analysis import cautions, cells, intervals
from tailrace.study.analysis.contrasts import Family, by_block, ratio, slope
from tailrace.study.analysis.crossover import overtaking, prior
from tailrace.study.analysis.effects import analyse
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.analysis.findings import find
from tailrace.study.analysis.layout import Layout, curves
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.trends import is_weak, speedup, trend

from .study_data import study

STUDIES = 2000
FEW = 120

RANKS = StudyFactor("ranks", "ranks", (1, 2, 4, 8))
TARGET = StudyFactor("target", "target", ("local", "nfs"))
SIZE = StudyFactor("size", "size", ("small", "large"))
FACTORS = (RANKS, TARGET, SIZE)
CODES = np.array([(r, t, s) for r in range(4) for t in range(2) for s in range(2)])


def truth(codes: np.ndarray) -> np.ndarray:
    """Logarithms: ranks help, less on nfs; large takes longer by the same ratio everywhere."""
    ranks, target, size = codes.T
    return -0.4 * ranks + 0.5 * target + 0.2 * ranks * target + 1.2 * size


def nothing(codes: np.ndarray) -> np.ndarray:
    return np.zeros(len(codes))


SCATTERS = {
    "alike": lambda codes: np.full(len(codes), 0.05),
    "by target": lambda codes: np.where(codes[:, 1] == 0, 0.02, 0.08),
    "by size": lambda codes: np.where(codes[:, 2] == 0, 0.03, 0.06),
}


def simulated(
    random: np.random.Generator, blocks: int, scatter: str, mean=truth, of_blocks: float = 0.1
) -> Layout:
    noise = random.normal(size=(len(CODES), blocks)) * SCATTERS[scatter](CODES)[:, None]
    return Layout(
        FACTORS, CODES, mean(CODES)[:, None] + noise + random.normal(0, of_blocks, blocks)
    )


def covers(estimate: intervals.Estimate, logarithm: float) -> bool:
    return estimate.low <= math.exp(logarithm) <= estimate.high


def coverage(studies: int, blocks: int, scatter: str) -> dict[str, float]:
    """Shares of studies in which the interval holds the truth, for each kind of interval that a
    report shows."""
    random = np.random.default_rng(20260 + blocks)
    hits = {
        "combination": [],
        "factor": [],
        "interaction": [],
        "ratio in one place": [],
        "averaged ratio": [],
    }
    for number in range(studies):
        table = simulated(random, blocks, scatter, of_blocks=0.0)
        combination = number % len(CODES)
        hits["combination"].append(
            covers(intervals.typical(np.exp(table.logs[combination])), truth(CODES)[combination])
        )
        table = simulated(random, blocks, scatter)
        analysis = analyse(table)
        hits["factor"].append(covers(analysis.find("size").size, 1.2))
        hits["interaction"].append(covers(analysis.find("target", "size").size, 0.0))
        family = Family(curves(table, "ranks"), ["target"])
        place = family.curves[number % len(family.curves)]
        change = -0.2 if place.where["target"] == "nfs" else -0.4
        hits["ratio in one place"].append(covers(family.compare(place, ratio(8, 4)), change))
        averaged = Family(curves(table, "ranks", ["size"]), ["target"])
        hits["averaged ratio"].append(
            covers(averaged.compare(averaged.curves[1], ratio(8, 4)), -0.2)
        )
    return {name: float(np.mean(hit)) for name, hit in hits.items()}


@pytest.mark.whole
@pytest.mark.parametrize("blocks", [3, 6])
@pytest.mark.parametrize("scatter", SCATTERS)
def test_intervals_cover_as_they_promise(blocks, scatter):
    """95 % over 2,000 studies: between 94 and 96, and half a standard error of the simulation
    itself beyond."""
    found = coverage(STUDIES, blocks, scatter)
    assert all(0.9375 <= share <= 0.9625 for share in found.values()), found


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("blocks", [3, 6])
@pytest.mark.parametrize("scatter", SCATTERS)
def test_intervals_cover_in_a_short_simulation(blocks, scatter):
    """As above with fewer studies: three standard errors, 6 %, either way."""
    found = coverage(FEW, blocks, scatter)
    assert all(0.89 <= share < 1 for share in found.values()), found


def test_what_is_said_of_an_effect_does_not_leave_1_out_where_blocks_do_not() -> None:
    """By runs alone some intervals would, of studies without any effect."""
    random = np.random.default_rng(11)
    tables = (simulated(random, 3, "by target", nothing) for _ in range(150))
    effects = [effect for table in tables for effect in analyse(table).effects]
    open_ = [effect for effect in effects if effect.freedom == 1 and effect.p > 0.05]
    assert any(effect.size.decided for effect in open_)
    assert not any(effect.size_said.decided for effect in open_)


def false_positives(studies: int, scatter: str, blocks: int = 3) -> float:
    random = np.random.default_rng(7)
    tables = (simulated(random, blocks, scatter, nothing) for _ in range(studies))
    return float(np.mean([any(e.matters for e in analyse(t).effects) for t in tables]))


@pytest.mark.whole
@pytest.mark.parametrize("scatter", SCATTERS)
def test_a_study_without_effects_is_said_to_have_one_in_at_most_five_percent(scatter):
    """Over all six effects together; two standard errors of 600 studies are 1.8 %."""
    assert false_positives(600, scatter) <= 0.068


def test_few_studies_without_effects_are_said_to_have_one():
    assert false_positives(100, "by target") <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 100)


def test_effects_that_are_there_are_found():
    analysis = analyse(simulated(np.random.default_rng(5), 3, "alike"))
    matters = {frozenset(effect.factors) for effect in analysis.effects if effect.matters}
    assert {
        frozenset({"ranks"}),
        frozenset({"target"}),
        frozenset({"size"}),
        frozenset({"ranks", "target"}),
    } <= matters
    assert analysis.find("size").size.value == pytest.approx(math.exp(1.2), rel=0.03)
    # averaged over ranks, target is exp(0.5 + 0.2 × 1.5)
    assert analysis.find("target").size.value == pytest.approx(math.exp(0.8), rel=0.03)
    # ranks 8 over 1 on nfs against local: exp(0.2 × 3)
    both = analysis.find("ranks", "target")
    assert both.size.value == pytest.approx(math.exp(0.6), rel=0.1)
    assert sum(effect.share for effect in analysis.effects) == pytest.approx(1, abs=0.03)


def slow_server(random: np.random.Generator) -> Layout:
    """nfs is slow or quick for a whole block, and on the whole it is as quick as local."""
    table = simulated(random, 3, "alike", nothing)
    return Layout(
        FACTORS, CODES, table.logs + np.where(CODES[:, 1:2] == 1, random.normal(0, 0.2, 3), 0)
    )


def test_a_server_that_is_slow_for_a_while_does_not_become_an_effect():
    random = np.random.default_rng(11)
    found = [analyse(slow_server(random)).find("target").matters for _ in range(100)]
    assert np.mean(found) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 100)


# --- drift


def drifting(in_order: bool, seed: int):
    """A machine that becomes 30 % slower over the study; ranks do nothing."""
    return study(
        {"ranks": [1, 2, 4, 8], "target": ["local", "nfs"]},
        lambda where: 10.0,
        blocks=4,
        scatter=0.02,
        drift=0.3,
        in_order=in_order,
        seed=seed,
    )


def ranks_matter(measured) -> bool:
    """Or would, if the same ranks did not go first in each block."""
    ranks = analyse(measured.table("elapsed_s")).find("ranks")
    return ranks.matters or ranks.may_be_first_runs


def test_drift_does_not_become_an_effect_as_it_does_in_blocks_of_one_level():
    randomised = [ranks_matter(drifting(False, seed)) for seed in range(60)]
    assert np.mean(randomised) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)
    assert all(ranks_matter(drifting(True, seed)) for seed in range(10))


def cautions_of(measured) -> list[cautions.Caution]:
    return cautions.cautions(
        measured.done,
        measured.varied,
        measured.response,
        measured.table(measured.response),
        measured.planned,
    )


def warned(measured) -> set[str]:
    return {caution.kind for caution in cautions_of(measured)}


def test_drift_is_warned_of_and_measured():
    measured = drifting(False, 3)
    assert "drift" in warned(measured)
    found = cautions.drift(
        measured.done, cautions.residuals(measured.done, measured.varied, "elapsed_s")
    )
    # residuals are taken within combinations, whose runs lie all over the study
    assert found.change == pytest.approx(math.exp(0.3), rel=0.15)


def test_runs_in_blocks_of_one_level_are_warned_of():
    assert "order not random" in warned(drifting(True, 3))
    assert "order not random" not in warned(drifting(False, 3))


def test_a_quiet_study_has_no_warnings():
    """Each of the six warnings is rarer than one in a hundred."""
    quiet = [
        warned(
            study(
                {"ranks": [1, 2, 4], "target": ["a", "b"]},
                lambda where: 5.0,
                scatter=0.02,
                blocks=5,
                seed=seed,
            )
        )
        for seed in range(40)
    ]
    assert sum(map(bool, quiet)) <= 4


def test_outliers_unequal_scatter_and_few_runs_are_warned_of():
    levels = {"ranks": [1, 2, 4, 8], "target": ["local", "nfs"]}
    measured = study(levels, lambda w: 5.0, scatter=0.02, blocks=6)
    runs = measured.runs.copy()
    runs.loc[10, "elapsed_s"] *= 2
    assert [c.runs for c in cautions_of(Measured(measured.plan, runs)) if c.kind == "outliers"] == [
        (int(runs.loc[10, "run"]),)
    ]
    noisy = study(
        levels, lambda w: 5.0, scatter=lambda w: 0.01 if w["target"] == "local" else 0.1, blocks=6
    )
    assert "unequal variances" in warned(noisy)
    assert "too few runs" in warned(study(levels, lambda w: 5.0, blocks=2))


# --- crossover


def crossing(seed: int, blocks: int = 5):
    """serial costs the same at any number of ranks; collective halves every doubling, and meets it
    at 12 ranks."""
    return study(
        {"ranks": [2, 4, 8, 16, 32], "method": ["serial", "collective"]},
        lambda where: 10.0 if where["method"] == "serial" else 10.0 * (12 / where["ranks"]) ** 0.6,
        blocks=blocks,
        scatter=0.15,
        block_scatter=0.1,
        seed=seed,
    )


def crossover_of(measured):
    by_method = {
        curve.where["method"]: curve for curve in curves(measured.table("elapsed_s"), "ranks")
    }
    pair = (by_method["serial"], by_method["collective"])
    return overtaking(*pair, ("serial", "collective"), prior([pair]))[0]


def test_a_planted_crossover_is_found():
    (found,) = crossover_of(crossing(2))
    assert (found.first, found.second) == ("serial", "collective")
    assert found.low <= 12 <= found.high
    assert found.between == (8, 16)


def held(measured) -> bool | None:
    """Whether the interval of the one crossover holds the planted one; None where there is no
    single crossover."""
    found = crossover_of(measured)
    if len(found) != 1:
        return None
    low, high = found[0].low or 0, found[0].high or math.inf
    return low <= 12 <= high


@pytest.mark.whole
def test_crossover_intervals_cover_as_they_promise():
    answers = [held(crossing(seed)) for seed in range(STUDIES)]
    decided = [answer for answer in answers if answer is not None]
    assert len(decided) >= 0.9 * STUDIES
    assert 0.9375 <= np.mean(decided) <= 0.975


def test_no_crossover_where_one_is_always_better():
    measured = study(
        {"ranks": [2, 4, 8], "method": ["serial", "collective"]},
        lambda where: 10.0 if where["method"] == "serial" else 5.0,
    )
    assert crossover_of(measured) == []


# --- trends and speedup


def family_of(measured) -> Family:
    return Family(curves(measured.table("elapsed_s"), "ranks"), measured.alike)


def test_a_turn_is_found_where_it_is():
    """Falls as 1 / ranks until 4, then rises."""
    times = {1: 40.0, 2: 22.0, 4: 15.0, 8: 19.0, 16: 30.0}
    family = family_of(study({"ranks": list(times)}, lambda where: times[where["ranks"]], blocks=4))
    found = trend(family, family.curves[0])
    assert (found.shape, found.best, found.between) == ("turns", 4, (4,))
    assert found.until.value == pytest.approx(15 / 40, rel=0.06)
    assert found.beyond.value == pytest.approx(2, rel=0.06)


@pytest.mark.parametrize(
    ("times", "shape"), [((8, 4, 2), "improves"), ((2, 4, 8), "worsens"), ((4, 4, 4), "flat")]
)
def test_shapes_of_trends(times, shape):
    by_ranks = dict(zip((1, 2, 4), times, strict=True))
    family = family_of(
        study({"ranks": [1, 2, 4]}, lambda w: by_ranks[w["ranks"]], blocks=5, scatter=0.005)
    )
    assert trend(family, family.curves[0]).shape == shape


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ((10, 20, 15, 9), "elapsed time is lowest at 8 ranks, but rises from 1 to 2 ranks"),
        ((10, 5, 12, 5.2, 10), "elapsed time is lowest at 2 ranks, but falls from 4 to 8 ranks"),
        ((10, 5, 4.99, 5.01, 5), "elapsed time falls until 2 ranks, and is flat from there"),
        ((10, 8, 6, 5), "elapsed time falls until 8 ranks, the most that was tried"),
        ((5, 10, 10, 10, 10), "elapsed time rises until 2 ranks, and is flat from there"),
        ((5, 5, 5, 8, 11), "elapsed time is lowest at 1, 2 or 4 ranks and rises beyond 4"),
        ((5, 10, 20, 10, 5), "elapsed time is higher at 4 ranks than at 1 and at 16 ranks"),
        (
            (10, 10, 7, 7, 5),
            "elapsed time falls until 16 ranks, the most that was tried, but is flat from 1 to 2"
            " ranks and from 4 to 8 ranks",
        ),
    ],
)
def test_trends_speak_of_every_level(times, says):
    by_ranks = dict(zip((1, 2, 4, 8, 16), times, strict=False))
    measured = study(
        {"ranks": list(by_ranks)}, lambda w: by_ranks[w["ranks"]], blocks=5, scatter=0.005
    )
    found = find(measured, analyse(measured.table("elapsed_s")))
    assert [finding.text for finding in found.findings if finding.kind == "trend"] == [says]


def test_a_plateau_is_not_said_to_fall_until_one_of_its_levels():
    """10, 5, 5, 5, 5, 5 with 5 % of scatter: which is least is chance."""
    texts = [plateau(seed) for seed in range(40)]
    assert sum("until 2 ranks, and" in text for text in texts) >= 36


def plateau(seed):
    measured = study(
        {"ranks": [1, 2, 4, 8, 16, 32]},
        lambda w: 10 if w["ranks"] == 1 else 5,
        scatter=0.05,
        seed=seed,
    )
    found = find(measured, analyse(measured.table("elapsed_s")))
    return found.findings[0].text


def test_of_a_rate_more_is_better():
    measured = study({"ranks": [1, 2, 4]}, lambda w: 100.0 * w["ranks"], blocks=4)
    family = family_of(measured)
    assert trend(family, family.curves[0], more_is_better=True).shape == "improves"


def test_speedup_names_its_base_and_its_ideal():
    family = family_of(
        study({"ranks": [2, 4, 8]}, lambda w: 4 + 16 / w["ranks"], blocks=5, scatter=0.01)
    )
    found = speedup(family, family.curves[0])
    assert (found.base, found.best) == (2, 8)
    assert found.base_value.value == pytest.approx(12, rel=0.02)
    assert found.by_level[8].low <= 2 <= found.by_level[8].high
    assert found.ideal == {4: 2, 8: 4}


def test_weak_scaling_is_told_by_the_bytes():
    assert is_weak([1, 2, 4], [100, 200, 400])
    assert not is_weak([1, 2, 4], [100, 100, 101])


def test_a_slope_is_the_exponent_of_a_power_law():
    measured = study({"ranks": [1, 2, 4, 8]}, lambda w: 5 * w["ranks"] ** -0.7, scatter=1e-9)
    (curve,) = curves(measured.table("elapsed_s"), "ranks")
    assert by_block(curve, slope(curve.levels)) == pytest.approx([-0.7] * 3)


# --- arithmetic


def test_an_interval_by_hand():
    """1, 2, 4: logarithms 0, ln 2, 2 ln 2, standard deviation ln 2, t(2) = 4.3027: 2 × 2^(± 4.3027
    / √3)."""
    found = intervals.typical([1, 2, 4])
    assert (found.value, found.blocks) == (pytest.approx(2), 3)
    assert found.high == pytest.approx(2 * 2 ** (4.30265 / math.sqrt(3)), rel=1e-4)
    assert found.low == pytest.approx(2 * 2 ** (-4.30265 / math.sqrt(3)), rel=1e-4)


def test_one_run_has_no_interval():
    assert not intervals.typical([3.0]).known


def test_holm_by_hand():
    """0.01 × 4, 0.02 × 3, 0.03 × 2, then never less than the one before."""
    assert intervals.holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])


def test_trigamma_inverse():
    """trigamma(1) = π² / 6."""
    assert intervals.trigamma_inverse(math.pi**2 / 6) == pytest.approx(1)


def test_equal_variances_are_pooled_and_unequal_ones_are_not():
    random = np.random.default_rng(1)
    equal = random.chisquare(2, 200) / 2
    unequal = equal * np.exp(random.normal(0, 2, 200))
    assert intervals.prior_of(equal, np.full(200, 2)).freedom > 20
    assert intervals.prior_of(unequal, np.full(200, 2)).freedom < 3


def test_a_prior_of_which_the_scale_is_fitted_says_less():
    """24 degrees, and a scale of which the logarithm has a variance of 0.2: 1 / (1/24 + 0.2/2). Of
    a prior that weighs half (4 of 8 degrees) a quarter of that counts: 1 / (1/8 + 0.2/8)."""
    assert intervals.moderated(9.0, 4, intervals.Prior(2.0, math.inf, 24), 0.2) == pytest.approx(
        (2.0, 24 / 3.4)
    )
    assert intervals.moderated(4.0, 4, intervals.Prior(2.0, 4.0, 24), 0.2) == pytest.approx(
        (3.0, 8 / 1.2)
    )
    assert intervals.moderated(4.0, 4, intervals.Prior(2.0, 4.0, 24)) == pytest.approx((3.0, 8))
    assert intervals.moderated(4.0, 4, intervals.NO_PRIOR, 0.2) == (4.0, 4)


def test_how_surely_scatter_grows_is_known():
    """Twelve combinations of five runs: the slope of the logarithm of their variance over that of
    the ranks is known to a standard error of 0.2, so that at the ends, 1.73 from the middle, its
    variance is about 0.12, and none in the middle; of two tools it is 0.05 more."""
    found = [
        study(
            {"ranks": [1, 2, 4, 8, 16, 32], "tool": ["x", "y"]},
            lambda where: 10.0,
            blocks=5,
            scatter=lambda where: 0.008 * where["ranks"] ** 0.75,
            seed=seed,
        )
        .table("elapsed_s")
        .scatter.doubt
        for seed in range(20)
    ]
    variances = np.median([np.sum(doubt**2, axis=1) for doubt in found], axis=0)
    assert variances[[0, 1, 10, 11]] == pytest.approx(0.12, abs=0.06)
    assert max(variances[4:8]) < 0.06


def test_a_run_that_failed_costs_itself():
    """4 combinations × 3 blocks, one run missing: the block's own share is known from the others,
    so that the mean of the two that are left is right."""
    logs = np.add.outer([0.0, 1.0, 2.0, 3.0], [0.0, 0.5, -0.5])
    logs[1, 2] = np.nan
    found = cells.cells(logs + 1e-6 * np.random.default_rng(1).normal(size=logs.shape))
    assert found.means == pytest.approx([0, 1, 2, 3], abs=1e-5)
    assert found.runs.tolist() == [3, 2, 3, 3]


def test_an_interaction_that_is_left_out_is_named():
    """Without (nfs, large) the two factors' interaction cannot be told from the factors."""
    codes = np.array([[0, 0], [0, 1], [1, 0]])
    logs = np.random.default_rng(1).normal(size=(3, 4))
    assert analyse(Layout((TARGET, SIZE), codes, logs)).not_estimable == (("target", "size"),)
