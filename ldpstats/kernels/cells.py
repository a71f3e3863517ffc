"""Compiled products with hashed candidates; imported only where arrays are large, for numba.

A candidate owns cells: ``cells`` has one row a cohort and entries up to m, where m stands for no
cell. The plain numpy twins are in `likelihood.hashed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpstats.kernels.bits import partial_sums, transpose
from ldpstats.kernels.words import compiled, copied

WIDTH = 64  # columns of a matrix that are filled at a time: what they need fits a near cache
_COHORTS = 4  # that are added to them at a time


@compiled
def scatter(cells: Any, p: Any, m: int) -> Any:
    """Sums of p[i], shape (K,), over cells[c, i] of each cohort c, (C, m)."""
    C, K = cells.shape
    # what has no cell falls on the first entry of the next cohort, which is cleared afterwards
    out = np.empty(C * m + 1)
    for c in range(C):
        row, own = out[c * m : c * m + m + 1], cells[c]
        row[:m] = 0.0
        for i in range(K):
            row[own[i]] += p[i]
    return out[:-1].reshape(C, m)


@compiled
def gather(cells: Any, v: Any) -> Any:
    """Sums of v[c, cells[c, i]], shape (C, m + 1), over all cohorts c, (K,)."""
    C, K = cells.shape
    out = np.zeros(K)
    for c in range(C):
        own, row = cells[c], v[c]
        for i in range(K):
            out[i] += row[own[i]]
    return out


@compiled
def normal(cells: Any, w: Any, p: Any, shift: float) -> Any:
    """``w . (H p - shift)``, and ``H' diag(w) (H p - shift)`` by candidate and hash.

    `scatter` and `gather` in one, so that the cells of a cohort never leave the cache.
    """
    C, K = cells.shape
    m = w.shape[1]
    row, out = np.empty(m + 1), np.zeros(K)
    total = 0.0
    for c in range(C):
        own, weight = cells[c], w[c]
        row[:] = 0.0
        for i in range(K):
            row[own[i]] += p[i]
        for y in range(m):
            row[y] = weight[y] * (row[y] - shift)
            total += row[y]
        row[m] = 0.0
        for i in range(K):
            out[i] += row[own[i]]
    return total, out


@compiled
def pair_sums(cells: Any, w: Any, step: int, start: Any, stop: Any, members: Any, out: Any) -> None:
    """Add w[c, y] to out[x, z], z < x, for each cell y of a cohort c that x and z both own.

    `step` rows of `out` are filled at a time. `members`, (C, S h), is room for the owners of cells;
    those of cell y of cohort c begin at start[c, y], as does stop[c, y], which moves to their end.
    """
    C, S, h = cells.shape
    m = w.shape[1]
    for low in range(0, S, step):
        for c in range(C):
            first, last, owners, weight = start[c], stop[c], members[c], w[c]
            for x in range(low, min(low + step, S)):
                row = out[x]
                for j in range(h):
                    y = cells[c, x, j]
                    if y < m and weight[y] != 0.0:
                        for i in range(first[y], last[y]):
                            row[owners[i]] += weight[y]
                        owners[last[y]] = x
                        last[y] += 1


@compiled
def _partners(own: Any, p: Any, begin: Any, others: Any, values: Any) -> None:
    """List, for each cell k of a cohort, the other cells and the frequency of all its owners.

    In others[begin[k] : begin[k + 1]], and `values`; `begin` has shape (m + 2,).
    """
    S, h = own.shape
    m = begin.size - 2
    begin[:] = 0
    for u in range(S):
        if p[u] != 0.0:
            for j in range(h):
                for i in range(h):
                    if i != j and own[u, i] < m and own[u, j] < m:
                        begin[own[u, j] + 2] += 1
    for k in range(2, m + 2):
        begin[k] += begin[k - 1]
    for u in range(S):  # begin[k + 1] runs from the start of cell k to its end
        if p[u] != 0.0:
            for j in range(h):
                for i in range(h):
                    if i != j and own[u, i] < m and own[u, j] < m:
                        at = begin[own[u, j] + 1]
                        others[at], values[at] = own[u, i], p[u]
                        begin[own[u, j] + 1] += 1


@compiled
def _listed(
    own: Any, diagonal: Any, p: Any, scale: float, begin: Any, others: Any, values: Any, reach: Any
) -> float:
    """List the partners of a cohort's cells, times `scale`; see `pair_gram` for the rest."""
    S, h = own.shape
    m, total = diagonal.size, 0.0
    _partners(own, p, begin, others, values)
    sums = np.zeros(m + 1)
    for k in range(m):
        sums[k] = diagonal[k]
        for a in range(begin[k], begin[k + 1]):
            values[a] *= scale
            sums[k] += values[a]
        total += sums[k]
    for x in range(S):
        for i in range(h):
            reach[x] += sums[own[x, i]]
    return total


@compiled
def _columns(
    own: Any, diagonal: Any, begin: Any, others: Any, values: Any, low: int, table: Any
) -> None:
    """Add what cell j of a cohort adds to column low + z to table[j, z]."""
    for z in range(low, min(low + WIDTH, own.shape[0])):
        for i in range(own.shape[1]):
            k = own[z, i]
            if k < diagonal.size:
                table[k, z - low] += diagonal[k]
                for a in range(begin[k], begin[k + 1]):
                    table[others[a], z - low] += values[a]


@compiled
def _add_rows(table: Any, places: Any, low: int, block: Any) -> None:
    """Add the rows of `table` at places[x], four at a time, to block[x], for x from low."""
    for x in range(low, places.shape[0]):
        for i in range(0, places.shape[1], 4):
            a, b, c, d = places[x, i], places[x, i + 1], places[x, i + 2], places[x, i + 3]
            for z in range(WIDTH):
                block[x, z] += (table[a, z] + table[b, z]) + (table[c, z] + table[d, z])


@compiled
def pair_gram(
    cells: Any, used: Any, diagonal: Any, scale: Any, p: Any, blocks: Any, reach: Any
) -> float:
    """Add scale[c] p[u] to entry (x, z), z <= x, where u owns a cell of x and another, of z.

    For each of the cohorts c `used`, pair of such cells and candidate u; and diagonal[c, j] where x
    and z own cell j. blocks[b], (S, WIDTH), are columns b WIDTH, ... of the result. `reach`, (S,),
    is what column z would add up to if each cell had one owner; what all cells would is returned.
    """
    S, h = cells.shape[1:]
    m, total = diagonal.shape[1], 0.0
    table = np.empty((_COHORTS * (m + 1), WIDTH))  # what cells add to some columns
    places = np.empty((S, _COHORTS * h), dtype=np.uint32)  # in the table, of the cells of x
    begin = np.empty((_COHORTS, m + 2), dtype=np.int64)
    others = np.empty((_COHORTS, S * h * h), dtype=cells.dtype)
    values = np.empty((_COHORTS, S * h * h))
    for start in range(0, used.size, _COHORTS):
        some = used[start : start + _COHORTS]
        places[:] = m  # no cell: its row of the table stays zero
        for g, c in enumerate(some):
            at = begin[g], others[g], values[g]
            total += _listed(cells[c], diagonal[c], p, scale[c], *at, reach)
            places[:, g * h : (g + 1) * h] = cells[c] + g * (m + 1)
        for b in range(blocks.shape[0]):
            table[:] = 0.0
            for g, c in enumerate(some):
                at = begin[g], others[g], values[g]
                _columns(cells[c], diagonal[c], *at, b * WIDTH, table[g * (m + 1) :])
            _add_rows(table, places, b * WIDTH, blocks[b])
    return total


@compiled
def pair_forms(cells: Any, rows: Any, p: Any, out: Any) -> None:
    """Set out, shape (q + 1, C), to the forms of `HashDesign.pair_forms`, rows of (q, C, m)."""
    C, S, h = cells.shape
    q, m = rows.shape[0], rows.shape[2]
    begin, together = np.empty(m + 2, dtype=np.int64), np.zeros(m)
    others, values = np.empty(S * h * h, dtype=cells.dtype), np.empty(S * h * h)
    for c in range(C):
        _partners(cells[c], p, begin, others, values)
        for k in range(m):
            for a in range(begin[k], begin[k + 1]):
                together[others[a]] += values[a]
            for a in range(begin[k], begin[k + 1]):
                j = others[a]
                for r in range(q):
                    out[r, c] += together[j] * rows[r, c, j] * rows[r, c, k]
                out[q, c] += together[j] * together[j]
                together[j] = 0.0  # a pair that several candidates own counts once


@compiled
def _likelihoods(report: Any, own: Any, m: int, table: Any, factor: Any, row: Any) -> None:
    """Fill row[x] with the likelihood of a report under candidate x; see `bloom_mix`.

    factor[j] is that of bit j; the cell that stands for none has the factor 1.
    """
    S, h = own.shape
    for b in range(report.size):
        byte = table[report[b]]
        for j in range(8):
            factor[8 * b + j] = byte[j]
    factor[m] = 1.0
    for x in range(S):
        row[x] = factor[own[x, 0]]
    for j in range(1, h):
        for x in range(S):
            row[x] *= factor[own[x, j]]


@compiled
def bloom_mix(packed: Any, cohort: Any, cells: Any, m: int, table: Any, p: Any, out: Any) -> None:
    """Set out[i] to the probability of report i if the candidates have the frequencies p."""
    factor, row = np.empty(8 * packed.shape[1] + 1), np.zeros(-(-p.size // 4) * 4)
    padded = np.zeros(row.size)
    copied(p, padded)
    for i in range(packed.shape[0]):
        _likelihoods(packed[i], cells[cohort[i]], m, table, factor, row)
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums: an addition need not wait for the last
        for x in range(0, row.size, 4):
            a += padded[x] * row[x]
            b += padded[x + 1] * row[x + 1]
            c += padded[x + 2] * row[x + 2]
            d += padded[x + 3] * row[x + 3]
        out[i] = (a + b) + (c + d)


@compiled
def bloom_sums(
    packed: Any, cohort: Any, cells: Any, m: int, table: Any, v: Any, first: Any, second: Any
) -> None:
    """Add v[i] times the likelihoods of report i to `first`, times their squares to `second`."""
    factor, row = np.empty(8 * packed.shape[1] + 1), np.empty(first.size)
    for i in range(packed.shape[0]):
        _likelihoods(packed[i], cells[cohort[i]], m, table, factor, row)
        weight = v[i]
        for x in range(row.size):
            value = weight * row[x]
            first[x] += value
            second[x] += value * row[x]


@compiled
def _eight(packed: Any, place: Any, rows: Any, words: Any) -> None:
    """Bit r of byte j of `words` becomes bit j of the report at place[r], or 0 where that is -1."""
    for r in range(8):
        if place[r] < 0:
            rows[r] = 0
        else:
            copied(packed[place[r]], rows[r])
    transpose(rows, words)


@compiled
def bloom_two_mix(
    packed: Any, place: Any, cohort: Any, cells: Any, m: int, table: Any, p: Any, out: Any
) -> None:
    """`bloom_mix` of candidates with two bits, (C, S, 2), eight reports of a cohort at a time.

    Their places among the reports are place[g], (8,), -1 for none; `cohort` is that of each group.
    table, (257, 8), ends with the ones of the cell that stands for none.
    """
    rows, words = np.empty((8, packed.shape[1]), np.uint8), np.empty(packed.shape[1], np.uint64)
    lanes, byte = words.view(np.uint8), np.full(m + 1, 256, np.uint16)
    for g in range(cohort.size):
        _eight(packed, place[g], rows, words)
        copied(lanes[:m], byte)
        own = cells[cohort[g]]
        a, b, c, d, e, f, u, v = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for x in range(p.size):
            one, two, share = table[byte[own[x, 0]]], table[byte[own[x, 1]]], p[x]
            a += share * one[0] * two[0]
            b += share * one[1] * two[1]
            c += share * one[2] * two[2]
            d += share * one[3] * two[3]
            e += share * one[4] * two[4]
            f += share * one[5] * two[5]
            u += share * one[6] * two[6]
            v += share * one[7] * two[7]
        for r, total in enumerate((a, b, c, d, e, f, u, v)):
            if place[g, r] >= 0:
                out[place[g, r]] = total


@compiled
def bloom_two_sums(
    packed: Any, place: Any, cohort: Any, cells: Any, m: int, weights: Any, single: Any, pair: Any
) -> None:
    """Add the sums of `weights` over the reports with bit j set to single[c, j], shape (C, m).

    And over those with both bits of candidate x to pair[x]; the reports as in `bloom_two_mix`.
    """
    rows, words = np.empty((8, packed.shape[1]), np.uint8), np.empty(packed.shape[1], np.uint64)
    lanes, byte = words.view(np.uint8), np.zeros(m + 1, np.uint8)
    table, eight = np.empty(256), np.empty(8)
    for g in range(cohort.size):
        _eight(packed, place[g], rows, words)
        copied(lanes[:m], byte)
        for r in range(8):
            eight[r] = weights[place[g, r]] if place[g, r] >= 0 else 0.0
        partial_sums(eight, table)
        sums, own = single[cohort[g]], cells[cohort[g]]
        for j in range(m):
            sums[j] += table[byte[j]]
        for x in range(pair.size):
            pair[x] += table[byte[own[x, 0]] & byte[own[x, 1]]]


@compiled
def two_bit_gram(packed: Any, weights: Any, cells: Any, m: int, both: Any, cross: Any) -> None:
    """Add the weighted sums of z_x z_y, x <= y, to `both`, and of z_x (bits, 1) to `cross`.

    Of reports of one cohort, whose candidates own two bits, (S, 2), the second m where it is none:
    z_x is 1 where a report has both bits of candidate x set; `both` has shape (S, S) and `cross`
    (S, m + 1). Few candidates have: what is added runs along a list of them.
    """
    S, width = cells.shape[0], packed.shape[1]
    bits, shares = np.zeros(8 * width + 1, np.uint8), np.empty(m + 1)
    owned = np.empty(S, np.int64)
    for i in range(packed.shape[0]):
        weight = weights[i]
        for b in range(width):
            for j in range(8):
                bits[8 * b + j] = (packed[i, b] >> j) & 1
        for j in range(m):
            shares[j] = weight * bits[j]
        shares[m] = weight
        found = 0
        for x in range(S):
            owned[found] = x
            found += bits[cells[x, 0]] & bits[cells[x, 1]]
        for s in range(found):
            row, one = both[owned[s]], cross[owned[s]]
            for t in range(s, found):
                row[owned[t]] += weight
            for j in range(m + 1):
                one[j] += shares[j]


# -- Coordinate descent for `ldpstats.estimators.constrained` -------------------------------------


@compiled
def sweep(
    cells: Any, weights: Any, columns: Any, shared: Any, pull: Any, sums: Any, p: Any
) -> float:
    """Minimise over one coordinate after another, in place; largest ``|change of p_x| ||A_x||``.

    The weighted residual is ``pull + slope background sum(p) weights``: the first part, ``D (rhs -
    slope H p)`` with a last column of zeros, (C, m + 1), changes in the cells of a coordinate
    alone; `sums` holds sum(p) and the sum of `pull`. `cells`, (S, C, h), has m for none. `columns`,
    (S, 3), is the weight of a candidate's cells, its ``A_x' D A_x`` and its penalty; `shared` is
    slope, background and the weight of all cells.
    """
    slope, background, weight = shared
    S, C, h = cells.shape
    none = pull.shape[1] - 1
    largest = 0.0
    for x in range(S):
        count, square, penalty = columns[x]
        if square <= 0.0:
            continue
        dense = slope * background * sums[0]
        own = dense * count
        for c in range(C):
            for j in range(h):
                own += pull[c, cells[x, c, j]]
        descent = slope * (own - background * (sums[1] + dense * weight)) - penalty
        step = max(descent / square, -p[x])
        if step != 0.0:
            p[x] += step
            sums[0] += step
            sums[1] -= slope * count * step
            for c in range(C):
                change = slope * step * weights[c]
                for j in range(h):
                    pull[c, cells[x, c, j]] -= change
                pull[c, none] = 0.0
            largest = max(largest, abs(step) * np.sqrt(square))
    return largest
