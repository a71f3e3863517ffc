"""Linear hypotheses about coefficients, and Wald tests of them in the form of statsmodels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from statsmodels.stats.contrast import ContrastResults

from ldpstats.arguments.checks import numbers
from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument, NotAvailable

__all__ = ["Degrees", "linear_constraints", "t_contrasts", "wald_contrast"]

Array = npt.NDArray[Any]
Degrees = float | Callable[[Array], float] | None  # of contrasts, which may have their own

_HOW = (
    "write for example 'x1 = x2' or 'x1 - 2 * x2 = 0.1, x3 = 0' with names of coefficients; or "
    "pass R of shape (q, p), or the pair (R, value), for R b = value"
)
_LARGEST = 1e100  # of which the square is still a number
_LEAST = 1e-13  # of a variance, relative to its terms, that is rounding
_RANK = 1e-10


def linear_constraints(
    names: Sequence[str], hypothesis: Any, argument: str = "hypothesis"
) -> tuple[Array, Array]:
    """R, shape (q, p), and value, shape (q,), of the hypothesis R b = value.

    Parameters
    ----------
    names : sequence of str, length p
        Names of the coefficients, as either formula engine of statsmodels writes them, such as
        "group[T.b]", "x:z" or "I(x ** 2)".
    hypothesis : str, list of str, array, or pair (R, value)
        Text has names of coefficients; those in backquotes are read without them.
    argument : str
        What messages call the hypothesis.

    Raises
    ------
    InvalidArgument
        If the text cannot be read or names no coefficient, or the array has another shape or
        is not finite.

    Examples
    --------
    >>> R, value = linear_constraints(["Intercept", "x", "z"], "x - z = 0.5")
    >>> R.tolist(), value.tolist()
    ([[0.0, 1.0, -1.0]], [0.5])
    """
    if isinstance(hypothesis, str):
        return _from_text(names, [hypothesis], hypothesis, argument)
    if isinstance(hypothesis, list) and hypothesis and all(isinstance(h, str) for h in hypothesis):
        return _from_text(names, hypothesis, hypothesis, argument)
    pair = isinstance(hypothesis, tuple) and len(hypothesis) == 2
    given, right = hypothesis if pair else (hypothesis, 0.0)
    R = np.atleast_2d(numbers(argument, given, _HOW))
    value = numbers(argument, right, _HOW)
    if R.ndim != 2 or not len(R) or R.shape[1] != len(names):
        remedy = f"needs {len(names)} columns, one for each coefficient; {_HOW}"
        raise InvalidArgument(argument, f"R of shape {R.shape}", remedy)
    if value.size not in (1, len(R)):
        remedy = f"has another number of rows than R, {len(R)}; {_HOW}"
        raise InvalidArgument(argument, f"value of shape {value.shape}", remedy)
    _check(argument, hypothesis, R, value)
    return R, np.broadcast_to(value.reshape(-1), (len(R),)).copy()


def _from_text(
    names: Sequence[str], texts: list[str], hypothesis: Any, argument: str
) -> tuple[Array, Array]:
    from patsy import DesignInfo, PatsyError

    if not all(text.strip() for text in texts):
        raise InvalidArgument(argument, hypothesis, f"is empty; {_HOW}")
    known = set(names)
    plain = [re.sub("`([^`]*)`", lambda m: m[1] if m[1] in known else m[0], text) for text in texts]
    try:
        with np.errstate(all="ignore"):  # what a division by zero leaves is refused below
            read = [DesignInfo(list(names)).linear_constraint(text) for text in plain]
    except (PatsyError, AssertionError, IndexError, ValueError) as error:
        reason = (str(error).splitlines() or ["no linear equation"])[0]
        remedy = f"cannot be read ({reason}{_hint(plain, names)}); {_HOW}"
        raise InvalidArgument(argument, hypothesis, remedy) from None
    R = np.concatenate([np.asarray(one.coefs, dtype=np.float64) for one in read])
    value = np.concatenate([np.asarray(one.constants, dtype=np.float64).ravel() for one in read])
    _check(argument, hypothesis, R, value)
    return R, value


def _hint(texts: Sequence[str], names: Sequence[str]) -> str:
    """The name that an unknown word of a hypothesis is nearest to."""
    for word in re.findall(r"[^\W\d][\w.\[\]:]*", " ".join(texts)):
        if word not in names and (hint := did_you_mean(word, tuple(names))):
            return hint
    return ""


def _check(argument: str, hypothesis: Any, R: Array, value: Array) -> None:
    if not all(np.max(np.abs(v), initial=0.0) <= _LARGEST for v in (R, value)):  # nor NaN
        remedy = f"must be finite, at most {_LARGEST:g}: does it divide by zero?"
        raise InvalidArgument(argument, hypothesis, remedy)
    if not R.any(axis=1).all():
        raise InvalidArgument(argument, hypothesis, f"has a row without a coefficient; {_HOW}")


def t_contrasts(
    params: Array, covariance: Array, R: Array, value: Array, df: Degrees
) -> ContrastResults:
    """Wald tests of the rows of R b = value, one by one, two-sided.

    Parameters
    ----------
    params : array, shape (p,)
    covariance : array, shape (p, p)
    R : array, shape (q, p)
    value : array, shape (q,)
    df : float, callable or None
        Degrees of freedom of the t distribution, or what gives those of a row, (1, p); None for
        the normal one.

    Raises
    ------
    NotAvailable
        If a row rests on a coefficient without a finite variance, or has no variance.
    """
    covariance = _needed(covariance, R)
    variance = np.einsum("ij,jk,ik->i", R, covariance, R)
    scale = np.einsum("ij,j,ij->i", R, np.diag(covariance), R)
    if np.any(variance <= _LEAST * scale):
        row = R[int(np.argmax(variance <= _LEAST * scale))].tolist()
        raise NotAvailable(f"the contrast {row} has no sampling variance: there is nothing to test")
    effect, sd = R @ params, np.sqrt(variance)
    statistic = (effect - value) / sd
    if callable(df):
        own = np.array([df(row[None, :]) for row in R])
        return ContrastResults(effect=effect, t=statistic, sd=sd, df_denom=own)
    if df is not None:
        return ContrastResults(effect=effect, t=statistic, sd=sd, df_denom=df)
    return ContrastResults(effect=effect, statistic=statistic, sd=sd, distribution="norm")


def wald_contrast(
    params: Array, covariance: Array, R: Array, value: Array, df: Degrees
) -> ContrastResults:
    """Wald test of all rows of R b = value together: F with `df`, chi-square without.

    Rows that the others imply are left out by rank. Where contrasts have degrees of freedom of
    their own the statistic is taken for Hotelling's (approximate Hotelling test, "HTZ").

    Raises
    ------
    InvalidArgument
        If the rows contradict each other.
    NotAvailable
        If a row rests on a coefficient without a finite variance, or no row has a variance.
    """
    covariance = _needed(covariance, R)
    V = R @ covariance @ R.T
    scale = np.sqrt(np.einsum("ij,j,ij->i", R, np.diag(covariance), R))
    if not scale.all():
        raise NotAvailable("the hypothesis is about a coefficient that has no sampling variance")
    gap = (R @ params - value) / scale
    size, vectors = np.linalg.eigh(V / np.outer(scale, scale))
    kept = size > _RANK * size.max(initial=0.0)
    rest = vectors[:, ~kept].T @ gap
    if np.any(np.abs(rest) > 1e-6 * max(1.0, float(np.abs(gap).max()))):
        remedy = "its rows contradict each other, or some have no sampling variance"
        raise InvalidArgument("hypothesis", R.tolist(), remedy)
    statistic = float(np.sum((vectors[:, kept].T @ gap) ** 2 / size[kept]))
    rank = int(kept.sum())
    if callable(df):
        own = df(vectors[:, kept].T @ (R / scale[:, None]))
        left = own - rank + 1.0
        if not left > 0.0:
            raise NotAvailable(
                f"{rank} hypotheses together: the clusters, or respondents, that have information "
                "on these coefficients are too few: test fewer, or one at a time by t_test"
            )
        return ContrastResults(F=statistic / rank * left / own, df_denom=left, df_num=rank)
    if df is not None:
        return ContrastResults(F=statistic / rank, df_denom=df, df_num=rank)
    return ContrastResults(statistic=statistic, df_denom=rank, distribution="chi2")


def _needed(covariance: Array, R: Array) -> Array:
    """The covariance, of which only what R needs must be finite."""
    needed = R.any(axis=0)
    if not np.isfinite(covariance[np.ix_(needed, needed)]).all():
        raise NotAvailable(
            "the hypothesis is about a coefficient whose standard error is not finite: leave it "
            "out, or fit with penalty='jeffreys' where the maximum is at infinity"
        )
    return np.where(np.outer(needed, needed), covariance, 0.0)
