"""The maximum of a likelihood with unknown parameters of devices: in [0, 1], and beyond.

The likelihood is not concave in frequencies and parameters together, and may have several maxima:
those in [0, 1] are looked for from many starts. It can be continued beyond, as far as every report
stays possible. A maximum inside is unchanged; of one outside, likelihood ratios keep the law that
they have inside.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ldpstats.arguments import Array, record
from ldpstats.cells import CellReports, Plain
from ldpstats.estimators.regression import search_bounded
from ldpstats.likelihood.parametric import unidentified

_SAME = 1e-3  # by which two maxima differ at least
WIDTH = 1.0  # by which the continued likelihood leaves [0, 1] on either side


@record
class _Cone:
    """The log-likelihood of p of any sum, less ``N (sum p - 1)``: at u = (p / 2, theta) in [0, 1].

    That of c p is that of p and N log c more, so that its maxima are those over p of sum one.
    """

    law: Plain
    reports: CellReports

    @cached_property
    def scale(self) -> Array:
        return np.where(np.arange(self.law.size) < self.law.k, 2.0, 1.0)

    def value(self, u: Array) -> float:
        x, total = u * self.scale, self.reports.n.sum()
        value = self.law.loglike(self.reports, x)
        return value - float(total * (x[: self.law.k].sum() - 1.0))

    def evaluate(self, u: Array) -> tuple[float, Array, Array]:
        n, scale = self.reports.n, self.scale
        m, J, bend = self.law.bent(self.reports, u * scale)
        ratio = np.where(n > 0.0, n / np.where(n > 0.0, m, 1.0), 0.0)
        score = J @ ratio - n.sum() * (scale - 1.0)
        hessian = bend(ratio) - (J * (ratio**2 / np.where(n > 0.0, n, 1.0))) @ J.T
        return self.value(u), score * scale, hessian * np.outer(scale, scale)


def maximum(law: Plain, reports: CellReports) -> tuple[Array, list[Array], int, int]:
    """The largest maximum over frequencies on the simplex and parameters in [0, 1], (k + m,).

    Then others that are as large, the steps that led to it, and the number of starts.
    """
    objective, k = _Cone(law, reports), law.k
    scale = objective.scale
    starts = [*(law.starts(reports) / scale)]
    best, rivals = search_bounded(objective, starts, np.diag(1.0 / scale), law.size, _SAME)
    u, free = best.theta, ~best.held
    for _ in range(3):  # to rounding, by Newton steps of what no bound holds
        _, score, hessian = objective.evaluate(u)
        step = np.zeros(u.size)
        # what is open stays
        step[free] = np.linalg.lstsq(-hessian[np.ix_(free, free)], score[free], rcond=1e-13)[0]
        u = np.clip(u + step, 0.0, 1.0)
    x = scale * (u if objective.value(u) >= best.value - 1e-9 else best.theta)
    x[:k] /= x[:k].sum()
    even, open_ = x.copy(), unidentified([reports.devices[0]], x)
    of_p = open_ & (np.arange(law.size) < k)
    even[of_p], even[open_ & ~of_p] = x[of_p].sum() / max(of_p.sum(), 1), 0.5
    if objective.value(even / scale) >= best.value - 1e-9 * (1.0 + abs(best.value)):
        x = even  # as good as any other
    return x, [one.theta * scale for one in rivals], best.n_iter, len(starts)


def continued(law: Plain, reports: CellReports, x: Array) -> tuple[Array, bool]:
    """The maximum nearest to x where all may leave [0, 1], and whether it is within -1 and 2."""
    top, _ = ascend(law, reports, 0.999 * x + 0.001 * law.centre)
    return top, bool(np.all(np.abs(top - 0.5) < WIDTH + 0.5 - 1e-3))


_FIRST, _LAST = 1e-5, 1e-13  # of the barrier, per report
_ROUNDS = 5000  # to the top; ridges are narrow where nearly nobody made a report
_NOTHING = 1e-15  # nats per report that no step is worth
_FLAT = 1e-9  # least curvature of a Newton step, relative to the largest


def ascend(
    law: Plain, reports: CellReports, x: Array, fixed: int | None = None
) -> tuple[Array, Array]:
    """Maximise the continued likelihood, p summing to one, where `fixed` stays as it is in x.

    Newton steps on the likelihood with a logarithmic barrier before -1, 2 and the probability zero
    of a report that nobody made, which falls to 1e-13 a report; scoring steps where it is not
    concave. At x every report is possible. Also the gradient, with that of the barrier.
    """
    n, rows = reports.n / reports.n.sum(), np.zeros((1 + (fixed is not None), x.size))
    rows[0, : law.k] = 1.0
    rows[1:, fixed] = 1.0
    free = np.linalg.qr(rows.T, mode="complete")[0][:, len(rows) :]  # of the steps
    barrier = _FIRST

    def value(x: Array) -> float:
        m, room = law.mix(reports, x), np.r_[x + WIDTH, 1.0 + WIDTH - x]
        if not (room.min() > 0.0 and m.min() > 0.0):
            return -np.inf
        return float(w @ np.log(m) + barrier * np.log(room).sum())

    for _ in range(_ROUNDS if fixed is None else 200):
        w = np.where(n > 0.0, n, min(barrier, 1e-3))
        m, J, bend = law.bent(reports, x)
        low, high = x + WIDTH, 1.0 + WIDTH - x
        slope = J @ (w / m) + barrier * (1.0 / low - 1.0 / high)
        hold = np.diag(barrier * (1.0 / low**2 + 1.0 / high**2))
        scoring = free.T @ ((J * (w / m**2)) @ J.T + hold) @ free
        M, size = scoring - free.T @ bend(w / m) @ free, np.diagonal(scoring).max(initial=0.0)
        if not np.linalg.eigvalsh(M).min(initial=np.inf) > _FLAT * size:
            M = scoring
        step = free @ np.linalg.solve(M + 1e-14 * size * np.eye(len(M)), free.T @ slope)
        gain, before, length = float(slope @ step), value(x), 1.0
        while not value(x + length * step) >= before + 1e-4 * length * gain - 1e-14:
            length = length / 2.0 if length > 1e-12 else 0.0
        x = x + length * step
        if gain < max(0.1 * barrier, _NOTHING) or length == 0.0:
            if barrier <= _LAST:
                break
            barrier = max(_LAST, min(0.1 * barrier, barrier**1.5))
    return x, slope * reports.n.sum()
