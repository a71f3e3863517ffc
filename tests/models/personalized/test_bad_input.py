"""Malformed input of personalised models: each error names the argument."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
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


BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("no PUM", lambda: model(pum=PUMS["urr"].common), "pum"),
    ("no data", lambda: model(data=[]), "data"),
    ("plain numbers", lambda: model(data=[1, 2, 3]), "data"),
    ("no report", lambda: model(data=PUMS["urr"].common.counts([0] * 7)), "counts"),
    ("exact as text", lambda: model(exact="yes"), "exact"),
    ("exact as a number", lambda: model(exact=1), "exact"),
    ("exact without background", lambda: model(exact=True), "exact"),
    ("exact of one", lambda: model(background={"home": HOMES}, exact=True), "exact"),
    ("unknown tag", lambda: model(background={"gym": HOMES}), "background"),
    ("category as tag", lambda: model(background={"park": HOMES}), "background"),
    ("a vector", lambda: model(background=HOMES), "background"),
    ("a Series alone", lambda: model(background=pd.Series(HOMES, index=REGIONS)), "background"),
    ("too short", lambda: home([0.5, 0.5]), "background['home']"),
    ("a matrix", lambda: home([HOMES]), "background['home']"),
    ("no distribution", lambda: home(HOMES * 2), "background['home']"),
    ("counts of people", lambda: home([10, 20, 0, 30, 0]), "background['home']"),
    ("negative", lambda: home([1.5, -0.5, 0, 0, 0]), "background['home']"),
    ("nan", lambda: home([np.nan, 1, 0, 0, 0]), "background['home']"),
    ("infinite", lambda: home([np.inf, 0, 0, 0, 0]), "background['home']"),
    ("text", lambda: home("home"), "background['home']"),
    ("none", lambda: home(None), "background['home']"),
    (
        "unknown labels",
        lambda: home(pd.Series(HOMES, index=["a", "b", "c", "d", "e"])),
        "background['home']",
    ),
    ("labels lacking", lambda: home(pd.Series([0.5, 0.5], REGIONS[:2])), "background['home']"),
    (
        "labels twice",
        lambda: home(pd.Series(HOMES, index=["centre", *REGIONS[:4]])),
        "background['home']",
    ),
    (
        "bots in the background",
        lambda: home(pd.Series([*HOMES, 0.0], index=[*REGIONS, "home"])),
        "background['home']",
    ),
    (
        "nothing to spread over",
        lambda: ldp.PersonalizedModel(ALL.common.counts([1, 2, 3, 4]), ALL),
        "background",
    ),
    ("unknown method", lambda: model().fit("best"), "method"),
    ("alpha", lambda: model().fit().conf_int(2.0), "alpha"),
    ("interval", lambda: model().fit().conf_int(method="exact"), "method"),
    ("level of detection", lambda: model().fit().detected(0.0), "alpha"),
    ("method of detection", lambda: model().fit().detected(0.05, "none"), "method"),
    ("rows", lambda: model().fit().summary(max_rows=0), "max_rows"),
    ("truth", lambda: model().fit().plot(truth=[1.0]), "truth"),
    ("axes", lambda: model().fit().plot(ax=3), "ax"),
    ("hypothesis about a bot", lambda: model().fit().t_test("home = 0.1"), "hypothesis"),
    ("kind of covariance", lambda: model().fit().cov_params("robust"), "cov_type"),
    ("no JSON", lambda: ldp.PersonalizedResults.from_json("{"), "text"),
    ("another document", lambda: ldp.PersonalizedResults.from_dict({}), "document"),
    (
        "results of frequencies",
        lambda: ldp.PersonalizedResults.from_dict(model().fit().intermediate.to_dict()),
        "document",
    ),
    (
        "a field less",
        lambda: ldp.PersonalizedResults.from_dict(without(model().fit().to_dict(), "given")),
        "document",
    ),
]


@pytest.mark.parametrize(("call", "name"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input_is_refused(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(ldp.InvalidArgument) as caught:
        call()
    assert str(caught.value).startswith(name), caught.value


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
