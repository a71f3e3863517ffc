"""Frequencies in groups: each is the fit of its group, labelled, stored and compared."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
NORTH, SOUTH, WEST = KRR.counts([420, 330, 250]), KRR.counts([300, 300, 400]), KRR.counts([3, 1, 0])
GROUPS = {"north": NORTH, "south": SOUTH, "west": WEST}


def fitted(**how: Any) -> ldp.GroupedResults:
    return ldp.GroupedModel(GROUPS, by="region", name="job", **how).fit()


def test_every_group_is_fitted_on_its_own():
    results = fitted()
    assert len(results) == 3 and list(results.groups) == ["north", "south", "west"]
    assert results.params.index.names == ["region", "job"]
    for label, counts in GROUPS.items():
        alone = ldp.FrequencyModel(counts, name="job").fit()
        assert results[label].summary().as_text() == alone.summary().as_text()
        pd.testing.assert_series_equal(results.params[label], alone.params, check_names=False)
        pd.testing.assert_series_equal(results.bse[label], alone.bse, check_names=False)
        for how in ({}, {"method": "wilson"}, {"simultaneous": "bonferroni", "alpha": 0.1}):
            ours, theirs = results.conf_int(**how).loc[label], alone.conf_int(**how).to_frame()
            pd.testing.assert_frame_equal(ours, theirs, check_names=False)
    assert results.nobs == 2004 and results.sizes["west"] == 4
    assert results.summary_frame().shape == (9, 7)


def test_summaries_show_the_largest_of_many_groups():
    sure = ldp.KRR(("a", "b"), epsilon=3.0)
    sizes = np.random.default_rng(5).permutation(np.arange(100, 160))
    groups = {f"g{i:02d}": sure.counts([n // 2, n - n // 2]) for i, n in enumerate(sizes)}
    results = ldp.GroupedModel(groups, by="place").fit()
    text = results.summary().as_text()
    shown = [line.split()[0] for line in text.splitlines() if "(n = " in line]
    assert shown == [f"g{i:02d}" for i in np.flatnonzero(sizes >= 120)]
    assert "Shown: the 40 groups with most reports, of 60" in text
    whole = results.summary(max_rows=60).as_text()
    assert whole.count("(n = ") == 60 and "with most reports" not in whole


def test_warnings_of_groups_that_are_not_shown_are_counted():
    groups = {f"g{i}": KRR.counts([900, 900, 900]) for i in range(40)}
    groups["x"] = KRR.counts([400, 400, 400])
    misfit = KRR.counts([2600, 50, 49])  # more than the mechanism ever yields
    with pytest.warns(ldp.MisfitWarning):
        results = ldp.GroupedModel(groups | {"y": misfit}).fit()
    text = " ".join(results.summary().as_text().split())
    assert "1 of the 2 groups that are not shown have warnings" in text


def test_the_method_of_intervals_is_named_as_for_one_distribution():
    bits = ldp.KRAPPOR(("a", "b", "c"), 1.0)
    drawn = bits.privatize(["a", "b", "c"] * 200, np.random.default_rng(1))
    for one, fit in ((KRR.counts([900, 900, 900]), "mle"), (drawn, "mle"), (drawn, "inversion")):
        alone = ldp.FrequencyModel(one).fit(fit).summary().as_text()
        kind = re.search(r"Intervals: (95% [^.]*?)(, cut|, from|\.)", " ".join(alone.split()))
        assert kind is not None
        text = ldp.GroupedModel({"g": one, "h": one}).fit(fit).summary().as_text()
        assert f"Intervals: {kind[1]}, within each group" in " ".join(text.split())


def test_a_group_that_is_too_small_is_named():
    results = ldp.GroupedModel({"large": KRR.counts([900, 900, 900]), "small": WEST}).fit()
    text = " ".join(results.summary().as_text().split())
    (said,) = re.findall(r"WARNING: ([^:]*): the survey is too small or too private", text)
    assert "small" in said
    assert text.count("too private") == 1


def test_one_group_is_a_frequency_model():
    results = ldp.GroupedModel({"all": NORTH}).fit("em")
    alone = ldp.FrequencyModel(NORTH).fit("em")
    assert results.params.tolist() == alone.params.tolist()
    assert "Same distribution" not in results.summary().as_text()
    for ask in (results.test_equal, results.differences):
        with pytest.raises(ldp.errors.NotAvailable, match="one"):
            ask()


def test_groups_of_several_columns_and_mechanisms():
    rng = np.random.default_rng(3)
    other = ldp.KRAPPOR(JOBS, epsilon=2.0).privatize(rng.choice(JOBS, 500), rng)
    groups = {("n", 2023): NORTH, ("s", 2023): [SOUTH, other], ("s", np.int64(2024)): other}
    results = ldp.GroupedModel(groups, by=("region", "year")).fit()
    assert results.params.index.names == ["region", "year", "category"]
    assert results["s", 2024].nobs == 500 and results["s", 2023].nobs == 1500
    assert list(results.results) == [("n", 2023), ("s", 2023), ("s", 2024)]
    assert results.differences(reference=("s", 2024)).loc[("n", 2023)].shape == (3, 6)
    assert results.test_equal().method.startswith("Wald")
    pairs = results.differences(all_pairs=True)
    assert pairs.index.names[2:4] == ["region (reference)", "year (reference)"]
    assert pairs.loc[("s", 2024, "s", 2023)].shape == (3, 6)


def test_two_categories_are_one_hypothesis():
    """Holm's adjustment is for the number of comparisons, whichever answer is looked at."""
    yes = {"a": [500, 500], "b": [470, 530], "c": [460, 540]}
    warner = ldp.Warner(epsilon=1.0)
    groups = {name: warner.counts(counts) for name, counts in yes.items()}
    found = ldp.GroupedModel(groups, by="region").fit().differences()
    assert (found["pvalue"] < 0.5).all() and found["pvalue"].loc["b", "yes"] > 0.05
    smaller = found.loc["c"]
    np.testing.assert_allclose(smaller["pvalue_holm"], 2 * smaller["pvalue"])
    np.testing.assert_allclose(found.loc["b", "pvalue_holm"], found.loc["b", "pvalue"])
    two = ldp.GroupedModel({name: groups[name] for name in "ab"}, by="region").fit().differences()
    np.testing.assert_allclose(two["pvalue_holm"], two["pvalue"])
    # the bits of two categories are separate estimates, which need not add up
    bits = ldp.KRAPPOR(("no", "yes"), 1.0)
    sums = {"a": bits.counts([600, 400], nobs=1000), "b": bits.counts([570, 470], nobs=1000)}
    apart = ldp.GroupedModel(sums, by="region").fit("inversion").differences()
    assert apart["pvalue_holm"].min() == pytest.approx(2 * apart["pvalue"].min())


def test_differences_are_those_of_two_samples():
    results = fitted()
    found = results.differences()
    for label in ("south", "west"):
        alone = ldp.two_sample_test(GROUPS[label], NORTH).differences()
        ours = found.loc[label].drop(columns="pvalue_holm")
        pd.testing.assert_frame_equal(pd.DataFrame(ours), pd.DataFrame(alone), check_names=False)
    assert (found["pvalue_holm"] >= found["pvalue"]).all()
    smallest = found["pvalue"].idxmin()
    assert found["pvalue_holm"][smallest] == pytest.approx(6 * found["pvalue"][smallest])
    pairs = results.differences(all_pairs=True)
    assert pairs.index.names == ["region", "region (reference)", "job"] and len(pairs) == 9
    mirrored = results.differences(reference="west").loc["south"]
    np.testing.assert_allclose(
        pairs.loc[("west", "south"), ["lower", "upper"]], -mirrored[["upper", "lower"]], atol=1e-9
    )
    narrow, wide = results.differences(alpha=0.5), results.differences(alpha=0.01)
    assert (narrow["lower"] >= wide["lower"]).all() and (narrow["upper"] <= wide["upper"]).all()


def test_the_test_of_equality_is_the_homogeneity_test():
    assert fitted().test_equal() == ldp.homogeneity_test(list(GROUPS.values()))


def test_ordered_answers_of_every_group():
    results = fitted()
    mean, scores = results.mean([1, 2, 3]), {"nurse": 1, "teacher": 2, "driver": 3}
    assert mean.loc["south"].tolist() == results["south"].mean(scores).tolist()
    assert mean.index.name == "region"
    cumulative = results.cumulative(alpha=0.1)
    pd.testing.assert_frame_equal(
        cumulative.loc["west"], results["west"].cumulative(0.1).to_frame(), check_names=False
    )
    assert results.quantile(0.5).loc["north"].tolist() == results["north"].quantile(0.5).tolist()
    several = results.quantile([0.2, 0.8])
    assert several.index.names == ["region", "q"] and several.shape == (6, 3)


def test_groups_without_a_report_are_named():
    groups = GROUPS | {"east": KRR.no_counts(), "far": []} | {}
    del groups["far"]
    model = ldp.GroupedModel(groups, by="region", n_ungrouped=7)
    with pytest.warns(ldp.LDPWarning, match="no report in the group region='east'"):
        results = model.fit()
    assert results.empty == (("east",),) and list(results.groups) == list(GROUPS)
    text = results.summary().as_text()
    assert "without a report, and not fitted: region='east'" in text
    assert "7 respondents are in no group" in text


def test_warnings_name_the_group():
    krappor = ldp.KRAPPOR(JOBS, epsilon=1.0)
    rng = np.random.default_rng(0)
    wrong = ldp.KRAPPOR(JOBS, epsilon=5.0).privatize(rng.choice(JOBS, 5000), rng)
    # reports of another epsilon than the analyst believes
    claimed = ldp.Reports(wrong.y, krappor)
    right = krappor.privatize(rng.choice(JOBS, 5000), rng)
    with pytest.warns(ldp.MisfitWarning, match="region='south': goodness of fit"):
        results = ldp.GroupedModel({"north": right, "south": claimed}, by="region").fit()
    assert "WARNING: region='south':" in " ".join(results.summary().as_text().split())


def test_candidates_over_an_open_alphabet():
    orr = ldp.ORR(8, 32, epsilon=3.0)
    rng = np.random.default_rng(5)
    groups = {
        name: orr.privatize(rng.choice(JOBS, 4000, p=p), rng)
        for name, p in {"a": (0.5, 0.3, 0.2), "b": (0.2, 0.3, 0.5), "c": (0.5, 0.3, 0.2)}.items()
    }
    results = ldp.GroupedModel(groups, candidates=JOBS).fit()
    differences = results.differences()
    assert differences.loc[("b", "nurse"), "pvalue"] < 1e-6 < results.test_equal().pvalue + 1
    assert differences.loc[("c", "nurse"), "pvalue"] > 0.001
    assert results.test_equal().pvalue < 1e-6
    with pytest.raises(ldp.errors.NotAvailable, match="open alphabet"):
        results.mean([1, 2, 3])


def test_groups_are_stored_without_data():
    groups = {("n", True): NORTH, ("s", False): SOUTH, ("e", True): KRR.no_counts()}
    with pytest.warns(ldp.LDPWarning, match="no report"):
        results = ldp.GroupedModel(groups, by=("region", "town"), n_ungrouped=2, name="job").fit()
    again = ldp.GroupedResults.from_json(results.to_json())
    assert again.to_dict() == results.to_dict()
    assert again.summary().as_text() == results.summary().as_text()
    pd.testing.assert_frame_equal(again.differences(), results.differences())
    pd.testing.assert_series_equal(again.params, results.params)
    assert again.test_equal() == results.test_equal()
    assert type(again.labels[0][1]) is bool


def test_a_plot_of_one_category_has_a_line_for_each_group():
    import matplotlib.pyplot as plt

    results = fitted()
    frame = results.summary_frame().xs("nurse", level="job")
    ax = results.plot(category="nurse", sort=False)
    named = ["north, n = 1,000", "south, n = 1,000", "west, n = 4"]
    assert [label.get_text() for label in ax.get_yticklabels()] == named
    (points,) = (line for line in ax.get_lines() if line.get_label() == "estimate")
    assert list(points.get_xdata()) == list(frame["params"])
    assert list(points.get_ydata()) == [2, 1, 0]
    ends = [line[:, 0].tolist() for line in ax.collections[0].get_segments()]
    assert ends == frame[["lower", "upper"]].to_numpy().tolist()
    assert ax.get_title() == "job: nurse, by region" and ax.get_xlabel() == "frequency of nurse"
    own = plt.subplots()[1]
    assert results.plot(category="nurse", ax=own, most=2, title="") is own
    (points,) = (line for line in own.get_lines() if line.get_label() == "estimate")
    assert list(points.get_xdata()) == sorted(frame["params"], reverse=True)[:2]
    assert own.get_yticklabels()[-1].get_text() == "and 1 more" and own.get_title() == ""
    for how, words in (
        ({"category": "nurs"}, r"^category='nurs': must be one of 'nurse', 'teacher', 'driver'$"),
        ({"category": "nurse", "figure": own.figure}, "^figure=.*pass ax= for one$"),
        ({"ax": own}, "^ax=.*pass figure="),
    ):
        with pytest.raises(ldp.InvalidArgument, match=words):
            results.plot(**how)
    plt.close("all")


def test_results_are_frames_and_facts():
    results = fitted()
    frame = results.to_frame()
    assert list(frame.columns[:4]) == ["region", "job", "estimate", "std_error"]
    assert frame["estimate"].tolist() == results.params.tolist()
    facts, fits = results.glance().iloc[0], results.fits
    assert f"k={facts['k']}," in repr(results)
    assert facts["llf"] == sum(fit.llf for fit in fits) and facts["df_model"] == 6
    assert facts["aic"] == pytest.approx(12 - 2 * facts["llf"])
    assert facts["bic"] == pytest.approx(np.log(2004) * 6 - 2 * facts["llf"])
    assert facts["p_equal"] == results.test_equal().pvalue
    assert "<table" in results._repr_html_()
    assert results.to_maketables().__maketables_stat__("N") == 2004
    assert results.tvalues["north"].tolist() == results["north"].tvalues.tolist()
    details = results.summary(details=True).as_text()
    assert "Goodness of fit" in details and "unconstr." in details


@pytest.mark.parametrize(("by", "name"), [("category", ""), ("job", "job")])
def test_columns_of_frames_have_names_of_their_own(by, name):
    frame = ldp.GroupedModel({"a": NORTH, "b": SOUTH}, by=by, name=name).fit().to_frame()
    assert frame.columns.is_unique and frame.columns[0] == by


def reports_of(ids: Any) -> ldp.Reports:
    return ldp.Reports([0] * len(ids), KRR, ids=ids)


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("groups=", lambda: ldp.GroupedModel([NORTH, SOUTH])),
        ("group='north'=", lambda: ldp.GroupedModel({"north": [1, 2, 3]})),
        ("labelled by a tuple of 2", lambda: ldp.GroupedModel(GROUPS, by=("a", "b"))),
        ("labelled by text, finite", lambda: ldp.GroupedModel({float("nan"): NORTH})),
        ("labels two groups", lambda: ldp.GroupedModel({"n": NORTH, ("n",): SOUTH})),
        ("by=", lambda: ldp.GroupedModel(GROUPS, by=())),
        ("by=.*twice", lambda: ldp.GroupedModel({("a", "b"): NORTH}, by=("x", "x"))),
        ("without a single report", lambda: ldp.GroupedModel({"n": KRR.no_counts()})),
        ("n_ungrouped=", lambda: ldp.GroupedModel(GROUPS, n_ungrouped=-1)),
        ("incomplete=", lambda: ldp.GroupedModel(GROUPS, incomplete=True)),
        (
            "is in group='a' too",
            lambda: ldp.GroupedModel({"a": reports_of([1, 2]), "b": reports_of([2, 3])}),
        ),
        ("reference='east'.*'north'", lambda: fitted().differences("east")),
        ("reference=.*all_pairs", lambda: fitted().differences("north", all_pairs=True)),
        ("level=0.95: is called alpha", lambda: fitted().differences(level=0.95)),
        ("label='east'", lambda: fitted()["east"]),
        ("method='bootstrap': needs the data", lambda: fitted().conf_int(method="bootstrap")),
        ("document=", lambda: ldp.GroupedResults.from_dict({})),
    ],
)
def test_bad_input(words, call):
    with pytest.raises(ldp.InvalidArgument, match=words):
        call()


def test_other_categories_are_refused():
    other = ldp.KRR(("nurse", "cook", "driver"), 1.0).counts([1, 2, 3])
    with pytest.raises(ldp.MechanismMismatch, match="region='b' and region='a'"):
        ldp.GroupedModel({"a": NORTH, "b": other}, by="region")
