"""Reports of sensitive answers, lumped."""

from __future__ import annotations

import numpy as np
import pytest
from shared.sensitive_surveys import JOBS, MECHANISMS, survey

import ldpstats as ldp
from ldpstats.mechanisms import lump


@pytest.mark.parametrize("keep", [["nurse"], ["teacher"], ["cook", "driver"], ["clerk", "nurse"]])
@pytest.mark.parametrize("name", ["urr", "urr-levels"])
def test_lumped_reports_of_urr(name: str, keep: list[str]) -> None:
    urr = MECHANISMS[name]
    reports = survey(urr, 200, seed=13)
    lumped = lump(reports, keep)
    Q = urr.channel().matrix()
    kept = [JOBS.index(v) for v in keep]
    rest = [x for x in range(5) if x not in kept]
    merged = np.column_stack([Q[:, kept], Q[:, rest].sum(axis=1)])
    for x in rest:  # all of Other are alike: that is what makes it exact
        np.testing.assert_allclose(merged[x], merged[rest[0]], atol=1e-15)
    want = np.vstack([merged[kept], merged[rest[0]]])
    np.testing.assert_allclose(lumped.mechanism.channel().matrix(), want, atol=1e-15)
    position = {v: i for i, v in enumerate(keep)}
    labels = [position.get(v, len(keep)) for v in urr.report_labels(reports)]
    np.testing.assert_array_equal(lumped.y, labels)


def test_reports_of_urap_are_not_lumped() -> None:
    # what is sensitive and what is not differ within Other: a clear refusal
    with pytest.raises(ldp.NotAvailable, match=r"URAP.*lump"):
        lump(survey(MECHANISMS["urap"], 50, seed=14), ["nurse"])
