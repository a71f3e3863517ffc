"""Malformed input of personalised models: each error names the argument."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.bad_values import Refusal, refuses
from shared.region_visits import CASES, HOMES, PUMS, REGIONS, K, fit

import ldpstats as ldp
from ldpstats.models.personalized import intervals as personalized

DATA = PUMS["urr"].common.counts([100, 50, 200, 60, 20, 300, 270])
ALL = ldp.PUM(ldp.URR(3, range(3), epsilon=1.0), ("home",))


def model(**changes: Any) -> ldp.PersonalizedModel:
    given: dict[str, Any] = {"data": DATA, "pum": PUMS["urr"]} | changes
    return ldp.PersonalizedModel(**given)


def home(law: Any) -> ldp.PersonalizedModel:
    return model(background={"home": law})


def without(document: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != field}


BAD = [
    *refuses("pum", lambda v: model(pum=v), {"no PUM": PUMS["urr"].common}),
    *refuses("data", lambda v: model(data=v), {"no data": [], "plain numbers": [1, 2, 3]}),
    *refuses("counts", lambda v: model(data=v), {"no report": PUMS["urr"].common.counts([0] * 7)}),
    *refuses(
        "exact",
        lambda v: model(exact=v),
        {"exact as text": "yes", "exact as a number": 1, "exact without background": True},
    ),
    *refuses("exact", lambda v: model(background={"home": HOMES}, exact=v), {"exact of one": True}),
    *refuses(
        "background",
        lambda v: model(background=v),
        {
            "unknown tag": {"gym": HOMES},
            "category as tag": {"park": HOMES},
            "a vector": HOMES,
            "a Series alone": pd.Series(HOMES, index=REGIONS),
        },
    ),
    *refuses(
        "background['home']",
        home,
        {
            "too short": [0.5, 0.5],
            "a matrix": [HOMES],
            "no distribution": HOMES * 2,
            "counts of people": [10, 20, 0, 30, 0],
            "negative": [1.5, -0.5, 0, 0, 0],
            "nan": [np.nan, 1, 0, 0, 0],
            "infinite": [np.inf, 0, 0, 0, 0],
            "text": "home",
            "none": None,
            "unknown labels": pd.Series(HOMES, index=["a", "b", "c", "d", "e"]),
            "labels lacking": pd.Series([0.5, 0.5], REGIONS[:2]),
            "labels twice": pd.Series(HOMES, index=["centre", *REGIONS[:4]]),
            "bots in the background": pd.Series([*HOMES, 0.0], index=[*REGIONS, "home"]),
        },
    ),
    *refuses(
        "background",
        lambda v: ldp.PersonalizedModel(v, ALL),
        {"nothing to spread over": ALL.common.counts([1, 2, 3, 4])},
    ),
    *refuses("method", lambda v: model().fit(v), {"unknown method": "best"}),
    *refuses("alpha", lambda v: model().fit().conf_int(v), {"alpha": 2.0}),
    *refuses("method", lambda v: model().fit().conf_int(method=v), {"interval": "exact"}),
    *refuses("alpha", lambda v: model().fit().detected(v), {"level of detection": 0.0}),
    *refuses("method", lambda v: model().fit().detected(0.05, v), {"method of detection": "none"}),
    *refuses("max_rows", lambda v: model().fit().summary(max_rows=v), {"rows": 0}),
    *refuses("truth", lambda v: model().fit().plot(truth=v), {"truth": [1.0]}),
    *refuses("ax", lambda v: model().fit().plot(ax=v), {"axes": 3}),
    *refuses(
        "hypothesis", lambda v: model().fit().t_test(v), {"hypothesis about a bot": "home = 0.1"}
    ),
    *refuses("cov_type", lambda v: model().fit().cov_params(v), {"kind of covariance": "robust"}),
    *refuses("text", ldp.PersonalizedResults.from_json, {"no JSON": "{"}),
    *refuses(
        "document",
        ldp.PersonalizedResults.from_dict,
        {
            "another document": {},
            "results of frequencies": model().fit().intermediate.to_dict(),
            "a field less": without(model().fit().to_dict(), "given"),
        },
    ),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: Refusal) -> None:
    case.check()


OTHER_DATA = {
    "the categories alone": PUMS["urr"].mechanism.counts([10] * 5),
    "other tags": ldp.PUM(PUMS["urr"].mechanism, ("home", "gym")).common.counts([10] * 7),
    "another order": ldp.PUM(PUMS["urr"].mechanism, ("work", "home")).common.counts([10] * 7),
    "another mechanism": ldp.KRR(7, epsilon=1.0).counts([10] * 7),
}


@pytest.mark.parametrize("name", OTHER_DATA)
def test_data_over_other_categories_are_refused(name: str) -> None:
    with pytest.raises(ldp.MechanismMismatch, match="not over the categories and then the tags"):
        model(data=OTHER_DATA[name])
    with pytest.raises(ldp.MechanismMismatch):
        model(data=[DATA, OTHER_DATA[name]])


def test_nothing_to_spread_bots_over_is_said() -> None:
    counts = PUMS["urr"].common.counts([0, 0, 500, 0, 0, 400, 300])
    with pytest.raises(ldp.NotAvailable, match="give a background"):
        model(data=counts).fit()
    assert model(data=counts, **CASES["exact"]).fit().params.sum() == pytest.approx(1.0)


def test_hypotheses_that_the_constraint_fixes_are_refused() -> None:
    with pytest.raises(ldp.InvalidArgument, match="sum"):
        model(**CASES["exact"]).fit().t_test(np.ones((1, K)))


def test_a_mixture_says_what_it_lacks() -> None:
    given = np.full((1, 2), np.nan)
    with pytest.raises(ldp.NotAvailable, match=r"sum to -0\.1"):
        personalized.mixture(np.array([0.5, -0.1, 0.6]), given, np.array([False, True]))


def test_json_is_strict() -> None:
    json.loads(fit("urr", "none", n=1000).to_json(), parse_constant=pytest.fail)
