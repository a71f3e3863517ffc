"""What a collector holds of strings that nobody listed: two noisy grams and the noisy whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import as_array, positive_integer, whole_below
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.models.dictionary.grams import GramLayout
from ldpstats.reports.display import held
from ldpstats.reports.single import Reports

__all__ = ["DictionaryReports", "starts_of"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DictionaryReports:
    """Reports of a `DictionarySurvey`: report i of each part is from the same respondent.

    Parameters
    ----------
    survey : DictionarySurvey
        What they were collected with.
    pair : array of int, shape (n,)
        Number of the pair of positions, in the order of ``survey.layout.pairs``.
    first, second : Reports
        Of the grams at the two positions, by `survey.gram_mechanism`.
    string : Reports
        Of the whole strings, by `survey.string_mechanism`.
    n_missing : int
        Respondents who gave no answer.

    Raises
    ------
    InvalidArgument
        For parts of different lengths, pairs that do not exist, or an invalid number of missing
        answers.
    MechanismMismatch
        For parts that other mechanisms made.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
    >>> reports = survey.privatize(["abca", "cc"] * 10, np.random.default_rng(1))
    >>> len(reports), len(reports + reports)
    (20, 40)
    """

    survey: Any
    pair: npt.NDArray[np.int64]
    first: Reports
    second: Reports
    string: Reports
    n_missing: int = 0

    def __post_init__(self) -> None:
        if not isinstance(getattr(self.survey, "layout", None), GramLayout):
            raise InvalidArgument("survey", self.survey, "must be a DictionarySurvey")
        n_pairs = len(self.survey.layout.pairs)
        remedy = f"must be whole numbers from 0 to {n_pairs - 1}, one a respondent"
        pair = as_array("pair", self.pair, remedy)
        if pair.ndim != 1 or not whole_below(pair, n_pairs):
            raise InvalidArgument("pair", self.pair, remedy)
        object.__setattr__(self, "pair", pair.astype(np.int64, copy=False))
        object.__setattr__(self, "n_missing", positive_integer("n_missing", self.n_missing, 0))
        survey = self.survey
        for name, mechanism in zip(("first", "second", "string"), survey.mechanisms, strict=True):
            part = getattr(self, name)
            if not isinstance(part, Reports):
                raise InvalidArgument(name, part, "must be Reports")
            if part.mechanism != mechanism:
                raise MechanismMismatch(
                    f"reports of {part.mechanism} (fingerprint {part.mechanism.fingerprint}) are "
                    f"not of the survey's {mechanism} ({mechanism.fingerprint})"
                )
            if len(part) != pair.size:
                remedy = f"must be {pair.size}: one of each respondent"
                raise InvalidArgument(name, f"{len(part)} reports", remedy)

    @classmethod
    def at_positions(
        cls,
        survey: Any,
        a: Array,
        b: Array,
        parts: tuple[Reports, Reports, Reports],
        n_missing: int = 0,
    ) -> DictionaryReports:
        """Reports of grams at two distinct positions, in any order, and of the strings.

        Parameters
        ----------
        survey : DictionarySurvey
        a, b : array of int, shape (n,)
            Numbers of the positions of the two grams, among ``survey.layout.starts``.
        parts : three Reports
            Of the grams at `a`, of the grams at `b`, and of the strings.
        n_missing : int
            Respondents who gave no answer.
        """
        pairs = np.array(survey.layout.pairs)
        numbers = np.full((survey.layout.n_positions,) * 2, -1)
        numbers[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
        first, second = _swapped(parts[0], parts[1], a > b)
        pair = numbers[np.minimum(a, b), np.maximum(a, b)]
        return cls(survey, pair, first, second, parts[2], n_missing)

    def __len__(self) -> int:
        return int(self.pair.size)

    def __add__(self, other: DictionaryReports) -> DictionaryReports:
        if not isinstance(other, DictionaryReports):
            return NotImplemented
        if self.survey != other.survey:
            raise MechanismMismatch(
                f"reports of {self.survey} (fingerprint {self.survey.fingerprint}) cannot be added "
                f"to those of {other.survey} ({other.survey.fingerprint})"
            )
        return DictionaryReports(
            self.survey,
            np.concatenate([self.pair, other.pair]),
            _concatenated(self.first, other.first),
            _concatenated(self.second, other.second),
            _concatenated(self.string, other.string),
            self.n_missing + other.n_missing,
        )

    def __radd__(self, other: int) -> DictionaryReports:
        # sum() starts from zero
        return self if other == 0 else NotImplemented

    def select(self, keep: Array) -> DictionaryReports:
        """Those of some respondents: a mask or positions; `n_missing` stays as it is.

        Raises
        ------
        InvalidArgument
            For what is neither a mask of all respondents nor positions among them.
        """
        n = len(self)
        keep = as_array("keep", keep, f"must be a mask of {n} respondents, or positions")
        mask = keep.dtype == bool
        if keep.ndim != 1 or not (keep.size == n if mask else whole_below(keep, n)):
            remedy = f"must be a mask of {n} respondents, or positions from 0 to {n - 1}"
            raise InvalidArgument("keep", keep, remedy)
        return replace(
            self,
            pair=self.pair[keep],
            first=_selected(self.first, keep),
            second=_selected(self.second, keep),
            string=_selected(self.string, keep),
        )

    @cached_property
    def _by_pair(self) -> tuple[Array, Array]:
        """Respondents in the order of their pairs, and where each pair begins and ends."""
        bounds = np.arange(len(self.survey.layout.pairs) + 1)
        order = np.argsort(self.pair, kind="stable")
        return order, np.searchsorted(self.pair[order], bounds)

    def at_pair(self, number: int) -> tuple[Reports, Reports]:
        """Reports of the grams of the respondents with this pair of positions.

        Raises
        ------
        InvalidArgument
            For a pair that does not exist.
        """
        n_pairs = len(self.survey.layout.pairs)
        if positive_integer("number", number, 0) >= n_pairs:
            raise InvalidArgument("number", number, f"must be from 0 to {n_pairs - 1}")
        order, ends = self._by_pair
        here = order[ends[number] : ends[number + 1]]
        return _selected(self.first, here), _selected(self.second, here)

    def to_frame(self) -> pd.DataFrame:
        """A row a respondent: the start of each gram, counted from 0, and the reports as text."""
        start_1, start_2 = starts_of(self)
        return pd.DataFrame(
            {
                "start_1": start_1,
                "gram_1": _text(self.first),
                "start_2": start_2,
                "gram_2": _text(self.second),
                "string": _text(self.string),
            }
        )

    def _repr_html_(self) -> str:
        """What is held, in a notebook."""
        return held("Dictionary reports", [self.survey], len(self), [self.n_missing], [])

    def __repr__(self) -> str:
        return f"DictionaryReports({self.survey}; n={len(self)})"


def starts_of(reports: DictionaryReports) -> tuple[Array, Array]:
    """Where the two grams of each respondent start, counted from 0, (n,) each."""
    layout = reports.survey.layout
    starts = np.array(layout.starts)[np.array(layout.pairs)[reports.pair]]
    return starts[:, 0], starts[:, 1]


def _text(part: Reports) -> pd.Series[Any]:
    """Reports as a column of text, also where there is none."""
    return pd.Series(part.mechanism.report_labels(part), dtype=str)


def _concatenated(left: Reports, right: Reports) -> Reports:
    cohort = None
    if left.cohort is not None and right.cohort is not None:
        cohort = np.concatenate([left.cohort, right.cohort])
    y = np.concatenate([left.y, right.y])
    return Reports(y, left.mechanism, 0, cohort, left.name or right.name)


def _selected(part: Reports, keep: Array) -> Reports:
    cohort = None if part.cohort is None else part.cohort[keep]
    return Reports(part.y[keep], part.mechanism, 0, cohort, part.name)


def _swapped(first: Reports, second: Reports, swap: Array) -> tuple[Reports, Reports]:
    """Reports of one mechanism, exchanged where `swap`, (n,), says so."""
    if not swap.any():
        return first, second

    def chosen(a: Reports, b: Reports) -> Reports:
        y = np.where(swap if a.y.ndim == 1 else swap[:, None], b.y, a.y)
        if a.cohort is None or b.cohort is None:
            return replace(a, y=y)
        return replace(a, y=y, cohort=np.where(swap, b.cohort, a.cohort))

    return chosen(first, second), chosen(second, first)
