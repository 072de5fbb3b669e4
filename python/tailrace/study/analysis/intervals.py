"""Estimates with intervals. All work is on logarithms: ratios are what readers compare, and times
scatter by factors.

The estimate of a combination is the geometric mean of its runs, which is the median where times
scatter log-normally; its interval is Student's on the logarithms. A comparison is made within each
block, where both sides met the same machine at nearly the same time, and Student's interval is
taken over the blocks.

With three blocks that leaves two degrees of freedom. Where a study makes the same comparison in
several places, its variances are moderated by one another: each is a weighted mean of its own and
of the common one, the weights following from how much the variances differ. Source: G. K. Smyth,
"Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004), article 3,
sections 4 and 6.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, special, stats

LEVEL = 0.95
# Fewer comparisons than this say too little of how much their variances differ.
SIMILAR_AT_LEAST = 4
# The end of an interval that is open.
UNBOUNDED = 1e300


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, both on the natural scale; `p` is that of a ratio of 1, NaN of
    what is no ratio.

    `blocks` is how many values it rests on, `freedom` the degrees of freedom of its variance.
    """

    value: float
    low: float
    high: float
    p: float
    blocks: int
    freedom: float
    level: float = LEVEL

    @property
    def known(self) -> bool:
        """Whether there is an interval at all: one block has none."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def open(self) -> bool:
        """Whether one end is not known: a run was ended before it was over."""
        return self.high >= UNBOUNDED or self.low <= 1 / UNBOUNDED

    def inverted(self) -> "Estimate":
        """Of the ratio the other way round."""
        return replace(self, value=1 / self.value, low=1 / self.high, high=1 / self.low)

    def widened(self, below: float, above: float) -> "Estimate":
        """By what simulations leave open, as logarithms: at most 0, and at least 0. No p goes with
        that."""
        if not below and not above:
            return self
        low, high = self.low * exponential(below), self.high * exponential(above)
        return replace(self, low=low, high=high, p=math.nan)

    def scaled(self, factor: float) -> "Estimate":
        """That many times as large; `p` stays that of the ratio which was compared."""
        return replace(
            self, value=self.value * factor, low=self.low * factor, high=self.high * factor
        )

    @property
    def decided(self) -> bool:
        """Whether a ratio is surely not 1."""
        return self.known and not self.low <= 1 <= self.high

    def beyond(self, ratio: float) -> bool:
        return self.low > ratio

    def below(self, ratio: float) -> bool:
        return self.high < ratio

    def within(self, share: float) -> bool:
        """Whether the whole interval lies within 1 / (1 + share) and 1 + share."""
        return 1 / (1 + share) <= self.low and self.high <= 1 + share

    def outside(self, share: float) -> bool:
        return self.high < 1 / (1 + share) or self.low > 1 + share

    def numbers(self) -> dict[str, float | int | None]:
        """As JSON has it: what is not known is null."""
        plain = {key: getattr(self, key) for key in ("value", "low", "high", "p", "freedom")}
        known = {
            key: float(value) if math.isfinite(value) else None for key, value in plain.items()
        }
        return known | {"blocks": self.blocks, "level": self.level}


@dataclass(frozen=True)
class Prior:
    """What the variances of similar comparisons say of one: a common variance and what it weighs,
    both over `freedom` degrees. `most` is how many degrees all of them have together.
    """

    variance: float = 0.0
    freedom: float = 0.0
    most: float = math.inf


NO_PRIOR = Prior()


def typical(values: Sequence[float] | np.ndarray, level: float = LEVEL) -> Estimate:
    """Of the repetitions of one combination: geometric mean and Student's interval on the
    logarithms.

    `values` are positive. One value has no interval (NaN). Coverage is exact for log-normal
    scatter.
    """
    logs = np.log(np.asarray(values, dtype=float))
    return replace(of_blocks(logs, level=level), p=math.nan)


def exact(logs: np.ndarray) -> Estimate:
    """Of logarithms that do not scatter, since they were not measured."""
    if not len(logs):
        return of_blocks(logs)
    value = exponential(float(np.mean(logs)))
    return Estimate(value, value, value, math.nan, len(logs), 0.0)


def of_blocks(
    logs: np.ndarray,
    prior: Prior = NO_PRIOR,
    scale: float = 1.0,
    level: float = LEVEL,
    doubt: float = 0.0,
) -> Estimate:
    """Of one logarithm a block. `scale`: its variance is expected to be so many times that of the
    prior; `doubt`: the variance of the logarithm of that number."""
    count = len(logs)
    if count == 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan, 0, 0.0, level)
    mean = float(np.mean(logs))
    if count < 2:
        return Estimate(math.exp(mean), math.nan, math.nan, math.nan, count, 0.0, level)
    variance, freedom = moderated(float(np.var(logs, ddof=1)) / scale, count - 1, prior, doubt)
    return from_error(mean, math.sqrt(variance * scale / count), freedom, count, level)


def from_error(
    mean: float, error: float, freedom: float, blocks: int, level: float = LEVEL
) -> Estimate:
    """Of a logarithm with its standard error. Without any scatter the interval is a point."""
    half = float(stats.t.ppf(0.5 + level / 2, freedom)) * error
    p = 2 * float(stats.t.sf(abs(mean) / error, freedom)) if error > 0 else float(mean == 0)
    return Estimate(
        exponential(mean),
        exponential(mean - half),
        exponential(mean + half),
        p,
        blocks,
        freedom,
        level,
    )


def satterthwaite(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """The degrees of freedom of the sum of independent variances. Source: F. E. Satterthwaite, "An
    approximate distribution of estimates of variance components", Biometrics Bulletin 2 (1946)."""
    wobble = sum(v**2 / freedom for v, freedom in zip(variances, freedoms, strict=True))
    return float(sum(variances) ** 2 / wobble) if wobble > 0 else float(sum(freedoms))


def of_means(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """The standard error of the difference of two means that scatter each in its own way, and its
    degrees of freedom: Welch's of as many values on both sides, else those of Cochran and Cox.
    Beside two values, which are alike by chance too often for either, it is the one of these: then
    equal means are never taken for different ones too often, however both sides scatter. Source:
    M. R. Mickey, M. B. Brown, "Bounds on the distribution functions of the Behrens-Fisher
    statistic", Annals of Mathematical Statistics 37 (1966).
    SciPy's test prints a warning where values are nearly alike."""
    sides = first, second
    variances = [float(np.var(side, ddof=1)) / len(side) for side in sides]
    freedoms = [len(side) - 1 for side in sides]
    error = math.sqrt(sum(variances))
    if min(freedoms) < 2:
        return error, float(min(freedoms))
    of_both = satterthwaite if len(first) == len(second) else cochran_cox
    return error, of_both(variances, freedoms)


def cochran_cox(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """The degrees of freedom for which Student's quantile is the mean of those of both sides,
    weighted by their variances. Satterthwaite's are too many where the side with fewer values
    scatters more, and happens to look as if it did not. Source: W. G. Cochran, G. M. Cox,
    "Experimental Designs", 2nd edition, Wiley 1957."""

    def quantile(freedom: float) -> float:
        return float(stats.t.ppf(0.5 + LEVEL / 2, freedom))

    least, most = min(freedoms), max(freedoms)
    if sum(variances) <= 0 or least == most:
        return float(least)
    asked = float(np.average([quantile(freedom) for freedom in freedoms], weights=variances))
    if not quantile(most) < asked < quantile(least):
        return float(least if asked >= quantile(least) else most)
    return float(optimize.brentq(lambda freedom: quantile(freedom) - asked, least, most))


def exponential(value: float) -> float:
    """e to that power, which a large interval's end must not overflow."""
    return math.exp(min(max(value, -700.0), 700.0))


def moderated(
    variance: float, freedom: float, prior: Prior, doubt: float = 0.0
) -> tuple[float, float]:
    """The variance and its degrees of freedom with what the prior adds to both. `doubt`: the
    variance of the logarithm of how many times the prior's this variance is expected to be. That of
    the logarithm of a variance over f degrees is about 2 / f, and both add up."""
    if prior.freedom == 0:
        return variance, freedom
    share = 1.0 if math.isinf(prior.freedom) else prior.freedom / (freedom + prior.freedom)
    both = min(freedom + prior.freedom, prior.most)
    certain = 1 / (1 / both + share**2 * doubt / 2)
    return (1 - share) * variance + share * prior.variance, max(certain, freedom)


def prior_of(variances: np.ndarray, freedom: np.ndarray) -> Prior:
    """From the sample variances of similar comparisons and their degrees of freedom (Smyth 2004,
    section 6.2).

    Where they differ no more than chance makes them differ, the prior weighs infinitely and is
    their pooled variance. Where they differ, the common variance is at least the pooled one:
    Smyth's alone is nearer to the quiet ones, and a few dozen variances tell their own spread so
    badly that intervals then cover 93 % instead of 95.
    """
    usable = (freedom > 0) & np.isfinite(variances)
    variances, freedom = variances[usable], freedom[usable].astype(float)
    if len(variances) < SIMILAR_AT_LEAST or not np.any(variances > 0):
        return NO_PRIOR
    most = float(np.sum(freedom))
    # a variance of exactly zero is rounding of a clock, not certainty
    floored = np.maximum(variances, 1e-5 * np.median(variances[variances > 0]))
    centred = np.log(floored) - special.digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(np.var(centred, ddof=1) - np.mean(special.polygamma(1, freedom / 2)))
    pooled = float(np.sum(variances * freedom) / most)
    if excess <= 0:
        return Prior(pooled, math.inf, most)
    half = trigamma_inverse(excess)
    smyth = math.exp(float(np.mean(centred)) + float(special.digamma(half)) - math.log(half))
    return Prior(max(smyth, pooled), 2 * half, most)


def trigamma_inverse(value: float) -> float:
    """The x with trigamma(x) = value, for positive values; trigamma falls from infinity to 0."""
    if value > 1e6:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    return float(optimize.brentq(lambda x: float(special.polygamma(1, x)) - value, 1e-4, 2e6))


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """p values that allow for all of them having been looked at: the chance of any false one is at
    most that which they are compared with. Source: S. Holm, "A simple sequentially rejective
    multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values)
    factors = np.arange(len(values), 0, -1)
    answer = np.empty(len(values))
    answer[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return answer
