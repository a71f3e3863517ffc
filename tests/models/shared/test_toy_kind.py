"""A kind of results with an estimate, its covariance and two notes has all that results have."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats.likelihood.covariance import Covariance, Uncertain
from ldpstats.models.results import Results


@dataclass(frozen=True, eq=False, repr=False)
class ToyResults(Results):
    """Shares of colours."""

    colours: tuple[str, ...]

    _format = "toy-results"

    @property
    def index(self) -> "pd.Index[Any]":
        return pd.Index(self.colours)

    def _notes(self, frame: pd.DataFrame, details: bool = False) -> list[str]:
        return ["NOTE: a toy.", f"NOTE: of {len(frame)} colours.", *super()._notes(frame)]


def toy(shares: Uncertain, colours: tuple[str, ...], n: int) -> ToyResults:
    made: dict[str, Any] = {"fitted": shares, "linear": shares, "method": "counting"}
    made |= {"settings": "", "cov_type": "linear", "nobs": n, "n_missing": 0}
    return ToyResults(colours, **made, epsilon=np.inf, sources=("an urn",), name="balls")


P = np.array([0.5, 0.3, 0.2])


@pytest.fixture
def results():
    V = (np.diag(P) - np.outer(P, P)) / 1000
    return toy(Uncertain(P, Covariance.dense(V)), ("red", "green", "blue"), 1000)


def test_a_toy_kind_has_a_summary_in_every_form(results):
    summary = results.summary(details=True)
    text = summary.as_text()
    for words in (
        "Frequencies of balls",
        "an urn",
        "NOTE: a toy.",
        "NOTE: of 3 colours.",
        "0.0158",
    ):
        assert words in text
        assert words in summary.as_html()
        assert words in summary.as_latex()
        assert words in summary.as_markdown()
    assert "| green" in summary.as_markdown()
    assert summary.as_frame()["estimate"].tolist() == ["0.5000", "0.3000", "0.2000"]
    assert "Frequencies of balls" in results._repr_html_()
    assert repr(results) == "ToyResults(counting, k=3, n=1000; an urn)"


def test_a_toy_kind_has_tables_tests_plot_and_document(results):
    se = np.sqrt(P * (1 - P) / 1000)
    np.testing.assert_allclose(results.bse, se)
    np.testing.assert_allclose(results.conf_int()["upper"], P + 1.959963984540054 * se)
    frame = results.to_frame()
    assert frame["term"].tolist() == ["red", "green", "blue"]
    np.testing.assert_allclose(frame["std_error"], results.summary_frame()["bse"])
    assert results.glance()[["name", "nobs", "k"]].to_numpy().tolist() == [["balls", 1000, 3]]
    contrast = results.t_test("red = green")
    assert contrast.effect[0] == pytest.approx(0.2)
    assert contrast.sd.item() == pytest.approx(np.sqrt((0.8 - 0.04) / 1000))
    assert results.wald_test("red = green, green = blue").df == 2
    assert results.to_maketables().__maketables_stat__("N") == results.__maketables_stat__("N")
    labels = [label.get_text() for label in results.plot().get_yticklabels()]
    assert labels == ["red", "green", "blue"]
    again = ToyResults.from_json(results.to_json())
    assert again.summary().as_text() == results.summary().as_text()
    assert json.loads(results.to_json())["nobs"] == 1000
