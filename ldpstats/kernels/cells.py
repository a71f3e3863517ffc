"""Compiled products with hashed candidates; imported only where arrays are large, for numba.

A candidate owns cells: ``cells`` has one row a cohort and entries up to m, where m stands for no
cell. The plain numpy twins are in `problems.hash_design` and `problems.rows.hashed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpstats.kernels.bits import partial_sums, transpose
from ldpstats.kernels.words import compiled, copied

__all__ = [
    "bloom_mix",
    "bloom_sums",
    "bloom_two_mix",
    "bloom_two_sums",
    "buckets",
    "gather",
    "normal",
    "pair_forms",
    "pair_gram",
    "pair_sums",
    "scatter",
]


_COHORTS = 8  # added to a block of a matrix at a time, while it is in a near cache


@compiled
def scatter(cells: Any, p: Any, out: Any) -> None:
    """Add p[i], shape (K,), to cell cells[c, i] of each cohort c.

    `out` has shape (C m + 1,): what has no cell falls on the first entry of the next cohort, which
    is cleared afterwards.
    """
    C, K = cells.shape
    m = out.size // C
    for c in range(C):
        row, own = out[c * m : c * m + m + 1], cells[c]
        row[:m] = 0.0
        for i in range(K):
            row[own[i]] += p[i]


@compiled
def gather(cells: Any, v: Any, out: Any) -> None:
    """Add v[c, cells[c, i]] over all cohorts c to out[i], shape (K,)."""
    C, K = cells.shape
    m = v.shape[1]
    row = np.empty(m + 1)
    row[m] = 0.0
    for c in range(C):
        copied(v[c], row)
        own = cells[c]
        for i in range(K):
            out[i] += row[own[i]]


@compiled
def normal(cells: Any, w: Any, p: Any, shift: float, out: Any) -> float:
    """Add ``H' diag(w) (H p - shift)`` to `out`; return ``w . (H p - shift)``.

    `scatter` and `gather` in one, so that the cells of a cohort never leave the cache.
    """
    C, K = cells.shape
    m = w.shape[1]
    row = np.empty(m + 1)
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
    return total


@compiled
def buckets(cells: Any, m: int, start: Any, members: Any) -> None:
    """List the owners of each cell: members[c, start[c, y] : start[c, y + 1]], in rising order.

    Shapes: cells (C, S, h), start (C, m + 2), members (C, S h).
    """
    C, S, h = cells.shape
    for c in range(C):
        first = start[c]
        first[:] = 0
        for x in range(S):
            for j in range(h):
                if cells[c, x, j] < m:
                    first[cells[c, x, j] + 2] += 1
        for y in range(2, m + 2):
            first[y] += first[y - 1]
        for x in range(S):  # first[y + 1] runs from the start of cell y to its end
            for j in range(h):
                y = cells[c, x, j]
                if y < m:
                    members[c, first[y + 1]] = x
                    first[y + 1] += 1


@compiled
def pair_sums(cells: Any, start: Any, members: Any, w: Any, step: int, out: Any) -> None:
    """Add w[c, y] to out[x, z], z < x, for each cell y of a cohort c that x and z both own.

    `step` rows of `out` are filled at a time.
    """
    C, S, h = cells.shape
    m = w.shape[1]
    for low in range(0, S, step):
        for c in range(C):
            first, owners, weight = start[c], members[c], w[c]
            for x in range(low, min(low + step, S)):
                row = out[x]
                for j in range(h):
                    y = cells[c, x, j]
                    if y < m:
                        for i in range(first[y], first[y + 1]):
                            z = owners[i]
                            if z >= x:
                                break
                            row[z] += weight[y]


@compiled
def _partners(
    own: Any, first: Any, owners: Any, p: Any, begin: Any, others: Any, values: Any
) -> None:
    """List, for each cell k of a cohort, the other cells and the frequency of all its owners."""
    h, m, found = own.shape[1], first.size - 2, 0
    for k in range(m):
        begin[k] = found
        for a in range(first[k], first[k + 1]):
            u = owners[a]
            if p[u] != 0.0:
                for i in range(h):
                    if own[u, i] != m and own[u, i] != k:
                        others[found], values[found] = own[u, i], p[u]
                        found += 1
    begin[m] = begin[m + 1] = found


@compiled
def pair_gram(
    cells: Any,
    start: Any,
    members: Any,
    diagonal: Any,
    scale: Any,
    p: Any,
    blocks: Any,
    reach: Any,
) -> None:
    """Add scale[c] p[u] to entry (x, z), z <= x, where u owns a cell of x and another, of z.

    For each cohort c, pair of such cells and candidate u; and diagonal[c, j] where x and z own cell
    j. blocks[b], (S, width), are columns b width, ... of the result. `reach`, (S,), is what column
    z would add up to if each cell had one owner. What cell j adds to some columns, `table[j]`, is
    added for each owner of j.
    """
    C, S, h = cells.shape
    m, width = start.shape[1] - 2, blocks.shape[2]
    table, begin = np.empty((m + 1, width)), np.empty((_COHORTS, m + 2), dtype=np.int64)
    others = np.empty((_COHORTS, S * h * h), dtype=cells.dtype)
    values = np.empty((_COHORTS, S * h * h))
    for group in range(0, C, _COHORTS):
        for c in range(group, min(group + _COHORTS, C)):
            g = c - group
            _partners(cells[c], start[c], members[c], p, begin[g], others[g], values[g])
        for low in range(0, S, width):
            block = blocks[low // width]
            for c in range(group, min(group + _COHORTS, C)):
                if scale[c] == 0.0:
                    continue
                own, ends = cells[c], begin[c - group]
                at, value = others[c - group], values[c - group]
                table[:] = 0.0
                for z in range(min(width, S - low)):
                    total = 0.0
                    for i in range(h):
                        k = own[low + z, i]
                        if k != m:
                            table[k, z] += diagonal[c, k]
                            total += diagonal[c, k]
                        for a in range(ends[k], ends[k + 1]):
                            more = scale[c] * value[a]
                            table[at[a], z] += more
                            total += more
                    reach[low + z] += total
                for x in range(low, S):
                    row = block[x]
                    for i in range(h - 1, 0, -2):
                        one, other = table[own[x, i]], table[own[x, i - 1]]
                        for z in range(width):
                            row[z] += one[z] + other[z]
                    if h % 2:
                        one = table[own[x, 0]]
                        for z in range(width):
                            row[z] += one[z]


@compiled
def pair_forms(cells: Any, start: Any, members: Any, rows: Any, p: Any, out: Any) -> None:
    """Set out, shape (q + 1, C), to the forms of `HashDesign.pair_forms`, rows of (q, C, m)."""
    C, S, h = cells.shape
    q, m = rows.shape[0], rows.shape[2]
    shared = np.zeros(S, dtype=np.int64)
    for c in range(C):
        first, owners, own = start[c], members[c], cells[c]
        for u in range(S):
            if p[u] == 0.0:
                continue
            for r in range(q):
                total, squares = 0.0, 0.0
                for i in range(h):
                    if own[u, i] < m:
                        value = rows[r, c, own[u, i]]
                        total += value
                        squares += value * value
                out[r, c] += p[u] * (total * total - squares)
            meetings = 0.0  # candidates with s cells in common meet in s (s - 1) of the pairs
            for i in range(h):
                j = own[u, i]
                if j < m:
                    for a in range(first[j], first[j + 1]):
                        z = owners[a]
                        if shared[z]:
                            meetings += p[z] * shared[z]
                        shared[z] += 1
            out[q, c] += 2.0 * p[u] * meetings
            for i in range(h):
                j = own[u, i]
                if j < m:
                    for a in range(first[j], first[j + 1]):
                        shared[owners[a]] = 0


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
