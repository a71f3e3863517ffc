"""A survey for the package svy: unbiased indicators of the true answers beside the design."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.problems.decoding import decode
from ldpstats.survey.columns import Column
from ldpstats.survey.design import SampleDesign
from ldpstats.survey.held import Held

__all__ = ["svy_sample"]

Array = npt.NDArray[Any]

_SINGLE = {"fail": None, "certainty": "skip", "centered": "center", "average": "scale"}


def svy_sample(held: Held, design: SampleDesign, names: Sequence[str]) -> Any:
    """The rows as a `svy.Sample`, with indicators of the questions `names`."""
    try:
        import polars
        import svy
    except ImportError:
        remedy = "python -m pip install 'ldpstats[svy]'"
        raise NotAvailable(f"to_svy needs the package svy: {remedy}") from None
    if design.fpc:
        raise NotAvailable(
            "to_svy of a survey with fpc=: svy would shrink the variance of the randomisation with "
            "that of the sample: leave fpc= out, or estimate here"
        )
    columns = {name: _values(held.public(name)) for name in _open(held)}
    for name in names:
        for column, indicator in _indicators(held, name):
            if column in columns:
                raise InvalidArgument("names", name, f"its column {column!r} is in the table")
            columns[column] = indicator
    how = svy.Design(
        wgt=design.weights,
        stratum=design.strata[0] if design.strata else None,
        psu=design.clusters[0] if design.clusters else None,
        singleton=_SINGLE[design.single_unit],
    )
    return svy.Sample(polars.DataFrame(columns), how)


def _open(held: Held) -> list[str]:
    """Columns without noise."""
    return [*held.public_columns, *held.questionnaire.observed]


def _values(column: Column) -> list[Any]:
    """The cells of a column, None where it is missing."""
    values = [*column.values.tolist(), None]
    return [values[code] for code in column.codes]


def _indicators(held: Held, name: str) -> Iterator[tuple[str, Array]]:
    """For each category of a question a column that is unbiased for whether it is the answer."""
    coded = held.coded(name)
    decoded = decode(coded.reports)
    if not decoded.is_fixed:
        remedy = "it has cohorts, of which one alone does not tell the answer: estimate here"
        raise NotAvailable(f"indicators of {name!r}: {remedy}")
    places = np.append(decoded.place, -1)[coded.at]
    table = np.vstack([decoded.phi, np.full(decoded.k, np.nan)])  # at -1: no report
    for label, column in zip(coded.reports.mechanism.labels(None), table[places].T, strict=True):
        yield f"{name}_{label}", column
