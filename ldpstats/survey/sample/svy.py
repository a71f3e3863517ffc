"""A survey for the package svy: unbiased indicators of the true answers beside the design."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.given_replicates import GivenWeights
from ldpstats.inference.designs.sample import Sample
from ldpstats.mechanisms import PUM
from ldpstats.problems.decoding import decode
from ldpstats.survey.held import Held
from ldpstats.survey.sample.cells import weigh, whole_of
from ldpstats.survey.sample.design import SampleDesign

__all__ = ["svy_sample"]

Array = npt.NDArray[Any]

_REPLICATE = "replicate_"
_SINGLE = {"fail": None, "centered": "center", "average": "scale"}


def svy_sample(held: Held, design: SampleDesign | None, names: Sequence[str]) -> Any:
    """The rows as a `svy.Sample`, with indicators of the questions `names`."""
    try:
        import polars
        import svy
    except ImportError:
        remedy = "is not installed: python -m pip install 'ldpstats[svy]'"
        raise NotAvailable(f"to_svy: the package svy {remedy}") from None
    design = _exportable(held, design)
    sample = weigh(held, design, []).sample  # refuses weights and units that cannot be
    columns = _open(held)
    for column, values in (*_indicators(held, names), *_replicates(sample)):
        if column in columns:
            raise InvalidArgument("names", names, f"the table has a column {column!r} already")
        columns[column] = values
    how = {
        "wgt": design.weights,
        "stratum": design.strata[0] if design.strata else None,
        "psu": design.clusters[0] if design.clusters else None,
        "singleton": _SINGLE[design.single_unit],
    }
    given = sample.replication
    if isinstance(given, GivenWeights):  # whose kind is in the scale alone
        df = given.degrees_of_freedom(sample, np.full(sample.w.shape, True))
        scale = given.scale.tolist()
        how["rep_wgts"] = svy.BootstrapWgts(
            prefix=_REPLICATE, n_reps=len(scale), scale=scale, df=df
        )
    return svy.Sample(polars.from_pandas(pd.DataFrame(columns)), svy.Design(**how))


def _exportable(held: Held, design: SampleDesign | None) -> SampleDesign:
    """The design; refuse what svy would make other variances of."""
    if design is None:
        raise NotAvailable("to_svy of a survey without a design: name its weights=")
    if not held.ordered:
        raise NotAvailable("to_svy: rows of this table have no order: read it into memory")
    if whole_of(held) is not held:
        raise NotAvailable("to_svy of some rows: take the whole survey, and where= of svy")
    if design.fpc:
        raise NotAvailable(
            "to_svy of a survey with fpc=: svy would shrink the variance of the randomisation with "
            "that of the sample: leave fpc= out, or estimate here"
        )
    if design.single_unit not in _SINGLE:
        raise NotAvailable(
            "to_svy of a survey with single_unit='certainty': svy would leave out the variance of "
            "the randomisation in such units: choose 'average' or 'centered', or estimate here"
        )
    if design.changes:
        raise NotAvailable(
            "to_svy of a survey with calibrated or trimmed weights: svy would take them for those "
            "of the design: export the survey before, and calibrate with svy"
        )
    if design.replicates is not None and not design.has_columns_of_replicates:
        raise NotAvailable("to_svy of a survey with replicates of its own: svy makes others")
    return design


def _open(held: Held) -> dict[str, Any]:
    """The columns without noise."""
    columns = {}
    for name in [*held.public_columns, *held.questionnaire.observed]:
        found = held.public(name)
        columns[name] = pd.Series(found.values).reindex(found.codes).to_numpy()
    return columns


def _replicates(sample: Sample) -> Iterator[tuple[str, Array]]:
    """Columns of replicate weights, where they are given."""
    given = sample.replication
    if isinstance(given, GivenWeights):
        for number, weights in enumerate(given.weights.T, 1):
            yield f"{_REPLICATE}{number}", weights


def _indicators(held: Held, names: Sequence[str]) -> Iterator[tuple[str, Array]]:
    """For each category of a question a column that is unbiased for whether it is the answer."""
    for name in names:
        coded = held.coded(name)
        mechanism = coded.reports.mechanism
        pum = name in held.questionnaire and isinstance(held.questionnaire[name], PUM)
        if pum or mechanism.n_cohorts or mechanism.is_open or not mechanism.is_separable:
            remedy = "single reports do not tell its categories: estimate here"
            raise NotAvailable(f"to_svy of {name!r}: {remedy}")
        decoded = decode(coded.reports)
        places = np.append(decoded.place, len(decoded.phi))[coded.at]
        phi = np.vstack([decoded.phi, np.full(decoded.k, np.nan)])[places]  # nan: no report
        for label, column in zip(mechanism.labels(None), phi.T, strict=True):
            yield f"{name}_{label}", column
