"""Simulated surveys, many at once: the settings and draws that coverage and size tests share."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import ldpstats as ldp
from ldpstats.inference.intervals import clip_unit, exact_binomial

Array = npt.NDArray[Any]


def rectangular(k: int, epsilon: float) -> ldp.CustomMechanism:
    """k + 2 reports: k-RR for seven in ten, Warner's "is it an even one?" for the others.

    In every column the entries differ by a factor of 1 or exp(epsilon), as in its two parts.
    """
    fine = ldp.KRR(k, epsilon).channel().matrix()
    coarse = ldp.Warner(epsilon=epsilon).channel().matrix()[np.arange(k) % 2]
    return ldp.CustomMechanism(np.hstack([0.7 * fine, 0.3 * coarse]))


MECHANISMS: dict[str, Callable[[int, float], ldp.Mechanism]] = {
    "krr": ldp.KRR,
    "rappor": ldp.KRAPPOR,
    "oue": lambda k, epsilon: ldp.KRAPPOR(k, epsilon, theta=0.5),
    "rectangular": rectangular,
}
BASE = {5: np.array([0.35, 0.25, 0.2, 0.12, 0.08]), 20: 0.85 ** np.arange(20)}


def multinomial(p: Any, n: int) -> Any:
    """Covariance of the shares of n answers that are not randomised."""
    direct = ldp.Observed(len(p))
    return direct.moments(direct.counts([n] + [0] * (len(p) - 1))).covariance(p)


def moments(mechanism: ldp.Mechanism, n: int) -> Any:
    """The linear equations of a survey of n; its counts are arbitrary and must not be used."""
    p = np.full(mechanism.k, 1 / mechanism.k)
    return mechanism.moments(mechanism.draw(p, n, np.random.default_rng(0)))


def covariance(mechanism: ldp.Mechanism, p: Array, n: int) -> Any:
    """Covariance of the linear estimate where the frequencies are p."""
    problem = moments(mechanism, n)
    return problem.covariance(p)


def frequencies(where: str, mechanism: ldp.Mechanism, n: int) -> Array:
    """Interior frequencies; or the last 2 of 5, 10 of 20, zero, or one standard error from it."""
    k = mechanism.k
    base = BASE[k] / BASE[k].sum()
    if where == "interior":
        return base
    last = np.arange(k) >= {5: 3, 20: 10}[k]
    base = np.where(last, 0.0, base) / base[~last].sum()
    p = base
    for _ in range(50 if where == "near" else 0):  # a standard error depends on p, but little
        small = np.sqrt(covariance(mechanism, p, n).variances())
        p = np.where(last, small, base * (1 - small[last].sum()))
    return p


def draw(mechanism: ldp.Mechanism, p: Array, n: int, R: int, rng: np.random.Generator) -> Array:
    """Counts of reports, or of bits set, in R surveys of n respondents: shape (R, l).

    They have the law of `Mechanism.draw`.
    """
    if mechanism.n_bits:
        problem, having = moments(mechanism, n), rng.multinomial(n, p, size=R)
        own = np.minimum(problem.offset + problem.A, 1.0)
        return rng.binomial(having, own) + rng.binomial(n - having, problem.offset)
    return rng.multinomial(n, mechanism.channel().forward(p), size=R)


def projected(estimate: Array, variances: Array | None = None) -> Array:
    """Each row's nearest point of the simplex, as `project_simplex` finds it for one."""
    spread = np.ones(estimate.shape) if variances is None else variances
    held = spread <= 0.0
    rate = np.where(held, -np.inf, estimate / np.where(held, 1.0, spread))
    order = np.argsort(-rate, axis=1)
    ordered, widths, rates = (
        np.take_along_axis(each, order, axis=1) for each in (estimate, spread, rate)
    )
    shift = (np.cumsum(ordered, axis=1) - 1.0) / np.cumsum(widths, axis=1)
    last = np.sum(rates > shift, axis=1, keepdims=True) - 1
    return np.maximum(estimate - np.take_along_axis(shift, last, axis=1) * spread, 0.0)


def plug_in(problem: Any, estimate: Array) -> Array:
    """Where covariances are evaluated: what `Equations.plug_in` is of each row."""
    precision = np.square(problem.A) * problem.weights if np.ndim(problem.A) < 2 else np.ones(1)
    if np.ptp(precision) <= 1e-9 * precision.max():
        return projected(estimate)
    positive = np.maximum(estimate, 0.0)
    m = problem.offset + problem.A * positive / positive.sum(axis=1, keepdims=True)
    return projected(estimate, m * (1 - m) / np.square(problem.A) / problem.nobs)


def estimates(mechanism: ldp.Mechanism, counts: Array, n: int) -> tuple[Array, Array]:
    """Linear estimates of R surveys and their plug-in variances, shape (R, k) both."""
    problem, t = moments(mechanism, n), counts / n
    G = problem.inverse
    if np.ndim(G) < 2:
        estimate = G * (t - problem.offset)
        m = problem.offset + problem.A * plug_in(problem, estimate)
        return estimate, G**2 * m * (1 - m) / n
    estimate = (t - problem.offset) @ G.T
    m = projected(estimate) @ mechanism.channel().matrix()
    # G (diag(m) - m m') G' / n
    return estimate, (m @ (G**2).T - (m @ G.T) ** 2) / n


def as_counts(mechanism: ldp.Mechanism, counts: Array, n: int) -> ldp.Counts | ldp.BitCounts:
    """The counts of one survey as `FrequencyModel` takes them."""
    return mechanism.counts(counts, n if mechanism.n_bits else None)


# ---- intervals


def default_intervals(mechanism: ldp.Mechanism, counts: Array, n: int) -> Array:
    """What `conf_int(clip=False)` gives, for counts of shape (R, l): shape (R, k, 2).

    Of channels without a count for each category it is taken from the fits.
    """
    problem = moments(mechanism, n)
    if np.ndim(problem.A) == 2:
        fits = (ldp.FrequencyModel(as_counts(mechanism, row, n)).fit() for row in counts)
        return np.array([fit.conf_int(clip=False).to_numpy() for fit in fits])
    tally, where = np.unique(counts, return_inverse=True)  # few tallies differ
    ends = exact_binomial(tally, n)[where.reshape(counts.shape)]
    offset, scale = (np.broadcast_to(x, mechanism.k) for x in (problem.offset, problem.A))
    return np.asarray((ends - offset[:, None]) / scale[:, None])


def assert_cut(found: npt.ArrayLike, uncut: Array) -> None:
    """Intervals are the intersection with [0, 1], or begin at its edge where that is empty."""
    ends, cut = np.asarray(found), clip_unit(uncut)
    inside = cut[:, 0] < cut[:, 1]
    np.testing.assert_allclose(ends[inside], cut[inside], rtol=0, atol=1e-9)
    for edge, away in ((0.0, 1), (1.0, 0)):
        outside = ~inside & (cut[:, 0] == edge)
        np.testing.assert_array_equal(ends[outside, 1 - away], edge)
    assert np.all(ends[:, 0] < ends[:, 1])


# ---- covariances of many surveys at once, written out densely


def observed_covariances(mechanism: ldp.Mechanism, counts: Array, n: int) -> Array:
    """What `wald_test` uses: at the linear estimate, projected onto the simplex."""
    at = plug_in(moments(mechanism, n), estimates(mechanism, counts, n)[0])
    return null_covariances(mechanism, at, n)


def null_covariances(mechanism: ldp.Mechanism, p: Array, n: int) -> Array:
    """Covariance of the linear estimate at each row of p, shape (R, k, k)."""
    if mechanism.n_bits:
        return bit_covariances(moments(mechanism, n), p)
    return multinomial_covariances(mechanism, p @ mechanism.channel().matrix(), n)


def multinomial_covariances(mechanism: ldp.Mechanism, m: Array, n: int) -> Array:
    """G (diag(m) - m m') G' / n for each row of m, the laws or frequencies of reports."""
    G = moments(mechanism, n).inverse
    G = G * np.eye(mechanism.k) if np.ndim(G) < 2 else G
    mean = m @ G.T
    second = np.einsum("iy,ry,jy->rij", G, m, G, optimize=True)
    return np.asarray((second - mean[:, :, None] * mean[:, None, :]) / n)


def bit_covariances(problem: Any, p: Array) -> Array:
    """Variances m (1 - m) of the bits, which vary together through p alone."""
    m = problem.offset + problem.A * p
    variances = m * (1 - m) / np.square(problem.A)
    outer = p[:, :, None] * p[:, None, :]
    return np.asarray(np.where(np.eye(problem.k), variances[:, :, None], -outer) / problem.nobs)


def score_forms(
    mechanism: ldp.Mechanism, counts: Array, n: int, rows: Array, value: Array
) -> Array:
    """What `wald_test` gives for labels that each tell of one category: shape (R,)."""
    problem, estimate = moments(mechanism, n), estimates(mechanism, counts, n)[0]
    gap, V = estimate @ rows.T - value, observed_covariances(mechanism, counts, n)
    weights = np.linalg.solve(rows @ V @ rows.T, gap[..., None])[..., 0]
    change = -np.einsum("rij,rj->ri", V, weights @ rows)
    t = counts / n
    law = np.maximum(problem.offset + problem.A * plug_in(problem, estimate), 0.0)
    law = np.where(counts >= 10, t, np.maximum(t, law))
    law /= law.sum(axis=1, keepdims=True)
    moved = np.maximum(law + problem.A * change, np.minimum(law, 0.5 / n))
    null = multinomial_covariances(mechanism, moved / moved.sum(axis=1, keepdims=True), n)
    return quadratic_forms_of(gap, rows @ null @ rows.T)


def quadratic_forms_of(x: Array, V: Array) -> Array:
    """x' V^-1 x of each survey."""
    return np.einsum("ri,ri->r", x, np.linalg.solve(V, x[..., None])[..., 0])


def quadratic_forms(d: Array, V: Array, rows: Array) -> Array:
    """(rows d)' (rows V rows')^-1 (rows d) of each survey."""
    return quadratic_forms_of(d @ rows.T, rows @ V @ rows.T)


def quiet(call: Callable[[], Any]) -> Any:
    """The value of a call that must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()
