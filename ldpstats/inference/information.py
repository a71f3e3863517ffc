"""From the Fisher information of a survey to the covariance of its maximum likelihood estimate.

Q[x, y] = P(report y | value x), rows sum to one; m = p Q is the law of a report; n
is the number of reports; J is the Fisher information of all n reports about p. Since J = n Q
diag(1/m) Q' has J p = n 1, J^-1 1 = p / n: the inverse of J restricted to the tangent space of the
simplex (directions that sum to zero) is J^-1 - p p'/n.

Rank check before every inverse: rows and columns are scaled by the square root of the diagonal, as
it was before cancellation. The matrix is singular if the scaled one has no Cholesky factor, or if
the 1-norm of its inverse exceeds 1/(10 k 2.2e-16).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import floats
from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.likelihood.covariance import Covariance, finite_array, positive, probabilities

Array = npt.NDArray[np.float64]


_EPS = float(np.finfo(np.float64).eps)


def expected_information(Q: npt.ArrayLike, p: npt.ArrayLike, n: float) -> Array:
    """Expected Fisher information of n reports about p, J = n Q diag(1/m) Q' with m = p Q.

    Parameters
    ----------
    Q : array_like, shape (k, l)
        Channel, rows sum to one.
    p : array_like, shape (k,)
        A distribution; zeros are allowed.
    n : float
        Number of reports.

    Returns
    -------
    ndarray, shape (k, k)
        J, with J p = n 1.

    Raises
    ------
    InvalidArgument
        If shapes disagree, or p gives probability 0 to a possible output, where the information is
        infinite.

    Examples
    --------
    >>> Q = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> J = expected_information(Q, [0.5, 0.5], n=100)
    >>> J
    array([[125.,  75.],
           [ 75., 125.]])
    >>> J @ [0.5, 0.5]
    array([100., 100.])
    """
    channel = finite_array("Q", Q, 2)
    p = probabilities("p", p)
    n = positive("n", n)
    if channel.shape[0] != p.size:
        raise InvalidArgument("Q", channel.shape, f"must have {p.size} rows, one per entry of p")
    emitted = channel.any(axis=0)
    channel = channel[:, emitted]
    m = p @ channel
    if not np.all(m > 0):
        raise InvalidArgument(
            "p",
            p,
            "gives probability 0 to a possible report, where the information is infinite; use the "
            "unconstrained estimate and its covariance instead",
        )
    scaled = channel * np.sqrt(n / m)
    return floats(scaled @ scaled.T)


def tangent_inverse(J: npt.ArrayLike, p: npt.ArrayLike, n: float) -> Covariance:
    """Covariance of the simplex MLE from the expected information, J^-1 - p p'/n.

    Parameters
    ----------
    J : array_like, shape (k, k)
        Expected information at p, or observed information at an MLE in the interior.
    p : array_like, shape (k,)
        The point of evaluation.
    n : float
        Number of reports.

    Returns
    -------
    Covariance
        Dense, of rank k - 1; every row sums to zero. Computed on the tangent space, where J is far
        better conditioned when epsilon is small.

    Raises
    ------
    InvalidArgument
        If J p = n 1 fails by more than 1e-6 relative.
    NotIdentified
        If J is singular (the rule is in the module's docstring).

    Examples
    --------
    >>> J = expected_information([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5], n=100)
    >>> tangent_inverse(J, [0.5, 0.5], n=100).matrix()
    array([[ 0.01, -0.01],
           [-0.01,  0.01]])
    """
    information = finite_array("J", J, 2)
    p = probabilities("p", p)
    n = positive("n", n)
    if information.shape != (p.size, p.size):
        raise InvalidArgument("J", information.shape, f"must have the shape ({p.size}, {p.size})")
    if not np.allclose(information @ p, n, rtol=1e-6, atol=0):
        raise InvalidArgument(
            "J",
            information,
            "does not satisfy J p = n 1; pass the expected information at p, or use "
            "observed_tangent_inverse(J)",
        )
    return observed_tangent_inverse(information)


def observed_tangent_inverse(J: npt.ArrayLike) -> Covariance:
    """B (B' J B)^-1 B', where the columns of B are a basis of the tangent space.

    The covariance of the simplex MLE for any information matrix, and the precision of contrasts for
    any covariance matrix. J may be singular in a direction that leaves the simplex.

    Parameters
    ----------
    J : array_like, shape (k, k)
        Symmetric, for example sum_i P_i P_i'/(p.P_i)^2 over reports with likelihood rows P_i.

    Returns
    -------
    Covariance
        Dense, rank k - 1.

    Raises
    ------
    NotIdentified
        If B' J B is singular (the rule is in the module's docstring).

    Notes
    -----
    The result is the same for every basis B. Here the columns are e_j - e_i for all j but one
    category i, so B'JB has the entries J_jl - J_ji - J_il + J_ii. Category i has the smallest J_ii,
    which keeps a huge entry, of an estimate near zero, in its own row.

    Examples
    --------
    >>> observed_tangent_inverse([[125.0, 75.0], [75.0, 125.0]]).matrix()
    array([[ 0.01, -0.01],
           [-0.01,  0.01]])
    """
    information = Covariance.dense(J).core
    k = information.shape[0]
    i = int(np.argmin(np.diagonal(information)))
    rest = np.delete(np.arange(k), i)
    corner, border = information[i, i], information[rest, i]
    reduced = information[np.ix_(rest, rest)] - border[:, None] - border + corner
    inner = checked_inverse(
        reduced, "on the tangent space of the simplex", information[rest, rest] + corner
    )
    inverse = np.zeros((k, k))
    inverse[np.ix_(rest, rest)] = inner
    inverse[i, rest] = inverse[rest, i] = -inner.sum(axis=0)
    inverse[i, i] = inner.sum()
    return Covariance.dense(inverse)


def fpe16(J: npt.ArrayLike) -> Covariance:
    """J^-1 alone, the covariance that FPE16 (section III-C) prints.

    It ignores that p sums to one, and so overstates the covariance of the MLE by p p'/n. For
    comparison with that paper only.

    Parameters
    ----------
    J : array_like, shape (k, k)
        Information matrix.

    Raises
    ------
    NotIdentified
        If J is singular (the rule is in the module's docstring).

    Examples
    --------
    >>> fpe16([[125.0, 75.0], [75.0, 125.0]]).matrix()
    array([[ 0.0125, -0.0075],
           [-0.0075,  0.0125]])
    """
    return Covariance.dense(checked_inverse(Covariance.dense(J).core, "of all k probabilities"))


def checked_inverse(M: Array, where: str, magnitude: Array | None = None) -> Array:
    """Inverse of a positive definite M, (k, k), after the rank check of the head of the module."""
    if M.size == 0:
        return M
    squares = np.diagonal(M) if magnitude is None else magnitude
    if np.all(squares > 0):
        from scipy.linalg import lapack

        root = np.sqrt(squares)
        factor, fault = lapack.dpotrf(M / root[:, None] / root, lower=1, overwrite_a=1)
        if not fault:
            inverse = np.tril(lapack.dpotri(factor, lower=1, overwrite_c=1)[0])
            inverse += np.tril(inverse, -1).T
            if np.linalg.norm(inverse, 1) * 10 * M.shape[0] * _EPS < 1:
                return floats(inverse / root[:, None] / root)
    raise NotIdentified(
        f"the matrix {where} is singular: the data do not determine every category. Merge "
        "categories, or use more bits, cohorts or outputs than free probabilities"
    )
