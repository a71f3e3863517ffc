"""Likelihoods of regressions on privatised answers, written out, and ways to maximise them.

Nothing here is shared with the package but `mechanism.channel().matrix()`: probabilities of reports
are its columns, sums over categories and configurations are loops. All functions take complex
numbers, so that the score is a complex step, exact to rounding.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import gammaln, ndtr

Array = npt.NDArray[Any]
Function = Callable[[Array], Any]  # of parameters: a log-likelihood
Law = Callable[[Array], Array]  # of linear predictors (n, q): probabilities (n, k)

_STEP = 1e-30


# ---- reports


def report_law(reports: Any, candidates: Any = None) -> Array:
    """P(report_i | category x), (n, k), within the cohort of the respondent if there are any.

    `reports` of one mechanism, or several groups that follow one another.
    """
    if isinstance(reports, list | tuple):
        return np.vstack([report_law(group, candidates) for group in reports])
    mechanism = reports.mechanism
    is_open = getattr(mechanism, "is_open", False)
    Q = mechanism.channel(candidates if is_open else None).matrix()
    A = np.empty((len(reports), Q.shape[0]))
    for i in range(len(reports)):
        report = reports.y[i]
        if mechanism.n_bits:
            bits = np.unpackbits(np.atleast_1d(report), bitorder="little")[: mechanism.n_bits]
            report = int(bits @ (1 << np.arange(mechanism.n_bits)))
        column = int(report)
        cohorts = mechanism.n_cohorts or 1
        if reports.cohort is not None:  # side by side in the matrix, equally likely
            column += int(reports.cohort[i]) * (Q.shape[1] // cohorts)
        A[i] = Q[:, column] * cohorts
    return A


# ---- laws of categories given linear predictors


def logistic(eta: Array) -> Array:
    """1 / (1 + exp(-eta))."""
    return 1.0 / (1.0 + np.exp(-eta))


INVERSE_LINKS: dict[str, Callable[[Array], Array]] = {
    "logit": logistic,
    "probit": ndtr,
    "cloglog": lambda eta: 1.0 - np.exp(-np.exp(eta)),
}


def binary(link: str) -> Law:
    """Two categories, the second of which is the success."""

    def law(eta: Array) -> Array:
        success = INVERSE_LINKS[link](eta[:, 0])
        return np.stack([1.0 - success, success], axis=1)

    return law


def multinomial(eta: Array) -> Array:
    """Multinomial logit; the first category is the reference, with a predictor of zero."""
    every = np.column_stack([np.zeros(len(eta)), eta])
    odds = np.exp(every - every.real.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def cumulative(eta: Array) -> Array:
    """Proportional odds: P(y <= a) = logistic(eta_a), from k - 1 predictors."""
    below = logistic(eta)
    n, q = eta.shape
    pi = np.empty((n, q + 1), dtype=eta.dtype)
    for a in range(q + 1):
        high = below[:, a] if a < q else 1.0
        low = below[:, a - 1] if a > 0 else 0.0
        pi[:, a] = high - low
    return pi


# ---- linear predictors of parameters


def by_equation(X: Array, theta: Array, q: int, offset: Any = 0.0) -> Array:
    """q equations with coefficients of their own, one equation after the other."""
    p = X.shape[1]
    every = [X @ theta[a * p : (a + 1) * p] + offset for a in range(q)]
    return np.stack(every, axis=1)


def thresholds(X: Array, theta: Array, k: int, offset: Any = 0.0) -> Array:
    """alpha_a - x'beta; theta has the slopes, the first threshold and logs of its increments."""
    p = X.shape[1]
    alpha, every = theta[p], []
    for a in range(k - 1):
        if a > 0:
            alpha = alpha + np.exp(theta[p + a])
        every.append(alpha - X @ theta[:p] - offset)
    return np.stack(every, axis=1)


# ---- log-likelihoods


def response(eta_of: Callable[[Array], Array], law: Law, A: Array, weights: Any = None) -> Function:
    """A private response: ``sum_i w_i log sum_y A_iy pi_y(eta_i)``."""
    w = np.ones(len(A)) if weights is None else weights

    def value(theta: Array) -> Any:
        pi = law(eta_of(theta))
        seen: Any = 0.0
        for y in range(A.shape[1]):
            seen = seen + A[:, y] * pi[:, y]
        return w @ np.log(seen)

    return value


def logit_like(
    X: Array, A: Array, link: str = "logit", weights: Any = None, offset: Any = 0.0
) -> Function:
    """A private response of two categories."""
    return response(lambda b: by_equation(X, b, 1, offset), binary(link), A, weights)


def multinomial_like(X: Array, A: Array, weights: Any = None, offset: Any = 0.0) -> Function:
    """A private response of k categories."""
    q = A.shape[1] - 1
    return response(lambda b: by_equation(X, b, q, offset), multinomial, A, weights)


def ordered_like(X: Array, A: Array, weights: Any = None, offset: Any = 0.0) -> Function:
    """A private response of k ordered categories."""
    k = A.shape[1]
    return response(lambda b: thresholds(X, b, k, offset), cumulative, A, weights)


def normal_density(y: Array, mean: Array, log_sd: Any) -> Array:
    """Density of a linear outcome."""
    return np.exp(-0.5 * ((y - mean) / np.exp(log_sd)) ** 2 - log_sd) / np.sqrt(2.0 * np.pi)


def poisson_density(y: Array, eta: Array) -> Array:
    """Probability of a count."""
    return np.exp(y * eta - np.exp(eta) - gammaln(y + 1.0))


def configurations(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """All combinations of categories of the private predictors, the last changing fastest."""
    return list(np.ndindex(*sizes))


def mixture(
    outcome: str,
    seen: Array,
    designs: Sequence[Array],
    laws: Sequence[Array],
    Z: Array,
    weights: Any = None,
) -> Function:
    """Private predictors: ``sum_i w_i log sum_c B_ic rho_c(z_i; gamma) f_i(c)``.

    `seen` is the outcome, (n,), or the law (n, k) of its reports (indicators of it where it is
    public); `designs` are (n, p) of each configuration, `laws` (n, k_v) of each private predictor,
    and Z the covariates of the multinomial law of the configurations. The parameters are those of
    the outcome (with log sigma last for "linear"), then gamma, one equation after the other.
    """
    every = configurations([law.shape[1] for law in laws])
    w = np.ones(len(Z)) if weights is None else weights
    p, C, g = designs[0].shape[1], len(every), Z.shape[1]

    def density(X: Array, theta: Array) -> Array:
        if outcome == "linear":
            return normal_density(seen, X @ theta[:p], theta[p])
        if outcome == "poisson":
            return poisson_density(seen, X @ theta[:p])
        k = seen.shape[1]
        if outcome == "multinomial":
            pi = multinomial(by_equation(X, theta, k - 1))
        elif outcome == "ordered":
            pi = cumulative(thresholds(X, theta, k))
        else:
            pi = binary(outcome)(by_equation(X, theta, 1))
        total: Any = 0.0
        for y in range(k):
            total = total + seen[:, y] * pi[:, y]
        return np.asarray(total)

    def value(theta: Array) -> Any:
        gamma = theta[len(theta) - g * (C - 1) :]
        rho = multinomial(by_equation(Z, gamma, C - 1))
        total: Any = 0.0
        for c, categories in enumerate(every):
            reported = np.ones(len(Z))
            for law, x in zip(laws, categories, strict=True):
                reported = reported * law[:, x]
            total = total + reported * rho[:, c] * density(designs[c], theta)
        return w @ np.log(total)

    return value


def indicators(y: Array, k: int) -> Array:
    """The law of the reports of a public category: (n, k) of zeros and ones."""
    found = np.zeros((len(y), k))
    for i, category in enumerate(y):
        found[i, category] = 1.0
    return found


# ---- derivatives and maxima


def score(value: Function, theta: Array) -> Array:
    """Derivatives of a log-likelihood by complex steps, exact to rounding."""
    return steps(value, np.asarray(theta, dtype=float))


def steps(function: Callable[[Array], Array], theta: Array) -> Array:
    """Derivatives of an array by complex steps, one after the other along the first axis."""
    found = []
    for j in range(theta.size):
        moved = theta.astype(complex)
        moved[j] += 1j * _STEP
        found.append(np.imag(function(moved)) / _STEP)
    return np.array(found)


def hessian(value: Function, theta: Array) -> Array:
    """Second derivatives."""
    found = np.array([curvature(value, theta, e) for e in np.eye(np.size(theta))])
    return (found + found.T) / 2.0


def curvature(value: Function, theta: Array, direction: Array, step: float = 1e-3) -> Array:
    """Hessian times a direction: central differences of the score, extrapolated."""
    theta = np.asarray(theta, dtype=float)
    h = step / max(1.0, float(np.abs(direction).max()))
    rough = []
    for size in (h, h / 2.0):
        up, down = theta + size * direction, theta - size * direction
        rough.append((score(value, up) - score(value, down)) / (2.0 * size))
    return np.asarray((4.0 * rough[1] - rough[0]) / 3.0)


def maximum(value: Function, start: Array, steps: int = 20) -> Array:
    """Where a log-likelihood is largest: scipy's BFGS, then Newton's method."""
    size = abs(float(np.real(value(np.asarray(start, dtype=float)))))  # first steps are short
    rough = minimize(
        lambda b: -float(np.real(value(b))) / size,
        start,
        jac=lambda b: -score(value, b) / size,
        method="BFGS",
    )
    return newton(value, rough.x, steps)


def newton(value: Function, start: Array, steps: int = 50, tolerance: float = 1e-12) -> Array:
    """Newton's method with halved steps, until the decrement is below the tolerance."""
    theta = np.array(start, dtype=float)
    for _ in range(steps):
        first = score(value, theta)
        move = np.linalg.solve(hessian(value, theta), -first)
        if first @ move < tolerance:
            return np.asarray(theta + move)
        here, size = np.real(value(theta)), 1.0
        while not np.real(value(theta + size * move)) >= here - 1e-12 * abs(here):
            size /= 2.0
        theta = theta + size * move
    raise ArithmeticError(f"no maximum in {steps} steps")


def standard_errors(value: Function, theta: Array) -> Array:
    """Of the observed information."""
    return np.sqrt(np.diag(np.linalg.inv(-hessian(value, theta))))


def information(law: Callable[[Array], Array], theta: Array, weights: Any = None) -> Array:
    """Expected information of reports whose probabilities, (n, l), are a function of theta."""
    theta = np.asarray(theta, dtype=float)
    m, J = law(theta), steps(law, theta)  # (n, l) and (size, n, l)
    w = np.ones(len(m)) if weights is None else weights
    found = np.zeros((theta.size, theta.size))
    for r in range(m.shape[1]):
        there = m[:, r] > 0.0
        part = J[:, there, r]
        found += (part * (w[there] / m[there, r])) @ part.T
    return found


def penalised(value: Function, law: Callable[[Array], Array], weights: Any = None) -> Function:
    """A log-likelihood of real parameters plus half the log determinant of the information."""
    return lambda b: np.real(value(b)) + 0.5 * np.linalg.slogdet(information(law, b, weights))[1]


def best(value: Function, start: Array) -> Array:
    """Maximum of a function of real parameters: scipy's BFGS, then Newton by differences."""
    theta = minimize(lambda b: -float(value(b)), start, method="BFGS").x
    for _ in range(3):
        second = [gradient(lambda b, i=i: gradient(value, b)[i], theta) for i in range(theta.size)]
        theta = theta - np.linalg.solve(np.array(second), gradient(value, theta))
    return np.asarray(theta)


def gradient(value: Function, theta: Array, h: float = 2e-3) -> Array:
    """First derivatives of a function of real parameters by differences, extrapolated."""
    found = np.empty(theta.size)
    for i, e in enumerate(np.eye(theta.size)):
        slopes = [
            float(value(theta + s * e) - value(theta - s * e)) / (2.0 * s) for s in (h, h / 2.0)
        ]
        found[i] = (4.0 * slopes[1] - slopes[0]) / 3.0
    return found


def ordered_maximum(X: Array, A: Array) -> Array:
    """Maximum of a proportional odds likelihood, from thresholds of the even law."""
    k = A.shape[1]
    even = np.log(np.arange(1, k) / np.arange(k - 1, 0, -1))
    start = np.concatenate([np.zeros(X.shape[1]), even[:1], np.log(np.diff(even))])
    return newton(ordered_like(X, A), start)
