"""Small areas: the model against published output and brute force, and what intervals promise."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

import ldpstats as ldp
from ldpstats.models.small_areas import SmallAreas, fay_herriot

WARNER = ldp.Warner(epsilon=1.0)

# Expenditure on milk in 43 areas of four regions (Arora and Lahiri 1997, Statistica Sinica 7,
# 1053-1063): region, direct estimate and standard error in thousandths; then EBLUP and mean square
# error by REML as mseFH of R's package sae gives them.
MILK = """
1 1099 163 1.0219703 .013460220  1 1075  80 1.0476018 .005372876  1 1105  83 1.0679513 .005701990
1  628 109  .7608170 .008541740  1  753 119  .8461574 .009579594  1  981 141  .9743727 .011670632
1 1257 202 1.0584523 .015926137  2 1095 127 1.0977762 .010586518  2 1405 168 1.2215449 .014184043
2 1356 178 1.1951455 .014901472  2  615 100  .7852155 .007694262  2 1460 201 1.2139456 .016336469
2 1338 148 1.2096593 .012562726  2  854 143  .9834967 .012117378  3 1176 149 1.1864247 .012031229
3 1111 145 1.1556982 .011709147  3 1257 135 1.2263411 .010859780  3 1430 172 1.2856486 .013690860
3 1278 137 1.2363247 .011034674  3 1292 163 1.2349600 .013079686  3 1002 125 1.0903019 .009948636
3 1183 247 1.1923057 .017243977  3 1044 140 1.1216470 .011292325  3 1267 171 1.2230296 .013625297
3 1193 106 1.1938054 .008065787  4  791 121  .7627195 .009205133  4  795 121  .7649550 .009205133
4  759 259  .7338443 .016476912  4  796 106  .7699294 .007800626  4  565  89  .6134418 .006098668
4  886 225  .7695558 .015441564  4  952 205  .7958250 .014657866  4  807 119  .7723187 .009024699
4  582  67  .6102302 .003870786  4  684 106  .7001782 .007800626  4  787 126  .7592787 .009646139
4  440  92  .5298867 .006404335  4  759 132  .7434466 .010155645  4  770 100  .7548996 .007209937
4  800 113  .7701918 .008470277  4  756  83  .7481164 .005484860  4  865 121  .8040773 .009205133
4  640 129  .6810870 .009903626
"""


class Direct:
    """Counts of yes under Warner's design in areas, as grouped results hold them."""

    name, by, sources, is_partial = "ill", ("town",), (str(WARNER),), False
    categories, n_missing = pd.Index(["no", "yes"]), 0

    def __init__(self, yes: Any, n: Any, epsilon: float) -> None:
        self.offset = 1.0 / (1.0 + np.exp(epsilon))
        self.yes, self.n, self.epsilon, self.nobs = yes, n, epsilon, int(n.sum())
        self.labels, self._sizes = tuple((i,) for i in range(len(n))), n.tolist()

    def _direct(self, place: int) -> Any:
        a, b = self.offset, 1.0 - 2.0 * self.offset
        laws = np.array([a * (1.0 - a), b * (1.0 - 2.0 * a), -b * b]) / b**2 / self.n[:, None]
        return (self.yes / self.n - a) / b, laws, self.n.astype(float), self.n.astype(float)


def drawn(rng: Any, m: int, epsilon: float, sizes: Any, beta: Any, sd: float) -> Any:
    """Areas with two covariates: what was collected, the covariates, and the true frequencies."""
    n = rng.integers(sizes[0], sizes[1] + 1, m)
    x = rng.normal(size=(m, 2))
    truth = np.clip(beta[0] + x @ beta[1:] + sd * rng.normal(size=m), 0.0, 1.0)
    table = pd.DataFrame({"town": range(m), "x1": x[:, 0], "x2": x[:, 1]})
    offset = 1.0 / (1.0 + np.exp(epsilon))
    yes = rng.binomial(n, offset + (1.0 - 2.0 * offset) * truth)
    return Direct(yes, n, epsilon), table, truth


def towns(m: int = 20, more: int = 2, seed: int = 3) -> tuple[ldp.GroupedResults, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"town": [f"t{i:02d}" for i in range(m + more)]})
    table["poor"] = rng.uniform(0.0, 1.0, m + more)
    groups = {
        table["town"][i]: WARNER.privatize(
            np.where(rng.random(50 + 20 * i) < 0.1 + 0.4 * table["poor"][i], "yes", "no"), rng
        )
        for i in range(m)
    }
    return ldp.GroupedModel(groups, by="town", name="ill").fit(), table


# -- the model ------------------------------------------------------------------------------------


def test_the_published_example_of_reml():
    region, y, se, eblup, mse = np.array(MILK.split(), dtype=float).reshape(-1, 5).T
    X = np.column_stack([np.ones(43), *(region == r for r in (2, 3, 4))]).astype(float)
    fit = fay_herriot(y / 1e3, np.square(se / 1e3), X)
    np.testing.assert_allclose(fit.estimate, eblup, atol=1e-6)
    np.testing.assert_allclose(fit.mse, mse, atol=1e-7)
    beta = [0.9681890, 0.1327801, 0.2269462, -0.2413011]
    np.testing.assert_allclose(fit.coefficients.estimate, beta, atol=1e-6)
    errors = [0.06936208, 0.10300072, 0.09232981, 0.08161707]
    np.testing.assert_allclose(fit.coefficients.bse(), errors, atol=1e-6)
    assert fit.variance == pytest.approx(0.01855022, abs=3e-7)  # to which sae converges


def log_restricted(A: float, y: Any, psi: Any, X: Any) -> float:
    """The likelihood of contrasts that are free of the coefficients."""
    K = np.linalg.svd(X, full_matrices=True)[0][:, X.shape[1] :].T
    V = K @ np.diag(A + psi) @ K.T
    z = K @ y
    return float(-0.5 * np.linalg.slogdet(V)[1] - 0.5 * z @ np.linalg.solve(V, z))


@pytest.mark.parametrize("seed", range(6))
def test_the_restricted_likelihood_of_contrasts(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(15), rng.normal(size=15)])
    psi = rng.uniform(0.2, 3.0, 15)
    y = X @ [1.0, 2.0] + rng.normal(size=15) * np.sqrt(psi + 0.4)
    fit = fay_herriot(y, psi, X)
    m = len(y)

    def objective(A: float) -> float:
        more = np.log(np.arctan(np.sum(A / (A + psi)))) / m if fit.is_adjusted else 0.0
        return -log_restricted(A, y, psi, X) - more

    best = optimize.minimize_scalar(objective, (0.0, 20.0), (1e-9, 40.0), method="bounded")
    assert objective(fit.variance) <= best.fun + 1e-9
    if fit.is_adjusted:
        grid = np.linspace(0.0, 20.0, 400)
        assert np.argmax([log_restricted(A, y, psi, X) for A in grid]) == 0


def test_a_variance_of_zero_does_not_collapse():
    """Estimates that vary less than their noise leave each area a part of its own."""
    y = np.tile([0.29, 0.31], 10)
    fit = fay_herriot(y, np.full(20, 0.01), np.ones((20, 1)))
    assert fit.is_adjusted and fit.variance > 0.0
    assert np.all(fit.shrinkage < 1.0) and np.all(fit.mse > fit.errors[1] + fit.errors[2])
    results, table = towns(12, 0)
    even = {label: WARNER.counts([600, 400]) for label in results.labels}
    areas = ldp.GroupedModel({k[0]: v for k, v in even.items()}, by="town").fit()
    text = " ".join(areas.small_areas("~ 1", table).summary().as_text().split())
    assert "largest without a variance between areas" in text
    assert "NOTE: only 11 more areas than coefficients" in text


def test_estimates_lie_between_the_direct_one_and_the_prediction():
    results, table = towns()
    areas = results.small_areas("~ poor", table, "yes")
    frame = areas.summary_frame()
    direct = pd.Series({label: fit.linear_params["yes"] for label, fit in results.results.items()})
    some = frame["nobs"] > 0
    np.testing.assert_allclose(frame["direct"][some], direct)
    mixed = frame["own"] * frame["direct"].fillna(0.0) + (1.0 - frame["own"]) * frame["synthetic"]
    np.testing.assert_allclose(frame["params"], mixed)
    mse = areas.mse
    np.testing.assert_allclose(mse["mse"], mse["g1"] + mse["g2"] + 2.0 * mse["g3"])
    np.testing.assert_allclose(frame["bse"], np.sqrt(mse["mse"]))
    no = results.small_areas("~ poor", table, "no")  # of the other category all is one minus it
    np.testing.assert_allclose(no.params, 1.0 - areas.params, atol=1e-9)
    np.testing.assert_allclose(no.bse, areas.bse, atol=1e-9)


def test_noise_is_that_of_the_design_at_the_prediction():
    """Variances follow from the channel at the frequencies that the model predicts."""
    results, table = towns()
    areas = results.small_areas("~ poor", table)
    fit, n, a = areas.areas, np.array(results.sizes), 1.0 / (1.0 + np.e)
    b, p = 1.0 - 2.0 * a, areas.areas.synthetic[:20]
    m = a + b * p
    expected = (m * (1.0 - m) / b**2 - fit.variance) / n
    np.testing.assert_allclose(fit.noise[:20], expected, rtol=1e-8)


def test_areas_without_reports_are_predicted():
    results, table = towns(20, 3)
    areas = results.small_areas("~ poor", table.set_index("town"))
    last = areas.summary_frame().tail(3)
    assert (last["nobs"] == 0).all() and last["direct"].isna().all() and (last["own"] == 0).all()
    beta, V = areas.coefficients["estimate"], areas.areas.coefficients.known().matrix()
    x = np.column_stack([np.ones(3), table["poor"].tail(3)])
    np.testing.assert_allclose(last["params"], x @ beta)
    np.testing.assert_allclose(
        last["bse"] ** 2, areas.areas.variance + np.einsum("ij,jk,ik->i", x, V, x)
    )
    assert "23, 3 without reports" in areas.summary().as_text()
    np.testing.assert_allclose(
        areas.params[:20], results.small_areas("~ poor", table.head(20)).params
    )


def test_benchmarked_estimates_add_up():
    results, table = towns()
    areas = results.small_areas("~ poor", table)
    n = results.sizes.to_numpy()
    whole = n @ areas.summary_frame()["direct"][:20] / n.sum()
    assert areas.total == pytest.approx(whole)
    assert n @ areas.benchmarked[:20] / n.sum() == pytest.approx(whole)
    moved = (areas.benchmarked - areas.params) / areas.mse["mse"]
    np.testing.assert_allclose(moved[:20] / n, moved.iloc[0] / n[0])
    assert (moved[20:] == 0.0).all()
    mse = areas.mse
    np.testing.assert_allclose(mse["benchmarked"], mse["mse"] + mse["g4"])
    assert (mse["g4"][:20] > 0.0).all() and (mse["g4"][20:] == 0.0).all()
    np.testing.assert_allclose(areas.summary_frame()["benchmarked_bse"] ** 2, mse["benchmarked"])


def test_what_benchmarking_costs():
    """The estimates are linear in the direct ones: their errors, with A taken for known."""
    rng, m = np.random.default_rng(4), 12
    X, D = np.column_stack([np.ones(m), rng.normal(size=m)]), rng.uniform(0.002, 0.02, m)
    y, w = X @ [0.3, 0.1] + rng.normal(0, 0.15, m), np.append(0.5, np.full(m - 1, 0.5 / (m - 1)))
    fit = fay_herriot(y, D, X)
    A, B = fit.variance, np.diag(fit.shrinkage)
    inverse = np.diag(1.0 / (A + D))
    hat = X @ np.linalg.solve(X.T @ inverse @ X, X.T @ inverse)
    L = np.eye(m) - B @ (np.eye(m) - hat)
    np.testing.assert_allclose(L @ y, fit.estimate)
    g1, g2, _ = fit.errors
    r = w * (g1 + g2) / (w**2 @ (g1 + g2))
    M = L + np.outer(r, w @ (np.eye(m) - L))
    assert w @ M @ y == pytest.approx(w @ y)
    errors = np.diag(A * (M - np.eye(m)) @ (M - np.eye(m)).T + M @ np.diag(D) @ M.T)
    np.testing.assert_allclose(errors, g1 + g2 + r**2 * fit.lack(w))
    assert errors[0] / (g1 + g2)[0] > 1.2  # of an area with half the weight


def test_a_survey_with_weights():
    rng = np.random.default_rng(8)
    number = np.repeat(np.arange(24), 200)
    ill = np.where(rng.random(4800) < 0.1 + 0.02 * number, "yes", "no")
    names = pd.Index([f"t{i:02d}" for i in range(25)])
    table = pd.DataFrame({"town": names[number], "ill": ill, "w": 1.0})
    sheet = ldp.Questionnaire({"ill": WARNER})
    made = sheet.privatize(table, rng)
    covariates = pd.DataFrame({"town": names, "x": np.arange(25) / 24.0})
    plain = ldp.Survey(made, sheet).frequencies("ill", by="town").small_areas("~ x", covariates)
    equal = ldp.Survey(made, sheet, weights="w").frequencies("ill", by="town")
    same = equal.small_areas("~ x", covariates)
    # one design effect for all towns, near one
    ratio = same.areas.noise[:24] / plain.areas.noise[:24]
    assert np.ptp(ratio) < 0.01 and ratio.mean() == pytest.approx(1.0, abs=0.02)
    np.testing.assert_allclose(same.params, plain.params, atol=2e-3)
    assert same.total == pytest.approx(plain.total)
    table["w"] = rng.uniform(0.5, 3.0, 4800)
    made = made.assign(w=table["w"])
    designed = ldp.Survey(made, sheet, weights="w").frequencies("ill", by="town")
    areas = designed.small_areas("~ x", covariates)
    weights = table.groupby("town")["w"].sum().to_numpy()
    direct = areas.summary_frame()["direct"][:24]
    np.testing.assert_allclose(direct, designed.linear_params.xs("yes", level=1))
    assert areas.total == pytest.approx(weights @ direct / weights.sum())
    kish = table.groupby("town")["w"].agg(lambda w: w.size * (w**2).sum() / w.sum() ** 2)
    ratio = areas.areas.noise[:24] / plain.areas.noise[:24] / kish.to_numpy()
    np.testing.assert_allclose(ratio, 1.0, atol=0.05)
    assert SmallAreas.from_json(areas.to_json()).params.equals(areas.params)


# -- results --------------------------------------------------------------------------------------


def test_results_are_kept_and_shown():
    results, table = towns()
    areas = results.small_areas("~ poor", table)
    again = SmallAreas.from_dict(json.loads(json.dumps(areas.to_dict())))
    assert str(again.summary()) == str(areas.summary()) and again.to_json() == areas.to_json()
    frame = areas.to_frame(0.1)
    assert frame["town"].tolist() == table["town"].tolist()
    pd.testing.assert_frame_equal(
        frame[["lower", "upper"]], areas.conf_int(0.1).reset_index(drop=True)
    )
    assert areas.glance()["formula"].item() == "~ poor"
    assert max(map(len, areas.summary().as_text().splitlines())) <= 80
    shown = areas.summary(max_rows=5).as_text()
    assert "Shown: the 5 areas with most reports, of 22" in " ".join(shown.split())
    ax = areas.plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    best = areas.params.idxmax()
    assert labels[0] == f"{best}, n = {areas.sizes[best]:,}" and len(labels) == 22


def test_areas_of_several_columns_and_mechanisms():
    results, _ = towns(14, 0)
    rest = ldp.KRR(("no", "yes"), epsilon=2.0).counts([70, 30])
    groups = {
        (label[0], i % 2): WARNER.counts([90 - i, 30 + i]) for i, label in enumerate(results.labels)
    }
    model = ldp.GroupedModel(groups | {("x", 0): rest}, by=("town", "year"))
    rows = pd.DataFrame(list(model.labels), columns=["town", "year"])
    areas = model.fit().small_areas("~ C(year)", rows)
    assert areas.params.index.names == ["town", "year"]
    assert areas.terms == ("Intercept", "C(year)[T.1]")
    assert areas.epsilon == 2.0 and len(areas.sources) == 2


@pytest.mark.parametrize(
    ("formula", "change", "said"),
    [
        ("~ rich", None, "names 'rich', but no such column"),
        ("ill ~ poor", None, "has a left side"),
        ("~ 0 + poor", None, "has no intercept"),
        ("~ print(poor)", None, "calls print()"),
        ("~ poor", lambda t: t.iloc[1:], "has no row for town='t00'"),
        ("~ poor", lambda t: pd.concat([t, t.tail(1)]), "has two rows"),
        ("~ poor", lambda t: t.assign(poor=t["poor"].mask(t.index == 2)), "lacks 'poor' of"),
        ("~ poor", lambda t: t.rename(columns={"town": "city"}), "as columns or index"),
        ("~ poor + I(2 * poor)", None, "are collinear"),
        ("~ C(town)", lambda t: t.head(20), "use fewer covariates"),
    ],
)
def test_bad_input(formula, change, said):
    results, table = towns()
    with pytest.raises(ldp.LDPError) as found:
        results.small_areas(formula, table if change is None else change(table))
    assert said in str(found.value)


def test_the_category_must_be_there():
    krr = ldp.KRR(("a", "b", "c"), epsilon=1.0)
    groups = {i: krr.counts([50, 30, 20 + i]) for i in range(8)}
    results, rows = ldp.GroupedModel(groups).fit(), pd.DataFrame({"group": range(8)})
    for category in (None, "d"):
        with pytest.raises(ldp.InvalidArgument, match="must be one of 'a', 'b', 'c'"):
            results.small_areas("~ 1", rows, category)
    parts = [results.small_areas("~ 1", rows, c).total for c in "abc"]
    assert sum(parts) == pytest.approx(1.0)


# -- promises -------------------------------------------------------------------------------------

SETTINGS = [
    (40, 1.0, (60, 400), (0.30, 0.03, 0.03), 0.048),
    (40, 3.0, (60, 400), (0.30, 0.04, 0.00), 0.06),
    (100, 2.0, (20, 150), (0.40, 0.05, 0.03), 0.06),
    (60, 1.0, (100, 600), (0.35, 0.00, 0.00), 0.07),
]


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_coverage_and_error_over_areas(setting):
    rng, covered, pooled, errors, claimed = np.random.default_rng(46), [], [], [], []
    for _ in range(500):
        direct, table, truth = drawn(rng, *setting)
        areas = SmallAreas.of(direct, "~ x1 + x2", table)
        frame = areas.summary_frame()
        covered.append(np.mean((frame["lower"] <= truth) & (truth <= frame["upper"])))
        a, b = direct.offset, 1.0 - 2.0 * direct.offset
        m = a + b * areas.total
        reach = 1.96 * np.sqrt(m * (1.0 - m) / direct.nobs) / b
        pooled.append(np.mean(np.abs(areas.total - truth) <= reach))
        apart = [frame["direct"] - truth, areas.total - truth, frame["params"] - truth]
        errors.append(np.square(apart).mean(axis=1))
        claimed.append(np.mean(areas.mse["mse"]))
    direct_error, pooled_error, own_error = np.sqrt(np.mean(errors, axis=0))
    assert 0.935 <= np.mean(covered) <= 0.965
    assert np.mean(pooled) < 0.4  # the control: one estimate for all areas
    assert own_error < 0.85 * min(direct_error, pooled_error)
    assert np.mean(claimed) / own_error**2 == pytest.approx(1.0, abs=0.1)
    if setting is SETTINGS[0]:
        measured = direct_error, pooled_error, own_error
        np.testing.assert_allclose(measured, (0.078, 0.064, 0.044), atol=0.002)
