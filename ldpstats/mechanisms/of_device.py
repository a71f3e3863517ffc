"""What mechanisms made of a randomising device share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.channels.structured import Uniformised
from ldpstats.errors import InvalidArgument
from ldpstats.mechanisms.base import check_document
from ldpstats.mechanisms.enumerated import Enumerated
from ldpstats.programs.checks import listed_labels
from ldpstats.programs.documents import step_from_dict, step_to_dict
from ldpstats.programs.instructions import instructions
from ldpstats.programs.laws import Law, law
from ldpstats.programs.polynomials import Chance
from ldpstats.programs.steps import Cohorts, Step

__all__ = ["CohortPart", "OfDevice"]


@dataclass(frozen=True, eq=False)
class CohortPart:
    """One cohort of a device.

    Parameters
    ----------
    name : str
        What its reports begin with, before a colon.
    mechanism : DeviceMechanism or UnknownDevice
        What it does, without its name in the reports.
    places : array of int, shape (l,)
        The numbers of its l reports among those of the whole; -1 for what it never says.
    """

    name: str
    mechanism: Any
    places: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OfDevice(Enumerated):
    """A mechanism whose law follows from the steps of a device.

    Parameters
    ----------
    device : Step
    categories : int, sequence of labels, or pandas Categorical
    outputs : int or sequence of labels, optional
        See `DeviceMechanism`.
    """

    device: Any
    categories: Any
    outputs: Any = None

    def __post_init__(self) -> None:
        device: object = self.device
        if not isinstance(device, Step):
            remedy = "must be the steps of a device: device.mechanism(categories) passes them"
            raise InvalidArgument("device", device, remedy)
        object.__setattr__(self, "categories", listed_labels("categories", self.categories))
        self._check_device(device)
        object.__setattr__(self, "outputs", _outputs(self.outputs, self.law))

    def _check_device(self, device: Step) -> None:
        """Refuse devices of another kind, before their law is asked for."""

    @property
    def cohort_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of its cohorts, if it is a device of cohorts; a report begins with one."""
        return self.device.named if isinstance(self.device, Cohorts) else ()

    @cached_property
    def cohort_parts(self) -> tuple[CohortPart, ...]:  # type: ignore[override]
        """What each cohort does, and which reports are its own; none for other devices.

        A cohort is a group of respondents: what is estimated is given how many there are in each,
        whatever shares the device draws them with.

        Examples
        --------
        >>> from ldpstats.devices import cohorts, opposite, truth
        >>> both = cohorts({"A": truth, "B": opposite}).mechanism(("no", "yes"))
        >>> [(part.name, part.places.tolist()) for part in both.cohort_parts]
        [('A', [0, 1]), ('B', [2, 3])]
        """
        if not isinstance(self.device, Cohorts):
            return ()
        places = {label: i for i, label in enumerate(self.outputs.tolist())}
        found = []
        for name, step in zip(self.device.named, self.device.steps, strict=True):
            said = list(law(step, self.categories).outputs)
            own = np.array([places.get(f"{name}:{y}", -1) for y in said], dtype=np.int64)
            found.append(CohortPart(name, self._alone(step, said), own))
        return tuple(found)

    @cached_property
    def is_separable(self) -> bool:  # type: ignore[override]
        """Whether each cohort determines the frequencies alone."""
        channels = (part.mechanism.channel() for part in self.cohort_parts)
        return all(
            Q.a != 0.0
            if isinstance(Q, Uniformised)
            else np.linalg.matrix_rank(Q.matrix()) == self.k
            for Q in channels
        )

    def of_sizes(self, sizes: Sequence[int]) -> Self:
        """The device of the same cohorts whose shares are those of so many respondents in each."""
        kept = [c for c, size in enumerate(sizes) if size]
        names = tuple(self.device.named[c] for c in kept)
        shares = tuple(Fraction(int(sizes[c]), int(sum(sizes))) for c in kept)
        step = Cohorts(tuple(self.device.steps[c] for c in kept), names, shares)
        return type(self)(step, self.categories, self.outputs)

    @abstractmethod
    def _alone(self, step: Step, outputs: list[Any]) -> OfDevice:
        """The mechanism of one cohort."""

    @cached_property
    def law(self) -> Law:
        """The exact law of a report, by category."""
        return law(self.device, self.categories)

    @cached_property
    def exact(self) -> tuple[tuple[Chance, ...], ...]:
        """Q exactly, in the order of `categories` and `outputs`.

        k rows of l Fractions, or of polynomials in the unknown parameters.

        Raises
        ------
        NotAvailable
            If it has more than 4 million entries.
        """
        return self.law.listed(self.outputs.tolist())

    def instructions(self, words: object = None) -> list[str]:
        """Numbered sentences for the respondent: what the design tells, not what some do instead.

        Parameters
        ----------
        words : dict of str to str, optional
            Words to replace, by their keys in `devices.WORDS`; see `Device.instructions`.

        Raises
        ------
        InvalidArgument
            If `words` has an unknown key, or a text that lacks what must be filled in.
        NotAvailable
            If all branches at an unknown probability lead on: nobody knows which of them is told.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> mangat = ldp.devices.library.mangat(0.6).mechanism(("no", "yes"))
        >>> mangat.instructions()[1]
        '2. If your true answer is “yes”, say “yes”.'
        """
        return instructions(self.device, self.categories, words)

    def _specification(self) -> dict[str, Any]:
        return super()._specification() | {"device": step_to_dict(self.device)}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        checked = check_document(document)
        return super().from_dict(checked | {"device": step_from_dict(checked.get("device"))})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.device, self.categories, self.outputs)


def _outputs(given: Any, found: Law) -> pd.Index[Any]:
    """The labels of the reports; see the parameter `outputs`."""
    said = list(found.outputs)
    if given is not None:
        outputs = listed_labels("outputs", given, least=1)
        known = {(type(y), y) for y in outputs.tolist()}
        for label in said:
            if (type(label), label) not in known:
                remedy = f"must list what the device can say; {label!r} is not there"
                raise InvalidArgument("outputs", outputs.tolist(), remedy)
        return outputs
    strange = [y for y in said if y not in found.places]
    if strange and len(strange) < len(said):
        remedy = (
            "is said by the device and is no category, but others are: correct it, or list all "
            f"reports with outputs={[y for y in said if y in found.places] + strange}"
        )
        raise InvalidArgument("say", strange[0], remedy)
    return listed_labels("outputs", said, least=1)
