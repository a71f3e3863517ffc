"""Logits with random intercepts: published fits, brute force, coverage, and what is refused."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from models.regression.references import logistic, report_law
from scipy.integrate import quad
from scipy.special import ndtr, softmax
from scipy.stats import norm, ttest_ind
from simulate import at_least, at_most, coverage, near, size

import ldpstats as ldp

# Contagious bovine pleuropneumonia in 15 herds by quarter (Lesnoff et al. 2004), as in lme4: new
# cases and animals of each herd and period; "-" where there was no visit
CASES = """2 3 4 0|3 1 1 -|8 2 0 2|2 0 2 0|5 0 0 1|3 0 0 1|8 1 3 0|12 - - -|2 0 0 0|1 1 0 2|0 5 3 1
|2 1 0 0|1 2 0 0|11 0 0 0|1 1 1 0"""
SIZES = """14 12 9 5|22 18 21 -|22 16 16 20|10 10 9 6|18 25 24 4|17 17 18 20|16 10 9 5|34 - - -
|9 6 8 6|22 22 18 22|25 27 22 22|10 8 6 5|21 24 19 23|19 2 3 2|19 15 15 15"""


def herds() -> tuple[pd.DataFrame, np.ndarray]:
    """A row for sick and healthy animals of each herd and period, and how many these are."""
    rows = []
    for herd, (cases, sizes) in enumerate(
        zip(CASES.split("|"), SIZES.split("|"), strict=True), start=1
    ):
        for period, (sick, n) in enumerate(zip(cases.split(), sizes.split(), strict=True), start=1):
            if n != "-":
                rows += [(herd, period, "yes", int(sick)), (herd, period, "no", int(n) - int(sick))]
    table = pd.DataFrame(rows, columns=["herd", "period", "sick", "n"])
    return table[table.n > 0].reset_index(drop=True), np.array(table.n[table.n > 0])


@pytest.fixture(scope="module")
def cattle():
    table, n = herds()
    reports = ldp.Observed(("no", "yes")).parse("sick", table.sick)
    model = ldp.regression(
        "sick ~ C(period) + (1 | herd)",
        table[["herd", "period"]],
        {"sick": reports},
        freq_weights=n,
    )
    return table, model.fit()


def group_loglik(A, eta, sd, inverse=logistic):
    """Log-likelihood of a group of two categories by integration over its intercept."""

    def integrand(b):
        p = inverse(eta + b)
        return np.prod(A[:, 0] * (1 - p) + A[:, 1] * p) * norm.pdf(b, scale=sd)

    value, _ = quad(integrand, -9 * sd, 9 * sd, epsabs=0, epsrel=1e-11, limit=400)
    return np.log(value)


def test_published_fit(cattle):
    """lme4 1.1-31, glmer(nAGQ = 25) iterated to 1e-14 (the default stops 2e-5 before).

    ``nloptwrap`` with xtol_abs, ftol_abs, xtol_rel and ftol_rel of 1e-14, tolPwrss 1e-13; standard
    errors of ``bobyqa``, rhoend 1e-10.
    """
    results = cattle[1].model.fit(cov_type="nonrobust")
    beta = [-1.399230441314217, -0.99140368495388, -1.127819473337511, -1.579470751121582]
    errors = [0.233511584258634, 0.306767973601803, 0.326768349823402, 0.427594377744853]
    assert results.params.to_numpy() == pytest.approx([*beta, 0.647518491793417], abs=1e-7)
    assert results.bse.to_numpy()[:4] == pytest.approx(errors, abs=5e-7)
    assert results.degrees is None


def test_groups_are_few():
    """Without noise it is restricted maximum likelihood, and t, of a balanced design.

    Groups so large that their levels are known all but exactly, of which half have z: a
    coefficient of groups has their number less two degrees of freedom, one within them many.
    """
    rng, G = np.random.default_rng(4), 12
    b = rng.normal(size=G)
    X = pd.DataFrame(
        [(1.0, x, g % 2, g) for g in range(G) for x in (-1, 1) for _ in "ab"],
        columns=["const", "x", "z", "group"],
    )
    p = logistic(0.3 * X.z + 0.5 * X.x + 0.8 * b[X.group])
    n = np.round(2_000_000 * np.where(np.arange(len(X)) % 2, p, 1 - p)).astype(int)
    seen = ldp.Observed(("no", "yes")).parse("y", np.tile(["no", "yes"], len(X) // 2))
    model = ldp.PrivatizedMixedLogit(seen, X[["const", "x", "z"]], X.group, freq_weights=n)
    results, plain = model.fit(), model.fit(cov_type="nonrobust")
    assert results.df_inference["z"] == pytest.approx(G - 2, abs=1e-3)
    assert results.df_inference["x"] > 1e6
    ratio = results.bse / plain.bse
    assert ratio["z"] == pytest.approx(np.sqrt(G / (G - 2)), abs=1e-4)
    assert ratio["x"] == pytest.approx(1.0, abs=1e-6)
    levels = 0.3 * (np.arange(G) % 2) + 0.8 * b  # known, they have the t test of two means
    test = ttest_ind(levels[1::2], levels[::2])
    found = results.t_test("z = 0")
    assert np.squeeze(found.tvalue) == pytest.approx(test.statistic, abs=1e-3)
    assert results.pvalues["z"] == pytest.approx(test.pvalue, abs=1e-4)
    together = results.wald_test("z = 0, const = 0")
    assert together.df_denom == pytest.approx(G - 2, abs=1e-3)
    left = np.concatenate([some - some.mean() for some in (levels[::2], levels[1::2])])

    def restricted(sd):
        return -(G - 2) * np.log(sd) - (left**2).sum() / (2 * sd**2)

    top = restricted(np.sqrt((left**2).sum() / (G - 2)))
    low, high = results.conf_int().loc["sd(group)"]
    assert top - restricted(low) == pytest.approx(1.9207, abs=5e-3)
    assert top - restricted(high) == pytest.approx(1.9207, abs=5e-3)
    with pytest.raises(ldp.NotIdentified, match="leave nothing to estimate"):
        few = X.group < 2
        some = seen[few.to_numpy()]
        own = X.loc[few, ["const", "x", "z"]], X.group[few]
        ldp.PrivatizedMixedLogit(some, *own, freq_weights=n[few] // 1000).fit()


def test_integration(cattle):
    """The likelihood is that by numerical integration, and its slope at the estimate is zero."""
    table, results = cattle
    X = np.column_stack([np.ones(len(table)), *(table.period == k for k in (2, 3, 4))])
    rows = [table.herd == herd for herd in table.herd.unique()]

    def loglik(theta):
        p = X @ theta[:-1]
        total = 0.0
        for there in rows:
            eta, n = np.repeat(p[there], table.n[there]), table.sick[there].repeat(table.n[there])
            A = np.column_stack([n == "no", n == "yes"]).astype(float)
            total += group_loglik(A, eta, theta[-1])
        return total

    theta = results.params.to_numpy()
    assert results.llf == pytest.approx(loglik(theta), abs=1e-7)
    step = 1e-4
    slope = np.array(
        [(loglik(theta + step * d) - loglik(theta - step * d)) / (2 * step) for d in np.eye(5)]
    )
    off = slope @ results.cov_params() * step  # a Newton step from the estimate, over the step
    assert np.abs(off).max() / step < 1e-5


def latent(Q, y, probabilities):
    """P(reports y) as a sum over all true answers of all respondents."""
    n, k = probabilities.shape
    return sum(
        np.prod([probabilities[i, x[i]] * Q[i][x[i], y[i]] for i in range(n)])
        for x in itertools.product(range(k), repeat=n)
    )


GRID = np.linspace(-9.0, 9.0, 361)  # the trapezoidal rule is exact for what is so smooth


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_latent_truths(link):
    """A few respondents in two groups, some asked directly, against sums over all true answers."""
    inverse = {"logit": logistic, "probit": ndtr, "cloglog": lambda e: 1 - np.exp(-np.exp(e))}[link]
    rng = np.random.default_rng(5)
    warner, seen = ldp.Warner(epsilon=1.0), ldp.Observed(("no", "yes"))
    parts = [
        warner.privatize(["no", "yes", "yes", "no", "yes"], rng),
        seen.parse("ill", ["yes", "no", "yes"]),
    ]
    group, x = np.array([0, 0, 0, 1, 1, 0, 1, 1]), rng.normal(size=8)
    X = np.column_stack([np.ones(8), x])
    model = ldp.PrivatizedMixedLogit(parts, X, group, link=link).with_nodes(80)
    beta, sd = np.array([-0.3, 0.7]), 1.3
    total = 0.0
    Q = [warner.channel().matrix()] * 5 + [np.eye(2)] * 3
    y = np.concatenate([part.y for part in parts])
    for g in (0, 1):
        there = np.flatnonzero(group == g)
        values = []
        for b in sd * GRID:
            p = inverse(X[there] @ beta + b)
            both = np.column_stack([1 - p, p])
            values.append(latent([Q[i] for i in there], y[there], both))
        total += np.log(np.trapezoid(np.array(values) * norm.pdf(GRID), GRID))
    assert model.likelihood.value(np.array([*beta, sd])) == pytest.approx(total, abs=1e-8)


def test_latent_truths_of_three_categories():
    rng = np.random.default_rng(6)
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.5)
    reports = krr.privatize(["a", "b", "c", "c", "b", "a"], rng)
    group, X = np.array([0, 0, 0, 1, 1, 1]), np.column_stack([np.ones(6), rng.normal(size=6)])
    model = ldp.PrivatizedMixedLogit(reports, X, group).with_nodes(40)
    beta, sd = np.array([[0.2, -0.5], [-0.4, 0.3]]), np.array([0.9, 1.2])
    grid, total = GRID[::6], 0.0
    Q = [krr.channel().matrix()] * 3
    for g in (0, 1):
        there = np.flatnonzero(group == g)
        fixed = X[there] @ beta.T
        values = np.empty((len(grid), len(grid)))
        for i, j in np.ndindex(values.shape):
            eta = np.column_stack([np.zeros(3), fixed + sd * [grid[i], grid[j]]])
            values[i, j] = latent(Q, reports.y[there], softmax(eta, axis=1))
        density = norm.pdf(grid)
        inner = np.trapezoid(values * density, grid, axis=1)
        total += np.log(np.trapezoid(inner * density, grid))
    theta = np.array([*beta.ravel(), *sd])
    assert model.likelihood.value(theta) == pytest.approx(total, abs=1e-8)


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    k, rng = request.param, np.random.default_rng(request.param)
    group = np.repeat(np.arange(20), rng.integers(40, 120, 20))
    X = pd.DataFrame({"const": 1.0, "x": rng.integers(-1, 2, group.size)})
    eta = np.column_stack(
        [0.5 * a * X.x - 0.3 + 0.8 * rng.normal(size=20)[group] for a in (1, -1)[: k - 1]]
    )
    eta = np.column_stack([np.zeros(group.size), eta]) + rng.gumbel(size=(group.size, k))
    reports = ldp.KRR(k, epsilon=3.0).privatize(eta.argmax(axis=1), rng)
    model = ldp.PrivatizedMixedLogit(reports, X, pd.Series(group, name="school"))
    return model, model.fit()


def test_derivatives(fitted):
    """Score and Hessian are those of the value, and more nodes change nothing."""
    model, results = fitted
    likelihood = model.with_nodes(31).likelihood
    theta = results.theta + 0.1
    value, score, hessian = likelihood.evaluate(theta)
    assert value == pytest.approx(likelihood.value(theta), abs=1e-9)
    step = 1e-5 * np.eye(theta.size)
    steps = [(likelihood.value(theta + d) - likelihood.value(theta - d)) / 2e-5 for d in step]
    bends = [
        (likelihood.evaluate(theta + d)[1] - likelihood.evaluate(theta - d)[1]) / 2e-5 for d in step
    ]
    assert score == pytest.approx(np.array(steps), abs=1e-5)
    assert hessian == pytest.approx(np.array(bends), abs=1e-4)
    finer = model.fit(n_nodes=31)
    assert np.abs((finer.theta - results.theta) / results.bse).max() < 1e-4
    assert finer.llf == pytest.approx(results.llf, abs=1e-3)


def test_predictions(fitted):
    """Of the population they are means over the normal law of groups; of the typical group not."""
    _, results = fitted
    h = len(results.sd)
    beta, sd = results.theta[:-h].reshape(h, -1), results.theta[-h:]
    point = np.array([1.0, -1.0])
    grid, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    mean = np.zeros(h + 1)
    for u in itertools.product(range(60), repeat=h):
        at = [*u]
        eta = np.append(0.0, beta @ point + sd * grid[at])
        mean += weights[at].prod() * softmax(eta)
    shown = [1] if h == 1 else [0, 1, 2]
    found = results.predict([point]).to_numpy().ravel()
    assert found == pytest.approx(mean[shown], abs=1e-6)
    typical = results.typical.predict([point]).to_numpy().ravel()
    assert typical == pytest.approx(softmax(np.append(0.0, beta @ point))[shown], abs=1e-12)
    frame = results.get_prediction([point])
    step = 1e-5 * np.eye(results.theta.size)
    slopes = []
    for d in step:
        ends = [
            replace(results, theta=results.theta + sign * d).predict([point]).to_numpy().ravel()
            for sign in (1, -1)
        ]
        slopes.append((ends[0] - ends[1]) / 2e-5)
    D = np.array(slopes).T
    se = np.sqrt(np.diagonal(D @ results.covariance_all @ D.T))
    assert frame["se"].to_numpy() == pytest.approx(se, rel=1e-4)


def test_groups(fitted):
    """Intercepts and shares given the reports, with their variances, by numerical integration."""
    model, results = fitted
    h, theta = len(results.sd), results.theta
    group, X = model.grouping.codes, model.data.designs[0]
    A = report_law(model.data.response)
    g = 3
    there = group == g
    z = np.linspace(-6.0, 6.0, 121 if h == 1 else 61)
    grid = np.stack(np.meshgrid(*[z] * h, indexing="ij"), axis=-1).reshape(-1, h)

    def given(theta):
        """Means and variances of the intercepts and of the mean probabilities, (2, h + k)."""
        fixed = X[there] @ theta[:-h].reshape(h, -1).T
        eta = fixed[None] + (theta[-h:] * grid)[:, None, :]
        p = softmax(np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=-1), axis=-1)
        logs = np.log((A[there] * p).sum(axis=-1)).sum(axis=1) - 0.5 * (grid**2).sum(axis=1)
        weights = softmax(logs)
        values = np.hstack([theta[-h:] * grid, p.mean(axis=1)])
        mean = weights @ values
        return np.array([mean, weights @ (values - mean) ** 2])

    mean, variance = given(theta)
    step = 1e-5 * np.eye(theta.size)
    D = np.array([(given(theta + d)[0] - given(theta - d)[0]) / 2e-5 for d in step]).T
    se = np.sqrt(variance + np.diagonal(D @ results.covariance_all @ D.T))
    intercepts, shares = results.group_intercepts(), results.group_shares()
    own = intercepts.loc[[g]]
    assert own["intercept"].to_numpy() == pytest.approx(mean[:h], abs=1e-6)
    assert own["se"].to_numpy() == pytest.approx(se[:h], rel=1e-4)
    shown = slice(h + 1, None) if h == 1 else slice(h, None)
    assert shares.loc[[g], "share"].to_numpy() == pytest.approx(mean[shown], abs=1e-6)
    assert shares.loc[[g], "se"].to_numpy() == pytest.approx(se[shown], rel=1e-4)
    assert (shares["n"].to_numpy()[:: 1 if h == 1 else 3] == np.bincount(group)).all()


def test_documents(fitted):
    """What is written and read has the same summary, groups and predictions."""
    _, results = fitted
    read = ldp.MixedRegressionResults.from_json(results.to_json())
    assert str(read.summary()) == str(results.summary())
    assert str(read.summary(details=True)) == str(results.summary(details=True))
    assert read.to_json() == results.to_json()
    pd.testing.assert_frame_equal(read.group_intercepts(0.1), results.group_intercepts(0.1))
    pd.testing.assert_frame_equal(read.group_shares(), results.group_shares())
    pd.testing.assert_frame_equal(read.icc(), results.icc())
    point = [[1.0, 0.5]]
    assert np.array_equal(read.typical.predict(point), results.typical.predict(point))
    assert np.array_equal(read.predict(point), results.predict(point))
    assert read.variance_test() == results.variance_test()
    with pytest.raises(ldp.NotAvailable, match="profiles at other levels"):
        read.conf_int(0.1)


def test_summary(cattle):
    """It names the groups, their sizes, the spread and the intraclass correlation."""
    text = str(cattle[1].summary(details=True))
    for words in ("herd, 15", "26 to 96", "sd(herd)", "sd(herd) 0.11 (0.04", "17 nodes"):
        assert words in text
    assert cattle[1].icc().loc["sd(herd)", "icc"] == pytest.approx(
        0.647513**2 / (0.647513**2 + np.pi**2 / 3), abs=1e-4
    )


def test_intervals(cattle):
    """Profiles end where the likelihood falls by half the quantile, and tests agree with them."""
    results = cattle[1].model.fit(cov_type="nonrobust")
    low, high = results.conf_int().loc["sd(herd)"]
    likelihood, j = results.model.likelihood, 4
    for end in (low, high):
        theta, free = results.theta.copy(), np.arange(5) != j
        theta[j] = end
        for _ in range(20):
            value, score, hessian = likelihood.evaluate(theta)
            theta[free] -= np.linalg.solve(hessian[np.ix_(free, free)], score[free])
        assert results.llf - value == pytest.approx(1.9207, abs=2e-3)
    test, none = results.variance_test(), results.model.data
    plain = ldp.PrivatizedLogit(none.response, none.designs[0], freq_weights=none.counts).fit()
    assert test.statistic == pytest.approx(2 * (results.llf - plain.llf), abs=1e-5)
    assert results.pvalues["sd(herd)"] == pytest.approx(test.pvalue, rel=1e-6)
    assert results.wald_test("C(period)[T.2] = 0").pvalue == pytest.approx(0.00123, abs=1e-5)


def test_groups_that_do_not_differ():
    """The estimate is zero, its interval begins there, and the coefficients are those without."""
    rng = np.random.default_rng(3)
    reports = ldp.Warner(epsilon=2.0).privatize(np.tile(["no", "yes", "no", "no"], 300), rng)
    group = np.empty(1200, dtype=int)
    for answer in (0, 1):  # as many of each report in all groups
        there = np.flatnonzero(reports.y == answer)
        group[there] = np.arange(there.size) % 40
    results = ldp.PrivatizedMixedLogit(reports, np.ones((1200, 1)), group).fit()
    plain = ldp.PrivatizedLogit(reports, np.ones((1200, 1))).fit()
    assert results.params["sd(groups)"] == 0.0 and np.isnan(results.bse["sd(groups)"])
    assert results.params["const"] == pytest.approx(plain.params["const"], abs=1e-6)
    known = results.model.fit(cov_type="nonrobust")  # and not estimated from 40 levels
    assert known.bse["const"] == pytest.approx(plain.bse["const"], rel=1e-6)
    assert results.bse["const"] == pytest.approx(plain.bse["const"] * np.sqrt(40 / 39), rel=1e-6)
    low, high = results.conf_int().loc["sd(groups)"]
    assert low == 0.0 < high < 1.0
    assert results.variance_test().pvalue == results.pvalues["sd(groups)"] == 1.0
    assert "estimated as zero" in str(results.summary())
    assert results.get_prediction([[1.0]])["se"].notna().all()
    assert (results.group_intercepts()["intercept"] == 0.0).all()
    read = ldp.MixedRegressionResults.from_json(results.to_json())
    assert str(read.summary()) == str(results.summary())


def test_rows_for_several():
    """A row for several respondents of a group is as many rows; the order is of no importance."""
    rng = np.random.default_rng(8)
    group, x = np.repeat(np.arange(10), 30), np.tile([0.0, 1.0, 2.0], 100)
    eta = 0.5 * x - 0.5 + rng.normal(size=10)[group]
    reports = ldp.Warner(epsilon=3.0).privatize(
        np.where(rng.random(300) < logistic(eta), "yes", "no"), rng
    )
    X = np.column_stack([np.ones(300), x])
    whole = ldp.PrivatizedMixedLogit(reports, X, group).fit()
    table = pd.DataFrame({"y": reports.y, "x": x, "group": group})
    few = table.value_counts().rename("n").reset_index()
    some = replace(reports[np.zeros(len(few), dtype=int)], y=few.y.to_numpy(reports.y.dtype))
    own = ldp.PrivatizedMixedLogit(
        some, np.column_stack([np.ones(len(few)), few.x]), few.group, freq_weights=few.n
    ).fit()
    assert own.params.to_numpy() == pytest.approx(whole.params.to_numpy(), abs=1e-7)
    assert own.llf == pytest.approx(whole.llf, abs=1e-7)
    assert (own.group_intercepts()["n"] == 30).all()


# -- simulated surveys


def survey(rng, sizes, epsilon, sd, k=2, z=0.4):
    """A mixed logit of reports on x, of respondents, and z, of groups of these sizes."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    X = pd.DataFrame({"const": 1.0, "x": rng.integers(0, 2, group.size), "z": group % 2})
    truth = np.array([[-0.5, 0.6, z], [0.2, -0.4, 0.0]])[: k - 1]
    eta = X.to_numpy() @ truth.T + sd * rng.normal(size=(len(sizes), k - 1))[group]
    eta = np.column_stack([np.zeros(group.size), eta]) + rng.gumbel(size=(group.size, k))
    reports = ldp.KRR(k, epsilon=epsilon).privatize(eta.argmax(axis=1), rng)
    truth = np.append(truth.ravel(), np.broadcast_to(sd, k - 1))
    return ldp.PrivatizedMixedLogit(reports, X, group), truth


SETTINGS = {
    "epsilon 1": dict(sizes=[150] * 60, epsilon=1.0, sd=0.8),
    "epsilon 2, unequal": dict(sizes=np.linspace(10, 120, 60).astype(int), epsilon=2.0, sd=0.7),
    "30 unequal groups": dict(sizes=np.linspace(10, 120, 30).astype(int), epsilon=2.0, sd=0.8),
    "many small groups": dict(sizes=[8] * 250, epsilon=3.0, sd=1.0),
    "three categories": dict(sizes=[80] * 60, epsilon=3.0, sd=np.array([0.7, 0.5]), k=3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_coverage(name, replications):
    """Of coefficients and standard deviations; ignoring groups, that of z is far too low."""
    R, rng = replications(500, least=120), np.random.default_rng(11)
    ends, plain, truth = [], [], 0.0
    for _ in range(R):
        model, truth = survey(rng, **SETTINGS[name])
        ends.append(model.fit().conf_int().to_numpy())
        if name.startswith("epsilon"):
            alone = ldp.PrivatizedLogit(model.data.response, model.data.designs[0]).fit()
            plain.append(alone.conf_int(method="wald").to_numpy())
    assert near(coverage(ends, truth), 0.95, R)
    if plain:  # the control, of what it estimates itself, a slope on average over groups
        missed = coverage(plain, np.mean(plain, axis=(0, 2)))
        assert missed[2] < 0.85 and near(missed[1], 0.95, R)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_size_of_the_variance_test(k, replications):
    """At most what it promises, and not much less: half of the statistics, or more, are zero."""
    R, rng = replications(500, least=200), np.random.default_rng(12)
    pvalues = [
        survey(rng, [60] * 60, 2.0, 0.0, k)[0].fit().variance_test().pvalue for _ in range(R)
    ]
    found = size(pvalues)
    assert at_most(found, 0.05, R) and at_least(found, 0.03, R)


# -- the formula, and what is refused


@pytest.fixture(scope="module")
def pupils():
    rng = np.random.default_rng(9)
    table = pd.DataFrame({"school": rng.choice(list("abcdefgh"), 800), "age": rng.normal(size=800)})
    table["one class"] = rng.integers(0, 30, 800)
    late = np.where(rng.random(800) < logistic(table.age), "yes", "no")
    return table, late, ldp.Warner(epsilon=3.0).privatize(late, rng)


def test_formula(pupils):
    """It is the model of its columns; in a survey, with columns in quotes, and a label missing."""
    table, late, reports = pupils
    results = ldp.regression("late ~ age + (1 | school)", table, {"late": reports}).fit()
    X = pd.DataFrame({"Intercept": 1.0, "age": table.age})
    own = ldp.PrivatizedMixedLogit(reports, X, table.school).fit()
    pd.testing.assert_series_equal(results.params, own.params)
    for bar in ("(1 | `one class`)", "(1|Q('one class'))"):
        model = ldp.regression(f"late ~ {bar} + age", table, {"late": reports})
        assert model.all_names[-1] == "sd(one class)"
    holes = table.assign(school=table.school.where(np.arange(800) > 5))
    model = ldp.regression("late ~ age + (1|school)", holes, {"late": reports})
    assert model.nobs == 794 and model.data.n_missing == 6
    sheet = ldp.Questionnaire({"late": ldp.Warner(epsilon=3.0)})
    collected = sheet.privatize(table.assign(late=late), np.random.default_rng(1))
    held = ldp.Survey(collected, sheet)
    model = held.regression("late ~ 1 + (1 | school)")
    assert isinstance(model, ldp.PrivatizedMixedLogit) and model.exog_names == ["Intercept"]
    weighed = ldp.Survey(collected.assign(w=2.0), sheet, weights="w")
    with pytest.raises(ldp.NotAvailable, match="weights or the design"):
        weighed.regression("late ~ 1 + (1 | school)")


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("late ~ (1 + age | school)", "no random slopes"),
        ("late ~ (age | school)", "no random slopes"),
        ("late ~ age & age", "takes the bits of .age."),
        ("late ~ (1 | school) + (1 | age)", "one grouping at most"),
        ("late ~ (1 | school / age)", "must be one column"),
        ("late ~ age * (1 | school)", "within another term"),
        ("late ~ (1 | skool)", "did you mean 'school'"),
        ("late ~ (1 | late)", "whose answers nobody knows"),
        ("late ~ (1 | age)", "one respondent in each group"),
    ],
)
def test_refused_formulas(pupils, formula, words):
    table, _, reports = pupils
    with pytest.raises(ldp.InvalidArgument, match=words.replace("(", r"\(")):
        ldp.regression(formula, table, {"late": reports})


def test_refused(pupils):
    table, _, reports = pupils
    rng, groups = np.random.default_rng(2), table.school
    X = np.ones((800, 1))
    with pytest.raises(ldp.InvalidArgument, match="two groups at least"):
        ldp.PrivatizedMixedLogit(reports, X, np.zeros(800))
    with pytest.raises(ldp.InvalidArgument, match="missing in row 3"):
        ldp.PrivatizedMixedLogit(reports, X, groups.where(np.arange(800) != 2))
    with pytest.raises(ldp.InvalidArgument, match="one for each report"):
        ldp.PrivatizedMixedLogit(reports, X, groups[:9])
    for k, model in ((3, "ordered"), (4, "multinomial")):
        many = ldp.KRR(k, epsilon=2.0).privatize(rng.integers(0, k, 800), rng)
        with pytest.raises(ldp.NotAvailable, match=r"random intercepts are|join categories"):
            ldp.regression("y ~ age + (1 | school)", table, {"y": many}, model=model)
    with pytest.raises(ldp.NotAvailable, match="private predictor 'late'"):
        ldp.regression("age > 0 ~ late + (1 | school)", table, {"late": reports})
    with pytest.raises(ldp.NotAvailable, match="weights of groups"):
        ldp.regression("late ~ (1 | school)", table, {"late": reports}, weights=np.ones(800))
    cheats = ldp.devices.flip(ldp.devices.unknown("cheating")).when(
        {"heads": "no"}, otherwise=ldp.devices.truth
    )
    unknown = cheats.mechanism(("no", "yes")).simulate(["no"] * 800, rng, cheating=0.1)
    with pytest.raises(ldp.NotAvailable, match="known device"):
        ldp.PrivatizedMixedLogit(unknown, X, groups)
    model = ldp.PrivatizedMixedLogit(reports, X, groups)
    with pytest.raises(ldp.NotAvailable, match="leave out cov_type="):
        model.fit(cov_type="cluster")
    results = model.fit()
    with pytest.raises(ldp.InvalidArgument, match="group_shares"):
        results.predictions(by="school")
    for refused in (results.goodness_of_fit, lambda: model.fit_posterior(rng)):
        with pytest.raises(ldp.NotAvailable):
            refused()


def test_an_estimate_at_infinity_is_told_with_a_remedy_that_is_there():
    rng = np.random.default_rng(3)
    g, x = rng.integers(0, 30, 600), rng.normal(size=600)
    y = np.where(x > 0.0, "yes", "no")
    reports = ldp.KRR(("no", "yes"), 3.0).privatize(y, rng)
    table = pd.DataFrame({"g": g, "x": x})
    with pytest.warns(ldp.ConvergenceWarning, match="without random intercepts"):
        found = ldp.regression("y ~ x + (1 | g)", table, {"y": reports}).fit()
    said = " ".join(str(found.summary()).split())
    assert "or the model without random intercepts" in said and "jeffreys" not in said
    icc = found.icc()
    assert icc.notna().all(axis=None) and (icc["upper"] <= 1.0).all()
