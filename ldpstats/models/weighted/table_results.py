"""The weighted table of two variables of a complex sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of, positive_integer
from ldpstats.arguments.labels import labels_from_json, labels_to_json, two_positions
from ldpstats.errors import NotAvailable
from ldpstats.inference.designs.intervals import Counted, normal_level
from ldpstats.inference.designs.rao_scott import METHODS
from ldpstats.inference.tables import effects
from ldpstats.inference.tables.effects import Effect
from ldpstats.inference.tests import TestResult
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.weighted.dependence import Dependence
from ldpstats.models.weighted.restoring import check_estimates, check_shapes
from ldpstats.models.weighted.table_shares import CrossedShares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["WeightedTable"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class WeightedTable(CrossedShares):
    """Weighted joint distribution of two privatised variables in a complex sample.

    `params` are shares of the population that the weights stand for, of the respondents with both
    answers. Standard errors hold the design and the randomisation of every respondent together;
    intervals have quantiles of the t law with the degrees of freedom of the design. The estimate is
    unconstrained and may leave [0, 1].

    Attributes
    ----------
    table : DataFrame, shape (a, b)
        The estimated shares; the first variable in rows, no margins.
    params, bse : Series, indexed by cell
        The same in a row for each cell, and their standard errors.
    names : tuple of str
        Names of the variables.
    labels : tuple of Index
        Categories of each variable.
    nobs, n_missing : int
        Respondents with both answers, and those of the domain without.
    lacking : tuple of int
        How many of these lacked each variable.
    unprotected : tuple of str
        Names of the variables that are answered without privacy (`Observed`).
    listed : tuple of str
        Names of the variables over candidates, which are taken for all answers.
    epsilon : float
        Privacy of both reports of one respondent together, in nats; infinite if none is protected.
    df : Series
        Degrees of freedom: units less strata that hold respondents with both answers.
    sample : SampleFacts
        The design in words, its numbers of strata and units, the sum of the weights.

    Methods
    -------
    conf_int, cov_params, t_test, wald_test
        Score intervals, covariances between cells, tests of linear hypotheses.
    totals, margins, conditional, differences, ratio
        Numbers of persons, distributions of one variable, in all or given the other, and their
        differences and ratios, with intervals.
    odds_ratio, cramers_v, departures
        Sizes of the association.
    test_independence
        Rao-Scott and Wald tests.
    deff
        Design effects in two factors, and the effective sample size.
    summary_frame, summary, plot, to_frame, glance, to_json, from_json
        All of it as a table, in print, as a figure, as data.

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

    lacking: tuple[int, ...]
    dependence: Dependence
    listed: tuple[str, ...] = ()

    _format = "ldpstats-weighted-table"
    _version = 1
    _required = frozenset(
        {"fit", "totals", "sample", "domains", "labels", "names", "dependence", "counted"}
    )

    def __repr__(self) -> str:
        a, b = self._shape
        names = " x ".join(self.names)
        return f"WeightedTable({self.method}, {names}: {a} x {b}, n={self.nobs})"

    # -- association -------------------------------------------------------------------------

    @names_alpha
    def odds_ratio(self, rows: Any, columns: Any, alpha: float = 0.05) -> Effect:
        """Odds of the first of two `columns` against the second, in the first row over the second.

        As `AssociationResults.odds_ratio`, with the covariance of the design and t quantiles.

        Parameters
        ----------
        rows, columns : sequence of two labels
        alpha : float
            One minus the coverage of the set.
        """
        i, j = (
            two_positions(name, given, own, self._remedy(axis))
            for axis, (name, given, own) in enumerate(
                zip(("rows", "columns"), (rows, columns), self.labels, strict=True)
            )
        )
        normal = self._as_normal(level(alpha))
        return replace(
            effects.odds_ratio(self.table, self.linear.known(), i, j, normal), alpha=alpha
        )

    @names_alpha
    def cramers_v(self, alpha: float = 0.05) -> Effect:
        """Cramer's V, freed of the bias that design and noise give it.

        As `AssociationResults.cramers_v`, with the covariance of the design and t quantiles; the
        lower end is above 0 exactly where `test_independence()` rejects at level `alpha`.
        """
        V, normal, null = self.linear.known(), self._as_normal(level(alpha)), self.dependence.null
        p = None
        if null is not None and null.is_testable:
            p = self._as_normal(float(np.clip(self.test_independence().pvalue, 1e-300, 1 - 1e-9)))
        return replace(effects.cramers_v(self.table, V, normal, p), alpha=alpha)

    def _as_normal(self, alpha: float) -> float:
        return float(normal_level(np.array(self._freedom), alpha))

    def departures(self) -> pd.DataFrame:
        """Departures from independence, p_ij - r_i c_j, in standard errors."""
        departure, se = effects.departures(self.table, self.linear.known())
        return self._grid(np.divide(departure, se, out=np.zeros_like(se), where=se > 0.0))

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
        found = self.dependence.null if effects == "null" else self.dependence.observed
        if found is None:
            raise NotAvailable(f"effects={effects!r}: {self.dependence.why}")
        return found.test(f"{self.names[0]} and {self.names[1]} are independent", method)

    # -- presentation ------------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        return " x ".join(self.names)

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"name": self._subject}

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The results as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Cells to show; the largest estimates where there are more.
        details : bool
            Also show how the estimate was computed.
        """
        from ldpstats.models.weighted.table_summary import table_summary

        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        null = self.dependence.null
        test = self.test_independence() if null is not None and null.is_testable else None
        return table_summary(
            self,
            self.names,
            test,
            lacking=self.lacking,
            unprotected=self.unprotected,
            listed=self.listed,
            alpha=alpha,
            max_rows=max_rows,
            details=boolean("details", details),
        ).layout()

    @names_alpha
    def plot(
        self,
        kind: str = "heatmap",
        ax: Axes | None = None,
        alpha: float = 0.05,
        title: str | None = None,
    ) -> Axes:
        """Draw the table with its uncertainty.

        Parameters
        ----------
        kind : {"heatmap", "departures"}
            Cells with their intervals; or coloured by departures from independence in standard
            errors.
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        title : str, optional
            "" for none; by default the variables and the number of respondents.
        """
        from ldpstats.models.association.plots import plot_heat_map
        from ldpstats.models.shared.axes import title_text

        kind = one_of("kind", kind, ("heatmap", "departures"))
        bounds = self.conf_int(level(alpha))
        words = title_text(title, f"{self.names[0]} and {self.names[1]}, n = {self.nobs:,}")
        low, high = (self._grid(bounds[end].to_numpy()) for end in ("lower", "upper"))
        z = self.departures() if kind == "departures" else None
        return plot_heat_map(self.table, low, high, ax, words, z)

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return super()._stored() | {
            "labels": [labels_to_json(own) for own in self.labels],
            "names": list(self.names),
            "lacking": list(self.lacking),
            "unprotected": list(self.unprotected),
            "listed": list(self.listed),
            "dependence": self.dependence.to_dict(),
            "counted": [own.to_json() for own in self.counted],
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> WeightedTable:
        labels = tuple(labels_from_json("labels", own) for own in document["labels"])
        found = cls(
            **cls._common(document),
            labels=labels,
            names=tuple(map(str, document["names"])),
            lacking=tuple(map(int, document["lacking"])),
            unprotected=tuple(map(str, document["unprotected"])),
            listed=tuple(map(str, document["listed"])),
            dependence=Dependence.from_dict(document["dependence"]),
            counted=tuple(map(Counted.from_json, document["counted"])),
        )
        a, b = map(len, labels)
        check_estimates(found.fit, {"totals": found.totals_law}, a * b, a * b + a + b + 1, 2)
        domains, (first, second) = found.domains, found.counted
        shapes = {"sizes": (domains.sizes, (1,)), "channel": (domains.channel, (a * b,))}
        shapes |= {"offset": (first.offset, (a,)), "scale": (first.scale, (a,))}
        shapes |= {
            "offset of columns": (second.offset, (b,)),
            "scale of columns": (second.scale, (b,)),
        }
        pairs = {"names": (np.array(found.names), (2,)), "lacking": (np.array(found.lacking), (2,))}
        check_shapes(shapes | pairs)
        return found
