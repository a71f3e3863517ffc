"""The weighted table of two or more variables of a complex sample.

The totals are those of all cells, of sets of the variables, and the number of persons (see
`places_of`): of two variables those of a b cells, a rows, b columns and one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, level, listed, one_of
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.designs.linearisation import Ratios, checked
from ldpstats.inference.designs.tests import (
    METHODS,
    Counted,
    RaoScott,
    critical,
    normal_level,
    paired,
    ratio_bounds,
    t_bounds,
)
from ldpstats.inference.intervals import edge_normal
from ldpstats.inference.tables.independence import refuse_weak_cells
from ldpstats.inference.tests import TestResult
from ldpstats.labels import Codes
from ldpstats.likelihood.covariance import Uncertain
from ldpstats.likelihood.joint import places_of, places_within
from ldpstats.models.association.results import TableResults
from ldpstats.models.layout import ESTIMATES, Heading, outcome_notes
from ldpstats.models.results import compared
from ldpstats.models.weighted.base import (
    Dependence,
    DesignResults,
    Limits,
    Part,
    cell_shares,
    difference_rows,
)


@dataclass(frozen=True, eq=False, repr=False)
class WeightedTable(TableResults, DesignResults):
    """Weighted joint distribution of two or more privatised variables in a complex sample.

    `params` are shares of the population that the weights stand for, of the respondents with all
    answers. Standard errors hold the design and the randomisation of every respondent together;
    intervals have quantiles of the t law with the degrees of freedom of the design. The estimate is
    unconstrained and may leave [0, 1].

    Attributes
    ----------
    names, labels : tuple of str, tuple of Index
        Of the variables, and of the categories of each.
    nobs, n_missing : int
        Respondents with all answers, and those of the domain without.
    lacking : tuple of int
        How many of these lacked each variable.
    unprotected : tuple of str
        Names of the variables that are answered without privacy (`Observed`).
    listed : tuple of str
        Names of the variables over candidates, which are taken for all answers.
    epsilon : float
        Privacy of all reports of one respondent together, in nats; infinite if none is protected.
    sample : SampleFacts
        As of `WeightedResults`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng = np.random.default_rng(3)
    >>> table = pd.DataFrame({"ill": rng.choice(["no", "yes"], 400),
    ...                       "sex": rng.choice(["f", "m"], 400),
    ...                       "w": rng.uniform(1, 3, 400), "school": np.arange(400) // 20})
    >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, weights="w", clusters="school")
    >>> results = survey.association("ill", "sex")
    >>> results
    WeightedTable(inversion, ill x sex: 2 x 2, n=400)
    >>> results.test_independence().df
    (1.0, 19.0)
    """

    counted: tuple[Counted, ...]  # of each variable alone
    dependence: Dependence
    listed: tuple[str, ...] = ()
    # of more than two variables, what is known of each two or more of them, but not all
    parts: tuple[Part, ...] | None = field(default=None, metadata={"later": True})

    _format = "ldpstats-weighted-table"
    _version = 1
    _document = (
        *("fit", "totals", "sample", "domains", "nobs", "n_missing", "labels", "names"),
        *("lacking", "unprotected", "listed", "dependence", "counted", "parts"),
    )

    def _forms(self, axis: int | None = None) -> Array:
        """Cells, or categories of one variable, as linear forms of the totals."""
        m = len(self.totals_law.estimate)
        if axis is None:
            return np.eye(m)[: prod(self.sizes)]
        return np.eye(m)[places_within(self.sizes, [axis])[:-1]]

    @property
    def _freedom(self) -> float:
        return float(self.domains.df[0])

    @property
    def _effective(self) -> float:
        """Respondents, less what weights cost."""
        return float((self.domains.sizes / self.domains.spread)[0])

    @cached_property
    def _counted(self) -> Counted:
        T = self.totals_law.estimate
        return Counted.crossed(self.counted, T[places_of(self.sizes)] / T[-1])

    # -- what is estimated -------------------------------------------------------------------

    def margins(self, alpha: float = 0.05) -> dict[str, pd.DataFrame]:
        """The distribution of each variable alone, among respondents with all answers.

        Returns
        -------
        dict of DataFrame, one row per category
            "estimate", "se", "lower", "upper", of the variable's own reports: the sums of `params`
            for labels, more precise than these for bits.
        """
        tables, alpha = {}, level(alpha)
        columns = zip(self.names, self.labels, self.counted, strict=True)
        for v, (name, labels, counted) in enumerate(columns):
            forms = self._forms(v)
            functions = Ratios(forms, self._persons.repeat(len(forms), axis=0))
            table = self._of_totals(functions, self._freedom, alpha, labels.rename(name))
            p, se = table["estimate"].to_numpy(), table["se"].to_numpy()
            if not self._unknown.any():
                t, n = (np.full(p.shape, value) for value in (self._t(alpha), self._effective))
                bounds = self._score(p, se, t, counted, n)
                table[["lower", "upper"]] = edge_normal(bounds, p, se, alpha)
            tables[name] = table
        return tables

    def conditional(
        self, on: str | None = None, alpha: float = 0.05, method: str = "default"
    ) -> pd.DataFrame:
        """Conditional distributions of the other variable given the categories of one.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "wald"}
            "default": given an `Observed` variable the score interval of the other's report, as
            `conf_int` has it in a domain; given a private one all shares that the limits of cell
            and condition do not rule out, as Fieller's set: all of [0, 1] where the condition does
            not differ from zero. "wald": estimate plus or minus t times the linearised standard
            error.

        Returns
        -------
        DataFrame, one row per cell
            "estimate", "se", "lower", "upper"; the variable in the condition comes first.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> table = pd.DataFrame({"ill": ["no", "no", "no", "yes"] * 20, "sex": ["f", "m"] * 40,
        ...                       "w": [1.0, 2.0] * 40})
        >>> survey = ldp.Survey(table, {"ill": ldp.Observed(["no", "yes"])}, weights="w")
        >>> survey.association("ill", "sex").conditional("sex")["estimate"].round(2).to_dict()
        {('f', 'no'): 1.0, ('f', 'yes'): 0.0, ('m', 'no'): 0.5, ('m', 'yes'): 0.5}
        """
        self._refuse_more_than_two()
        axis, alpha = self._axis(on), level(alpha)
        value, V, limits = self._conditionals(axis, method)
        se, ends = np.sqrt(np.diagonal(V)), np.full((value.size, 2), np.nan)
        at = np.flatnonzero(~np.isnan(se))
        bounds = limits(at, np.full(at.shape, self._t(alpha)))
        ends[at] = edge_normal(bounds, value[at], se[at], alpha)
        table = np.column_stack([value, se, ends])
        return pd.DataFrame(table, self._index_given(axis), ESTIMATES)

    def _t(self, alpha: float) -> float:
        return float(critical(np.array(self._freedom), alpha))

    def _conditionals(self, axis: int, method: str) -> tuple[Array, Array, Limits]:
        """Shares given a variable, their covariance, nan where unknown, and their limits."""
        default = one_of("method", method, ("default", "wald")) == "default"
        T, b = self.totals_law.estimate, self.sizes[1 - axis]
        places = np.arange(len(self.index)).reshape(self.sizes)
        cells = (places if axis == 0 else places.T).reshape(-1)  # the given variable first
        forms, margins, persons = self._forms(), self._forms(axis), self._persons
        rows, defined = Ratios(forms[cells], margins.repeat(b, axis=0)).defined(T)
        shares, there = self.totals_law.of(defined), np.flatnonzero(rows)
        value, V = np.full(len(rows), np.nan), np.full((len(rows), len(rows)), np.nan)
        value[there] = shares.value
        if not self._unknown.any():
            V[np.ix_(there, there)] = checked(shares.covariance).matrix()
        se = np.sqrt(np.diagonal(V))
        if not default:
            return value, V, lambda at, t: t_bounds(value[at], se[at], t)
        margin, counted = np.asarray(margins @ T / T[-1]), self.counted
        if self.names[axis] in self.unprotected:
            n = self._effective * margin

            def as_in_a_domain(at: Codes, t: Array) -> Array:
                return self._score(value[at], se[at], t, counted[1 - axis].some(at % b), n[at // b])

            return value, V, as_in_a_domain
        # given a private variable, from the limits of cells and of its categories
        both = np.vstack([forms, margins])
        law = self.totals_law.of(Ratios(both, persons.repeat(len(both), axis=0)))
        W = checked(law.covariance).matrix()
        spread = np.sqrt(np.diagonal(W))

        def as_ratios(at: Codes, t: Array) -> Array:
            cell, row = cells[at], at // b
            other, n = len(cells) + row, np.full(at.shape, self._effective)
            below = self._score(margin[row], spread[other], t, counted[axis].some(row), n)
            above, p = self._limits(cell, t), self.linear.estimate[cell]
            return ratio_bounds(p, margin[row], paired(W, cell, other), above, below)

        return value, V, as_ratios

    def differences(
        self,
        on: str | None = None,
        reference: Any = None,
        alpha: float = 0.05,
        all_pairs: bool = False,
        method: str = "default",
    ) -> pd.DataFrame:
        """Conditional shares given each category of a variable, minus those given a reference.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.
        reference, alpha, all_pairs, method
            As for `WeightedResults.differences`, of categories and limits of `conditional`.

        Returns
        -------
        DataFrame, a row for each comparison and category of the other variable
            The columns of `WeightedResults.differences`.
        """
        self._refuse_more_than_two()
        alpha, axis = level(alpha), self._axis(on)
        own, other = self.labels[axis], self.labels[1 - axis]
        by, name = (self.names[v] for v in (axis, 1 - axis))
        if len(own) < 2:
            raise NotAvailable(f"differences need two categories: {by} has one only")
        k, law = len(other), self._conditionals(axis, method)
        df_of = lambda at: np.full(at.shape[1], self._freedom)  # noqa: E731
        return compared(
            (tuple((label,) for label in own), (by,)),
            other,
            name,
            (reference, all_pairs, partial(self._places, "reference", axis)),
            lambda pairs: difference_rows(pairs, k, law, df_of, alpha),
        )

    def ratio(
        self, numerator: Any, denominator: Any, alpha: float = 0.05, method: str = "default"
    ) -> pd.Series[float]:
        """Ratio of the totals of some cells to those of others.

        Parameters
        ----------
        numerator, denominator : tuple of labels, one of each variable, or list of such
            Cells, for example ("ill", "north").
        alpha, method
            As for `WeightedResults.ratio`.

        Returns
        -------
        Series
            "estimate", "se", "lower", "upper".
        """
        alpha, sets = level(alpha), np.zeros((2, len(self.index)))
        sets[0, self._cells("numerator", numerator)] = 1.0
        sets[1, self._cells("denominator", denominator)] = 1.0
        observed = len(self.unprotected) == len(self.names)
        row: pd.Series[float] = self._ratio(sets, observed, alpha, method, ["ratio"]).iloc[0]
        return row

    def _cells(self, name: str, given: Any) -> list[int]:
        """Places of one cell or several."""
        more = ", ..." * (len(self.sizes) > 2)
        remedy = f"must be a cell such as (first label, second label{more}), "
        remedy += "or a list of different ones"
        several = [given] if isinstance(given, tuple) else listed(name, given, remedy)
        places = []
        for cell in several:
            if not isinstance(cell, tuple) or len(cell) != len(self.sizes):
                raise InvalidArgument(name, given, remedy)
            at = tuple(self._places(name, v, label) for v, label in enumerate(cell))
            places.append(int(np.ravel_multi_index(at, self.sizes)))
        if not places or len(set(places)) < len(places):
            raise InvalidArgument(name, given, remedy)
        return places

    # -- some of the variables -----------------------------------------------------------------

    def collapse(self, names: str | Sequence[str], *more: str) -> WeightedTable:
        """The weighted table of some of three or more variables.

        It is that of a survey of these questions alone, over the respondents who answered all of
        those that the results are of.

        Parameters
        ----------
        names, *more : sequence of str, or several str
            As for `AssociationResults.collapse`.

        Raises
        ------
        InvalidArgument
            For names that are no such subset.

        Examples
        --------
        >>> import numpy as np, pandas as pd, ldpstats as ldp
        >>> rng = np.random.default_rng(3)
        >>> table = pd.DataFrame({"ill": rng.choice(["no", "yes"], 400), "sex": ["f", "m"] * 200,
        ...                       "old": rng.random(400) < 0.3, "w": rng.uniform(1, 3, 400)})
        >>> survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, weights="w")
        >>> results = survey.association("ill", "sex", "old")
        >>> results.collapse("ill", "sex")
        WeightedTable(inversion, ill x sex: 2 x 2, n=400)
        """
        keep = self._chosen(names, more)
        chosen, labels = [self.names[v] for v in keep], [self.labels[v] for v in keep]
        totals = self.totals_law.some(places_within(self.sizes, keep))
        q = prod(map(len, labels))
        shares = totals.of(cell_shares(q, len(totals.estimate), 1))
        linear = Uncertain(shares.value, checked(shares.covariance))
        every = self.parts or ()
        (own,) = (part for part in every if {*part.names} == {*chosen})
        order = [own.names.index(name) for name in chosen]
        channel = own.channel.reshape([len(self.labels[self.names.index(v)]) for v in own.names])
        dependence, given = own.dependence, own.dependence.given
        if given is not None:
            dependence = replace(dependence, given=tuple(given[v] for v in order))
        within = tuple(part for part in every if {*part.names} < {*chosen})
        return replace(
            self,
            fitted=linear,
            linear=linear,
            epsilon=own.epsilon,
            is_partial=own.is_partial,
            source_nobs=tuple(self.source_nobs[v] for v in keep),
            totals_law=totals,
            domains=replace(self.domains, channel=channel.transpose(order).reshape(-1)),
            listed=tuple(name for name in chosen if name in self.listed),
            counted=tuple(self.counted[v] for v in keep),
            dependence=dependence,
            parts=within or None,
            **self._of_some(keep),
        )

    # -- association -------------------------------------------------------------------------

    def _normal(self, alpha: float) -> float:
        if self._unknown.any():
            raise NotAvailable(
                "an effect in a sample of one sampling unit, or of strata of one unit, has no "
                "standard error: one unit does not show how shares vary"
            )
        return float(normal_level(np.array(self._freedom), level(alpha)))

    @property
    def independence(self) -> TestResult | None:
        """`test_independence`; None where there is nothing to test."""
        null = self.dependence.null
        return self.test_independence() if null is not None and null.is_testable else None

    def test_independence(self, method: str = "unbiased", effects: str = "null") -> TestResult:
        """Test that the variables are independent in what the population was drawn from.

        The statistic is Pearson's chi-square of the weighted table of reports (of decoded reports,
        where these are bits or hashes), the design that of a sample without corrections for finite
        populations: no finite population has exact independence. It is independence in the whole
        population, not within strata.

        Parameters
        ----------
        method : {"unbiased", "first", "first-chi2", "second", "second-chi2", "wald", \
"wald-adjusted"}
            All but the last two divide by the mean generalised design effect (Rao and Scott 1984).
            "first": with an F law on d and d nu degrees of freedom. "second": with the F law of the
            same mean and variance, as svychisq(statistic="F") of R's survey. "unbiased": the same
            law from unbiased estimates of its mean and variance. "-chi2": with chi-square laws,
            which reject too often where the design has few degrees of freedom nu. "wald" and
            "wald-adjusted": as svychisq(statistic="Wald") and "adjWald"; of the latter the size is
            .1 to .2 at .05, of the former more, unless units are many.
        effects : {"null", "observed"}
            Where design effects are estimated: under independence, or at the table of reports as
            observed, as R's survey has it (for labels only), which rejects too often in sparse
            tables.

        Returns
        -------
        TestResult
            Of F laws `df` is a pair.

        Raises
        ------
        NotAvailable
            If a variable has one category only, for "observed" without a table of labels, and for
            Wald tests on too few degrees of freedom.

        Notes
        -----
        Simulated sizes at .05, 3,000 samples each of 3 x 4 cells, k-RR or no noise, in ten designs
        of 4 to 50 degrees of freedom: "first" .050 to .080, "second" .018 to .080; at observed
        effects .052 to .093 and .025 to .074; "wald" up to .53, Pearson's uncorrected .13 to .38.
        1,000 samples each of 16 others of 4 to 240 degrees of freedom, fit and homogeneity as well:
        "unbiased" .031 to .072, "first" .039 to .097 (it ignores that effects are uneven), "second"
        .003 to .054.
        """
        method = one_of("method", method, tuple(METHODS))
        effects = one_of("effects", effects, ("null", "observed"))
        departure = self.dependence.null if effects == "null" else self.dependence.observed
        if departure is None:
            raise NotAvailable(f"effects={effects!r}: {self.dependence.why}")
        *most, last = self.names
        return departure.test(f"{', '.join(most)} and {last} are independent", method)

    def test_conditional_independence(self, given: str, method: str = "unbiased") -> TestResult:
        """Test that two variables are independent given the third (on three-way tables).

        A score statistic of the functions ``p_ijk p_..k - p_i.k p_.jk`` of the estimate, in their
        covariance under the hypothesis and simple random sampling, with the correction of Rao and
        Scott for the design.

        Parameters
        ----------
        given : str
            Name of the variable in the condition.
        method : str
            As for `test_independence`.

        Raises
        ------
        NotAvailable
            For other than three variables, and where there is nothing to test.

        Notes
        -----
        Simulated sizes at .05, 600 samples each of 2,000 respondents in 3 x 2 x 2 cells, two
        variables with k-RR: .033 with equal weights, .063 with weights of 1 to 2.5, .050 in strata,
        .052 in clusters; of `test_homogeneity` .032, .050, .035, .042, of `test_independence` .032,
        .052, .057, .057.
        """
        axis = self._given("given", given)
        first, second = (name for name in self.names if name != given)
        departure = (self.dependence.given or (None,) * 3)[axis]
        null = f"{first} and {second} are independent given {given}"
        return self._score_test(departure, null, method)

    def test_homogeneity(self, by: str, method: str = "unbiased") -> TestResult:
        """Test that the odds ratios of two variables are the same at every level of the third.

        A statistic of differences of log odds ratios, with the correction of Rao and Scott.

        Parameters
        ----------
        by : str
            Name of the variable whose levels are compared.
        method : str
            As for `test_independence`.

        Raises
        ------
        NotAvailable
            Where cells are too weak for odds ratios.
        """
        self._given("by", by)
        first, second = (name for name in self.names if name != by)
        refuse_weak_cells(self.linear.estimate, self.linear.known())
        null = f"the odds ratios of {first} and {second} are the same for every {by}"
        return self._score_test(self.dependence.alike, null, method)

    def _score_test(self, departure: RaoScott | None, null: str, method: str) -> TestResult:
        if departure is None:
            raise NotAvailable("the departures have no variance: there is nothing to test")
        test = departure.test(null, method)
        return replace(test, method=test.method.replace("Pearson's chi-square", "score test"))

    # -- presentation ------------------------------------------------------------------------

    def _heading(self) -> Heading:
        (name, left, right), own = super()._heading(), self._sample_pairs()
        right = [*right, *own[1], *self._not_protected()]
        return f"Weighted {name[:1].lower()}{name[1:]}", left + own[0], right

    def _interval_notes(self, *of: Any) -> list[str]:
        notes, test = super()._interval_notes(*of), self.independence
        if test is not None:
            notes += outcome_notes("Independence", test)
        for name in self.listed:
            notes.append(f"NOTE: the candidates of {name} are taken for all answers.")
        return notes
