"""One question asked with several designs, where a column of the table says with which.

A design is a cohort, as those of a device are: what is estimated is given how many respondents
each has. `by_column` takes a mechanism for each value of a column, or makes them of parameters that
stand in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from ldpstats.arguments import distribution, listed, record
from ldpstats.channels.structured import Channel, Dense
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.labels import Labels, as_labels, matched
from ldpstats.mechanisms.base import Mechanism, check_document, common_labels, set_fields
from ldpstats.mechanisms.custom import (
    CohortPart,
    Enumerated,
    asked_of,
    listed_mechanism,
    protected_by_all,
)
from ldpstats.programs.polynomials import cohort_names

_DESIGNS = "must be a dict from the values of the column to mechanisms, such as {'direct': "
_DESIGNS += "Observed(('no', 'yes')), 'warner': Warner(p=0.7)}, or a function of the values"
_MOST_DESIGNS = 200  # beyond it the values hardly repeat


@record
class ByColumn(Enumerated):
    """Several mechanisms for the same answer, of which columns of the table say the one used.

    `by_column` makes it. Everything that is estimated is given the design of each respondent. A
    report that stands alone, as a client sends it, has the design before it: "direct:yes".

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    designs : sequence of pairs
        The values of the columns, a tuple, and the mechanism that goes with them.
    shares : sequence of float, optional
        Probabilities of the designs where they are drawn, by clients and simulations without the
        columns; all alike by default.

    Raises
    ------
    InvalidArgument
        For names and values that are no labels.
    MechanismMismatch
        For mechanisms of other categories, or in another order.
    NotAvailable
        For mechanisms whose reports are no labels from a list.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> asked = ldp.by_column("design", {"direct": ldp.Observed(("no", "yes")),
    ...                                  "cards": ldp.Warner(p=0.8)})
    >>> print(asked)
    ByColumn(design: direct, cards; k=2, epsilon=inf)
    >>> asked.matrix()
         direct:no  direct:yes  cards:no  cards:yes
    no         0.5         0.0       0.4        0.1
    yes        0.0         0.5       0.1        0.4
    """

    columns: Any
    designs: Any
    shares: Any = None

    def __post_init__(self) -> None:
        columns = tuple(as_labels("columns", self.columns, 1).tolist())
        if not all(isinstance(column, str) for column in columns):
            raise InvalidArgument("columns", columns, "must be names of columns, which are text")
        try:
            values, made = zip(*((tuple(given), part) for given, part in self.designs), strict=True)
        except (TypeError, ValueError):
            remedy = "must be pairs of values, a tuple, and their mechanism: by_column makes them"
            raise InvalidArgument("designs", self.designs, remedy) from None
        if any(len(given) != len(columns) for given in values):
            remedy = f"must have {len(columns)} values for each design, of {', '.join(columns)}"
            raise InvalidArgument("designs", values, remedy)
        known = next((part for part in made if isinstance(part, Mechanism)), None)
        if known is None:
            remedy = "needs a mechanism, which has categories: give one of the devices as "
            remedy += "device.mechanism(('no', 'yes'))"
            raise InvalidArgument("designs", made, remedy)
        parts = [asked_of(part, known.categories) for part in made]
        for part in parts:
            if not (isinstance(part, Enumerated) and part.unknown):
                listed_mechanism("designs", part)
        common_labels([known, *parts], None, "designs of one question")
        shares = [1 / len(parts)] * len(parts) if self.shares is None else self.shares
        set_fields(
            self,
            columns=columns,
            designs=tuple(zip(values, parts, strict=True)),
            shares=tuple(distribution("shares", shares, len(parts)).tolist()),
        )
        self.cohort_names, self._levels  # noqa: B018  refuses values that read alike

    @property
    def _cohort_shares(self) -> tuple[float, ...]:  # type: ignore[override]
        return self.shares  # type: ignore[no-any-return]

    @property
    def _parts(self) -> list[Enumerated]:
        return [part for _, part in self.designs]

    @cached_property
    def _levels(self) -> list[Labels]:
        """The distinct values of each column."""
        return [
            as_labels(f"designs, {column}", list(dict.fromkeys(values)), 1)
            for column, *values in zip(self.columns, *(v for v, _ in self.designs), strict=True)
        ]

    @property
    def categories(self) -> Labels:  # type: ignore[override]
        return self._parts[0].categories

    @cached_property
    def cohort_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The designs by name: their values."""
        pairs = [list(zip(self.columns, values, strict=True)) for values, _ in self.designs]
        names = [", ".join(f"{column}={value}" for column, value in pair) for pair in pairs]
        if len(self.columns) == 1:
            names = [str(value) for ((_, value),) in pairs]
        return cohort_names(names, len(names))

    @cached_property
    def cohort_parts(self) -> tuple[CohortPart, ...]:  # type: ignore[override]
        """The mechanism of each design, and which reports are its own."""
        sizes = np.cumsum([0, *(part.n_outputs for part in self._parts)])
        named = zip(self.cohort_names, self._parts, sizes, strict=False)
        return tuple(CohortPart(n, part, np.arange(part.n_outputs) + at) for n, part, at in named)

    def of_sizes(self, sizes: Sequence[int]) -> Self:
        """The same with shares of so many respondents in each design, of those with some."""
        kept = [c for c, size in enumerate(sizes) if size]
        shares = np.asarray(sizes)[kept] / np.sum(sizes)
        return type(self)(self.columns, [self.designs[c] for c in kept], shares)

    def cohorts_in(self, columns: Mapping[str, Any]) -> pd.Series[Any]:
        """The design of each respondent by name, None where a column has no value.

        Raises
        ------
        UnknownCategory, InvalidArgument
            For a value, or values that go together, of which there is no design.
        """
        how = "add a design of it to by_column, or select the rows with where="
        levels = zip(self.columns, self._levels, strict=True)
        codes = np.array([matched(c, columns[c], own, other=how) for c, own in levels])
        known = {
            tuple(own.get_loc(v) for own, v in zip(self._levels, values, strict=True)): name
            for (values, _), name in zip(self.designs, self.cohort_names, strict=True)
        }
        seen, place = np.unique(codes, axis=1, return_inverse=True)
        names = [None if -1 in at else known.get(tuple(at), "") for at in seen.T.tolist()]
        if "" in names:
            at = seen[:, names.index("")]
            shown = [own[i] for own, i in zip(self._levels, at, strict=True)]
            row = int(np.argmax(place.ravel() == names.index(""))) + 1
            remedy = f"go together in row {row}, but there is no design of them: add it"
            raise InvalidArgument(", ".join(self.columns), tuple(shown), remedy)
        return pd.Series(np.array(names, dtype=object)[place.ravel()], dtype=object)

    @cached_property
    def outputs(self) -> Labels:
        """All reports, each after its design."""
        return pd.Index(
            [f"{p.name}:{y}" for p in self.cohort_parts for y in p.mechanism.outputs.tolist()]
        )

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """That of the design that protects least, in nats."""
        return max(part.epsilon for part in self._parts)

    @property
    def sensitive(self) -> Labels | None:  # type: ignore[override]
        """The categories that every design protects; None for all."""
        return protected_by_all(self._parts, self.categories)

    @property
    def unknown(self) -> tuple[str, ...]:  # type: ignore[override]
        """Unknown parameters of devices among the designs."""
        return tuple(sorted({name for part in self._parts for name in part.unknown}))

    @cached_property
    def _channel(self) -> Channel:
        parts = zip(self.shares, self._parts, strict=True)
        return Dense(np.hstack([share * part.channel().matrix() for share, part in parts]))

    def _specification(self) -> dict[str, Any]:
        designs = [[list(values), part.to_dict()] for values, part in self.designs]
        return super()._specification() | {"designs": designs}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        given = dict(check_document(document))
        remedy = "must be a list of pairs: [[VALUE], {MECHANISM}]"
        designs = []
        for pair in listed("designs", given.get("designs"), remedy):
            if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], list)):
                raise InvalidArgument("designs", pair, remedy)
            designs.append((tuple(pair[0]), Mechanism.from_dict(pair[1])))
        return super().from_dict(given | {"designs": designs})

    def __str__(self) -> str:
        designs = "; ".join(self.cohort_names) if len(self.columns) > 1 else None
        shown = designs or f"{self.columns[0]}: {', '.join(self.cohort_names)}"
        return f"{type(self).__name__}({shown}; k={self.k}, epsilon={self.epsilon:.6g})"

    __repr__ = __str__


@record
class DesignFunction:
    """Parameters of a mechanism that stand in columns: `by_column` makes it, a `Survey` reads it.

    Parameters
    ----------
    columns : sequence of str
    make : callable
        The mechanism of the values of the columns.
    """

    columns: tuple[str, ...]
    make: Callable[..., Any]

    def of(self, values: Sequence[tuple[Any, ...]]) -> ByColumn:
        """The mechanisms of these values, distinct tuples."""
        if not 0 < len(values) <= _MOST_DESIGNS:
            remedy = f"have {len(values)} different values together: they must be few, up to "
            remedy += f"{_MOST_DESIGNS}; round them" if values else "1 at least: are they empty?"
            raise InvalidArgument("columns", ", ".join(self.columns), remedy)
        return ByColumn(self.columns, [(given, self._made(given)) for given in values])

    def _made(self, given: tuple[Any, ...]) -> Any:
        named = dict(zip(self.columns, given, strict=True))
        try:
            return self.make(**named) if isinstance(self.make, type) else self.make(*given)
        except (TypeError, LDPError) as error:
            remedy = f"must return a mechanism, but for these values there is an error: {error}"
            raise InvalidArgument("mechanisms", named, remedy) from error


def by_column(columns: Any, mechanisms: Any) -> ByColumn | DesignFunction:
    """The mechanism of a question that was asked with several designs, as columns of a table say.

    Parameters
    ----------
    columns : str or sequence of str
        Columns that say how each respondent was asked: the name of the design, or parameters.
    mechanisms : mapping or callable
        The mechanism of each value of the column (of several columns, of tuples of values). Or a
        function of the values, ``lambda p1, p2: ...``, which returns the mechanism, or a class
        whose parameters have the names of the columns; a `Survey` calls it once for each
        combination in its table. All have the same categories.

    Returns
    -------
    ByColumn, or for a function what a `Survey` makes one of

    Raises
    ------
    InvalidArgument, MechanismMismatch, NotAvailable
        As of `ByColumn`.

    Notes
    -----
    All analyses are given the design of each respondent: its likelihood is that of her own
    mechanism. Designs may differ in size and in precision, but must be assigned without regard to
    the answer, at random, say; in a regression, and in analyses by groups, without regard to it
    among respondents alike in the covariates or in a group. A fit of all designs together tests
    this where it can. Weighted frequencies and tables (``"inversion"``) do not rest on it where
    each design determines the answers alone: every report is decoded by its own.

    Examples
    --------
    >>> import pandas as pd, ldpstats as ldp
    >>> table = pd.DataFrame({"used": ["yes", "no"] * 2, "design": ["direct"] * 2 + ["cards"] * 2})
    >>> table = table.loc[[0] * 30 + [1] * 70 + [2] * 38 + [3] * 62].reset_index(drop=True)
    >>> asked = ldp.by_column("design", {"direct": ldp.Observed(("no", "yes")),
    ...                                  "cards": ldp.Warner(p=0.8)})
    >>> ldp.Survey(table, {"used": asked}).frequencies("used").params.round(3).to_dict()
    {'no': 0.7, 'yes': 0.3}

    Parameters in columns:

    >>> table["p"] = [0.9, 0.8] * 100
    >>> asked = ldp.by_column("p", lambda p: ldp.Warner(p=p))
    >>> ldp.Survey(table, {"used": asked}).questionnaire["used"].cohort_names
    ('0.8', '0.9')
    """
    remedy = "must be the name of a column, or a list of names"
    given = [columns] if isinstance(columns, str) else listed("columns", columns, remedy)
    names = as_labels("columns", given, 1).tolist()
    if callable(mechanisms):
        return DesignFunction(tuple(names), mechanisms)
    if not isinstance(mechanisms, Mapping) or not len(mechanisms):
        raise InvalidArgument("mechanisms", mechanisms, _DESIGNS)
    single = isinstance(columns, str) or len(names) == 1
    alone = [not isinstance(value, tuple) for value in mechanisms]
    if not single and any(alone):
        remedy = (
            f"must be a tuple of {len(names)} values, of the columns {', '.join(map(str, names))}"
        )
        raise InvalidArgument("mechanisms", list(mechanisms)[alone.index(True)], remedy)
    pairs = [(v if isinstance(v, tuple) else (v,), m) for v, m in mechanisms.items()]
    return ByColumn(names, pairs)
