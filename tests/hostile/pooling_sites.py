"""Posteriors of tables and of pooled groups, with arguments that work."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from hostile.examples import JOBS, RNG, Examples, Site

import ldpstats as ldp
from ldpstats.priors import Dirichlet, Margins, Pooling


def pooling_sites(e: Examples) -> Iterator[Site]:
    flat: dict[str, Any] = {"first": [2.0, 3.0], "second": 1.0, "third": None, "log_odds_sd": 2.0}
    yield Site("priors.Margins", Margins, flat)
    law = Margins().draw
    yield Site("priors.Margins.draw", law, {"sizes": (2, 2), "rng": RNG, "draws": 3})
    also = {"categories": ("len(categories)",)}
    yield Site("priors.Pooling", Pooling, {"sd": 1.0, "df": 4.0, "common": Dirichlet(2.0)})
    drawn = {"n_groups": 2, "categories": JOBS, "rng": RNG, "draws": 3}
    yield Site("priors.Pooling.draw", Pooling().draw, drawn, also)
    yes = ldp.KRR(("no", "yes"), 2.0)
    joint = ldp.AssociationModel(ldp.JointCounts.from_table([[40, 15], [15, 30]], (yes, yes)))
    how = {"rng": RNG, "prior": Margins(), "draws": 160, "engine": "hmc"}
    prior = {"prior": ("first", "concentration")}
    yield Site("AssociationModel.fit_posterior", joint.fit_posterior, how, prior, slow=True)
    grouped = ldp.GroupedModel({"a": e.counts["KRR"], "b": e.krr.no_counts()})
    pooled = how | {"prior": Pooling()}
    yield Site("GroupedModel.fit_posterior", grouped.fit_posterior, pooled, slow=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = joint.fit_posterior(np.random.default_rng(1), draws=160)
        groups = grouped.fit_posterior(np.random.default_rng(1), draws=160)
    yield Site("TablePosterior.conditional", table.conditional, {"on": "x"})
    yield Site("TablePosterior.margin", table.margin, {"name": "x"})
    pairs = {"rows": ["no", "yes"], "columns": ["no", "yes"]}
    yield Site("TablePosterior.log_odds_ratio", table.log_odds_ratio, pairs)
    derived = {"labels": "equal", "subject": "Equal answers"}
    yield Site("TablePosterior.derived", _derived(table), derived)
    yield Site("GroupedPosterior.overall", groups.overall, {"weights": [1.0, 2.0]})


def _derived(table: Any) -> Any:
    def derived(labels: Any, subject: Any) -> Any:
        return table.derived(lambda P: P[:, 0, 0] + P[:, 1, 1], labels, subject)

    return derived
