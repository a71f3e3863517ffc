"""The cost of privacy in respondents under k-RR and k-RAPPOR."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.arguments.checks import one_of, positive_epsilon
from ldpstats.errors import InvalidArgument
from ldpstats.planning.losses import krappor_worst_l2, krr_worst_l2, nonprivate_worst_l2
from ldpstats.planning.rates import Loss, categories, each, sample_size, setting

__all__ = [
    "crossover_epsilon",
    "effective_sample_size",
    "effective_sample_size_high_privacy",
    "effective_sample_size_low_privacy",
    "excess_ratio",
]

_MECHANISMS = ("krr", "krappor")


def effective_sample_size(
    mechanism: str, k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike, theta: float | None = None
) -> Loss:
    """Respondents without privacy who would give the same worst-case loss (KBR16 section 4.3).

    n times the ratio of the worst-case squared l2 losses, non-private over private. The l1 losses
    give the same number.

    Parameters
    ----------
    mechanism : {"krr", "krappor"}
    k : int
        Number of categories.
    epsilon : float or array
        Privacy of a report, in nats.
    n : int or array of int
        Respondents.
    theta : float, optional
        As in `krappor_l2`; only for "krappor".

    Returns
    -------
    float or array
        Of the shape to which `epsilon` and `n` broadcast.

    Raises
    ------
    InvalidArgument
        If an argument is out of range, or `theta` is given for "krr".

    Notes
    -----
    For k-RAPPOR the slides of KBR16 print k^2 e^epsilon where the paper's eq. 12 correctly has
    k^2 e^(epsilon/2): at k = 100 and epsilon = ln 100 the slides keep .0080 of the sample instead
    of .0742.

    Examples
    --------
    >>> round(float(effective_sample_size("krr", 100, epsilon=np.log(100), n=10_000)))
    2475
    >>> round(float(effective_sample_size("krappor", 100, epsilon=np.log(100), n=10_000)))
    742
    """
    if one_of("mechanism", mechanism, _MECHANISMS) == "krappor":
        private = krappor_worst_l2(k, epsilon, n, theta)
    elif theta is None:
        private = krr_worst_l2(k, epsilon, n)
    else:
        raise InvalidArgument("theta", theta, "belongs to 'krappor'; leave it out for 'krr'")
    return sample_size(n) * nonprivate_worst_l2(k, n) / private


def effective_sample_size_high_privacy(
    mechanism: str, k: int, epsilon: npt.ArrayLike, n: npt.ArrayLike
) -> Loss:
    """KBR16's form of `effective_sample_size` for small epsilon and many categories (section 4.3).

    n epsilon^2 / k^2 for k-RR and n epsilon^2 / (4k) for k-RAPPOR. No mechanism exceeds a constant
    times n epsilon^2 / k for epsilon <= 1 (KBR16 Proposition 1), so k-RAPPOR is order optimal and
    k-RR is not. At small k, the limit of k-RAPPOR has (k - 1) / k^2 in place of 1 / k. See
    `effective_sample_size` for the parameters.

    Examples
    --------
    >>> round(float(effective_sample_size_high_privacy("krappor", 100, epsilon=0.1, n=10**6)), 6)
    25.0
    """
    k = categories(k)
    scale = k**2 if one_of("mechanism", mechanism, _MECHANISMS) == "krr" else 4 * k
    eps, respondents = setting(epsilon, n)
    return respondents * eps**2 / scale


def effective_sample_size_low_privacy(mechanism: str, k: int, n: npt.ArrayLike) -> Loss:
    """KBR16's form of `effective_sample_size` at epsilon = ln k for many categories (section 4.3).

    n / 4 for k-RR, which is order optimal there (it keeps at least 1/9 of the sample at every k and
    every epsilon >= ln k), and n / sqrt(k) for k-RAPPOR. See `effective_sample_size` for the
    parameters.

    Examples
    --------
    >>> float(effective_sample_size_low_privacy("krappor", 100, n=10_000))
    1000.0
    """
    k = categories(k)
    scale = 4.0 if one_of("mechanism", mechanism, _MECHANISMS) == "krr" else np.sqrt(k)
    return sample_size(n) / scale


def excess_ratio(k: int, epsilon: npt.ArrayLike) -> Loss:
    """Ratio of the squared l2 losses that privacy adds under k-RAPPOR and under k-RR.

    This is f(epsilon, k) of KBR16 section D. It depends neither on p nor on n: where it is at least
    1, k-RR has at most the loss of k-RAPPOR for every p and n. It increases with epsilon, and
    passes 1 at `crossover_epsilon`.

    Parameters
    ----------
    k : int
        Number of categories.
    epsilon : float or array
        Privacy of a report, in nats.

    Raises
    ------
    InvalidArgument
        If `k` is below 2 or `epsilon` is not positive.

    Notes
    -----
    KBR16 Proposition 5 states that the ratio is at least 1 for epsilon >= ln(k/2). The paper's
    proof covers epsilon >= ln k, where the minimum is 2.1536, at k = 8 (not 3.1559 at k = 7); at
    ln(k/2) it is 1.443, at k = 11.

    Examples
    --------
    >>> round(float(excess_ratio(8, np.log(8))), 4)
    2.1536
    """
    k = categories(k)
    half = each("epsilon", epsilon, positive_epsilon) / 2.0
    flip = np.exp(-half)
    return k / (k - 1) * np.exp(half) * (1.0 + flip) ** 2 / (2.0 + (k - 2) * flip**2)


def crossover_epsilon(k: int) -> float:
    """Epsilon from which k-RR has no larger squared l2 loss than k-RAPPOR, for every p and n.

    It solves ``excess_ratio(k, epsilon) = 1``, which is k t^3 + 2 t^2 + k t = (k - 1)(k - 2) in
    t = e^(epsilon/2), and grows as (2/3) ln k. The worst-case l1 losses cross at the same epsilon.

    Parameters
    ----------
    k : int
        Number of categories.

    Returns
    -------
    float
        In nats; 0 for k <= 5, where k-RR is better at every epsilon.

    Raises
    ------
    InvalidArgument
        If `k` is below 2.

    Examples
    --------
    >>> [round(crossover_epsilon(k), 2) for k in (5, 8, 16, 64, 256, 1024)]
    [0.0, 0.78, 1.56, 2.69, 3.67, 4.61]
    """
    k = categories(k)
    if k <= 5:
        return 0.0
    roots = np.roots([k, 2.0, k, -(k - 1.0) * (k - 2.0)])
    return 2.0 * float(np.log(roots[np.isreal(roots)].real.max()))
