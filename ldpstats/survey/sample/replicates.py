"""Replicate weights of a survey: columns of its table, or made from its design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import (
    boolean,
    listed,
    numbers,
    one_of,
    positive_integer,
    real_number,
)
from ldpstats.errors import InvalidArgument
from ldpstats.inference.designs.given_replicates import KINDS, GivenWeights, scales_of
from ldpstats.inference.designs.made_replicates import bootstrap, jackknife
from ldpstats.inference.designs.sample import Replication, Sample

__all__ = ["MadeReplicates", "ReplicateWeights", "Replicates"]

Array = npt.NDArray[Any]

_COLUMNS = 'must be names of columns, or a pattern with one asterisk such as "rep_*"'
_SCALED = ("JK1", "JKn", "bootstrap", "other")
_MOST_MADE = 100_000
_DEFAULT_MADE = 500


@dataclass(frozen=True)
class ReplicateWeights:
    """Columns of replicate weights, and how variances follow from them.

    The variance of an estimate t is ``sum_r scale rscales_r (t_r - mean of all t_r)^2``, where t_r
    is the estimate by replicate r, as of `svrepdesign` in R's package survey. Replicates of
    randomised reports vary by the sampling and by the randomisation, so that nothing is added. But
    replicates that are corrected for a finite population lack the sampled share of the variance of
    the randomisation: name strata, clusters and fpc instead.

    Parameters
    ----------
    columns : sequence of str, or str
        Names of the columns, or a pattern with one asterisk, "rep_*", for all that match.
    kind : str
        How the replicates were made, of which the scale follows (R replicates): "BRR", balanced
        repeated replication, 1 / R; "Fay", 1 / (R (1 - rho)^2); "JK1", a jackknife without strata,
        (R - 1) / R; "JK2", pairs of units, of which one is left out, 1; "JKn", a jackknife in
        strata, of `rscales`; "bootstrap", 1 / (R - 1); "successive-difference" or "ACS", 4 / R;
        "other", of `scale` and `rscales`.
    rho : float, optional
        Fay's factor, in [0, 1); for "Fay" alone.
    scale : float, optional
        In place of the scale of "JK1", "JKn" and "bootstrap"; needed for "other".
    rscales : sequence of float, optional
        A factor of the squared deviation of each replicate; needed for "JKn": (n - 1) / n of the
        stratum whose unit is left out.
    mse : bool
        Whether deviations are from the estimate of the sample, not from the mean of the replicates.
    combined : bool
        Whether the columns hold weights; if not, factors by which the weights are multiplied. Sums
        of another size than those of the weights are warned of.
    df : float, optional
        Degrees of freedom; by default the rank of the replicate weights of a domain less one. Of a
        table on an engine they must be given.

    Raises
    ------
    InvalidArgument
        For an unknown kind, numbers out of range, and arguments that do not go with the kind.

    References
    ----------
    Wolter, K. M. (2007). Introduction to Variance Estimation. Springer, 2nd edition, chapters 3-5.
    Fay, R. E. and Train, G. F. (1995). Aspects of survey and model-based postcensal estimation of
    income and poverty characteristics for states and counties. Proceedings of the Section on
    Government Statistics, ASA, 154-159.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.ReplicateWeights("rep_*", "Fay", rho=0.3)
    ReplicateWeights(columns='rep_*', kind='Fay', rho=0.3)
    """

    columns: Any
    kind: Any
    rho: Any = None
    scale: Any = None
    rscales: Any = None
    mse: Any = False
    combined: Any = True
    df: Any = None

    def __post_init__(self) -> None:
        kind = one_of("kind", self.kind, KINDS)
        found = {
            "columns": _named(self.columns),
            "kind": kind,
            "rho": _checked_rho(self.rho, kind),
            "scale": _checked_scale(self.scale, kind),
            "rscales": _checked_rscales(self.rscales, kind),
            "mse": boolean("mse", self.mse),
            "combined": boolean("combined", self.combined),
            "df": None if self.df is None else _positive("df", self.df),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)
        if isinstance(self.columns, tuple):
            self._check_number()

    def _check_number(self) -> None:
        """Refuse a number of columns that the rest does not go with."""
        n = len(self.columns)
        if n < 2:
            raise InvalidArgument("columns", self.columns, "must be two replicates or more")
        if self.rscales is not None and len(self.rscales) != n:
            remedy = f"must be {n} numbers, one for each replicate, not {len(self.rscales)}"
            raise InvalidArgument("rscales", self.rscales, remedy)

    def on(self, columns: Sequence[str], summed: bool = False) -> ReplicateWeights:
        """The same, with the names of columns of a table in place of a pattern.

        Raises
        ------
        InvalidArgument
            If fewer than two columns match it, or `rscales` are of another number; without `df` if
            rows are `summed` by an engine, as sums do not have the rank of the columns.
        """
        if summed and self.df is None:
            remedy = "must be given for a table on an engine, which sums the columns: in most "
            remedy += "surveys the number of sampling units less that of strata"
            raise InvalidArgument("df", None, remedy)
        if not isinstance(self.columns, str):
            return self
        start, end = self.columns.split("*")
        found = [
            name
            for name in columns
            if name.startswith(start) and name.endswith(end) and len(name) >= len(start + end)
        ]
        if not found:
            raise InvalidArgument("columns", self.columns, "no column of the table is named so")
        return replace(self, columns=found)

    def replication(self, sample: Sample, sums: Array | None) -> Replication:
        """What variances follow from sums of the replicate weights by cell, shape (c, R)."""
        assert sums is not None
        rscales = None if self.rscales is None else np.array(self.rscales)
        scales = scales_of(self.kind, len(self.columns), self.rho, self.scale, rscales)
        return GivenWeights(sums, scales, self.mse, self.df)

    def __str__(self) -> str:
        return f"{len(self.columns)} replicate weights ({self.kind})"

    def __repr__(self) -> str:
        of = [f"columns={_shown(self.columns)}", f"kind={self.kind!r}"]
        given = {"rho": None, "scale": None, "mse": False, "combined": True, "df": None}
        of += [
            f"{name}={getattr(self, name)!r}"
            for name, default in given.items()
            if getattr(self, name) != default
        ]
        if self.rscales is not None:
            of.append(f"rscales={len(self.rscales)} numbers")
        return f"ReplicateWeights({', '.join(of)})"


@dataclass(frozen=True)
class MadeReplicates:
    """Replicates that are made from a design when its sample is known: of a kind, n, from a seed.

    Every analysis draws from the same seed, so that the same units are drawn the same times.
    """

    kind: str
    n: int = 0
    seed: int = 0

    columns: ClassVar[tuple[str, ...]] = ()
    combined: ClassVar[bool] = True

    @classmethod
    def of(cls, kind: object, rng: object, n: object) -> MadeReplicates:
        """Check the arguments of `Survey.replicates`."""
        name = one_of("kind", kind, ("jackknife", "bootstrap"))
        if name == "jackknife":
            for argument, value in (("rng", rng), ("n", n)):
                if value is not None:
                    remedy = "goes with 'bootstrap': a jackknife leaves out each unit once"
                    raise InvalidArgument(argument, value, remedy)
            return cls(name)
        if not isinstance(rng, np.random.Generator):
            raise InvalidArgument("rng", rng, "pass a generator, np.random.default_rng(seed)")
        number = _DEFAULT_MADE if n is None else positive_integer("n", n, 2)
        if number > _MOST_MADE:
            raise InvalidArgument("n", n, f"must be at most {_MOST_MADE} replicates")
        return cls(name, number, int(rng.integers(2**63)))

    def replication(self, sample: Sample, sums: Array | None) -> Replication:
        """Those of a sample, of which strata of a single unit and too many units are refused."""
        if self.kind == "bootstrap":
            return bootstrap(sample, self.n, np.random.default_rng(self.seed))
        made = jackknife(sample)
        made.scales(sample)
        return made

    def __str__(self) -> str:
        return self.kind if self.kind == "jackknife" else f"{self.kind} of {self.n} replicates"


Replicates = ReplicateWeights | MadeReplicates


def _named(columns: object) -> str | tuple[str, ...]:
    """A pattern, or names of columns."""
    if isinstance(columns, str):
        text = str.__str__(columns)
        if text.count("*") == 1:
            return text
        raise InvalidArgument("columns", columns, _COLUMNS)
    names = listed("columns", columns, _COLUMNS)
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgument("columns", columns, _COLUMNS)
    found = tuple(str.__str__(name) for name in names)
    twice = [name for name in dict.fromkeys(found) if found.count(name) > 1]
    if twice:
        raise InvalidArgument("columns", columns, f"{twice[0]!r} is there twice")
    return found


def _shown(columns: str | tuple[str, ...]) -> str:
    """Columns in a few words."""
    few = isinstance(columns, str) or len(columns) <= 3
    return repr(columns) if few else f"{columns[0]!r} to {columns[-1]!r} ({len(columns)})"


def _positive(name: str, value: object) -> float:
    remedy = "must be a positive finite number"
    number = real_number(name, value, remedy)
    if not 0.0 < number < np.inf:
        raise InvalidArgument(name, value, remedy)
    return number


def _checked_rho(rho: object, kind: str) -> float | None:
    if kind != "Fay":
        if rho is not None:
            raise InvalidArgument("rho", rho, f"goes with kind 'Fay', not {kind!r}")
        return None
    remedy = "must be Fay's factor, in [0, 1), for example 0.3"
    number = real_number("rho", rho, remedy)
    if not 0.0 <= number < 1.0:
        raise InvalidArgument("rho", rho, remedy)
    return number


def _checked_scale(scale: object, kind: str) -> float | None:
    if scale is None:
        if kind == "other":
            remedy = "of kind 'other' what squared deviations count must be given, a number"
            raise InvalidArgument("scale", None, remedy)
        return None
    if kind not in _SCALED:
        raise InvalidArgument("scale", scale, f"follows from the kind {kind!r}: leave it out")
    return _positive("scale", scale)


def _checked_rscales(rscales: object, kind: str) -> tuple[float, ...] | None:
    if rscales is None:
        if kind == "JKn":
            remedy = "kind 'JKn' needs one for each replicate: (n - 1) / n, n being the units of "
            remedy += "the stratum from which it leaves one out"
            raise InvalidArgument("rscales", None, remedy)
        return None
    if kind not in _SCALED:
        raise InvalidArgument("rscales", rscales, f"follow from the kind {kind!r}: leave them out")
    remedy = "must be a list of numbers, zero or more, one for each replicate"
    found = numbers("rscales", rscales, remedy)
    if found.ndim != 1 or not np.isfinite(found).all() or np.any(found < 0.0):
        raise InvalidArgument("rscales", rscales, remedy)
    if not found.any():
        raise InvalidArgument("rscales", rscales, "must not all be zero")
    return tuple(found.tolist())
