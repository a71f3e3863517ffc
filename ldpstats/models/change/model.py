"""Fit the change between two waves of the same respondents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpstats.arguments.checks import boolean
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.estimators.base import Estimator
from ldpstats.models.association import estimates
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.variables import (
    prepared,
    refuse_shared,
    together,
    variable_names,
)
from ldpstats.models.change.estimates import change_fit, homogeneity
from ldpstats.models.change.law import change_law, pair_features, turnover_law
from ldpstats.models.change.record import Changes
from ldpstats.models.change.results import ChangeResults
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

if TYPE_CHECKING:
    from ldpstats.models.weighted.results import WeightedResults

__all__ = ["change", "change_between"]

_WAVES = ("first", "second")
_FEWEST = 10  # respondents whose reports show the variance of a change of the margins


def change(
    first: Any,
    second: Any,
    name: str | None = None,
    waves: Sequence[str] | None = None,
    candidates: Any = None,
    method: str | Estimator[Any] | None = None,
    memoised: bool | None = None,
) -> ChangeResults | WeightedResults:
    """Change of the frequencies between two waves of the same respondents.

    Parameters
    ----------
    first, second : Reports, or pairs (Reports, mask)
        Reports of the same respondents in two waves, over the same categories; mechanisms and
        epsilon may differ. They are matched by their identifiers (`Reports.ids`), else row by row;
        a mask, bool of shape (N,), says which of N rows the reports are of. Respondents without
        both are left out and counted.
    name : str, optional
        Name of the variable; that of the reports by default, if they share one.
    waves : sequence of str, optional
        Names of the two waves; by default those of the reports, if they differ, or "first" and
        "second".
    candidates : sequence, optional
        Categories to keep; all others become one, "Other". Needed over an open alphabet.
    method : str or Estimator, optional
        As in `AssociationModel.fit`: the estimator of the joint distribution, which `params` come
        from. Intervals and tests do not depend on it, unless moments are asked for by name.
    memoised : bool, optional
        Whether both reports of a person rest on one permanent response that her device keeps, as
        RAPPOR's client does with f > 0, and some devices do with the first step of
        ``first >> second``. By default waves that may (`Mechanism.permanent`) are refused. False
        says that devices drew each report afresh. True compares the margins alone, which needs no
        law of both reports together: no turnover, and no one's moves.

    Returns
    -------
    ChangeResults; with ``memoised=True`` WeightedResults
        The latter has the frequencies of both waves, with standard errors that know that they are
        of the same persons: its `differences()` are the changes.

    Raises
    ------
    InvalidArgument
        If an argument is not `Reports`, both are the same object, the respondents do not match, or
        there is no report.
    MechanismMismatch
        For waves over different categories; with ``memoised=True`` also for other mechanisms.
    NotAvailable
        Where two reports of a person may come from one permanent response.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=3.0)
    >>> first = ldp.Reports([0, 0, 1, 1, 0], krr, ids=["a", "b", "c", "d", "e"])
    >>> second = ldp.Reports([1, 0, 1, 1], krr, ids=["d", "b", "e", "a"])
    >>> results = ldp.change(first, second, name="smokes")
    >>> results
    ChangeResults(mle, first to second: k=2, n=4)
    >>> results.n_missing
    1

    A device that keeps the first of two steps shows it in both waves:

    >>> twice = krr >> krr
    >>> waves = [ldp.Reports(codes * 50, twice) for codes in ([0, 0, 1, 1, 0], [0, 1, 1, 1, 0])]
    >>> margins = ldp.change(*waves, memoised=True)
    >>> margins.differences()["estimate"].round(3).tolist()
    [-0.244, 0.244]
    """
    _check_name(name)
    return change_between(together((first, second)), name, waves, candidates, method, memoised)


def change_between(
    counts: JointCounts,
    name: str | None = None,
    waves: Sequence[str] | None = None,
    candidates: Any = None,
    method: str | Estimator[Any] | None = None,
    memoised: bool | None = None,
    *,
    lost: tuple[int, int] = (0, 0),
) -> ChangeResults | WeightedResults:
    """Change between two variables of the same respondents, from their counts; see `change`.

    `lost` are the persons who are in one wave only, and not in the counts.
    """
    _check_name(name)
    known = [part.name for part in counts.reports]
    same = known[0] == known[1]
    names = _wave_names(waves, _WAVES if same or not all(known) else known)
    if candidates is None:
        _same_categories(counts.mechanisms)
    called = known[0] * same if name is None else name
    if memoised is not None and boolean("memoised", memoised):
        if method is not None:
            raise InvalidArgument("method", method, "goes without memoised=True: leave it out")
        return margins_alone(counts, names, candidates, called)
    refuse_shared([counts], names, memoised, "change", ["wave", "wave"])
    lists, other = (None, False) if candidates is None else ([candidates] * 2, True)
    model = AssociationModel(counts, candidates=lists, other=other, names=names, memoised=False)
    joint = model.fit(method)
    if not joint.labels[0].equals(joint.labels[1]):
        raise _other_categories(*counts.mechanisms)
    problem = estimates.rests_on(model.evidence, joint.linear)
    pairs = None if problem is None else pair_features(model.evidence, problem)
    law = None if pairs is None else change_law(pairs)
    fit = change_fit(joint, law, called)
    turnover = None if pairs is None else turnover_law(pairs)
    test = homogeneity(fit, names, pairs, law)
    return ChangeResults(fit, joint, Changes(law, turnover, test, lost))


def margins_alone(
    counts: JointCounts, waves: tuple[str, ...], candidates: Any, name: str
) -> WeightedResults:
    """The frequencies of both waves, the two reports of a person being one sampling unit."""
    from ldpstats.inference.designs.sample import Sample, Stage
    from ldpstats.models.weighted.model import WeightedModel
    from ldpstats.models.weighted.record import SampleFacts

    first, second = counts.reports
    if first.mechanism != second.mechanism:
        raise MechanismMismatch(
            f"memoised=True compares waves of one mechanism, not {first.mechanism} and "
            f"{second.mechanism}: fit each wave alone by FrequencyModel"
        )
    n = counts.nobs
    if n < _FEWEST:
        remedy = f"must be at least {_FEWEST}: fewer show no variance of the change"
        raise InvalidArgument("respondents with both reports", n, remedy)
    rows = np.repeat(np.arange(len(counts.n)), counts.n)
    parts = [part[rows] for part in counts.reports]
    cohort = None if first.cohort is None else np.concatenate([part.cohort for part in parts])
    y = np.concatenate([part.y for part in parts])
    both = Reports(y, first.mechanism, counts.n_missing, cohort, name)
    if candidates is not None and not both.mechanism.is_open:
        (both,), _ = prepared([both], candidates, True, name or "the variable")
        candidates = None
    person, wave = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
    none, ones = np.zeros(1), np.ones(2 * n)
    stage = Stage(person, np.zeros(n, np.int64), none + n, none + np.inf, none.astype(int), ["all"])
    words = "both reports of a person together"
    facts = SampleFacts(words, "linearisation", 1, n, 2 * n, 2.0 * n, 1.0, n - 1.0)
    model = WeightedModel(
        Sample((stage,), ones, ones, ones),
        facts,
        both,
        np.arange(2 * n),
        wave,
        ("wave",),
        tuple((label,) for label in waves),
        name,
        candidates,
    )
    return model.fit()


def _check_name(name: object) -> None:
    if not isinstance(name, str | None):
        raise InvalidArgument("name", name, "must be text: the name of the variable")


def _wave_names(waves: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    try:
        return variable_names(waves, 2, known)
    except InvalidArgument:
        raise InvalidArgument("waves", waves, "must be two different names") from None


def _same_categories(mechanisms: Sequence[Any]) -> None:
    first, second = mechanisms
    if not (first.is_open or second.is_open or first.labels().equals(second.labels())):
        raise _other_categories(first, second)


def _other_categories(first: Any, second: Any) -> MechanismMismatch:
    return MechanismMismatch(
        f"{first} and {second} have different categories: both waves need the same labels in the "
        "same order"
    )
