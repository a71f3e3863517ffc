"""Devices with unknown parameters: cheating, an unrelated question nobody has counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.names import did_you_mean
from ldpstats.channels.audit import Audit
from ldpstats.channels.base import Channel
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.device import DeviceMechanism
from ldpstats.mechanisms.of_device import OfDevice
from ldpstats.mechanisms.words import made_of
from ldpstats.problems.equations import Moments
from ldpstats.problems.parametric.matrices import PolynomialMatrix
from ldpstats.problems.problem import Likelihood
from ldpstats.programs.probabilities import chance
from ldpstats.programs.steps import Step
from ldpstats.programs.unknowns import substituted, terms_of, worst_epsilon
from ldpstats.reports.single import BitCounts, Counts, Reports
from ldpstats.sampling.words import Words

__all__ = ["UnknownDevice"]

Array = npt.NDArray[Any]

_RESERVED = {"self", "values", "rng", "missing"}


@dataclass(frozen=True, eq=False)
class UnknownDevice(OfDevice):
    """A randomising device with unknown parameters: `Device.mechanism` makes it.

    The parameters are probabilities that the design leaves open, such as the share of respondents
    who do not follow the instructions. `FrequencyModel` estimates them together with the
    frequencies, from one or several groups. `at` gives the mechanism that the device is for known
    values.

    Parameters
    ----------
    device : Step
        The steps, as `Device.step` has them.
    categories : int, sequence of labels, or pandas Categorical
        The true answers.
    outputs : int or sequence of labels, optional
        What a report may be; see `DeviceMechanism`.

    Raises
    ------
    InvalidArgument
        If the device has no unknown parameter, does not fit the categories, or can say a label
        that is not an output.

    Examples
    --------
    Respondents who cheat say "no", whatever the die shows:

    >>> import ldpstats as ldp
    >>> from ldpstats.devices import flip, roll, truth, unknown
    >>> die = roll(6).when({1: "yes"}, otherwise=truth)
    >>> device = flip(unknown("cheating")).when({"heads": "no", "tails": die})
    >>> survey = device.mechanism(("no", "yes"))
    >>> survey.unknown
    ('cheating',)
    >>> survey.exact[1]
    (cheating, 1 - cheating)
    >>> survey.at(cheating="1/10").exact[1]
    (Fraction(1, 10), Fraction(9, 10))
    """

    def _check_device(self, device: Step) -> None:
        if not device.unknown:
            raise InvalidArgument("device", device, "has no unknown parameter: use DeviceMechanism")
        reserved = set(device.unknown) & _RESERVED
        if reserved:
            remedy = "is an argument of simulate(): give the unknown parameter another name"
            raise InvalidArgument("unknown", min(reserved), remedy)
        taken = [name for name in device.unknown if name in set(self.categories)]
        if taken:
            remedy = "is a category too: give the unknown parameter another name"
            raise InvalidArgument("unknown", taken[0], remedy)

    def _alone(self, step: Step, outputs: list[Any]) -> OfDevice:
        kind = UnknownDevice if step.unknown else DeviceMechanism
        return kind(step, self.categories, outputs)

    @property
    def unknown(self) -> tuple[str, ...]:  # type: ignore[override]
        """The unknown parameters, in the order of the alphabet."""
        return tuple(self.device.unknown)

    @cached_property
    def _terms(self) -> tuple[Array, Array]:
        return terms_of(self.exact, self.unknown)

    def polynomials(self, names: Sequence[str]) -> PolynomialMatrix:
        """Q as polynomials in these parameters, of which `unknown` are some."""
        exponents, coefficients = self._terms
        own = [list(names).index(name) for name in self.unknown]
        wide = np.zeros((len(exponents), len(names)), dtype=np.int64)
        wide[:, own] = exponents
        return PolynomialMatrix(wide, coefficients.astype(np.float64))

    def matrix_at(self, values: Any = None, **named: Any) -> Array:
        """Q where the parameters have these values, shape (k, l).

        Parameters
        ----------
        values : mapping, Series or sequence of float, optional
            One for each of `unknown`, by name or in that order; or by keyword.

        Examples
        --------
        >>> from ldpstats.devices import flip, opposite, truth, unknown
        >>> cards = flip(unknown("mix")).when({"heads": truth, "tails": opposite})
        >>> cards.mechanism(("no", "yes")).matrix_at(mix=0.7)
        array([[0.7, 0.3],
               [0.3, 0.7]])
        """
        theta = [float(v) for v in self._values(values, named).values()]
        return self.polynomials(self.unknown).at(theta)

    def derivatives_at(self, values: Any = None, **named: Any) -> Array:
        """Derivatives of Q by each of the m parameters, shape (m, k, l); see `matrix_at`."""
        theta = [float(v) for v in self._values(values, named).values()]
        return self.polynomials(self.unknown).derivatives(theta)

    def at(self, values: Any = None, **named: Any) -> DeviceMechanism:
        """The mechanism that the device is where the parameters have these values.

        Parameters
        ----------
        values : mapping, Series or sequence of numbers, optional
            One for each of `unknown`, by name or in that order; or by keyword. They are read as
            `devices` reads probabilities: a float is the Fraction of its shortest decimal.

        Raises
        ------
        InvalidArgument
            If a parameter has no value, an unknown one has, or a value is not in [0, 1].
        """
        step = substituted(self.device, self._values(values, named))
        return DeviceMechanism(step, self.categories, self.outputs)

    def _values(self, values: Any, named: dict[str, Any]) -> dict[str, Fraction]:
        """A value for each parameter, exactly."""
        if isinstance(values, pd.Series):
            values = values.to_dict()
        if values is not None and not isinstance(values, Mapping):
            remedy = f"must have one value for each of {', '.join(self.unknown)}"
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
                raise InvalidArgument("values", values, remedy)
            flat = not isinstance(values, np.ndarray) or values.ndim == 1
            if not flat or len(values) != len(self.unknown):
                raise InvalidArgument("values", values, remedy)
            values = dict(zip(self.unknown, values, strict=True))
        given = {**(values or {}), **named}
        for name in given:
            if not isinstance(name, str) or name not in self.unknown:
                hint = did_you_mean(name, self.unknown) if isinstance(name, str) else ""
                remedy = f"is no unknown parameter of {', '.join(self.unknown)}{hint}"
                raise InvalidArgument("values", name, remedy)
        lacking = [name for name in self.unknown if name not in given]
        if lacking:
            remedy = f"must be given: {lacking[0]}=0.1, say"
            raise InvalidArgument(lacking[0], None, remedy)
        found = {name: chance(name, given[name]) for name in self.unknown}
        for name, value in found.items():
            if not isinstance(value, Fraction):
                raise InvalidArgument(name, value, "must be a number in [0, 1]")
        return found  # type: ignore[return-value]

    @cached_property
    def epsilon(self) -> float:  # type: ignore[override]
        """The largest epsilon over all values of the parameters in [0, 1], in nats.

        It may be infinite; `at` has that of known values.
        """
        return worst_epsilon(*self._terms)

    def simulate(
        self,
        values: object,
        rng: np.random.Generator,
        missing: str = "raise",
        **parameters: Any,
    ) -> Reports:
        """Simulate the reports of many respondents where the parameters have these values.

        Parameters
        ----------
        values : array-like, shape (n,)
            True categories (labels).
        rng : numpy.random.Generator
        missing : {"raise", "count"}
            Refuse missing answers, or leave them out and report how many there were.
        **parameters : number in [0, 1]
            A value for each of `unknown`.

        Returns
        -------
        Reports
            Of this device: the values are not in them.

        Examples
        --------
        >>> from ldpstats.devices import flip, opposite, truth, unknown
        >>> cards = flip(unknown("mix")).when({"heads": truth, "tails": opposite})
        >>> survey = cards.mechanism(("no", "yes"))
        >>> len(survey.simulate(["no"] * 10, np.random.default_rng(1), mix=0.8))
        10
        """
        made = self.at(**parameters).privatize(values, rng, missing)
        return Reports(made.y, self, made.n_missing, name=made.name)

    def simulate_counts(
        self, true_counts: Array, rng: np.random.Generator, candidates: Any = None
    ) -> Counts:
        self._refuse("law to simulate from")

    def channel(self, candidates: Any = None) -> Channel:
        self._refuse("channel")

    def moments(self, counts: Counts | BitCounts, candidates: Any = None) -> Moments:
        self._refuse("linear equation in the frequencies")

    def likelihood(self, counts: Counts, candidates: Any = None) -> Likelihood:
        self._refuse("likelihood in the frequencies alone")

    def sample(self, codes: Array, words: Words) -> Array:
        self._refuse("law to draw reports from")

    def _draw_document(self) -> dict[str, Any]:
        self._refuse("draw for a device")

    def audit(self) -> Audit:
        """Raise `NotAvailable`: `at` makes a mechanism that can be audited."""
        self._refuse("audit")

    def _sampler_epsilon(self) -> float:
        self._refuse("sampler")

    def _permitted(self, epsilon: float, max_epsilon: float | None, allow_no_privacy: bool) -> None:
        self._refuse("client")

    def __str__(self) -> str:
        return f"UnknownDevice({made_of(self)}; {', '.join(self.unknown)} unknown, k={self.k})"

    def _refuse(self, what: str) -> NoReturn:
        names = ", ".join(self.unknown)
        known = ", ".join(f"{name}=..." for name in self.unknown)
        raise NotAvailable(
            f"there is no {what}: this device depends on the unknown {names}. FrequencyModel "
            f"estimates it from several groups, simulate(values, rng, {known}) draws reports, and "
            f"at({known}) is the mechanism for known values"
        )
