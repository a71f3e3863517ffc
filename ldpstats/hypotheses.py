"""Linear hypotheses about frequencies, from strings or arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument

__all__ = ["linear_hypothesis"]

Array = npt.NDArray[Any]

_HOW = (
    "write for example 'nurse = cook' or 'nurse - cook = 0.1' with category labels "
    "(p[label] for labels that are not strings), or pass R of shape (q, k), or the pair (R, value)"
)


def linear_hypothesis(hypothesis: Any, categories: pd.Index[Any]) -> tuple[Array, Array]:
    """Return R, shape (q, k), and value, shape (q,), of the hypothesis R p = value.

    Examples
    --------
    >>> linear_hypothesis("b = a", pd.Index(["a", "b"]))
    (array([[-1.,  1.]]), array([0.]))
    """
    if isinstance(hypothesis, str) or (
        isinstance(hypothesis, list) and all(isinstance(h, str) for h in hypothesis)
    ):
        return _from_text(hypothesis, categories)
    pair = isinstance(hypothesis, tuple) and len(hypothesis) == 2
    R, value = hypothesis if pair else (hypothesis, 0.0)
    try:
        R = np.atleast_2d(np.asarray(R, dtype=np.float64))
        value = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("hypothesis", hypothesis, _HOW) from None
    k = len(categories)
    if R.ndim != 2 or R.shape[1] != k or value.size not in (1, len(R)):
        raise InvalidArgument(
            "hypothesis", f"R of shape {R.shape}", f"needs k = {k} columns; {_HOW}"
        )
    if not (np.all(np.isfinite(R)) and np.all(np.isfinite(value))):
        raise InvalidArgument("hypothesis", hypothesis, "must be finite")
    return R, np.broadcast_to(value.reshape(-1), (len(R),)).copy()


def _from_text(text: str | list[str], categories: pd.Index[Any]) -> tuple[Array, Array]:
    from patsy import DesignInfo, PatsyError

    names = [v if isinstance(v, str) else f"p[{v}]" for v in categories]
    try:
        constraint = DesignInfo(names).linear_constraint(text)
    except PatsyError as error:
        reason = str(error).splitlines()[0]
        raise InvalidArgument("hypothesis", text, f"cannot be read ({reason}); {_HOW}") from None
    return np.asarray(constraint.coefs), np.asarray(constraint.constants).reshape(-1)
