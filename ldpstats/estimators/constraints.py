"""Ready-made convex constraints on p for `MLE(constraints=...)`.

Each function returns a callable that takes the (k,) cvxpy expression of p and returns a list of
cvxpy constraints; `all_of` joins several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ldpstats.arguments import numbers, one_of, positive_integer
from ldpstats.errors import InvalidArgument

if TYPE_CHECKING:
    import cvxpy

__all__ = ["all_of", "bounds", "known_margin", "monotone", "unimodal"]

Constraints = Callable[["cvxpy.Expression"], list[Any]]


def all_of(*constraints: Constraints) -> Constraints:
    """All the given constraints together.

    Examples
    --------
    >>> import cvxpy
    >>> len(all_of(monotone(), bounds(0.1))(cvxpy.Variable(3)))
    2
    """
    return lambda p: [item for part in constraints for item in part(p)]


def known_margin(
    margin: npt.ArrayLike | Mapping[tuple[int, ...], float], values: npt.ArrayLike | None = None
) -> Constraints:
    """Linear combinations of p that are known, such as the total of some categories.

    Parameters
    ----------
    margin : array, shape (m, k), or mapping
        The A of ``A p = values``; or a mapping from tuples of category positions to the total
        probability of these categories, and then no `values`.
    values : array, shape (m,)

    Examples
    --------
    >>> import cvxpy
    >>> p = cvxpy.Variable(3, name="p")
    >>> [str(item) for item in known_margin({(0, 1): 0.6})(p)]
    ['[[1. 1. 0.]] @ p == [0.6]']
    """
    if isinstance(margin, Mapping):
        groups = [_positions(group) for group in margin]
        right = _finite("margin", list(margin.values())).reshape(-1)
    elif values is None:
        raise InvalidArgument("values", values, "must hold one number per row of the margin")
    else:
        left = np.atleast_2d(_finite("margin", margin))
        right = np.atleast_1d(_finite("values", values))
        if right.shape != left.shape[:1]:
            raise InvalidArgument("values", values, f"must hold {len(left)} numbers, one a row")

    def build(p: cvxpy.Expression) -> list[Any]:
        if not isinstance(margin, Mapping):
            if left.shape[1:] != p.shape:
                remedy = f"must have one column for each of the {p.size} categories"
                raise InvalidArgument("margin", f"array of shape {left.shape}", remedy)
            return [left @ p == right]
        A = np.zeros((len(groups), p.size))
        for row, group in zip(A, groups, strict=True):
            if max(group) >= p.size:
                raise InvalidArgument("margin", tuple(group), f"needs positions below {p.size}")
            row[group] = 1.0
        return [A @ p == right]

    return build


def _positions(group: object) -> list[int]:
    """The positions of categories in one key of a margin."""
    if not isinstance(group, tuple) or not group or len(set(group)) < len(group):
        remedy = "the keys must be tuples of distinct category positions, such as (0, 1)"
        raise InvalidArgument("margin", group, remedy)
    return [positive_integer(f"margin, in the key {group}: position", v, 0) for v in group]


def _finite(name: str, values: object) -> npt.NDArray[np.float64]:
    array = numbers(name, values, "must be numbers")
    if not np.isfinite(array).all():
        raise InvalidArgument(name, values, "must be finite")
    return array


def monotone(order: str = "decreasing") -> Constraints:
    """p that is "decreasing" or "increasing" in the order of the categories.

    Examples
    --------
    >>> import cvxpy
    >>> len(monotone("increasing")(cvxpy.Variable(3)))
    1
    """
    order = one_of("order", order, ("decreasing", "increasing"))
    sign = 1.0 if order == "increasing" else -1.0
    return lambda p: [sign * (p[1:] - p[:-1]) >= 0]


def unimodal(mode: int) -> Constraints:
    """p that increases up to position `mode` and decreases after it.

    Examples
    --------
    >>> import cvxpy
    >>> len(unimodal(1)(cvxpy.Variable(4)))
    2
    """
    mode = positive_integer("mode", mode, least=0)

    def build(p: cvxpy.Expression) -> list[Any]:
        if mode >= p.size:
            raise InvalidArgument("mode", mode, f"must be a position below {p.size}")
        rising = [p[1 : mode + 1] >= p[:mode]] if mode > 0 else []
        falling = [p[mode + 1 :] <= p[mode:-1]] if mode + 1 < p.size else []
        return rising + falling

    return build


def bounds(low: npt.ArrayLike = 0.0, high: npt.ArrayLike = 1.0) -> Constraints:
    """``low <= p <= high``, numbers or arrays of shape (k,).

    Examples
    --------
    >>> import cvxpy
    >>> len(bounds(0.1)(cvxpy.Variable(3)))
    1
    """
    lower, upper = _finite("low", low), _finite("high", high)

    def build(p: cvxpy.Expression) -> list[Any]:
        for name, bound in (("low", lower), ("high", upper)):
            if bound.shape not in ((), p.shape):
                remedy = f"must be a number or {p.size} numbers, one a category"
                raise InvalidArgument(name, f"array of shape {bound.shape}", remedy)
        below = [p >= lower] if np.any(lower > 0.0) else []
        return below + ([p <= upper] if np.any(upper < 1.0) else [])

    return build
