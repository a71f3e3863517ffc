"""Mechanisms that a respondent works by hand: a randomising device, with its exact law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.labels import as_labels
from ldpstats.channels.base import Channel
from ldpstats.channels.structured import Dense
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import check_document
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.programs.documents import step_from_dict, step_to_dict
from ldpstats.programs.instructions import instructions
from ldpstats.programs.laws import Law, law
from ldpstats.programs.privacy import largest_ratio, nearest_log
from ldpstats.programs.steps import Step

__all__ = ["DeviceMechanism"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class DeviceMechanism(Enumerated):
    """A randomising device as a mechanism: `Device.mechanism` makes it.

    Parameters
    ----------
    device : Step
        The steps, as `Device.step` has them.
    categories : int, sequence of labels, or pandas Categorical
        The true answers.
    outputs : int or sequence of labels, optional
        What a report may be. By default the categories, where the device says nothing else, or the
        labels of the device in their order, where none of them is a category. A mixture of both
        must be listed here: it may be a misspelt category.

    Raises
    ------
    InvalidArgument
        If the device does not fit the categories, or says what is no output.
    NotAvailable
        If the device has unknown parameters.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> die = ldp.devices.roll(6).when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
    >>> forced = die.mechanism(("no", "yes"))
    >>> forced.exact
    ((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6)))
    >>> forced.ratio, forced.epsilon
    (Fraction(5, 1), 1.6094379124341003)
    """

    device: Any
    categories: Any
    outputs: Any = None

    def __post_init__(self) -> None:
        device: object = self.device
        if not isinstance(device, Step):
            remedy = "must be the steps of a device: device.mechanism(categories) passes them"
            raise InvalidArgument("device", device, remedy)
        categories = as_labels("categories", self.categories)
        object.__setattr__(self, "categories", categories)
        if device.unknown:
            raise NotAvailable(
                f"the device depends on the unknown {', '.join(device.unknown)}: "
                "device.mechanism(categories) makes a mechanism that has them"
            )
        object.__setattr__(self, "outputs", _outputs(self.outputs, self.law))

    @cached_property
    def law(self) -> Law:
        """The exact law of a report, by category."""
        return law(self.device, self.categories.tolist())

    @cached_property
    def exact(self) -> tuple[tuple[Fraction, ...], ...]:
        """Q exactly: k rows of l Fractions, in the order of `categories` and `outputs`."""
        found = Law(self.law.categories, tuple(self.outputs), self.law.even, self.law.sparse).rows
        return found  # type: ignore[return-value]

    @cached_property
    def ratio(self) -> Fraction | float:
        """The largest ratio of two probabilities of one report; inf if one is zero."""
        return largest_ratio(self.law)

    @cached_property
    def epsilon(self) -> float:  # type: ignore[override]
        """The float nearest to the logarithm of `ratio`, in nats."""
        return nearest_log(self.ratio)

    def instructions(self, words: object = None) -> list[str]:
        """Numbered sentences for the respondent.

        Parameters
        ----------
        words : dict of str to str, optional
            Words to replace, by their keys in `devices.WORDS`; see `Device.instructions`.

        Raises
        ------
        InvalidArgument
            If `words` has an unknown key, or a text that lacks what must be filled in.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> mangat = ldp.devices.library.mangat(0.6).mechanism(("no", "yes"))
        >>> mangat.instructions()[1]
        '2. If your true answer is “yes”, say “yes”.'
        """
        return instructions(self.device, self.categories, words)

    def channel(self, candidates: Any = None) -> Channel:
        self._closed(candidates)
        return self._channel

    @cached_property
    def _channel(self) -> Dense:
        return Dense(np.array(self.exact, dtype=np.float64))

    def _specification(self) -> dict[str, Any]:
        document = {"device": None} | _head(self)
        document["device"] = step_to_dict(self.device)
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        checked = check_document(document)
        return super().from_dict(checked | {"device": step_from_dict(checked.get("device"))})


def _head(mechanism: DeviceMechanism) -> dict[str, Any]:
    return super(DeviceMechanism, mechanism)._specification()


def _outputs(given: Any, found: Law) -> pd.Index[Any]:
    """The labels of the reports; see the parameter `outputs`."""
    said = list(found.outputs)
    if given is not None:
        outputs = as_labels("outputs", given, least=1)
        known = {(type(y), y) for y in outputs.tolist()}
        for label in said:
            if (type(label), label) not in known:
                remedy = f"must list what the device can say; {label!r} is not there"
                raise InvalidArgument("outputs", outputs.tolist(), remedy)
        return outputs
    strange = [y for y in said if y not in found.places]
    if strange and len(strange) < len(said):
        remedy = (
            f"is said by the device and is not one of the categories, as {said[0]!r} is"
            if said[0] in found.places
            else "is said by the device and is not one of the categories, as others are"
        )
        raise InvalidArgument("say", strange[0], f"{remedy}: mend it, or list all with outputs=")
    return as_labels("outputs", said, least=1)
