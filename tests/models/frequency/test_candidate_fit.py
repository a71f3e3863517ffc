"""Lists that lack answers, and whether a list fits, in simulated surveys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from simulate import ALPHA, at_least, at_most, bias, coverage, near, repeat, size
from simulated.candidates import zipf

import ldpstats as ldp
from ldpstats.inference import intervals, multiplicity
from ldpstats.inference.tails import normal_pvalue

Array = npt.NDArray[Any]

# of thousands of surveys a few have a goodness of fit below .001 by chance, and fits say so
pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")


@dataclass(frozen=True)
class Incomplete:
    """Surveys in which a share of the answers, on some strings, is not among the candidates."""

    mechanism: Any
    share: float
    strings: int
    n: int = 10**5
    present: int = 15
    absent: int = 45

    def __str__(self) -> str:
        return f"{type(self.mechanism).__name__}, {self.share:g} on {self.strings}"

    @property
    def p(self) -> Array:
        """Of the candidates and, last, the strings that are not listed."""
        listed = (1.0 - self.share) * zipf(self.present, self.absent)
        return np.append(listed, np.full(self.strings, self.share / max(self.strings, 1)))

    def fits(self, R: int, seed: Any) -> dict[str, Array]:
        """What R surveys say, each with strings of its own."""
        rng, S = np.random.default_rng(seed), self.present + self.absent

        def survey(r: int) -> dict[str, Any]:
            names = [f"{seed}-{r}-{i}" for i in range(S + self.strings)]
            counts = self.mechanism.draw(self.p, self.n, rng, names)
            results = ldp.FrequencyModel(counts, candidates=names[:S]).fit()
            return {
                "false": results.detected().isin(names[self.present :]).any(),
                "ends": results.conf_int(clip=False),
                "estimate": results.linear_params,
                # standard errors that know of the reports alone
                "se": results.linear_bse / np.sqrt(results.dispersion),
                "fit": results.goodness_of_fit.pvalue,
                "rest": results.unexplained.estimate,
                "rest ends": results.unexplained.conf_int(clip=False),
            }

        return repeat(R, survey)

    def check(self, R: int, seed: Any) -> None:
        found = self.fits(R, seed)
        assert at_most(found["false"].mean(), ALPHA, R)
        # Candidates of one survey share the luck of a few hashes. Where one string weighs most of
        # all, a candidate meets it in no cohort or one, and intervals are wider than they need be.
        shares = coverage(found["ends"], self.p[: self.present + self.absent])[: self.present]
        assert 0.93 < shares.mean() < 0.98
        assert at_least(shares, 1 - ALPHA, R)
        assert abs(bias(found["rest"], self.share)) < 4
        assert near(coverage(found["rest ends"], self.share), 1 - ALPHA, R)

    def control(self, R: int, seed: Any) -> None:
        """Standard errors that know of the reports alone: detection and coverage fail."""
        found, present = self.fits(R, seed), self.present
        assert found["fit"].max() < 1e-3
        estimate, se = found["estimate"], found["se"]
        z = estimate / se
        false = multiplicity.reject(normal_pvalue(z, "larger"), ALPHA)[:, present:].any(axis=1)
        assert false.mean() > 0.3
        ends = intervals.wald(estimate, se)[:, :present]
        assert coverage(ends, self.p[:present]).mean() < 0.87


INCOMPLETE = [
    Incomplete(mechanism, share, strings)
    for mechanism in (ldp.ORR(64, 16, epsilon=2.0), ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75))
    for share in (0.1, 0.4)
    for strings in (1, 5, 20, 200)
]


def test_incomplete_lists() -> None:
    case = Incomplete(ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75), 0.4, 5, n=20_000)
    case.check(150, [9])
    case.control(50, [10])


@pytest.mark.slow
@pytest.mark.parametrize("case", INCOMPLETE, ids=str)
def test_more_incomplete_lists(case: Incomplete, replications: Callable[..., int]) -> None:
    case.check(replications(300, least=150), [11, case.strings])
    if case.share == 0.4 and case.strings <= 5:
        case.control(50, [12, case.strings])


# ---- does the list fit?

COMPLETE = [
    Incomplete(ldp.ORR(64, 16, epsilon=2.0), 0.0, 0),
    Incomplete(ldp.ORR(256, 16, epsilon=2.0), 0.0, 0, n=1000),  # a quarter of a report a cell
    Incomplete(ldp.ORR(16, 4, epsilon=2.0), 0.0, 0, present=20, absent=36),  # 56 of at most 60
    Incomplete(ldp.RAPPOR(32, 2, 16, f=0.0, p=0.25, q=0.75), 0.0, 0),
    Incomplete(ldp.RAPPOR(32, 2, 2, f=0.0, p=0.25, q=0.75), 0.0, 0, n=10**4, present=20, absent=20),
    Incomplete(ldp.ORAPPOR(64, 1, 8, epsilon=8.0), 0.0, 0, n=2000),
]


def fit_pvalues(case: Incomplete, R: int, seed: Any) -> Array:
    """p-values of goodness of fit; surveys whose hashes tell too little apart are left out."""
    rng, S, found = np.random.default_rng(seed), case.present + case.absent, []
    for r in range(R):
        names = [f"{seed}-{r}-{i}" for i in range(S + case.strings)]
        counts = case.mechanism.draw(case.p, case.n, rng, names)
        try:
            misfit = case.mechanism.moments(counts, names[:S]).misfit()
        except ldp.NotIdentified:
            continue
        found.append(stats.chi2.sf(misfit.statistic * misfit.df / misfit.mean, misfit.df))
    assert len(found) > 0.9 * R
    return np.array(found)


def check_size(case: Incomplete, R: int, seed: Any) -> None:
    pvalues = fit_pvalues(case, R, seed)
    for level in (0.05, 0.01):
        assert at_most(size(pvalues, level), level, len(pvalues)), case.mechanism
    assert size(pvalues) > 0.01  # not so cautious as to see nothing


def test_complete_lists_fit() -> None:
    check_size(COMPLETE[0], 200, [13])


@pytest.mark.slow
@pytest.mark.parametrize("case", COMPLETE, ids=lambda case: str(case.mechanism))
def test_more_complete_lists_fit(case: Incomplete, replications: Callable[..., int]) -> None:
    check_size(case, replications(1000), [14])


@pytest.mark.parametrize(
    ("case", "least", "most"),
    [
        (INCOMPLETE[0], 0.9, 1.0),  # a tenth on one string
        (INCOMPLETE[6], 0.9, 1.0),  # four tenths on 20
        (INCOMPLETE[3], 0.0, 0.2),  # a tenth on 200: they hash almost evenly, and do no harm
    ],
    ids=str,
)
def test_incomplete_lists_are_noticed(case: Incomplete, least: float, most: float) -> None:
    assert least <= size(fit_pvalues(case, 50, [15]), 0.01) <= most
