"""Formulas of statsmodels, taken apart, and the design matrices that they make of tables.

The engine, patsy or formulaic, is that of ``statsmodels.formula.options.formula_engine``. Formula
engines give each factor to Python's ``eval``: before they do, its syntax tree is held against the
lists below, arithmetic and functions on columns and plain values. Anything else is refused.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, did_you_mean, one_of, record
from ldpstats.documents import written
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, cut
from ldpstats.labels import Codes, Labels, Mask
from ldpstats.models.frequency.results import checked_scores

Names = Mapping[str, Any]  # what names mean that are no columns

MOST_CONFIGURATIONS = 10_000
BINARY = ("logit", "probit", "cloglog")
FAMILIES = ("linear", "logit", "multinomial", "ordered", "poisson", "probit", "cloglog")
_MOST_VALUES = 100  # distinct whole numbers that may be categories
_MOST_ENTRIES = 1 << 31  # of all design matrices, 16 GB
_INTERCEPT = "Intercept"
_EXAMPLE = 'must be text such as "ill ~ age + region"'
_QUOTES = "'\"`"
_KINDS = "must be a DataFrame of pandas or Polars, or an Arrow table"
_AVERAGES = {  # whoever predicts for some columns
    "exog": '; predictions(at={"age": [20, 40]}) sets one and averages over the others'
}

# functions of numpy, with the most arguments by position: one more would be where to write the
# result
NUMPY: dict[str, int] = {
    name: function.nin for name, function in vars(np).items() if isinstance(function, np.ufunc)
} | {"clip": 3, "digitize": 2, "isin": 2, "round": 2, "where": 3}
NUMPY |= dict.fromkeys(("max", "mean", "median", "min", "std", "sum", "var"), 1)
CONTRASTS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")  # that engines know, as C(x, Sum)
_FORMULAIC_CONTRASTS = tuple(f"{one}Contrasts" for one in (*CONTRASTS, "SAS"))
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


# -- formulas ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Factor:
    """A part of a term as it is written, such as ``np.log(age)``, and the names in it.

    `functions` are names that are called, or of which an attribute is taken.
    """

    code: str
    names: frozenset[str]
    functions: frozenset[str]

    @property
    def is_name(self) -> bool:
        """Whether it is a column and nothing else."""
        return self.names == {self.code} or (
            len(self.names) == 1 and re.fullmatch(r"""Q\((['"]).*\1\)""", self.code) is not None
        )

    @property
    def written(self) -> str:
        """The factor as it may stand in a formula."""
        return _quoted(self.code) if self.names == {self.code} else self.code


Terms = tuple[tuple[Factor, ...], ...]


@dataclass(frozen=True)
class Formula:
    """A formula with a response on the left, read by the `engine`; an intercept is no term.

    `groups` is the column of ``(1 | groups)``, which is not in `right`; "" if there is none.
    """

    text: str
    left: str
    right: str
    engine: str
    response: Factor
    terms: Terms
    intercept: bool
    groups: str = ""

    @classmethod
    def parse(cls, text: object) -> Formula:
        """Read a formula with one response on the left and something on the right."""
        if not isinstance(text, str):
            raise InvalidArgument("formula", text, _EXAMPLE)
        text = str.__str__(text)
        left, *others = (side.strip() for side in _sides(text))
        right, how, more = "".join(others), "", ""
        if len(others) != 1:
            how = "more than one ~" if others else "no ~"
        elif not left:
            how = "no response on the left of ~"
        elif not right:
            how, more = "nothing on the right of ~", "; ~ 1 is an intercept alone"
        if how:
            raise InvalidArgument("formula", text, f"has {how}: it {_EXAMPLE}{more}")
        right, groups = _random_intercept(text, right)
        engine = formula_engine()
        responses, _ = terms_of("formula", engine, f"0 + {left}", text)
        if len(responses) != 1 or len(responses[0]) != 1:
            remedy = f"must have one response on the left of ~, not {left!r}"
            raise InvalidArgument("formula", text, remedy)
        terms, intercept = terms_of("formula", engine, right, text)
        return cls(text, left, right, engine, responses[0][0], terms, intercept, groups)

    @property
    def names(self) -> frozenset[str]:
        """Names on the right side that stand for values, not for functions alone."""
        return names_of(self.terms)

    @property
    def factors(self) -> list[Factor]:
        """Those of both sides."""
        return [self.response, *factors_of(self.terms)]

    @property
    def functions(self) -> frozenset[str]:
        """Names on both sides that are called, or of which an attribute is taken."""
        return frozenset(name for factor in self.factors for name in factor.functions)

    def without(self, private: Iterable[str]) -> str:
        """The right side of a formula of the same terms, without factors that hold these names.

        Public columns that share a factor with one of them enter as they are.
        """
        hidden, kept = frozenset(private), []
        for term in self.terms:
            public = [f.written for f in term if not f.names & hidden]
            shared = [name for f in term if f.names & hidden for name in sorted(f.names - hidden)]
            kept += [":".join(public)] if public else []
            kept += [_quoted(name) for name in shared]
        return " + ".join(["1", *dict.fromkeys(kept)])


def formula_engine() -> str:
    """The engine that statsmodels is told to use, patsy or formulaic."""
    import statsmodels.formula

    options = getattr(statsmodels.formula, "options", None)  # versions before 0.15 have none
    return str(getattr(options, "formula_engine", "patsy"))


def one_sided(argument: str, text: object, engine: str) -> tuple[str, Terms]:
    """The right side of a formula such as "~ age" or "age", and its terms."""
    example = 'must be text such as "~ age + region", or "1"'
    if not isinstance(text, str):
        raise InvalidArgument(argument, text, example)
    text = str.__str__(text)
    right = text.strip().removeprefix("~").strip()
    if not right or len(_sides(right)) > 1:
        how = "has a left side" if right else "is empty"
        raise InvalidArgument(argument, text, f"{how}: it {example}")
    terms, intercept = terms_of(argument, engine, right, text)
    if not intercept:
        remedy = "has no intercept, which it needs: leave 0 + or - 1 out"
        raise InvalidArgument(argument, text, remedy)
    return right, terms


def factors_of(terms: Terms) -> list[Factor]:
    """Those of all terms."""
    return [factor for term in terms for factor in term]


def names_of(terms: Terms) -> frozenset[str]:
    """Names that stand for values."""
    return frozenset(name for factor in factors_of(terms) for name in factor.names)


def caller_names(depth: int) -> dict[str, Any]:
    """Names that a function sees, `depth` calls above the one that asks."""
    frame = sys._getframe(depth + 1)
    return {**frame.f_globals, **frame.f_locals}


def _random_intercept(text: str, right: str) -> tuple[str, str]:
    """The right side of a formula without its term ``(1 | school)``, and that column."""
    # what is not written with 0 or 1, as (ill | late), may be columns of truth values
    pattern = r"(?<![\w.`])\(([^()|]*)\|{1,2}([^()|]*|\s*Q\([^()]*\)\s*)\)"
    found = [m for m in re.finditer(pattern, right) if re.search(r"(?<![\w.])[01](?![\w.])", m[1])]
    if not found:
        return right, ""
    match, slopes = found[0], [match[0] for match in found if match[1].strip() != "1"]
    before, after = right[: match.start()].strip(), right[match.end() :].strip()
    column = match[2].strip()
    quoted = re.fullmatch(r"""`([^`]+)`|Q\((['"])(.+)\2\)""", column)
    remedy = ""
    if slopes:
        remedy = f"{slopes[0]!r}, and there are no random slopes: write (1 | group)"
    elif len(found) > 1:
        remedy = (
            f"{match[0]!r} and {found[1][0]!r}, and there is one grouping at most: keep the "
            "one whose groups differ most, and write the other as a covariate"
        )
    elif before[-1:] not in ("", "+") or after[:1] not in ("", "+", "-"):
        remedy = f"{match[0]!r} within another term: add it by itself, + {match[0]}"
    elif not quoted and not column.isidentifier():
        remedy = (
            f"{match[0]!r}, whose groups must be one column: make one of {column!r} in the "
            "table, such as table.assign(both=table.a + table.b)"
        )
    if remedy:
        raise InvalidArgument("formula", text, f"has {remedy}")
    rest = f"{before.removesuffix('+').strip()} {after}".strip().removeprefix("+").strip()
    return rest or "1", (quoted[1] or quoted[3]) if quoted else column


def _sides(text: str) -> list[str]:
    """A formula split at each ~ that is not quoted."""
    quote, sides = "", [""]
    for letter in text:
        if letter == "~" and not quote:
            sides.append("")
            continue
        if letter in _QUOTES and quote in ("", letter):
            quote = "" if quote else letter
        sides[-1] += letter
    return sides


def terms_of(argument: str, engine: str, right: str, text: str) -> tuple[Terms, bool]:
    """The terms of the right side of a formula, and whether it has an intercept."""
    codes: list[list[str]] = []
    try:
        if engine == "patsy":
            import patsy

            for term in patsy.ModelDesc.from_formula(f"~ {right}").rhs_termlist:
                codes.append([factor.code for factor in term.factors])
        else:
            from statsmodels.formula._manager import FormulaManager

            for term in FormulaManager(engine=engine).get_spec(right):
                codes.append([])
                if term.degree == 0 and str(term) == "1":
                    continue
                for factor in term.factors:  # of which names that are no words lost their quotes
                    lookup = factor.eval_method.value == "lookup"
                    quoted = lookup and not factor.expr.isidentifier()
                    codes[-1].append(f"`{factor.expr}`" if quoted else str(factor.expr))
        factors = [tuple(map(_factor, term)) for term in codes]
    except InvalidArgument:
        raise
    except Exception as error:  # the engines have many kinds
        raise refusal(argument, text, engine, error) from None
    return tuple(term for term in factors if term), any(not term for term in factors)


def _factor(code: str) -> Factor:
    """A factor with its names: of values, in backquotes and ``Q("...")`` too, and of functions."""
    values = set(re.findall("`([^`]*)`", code))
    tree = ast.parse(re.sub("`[^`]*`", "None", code).strip(), mode="eval")
    if isinstance(tree.body, ast.BinOp) and isinstance(tree.body.op, ast.BitXor):
        remedy = "is the bitwise exclusive or of Python: a square is I(age ** 2), and all pairs of "
        remedy += "covariates are (a + b) ** 2"
        raise InvalidArgument("formula", code, remedy)
    functions: set[str] = set()
    for node in ast.walk(tree):
        head = node.func if isinstance(node, ast.Call) else getattr(node, "value", None)
        if isinstance(node, ast.Call | ast.Attribute) and isinstance(head, ast.Name):
            functions.add(head.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Q":
            texts = [getattr(argument, "value", None) for argument in node.args]
            values |= {text for text in texts if isinstance(text, str)}
    every = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    plain = re.fullmatch("`([^`]*)`", code)
    names = frozenset(values | (every - functions))
    return Factor(plain[1] if plain else code, names, frozenset(functions))


def _in_bits(code: str) -> set[str]:
    """Names that are themselves operands of ``|`` and ``&``."""
    found = set()
    for node in ast.walk(ast.parse(re.sub("`[^`]*`", "None", code).strip(), mode="eval")):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd):
            found |= {one.id for one in (node.left, node.right) if isinstance(one, ast.Name)}
    return found


def _quoted(name: str) -> str:
    """A column as a factor, whatever its name."""
    return name if name.isidentifier() else f"Q({name!r})"


def refusal(argument: str, text: str, engine: str, error: Exception) -> InvalidArgument:
    """What an engine says about a formula."""
    plain = re.sub("\x1b?\\[[0-9;]*m", "", str(error)).replace("⧛", "").replace("⧚", "")
    said = " ".join(plain.split()) or type(error).__name__
    remedy = f"{engine} cannot use it: {cut(said, 200)}; correct the formula"
    if re.search(r"\([^()|]*\|[^()]*\)", text):
        remedy += "; a random intercept is written (1 | group), and there are no random slopes"
    return InvalidArgument(argument, text, remedy)


# -- what a formula may run --------------------------------------------------------------------


def known_names(
    formula: Formula,
    marginal: Terms,
    columns: Iterable[str],
    outside: Names,
    unsafe: bool = False,
) -> dict[str, Any]:
    """What names in a formula mean that are no columns; refuse those that mean nothing.

    Unless it may be `unsafe`, refuse what is not on the lists too: what is evaluated later consists
    of the factors that are seen here. `marginal` are terms beside the formula.
    """
    there = {*columns}
    known = {*CONTRASTS, *(dir(builtins) if unsafe else TYPES)}
    values = formula.names | formula.response.names | names_of(marginal)
    for name in sorted(values - there):
        if name not in outside and name not in known:
            shown = ", ".join(map(repr, sorted(there)[:20])) + ", ..." * (len(there) > 20)
            hint = did_you_mean(name, there)
            remedy = f"names {name!r}, but no such column; there are {shown}{hint}"
            raise InvalidArgument("formula", formula.text, remedy)
    factors = [*formula.factors, *factors_of(marginal)]
    functions = formula.functions - there
    if unsafe:
        wanted = (values - there) | functions
        return {"np": np, **{name: outside[name] for name in wanted if name in outside}}
    for factor in factors:
        fault = _fault_of(factor.written, formula.engine, there, outside)
        if fault is not None:
            remedy = (
                f"{factor.code!r} {fault}: add what you need as a column of the table, or pass "
                "unsafe=True, which runs a formula as code and is for formulas of your own"
            )
            raise InvalidArgument("formula", formula.text, remedy)
    numpy = {name: getattr(np, name) for name in functions if name in NUMPY} | {"np": np}
    plain = {name for name in (values - there) & {*outside} if _is_plain(outside[name])}
    return numpy | {name: outside[name] for name in plain}


def _is_plain(value: object) -> bool:
    """Whether a variable of the caller is data: an array, a number, text, or a list of these."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (Number, np.generic, str, *_ARRAYS))


def _fault_of(code: str, engine: str, columns: Collection[str], outside: Names) -> str | None:
    """What a factor has that formulas may not have, as in "calls open()"; None if nothing."""
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
            # a call is judged as a whole: its function, and arguments that are no values
            function = node.func
            settled |= {node, function}
            if isinstance(function, ast.Attribute) and _path(function).startswith(
                ("np.", "contr.")
            ):
                settled.add(function.value)
            name = getattr(function, "attr", getattr(function, "id", ""))
            words = {"astype": TYPES, "C": CONTRASTS}.get(name, ())
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                if isinstance(value, ast.Name) and value.id in words:
                    settled.add(value)
        elif isinstance(node, ast.Attribute) and _path(node) in _ATTRIBUTES:
            settled |= {node, node.value}
    for node in nodes:
        if node in settled or isinstance(node, _SILENT):
            continue
        if isinstance(node, ast.Attribute):
            return f"takes {_shown(node)}"
        if isinstance(node, ast.Name):
            known = node.id in columns or (node.id in outside and _is_plain(outside[node.id]))
            if not known:
                return f"has {node.id}, which is neither a column nor an array or a number"
        elif fault := _node_fault(node, engine):
            return fault
    return None


def _path(node: ast.AST) -> str:
    """``np.log`` of an attribute of a name; "" of any other attribute."""
    plain = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return ast.unparse(node) if plain else ""


def _call_fault(node: ast.Call, columns: Collection[str], outside: Names) -> str | None:
    """Of functions, and of how many arguments they have."""
    function = node.func
    most, shown = None, f"{_shown(function)}()"
    if isinstance(function, ast.Name):
        name, variable = function.id, outside.get(function.id)
        if callable(variable):
            kind = variable if hasattr(variable, "__module__") else type(variable)
            package = str(kind.__module__).partition(".")[0]
            if package not in ("builtins", "formulaic", "numpy", "patsy"):
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
        if isinstance(node.op, ast.Pow):
            varies = any(isinstance(part, ast.Name) for part in ast.walk(node))
            with suppress(TypeError, ValueError):  # of what is no number
                varies |= all(abs(ast.literal_eval(part)) <= 1000 for part in parts)
            if not varies:
                return f"has {_shown(node)}, a power of numbers"
    for part in parts:
        text = isinstance(part, ast.Constant) and isinstance(part.value, str | bytes)
        if text or isinstance(part, ast.List | ast.Tuple):
            return f"has {_shown(node)}"
    return None if parts else f"has {_shown(node)}"


def _shown(node: ast.AST) -> str:
    """The code of a node, cut."""
    try:
        return cut(ast.unparse(node), 60)
    except RecursionError:
        return "more levels of brackets and signs than can be read"


# -- the arrays of a regression ----------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """How a formula makes design matrices, with what it learned from the table of n respondents.

    `chosen` columns of the matrices of `spec` are used, one for each configuration of the `private`
    predictors, whose law depends on `marginal_spec`. `index` labels the rows, `kept` says which
    rows of the table, (N,), they are, and `public` are their public columns.
    """

    formula: Formula
    private: tuple[PrivateColumn, ...]
    spec: Spec
    marginal_spec: Spec | None
    chosen: Codes
    index: Labels
    kept: Mask
    public: pd.DataFrame

    @classmethod
    def of(
        cls,
        formula: Formula,
        names: Names,
        frame: pd.DataFrame,
        kept: Mask,
        private: tuple[PrivateColumn, ...],
        times: Array | None,
        family: str,
        right: str | None,
    ) -> tuple[Design, tuple[Array, ...], pd.DataFrame | None]:
        """Learn from n rows; also their design matrices, (n, p), and what the law depends on.

        `names` are what names mean that are no columns, and `times` how many respondents each row
        stands for, (n,). The law of the private predictors, if there are any, depends on the public
        part of the formula, or on what is on the `right` of another one.
        """
        codes = combinations_of(private)
        n, C, text = len(frame), len(codes), formula.text
        if n < C:
            remedy = f"has {n} rows, fewer than the {C} combinations of its private predictors"
            raise InvalidArgument("formula", text, f"{remedy}: use fewer of these")
        each: Any = slice(None)  # a row for each respondent, from which means and knots are learned
        if times is not None:
            each = np.repeat(np.arange(n), times.astype(np.int64))
        # every category occurs, so that levels and names are those of all
        learning = with_answers(frame, private, codes[np.arange(n) % C].T).iloc[each]
        for factor in factors_of(formula.terms):
            for name in sorted(_in_bits(factor.code) & {*frame}):
                if not frame[name].isin([0, 1]).all():
                    remedy = (
                        f"{factor.code!r} takes the bits of {name!r}: there are no random slopes, "
                    )
                    remedy += "write (1 | group); conditions join truth values, (a > 30) | (b > 1)"
                    raise InvalidArgument("formula", text, remedy)
        spec, first = Spec.of("formula", formula.right, learning, formula.engine, names, text)
        hidden = {column.name for column in private}
        for factor in factors_of(formula.terms):
            shared = sorted(factor.names & hidden)
            if shared and spec.learned(factor):  # from answers that nobody knows
                name = shared[0]
                remedy = (
                    f"{factor.code!r} learns from the answers to {name!r}, which are not known: "
                    f"write {name!r} alone, or pass scores={{{name!r}: ...}}"
                )
                raise InvalidArgument("formula", text, remedy)
        chosen, remedy = np.arange(len(spec.columns)), "has no column on the right: add a predictor"
        if family == "ordered" and chosen.size:  # thresholds take the place of an intercept
            if not formula.intercept:
                remedy = "leaves the intercept out, which ordered models have as thresholds: take "
                raise InvalidArgument("formula", text, f"{remedy}0 + or - 1 away")
            chosen = chosen[[name != _INTERCEPT for name in spec.columns]]
            remedy = "has thresholds alone: add a predictor, or use frequencies() without a model"
        if not chosen.size:
            raise InvalidArgument("formula", text, remedy)
        if n * C * chosen.size > _MOST_ENTRIES:
            raise NotAvailable(
                f"{C} design matrices of {n:,} rows and {chosen.size} columns take more than 16 "
                "GB: use fewer private predictors, or lump their categories first"
            )
        matrices = []
        for configuration in codes:
            matrix = first
            if private or times is not None:
                matrix = spec.matrix(with_answers(frame, private, configuration))
            if chosen.size < matrix.shape[1]:
                matrix = np.ascontiguousarray(matrix[:, chosen])
            matrices.append(matrix)
        law: Spec | None = None
        marginal: pd.DataFrame | None = None
        if private:
            right = formula.without(hidden) if right is None else right
            law, matrix = Spec.of("marginal", right, frame.iloc[each], formula.engine, names)
            matrix = matrix if times is None else law.matrix(frame)
            marginal = pd.DataFrame(matrix, index=frame.index, columns=list(law.columns))
        elif right is not None:
            remedy = "is for private predictors, and the formula has none: leave it out"
            raise InvalidArgument("marginal", right, remedy)
        design = cls(formula, private, spec, law, chosen, frame.index, kept, frame)
        return design, tuple(matrices), marginal

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the matrices."""
        return tuple(self.spec.columns[j] for j in self.chosen)

    @property
    def columns(self) -> tuple[str, ...]:
        """Public columns that the right side needs."""
        return tuple(sorted(self.spec.needs - {column.name for column in self.private}))

    @cached_property
    def terms(self) -> dict[str, Codes]:
        """Which columns each term of the formula has, by the name of the term."""
        place = {int(old): new for new, old in enumerate(self.chosen)}
        terms = {}
        for name, old in self.spec.slices.items():
            columns = [place[j] for j in range(old.start, old.stop) if j in place]
            if columns:
                terms[name] = np.array(columns, dtype=np.int64)
        return terms

    def exog(
        self, newdata: object, argument: str = "exog", step: tuple[str, Any] | None = None
    ) -> list[Array]:
        """The design matrices, (n, p), of other respondents; rows with a missing value are NaN.

        One for each configuration; or one alone, where the table has columns of all private
        predictors, which are the true answers of these respondents. A `step` moves a number, public
        or private, by so much in all rows or each, (n,). Errors name the `argument`.
        """
        there = columns_of(argument, newdata)[1]
        answered = [column.name for column in self.private if column.name in there]
        if answered and len(answered) < len(self.private):
            lacking = [c.name for c in self.private if c.name not in answered]
            remedy = f"is there, but {lacking} not: give the answers to all private predictors, or "
            raise InvalidArgument(f"{argument}, column", answered[0], f"{remedy}to none")
        frame = as_frame(argument, newdata, [*self.columns, *answered])
        for name in self.columns:
            if isinstance(frame[name].dtype, pd.CategoricalDtype):
                frame[name] = frame[name].astype(object)
            if known := self.levels(name):
                values = frame[name].dropna()
                if unknown := values[~values.isin(known)].tolist():
                    remedy = f"is no level that was fitted, which are {known[:20]}: leave its rows "
                    remedy += "out, or fit with it"
                    raise InvalidArgument(f"{argument}, column {name!r}", unknown[0], remedy)
        whole = ~frame.isna().any(axis=1).to_numpy()
        some = frame.loc[whole]
        configurations: list[Any] = list(combinations_of(self.private))
        if answered:
            known = [c.codes(f"{argument}, {c.name}", some[c.name]) for c in self.private]
            configurations = [known]
        matrices = []
        for codes in configurations:
            matrix = np.full((whole.size, self.chosen.size), np.nan)
            if whole.any():
                table = with_answers(some, self.private, codes)
                if step is not None:
                    name, far = step
                    moved = table[name] + np.broadcast_to(far, whole.size)[whole]
                    table = table.assign(**{name: moved})
                matrix[whole] = self.spec.matrix(table)[:, self.chosen]
            matrices.append(matrix)
        return matrices

    def marginal(self, newdata: object, argument: str = "exog") -> Array:
        """What the distribution of the private predictors depends on, of other respondents."""
        spec = self.marginal_spec
        assert spec is not None
        frame = as_frame(argument, newdata, sorted(spec.needs))
        whole = ~frame.isna().any(axis=1).to_numpy()
        matrix = np.full((len(frame), len(spec.columns)), np.nan)
        if whole.any():
            matrix[whole] = spec.matrix(frame.loc[whole])
        return matrix

    def levels(self, name: str) -> list[Any]:
        """The levels that were learned of a column, alone or as in C(kids); none of a number."""
        made, known = self.spec.made, dict[str, Any]()
        if self.spec.engine == "patsy":
            known = {one.code: info.categories for one, info in made.factor_infos.items()}
        else:
            known = {
                code: state.get("categories") for code, (_, state) in made.encoder_state.items()
            }
        for factor in factors_of(self.formula.terms):
            if factor.names >= {name} and (factor.is_name or factor.functions == {"C"}):
                if known.get(factor.code) is not None:
                    return list(known[factor.code])
        return []

    def to_dict(self) -> dict[str, Any]:
        """How matrices are made, without the respondents, as JSON values."""
        return {
            "formula": self.formula.text,
            "private": list(map(written, self.private)),
            "chosen": self.chosen.tolist(),
            "spec": self.spec.to_dict(),
            "marginal": self.marginal_spec and self.marginal_spec.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Design:
        """Read what `to_dict` wrote."""
        private = []
        for one in document["private"]:
            values = None if one["values"] is None else np.array(one["values"])
            labels = pd.Index(one["labels"], dtype=object)
            private.append(PrivateColumn(one["name"], labels, values))
        chosen = np.array(document["chosen"], dtype=np.int64)
        spec, marginal = Spec.from_dict(document["spec"]), document["marginal"]
        if chosen.ndim != 1 or not np.isin(chosen, np.arange(len(spec.columns))).all():
            raise InvalidArgument("document", chosen.tolist(), "are no columns of its formula")
        return cls(
            Formula.parse(document["formula"]),
            tuple(private),
            spec,
            marginal and Spec.from_dict(marginal),
            chosen,
            pd.RangeIndex(0),
            np.zeros(0, dtype=bool),
            pd.DataFrame(),
        )


# -- the right side ----------------------------------------------------------------------------


@record
class PrivateColumn:
    """The answers to a question as a column of a table.

    `labels` are its k categories in the mechanism's order, and `values`, (k,), the numbers or truth
    values that stand for them; None for a factor, whose reference is the first category.
    """

    name: str
    labels: pd.Index[Any]
    values: Array | None

    @classmethod
    def of(cls, name: str, labels: Labels, scores: object = None) -> PrivateColumn:
        """A question's answers as numbers, if it has scores or its labels are numbers."""
        labels = pd.Index(labels.tolist(), dtype=object)
        if scores is not None:
            try:
                return cls(name, labels, checked_scores(scores, labels))
            except InvalidArgument as error:
                raise InvalidArgument(f"scores[{name!r}]", scores, error.remedy) from None
        plain = plain_numbers(labels) or all(isinstance(label, bool) for label in labels)
        return cls(name, labels, np.array(labels.tolist()) if plain else None)

    def column(self, codes: Array) -> Any:
        """The answers of respondents from their codes, (n,)."""
        if self.values is None:
            return pd.Categorical.from_codes(codes, categories=self.labels)
        return self.values[codes]

    def codes(self, argument: str, answers: pd.Series[Any]) -> Array:
        """Codes of answers that are given, -1 where one is missing; refuse unknown ones."""
        known = {label: code for code, label in enumerate(self.labels.tolist())}
        absent = answers.isna().to_numpy()
        values = answers.astype(object).tolist()
        places = [-1 if no else known.get(v, -2) for v, no in zip(values, absent, strict=True)]
        codes = np.array(places, dtype=np.int64)
        if (codes == -2).any():
            value = values[int(np.argmax(codes == -2))]
            remedy = f"is no category of {self.name!r}, which has {self.labels.tolist()[:20]}"
            raise InvalidArgument(argument, value, remedy)
        return codes


def combinations_of(columns: Sequence[PrivateColumn]) -> Array:
    """Codes of all combinations of categories, (C, number of columns), the last changing first."""
    sizes = [len(column.labels) for column in columns]
    if prod(sizes) > MOST_CONFIGURATIONS:
        raise NotAvailable(
            f"the private predictors have {prod(sizes):,} combinations of categories, "
            f"{MOST_CONFIGURATIONS:,} at most: use fewer predictors, or lump categories first"
        )
    codes = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), np.int64)
    return codes


def configurations_of(columns: Sequence[PrivateColumn]) -> list[tuple[Any, ...]]:
    """Labels of all combinations of categories."""
    every = combinations_of(columns)
    return [tuple(one.labels[j] for one, j in zip(columns, row, strict=True)) for row in every]


def with_answers(
    frame: pd.DataFrame, columns: Sequence[PrivateColumn], codes: Iterable[Any]
) -> pd.DataFrame:
    """A table with private columns, by a code of each in all rows, or codes, (n,)."""
    pairs = zip(columns, codes, strict=True)
    return frame.assign(**{one.name: one.column(np.full(len(frame), code)) for one, code in pairs})


@record
class Spec:
    """How the right side of a formula makes a design matrix, with what it learned from a table.

    Levels of text and the state of functions such as ``center`` are those of the table that it was
    made of, whatever table it is applied to. `argument` and `text` are what errors name, `names`
    what names mean that are no columns, and `needs` the columns of the table.
    """

    argument: str
    text: str
    engine: str
    columns: tuple[str, ...]
    made: Any = field(repr=False)
    names: Names = field(repr=False)
    needs: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        argument: str,
        right: str,
        frame: pd.DataFrame,
        engine: str,
        names: Names,
        text: str | None = None,
    ) -> tuple[Spec, Array]:
        """Read the right side of a formula on a table; also the matrix of the table, (n, p)."""
        shown = right if text is None else text
        spec = cls(argument, shown, engine, (), right, names)
        made, matrix, columns = spec._evaluated(frame)
        terms, _ = terms_of(argument, engine, right, shown)
        there = frozenset().union(*(f.names | f.functions for f in factors_of(terms)))
        needs = there & {*map(str, frame.columns)}
        return replace(spec, made=made, columns=columns, needs=needs), matrix

    def __reduce__(self) -> tuple[Any, ...]:
        return Spec.from_dict, (self.to_dict(),)  # engines pickle too little, or too much

    def __deepcopy__(self, memo: object) -> Spec:
        return self

    def matrix(self, frame: pd.DataFrame) -> Array:
        """The design matrix of another table with the same columns, (n, p)."""
        return self._evaluated(frame)[1]

    def _evaluated(self, frame: pd.DataFrame) -> tuple[Any, Array, tuple[str, ...]]:
        """What is learned of a table, where nothing is yet, its matrix, and names of columns."""
        again = not isinstance(self.made, str)
        try:
            with np.errstate(all="ignore"):  # what is no number is refused below
                if self.engine == "patsy":
                    import patsy

                    right = self.made if again else f"~ {self.made}"
                    env = patsy.EvalEnvironment([dict(self.names)])
                    refuse = patsy.NAAction(on_NA="raise")
                    values = patsy.dmatrix(right, frame, eval_env=env, NA_action=refuse)
                    made = values.design_info
                    columns = tuple(made.column_names)
                else:
                    from statsmodels.formula._manager import FormulaManager

                    manager = FormulaManager(engine="formulaic")
                    how = {"eval_env": dict(self.names), "na_action": "raise", "prediction": again}
                    values = manager.get_matrices(self.made, frame, **how)
                    made, columns = manager.spec, tuple(map(str, values.columns))
        except LDPError:
            raise
        except Exception as error:  # the engines have many kinds, and functions of users any
            raise refusal(self.argument, self.text, self.engine, error) from None
        matrix: Array = np.ascontiguousarray(values, dtype=np.float64)
        if matrix.shape[0] != len(frame):
            remedy = f"made {matrix.shape[0]} rows of {len(frame)}: its functions must keep rows"
            raise InvalidArgument(self.argument, self.text, remedy)
        bad = ~np.isfinite(matrix)
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            remedy = (
                f"{columns[column]!r} is {matrix[row, column]} in the row {frame.index[row]!r}: "
                "leave such rows out, or use another function"
            )
            raise InvalidArgument(self.argument, self.text, remedy)
        return made, matrix, columns

    def to_dict(self) -> dict[str, Any]:
        """The right side of a formula: its factors with their state, and how terms code them."""
        outside = {k: v for k, v in self.names.items() if k != "np" and v is not getattr(np, k, 0)}
        is_patsy = self.engine == "patsy"
        state = (_patsy_to_json if is_patsy else _formulaic_to_json)(self.made)
        for code in (one["code"] for one in state["factors"]):
            if fault := _fault_of(code, self.engine, self.needs, outside):
                raise NotAvailable(
                    f"{code!r} {fault}, which no document may run: add what you need as a "
                    "column of the table"
                )
        engine = {} if is_patsy else {"engine": self.engine}
        return {
            "argument": self.argument,
            "text": self.text,
            **engine,
            "columns": list(self.columns),
            "needs": sorted(self.needs),
            "names": {k: _value_to_json(v, k) for k, v in sorted(outside.items())},
            **state,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Spec:
        """Read what `to_dict` wrote; what formulas may not run is refused."""
        engine = one_of("engine", document.get("engine", "patsy"), ("patsy", "formulaic"))
        needs = frozenset(document["needs"])
        outside = {k: _value_from_json(v) for k, v in document["names"].items()}
        names = {name: getattr(np, name) for name in NUMPY} | {"np": np} | outside
        for one in document["factors"]:
            if fault := _fault_of(one["code"], engine, needs, outside):
                raise InvalidArgument("document", one["code"], fault)
        made = (_patsy_from_json if engine == "patsy" else _formulaic_from_json)(document, names)
        how = document["argument"], document["text"], engine, tuple(document["columns"])
        return cls(*how, made, names, needs)

    @property
    def slices(self) -> dict[str, slice]:
        """Where the columns of each term are; the intercept's name is Intercept."""
        if self.engine == "patsy":
            return dict(self.made.term_name_slices)
        places = {str(term): place for term, place in self.made.term_slices.items()}
        return {"Intercept" if name == "1" else name: place for name, place in places.items()}

    def learned(self, factor: Factor) -> bool:
        """Whether a factor has a function with a state, such as ``center(age)``."""
        if self.engine != "patsy":
            return any(key in factor.code for key in self.made.transform_state)
        infos = self.made.factor_infos.items()
        return any(info.state.get("transforms") for f, info in infos if f.code == factor.code)


def _patsy_to_json(made: Any) -> dict[str, Any]:
    """What patsy learned."""
    factors, terms = [], []
    for factor, info in made.factor_infos.items():
        states = {
            name: {k: _value_to_json(v, factor.code) for k, v in vars(state).items()}
            for name, state in info.state["transforms"].items()
        }
        levels = info.categories and _value_to_json(info.categories, factor.code)
        one = {"code": factor.code, "levels": levels, "columns": info.num_columns, "state": states}
        factors.append(one)
    for term, codings in made.term_codings.items():
        subterms = []
        for coding in codings:
            contrasts = {
                factor.code: [contrast.matrix.tolist(), list(contrast.column_suffixes)]
                for factor, contrast in coding.contrast_matrices.items()
            }
            subterms.append([[f.code for f in coding.factors], contrasts, coding.num_columns])
        terms.append([[factor.code for factor in term.factors], subterms])
    return {"factors": factors, "terms": terms}


def _patsy_from_json(document: Mapping[str, Any], names: Names) -> Any:
    from patsy import ContrastMatrix, DesignInfo, EvalEnvironment, Term
    from patsy.design_info import FactorInfo, SubtermInfo
    from patsy.eval import EvalFactor

    infos = {}
    for one in document["factors"]:
        factor, state = EvalFactor(one["code"]), dict[str, Any]()
        factor.memorize_passes_needed(state, EvalEnvironment([dict(names)]))
        if set(state["transforms"]) != set(one["state"]):
            raise InvalidArgument("document", one["code"], "has another state")
        for name, values in one["state"].items():
            own: dict[str, Any] = state["transforms"][name].__dict__
            own.clear()
            own.update({k: _value_from_json(v) for k, v in values.items()})
        levels = one["levels"] and tuple(_value_from_json(one["levels"]))
        kind = "categorical" if levels else "numerical"
        infos[one["code"]] = FactorInfo(factor, kind, state, one["columns"], levels)
    codings: OrderedDict[Any, Any] = OrderedDict()
    for codes, subterms in document["terms"]:
        several = []
        for own, contrasts, n_columns in subterms:
            matrices = {
                infos[code].factor: ContrastMatrix(np.array(matrix, dtype=np.float64), suffixes)
                for code, (matrix, suffixes) in contrasts.items()
            }
            factors = [infos[code].factor for code in own]
            several.append(SubtermInfo(factors, matrices, n_columns))
        codings[Term([infos[code].factor for code in codes])] = several
    by_factor = {info.factor: info for info in infos.values()}
    return DesignInfo(document["columns"], by_factor, codings)


def _formulaic_to_json(made: Any) -> dict[str, Any]:
    """What formulaic learned: how each factor is coded, the state of functions, and the terms."""
    factors, terms = {}, []
    for term, scoped, columns in made.structure:
        for factor in term.factors:
            kind, state = made.encoder_state.get(factor.expr, (None, {}))
            coding: dict[str, Any] = {}
            if "contrasts" in state:
                contrasts = state["contrasts"].contrasts
                given = {k: v for k, v in vars(contrasts).items() if repr(v) != "UNSET"}
                coding = {
                    "contrasts": type(contrasts).__name__,
                    "options": {k: _value_to_json(v, factor.expr) for k, v in given.items()},
                    "levels": _value_to_json(list(state["categories"]), factor.expr),
                }
            factors[factor.expr] = {
                "code": factor.expr,
                "method": factor.eval_method.value,
                "kind": None if kind is None else kind.value,
                **coding,
            }
        parts = [[[[f.factor.expr, f.reduced] for f in one.factors], one.scale] for one in scoped]
        terms.append([[factor.expr for factor in term.factors], parts, list(columns)])
    states = {key: _value_to_json(state, key) for key, state in made.transform_state.items()}
    return {"factors": list(factors.values()), "terms": terms, "states": states}


def _formulaic_from_json(document: Mapping[str, Any], _: object) -> Any:
    from formulaic import ModelSpec
    from formulaic.formula import SimpleFormula
    from formulaic.materializers.base import EncodedTermStructure
    from formulaic.materializers.types import EvaluatedFactor, ScopedFactor, ScopedTerm
    from formulaic.parser.types import Factor as Read
    from formulaic.parser.types import Term
    from formulaic.transforms import contrasts as known

    factors, coded = {}, {}
    for one in document["factors"]:
        factors[one["code"]] = Read(one["code"], eval_method=one["method"])
        if one["kind"] is None:
            continue
        state: dict[str, Any] = {}
        if "contrasts" in one:
            name = one_of("contrasts", one["contrasts"], _FORMULAIC_CONTRASTS)
            levels = _value_from_json(one["levels"])
            options = {k: _value_from_json(v) for k, v in one["options"].items()}
            own = getattr(known, name)(**options)
            state = {"categories": levels, "contrasts": known.ContrastsState(own, levels)}
        coded[one["code"]] = Read.Kind(one["kind"]), state
    terms, structure = [], []
    for codes, parts, columns in document["terms"]:
        terms.append(Term([factors[code] for code in codes]))
        scoped = [
            ScopedTerm(
                [ScopedFactor(EvaluatedFactor(factors[c], None), reduced) for c, reduced in own],
                scale,
            )
            for own, scale in parts
        ]
        structure.append(EncodedTermStructure(terms[-1], scoped, columns))
    return ModelSpec(
        formula=SimpleFormula(terms, _ordering="none"),
        materializer="pandas",
        na_action="raise",
        output="pandas",
        structure=structure,
        transform_state={k: _value_from_json(v) for k, v in document["states"].items()},
        encoder_state=coded,
    )


def _value_to_json(value: Any, where: str) -> Any:
    """A plain value, a mapping of such, or an array with its type."""
    if isinstance(value, Mapping):
        pairs = [[_value_to_json(one, where) for one in pair] for pair in value.items()]
        return {"mapping": pairs}
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float64": [repr(value)], "shape": []}
    if isinstance(value, list | tuple):
        return [_value_to_json(one, where) for one in value]
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.size > 1000:
        raise NotAvailable(
            f"what {where!r} has, {type(value).__name__}, cannot be written as text: add a column "
            "of the table with it"
        )
    return {array.dtype.name: list(map(str, array.ravel())), "shape": list(array.shape)}


def _value_from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_value_from_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "mapping" in value:
        return {key: _value_from_json(one) for key, one in value["mapping"]}
    kind, _ = value
    if np.dtype(kind).kind not in "biuf":
        raise InvalidArgument("document", kind, "is no type of numbers")
    texts = [one == "True" for one in value[kind]] if kind == "bool" else value[kind]
    array = np.array(list(map(np.dtype(kind).type, texts)))
    if any(size < 0 for size in value["shape"]):
        raise InvalidArgument("document", value["shape"], "is no shape")
    return array.reshape(value["shape"]) if value["shape"] else array[0]


# -- tables ------------------------------------------------------------------------------------


def columns_of(argument: str, data: object) -> tuple[Any, list[Any]]:
    """A table of pandas or Arrow, and the names of its columns; refuse anything else."""
    if isinstance(data, pd.DataFrame):
        return data, list(data.columns)
    if isinstance(data, Mapping):
        raise InvalidArgument(argument, type(data).__name__, f"{_KINDS}: pass pandas.DataFrame(it)")
    if type(data).__name__ == "LazyFrame":
        raise InvalidArgument(argument, "LazyFrame", "is not computed yet: pass .collect() of it")
    stream = hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns")
    if not stream or isinstance(data, pd.Series):
        raise InvalidArgument(argument, type(data).__name__, _KINDS)
    import pyarrow

    try:
        table = pyarrow.table(data)
    except (pyarrow.ArrowException, TypeError, ValueError):
        raise InvalidArgument(argument, type(data).__name__, _KINDS) from None
    return table, list(table.column_names)


def as_frame(argument: str, data: object, names: Iterable[str]) -> pd.DataFrame:
    """Some columns of a table, in types that formula engines know."""
    table, columns = columns_of(argument, data)
    arrays: dict[str, Any] = {}
    for name in names:
        if columns.count(name) != 1:
            how = "is the name of several columns: rename them"
            remedy = how if name in columns else "no such column" + _AVERAGES.get(argument, "")
            raise InvalidArgument(f"{argument}, column", name, remedy)
        series = table[name] if isinstance(table, pd.DataFrame) else table.column(name).to_pandas()
        arrays[name] = _plain_column(series).array
    index = table.index if isinstance(table, pd.DataFrame) else pd.RangeIndex(table.num_rows)
    return pd.DataFrame(arrays, index=index)


def _plain_column(series: pd.Series[Any]) -> pd.Series[Any]:
    """A column as numpy's numbers, booleans, objects or dates, or as categories of such."""
    dtype: Any = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = dtype.categories
        if isinstance(categories.dtype, pd.StringDtype):
            return series.cat.rename_categories(list(categories))
        return series
    types = pd.api.types
    if isinstance(dtype, np.dtype) or types.is_datetime64_any_dtype(dtype):
        return series
    if types.is_bool_dtype(dtype):
        return series.astype(object if series.isna().any() else bool)
    if types.is_integer_dtype(dtype) and not series.isna().any():
        return series.astype(np.int64)
    if types.is_numeric_dtype(dtype):
        return pd.Series(series.to_numpy(np.float64, na_value=np.nan), index=series.index)
    return series.astype(object)


# -- the left side -----------------------------------------------------------------------------


@record
class Response:
    """What the left side of a formula says about the respondents.

    `values` are groups of Reports that follow one another; or numbers, or codes of public
    categories, (n,). `labels` are the categories; None for numbers.
    """

    name: str
    values: Any
    labels: Labels | None
    private: bool
    ordered: bool = False

    def family(self, model: object) -> str:
        """The family that `model` names, or the one that suits the response."""
        if self.labels is None:
            k, distinct = 0, np.unique(self.values)
            usual = "logit" if set(distinct) == {0.0, 1.0} else "linear"
            whole = bool(np.all(distinct == np.floor(distinct)))
        else:
            k, usual = len(self.labels), "ordered" if self.ordered else "multinomial"
            usual = "logit" if k == 2 else usual
        family, fault = usual if model is None else one_of("model", model, FAMILIES), ""
        if not k:
            if family in BINARY and not np.isin(distinct, (0.0, 1.0)).all():
                fault = f"holds other numbers than 0 and 1, and {family} needs two: use 'linear'"
            elif family == "poisson" and (not whole or distinct[0] < 0):
                fault = "must be whole numbers, none of them negative, for poisson: use 'linear'"
            elif family in ("multinomial", "ordered") and not (
                whole and distinct.size <= _MOST_VALUES
            ):
                fault = "holds numbers that are no categories: use 'linear', or make bands of it"
        elif family in BINARY and k != 2:
            fault = f"has {k} categories, and {family} needs two: use 'multinomial' or 'ordered'"
        elif family == "poisson":
            suits = "'logit'" if k == 2 else "'multinomial', 'ordered' or 'linear'"
            kind = "private" if self.private else "of categories"
            fault = f"is {kind}, and poisson needs public counts: use {suits}"
        elif family == "linear" and not self.private and k > 2:
            fault = f"has {k} categories, which are no numbers: make it a column of numbers"
        if fault:
            raise InvalidArgument("model", family, f"{self.name!r} {fault}")
        return family

    def suited(self, family: str, scores: object) -> tuple[Response, Array | None]:
        """The response as the family needs it, public answers as numbers or as categories.

        Also a number for each category of a private response of a linear model; None of others.
        """
        known: Array | None = None
        if self.private and self.labels is not None and family == "linear":
            known = np.array([0.0, 1.0])
            if scores is not None or len(self.labels) != 2 or plain_numbers(self.labels):
                try:
                    known = checked_scores(scores, self.labels)
                except InvalidArgument as error:
                    remedy = f"of {self.name!r}: {error.remedy}, as scores={{{self.name!r}: ...}}"
                    raise InvalidArgument("scores", scores, remedy) from None
        elif scores is not None:
            remedy = f"{self.name!r} is a private response only of model='linear': leave it out"
            raise InvalidArgument("scores", {self.name: scores}, remedy)
        numeric = family in ("linear", "poisson")
        if self.private or numeric == (self.labels is None):
            return self, known
        if numeric:
            return replace(self, values=self.values.astype(np.float64), labels=None), None
        distinct, codes = np.unique(self.values, return_inverse=True)
        labels = [int(v) for v in distinct]
        return _categories(self.name, codes, labels, family == "ordered"), None


def public_response(formula: Formula, frame: pd.DataFrame, names: Names) -> Response:
    """The left side of a formula of public columns."""
    if not formula.response.is_name:  # the engine computes numbers, or indicators of categories
        how = frame, formula.engine, names, formula.text
        spec, matrix = Spec.of("formula", f"0 + {formula.left}", *how)
        if matrix.shape[1] == 1:
            return _numbers(formula.left, matrix[:, 0])
        labels = [name.rpartition("[")[2].rstrip("]").removeprefix("T.") for name in spec.columns]
        if not np.isin(matrix, (0.0, 1.0)).all() or (matrix.sum(axis=1) != 1.0).any():
            remedy = f"has {matrix.shape[1]} responses in {formula.left!r}: it must have one"
            raise InvalidArgument("formula", formula.text, remedy)
        return _categories(formula.left, matrix.argmax(axis=1), labels, False)
    (name,) = formula.response.names
    column = frame[name]
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        some = column.cat.remove_unused_categories().cat
        return _categories(
            name, some.codes.to_numpy(), some.categories.tolist(), bool(dtype.ordered)
        )
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return _numbers(name, column.to_numpy())
    if kind not in ("string", "boolean"):
        remedy = f"holds {kind} values: a response is of numbers, booleans, text or categories"
        raise InvalidArgument("formula", formula.text, f"{name!r} {remedy}")
    codes, found = pd.factorize(column, sort=True)
    return _categories(name, codes, found.tolist(), False)


def plain_numbers(labels: Labels) -> bool:
    """Whether all labels are numbers, none of them a truth value."""
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in labels.tolist())


def _numbers(name: str, values: Array) -> Response:
    response = values.astype(np.float64)
    if not np.isfinite(response).all():
        raise InvalidArgument("response", name, "has infinite values: leave those rows out")
    if response.min() == response.max():
        remedy = f"is {response[0]:g} in all rows: there is nothing to explain"
        raise InvalidArgument("response", name, remedy)
    return Response(name, response, None, False)


def _categories(name: str, codes: Array, labels: Sequence[Any], ordered: bool) -> Response:
    """Public categories."""
    if len(labels) < 2:
        remedy = f"is {labels[0]!r} in all rows: there is nothing to explain"
        raise InvalidArgument("response", name, remedy)
    index: Labels = pd.Index(list(labels), dtype=object)
    return Response(name, np.asarray(codes).astype(np.int64), index, False, ordered)
