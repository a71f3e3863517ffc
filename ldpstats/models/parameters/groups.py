"""Groups of respondents whose devices share unknown parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.mechanisms import DeviceMechanism, Mechanism, UnknownDevice, mechanism_from_dict
from ldpstats.models.shared.spelling import in_turn
from ldpstats.problems.parametric.identification import (
    exact_jacobian,
    generic_point,
    unidentified,
    unidentified_exactly,
)
from ldpstats.problems.parametric.likelihood import ParametricLikelihood
from ldpstats.problems.parametric.matrices import PolynomialMatrix
from ldpstats.programs.unknowns import terms_of

__all__ = ["DeviceGroups"]

Array = npt.NDArray[Any]

_MOST_ENTRIES = 4_000_000  # of a channel matrix
_EXACT = 64  # frequencies and parameters up to which the rank is computed without rounding
_REMEDY = "add a group of respondents with another device, or one whose parameters are known"


@dataclass(frozen=True, eq=False)
class DeviceGroups:
    """The counts of each device, over the same categories.

    Parameters
    ----------
    sources : tuple of Counts
        One a mechanism, each with a report; at least one mechanism has unknown parameters.
    labels : tuple of str
        Names of the groups, "" for one without; or none at all.
    """

    sources: tuple[Any, ...]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for counts in self.sources:
            _check_counts(counts)
        taken = [name for name in self.names if name in set(self.categories)]
        if taken:
            remedy = "is a category too: give the unknown parameter another name"
            raise InvalidArgument("unknown", taken[0], remedy)
        for counts, Q in zip(self.sources, self._matrices, strict=True):
            seen = np.flatnonzero((counts.vector() > 0) & ~Q.possible)
            if seen.size:
                labels = counts.mechanism.outputs[seen].tolist()
                remedy = f"were reported, but no category of {counts.mechanism} can make them"
                raise InvalidArgument("counts", labels, remedy)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The unknown parameters, in the order in which the groups name them."""
        found = dict.fromkeys(n for c in self.sources for n in c.mechanism.unknown)
        return tuple(found)

    @property
    def categories(self) -> pd.Index[Any]:
        """The true answers."""
        labels: pd.Index[Any] = self.sources[0].mechanism.categories
        return labels

    @cached_property
    def index(self) -> pd.Index[Any]:
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
        pairs = zip(labels, self.mechanisms, strict=True)
        return tuple(f"{label}: {mech}" if label else str(mech) for label, mech in pairs)

    @cached_property
    def _matrices(self) -> tuple[PolynomialMatrix, ...]:
        return tuple(polynomial_matrix(mech, self.names) for mech in self.mechanisms)

    @cached_property
    def likelihood(self) -> ParametricLikelihood:
        """The likelihood of all reports, without reports that no category can make."""
        kept = [(Q, Q.possible, c) for Q, c in zip(self._matrices, self.sources, strict=True)]
        return ParametricLikelihood(
            tuple(Q.take(possible) for Q, possible, _ in kept),
            tuple(c.vector()[possible].astype(float) for _, possible, c in kept),
        )

    @property
    def df(self) -> int:
        """Free probabilities of the reports, less what is estimated: those that are left to test.

        Negative where more is estimated than the reports have probabilities.
        """
        likelihood = self.likelihood
        free = sum(Q.shape[2] - 1 for Q in likelihood.matrices)
        return free - (likelihood.k - 1 + likelihood.m)

    def is_open(self, names: Sequence[str]) -> bool:
        """Whether the laws leave one of these parameters open, of which a prior then tells."""
        left = self.index[self._open]
        return any(name in set(left) for name in names)

    def check_identified(self, remedy: str = "") -> None:
        """Refuse reports whose laws leave a frequency or a parameter open; `remedy` is a further.

        Raises
        ------
        NotIdentified
        """
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
    def _open(self) -> npt.NDArray[np.bool_]:
        """Frequencies and parameters that the laws leave open at a generic point."""
        exact = [_exact_terms(mech, self.names) for mech in self.mechanisms]
        k, m = len(self.categories), len(self.names)
        if k + m > _EXACT or any(found is None for found in exact):
            return unidentified(self.likelihood.matrices)
        p, theta = generic_point(k, m)
        laws = [
            exact_jacobian(found[0], found[1], p, theta) for found in exact if found is not None
        ]
        return unidentified_exactly(laws, k)

    def to_dict(self) -> dict[str, Any]:
        """Specifications and counts as plain JSON types."""
        return {
            "mechanisms": [mech.to_dict() for mech in self.mechanisms],
            "counts": [c.vector().tolist() for c in self.sources],
            "missing": [c.n_missing for c in self.sources],
        } | ({"labels": list(self.labels)} if self.labels else {})

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> DeviceGroups:
        """Inverse of `to_dict`."""
        made = [mechanism_from_dict(own) for own in document["mechanisms"]]
        parts = zip(made, document["counts"], document["missing"], strict=True)
        sources = [replace(mech.counts(n), n_missing=lost) for mech, n, lost in parts]
        return cls(tuple(sources), tuple(document.get("labels", ())))


def polynomial_matrix(mechanism: Mechanism, names: Sequence[str]) -> PolynomialMatrix:
    """The channel matrix of a mechanism, in these parameters."""
    if isinstance(mechanism, UnknownDevice):
        return mechanism.polynomials(names)
    return PolynomialMatrix.constant(mechanism.channel().matrix(), len(names))


def _exact_terms(mechanism: Mechanism, names: Sequence[str]) -> tuple[Array, Array] | None:
    """Exponents and exact coefficients of a channel matrix; None where it has rounded entries."""
    if isinstance(mechanism, UnknownDevice | DeviceMechanism):
        return terms_of(mechanism.exact, names)
    return None


def _check_counts(counts: Any) -> None:
    """Refuse what does not enter a likelihood with unknown parameters."""
    mechanism = counts.mechanism
    if mechanism.n_bits or mechanism.n_cohorts or mechanism.is_open:
        raise NotAvailable(
            f"{mechanism} reports bits or cohorts: together with unknown parameters only devices "
            "whose reports are labels can be fitted"
        )
    k, l = mechanism.k, mechanism.n_outputs  # noqa: E741
    if k * l > _MOST_ENTRIES:
        raise NotAvailable(
            f"{mechanism} has {k} x {l} probabilities: unknown parameters are estimated for at "
            f"most {_MOST_ENTRIES:,}; use fewer categories"
        )
