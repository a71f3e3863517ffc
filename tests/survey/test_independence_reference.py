"""Rao-Scott and Wald tests of independence against R's package survey."""

from __future__ import annotations

from typing import Any

import pytest
from shared.survey_reference import Figure, given, named, quickly, same, survey, transcript


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


UNCORRECTED = ["weights", "elements", "units", "clusters", "two_stages_no_fpc"]


@pytest.mark.parametrize("figure", [independence, wald], ids=named)
@pytest.mark.parametrize("name", quickly(UNCORRECTED, ["clusters"]))
def test_independence(name: str, figure: Figure) -> None:
    figure(survey(name), transcript("designs")[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jk1", "jkn_mse", "brr", "fay_mse", "sdr", "boot", "other_mse"])
def test_independence_by_replication(name: str) -> None:
    independence(given(name), transcript("replicates")[name])
