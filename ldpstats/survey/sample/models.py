"""Weighted analyses of a survey whose sample has a design."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ldpstats.arguments.checks import boolean
from ldpstats.errors import IncompleteListWarning, InvalidArgument
from ldpstats.inference.designs.estimation import degrees_of_freedom
from ldpstats.models.association.variables import per_variable, prepared
from ldpstats.models.weighted.model import WeightedModel
from ldpstats.models.weighted.record import SampleFacts
from ldpstats.models.weighted.table_model import CrossedVariable, WeightedCrossing
from ldpstats.survey.coded import Coded
from ldpstats.survey.grouping import grouped_rows
from ldpstats.survey.held import Held
from ldpstats.survey.sample.cells import Weighed, weigh
from ldpstats.survey.sample.design import SampleDesign

__all__ = [
    "refuse_uncrossed",
    "refuse_unweighted",
    "sample_facts",
    "weighted_crossing",
    "weighted_model",
]


def weighted_model(
    held: Held,
    design: SampleDesign,
    name: str,
    by: Sequence[object],
    candidates: Any = None,
    incomplete: object = False,
) -> WeightedModel:
    """One question in a complex sample, in all or in the domains that public columns make."""
    by = [str.__str__(column) if isinstance(column, str) else column for column in by]
    names = [column for column in by if isinstance(column, str)]
    for column in names:
        if column != name:
            held.refuse_private(column)
    weighed = weigh(held, design, [name, *names])
    cells, inside = weighed.cells, weighed.inside
    domain, labels = np.where(inside, 0, -1), [()]
    if by:
        found, rows, _ = grouped_rows(cells, by, name)
        domain[:] = -1
        labels = []
        for label, own in zip(found, rows, strict=True):
            if inside[own].any():
                domain[own[inside[own]]] = len(labels)
                labels.append(label if isinstance(label, tuple) else (label,))
    coded = cells.coded(name)
    if boolean("incomplete", incomplete) and not coded.reports.mechanism.is_open:
        remedy = f"is for candidates over an open alphabet: {coded.reports.mechanism} knows all"
        raise InvalidArgument("incomplete", incomplete, remedy)
    if not np.any(coded.present & inside):
        raise InvalidArgument("name", name, f"nobody of {len(held)} answered this question")
    return WeightedModel(
        weighed.sample,
        sample_facts(weighed, design),
        coded.reports,
        np.where(inside, coded.at, -1),
        domain,
        tuple(names),
        tuple(labels),
        name,
        candidates,
        boolean("incomplete", incomplete),
    )


def weighted_crossing(
    held: Held,
    design: SampleDesign,
    names: Sequence[str],
    candidates: Any = None,
    other: Any = False,
) -> WeightedCrossing:
    """Two questions in a complex sample."""
    if len(names) != 2:
        remedy = "must be two questions: with weights there are tables of two variables only"
        raise InvalidArgument("names", tuple(names), remedy)
    listed = per_variable("candidates", candidates, names)
    others = per_variable("other", other, names, scalar=True)
    weighed = weigh(held, design, names)
    first, second = (
        _crossed(name, weighed.cells.coded(name), own, rest)
        for name, own, rest in zip(names, listed, others, strict=True)
    )
    facts = sample_facts(weighed, design)
    return WeightedCrossing(weighed.sample, facts, (first, second), weighed.inside)


def refuse_unweighted(how: Mapping[str, Any]) -> None:
    """Refuse what is not known of a complex sample."""
    asked = how.get("cov_type", "default")
    if not (isinstance(asked, str) and str.__str__(asked) == "default"):
        remedy = "leave it out: with weights the covariance is that of the design"
        raise InvalidArgument("cov_type", asked, remedy)


def _crossed(name: str, coded: Coded, candidates: Any, other: Any) -> CrossedVariable:
    """A question of a table, its categories lumped where that is asked for."""
    if coded.reports.mechanism.is_open:
        if other is not False and other is not None:
            remedy = f"leave it out: with weights the list of {name} is taken to be complete"
            raise InvalidArgument("other", other, remedy)
        return CrossedVariable(name, coded.reports, coded.at, candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IncompleteListWarning)  # which is refused below
        (reports,), spec = prepared([coded.reports], candidates, other, name)
    if not spec.complete:
        remedy = f"must be True for {name}: with weights a table is of all answers"
        raise InvalidArgument("other", other, remedy)
    return CrossedVariable(name, reports, coded.at)


def refuse_uncrossed(how: Mapping[str, Any]) -> None:
    """Refuse options that weighted tables do not have."""
    known = {"method": ("inversion",), "cov_type": ("default", "linear")}
    for name, value in how.items():
        usual = isinstance(value, str) and str.__str__(value) in known.get(name, ())
        if value is not None and value is not False and not usual:
            remedy = "leave it out: with weights a table is estimated by 'inversion' only"
            raise InvalidArgument(name, value, remedy)


def sample_facts(weighed: Weighed, design: SampleDesign) -> SampleFacts:
    """The sample in words and numbers."""
    sample, inside = weighed.sample, weighed.inside
    n, w = float(sample.n[inside].sum()), float(sample.w[inside].sum())
    first = sample.stages[0]
    variance = "linearisation" if sample.replication is None else str(design.replicates)
    return SampleFacts(
        design=design.in_words,
        variance=variance + ", calibrated" * (sample.calibration is not None),
        n_strata=len(first.sampled),
        n_units=0 if design.has_columns_of_replicates else int(first.sampled.sum()),
        nobs=int(n),
        weight_sum=w,
        spread=n * float(sample.w2[inside].sum()) / w**2,
        df=degrees_of_freedom(sample, inside),
        calibrated=sample.calibration is not None,
    )
