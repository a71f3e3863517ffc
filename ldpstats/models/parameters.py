"""Frequencies and unknown parameters of devices, from several groups of respondents together.

`fit_parameters` estimates them by maximum likelihood: `DeviceGroups` has the counts, and refuses
devices whose laws leave something open. The goodness of fit is at the maximum of the
likelihood continued beyond [0, 1]; what lies outside is tested by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    boolean,
    level,
    one_of,
    record,
)
from ldpstats.cells import CellReports, Plain
from ldpstats.documents import Document, written
from ldpstats.errors import (
    ConvergenceWarning,
    InvalidArgument,
    LDPWarning,
    MisfitWarning,
    NotAvailable,
    NotIdentified,
)
from ldpstats.estimators.parametric import continued, maximum
from ldpstats.inference.intervals import edge_normal, wald
from ldpstats.inference.profiles import profile_intervals, signed_roots
from ldpstats.inference.regression import pearson
from ldpstats.inference.tails import chi2_pvalue, normal_pvalue
from ldpstats.inference.tests import TestResult
from ldpstats.labels import Codes, Labels, Mask
from ldpstats.likelihood.covariance import Covariance, Uncertain
from ldpstats.likelihood.parametric import (
    PolynomialMatrix,
    exact_jacobian,
    generic_point,
    unidentified,
    unidentified_exactly,
)
from ldpstats.mechanisms import DeviceMechanism, Mechanism, UnknownDevice
from ldpstats.mechanisms.base import told_apart
from ldpstats.models.layout import (
    Pair,
    closing_notes,
    in_turn,
    names_alpha,
    title,
)
from ldpstats.models.posterior.draws import parameters_posterior, parameters_prior
from ldpstats.models.posterior.results import Origin, PosteriorResults
from ldpstats.models.results import Results
from ldpstats.programs.laws import terms_of

MISFIT = 0.001  # p-value below which reports do not fit the devices


# -- The fit --------------------------------------------------------------------------------------


_CONVERGED = 1e-9  # slope per report
_IMPOSSIBLE = 1e-9  # probability of a report below which its information has no bound
_RARE = 5.0  # expected reports below which the chi-square law is rough


def fit_parameters(
    groups: DeviceGroups, name: str, n_missing: int, method: Any, constraints: Any, cov_type: str
) -> ParametersResults:
    """Frequencies and parameters by maximum likelihood, if no other values fit as well.

    See `FrequencyModel.fit`, which warns through it.
    """
    how = "mle" if method is None else method, cov_type
    plain = all(isinstance(own, str) for own in how) and how == ("mle", "default")
    if not plain or constraints is not None:
        raise NotAvailable(
            f"the unknown {in_turn(list(groups.names))} and the frequencies are estimated by "
            "maximum likelihood alone: leave out method=, constraints= and cov_type="
        )
    groups.check_identified()
    x, rivals, rounds, n_starts = maximum(groups.law, groups.reports)
    fitted = _joint_covariance(groups, x)
    if rivals and fitted.at is None:
        apart = np.flatnonzero(np.abs(rivals[0] - x) > 1e-3)
        shown = [f"{groups.index[j]} = {x[j]:.4g} or {rivals[0][j]:.4g}" for j in apart.tolist()]
        raise NotIdentified(
            f"two answers explain the reports equally well, {in_turn(shown)}: add a group of "
            "respondents with another device, or one whose parameters are known"
        )
    ahead, inside = continued(groups.law, groups.reports, x)
    linear = _joint_covariance(groups, ahead) if inside else Uncertain(ahead, None)
    gap, test = groups.gap(x), None
    # where the continued likelihood has its maximum the law holds at the boundary too
    if groups.df > 0:
        n, expected = groups.reports.n, groups.sizes * groups.law.mix(groups.reports, ahead)
        possible, least = expected > 0.0, float(expected.min())
        note = ""
        if least < _RARE:
            note = f"a report is expected {least:.2g} times only: the chi-square law is rough"
        test = TestResult.chi_square(
            "the devices, with the same frequencies and parameters in all groups, made the reports",
            pearson(n[possible], expected[possible]),
            groups.df,
            "Pearson chi-square of the reports",
            note,
        )
    results = ParametersResults(
        groups,
        test,
        fitted=fitted,
        linear=linear if linear.at is None else Uncertain(ahead, None),
        method="mle",
        settings="",
        cov_type="expected",
        nobs=int(groups.reports.n.sum()),
        n_missing=n_missing,
        epsilon=max(mechanism.epsilon for mechanism in groups.mechanisms),
        sources=groups.words,
        llf=groups.law.loglike(groups.reports, x),
        gap=gap,
        n_iter=rounds,
        converged=gap <= _CONVERGED,
        message=f"maximum of {n_starts} starts, slope {gap:.1e} nats per report",
        name=name,
        source_nobs=tuple(counts.nobs for counts in groups.sources),
    )
    misfit = results._outside_words()
    if test is not None and test.pvalue < MISFIT:
        misfit = (
            f"the reports do not fit these devices with common frequencies and parameters "
            f"(p = {test.pvalue:.2g}): were they drawn at random into groups that used them?"
        )
    unsettled, left_open = "", ""
    if not results.converged:
        unsettled = f"the fit did not converge: {results.message}"
    if left := results._left_open:
        left_open = f"at the estimate the reports leave {left} open: other values fit as well, and "
        left_open += "conf_int() says which"
    kinds = (unsettled, ConvergenceWarning), (left_open, LDPWarning), (misfit, MisfitWarning)
    for words, kind in kinds:
        if words:
            warnings.warn(words, kind, stacklevel=3)
    return results


def _joint_covariance(groups: DeviceGroups, x: Array) -> Uncertain:
    """An estimate with the inverse of the expected information, of rank k - 1 + m at most."""
    # where the laws leave some entries open at this point, the others have a covariance; there is
    # none where a report is impossible at this point alone: its information has no bound
    law, reports = groups.law, groups.reports
    k, d = law.k, law.size
    determined = ~unidentified([reports.devices[0]], x)
    at = None if determined.all() else np.flatnonzero(determined)
    m, J, _ = law.bent(reports, x)
    if J[:, m < _IMPOSSIBLE].any():
        return Uncertain(x, None, at)
    information = (J * np.where(m > 0.0, groups.sizes / np.where(m > 0.0, m, 1.0), 0.0)) @ J.T
    free = np.eye(d)[:, 1:] - np.outer(np.arange(d) == 0, np.arange(1, d) < k)
    inner = free.T @ information @ free
    scale = np.sqrt(np.maximum(np.diagonal(inner), 1e-300))
    whiten = free / scale
    V = whiten @ np.linalg.pinv(inner / np.outer(scale, scale), 1e-12, True) @ whiten.T
    V = V[np.ix_(determined, determined)]
    return Uncertain(x, Covariance.dense((V + V.T) / 2.0), at)


# -- Groups of respondents whose devices share unknown parameters ---------------------------------


_MOST_ENTRIES = 4_000_000  # of a channel matrix
_EXACT = 64  # frequencies and parameters up to which the rank is computed without rounding
_REMEDY = "add a group of respondents with another device, or one whose parameters are known"


@record
class DeviceGroups:
    """The counts of each device, over the same categories."""

    sources: tuple[Any, ...]  # Counts, one a mechanism, of which one has unknown parameters
    labels: tuple[str, ...] = ()  # of the groups, "" for one without; or none at all

    def __post_init__(self) -> None:
        for mechanism in self.mechanisms:
            if mechanism.n_bits or mechanism.n_cohorts or mechanism.is_open:
                raise NotAvailable(
                    f"{mechanism} reports bits or cohorts: together with unknown parameters only "
                    "devices whose reports are labels can be fitted"
                )
            k, l = mechanism.k, mechanism.n_outputs  # noqa: E741
            if k * l > _MOST_ENTRIES:
                raise NotAvailable(
                    f"{mechanism} has {k} x {l} probabilities: unknown parameters are estimated "
                    f"for at most {_MOST_ENTRIES:,}; use fewer categories"
                )
        for name in self.names:
            if name in set(self.categories):
                remedy = "is a category too: give the unknown parameter another name"
                raise InvalidArgument("unknown", name, remedy)
        for counts, Q in zip(self.sources, self._matrices, strict=True):
            seen = np.flatnonzero((counts.vector() > 0) & ~Q.possible)
            if seen.size:
                labels = counts.mechanism.outputs[seen].tolist()
                remedy = f"were reported, but no category of {counts.mechanism} can make them"
                raise InvalidArgument("counts", labels, remedy)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The unknown parameters, in the order in which the groups name them."""
        return tuple(dict.fromkeys(n for c in self.sources for n in c.mechanism.unknown))

    @property
    def categories(self) -> Labels:
        """The true answers."""
        labels: Labels = self.sources[0].mechanism.categories
        return labels

    @cached_property
    def index(self) -> Labels:
        """Labels of the estimates: the categories, then the parameters."""
        return pd.Index([*self.categories.tolist(), *self.names], dtype=object)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The device of each group."""
        return tuple(counts.mechanism for counts in self.sources)

    @property
    def words(self) -> tuple[str, ...]:
        """Each group in words: its name, if it has one, and its device."""
        labels = self.labels or [""] * len(self.sources)
        pairs = zip(labels, told_apart(self.mechanisms), strict=True)
        return tuple(f"{label}: {mech}" if label else mech for label, mech in pairs)

    @cached_property
    def _matrices(self) -> tuple[PolynomialMatrix, ...]:
        return tuple(polynomial_matrix(mech, self.names) for mech in self.mechanisms)

    @cached_property
    def reports(self) -> CellReports:
        """The reports of all groups, one after another, that some category can make."""
        whole = PolynomialMatrix.beside(self._matrices)
        Q, n = whole.take(whole.possible), np.concatenate([c.vector() for c in self.sources])
        n = n[whole.possible].astype(float)
        W = np.full((len(n) + 1, len(self.categories)), np.nan)
        return CellReports((W,), np.arange(len(n))[:, None], n, np.zeros((len(n), 0)), {0: Q})

    @cached_property
    def law(self) -> Plain:
        """Frequencies and parameters as themselves."""
        return Plain(len(self.categories), len(self.names))

    @cached_property
    def group(self) -> Codes:
        """The group of each report of `reports`, (u,)."""
        lengths = [int(Q.possible.sum()) for Q in self._matrices]
        return np.repeat(np.arange(len(lengths)), lengths)

    @property
    def sizes(self) -> Array:
        """For each report how many its group made, (u,)."""
        return np.bincount(self.group, self.reports.n)[self.group]

    def gap(self, x: Array) -> float:
        """``max score . (z - x) / nobs`` over all z in [0, 1]: what a first step could gain.

        Zero at a stationary point, which need be no global maximum.
        """
        n, k = self.reports.n, len(self.categories)
        m, pull = self.law.at(self.reports, x)
        score = pull(np.where(n > 0.0, n / np.where(n > 0.0, m, 1.0), 0.0))
        gain = score[:k].max() - score[:k] @ x[:k]
        gain += np.maximum(score[k:] * (1.0 - x[k:]), -score[k:] * x[k:]).sum()
        return max(0.0, float(gain / n.sum()))

    @property
    def df(self) -> int:
        """Free probabilities of the reports, less what is estimated: those that are left to test.

        Negative where more is estimated than the reports have probabilities.
        """
        return len(self.reports.n) - len(self.sources) - (len(self.index) - 1)

    def fit_posterior(
        self, rng: Any, prior: Any, draws: Any, engine: Any, origin: Origin
    ) -> PosteriorResults:
        """Draw from the posterior of frequencies and parameters; see `FrequencyModel`."""
        own = parameters_prior(prior, self.names)
        if not set(own.given) & set(self.index[self._open]):  # a prior tells what is open
            example = f"{{'{self.names[0]}': Beta(2, 18)}}"
            self.check_identified(f"; or give what is known of a parameter, prior={example}, say")
        origin = replace(origin, subject="Frequencies and parameters")
        how = origin, rng, own, draws, engine
        return parameters_posterior(self.law, self.reports, self.group, self.index, *how)

    def check_identified(self, remedy: str = "") -> None:
        """Refuse reports whose laws leave a frequency or a parameter open."""
        open_ = self._open
        if not open_.any():
            return
        k = len(self.categories)
        words = [f"the frequency of {v!r}" for v in self.index[:k][open_[:k]].tolist()]
        words = [f"the unknown {name}" for name in self.index[k:][open_[k:]]] + words
        devices = "these devices together"
        if len(self.sources) == 1:
            own = f"the cohort {self.labels[0]}" if self.labels else "this group"
            devices = f"the device of {own}" + ", the only one with reports" * bool(self.labels)
        raise NotIdentified(
            f"{in_turn(words)} cannot be estimated from the reports of {devices}: other values "
            f"give the reports the same law; {_REMEDY}{remedy}"
        )

    @cached_property
    def _open(self) -> Mask:
        """Frequencies and parameters that the laws leave open at a generic point."""
        devices = [one for one in self.mechanisms if isinstance(one, DeviceMechanism)]
        # exponents and exact coefficients of channel matrices without rounded entries
        terms = [found for one in devices if (found := terms_of(one.exact, self.names)) is not None]
        k = len(self.categories)
        if len(self.index) > _EXACT or len(terms) < len(self.mechanisms):
            return unidentified([self.reports.devices[0]])
        point = generic_point(k, len(self.names))
        return unidentified_exactly([exact_jacobian(*own, *point) for own in terms], k)

    def to_dict(self) -> dict[str, Any]:
        """Specifications and counts as plain JSON types."""
        counts = tuple(own.vector() for own in self.sources)
        missing = tuple(own.n_missing for own in self.sources)
        return written(_StoredGroups(self.mechanisms, counts, missing, self.labels or None))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> DeviceGroups:
        """Inverse of `to_dict`."""
        own = _StoredGroups.from_dict(document)
        labels = own.labels or ()
        fields = own.mechanisms, own.counts, own.missing
        sizes = [*map(len, (*fields, labels or own.mechanisms))]
        if len(set(sizes)) > 1 or not own.mechanisms:
            raise InvalidArgument("groups", sizes, "must be as many of each field, one or more")
        parts = zip(*fields, strict=True)
        return cls(tuple(replace(m.counts(n), n_missing=lost) for m, n, lost in parts), labels)


@dataclass(frozen=True)
class _StoredGroups(Document):
    """What a document has of groups, one element a group."""

    mechanisms: tuple[Mechanism, ...]
    counts: tuple[npt.NDArray[np.integer[Any]], ...]
    missing: tuple[int, ...]
    labels: tuple[str, ...] | None = field(default=None, metadata={"later": True})


def polynomial_matrix(mechanism: Mechanism, names: Sequence[str]) -> PolynomialMatrix:
    """The channel matrix of a mechanism, in these parameters."""
    if isinstance(mechanism, UnknownDevice):
        return mechanism.polynomials(names)
    return PolynomialMatrix.constant(mechanism.channel().matrix(), len(names))


# -- Results --------------------------------------------------------------------------------------


_MOST_PROFILES = 40  # frequencies and parameters up to which intervals are profiles by default


@record
class ParametersResults(Results):
    """Estimated frequencies and unknown parameters of devices.

    `params` maximise the likelihood over frequencies that sum to one and parameters in [0, 1].
    `linear_params` are where the likelihood, continued beyond [0, 1] as far as every report stays
    possible, has its maximum: the same inside, and the one whose distance from the truth keeps its
    law at the boundary. `conf_int`, `pvalues`, `t_test` and `wald_test` rest on it.

    The likelihood is not concave. `params` are the best of several starts, and `gap` certifies that
    no step from them gains, not that no other point does; fits that two points explain equally well
    are refused.

    Attributes
    ----------
    params : Series, shape (k + m,)
        Frequencies by category, then the parameters by name.
    frequencies, parameters : Series
        The two parts of `params`.
    bse : Series
        Standard errors of `params` from the expected information; nan for what the reports leave
        open at the estimate, as the honesty of carriers where the estimate has no carriers.
    goodness_of_fit : TestResult or None
        Pearson's chi-square of the reports, where degrees of freedom remain.
    llf, nobs, n_missing, converged, message
        As for other results.

    Examples
    --------
    Cheating detection: two groups throw the die of the same design with different forced answers.

    >>> import ldpstats as ldp
    >>> from ldpstats.devices import flip, truth, unknown
    >>> cheats = flip(unknown("cheating"))
    >>> first, second = (
    ...     cheats.when({"heads": "no", "tails": flip(q).when({"heads": "yes"}, otherwise=truth)})
    ...     .mechanism(("no", "yes"))
    ...     for q in (.25, .6)
    ... )
    >>> groups = [first.counts([420, 180]), second.counts([280, 320])]
    >>> results = ldp.FrequencyModel(groups).fit()
    >>> results.params.round(4)
    no          0.8333
    yes         0.1667
    cheating    0.2000
    Name: params, dtype: float64
    >>> results.conf_int().loc["cheating"].round(3).tolist()
    [0.105, 0.296]
    """

    groups: DeviceGroups
    goodness_of_fit: TestResult | None = None

    _format = "ldpstats-parameters-results"
    _document = (
        *("method", "settings", "cov_type", "nobs", "n_missing", "n_iter", "converged", "message"),
        *("llf", "gap", "epsilon", "fitted", "linear", "name", "sources", "source_nobs"),
        *("goodness_of_fit", "groups"),
    )

    def __repr__(self) -> str:
        names = ", ".join(self.groups.names)
        return f"ParametersResults(mle, k={len(self.categories)}, {names}; n={self.nobs})"

    @property
    def df_model(self) -> int:
        """Frequencies and parameters that vary freely: the frequencies sum to one."""
        return int(self.fitted.estimate.size) - 1

    @property
    def gap_nats(self) -> float:
        """What a first step could gain at most: `gap` of all reports."""
        return self.nobs * self.gap

    @property
    def categories(self) -> Labels:
        """The true answers."""
        return self.groups.categories

    @property
    def index(self) -> Labels:
        return self.groups.index

    @property
    def frequencies(self) -> pd.Series[float]:
        """Estimated frequencies by category."""
        values = self.fitted.estimate[: len(self.categories)]
        return pd.Series(values, index=self.categories, name="frequencies")

    @property
    def parameters(self) -> pd.Series[float]:
        """Estimated parameters by name."""
        values = self.fitted.estimate[len(self.categories) :]
        return pd.Series(values, index=pd.Index(self.groups.names), name="parameters")

    @property
    def undetermined(self) -> Labels:
        """What the reports leave open at the estimate: its standard error is nan."""
        at = self.fitted.at
        return self.index[:0] if at is None else self.index.delete(at)

    @property
    def _left_open(self) -> str:
        left = [str(label) for label in self.undetermined]
        return in_turn(left) if left else ""

    # -- intervals and tests -----------------------------------------------------------------

    @names_alpha
    def conf_int(
        self, alpha: float = 0.05, method: str = "default", clip: bool = True
    ) -> pd.DataFrame:
        """Confidence intervals of frequencies and parameters.

        Parameters
        ----------
        alpha : float
            One minus the coverage of each interval.
        method : {"default", "profile", "wald"}
            "profile": the values that a likelihood ratio test does not reject; the likelihood is
            continued beyond [0, 1], so that its ratio keeps its law at the boundary, and the
            interval is cut. One that lies wholly outside gets a limit inside, at which the estimate
            is alpha/2 times as likely as at the edge. "wald": `linear_params` plus or minus normal
            quantile times standard error. "default" is "profile" for up to 40 frequencies and
            parameters, else "wald".
        clip : bool
            Cut Wald intervals to [0, 1]; profiles always are.

        Returns
        -------
        DataFrame, shape (k + m, 2)
            Columns "lower" and "upper".
        """
        alpha, clip = level(alpha), boolean("clip", clip)
        method = one_of("method", method, ("default", "profile", "wald"))
        if method == "default":
            method = self.default_intervals
        how = self.linear.estimate, self.linear.bse(), alpha
        if method == "profile":
            if alpha not in self._profiles:
                groups = self.groups
                self._profiles[alpha] = profile_intervals(groups.law, groups.reports, *how)
            bounds = self._profiles[alpha].copy()
        else:
            self._check_errors()
            bounds = np.asarray(wald(*how))
            if clip:
                bounds = np.asarray(edge_normal(bounds, *how))
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    @property
    def default_intervals(self) -> str:
        """What `conf_int` gives by default: "profile" or "wald"."""
        return "profile" if self.k <= _MOST_PROFILES else "wald"

    @cached_property
    def _profiles(self) -> dict[float, Array]:
        """Intervals by level: profiles take time, and a summary shows them again."""
        return {}

    def _check_errors(self) -> None:
        """Refuse Wald statistics where the continued likelihood has no regular maximum."""
        if self.linear.covariance is None or self._left_open:
            why = f": the reports leave {self._left_open} open" if self._left_open else ""
            raise NotAvailable(
                f"the unconstrained estimate has no covariance{why}; method='profile' rests on the "
                "likelihood alone"
            )

    def t_test(self, hypothesis: Any) -> Any:
        self._check_errors()
        return super().t_test(hypothesis)

    def wald_test(self, hypothesis: Any) -> TestResult:
        self._check_errors()
        return super().wald_test(hypothesis)

    t_test.__doc__ = Results.t_test.__doc__
    wald_test.__doc__ = Results.wald_test.__doc__

    @cached_property
    def _zero_roots(self) -> Array:
        return signed_roots(self.groups.law, self.groups.reports, self.linear.estimate)

    def presence_pvalues(self) -> pd.Series[float]:
        """One-sided p-values of a frequency or parameter of 0 against one above it.

        From the signed root of the likelihood ratio; not adjusted for their number.
        """
        return self._series(normal_pvalue(self._zero_roots, "larger"), "presence_pvalues")

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values of a frequency or parameter of 0, by the likelihood ratio."""
        return self._series(normal_pvalue(self._zero_roots, "two-sided"), "pvalues")

    # -- presentation ------------------------------------------------------------------------

    @property
    def _has_intervals(self) -> bool:
        return True

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        frame = self._estimates_frame(level(alpha))
        return frame.assign(presence_pvalue=self.presence_pvalues())

    def _facts(self) -> dict[str, Any]:
        test = self.goodness_of_fit
        more: dict[str, Any] = {"k": len(self.categories), "n_parameters": len(self.groups.names)}
        more["goodness_pvalue"] = np.nan if test is None else test.pvalue
        return super()._facts() | more

    def _largest(self, frame: pd.DataFrame, max_rows: int) -> tuple[pd.DataFrame, list[str]]:
        k = len(self.categories)
        shown, note = super()._largest(frame.iloc[:k], max_rows)
        return pd.concat([shown, frame.iloc[k:]]), note  # all parameters

    def _heading(self) -> tuple[str, list[Pair], list[Pair]]:
        _, left, right = super()._heading()
        left[-1:] = [("Categories:", len(self.categories))]
        left.append(("Unknown parameters:", len(self.groups.names)))
        return title(self, "Frequencies and parameters"), left, right

    def _interval_words(self) -> tuple[str, str]:
        kind = {"profile": "profile likelihood", "wald": "Wald"}[self.default_intervals]
        return kind, "of a value of 0 against one above, by the likelihood ratio, not adjusted"

    def _notes(self, frame: pd.DataFrame, details: bool = False) -> list[str]:
        quoted = in_turn([f"{name!r}" for name in self.groups.names])
        notes = [f"Epsilon: the largest for any value of {quoted} between 0 and 1."]
        if self._left_open:
            notes.append(
                f"WARNING: at this estimate the reports leave {self._left_open} open: "
                "other values fit as well. Only the intervals say what is known of it."
            )
        elif self.linear.covariance is None:
            notes.append(
                "WARNING: the unconstrained estimate has no standard errors: rely on the intervals."
            )
        values = self.fitted.estimate
        at_bound = frame.index[(values <= 0.0) | (values >= 1.0)]
        if len(at_bound):
            notes.append(
                f"NOTE: the estimate of {in_turn(list(map(str, at_bound)))} is on the boundary; "
                "the intervals keep their coverage there, standard errors do not."
            )
        if outside := self._outside_words():
            notes.append(f"WARNING: {outside}.")
        return [*notes, *closing_notes(self, 1.0, self.goodness_of_fit)]

    def _outside_words(self) -> str:
        """What to say of an unconstrained estimate too far outside [0, 1] for chance; else "".

        The goodness of fit does not see it, since its reports are fitted without the bounds. The
        law of the likelihood ratio on the boundary is a mixture of chi-square laws with up to
        k - 1 + m degrees of freedom: that with the most bounds the p-value.
        """
        law, reports = self.groups.law, self.groups.reports
        rise = law.loglike(reports, self.linear.estimate) - self.llf
        if float(chi2_pvalue(max(0.0, 2.0 * rise), float(self.df_model))) >= MISFIT:
            return ""
        values = self.linear_params
        out = values[(values < 0.0) | (values > 1.0)].index
        return (
            f"the unconstrained estimate of {in_turn(list(map(str, out)))} is further outside "
            f"[0, 1] than chance explains (p < {MISFIT}): check the devices, and that respondents "
            "were drawn at random into groups"
        )
