"""Probabilities as people write them, read exactly."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np

from ldpstats.errors import InvalidArgument
from ldpstats.programs.polynomials import Chance, Polynomial, unknown

__all__ = ["Chance", "Polynomial", "chance", "spelled", "unknown"]

_REMEDY = "must be a probability in [0, 1], for example '1/6', Fraction(1, 6) or 0.25"
_DIGITS = r"[0-9]{1,400}"
_DECIMAL = rf"({_DIGITS}(\.[0-9]{{0,400}})?|\.{_DIGITS})([eE][+-]?[0-9]{{1,3}})?"
_TEXT = re.compile(rf"\s*[+-]?({_DIGITS}\s*/\s*{_DIGITS}|{_DECIMAL})\s*")
_LONGEST = 4000  # binary digits of a denominator
_UNKNOWN = "must stay in [0, 1] whatever the unknown parameters are in [0, 1]"


def chance(name: str, value: object) -> Chance:
    """Read a probability exactly.

    Parameters
    ----------
    name : str
        What to call it in an error.
    value : int, Fraction, float, Decimal, str or Polynomial
        A float is understood as the Fraction of its shortest decimal: 0.1 is 1/10. Text is a
        fraction, such as "1/6", or a decimal.

    Raises
    ------
    InvalidArgument
        If it is not a number in [0, 1]; the message shows the Fraction understood.

    Examples
    --------
    >>> chance("p", 0.1), chance("p", "1/6")
    (Fraction(1, 10), Fraction(1, 6))
    """
    if isinstance(value, Polynomial):
        return _open(name, value)
    found = exact_number(name, value, _REMEDY)
    if not 0 <= found <= 1:
        understood = f" (understood as {found})" if found.denominator > 1 else ""
        raise InvalidArgument(name, value, f"{_REMEDY}{understood}")
    if found.denominator.bit_length() > _LONGEST:
        remedy = f"must be a Fraction whose denominator has at most {_LONGEST} binary digits"
        raise InvalidArgument(name, value, remedy)
    return found


def exact_number(name: str, value: object, remedy: str) -> Fraction:
    """Read a real number as a Fraction: a float by its shortest decimal."""
    text = _text(value)
    if text is not None:
        if not _TEXT.fullmatch(text):
            raise InvalidArgument(name, value, remedy)
        try:
            return Fraction(re.sub(r"\s", "", text))
        except (ValueError, ZeroDivisionError):
            raise InvalidArgument(name, value, remedy) from None
    number = value.item() if isinstance(value, np.integer) else value
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        raise InvalidArgument(name, value, remedy)
    return Fraction(number)


def _text(value: object) -> str | None:
    """The digits of a number that is not exact by its type; None for others."""
    if isinstance(value, np.floating):
        return str(value)  # the shortest decimal of its own precision
    if isinstance(value, float):
        return repr(float(value))
    return str(value) if isinstance(value, str | Decimal) else None


def _open(name: str, value: Polynomial) -> Chance:
    """Check a probability that is a polynomial in unknown parameters."""
    if len(value.names) > 10:
        raise InvalidArgument(name, value, "must have at most ten unknown parameters")
    low, high = value.corners()
    if low < 0 or high > 1:
        raise InvalidArgument(name, value, f"{_UNKNOWN}; it reaches {low if low < 0 else high}")
    outside = value.outside()
    if outside:
        shown = ", ".join(f"{known} = {at}" for known, at in outside.items())
        remedy = f"{_UNKNOWN}; where {shown} it is {value.at(outside)}"
        raise InvalidArgument(name, value, remedy)
    return value


def spelled(value: Chance, quote: bool = True) -> str:
    """A probability as the constructors of devices read it back.

    Examples
    --------
    >>> spelled(Fraction(1, 6)), spelled(Fraction(1)), spelled(1 - unknown("c"))
    ("'1/6'", '1', "1 - unknown('c')")
    """
    if isinstance(value, Fraction):
        return repr(str(value)) if quote and value.denominator > 1 else str(value)
    text = repr(value)
    text = re.sub(r"[^\W\d]\w*", lambda found: f"unknown({found[0]!r})", text)
    return re.sub(r"\b(\d+)/(\d+)", r"Fraction(\1, \2)", text)
