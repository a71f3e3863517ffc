"""Designs from the literature, each a program of a few lines: a function that returns a Device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import wraps
from inspect import Signature
from itertools import product
from numbers import Integral
from typing import Any, ParamSpec

import numpy as np
import pandas as pd

from ldpstats.arguments import listed, positive_integer
from ldpstats.devices.device import (
    Device,
    cards,
    flip,
    opposite,
    parts,
    question,
    roll,
    say,
    spin,
    truth,
)
from ldpstats.errors import InvalidArgument
from ldpstats.programs.polynomials import (
    Polynomial,
    chance,
    distinct,
    known_label,
    spelled,
    two_labels,
    unknown,
)
from ldpstats.programs.polynomials import proportions as checked_proportions

__all__ = [
    "DESIGNS",
    "cheating_detection",
    "christofides",
    "crosswise",
    "disguised_response",
    "forced_cards",
    "forced_categories",
    "forced_coins",
    "forced_dice",
    "forced_response",
    "inattentive_crosswise",
    "kuk",
    "mangat",
    "mangat_singh",
    "moors",
    "one_saying_crosswise",
    "stochastic_lie_detector",
    "triangular",
    "unrelated_question",
    "warner",
]


# -- Designs that ask the sensitive question, its negation, or it and another one together --------


_ANSWERS = ("no", "yes")
_WORDS = ("text", "answers")  # of questions, which a name in a table leaves out
P = ParamSpec("P")


def _design(make: Callable[P, Device]) -> Callable[P, Device]:
    """A function whose device is called as its author wrote the call: "warner(p=0.8)"."""
    signature = Signature.from_callable(make)

    @wraps(make)
    def called(*args: P.args, **kwargs: P.kwargs) -> Device:
        step = make(*args, **kwargs).step
        given = signature.bind(*args, **kwargs).arguments
        shown = [f"{k}={_written(v)}" for k, v in given.items() if k not in _WORDS]
        return Device(step.called(f"{make.__name__}({', '.join(shown)})"))

    return called


def _written(value: Any) -> str:
    """An argument as its author wrote it."""
    if isinstance(value, Fraction | Polynomial):
        return spelled(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_written(p)}" for key, p in value.items()) + "}"
    if isinstance(value, list | tuple | np.ndarray | pd.Series):
        return "[" + ", ".join(map(_written, value)) + "]"
    return repr(value.item() if isinstance(value, np.generic) else value)


@_design
def warner(p: Any, answers: Any = _ANSWERS) -> Device:
    """Warner's design: the question with probability p, its opposite otherwise.

    Parameters
    ----------
    p : float, Fraction, str or unknown
        Probability of answering the sensitive question itself; not 1/2.
    answers : two labels
        Taken as in other designs. This one names no answer, and so works with any two.

    References
    ----------
    Warner (1965), JASA 60, 63-69: with lambda the share of "yes",
    ``pi = (lambda + p - 1) / (2p - 1)``, ``var = lambda (1 - lambda) / (n (2p - 1)^2)``, and
    ``epsilon = |ln(p / (1 - p))|``.

    Examples
    --------
    >>> warner(0.75).mechanism(("no", "yes")).ratio
    Fraction(3, 1)
    """
    two_labels(answers)
    p = chance("p", p)
    return spin({"A": p, "B": 1 - p}).when({"A": truth, "B": opposite})


@_design
def mangat(p: Any, answers: Any = _ANSWERS) -> Device:
    """Mangat's design: who has the trait says so, all others use Warner's device.

    Parameters
    ----------
    p : float, Fraction, str or unknown
        Probability that the device lets a "no" say no.
    answers : two labels
        That of a "yes" second.

    References
    ----------
    Mangat (1994), JRSS B 56, 93-95: ``pi = (lambda - 1 + p) / p`` and ``var = pi (1 - pi) / n +
    (1 - pi)(1 - p) / (n p)``. A "no" is surely true: epsilon is infinite.

    Examples
    --------
    >>> print(mangat(0.6).mechanism(("no", "yes")).channel().matrix())
    [[0.6 0.4]
     [0.  1. ]]
    """
    _, yes = two_labels(answers)
    return truth.when({yes: yes}, otherwise=warner(p))


@_design
def mangat_singh(t: Any, p: Any, answers: Any = _ANSWERS) -> Device:
    """Mangat and Singh's design: the truth with probability t, else Warner's device.

    Parameters
    ----------
    t : float, Fraction, str or unknown
        Share of cards "True" in the first deck.
    p : float, Fraction, str or unknown
        Share of cards with the sensitive question in the second.
    answers : two labels
        As for `warner`.

    References
    ----------
    Mangat and Singh (1990), Biometrika 77, 439-442: with ``d = 2p - 1 + 2t (1 - p)``,
    ``pi = (lambda - (1 - t)(1 - p)) / d`` and ``var = lambda (1 - lambda) / (n d^2)``.

    Examples
    --------
    >>> print(mangat_singh("1/2", 0.75).mechanism(("no", "yes")).channel().matrix())
    [[0.875 0.125]
     [0.125 0.875]]
    """
    two_labels(answers)
    t, p = chance("t", t), chance("p", p)
    second = cards({"A": p, "B": 1 - p}).when({"A": truth, "B": opposite})
    return cards({"true": t, "random": 1 - t}).when({"true": truth, "random": second})


@_design
def crosswise(p: Any, text: str | None = None, answers: Any = _ANSWERS) -> Device:
    """The crosswise model: whether the answers to two questions are the same or different.

    Parameters
    ----------
    p : float, Fraction, str or unknown
        Share of "yes" to the other question, which must have nothing to do with the first; not 1/2.
    text : str, optional
        The other question.
    answers : two labels
        Those of both questions, that of a "yes" second. Reports are "same" and "different".

    References
    ----------
    Yu, Tian and Tang (2008), Metrika 67, 251-263: with lambda the share of "same",
    ``pi = (lambda + p - 1) / (2p - 1)`` and ``var = lambda (1 - lambda) / (n (2p - 1)^2)``, as in
    Warner's design.

    Examples
    --------
    >>> crosswise("1/4").mechanism(("no", "yes")).ratio
    Fraction(3, 1)
    """
    no, yes = two_labels(answers)
    other = question(p, text, (no, yes))
    return truth.when(
        {
            no: other.when({no: "same", yes: "different"}),
            yes: other.when({yes: "same", no: "different"}),
        }
    )


@_design
def inattentive_crosswise(
    p: Any, attentive: Any = None, text: str | None = None, answers: Any = _ANSWERS
) -> Device:
    """The crosswise model, where the inattentive choose at random.

    One question leaves their share open. Beside it ask the same way about something that nobody
    has, an anchor: `cells.function` says that its answer is "no", and the device is that of both.

    Parameters
    ----------
    p, text, answers
        As for `crosswise`.
    attentive : float, Fraction, str or unknown, optional
        Share of the attentive; None for the unknown parameter "attentive".

    References
    ----------
    Atsusaka and Stevenson (2023), Political Analysis 31, 134-148: with lambda and lambda' the
    shares of "same" to the item and the anchor, attentive = ``(lambda' - 1/2) / (1/2 - p')``, and
    the bias of the crosswise estimate is ``(lambda - 1/2) / (2p - 1) (1 - 1 / attentive)``.

    Examples
    --------
    Their example: of 2,000, 148 said different to both, 425 to the item alone, 311 to the anchor
    alone; the crosswise estimate is .195, without the inattentive .105.

    >>> import numpy as np, ldpstats as ldp
    >>> device = inattentive_crosswise("15/100").mechanism(("no", "yes"))
    >>> said = np.array([["different", "different"], ["different", "same"],
    ...                  ["same", "different"], ["same", "same"]]).repeat([148, 425, 311, 1116], 0)
    >>> reports = [device.parse(name, said[:, j]) for j, name in enumerate(("item", "anchor"))]
    >>> law = ldp.cells.function(lambda t: [[1 - t[0], 0 * t[0]], [t[0], 0 * t[0]]], [.2],
    ...                          ["share"])
    >>> results = ldp.CellModel(reports, law, names=["item", "anchor"]).fit("robust")
    >>> results.params.round(3).to_dict()
    {'share': 0.105, 'attentive': 0.773}
    """
    share = chance("attentive", unknown("attentive") if attentive is None else attentive)
    guess = spin({"same": "1/2", "different": "1/2"}).when(
        {"same": "same", "different": "different"}
    )
    told = crosswise(p, text, answers)
    return spin({"attentive": share, "random": 1 - share}).when({"random": guess}, otherwise=told)


@_design
def one_saying_crosswise(
    p: Any, one_saying: Any = None, text: str | None = None, answers: Any = _ANSWERS
) -> Device:
    """The extended crosswise model, where one-sayers choose "same" whatever is true.

    Ask two groups, one with p and one with 1 - p, and fit them together.

    Parameters
    ----------
    p, text, answers
        As for `crosswise`.
    one_saying : float, Fraction, str or unknown, optional
        Share of the one-sayers; None for the unknown parameter "one_saying".

    References
    ----------
    Heck, Hoffmann and Moshagen (2018), Behavior Research Methods 50, 1895-1905: the shares of
    "same" in the two groups sum to one if all follow; with one-sayers to one and their share.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> groups = [one_saying_crosswise(p).mechanism(("no", "yes")).counts(n)
    ...           for p, n in (("1/4", [580, 420]), ("3/4", [520, 480]))]
    >>> ldp.FrequencyModel(groups).fit().params.round(3).to_dict()["one_saying"]
    0.1
    """
    share = chance("one_saying", unknown("one_saying") if one_saying is None else one_saying)
    told = crosswise(p, text, answers)
    return spin({"one_saying": share, "follows": 1 - share}).when(
        {"one_saying": "same"}, otherwise=told
    )


@_design
def triangular(p: Any, text: str | None = None, answers: Any = _ANSWERS) -> Device:
    """The triangular model: a triangle for "yes" to either of two questions, else a circle.

    Parameters
    ----------
    p : float, Fraction, str or unknown
        Share of "yes" to the other question, which must have nothing to do with the first; below 1.
    text : str, optional
        The other question.
    answers : two labels
        Those of both questions, that of a "yes" second. Reports are "triangle" and "circle".

    References
    ----------
    Yu, Tian and Tang (2008), Metrika 67, 251-263: with lambda the share of "triangle",
    ``pi = (lambda - p) / (1 - p)`` and ``var = lambda (1 - lambda) / (n (1 - p)^2)``. A circle is
    surely a "no": epsilon is infinite.

    Examples
    --------
    >>> print(triangular("1/4").mechanism(("no", "yes")).channel().matrix())
    [[0.25 0.75]
     [1.   0.  ]]
    """
    no, yes = two_labels(answers)
    other = question(p, text, (no, yes))
    return truth.when({yes: "triangle", no: other.when({yes: "triangle", no: "circle"})})


# -- Forced responses: the device lets some respondents tell the truth and gives others an answer --


_SIDES = "must be a side of the die, or a list of sides, such as 1 or [1, 2]"


@_design
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
    no, yes = two_labels(answers)
    p_yes, p_no = chance("p_yes", p_yes), chance("p_no", p_no)
    return _forced({yes: p_yes, no: p_no}, {"p_yes": p_yes, "p_no": p_no})


@_design
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
    said_no, said_yes = two_labels(answers)
    sides = positive_integer("sides", sides, 2)
    named: dict[str, list[int]] = {}
    for name, value in (("yes", yes), ("no", no)):
        items = [value] if isinstance(value, Integral) else listed(name, value, _SIDES)
        chosen = {positive_integer(name, item) for item in items}
        if max(chosen, default=0) > sides:
            raise InvalidArgument(name, value, f"must be among 1 to {sides}, the sides of the die")
        named[name] = sorted(chosen)
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


@_design
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
    said_no, said_yes = two_labels(answers)
    counts = {
        "truth": positive_integer("truth_cards", truth_cards),
        f"say {said_yes}": positive_integer("yes", yes, 0),
        f"say {said_no}": positive_integer("no", no, 0),
    }
    counts = {label: number for label, number in counts.items() if number}
    return cards(counts).when({label: _on(label, (said_yes, said_no)) for label in counts})


@_design
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
    no, yes = two_labels(answers)
    return flip().when({"heads": truth, "tails": flip().when({"heads": yes, "tails": no})})


@_design
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


# -- Unrelated questions, whose share of "yes" is known, or estimated with a second group ---------


@_design
def unrelated_question(
    p: Any, prevalence: Any = None, text: str | None = None, answers: Any = _ANSWERS
) -> Device:
    """The unrelated question design: the sensitive question with probability p, else another.

    Where `prevalence` is not known, ask two groups with different p, and fit them together.

    Parameters
    ----------
    p : float, Fraction, str or unknown
        Probability of being asked the sensitive question.
    prevalence : float, Fraction, str or unknown, optional
        Share of "yes" to the other question; None for the unknown parameter "prevalence".
    text : str, optional
        The other question.
    answers : two labels
        Those of both questions, that of a "yes" second.

    References
    ----------
    Greenberg, Abul-Ela, Simmons and Horvitz (1969), JASA 64, 520-539. One group:
    ``pi = (lambda - (1 - p) prevalence) / p``, ``var = lambda (1 - lambda) / (n p^2)``. Two groups:
    ``pi = (lambda_1 (1 - p_2) - lambda_2 (1 - p_1)) / (p_1 - p_2)``,
    ``prevalence = (p_1 lambda_2 - p_2 lambda_1) / (p_1 - p_2)``.

    Examples
    --------
    >>> print(unrelated_question(0.7, 0.25).mechanism(("no", "yes")).channel().matrix().round(3))
    [[0.925 0.075]
     [0.225 0.775]]
    >>> unrelated_question(0.7).unknown
    ('prevalence',)
    """
    p = chance("p", p)
    share = unknown("prevalence") if prevalence is None else prevalence
    other = question(share, text, answers)
    return spin({"first": p, "other": 1 - p}).when({"first": truth, "other": other})


@_design
def moors(p: Any, group: int = 1, text: str | None = None, answers: Any = _ANSWERS) -> Device:
    """Moors's design: the second of two groups is asked the unrelated question alone.

    Parameters
    ----------
    p : float, Fraction, str or unknown
        Probability of being asked the sensitive question in group 1.
    group : {1, 2}
        The group whose device this is. Group 2 says nothing about the sensitive question.
    text : str, optional
        The other question, of which the share of "yes" is the unknown parameter "prevalence".
    answers : two labels
        Those of both questions, that of a "yes" second.

    References
    ----------
    Moors (1971), JASA 66, 627-629: ``prevalence = lambda_2`` and
    ``pi = (lambda_1 - (1 - p) lambda_2) / p``; the best of all two-group designs that have this p.

    Examples
    --------
    >>> print(*moors(0.7, group=2, text="Were you born in spring?").instructions(), sep="\\n")
    1. Answer the other question (“Were you born in spring?”) truthfully.
    """
    if positive_integer("group", group) > 2:
        raise InvalidArgument("group", group, "must be 1 or 2")
    if group == 2:
        chance("p", p)
        return question(unknown("prevalence"), text, answers)
    return unrelated_question(p, None, text, answers)


# -- Designs whose reports are cards that were drawn, neither "yes" nor "no" ----------------------


_MOST_DRAWS = 10


@_design
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
    no, yes = two_labels(answers)
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


@_design
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


@_design
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
    no, yes = two_labels(answers)
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


# -- Designs that estimate how many respondents do not do what they are told ----------------------


@_design
def stochastic_lie_detector(p: Any, honesty: Any = None, answers: Any = _ANSWERS) -> Device:
    """The stochastic lie detector: Mangat's design, where some who have the trait deny it.

    Ask two groups with different p, and fit them together.

    Parameters
    ----------
    p : float, Fraction, str or unknown
        Probability that the device lets a "no" say no.
    honesty : float, Fraction, str or unknown, optional
        Share of those with the trait who say so; None for the unknown parameter "honesty".
    answers : two labels
        That of a "yes" second.

    References
    ----------
    Moshagen, Musch and Erdfelder (2012), Behavior Research Methods 44, 222-231: from two groups
    ``pi = 1 - (lambda_1 - lambda_2) / (p_2 - p_1)`` and
    ``honesty = (lambda_1 - (1 - pi)(1 - p_1)) / pi``.

    Examples
    --------
    >>> stochastic_lie_detector(0.7).unknown
    ('honesty',)
    """
    no, yes = two_labels(answers)
    honest = chance("honesty", unknown("honesty") if honesty is None else honesty)
    device = spin({"lies": 1 - honest, "is honest": honest})
    return truth.when({yes: device.when({"lies": no}, otherwise=yes)}, otherwise=warner(p))


@_design
def cheating_detection(
    p_yes: Any, p_no: Any = 0, cheating: Any = None, answers: Any = _ANSWERS
) -> Device:
    """The cheating detection model: forced response, where cheaters say "no" whatever happens.

    Ask two groups with different `p_yes`, and fit them together. Cheaters are taken to have the
    trait as often as others; who does not want that reads ``(1 - cheating) pi``, the share of
    honest respondents with the trait, which is what the authors estimate.

    Parameters
    ----------
    p_yes, p_no : float, Fraction, str or unknown
        Probabilities of being told to say "yes" and to say "no"; the truth has the rest. A `p_no`
        above 0 makes the symmetric model.
    cheating : float, Fraction, str or unknown, optional
        Share of cheaters; None for the unknown parameter "cheating".
    answers : two labels
        That of a "yes" second.

    References
    ----------
    Clark and Desharnais (1998), Psychological Methods 3, 160-168: from two groups, honest yes
    ``(p_2 lambda_1 - p_1 lambda_2) / (p_2 - p_1)``, honest no ``(lambda_2 - lambda_1) /
    (p_2 - p_1)``, and the rest are cheaters. Symmetric: Ostapczuk, Moshagen, Zhao and Musch (2009),
    Journal of Educational and Behavioral Statistics 34, 267-287.

    Examples
    --------
    >>> cheating_detection("1/4").unknown
    ('cheating',)
    """
    no, _ = two_labels(answers)
    cheats = chance("cheating", unknown("cheating") if cheating is None else cheating)
    told = forced_response(p_yes, p_no, answers)
    return spin({"cheats": cheats, "follows": 1 - cheats}).when({"cheats": no}, otherwise=told)


DESIGNS: dict[str, Callable[..., Device]] = {
    name.replace("_", "-"): globals()[name] for name in __all__ if name != "DESIGNS"
}
"""The designs by their names on the command line.

Examples
--------
>>> from ldpstats.devices.library import DESIGNS
>>> DESIGNS["forced-dice"]().mechanism(("no", "yes")).ratio
Fraction(5, 1)
"""
