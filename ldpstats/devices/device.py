"""Randomising devices, written as a respondent works them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.device import DeviceMechanism
from ldpstats.programs.checks import known_label
from ldpstats.programs.documents import step_from_dict, step_to_dict
from ldpstats.programs.steps import Say, Step, Then, When, check_step

__all__ = ["Device", "as_step"]


class Device:
    """A randomising device: steps that turn a true answer into a report.

    `ldpstats.devices` makes the first steps; `when` goes on by the outcome, and ``first >> second``
    takes the report of one for the true answer of the next. A device never changes.

    Parameters
    ----------
    step : Step
        What the device does, as data.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> die = ldp.devices.roll(6)
    >>> card = die.when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
    >>> card
    roll(6).when({1: 'yes', 6: 'no'}, otherwise=truth)
    >>> card.mechanism(("no", "yes")).ratio
    Fraction(5, 1)
    """

    __slots__ = ("_step",)
    _step: Step

    def __init__(self, step: Step) -> None:
        object.__setattr__(self, "_step", check_step("step", step))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a device never changes: {name} cannot be set; make another device")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._step,)

    @property
    def step(self) -> Step:
        """What the device does, as data."""
        return self._step

    @property
    def unknown(self) -> tuple[str, ...]:
        """The unknown parameters, in the order of the alphabet."""
        return self._step.unknown

    def when(self, branches: Mapping[Any, Any], otherwise: Any = None) -> Device:
        """Go on by the outcome.

        Parameters
        ----------
        branches : dict of outcome to Device or label
            A range, tuple or frozenset stands for several outcomes; a label for ``say(label)``.
            Inside a branch `truth` is still the respondent's true answer.
        otherwise : Device or label, optional
            For all other outcomes. Without it each outcome needs a branch.

        Raises
        ------
        InvalidArgument
            If a key is no outcome or occurs twice, or an outcome has no branch.

        Examples
        --------
        >>> from ldpstats.devices import flip, truth
        >>> flip(0.7).when({"heads": truth, "tails": "yes"})
        flip('7/10').when({'heads': truth, 'tails': 'yes'})
        """
        remedy = "must be a dict of outcomes with their steps, for example {1: 'yes', 6: 'no'}"
        if not isinstance(branches, Mapping) or not branches:
            raise InvalidArgument("branches", branches, remedy)
        pairs = tuple((_keys(key), as_step("branches", step)) for key, step in branches.items())
        rest = None if otherwise is None else as_step("otherwise", otherwise)
        return Device(When(self._step, pairs, rest))

    def __rshift__(self, other: object) -> Device:
        if not isinstance(other, Device):
            remedy = "must be a device: say('yes') makes one of a label, recode({...}) of a dict"
            raise InvalidArgument(">>", other, remedy)
        return Device(Then(self._step, other._step))

    def mechanism(self, categories: Any, outputs: Any = None) -> DeviceMechanism:
        """The mechanism that the device is, for these true answers.

        Parameters
        ----------
        categories : int, sequence of labels, or pandas Categorical
            The true answers.
        outputs : int or sequence of labels, optional
            What a report may be; see `DeviceMechanism`.

        Raises
        ------
        InvalidArgument
            If the device does not fit the categories, or says what is no output.
        """
        if self._step.unknown:
            raise NotAvailable(f"the device depends on the unknown {', '.join(self.unknown)}")
        return DeviceMechanism(self._step, categories, outputs)

    def to_dict(self) -> dict[str, Any]:
        """The device as plain JSON types.

        Examples
        --------
        >>> from ldpstats.devices import roll
        >>> roll(6).to_dict()
        {'step': 'roll', 'sides': 6}
        """
        return step_to_dict(self._step)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read a device that `to_dict` wrote.

        Raises
        ------
        InvalidArgument
            If the document is no device.
        """
        return cls(step_from_dict(document))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._step == other._step

    def __hash__(self) -> int:
        return hash(self._step)

    def __repr__(self) -> str:
        return repr(self._step)


def as_step(name: str, value: object) -> Step:
    """The steps of a device; a bare label stands for saying it."""
    if isinstance(value, Device):
        return value.step
    if isinstance(value, Step) or callable(value):
        return check_step(name, value)
    if isinstance(value, Mapping):
        remedy = (
            "is a dict: write the step whose outcomes these are before it, as in flip().when(...)"
        )
        raise InvalidArgument(name, value, remedy)
    return Say(known_label(name, value))


def _keys(key: Any) -> tuple[Any, ...]:
    """The outcomes that a key of `when` stands for."""
    if isinstance(key, frozenset):
        return tuple(sorted(key, key=lambda label: (str(type(label)), label)))
    if isinstance(key, range | tuple):
        if len(key) > 1_000_000:
            raise InvalidArgument("when", key, "has too many outcomes: use otherwise= for most")
        return tuple(key)
    return (key,)
