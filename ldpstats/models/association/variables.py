"""What is said of the variables of an association model: groups, names, candidates, "Other"."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import boolean, listed, one_of
from ldpstats.arguments.labels import as_labels, encode
from ldpstats.errors import (
    IncompleteListWarning,
    InvalidArgument,
    MechanismMismatch,
    NotAvailable,
)
from ldpstats.mechanisms.lumped import lump
from ldpstats.models.shared.spelling import in_turn
from ldpstats.reports.cohorts import may_share
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

__all__ = [
    "VariableSpec",
    "per_variable",
    "prepared",
    "refuse_shared",
    "respondents",
    "together",
    "variable_names",
]

OTHER = "Other"
_REST = "(not among the candidates)"  # of lumped reports whose "Other" is then left out
_KEPT = (
    "both reports of a person may come from one permanent response that her device keeps, and the "
    "answers alone do not make them independent: fit each question alone, compare waves by "
    "change(..., memoised=True)"
)
_OTHERS = ("lump", "product", "fpe16")


@dataclass(frozen=True, eq=False)
class VariableSpec:
    """What of a variable is estimated.

    Parameters
    ----------
    labels : Index, shape (k,)
        Categories of the joint table, "Other" included.
    candidates : sequence of str, CandidateMap or None
        Values to look for, over an open alphabet.
    other : str
        "" where there is no such category; "lump" where it is one of the mechanism's; else the
        form of its likelihood, "product" or "fpe16".
    complete : bool
        Whether every answer is in some category.
    """

    labels: pd.Index[Any]
    candidates: Any = None
    other: str = ""
    complete: bool = True

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.labels)

    @property
    def approximate(self) -> bool:
        """Whether "Other" is modelled from what the candidates leave over."""
        return self.other in ("product", "fpe16")


def respondents(reports: Sequence[Any], ids: Sequence[Any] | None) -> list[JointCounts]:
    """The respondents of `AssociationModel(*reports, ids=ids)`, by group of mechanisms.

    The cohorts of a device are such groups.
    """
    return [part for found in _respondents(reports, ids) for part in found.by_cohort()]


def _respondents(reports: Sequence[Any], ids: Sequence[Any] | None) -> list[JointCounts]:
    counted = reports
    if len(reports) == 1 and isinstance(reports[0], list | tuple):
        counted = reports[0]
    several = any(isinstance(part, list | tuple) for part in reports)
    if counted and all(isinstance(part, JointCounts) for part in counted):
        for part in counted:
            _check_different(part.reports)
        found = [part.tally() for part in counted]  # results must not hold rows, nor their order
        if len({len(part.reports) for part in found}) > 1:
            sizes = [len(part.reports) for part in found]
            raise InvalidArgument("reports", f"{sizes} variables", "groups need the same variables")
    elif not several:
        _check_different(reports)
        return [JointCounts(reports, ids=ids).tally()]
    else:
        found = _grouped([list(p) if isinstance(p, list | tuple) else [p] for p in reports])
    if ids is not None:
        raise InvalidArgument(
            "ids", "given", "goes with one group of reports: pass JointCounts(reports, ids=ids)"
        )
    return found


def _grouped(lists: list[list[Any]]) -> list[JointCounts]:
    sizes = [len(part) for part in lists]
    if len(lists) < 2:
        remedy = "two or more variables are needed, each with a list of its groups"
        raise InvalidArgument("reports", f"{len(lists)} variable", remedy)
    if len(set(sizes)) > 1 or not sizes[0]:
        raise InvalidArgument(
            "reports", sizes, "groups: every variable needs the same groups of respondents"
        )
    for parts in zip(*lists, strict=True):
        _check_different(parts)
    return [JointCounts(parts).tally() for parts in zip(*lists, strict=True)]


def _check_different(reports: Sequence[Any]) -> None:
    """Refuse one object for two variables: its noise is in both, and passes for association."""
    for v, part in enumerate(reports):
        for w, earlier in enumerate(reports[:v]):
            y = getattr(part, "y", None)  # what has no reports is refused later
            if y is not None and y is getattr(earlier, "y", None):
                raise InvalidArgument(
                    f"reports[{v}]",
                    part,
                    f"is the same object as reports[{w}]: pass the reports of a second variable, "
                    "or use FrequencyModel for one",
                )


def refuse_shared(
    groups: Iterable[JointCounts],
    names: Sequence[str],
    memoised: object,
    analysis: str = "association",
    origins: Sequence[str] | None = None,
) -> None:
    """Refuse two reports of a person that may come from one permanent response.

    Given the answers they are independent only if devices drew both afresh. That is what
    ``memoised=False`` says; None leaves it to the mechanisms and cohorts (`may_share`). `origins`
    are what the variables are called where waves of one question are not told apart; by default
    what their reports are called.
    """
    if memoised is not None:
        if not boolean("memoised", memoised) or len(names) < 2:
            return
        raise NotAvailable(f"{analysis} of {in_turn(names)}: memoised=True says that {_KEPT}")
    for group in groups:
        called = [part.name for part in group.reports] if origins is None else origins
        for v, w in combinations(range(len(names)), 2):
            first, second = group.reports[v], group.reports[w]
            if may_share(first, second, group.n, bool(called[v]) and called[v] == called[w]):
                raise NotAvailable(
                    f"{analysis} of {names[v]!r} and {names[w]!r}: with {first.mechanism} {_KEPT}, "
                    f"or pass memoised=False if devices drew each report afresh"
                )


def together(parts: Sequence[Any]) -> JointCounts:
    """The respondents who answered every question.

    `parts` are `Reports`, matched by row or by their identifiers, or pairs (Reports, mask of rows).
    """
    paired = [isinstance(part, list | tuple) for part in parts]
    rows = [part if pair else (part, None) for part, pair in zip(parts, paired, strict=True)]
    _check_different([row[0] if len(row) else None for row in rows])
    found = JointCounts.of_rows(rows) if any(paired) else JointCounts(parts)
    return found.tally()


def variable_names(
    names: Sequence[str] | None, d: int, known: Sequence[str] = ()
) -> tuple[str, ...]:
    """Names of d variables: those given, else those known, else x, y, z or x1, x2, ..."""
    if names is None:
        if len({name for name in known if name}) == d:
            return tuple(known)
        return tuple("xyz"[:d]) if d <= 3 else tuple(f"x{v + 1}" for v in range(d))
    remedy = f"must be {d} different names, one per variable"
    given = tuple(listed("names", names, remedy))
    for name in given:
        if not isinstance(name, str) or not name:
            raise InvalidArgument("names", name, "must be text")
    given = tuple(map(str.__str__, given))  # of a subclass, perhaps
    if len(given) != d or len(set(given)) < d:
        raise InvalidArgument("names", names, remedy)
    return given


def per_variable(
    name: str, given: Any, names: Sequence[str], scalar: bool = False
) -> tuple[Any, ...]:
    """One value per variable, from one for all (where it is no list), a sequence or a mapping."""
    if given is None or (scalar and isinstance(given, bool | np.bool_ | str)):
        return (given,) * len(names)
    if isinstance(given, Mapping):
        unknown = [key for key in given if not isinstance(key, str) or key not in names]
        if unknown:
            raise InvalidArgument(name, unknown, f"are no variables: they are named {list(names)}")
        default = False if scalar else None
        return tuple(given.get(key, default) for key in names)
    values = tuple(given) if isinstance(given, list | tuple) else None
    if values is None or len(values) != len(names):
        raise InvalidArgument(
            name, given, f"must hold one element for each of {list(names)}; None for none"
        )
    return values


def prepared(
    parts: Sequence[Reports], candidates: Any, other: Any, name: str
) -> tuple[list[Reports], VariableSpec]:
    """The reports of one variable, lumped where that is asked for, and what is estimated of it."""
    mechanism = parts[0].mechanism
    wanted = _wanted_other(other, mechanism, candidates, name)
    if mechanism.is_open:
        return list(parts), _open_spec(parts, candidates, wanted, name)
    labels = mechanism.labels()
    _same_labels(parts, None, labels)
    if candidates is None:
        return list(parts), VariableSpec(labels)
    keep = _kept(candidates, labels, name)
    if len(keep) == len(labels):
        if wanted:
            remedy = f"are all categories of {name}: nothing is left for Other, leave other= out"
            raise InvalidArgument("candidates", list(keep), remedy)
        return list(parts), VariableSpec(labels)
    if wanted and OTHER in keep:
        raise InvalidArgument(
            "candidates", OTHER, f"is the category of {name} that other=True adds"
        )
    if not wanted and len(keep) < 2:
        raise InvalidArgument("candidates", list(keep), f"leave {name} fewer than two categories")
    lumped = _lumped(parts, keep, OTHER if wanted else _REST, name)
    labels = lumped[0].mechanism.categories
    if wanted:
        return lumped, VariableSpec(labels, None, "lump")
    warnings.warn(
        f"the categories of {name} that are not among its candidates are ignored, which biases the "
        "estimate if they occur: use other=True",
        IncompleteListWarning,
        stacklevel=5,
    )
    return lumped, VariableSpec(labels[:-1], complete=False)


def _kept(candidates: Any, labels: pd.Index[Any], name: str) -> pd.Index[Any]:
    """The categories of a closed alphabet to keep."""
    remedy = f"must be a list of categories of {name}"
    if isinstance(candidates, int | np.integer | Iterator):
        raise InvalidArgument("candidates", candidates, remedy)
    if isinstance(getattr(candidates, "dtype", None), pd.CategoricalDtype):
        candidates = listed("candidates", candidates, remedy)  # what is there, not the categories
    keep = as_labels("candidates", candidates, least=1)
    encode("candidates", keep.tolist(), labels)  # refuses what is no category
    return keep


def _lumped(parts: Sequence[Reports], keep: Any, rest: str, name: str) -> list[Reports]:
    try:
        return [lump(part, keep, rest) for part in parts]
    except NotAvailable as error:
        # what lump would have a hashed alphabet do is for open ones here
        hashed = parts[0].mechanism.n_cohorts > 0
        why = "its hashes do not keep categories apart" if hashed else str(error)
        raise NotAvailable(
            f"categories of {name} cannot be lumped exactly: {why}; fit all of them, "
            "candidates=None, and add up cells of the table"
        ) from None


def _wanted_other(other: Any, mechanism: Any, candidates: Any, name: str) -> str:
    """The treatment of "Other": "" for none."""
    if other is None or (isinstance(other, bool | np.bool_) and not other):
        return ""
    chosen = isinstance(other, bool | np.bool_)
    if not chosen:
        other = one_of("other", other, _OTHERS)
    if candidates is None:
        if chosen and not mechanism.is_open:
            return ""  # all categories are listed: there is no other
        raise InvalidArgument("candidates", None, f"are needed for {name}: what Other is not")
    if chosen:
        return "product" if mechanism.is_open else "lump"
    if (other == "lump") == mechanism.is_open:
        remedy = (
            f"{name} takes 'product' or 'fpe16', or True: its answers cannot be listed"
            if mechanism.is_open
            else f"{name} knows its categories: use True, which lumps exactly where that is "
            "possible, or fit all of them, candidates=None, and add up cells of the table"
        )
        raise InvalidArgument("other", other, remedy)
    return str(other)


def _open_spec(parts: Sequence[Reports], candidates: Any, other: str, name: str) -> VariableSpec:
    try:
        labels = parts[0].mechanism.labels(candidates)
    except NotAvailable as error:
        raise NotAvailable(f"{name}: {error}") from None
    _same_labels(parts, candidates, labels)
    if other:
        if OTHER in labels:
            remedy = f"is the category of {name} that other=True adds"
            raise InvalidArgument("candidates", OTHER, remedy)
        return VariableSpec(labels.append(pd.Index([OTHER])), candidates, other)
    if len(labels) < 2:
        raise InvalidArgument("candidates", list(labels), f"leave {name} fewer than two categories")
    return VariableSpec(labels, candidates, complete=False)


def _same_labels(parts: Sequence[Reports], candidates: Any, labels: pd.Index[Any]) -> None:
    for part in parts[1:]:
        if not part.mechanism.labels(candidates).equals(labels):
            raise MechanismMismatch(
                f"{part.mechanism} and {parts[0].mechanism} have different categories: groups need "
                "the same labels in the same order"
            )
