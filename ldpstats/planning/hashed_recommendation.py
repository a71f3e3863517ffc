"""Which mechanism, and how many cells, cohorts and hashes, for a survey of hashed answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import (
    boolean,
    distribution,
    listed,
    one_of,
    positive_epsilon,
    positive_integer,
)
from ldpstats.arguments.markup import html_lines
from ldpstats.errors import InvalidArgument, NotIdentified
from ldpstats.mechanisms.hashed.orappor import ORAPPOR
from ldpstats.mechanisms.hashed.orr import ORR
from ldpstats.planning.hashed_losses import expected_loss, random_design_loss
from ldpstats.planning.hashing import distinguishable_probability, identification_rank

__all__ = ["Recommendation", "recommend_design"]

Array = npt.NDArray[Any]
Hashing = ORR | ORAPPOR

_MECHANISMS = ("orr", "orappor")
_EXACT = 512  # candidates up to which hashes are drawn, and rank and loss are those of the draw
_LARGE = 256  # cohorts from which the closed form is as good as a draw
_MOST_COHORTS = 4096
_FEW = 16  # respondents of the smallest cohorts
_ENOUGH = 256  # cells per candidate beyond which cohorts gain less than half a per cent
_CLOSE = 1.01  # losses differ by as much between draws of the hashes
_RARE = 1e-3  # expected number of candidates that share all cells, negligible


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The designs that were compared, and the best of them.

    Parameters
    ----------
    best : ORR or ORAPPOR
        Of the designs within 1 per cent of the least expected loss, the one with the shortest
        reports.
    table : DataFrame
        One row per design, by increasing loss; see `recommend_design`.
    row : int
        Row of the best design in the table.
    S : int
        Number of candidates.
    n : int
        Respondents.
    epsilon : float
        Privacy of a report, in nats.
    loss : {"l1", "l2"}
        The loss that was compared.

    Examples
    --------
    >>> found = recommend_design(S=8, n=10**5, epsilon=2.0, closed=True, n_cohorts=[1, 16])
    >>> print(found.best)
    ORR(n_outputs=8, n_cohorts=1, epsilon=2, k=8)
    """

    best: Hashing
    table: pd.DataFrame
    row: int
    S: int
    n: int
    epsilon: float
    loss: str

    def __str__(self) -> str:
        best = self.table.iloc[self.row]
        kind = "labels of a closed" if not self.best.is_open else "candidates of an open"
        known = int(self.table["identified"].sum())
        return (
            f"Designs for {self.S} {kind} alphabet, {self.n} respondents, epsilon "
            f"{self.epsilon:.6g}\n"
            f"best of {len(self.table)}, of which {known} are identified:\n"
            f"  {self.best}\n"
            f"  expected {self.loss} loss {best['loss']:.4g}, {best['bits']} bits a report\n\n"
            f"{self.table.head(5).to_string(index=False, float_format='{:.4g}'.format)}"
        )

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))


def recommend_design(
    S: int,
    n: int,
    epsilon: float,
    p: npt.ArrayLike | None = None,
    closed: bool = False,
    mechanisms: Any = _MECHANISMS,
    n_outputs: Any = None,
    n_cohorts: Any = None,
    n_hashes: Any = None,
    loss: str = "l1",
) -> Recommendation:
    """Compare O-RR and O-RAPPOR over a grid of cells, cohorts and hashes.

    Parameters
    ----------
    S : int
        Number of candidates, or of labels of a closed alphabet.
    n : int
        Respondents.
    epsilon : float
        Privacy of a report, in nats.
    p : array-like, shape (S,), optional
        Expected distribution. Default: geometric with mean S/5, truncated, as in KBR16.
    closed : bool
        Whether all answers are known in advance; permutations then replace hashes. The alphabet of
        `best` is 0 .. S-1; set yours by ``dataclasses.replace(best, alphabet=labels)``.
    mechanisms : sequence of {"orr", "orappor"}
    n_outputs : int or sequence of int, optional
        Labels of O-RR, and bits of O-RAPPOR. Default: powers of two to 4096, 3, and S if closed.
    n_cohorts : int or sequence of int, optional
        Default: powers of four to 4096, with at least 16 respondents a cohort and at most 256 cells
        a candidate.
    n_hashes : int or sequence of int, optional
        Hashes of O-RAPPOR. Default: 1, which is best (KBR16 section 5.3).
    loss : {"l1", "l2"}
        Expected l1 or expected squared l2 loss of the linear estimate.

    Returns
    -------
    Recommendation
        Its `table` has the columns `mechanism`, `n_outputs`, `n_cohorts`, `n_hashes`; `loss`, nan
        where the design is not identified; `identified`; `distinguishable`, the probability that a
        candidate differs from all others (open alphabet) or the share of labels that do (closed);
        `bits` to send the cohort and the report; and `exact`, whether hashes were drawn.

    Raises
    ------
    NotIdentified
        If no design of the grid tells the candidates apart.
    InvalidArgument
        If an argument is out of range, or more than 512 candidates have several hashes.

    Notes
    -----
    Up to 512 candidates, losses and ranks are exact (`expected_loss`) for one draw of the hashes,
    with candidates "0" .. "S-1". For more candidates, and from 256 cohorts, losses are those of
    `random_design_loss`, given only where a design is almost surely identified: with permutations
    that do not collide, or with at least 4 cohorts, twice the equations needed, and fewer than one
    list in a thousand expected to hold candidates that share all cells. Otherwise more than 512
    candidates count as not identified.

    Losses are those of the linear estimate; projection onto the simplex lowers them where noise
    dominates.

    Examples
    --------
    >>> found = recommend_design(S=16, n=10**5, epsilon=1.0, n_outputs=[2, 4], n_cohorts=[4, 64])
    >>> print(found)
    Designs for 16 candidates of an open alphabet, 100000 respondents, epsilon 1
    best of 8, of which 4 are identified:
      ORR(n_outputs=4, n_cohorts=64, epsilon=1)
      expected l1 loss 0.08141, 8 bits a report
    <BLANKLINE>
    mechanism  n_outputs  n_cohorts  n_hashes    loss  identified  distinguishable  bits  exact
          orr          4         64         1 0.08141        True                1     8   True
      orappor          4         64         1 0.09893        True                1    10   True
          orr          2         64         1  0.1003        True                1     7   True
      orappor          2         64         1  0.1389        True                1     8   True
          orr          2          4         1     NaN       False           0.3798     3   True
    """
    S, n = positive_integer("S", S, 2), positive_integer("n", n)
    epsilon = positive_epsilon("epsilon", epsilon)
    law = _geometric(S) if p is None else distribution("p", p, S)
    loss = one_of("loss", loss, ("l1", "l2"))
    closed = boolean("closed", closed)
    designs = list(
        _designs(S, n, epsilon, closed, _names(mechanisms), n_outputs, n_cohorts, n_hashes)
    )
    rows = [_row(design, law, n, loss) for design in designs]
    # ties, up to rounding: the shorter report first
    order = sorted(
        range(len(rows)),
        key=lambda i: (not rows[i]["identified"], float(f"{rows[i]['loss']:.9g}"), rows[i]["bits"]),
    )
    if not rows[order[0]]["identified"]:
        raise NotIdentified(
            f"no design of the grid tells {S} candidates apart: use more cohorts or outputs (see "
            "identification_rank)"
        )
    table = pd.DataFrame([rows[i] for i in order])
    close = table["loss"] <= _CLOSE * table["loss"].iloc[0]  # never where it is nan
    row = int(table.loc[close, "bits"].argmin())  # the close ones come first
    return Recommendation(designs[order[row]], table, row, S, n, epsilon, loss)


def _geometric(S: int) -> Array:
    p = (S / (S + 5.0)) ** np.arange(S)
    return np.asarray(p / p.sum())


def _names(mechanisms: object) -> list[str]:
    remedy = f"must be names from {_MECHANISMS}"
    given = [mechanisms] if isinstance(mechanisms, str) else mechanisms
    names = listed("mechanisms", given, remedy)
    if not names:
        raise InvalidArgument("mechanisms", mechanisms, "must name at least one")
    return list(dict.fromkeys(one_of("mechanisms", name, _MECHANISMS) for name in names))


def _designs(
    S: int,
    n: int,
    epsilon: float,
    closed: bool,
    mechanisms: list[str],
    n_outputs: object,
    n_cohorts: object,
    n_hashes: object,
) -> Iterator[Hashing]:
    """All designs of the grid."""
    cells = _grid("n_outputs", n_outputs, sorted({3, *(1 << np.arange(1, 13)), *([S] * closed)}), 2)
    hashes = _grid("n_hashes", n_hashes, [1])
    if S > _EXACT and max(hashes) > 1:
        raise InvalidArgument(
            "n_hashes", max(hashes), f"must be 1 for more than {_EXACT} candidates"
        )
    alphabet = S if closed else None
    for name in mechanisms:
        for k in cells:
            for C in _grid("n_cohorts", n_cohorts, _cohorts(S, n, k)):
                if name == "orr":
                    yield ORR(k, C, epsilon=epsilon, alphabet=alphabet)
                    continue
                for h in hashes:
                    yield ORAPPOR(k, h, C, epsilon=epsilon, alphabet=alphabet)


def _grid(name: str, values: Any, default: list[int], least: int = 1) -> list[int]:
    """Distinct positive integers; one alone may be given without a list."""
    if values is None:
        return [int(value) for value in default]
    remedy = "must be a positive integer or a list of them"
    given = [values] if isinstance(values, Integral) else listed(name, values, remedy)
    if not given:
        raise InvalidArgument(name, values, "must hold at least one number")
    return list(dict.fromkeys(positive_integer(name, value, least) for value in given))


def _cohorts(S: int, n: int, k: int) -> list[int]:
    """Powers of four, as long as more of them still help."""
    most = min(_MOST_COHORTS, n // _FEW, _ENOUGH * S // k)
    return [1, *(4**i for i in range(1, 7) if 4**i <= most)]


def _row(design: Hashing, p: Array, n: int, loss: str) -> dict[str, Any]:
    k, C, h, S = design.n_cells, design.n_cohorts, design.n_owned, p.size
    sure = h == 1 and _beyond_doubt(design, S)
    exact = S <= _EXACT and not (sure and C >= _LARGE)
    if exact:
        value = _exact_loss(design, p, n, loss)
    else:
        value = float(random_design_loss(design, p, n, loss)) if sure else np.nan
    identified = bool(np.isfinite(value))
    if design.is_open:
        apart = distinguishable_probability(S, k, C, h)
    else:  # the permutations are known; ranks of many labels are not computed
        apart = 1.0 if identified else _share_apart(design) if exact else np.nan
    return {
        "mechanism": "orappor" if design.n_bits else "orr",
        "n_outputs": k,
        "n_cohorts": C,
        "n_hashes": h,
        "loss": value,
        "identified": identified,
        "distinguishable": apart,
        "bits": (C - 1).bit_length() + (k if design.n_bits else (k - 1).bit_length()),
        "exact": exact,
    }


def _exact_loss(design: Hashing, p: Array, n: int, loss: str) -> float:
    S = p.size
    rank = identification_rank(design.n_cells, design.n_cohorts, design.n_owned)
    if S > rank - (design.is_open and design.n_owned == 1):
        return np.nan
    candidates = [str(i) for i in range(S)] if design.is_open else None
    try:
        return float(expected_loss(design, p, n, candidates, loss))
    except NotIdentified:
        return np.nan


def _beyond_doubt(design: Hashing, S: int) -> bool:
    """Whether nearly all draws of one hash identify S candidates."""
    k, C = design.n_cells, design.n_cohorts
    if not design.is_open and k >= S:
        return True
    alike = S * (1.0 - distinguishable_probability(S, k, C))
    return C >= 4 and 2 * S <= C * (k - 1) and alike < _RARE


def _share_apart(design: Hashing) -> float:
    """Share of the labels of a closed alphabet whose cells no other has."""
    cells = np.sort(design.cells(), axis=2)  # (C, S, h)
    owned = np.ascontiguousarray(cells.swapaxes(0, 1)).reshape(cells.shape[1], -1)
    _, copies = np.unique(owned, axis=0, return_counts=True)
    return float((copies == 1).sum() / len(owned))
