"""Regressions on a survey: what they need of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms import PUM
from ldpstats.models.dictionary.survey import DictionarySurvey
from ldpstats.models.regression.formulas.design import Design
from ldpstats.models.regression.formulas.request import Extras, Given, Request
from ldpstats.survey.coded import Coded
from ldpstats.survey.columns import Column
from ldpstats.survey.held import Held
from ldpstats.survey.rows import SurveyRows
from ldpstats.survey.sample.cells import weigh
from ldpstats.survey.sample.models import sample_facts
from ldpstats.survey.tallying import refuse_kept

__all__ = ["survey_design"]

Mask = npt.NDArray[np.bool_]


def survey_design(
    survey: SurveyRows,
    formula: object,
    model: object = None,
    marginal: object = None,
    scores: object = None,
    offset: object = None,
    candidates: object = None,
    memoised: object = None,
    unsafe: object = False,
    outside: Mapping[str, Any] | None = None,
) -> Design:
    """The arrays of a regression on a survey.

    Rows are respondents; of a table on an engine with a design they are the distinct combinations
    of what the formula and the design need, with the number of respondents of each.

    Parameters
    ----------
    survey : SurveyRows
    formula, model, marginal, scores, offset, candidates, memoised, unsafe
        As for `Survey.regression`.
    outside : mapping, optional
        Other names that the formula may use.
    """
    held, sheet = survey.data, survey.questionnaire
    public = [name for name in held.public_columns if name not in sheet]
    asked = Request.of(
        formula, sheet.questions, public, outside or {}, model, marginal, scores, candidates, unsafe
    )
    for name in asked.questions:
        _refuse_kind(name, sheet[name])
    refuse_kept(held, asked.questions, memoised, "regression")
    beside = [] if offset is None else [_offset_name(held, offset)]
    names = [*asked.questions, *asked.columns, *beside]
    if survey.design is None:
        rows = held.read(names)
        extras = Extras()
    else:
        weighed = weigh(held, survey.design, names)
        rows, sample, design = weighed.cells, weighed.sample, survey.design
        alone = bool((sample.n == 1.0).all())
        extras = Extras(
            weights=sample.w / sample.n,
            counts=None if alone else sample.n,
            inside=weighed.inside,
            sample=sample,
            facts=lambda used: sample_facts(replace(weighed, inside=used), design),
        )
    rows.prepare(names)
    if beside:
        extras = replace(extras, offset=rows.numbers("offset", beside[0]))
    frame = pd.DataFrame(
        {name: _values(rows.unasked(name)) for name in asked.columns}, index=rows.index
    )
    given = {name: _given(rows.coded(name)) for name in asked.questions}
    return asked.design(frame, given, extras)


def _refuse_kind(name: str, made_by: Any) -> None:
    """Refuse questions whose answers are not those of one closed or listed set."""
    if isinstance(made_by, PUM):
        remedy = f"its categories differ by respondent; survey.personalized({name!r}) has them"
        raise NotAvailable(f"regression with {name!r}: it is a PUM question; {remedy}")
    if isinstance(made_by, DictionarySurvey):
        remedy = f"find them by survey.dictionary({name!r}), and ask a question about these"
        raise NotAvailable(f"regression with {name!r}: nobody listed its answers; {remedy}")


def _offset_name(held: Held, offset: object) -> str:
    """The public column of an offset."""
    if not isinstance(offset, str):
        raise InvalidArgument("offset", offset, "must be the name of a public column of numbers")
    name = str.__str__(offset)
    held.refuse_private(name)
    return name


def _given(coded: Coded) -> Given:
    """Reports of a question, by rows."""
    return Given(
        (coded.reports.mechanism,), coded.present, lambda rows: [coded.taken(rows).reports]
    )


def _values(column: Column) -> Any:
    """A public column as formula engines know it, (n,): missing numbers NaN, others None."""
    codes, values, missing = column.codes, column.values, column.missing
    if column.ordered is not None and column.kind != "empty":
        labels: Any = values.tolist() if column.kind != "date" else values
        return pd.Categorical.from_codes(codes, categories=labels, ordered=column.ordered)
    if column.kind == "number":
        whole = values.dtype == object and not missing.any()
        numbers = values.astype(np.int64 if whole else np.float64)
        return numbers[codes] if not missing.any() else np.append(numbers, np.nan)[codes]
    if column.kind == "date":
        return np.append(values, np.datetime64("NaT"))[codes]
    if column.kind == "boolean" and not missing.any():
        return values.astype(bool)[codes]
    return np.append(values.astype(object), [None])[codes]
