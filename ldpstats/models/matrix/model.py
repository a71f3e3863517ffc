"""Fit the association of several variables, pair by pair."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from ldpstats.arguments.checks import level
from ldpstats.errors import InvalidArgument, LDPError, LDPWarning
from ldpstats.estimators.base import Estimator
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.association.variables import per_variable, together, variable_names
from ldpstats.models.matrix.results import AssociationMatrix
from ldpstats.reports.single import Reports

__all__ = ["associations"]

_REMEDY = 'must map names to Reports or pairs (Reports, mask), such as {"job": x, "late": y}'


def associations(
    reports: Mapping[str, Any],
    candidates: Mapping[str, Any] | None = None,
    other: Any = False,
    method: str | Estimator[Any] | None = None,
    alpha: float = 0.05,
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
    alpha, names = level(alpha), _checked(reports)
    lists = dict(zip(names, per_variable("candidates", candidates, names), strict=True))
    others = dict(zip(names, per_variable("other", other, names, scalar=True), strict=True))
    pairs: list[AssociationResults] = []
    errors: dict[tuple[str, str], LDPError] = {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LDPWarning)
        for both in combinations(names, 2):
            parts, kept, rest = (
                [found[name] for name in both] for found in (reports, lists, others)
            )
            try:
                pairs.append(_fitted(both, parts, kept, rest, method))
            except LDPError as error:
                errors[both] = error
    if not pairs:
        raise next(iter(errors.values()))
    for message in {str(warning.message): warning.message for warning in said}.values():
        warnings.warn(message, stacklevel=2)  # once, not for each pair of the variable
    held = [reports[name] for name in names]
    sources = [part if isinstance(part, Reports) else part[0] for part in held]
    return AssociationMatrix(
        names=names,
        sources=tuple(str(part.mechanism) for part in sources),
        answered=tuple(map(len, sources)),
        pairs=tuple(pairs),
        failed=tuple((*both, str(error)) for both, error in errors.items()),
        alpha=alpha,
    )


def _fitted(
    both: tuple[str, str], parts: list[Any], candidates: list[Any], other: list[Any], method: Any
) -> AssociationResults:
    """The fit of one pair, on the respondents who have both reports."""
    counts = together(parts)
    model = AssociationModel(counts, candidates=candidates, other=other, names=both)
    return model.fit(method)


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
