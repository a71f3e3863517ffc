"""Changes, ordered answers and pairs of questions of a complex sample: by hand, and coverage."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from simulate import coverage

import ldpstats as ldp

LABELS = (1, 2, 3)
KRR = ldp.KRR(LABELS, epsilon=2.5)
PLAIN = dict.fromkeys("ab", ldp.Observed(LABELS))
# joint laws of the answers in two waves, a in rows; of strata, and of kinds of clusters
LAWS = np.array(
    [
        [[0.30, 0.06, 0.02], [0.04, 0.26, 0.06], [0.02, 0.06, 0.18]],
        [[0.10, 0.06, 0.04], [0.02, 0.30, 0.12], [0.02, 0.04, 0.30]],
        [[0.40, 0.10, 0.02], [0.06, 0.16, 0.08], [0.02, 0.06, 0.10]],
        [[0.16, 0.04, 0.06], [0.04, 0.22, 0.10], [0.04, 0.04, 0.30]],
    ]
)
SHARES = np.array([0.4, 0.3, 0.2, 0.1])  # of the population in strata
WEIGHT = np.array([[4, 5, 6], [6, 7, 8], [8, 9, 10]]) / 4.0  # by answer
DESIGNS: dict[str, dict[str, str]] = {
    "equal": {},
    "unequal": {},
    "strata": {"strata": "s"},
    "clusters": {"clusters": "u"},
}


def law_of(design: str) -> np.ndarray:
    """The law of both answers in the population."""
    if design == "strata":
        return np.asarray(np.tensordot(SHARES, LAWS, 1))
    return LAWS[0] if design in ("equal", "unequal") else LAWS.mean(axis=0)


def drawn(design: str, rng: np.random.Generator, n: int = 800) -> pd.DataFrame:
    """Answers of a sample with its weights, strata and clusters."""
    stratum, unit = np.arange(n) * 4 // n, np.arange(n) // 10
    chances, w = np.repeat(LAWS[:1], n, axis=0), np.ones(n)
    if design == "unequal":  # those with large weights are sampled less
        chances = chances / WEIGHT
    elif design == "strata":
        chances, w = LAWS[stratum], SHARES[stratum]
    elif design == "clusters":
        chances, w = LAWS[rng.integers(0, 4, n // 10)][unit], rng.uniform(0.5, 1.5, n)
    sums = chances.reshape(n, 9).cumsum(axis=1)
    cell = (rng.random(n)[:, None] * sums[:, -1:] > sums).sum(axis=1)
    if design == "unequal":
        w = WEIGHT.reshape(-1)[cell] * rng.uniform(0.5, 1.5, n)
    answers = {"a": cell // 3 + 1, "b": cell % 3 + 1}
    return pd.DataFrame(answers | {"w": w, "s": stratum, "u": unit})


def by_hand(table: pd.DataFrame, z: np.ndarray) -> tuple[float, float]:
    """Weighted mean of z, and its linearised standard error: units within strata."""
    w = table["w"].to_numpy()
    mean = float(w @ z / w.sum())
    scores = table.assign(e=w * (z - mean) / w.sum()).groupby(["s", "u"])["e"].sum()
    strata = scores.groupby("s")
    return mean, float(np.sqrt((strata.var(ddof=1) * strata.size()).sum()))


@pytest.fixture(scope="module")
def table():
    return drawn("clusters", np.random.default_rng(3)).astype({"a": int, "b": int})


@pytest.fixture(scope="module")
def survey(table):
    return ldp.Survey(table, PLAIN, weights="w", strata="s", clusters="u")


def test_changes_are_those_computed_by_hand(table, survey):
    results = survey.change("a", "b", name="answer", waves=("first", "second"))
    apart = results.differences()
    for label in LABELS:
        z = (table["b"] == label).to_numpy(float) - (table["a"] == label).to_numpy(float)
        found = apart.loc[("second", label)]
        assert (found["estimate"], found["se"]) == pytest.approx(by_hand(table, z), rel=1e-8)
    assert (results.nobs, list(results.groups)) == (800, ["first", "second"])
    np.testing.assert_allclose(results.params["first"], survey.frequencies("a").params, rtol=1e-12)
    replicated = survey.replicates("jackknife").change("a", "b").differences()
    np.testing.assert_allclose(replicated["se"], apart["se"], rtol=0.02)
    again = ldp.WeightedResults.from_json(results.to_json())
    assert str(again.summary()) == str(results.summary())


@pytest.mark.parametrize("engine", [False, True])
def test_matched_waves_have_a_design_of_their_own(table, engine):
    first = table[["a", "w", "u"]].assign(who=np.arange(800))
    second = table[["b"]].rename(columns={"b": "a"}).assign(who=np.arange(800))
    second = second.iloc[::-1].iloc[:600]
    waves: list[Any] = [first, second]
    if engine:
        duckdb = pytest.importorskip("duckdb")
        base = duckdb.connect()
        waves = [base.from_df(wave) for wave in waves]
    one, other = (ldp.Survey(wave, {"a": PLAIN["a"]}) for wave in waves)
    panel = one.matched(other, id="who", weights="w_1", clusters="u_1")
    found = panel.change("a_1", "a_2").differences().loc[("a_2", 1)]
    kept = table.iloc[200:].assign(s=0)
    z = (kept["b"] == 1).to_numpy(float) - (kept["a"] == 1).to_numpy(float)
    assert (found["estimate"], found["se"]) == pytest.approx(by_hand(kept, z), rel=1e-8)
    with pytest.raises(ldp.InvalidArgument, match="weights='w': no such column"):
        one.matched(other, id="who", weights="w")
    with pytest.raises(ldp.InvalidArgument, match="wights='w_1': is no argument"):
        one.matched(other, id="who", wights="w_1")
    with pytest.raises(ldp.NotAvailable, match="name those of the persons in both"):
        ldp.Survey(first, {"a": PLAIN["a"]}, weights="w").matched(other, id="who")


def test_a_change_counts_who_answered_once(table):
    gone = table.assign(b=table["b"].where(np.arange(800) % 10 > 0))
    survey = ldp.Survey(gone, PLAIN, weights="w", strata="s", clusters="u")
    results, both = survey.change("a", "b"), gone["b"].notna()
    assert (results.nobs, results.n_missing) == (720, 80)
    kept = table.assign(w=table["w"].where(both, 0.0))  # a domain of the sample
    found = results.differences().loc[("b", 3)]
    z = (table["b"] == 3).to_numpy(float) - (table["a"] == 3).to_numpy(float)
    assert (found["estimate"], found["se"]) == pytest.approx(by_hand(kept, z), rel=1e-8)


def test_ordered_answers_are_those_computed_by_hand(table, survey):
    results = survey.frequencies("a")
    frame, sums = results.cumulative(), results.params.cumsum()
    for label in LABELS[:2]:
        found = frame.loc[label]
        expected = by_hand(table, (table["a"] <= label).to_numpy(float))
        assert (found["estimate"], found["se"]) == pytest.approx(expected, rel=1e-8)
    # what is not above a category is above none: the interval of the last is that of the others
    last = results.conf_int().loc[3]
    np.testing.assert_allclose(frame.loc[2, ["upper", "lower"]], 1.0 - last, rtol=1e-9)
    assert frame.loc[3].tolist() == [1.0, 0.0, 1.0, 1.0]
    for q in (0.2, 0.5, 0.9):
        assert results.quantile(q)["estimate"] == sums.index[np.argmax(sums >= q)]
    q = float(frame.loc[1, "upper"])
    assert results.quantile(q - 1e-6)["lower"] == 1
    assert results.quantile(q + 1e-6)["lower"] == 2
    domains = survey.frequencies("a", by="s")
    alone = survey.where("s == 2").frequencies("a")
    np.testing.assert_allclose(domains.cumulative().loc[2], alone.cumulative(), rtol=1e-12)
    assert domains.quantile([0.3, 0.5]).loc[(2, 0.5)].tolist() == alone.quantile(0.5).tolist()


def test_pairs_are_tables_of_two(survey):
    matrix, table = survey.associations(["a", "b", "s"]), survey.association("a", "b")
    assert matrix.cramers_v.loc["a", "b"] == table.cramers_v().estimate
    assert matrix.pvalues.loc["a", "b"] == table.test_independence().pvalue
    assert matrix.nobs.loc["a", "a"] == 800
    again = ldp.AssociationMatrix.from_json(matrix.to_json())
    assert str(again.summary()) == str(matrix.summary())
    assert "Rao-Scott" in str(matrix.summary())


def test_what_has_no_weighted_form():
    table = pd.DataFrame({"a": [1, 2] * 10, "b": [2, 1] * 10, "w": 1.0})
    other = ldp.KRR(LABELS, epsilon=1.0)
    for asked, error, words, how in (
        ({"a": KRR, "b": other}, ldp.MechanismMismatch, "one mechanism", {}),
        ({"a": KRR, "b": KRR}, ldp.NotAvailable, "'inversion'", {"method": "mle"}),
        (dict.fromkeys("ab", KRR >> KRR), ldp.NotAvailable, "memoised=False", {}),
    ):
        with pytest.raises(error, match=words):
            ldp.Survey(table, asked, weights="w").change("a", "b", **how)
    with pytest.raises(ldp.InvalidArgument, match="'inversion' only"):
        ldp.Survey(table, PLAIN, weights="w").associations(["a", "b"], method="mle")


def test_paths_with_a_design_are_linearised_by_person():
    """Change of margins as `change` has it, turnover and its standard error by hand."""
    rng, first = np.random.default_rng(3), ldp.KRR(("no", "yes"), epsilon=2.0)
    twice, n = first >> first, 400
    table = pd.DataFrame({"a": rng.choice(["no", "yes"], n), "b": rng.choice(["no", "yes"], n),
                          "town": np.arange(n) // 8, "w": rng.uniform(1.0, 3.0, n)})  # fmt: skip
    survey = ldp.Survey(table, {"a": twice, "b": twice}, weights="w", clusters="town")
    for memoised, law in (
        (True, twice.joint_law(2)),
        (False, ldp.product({"a": twice, "b": twice})),
    ):
        results = survey.paths(["a", "b"], "ill", memoised=memoised).frequencies("ill")
        change = {"no, no": 0, "no, yes": 1, "yes, no": -1, "yes, yes": 0}
        moved = {path: abs(by) for path, by in change.items()}
        row = survey.change("a", "b", memoised=memoised).differences().loc[("b", "yes")]
        assert results.mean(change)[["estimate", "se"]].tolist() == pytest.approx(
            row[["estimate", "se"]].tolist(), rel=1e-9
        )
        reports = 2 * (table.a == "yes") + (table.b == "yes")
        phi = np.linalg.inv(law.channel().matrix())[reports] @ np.array([*moved.values()])
        estimate = np.average(phi, weights=table.w)
        z = (table.w * (phi - estimate) / table.w.sum()).groupby(table.town).sum()
        se = np.sqrt(len(z) / (len(z) - 1) * ((z - z.mean()) ** 2).sum())
        assert results.mean(moved)[["estimate", "se"]].tolist() == pytest.approx(
            [estimate, se], rel=1e-8
        )
    plain = ldp.Survey(table[["a", "b"]], {"a": twice, "b": twice})  # no public column
    assert plain.paths(["a", "b"], "ill", memoised=True).frequencies("ill").nobs == n
    rappor = ldp.RAPPOR(8, 1, 1, f=0.5, p=0.25, q=0.75, alphabet=("no", "yes"))
    sheet = ldp.Questionnaire({"a": rappor, "b": rappor})
    silent = sheet.privatize(table[["a", "b"]], rng)
    silent[[column for column in silent if column.startswith("a")]] = None
    with pytest.raises(ldp.InvalidArgument, match="nobody of 400 answered both"):
        ldp.Survey(silent, sheet).paths(["a", "b"], "ill", memoised=True)
    with pytest.raises(ldp.NotAvailable, match="of a domain"):
        survey.where("town > 3").paths(["a", "b"], "ill", memoised=True)
    with pytest.raises(ldp.InvalidArgument, match="public column"):
        survey.paths(["a", "b"], "town", memoised=True)


def test_moves_with_a_design_are_linearised_by_hand():
    """Without noise: z_i = w_i (1{a, b} - R 1{a}) / sum w 1{a}, its variance between clusters."""
    rng = np.random.default_rng(12)
    n, answers = 600, np.array(["no", "yes", "perhaps"])
    before, after = answers[rng.integers(3, size=n)], answers[rng.integers(3, size=n)]
    table = pd.DataFrame({"a": before, "b": after, "w": rng.uniform(1, 4, n)})
    table["c"], table["s"] = np.arange(n) // 10, np.arange(n) // 150
    asked = dict.fromkeys(("a", "b"), ldp.Observed(answers.tolist()))
    survey = ldp.Survey(table, asked, weights="w", clusters="c", strata="s")
    results = survey.paths(["a", "b"], "x").frequencies("x")

    def by_hand(one: Any, of: Any) -> tuple[float, float]:
        w = table["w"].to_numpy()
        ratio = (w * one).sum() / (w * of).sum()
        z = pd.Series(w * (one - ratio * of) / (w * of).sum()).groupby(table["c"]).sum()
        stratum = table.groupby("c")["s"].first()
        each = z.groupby(stratum)
        sizes = each.size()
        return ratio, float(np.sqrt((each.var() * sizes).sum()))

    found = results.transitions()
    for x, y in product(answers, answers):
        estimate, se = by_hand((before == x) & (after == y), before == x)
        assert found.loc[(x, y), ["estimate", "se"]].to_numpy() == pytest.approx(
            [estimate, se], abs=1e-10
        )
    estimate, se = by_hand(before != after, np.ones(n))
    assert results.turnover()[["estimate", "se"]].to_numpy() == pytest.approx(
        [estimate, se], abs=1e-10
    )
    domains = survey.paths(["a", "b"], "x").frequencies("x", by="s")
    assert domains.turnover().shape == (4, 4) and domains.transitions().shape == (36, 4)
    assert domains.transitions().index.names == ["s", "a", "b"]
    ends = found[["lower", "upper"]].to_numpy()
    assert (ends >= 0).all() and (ends <= 1).all() and (ends[:, 0] < ends[:, 1]).all()
    with pytest.raises(ldp.NotAvailable, match="no paths"):
        survey.frequencies("a").turnover()


def test_moves_without_weights_are_those_of_change_and_of_weights_of_ones():
    rng, answers = np.random.default_rng(4), ("no", "yes", "never")
    before = rng.choice(answers, 3_000, p=[0.5, 0.4, 0.1])
    after = np.where(rng.random(3_000) < 0.2, rng.choice(answers, 3_000), before)
    sheet = ldp.Questionnaire(dict.fromkeys("ab", ldp.KRR(answers, 2.5)))
    table = sheet.privatize(pd.DataFrame({"a": before, "b": after}), rng)
    survey, weighted = (ldp.Survey(table.assign(w=1.0), sheet, weights=w) for w in (None, "w"))
    found, ones = (one.paths(["a", "b"], "x").frequencies("x") for one in (survey, weighted))
    of_change = survey.change("a", "b").turnover()
    assert found.turnover()[["estimate", "lower", "upper"]].tolist() == pytest.approx(
        [of_change.estimate, of_change.lower, of_change.upper], abs=1e-6
    )
    plain, other = found.transitions(), ones.transitions()
    assert plain.index.equals(other.index)
    assert plain["estimate"].to_numpy() == pytest.approx(other["estimate"].to_numpy(), abs=1e-10)
    assert plain["se"].to_numpy() == pytest.approx(other["se"].to_numpy(), rel=1e-3)
    assert plain.to_numpy()[:, 2:] == pytest.approx(other.to_numpy()[:, 2:], abs=0.02)
    with pytest.raises(ldp.NotAvailable, match="no paths"):
        survey.frequencies("a").turnover()


@pytest.mark.slow
def test_moves_of_devices_that_keep_their_responses_are_covered():
    """60 clusters of 50 in five strata, with weights; 300 surveys."""
    kept = ldp.KRR(("no", "yes"), 2.0).then(ldp.KRR(("no", "yes"), 2.5), keep="first")
    rng, panel, hits, R = np.random.default_rng(13), kept.joint_law(2), np.zeros(4), 300
    cluster = np.repeat(np.arange(60), 50)
    for _ in range(R):
        before = rng.random(3_000) < 0.35
        shift = np.exp(0.3 * rng.normal(size=60)[cluster] - 0.045)
        after = before ^ (rng.random(3_000) < np.where(before, 0.3, 0.1) * shift)
        words = np.array(["no", "yes"], dtype=object)
        reports = panel.privatize(words[before.astype(int)] + ", " + words[after.astype(int)], rng)
        names = dict(zip("ab", panel.split(reports).values(), strict=True))
        table = pd.DataFrame({name: kept.report_labels(own) for name, own in names.items()})
        table = table.assign(w=rng.uniform(1, 3, 3_000), c=cluster, s=cluster % 5)
        survey = ldp.Survey(table, dict.fromkeys("ab", kept), weights="w", clusters="c", strata="s")
        found = survey.paths(["a", "b"], "x", memoised=True).frequencies("x")
        rows = found.transitions()
        rows = [found.turnover(), rows.loc[("no", "yes")], rows.loc[("yes", "no")]]
        rows.append(found.transitions().loc[("yes", "yes")])
        truth = 0.35 * 0.3 + 0.65 * 0.1, 0.1, 0.3, 0.7
        hits += [row["lower"] <= v <= row["upper"] for row, v in zip(rows, truth, strict=True)]
    assert np.all((hits / R > 0.91) & (hits / R < 0.99)), hits / R


@cache
def simulated(design: str, R: int, naive: bool = False) -> dict[str, Any]:
    """Coverage of 95 percent intervals, and of quantiles."""
    rng, P = np.random.default_rng(7), law_of(design)
    sheet, how = ldp.Questionnaire({"a": KRR, "b": KRR}), {} if naive else DESIGNS[design]
    found: dict[str, list[Any]] = {"change": [], "cumulative": [], "quantile": [], "V": []}
    for _ in range(R):
        table = sheet.privatize(drawn(design, rng), rng)
        survey = ldp.Survey(table, sheet, weights="w", **how)
        ends = ["lower", "upper"]
        if naive:  # as if waves were of different persons
            wave = pd.concat([table.assign(wave=v, y=table[v]) for v in "ab"])
            apart = ldp.Survey(wave, {"y": KRR}, weights="w").frequencies("y", by="wave")
            found["change"].append(apart.differences()[ends].to_numpy())
        else:
            found["change"].append(survey.change("a", "b").differences()[ends].to_numpy())
            v = survey.associations(["a", "b"])["a", "b"].cramers_v()
            found["V"].append([v.lower, v.upper])
        one = survey.frequencies("a")
        found["cumulative"].append(one.cumulative()[ends].to_numpy()[:2])
        found["quantile"].append(one.quantile([0.3, 0.5])[ends].to_numpy())
    a, b = P.sum(axis=1), P.sum(axis=0)
    V = np.sqrt((P**2 / np.outer(a, b)).sum() - 1.0) / np.sqrt(2.0)
    middle = 1 + np.searchsorted(a.cumsum(), [0.3, 0.5])
    truth = {"change": b - a, "cumulative": a.cumsum()[:2], "quantile": middle, "V": V}
    return {name: coverage(ends, truth[name]) for name, ends in found.items() if ends}


def test_a_domain_without_standard_errors_leaves_ordered_answers_open():
    rng, sheet = np.random.default_rng(1), {"a": ldp.KRAPPOR(LABELS, 2.0)}
    people = pd.DataFrame({"a": LABELS * 7, "g": ["u"] * 20 + ["v"], "w": np.arange(1.0, 22.0)})
    held = ldp.Questionnaire(sheet).privatize(people, rng)
    with pytest.warns(ldp.LDPWarning, match="one sampling unit"):
        results = ldp.Survey(held, sheet, weights="w").frequencies("a", by="g")
        table = results.cumulative().loc["v"]
    assert table["se"].isna().tolist() == [True, True, False]
    assert table[["lower", "upper"]].to_numpy().tolist() == [[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]]


def test_one_sampling_unit_shows_no_effect():
    people = pd.DataFrame({"a": [1, 1, 2], "b": [1, 2, 2], "w": [1.0, 2.0, 3.0], "u": 1})
    survey = ldp.Survey(people, PLAIN, weights="w", clusters="u", single_unit="average")
    with pytest.warns(ldp.LDPWarning):
        table = survey.association("a", "b")
    with pytest.raises(ldp.NotAvailable, match="one sampling unit"):
        table.cramers_v()
    with pytest.warns(ldp.LDPWarning):
        pairs = survey.associations(["a", "b"])
    (row,) = pairs.to_frame().to_dict("records")
    assert np.isnan(row["lower"]) and "one sampling unit" in row["note"]


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_cover(design, replications):
    R = replications(500, least=200)
    found, error = simulated(design, R), 2.0 * np.sqrt(0.05 * 0.95 / R)
    for name in ("change", "cumulative", "V"):
        mean = found[name].mean()  # over categories
        assert 0.95 - error <= mean <= 0.95 + error, (name, found[name])
    assert np.all(found["quantile"] >= 0.95 - error)


@pytest.mark.slow
def test_naive_covariances_do_not():
    # waves of the same persons taken for those of others, and clusters for persons
    assert simulated("equal", 200, naive=True)["change"].mean() > 0.97
    # the share that varies most between them
    assert simulated("clusters", 200, naive=True)["cumulative"][0] < 0.93
