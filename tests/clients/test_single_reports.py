"""One answer takes a short way to its report: the same law, words and errors as many."""

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.sampling import samplers

Q = np.array([[0.8, 0.2, 0.0, 0.0], [0.2, 0.7, 0.1, 0.0], [0.1, 0.1, 0.3, 0.5]])
LABELS = ("a", "b", "c")

MECHANISMS = [
    ldp.KRR(LABELS, epsilon=1.0),
    ldp.KRR(3, epsilon=0.01),
    ldp.KRR((10, 20, 30), epsilon=9.0),
    ldp.KRR(("a", 1, 2.5), epsilon=1.0),
    ldp.KRR((True, "x"), epsilon=1.0),
    ldp.Warner(epsilon=1.0),
    ldp.CustomMechanism(Q, LABELS),
    ldp.CustomMechanism(Q, LABELS, outputs=(5, 6, 7, 8)),
    ldp.URR(LABELS, sensitive={"b"}, epsilon=1.0),
    ldp.KRAPPOR(LABELS, epsilon=1.0),
    ldp.URAP(LABELS, sensitive={"b", "c"}, epsilon=1.0),
    ldp.Observed(LABELS),
    ldp.ORR(n_outputs=4, n_cohorts=3, epsilon=1.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_report_is_that_of_the_long_way(mechanism):
    answers = ["a", "ä"] if mechanism.is_open else mechanism.categories.tolist()
    for answer in answers:
        for seed in range(6):
            entropy = np.random.default_rng(seed).bytes
            client = mechanism.client(entropy, reports=None, allow_no_privacy=True)
            sent = [client.report(answer), client.report(answer)]
            many = mechanism.collector(np.random.default_rng(seed).bytes, allow_no_privacy=True)
            draws = [many.privatize([answer]) for _ in sent]
            expected = mechanism.report_labels(draws[0]).tolist()
            expected += mechanism.report_labels(draws[1]).tolist()
            assert sent == expected and [type(s) for s in sent] == [type(e) for e in expected]


@pytest.mark.parametrize("mechanism", MECHANISMS[:-1], ids=str)
@pytest.mark.parametrize(
    "answer", [None, float("nan"), pd.NA, "z", 7, 2**70, -1, True, 1.0, b"a", [], np.int64(1)]
)
def test_what_is_no_answer_is_refused_in_the_same_words(mechanism, answer):
    collector = mechanism.collector(allow_no_privacy=True)
    try:
        collector.privatize([answer])
    except ldp.errors.InvalidArgument as error:
        told = str(error).replace("values[0]", "value").replace("values=", "value=")
        with pytest.raises(type(error)) as refused:
            collector.report(answer)
        assert str(refused.value) == told
    else:
        assert collector.report(answer) is not None


def test_rows_of_few_users_are_those_of_all():
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.ones(40) * 0.1, size=40) * (rng.random((40, 40)) < 0.5)
    law[:, 0] += 1.0 - law.sum(axis=1)
    mechanism = ldp.CustomMechanism(law)
    for codes in ([], [3], [39, 3, 3, 0], rng.integers(0, 40, 39), rng.integers(0, 40, 200)):
        codes = np.asarray(codes, dtype=np.int64)
        found = mechanism.sample(codes, samplers.simulation_words(np.random.default_rng(2)))
        rows = samplers.integer_rows(mechanism.Q)
        every = samplers.sample_rows(
            codes, rows, samplers.simulation_words(np.random.default_rng(2))
        )
        assert np.array_equal(found, every)
    for codes in ([-1], [40], [0, 40]):
        with pytest.raises(ldp.errors.InvalidArgument):
            mechanism.sample(np.array(codes), samplers.simulation_words(np.random.default_rng(2)))
