"""Randomising devices, written as a respondent works them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ldpstats.arguments.labels import as_labels
from ldpstats.devices.tree import tree_of
from ldpstats.devices.tree_plot import draw_tree
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.device import DeviceMechanism
from ldpstats.mechanisms.unknown_device import UnknownDevice
from ldpstats.programs.checks import known_label, listed_labels
from ldpstats.programs.documents import step_from_dict, step_to_dict
from ldpstats.programs.instructions import instructions, named_labels
from ldpstats.programs.own_words import in_own_words, own_outputs
from ldpstats.programs.steps import Say, Step, Then, When, check_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        raise AttributeError(f"a device cannot be changed, here its {name}: make another device")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a device cannot be changed: {name} cannot be deleted")

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
            If a key is not an outcome or occurs twice, or an outcome has no branch.

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
            remedy = (
                "must be a device: say('yes') makes one of a label, recode({'yes': 1}) of a dict"
            )
            raise InvalidArgument(">>", other, remedy)
        return Device(Then(self._step, other._step))

    def __add__(self, other: object) -> NoReturn:
        raise NotAvailable(
            "reports of devices are not added. An item count with questions of known prevalence is "
            "parts(truth, question(0.3)) >> recode({'no, no': 0, ('no, yes', 'yes, no'): 1, ...})"
        )

    __radd__ = __add__

    def mechanism(self, categories: Any, outputs: Any = None) -> DeviceMechanism | UnknownDevice:
        """The mechanism that the device is, for these true answers.

        A device that says "no" and "yes", as those of `devices.library` do, takes any two
        categories in their place: the first is the "no", the second the "yes". In ``(2, 1)`` 1 is
        the yes. Only where the first means yes and the second no, as in ``("ja", "nein")`` or
        ``(1, 0)``, the first is the yes.

        Parameters
        ----------
        categories : int, sequence of labels, or pandas Categorical
            The true answers.
        outputs : int or sequence of labels, optional
            What a report may be; see `DeviceMechanism`.

        Raises
        ------
        InvalidArgument
            If the device does not fit the categories, or can say a label that is not an output.

        Examples
        --------
        >>> from ldpstats.devices.library import forced_dice
        >>> forced_dice().mechanism((2, 1)).instructions()[1:3]
        ['2. If it shows 1, say “1”.', '3. If it shows 6, say “2”.']
        """
        labels = listed_labels("categories", categories)
        step = in_own_words(self._step, labels)
        if step is not self._step and outputs is None:
            outputs = own_outputs(self._step, step, labels)
        return (UnknownDevice if step.unknown else DeviceMechanism)(step, labels, outputs)

    def instructions(self, categories: object = None, words: object = None) -> list[str]:
        """Numbered sentences for the respondent.

        Where the probability of an outcome is an unknown parameter, it describes what some
        respondents do, and not what they are told: the instructions are those of `otherwise`.

        Parameters
        ----------
        categories : int or sequence of labels, optional
            The possible answers; with them the sentences name the answers that have no branch.
        words : dict of str to str, optional
            Words to replace, by their keys in `devices.WORDS`: {"die": "ten-sided die"}, or a
            translation of the sentences.

        Raises
        ------
        InvalidArgument
            If `words` has an unknown key, or a text that lacks what must be filled in.
        NotAvailable
            If a branch at an unknown probability has no `otherwise`.

        Examples
        --------
        >>> from ldpstats.devices import roll, truth
        >>> card = roll(6).when({1: "yes", 6: "no"}, otherwise=truth)
        >>> print(*card.instructions(words={"question": "my question"}), sep="\\n")
        1. Roll the die, and show the result to nobody.
        2. If it shows 1, say “yes”.
        3. If it shows 6, say “no”.
        4. If it shows 2 to 5, answer my question truthfully.
        """
        if categories is None:
            return instructions(self._step, None, words)
        labels = as_labels("categories", categories)
        return instructions(in_own_words(self._step, labels), labels, words)

    def plot(self, categories: object = None, ax: Axes | None = None) -> Axes:
        """Draw the device as a tree: what is drawn on the left, what is said on the right.

        Parameters
        ----------
        categories : int or sequence of labels, optional
            The possible answers; with them the answers that have no branch are named.
        ax : matplotlib Axes, optional
            New ones, as large as the tree needs, by default; on others the font is made to fit.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        NotAvailable
            If the tree has more than 200 reports.
        InvalidArgument
            If `categories` are no labels or `ax` is not Axes.

        Examples
        --------
        >>> from ldpstats.devices import roll, truth
        >>> ax = roll(6).when({1: "yes", 6: "no"}, otherwise=truth).plot()
        >>> [text.get_text() for text in ax.texts][:4]
        ['1  (1/6)', 'say yes', '6  (1/6)', 'say no']
        """
        if categories is None:
            return draw_tree(tree_of(self._step, None), ax)
        labels = as_labels("categories", categories)
        return draw_tree(tree_of(in_own_words(self._step, labels), named_labels(labels)), ax)

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
            If the document does not describe a device.
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
    if isinstance(value, Mechanism):
        remedy = (
            "is a mechanism: give the device, without .mechanism(...); of other mechanisms the "
        )
        remedy += "design of devices.library, or the steps"
        raise InvalidArgument(name, value, remedy)
    if value is None or isinstance(value, list | set | tuple):
        remedy = "must be a device, such as truth, or a label that it says, such as 'yes'"
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
