"""Designs that ask the sensitive question, its negation, or it and another one together."""

from __future__ import annotations

from typing import Any

from ldpstats.devices.device import Device
from ldpstats.devices.steps import cards, opposite, question, spin, truth
from ldpstats.programs.checks import two_labels
from ldpstats.programs.probabilities import chance

__all__ = ["crosswise", "mangat", "mangat_singh", "triangular", "warner"]

_ANSWERS = ("no", "yes")


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
    two_labels("answers", answers)
    p = chance("p", p)
    return spin({"A": p, "B": 1 - p}).when({"A": truth, "B": opposite})


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
    _, yes = two_labels("answers", answers)
    return truth.when({yes: yes}, otherwise=warner(p))


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
    two_labels("answers", answers)
    t, p = chance("t", t), chance("p", p)
    second = cards({"A": p, "B": 1 - p}).when({"A": truth, "B": opposite})
    return cards({"true": t, "random": 1 - t}).when({"true": truth, "random": second})


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
    no, yes = two_labels("answers", answers)
    other = question(p, text, (no, yes))
    return truth.when(
        {
            no: other.when({no: "same", yes: "different"}),
            yes: other.when({yes: "same", no: "different"}),
        }
    )


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
    no, yes = two_labels("answers", answers)
    other = question(p, text, (no, yes))
    return truth.when({yes: "triangle", no: other.when({yes: "triangle", no: "circle"})})
