"""Column generation: solve for some columns, price all, add the best, until none is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.errors import NotConverged
from ldpstats.planning.best.barrier import solved_by_barrier
from ldpstats.planning.best.certificate import Dual
from ldpstats.planning.best.cones import Columns, Cone, Rays, Staircases
from ldpstats.planning.best.pricing import Kept, Priced, Split, climbed
from ldpstats.planning.best.programme import solved

__all__ = ["SPLIT", "Found", "master", "optimum"]

Array = npt.NDArray[Any]

_ALL_AT_ONCE = 300  # orbits that are solved for without pricing
_KEPT = 1 << 17
SPLIT = 1 << 30
_CONES = 1500  # entries of estimates beyond which the barrier method is quicker than cones
_MOST_CONES = 4_000  # the same, beyond which an inaccurate barrier method is put up with
_UNCERTAIN = 1e-6  # gap of the columns at hand at which the barrier method is inaccurate
_ROUNDS = 120
_FINE = 1 << 21  # columns up to which a search goes on to the end
_ROUGH = 1e-4  # improvement of a ratio that counts where there are more
_CLIMBS = 60  # rounds of local search where there are more
_LOOSE = 1.0 - 1e-6  # bound, relative to the loss, below which the solver's lambda is improved
_CLOSE = 1e-8  # gap at which the search ends


@dataclass(frozen=True, eq=False)
class Found:
    """Columns with probabilities theta, and a bound on the loss (0.0 where there is none)."""

    columns: Columns
    theta: Array
    bound: float


def optimum(cone: Staircases | Rays) -> Found:
    """The best law of the columns of a cone, with its certificate."""
    working = _start(cone)
    orbits = len(cone.rays) if isinstance(cone, Rays) else cone.n_orbits
    if orbits <= _KEPT:
        return _generated(cone, working, Kept(cone))
    assert isinstance(cone, Staircases)
    return _generated(cone, working, Split(cone) if orbits <= SPLIT else None)


def _generated(cone: Any, working: Columns, pricer: Kept | Split | None) -> Found:
    """Rounds of solving and pricing; `Split` prices only what a local search leaves."""
    bound, passes, best = 0.0, 0, None
    fine = not isinstance(pricer, Split) or pricer.cone.n_orbits <= _FINE
    for turn in range(_ROUNDS if pricer is not None else _CLIMBS):
        theta, dual = master(cone, working)
        loss = cone.loss(working, theta)
        own = dual.ratios(cone, working)
        count = max(40, 4 * cone.codes.size)
        climbing = not isinstance(pricer, Kept)
        if climbing:
            priced = climbed(cone, dual, _seeds(cone, working, theta), count)
            climbing = priced.kappa > own.max() * (1.0 + (1e-7 if fine else _ROUGH))
            climbing &= fine or turn - 20 * passes < _CLIMBS
        if not climbing and pricer is not None:
            priced, passes = pricer.price(dual, count), passes + 1
            kappa = max(priced.kappa, float(own.max()))
            bound = max(bound, dual.bound(cone, kappa))
            if isinstance(pricer, Kept) and kappa <= own.max() * 1.1 and bound < loss * _LOOSE:
                bound = max(bound, pricer.bound(dual.tightened(cone, pricer.columns)))
        if best is None or loss < best[2]:
            best = working, theta, loss
        done = bound > 0.0 and 1.0 - bound / best[2] <= _CLOSE
        tired = isinstance(pricer, Split) and passes >= (4 if fine else 2)
        if done or tired or (pricer is None and not climbing):
            break
        more = _better(cone, working, priced, float(own.max()))
        if not len(more):
            break
        stay = (theta > 1e-6 * theta.max()) | (own > (0.95 if fine else 0.997) * own.max())
        working = (working.take(np.flatnonzero(stay)) if climbing else working) + more
    assert best is not None
    return Found(best[0], best[1], bound)


def master(cone: Cone, columns: Columns) -> tuple[Array, Dual]:
    """The programme of these columns, by the quicker method."""
    rows = sum(A.shape[1] for _, A, _ in cone.scenarios)
    smooth = cone.goal.kind in ("total", "D")
    barrier = None
    if smooth and rows * len(columns) > _CONES and len(columns) <= 4000:
        barrier = _by_barrier(cone, columns)
        if barrier is not None and (barrier[2] or rows * len(columns) > _MOST_CONES):
            return barrier[:2]
    try:
        return solved(cone, columns)
    except NotConverged:
        if barrier is None:
            raise
        return barrier[:2]


def _by_barrier(cone: Cone, columns: Columns) -> tuple[Array, Dual, bool] | None:
    """What the barrier method finds, and whether it is accurate; None where it fails."""
    try:
        theta, dual = solved_by_barrier(cone, columns)
    except (NotConverged, np.linalg.LinAlgError):
        return None
    bound = dual.bound(cone, float(dual.ratios(cone, columns).max()))
    size = np.maximum(np.abs(columns.T).max(axis=0, initial=0.0), 1e-300)
    balanced = (np.abs(columns.T.T @ theta) <= 1e-8 * size).all()
    close = bound >= (1.0 - _UNCERTAIN) * cone.loss(columns, theta)
    return theta, dual, bool(balanced and close)


def _better(cone: Any, working: Columns, priced: Priced, own: float) -> Columns:
    """Priced columns that are not among those at hand, and beat them."""
    known = {tuple(row) for row in working.members.tolist()}
    worth = [
        i
        for i, row in enumerate(priced.members.tolist())
        if tuple(row) not in known and priced.ratios[i] > own * (1.0 + 1e-10)
    ]
    made: Columns = cone.columns(priced.members[worth])
    return made


def _start(cone: Staircases | Rays) -> Columns:
    """Columns that admit a channel and identify all categories."""
    if isinstance(cone, Rays):
        N = len(cone.rays)
        if N <= _ALL_AT_ONCE:
            return cone.columns(cone.every())
        some = np.union1d(_vertex(cone.columns(cone.every())), np.arange(0, N, N // 200 + 1))
        return cone.columns(some[:, None])
    if cone.n_orbits <= _ALL_AT_ONCE:
        return cone.columns(cone.every())
    k, G = cone.codes.size, cone.G
    one = np.eye(G, dtype=np.int64)
    order = np.argsort(-cone.prior.mean(axis=0), kind="stable")
    usual = max(2, round(k / (1.0 + float(np.exp(cone.limits.mean())))))
    pairs = [(n, 1) for n in (2, 3, round(G / 4), round(G / 3), G // 2)]
    pairs += [(n, stride) for n in (usual, usual + 1) for stride in (1, 2, 3, 4, 5, 7)]
    runs = []  # categories in the order of the priors, so many steps apart, around the end
    for length, stride in sorted({(n, s) for n, s in pairs if 1 < n < G}):
        high = (np.arange(G)[:, None] + stride * np.arange(length)) % G
        run = np.zeros((G, G), dtype=np.int64)
        run[np.arange(G)[:, None], order[high]] = 1
        runs.append(run)
    grid = np.linspace(0.1, 0.9, 9)[:, None] * cone.sizes
    members = np.concatenate([one, cone.sizes - one, *runs, np.rint(grid).astype(np.int64)])
    total = members.sum(axis=1)
    members = np.unique(members[(total > 0) & (total < k)], axis=0)
    return cone.columns(np.concatenate([members, cone.units()]))


def _seeds(cone: Staircases, working: Columns, theta: Array) -> Array:
    """Where a local search starts: columns at hand, the more probable first, and their shifts."""
    used = working.members[np.argsort(-theta, kind="stable")[:240]]
    used = used[(used >= 0).all(axis=1)]
    shifted = np.concatenate([np.roll(used[:80], by, axis=1) for by in (1, 2, 5, 11)])
    shifted = shifted[(shifted <= cone.sizes).all(axis=1)]
    return np.concatenate([used, shifted])


def _vertex(columns: Columns) -> Array:
    """Numbers of few columns that make a channel together."""
    from scipy.optimize import linprog

    E = np.vstack([np.ones(len(columns)), columns.T.T])
    cost = np.linspace(0.0, 1.0, len(columns))
    found = linprog(cost, A_eq=E, b_eq=np.eye(len(E))[0], bounds=(0, None), method="highs")
    if found.status != 0:
        raise NotConverged(f"no channel was found within these limits ({found.message})")
    return np.flatnonzero(found.x > 0.0)
