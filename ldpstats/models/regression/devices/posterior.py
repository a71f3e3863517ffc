"""The posterior of a regression whose devices have unknown parameters: prior, density, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.models.posterior.densities.devices import DevicesDensity
from ldpstats.models.regression.devices.fitting import (
    check_identified,
    parametric_likelihood,
    refuse_devices,
)
from ldpstats.models.regression.prior import prior_in_words, regression_prior
from ldpstats.models.regression.structure import RegressionStructure
from ldpstats.priors import Beta

__all__ = ["DevicesTarget"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DevicesTarget:
    """What is drawn from, and how it is called.

    Parameters
    ----------
    density : DevicesDensity
    labels : Index
        Of the coefficients as `fit` has them, and of the parameters.
    words : str
        The prior.
    """

    density: DevicesDensity
    labels: pd.Index[Any]
    words: str

    @classmethod
    def of(cls, model: RegressionStructure, prior: Any) -> DevicesTarget:
        """The posterior of a model.

        Parameters
        ----------
        model : RegressionStructure
            With unknown parameters.
        prior : None, Normal, or mapping of str to Normal or Beta
            Of all coefficients, or of coefficients and parameters by name.

        Raises
        ------
        InvalidArgument
            For an unknown name, and a law of another kind.
        NotIdentified
            If the reports leave something open, and no prior of an open parameter was given.
        """
        refuse_devices(model)
        rest, own = _split(prior, model.unknown)
        laws = [own.get(name, Beta()) for name in model.unknown]
        a, b = (np.array([getattr(law, side) for law in laws]) for side in "ab")
        coefficients = regression_prior(model, rest)
        likelihood = parametric_likelihood(model)
        name = model.unknown[0]
        more = f"; or give what is known of a parameter, prior={{'{name}': Beta(2, 18)}}, say"
        check_identified(likelihood, model.all_names, list(own), more)
        density = DevicesDensity(likelihood, coefficients, a, b)
        if density.peaks[1]:
            raise NotIdentified(
                "the posterior has several maxima that are as high, as other values explain the "
                f"reports as well: add a group of respondents with another device{more}"
            )
        given = [f"{one}: {law!r}" for one, law in zip(model.unknown, laws, strict=True)]
        words = "; ".join([prior_in_words(model, rest), *given])
        shown = [*model.all_names[: model.n_shown], *model.unknown]
        return cls(density, pd.Index(shown), words)

    @property
    def peak(self) -> Array | None:
        """Where the density of coefficients and parameters is largest; None if nowhere."""
        density = self.density
        if min(density.a.min(), density.b.min()) < 1.0:
            return None
        return density.shown(density.highest(density.a - 1.0, density.b - 1.0)[0].x)

    def drawn(self, rng: np.random.Generator, draws: int) -> Array:
        """Draws from the prior of what is reported."""
        density = self.density
        parameters = rng.beta(density.a, density.b, size=(draws, density.a.size))
        return density.shown(np.hstack([density.prior.draw(rng, draws), parameters]))


def _split(prior: Any, unknown: tuple[str, ...]) -> tuple[Any, dict[str, Beta]]:
    """Priors of coefficients, and of parameters by name."""
    if isinstance(prior, pd.Series):
        prior = prior.to_dict()
    if not isinstance(prior, Mapping):
        return prior, {}
    own = {name: law for name, law in prior.items() if name in unknown}
    for name, law in own.items():
        if not isinstance(law, Beta):
            remedy = "must be a prior of a probability, such as ldpstats.priors.Beta(2, 18)"
            raise InvalidArgument(f"prior[{name!r}]", law, remedy)
    rest = {name: law for name, law in prior.items() if name not in own}
    return (rest or None) if own else prior, own
