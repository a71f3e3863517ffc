"""Every design of the library satisfies the contract that the mechanisms of the grid satisfy."""

from __future__ import annotations

import numpy as np
import pytest
import test_contract as contract
from devices.designs import MECHANISMS

import ldpstats as ldp

every_design = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())


@every_design
def test_channel_epsilon_and_specification(mechanism) -> None:
    contract.test_channel(mechanism)
    contract.test_likelihood(mechanism)
    contract.test_epsilon_is_proved_from_the_channel(mechanism)
    contract.test_specification_round_trip(mechanism)
    contract.test_text_form_of_reports_round_trip(mechanism)
    contract.test_counts_add_up_over_chunks(mechanism)
    contract.recovers(mechanism, ("mle", "inversion"))


def test_a_design_like_a_mechanism_of_the_package_is_recognised() -> None:
    same = {
        "warner": ldp.Warner(epsilon=np.log(7 / 3)),
        "forced-dice": ldp.Warner(epsilon=np.log(5)),
        "forced-cards": ldp.Warner(epsilon=np.log(9)),
        "forced-coins": ldp.Warner(epsilon=np.log(3)),
        "mangat-singh": ldp.Warner(epsilon=np.log(4)),
        "mangat": ldp.Mangat(p=0.6),
    }
    for name, mechanism in same.items():
        found = MECHANISMS[name].equivalent
        assert found is not None, name
        Q, expected = found.channel().matrix(), mechanism.channel().matrix()
        np.testing.assert_allclose(Q, expected, rtol=0, atol=1e-15, err_msg=name)
    for name in ("forced-response", "unrelated-question"):
        found = MECHANISMS[name].equivalent
        assert isinstance(found, ldp.ForcedResponse | ldp.UnrelatedQuestion), name
    for name in ("kuk-3", "christofides", "triangular"):
        assert MECHANISMS[name].equivalent is None
