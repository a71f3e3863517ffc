"""The theta at which uRAP has the smallest expected loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import distribution, one_of, positive_epsilon
from ldpstats.arguments.markup import html_lines
from ldpstats.planning.rates import urap_rates
from ldpstats.planning.worst_case import LOSSES, kinds, urap_kinds, worst_loss

__all__ = ["BestTheta", "best_theta"]

Array = npt.NDArray[Any]

_LARGEST = 36.0  # logit of the largest theta below 1 in double precision


@dataclass(frozen=True)
class BestTheta:
    """The best theta of uRAP, and its loss beside that of the default.

    Parameters
    ----------
    theta : float
        Argument of `URAP`; also ``float(...)`` of this object.
    loss : float
        Expected loss of one respondent at `theta`: n times the squared l2 loss of n respondents, or
        sqrt(n) times their l1 loss.
    default_theta, default_loss : float
        The same at MK19's theta, e^(epsilon/2) / (1 + e^(epsilon/2)).

    Examples
    --------
    >>> found = best_theta(100, 10, epsilon=4.0)
    >>> print(found)
    theta 0.7161, with 0.794 times the loss of the default 0.8808
    """

    theta: float
    loss: float
    default_theta: float
    default_loss: float

    @property
    def gain(self) -> float:
        """Loss at the default theta over that at the best one, at least 1.

        For the l2 loss, the default needs this many times as many respondents.
        """
        return max(self.default_loss / self.loss, 1.0)  # below 1 only by rounding

    def __float__(self) -> float:
        return self.theta

    def __str__(self) -> str:
        return (
            f"theta {self.theta:.4g}, with {1.0 / self.gain:.3g} times the loss of the default "
            f"{self.default_theta:.4g}"
        )

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))


def best_theta(
    k: int,
    n_sensitive: int,
    epsilon: float,
    p: npt.ArrayLike | None = None,
    loss: str = "l2",
) -> BestTheta:
    """Find the theta at which uRAP has the smallest expected loss, at the same epsilon.

    MK19 (section 4.2) leaves theta open. For the l2 loss the best theta is near 1/2, as in
    optimised unary encoding, while e^epsilon is far below the number of sensitive categories; it
    then rises to 1, where other answers are reported as they are. It does not depend on n.

    Parameters
    ----------
    k : int
        Number of categories.
    n_sensitive : int
        Number of sensitive categories, from 1 to k.
    epsilon : float
        Privacy of a report, in nats.
    p : array, shape (k,), optional
        Expected distribution, sensitive categories first. Default: the worst case (minimax theta).
    loss : {"l2", "l1"}
        Expected squared l2 loss, or (asymptotic) expected l1 loss, of the inversion estimator.

    Returns
    -------
    BestTheta

    Raises
    ------
    InvalidArgument
        If an argument is out of range.

    Notes
    -----
    With e = e^epsilon, n times the variance of the estimate of p_x is ``A / theta + B / (1 - theta)
    - p_x^2``, where ::

        A = e (1 + p_x (e - 1)) / (e - 1)^2,    B = (e - p_x (e - 1)) / (e - 1)^2

    for sensitive x, and ``A = e p_x / (e - 1)``, B = 0 for others. As A + B >= p_x^2, these are
    sums of exponentials of logit(theta) with nonnegative coefficients. Hence the losses, and their
    maxima over p, are convex in logit(theta), and the search finds the only minimum. For the l2
    loss at a given p it is at

        theta = 1 / (1 + sqrt(c)),    c = (S - (1 - 1/e) p(X_S)) / (S + e - 1),

    which depends on p only by the total p(X_S) of the S sensitive categories.

    Examples
    --------
    >>> found = best_theta(100, 10, epsilon=4.0)
    >>> round(found.theta, 4), round(found.gain, 3)
    (0.7161, 1.26)
    >>> round(float(best_theta(10, 4, epsilon=1.0, p=[0.1] * 10)), 4)
    0.5526
    """
    from scipy.optimize import minimize_scalar

    copies, epsilon = kinds(k, n_sensitive, least=1), positive_epsilon("epsilon", epsilon)
    law = None if p is None else distribution("p", p, int(copies.sum()))
    loss = one_of("loss", loss, LOSSES)

    def value(logit: float) -> float:
        return _loss(copies, epsilon, law, loss, float(1.0 / (1.0 + np.exp(-logit))))

    # Below the lower end all variances fall; beyond the upper one, where logit > 2 epsilon, those
    # of other categories fall more slowly than that of one sensitive category rises.
    ends = (0.0, min(2.0 * epsilon + 0.5 * np.log(copies.sum()) + 2.0, _LARGEST))
    found = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-9})
    best, default = (1.0 / (1.0 + np.exp(-logit)) for logit in (float(found.x), epsilon / 2.0))
    return BestTheta(
        float(best),
        _loss(copies, epsilon, law, loss, float(best)),
        float(default),
        _loss(copies, epsilon, law, loss, None),
    )


def _loss(copies: Array, epsilon: float, p: Array | None, loss: str, theta: float | None) -> float:
    """Loss of one respondent at p, or its maximum over p."""
    eps, one = np.array(epsilon), np.array(1.0)
    if p is None:
        return float(worst_loss(urap_kinds(copies, eps, theta), copies, one, loss))
    rates = urap_rates(np.arange(p.size) < copies[0], eps, theta)
    return float((rates.l1 if loss == "l1" else rates.l2)(p, one))
