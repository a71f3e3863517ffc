"""Fit the change between two waves of the same respondents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.estimators.base import Estimator
from ldpstats.models.association import estimates
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.variables import together, variable_names
from ldpstats.models.change.estimates import change_fit, homogeneity
from ldpstats.models.change.law import change_law, pair_features, turnover_law
from ldpstats.models.change.record import Changes
from ldpstats.models.change.results import ChangeResults
from ldpstats.reports.joint import JointCounts

__all__ = ["change", "change_between"]

_WAVES = ("first", "second")


def change(
    first: Any,
    second: Any,
    name: str | None = None,
    waves: Sequence[str] | None = None,
    candidates: Any = None,
    method: str | Estimator[Any] | None = None,
) -> ChangeResults:
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

    Returns
    -------
    ChangeResults

    Raises
    ------
    InvalidArgument
        If an argument is not `Reports`, both are the same object, the respondents do not match, or
        there is no report.
    MechanismMismatch
        For waves over different categories.

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
    """
    _check_name(name)
    return change_between(together((first, second)), name, waves, candidates, method)


def change_between(
    counts: JointCounts,
    name: str | None = None,
    waves: Sequence[str] | None = None,
    candidates: Any = None,
    method: str | Estimator[Any] | None = None,
    *,
    lost: tuple[int, int] = (0, 0),
) -> ChangeResults:
    """Change between two variables of the same respondents, from their counts; see `change`.

    `lost` are the persons who are in one wave only, and not in the counts.
    """
    _check_name(name)
    known = [part.name for part in counts.reports]
    same = known[0] == known[1]
    names = _wave_names(waves, _WAVES if same or not all(known) else known)
    if candidates is None:
        _same_categories(counts.mechanisms)
    lists, other = (None, False) if candidates is None else ([candidates] * 2, True)
    model = AssociationModel(counts, candidates=lists, other=other, names=names)
    joint = model.fit(method)
    if not joint.labels[0].equals(joint.labels[1]):
        raise _other_categories(*counts.mechanisms)
    problem = estimates.rests_on(model.evidence, joint.linear)
    pairs = None if problem is None else pair_features(model.evidence, problem)
    law = None if pairs is None else change_law(pairs)
    fit = change_fit(joint, law, known[0] * same if name is None else name)
    turnover = None if pairs is None else turnover_law(pairs)
    test = homogeneity(fit, names, pairs, law)
    return ChangeResults(fit, joint, Changes(law, turnover, test, lost))


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
