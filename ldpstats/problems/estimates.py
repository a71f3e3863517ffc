"""An estimate with its covariance, and the share of answers that candidates leave over.

What is known of their law is in `exact_counts`, `tallies` and `report_law`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import level
from ldpstats.arguments.documents import (
    array_from_json,
    array_to_json,
    number_from_json,
    number_to_json,
)
from ldpstats.arguments.markup import html_lines
from ldpstats.errors import NotAvailable
from ldpstats.problems.covariance import Covariance

# pickles of earlier versions have these under the name of this module
from ldpstats.problems.exact_counts import ExactForm
from ldpstats.problems.report_law import ReportLaw, ReportPart
from ldpstats.problems.tallies import OwnTally, PathLaw, PooledTallies, Tallies

__all__ = [
    "ExactForm",
    "OwnTally",
    "PathLaw",
    "PooledTallies",
    "ReportLaw",
    "ReportPart",
    "Tallies",
    "Uncertain",
    "Unexplained",
]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Uncertain:
    """An estimate of shape (k,) and its covariance, None where it was not computed.

    Where only some categories were estimated, `at` holds their positions, shape (s,), and the
    covariance, of size s, is theirs. `variances`, shape (k,), stand alone where the covariance is
    too large to form.
    """

    estimate: Array
    covariance: Covariance | None
    at: Array | None = None
    variances: Array | None = None

    @property
    def has_errors(self) -> bool:
        """Whether there are standard errors at all."""
        return self.covariance is not None or self.variances is not None

    def bse(self) -> Array:
        """Standard errors, shape (k,); nan where there are none."""
        if self.variances is not None:
            return np.sqrt(self.variances)
        found = np.full(self.estimate.size, np.nan)
        if self.covariance is not None:
            found[self.places] = np.sqrt(self.covariance.variances())
        return found

    def every_bse(self) -> Array:
        """Standard errors, shape (k,); refused, saying why, where some were not computed."""
        se = self.bse()
        if np.isnan(se).any():
            self.known()
        return se

    @property
    def places(self) -> Any:
        """Index of the entries that the covariance is of."""
        return slice(None) if self.at is None else self.at

    def known(self) -> Covariance:
        """The covariance; refused where it was not computed."""
        if self.covariance is None:
            if self.variances is not None:
                raise NotAvailable(
                    f"covariances of {self.estimate.size} frequencies at once were not computed: "
                    "use fewer categories (other=True of associations merges them)"
                )
            raise NotAvailable(
                f"standard errors of {self.estimate.size} frequencies were not computed: use fewer "
                "categories, fewer candidates, or a method that selects among them"
            )
        return self.covariance

    def restricted(self, R: Array) -> tuple[Array, Array, Covariance]:
        """Contrasts R of shape (q, k) on the entries that have a covariance: R, estimate, V."""
        V = self.known()
        if self.at is None:
            return R, self.estimate, V
        others = np.delete(R, self.at, axis=1)
        if np.any(others != 0.0):
            raise NotAvailable("the hypothesis is about candidates that were not selected")
        return R[:, self.at], self.estimate[self.at], V

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        V, at = self.covariance, self.at
        document: dict[str, Any] = {
            "estimate": array_to_json(self.estimate),
            "covariance": None if V is None else V.to_dict(),
            "at": None if at is None else at.tolist(),
        }
        if self.variances is not None:
            document["variances"] = array_to_json(self.variances)
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Uncertain:
        """Inverse of `to_dict`."""
        estimate, V = array_from_json(document["estimate"]), document["covariance"]
        at = None if document["at"] is None else np.array(document["at"], dtype=np.int64)
        alone = document.get("variances")
        return cls(
            estimate,
            None if V is None else Covariance.from_dict(V),
            at,
            None if alone is None else array_from_json(alone),
        )


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Share of the respondents whose answer is not among the candidates.

    Parameters
    ----------
    estimate : float
        One minus the sum of the linear estimates; it may leave [0, 1].
    bse : float
        Its standard error; nan where none was computed.

    Examples
    --------
    >>> share = Unexplained(0.2, 0.01)
    >>> print(share)
    share not among the candidates: 0.2 (std err 0.01), 95% interval [0.1804, 0.2196]
    >>> float(share), [round(v, 4) for v in share.conf_int(alpha=0.05)]
    (0.2, [0.1804, 0.2196])
    >>> f"{share:.1%} of the answers", round(share, 1)
    ('20.0% of the answers', 0.2)
    """

    estimate: float
    bse: float

    def __float__(self) -> float:
        return self.estimate

    def __round__(self, ndigits: int | None = None) -> float:
        """The estimate, rounded."""
        return round(self.estimate, ndigits)

    def __format__(self, form: str) -> str:
        """The estimate in a format of numbers, such as ".3f"; all of it in words without one."""
        return format(self.estimate, form) if form else str(self)

    def __str__(self) -> str:
        text = f"share not among the candidates: {self.estimate:.4g}"
        if np.isnan(self.bse):
            return text
        lower, upper = self.conf_int()
        return f"{text} (std err {self.bse:.4g}), 95% interval [{lower:.4g}, {upper:.4g}]"

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))

    def conf_int(self, alpha: float = 0.05, clip: bool = True) -> tuple[float, float]:
        """Wald interval of the share, cut to [0, 1] unless `clip` is False."""
        from scipy.special import ndtri

        if np.isnan(self.bse):
            raise NotAvailable("no standard error of the unexplained share was computed")
        reach = float(-ndtri(level(alpha) / 2.0)) * self.bse
        ends = self.estimate - reach, self.estimate + reach
        return (min(max(ends[0], 0.0), 1.0), min(max(ends[1], 0.0), 1.0)) if clip else ends

    def is_positive(self, alpha: float) -> bool:
        """Whether a one-sided test of level `alpha` rejects that all answers are listed."""
        from scipy.special import ndtri

        return bool(self.estimate > -ndtri(level(alpha)) * self.bse)  # False where that is nan

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"estimate": self.estimate, "bse": number_to_json(self.bse)}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Unexplained:
        """Inverse of `to_dict`."""
        return cls(document["estimate"], number_from_json(document["bse"]))
