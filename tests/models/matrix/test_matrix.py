"""Associations of all pairs of several variables, and what they and changes refuse."""

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association
from shared.refusals import refuses, said
from shared.waves import observed

import ldpstats as ldp
from ldpstats.inference.tests import adjust

Array = npt.NDArray[Any]

ABC = ("a", "b", "c")
N = 3000


def answers(d: int = 4) -> tuple[dict[str, Array], Any]:
    """Variables of which the last is independent of all others."""
    rng = np.random.default_rng(5)
    base = rng.integers(0, 3, N)
    found = {
        name: np.where(rng.random(N) < share, base, rng.integers(0, 3, N))
        for name, share in zip("uvwxyz", np.linspace(0.8, 0.0, d), strict=False)
    }
    return found, rng


def survey(mechanism: Any = None, d: int = 4) -> dict[str, Any]:
    found, rng = answers(d)
    m = ldp.KRR(ABC, epsilon=3.0) if mechanism is None else mechanism
    named = np.array(ABC, dtype=object)
    return {name: m.privatize(named[codes], rng) for name, codes in found.items()}


def test_each_pair_is_a_model_of_its_own():
    reports = survey()
    matrix = ldp.associations(reports)
    frame = matrix.to_frame()
    pairs = list(combinations("uvwx", 2))
    assert list(zip(frame["first"], frame["second"], strict=True)) == pairs
    for (a, b), (_, row) in zip(pairs, frame.iterrows(), strict=True):
        own = ldp.AssociationModel(reports[a], reports[b], names=(a, b)).fit()
        effect, test = own.cramers_v(), own.test_independence()
        assert (row["cramers_v"], row["lower"], row["upper"]) == (
            effect.estimate,
            effect.lower,
            effect.upper,
        )
        assert (row["statistic"], row["pvalue"], row["nobs"]) == (test.statistic, test.pvalue, N)
        assert matrix[a, b].to_json() == own.to_json()
        assert matrix[b, a] is matrix[a, b]
        assert matrix.cramers_v.loc[a, b] == matrix.cramers_v.loc[b, a] == effect.estimate
        assert matrix.lower.loc[b, a] == effect.lower
        assert matrix.upper.loc[a, b] == effect.upper
    np.testing.assert_allclose(frame["pvalue_holm"], adjust(frame["pvalue"], "holm"))
    assert matrix.pvalues_holm.loc["u", "v"] < 0.001
    assert matrix.pvalues_holm.loc["u", "x"] > 0.05
    for table in (matrix.cramers_v, matrix.lower, matrix.upper):
        np.testing.assert_array_equal(np.diag(table), 1.0)
        np.testing.assert_array_equal(table, table.T)


def test_without_noise_it_is_pearsons_and_cramers():
    codes, _ = answers()
    matrix = ldp.associations({n: ldp.Reports(v, observed(3)) for n, v in codes.items()})
    for a, b in combinations("uvwx", 2):
        table = pd.crosstab(codes[a], codes[b]).to_numpy()
        pair = matrix[a, b]
        expected = chi2_contingency(table, correction=False)
        test = pair.test_independence()
        assert test.statistic == pytest.approx(expected.statistic, rel=1e-9)
        # the p-value is that of permutations
        assert test.pvalue == pytest.approx(expected.pvalue, rel=0.2, abs=2e-3)
        # corrected for its bias, of about df / n
        raw, own = association(table, method="cramer"), matrix.cramers_v.loc[a, b]
        assert own == pytest.approx(np.sqrt(max(raw**2 - 4 / (2 * N), 0.0)), abs=0.004)


def test_each_pair_has_the_respondents_who_answered_both():
    reports, rng = survey(), np.random.default_rng(2)
    has = {name: rng.random(N) < 0.8 for name in "uv"}
    some = reports | {name: (reports[name][has[name]], has[name]) for name in "uv"}
    matrix = ldp.associations(some)
    both = int((has["u"] & has["v"]).sum())
    assert matrix.nobs.loc["u", "v"] == both
    assert matrix.nobs.loc["w", "x"] == N
    assert matrix.nobs.loc["u", "w"] == has["u"].sum() == matrix.nobs.loc["u", "u"]
    assert matrix.to_frame()["n_missing"].tolist()[0] == N - both
    assert "who have both reports" in " ".join(str(matrix.summary()).split())
    ids = np.arange(N)
    by_ids = {
        name: ldp.Reports(r.y[has[name]], r.mechanism, (~has[name]).sum(), ids=ids[has[name]])
        if name in has
        else ldp.Reports(r.y, r.mechanism, ids=ids)
        for name, r in reports.items()
    }
    pd.testing.assert_frame_equal(ldp.associations(by_ids).to_frame(), matrix.to_frame())


def test_pairs_that_cannot_be_fitted_are_named():
    reports, everyone = survey(), np.ones(N, dtype=bool)
    early = np.arange(N) < N // 2
    some = {"u": (reports["u"], early), "v": (reports["v"], ~early), "w": (reports["w"], everyone)}
    matrix = ldp.associations(some)
    ((first, second, why),) = matrix.failed
    assert (first, second) == ("u", "v")
    assert "report" in why
    assert matrix.cramers_v.isna().loc["u", "v"]
    assert pd.isna(matrix.nobs.loc["u", "v"])
    assert matrix.pvalues_holm.loc["u", "w"] == pytest.approx(
        adjust(matrix.to_frame()["pvalue"].dropna(), "holm")[0]
    )
    text = " ".join(str(matrix.summary()).split())
    assert "WARNING: u and v:" in text
    assert "adjusted for 2 tests" in text
    with pytest.raises(ldp.NotAvailable, match="u and v could not be fitted"):
        matrix["v", "u"]
    again = ldp.AssociationMatrix.from_json(matrix.to_json())
    assert again.failed == matrix.failed
    matrix.plot()


def test_a_constant_has_no_test():
    reports = survey() | {"same": ldp.Reports(np.zeros(N, dtype=np.int64), observed(3))}
    matrix = ldp.associations({name: reports[name] for name in ("u", "v", "same")})
    assert np.isnan(matrix.pvalues.loc["u", "same"])
    assert matrix.upper.loc["u", "same"] == 1.0
    assert matrix.pvalues.loc["u", "v"] == matrix.pvalues_holm.loc["u", "v"]  # one test
    assert "does not vary" in matrix.to_frame()["note"][1]


def test_a_warning_is_given_once():
    lumped = {"candidates": {"u": ["a", "b"]}}
    with pytest.warns(ldp.IncompleteListWarning) as said:
        matrix = ldp.associations(survey(), **lumped)
    assert len(said) == 1
    assert list(matrix["u", "v"].table.index) == ["a", "b"]
    other = ldp.associations(survey(), **lumped, other={"u": True})
    assert list(other["u", "v"].table.index) == ["a", "b", "Other"]


def test_the_plot_names_the_variables():
    ax = ldp.associations(survey()).plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["v", "w", "x"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["u", "v", "w"]
    assert "hatched" in ax.get_xlabel()
    assert ax.get_title() == "Associations of 4 variables, 95% intervals"


def test_an_interval_holds_no_association_where_the_test_does_not_reject():
    sparse = np.array([[43, 15, 4, 2], [23, 1, 0, 0], [6, 2, 1, 0], [3, 0, 0, 0]])
    rows, columns = (np.repeat(at.ravel(), sparse.ravel()) for at in np.indices((4, 4)))
    bare = ldp.Observed(4)
    reports = {"a": ldp.Reports(rows, bare), "b": ldp.Reports(columns, bare)}
    row = ldp.associations(reports).to_frame().iloc[0]
    assert row["lower"] == 0.0 and row["pvalue"] > 0.3
    assert "the test" not in row["note"]


def test_it_glances_and_goes_to_maketables_as_other_results_do():
    region = ldp.Observed(ABC)
    public = ldp.Reports(np.arange(N) % 3, region)
    matrix = ldp.associations(survey() | {"region": public}, alpha=0.1)
    glance = matrix.glance()
    assert glance.shape[0] == 1
    row = glance.iloc[0]
    assert row["name"] == "u, v, w, x, region"
    assert (row["pairs"], row["variables"], row["failed"], row["nobs"]) == (10, 5, 0, N)
    assert row["epsilon"] == pytest.approx(4 * 3.0)  # the region is not protected
    assert row["p_smallest"] == matrix.to_frame()["pvalue_holm"].min()
    for model in (matrix, matrix.to_maketables()):
        table = model.__maketables_coef_table__
        assert table.index.tolist()[:2] == ["u, v", "u, w"]
        np.testing.assert_array_equal(table["b"], matrix.to_frame()["cramers_v"])
        assert table["ci95l"].iloc[0] == matrix["u", "v"].cramers_v(0.05).lower
        assert table[["se", "t"]].isna().all(axis=None)
        assert model.__maketables_stat__("N") == N
        keys = model.__maketables_default_stat_keys__
        assert all(model.__maketables_stat__(key) is not None for key in keys)


def test_it_has_the_methods_of_all_results():
    matrix = ldp.associations(survey(), alpha=0.1)
    frame = matrix.summary_frame()
    pd.testing.assert_frame_equal(matrix.to_frame(), frame.reset_index())
    pd.testing.assert_frame_equal(matrix.conf_int(), frame[["lower", "upper"]])
    wide = matrix.conf_int(0.01)
    effect = matrix["u", "v"].cramers_v(0.01)
    assert tuple(wide.loc["u", "v"]) == (effect.lower, effect.upper)
    assert "99% intervals" in str(matrix.summary(alpha=0.01))
    assert "99% intervals" in matrix.plot(alpha=0.01).get_title()
    posterior = ldp.FrequencyModel(X).fit_posterior(RNG)
    groups = ldp.GroupedModel({"a": X, "b": Y}).fit()
    for results, instead in ((matrix, "pvalues_holm"), (posterior, "prob"), (groups, "test_equal")):
        for test in (results.t_test, results.wald_test):
            with pytest.raises(ldp.NotAvailable, match=instead):
                test("u = v")


def test_one_cause_is_one_note():
    rng = np.random.default_rng(1)
    krr, rare = ldp.KRR(ABC, 3.0), ldp.KRR(("x", "y", "rare"), 1.5)
    reports = {name: krr.privatize(rng.choice(ABC, N), rng) for name in "uvw"}
    answers = rng.choice(["x", "y", "rare"], N, p=[0.5, 0.48, 0.02])
    matrix = ldp.associations(reports | {"r": rare.privatize(answers, rng)})
    text = " ".join(str(matrix.summary()).split())
    assert text.count("P(r = rare)") == 1
    assert "NOTE: r with u, v, w: bound from merged" in text


KRR = ldp.KRR(ABC, epsilon=2.0)
RNG = np.random.default_rng(1)
X, Y, Z = (KRR.privatize(RNG.choice(ABC, 60), RNG) for _ in range(3))
HALF = np.arange(60) < 30
OPEN = ldp.ORR(8, 4, epsilon=2.0)
WORDS = [OPEN.privatize(RNG.choice(ABC, 60), RNG) for _ in range(2)]
MATRIX = ldp.associations({"x": X, "y": Y, "z": Z})


def ids(reports: ldp.Reports, known: Any) -> ldp.Reports:
    return ldp.Reports(reports.y, KRR, ids=known)


@pytest.mark.parametrize(
    "refusal",
    [
        *refuses(
            "reports",
            ldp.associations,
            {
                "a list": said([X, Y], "must map names"),
                "one variable": said({"x": X}, "two or more"),
                "values": said({"x": X, "y": 3}, "reports['y']"),
                "counts": said({"x": X, "y": Y.tally()}, "reports['y']"),
                "one object twice": said({"x": X, "y": Y, "z": (X, None)}, "reports of 'x'"),
            },
        ),
        *refuses(
            "names", lambda v: ldp.associations({v: X, "y": Y}), {"a number": said(3, "text")}
        ),
        *refuses(
            "rows",
            lambda v: ldp.associations({"x": X, "y": (Y, v)}),
            {
                "codes": said(np.arange(60), "True or False"),
                "short mask": said(HALF[:20], "60 reports"),
            },
        ),
        *refuses(
            "",
            lambda how: ldp.associations({"x": X, "y": Y}, **how),
            {
                "unknown name": said({"candidates": {"q": ["a"]}}, "candidates=", "'q'"),
                "level": said({"alpha": float("nan")}, "alpha="),
                "method": said({"method": "mle2"}, "method=", "'mle'"),
            },
        ),
        *refuses(
            "names=",
            lambda v: MATRIX[v],
            {"unknown": ("x", "q"), "one": "x", "same": ("x", "x"), "numbers": (0, 1)},
        ),
        # -- change
        *refuses(
            "reports",
            lambda v: ldp.change(*v),
            {
                "one object": said((X, X), "same object"),
                "one missing": said((X, None), "must be Reports"),
                "lengths": said((X, Y[:20]), "60, 20", "ids="),
                "missing answers": said((ldp.Reports(X.y, KRR, 3), Y), "ids=", "of_rows"),
            },
        ),
        *refuses(
            "ids=",
            lambda v: ldp.change(ids(X, range(60)), ids(Y, v)),
            {
                "strangers": said(range(60, 120), "no respondent"),
                "text for numbers": said([str(i) for i in range(60)], "one kind"),
            },
        ),
        *refuses(
            "ids=",
            lambda v: ldp.AssociationModel(ids(X, range(60)), Y, ids=v),
            {"given twice": said((range(60), range(60)), "leave ids= out")},
        ),
        *refuses(
            "rows",
            lambda v: ldp.change(*v),
            {
                "rows of others": said(((X, None), (Y[:20], HALF)), "20 reports, and 30"),
                "rows of lists": said(([X, X], [Y, Y]), "mask"),
            },
        ),
        *refuses("name=", lambda v: ldp.change(X, Y, name=v), {"number": 3}),
        *refuses("waves=", lambda v: ldp.change(X, Y, waves=v), {"alike": ["a", "a"]}),
        *refuses("", lambda v: ldp.change(X[:0], Y[:0]), {"nobody": said(None, "no report")}),
        *refuses(
            "",
            lambda v: ldp.change(X, ldp.KRR(v, 2.0).privatize(["a"] * 60, RNG)),
            {
                "other order": said(("c", "b", "a"), "same order"),
                "fewer categories": said(("a", "b"), "different categories"),
            },
            ldp.MechanismMismatch,
        ),
        *refuses(
            "", lambda v: ldp.change(*v), {"alphabet": said(WORDS, "candidates=")}, ldp.NotAvailable
        ),
        # -- rows
        *refuses(
            "",
            ldp.JointCounts.of_rows,
            {
                "no pairs": said(X, "pairs"),
                "one pair": said([(X, None)], "two or more"),
                "missing in a mask": said([(X, [True] * 59 + [None]), (Y, None)], "True or False"),
            },
        ),
    ],
)
def test_bad_input(refusal):
    refusal.check()
