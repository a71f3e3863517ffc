"""What the reports of several variables say of them: all that estimates and tests start from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotAvailable
from ldpstats.estimators.mle import MLE
from ldpstats.models.association.groups import JointGroup, Scores
from ldpstats.models.association.variables import VariableSpec
from ldpstats.models.frequency.model import FrequencyModel
from ldpstats.problems.joint.moments import JointMoments
from ldpstats.problems.problem import Likelihood
from ldpstats.problems.rows.base import DenseRows
from ldpstats.problems.rows.combined import StackedRows
from ldpstats.problems.rows.other import other_rows
from ldpstats.problems.simplex import project_subsimplex

__all__ = ["Evidence", "simulated"]

Array = npt.NDArray[Any]

LARGEST_LISTED = 1 << 20  # entries of a joint channel that is formed for a check


@dataclass(frozen=True, eq=False)
class Evidence:
    """The reports of an association model, by group of respondents, and what follows from them.

    Parameters
    ----------
    groups : tuple of JointGroup
        Respondents whose mechanisms are the same.
    specs : tuple of VariableSpec
        What of each variable is estimated.
    names : tuple of str
        Names of the variables.
    """

    groups: tuple[JointGroup, ...]
    specs: tuple[VariableSpec, ...]
    names: tuple[str, ...]

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and stored: the reports, not what was computed from them."""
        return {"groups": self.groups, "specs": self.specs, "names": self.names}

    @property
    def nobs(self) -> int:
        """Number of respondents."""
        return sum(group.nobs for group in self.groups)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(spec.k for spec in self.specs)

    @property
    def is_complete(self) -> bool:
        """Whether every answer is in some cell."""
        return all(spec.complete for spec in self.specs)

    @property
    def is_exact(self) -> bool:
        """Whether every answer is in some cell, and no "Other" is modelled."""
        return self.is_complete and not any(spec.approximate for spec in self.specs)

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that differ whenever the reports do (BLAKE2)."""
        found = hashlib.blake2b(digest_size=8)
        for group in self.groups:
            for part in group.counts.reports:
                found.update(part.mechanism.fingerprint.encode())
                y = part.y if part.mechanism.n_bits else part.y.astype(np.int64)
                for values in (y, part.cohort):
                    found.update(b"" if values is None else np.ascontiguousarray(values).tobytes())
            found.update(np.ascontiguousarray(group.counts.n).tobytes())
        return found.hexdigest()

    # -- each variable alone -------------------------------------------------------------------

    @cached_property
    def margins(self) -> tuple[FrequencyModel, ...]:
        """The model of each variable alone."""
        return tuple(
            FrequencyModel([group.variables[v] for group in self.groups], spec.candidates)
            for v, spec in enumerate(self.specs)
        )

    @cached_property
    def _others(self) -> list[list[Array | None]]:
        """Likelihood of a modelled "Other", by group and variable."""
        found: list[list[Array | None]] = [[None] * len(self.specs) for _ in self.groups]
        for v, spec in enumerate(self.specs):
            if not spec.approximate:
                continue
            p = project_subsimplex(self.margins[v].moments().estimate()[0])
            # noise may leave nothing for Other, whose law is then unknown: about a standard error
            p *= min(1.0, (1.0 - self.nobs**-0.5) / float(p.sum()))
            for g, group in enumerate(self.groups):
                found[g][v] = other_rows(group.variables[v], spec.candidates, p, form=spec.other)
        return found

    @cached_property
    def _likelihoods(self) -> list[tuple[DenseRows, ...]]:
        """Likelihoods of the distinct reports of each group and variable."""
        pairs = zip(self.groups, self._others, strict=True)
        return [group.likelihoods(others) for group, others in pairs]

    @cached_property
    def references(self) -> tuple[Array, ...]:
        """Maximum likelihood estimate of each margin."""
        found = []
        for v, spec in enumerate(self.specs):
            mechanism = self.groups[0].counts.mechanisms[v]
            if spec.complete and not (mechanism.n_bits or mechanism.n_cohorts):
                found.append(MLE().solve(self.margins[v].likelihood()).p)  # k-RR in closed form
                continue
            parts = tuple(rows[v] for rows in self._likelihoods)
            n = np.concatenate([group.variables[v].n for group in self.groups])
            W = parts[0] if len(parts) == 1 else StackedRows(parts)
            found.append(MLE().solve(Likelihood(W, n)).p)
        return tuple(found)

    @cached_property
    def _interior(self) -> tuple[Array, ...]:
        """The marginal fits, moved from the boundary where they make a report impossible.

        Scores divide by the probability of the report; any reference would do.
        """
        found = []
        for v, p in enumerate(self.references):
            ruled_out = any(group.rules_out(v, p) for group in self.groups)
            weight = 0.5 / self.nobs if ruled_out else 0.0
            found.append((1.0 - weight) * p + weight / p.size)
        return tuple(found)

    def tables(self) -> list[tuple[Array, Array]]:
        """Channel, (k, l), and counts, (l,), of joint reports; none where they are not listed."""
        found = []
        for group in self.groups:
            mechanisms = group.counts.mechanisms
            if any(m.n_bits or m.n_cohorts for m in mechanisms):
                return []
            if prod(m.n_outputs * m.k for m in mechanisms) > LARGEST_LISTED:
                return []
            Q = reduce(np.kron, [m.channel().matrix() for m in mechanisms])
            found.append((np.asarray(Q), group.counts.table().reshape(-1)))
        return found

    # -- all variables together ----------------------------------------------------------------

    @property
    def null(self) -> Array:
        """The cells under independence: products of the marginal fits, shape (k,)."""
        return reduce(np.kron, self.references)

    @cached_property
    def scores(self) -> tuple[Scores, ...]:
        """Scores of all reports at the marginal fits, group by group."""
        pairs = zip(self.groups, self._likelihoods, strict=True)
        return tuple(Scores(group, rows, self._interior) for group, rows in pairs)

    @cached_property
    def likelihood(self) -> Likelihood:
        """The exact likelihood of all reports together, over the cells in row-major order."""
        pairs = zip(self.groups, self._likelihoods, strict=True)
        parts = tuple(group.joint_rows(rows) for group, rows in pairs)
        n = np.concatenate([group.counts.n for group in self.groups])
        return Likelihood(parts[0] if len(parts) == 1 else StackedRows(parts), n)

    def loglike(self, p: Array) -> float:
        """Log-likelihood of an estimate; nan where it is no distribution."""
        if np.any(p < 0.0) or abs(p.sum() - 1.0) > 1e-9:
            return float("nan")
        return self.likelihood.loglike(p)

    @cached_property
    def moments(self) -> JointMoments:
        """Equations for the products of linear estimates of single reports."""
        strata = tuple(s for group in self.groups for s in group.linear_strata())
        return JointMoments(strata, self.names, self.is_complete)

    @cached_property
    def dual_moments(self) -> JointMoments:
        """Equations for the products of the scores at the marginal fits (see `OneStep`)."""
        strata = tuple(s for scores in self.scores for s in scores.strata())
        return JointMoments(strata, self.names, self.is_complete)


def simulated(evidence: Evidence, p: Array, rng: np.random.Generator) -> Evidence:
    """That of as many simulated respondents, whose true cells have law p; cohorts stay."""
    if not evidence.is_exact:
        raise NotAvailable(
            "the law of answers that are not among the candidates is not known: nothing can be "
            "simulated; use method='score'"
        )
    specs = evidence.specs
    labels = [spec.labels for spec in specs]
    drawn = (group.counts.simulated(p, labels, rng) for group in evidence.groups)
    return replace(evidence, groups=tuple(JointGroup(counts, specs) for counts in drawn))
