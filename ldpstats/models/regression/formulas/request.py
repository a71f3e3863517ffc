"""What a regression is asked for: a formula, and options beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean
from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument
from ldpstats.models.regression.formulas.design import Design
from ldpstats.models.regression.formulas.formula import (
    Formula,
    Terms,
    known_names,
    names_of,
    one_sided,
)
from ldpstats.models.regression.formulas.predictors import PrivateColumn
from ldpstats.models.regression.formulas.responses import (
    Response,
    private_response,
    public_response,
)
from ldpstats.models.regression.formulas.right_side import RightSide
from ldpstats.reports.single import Reports

__all__ = ["Extras", "Given", "Request"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Given:
    """Reports of a question, and which rows of a table have one.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
        Of the groups of respondents.
    present : array of bool, shape (N,)
    take : callable
        From positions in the table, all of them `present` and ascending, to groups of their
        Reports, which follow one another.
    """

    mechanisms: tuple[Any, ...]
    present: Mask
    take: Callable[[Rows], list[Reports]]

    @property
    def unprotected(self) -> bool:
        """Whether the answers are known."""
        return all(mechanism.unprotected for mechanism in self.mechanisms)


@dataclass(frozen=True, eq=False)
class Extras:
    """Numbers beside the formula, (N,) each, NaN where missing; and a complex sample.

    Attributes
    ----------
    offset, weights, freq_weights : array or None
    counts : array or None
        Respondents of each row, where a row is several.
    inside : array of bool or None
        Rows of the domain; None for all.
    unseen : int
        Respondents without a report who are in no row.
    sample : Sample or None
    facts : callable or None
        From the rows that are used, a mask (N,), to the sample in words.
    """

    offset: Array | None = None
    weights: Array | None = None
    freq_weights: Array | None = None
    counts: Array | None = None
    inside: Mask | None = None
    unseen: int = 0
    sample: Any = None
    facts: Callable[[Mask], Any] | None = None


@dataclass(frozen=True, eq=False)
class Request:
    """A regression that is asked for.

    Attributes
    ----------
    formula : Formula
    model : object
        What the caller passed.
    marginal : str or None
        The right side of a formula.
    scores, candidates : mapping from question
    questions : tuple of str
        Questions that the formula names.
    columns : tuple of str
        Public columns that the formulas need.
    names : mapping
        What other names in the formula mean.
    """

    formula: Formula
    model: object
    marginal: str | None
    scores: Mapping[str, Any]
    candidates: Mapping[str, Any]
    questions: tuple[str, ...]
    columns: tuple[str, ...]
    names: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        formula: object,
        questions: Iterable[str],
        columns: Iterable[str],
        outside: Mapping[str, Any],
        model: object = None,
        marginal: object = None,
        scores: object = None,
        candidates: object = None,
        unsafe: object = False,
    ) -> Request:
        """Read the arguments of a regression.

        Parameters
        ----------
        questions, columns : iterable of str
            Names of the questions, and of the public columns of the table.
        outside : mapping
            What other names mean to the caller.
        unsafe : bool
            Whether the formula may be any code.
        """
        parsed = Formula.parse(formula)
        known, table = list(questions), [*columns]
        right = parsed.names | parsed.functions
        asked = tuple(name for name in known if name in right | parsed.response.names)
        if not asked:
            remedy = "names no question: fit a model of public columns with statsmodels"
            hint = f"; questions are {', '.join(map(repr, known[:20]))}" if known else ""
            raise InvalidArgument("formula", parsed.text, remedy + hint)
        text, terms = None, Terms()
        if marginal is not None:
            text, terms = one_sided("marginal", marginal, parsed.engine)
            _refuse_marginal(str(marginal), names_of(terms), parsed, asked, known)
        every = {*known, *table}
        names = known_names(parsed, terms, every, outside, boolean("unsafe", unsafe))
        also = names_of(terms)
        wanted = right | parsed.response.names | parsed.response.functions | also
        public = tuple(sorted({name for name in table if name in wanted} - {*asked}))
        for option, given in (("scores", scores), ("candidates", candidates)):
            _check_option(option, given, asked)
        made = cls(
            parsed,
            model,
            text,
            dict(scores) if isinstance(scores, Mapping) else {},
            dict(candidates) if isinstance(candidates, Mapping) else {},
            asked,
            public,
            names,
        )
        made._refuse_response()
        return made

    @property
    def response(self) -> str | None:
        """The question on the left side, if it is one."""
        (name, *_) = [*self.formula.response.names, ""]
        return name if name in self.questions else None

    def _refuse_response(self) -> None:
        """Refuse a question on the left that is not alone, or that is on the right too."""
        factor, text = self.formula.response, self.formula.text
        private = sorted((factor.names | factor.functions) & {*self.questions})
        if private and not factor.is_name:
            remedy = (
                f"has the question {private[0]!r} in {self.formula.left!r}: a function of a noisy "
                "report is not that of the answer; put the question alone on the left, and use "
                "model= or scores= for its form"
            )
            raise InvalidArgument("formula", text, remedy)
        twice = sorted(factor.names & self.formula.names)
        if twice:
            remedy = f"has {twice[0]!r} on both sides: take it away from the right"
            raise InvalidArgument("formula", text, remedy)

    # -- arrays --------------------------------------------------------------------------------

    def design(self, frame: pd.DataFrame, given: Mapping[str, Given], extras: Extras) -> Design:
        """The arrays of the regression, from its public columns and reports; N rows each."""
        private = []
        for name in self.questions:
            if name == self.response:
                continue
            labels = self._labels(name, given[name])
            column = PrivateColumn.of(name, labels, self.scores.get(name))
            if given[name].unprotected:
                frame = frame.assign(**{name: _answers(column, given[name])})
            else:
                private.append(column)
        kept = self._kept(frame, given, extras)
        rows = np.flatnonzero(kept)
        some = frame.loc[kept]
        for name in some.columns:
            if isinstance(some[name].dtype, pd.CategoricalDtype):
                some = some.assign(**{name: some[name].cat.remove_unused_categories()})
        response = self._response(some, given, rows)
        family = response.family(self.model)
        scores = response.scores(self.scores.get(response.name), family)
        response = response.seen_by(family)
        times = None if extras.counts is None else extras.counts[rows]
        right = RightSide(self.formula, self.names, some, tuple(private), times)
        spec, chosen, designs = right.matrices(family)
        marginal_spec, marginal = right.marginal(self.marginal)
        total = len(frame) if extras.counts is None else int(extras.counts.sum())
        used = len(rows) if times is None else int(times.sum())
        outside = 0
        if extras.inside is not None:
            left = ~extras.inside
            outside = int(left.sum() if extras.counts is None else extras.counts[left].sum())
        return Design(
            formula=self.formula,
            family=family,
            response=response.values,
            categories=response.labels,
            response_name=response.name,
            names=tuple(spec.columns[j] for j in chosen),
            designs=designs,
            predictors={column.name: given[column.name].take(rows) for column in private},
            private=tuple(private),
            index=some.index,
            kept=kept,
            n_missing=total - used - outside + extras.unseen,
            marginal_exog=marginal,
            marginal_formula=None if marginal_spec is None else marginal_spec.text,
            offset=_taken(extras.offset, rows),
            weights=_taken(extras.weights, rows),
            freq_weights=_taken(extras.freq_weights, rows) if times is None else times,
            scores=scores,
            candidates=self.candidates,
            spec=spec,
            marginal_spec=marginal_spec,
            chosen=chosen,
            sample=extras.sample,
            inside=None if extras.sample is None else kept,
            facts=None if extras.facts is None else extras.facts(kept),
            public=some,
        )

    def _labels(self, name: str, given: Given) -> pd.Index[Any]:
        """The categories of a question, which all groups of respondents must have."""
        found = self.candidates.get(name)
        for mechanism in given.mechanisms:
            if mechanism.is_open and found is None:
                remedy = (
                    f"{name!r} takes any text: pass candidates={{{name!r}: [...]}}, its answers"
                )
                raise InvalidArgument("candidates", None, remedy)
            if not mechanism.is_open and found is not None:
                remedy = f"leave it out: {name!r} has the categories of {mechanism}"
                raise InvalidArgument("candidates", {name: found}, remedy)
        labels: pd.Index[Any]
        labels, *others = [mechanism.labels(found) for mechanism in given.mechanisms]
        for other in others:
            if other.tolist() != labels.tolist():
                remedy = (
                    f"has groups with the categories {labels.tolist()[:20]} and "
                    f"{other.tolist()[:20]}: they must be the same in the same order"
                )
                raise InvalidArgument("reports", name, remedy)
        return labels

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

    def _response(self, some: pd.DataFrame, given: Mapping[str, Given], rows: Rows) -> Response:
        name = self.response
        if name is None:
            return public_response(self.formula, some, self.names)
        labels = self._labels(name, given[name])
        return private_response(name, given[name].take(rows), labels)


def _answers(column: PrivateColumn, given: Given) -> Any:
    """Answers to an unprotected question as a column of the table, missing ones included."""
    rows = np.flatnonzero(given.present)
    codes = np.full(len(given.present), -1, dtype=np.int64)
    codes[rows] = np.concatenate([group.y for group in given.take(rows)])
    if column.values is None:
        return column.column(codes)
    if given.present.all():
        return column.values[codes]
    if column.values.dtype == bool:
        return np.append(column.values.astype(object), [None])[codes]
    return np.append(column.values, [np.nan])[codes]


def _taken(values: Array | None, rows: Rows) -> Array | None:
    return None if values is None else values[rows]


def _refuse_marginal(
    text: str, names: frozenset[str], formula: Formula, asked: Iterable[str], known: Iterable[str]
) -> None:
    """Refuse questions and the response in what private predictors depend on."""
    private = sorted(names & {*known})
    if private:
        remedy = f"has the question {private[0]!r}: it must be of public columns alone"
        raise InvalidArgument("marginal", text, remedy)
    shared = sorted(names & formula.response.names)
    if shared:
        remedy = f"has the response {shared[0]!r}: it must be of predictors alone"
        raise InvalidArgument("marginal", text, remedy)


def _check_option(option: str, given: object, asked: tuple[str, ...]) -> None:
    """Refuse anything but a mapping from questions in the formula."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        example = "{'low': 10, 'high': 30}" if option == "scores" else "['a', 'b']"
        remedy = f"must be a mapping from questions, such as {{{asked[0]!r}: {example}}}"
        raise InvalidArgument(option, given, remedy)
    for name in given:
        if name not in asked:
            remedy = f"is no question of the formula, which has {', '.join(map(repr, asked))}"
            raise InvalidArgument(option, name, remedy + did_you_mean(name, asked))
