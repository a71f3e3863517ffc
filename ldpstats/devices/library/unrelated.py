"""Unrelated questions, whose share of "yes" is known, or estimated with a second group."""

from __future__ import annotations

from typing import Any

from ldpstats.arguments.checks import positive_integer
from ldpstats.devices.device import Device
from ldpstats.devices.steps import question, spin, truth
from ldpstats.errors import InvalidArgument
from ldpstats.programs.probabilities import chance, unknown

__all__ = ["moors", "unrelated_question"]

_ANSWERS = ("no", "yes")


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
