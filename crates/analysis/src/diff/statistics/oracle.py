#!/usr/bin/env python3
"""Writes the figures that tests.rs compares ours with: oracle_*.csv beside it.

    pip install scipy==1.17.1 statsmodels==0.15.0
    python3 oracle.py

Nothing is taken from our code: intervals are quantiles of scipy's beta
distribution, tails those of its binomial and of statsmodels' exact conditional
test of two Poisson rates, rates of false discoveries scipy's, dispersions those of
statsmodels' generalised linear models. Numbers are drawn with a fixed seed.
"""

import csv
import math
import pathlib

import numpy as np
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.rates import test_poisson_2indep

LEVEL = 0.95
HERE = pathlib.Path(__file__).parent
draw = np.random.default_rng(20261127)


def write(name, head, rows):
    with open(HERE / f"oracle_{name}.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(head)
        out.writerows([[repr(float(cell)) if isinstance(cell, float) else cell
                        for cell in row] for row in rows])


def interval(a, exposure_a, b, exposure_b, factor, freedom):
    """Clopper and Pearson's, of counts that are worth less."""
    outside = (1 - LEVEL) / 2 if math.isinf(freedom) else (
        stats.norm.sf(stats.t.isf((1 - LEVEL) / 2, freedom)))
    a, b = a / factor, b / factor
    odds = exposure_b / exposure_a

    def of(x):
        return x / (1 - x) / odds

    low = of(stats.beta.ppf(outside, b, a + 1)) if b else 0.0
    if not a:
        return low, math.inf
    # Of the other part, whose digits are those of the odds.
    other = stats.beta.ppf(outside, a, b + 1)
    return low, (1 - other) / other / odds


def likelihood(a, exposure_a, b, exposure_b, factor, freedom):
    same = exposure_b / (exposure_a + exposure_b)
    more = stats.beta.cdf(same, b / factor, a / factor + 1) if b else 1.0
    fewer = stats.beta.sf(same, b / factor + 1, a / factor) if a else 1.0
    both = float(min(1.0, 2 * min(more, fewer)))
    if factor == 1:
        binomial = stats.binom(a + b, same)
        theirs = [binomial.sf(b - 1), binomial.cdf(b)]
        assert np.allclose([more, fewer], theirs, rtol=1e-7, atol=1e-290), (a, b)
        for side, tail in [("larger", more), ("smaller", fewer)]:
            tested = test_poisson_2indep(b, exposure_b, a, exposure_a, method="exact-cond",
                                         alternative=side)
            assert np.isclose(tested.pvalue, tail, rtol=1e-7, atol=1e-290), (a, b)
    if math.isinf(freedom):
        return both
    return float(2 * stats.t.sf(stats.norm.isf(both / 2), freedom))


def ratios():
    pairs = [(a, b) for a in (0, 1, 2, 5) for b in (0, 1, 3, 20) if a + b]
    pairs += [(0, 100), (100, 0), (7, 1_000_000), (1_000_000, 7), (1_000_000, 1_003_000)]
    while len(pairs) < 240:
        mean = 10 ** draw.uniform(0, 5)
        a, b = draw.poisson(mean), draw.poisson(mean * math.exp(draw.normal(0, 0.5)))
        if a + b:
            pairs.append((int(a), int(b)))
    for index, (a, b) in enumerate(pairs):
        exposure_a = 1.0 if index % 3 == 0 else round(10 ** draw.uniform(-3, 9), 6)
        exposure_b = 1.0 if index % 3 == 0 else round(exposure_a * draw.uniform(0.2, 5), 6)
        factor, freedom = [(1.0, math.inf), (1.0, 18.0), (2.5, 4.0), (17.3, 2.0)][index % 4]
        given = (a, exposure_a, b, exposure_b, factor, freedom)
        low, high = interval(*given)
        yield (*given, float(low), float(high), likelihood(*given))


def discoveries():
    for family in range(12):
        p = draw.uniform(size=1 + 4 * family) ** (1 + family % 3)
        p[-1] = p[0]
        rates = stats.false_discovery_control(p)
        assert np.allclose(rates, multipletests(p, method="fdr_bh")[1])
        for one, rate in zip(p, rates):
            yield family, float(one), float(rate)


def dispersions():
    for family in range(40):
        side = np.repeat([0, 1], [2 + family % 4, 2 + family % 3])
        exposure = draw.uniform(0.5, 2, size=len(side))
        mean = 10 ** draw.uniform(0.5, 4) * exposure
        extra = draw.gamma(1 + family, 1 / (1 + family), size=len(side))
        counts = draw.poisson(mean * extra)
        if not all(counts[side == one].sum() for one in (0, 1)):
            continue
        model = sm.GLM(counts, sm.add_constant(side), family=sm.families.Poisson(),
                       exposure=exposure)
        fit = model.fit(tol=1e-14)
        factor = fit.pearson_chi2 / fit.df_resid
        for row in zip(side, counts, exposure):
            yield (family, int(row[0]), int(row[1]), float(row[2]), float(factor),
                   int(fit.df_resid))


def quantiles():
    for p in [0.9, 0.5, 0.05, 0.01, 1e-6, 1e-30, 1e-250]:
        yield "inf", p, float(stats.norm.isf(p / 2))
        for freedom in [1, 2, 3, 7, 18, 400, 100_000]:
            if p > 1e-7:
                yield freedom, p, float(stats.t.isf(p / 2, freedom))


write("ratios", ["a", "exposure_a", "b", "exposure_b", "factor", "freedom", "low", "high",
                 "likelihood"], ratios())
write("discoveries", ["family", "likelihood", "rate"], discoveries())
write("dispersions", ["family", "side", "count", "exposure", "factor", "freedom"], dispersions())
write("quantiles", ["freedom", "likelihood", "deviation"], quantiles())
