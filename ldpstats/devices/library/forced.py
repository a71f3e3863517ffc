"""Forced responses: the device lets some respondents tell the truth and gives others an answer."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral
from typing import Any

from ldpstats.arguments.checks import listed, positive_integer
from ldpstats.devices.device import Device
from ldpstats.devices.steps import cards, flip, roll, say, spin, truth
from ldpstats.errors import InvalidArgument
from ldpstats.programs.checks import distinct, known_label, two_labels
from ldpstats.programs.probabilities import chance

__all__ = [
    "forced_cards",
    "forced_categories",
    "forced_coins",
    "forced_dice",
    "forced_response",
]

_ANSWERS = ("no", "yes")
_SIDES = "must be a side of the die, or a list of sides, such as 1 or [1, 2]"


def forced_response(p_yes: Any, p_no: Any, answers: Any = _ANSWERS) -> Device:
    """Forced response with a spinner: "yes", "no", or the truth.

    Parameters
    ----------
    p_yes, p_no : float, Fraction, str or unknown
        Probabilities of being told to say "yes" and to say "no"; the truth has the rest.
    answers : two labels
        That of a "yes" second.

    References
    ----------
    Boruch (1971), The American Sociologist 6, 308-311: with ``p = 1 - p_yes - p_no``,
    ``pi = (lambda - p_yes) / p`` and ``var = lambda (1 - lambda) / (n p^2)``; epsilon is the larger
    of ``ln(1 + p / p_yes)`` and ``ln(1 + p / p_no)``.

    Examples
    --------
    >>> forced_response("1/6", "1/6").mechanism(("no", "yes")).ratio
    Fraction(5, 1)
    """
    no, yes = two_labels("answers", answers)
    p_yes, p_no = chance("p_yes", p_yes), chance("p_no", p_no)
    return _forced({yes: p_yes, no: p_no}, {"p_yes": p_yes, "p_no": p_no})


def forced_dice(yes: Any = 1, no: Any = 6, sides: int = 6, answers: Any = _ANSWERS) -> Device:
    """Forced response with a die: "yes" on some sides, "no" on others, the truth on the rest.

    Parameters
    ----------
    yes, no : int or list of int
        The sides on which to say "yes" and "no".
    sides : int
        How many sides the die has.
    answers : two labels
        That of a "yes" second.

    References
    ----------
    Blair, Imai and Zhou (2015), JASA 110, 1304-1319, have 6 for "yes" and 1 for "no".
    `forced_response` has the estimator, with ``p_yes`` and ``p_no`` the shares of sides.

    Examples
    --------
    >>> print(*forced_dice().instructions(), sep="\\n")
    1. Roll the die, and show the result to nobody.
    2. If it shows 1, say “yes”.
    3. If it shows 6, say “no”.
    4. If it shows 2 to 5, answer the question truthfully.
    """
    said_no, said_yes = two_labels("answers", answers)
    sides = positive_integer("sides", sides, 2)
    named = {name: _sides(name, value, sides) for name, value in (("yes", yes), ("no", no))}
    both = set(named["yes"]) & set(named["no"])
    if both:
        raise InvalidArgument("no", no, f"must have no side of yes=: {min(both)} is in both")
    branches = [(named["yes"], said_yes), (named["no"], said_no)]
    if not named["yes"] and not named["no"]:
        return truth
    return roll(sides).when(
        {frozenset(on): label for on, label in branches if on},
        otherwise=None if len(named["yes"]) + len(named["no"]) == sides else truth,
    )


def forced_cards(truth_cards: int, yes: int, no: int, answers: Any = _ANSWERS) -> Device:
    """Forced response with a deck of cards: "yes", "no" and "truth".

    Parameters
    ----------
    truth_cards, yes, no : int
        How many cards say "tell the truth", "say yes" and "say no".
    answers : two labels
        That of a "yes" second.

    References
    ----------
    Fox and Tracy (1986), Randomized Response, Sage; `forced_response` has the estimator.

    Examples
    --------
    >>> forced_cards(8, 1, 1).mechanism(("no", "yes")).ratio
    Fraction(9, 1)
    """
    said_no, said_yes = two_labels("answers", answers)
    counts = {
        "truth": positive_integer("truth_cards", truth_cards),
        f"say {said_yes}": positive_integer("yes", yes, 0),
        f"say {said_no}": positive_integer("no", no, 0),
    }
    counts = {label: number for label, number in counts.items() if number}
    return cards(counts).when(
        {label: _on(label, (said_yes, said_no)) for label in counts},
    )


def forced_coins(answers: Any = _ANSWERS) -> Device:
    """Forced response with a coin that is flipped twice: the truth on heads, else its second side.

    References
    ----------
    Dwork and Roth (2014), The Algorithmic Foundations of Differential Privacy, section 3.2:
    ``pi = 2 lambda - 1/2`` and ``epsilon = ln 3`` (claim 3.5).

    Examples
    --------
    >>> forced_coins().mechanism(("no", "yes")).ratio
    Fraction(3, 1)
    """
    no, yes = two_labels("answers", answers)
    return flip().when({"heads": truth, "tails": flip().when({"heads": yes, "tails": no})})


def forced_categories(shares: Mapping[Any, Any]) -> Device:
    """Forced response with k categories: some cards have an answer on them, the others "truth".

    Parameters
    ----------
    shares : dict of label to probability
        Probability p_j of each forced answer; the truth has the rest. Answers that are never forced
        may be left out: they reveal the truth.

    References
    ----------
    Liu and Chow (1976), JASA 71, 72-73: with ``p = 1 - sum p_j``, ``pi_j = (lambda_j - p_j) / p``,
    of covariance ``(diag(lambda) - lambda lambda') / (n p^2)``; epsilon is the largest of
    ``ln(1 + p / p_j)``. Equal shares make k-ary randomised response.

    Examples
    --------
    >>> device = forced_categories({"nurse": 0.1, "driver": 0.1, "cook": 0.1})
    >>> device.mechanism(("nurse", "driver", "cook")).ratio
    Fraction(8, 1)
    """
    remedy = "must be a dict of labels with their probabilities, such as {'nurse': 0.1}"
    if not isinstance(shares, Mapping) or not shares:
        raise InvalidArgument("shares", shares, remedy)
    law = {
        known_label("shares", label): chance(f"shares[{label!r}]", p) for label, p in shares.items()
    }
    distinct("shares", list(law))
    return _forced(law, {f"shares[{label!r}]": p for label, p in law.items()}, deck=True)


def _forced(law: Mapping[Any, Any], named: Mapping[str, Any], deck: bool = False) -> Device:
    """A spinner, or a deck, with these answers; the rest is the truth."""
    rest = 1 - sum(law.values(), Fraction(0))
    if isinstance(rest, Fraction) and rest <= 0:
        shown = {name: str(p) for name, p in named.items()}
        raise InvalidArgument(" + ".join(named), shown, "must sum to less than one")
    chances = {"truth": rest} | {f"say {label}": p for label, p in law.items() if p != 0}
    if len(chances) == 1:
        return truth
    source = cards(chances) if deck else spin(chances)
    return source.when({outcome: _on(outcome, tuple(law)) for outcome in chances})


def _on(outcome: str, labels: tuple[Any, ...]) -> Device:
    """What to do on an outcome: "truth", or "say ..."."""
    if outcome == "truth":
        return truth
    return next(say(label) for label in labels if outcome == f"say {label}")


def _sides(name: str, value: object, sides: int) -> list[int]:
    """Sides of a die, in their order."""
    items = [value] if isinstance(value, Integral) else listed(name, value, _SIDES)
    found = [positive_integer(name, item) for item in items]
    for side in found:
        if side > sides:
            raise InvalidArgument(name, value, f"must be among 1 to {sides}, the sides of the die")
    return sorted(set(found))
