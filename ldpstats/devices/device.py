"""Randomising devices, written as a respondent works them, and drawn as a tree."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb
from numbers import Integral
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ldpstats.arguments import listed
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.labels import as_labels
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.device import DeviceMechanism, UnknownDevice
from ldpstats.programs import steps
from ldpstats.programs.documents import step_from_dict, step_to_dict
from ldpstats.programs.instructions import (
    counted_outcome,
    in_own_words,
    instructions,
    named_labels,
    own_outputs,
)
from ldpstats.programs.polynomials import Chance, known_label, listed_labels
from ldpstats.programs.steps import (
    Another,
    Cards,
    Cohorts,
    Draw,
    Flip,
    Hashed,
    Opposite,
    Parts,
    Question,
    Roll,
    Say,
    Spin,
    Step,
    Then,
    Truth,
    When,
    check_step,
    typed,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        pairs = []
        for key, step in branches.items():
            outcomes: tuple[Any, ...] = (key,)
            if isinstance(key, frozenset):
                outcomes = tuple(sorted(key, key=lambda label: (str(type(label)), label)))
            elif isinstance(key, range | tuple):
                if len(key) > 1_000_000:
                    remedy = "has too many outcomes: use otherwise= for most"
                    raise InvalidArgument("when", key, remedy)
                outcomes = tuple(key)
            pairs.append((outcomes, as_step("branches", step)))
        rest = None if otherwise is None else as_step("otherwise", otherwise)
        return Device(When(self._step, tuple(pairs), rest))

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
        categories, outputs
            As in `DeviceMechanism`, with its errors.

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


# -- The first steps of randomising devices -------------------------------------------------------


truth = Device(steps.Truth())
"""Say the true answer.

Examples
--------
>>> from ldpstats.devices import roll, truth
>>> roll(6).when({1: "yes", 6: "no"}, otherwise=truth).mechanism(("no", "yes")).exact[0][0]
Fraction(5, 6)
"""

opposite = Device(steps.Opposite())
"""Say the other one of two answers.

Examples
--------
>>> from ldpstats.devices import flip, opposite, truth
>>> flip("1/4").when({"heads": opposite}, otherwise=truth).mechanism(("no", "yes")).exact[0]
(Fraction(3, 4), Fraction(1, 4))
"""

another = Device(steps.Another())
"""Say one of the other answers, each with the same probability.

Examples
--------
>>> from ldpstats.devices import another, flip, truth
>>> flip("1/2").when({"heads": another}, otherwise=truth).mechanism(("a", "b", "c")).exact[0]
(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
"""


def say(label: Any) -> Device:
    """Say this, whatever the truth is. In a branch the bare label does.

    Parameters
    ----------
    label : str, int, float or bool

    Raises
    ------
    InvalidArgument
        If it is not a label.

    Examples
    --------
    >>> say("yes")
    say('yes')
    """
    return Device(steps.Say(label))


def flip(p: Any = Fraction(1, 2)) -> Device:
    """Flip a coin: the outcomes are "heads", with probability p, and "tails".

    Parameters
    ----------
    p : int, Fraction, float, Decimal, str or Polynomial
        A float is understood as the Fraction of its shortest decimal: 0.1 is 1/10.

    Raises
    ------
    InvalidArgument
        If p is not a probability.

    Examples
    --------
    >>> flip(0.1)
    flip('1/10')
    """
    return Device(steps.Flip(p))


def roll(sides: int = 6) -> Device:
    """Roll a fair die: the outcomes are 1, 2, ..., sides.

    Parameters
    ----------
    sides : int
        At most 100,000.

    Raises
    ------
    InvalidArgument
        If `sides` is out of range.

    Examples
    --------
    >>> roll(10).when({range(1, 8): truth}, otherwise=opposite)
    roll(10).when({range(1, 8): truth}, otherwise=opposite)
    """
    return Device(steps.Roll(sides))


def spin(outcomes: Mapping[Any, Any]) -> Device:
    """Turn a spinner, which stops at each label with its probability.

    Parameters
    ----------
    outcomes : dict of label to probability
        They sum to one exactly: write thirds as "1/3".

    Raises
    ------
    InvalidArgument
        If they do not sum to one, or a label occurs twice.

    Examples
    --------
    >>> spin({"a": "1/3", "b": "2/3"})
    spin({'a': '1/3', 'b': '2/3'})
    """
    return Device(steps.Spin(outcomes))  # type: ignore[arg-type]


def cards(outcomes: Mapping[Any, Any]) -> Device:
    """Draw a card from a shuffled deck.

    Parameters
    ----------
    outcomes : dict of label to number of cards, or to proportion
        Whole numbers are numbers of cards.

    Raises
    ------
    InvalidArgument
        If the deck is empty, or proportions do not sum to one.

    Examples
    --------
    >>> deck = cards({"red": 3, "black": 7})
    >>> deck.mechanism(("no", "yes")).exact[0]
    (Fraction(3, 10), Fraction(7, 10))
    """
    return Device(steps.Cards(outcomes))  # type: ignore[arg-type]


def question(prevalence: Any, text: str | None = None, answers: Any = ("no", "yes")) -> Device:
    """Answer an unrelated question truthfully: the outcomes are its two answers.

    Parameters
    ----------
    prevalence : int, Fraction, float, Decimal, str or Polynomial
        The share of the second answer, the "yes".
    text : str, optional
        The question, for the instructions.
    answers : sequence of two labels

    Raises
    ------
    InvalidArgument
        If `prevalence` is not a probability, or `answers` are not two labels.

    Examples
    --------
    >>> question("1/12", "Were you born in June?")
    question('1/12', 'Were you born in June?')
    """
    return Device(steps.Question(prevalence, text, answers))


def parts(*devices: Any) -> Device:
    """Report the results of several devices, independent given the true answer.

    Reports are text such as "red, black".

    Parameters
    ----------
    *devices : Device or label
        Two or more.

    Raises
    ------
    InvalidArgument
        If there are fewer.

    Examples
    --------
    >>> parts(truth, roll(6)).mechanism(("a", "b")).outputs[:2].tolist()
    ['a, 1', 'a, 2']
    """
    if len(devices) == 1 and isinstance(devices[0], list | tuple):
        remedy = "is a list: write the devices one by one, as in parts(truth, opposite)"
        raise InvalidArgument("parts", devices[0], remedy)
    return Device(steps.Parts(tuple(as_step("parts", device) for device in devices)))


def hashed(n_outputs: int, cohort: int = 0) -> Device:
    """Say the cell, from 0 on, that the package's hash gives to the true answer.

    Parameters
    ----------
    n_outputs : int
        Number of cells.
    cohort : int
        The hash of this cohort, the first one: section 6 of ``ldpstats/clients/SPECIFICATION.md``.
        Numbers are hashed as the text that prints them.

    Raises
    ------
    InvalidArgument
        If either is out of range.

    Examples
    --------
    >>> hashed(100).mechanism(("", "a", "Zürich")).exact[1].index(1)
    14
    """
    return Device(steps.Hashed(n_outputs, cohort))


def cohorts(devices: Mapping[str, Any] | Iterable[Any], shares: Any = None) -> Device:
    """Draw one of several devices; which it was is reported too.

    Reports are text such as "3:yes": the number of the device, from 0, or its name, and what it
    said. The cohort is drawn without regard to the answer, and is public. All cohorts together
    estimate frequencies, and parameters of devices that are unknown, as groups do: given how many
    respondents each has (see `FrequencyModel`). With weights each report is decoded by the device
    of its own cohort.

    Parameters
    ----------
    devices : sequence of Device, or mapping from name to Device
        Names are text without a colon, or whole numbers.
    shares : mapping from name to probability, or sequence of probabilities; optional
        How likely each is drawn, in (0, 1], of sum one exactly; all the same by default. They
        serve simulations and plans: no estimate takes them for evidence.

    Raises
    ------
    InvalidArgument
        If it is not a list of devices, or a dict of names and devices; if shares do not sum to one,
        or are not those of the devices.

    Examples
    --------
    >>> cohorts([truth, opposite]).mechanism(("no", "yes")).outputs.tolist()
    ['0:no', '0:yes', '1:no', '1:yes']
    >>> cohorts({"A": truth, "B": opposite}, shares={"A": "2/3", "B": "1/3"})
    cohorts({'A': truth, 'B': opposite}, shares=['2/3', '1/3'])
    """
    names: tuple[Any, ...] | None = None
    if isinstance(devices, Mapping):
        whole = (isinstance(v, Integral) and not isinstance(v, bool) for v in devices)
        names = tuple(str(v) if is_whole else v for v, is_whole in zip(devices, whole, strict=True))
        devices = devices.values()
    remedy = (
        "must be a list of devices, for example [hashed(4, 0), hashed(4, 1)], or a dict of them"
    )
    given = listed("devices", devices, remedy)
    if isinstance(shares, Mapping):
        known = tuple(map(str, range(len(given)))) if names is None else names
        if set(map(str, shares)) != set(known) or len(shares) != len(known):
            remedy = f"must have a probability for each of {', '.join(map(repr, known))}"
            raise InvalidArgument("shares", shares, remedy)
        by_name = {str(name): share for name, share in shares.items()}
        shares = [by_name[name] for name in known]
    several = tuple(as_step("cohorts", device) for device in given)
    odds = None if shares is None else tuple(listed("shares", shares, "must be probabilities"))
    return Device(steps.Cohorts(several, names, odds))


def recode(labels: Mapping[Any, Any]) -> Device:
    """Say another label for some answers, and the truth for all others.

    Parameters
    ----------
    labels : dict of label to label

    Raises
    ------
    InvalidArgument
        If it is not a dict of labels.

    Examples
    --------
    >>> recode({"often": "yes"})
    recode({'often': 'yes'})
    """
    step = truth.when(labels, otherwise=truth).step
    shown = repr(step).removeprefix("truth.when(").removesuffix(", otherwise=truth)")
    return Device(step.called(f"recode({shown})"))


# -- A device as a tree: what is drawn at each branch, and what is said at the leaves -------------


_MOST_NAMED = 4  # outcomes of one branch, beyond which they are shortened
_MOST_DRAWN = 12  # branches of a step, beyond which the others are one


@dataclass(frozen=True)
class Node:
    """A step: what it is called, whether it is a report, and where it leads, with words for why."""

    text: str
    is_leaf: bool
    branches: tuple[tuple[str, Node], ...] = ()


def tree_of(step: Step, categories: Sequence[Any] | None = None, later: bool = False) -> Node:
    """The tree of a step; with the categories, answers that have no branch are named.

    `later` says that the result of an earlier step stands for the truth.
    """
    below = partial(tree_of, categories=categories, later=later)
    found: list[tuple[str, Any, Node]]
    match step:
        case When():
            return _tree_of_branches(step, categories, later)
        case Then() if (counted := counted_outcome(step)) is not None:
            drawn, times, outcome = counted  # the number of an outcome in several draws is said
            p: Any = next(p for label, p in drawn.law if label == outcome)
            ways = [comb(times, n) * p**n * (1 - p) ** (times - n) for n in range(times + 1)]
            found = [(f"{n} {outcome}", q, Node(f"say {n}", True)) for n, q in enumerate(ways)]
            name = f"{_named(drawn)}, {times} times"
        case Then():
            results = step.first.said(None if categories is None else tuple(categories))
            return _joined(below(step.first), tree_of(step.second, results, True))
        case Parts():
            found = [(f"answer {i}", None, below(part)) for i, part in enumerate(step.steps, 1)]
            name = f"{len(found)} answers"
        case Cohorts():
            parts = zip(step.named, step.chances, step.steps, strict=True)
            found = [(f"cohort {named}", share, below(part)) for named, share, part in parts]
            name = "draw a cohort"
        case Flip() | Roll() | Spin() | Cards():
            law, name = step.law, _named(step)
            few = law[: _MOST_DRAWN - 1] if len(law) > _MOST_DRAWN else law
            found = [(str(outcome), p, Node(f"say {outcome}", True)) for outcome, p in few]
            if rest := law[len(few) :]:
                p = sum((p for _, p in rest), Fraction(0))
                found.append((f"{len(rest)} others", p, Node("say which", True)))
        case _:
            return Node(_named(step, later), True)
    return Node(name, False, tuple(_branch(*branch) for branch in found))


def _named(step: Step, later: bool = False) -> str:
    """A step in a few words."""
    match step:
        case Truth():
            return "that result" if later else "truth"
        case Opposite():
            return "opposite of that" if later else "opposite"
        case Another():
            return "another than that" if later else "another answer"
        case Say():
            return f"say {step.label}"
        case Flip():
            return "flip a coin"
        case Roll():
            return "roll a die" if step.sides == 6 else f"roll a die of {step.sides}"
        case Spin():
            return "turn a spinner"
        case Cards():
            return "draw a card"
        case Question():
            return "other question" if step.text is None else step.text
        case Hashed():
            return f"hash to {step.n_outputs} cells"
    return "that result?"


def _tree_of_branches(step: When, categories: Sequence[Any] | None, later: bool) -> Node:
    """Branches by the outcome of the step before; equal steps share one."""
    source = step.source
    law = source.law if isinstance(source, Draw) else None  # None where the truth decides
    outcomes: Sequence[Any] | None = source.outcomes
    name = _named(source)
    if isinstance(source, Truth):
        outcomes, name = categories, "that result?" if later else "true answer?"
    elif law is None:
        name = "that result?"
    grouped: dict[Step, list[Any]] = {}
    for labels, then in step.branches:
        grouped.setdefault(then, []).extend(labels)
    taken = {typed(v) for labels, _ in step.branches for v in labels}
    rest = [v for v in outcomes or () if typed(v) not in taken]
    if step.otherwise is not None and rest:
        grouped.setdefault(step.otherwise, []).extend(rest)
    chances, branches = {typed(v): p for v, p in law or ()}, []
    for then, named in grouped.items():
        p = sum((chances[typed(v)] for v in named), Fraction(0)) if law else None
        branches.append(_branch(_outcomes(named), p, tree_of(then, categories, later)))
    if step.otherwise is not None and outcomes is None:
        branches.append(_branch("otherwise", None, tree_of(step.otherwise, categories, later)))
    own = Node(name, False, tuple(branches))
    if law is None and not isinstance(source, Truth):
        return _joined(tree_of(source, categories, later), own)
    return own


def _branch(outcomes: str, p: Chance | int | None, node: Node) -> tuple[str, Node]:
    """The words over a branch: outcomes, and their probability; and where it leads."""
    text = _wrapped(outcomes)
    if p is None:
        return text, node
    if isinstance(p, Fraction) and p.denominator > 1000:
        return f"{text}  ({float(p):.3g})", node
    return f"{text}  ({p})", node


def _joined(first: Node, second: Node) -> Node:
    """One tree after another, which goes on from the result of the first."""
    return Node("in turn", False, (_branch("first", None, first), _branch("then", None, second)))


def _outcomes(labels: Sequence[Any]) -> str:
    """Outcomes of one branch: 2 to 5; red, blue."""
    whole = all(type(v) is int for v in labels)
    ordered = sorted(labels) if whole else list(labels)
    if whole and len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]} to {ordered[-1]}"
    comma = "; " if any("," in str(v) for v in labels) else ", "
    if len(ordered) > _MOST_NAMED:
        shown = comma.join(map(str, ordered[: _MOST_NAMED - 1]))
        return f"{shown} and {len(ordered) - _MOST_NAMED + 1} more"
    return comma.join(map(str, ordered))


# -- The drawing of a device as a tree, from the first step on the left to the reports ------------


_LONGEST_LINE = 26  # characters of a line in a box
_MOST_LINES = 4  # of a box
_MOST_LEAVES, _MOST_DEEP = 200, 25
_GAP = 0.8  # lines between boxes
_TOP = 0.6  # lines above the first
_PAD = 1.6  # characters around the text of a box
_EM, _LINE = 0.60, 1.25  # width of a character and height of a line, in font sizes
_INK, _STEP, _LEAF = "0.25", "#dbe7f3", "#f7ecd0"


@dataclass(frozen=True)
class _Box:
    """A node with its place: columns in characters, rows in lines."""

    text: str
    is_leaf: bool
    x: float
    y: float
    width: float
    branches: tuple[tuple[str, _Box], ...]


def draw_tree(tree: Node, ax: object = None) -> Axes:
    """Draw a tree on the axes given, or on new ones that are as large as it needs."""
    depths = [depth for depth, node in _nodes(tree, 1) if not node.branches]
    leaves, depth = len(depths), max(depths)
    if leaves > _MOST_LEAVES or depth > _MOST_DEEP:
        raise NotAvailable(
            f"a tree of {leaves} reports and {depth} steps is too large to draw: at most "
            f"{_MOST_LEAVES} and {_MOST_DEEP} can be read; draw a part of the device"
        )
    widths: dict[int, int] = {}
    labels: dict[int, int] = {}
    for at, node in _nodes(tree, 0):
        for label, _ in node.branches:  # a report may reach into the next columns: its row is empty
            widths[at] = max(widths.get(at, 0), _width(_wrapped(node.text)))
            labels[at] = max(labels.get(at, 0), _width(label))
    columns = [0.0]  # the left edges of boxes, in characters
    for at in range(len(widths)):
        columns.append(columns[-1] + widths[at] + 2 * _PAD + labels[at] + 5.0)
    box, rows = _placed(tree, columns, 0, _TOP)
    across = (
        max(columns[at] + _width(_wrapped(node.text)) for at, node in _nodes(tree, 0)) + 2 * _PAD
    )
    axes, size = _axes(ax, across, rows)
    _draw(axes, box, size)
    axes.set_xlim(-0.5, across + 0.5)
    axes.set_ylim(rows, 0.0)
    axes.set_axis_off()
    return axes


def _nodes(node: Node, depth: int) -> Iterator[tuple[int, Node]]:
    yield depth, node
    for _, other in node.branches:
        yield from _nodes(other, depth + 1)


def _placed(node: Node, columns: list[float], depth: int, top: float) -> tuple[_Box, float]:
    """The box of a node below a row, and the row below all of its branches."""
    text = _wrapped(node.text)
    lines = text.count("\n") + 1
    row, below = top, []
    for label, other in node.branches:
        box, row = _placed(other, columns, depth + 1, row + float(label.count("\n")))
        below.append((label, box))
    bottom = max(row, top + lines + _GAP + 0.4)
    middle = (below[0][1].y + below[-1][1].y) / 2 if below else (top + bottom - _GAP) / 2
    middle = max(middle, top + lines / 2)
    width = _width(text) + 2 * _PAD
    return _Box(text, node.is_leaf, columns[depth], middle, width, tuple(below)), bottom


def _axes(ax: object, across: float, rows: float) -> tuple[Axes, float]:
    """The axes, and the size of a font in which everything fits."""
    import matplotlib.axes
    import matplotlib.pyplot as plt

    if ax is None:
        size = float(plt.rcParams["font.size"])
        width, height = (across + 2) * _EM * size / 72, (rows + 0.6) * _LINE * size / 72
        figure = plt.figure(figsize=(max(width, 1.0), max(height, 0.6)))
        return figure.add_axes((0.0, 0.0, 1.0, 1.0)), size
    if not isinstance(ax, matplotlib.axes.Axes):
        raise InvalidArgument("ax", ax, "must be matplotlib Axes, for example plt.subplots()[1]")
    if ax.name != "rectilinear":
        raise InvalidArgument("ax", ax.name, "must be rectangular: these Axes are another kind")
    scale = 72 / ax.figure.dpi
    wide = ax.bbox.width * scale / ((across + 1) * _EM)
    high = ax.bbox.height * scale / ((rows + 0.4) * _LINE)
    return ax, min(float(plt.rcParams["font.size"]), wide, high)


def _draw(ax: Axes, box: _Box, size: float) -> None:
    """Draw a box, the lines from it, and the boxes that follow."""
    from matplotlib.patches import Rectangle

    right = box.x + box.width
    for label, other in box.branches:
        bend = right + 1.2
        xs, ys = [right, bend, bend, other.x], [box.y, box.y, other.y, other.y]
        ax.plot(xs, ys, color=_INK, linewidth=0.8, zorder=1)
        ax.text(bend + 0.8, other.y - 0.12, label, fontsize=0.92 * size, va="bottom", zorder=3)
        _draw(ax, other, size)
    height = box.text.count("\n") + 1 + 0.35
    corner = (box.x, box.y - height / 2)
    face: Any = _LEAF if box.is_leaf else _STEP
    shape = Rectangle(corner, box.width, height, facecolor=face, edgecolor=_INK, linewidth=0.8)
    ax.add_patch(shape).set_zorder(2)
    ax.text(box.x + box.width / 2, box.y, box.text, fontsize=size, ha="center", va="center")


def _wrapped(text: str) -> str:
    """Text in lines of a box, cut after some."""
    lines = textwrap.wrap(_shown(text), _LONGEST_LINE) or [" "]
    if len(lines) > _MOST_LINES:
        lines = lines[:_MOST_LINES]
        lines[-1] = f"{lines[-1][: _LONGEST_LINE - 3]}..."
    return "\n".join(lines)


def _width(text: str) -> int:
    """Columns of text in a font, where wide characters take two."""
    from unicodedata import east_asian_width

    return max(sum(2 if east_asian_width(c) in "WF" else 1 for c in v) for v in text.split("\n"))


def _shown(text: str) -> str:
    """Text without control characters and without mathematics."""
    return "".join(c if c.isprintable() else " " for c in text).replace("$", r"\$")
