"""Shares of the categories of one variable in domains, and what follows of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, one_of
from ldpstats.arguments.labels import positions
from ldpstats.errors import NotAvailable
from ldpstats.inference.designs.intervals import Counted
from ldpstats.inference.designs.totals import Ratios
from ldpstats.mechanisms import Mechanism
from ldpstats.models.frequency.ordered import checked_scores
from ldpstats.models.shared.groups import (
    compared_index,
    compared_pairs,
    group_place,
    stacked_index,
)
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.weighted.base import DesignResults
from ldpstats.models.weighted.comparisons import differences_table, pair_places, satterthwaite

__all__ = ["DomainShares", "domain_shares"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DomainShares(DesignResults):
    """Estimates of the categories of one variable, from totals of each domain.

    The totals of a domain are those of its k categories, then its number of persons.
    """

    categories: pd.Index[Any]
    mechanism: Mechanism
    counted: Counted

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that make the domains; none where there is one."""
        return self.domains.by

    @property
    def index(self) -> pd.Index[Any]:
        if not self.by:
            return self.categories
        return stacked_index(self.domains.labels, self.categories, self.by, self.name)

    @property
    def groups(self) -> pd.Index[Any]:
        """Labels of the domains."""
        if len(self.by) == 1:
            one: pd.Index[Any] = pd.Index([label[0] for label in self.domains.labels])
            return one.rename(self.by[0])
        several: pd.Index[Any] = pd.MultiIndex.from_tuples(self.domains.labels, names=self.by)
        return several

    @property
    def sizes(self) -> pd.Series[Any]:
        """Respondents with a report in each domain."""
        return pd.Series(self.domains.sizes, index=self.groups if self.by else None, name="nobs")

    @property
    def _domain_of(self) -> npt.NDArray[np.int64]:
        return np.repeat(np.arange(len(self.domains.labels)), len(self.categories))

    @property
    def _counted(self) -> Counted:
        g = len(self.domains.labels)
        return Counted(np.tile(self.counted.offset, g), np.tile(self.counted.scale, g))

    def _sums(self, weights: Array) -> Array:
        """Sums of category totals in each domain as linear forms, (g m, totals), weights (m, k)."""
        return _category_sums(weights, len(self.domains.labels))

    @property
    def _persons(self) -> Array:
        """The number of persons of each domain as linear forms, (g, totals)."""
        return _persons(len(self.categories), len(self.domains.labels))

    @property
    def shares(self) -> Ratios:
        return domain_shares(len(self.categories), len(self.domains.labels))

    # -- what is estimated -------------------------------------------------------------------

    @names_alpha
    def totals(self, alpha: float = 0.05) -> pd.DataFrame:
        """Estimated numbers of persons (Horvitz-Thompson), with t intervals.

        Of the persons whom those with a report stand for: who did not answer is in no total. The
        summary has the sum of their weights, besides that of all. For numbers of the whole
        population multiply the shares by its size, if those who did not answer are like the others.

        Returns
        -------
        DataFrame, one row per estimate
            "estimate", "se", "lower", "upper", in persons of the population.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "yes", "no", "no"] * 25, "w": [10.0] * 100})
        >>> survey = ldp.Survey(table, {"ill": ldp.Observed(["no", "yes"])}, weights="w")
        >>> survey.frequencies("ill").totals()["estimate"].to_dict()
        {'no': 750.0, 'yes': 250.0}
        """
        functions = Ratios(self._sums(np.eye(len(self.categories))))
        table = self._table(functions, self.df.to_numpy(), level(alpha), self.index)
        # who was not seen may be there: what the interval of the share says, in persons
        persons = (self.shares.B @ self.totals_law.estimate)[:, None]
        unseen = (table["se"] == 0.0).to_numpy()[:, None]
        ends = np.where(unseen, self.conf_int(alpha) * persons, table[["lower", "upper"]])
        return table.assign(lower=ends[:, 0], upper=ends[:, 1])

    @names_alpha
    def mean(self, scores: Any = None, alpha: float = 0.05) -> Any:
        """Mean of the scores of the answers: "estimate", "se", "lower", "upper"; a row a domain.

        Parameters
        ----------
        scores : mapping, Series or array, shape (k,), optional
            A number for each category; by default the labels, where they are numbers.
        alpha : float
            One minus the coverage of the interval.
        """
        if self.mechanism.is_open:
            raise NotAvailable("a mean over candidates: the candidates need not be all answers")
        values = checked_scores(scores, self.categories)
        functions = Ratios(self._sums(values[None]), self._persons)
        name = f"mean of {self.name}" if self.name else "mean"
        return self._by_domain(functions, level(alpha), name)

    @names_alpha
    def ratio(
        self, numerator: Any, denominator: Any, alpha: float = 0.05, method: str = "default"
    ) -> Any:
        """Ratio of the totals of some categories to those of others, in each domain.

        Parameters
        ----------
        numerator, denominator : label, or list of labels
        alpha : float
            One minus the coverage of the interval.
        method : {"default", "wald"}
            "default": all ratios from zero on that the limits of both shares do not rule out, as
            Fieller's set; infinite where the denominator does not differ from zero. "wald":
            estimate plus or minus t times the linearised standard error.

        Returns
        -------
        Series, or with domains DataFrame
            "estimate", "se" (linearised), "lower", "upper".
        """
        alpha, k = level(alpha), len(self.categories)
        above, below = (np.zeros((1, k)) for _ in range(2))
        above[0, positions("numerator", numerator, self.categories)] = 1.0
        below[0, positions("denominator", denominator, self.categories)] = 1.0
        if one_of("method", method, ("default", "wald")) == "wald":
            return self._by_domain(Ratios(self._sums(above), self._sums(below)), alpha, "ratio")
        labels = self.mechanism.n_bits == 0
        table = self._ratios(
            (self._sums(above), self._sums(below), self._persons),
            (self.counted.joined(above, labels), self.counted.joined(below, labels)),
            self.domains.df,
            alpha,
            self.groups if self.by else ["ratio"],
        )
        return table if self.by else table.iloc[0]

    @names_alpha
    def unexplained(self, alpha: float = 0.05) -> Any:
        """Share of the answers that are not among the candidates, in each domain.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the interval, which is cut to [0, 1].

        Raises
        ------
        NotAvailable
            Where all categories are known.
        """
        if not self.mechanism.is_open:
            raise NotAvailable("every answer is one of the categories: there are no candidates")
        left = self._persons - self._sums(np.ones((1, len(self.categories))))
        found = self._by_domain(Ratios(left, self._persons), level(alpha), "not listed")
        ends = ["lower", "upper"]
        found[ends] = found[ends].clip(0.0, 1.0)
        return found

    def _by_domain(self, functions: Ratios, alpha: float, name: str) -> Any:
        """A function for each domain: a Series, or with `by` a table."""
        table = self._table(functions, self.domains.df, alpha, self.groups if self.by else [name])
        return table if self.by else table.iloc[0]

    @names_alpha
    def differences(
        self,
        reference: Any = None,
        alpha: float = 0.05,
        all_pairs: bool = False,
        method: str = "default",
    ) -> pd.DataFrame:
        """Frequencies of each domain minus those of a reference, or of every other.

        Domains may share units: their covariance enters.

        Parameters
        ----------
        reference : label, optional
            The domain that the others are compared with; the first by default.
        alpha : float
            One minus the coverage of each interval.
        all_pairs : bool
            Compare every domain with each before it, instead of with one reference.
        method : {"default", "wald"}
            "default" combines the limits of `conf_int` of both frequencies (see `Differences`);
            "wald": estimate plus or minus t times standard error. p-values are of these.

        Returns
        -------
        DataFrame, a row for each comparison and category
            "estimate", "se", "lower", "upper", "pvalue" and "pvalue_holm", Holm's adjustment for
            all rows; two categories that add up to one are one hypothesis.

        Raises
        ------
        NotAvailable
            If there is one domain only.
        """
        alpha, labels, k = level(alpha), self.domains.labels, len(self.categories)
        if len(labels) < 2:
            raise NotAvailable("differences need two domains, by=: there is one only")
        pairs = compared_pairs(
            len(labels), reference, all_pairs, lambda label: self._position("reference", label)
        )
        index = compared_index(labels, pairs, all_pairs, self.categories, self.by, self.name)
        places = pair_places(pairs, k)
        V, freedom = self.linear_cov.to_numpy(), self.df.to_numpy()
        of = np.stack(places)
        df = satterthwaite(V[of, of], freedom[of], self.sample.df)
        limits = self._limits_by(method)
        return differences_table(self.linear.estimate, V, places, df, limits, alpha, index)

    def _position(self, name: str, label: Any) -> int:
        return group_place(name, label, self.domains.labels, self.by, "domain")


def domain_shares(k: int, g: int) -> Ratios:
    """Shares of k categories in g domains, whose totals are those of the categories and persons."""
    return Ratios(_category_sums(np.eye(k), g), _persons(k, g).repeat(k, axis=0))


def _category_sums(weights: Array, g: int) -> Array:
    return np.kron(np.eye(g), np.column_stack([weights, np.zeros(len(weights))]))


def _persons(k: int, g: int) -> Array:
    return np.kron(np.eye(g), np.eye(k + 1)[-1:])
