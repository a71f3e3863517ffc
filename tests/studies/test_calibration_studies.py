"""Studies of coverage and calibration: what is stored, and some surveys again."""

import numpy as np
import pytest
from simulate import ALPHA, at_least, at_most, error, near

from benchmarks.studies import (
    calibrated_posteriors,
    default_surveys,
    frequency_calibration,
    joint_models,
    unknown_devices,
    unknown_regressions,
    waves,
)
from benchmarks.studies.stored import load

AT_A_BOUND = ("no cheating at all", "cheating")


def test_intervals_cover_as_often_as_they_say():
    coverage = unknown_devices.load()["coverage"]
    assert len(coverage.index.unique(0)) == 8
    assert coverage.drop(AT_A_BOUND).between(0.939, 0.961).all()
    # an interval cannot miss a bound from outside: one side of .025 is never used
    assert 0.96 < coverage[AT_A_BOUND] < 0.99


def test_a_part_again_agrees(monkeypatch):
    few = {
        name: unknown_devices.SETTINGS[name]
        for name in ("unrelated question", "cheating near zero")
    }
    monkeypatch.setattr(unknown_devices, "SETTINGS", few)
    table = unknown_devices.run("unrelated question", R=300, seed=4)
    assert table["coverage"].between(0.95 - 4 * 0.0126, 1.0).all()


@pytest.mark.parametrize("setting", ["cheating detection", "no cheating at all"])
def test_the_model_has_the_intervals_of_the_study(setting):
    unknown_devices.compare(setting, R=3)


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_coverage():
    unknown_devices.check(R=200)


# -- unknown regressions ---------------------------------------------------------------------------


def test_intervals_cover_as_often_as_they_say_unknown_regressions():
    table = unknown_regressions.load()
    assert (table["surveys"] == 1000).all()
    inside = table.drop(index="logit, cheating near zero", level=0)["coverage"]
    assert inside.between(0.936, 0.964).all()
    # the control takes nobody to cheat
    naive = table["naive"].groupby(level=0).min()
    assert naive["logit"] < 0.5 and naive["ordered"] < 0.5
    near = table["coverage"]["logit, cheating near zero"]
    assert near.between(0.936, 0.985).all()  # an interval cannot miss a bound from outside


@pytest.mark.slow
def test_results_have_the_intervals_of_the_study():
    unknown_regressions.compare("logit", R=1)


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_coverage_unknown_regressions():
    unknown_regressions.check()


# -- joint models ----------------------------------------------------------------------------------


def test_stored_intervals_of_joint_models_cover_and_the_controls_do_not():
    table = joint_models.load()
    for setting, (_, R) in joint_models.SETTINGS.items():
        rows = table[table["setting"] == setting]
        assert (rows["surveys"] == R).all()
        assert near(rows["coverage"], 1 - ALPHA, R), setting
        # terms of a survey move together: their mean as one of them
        means = rows.groupby("of")[["coverage", "control"]].mean()
        assert near(means["coverage"], 1 - ALPHA, R, errors=3.0), setting
        assert (means["control"] < 0.8).all(), setting


def test_joint_models_again_agree_with_the_stored_coverage(capsys):
    joint_models.check()
    assert "standard errors apart" in capsys.readouterr().out


# -- waves -----------------------------------------------------------------------------------------


def test_stored_intervals_of_waves_cover_and_the_controls_do_not():
    table = waves.load()
    assert (table["surveys"] == 1000).all()
    for setting in waves.SETTINGS:
        rows = table[table["setting"] == setting]
        assert near(rows["coverage"], 1 - ALPHA, 1000), setting
        means = rows.groupby("of")[["coverage", "control"]].mean()
        assert near(means["coverage"], 1 - ALPHA, 1000, errors=3.0), setting
        assert (means["control"] < 0.8).all(), setting
    naive = table.dropna().groupby("of")["naive"]
    assert naive.max()[["turnover", "transitions"]].eq(0.0).all()
    assert naive.min()["change"] > 0.9  # of the shares it is right either way


def test_waves_again_agree_with_the_stored_coverage(capsys):
    waves.check()
    assert "standard errors apart" in capsys.readouterr().out


# -- frequency calibration -------------------------------------------------------------------------


FAIR = [
    setting
    for setting in frequency_calibration.SETTINGS
    if setting != frequency_calibration.CONTROL
]


@pytest.fixture(scope="module")
def stored():
    return load(frequency_calibration.STORED, "setting", list(frequency_calibration.SETTINGS))


def test_the_stored_ranks_are_of_all_surveys(stored):
    counts = stored.filter(like="bin").to_numpy()
    assert (
        counts.shape[1] == frequency_calibration.BINS
        and (counts.sum(axis=1) == frequency_calibration.SURVEYS).all()
    )
    np.testing.assert_allclose(frequency_calibration.pvalues(counts), stored["pvalue"], rtol=1e-3)


def test_the_stored_ranks_are_uniform_unless_epsilon_is_wrong(stored):
    """Thirteen categories: the smallest p-value is below .001 with chance .013."""
    smallest = stored.groupby("setting")["pvalue"].min()
    assert (smallest[FAIR] > 0.001).all()
    assert smallest[frequency_calibration.CONTROL] < 0.001


def test_some_surveys_are_ranked_again():
    rng = np.random.default_rng(1)
    ranks = np.array([frequency_calibration.rank_of("k-RR", rng) for _ in range(6)])
    assert ranks.shape == (6, 4) and ranks.min() >= 0 and ranks.max() <= frequency_calibration.RANKS
    np.testing.assert_array_equal(frequency_calibration.histogram("k-RR", 6).sum(axis=1), 6)


# -- default surveys -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored_default_surveys():
    return default_surveys.load()


def test_every_setting_is_stored_with_its_surveys(stored_default_surveys):
    for part, (settings, R) in default_surveys.PARTS.items():
        rows = stored_default_surveys[stored_default_surveys["part"] == part]
        assert (rows["surveys"] == R).all()
        found = rows.groupby(["mechanism", "epsilon", "where", "n", "unlisted"], dropna=False)
        assert found.ngroups == len(settings)


def test_the_stored_intervals_cover_and_halved_ones_do_not(stored_default_surveys):
    cells = stored_default_surveys[stored_default_surveys["what"] == "coverage, not cut"]
    for row in cells.itertuples():
        # a mean over cells, which have nearly independent intervals, is no worse than one of them
        assert at_least(row.mean, 1 - ALPHA, row.surveys), row
        assert at_least(row.least, 1 - ALPHA, row.surveys, errors=4.5), row
    halved = stored_default_surveys[stored_default_surveys["what"] == "coverage, halved"]
    assert halved["most"].max() < 0.9
    # the cut adds half of what is missed where a frequency is zero
    cut = stored_default_surveys[
        (stored_default_surveys["what"] == "coverage") & (stored_default_surveys["of"] == "zero")
    ]
    pairs = cut["part"].isin(["one variable", "candidates"])
    assert abs(cut[pairs]["mean"].mean() - 0.975) < 0.01


def test_the_stored_sizes_are_not_above_the_level(stored_default_surveys):
    sizes = stored_default_surveys[stored_default_surveys["what"] == "size"]
    assert at_most(sizes["mean"], ALPHA, sizes["surveys"], errors=4.0)
    two_sided = sizes[sizes["of"].isin(["given distribution", "one contrast", "two samples"])]
    n = two_sided["surveys"].sum()
    assert abs(two_sided["mean"].mean() - ALPHA) < 4 * error(ALPHA, n)


@pytest.mark.slow
def test_surveys_again_agree_with_the_stored_figures(capsys):
    default_surveys.check(seed=3)
    assert "standard errors apart" in capsys.readouterr().out


# -- calibrated posteriors -------------------------------------------------------------------------


pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


@pytest.fixture(scope="module")
def ranks():
    return calibrated_posteriors.stored()


def test_ranks_are_uniform_but_those_of_the_control(ranks):
    """No p-value below .05 over their number; mean ranks of 1/2 within four standard errors."""
    found = calibrated_posteriors.uniformity(ranks)
    surveys = ranks.groupby("setting", sort=False)["survey"].nunique()
    fine = found.drop("control", level="setting")
    assert fine["pvalue"].min() > 0.05 / len(fine)
    for setting in ("flat", "margins", "pooling"):
        band = 4 / np.sqrt(12 * surveys[setting])
        assert np.all(np.abs(fine.loc[setting, "mean"] - 0.5) < band)
    assert found.loc["control", "pvalue"].min() < 1e-6
    assert surveys.to_list() == [calibrated_posteriors.SURVEYS] * 3 + [
        calibrated_posteriors.CONTROLS
    ]


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["flat", "pooling"])
def test_surveys_again_agree_with_the_stored_ranks(setting, ranks):
    """A rank is a mean over draws: other draws give another one, within 60 of 159."""
    again = calibrated_posteriors.ranks(setting, range(3))
    before = ranks[(ranks["setting"] == setting) & (ranks["survey"] < 3)]
    gap = np.abs(again["rank"].to_numpy() - before["rank"].to_numpy())
    assert again["quantity"].tolist() == before["quantity"].tolist()
    assert gap.max() < 60 and gap.mean() < 15
