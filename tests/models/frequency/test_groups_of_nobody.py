"""Groups without respondents do not change a survey."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from surveys import quiet

import ldpstats as ldp

ABC = ("a", "b", "c")


MECHANISMS = (
    ldp.KRR(ABC, 2.0),
    ldp.URAP(ABC, {"a"}, 1.0),
    ldp.CustomMechanism([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], ABC),
    ldp.ORR(8, 2, epsilon=1.0, alphabet=ABC),
)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_group_of_nobody_adds_nothing(mechanism: ldp.Mechanism) -> None:
    some = ldp.KRR(ABC, 1.0).counts([400, 330, 270])
    none = mechanism.privatize([None, None], np.random.default_rng(0), missing="count")
    alone = ldp.FrequencyModel(some).fit()
    for empty, missing in ((none, 2), (none.tally(), 2), (mechanism.no_counts(), 0)):
        beside = quiet(ldp.FrequencyModel([some, empty] if missing else [empty, some]).fit)
        pd.testing.assert_series_equal(beside.params, alone.params)
        pd.testing.assert_frame_equal(beside.conf_int(), alone.conf_int())
        assert (beside.nobs, beside.n_missing, beside.epsilon) == (1000, missing, 1.0)
    other = ldp.KRR(ABC, 1.0).counts([350, 330, 320])
    expected = ldp.two_sample_test(some, other)
    assert ldp.two_sample_test([none, some], other).pvalue == expected.pvalue
    for first, second, name in ((some, none, "second"), ([none.tally()], some, "first")):
        with pytest.raises(ldp.InvalidArgument, match=f"{name}=0: holds no report"):
            ldp.two_sample_test(first, second)
    with pytest.raises(ldp.InvalidArgument, match="hold no report"):
        ldp.FrequencyModel([none, mechanism.no_counts()])


def test_a_group_of_nobody_must_have_the_same_categories() -> None:
    some, none = ldp.KRR(3, 1.0).counts([4, 3, 2]), ldp.KRR(4, 1.0).no_counts()
    with pytest.raises(ldp.MechanismMismatch):
        ldp.FrequencyModel([some, none])


def test_a_group_of_nobody_in_a_joint_table() -> None:
    krr, other = ldp.KRR(2, 1.0), ldp.KRR(2, 3.0)
    some = ldp.JointCounts.from_table([[40, 10], [20, 30]], (krr, krr))
    none = ldp.JointCounts.from_table(np.zeros((2, 2), int), (other, krr))
    alone = ldp.AssociationModel(some).fit()
    for groups in ([some, none], [none, some]):
        beside = quiet(ldp.AssociationModel(groups).fit)
        np.testing.assert_array_equal(beside.table, alone.table)
        assert beside.test_independence().pvalue == alone.test_independence().pvalue
        assert (beside.epsilon, beside.n_strata, beside.sources) == (2.0, 1, alone.sources)
    with pytest.raises(ldp.InvalidArgument, match="hold no report"):
        ldp.AssociationModel([none, none]).fit()
