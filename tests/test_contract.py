"""What every mechanism and every estimator must satisfy, against ``matrix()`` as the oracle."""

import json
import warnings
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import (
    ESTIMATORS,
    EVERY_KIND,
    MECHANISMS,
    all_reports,
    bit_means,
    candidates,
    channel,
    distribution,
    expected_counts,
    hidden,
    per_cohort,
    report_codes,
)
from scipy import stats

import ldpstats as ldp
from ldpstats.devices import cohorts, library
from ldpstats.estimators import ESTIMATORS as KNOWN_ESTIMATORS
from ldpstats.mechanisms.base import KINDS

DRAWS = 200_000
LEVEL = 1e-6  # of each goodness-of-fit test: with fixed seeds a failure means a wrong law

every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())


def test_the_grid_is_complete():
    # a device with unknown parameters has no channel until they are known
    known = set(KINDS) - {"UnknownDevice"}
    assert {type(m).__name__ for m in MECHANISMS.values()} == known
    assert set(ESTIMATORS) == set(KNOWN_ESTIMATORS)


def brute_epsilon(Q: np.ndarray, sensitive: np.ndarray | None = None) -> float:
    """Largest log ratio of two entries in a column, pair by pair.

    Where not all categories are sensitive, columns that one of the others alone can give reveal it
    and are left out (MK19 Definition 2).
    """
    worst = 0.0
    for column in Q.T[Q.max(axis=0) > 0.0]:
        makers = np.flatnonzero(column)
        if sensitive is not None and makers.size == 1 and not sensitive[makers[0]]:
            continue
        for high in column:
            for low in column:
                if high > low:
                    worst = max(worst, np.inf if low == 0.0 else float(np.log(high / low)))
    return worst


@every_mechanism
def test_channel(mechanism):
    structured = channel(mechanism)
    Q = structured.matrix()
    k = len(mechanism.labels(candidates(mechanism)))
    assert Q.shape == structured.shape
    assert Q.shape == (k, per_cohort(mechanism) * max(mechanism.n_cohorts, 1))
    assert Q.min() >= 0.0
    np.testing.assert_allclose(Q.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    p = distribution(k)
    np.testing.assert_allclose(structured.forward(p), p @ Q, rtol=0, atol=1e-12)
    y = all_reports(mechanism).y
    groups = y if not mechanism.n_cohorts else np.split(y, mechanism.n_cohorts)
    np.testing.assert_allclose(structured.likelihood(groups), Q.T, rtol=0, atol=1e-12)


@every_mechanism
def test_matrix(mechanism):
    if mechanism.is_open:
        with pytest.raises(ldp.NotAvailable, match=r"channel\(candidates\).matrix\(\)"):
            mechanism.matrix()
        return
    table = mechanism.matrix()
    np.testing.assert_array_equal(table.to_numpy(), mechanism.channel().matrix())
    assert table.index.equals(mechanism.categories)
    assert table.columns.tolist() == mechanism.report_labels(all_reports(mechanism)).tolist()


@pytest.mark.parametrize(
    "made, says",
    [
        (ldp.KRAPPOR(40, epsilon=1.0), r"2\^40 patterns: use channel\(\)\.likelihood"),
        (ldp.SubsetSelection(40, epsilon=1.0), r"use channel\(\)\.likelihood"),
        (ldp.PUM(ldp.URR(3, {0}, epsilon=1.0), ("home",)), r"common\.matrix\(\)"),
        (
            ldp.devices.flip(ldp.devices.unknown("c"))
            .when({"heads": ldp.devices.truth}, otherwise="yes")
            .mechanism(("no", "yes")),
            r"at\(c=\.\.\.\)",
        ),
    ],
    ids=["bits", "subsets", "personal", "unknown"],
)
def test_a_matrix_that_cannot_be_shown(made, says):
    with pytest.raises(ldp.NotAvailable, match=says):
        made.matrix()


@every_mechanism
def test_likelihood(mechanism):
    counts = expected_counts(mechanism, distribution(channel(mechanism).shape[0]), 1e6)
    problem = mechanism.likelihood(counts, candidates(mechanism))
    rows, Q = problem.W, channel(mechanism).matrix()
    # cohort sizes are ancillary: the likelihood is that given the cohorts, in any order of reports
    W = Q.T * max(mechanism.n_cohorts, len(mechanism.cohort_parts), 1)
    scaled = rows.dense() * np.exp(rows.log_scale)[:, None]
    np.testing.assert_allclose(scaled, W, rtol=0, atol=1e-12)
    p, v = distribution(Q.shape[0]), np.linspace(1.0, 2.0, len(W))
    scaled = rows.dense()
    np.testing.assert_allclose(rows.mix(p), scaled @ p, rtol=1e-12)
    np.testing.assert_allclose(rows.adjoint(v), v @ scaled, rtol=1e-12)
    np.testing.assert_allclose(rows.gram(v), (scaled.T * v) @ scaled, rtol=1e-12)


def all_answers(mechanism: ldp.Mechanism) -> ldp.channels.Channel:
    """The channel of every answer that there can be: of hashed ones, every Bloom filter."""
    if not mechanism.n_cohorts:
        return mechanism.channel()
    labels = range(mechanism.n_cells)
    filters = list(product(labels, repeat=mechanism.n_owned))
    return mechanism._cohort_channel(np.array(filters))


@every_mechanism
def test_epsilon_is_proved_from_the_channel(mechanism):
    audit = mechanism.audit()
    assert audit.declared == mechanism.epsilon
    partly = mechanism.sensitive is not None
    brute = brute_epsilon(all_answers(mechanism).matrix(), hidden(mechanism) if partly else None)
    if partly and not len(mechanism.sensitive):  # nothing is protected: there is nothing to claim
        assert brute == audit.channel == audit.sampler == 0.0
        assert audit.agrees
        return
    if np.isinf(brute):
        assert audit.declared == audit.channel == audit.sampler == np.inf
        return
    # a log ratio of two doubles carries a relative error of about k ulp of each of them
    assert audit.declared == pytest.approx(brute, abs=1e-12, rel=1e-12)
    assert audit.channel == pytest.approx(brute, abs=1e-12, rel=1e-12)
    assert audit.sampler == pytest.approx(brute, abs=1e-12, rel=1e-9)
    assert audit.agrees


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """Pearson p-value; cells expected fewer than 5 times are pooled, impossible ones refused."""
    assert observed[expected == 0.0].sum() == 0, "a report of probability zero was made"
    small = expected < 5.0
    cells = np.append(observed[~small], observed[small].sum())
    means = np.append(expected[~small], expected[small].sum())
    keep = means > 0.0
    if keep.sum() < 2:
        return 1.0
    statistic = ((cells[keep] - means[keep]) ** 2 / means[keep]).sum()
    return float(stats.chi2.sf(statistic, keep.sum() - 1))


def sampled_pvalues(mechanism: ldp.Mechanism, draw, n: int, Q: np.ndarray) -> list[float]:
    """One chi-square p-value per category, n draws in all."""
    found = []
    labels = mechanism.labels(candidates(mechanism))
    each = n // len(labels)
    for x, label in enumerate(labels):
        codes = report_codes(draw(np.repeat(np.array([label]), each)))
        observed = np.bincount(codes, minlength=Q.shape[1])
        found.append(chi_square(observed, each * Q[x]))
    return found


@every_mechanism
def test_sampler_has_the_law_of_the_channel(mechanism):
    rng = np.random.default_rng(11)
    Q = channel(mechanism).matrix()
    p = sampled_pvalues(mechanism, lambda v: mechanism.privatize(v, rng), DRAWS, Q)
    assert min(p) * len(p) > LEVEL


@every_mechanism
def test_client_has_the_law_of_the_channel(mechanism):
    entropy = np.random.default_rng(12).bytes
    client = mechanism.collector(entropy, allow_no_privacy=True)
    Q = channel(mechanism).matrix()
    p = sampled_pvalues(mechanism, client.privatize, DRAWS, Q)
    assert min(p) * len(p) > LEVEL


def test_a_wrong_law_is_noticed():
    # negative control: five per cent of the mass moved, ten standard errors of 50,000 draws
    mechanism = MECHANISMS["krr-labels"]
    Q = 0.95 * mechanism.channel().matrix() + 0.05 * np.eye(4)
    rng = np.random.default_rng(11)
    p = sampled_pvalues(mechanism, lambda v: mechanism.privatize(v, rng), DRAWS, Q)
    assert max(p) < LEVEL


@every_mechanism
def test_drawn_counts_have_the_law_of_the_reports(mechanism):
    # `draw` against the channel at 5 standard errors: means; variances, each of which is known to
    # sqrt(2 / R) (7 % for R = 400); and the mean of all of them, which its own spread tells to 1 to
    # 4 %
    rng = np.random.default_rng(13)
    Q = channel(mechanism)
    p = distribution(Q.shape[0])
    nobs, R, among = 500, 400, candidates(mechanism)
    draws = np.array([_vector(mechanism.draw(p, nobs, rng, among)) for _ in range(R)])
    mean = bit_means(mechanism, p) if mechanism.n_bits else Q.forward(p)
    assert _drawn_alike(draws, nobs, mean)
    if mechanism.n_cohorts:  # controls: counts 35 % too variable, or of a law 5 % off
        away = nobs * mean
        assert not _drawn_alike(away + np.sqrt(1.35) * (draws - away), nobs, mean)
        assert not _drawn_alike(draws * 1.05, nobs, mean)


def _drawn_alike(draws: np.ndarray, nobs: int, mean: np.ndarray) -> bool:
    """Whether R draws, (R, l), have the means and variances of nobs reports."""
    R, variance = len(draws), nobs * mean * (1 - mean)
    busy = variance > 5
    if np.any(np.abs(draws.mean(axis=0) - nobs * mean) > 5 * np.sqrt(variance / R) + 1e-9):
        return False
    squares = (draws - nobs * mean)[:, busy] ** 2 / variance[busy]
    together = squares.mean(axis=1)
    each = np.all(np.abs(squares.mean(axis=0) - 1) < 5 * np.sqrt(2 / R))
    return bool(each and abs(together.mean() - 1) < 5 * together.std() / np.sqrt(R) + 1e-9)


def _vector(counts: ldp.Counts | ldp.BitCounts) -> np.ndarray:
    return (counts.ones if isinstance(counts, ldp.BitCounts) else counts.vector()).reshape(-1)


BY_KIND = {
    "labels": "custom-wide",
    "bits": "generalised-rappor",
    "subsets": "subsets",
    "blocks": "hadamard-parts",
    "lumped": "lumped",
    "sensitive": "urap-levels-theta",
    "cohorts": "rappor-lifetime",
    "pooled": "device-cohorts",
}  # one mechanism of each kind of equations: with it, every estimator


@pytest.mark.parametrize("name", MECHANISMS)
def test_estimators_recover_p_from_expected_counts(name):
    recovers(MECHANISMS[name], ESTIMATORS if name in BY_KIND.values() else ("mle", "inversion"))


def recovers(mechanism: ldp.Mechanism, methods: Iterable[str]) -> None:
    p = distribution(channel(mechanism).shape[0])
    # rounding to whole counts of 1e14 leaves an error below 1e-7 even where the noise is strongest
    counts = expected_counts(mechanism, p, 1e14)
    model = ldp.FrequencyModel(counts, candidates(mechanism))
    kind = model.moments().kind
    for method in methods:
        if kind not in ESTIMATORS[method]:
            with pytest.raises(ldp.NotAvailable, match=r"unary|bit|hash"):
                model.fit(method)
            continue
        results = model.fit(method)
        assert results.converged, method
        if method == "em-fpe16":  # it stops where steps are small, wherever that is
            fitted = results.params.to_numpy()
            gain = model.likelihood().score(fitted) / counts.nobs - 1.0  # of a step of EM
            assert np.abs(fitted * gain).max() < 1e-6
            continue
        np.testing.assert_allclose(results.params, p, rtol=0, atol=2e-6, err_msg=method)
        assert list(results.params.index) == list(mechanism.labels(candidates(mechanism)))


def test_one_mechanism_of_each_kind_meets_every_estimator():
    assert set(BY_KIND) == EVERY_KIND
    for kind, name in BY_KIND.items():
        mechanism = MECHANISMS[name]
        counts = expected_counts(mechanism, distribution(channel(mechanism).shape[0]), 1e6)
        assert ldp.FrequencyModel(counts, candidates(mechanism)).moments().kind == kind


def test_counts_of_a_wrong_mechanism_do_not_recover_p():
    # negative control for the test above
    p = distribution(4)
    counts = expected_counts(ldp.KRR(4, epsilon=1.0), p, 1e12)
    wrong = ldp.KRR(4, epsilon=1.2).counts(counts.vector())
    assert np.abs(ldp.FrequencyModel(wrong).fit().params - p).max() > 1e-2


@every_mechanism
def test_specification_round_trip(mechanism):
    document = json.loads(json.dumps(mechanism.to_dict()))
    again = ldp.mechanism_from_dict(document)
    assert again == mechanism
    assert again.fingerprint == mechanism.fingerprint
    among = candidates(mechanism)
    assert list(again.labels(among)) == list(mechanism.labels(among))
    np.testing.assert_array_equal(channel(again).matrix(), channel(mechanism).matrix())


def test_fingerprints_differ():
    assert len({m.fingerprint for m in MECHANISMS.values()}) == len(MECHANISMS)


@every_mechanism
def test_text_form_of_reports_round_trip(mechanism):
    reports = all_reports(mechanism)
    again = mechanism.parse("reports", mechanism.report_labels(reports))
    np.testing.assert_array_equal(again.y, reports.y)
    if mechanism.n_cohorts:
        np.testing.assert_array_equal(again.cohort, reports.cohort)
    # designs that protect nobody are in the grid too
    client = mechanism.client(allow_no_privacy=True)
    report = json.loads(json.dumps(client.report(mechanism.labels(candidates(mechanism))[0])))
    assert len(mechanism.parse("report", [report])) == 1
    np.testing.assert_array_equal(
        mechanism.parse("report", [str(report)]).y, mechanism.parse("report", [report]).y
    )


@every_mechanism
def test_counts_add_up_over_chunks(mechanism):
    rng = np.random.default_rng(14)
    values = rng.choice(np.asarray(mechanism.labels(candidates(mechanism))), size=3_000)
    reports = mechanism.privatize(values, rng)
    chunks = [
        ldp.Reports(
            reports.y[i::3],
            mechanism,
            cohort=None if reports.cohort is None else reports.cohort[i::3],
        )
        for i in range(3)
    ]
    whole = reports.tally()
    total = sum((chunk.tally() for chunk in chunks), start=mechanism.no_counts())
    np.testing.assert_array_equal(total.y, whole.y)
    np.testing.assert_array_equal(total.n, whole.n)
    np.testing.assert_array_equal(total.cohort, whole.cohort)
    np.testing.assert_array_equal(total.noise, whole.noise)
    if mechanism.n_bits:
        bits = sum((chunk.tally(bits=True) for chunk in chunks), start=mechanism.no_counts())
        np.testing.assert_array_equal(bits.ones, reports.tally(bits=True).ones)
        np.testing.assert_array_equal(bits.ones, whole.bit_counts().ones)
        np.testing.assert_array_equal(bits.reports, whole.bit_counts().reports)
        assert bits.nobs == whole.nobs == 3_000


WARNERS = {"A": library.warner("9/10"), "B": library.warner("7/10")}
IN_GROUPS = {
    "groups": cohorts(WARNERS).mechanism(("no", "yes")),
    "groups-uneven": cohorts(WARNERS, {"A": "9/10", "B": "1/10"}).mechanism(("no", "yes")),
}


def interval_estimates(mechanism: Any) -> Iterator[tuple[str, Any, Any, float, float]]:
    """Unconstrained estimates, their intervals, and the least and largest value of these.

    Of a device of cohorts a quarter of those in the first cohort took part.
    """
    rng, n, among = np.random.default_rng(4), 240, candidates(mechanism)
    answers = np.asarray(mechanism.labels(among))
    reports = mechanism.privatize(answers[rng.choice(len(answers), n)], rng)
    if mechanism.cohort_parts:
        first = np.isin(reports.y, mechanism.cohort_parts[0].places)
        reports = reports[~first | (rng.random(n) < 0.25)]
    area, n = rng.integers(2, size=len(reports)), len(reports)
    paid = ldp.KRR(("no", "yes"), epsilon=1.0)
    late = paid.privatize(rng.choice(["no", "yes"], n), rng)

    one = ldp.FrequencyModel(reports, among).fit()
    yield "frequencies", one.linear_params, one.conf_int(clip=False), -np.inf, np.inf
    found = one.difference(*one.params.index[:2])
    yield "difference", found[["estimate"]], [found[["lower", "upper"]]], -1.0, 1.0
    fits = ldp.GroupedModel({a: reports[area == a] for a in (0, 1)}, candidates=among).fit()
    each = np.concatenate([fit.linear_params for fit in fits.fits])
    yield "domains", each, fits.conf_int(clip=False), -np.inf, np.inf
    apart = fits.differences()
    yield "differences", apart["estimate"], apart[["lower", "upper"]], -1.0, 1.0
    table = ldp.AssociationModel(reports, late, candidates=[among, None]).fit()
    yield "table", table.linear_params, table.conf_int(clip=False), -np.inf, np.inf

    columns = {"q": mechanism.report_labels(reports), "late": paid.report_labels(late)}
    frame = pd.DataFrame({**columns, "area": area, "w": rng.uniform(1.0, 3.0, n)})
    survey = ldp.Survey(frame, {"q": mechanism, "late": paid}, weights="w")
    for by in (None, "area"):
        weighted = survey.frequencies("q", by=by, candidates=among)
        yield (
            f"weighted {by}",
            weighted.linear_params,
            weighted.conf_int(clip=False),
            -np.inf,
            np.inf,
        )
    apart = weighted.differences()
    yield "weighted differences", apart["estimate"], apart[["lower", "upper"]], -1.0, 1.0
    ratio = weighted.ratio(*weighted.categories[:2])
    yield "weighted ratio", ratio["estimate"], ratio[["lower", "upper"]], 0.0, np.inf
    crossed = survey.association("q", "late", candidates=[among, None])
    yield "weighted table", crossed.linear_params, crossed.conf_int(clip=False), -np.inf, np.inf


@pytest.mark.parametrize("name", [*BY_KIND.values(), "custom-tiny", *IN_GROUPS])
def test_an_interval_contains_its_estimate(name):
    mechanism = IN_GROUPS[name] if name in IN_GROUPS else MECHANISMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.LDPWarning)  # of short lists and weak channels
        for what, estimate, interval, least, most in interval_estimates(mechanism):
            value = np.clip(np.asarray(estimate, dtype=float), least, most)
            lower, upper = np.asarray(interval, dtype=float).T
            known = ~np.isnan(value + lower)
            assert known.any() or what == "weighted ratio"
            slack = 1e-9 * (1.0 + np.abs(value[known]))
            assert np.all(lower[known] <= value[known] + slack), what
            assert np.all(value[known] <= upper[known] + slack), what
