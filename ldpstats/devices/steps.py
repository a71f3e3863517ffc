"""The first steps of randomising devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Integral
from typing import Any

from ldpstats.arguments.checks import listed
from ldpstats.devices.device import Device, as_step
from ldpstats.errors import InvalidArgument
from ldpstats.programs import steps
from ldpstats.programs.polynomials import unknown

__all__ = [
    "another",
    "cards",
    "cohorts",
    "flip",
    "hashed",
    "opposite",
    "parts",
    "question",
    "recode",
    "roll",
    "say",
    "spin",
    "truth",
    "unknown",
]

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
        names, devices = tuple(map(_cohort_name, devices)), devices.values()
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


def _cohort_name(name: Any) -> Any:
    """The name of a cohort; a whole number is its text."""
    return str(name) if isinstance(name, Integral) and not isinstance(name, bool) else name


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
    truth.when({'often': 'yes'}, otherwise=truth)
    """
    return truth.when(labels, otherwise=truth)
