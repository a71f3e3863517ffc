"""What the tables of the evidence share: what they give, and how figures are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Shown:
    """A table of text, and how it was made: surveys and Monte Carlo error."""

    table: pd.DataFrame
    made: str


TABLES: dict[str, Callable[[pd.DataFrame], Shown]] = {}


def table(make: Callable[[pd.DataFrame], Shown]) -> Callable[[pd.DataFrame], Shown]:
    """Pages may show what this function makes."""
    TABLES[make.__name__] = make
    return make


# ---- how figures are written


def plain(values: pd.Series, digits: int = 3) -> pd.Series:
    """Numbers with so many decimals; a dash where there is none."""
    return values.map(lambda x: "-" if pd.isna(x) else f"{x:.{digits}f}")


def significant(x: float, digits: int = 3) -> str:
    """A number with so many digits, and without a power of ten."""
    places = max(0, digits - 1 - int(np.floor(np.log10(abs(x))))) if x else 0
    return f"{x:,.{places}f}"


def ranged(least: pd.Series, most: pd.Series) -> pd.Series:
    """From the least to the most."""
    both = zip(plain(least), plain(most), strict=True)
    return pd.Series([a if a == b else together(f"{a} to {b}") for a, b in both], index=least.index)


def together(text: str) -> str:
    """Text that is not broken into lines."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def of(numbers: pd.Series, what: str = "surveys") -> str:
    """So many surveys of each setting."""
    several = sorted({int(n) for n in numbers.dropna()}, reverse=True)
    return f"{' or '.join(f'{n:,}' for n in several)} {what} of each setting"


def error(share: float, numbers: pd.Series) -> str:
    """The Monte Carlo standard error of a share, with the fewest surveys."""
    se = np.sqrt(share * (1.0 - share) / numbers.min())
    return f"the Monte Carlo standard error of a share of {share:g} is {se:.4f}"


def shares(
    frame: pd.DataFrame, share: float, column: str = "surveys", what: str = "surveys"
) -> str:
    """How shares were counted."""
    return f"{of(frame[column], what)}; {error(share, frame[column])} at most"
