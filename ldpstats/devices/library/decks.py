"""Designs whose reports are cards that were drawn, neither "yes" nor "no"."""

from __future__ import annotations

from itertools import product
from typing import Any

from ldpstats.arguments.checks import listed, positive_integer
from ldpstats.devices.device import Device
from ldpstats.devices.steps import cards, parts, truth
from ldpstats.errors import InvalidArgument
from ldpstats.programs.checks import proportions as checked_proportions
from ldpstats.programs.checks import two_labels
from ldpstats.programs.probabilities import chance

__all__ = ["christofides", "disguised_response", "kuk"]

_ANSWERS = ("no", "yes")
_MOST_DRAWS = 10


def kuk(p1: Any, p2: Any, draws: int = 1, answers: Any = _ANSWERS) -> Device:
    """Kuk's design: the colour of a card, from one deck for "yes" and from another for "no".

    Parameters
    ----------
    p1, p2 : float, Fraction, str or unknown
        Share of red cards in the deck for "yes", and in that for "no".
    draws : int
        How many cards to draw, at most 10, each put back. With several the report is the number of
        red ones; with one it is "red" or "black".
    answers : two labels
        That of a "yes" second.

    References
    ----------
    Kuk (1990), Biometrika 77, 436-438: with r the mean share of red, ``pi = (r - p2) / (p1 - p2)``;
    with ``m = pi p1 + (1 - pi) p2``, ``var = m (1 - m) / (draws n (p1 - p2)^2) +
    (1 - 1 / draws) pi (1 - pi) / n``. Epsilon is `draws` times the larger of ``|ln(p1 / p2)|`` and
    ``|ln((1 - p1) / (1 - p2))|``.

    Examples
    --------
    >>> mechanism = kuk(0.8, 0.2).mechanism(("no", "yes"))
    >>> list(mechanism.outputs), mechanism.ratio
    (['red', 'black'], Fraction(4, 1))
    """
    no, yes = two_labels("answers", answers)
    p1, p2 = chance("p1", p1), chance("p2", p2)
    if positive_integer("draws", draws) > _MOST_DRAWS:
        raise InvalidArgument("draws", draws, f"must be at most {_MOST_DRAWS}")
    first, second = ({"red": p, "black": 1 - p} for p in (p1, p2))
    return truth.when({yes: _reds(cards(first), draws), no: _reds(cards(second), draws)})


def _reds(deck: Device, draws: int) -> Device:
    """Draw cards, and report the number of red ones; of a single card its colour."""
    if draws == 1:
        return deck
    drawn: dict[int, list[str]] = {n: [] for n in range(draws + 1)}
    for colours in product(("red", "black"), repeat=draws):
        drawn[colours.count("red")].append(", ".join(colours))
    number = truth.when({frozenset(colours): n for n, colours in drawn.items()})
    return parts(*[deck] * draws) >> number


def disguised_response(p: Any, answers: Any = _ANSWERS) -> Device:
    """The disguised response design: Kuk's with two decks that mirror each other.

    Parameters
    ----------
    p : float, Fraction, str or unknown
        Share of red cards in the deck for "yes", and of black ones in that for "no"; not 1/2.
    answers : two labels
        That of a "yes" second.

    References
    ----------
    Blair, Imai and Zhou (2015), JASA 110, 1304-1319, after Kuk (1990): with lambda the share of
    red, ``pi = (lambda + p - 1) / (2p - 1)``, as in Warner's design.

    Examples
    --------
    >>> disguised_response(0.8).mechanism(("no", "yes")).ratio
    Fraction(4, 1)
    """
    p = chance("p", p)
    return kuk(p, 1 - p, answers=answers)


def christofides(proportions: Any, answers: Any = _ANSWERS) -> Device:
    """Christofides's design: the number on a card, counted from the other end for a "yes".

    Parameters
    ----------
    proportions : sequence of L >= 2 numbers
        Proportions of the cards 1 to L, or how many there are of each.
    answers : two labels
        That of a "yes" second. Reports are the numbers 1 to L.

    References
    ----------
    Christofides (2003), Metrika 57, 195-200: with mu and v the mean and variance of a card and z
    the mean report, ``pi = (z - mu) / (L + 1 - 2 mu)`` and
    ``var = pi (1 - pi) / n + v / (n (L + 1 - 2 mu)^2)``. Epsilon is the largest of
    ``|ln(p_k / p_(L+1-k))|``.

    Examples
    --------
    >>> christofides(["1/2", "1/3", "1/6"]).mechanism(("no", "yes")).ratio
    Fraction(3, 1)
    """
    no, yes = two_labels("answers", answers)
    remedy = "must be a list of two or more proportions, such as ['1/2', '1/3', '1/6']"
    numbers = listed("proportions", proportions, remedy)
    L = len(numbers)
    if L < 2:
        raise InvalidArgument("proportions", proportions, remedy)
    marked = dict(enumerate(numbers, 1))
    checked_proportions("proportions", marked, counts=True)
    deck = cards(marked)
    turned = deck.when({k: L + 1 - k for k in range(1, L + 1)})
    return truth.when({no: deck, yes: turned})
