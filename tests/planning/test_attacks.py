"""What malicious respondents can do: the shifts against the attack itself, report by report."""

from collections.abc import Callable, Iterable
from typing import Any

import grid
import numpy as np
import pandas as pd
import pytest
from shared.refusals import refuses

import ldpstats as ldp
from ldpstats import planning

SHARE = 0.1
N = 10**12  # so many reports that rounding to whole counts does not matter
NAMES = list(grid.MECHANISMS)
QUICK = ("orr", "orr-closed", "orappor-overlap", "rappor-inverted")  # of those with cohorts


def named(names: Iterable[str], slow: Callable[[str], bool]) -> list[Any]:
    return [pytest.param(n, marks=pytest.mark.slow) if slow(n) else n for n in names]


ALONE = named((n for n in NAMES if grid.MECHANISMS[n].n_cohorts < 2), lambda n: n == "urap-bytes")
COHORTS = named((n for n in NAMES if grid.MECHANISMS[n].n_cohorts > 1), lambda n: n not in QUICK)


def setting(name: str) -> tuple[ldp.Mechanism, np.ndarray, Any]:
    mechanism = grid.MECHANISMS[name]
    candidates = grid.candidates(mechanism)
    return mechanism, grid.distribution(3 if candidates else mechanism.k), candidates


def attacked(
    mechanism: ldp.Mechanism, p: np.ndarray, candidates: Any, bad: dict[int, float]
) -> np.ndarray:
    """The linear estimate from expected counts of honest reports and shares of bad ones.

    `bad` has the share of all reports that are malicious, by column of the channel.
    """
    counts = grid.expected_counts(mechanism, p, N * (1.0 - sum(bad.values())))
    n = counts.n.copy()
    for column, share in bad.items():
        n[column] += round(N * share)
    noise = counts.noise
    both = ldp.Counts(counts.y, n, mechanism, cohort=counts.cohort, noise=noise)
    return np.asarray(mechanism.moments(both, candidates).estimate()[0])


@pytest.mark.parametrize("name", ALONE)
def test_shifts_are_those_of_the_best_report(name):
    """By brute force over all reports, for every mechanism of the grid without cohorts."""
    mechanism, p, candidates = setting(name)
    found = planning.manipulation(mechanism, SHARE, p, candidates, method="inversion")
    columns = np.flatnonzero(grid.channel(mechanism).matrix().any(axis=0))
    moved = np.array([attacked(mechanism, p, candidates, {y: SHARE}) - p for y in columns])
    np.testing.assert_allclose(found.upward, moved.max(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.downward, moved.min(axis=0), atol=1e-9)
    labels = found.p.index
    for first, second in ((0, 1), (p.size - 1, 0)):
        shift = found.difference(labels[first], labels[second])
        apart = moved[:, first] - moved[:, second]
        assert shift.upward == pytest.approx(apart.max(), abs=1e-9)
        assert shift.downward == pytest.approx(apart.min(), abs=1e-9)
        assert shift.largest == max(shift.upward, -shift.downward)


@pytest.mark.parametrize("name", COHORTS)
def test_shifts_in_assigned_and_in_chosen_cohorts(name):
    mechanism, p, candidates = setting(name)
    C, m = mechanism.n_cohorts, grid.per_cohort(mechanism)
    made = np.flatnonzero(grid.channel(mechanism).matrix().any(axis=0))
    assigned = planning.manipulation(mechanism, SHARE, p, candidates)
    small = np.array(
        [attacked(mechanism, p, candidates, {int(c * m + made[0]): SHARE / C for c in range(C)})]
    )[0]
    for x in (0, p.size - 1):
        best = {}
        for c in range(C):
            trial = {}
            for y in made[made // m == c]:
                others = {int(d * m + made[0]): SHARE / C for d in range(C) if d != c}
                trial[int(y)] = attacked(mechanism, p, candidates, others | {int(y): SHARE / C})[x]
            best[max(trial, key=lambda y: trial[y])] = SHARE / C
        reached = attacked(mechanism, p, candidates, best)[x]
        assert reached >= small[x] - 1e-9
        assert assigned.upward.iloc[x] == pytest.approx(reached - p[x], abs=1e-9)
    chosen = planning.manipulation(mechanism, SHARE, p, candidates, cohorts="chosen")
    moved = np.array([attacked(mechanism, p, candidates, {int(y): SHARE}) - p for y in made])
    np.testing.assert_allclose(chosen.upward, moved.max(axis=0), atol=1e-9)
    np.testing.assert_allclose(chosen.downward, moved.min(axis=0), atol=1e-9)
    first, second = assigned.p.index[:2]
    apart = moved[:, 0] - moved[:, 1]
    assert chosen.difference(first, second).upward == pytest.approx(apart.max(), abs=1e-9)
    assert assigned.difference(first, second).upward <= apart.max() + SHARE


@pytest.mark.parametrize(("epsilon", "reading"), [(0.5, 0.106), (1, 0.077), (2, 0.064), (4, 0.060)])
def test_one_per_cent_among_four_categories(epsilon, reading):
    """The true share is .05."""
    found = planning.manipulation(ldp.KRR(4, epsilon), 0.01, [0.05, 0.25, 0.3, 0.4])
    assert 0.05 + found.upward[0] == pytest.approx(reading, abs=5e-4)
    e = np.exp(epsilon)
    assert found.upward[0] == pytest.approx(0.01 * ((e + 2) / (e - 1) - 0.05))


def test_bits_are_free_and_labels_are_not():
    """Closed forms: k-RAPPOR with p1 - p0 = d and k-RR with a = (e - 1) / (e + k - 1)."""
    k, s = 5, 0.02
    unary, krr = ldp.KRAPPOR(k, 1.0), ldp.KRR(k, 1.0)
    d, a = unary.p1 - unary.p0, (np.e - 1) / (np.e + k - 1)
    bits, labels = (planning.manipulation(m, s, method="inversion") for m in (unary, krr))
    assert bits.upward.to_numpy() == pytest.approx(s * ((1 - unary.p0) / d - 1 / k))
    assert bits.downward.to_numpy() == pytest.approx(s * (-unary.p0 / d - 1 / k))
    assert labels.upward.to_numpy() == pytest.approx(s * ((1 - (1 - a) / k) / a - 1 / k))
    assert bits.difference(0, 1).upward == pytest.approx(s / d)
    assert labels.difference(0, 1).upward == pytest.approx(s / a)


def test_what_a_share_of_one_standard_error_is():
    p = [0.05, 0.25, 0.3, 0.4]
    found = planning.manipulation(ldp.KRR(4, 1.0), 0.01, p, n=10_000)
    assert found.se is not None and found.table.columns.tolist() == [
        "p",
        "upward",
        "downward",
        "se",
    ]
    precise = np.sqrt(planning.expected_loss(ldp.KRR(4, 1.0), p, 10_000, loss="l2"))
    assert np.sqrt((found.se**2).sum()) == pytest.approx(precise)
    text = str(found.summary())
    for words in ("raised by", "std err", "10,000", "1%", "Goodness of fit"):
        assert words in text
    assert "std err" not in str(planning.manipulation(ldp.KRR(4, 1.0), 0.01, p))
    hashed = planning.manipulation(ldp.ORR(4, 8, epsilon=1.0), 0.01, candidates=("a", "b"))
    assert "were given" in str(hashed)
    few = str(planning.manipulation(ldp.KRR(100, 1.0), 0.01).summary(max_rows=5))
    assert len(few.splitlines()) < 25


def test_nobody_moves_nothing_and_p_is_matched_by_label():
    krr = ldp.KRR(("a", "b", "c"), 1.0)
    none = planning.manipulation(krr, 0.0)
    assert not none.upward.any() and not none.downward.any()
    p = pd.Series([0.5, 0.3, 0.2], index=["c", "a", "b"])
    assert planning.manipulation(krr, 0.1, p).p.tolist() == [0.3, 0.2, 0.5]
    zero = planning.manipulation(krr, 0.1, [1.0, 0.0, 0.0])
    assert zero.upward["b"] > zero.upward["a"] > 0 > zero.downward["a"]


def test_many_categories():
    found = planning.manipulation(ldp.KRR(10**5, 2.0), 1e-4, n=10**6)
    assert len(found.table) == 10**5 and np.isfinite(found.table).all(axis=None)
    tiny = planning.manipulation(ldp.KRR(1000, 1e-6), 0.01)
    assert tiny.upward[0] == pytest.approx(0.01 * 1000 / 1e-6 * 0.999, rel=1e-3)


def simulated(mechanism: Any, pattern: str, R: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Linear estimates and p-values of goodness of fit; 2 % attack the first category of four."""
    p, n, bad = np.array([0.05, 0.25, 0.3, 0.4]), 5_000, 100
    rng, estimates, pvalues = np.random.default_rng(seed), [], []
    for _ in range(R):
        honest = mechanism.privatize(rng.choice(4, n - bad * (pattern != "none"), p=p), rng)
        y = honest.y
        if pattern == "label":
            y = np.append(y, np.zeros(bad, dtype=y.dtype))
        elif pattern != "none":
            bits = rng.random((bad, 4)) < (1.0 if pattern == "all bits" else mechanism.p0)
            bits[:, 0] = True
            y = np.vstack([y, np.packbits(bits, axis=1, bitorder="little")])
        counts = ldp.Reports(y, mechanism).tally()
        results = ldp.FrequencyModel(counts).fit("inversion")
        estimates.append(results.linear_params.to_numpy())
        pvalues.append(results.goodness_of_fit.pvalue)
    return np.array(estimates), np.array(pvalues)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")
def test_the_attack_itself_moves_estimates_so_far_and_goodness_of_fit_does_not_see_it(replications):
    R = replications(1000)
    for mechanism, pattern in ((ldp.KRR(4, 1.0), "label"), (ldp.KRAPPOR(4, 1.0), "one bit")):
        p = [0.05, 0.25, 0.3, 0.4]
        found = planning.manipulation(mechanism, 0.02, p, method="inversion")
        moved, pvalues = simulated(mechanism, pattern, R, 1)
        error = moved[:, 0].std() / np.sqrt(R)
        assert abs(moved[:, 0].mean() - 0.05 - found.upward[0]) < 4.0 * error
        assert found.upward[0] > 20.0 * error  # an estimate that ignored them would be seen
        level = 4.0 * np.sqrt(0.05 * 0.95 / R)
        assert np.mean(pvalues < 0.05) < 0.05 + level
        assert np.mean(simulated(mechanism, "none", R, 2)[1] < 0.05) < 0.05 + level
    # control: those who set all bits go as far, and are seen
    mechanism = ldp.KRAPPOR(4, 1.0)
    moved, pvalues = simulated(mechanism, "all bits", R, 3)
    assert abs(moved[:, 0].mean() - 0.05 - found.upward[0]) < 4.0 * moved[:, 0].std() / np.sqrt(R)
    assert np.mean(pvalues < 0.05) > 0.1


KRR = ldp.KRR(3, 1.0)
ORR = ldp.ORR(4, 8, epsilon=1.0)
BAD = [
    *refuses(
        "mechanism",
        lambda v: planning.manipulation(v, 0.1),
        {"none": None, "text": "krr", "array": np.eye(3), "class": ldp.KRR},
    ),
    *refuses(
        "share",
        lambda v: planning.manipulation(KRR, v),
        {
            "none": None,
            "one": 1.0,
            "negative": -0.1,
            "nan": np.nan,
            "true": True,
            "text": ".1",
            "list": [0.1],
            "two": 2,
        },
    ),
    *refuses(
        "p",
        lambda v: planning.manipulation(KRR, 0.1, v),
        {
            "two": [0.5, 0.5],
            "sum": [0.5, 0.5, 0.5],
            "negative": [1.5, -0.5, 0.0],
            "nan": [np.nan, 0.5, 0.5],
            "text": "p",
            "number": 0.5,
        },
    ),
    *refuses(
        "n",
        lambda v: planning.manipulation(KRR, 0.1, n=v),
        {"zero": 0, "half": 0.5, "true": True, "text": "1", "huge": 10**30},
    ),
    *refuses(
        "cohorts",
        lambda v: planning.manipulation(KRR, 0.1, cohorts=v),
        {"none": None, "text": "all", "no cohorts": "chosen"},
    ),
    *refuses(
        "first",
        lambda v: planning.manipulation(KRR, 0.1).difference(v, 1),
        {"none": None, "outside": 3, "text": "a", "list": [0]},
    ),
    *refuses("second", lambda v: planning.manipulation(KRR, 0.1).difference(1, v), {"same": 1}),
    *refuses(
        "max_rows",
        lambda v: planning.manipulation(KRR, 0.1).summary(v),
        {"zero": 0, "text": "all"},
    ),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    case.check()


def test_candidates_are_for_open_alphabets():
    with pytest.raises(ldp.NotAvailable):
        planning.manipulation(KRR, 0.1, candidates=("a",))
    with pytest.raises(ldp.NotIdentified):
        planning.manipulation(ldp.CustomMechanism([[0.5, 0.5], [0.5, 0.5]]), 0.1)
    with pytest.raises(ldp.LDPError, match="candidates"):
        planning.manipulation(ORR, 0.1)


# -- the estimate from the likelihood --------------------------------------------------------

ODD = np.array([0.05, 0.25, 0.3, 0.25, 0.1, 0.05])
BITS_AND_BLOCKS = [
    ldp.KRAPPOR(6, 1.0),
    ldp.KRAPPOR(6, 2.0, theta=0.5),
    ldp.URAP(6, [1, 4], 1.5),
    ldp.SubsetSelection(6, 1.0),
    ldp.HadamardResponse(6, 1.0),
]


@pytest.mark.parametrize("mechanism", BITS_AND_BLOCKS, ids=str)
def test_shifts_of_the_estimate_from_the_likelihood(mechanism):
    """By the influence of every possible report, from the matrix of the channel."""
    found = planning.manipulation(mechanism, 0.01, ODD)
    Q = np.asarray(mechanism.channel().matrix())
    Q = Q[:, Q.any(axis=0)]
    scores = Q / (ODD @ Q)
    V = np.linalg.inv(scores @ Q.T) - np.outer(ODD, ODD)
    moved = 0.01 * V @ scores
    np.testing.assert_allclose(found.upward, moved.max(axis=1), rtol=1e-6)
    np.testing.assert_allclose(found.downward, moved.min(axis=1), rtol=1e-6)
    apart = moved[0] - moved[3]
    assert found.difference(0, 3).upward == pytest.approx(apart.max(), rel=1e-6)


def test_default_fits_are_moved_as_far():
    """The worst pattern of bits, sent by one per cent of a survey."""
    mechanism, n, share = ldp.KRAPPOR(6, 1.0), 200_000, 0.01
    rng = np.random.default_rng(5)
    honest = mechanism.privatize(rng.choice(6, int(n * (1.0 - share)), p=ODD), rng)
    bad = np.repeat(np.array([[1]], dtype=np.uint8), int(n * share), axis=0)  # bit 0 alone
    both = ldp.Reports(np.concatenate([honest.y, bad]), mechanism)
    with pytest.warns(ldp.errors.MisfitWarning, match="number of ones"):
        fit = ldp.FrequencyModel(both).fit()
    found = planning.manipulation(mechanism, share, ODD, n=n)
    assert found.upward[0] == pytest.approx(fit.linear_params[0] - ODD[0], rel=0.15)
    inversion = planning.manipulation(mechanism, share, ODD, method="inversion")
    assert found.upward[0] > 1.9 * inversion.upward[0]
