"""Devices of cohorts: what each cohort does, and which reports of the whole are its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.mechanisms.device import DeviceMechanism
from ldpstats.mechanisms.of_device import OfDevice
from ldpstats.mechanisms.unknown_device import UnknownDevice
from ldpstats.programs.laws import law
from ldpstats.programs.steps import Cohorts

__all__ = ["CohortPart", "cohort_parts"]


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
    mechanism: DeviceMechanism | UnknownDevice
    places: npt.NDArray[np.int64]


def cohort_parts(mechanism: Any) -> tuple[CohortPart, ...]:
    """The cohorts of a mechanism; none if it is not a device of cohorts.

    Examples
    --------
    >>> from ldpstats.devices import cohorts, opposite, truth
    >>> both = cohorts({"A": truth, "B": opposite}).mechanism(("no", "yes"))
    >>> [(part.name, part.places.tolist()) for part in cohort_parts(both)]
    [('A', [0, 1]), ('B', [2, 3])]
    """
    if not isinstance(mechanism, OfDevice) or not isinstance(mechanism.device, Cohorts):
        return ()
    places = {label: i for i, label in enumerate(mechanism.outputs.tolist())}
    found = []
    for name, step in zip(mechanism.device.named, mechanism.device.steps, strict=True):
        said = law(step, mechanism.categories).outputs
        kind = UnknownDevice if step.unknown else DeviceMechanism
        own = np.array([places.get(f"{name}:{y}", -1) for y in said], dtype=np.int64)
        found.append(CohortPart(name, kind(step, mechanism.categories, list(said)), own))
    return tuple(found)
