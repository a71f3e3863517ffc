"""One privatised variable in several groups of respondents."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ldpstats.arguments.checks import one_of, positive_integer
from ldpstats.errors import (
    InvalidArgument,
    LDPWarning,
    MechanismMismatch,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators.base import Estimator
from ldpstats.inference.tests import TestResult
from ldpstats.mechanisms.observed import protect_some
from ldpstats.models.frequency.data import Data
from ldpstats.models.frequency.groups import missing_in, refuse_shared_persons, reports_in
from ldpstats.models.frequency.homogeneity import homogeneity
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.models.frequency.results import FrequencyResults
from ldpstats.models.grouped.results import GroupedResults
from ldpstats.models.posterior.engines import ENGINES
from ldpstats.models.posterior.frequency import checked_draws, checked_generator
from ldpstats.models.posterior.pooled import GroupedPosterior, pooled_posterior
from ldpstats.models.posterior.record import Origin
from ldpstats.models.shared.groups import Label, group_columns, labelled, worded
from ldpstats.models.shared.spelling import in_turn
from ldpstats.priors.pooling import Pooling
from ldpstats.problems.problem import Likelihood

__all__ = ["GroupedModel"]


class GroupedModel:
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
    candidates : sequence of str or CandidateMap, optional
        Values to look for; for mechanisms with an open alphabet only.
    incomplete : bool
        Whether other answers than the candidates are known to exist, see `FrequencyModel`.
    name : str, optional
        Name of the variable; that of the reports by default.
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
            if label not in self.empty:
                self.models[label] = _modelled(
                    worded(label, self.by), data, candidates, incomplete, name
                )
        self.n_missing = sum(map(missing_in, given.values()))
        _refuse_other_categories(
            {worded(label, self.by): model for label, model in self.models.items()}
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

        Returns
        -------
        GroupedResults

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
        equal, untested = self._test_equal()
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
        rng : numpy.random.Generator
            The same seed gives the same draws.
        prior : Pooling, optional
            See `ldpstats.priors.Pooling`, which is the default: a half-normal law of scale 1 for
            the standard deviation of log ratios between groups, a flat common distribution.
        draws : int
            Over all 16 chains, at least 160; rounded up to a multiple of 16.
        engine : {"hmc", "pymc"}
            The package's own Hamiltonian Monte Carlo, or PyMC's (extra `bayes`).

        Returns
        -------
        GroupedPosterior

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
        return pooled_posterior(
            {label: self._likelihood(label) for label in self.labels},
            {label: model.evidence.tables() for label, model in self.models.items()},
            first.categories,
            self.by,
            self._origin(repr(prior)),
            generator,
            prior,
            number,
            engine,
        )

    def _likelihood(self, label: Label) -> Likelihood | None:
        model = self.models.get(label)
        return None if model is None else model.likelihood()

    def _origin(self, prior: str) -> Origin:
        """What draws from the posterior are about."""
        mechanisms = [c.mechanism for model in self.models.values() for c in model.sources]
        return Origin(
            nobs=self.nobs,
            n_missing=self.n_missing,
            epsilon=max(mechanism.epsilon for mechanism in mechanisms),
            sources=tuple(dict.fromkeys(map(str, mechanisms))),
            prior=prior,
            name=self.name,
            is_partial=protect_some(mechanisms),
        )

    def _test_equal(self) -> tuple[TestResult | None, str]:
        """The test that all groups have the same distribution, or why there is none."""
        if len(self.models) < 2:
            return None, "there is one group only"
        try:
            return homogeneity(list(self.models.values()), "default"), ""
        except (NotAvailable, NotIdentified) as error:
            return None, str(error)


def _modelled(
    words: str, data: Any, candidates: Any, incomplete: bool, name: str | None
) -> FrequencyModel:
    """The model of one group; an error about its data names the group."""
    try:
        model = FrequencyModel(data, candidates, incomplete, name)
    except InvalidArgument as error:
        if error.name != "data":
            raise
        raise InvalidArgument(words, data, error.remedy) from None
    if model.unknown:
        raise NotAvailable(
            f"{words}: the unknown {in_turn(model.unknown)} and the frequencies are estimated from "
            "all groups together: FrequencyModel([counts of each device]).fit(); with known values "
            "use mechanism.at(...)"
        )
    return model


def _refuse_other_categories(models: Mapping[str, FrequencyModel]) -> None:
    """Refuse groups whose categories are not those of the first."""
    (first, model), *others = models.items()
    for words, other in others:
        if not other.categories.equals(model.categories):
            raise MechanismMismatch(
                f"{words} and {first} have different categories: groups that are "
                "compared need the same labels in the same order"
            )
