"""Rao-Scott and Wald tests against R's package survey."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared.survey_reference import (
    Figure,
    given,
    named,
    quickly,
    same,
    survey,
    transcript,
)


def independence(survey: Any, r: Any) -> None:
    """With design effects at the observed table, as R has them; ours are under independence.

    Nor does a correction for finite populations enter our test: designs with fpc are left out.
    """
    table, F, chi2 = survey.association("job", "region"), r["chisq_F"], r["chisq"]
    second = table.test_independence(method="second", effects="observed")
    same([second.statistic, *second.df, second.pvalue], [F["statistic"], *F["df"], F["pvalue"]])
    first = table.test_independence(method="first-chi2", effects="observed")
    same([first.statistic, first.df, first.pvalue], [6 * F["statistic"], 6, chi2["pvalue"]])


def wald(survey: Any, r: Any) -> None:
    table = survey.association("job", "region")
    for name, method in [("wald", "wald"), ("adj_wald", "wald-adjusted")]:
        test = table.test_independence(method=method)
        expected = [r[name]["statistic"], *r[name]["df"], r[name]["pvalue"]]
        same([test.statistic, *test.df, test.pvalue], expected)


def fit(survey: Any, r: Any) -> None:
    """R has Pearson's statistic of totals, N / n times ours, and so are its design effects.

    Its p-value is of their weighted sum of chi-squares; here they are corrected with F laws.
    """
    pearson, effects, nu = r["fit"]["statistic"], np.array(r["fit"]["lambda"]), r["df"]
    d = effects.sum() ** 2 / np.sum(effects**2)
    results = survey.frequencies("job")
    for method, df in [("first", 3), ("second", d)]:
        test = results.test_distribution([0.4, 0.3, 0.2, 0.1], method=method)
        same([test.statistic, *test.df], [pearson / effects.sum(), df, df * nu])


UNCORRECTED = ["weights", "elements", "units", "clusters", "two_stages_no_fpc"]


@pytest.mark.parametrize("figure", [independence, wald, fit], ids=named)
@pytest.mark.parametrize("name", quickly(UNCORRECTED, ["clusters"]))
def test_independence(name: str, figure: Figure) -> None:
    figure(survey(name), transcript("designs")[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jk1", "jkn_mse", "brr", "fay_mse", "sdr", "boot", "other_mse"])
def test_independence_by_replication(name: str) -> None:
    independence(given(name), transcript("replicates")[name])
