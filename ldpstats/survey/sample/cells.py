"""Weighted cells of a survey: what a complex sample is to all analyses."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.engines.weighted import LEAST_WEIGHT, MOST_WEIGHT, faults
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable
from ldpstats.inference.designs.sample import Sample, Stage
from ldpstats.models.shared.spelling import count_of
from ldpstats.survey.held import Held, Selected
from ldpstats.survey.remote import Part, Remote
from ldpstats.survey.sample.changes import adjusted
from ldpstats.survey.sample.design import SampleDesign
from ldpstats.survey.sample.stages import refuse_rows, stages_of

__all__ = ["Weighed", "weigh", "whole_of"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_POSITIVE = (
    f"must be a positive number, from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}: correct it, or leave "
    "out who was not in the sample"
)
_ZERO = (
    "must be a positive number: a domain is selected by where(...), which keeps the design; leave "
    "out who was not in the sample"
)
_FAR = 5.0  # times the sum of the weights: replicates are of another kind, as in R
_NOT_NEGATIVE = f"must be a number from 0 to {MOST_WEIGHT:g}: correct it"


@dataclass(frozen=True, eq=False)
class Weighed:
    """Respondents of a complex sample, or cells of them that are alike.

    Attributes
    ----------
    cells : Held
        c rows, or distinct combinations, of the columns that were asked for.
    sample : Sample
        Of the same c cells. Its stages are those of the whole sample: units and strata without a
        cell here are counted in them.
    inside : array of bool, shape (c,)
        Which cells are of the domain. All are, but for calibrated weights, for which cells are
        those of the whole sample.
    sums : array, shape (c, R), or None
        Those of the columns of replicate weights.
    """

    cells: Held
    sample: Sample
    inside: Mask
    sums: Array | None = None


def weigh(
    data: Held, design: SampleDesign, names: Sequence[str], margins: Sequence[str] = ()
) -> Weighed:
    """The cells of a survey's rows, a domain of a sample perhaps, and the design of the sample.

    Rows are cells in memory; on an engine one grouped query makes them. Sums of weights from an
    engine agree with those in memory to a relative 1e-12, as engines add in an order of their own.

    Parameters
    ----------
    data : Held
        The rows of the survey; the sample is the table that they were selected from.
    design : SampleDesign
    names : sequence of str
        Questions and public columns that the analysis needs.
    margins : sequence of str
        Columns to which weights are calibrated: cells are then those of the whole sample.

    Raises
    ------
    InvalidArgument
        For weights that are not positive finite numbers, missing or repeated labels of strata and
        units, and impossible corrections for finite populations.
    """
    whole = whole_of(data)
    changes = design.changes
    own = design.change_columns
    needed = list(dict.fromkeys([*design.keys, *names, *margins, *own]))
    if isinstance(whole, Remote):
        found = _asked(whole, data, design, needed)
    else:
        found = _rows(whole, data, design, needed)
    stages = stages_of(found.cells, found.n, design)
    made = found.weighed(stages, design.single_unit)
    if made.sums is not None:
        _warn_of_size(made.sums, made.sample.w, design.factors)
    made = _replicated(made if margins or changes else _within(made), design)
    if not changes:
        return made
    return replace(made, sample=adjusted(made.cells, made.sample, changes).sample)


def whole_of(data: Held) -> Held:
    """The sample that some rows were selected from."""
    if isinstance(data, Remote):
        return replace(data, query=data.all_rows)
    if isinstance(data, Selected):
        return whole_of(data.whole)
    if isinstance(data, Part) and data.whole.query is not data.whole.all_rows:
        raise NotAvailable(
            "these rows were chosen by a mask after where(), so that the rest of the sample is not "
            "known: choose them by where(condition) alone"
        )
    return data


@dataclass(frozen=True, eq=False)
class _Found:
    """Cells of the whole sample, each of `n` respondents; of one, a row, where `n` is None.

    `sums` are those of all columns of weights in a cell, and `squares` of the first.
    """

    cells: Held
    n: Array | None
    inside: Mask
    sums: list[Array]
    squares: Array | None

    def weighed(self, stages: tuple[Stage, ...], single_unit: str) -> Weighed:
        """The same with the stages of the sample; without weights those that follow from them."""
        n = np.ones(len(self.cells)) if self.n is None else self.n.astype(float)
        if self.squares is None:
            each = np.prod([1.0 / stage.fraction[stage.cell_strata] for stage in stages], axis=0)
            sample = Sample(stages, n, n * each, n * each**2, single_unit)
            return Weighed(self.cells, sample, self.inside)
        sample = Sample(stages, n, self.sums[0], self.squares, single_unit)
        more = np.stack(self.sums[1:], axis=1) if len(self.sums) > 1 else None
        return Weighed(self.cells, sample, self.inside, more)


def _rows(whole: Held, data: Held, design: SampleDesign, names: Sequence[str]) -> _Found:
    """Each row of a table in memory."""
    whole.prepare([*names, *design.summed])
    sums = [whole.numbers(design.argument(name), name) for name in design.summed]
    for name, values in zip(design.summed, sums, strict=True):
        _refuse_missing(name, values, design, whole.missing_codes(name))
        _refuse_values(name, values, design)
    if design.factors:
        sums = [sums[0], *(sums[0] * factor for factor in sums[1:])]
    inside = np.full(len(whole), False)
    inside[_positions(data, whole)] = True
    return _Found(whole, None, inside, sums, sums[0] ** 2 if sums else None)


def _positions(data: Held, whole: Held) -> Array | slice:
    """Where rows stand in the whole that they were selected from."""
    if data is whole:
        return slice(None)
    assert isinstance(data, Selected)
    at = _positions(data.whole, whole)
    return data.rows if isinstance(at, slice) else at[data.rows]


def _refuse_missing(name: str, values: Array, design: SampleDesign, na: tuple[str, ...]) -> None:
    """Refuse weights that may be missing because `na` says so, and say so."""
    if na:
        remedy = f"is missing: na={[*na]!r} makes these codes missing in this column too; give the "
        remedy += "codes of some columns only, na={'COLUMN': [CODE]}, or leave such rows out"
        refuse_rows(design.argument(name), name, np.isnan(values), None, remedy, None)


def _refuse_values(name: str, values: Array, design: SampleDesign) -> None:
    """Refuse weights that are not positive and finite; those of replicates may be zero."""
    own = name == design.weights
    bad = ~((values >= 0) & (values <= MOST_WEIGHT))
    argument = design.argument(name)
    refuse_rows(argument, name, bad, values, _POSITIVE if own else _NOT_NEGATIVE, None)
    if own:
        refuse_rows(argument, name, values == 0, values, _ZERO, None)
        refuse_rows(argument, name, values < LEAST_WEIGHT, values, _POSITIVE, None)


def _asked(whole: Remote, data: Held, design: SampleDesign, names: Sequence[str]) -> _Found:
    """Combinations of columns in a table of an engine, which adds the weights up."""
    assert isinstance(data, Remote)
    cells, sums = whole.weighted(names, design.summed, data, design.factors)
    columns = {name: sums.column(name).to_numpy() for name in sums.column_names}
    if design.summed and columns["bad"].any():
        _explain(whole, design)
    return _Found(
        cells,
        columns["n"],
        columns["inside"].astype(bool),
        [columns[f"w{i}"] for i in range(len(design.summed))],
        columns.get("w0w0"),
    )


def _explain(whole: Remote, design: SampleDesign) -> None:
    """Refuse weights of an engine's table, by another query that finds what is wrong with them."""
    for name in design.summed:
        own = name == design.weights
        tests = faults(name, own)
        times = whole.query.counts(tests)
        for what in filter(times.get, tests):
            value = whole.query.filtered(tests[what]).one(name)
            remedy = _ZERO if what == "zero" else _POSITIVE if own else _NOT_NEGATIVE
            first, colon, rest = remedy.partition(":")
            words = f"{first} (in {count_of(times[what], 'row')}){colon}{rest}"
            raise InvalidArgument(f"{design.argument(name)} {name!r}", value, words)


def _within(made: Weighed) -> Weighed:
    """The cells inside the domain, with all units of the sample."""
    if made.inside.all():
        return made
    at = np.flatnonzero(made.inside)
    sample = made.sample
    stages = tuple(
        replace(stage, strata=stage.strata[at])
        if stage.unit is None
        else replace(stage, unit=stage.unit[at])
        for stage in sample.stages
    )
    return Weighed(
        made.cells.some(at),
        replace(sample, stages=stages, n=sample.n[at], w=sample.w[at], w2=sample.w2[at]),
        made.inside[at],
        None if made.sums is None else made.sums[at],
    )


def _replicated(made: Weighed, design: SampleDesign) -> Weighed:
    """The same with replicates, if the design has some."""
    if design.replicates is None:
        return made
    replication = design.replicates.replication(made.sample, made.sums)
    return replace(made, sample=replace(made.sample, replication=replication))


def _warn_of_size(sums: Array, w: Array, factors: bool) -> None:
    """Warn if replicates, (c, R), are weights taken for factors, or factors taken for weights."""
    size = float(sums.mean(axis=1).sum() / w.sum())
    if 1.0 / _FAR < size < _FAR:
        return
    if factors and size > 1.0:
        words = "look like weights, not like factors: leave combined=False out"
    elif not factors and size < 1.0:
        words = "look like factors, not like weights: pass combined=False"
    else:
        words = "do not stand for the same population: check the columns"
    warnings.warn(
        f"replicate_weights: on average they sum to {size:.3g} times what the weights sum to, and "
        f"{words}",
        LDPWarning,
        stacklevel=2,
    )
