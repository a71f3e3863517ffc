"""A survey that cannot answer says so."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats import planning

WORDS = "too small or too private for its"


def summary(mechanism: ldp.Mechanism, n: int, seed: int = 1) -> str:
    k = mechanism.k
    counts = mechanism.draw(np.full(k, 1 / k), n, np.random.default_rng(seed))
    text = ldp.FrequencyModel(counts).fit("inversion").summary(max_rows=3).as_text()
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("mechanism", "n"),
    [(ldp.KRR(4, 0.5), 50), (ldp.KRAPPOR(50, 0.2), 2000)],
)
def test_too_few_reports(mechanism: ldp.Mechanism, n: int) -> None:
    text = summary(mechanism, n)
    assert WORDS in text
    needed = int(re.search(r"n of about ([\d,]+) is needed", text)[1].replace(",", ""))
    k = mechanism.k
    shares = np.random.default_rng(1).dirichlet(np.ones(k), 20_000)
    spread = shares.var(axis=0).sum()
    guess = np.square(shares - 1 / k).sum(axis=1)  # loss of the guess that all are equal
    assert spread == pytest.approx((k - 1) / (k * (k + 1)), rel=0.03)
    assert guess.mean() == pytest.approx(spread, rel=0.03)
    planned = planning.precision(mechanism, None, 1).total / spread
    assert needed == pytest.approx(planned, rel=0.1)
    assert WORDS not in summary(mechanism, 2 * needed)


def test_one_share_alone_is_uniform() -> None:
    reports = ldp.ORR(8, 8, epsilon=0.2).privatize(["w"] * 100, np.random.default_rng(1))
    fit = ldp.FrequencyModel(reports, candidates=["absent"]).fit("inversion")
    text = " ".join(fit.summary().as_text().split())
    needed = int(re.search(r"n of about ([\d,]+) is needed", text)[1].replace(",", ""))
    assert needed == pytest.approx(100 * 12 * fit.linear.bse()[0] ** 2, rel=0.1)


def test_a_small_p_value_in_the_table_is_said_to_be_unadjusted() -> None:
    krr = ldp.KRR(10, 0.5)
    counts = krr.counts([16, 9, 9, 9, 9, 9, 9, 9, 9, 9])
    fit = ldp.FrequencyModel(counts).fit("inversion")
    assert 0.005 < fit.presence_pvalues().min() < 0.05
    text = " ".join(fit.summary().as_text().split())
    assert WORDS in text and "(p-values in the table are not adjusted)" in text
    rng = np.random.default_rng(1)
    joint = ldp.AssociationModel(*(krr.privatize(np.arange(10), rng) for _ in range(2)))
    assert "not adjusted)" not in joint.fit("inversion").summary().as_text()  # it has no p-values


def test_none_where_a_category_stands_out() -> None:
    krr = ldp.KRR(1000, 1.0)
    law = np.append(0.9, np.full(999, 0.1 / 999))
    counts = krr.draw(law, 100_000, np.random.default_rng(1))
    fit = ldp.FrequencyModel(counts).fit("inversion")
    assert fit.linear.bse().min() > 0.04  # far above 1 / k
    assert WORDS not in fit.summary(max_rows=2).as_text().replace("\n", " ")


def test_candidates_that_were_selected_have_none() -> None:
    orr = ldp.ORR(8, 8, epsilon=0.5)
    words = [f"w{i}" for i in range(12)]
    counts = orr.privatize(words * 10, np.random.default_rng(1)).tally()
    fit = ldp.FrequencyModel(counts, candidates=words).fit("inversion")
    assert WORDS in " ".join(fit.summary().as_text().split())
