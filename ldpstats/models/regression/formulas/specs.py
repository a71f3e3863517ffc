"""Design matrices that the right side of a formula makes of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.models.regression.formulas.formula import Factor, refusal, terms_of

__all__ = ["Spec"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spec:
    """How the right side of a formula makes a design matrix, with what it learned from a table.

    Levels of text and the state of functions such as ``center`` are those of the table that it was
    made of, whatever table it is applied to.

    Attributes
    ----------
    argument, text : str
        What errors name.
    columns : tuple of str
        Names of the columns of the matrix, p of them.
    names : mapping
        What names mean that are no columns.
    needs : frozenset of str
        Columns of the table.
    """

    argument: str
    text: str
    engine: str
    columns: tuple[str, ...]
    made: Any = field(repr=False)
    names: Mapping[str, Any] = field(repr=False)
    needs: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        argument: str,
        right: str,
        frame: pd.DataFrame,
        engine: str,
        names: Mapping[str, Any],
        text: str | None = None,
    ) -> tuple[Spec, Array]:
        """Read the right side of a formula on a table; also the matrix of the table, (n, p)."""
        shown = right if text is None else text
        made, matrix, columns = _evaluated(argument, shown, engine, right, frame, names)
        terms, _ = terms_of(argument, engine, right, shown)
        factors = [factor for term in terms for factor in term]
        there = frozenset().union(*(factor.names | factor.functions for factor in factors))
        needs = there & {*map(str, frame.columns)}
        return cls(argument, shown, engine, columns, made, names, needs), matrix

    def matrix(self, frame: pd.DataFrame) -> Array:
        """The design matrix of another table with the same columns, (n, p)."""
        how = self.engine, self.made, frame, self.names
        return _evaluated(self.argument, self.text, *how)[1]

    @property
    def slices(self) -> dict[str, slice]:
        """Where the columns of each term are; the intercept's name is Intercept."""
        if self.engine == "patsy":
            return dict(self.made.term_name_slices)
        found = {str(term): place for term, place in self.made.term_slices.items()}
        return {"Intercept" if name == "1" else name: place for name, place in found.items()}

    def learned(self, factor: Factor) -> bool:
        """Whether a factor has a function with a state, such as ``center(age)``."""
        if self.engine == "patsy":
            states = {f.code: info.state for f, info in self.made.factor_infos.items()}
            return bool(states.get(factor.code, {}).get("transforms"))
        known = self.made.transform_state
        return any(key in factor.code for key in known)


def _evaluated(
    argument: str,
    text: str,
    engine: str,
    formula: Any,
    frame: pd.DataFrame,
    names: Mapping[str, Any],
) -> tuple[Any, Array, tuple[str, ...]]:
    """The specification, design matrix (n, p) and column names of a right side on a table."""
    try:
        with np.errstate(all="ignore"):  # what is no number is refused below
            made, found, columns = _matrices(engine, formula, frame, names)
    except LDPError:
        raise
    except Exception as error:  # the engines have many kinds, and functions of users any
        raise refusal(argument, text, engine, error) from None
    matrix: Array = np.ascontiguousarray(found, dtype=np.float64)
    if matrix.shape[0] != len(frame):
        remedy = f"made {matrix.shape[0]} rows of {len(frame)}: its functions must keep rows"
        raise InvalidArgument(argument, text, remedy)
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        remedy = (
            f"{columns[column]!r} is {matrix[row, column]} in the row {frame.index[row]!r}: leave "
            "such rows out, or use another function"
        )
        raise InvalidArgument(argument, text, remedy)
    return made, matrix, columns


def _matrices(
    engine: str, formula: Any, frame: pd.DataFrame, names: Mapping[str, Any]
) -> tuple[Any, Any, tuple[str, ...]]:
    if engine == "patsy":
        import patsy

        text = f"~ {formula}" if isinstance(formula, str) else formula
        env = patsy.EvalEnvironment([dict(names)])
        refuse = patsy.NAAction(on_NA="raise")
        found = patsy.dmatrix(text, frame, eval_env=env, NA_action=refuse)
        return found.design_info, found, tuple(found.design_info.column_names)
    from statsmodels.formula._manager import FormulaManager

    manager = FormulaManager(engine="formulaic")
    again = not isinstance(formula, str)
    how = {"eval_env": dict(names), "na_action": "raise", "prediction": again}
    found = manager.get_matrices(formula, frame, **how)
    return manager.spec, found, tuple(map(str, found.columns))
