"""Posteriors of the questions of a survey."""

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, NotAvailable

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"ill": rng.choice(["no", "yes"], 400), "region": ["n", "s", None, "s"] * 100}
    )
    return table.assign(w=rng.uniform(0.5, 2.0, 400))


def test_a_posterior_is_that_of_the_model(table):
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
    found = survey.posterior("ill", np.random.default_rng(2), draws=160)
    model = ldp.FrequencyModel(survey.reports("ill"), name="ill")
    expected = model.fit_posterior(np.random.default_rng(2), draws=160)
    pd.testing.assert_series_equal(found.params, expected.params)
    groups = survey.posterior("ill", np.random.default_rng(2), by="region", draws=160)
    assert groups.index.names == ["region", "ill"] and groups.sizes == (100, 200)


def test_a_survey_with_weights_is_refused_by_name(table):
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)}, weights="w")
    for by in (None, "region"):
        with pytest.raises(NotAvailable, match="posterior of a survey with a design"):
            survey.posterior("ill", np.random.default_rng(1), by=by)


def test_other_questions_and_generators_are_refused(table):
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
    for column in (None, 3, "job"):
        with pytest.raises(ldp.LDPError):
            survey.posterior(column, np.random.default_rng(1))
    for rng in (None, 1, np.random, "seed"):
        with pytest.raises(InvalidArgument, match="rng"):
            survey.posterior("ill", rng)
