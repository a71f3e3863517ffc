"""Hashed candidates: the equations of their cohorts, and the moments these give.

The words of this folder:

- cell: a label or a Bloom bit of one cohort; cohorts hash differently, and each has m cells.
- owner: a candidate owns the cells that it hashes to; `owned(p)` is H p, the share of the
  respondents whose answer owns each cell, `owners(v)` is H' v, the sum of v over own cells.
- background: the probability with which an answer that is not listed owns a given cell; the mean
  of H, which is subtracted from it.
- open: answers may not be among the candidates. `incomplete`: it is known that some are not.
- collisions: the sum of the squared frequencies of answers that are not listed, that is, the
  variance which their chance collisions with cells add, over random hashes.
- open_ended: the equations with that second component of variance in their weights.
- blind: said of the test of misfit where cohorts are too uneven to show collisions that matter.
- noise: the randomness of privacy, given which answer owns which cell; `spread` is its covariance
  in the right-hand side A' D t of the normal equations.
- moved: frequencies less what no candidate explains, t - offset.
- pinned: candidates that must be absent, for a report that they make was impossible under p.
"""
