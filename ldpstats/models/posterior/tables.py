"""The posterior of the joint distribution of several variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import as_labels, position
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.posterior.densities.table import cells_law
from ldpstats.models.posterior.results import PosteriorResults
from ldpstats.priors.base import LogitLaw

__all__ = ["TablePosterior", "table_law"]

Array = npt.NDArray[Any]

MOST_CELLS = 1000  # whose Hessian is formed and factored


@dataclass(frozen=True, eq=False)
class TablePosterior(PosteriorResults):
    """Draws from the posterior of a joint table: see `PosteriorResults`.

    Parameters are the cells, labelled by a MultiIndex with a level a variable, row-major.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
    >>> model = ldp.AssociationModel(counts, names=("late", "ill"))
    >>> results = model.fit_posterior(np.random.default_rng(1))
    >>> results.table.round(1).to_numpy()
    array([[0.5, 0.1],
           [0.1, 0.4]])
    >>> round(float(results.cramers_v().params.iloc[0]), 1)
    0.7
    """

    _format = "ldpstats table posterior"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(map(str, self.index.names))

    @property
    def labels(self) -> tuple[pd.Index[Any], ...]:
        """Categories of each variable, in order."""
        return tuple(
            pd.Index(pd.unique(self.index.get_level_values(v)), name=name)
            for v, name in enumerate(self.names)
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(map(len, self.labels))

    @property
    def table(self) -> Any:
        """Posterior means: a DataFrame, the first variable in rows; a Series of three or more."""
        return self._table(self.params)

    @property
    def bse_table(self) -> Any:
        """Posterior standard deviations, as `table`."""
        return self._table(self.bse)

    def _table(self, values: pd.Series[float]) -> Any:
        if len(self.sizes) > 2:
            return values
        rows, columns = self.labels
        return pd.DataFrame(values.to_numpy().reshape(self.sizes), index=rows, columns=columns)

    # -- what follows from the table -----------------------------------------------------------

    def derived(
        self, function: Callable[[Array], Any], labels: Any, subject: str = "Derived quantities"
    ) -> PosteriorResults:
        """The posterior of something that the table determines.

        Parameters
        ----------
        function : callable
            Takes tables, shape (s, k_1, ..., k_d), and returns numbers, shape (s,) or (s, m).
        labels : str, or sequence of m labels
            What they are called.
        subject : str
            What they are, for the summary.

        Returns
        -------
        PosteriorResults
            With Bayes factors, where the prior can be drawn from.

        Raises
        ------
        InvalidArgument
            If what is returned has another shape, or is not finite.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
        >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
        >>> results = ldp.AssociationModel(counts).fit_posterior(np.random.default_rng(1))
        >>> equal = results.derived(lambda P: P[:, 0, 0] + P[:, 1, 1], "equal answers")
        >>> round(float(equal.params["equal answers"]), 1)
        0.8
        """
        if not callable(function):
            raise InvalidArgument("function", function, "must be a function of tables")
        names = as_labels("labels", [labels] if isinstance(labels, str) else labels, 1)
        if len(names) > MOST_CELLS:
            raise InvalidArgument("labels", len(names), f"must be {MOST_CELLS} at most")
        if not isinstance(subject, str) or not subject.isprintable() or not subject:
            raise InvalidArgument("subject", subject, "must be text: what the quantities are")
        return self._made(function, names, np.full(len(names), -2), subject)

    def conditional(self, on: str | None = None) -> PosteriorResults:
        """Posterior of the conditional distributions of the other variables given one.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.

        Returns
        -------
        PosteriorResults
            Its parameters are labelled by the category of that variable, then of the others.

        Raises
        ------
        InvalidArgument
            For the name of no variable.
        """
        axis = 0 if on is None else self._variable("on", on)
        order = [axis, *(v for v in range(len(self.sizes)) if v != axis)]
        index = pd.MultiIndex.from_product(
            [self.labels[v] for v in order], names=[self.names[v] for v in order]
        )
        size = self.sizes[axis]
        simplex = np.repeat(np.arange(size), len(index) // size)

        def shares(P: Array) -> Array:
            rows = np.moveaxis(P, axis + 1, 1).reshape(len(P), size, -1)
            return np.asarray((rows / rows.sum(axis=2, keepdims=True)).reshape(len(P), -1))

        return self._made(shares, index, simplex, f"Shares given {self.names[axis]}")

    def margin(self, name: str) -> PosteriorResults:
        """Posterior of the distribution of one variable alone."""
        axis = self._variable("name", name)
        others = tuple(v + 1 for v in range(len(self.sizes)) if v != axis)
        labels, simplex = self.labels[axis], np.zeros(self.sizes[axis], dtype=np.int64)
        return self._made(lambda P: P.sum(axis=others), labels, simplex, "Frequencies")

    def cramers_v(self) -> PosteriorResults:
        """Posterior of Cramer's V, of a table of two variables.

        V is not below zero, so that its posterior mean is above zero for independent variables,
        too: see how far from zero the interval begins, beside `prior_draws`.
        """
        self._two_ways("cramers_v")
        least = min(self.sizes) - 1

        def value(P: Array) -> Array:
            expected = P.sum(axis=2, keepdims=True) * P.sum(axis=1, keepdims=True)
            phi2 = ((P - expected) ** 2 / expected).sum(axis=(1, 2))
            return np.asarray(np.sqrt(phi2 / least))

        return self._made(value, pd.Index(["Cramer's V"]), np.array([-1]), "Association")

    def log_odds_ratio(self, rows: Sequence[Any], columns: Sequence[Any]) -> PosteriorResults:
        """Posterior of the logarithm of an odds ratio, of a table of two variables.

        It is that of the odds of the first of two `columns` against the second, in the first of two
        `rows` over the second. Independence of a two by two table is the value 0.

        Raises
        ------
        InvalidArgument
            For other than two categories of each variable.
        """
        self._two_ways("log_odds_ratio")
        i, j = self._two("rows", 0, rows), self._two("columns", 1, columns)

        def value(P: Array) -> Array:
            logs = np.log(P[:, i][:, :, j])
            return np.asarray(logs[:, 0, 0] - logs[:, 0, 1] - logs[:, 1, 0] + logs[:, 1, 1])

        return self._made(value, pd.Index(["log odds ratio"]), np.array([-2]), "Association")

    # -- inside --------------------------------------------------------------------------------

    def _made(
        self, function: Callable[[Array], Any], index: pd.Index[Any], simplex: Array, subject: str
    ) -> PosteriorResults:
        c, n, _ = self.samples.shape
        found = self._of_tables(function, self.flat, len(index)).reshape(c, n, -1)
        prior = self.prior_draws
        if prior is not None:
            prior = self._of_tables(function, prior, len(index))
        origin = replace(self.origin, subject=subject, without_mode="")
        return PosteriorResults(found, index, origin, self.run, simplex, None, prior)

    def _of_tables(self, function: Callable[[Array], Any], tables: Array, m: int) -> Array:
        found = np.asarray(function(tables.reshape(len(tables), *self.sizes)), dtype=np.float64)
        found = found.reshape(-1, 1) if found.ndim == 1 else found
        if found.shape != (len(tables), m):
            remedy = f"returns shape {found.shape} for {len(tables)} tables and {m} labels"
            raise InvalidArgument("function", function, remedy)
        if not np.all(np.isfinite(found)):
            raise InvalidArgument("function", function, "returns numbers that are not finite")
        return found

    def _two_ways(self, what: str) -> None:
        if len(self.sizes) > 2:
            remedy = "use derived(), or fit two of the variables"
            raise NotAvailable(f"{what} of {len(self.sizes)} variables: {remedy}")

    def _variable(self, argument: str, name: object) -> int:
        plain = str.__str__(name) if isinstance(name, str) else None  # of a subclass, perhaps
        if plain not in self.names:
            remedy = f"must be a variable: {', '.join(self.names)}"
            raise InvalidArgument(argument, name, remedy)
        return self.names.index(plain)

    def _two(self, argument: str, axis: int, given: Any) -> list[int]:
        remedy = f"must be two categories of {self.names[axis]}"
        chosen = list(given) if isinstance(given, list | tuple) else [given]
        places = [position(argument, one, self.labels[axis], remedy) for one in chosen]
        if len(places) != 2 or places[0] == places[1]:
            raise InvalidArgument(argument, given, remedy)
        return places


def table_law(prior: Any, labels: Sequence[pd.Index[Any]]) -> LogitLaw:
    """The prior's law of the cells of a table, of which not too many can be drawn."""
    law = cells_law(prior, labels)
    if law.k > MOST_CELLS:
        remedy = f"at most {MOST_CELLS} can be drawn: merge categories"
        raise NotAvailable(f"the posterior of {law.k} cells: {remedy}")
    return law
