"""What a formula may run: arithmetic, and functions of a fixed list, on columns and plain values.

Formula engines give each factor to Python's ``eval``. Before they do, the syntax tree of a factor
is held against the lists below: what they do not name is refused, whatever it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import cut

__all__ = ["CONTRASTS", "NUMPY", "TYPES", "fault_of", "is_plain"]

# of numpy, with the most arguments by position: one more would be where to write the result
NUMPY: dict[str, int] = {
    name: function.nin for name, function in vars(np).items() if isinstance(function, np.ufunc)
} | {"clip": 3, "digitize": 2, "isin": 2, "round": 2, "where": 3}
NUMPY |= dict.fromkeys(("max", "mean", "median", "min", "std", "sum", "var"), 1)
CONTRASTS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")  # that engines know, as C(x, Sum)
TYPES = ("bool", "float", "int", "str")  # of values, as in (age > 40).astype(int)
_CONSTANTS = ("e", "euler_gamma", "inf", "nan", "pi")
_ENGINE = {
    *("C", "I", "Q", "bs", "cc", "center", "cr", "cs", "poly", "scale", "standardize", "te"),
    *CONTRASTS,
}
_CODINGS = ("SAS", "custom", "diff", "helmert", "poly", "sum", "treatment")  # contr.sum, formulaic
_ATTRIBUTES = {f"np.{name}" for name in _CONSTANTS} | {f"contr.{name}" for name in _CODINGS}
_METHODS = {  # of columns, with the most arguments
    **{"abs": 0, "astype": 1, "between": 2, "clip": 2, "fillna": 1, "isin": 1, "max": 0, "mean": 0},
    **{"median": 0, "min": 0, "round": 1, "std": 0, "sum": 0, "var": 0},
}
_OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.BitAnd, ast.BitOr, ast.BitXor),
)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SILENT = (ast.operator, ast.unaryop, ast.cmpop, ast.expr_context, ast.keyword, ast.Expression)
_ARRAYS = (np.ndarray, pd.Series, pd.DataFrame, pd.Index, pd.api.extensions.ExtensionArray)


def is_plain(value: object) -> bool:
    """Whether a variable of the caller is data: an array, a number, text, or a list of these."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (Number, np.generic, str, *_ARRAYS))


def fault_of(
    code: str, engine: str, columns: Collection[str], outside: Mapping[str, Any]
) -> str | None:
    """What a factor has that formulas may not have, as in "calls open()"; None if nothing.

    `outside` are the caller's variables.
    """
    if engine != "patsy" and "`" in code:
        # what is in quotes for one reader is code for another
        if re.search(r"""['"\\#\n]""", code):
            return "has text and a name in backquotes"
        code = re.sub("`[^`]*`", "None", code)
    tree = ast.parse(code.strip(), mode="eval")
    nodes = list(ast.walk(tree))
    settled: set[ast.AST] = set()  # that need no second look
    for node in reversed(nodes):  # what is inside first
        if isinstance(node, ast.Call):
            if fault := _call_fault(node, columns, outside):
                return fault
            settled |= {node, *_functions(node)}
        elif isinstance(node, ast.Attribute) and _path(node) in _ATTRIBUTES:
            settled |= {node, node.value}
    for node in nodes:
        if node in settled or isinstance(node, _SILENT):
            continue
        if isinstance(node, ast.Attribute):
            return f"takes {_shown(node)}"
        if isinstance(node, ast.Name):
            known = node.id in columns or (node.id in outside and is_plain(outside[node.id]))
            if not known:
                return f"has {node.id}, which is neither a column nor an array or a number"
        elif fault := _node_fault(node, engine):
            return fault
    return None


def _path(node: ast.AST) -> str:
    """``np.log`` of an attribute of a name; "" of any other attribute."""
    plain = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return ast.unparse(node) if plain else ""


def _functions(node: ast.Call) -> Iterator[ast.AST]:
    """What a call is judged by as a whole: its function, and arguments that are no values."""
    yield node.func
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if isinstance(node.func, ast.Attribute) and _path(node.func).startswith(("np.", "contr.")):
        yield node.func.value
    words = {"astype": TYPES, "C": CONTRASTS}.get(name, ())
    for given in (*node.args, *(keyword.value for keyword in node.keywords)):
        if isinstance(given, ast.Name) and given.id in words:
            yield given


def _call_fault(node: ast.Call, columns: Collection[str], outside: Mapping[str, Any]) -> str | None:
    function = node.func
    most, shown = None, f"{_shown(function)}()"
    if isinstance(function, ast.Name):
        name, own = function.id, outside.get(function.id)
        if callable(own) and _package(own) not in ("builtins", "formulaic", "numpy", "patsy"):
            return f"calls {name}(), a function of the caller"
        known = name in _ENGINE or name in NUMPY
        most = None if name in _ENGINE else NUMPY.get(name)
    elif _path(function).startswith(("np.", "contr.")):
        head, _, name = _path(function).partition(".")
        known = name in (NUMPY if head == "np" else _CODINGS)
        most = NUMPY.get(name) if head == "np" else None
    else:
        name = function.attr if isinstance(function, ast.Attribute) else ""
        shown = f".{name}()"
        known, most = name in _METHODS, _METHODS.get(name)
    if not known:
        return f"calls {shown}"
    if most is not None and len(node.args) > most:
        return f"calls {shown} with {len(node.args)} arguments"
    for keyword in node.keywords:
        if most is not None or keyword.arg is None or keyword.arg.startswith("_"):
            return f"calls {shown} with {_shown(keyword)}"
    if name == "Q":
        text = getattr(node.args[0], "value", None) if len(node.args) == 1 else None
        if not isinstance(text, str) or node.keywords or text not in columns:
            return f"has {_shown(node)}, which is no column"
    return None


def _package(value: object) -> str:
    kind = value if hasattr(value, "__module__") else type(value)
    return str(kind.__module__).partition(".")[0]


def _node_fault(node: ast.AST, engine: str) -> str | None:
    """Of numbers, text, lists and operators."""
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, str):  # of calls formulaic builds code, into which it puts their text
            known = engine == "patsy" or not {*'"\\\n'} & {*value}
        else:
            known = value is None or isinstance(value, int | float)
        return None if known else f"has {_shown(node)}"
    if isinstance(node, ast.List | ast.Tuple):
        return None
    if isinstance(node, ast.Compare) and all(isinstance(op, _COMPARISONS) for op in node.ops):
        return None
    parts: list[ast.expr] = []
    if isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        parts = [node.left, node.right]
        if isinstance(node.op, ast.Pow) and not (_varies(node) or all(map(_small, parts))):
            return f"has {_shown(node)}, a power of numbers"
    numbers = not any(isinstance(part, ast.List | ast.Tuple) or _is_text(part) for part in parts)
    return None if parts and numbers else f"has {_shown(node)}"


def _shown(node: ast.AST) -> str:
    try:
        return cut(ast.unparse(node), 60)
    except RecursionError:
        return "more levels of brackets and signs than can be read"


def _varies(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) for part in ast.walk(node))


def _small(node: ast.expr) -> bool:
    try:
        return bool(abs(ast.literal_eval(node)) <= 1000)
    except (TypeError, ValueError):
        return False


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
