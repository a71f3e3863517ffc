"""What results of a complex sample hold beside the fit: the design, and the domains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.documents import array_from_json, array_to_json
from ldpstats.models.shared.fit import Fit
from ldpstats.models.shared.groups import group_label
from ldpstats.models.shared.storage import estimates_from_dict, estimates_to_dict
from ldpstats.models.weighted.restoring import check_shapes, plain_from_dict, plain_to_dict

__all__ = ["Domains", "SampleFacts", "fit_from_dict", "fit_to_dict"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class SampleFacts:
    """The sample in which estimates were made.

    Parameters
    ----------
    design : str
        How it was drawn, in words.
    variance : str
        How variances were estimated, in words.
    n_strata, n_units : int
        Strata and units of the first stage, of the whole sample.
    nobs : int
        Respondents of the whole sample.
    weight_sum : float
        Sum of all weights: the estimated size of the population.
    spread : float
        ``n sum(w^2) / sum(w)^2``, what unequal weights alone would do to a variance (Kish 1965).
    df : float
        Units less strata of the first stage; of replicates their rank less one.
    calibrated : bool
        Whether weights were calibrated: population totals may then determine a share.
    """

    design: str
    variance: str
    n_strata: int
    n_units: int
    nobs: int
    weight_sum: float
    spread: float
    df: float
    calibrated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return plain_to_dict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> SampleFacts:
        """Inverse of `to_dict`."""
        return cls(**plain_from_dict(cls, document))


@dataclass(frozen=True, eq=False)
class Domains:
    """The domains whose frequencies were estimated, one where all are.

    Parameters
    ----------
    by : tuple of str
        The columns that make them; none where there is one.
    labels : tuple of tuple
        A value for each column.
    sizes : array of int, shape (g,)
        Respondents with a report in each.
    df : array, shape (g,)
        Units of the first stage with such respondents, less strata that hold them, without strata
        of which all units were taken.
    df_free : array, shape (g,)
        The same if no unit had been taken for certain: those of tests about a superpopulation.
    channel : array, shape (g k,)
        Variance of one report's estimate over that of the true answer, under simple random
        sampling: what planning calls the factor of the channel.
    spread : array, shape (g,)
        As that of `SampleFacts`, of the respondents of each.
    alone : array of bool, shape (g,)
        Which lie in one sampling unit, or in strata of one unit where these are given the mean of
        the others: the variance of shares is not known.
    n_ungrouped : int
        Respondents who are in no domain.
    """

    by: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    sizes: Array
    df: Array
    df_free: Array
    channel: Array
    spread: Array
    alone: npt.NDArray[np.bool_]
    n_ungrouped: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "by": list(self.by),
            "labels": [list(label) for label in self.labels],
            "sizes": self.sizes.tolist(),
            "df": array_to_json(self.df),
            "df_free": array_to_json(self.df_free),
            "channel": array_to_json(self.channel),
            "spread": array_to_json(self.spread),
            "alone": self.alone.tolist(),
            "n_ungrouped": self.n_ungrouped,
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Domains:
        """Inverse of `to_dict`; refuse labels and sizes that do not go together."""
        by = tuple(map(str, document["by"]))
        found = cls(
            by=by,
            labels=tuple(group_label(tuple(label), by) for label in document["labels"]),
            sizes=np.array(document["sizes"], dtype=np.int64),
            df=array_from_json(document["df"]),
            df_free=array_from_json(document["df_free"]),
            channel=array_from_json(document["channel"]),
            spread=array_from_json(document["spread"]),
            alone=np.array(document["alone"], dtype=np.bool_),
            n_ungrouped=int(document["n_ungrouped"]),
        )
        g = (len(found.labels),)
        arrays = ("sizes", "df", "df_free", "spread", "alone")
        check_shapes({name: (getattr(found, name), g) for name in arrays})
        return found


def fit_to_dict(fit: Fit) -> dict[str, Any]:
    """A fit as plain JSON types."""
    return estimates_to_dict(fit.fitted, fit.linear) | plain_to_dict(fit)


def fit_from_dict(document: dict[str, Any]) -> Fit:
    """Inverse of `fit_to_dict`."""
    given: dict[str, Any] = {**estimates_from_dict(document), **plain_from_dict(Fit, document)}
    return Fit(**given)
