"""One privatised variable in several groups of respondents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, level, one_of, positive_integer, record
from ldpstats.errors import (
    InvalidArgument,
    LDPWarning,
    MechanismMismatch,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators.base import Estimator
from ldpstats.hints import Model, guided
from ldpstats.inference.tests import TestResult
from ldpstats.likelihood.rows import Likelihood
from ldpstats.mechanisms.base import protect_some
from ldpstats.models.frequency.answers import cell_law, difference_rows
from ldpstats.models.frequency.model import (
    Data,
    FrequencyModel,
    missing_in,
    refuse_shared_persons,
    reports_in,
)
from ldpstats.models.frequency.results import FrequencyResults, interval_kind
from ldpstats.models.frequency.samples import homogeneity
from ldpstats.models.layout import (
    PRESENCE,
    Frame,
    Heading,
    Pair,
    closing_notes,
    estimator_text,
    in_turn,
    interval_note,
    outcome_notes,
    resolution_notes,
    title,
)
from ldpstats.models.posterior.draws import (
    ENGINES,
    GroupedPosterior,
    checked_draws,
    pooled_posterior,
)
from ldpstats.models.posterior.results import Origin
from ldpstats.models.results import (
    ByGroup,
    Label,
    compared,
    group_columns,
    group_label,
    labelled,
    several_worded,
    stacked_index,
    user_label,
    worded,
)
from ldpstats.priors import Pooling, checked_generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpstats.models.small_areas import SmallAreas

_MOST_SOURCES = 4  # mechanisms that a header names
_MOST_GROUPS = 40  # groups that are shown and named, unless max_rows is more


class GroupedModel(Model):
    """Frequencies of the categories of one variable in several groups of respondents.

    Each group is fitted on its own, by `FrequencyModel`. Groups may have different mechanisms over
    the same categories.

    Parameters
    ----------
    groups : mapping of label to Reports, Counts or BitCounts, or to lists of them
        What was collected in each group; labels are text, numbers or truth values, or tuples of
        them where several columns make the groups. Groups must be of different persons. A group
        without a report is not fitted: `fit` warns, and the summary names it.
    by : str or sequence of str
        Names of the columns that make the groups, one for each value of a label.
    candidates, incomplete, name
        As for `FrequencyModel`.
    n_ungrouped : int
        Respondents who are in no group, because their group is not known; for the summary.

    Raises
    ------
    InvalidArgument
        If there is no group, no report, a label is of another kind, or two groups share persons.
    MechanismMismatch
        For groups over different categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
    >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
    >>> ldp.GroupedModel(groups, by="region").fit().params.round(3)
    region  category
    north   no          0.392
            yes         0.608
    south   no          0.716
            yes         0.284
    Name: params, dtype: float64
    """

    def __init__(
        self,
        groups: Mapping[Any, Data | Sequence[Data]],
        by: str | Sequence[str] = ("group",),
        candidates: Any = None,
        incomplete: bool = False,
        name: str | None = None,
        n_ungrouped: int = 0,
    ) -> None:
        self.by = group_columns(by)
        given = labelled(groups, self.by)
        self.n_ungrouped = positive_integer("n_ungrouped", n_ungrouped, 0)
        sizes = {label: reports_in(data) for label, data in given.items()}
        self.labels: tuple[Label, ...] = tuple(given)
        self.empty = tuple(label for label, size in sizes.items() if size == 0)
        if len(self.empty) == len(given):
            raise InvalidArgument("groups", len(given), "are without a single report")
        refuse_shared_persons({worded(label, self.by): data for label, data in given.items()})
        self.models: dict[Label, FrequencyModel] = {}
        for label, data in given.items():
            if label in self.empty:
                continue
            words = worded(label, self.by)
            try:
                model = FrequencyModel(data, candidates, incomplete, name)
            except InvalidArgument as error:
                if error.name != "data":
                    raise
                raise InvalidArgument(words, data, error.remedy) from None
            if model.unknown:
                raise NotAvailable(
                    f"{words}: the unknown {in_turn(model.unknown)} and the frequencies are "
                    "estimated from all groups together: FrequencyModel([counts of each device])"
                    ".fit(); with known values use mechanism.at(...)"
                )
            self.models[label] = model
        self.n_missing = sum(map(missing_in, given.values()))
        (first, model), *others = self.models.items()
        for label, other in others:
            if not other.categories.equals(model.categories):
                raise MechanismMismatch(
                    f"{worded(label, self.by)} and {worded(first, self.by)} have different "
                    "categories: groups that are compared need the same labels in the same order"
                )
        names = {model.name for model in self.models.values()}
        self.name = names.pop() if len(names) == 1 else ""

    def __repr__(self) -> str:
        by = ", ".join(self.by)
        return f"GroupedModel({len(self.models)} groups by {by}; n={self.nobs})"

    @property
    def nobs(self) -> int:
        """Number of reports in all groups."""
        return sum(model.nobs for model in self.models.values())

    def fit(self, method: str | Estimator[Any] | None = None, **how: Any) -> GroupedResults:
        """Estimate the frequencies in each group.

        Parameters
        ----------
        method : str or Estimator, optional
            As for `FrequencyModel.fit`.
        **how
            Its other arguments: `constraints`, `cov_type`, `progress`.

        Warns
        -----
        LDPWarning
            For groups without a report, which are not fitted; and whatever `FrequencyModel.fit`
            warns of in a group, with the group's label.
        """
        if self.empty:
            names = "; ".join(worded(label, self.by) for label in self.empty)
            warnings.warn(
                f"no report in the group {names}: it is not fitted", LDPWarning, stacklevel=2
            )
        fits: list[FrequencyResults] = []
        for label, model in self.models.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fits.append(model.fit(method, **how))
            for one in caught:
                warnings.warn(
                    f"{worded(label, self.by)}: {one.message}", one.category, stacklevel=2
                )
        equal, untested = None, "there is one group only"
        if len(self.models) > 1:
            try:
                equal, untested = homogeneity(list(self.models.values()), "default"), ""
            except (NotAvailable, NotIdentified) as error:
                untested = str(error)
        return GroupedResults(
            by=self.by,
            labels=tuple(self.models),
            fits=tuple(fits),
            equal=equal,
            untested=untested,
            empty=self.empty,
            n_missing=self.n_missing,
            n_ungrouped=self.n_ungrouped,
            name=self.name,
        )

    def fit_posterior(
        self,
        rng: np.random.Generator,
        prior: Pooling | None = None,
        draws: int = 4000,
        engine: str = "hmc",
    ) -> GroupedPosterior:
        """The posterior of the frequencies in all groups, with partial pooling, by draws.

        Groups are taken to be alike to an extent that the reports show: estimates of a small group
        move towards what the groups have in common, those of a large one hardly. A group without a
        report is predicted from the others.

        Parameters
        ----------
        rng, draws, engine
            As for `FrequencyModel.fit_posterior`.
        prior : Pooling, optional
            See `ldpstats.priors.Pooling`, which is the default: a half-normal law of scale 1 for
            the standard deviation of log ratios between groups, a flat common distribution.

        Raises
        ------
        InvalidArgument
            For an argument that is out of range.
        NotAvailable
            For sums of bits, which do not determine a likelihood; for candidates that are not all
            answers; for very many groups and categories.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
        >>> model = ldp.GroupedModel(groups | {"east": krr.counts([25, 25])}, by="region")
        >>> model.fit_posterior(np.random.default_rng(1)).params.round(1)
        region  category
        north   no          0.4
                yes         0.6
        south   no          0.7
                yes         0.3
        east    no          0.5
                yes         0.5
        Name: params, dtype: float64
        """
        engine = one_of("engine", engine, ENGINES)
        prior = Pooling() if prior is None else prior
        if not isinstance(prior, Pooling):
            remedy = "must be ldpstats.priors.Pooling(...), or None for its defaults"
            raise InvalidArgument("prior", prior, remedy)
        generator, number = checked_generator(rng), checked_draws(draws)
        first = next(iter(self.models.values()))
        if first.incomplete:
            raise NotAvailable(
                "the posterior of groups whose candidates are not all answers: reports of other "
                "answers have no known law; leave incomplete= out to take the list for complete"
            )
        mechanisms = [c.mechanism for model in self.models.values() for c in model.sources]
        origin = Origin(
            nobs=self.nobs,
            n_missing=self.n_missing,
            epsilon=max(mechanism.epsilon for mechanism in mechanisms),
            sources=tuple(dict.fromkeys(map(str, mechanisms))),
            prior=repr(prior),
            name=self.name,
            is_partial=protect_some(mechanisms),
        )
        likelihoods: dict[Label, Likelihood | None] = dict.fromkeys(self.labels)  # None if empty
        likelihoods |= {label: model.likelihood() for label, model in self.models.items()}
        return pooled_posterior(
            likelihoods,
            {label: model._tables() for label, model in self.models.items()},
            first.categories,
            self.by,
            origin,
            generator,
            prior,
            number,
            engine,
        )


# -- What a fit of several groups returns: the frequencies of each, and how the groups differ -----


@record
class GroupedResults(ByGroup):
    """Estimated frequencies of one privatised variable in several groups of respondents.

    Attributes
    ----------
    nobs, n_missing : int
        Reports in all groups, and their respondents who gave no answer.
    n_ungrouped : int
        Respondents who are in no group.
    empty : tuple
        Labels of the groups without a report, which were not fitted.
    equal : TestResult or None
        What `test_equal` returns; `untested` says why, where there is none.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
    >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
    >>> results = ldp.GroupedModel(groups, by="region").fit()
    >>> results
    GroupedResults(2 groups by region, k=2, n=2000)
    >>> results["south"].params.round(3).to_dict()
    {'no': 0.716, 'yes': 0.284}
    """

    by: tuple[str, ...]
    labels: tuple[Label, ...]
    fits: tuple[FrequencyResults, ...]
    equal: TestResult | None = None
    untested: str = ""
    empty: tuple[Label, ...] = ()
    n_missing: int = 0
    n_ungrouped: int = 0
    name: str = ""

    _format = "ldpstats-grouped-results"
    _tests_instead = (
        "groups are compared by differences() and test_equal(); results.results[group] has tests "
        "within one"
    )
    _document = (
        *("by", "labels", "fits", "equal", "untested", "empty"),
        *("nobs", "n_missing", "n_ungrouped", "name"),
    )

    def __repr__(self) -> str:
        by = ", ".join(self.by)
        k = len(self.categories)
        return f"GroupedResults({len(self.fits)} groups by {by}, k={k}, n={self.nobs})"

    def __len__(self) -> int:
        return len(self.fits)

    def __getitem__(self, label: Any) -> FrequencyResults:
        """The results of one group."""
        return self.fits[self._position("label", label)]

    @property
    def results(self) -> dict[Hashable, FrequencyResults]:
        """The results of each group, by its label."""
        return dict(zip(map(user_label, self.labels), self.fits, strict=True))

    @property
    def categories(self) -> pd.Index[Any]:
        """Labels of the categories, in order."""
        return self.fits[0].categories

    @property
    def nobs(self) -> int:
        """Number of reports in all groups."""
        return sum(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        return [fit.nobs for fit in self.fits]

    @property
    def sources(self) -> tuple[str, ...]:
        """The mechanisms of all groups, in words, each once."""
        return tuple(dict.fromkeys(source for fit in self.fits for source in fit.sources))

    @property
    def epsilon(self) -> float:
        """Privacy of a respondent's report, in nats; the largest."""
        return max(fit.epsilon for fit in self.fits)

    params = property(
        methodcaller("_stacked", attrgetter("params")),
        doc="Estimated frequencies by group and category.",
    )
    bse = property(
        methodcaller("_stacked", attrgetter("bse")),
        doc="Standard errors of `params`; nan, with an `LDPWarning`, where there are none.",
    )
    tvalues = property(
        methodcaller("_stacked", attrgetter("tvalues")),
        doc="Unconstrained estimates over their standard errors.",
    )

    def conf_int(self, alpha: float = 0.05, **how: Any) -> pd.DataFrame:
        """Confidence intervals of the frequencies, each from its own group.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        **how
            `method`, `clip`, `simultaneous` and `anytime` of `FrequencyResults.conf_int`;
            simultaneous intervals cover together within a group.

        Returns
        -------
        DataFrame, a row for each group and category
            Columns "lower" and "upper".

        Raises
        ------
        InvalidArgument
            For methods that need the data, which are for one group at a time.
        """
        method = how.get("method")
        if isinstance(method, str) and method in ("profile", "bootstrap"):
            remedy = "needs the data: fit one group by FrequencyModel"
            raise InvalidArgument("method", method, remedy)
        return self._stacked(methodcaller("conf_int", alpha, **how))

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates: the columns of `FrequencyResults.summary_frame`, group by group."""
        return self._stacked(methodcaller("summary_frame", alpha))

    # -- ordered answers -------------------------------------------------------------------

    def mean(self, scores: Any = None, alpha: float = 0.05) -> pd.DataFrame:
        """Mean score of each group: "estimate", "se", "lower", "upper", a row a group.

        As `FrequencyResults.mean`.
        """
        return self._by_group([fit.mean(scores, alpha) for fit in self.fits])

    def cumulative(self, alpha: float = 0.05) -> pd.DataFrame:
        """Cumulative frequencies of each group, as `FrequencyResults.cumulative`."""
        return self._stacked(methodcaller("cumulative", alpha))

    def quantile(self, q: Any, alpha: float = 0.05) -> pd.DataFrame:
        """Quantiles of each group, as `FrequencyResults.quantile`; a row for each q if several.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("low", "middle", "high"), epsilon=2.0)
        >>> groups = {"north": krr.counts([500, 300, 200]), "south": krr.counts([150, 250, 600])}
        >>> ldp.GroupedModel(groups).fit().quantile(0.5)["estimate"].to_dict()
        {'north': 'low', 'south': 'high'}
        """
        return self._by_group([fit.quantile(q, alpha) for fit in self.fits])

    # -- comparisons -----------------------------------------------------------------------

    def test_equal(self) -> TestResult:
        """The test that all groups have the same distribution, see `homogeneity_test`.

        Raises
        ------
        NotAvailable
            Where there is one group only, or the mechanisms leave nothing to test.
        """
        if self.equal is None:
            raise NotAvailable(f"no test that the groups are equal: {self.untested}")
        return self.equal

    def differences(
        self, reference: Any = None, alpha: float = 0.05, all_pairs: bool = False
    ) -> pd.DataFrame:
        """Frequencies of each group minus those of a reference group, or of every other.

        Parameters
        ----------
        reference : label, optional
            The group that the others are compared with; the first by default.
        alpha : float
            One minus the coverage of each interval.
        all_pairs : bool
            Compare every group with each before it, instead of with one reference.

        Returns
        -------
        DataFrame, a row for each comparison and category
            "estimate", "se", "lower", "upper" and "pvalue" of `TwoSampleResult.differences`, and
            "pvalue_holm": Holm's adjustment for all rows of the table; two categories that add up
            to one are one hypothesis. The rows are labelled by group and category; of all pairs by
            group, reference and category.

        Raises
        ------
        InvalidArgument
            If `reference` is not a group, or is given beside `all_pairs`.
        NotAvailable
            Where there is one group only, or estimates have no standard errors.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
        >>> differences = ldp.GroupedModel(groups, by="region").fit().differences()
        >>> differences.loc[("south", "yes"), ["estimate", "lower", "upper"]].round(3).to_dict()
        {'estimate': -0.325, 'lower': -0.418, 'upper': -0.231}
        """
        alpha, fits = level(alpha), self.fits
        if len(fits) < 2:
            raise NotAvailable("differences need two groups: there is one only")
        return compared(
            (self.labels, self.by),
            self.categories,
            self.name,
            (reference, all_pairs, partial(self._position, "reference")),
            lambda pairs: difference_rows([(fits[i], fits[j]) for i, j in pairs], alpha),
        )

    # -- small areas -----------------------------------------------------------------------

    @guided
    def small_areas(self, formula: str, data: Any, category: Any = None) -> SmallAreas:
        """Estimates of one category in many small groups, each helped by what the others tell.

        The model of Fay and Herriot: frequencies of areas follow a regression on covariates of the
        areas, but for a rest with the same variance in all. See `SmallAreas`.

        Parameters
        ----------
        formula : str
            Covariates of the areas, such as "~ poor + rural"; "~ 1" for none.
        data : DataFrame
            A row for each area, with columns (or an index) of the names in `by`. Areas without
            reports get the prediction of the model.
        category : label, optional
            Of which category; of two the second by default.

        Raises
        ------
        InvalidArgument
            For a formula that cannot be read, or a table that lacks an area, or a covariate of it.
        NotAvailable
            For fewer areas with reports than coefficients and three more; where estimates have no
            standard errors.
        NotIdentified
            For covariates that are collinear in the areas with reports.

        Examples
        --------
        >>> import pandas as pd, ldpstats as ldp
        >>> warner = ldp.Warner(epsilon=1.0)
        >>> groups = {i: warner.counts([60 - 2 * i, 40 + 2 * i]) for i in range(12)}
        >>> towns = pd.DataFrame({"town": range(14), "poor": range(14)})
        >>> areas = ldp.GroupedModel(groups, by="town").fit().small_areas("~ poor", towns)
        >>> areas.params[[0, 11, 13]].round(2).to_dict()
        {0: 0.28, 11: 0.76, 13: 0.85}
        """
        from ldpstats.models.small_areas import SmallAreas

        return SmallAreas.of(self, formula, data, category)

    def _direct(self, place: int) -> tuple[Array, Array, Array, Array]:
        """One category in each group, for small areas: estimates, laws, reports and weights, (g,).

        A law, (3,), is the variance as a polynomial in the frequency.
        """
        if any(fit.linear.at is not None for fit in self.fits):
            raise NotAvailable(
                "small areas after a selection of candidates: fit with method='inversion'"
            )
        estimates = np.array([fit.linear.estimate[place] for fit in self.fits])
        laws = np.array([cell_law(fit).variance[place] for fit in self.fits])
        n = np.array(self._sizes, dtype=np.float64)
        return estimates, laws, n, n

    # -- presentation ----------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        return self.name or "frequency"

    def _facts(self) -> dict[str, Any]:
        fits, methods = self.fits, dict.fromkeys(fit.method for fit in self.fits)
        df_model, aic = sum(fit.df_model for fit in fits), sum(fit.aic for fit in fits)
        return {
            "name": self.name,
            "mechanism": "; ".join(self.sources),
            "method": "; ".join(methods),
            "epsilon": self.epsilon,
            "nobs": self.nobs,
            "n_missing": self.n_missing,
            "n_ungrouped": self.n_ungrouped,
            "groups": len(fits),
            "k": len(self.categories),
            "df_model": df_model,
            "df_resid": self.nobs - df_model,
            "llf": sum(fit.llf for fit in fits),
            "aic": aic,
            "bic": aic + (float(np.log(self.nobs)) - 2.0) * df_model,
            "converged": all(fit.converged for fit in fits),
            "p_equal": np.nan if self.equal is None else self.equal.pvalue,
        }

    @property
    def is_partial(self) -> bool:
        """Whether epsilon protects the sensitive categories of some group only."""
        return any(fit.is_partial for fit in self.fits)

    def _rows(self, alpha: float, max_rows: int = 0) -> tuple[Frame, Frame]:
        """The rows of the groups that are shown: those with most reports, in their order."""
        most = np.argsort(-np.array(self._sizes), kind="stable")[: max(_MOST_GROUPS, max_rows)]
        fits = {place: self.fits[place] for place in sorted(most.tolist())}
        frames = [fit.summary_frame(alpha).iloc[fit.linear.places] for fit in fits.values()]
        frame = pd.concat(frames, keys=fits)
        return frame, frame

    def _largest(self, frame: Frame, max_rows: int) -> tuple[Frame, list[str]]:
        groups = [rows for _, rows in frame.groupby(level=0)]
        largest, notes = super()._largest, []
        if len(groups) < (g := len(self.fits)):
            notes.append(
                f"Shown: the {len(groups)} groups with most reports, of {g}; summary(max_rows={g}) "
                "shows all, summary_frame() has all."
            )
        if max_rows < (k := max(map(len, groups))):
            notes.append(f"Shown: the {max_rows} largest of {k} estimates in each group.")
        return pd.concat([largest(rows, max_rows)[0] for rows in groups]), notes

    def _places(self, shown: Frame) -> list[int]:
        return shown.index.get_level_values(0).tolist()

    def _heading(self) -> Heading:
        sources = self.sources
        head = "Mechanism:" if len(sources) == 1 else "Mechanisms:"
        if len(sources) > _MOST_SOURCES:
            sources = (f"{len(sources)} kinds",)
        heads = [head, *[""] * len(sources)]
        left: list[Pair] = list(zip(heads, sources, strict=False))
        left.append(("Estimator:", estimator_text(self.fits[0])))
        alike = len({fit.epsilon for fit in self.fits}) == 1
        right: list[Pair] = [("Groups:", len(self.fits)), ("No. Reports:", self.nobs)]
        right.append(("Missing:", self.n_missing))
        right.append(("Epsilon (nats):" if alike else "Epsilon, largest:", self.epsilon))
        return f"{title(self, unnamed='')} by {in_turn(self.by, len(self.by))}", left, right

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        places = frame.index.unique(0)
        kinds = "; or ".join(dict.fromkeys(interval_kind(self.fits[place]) for place in places))
        return [
            interval_note(alpha, f"{kinds}, within each group", uncut, source),
            f"p-value: {PRESENCE}.",
        ]

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        """The test that groups are equal, who is left out, and what to doubt in which group."""
        notes: list[str] = []
        places = frame.index.unique(0).tolist()
        if (test := self.equal) is not None:
            notes += outcome_notes("Same distribution in all groups", test)
        if self.empty:
            names = several_worded(self.empty, self.by, max(_MOST_GROUPS, len(places)))
            notes.append(f"NOTE: without a report, and not fitted: {names}.")
        if self.n_ungrouped:
            notes.append(f"NOTE: {self.n_ungrouped} respondents are in no group.")
        doubtful = 0
        for place, (label, fit) in enumerate(zip(self.labels, self.fits, strict=True)):
            own = resolution_notes(fit, fit.presence_pvalues)
            own += closing_notes(fit, fit.condition, fit.goodness_of_fit)
            if fit.caution:
                own.append(f"WARNING: {fit.caution}: tests and intervals do not keep their level.")
            if fit.is_incomplete:
                own.append("WARNING: the reports indicate that other answers exist.")
            words = worded(label, self.by)
            doubts = [note.removeprefix("WARNING: ") for note in own if note.startswith("WARNING")]
            if place not in set(places):
                doubtful += bool(doubts)
            elif details:
                notes += [f"{words}: {note}" for note in own]
            else:
                notes += [f"WARNING: {words}: {doubt}" for doubt in doubts]
        if doubtful:
            words = f"{doubtful} of the {len(self.fits) - len(places)} groups that are not shown"
            notes.append(
                f"WARNING: {words} have warnings: see the summary of each, such as "
                "results[label].summary()"
            )
        return notes

    def plot(
        self,
        alpha: float = 0.05,
        sort: bool | str | None = None,
        most: int = 25,
        title: str | None = None,
        figure: Any = None,
        category: Any = None,
        ax: Axes | None = None,
    ) -> Any:
        """Draw each group with its intervals on axes of its own, or one category on one axes.

        Parameters
        ----------
        alpha, sort, most, title
            As for `FrequencyResults.plot`, of categories by their means over groups, of which the
            first 24 are drawn.
        figure : matplotlib Figure or SubFigure, optional
            Where to draw; the figure gets the constrained layout.
        category : label, optional
            Draw this category only: a line for each group; `sort` and `most` are then of groups.
        ax : matplotlib Axes, optional
            Where to draw one category.

        Returns
        -------
        array of matplotlib Axes, shape (g,), or with `category` Axes

        Raises
        ------
        InvalidArgument
            If an argument is invalid, or `ax` is given without `category` or `figure` with it.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=1.0)
        >>> groups = {"north": krr.counts([450, 550]), "south": krr.counts([600, 400])}
        >>> ax = ldp.GroupedModel(groups, by="region", name="late").fit().plot(category="yes")
        >>> ax.get_title(), [label.get_text() for label in ax.get_yticklabels()]
        ('late: yes, by region', ['north, n = 1,000', 'south, n = 1,000'])
        """
        how: dict[str, Any] = {"sort": sort, "most": most, "title": title}
        return self._panels(level(alpha), category, ax, figure, **how)

    def _stacked(self, part: Callable[[Any], Any]) -> pd.DataFrame:
        """Series, or frames, of the groups with a row for every category of every group."""
        index = stacked_index(self.labels, self.categories, self.by, self.name)
        stacked: pd.DataFrame = pd.concat(list(map(part, self.fits))).set_axis(index)
        return stacked

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> GroupedResults:
        for name in ("labels", "empty"):
            labels = [group_label(label, values["by"]) for label in values[name]]
            values[name] = tuple(labels)
        return super()._restored(values)
