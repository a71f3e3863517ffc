"""Variances of weighted totals by linearisation: degrees of freedom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpstats.inference.designs.sample import Sample, Stage
from ldpstats.inference.designs.taylor import degrees_of_freedom


def test_strata_taken_whole_add_no_degrees_of_freedom() -> None:
    strata, each = np.array([0, 0, 0, 1, 1, 1, 1]), 5  # units of both strata, five respondents each
    unit = np.repeat(np.arange(7), each)
    whole = Stage(unit, strata, np.array([3.0, 4.0]), np.array([3.0, 9.0]), np.zeros(2, int), "ab")
    ones = np.ones(unit.size)
    sample = Sample((whole,), ones, ones, ones)
    everyone = np.full(unit.size, True)
    assert degrees_of_freedom(sample, everyone) == 3.0  # not 5
    assert degrees_of_freedom(sample.without_corrections(), everyone) == 5.0
    assert degrees_of_freedom(sample, strata[unit] == 0) == 14.0  # whose noise is all that varies
    assert degrees_of_freedom(sample, unit < 4) == 2.0  # one unit of the other: as R's survey
    second = Stage(None, unit, np.full(7, 5.0), np.full(7, 8.0), np.arange(7), "0123456")
    sample = replace(sample, stages=(whole, second))
    assert degrees_of_freedom(sample, unit < 3) == 12.0
