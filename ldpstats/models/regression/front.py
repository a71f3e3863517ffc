"""Regressions of and on privatised answers, from a formula and a table.

`regression` reads its arguments into a `Request`, which makes `RegressionData` and the model that
suits. `Survey.regression` comes to the same by `Given` reports and `Extras`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, boolean, did_you_mean, numbers, one_of, record
from ldpstats.errors import InvalidArgument
from ldpstats.hints import guided
from ldpstats.labels import Codes, Labels, Mask, as_series, missing_entries
from ldpstats.models.association.groups import refuse_shared
from ldpstats.models.regression.formulas import (
    BINARY,
    Design,
    Formula,
    Names,
    PrivateColumn,
    Response,
    Terms,
    as_frame,
    caller_names,
    columns_of,
    configurations_of,
    known_names,
    names_of,
    one_sided,
    public_response,
)
from ldpstats.models.regression.intercepts import PrivatizedMixedLogit, grouped_data
from ldpstats.models.regression.least_squares import PrivatizedOLS
from ldpstats.models.regression.model import (
    PrivatePredictors,
    PrivatizedLogit,
    PrivatizedMNLogit,
    PrivatizedOrderedModel,
    PrivatizedRegression,
    RegressionModel,
)
from ldpstats.models.regression.structure import (
    Grouping,
    RegressionData,
    outcome_of,
    pseudo_response,
)
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

_KINDS: dict[str, type[RegressionModel]] = {
    "multinomial": PrivatizedMNLogit,
    "ordered": PrivatizedOrderedModel,
    "linear": PrivatizedRegression,
    "poisson": PrivatizedRegression,
    **dict.fromkeys(BINARY, PrivatizedLogit),
}


@guided
def regression(
    formula: str,
    data: Any,
    reports: Mapping[str, Any],
    model: str | None = None,
    marginal: str | None = None,
    scores: Mapping[str, Any] | None = None,
    weights: Any = None,
    freq_weights: Any = None,
    offset: Any = None,
    candidates: Mapping[str, Any] | None = None,
    memoised: bool | None = None,
    unsafe: bool = False,
) -> Any:
    """A regression with a privatised answer as response, as predictor, or both.

    Parameters
    ----------
    formula : str
        As for statsmodels, such as "late ~ age + C(region)". Names are columns of `data` and keys
        of `reports`. A private response stands alone on the left. Private predictors may stand
        anywhere on the right: their categories are those of the mechanism in its order, the first
        being the reference; labels that are numbers enter as numbers. ``(1 | school)`` gives each
        value of a public column a normal intercept: see `PrivatizedMixedLogit`.
    data : DataFrame of pandas or Polars, or Arrow table
        The public columns, one row a respondent.
    reports : mapping from name to Reports
        Reports of the questions, in the order of the rows; or a list of Reports, several groups
        with the same categories whose rows follow one another. Unknown parameters of devices are
        estimated too, unless the response is a number.
    model : {"linear", "logit", "multinomial", "ordered", "poisson", "probit", "cloglog"}, optional
        By default logit for a response of two categories or of 0 and 1, ordered for ordered
        categories, multinomial for others, and linear for numbers.
    marginal : str, optional
        The public columns that the private predictors depend on, such as "age + region"; "1" if on
        none. By default the public columns on the right of the formula.
    scores : mapping from name to scores, optional
        Numbers for the categories of a private predictor, or of the response of a linear model:
        ``{"income": {"low": 10, "high": 30}}``.
    weights, freq_weights, offset : str or array-like, shape (N,), optional
        A public column, or its values: sampling weights, respondents a row stands for, and what is
        added to the linear predictor.
    candidates : mapping from name to candidates, optional
        The possible answers to questions over an open alphabet.
    memoised : bool, optional
        As for `AssociationModel`: False says that devices drew each report afresh.
    unsafe : bool
        Whether the formula may run any Python, for one that you wrote yourself. By default it has
        columns, your variables that are arrays or numbers, arithmetic, and mathematical functions
        of numpy and of formula engines, such as ``np.log``, ``C``, ``center`` and ``bs``.

    Returns
    -------
    PrivatizedLogit, PrivatizedMNLogit, PrivatizedOrderedModel, PrivatizedOLS, PrivatePredictors or
    PrivatizedMixedLogit
        A model; its `fit()` estimates. Rows with a missing value are left out, and counted.

    Raises
    ------
    InvalidArgument
        For a formula that names no question or an unknown column, or runs another function than
        `unsafe` says, a function of a private response,
        reports that are not as many as rows, and a model that does not suit the response.
    NotAvailable
        Where two reports of a person may come from one permanent response, and for a number on
        predictors by devices with unknown parameters.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(2024)
    >>> table = pd.DataFrame({"age": rng.normal(size=4000), "region": rng.choice(["n", "s"], 4000)})
    >>> late = np.where(rng.random(4000) < 1 / (1 + np.exp(-table.age)), "yes", "no")
    >>> reports = ldp.Warner(epsilon=2.0).privatize(late, rng)
    >>> model = ldp.regression("late ~ age + region", table, {"late": reports})
    >>> model.exog_names
    ['Intercept', 'region[T.s]', 'age']
    >>> model.fit().params["age"].round(1)
    np.float64(0.9)
    """
    _, columns = columns_of("data", data)
    groups = _groups(reports, columns)
    named = [name for name in columns if isinstance(name, str)]
    how = model, marginal, scores, candidates, unsafe
    request = Request.of(formula, groups, named, caller_names(2), *how)
    text = request.formula.text
    for name in groups:
        if name not in request.questions:
            remedy = f"is not in the formula {text!r}: leave it out, or add it there"
            raise InvalidArgument("reports", name, remedy)
    frame = as_frame("data", data, request.columns)
    n = len(frame)
    given = {name: _given(name, some, n) for name, some in groups.items()}
    _refuse_one_response(groups, memoised)
    missing = [sum(group.n_missing for group in some) for some in groups.values()]
    extras = Extras(
        offset=_beside("offset", offset, data, columns, n),
        weights=_beside("weights", weights, data, columns, n),
        freq_weights=_beside("freq_weights", freq_weights, data, columns, n),
        unseen=max(missing),
    )
    return request.model_of(frame, given, extras)


# -- reports and numbers of a caller -----------------------------------------------------------


def _groups(reports: object, columns: list[Any]) -> dict[str, list[Reports]]:
    """The reports of each question, as groups."""
    example = 'must be a mapping from names to Reports, such as {"ill": reports}'
    if not isinstance(reports, Mapping) or not reports:
        raise InvalidArgument("reports", reports, example)
    questions = {}
    for name, some in reports.items():
        if not isinstance(name, str):
            raise InvalidArgument("reports", name, f"is a key that is no text: it {example}")
        if name in columns:
            remedy = "is a column of data too: rename one of them"
            raise InvalidArgument("reports", name, remedy)
        groups = some if isinstance(some, list | tuple) else [some]
        if not groups or not all(isinstance(group, Reports) for group in groups):
            kind = type(some).__name__
            remedy = f"{example}; counts have no rows, and mechanism.parse(name, column) reads them"
            raise InvalidArgument(f"reports[{name!r}]", kind, remedy)
        questions[str.__str__(name)] = list(groups)
    return questions


def _refuse_one_response(groups: Mapping[str, list[Reports]], memoised: object) -> None:
    """Refuse two reports of a person that may come from one permanent response."""
    refuse_shared([], list(groups), memoised, "regression")
    if memoised is not None:
        return
    permanent = {
        name: {group.mechanism.permanent for group in some} - {None}
        for name, some in groups.items()
    }
    for both in combinations(groups, 2):
        if not permanent[both[0]] & permanent[both[1]]:
            continue
        ends = [np.cumsum([0, *map(len, groups[name])]) for name in both]
        cuts = np.unique(np.concatenate(ends))
        for start, end in pairwise(cuts.tolist()):  # in which both groups are the same
            parts = []
            for name, before in zip(both, ends, strict=True):
                g = int(np.searchsorted(before, start, side="right")) - 1
                rows = groups[name][g][start - before[g] : end - before[g]]
                parts.append(replace(rows, ids=None, n_missing=0))
            refuse_shared([JointCounts(parts)], both, None, "regression")


def _given(name: str, groups: list[Reports], n: int) -> Given:
    """Reports of a question, one for each of n rows."""
    total = sum(map(len, groups))
    if total != n:
        missing = sum(group.n_missing for group in groups)
        why = f", and {missing} answers are missing" if missing else ""
        remedy = (
            f"must be {n}, one for each row of data in its order{why}: leave the rows without a "
            "report out of data, or make a Survey of data with a column of reports, which matches "
            "them"
        )
        raise InvalidArgument(f"reports[{name!r}]", f"{total} reports", remedy)
    ends = np.cumsum([0, *map(len, groups)])

    def take(rows: Codes) -> list[Reports]:
        cuts = np.searchsorted(rows, ends)
        some = [
            group[rows[a:b] - start]
            for group, start, a, b in zip(groups, ends, cuts, cuts[1:], strict=False)
        ]
        return [group for group in some if len(group)]

    return Given(tuple(group.mechanism for group in groups), np.full(n, True), take)


def _beside(argument: str, value: object, data: object, columns: list[Any], n: int) -> Array | None:
    """Numbers of the rows, from a column or as they are; NaN where one is missing."""
    if value is None:
        return None
    if isinstance(value, str):
        if value not in columns:
            remedy = "is no column of data: name one, or pass numbers"
            raise InvalidArgument(argument, value, remedy)
        value = as_frame("data", data, [value])[value]
    series = as_series(argument, value)
    remedy = f"must be {n} numbers, one for each row of data"
    absent = missing_entries(argument, series)
    if series.dtype == object or absent.any():
        series = series.where(~absent, np.nan)
    values = numbers(argument, series.to_numpy(), remedy, (n,))
    if np.isinf(values).any():
        raise InvalidArgument(argument, float("inf"), f"{remedy}, finite ones")
    if argument != "offset" and (values <= 0.0).any():
        row = int(np.argmax(values <= 0.0))
        remedy = "must be positive: leave rows without weight out of data"
        raise InvalidArgument(f"{argument}, row {row + 1}", float(values[row]), remedy)
    return values


# -- what a regression is asked for: a formula, and options beside it --------------------------


@record
class Given:
    """Reports of a question by groups of respondents, and which rows of a table, (N,), have one.

    `take` has groups of Reports, which follow one another, for positions in the table, all of them
    `present` and ascending.
    """

    mechanisms: tuple[Any, ...]
    present: Mask
    take: Callable[[Codes], list[Reports]]


@record
class Extras:
    """Numbers beside the formula, (N,) each, NaN where missing; and a complex sample.

    `counts` are the respondents of each row, where a row is several, `inside` the rows of the
    domain, `unseen` the number of respondents without a report who are in no row, and `facts` the
    sample in words, by a mask, (N,), of the rows that are used.
    """

    offset: Array | None = None
    weights: Array | None = None
    freq_weights: Array | None = None
    counts: Array | None = None
    inside: Mask | None = None
    unseen: int = 0
    sample: Any = None
    facts: Callable[[Mask], Any] | None = None


@record
class Request:
    """A regression that is asked for.

    `model` is what the caller passed, `marginal` the right side of a formula, `questions` and
    `columns` those that the formulas need, and `names` what other names in them mean.
    """

    formula: Formula
    model: object
    marginal: str | None
    scores: Mapping[str, Any]
    candidates: Mapping[str, Any]
    questions: tuple[str, ...]
    columns: tuple[str, ...]
    names: Names

    @classmethod
    def of(
        cls,
        formula: object,
        questions: Iterable[str],
        columns: Iterable[str],
        outside: Names,
        model: object = None,
        marginal: object = None,
        scores: object = None,
        candidates: object = None,
        unsafe: object = False,
    ) -> Request:
        """Read the arguments of a regression; `outside` are what other names mean to the caller."""
        parsed = Formula.parse(formula)
        known, table, response = list(questions), [*columns], parsed.response
        right = parsed.names | parsed.functions
        asked = tuple(name for name in known if name in right | response.names)
        if not asked:
            remedy = "names no question: fit a model of public columns with statsmodels"
            hint = f"; questions are {', '.join(map(repr, known[:20]))}" if known else ""
            raise InvalidArgument("formula", parsed.text, remedy + hint)
        text, terms = None, Terms()
        if marginal is not None:
            text, terms = one_sided("marginal", marginal, parsed.engine)
        beside = names_of(terms)
        wrong = {"question": {*known}, "response": response.names - {*known}}
        for what, those in wrong.items():
            for name in sorted(beside & those)[:1]:
                remedy = f"has the {what} {name!r}: it must be of public columns alone"
                raise InvalidArgument("marginal", str(marginal), remedy)
        every = {*known, *table}
        names = known_names(parsed, terms, every, outside, boolean("unsafe", unsafe))
        group = {parsed.groups} - {""}
        wanted = right | response.names | response.functions | beside | group
        if parsed.groups in known or not group <= {*table} - response.names:
            remedy = f"which is no public column{did_you_mean(parsed.groups, tuple(table))}"
            if parsed.groups in known:
                remedy = "a question, whose answers nobody knows: group by a public column"
            raise InvalidArgument("formula", parsed.text, f"groups by {parsed.groups!r}, {remedy}")
        public = tuple(sorted({name for name in table if name in wanted} - {*asked}))
        scores = _by_question("scores", scores, asked)
        candidates = _by_question("candidates", candidates, asked)
        private = sorted((response.names | response.functions) & {*asked})
        if private and not response.is_name:
            remedy = (
                f"has the question {private[0]!r} in {parsed.left!r}: a function of a noisy "
                "report is not that of the answer; put the question alone on the left, and use "
                "model= or scores= for its form"
            )
            raise InvalidArgument("formula", parsed.text, remedy)
        twice = sorted(response.names & parsed.names)
        if twice:
            remedy = f"has {twice[0]!r} on both sides: take it away from the right"
            raise InvalidArgument("formula", parsed.text, remedy)
        return cls(parsed, model, text, scores, candidates, asked, public, names)

    def model_of(
        self, frame: pd.DataFrame, given: Mapping[str, Given], extras: Extras
    ) -> RegressionModel:
        """The model of public columns and reports, N rows each, to be fitted."""
        private, name = [], next(iter(self.formula.response.names & {*self.questions}), None)
        for question in self.questions:
            if question == name:
                continue
            reports, labels = given[question], self._labels(question, given[question])
            column = PrivateColumn.of(question, labels, self.scores.get(question))
            if all(mechanism.unprotected for mechanism in reports.mechanisms):
                there, codes = reports.present, np.full(len(frame), -1, dtype=np.int64)
                codes[there] = np.concatenate([g.y for g in reports.take(np.flatnonzero(there))])
                values: Any = column.column(codes)
                if column.values is not None and not there.all():  # -1 is the last of these
                    values = pd.Series(values).astype(object if values.dtype == bool else float)
                    values = values.where(there).array
                frame = frame.assign(**{question: values})
            else:
                private.append(column)
        kept = self._kept(frame, given, extras)
        rows, some = np.flatnonzero(kept), frame.loc[kept]
        for label in some.columns:
            if isinstance(some[label].dtype, pd.CategoricalDtype):
                some = some.assign(**{label: some[label].cat.remove_unused_categories()})
        if name is None:
            response = public_response(self.formula, some, self.names)
        else:
            labels, asked = self._labels(name, given[name]), given[name].take(rows)
            ordered = bool(getattr(labels.dtype, "ordered", False))
            labels = pd.Index(labels.tolist(), dtype=object)
            response = Response(name, asked, labels, True, ordered)
        family = response.family(self.model)
        response, scores = response.suited(family, self.scores.get(response.name))
        offset, weights, times, counts = (
            None if values is None else values[rows]
            for values in (extras.offset, extras.weights, extras.freq_weights, extras.counts)
        )
        how = tuple(private), counts, family, self.marginal
        design, designs, marginal = Design.of(self.formula, self.names, some, kept, *how)
        left = ~kept if extras.inside is None else extras.inside & ~kept
        missing = int(left.sum() if extras.counts is None else extras.counts[left].sum())
        times = times if counts is None else counts
        kind: type[RegressionModel] = PrivatePredictors if private else _KINDS[family]
        values, only = response.values, ""
        if scores is not None and not private and extras.sample is None:
            kind, values = PrivatizedOLS, [replace(group, name=response.name) for group in values]
        elif scores is not None:
            weighed = np.ones(len(rows)) if weights is None else weights
            listed = self.candidates.get(response.name)
            values = pseudo_response(values, scores, weighed, listed).values
            only = "least squares on scores of reports has no likelihood"
            response = replace(response, labels=None)
        data = RegressionData(
            outcome=outcome_of(family, 0 if response.labels is None else len(response.labels)),
            response=values,
            designs=designs,
            names=design.names,
            categories=response.labels,
            response_name=response.name,
            offset=offset,
            counts=times,
            # of all whom a row stands for
            weights=weights if weights is None or times is None else weights * times,
            predictors={column.name: given[column.name].take(rows) for column in private},
            configurations=configurations_of(private),
            marginal=marginal,
            candidates=self.candidates,
            n_missing=missing + extras.unseen,
            formula=design,
            only_corrected=only,
            scores=scores,
            sample=extras.sample,
            inside=None if extras.sample is None else kept,
            facts=None if extras.facts is None else extras.facts(kept),
        )
        if grouping := self.formula.groups:
            kind, groups = PrivatizedMixedLogit, Grouping.of(grouping, some[grouping], len(rows))
            data = grouped_data(data, family, groups)
        return kind.of(data)

    def _labels(self, name: str, given: Given) -> Labels:
        """The categories of a question, which all groups of respondents must have."""
        listed = self.candidates.get(name)
        for mechanism in given.mechanisms:
            if mechanism.is_open and listed is None:
                remedy = (
                    f"{name!r} takes any text: pass candidates={{{name!r}: [...]}}, its answers"
                )
                raise InvalidArgument("candidates", None, remedy)
            if not mechanism.is_open and listed is not None:
                remedy = f"leave it out: {name!r} has the categories of {mechanism}"
                raise InvalidArgument("candidates", {name: listed}, remedy)
        every: list[Labels] = [one.labels(listed) for one in given.mechanisms]
        first, *others = [labels.tolist() for labels in every]
        for other in others:
            if other != first:
                remedy = (
                    f"has groups with the categories {first[:20]} and {other[:20]}: they must be "
                    "the same in the same order"
                )
                raise InvalidArgument("reports", name, remedy)
        return every[0]

    def _kept(self, frame: pd.DataFrame, given: Mapping[str, Given], extras: Extras) -> Mask:
        """Rows of which all is there."""
        parts = {name: given[name].present for name in self.questions}
        parts |= {name: frame[name].notna().to_numpy() for name in self.columns}
        for name, values in (("offset", extras.offset), ("weights", extras.weights)):
            if values is not None:
                parts[name] = ~np.isnan(values)
        inside = np.full(len(frame), True) if extras.inside is None else extras.inside
        kept: Mask = np.asarray(np.all([inside, *parts.values()], axis=0))
        if not kept.any():
            lacking = [f"{name}: {int((inside & ~there).sum())}" for name, there in parts.items()]
            remedy = (
                f"no respondent of {int(inside.sum())} has all that it needs; without a value are "
                f"{', '.join(lacking)}: leave columns out"
            )
            raise InvalidArgument("formula", self.formula.text, remedy)
        return kept


def _by_question(option: str, values: object, asked: tuple[str, ...]) -> dict[str, Any]:
    """A mapping from questions in the formula."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        example = "{'low': 10, 'high': 30}" if option == "scores" else "['a', 'b']"
        remedy = f"must be a mapping from questions, such as {{{asked[0]!r}: {example}}}"
        raise InvalidArgument(option, values, remedy)
    return {one_of(option, name, asked): value for name, value in values.items()}
