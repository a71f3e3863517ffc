"""What a report says about an answer, against Bayes' theorem entry by entry."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from grid import MECHANISMS, all_reports, candidates, channel

import ldpstats as ldp
from ldpstats.privacy import plot_posterior, posterior

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
LATE = ldp.ForcedResponse(p_truth=0.5, p_yes=0.2)
P = np.array([0.5, 0.3, 0.2])
P_JOINT = pd.DataFrame([[0.1, 0.2], [0.05, 0.25], [0.3, 0.1]], JOBS, ["no", "yes"])
RAP = ldp.RAPPOR(6, 2, 3, f=0.0, p=0.25, q=0.75)


def bayes(Q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """P(x | y), reports in rows, one entry at a time."""
    found = np.empty(Q.T.shape)
    for y, x in np.ndindex(found.shape):
        found[y, x] = p[x] * Q[x, y] / sum(p[z] * Q[z, y] for z in range(len(p)))
    return found


def possible(name: str, mechanism: ldp.Mechanism) -> bool:
    """Whether the law of its reports is in columns of Q, all of which can occur."""
    Q = channel(mechanism).matrix()
    return not isinstance(mechanism, ldp.URAP) and bool(Q.any(axis=0).all())


@pytest.mark.parametrize("name", [n for n, m in MECHANISMS.items() if possible(n, m)])
def test_every_mechanism(name):
    mechanism = MECHANISMS[name]
    Q = channel(mechanism).matrix()
    p = np.random.default_rng(1).dirichlet(np.ones(len(Q)))
    wanted = bayes(Q, p)
    found = posterior(mechanism, p, all_reports(mechanism), candidates(mechanism))
    np.testing.assert_allclose(found.to_numpy(), wanted, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert found.columns.tolist() == mechanism.labels(candidates(mechanism)).tolist()
    if isinstance(mechanism, ldp.Enumerated):
        listed = posterior(mechanism, p)
        assert listed.index.tolist() == mechanism.outputs.tolist()
        np.testing.assert_allclose(listed, found, atol=1e-15)
    if np.isfinite(mechanism.epsilon) and mechanism.sensitive is None:
        odds = found.to_numpy()[:, :, None] / found.to_numpy()[:, None, :]
        before = p[:, None] / p[None, :]
        assert np.log(odds / before).max() <= mechanism.epsilon + 1e-9


def test_labels_and_their_order():
    p = pd.Series(P, index=JOBS)
    found = posterior(KRR, p)
    assert found.index.name == "report" and found.columns.name == "answer"
    pd.testing.assert_frame_equal(posterior(KRR, p[::-1]), found)
    pd.testing.assert_frame_equal(posterior(KRR, P.tolist()), found)
    by_report = posterior(KRR, p, reports=["driver", "nurse", "driver"])
    assert by_report.index.tolist() == ["driver", "nurse", "driver"]
    np.testing.assert_array_equal(by_report.iloc[[1, 2]], found.loc[["nurse", "driver"]])
    fitted = ldp.FrequencyModel(KRR.counts([300, 200, 100])).fit()
    pd.testing.assert_frame_equal(
        posterior(KRR, fitted.params), posterior(KRR, fitted.params[::-1])
    )
    numbers = posterior(ldp.KRR(3, 1.0), P)
    assert numbers.loc[2, 1] == found.loc["driver", "teacher"]


def test_a_certain_answer_stays_certain():
    np.testing.assert_array_equal(posterior(KRR, [0, 1, 0]), [[0, 1, 0]] * 3)
    np.testing.assert_array_equal(posterior(ldp.Observed(JOBS), P), np.eye(3))
    np.testing.assert_allclose(posterior(ldp.KRR(JOBS, 1e-6), P), [P] * 3, atol=1e-6)
    np.testing.assert_allclose(posterior(ldp.KRR(JOBS, 30.0), P), np.eye(3), atol=1e-12)


def test_a_report_that_cannot_occur():
    with pytest.warns(ldp.errors.LDPWarning, match="'teacher': cannot be reported under p"):
        found = posterior(ldp.Observed(JOBS), [0.5, 0.0, 0.5])
    assert found.loc["teacher"].isna().all() and found.loc["nurse"].tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(ldp.InvalidArgument, match=r"reports\[1\]='teacher': cannot occur under p"):
        posterior(ldp.Observed(JOBS), [0.5, 0.0, 0.5], ["nurse", "teacher"])


def test_bits_and_hashes_are_judged_where_they_are_given():
    bits = ldp.KRAPPOR(JOBS, epsilon=1.0)
    Q = bits.channel().matrix()
    wanted = bayes(Q, P)
    found = posterior(bits, P, ["110", "001", "000"])
    np.testing.assert_allclose(found, wanted[[3, 4, 0]], atol=1e-14)
    assert found.index.tolist() == ["110", "001", "000"]
    words = ("a", "b", "c", "d")
    reports = RAP.privatize(["a", "b", "c", "d"] * 3, np.random.default_rng(3))
    found = posterior(RAP, [0.4, 0.3, 0.2, 0.1], reports, words)
    cells = RAP.channel(words)
    for i in range(len(reports)):
        own = cells.channels[reports.cohort[i]].matrix()  # of its cohort
        number = int(reports.y[i, 0])
        row = own[:, number] * [0.4, 0.3, 0.2, 0.1]
        np.testing.assert_allclose(found.iloc[i], row / row.sum(), atol=1e-12)
    text = RAP.report_labels(reports)
    pd.testing.assert_frame_equal(posterior(RAP, [0.4, 0.3, 0.2, 0.1], text, words), found)


# -- several questions ---------------------------------------------------------------------------


def joint_bayes(a: str, b: str) -> np.ndarray:
    """FPE16 section III-A for one pair of reports, one entry at a time."""
    Q, R = KRR.channel().matrix(), LATE.channel().matrix()
    i, j = JOBS.index(a), ["no", "yes"].index(b)
    joint = np.array([[P_JOINT.iloc[x, z] * Q[x, i] * R[z, j] for z in range(2)] for x in range(3)])
    return joint / joint.sum()


def test_two_questions():
    found = posterior({"job": KRR, "late": LATE}, P_JOINT)
    assert found.shape == (6, 6)
    assert found.index.names == found.columns.names == ["job", "late"]
    for a, b in product(JOBS, ("no", "yes")):
        np.testing.assert_allclose(found.loc[(a, b)], joint_bayes(a, b).ravel(), atol=1e-14)
    shuffled = P_JOINT.iloc[::-1, ::-1]
    pd.testing.assert_frame_equal(posterior({"job": KRR, "late": LATE}, shuffled), found)
    series = pd.Series(P_JOINT.to_numpy().ravel(), found.columns).sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(posterior({"job": KRR, "late": LATE}, series), found)
    for flat in (P_JOINT.to_numpy(), P_JOINT.to_numpy().ravel()):
        np.testing.assert_array_equal(posterior([KRR, LATE], flat), found)
    one = ldp.product({"job": KRR, "late": LATE})
    np.testing.assert_allclose(posterior(one, P_JOINT.to_numpy().ravel()), found, atol=1e-14)
    given = posterior([KRR, LATE], P_JOINT, [["driver", "nurse"], ["no", "yes"]])
    np.testing.assert_array_equal(given, found.loc[[("driver", "no"), ("nurse", "yes")]])
    frame = pd.DataFrame({"late": ["no", "yes"], "job": ["driver", "nurse"]})
    named = posterior({"job": KRR, "late": LATE}, P_JOINT, frame)
    np.testing.assert_array_equal(named, given)


# -- what is refused -----------------------------------------------------------------------------

OTHER = ldp.KRR(JOBS, 2.0).privatize(["nurse"], np.random.default_rng(1))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((None, P), "mechanism=None: must be a mechanism"),
        (({1: KRR}, P), r"mechanism=\[1\]: must have the questions' names"),
        ((KRR, None), "p=.*must be 3"),
        ((KRR, P * 0.9), "p=.*sum to one"),
        ((KRR, [0.5, 0.5]), r"p=.*shape \(2,\)"),
        ((KRR, pd.Series(P, ["nurse", "teacher", "cook"])), "p=.*indexed by the labels"),
        (([KRR, LATE], P), r"p=.*shape \(3,\).: must be a joint distribution"),
        (([KRR, LATE], P_JOINT.T), "p=.*indexed by the labels"),
        (([KRR, LATE], P_JOINT.rename(index={"driver": "cook"})), "p=.*indexed by the labels"),
        (([KRR, LATE], P_JOINT.stack().iloc[:5]), "p=.*indexed by the labels"),
        (([KRR, LATE, LATE], P_JOINT), "p=.*MultiIndex"),
        ((KRR, P, ["cook"]), r"reports.*'cook'"),
        ((KRR, P, []), "reports=0: hold no report"),
        ((KRR, P, OTHER), "reports='KRR.*must be reports of KRR"),
        (([KRR, LATE], P_JOINT, ["nurse"]), "reports='1 columns'"),
        (([KRR, LATE], P_JOINT, [["nurse"], ["no", "yes"]]), r"len\(reports\[1\]\)=2: must be 1"),
        (({"a": KRR, "b": LATE}, P_JOINT, {"a": ["nurse"]}), "reports=.*of the questions"),
        ((ldp.KRAPPOR(JOBS, 1.0), P), "pass those to judge as reports="),
        ((RAP, P, ["0:010101"]), "candidates"),
        ((KRR, P, None, JOBS), "candidates= is for open alphabets"),
    ],
)
def test_what_is_refused(arguments, match):
    with pytest.raises(ldp.LDPError, match=match):
        posterior(*arguments)


# -- the picture ---------------------------------------------------------------------------------


def test_the_plot_shows_the_numbers():
    found = posterior(KRR, P)
    ax = plot_posterior(found, P)
    mesh = ax.collections[0]
    np.testing.assert_allclose(np.ravel(mesh.get_array()), np.ravel(np.vstack([P, found])))
    assert [t.get_text() for t in ax.texts][:3] == ["0.500", "0.300", "0.200"]
    assert ax.get_xlabel() == "answer" and ax.get_ylabel() == "report"
    both = posterior({"job": KRR, "late": LATE}, P_JOINT)
    joint = plot_posterior(both, P_JOINT, title="")
    assert joint.get_xlabel() == "answer (job, late)" and joint.get_title() == ""
    assert joint.get_yticklabels()[0].get_text() == "before"
    with pytest.warns(ldp.errors.LDPWarning):
        gaps = posterior(ldp.Observed(JOBS), [0.5, 0.0, 0.5])
    own = plt.subplots()[1]
    assert plot_posterior(gaps, ax=own) is own
    plt.close("all")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((None,), "beliefs=None"),
        ((pd.DataFrame(np.ones((2, 2))),), "rows sum to one"),
        ((pd.DataFrame(np.eye(61)),), "at most 60 reports"),
        ((posterior(KRR, P), [0.5, 0.5]), "p="),
        ((posterior(KRR, P), P, "heatmap"), "ax='heatmap'"),
        ((posterior(KRR, P), P, None, 5), "title=5"),
    ],
)
def test_what_cannot_be_drawn(arguments, match):
    with pytest.raises(ldp.LDPError, match=match):
        plot_posterior(*arguments)


def test_questions_of_a_joint_distribution_are_matched_by_name():
    """Both have the same answers, so that only names tell which is which."""
    answers = ldp.Warner(epsilon=1.0).categories
    table = pd.DataFrame([[0.1, 0.2], [0.3, 0.4]], answers, answers)
    named = table.rename_axis(index="ill", columns="late")
    both = {"ill": ldp.Warner(epsilon=1.0), "late": ldp.Warner(epsilon=3.0)}
    wanted = posterior(both, table)
    for given in (named, named.T, named.stack(), named.T.stack().sample(frac=1.0, random_state=1)):
        pd.testing.assert_frame_equal(posterior(both, given), wanted)
        cells = plot_posterior(wanted, given).texts[:4]
        assert [text.get_text() for text in cells] == ["0.100", "0.200", "0.300", "0.400"]
        plt.close("all")
    wrong = table.rename_axis(index="late")
    with pytest.raises(ldp.InvalidArgument, match="ill, late"):
        posterior(both, wrong)
    other = table.rename_axis(index="first", columns="second")  # no names of questions
    pd.testing.assert_frame_equal(posterior(both, other), wanted)
    assert not np.allclose(posterior(both, table.T), wanted)
