"""Designs that estimate how many respondents do not do what they are told."""

from __future__ import annotations

from typing import Any

from ldpstats.devices.device import Device
from ldpstats.devices.library.direct import warner
from ldpstats.devices.library.forced import forced_response
from ldpstats.devices.steps import spin, truth
from ldpstats.programs.checks import two_labels
from ldpstats.programs.probabilities import chance, unknown

__all__ = ["cheating_detection", "stochastic_lie_detector"]

_ANSWERS = ("no", "yes")


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
    no, yes = two_labels("answers", answers)
    honest = chance("honesty", unknown("honesty") if honesty is None else honesty)
    device = spin({"lies": 1 - honest, "is honest": honest})
    return truth.when({yes: device.when({"lies": no}, otherwise=yes)}, otherwise=warner(p))


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
    no, _ = two_labels("answers", answers)
    cheats = chance("cheating", unknown("cheating") if cheating is None else cheating)
    told = forced_response(p_yes, p_no, answers)
    return spin({"cheats": cheats, "follows": 1 - cheats}).when({"cheats": no}, otherwise=told)
