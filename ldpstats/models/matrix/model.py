"""Fit the association of several variables, pair by pair."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from ldpstats.arguments.checks import level
from ldpstats.errors import InvalidArgument, LDPError, LDPWarning
from ldpstats.estimators.base import Estimator
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.association.variables import (
    per_variable,
    refuse_shared,
    together,
    variable_names,
)
from ldpstats.models.matrix.results import AssociationMatrix
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

__all__ = ["associations", "pairwise"]

_REMEDY = 'must map names to Reports or pairs (Reports, mask), such as {"job": x, "late": y}'


def associations(
    reports: Mapping[str, Any],
    candidates: Mapping[str, Any] | None = None,
    other: Any = False,
    method: str | Estimator[Any] | None = None,
    alpha: float = 0.05,
    memoised: bool | None = None,
) -> AssociationMatrix:
    """Association of every pair of several variables of the same respondents.

    Parameters
    ----------
    reports : mapping of str to Reports, or to pairs (Reports, mask)
        Reports by name of the variable, two or more. Respondents are matched by their identifiers
        (`Reports.ids`), else row by row; a mask, bool of shape (N,), says which of N rows the
        reports are of. Each pair is fitted on the respondents who have both reports.
    candidates : mapping of str to sequence, optional
        By name: the values to look for over an open alphabet, or the categories to keep.
    other : bool or str, or a mapping by name
        As in `AssociationModel`.
    method : str or Estimator, optional
        As in `AssociationModel.fit`.
    alpha : float
        One minus the coverage of each interval of Cramer's V.
    memoised : bool, optional
        As in `AssociationModel`: False says that devices drew each report afresh.

    Returns
    -------
    AssociationMatrix
        Pairs that cannot be fitted are in `failed`, each with the reason.

    Raises
    ------
    InvalidArgument
        For fewer than two variables, values that are no reports, and one object for two variables.
    LDPError
        The reason of the first pair, if no pair can be fitted.

    Examples
    --------
    >>> import ldpstats as ldp, numpy as np
    >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=3.0)
    >>> smokes, sex, rain = rng.choice(["no", "yes"], size=(3, 4000))
    >>> coughs = np.where(rng.random(4000) < 0.5, smokes, "no")
    >>> answers = {"smokes": smokes, "coughs": coughs, "rain": rain}
    >>> matrix = ldp.associations({n: krr.privatize(a, rng) for n, a in answers.items()})
    >>> bool(matrix.pvalues_holm.loc["smokes", "coughs"] < 0.001)
    True
    """
    names = _checked(reports)
    held = [reports[name] for name in names]
    sources = [part if isinstance(part, Reports) else part[0] for part in held]
    found = {n: (str(p.mechanism), len(p)) for n, p in zip(names, sources, strict=True)}
    pairs = ((both, _counted([reports[name] for name in both])) for both in combinations(names, 2))
    return pairwise(names, found, pairs, candidates, other, method, alpha, memoised)


def pairwise(
    names: Sequence[str],
    sources: Mapping[str, tuple[str, int]],
    pairs: Iterable[tuple[tuple[str, str], JointCounts | LDPError]],
    candidates: Any = None,
    other: Any = False,
    method: Any = None,
    alpha: float = 0.05,
    memoised: bool | None = None,
    origins: Mapping[str, str] | None = None,
) -> AssociationMatrix:
    """The association of every pair, from its counts, or the reason why there are none.

    `sources` has the mechanism of each variable in words, and its number of reports; it may be
    filled while the pairs are read. `origins` are what variables are called where waves of one
    question are not told apart.
    """
    alpha = level(alpha)
    lists = dict(zip(names, per_variable("candidates", candidates, names), strict=True))
    others = dict(zip(names, per_variable("other", other, names, scalar=True), strict=True))
    fits: list[AssociationResults] = []
    errors: dict[tuple[str, str], LDPError] = {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LDPWarning)
        for both, counts in pairs:
            kept, rest = ([found[name] for name in both] for found in (lists, others))
            try:
                if isinstance(counts, LDPError):
                    raise counts
                called = None if origins is None else [origins[name] for name in both]
                refuse_shared([counts], both, memoised, origins=called)
                model = AssociationModel(
                    counts, candidates=kept, other=rest, names=both, memoised=False
                )
                fits.append(model.fit(method))
            except LDPError as error:
                errors[both] = error
    if not fits:
        raise next(iter(errors.values()))
    for message in {str(warning.message): warning.message for warning in said}.values():
        warnings.warn(message, stacklevel=3)  # once, not for each pair of the variable
    return AssociationMatrix(
        names=tuple(names),
        sources=tuple(sources[name][0] for name in names),
        answered=tuple(sources[name][1] for name in names),
        pairs=tuple(fits),
        failed=tuple((*both, str(error)) for both, error in errors.items()),
        alpha=alpha,
    )


def _counted(parts: list[Any]) -> JointCounts | LDPError:
    """The respondents who have both reports, or why they cannot be found."""
    try:
        return together(parts)
    except LDPError as error:
        return error


def _checked(reports: Any) -> tuple[str, ...]:
    """The names of the variables, after a check of what they name."""
    if not isinstance(reports, Mapping):
        raise InvalidArgument("reports", reports, _REMEDY)
    names = variable_names(list(reports), len(reports))
    if len(names) < 2:
        raise InvalidArgument("reports", list(names), "two or more variables are needed")
    seen: dict[int, str] = {}
    for name in names:
        part = reports[name]
        held = part[0] if isinstance(part, list | tuple) and len(part) == 2 else part
        if not isinstance(held, Reports):
            raise InvalidArgument(f"reports[{name!r}]", part, _REMEDY)
        if id(held.y) in seen:
            remedy = f"has the reports of {seen[id(held.y)]!r}: pass those of another variable"
            raise InvalidArgument(f"reports[{name!r}]", held, remedy)
        seen[id(held.y)] = name
    return names
