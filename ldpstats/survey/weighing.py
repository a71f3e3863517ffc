"""Weighted cells of a survey: what a complex sample is to all analyses.

`weigh` makes them: rows are cells in memory; on an engine one grouped query makes them, whose sums
agree to a relative 1e-12, as engines add in an order of their own. Cells are those of a domain, or
of the whole sample where weights are calibrated; units and strata are always those of the whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, did_you_mean, listed, one_of, real_number, record
from ldpstats.engines.query import LEAST_WEIGHT, MOST_WEIGHT, bad_weight
from ldpstats.errors import (
    IncompleteListWarning,
    InvalidArgument,
    LDPWarning,
    MechanismMismatch,
    NotAvailable,
    UnknownCategory,
)
from ldpstats.inference.designs.calibration import (
    Distance,
    Linear,
    Logit,
    Margins,
    Raking,
    Step,
    calibrate,
    calibrated_sample,
)
from ldpstats.inference.designs.calibration import trimmed as cut_weights
from ldpstats.inference.designs.linearisation import Sample, degrees_of_freedom
from ldpstats.inference.designs.replicates import GivenWeights
from ldpstats.labels import Codes, Mask, matched
from ldpstats.likelihood.joint import decode
from ldpstats.mechanisms import PUM
from ldpstats.mechanisms.base import joint_epsilon
from ldpstats.models.association.groups import per_variable, prepared, variable_names
from ldpstats.models.cells import CellData
from ldpstats.models.layout import count_of
from ldpstats.models.regression.formulas import names_of, one_sided
from ldpstats.models.weighted.base import SampleFacts
from ldpstats.models.weighted.calibration import WeightStep, weight_step
from ldpstats.models.weighted.model import WeightedModel, WeightedVariable
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.models.weighted.tables import WeightedTable
from ldpstats.survey.analyses import combined, grouped_rows, refuse_kept
from ldpstats.survey.data import Held, OnEngine
from ldpstats.survey.design import SampleDesign, positive, refuse_rows, stages_of
from ldpstats.survey.questions import maker_of
from ldpstats.survey.tables import Table

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


@record
class Weighed:
    """Respondents of a complex sample, or cells of them that are alike."""

    cells: Held  # c rows, or distinct combinations, of the columns that were asked for
    sample: Sample  # of these cells; its stages have all units and strata of the whole sample
    inside: Mask  # (c,), cells of the domain; all, unless calibration needs the whole sample


def weigh(
    data: Held, design: SampleDesign, names: Sequence[str], everybody: bool = False
) -> Weighed:
    """The cells of a survey's rows for some columns, and the design of the sample they are of.

    Cells are those of the domain alone, unless weights change or cells of `everybody` are needed.
    """
    whole, rows = whole_of(data)
    changes, summed = design.changes, design.summed
    keys = filter(None, chain.from_iterable(design.stages))
    changed = chain.from_iterable(map(attrgetter("columns"), changes))
    needed = list(dict.fromkeys([*keys, *names, *changed]))
    cells: Held
    n: Array | None = None  # respondents of each cell, (c,); None: a row each
    if whole.remote:
        cells, sums = whole.weighted(needed, list(summed), data, design.factors)
        columns = {name: sums.column(name).to_numpy() for name in sums.column_names}
        if summed and columns["bad"].any():  # another query finds what is wrong
            for name, argument in summed.items():
                own = argument == "weights"
                bad = whole.query.filtered(bad_weight(name, own))
                if len(bad):
                    value, size = bad.one(name), count_of(len(bad), "row")
                    remedy = _ZERO if value == 0 else _POSITIVE if own else _NOT_NEGATIVE
                    first, colon, rest = remedy.partition(":")
                    words = f"{first} (in {size}){colon}{rest}"
                    raise InvalidArgument(f"{argument} {name!r}", value, words)
        n, inside = columns["n"], columns["inside"].astype(bool)
        weights = [columns[f"w{i}"] for i in range(len(summed))]
        squares = columns.get("w0w0")
    else:
        cells, weights = whole, []
        cells.table.prepare([*needed, *summed])
        for name, argument in summed.items():
            values = cells.numbers(argument, name)
            if na := Table.missing_codes(cells.table, name):  # as they were given
                remedy = f"is missing: na={[*na]!r} makes these codes missing in this column too; "
                remedy += "give the codes of some columns only, na={'COLUMN': [CODE]}, or leave "
                refuse_rows(argument, name, np.isnan(values), None, f"{remedy}such rows out", None)
            _refuse_weights(argument, name, values)
            weights.append(weights[0] * values if weights and design.factors else values)
        inside = np.full(len(cells), False)
        inside[rows] = True
        squares = weights[0] ** 2 if weights else None
    stages = stages_of(cells, n, design)
    number = np.ones(len(cells)) if n is None else n.astype(float)
    if squares is None:  # weights follow from the corrections of all stages
        each = np.prod([1.0 / stage.fraction[stage.cell_strata] for stage in stages], axis=0)
        weights, squares = [number * each], number * each**2
    sample = Sample(stages, number, weights[0], squares, design.single_unit)
    of_replicates = np.stack(weights[1:], axis=1) if len(weights) > 1 else None
    if of_replicates is not None:
        _warn_of_size(of_replicates, sample.w, design.factors)
    if not (everybody or changes or inside.all()):  # with all units of the sample
        at = np.flatnonzero(inside)
        stages = tuple(
            replace(stage, strata=stage.strata[at])
            if stage.unit is None
            else replace(stage, unit=stage.unit[at])
            for stage in stages
        )
        sample = replace(sample, stages=stages, n=number[at], w=sample.w[at], w2=sample.w2[at])
        cells, inside = cells.taken(at), inside[at]
        of_replicates = None if of_replicates is None else of_replicates[at]
    if design.replicates is not None:
        replication = design.replicates.replication(sample, of_replicates)
        sample = replace(sample, replication=replication)
    if changes:
        sample = adjusted(cells, sample, changes).sample
    return Weighed(cells, sample, inside)


def _refuse_weights(argument: str, name: str, values: Array) -> None:
    """Refuse weights, (n,), that are not positive and finite; those of replicates may be zero."""
    bad = ~((values >= 0) & (values <= MOST_WEIGHT))
    if argument != "weights":
        refuse_rows(argument, name, bad, values, _NOT_NEGATIVE, None)
        return
    refuse_rows(argument, name, bad, values, _POSITIVE, None)
    refuse_rows(argument, name, values == 0, values, _ZERO, None)
    refuse_rows(argument, name, values < LEAST_WEIGHT, values, _POSITIVE, None)


def whole_of(data: Held) -> tuple[Held, Array | slice]:
    """The sample that some rows were selected from, and where they stand in it."""
    if data.remote:
        return data.on(data.query.whole()), slice(None)
    if isinstance(data.table, OnEngine) and data.table.frame.filters:
        raise NotAvailable(
            "these rows were chosen by a mask after where(), so that the rest of the sample is not "
            "known: choose them by where(condition) alone"
        )
    return (data, slice(None)) if data.rows is None else (replace(data, rows=None), data.rows)


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


# -- Changes of the weights of a survey: calibration to population totals, and trimming -----------


_METHODS: dict[str, type[Distance]] = {"raking": Raking, "linear": Linear, "logit": Logit}
_BOUNDS = "must be a pair (low, high) of what weights may be multiplied by, None where open"


@dataclass(frozen=True)
class Trimming:
    """Weights outside of bounds are cut; this is made anew in every analysis."""

    columns: tuple[str]  # of the weights: on an engine respondents are told apart by it
    lower: float
    upper: float
    strict: bool

    def __str__(self) -> str:
        return f"trimmed to {self.lower:g} to {self.upper:g}"


@dataclass(frozen=True)
class Calibration:
    """Weights that reproduce population totals; this is made anew in every analysis."""

    given: tuple[Margin, ...] = field(repr=False)
    distance: Distance = field(default_factory=Raking)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs, beside the weights."""
        return tuple(dict.fromkeys(name for margin in self.given for name in margin.columns))

    def __str__(self) -> str:
        return f"calibrated to {', '.join(margin.name for margin in self.given)}"


WeightChange = Trimming | Calibration


@record
class Adjusted:
    """A sample with changed weights, and what was done."""

    sample: Sample
    factors: Array  # of the weights of cells by the last change, (c,)
    step: Step | None = None  # the last calibration


def adjusted(cells: Held, sample: Sample, changes: Sequence[WeightChange]) -> Adjusted:
    """Change the weights of a whole sample, whose cells the rows of a table are."""
    # those that trimming leaves are the weights of the design from there on
    factors = np.ones(len(sample.n))
    for change in changes:
        if isinstance(change, Trimming):
            one = sample.w / sample.n
            if np.any(np.abs(sample.w2 - sample.w * one) > 1e-9 * sample.w2):
                raise NotAvailable(
                    "trim: cells of this table hold respondents of several weights: read it into "
                    "memory, or trim the column of weights before"
                )
            factors = cut_weights(one, sample.n, change.lower, change.upper, change.strict) / one
            sample = sample.times(factors)
    asked = [change for change in changes if isinstance(change, Calibration)]
    if not asked:
        return Adjusted(sample, factors)
    crossed = margin_cells(cells, [one for change in asked for one in change.given], sample.n)
    weights = np.bincount(crossed.at, sample.w)
    steps = []
    for change in asked:
        steps.append(calibrate(weights, crossed.margins(change.given), change.distance))
        weights = weights * steps[-1].factors
    made = calibrated_sample(sample, crossed.at, steps)
    return Adjusted(made, steps[-1].factors[crossed.at], steps[-1])


# -- Population totals of public columns, as people give them and as calibration needs them -------


Category = tuple[Any, ...]  # a value of each column of a margin

_MARGINS = (
    "must map public columns, or tuples of them, to population totals of their categories, such as "
    "{'sex': {'f': 5200, 'm': 4800}}"
)
_LABELS = "calibrate to text, booleans, categories or whole numbers; make bands of it first"
_SHARES = 1e-6  # how far from one a sum of shares may be
_SHOWN = 5  # categories that an error names


@dataclass(frozen=True)
class Margin:
    """Population totals of the categories of some columns, crossed where there are several."""

    columns: tuple[str, ...]
    totals: Mapping[Category, float]
    argument: str = "margins"  # that it was given as

    @property
    def name(self) -> str:
        """The columns, in words."""
        return " x ".join(self.columns)


def worded(category: Category) -> str:
    """A category, crossed perhaps, in words."""
    return " x ".join(str(value) for value in category)


@record
class MarginCells:
    """Distinct combinations of the columns of margins, and who is in each."""

    columns: tuple[str, ...]
    values: tuple[Array, ...]  # (M,), of each column, by combination
    at: Codes  # the combination of each cell of the sample, (c,)

    def categories(self, columns: Sequence[str]) -> list[Category]:
        """The category of each combination in the margin of some columns."""
        own = [self.values[self.columns.index(name)].tolist() for name in columns]
        return list(zip(*own, strict=True))

    def margins(self, given: Sequence[Margin]) -> Margins:
        """Margins as arrays."""
        codes = []
        for margin in given:
            place = {category: j for j, category in enumerate(margin.totals)}
            codes.append([place[category] for category in self.categories(margin.columns)])
        return Margins(
            np.array(codes, dtype=np.int64).T.reshape(-1, len(given)),
            tuple(np.array(list(margin.totals.values())) for margin in given),
            tuple(margin.name for margin in given),
            tuple([worded(category) for category in margin.totals] for margin in given),
        )


def margin_cells(held: Held, given: Sequence[Margin], n: Array) -> MarginCells:
    """Distinct combinations of the columns of margins; `n`, (c,): respondents of each row."""
    arguments = {name: margin.argument for margin in given for name in margin.columns}
    held.table.prepare(arguments)
    columns = []
    for name, argument in arguments.items():
        column = held.public(name).categories(_LABELS)
        if column.missing.any():
            times = count_of(int(n[column.missing].sum()), "respondent")
            remedy = f"is missing for {times}, whom no total counts: impute it, or make a category "
            remedy += "of them and give its total"
            raise InvalidArgument(argument, name, remedy)
        columns.append(column)
    at = combined(columns)
    some = np.empty(int(at.max()) + 1, dtype=np.int64)  # a row of each combination
    some[at] = np.arange(len(at))
    values = tuple(column.values[column.codes[some]] for column in columns)
    return MarginCells(tuple(arguments), values, at)


def given_margins(
    held: Held, given: object, total: object, argument: str = "margins"
) -> list[Margin]:
    """What a user gave as margins, with columns that are there; categories not yet matched."""
    if not isinstance(given, Mapping) or not given:
        raise InvalidArgument(argument, given, _MARGINS)
    margins = []
    for name in given:
        columns = _columns(held, name, argument)
        totals = dict(_totals(f"{argument}[{name!r}]", columns, given[name]))
        margins.append(Margin(columns, totals, argument))
    names = [frozenset(margin.columns) for margin in margins]
    if len(set(names)) < len(names):
        raise InvalidArgument(argument, list(given), "hold the same columns twice")
    sums = [sum(margin.totals.values()) for margin in margins]
    are_shares = all(abs(one - 1.0) <= _SHARES for one in sums)
    if total is None:
        if are_shares:
            argument = margins[0].argument
            remedy = "add up to one: multiply shares by the size of the population"
            if argument == "margins":  # post-stratification takes totals only
                remedy += ", or give it as total="
            raise InvalidArgument(argument, [margin.name for margin in margins], remedy)
        return margins
    remedy = f"must be the size of the population, from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
    size = real_number("total", total, remedy)
    if not LEAST_WEIGHT <= size <= MOST_WEIGHT:
        raise InvalidArgument("total", total, remedy)
    if not are_shares:
        shown = {margin.name: one for margin, one in zip(margins, sums, strict=True)}
        remedy = f"goes with shares that add up to one, but margins add up to {shown}: leave it out"
        raise InvalidArgument("total", total, remedy)
    return [
        replace(margin, totals={key: share * (size / one) for key, share in margin.totals.items()})
        for margin, one in zip(margins, sums, strict=True)
    ]


def _columns(held: Held, name: object, argument: str) -> tuple[str, ...]:
    """The columns of a margin; refuse those that are not public."""
    columns = (name,) if isinstance(name, str) else name
    if not (isinstance(columns, tuple) and columns and all(isinstance(c, str) for c in columns)):
        raise InvalidArgument(argument, name, _MARGINS)
    if len(set(columns)) < len(columns):
        raise InvalidArgument(argument, name, "names a column twice")
    for column in columns:
        if held.owner(column) in held.questionnaire.private:
            remedy = "is private: its reports are noisy, and no cell of a margin is known; give "
            remedy += "its total to the estimate, frequencies(..., constraints=)"
            raise InvalidArgument(argument, column, remedy)
        if column not in held.columns:
            hint = did_you_mean(column, held.columns)
            raise InvalidArgument(argument, column, f"the table has no such column{hint}")
    return tuple(str.__str__(column) for column in columns)


def _totals(
    argument: str, columns: Sequence[str], given: object
) -> Iterator[tuple[Category, float]]:
    """Totals by category, as a mapping or a Series has them."""
    if not isinstance(given, Mapping | pd.Series) or not len(given):
        remedy = "must map each category to its population total: a dict, or a Series"
        raise InvalidArgument(argument, given, remedy)
    seen = set()
    for key, value in given.items():
        category = key if isinstance(key, tuple) and len(columns) > 1 else (key,)
        if len(category) != len(columns):
            remedy = f"must be a tuple of {len(columns)} values, of {', '.join(columns)}"
            raise InvalidArgument(f"category of {argument}", key, remedy)
        if category in seen:
            raise InvalidArgument(argument, key, "the category is there twice")
        seen.add(category)
        remedy = f"must be a population total: zero, or from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        number = real_number(f"{argument}[{key!r}]", value, remedy)
        if not (number == 0.0 or LEAST_WEIGHT <= number <= MOST_WEIGHT):
            raise InvalidArgument(f"{argument}[{key!r}]", value, remedy)
        yield category, number


def matched_margin(margin: Margin, cells: MarginCells) -> Margin:
    """The margin with categories as the table has them, without those that nobody is in."""
    name = margin.columns[0] if len(margin.columns) == 1 else margin.columns
    argument = f"{margin.argument}[{name!r}]"
    known = dict.fromkeys(cells.categories(margin.columns))
    written = [
        _spellings(argument, {category[i] for category in margin.totals}, {c[i] for c in known})
        for i in range(len(margin.columns))
    ]
    totals: dict[Category, float] = {}
    for category, total in margin.totals.items():
        there = tuple(own[value] for own, value in zip(written, category, strict=True))
        if there in totals:
            raise InvalidArgument(argument, worded(category), "the category is there twice")
        if there in known:
            totals[there] = total
        elif total > 0.0:
            hint = did_you_mean(worded(category), [worded(one) for one in known])
            remedy = f"nobody in the sample is in this category, whose total is {total:.12g}: join "
            remedy += f"it with another one, here and in the table{hint}"
            raise InvalidArgument(argument, worded(category), remedy)
    lacking = [worded(category) for category in known if not totals.get(category)]
    if lacking:
        remedy = "have respondents, but no total or one of zero: give totals of all categories, or "
        remedy += "leave out who is not of the population"
        raise InvalidArgument(argument, lacking[:_SHOWN], remedy)
    return replace(margin, totals=totals)


def _spellings(argument: str, given: set[Any], known: set[Any]) -> dict[Any, Any]:
    """The value of a column that each of some values is, as people write them; None if none."""
    labels = pd.Index(list(known))
    spelled = dict.fromkeys(given)
    for value in given:
        with suppress(UnknownCategory):
            place = int(matched(argument, [value], labels)[0])
            spelled[value] = labels[place] if place >= 0 else None
    return spelled


# -- Weighted analyses of a survey whose sample has a design --------------------------------------


def weighted_model(
    held: Held,
    design: SampleDesign,
    name: str,
    by: Sequence[object],
    candidates: Any = None,
    incomplete: object = False,
) -> WeightedModel:
    """One question in a complex sample, in all or in the domains that public columns make."""
    names = [str.__str__(column) for column in by if isinstance(column, str)]
    for column in names:
        if column != name:
            held.refuse_private(column)
    weighed = weigh(held, design, [name, *names])
    cells, inside = weighed.cells, weighed.inside
    domain, labels = np.where(inside, 0, -1), [()]
    if by:
        groups, rows, _ = grouped_rows(cells, by, name)
        domain[:], labels = -1, []
        for label, members in zip(groups, rows, strict=True):
            members = members[inside[members]]
            if members.size:
                domain[members] = len(labels)
                labels.append(label if isinstance(label, tuple) else (label,))
    coded = cells.coded(name)
    known = boolean("incomplete", incomplete)
    if known and not coded.reports.mechanism.is_open:
        remedy = f"is for candidates over an open alphabet: {coded.reports.mechanism} knows all"
        raise InvalidArgument("incomplete", incomplete, remedy)
    if not np.any(coded.present & inside):
        raise InvalidArgument("name", name, f"nobody of {len(held)} answered this question")
    one = WeightedVariable(name, coded.reports, coded.at, candidates, known)
    facts = sample_facts(weighed, design)
    return WeightedModel(weighed.sample, facts, (one,), domain, tuple(names), tuple(labels))


def weighted_crossing(
    held: Held,
    design: SampleDesign,
    names: Sequence[str],
    candidates: Any = None,
    other: Any = False,
) -> WeightedModel:
    """Two questions or more in a complex sample."""
    listed = per_variable("candidates", candidates, names)
    others = per_variable("other", other, names, scalar=True)
    weighed = weigh(held, design, names)
    variables = []
    for name, own, rest in zip(names, listed, others, strict=True):
        coded = weighed.cells.coded(name)
        if coded.reports.mechanism.is_open:
            if rest is not False and rest is not None:
                remedy = f"leave it out: with weights the list of {name} is taken to be complete"
                raise InvalidArgument("other", rest, remedy)
            variables.append(WeightedVariable(name, coded.reports, coded.at, own))
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IncompleteListWarning)  # which is refused below
            (reports,), spec = prepared([coded.reports], own, rest, name)
        if not spec.complete:
            remedy = f"must be True for {name}: with weights a table is of all answers"
            raise InvalidArgument("other", rest, remedy)
        variables.append(WeightedVariable(name, reports, coded.at))
    domain = np.where(weighed.inside, 0, -1)
    facts = sample_facts(weighed, design)
    return WeightedModel(weighed.sample, facts, tuple(variables), domain)


def weighted_pairs(
    held: Held, design: SampleDesign, names: Sequence[str], memoised: object
) -> tuple[dict[str, tuple[str, int]], Iterator[tuple[tuple[str, str], Any]], float]:
    """What `pairwise` needs of a complex sample: each pair of questions with what fits it."""
    known = dict.fromkeys(names, ("", 0))

    def fit(both: tuple[str, str], candidates: Any, other: Any) -> WeightedTable:
        refuse_kept(held, both, memoised, "association")
        model = weighted_crossing(held, design, both, candidates, other)
        if not model.inside.any():
            raise InvalidArgument("names", both, f"nobody of {len(held)} answered both")
        table = model.fit_table()
        for name, source, lacking in zip(both, table.sources, table.lacking, strict=True):
            known[name] = source, table.nobs + table.n_missing - lacking
        return table

    sheet, pairs = held.questionnaire, combinations(names, 2)
    epsilon = joint_epsilon([maker_of(sheet[name]) for name in names if name in sheet])
    return known, ((both, partial(fit, both)) for both in pairs), epsilon


def weighted_change(
    held: Held,
    design: SampleDesign,
    names: Sequence[str],
    name: str | None = None,
    waves: Any = None,
    candidates: Any = None,
    method: Any = None,
) -> WeightedResults:
    """Frequencies of one question in two waves of the same persons, who answered both."""
    if not isinstance(name, str | None):
        raise InvalidArgument("name", name, "must be text: the name of the variable")
    sheet, lists = held.questionnaire, None if candidates is None else [candidates] * 2
    listed = any(maker_of(sheet[one]).is_open for one in names if one in sheet)
    model = weighted_crossing(held, design, names, lists, lists is not None and not listed)
    first, second = (one.reports.mechanism for one in model.variables)
    if first != second:
        raise MechanismMismatch(
            f"with weights waves are compared that one mechanism made, not {first} and {second}: "
            "estimate each wave alone by frequencies()"
        )
    variables = tuple(replace(one, name=name or "") for one in model.variables)
    labels = tuple((wave,) for wave in variable_names(waves, 2, names))
    model = replace(model, variables=variables, by=("wave",), labels=labels, waves=True)
    if not model.inside.any():
        raise InvalidArgument("names", list(names), f"nobody of {len(held)} answered both")
    return model.fit(method)


def cell_data(
    held: Held, design: SampleDesign | None, names: Sequence[str], formulas: Mapping[str, Any]
) -> CellData:
    """What respondents said to several questions, and the covariates of `formulas_of`."""
    beside: dict[str, None] = {}
    for owner, text in formulas.items():
        argument = "parameters" if owner else "covariates"
        _, terms = one_sided(argument, text, "patsy")
        for name in sorted(names_of(terms)):
            if name not in held.columns:
                remedy = f"names {name!r}, which is no column{did_you_mean(name, held.columns)}"
                raise InvalidArgument(argument, text, remedy)
            held.refuse_private(name)
            beside[name] = None
    asked = list(dict.fromkeys([*names, *beside]))
    sample, inside, facts, w, n = None, None, None, None, None
    if design is None:
        cells, n = held.cells(asked)
        rows: Any = np.arange(len(cells))
    else:
        weighed = weigh(held, design, asked)
        cells, sample, inside = weighed.cells, weighed.sample, np.flatnonzero(weighed.inside)
        n, w, rows = sample.n[inside].astype(np.int64), sample.w[inside], inside
    cells.table.prepare(asked)
    coded = [cells.coded(name).taken(rows) for name in names]
    parts = [[(one.reports, one.present)] for one in coded]
    if design is not None:
        used = np.zeros(len(cells), dtype=bool)
        used[rows] = np.any([one.present for one in coded], axis=0)
        facts = sample_facts(replace(weighed, inside=used), design)
    columns = {name: cells.unasked(name).plain()[rows] for name in beside}
    public = pd.DataFrame(columns) if beside else None
    origins = [held.origin(name) for name in names]
    return CellData(parts, n, w, sample, inside, facts, public, origins)


def sample_facts(weighed: Weighed, design: SampleDesign) -> SampleFacts:
    """The sample in words and numbers."""
    sample, inside = weighed.sample, weighed.inside
    n, w = float(sample.n[inside].sum()), float(sample.w[inside].sum())
    first = sample.stages[0]
    variance = "linearisation" if sample.replication is None else str(design.replicates)
    return SampleFacts(
        design=design.in_words,
        variance=variance + ", calibrated" * (sample.residuals is not None),
        n_strata=len(first.sampled),
        n_units=0 if design.replicate_columns else int(first.sampled.sum()),
        nobs=int(n),
        weight_sum=w,
        spread=n * float(sample.w2[inside].sum()) / w**2,
        df=float(degrees_of_freedom(sample, np.where(inside, 0, -1))[0]),
        calibrated=sample.residuals is not None,
    )


# -- From a survey to one with other weights, and the report of how they moved --------------------


@record
class Reweighting:
    """A change of weights, with what it did."""

    change: WeightChange
    step: WeightStep
    nobs: int
    categories: pd.DataFrame | None = None


def calibrated(
    data: Held,
    design: SampleDesign | None,
    margins: object,
    method: object,
    bounds: object,
    total: object,
) -> Reweighting:
    """Calibrate the weights of a design to margins."""
    design = _weighted(design, "calibrate")
    name = one_of("method", method, tuple(_METHODS))
    low, high = -np.inf, np.inf
    if bounds is not None:
        pair = listed("bounds", bounds, _BOUNDS)
        if len(pair) != 2:
            raise InvalidArgument("bounds", bounds, _BOUNDS)
        low, high = (
            end if one is None else real_number("bounds", one, _BOUNDS)
            for one, end in zip(pair, (0.0, np.inf), strict=True)
        )
        if not 0.0 <= low < high:
            raise InvalidArgument("bounds", bounds, f"{_BOUNDS}: 0 <= low < high")
    if name == "logit" and not 0.0 <= low < 1.0 < high < np.inf:
        remedy = "logit needs two finite bounds, below and above one, such as (0.3, 3)"
        raise InvalidArgument("bounds", bounds, remedy)
    distance = _METHODS[name](low, high)
    return _calibrated(data, design, given_margins(data, margins, total), distance)


def poststratified(data: Held, design: SampleDesign | None, totals: object) -> Reweighting:
    """Calibrate to one margin."""
    design = _weighted(design, "poststratify")
    given = given_margins(data, totals, None, "totals")
    if len(given) > 1:
        remedy = "names several margins: cross them, {('region', 'sex'): {('north', 'f'): ...}}, "
        remedy += "or use calibrate(margins)"
        raise InvalidArgument("totals", [margin.name for margin in given], remedy)
    return _calibrated(data, design, given, Linear(), "post-stratification")


def _calibrated(
    data: Held,
    design: SampleDesign,
    given: Sequence[Margin],
    distance: Distance,
    method: str | None = None,
) -> Reweighting:
    """Weights that reproduce margins, and how far they moved."""
    columns = [column for margin in given for column in margin.columns]
    whole = _whole(data, design, columns, "calibrate")
    cells = margin_cells(whole.cells, given, whole.sample.n)
    change = Calibration(tuple(matched_margin(margin, cells) for margin in given), distance)
    before = adjusted(whole.cells, whole.sample, design.changes).sample
    after = adjusted(whole.cells, whole.sample, [*design.changes, change])
    last = after.step
    assert last is not None
    low, high = distance.lower, distance.upper
    step = weight_step(
        before,
        after.sample,
        after.factors,
        method=method or type(distance).__name__.lower(),
        margins=", ".join(last.margins.names),
        bounds=f"{low:g} to {high:g}" if high < np.inf or low > -np.inf else "",
        iterations=last.iterations,
        deviation=last.deviation,
    )
    if step.n_negative:
        warnings.warn(
            f"{step.n_negative} respondents have negative weights: give bounds=(0, None), or use "
            "method='raking'",
            LDPWarning,
            4,
        )
    margins = cells.margins(change.given)
    sums = margins.indicators.T @ np.bincount(cells.at, before.w)
    pairs = [
        (name, label)
        for name, labels in zip(margins.names, margins.labels, strict=True)
        for label in labels
    ]
    categories = pd.DataFrame(
        {"target": margins.targets, "before": sums, "ratio": margins.targets / sums},
        index=pd.MultiIndex.from_tuples(pairs, names=["margin", "category"]),
    )
    return Reweighting(change, step, int(whole.sample.n.sum()), categories)


def trimmed(
    data: Held, design: SampleDesign | None, lower: object, upper: object, strict: object
) -> Reweighting:
    """Cut the weights of a design."""
    design = _weighted(design, "trim")
    if design.weights is None:
        raise NotAvailable("trim: weights follow from fpc=: name the column of weights")
    if any(isinstance(change, Calibration) for change in design.changes):
        raise NotAvailable(
            "trim: weights were calibrated, and trimming would move them off their totals: trim "
            "first and calibrate then, or calibrate with bounds="
        )
    low = 0.0 if lower is None else positive("lower", lower, ", the least weight")
    high = np.inf if upper is None else positive("upper", upper, ", the largest weight")
    if lower is None and upper is None:
        raise InvalidArgument("upper", None, "give the largest weight, upper=, or lower=, or both")
    if not low < high:
        raise InvalidArgument("lower", lower, f"must be below upper, {high:g}")
    change = Trimming((design.weights,), low, high, boolean("strict", strict))
    whole = _whole(data, design, [design.weights], "trim")
    before = adjusted(whole.cells, whole.sample, design.changes).sample
    after = adjusted(whole.cells, whole.sample, [*design.changes, change])
    one, now = before.w / before.n, after.sample.w / before.n
    beyond = (now < change.lower * (1 - 1e-9)) | (now > change.upper * (1 + 1e-9))
    step = weight_step(
        before,
        after.sample,
        after.factors,
        method="trimming",
        margins=f"{change.lower:g} to {change.upper:g}",
        bounds="",
        iterations=0,
        deviation=0.0,
        n_trimmed=int(before.n[(one < change.lower) | (one > change.upper)].sum()),
        n_beyond=int(before.n[beyond].sum()),
    )
    return Reweighting(change, step, int(whole.sample.n.sum()))


def _weighted(design: SampleDesign | None, what: str) -> SampleDesign:
    """The design; refuse a survey without one."""
    if design is None:
        raise NotAvailable(
            f"{what}: the survey has no weights: name their column, Survey(..., weights='w'); it "
            "holds ones if all respondents count the same"
        )
    return design


def _whole(data: Held, design: SampleDesign, columns: Sequence[str], what: str) -> Weighed:
    """The whole sample with the weights of the design, and columns; refuse a domain of it."""
    needed = [*(name for change in design.changes for name in change.columns), *columns]
    whole = weigh(data, replace(design, changes=()), needed, everybody=True)
    if not whole.inside.all():
        raise NotAvailable(
            f"{what}: these respondents are a domain of the sample, and totals are of all: {what} "
            "the whole survey first, then select respondents"
        )
    return whole


# -- A survey for the package svy: unbiased indicators of the true answers beside the design ------


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
    if design is None:
        raise NotAvailable("to_svy of a survey without a design: name its weights=")
    refused = {
        ": rows of this table have no order: read it into memory": not held.ordered,
        " of some rows: take the whole survey, and where= of svy": whole_of(held)[0] is not held,
        " of a survey with fpc=: svy would shrink the variance of the randomisation with that of "
        "the sample: leave fpc= out, or estimate here": design.fpc,
        " of a survey with single_unit='certainty': svy would leave out the variance of the "
        "randomisation in such units: choose 'average' or 'centered', or estimate here": (
            design.single_unit not in _SINGLE
        ),
        " of a survey with calibrated or trimmed weights: svy would take them for those of the "
        "design: export the survey before, and calibrate with svy": design.changes,
        " of a survey with replicates of its own: svy makes others": (
            design.replicates is not None and not design.replicate_columns
        ),
    }
    for words, wrong in refused.items():
        if wrong:
            raise NotAvailable(f"to_svy{words}")
    sample = weigh(held, design, []).sample  # refuses weights and units that cannot be
    columns = {}
    for name in [*held.public_columns, *held.questionnaire.observed]:
        public = held.public(name)
        columns[name] = pd.Series(public.values).reindex(public.codes).to_numpy()
    given = sample.replication
    replicates: dict[str, Array] = {}
    if isinstance(given, GivenWeights):
        replicates = {f"{_REPLICATE}{r}": w for r, w in enumerate(given.weights.T, 1)}
    for column, values in (*_indicators(held, names), *replicates.items()):
        if column in columns:
            raise InvalidArgument("names", names, f"the table has a column {column!r} already")
        columns[column] = values
    how = {
        "wgt": design.weights,
        "stratum": design.strata[0] if design.strata else None,
        "psu": design.clusters[0] if design.clusters else None,
        "singleton": _SINGLE[design.single_unit],
    }
    if isinstance(given, GivenWeights):  # whose kind is in the scale alone
        df = given.most_degrees(np.full(sample.w.shape, True))
        scale = given.scale.tolist()
        how["rep_wgts"] = svy.BootstrapWgts(
            prefix=_REPLICATE, n_reps=len(scale), scale=scale, df=df
        )
    return svy.Sample(polars.from_pandas(pd.DataFrame(columns)), svy.Design(**how))


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
