"""Formulas of statsmodels, taken apart.

The engine, patsy or formulaic, is the one that ``statsmodels.formula.options.formula_engine`` says.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpstats.arguments.names import did_you_mean
from ldpstats.errors import InvalidArgument, cut
from ldpstats.models.regression.formulas.safety import CONTRASTS, NUMPY, TYPES, fault_of, is_plain

__all__ = [
    "Factor",
    "Formula",
    "Terms",
    "caller_names",
    "known_names",
    "names_in",
    "names_of",
    "one_sided",
    "refusal",
    "terms_of",
]

_EXAMPLE = 'must be text such as "ill ~ age + region"'
_QUOTES = "'\"`"


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
    """A formula with a response on the left.

    Attributes
    ----------
    text, left, right : str
        The whole formula and its sides.
    engine : str
        "patsy" or "formulaic".
    response : Factor
    terms : tuple of tuple of Factor
        Those of the right side; an intercept is no term.
    intercept : bool
    """

    text: str
    left: str
    right: str
    engine: str
    response: Factor
    terms: Terms
    intercept: bool

    @classmethod
    def parse(cls, text: object) -> Formula:
        """Read a formula.

        Raises
        ------
        InvalidArgument
            For anything but text, a formula without a left side or a right side, several responses,
            and what the engine cannot read.
        """
        if not isinstance(text, str):
            raise InvalidArgument("formula", text, _EXAMPLE)
        text = str.__str__(text)
        sides = _sides(text)
        if len(sides) != 2:
            how = "has no ~" if len(sides) == 1 else "has more than one ~"
            raise InvalidArgument("formula", text, f"{how}: it {_EXAMPLE}")
        left, right = (side.strip() for side in sides)
        if not left:
            remedy = f"has no response on the left of ~: it {_EXAMPLE}"
            raise InvalidArgument("formula", text, remedy)
        if not right:
            remedy = f"has nothing on the right of ~: it {_EXAMPLE}; ~ 1 is an intercept alone"
            raise InvalidArgument("formula", text, remedy)
        engine = _engine()
        responses, _ = terms_of("formula", engine, f"0 + {left}", text)
        if len(responses) != 1 or len(responses[0]) != 1:
            remedy = f"must have one response on the left of ~, not {left!r}"
            raise InvalidArgument("formula", text, remedy)
        terms, intercept = terms_of("formula", engine, right, text)
        return cls(text, left, right, engine, responses[0][0], terms, intercept)

    @property
    def names(self) -> frozenset[str]:
        """Names on the right side that stand for values, not for functions alone."""
        return names_of(self.terms)

    @property
    def factors(self) -> list[Factor]:
        """Those of both sides."""
        return [self.response, *(factor for term in self.terms for factor in term)]

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


def one_sided(argument: str, text: object, engine: str) -> tuple[str, Terms]:
    """The right side of a formula such as "~ age" or "age", and its terms."""
    example = 'must be text such as "~ age + region", or "1"'
    if not isinstance(text, str):
        raise InvalidArgument(argument, text, example)
    text = str.__str__(text)
    right = text.strip()
    right = right.removeprefix("~").strip()
    if not right or len(_sides(right)) > 1:
        how = "has a left side" if right else "is empty"
        raise InvalidArgument(argument, text, f"{how}: it {example}")
    terms, intercept = terms_of(argument, engine, right, text)
    if not intercept:
        remedy = "has no intercept, which it needs: leave 0 + or - 1 out"
        raise InvalidArgument(argument, text, remedy)
    return right, terms


def names_of(terms: Terms) -> frozenset[str]:
    """Names that stand for values."""
    return frozenset(name for term in terms for factor in term for name in factor.names)


def caller_names(depth: int) -> dict[str, Any]:
    """Names that a function sees, `depth` calls above the one that asks."""
    frame = sys._getframe(depth + 1)
    return {**frame.f_globals, **frame.f_locals}


def known_names(
    formula: Formula,
    marginal: Terms,
    columns: Iterable[str],
    outside: Mapping[str, Any],
    unsafe: bool = False,
) -> dict[str, Any]:
    """What names in a formula mean that are no columns; refuse those that mean nothing.

    Unless it may be `unsafe`, refuse what is not on the lists of `safety` too: what is evaluated
    later consists of the factors that are seen here. `marginal` are terms beside the formula.
    """
    there = {*columns}
    own = {*CONTRASTS, *(dir(builtins) if unsafe else TYPES)}
    values = formula.names | formula.response.names | names_of(marginal)
    for name in sorted(values - there):
        if name not in outside and name not in own:
            shown = ", ".join(map(repr, sorted(there)[:20])) + ", ..." * (len(there) > 20)
            hint = did_you_mean(name, there)
            remedy = f"names {name!r}, but no such column; there are {shown}{hint}"
            raise InvalidArgument("formula", formula.text, remedy)
    factors = [*formula.factors, *(factor for term in marginal for factor in term)]
    functions = formula.functions - there
    if unsafe:
        wanted = (values - there) | functions
        return {"np": np, **{name: outside[name] for name in wanted if name in outside}}
    for factor in factors:
        fault = fault_of(factor.written, formula.engine, there, outside)
        if fault is not None:
            remedy = (
                f"{factor.code!r} {fault}: add what you need as a column of the table, or pass "
                "unsafe=True, which runs a formula as code and is for formulas of your own"
            )
            raise InvalidArgument("formula", formula.text, remedy)
    found = {name: getattr(np, name) for name in functions if name in NUMPY} | {"np": np}
    plain = {name for name in (values - there) & {*outside} if is_plain(outside[name])}
    return found | {name: outside[name] for name in plain}


def names_in(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """Names in an expression of Python: those of values, and those of functions and modules.

    Names in backquotes, and text in ``Q("...")``, are values.
    """
    values = set(re.findall("`([^`]*)`", code))
    tree = ast.parse(re.sub("`[^`]*`", "None", code).strip(), mode="eval")
    functions: set[str] = set()
    for node in ast.walk(tree):
        head = node.func if isinstance(node, ast.Call) else getattr(node, "value", None)
        if isinstance(node, ast.Call | ast.Attribute) and isinstance(head, ast.Name):
            functions.add(head.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Q":
            given = [getattr(argument, "value", None) for argument in node.args]
            values |= {text for text in given if isinstance(text, str)}
    every = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(values | (every - functions)), frozenset(functions)


def _engine() -> str:
    """The formula engine that statsmodels uses; versions before 0.15 know patsy alone."""
    import statsmodels.formula

    options = getattr(statsmodels.formula, "options", None)
    return str(getattr(options, "formula_engine", "patsy"))


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
    try:
        if engine == "patsy":
            import patsy

            found = patsy.ModelDesc.from_formula(f"~ {right}").rhs_termlist
            codes = [[factor.code for factor in term.factors] for term in found]
        else:
            from statsmodels.formula._manager import FormulaManager

            found = list(FormulaManager(engine=engine).get_spec(right))
            literal = [term.degree == 0 and str(term) == "1" for term in found]
            codes = [
                [] if constant else [_code(factor) for factor in term.factors]
                for term, constant in zip(found, literal, strict=True)
            ]
        factors = [tuple(map(_factor, term)) for term in codes]
    except Exception as error:  # the engines have many kinds
        raise refusal(argument, text, engine, error) from None
    return tuple(term for term in factors if term), any(not term for term in factors)


def _code(factor: Any) -> str:
    """A factor of formulaic, of which names that are no words lost their quotes."""
    lookup = factor.eval_method.value == "lookup"
    return f"`{factor.expr}`" if lookup and not factor.expr.isidentifier() else str(factor.expr)


def _factor(code: str) -> Factor:
    values, functions = names_in(code)
    plain = re.fullmatch("`([^`]*)`", code)
    return Factor(plain[1] if plain else code, values, functions)


def _quoted(name: str) -> str:
    """A column as a factor, whatever its name."""
    return name if name.isidentifier() else f"Q({name!r})"


def refusal(argument: str, text: str, engine: str, error: Exception) -> InvalidArgument:
    """What an engine says about a formula."""
    plain = re.sub("\x1b?\\[[0-9;]*m", "", str(error)).replace("⧛", "").replace("⧚", "")
    said = " ".join(plain.split()) or type(error).__name__
    remedy = f"{engine} cannot use it: {cut(said, 200)}; correct the formula"
    return InvalidArgument(argument, text, remedy)
