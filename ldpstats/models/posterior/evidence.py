"""What draws say for and against: Bayes factors, inequalities as text, predictive checks.

Bayes factors of point nulls are ratios of densities (Savage and Dickey).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import exp, inf, isfinite, isnan, lgamma, log, log1p, nan, sqrt
from typing import Any

import numpy as np

from ldpstats.arguments import Array, html_lines, page_text
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.chains import ess_mean
from ldpstats.inference.tests import TestResult
from ldpstats.labels import Labels
from ldpstats.models.results import linear_hypothesis

_FEWEST = 20  # draws on either side of a null whose density is estimated
_MOST = 700.0  # of the logarithm of a ratio
_FAR = 1e-9  # of the range of a contrast: nearer to its end the density is zero or infinite


@dataclass(frozen=True)
class BayesFactor:
    """How much more likely the reports are under a point null than under the whole prior.

    Parameters
    ----------
    null : str
        The null in words.
    value : float
        Posterior density of the null over its prior density: above 1 the reports favour the
        null, below 1 they are against it.
    error : float
        Monte Carlo standard error of ``log(value)``; nan where the null lies beyond the draws.
    posterior_density, prior_density : float
        Of the contrast, at the null.
    note : str
        What the reader must know.

    Examples
    --------
    >>> print(BayesFactor("a = 0.25", 0.1, 0.02, 0.3, 3.0))
    Bayes factor (Savage-Dickey)
      null: a = 0.25
      0.1 for the null, 10 against it; Monte Carlo error 2%
    """

    null: str
    value: float
    error: float
    posterior_density: float
    prior_density: float
    note: str = ""

    @property
    def against(self) -> float:
        """The Bayes factor against the null, ``1 / value``."""
        return inf if self.value == 0.0 else 1.0 / self.value

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        error = "not known" if isnan(self.error) else f"{100.0 * self.error:.2g}%"
        lines = [
            "Bayes factor (Savage-Dickey)",
            f"  null: {self.null}",
            f"  {self.value:.4g} for the null, {self.against:.4g} against it; "
            f"Monte Carlo error {error}",
        ]
        return page_text("\n".join([*lines, f"  Note: {self.note}"] if self.note else lines), 4)

    def _repr_html_(self) -> str:
        """The text as lines of HTML, for a notebook."""
        return html_lines(str(self))


def bayes_factor(
    words: str,
    contrast: Array,
    prior: Array | None,
    value: float,
    bounds: tuple[float, float],
    exact: float | None = None,
) -> BayesFactor:
    """The Bayes factor for ``contrast = value`` from posterior draws, (c, n), and prior ones, (s,).

    Densities are those of kernels on a scale without edges; `exact` the prior's where it is known.
    """
    low, high = bounds
    if not low < high:
        raise InvalidArgument("hypothesis", words, "is certain, whatever the reports say")
    room = _FAR * (high - low) if isfinite(high - low) else 0.0
    if not low + room < value < high - room:
        remedy = f"must have a value inside ({low:g}, {high:g}): at its ends densities vanish"
        raise InvalidArgument("hypothesis", words, remedy)
    posterior, error, far = _log_density(contrast, value, bounds)
    if exact is None:
        if prior is None:
            raise InvalidArgument("hypothesis", words, "has no prior density that is known")
        before, prior_error, beyond = _log_density(prior[None], value, bounds)
        far = far or beyond
    else:
        before, prior_error = log(exact) if exact > 0.0 else -inf, 0.0
    note = ""
    if far:
        note = (
            "the null lies beyond nearly all draws: its density is that of a law fitted to their "
            "mean and variance, and may be wrong by orders of magnitude"
        )
    ratio = exp(min(posterior - before, _MOST)) if before > -inf else inf
    together = nan if far else sqrt(error**2 + prior_error**2)
    return BayesFactor(words, ratio, together, exp(posterior), exp(before), note)


def dirichlet_density(R: Array, value: float, alpha: Array) -> float | None:
    """Density at R p = value of a Dirichlet law, where R takes two values; else None."""
    levels = np.unique(R)
    if levels.size != 2:
        return None
    scale = float(levels[1] - levels[0])
    x = (value - float(levels[0])) / scale
    a, b = (float(alpha[levels[i] == R].sum()) for i in (1, 0))
    return exp(_log_beta(x, a, b)) / scale


def _scaled(x: Array, bounds: tuple[float, float]) -> Array:
    """x on the scale without edges."""
    low, high = bounds
    if not isfinite(low) and not isfinite(high):
        return x
    with np.errstate(divide="ignore"):
        scaled = np.log(x - low) if isfinite(low) else np.zeros(x.shape)
        scaled = scaled - np.log(high - x) if isfinite(high) else scaled
    return np.clip(scaled, -700.0, 700.0)  # draws at an end, by rounding


def _slope(x: float, bounds: tuple[float, float]) -> float:
    """The derivative of `_scaled`."""
    low, high = bounds
    if not isfinite(low) and not isfinite(high):
        return 1.0
    return 1.0 / (x - low) + 1.0 / (high - x)


def _log_density(
    draws: Array, value: float, bounds: tuple[float, float]
) -> tuple[float, float, bool]:
    """Log density at a value from draws (c, n), its error, and whether it lies beyond them."""
    if min(int((draws < value).sum()), int((draws > value).sum())) < _FEWEST:
        return _fitted(draws, value, bounds), nan, True
    x, at = _scaled(draws, bounds), float(_scaled(np.array(value), bounds))
    spread = float(x.std())
    quartiles = np.quantile(x, [0.25, 0.75])
    width = min(spread, float(quartiles[1] - quartiles[0]) / 1.349) or spread
    bandwidth = 0.9 * width * x.size**-0.2
    # kernels around draws that are drawn together keep the variance: less bias in the tails
    centre = float(x.mean())
    x = centre + sqrt(1.0 - (bandwidth / spread) ** 2) * (x - centre)
    weights = np.exp(-0.5 * ((x - at) / bandwidth) ** 2) / (bandwidth * sqrt(2.0 * np.pi))
    mean = float(weights.mean())
    error = float(weights.std(ddof=1)) / sqrt(float(ess_mean(weights))) / mean
    return log(mean) + log(_slope(value, bounds)), error, False


def _fitted(draws: Array, value: float, bounds: tuple[float, float]) -> float:
    """Log density of the beta law with the mean and variance of draws; on a line the normal one."""
    low, high = bounds
    on_line = not isfinite(high - low)  # with a single bound the lognormal law
    x = _scaled(draws, bounds) if on_line else draws
    centre, spread = float(x.mean()), float(x.std())
    if not spread > 0.0:
        return -inf
    if on_line:
        z = (float(_scaled(np.array(value), bounds)) - centre) / spread
        return -0.5 * z * z - log(spread * sqrt(2.0 * np.pi)) + log(_slope(value, bounds))
    share, scale = (centre - low) / (high - low), high - low
    total = max(share * (1.0 - share) * (scale / spread) ** 2 - 1.0, _FAR)
    a, b = share * total, (1.0 - share) * total
    return _log_beta((value - low) / scale, a, b) - log(scale)


def _log_beta(x: float, a: float, b: float) -> float:
    """Logarithm of the density of a beta law."""
    constant = lgamma(a + b) - lgamma(a) - lgamma(b)
    return constant + (a - 1.0) * log(x) + (b - 1.0) * log1p(-x)


# -- inequalities as text: "a > b", "a + b > c", "a > b > c", "a > .3, b < .2" ---------------------


_HOW = "write for example 'nurse > cook', 'nurse + cook > driver' or 'nurse > .3'"
_LABELS = "write p[...] around every label where one is not text or holds signs"
_SIGNS = re.compile("(>=|<=|>|<)")


def inequalities(text: object, terms: Labels) -> tuple[Array, Array]:
    """R, (q, m), and value, (q,), of a claim that holds where R p > value in every row."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument("claim", text, f"must be an inequality as text: {_HOW}")
    hidden = _names_with_signs(text, terms)
    R, value = _claims(text, terms, hidden)
    in_brackets = [name for name in hidden if name.startswith("p[")]
    if hidden != in_brackets:
        try:  # names without brackets as signs and other labels
            other = _claims(text, terms, in_brackets)
        except InvalidArgument:
            return R, value
        if not (np.array_equal(R, other[0]) and np.array_equal(value, other[1])):
            remedy = f"is ambiguous: {hidden[-1]!r} is a label, but also reads as an inequality"
            raise InvalidArgument("claim", text, f"{remedy}; {_LABELS}")
    return R, value


def _claims(text: str, terms: Labels, hidden: list[str]) -> tuple[Array, Array]:
    """R and value of inequalities, in which some `hidden` names hold signs."""
    masked = text
    for i, name in enumerate(hidden):
        masked = masked.replace(name, f"\0{i}\0")
    rows, values = [], []
    for part in masked.split(","):
        pieces = _SIGNS.split(part)
        if len(pieces) < 3 or "=" in "".join(pieces[::2]):
            remedy = f"{_HOW}; for an equation there is bayes_factor"
            raise InvalidArgument("claim", text, remedy)
        for left, sign, right in zip(pieces[:-2:2], pieces[1::2], pieces[2::2], strict=True):
            equation = f"{left.strip()} = {right.strip()}"
            for i, name in enumerate(hidden):
                equation = equation.replace(f"\0{i}\0", name)
            try:
                R, value = linear_hypothesis(equation, terms)
            except InvalidArgument as error:  # which quotes the equation that was made of it
                why = error.remedy.split("; ")[0]  # what follows is of equations
                raise InvalidArgument("claim", text, f"{why}; {_HOW}; {_LABELS}") from None
            side = 1.0 if sign.startswith(">") else -1.0
            rows.append(side * R)
            values.append(side * value)
    return np.concatenate(rows), np.concatenate(values)


def point_null(hypothesis: Any, terms: Labels) -> tuple[Array, float]:
    """The row R, shape (m,), and the value of one equation R p = value."""
    if isinstance(hypothesis, str) and not _names_with_signs(hypothesis, terms):
        if set("<>") & set(hypothesis):
            remedy = "must be an equation, such as 'nurse = .25'; for inequalities there is prob"
            raise InvalidArgument("hypothesis", hypothesis, remedy)
    R, value = linear_hypothesis(hypothesis, terms)
    if len(R) != 1:
        remedy = "must be one equation, such as 'nurse = .25'"
        raise InvalidArgument("hypothesis", hypothesis, remedy)
    return R[0], float(value[0])


def _names_with_signs(text: str, terms: Labels) -> list[str]:
    """Labels in a text that hold signs of inequalities or commas, the longest first."""
    names: list[str] = []
    for term in terms:
        if set("<>,=") & set(str(term)):
            names += [name for name in (f"p[{term}]", str(term)) if name in text]
    return sorted(names, key=len, reverse=True)


# -- could the posterior have made these reports? A check by replicated surveys --------------------


_REPLICATES = 1000  # draws whose surveys are replicated
_LARGEST = 1 << 24  # entries of replicated counts at a time
_NULL = "reports like these come from the model and the prior"


def predictive_check(
    draws: Array,
    laws: Callable[[Array], Sequence[Array]],
    counts: Sequence[Array],
    rng: np.random.Generator,
) -> TestResult:
    """Posterior predictive check of draws (s, ...) by the chi-square discrepancy of the reports.

    How often surveys from the `laws` of draws, (t, l) a group, have a larger discrepancy than the
    `counts`, (l,): near one half, as draws have seen the reports (Gelman, Meng and Stern 1996).
    """
    draws = draws[:: -(-len(draws) // _REPLICATES)]
    observed, replicated = np.zeros(len(draws)), np.zeros(len(draws))
    step = max(1, _LARGEST // max(max(n.size for n in counts), 1))
    for start in range(0, len(draws), step):
        chunk = slice(start, start + step)
        for law, n in zip(laws(draws[chunk]), counts, strict=True):
            share = np.maximum(law, 0.0)
            share /= share.sum(axis=1, keepdims=True)
            expected = n.sum() * share
            observed[chunk] += _discrepancy(n, expected)
            replicated[chunk] += _discrepancy(rng.multinomial(int(n.sum()), share), expected)
    p = float((replicated >= observed).mean())
    how = f"posterior predictive check, chi-square discrepancy, {len(draws)} replicates"
    return TestResult(_NULL, float(observed.mean()), None, p, how)


def _discrepancy(n: Array, expected: Array) -> Array:
    """Pearson's sum over outputs, of which those that cannot be have none."""
    possible = expected > 0.0
    gaps = np.where(possible, n - expected, 0.0) ** 2
    return np.asarray((gaps / np.where(possible, expected, 1.0)).sum(axis=1))


# -- PyMC and ArviZ, which the extra `bayes` installs ---------------------------------------------


_TITLES = {"arviz": "ArviZ", "pymc": "PyMC", "pytensor": "PyTensor"}


def package(name: str, need: str) -> Any:
    """The package "arviz", "pymc" or "pytensor", imported when it is first needed by `need`."""
    try:
        with warnings.catch_warnings():  # ArviZ announces its next version whenever it is imported
            warnings.simplefilter("ignore", FutureWarning)
            return import_module(name)
    except ImportError:
        remedy = "python -m pip install 'ldpstats[bayes]'"
        raise NotAvailable(f"{need}: {_TITLES[name]} is not installed: {remedy}") from None
