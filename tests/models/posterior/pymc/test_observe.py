"""`ldpstats.pymc.observe`: the likelihood of reports inside models of PyMC."""

import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import MECHANISMS

import ldpstats as ldp
from ldpstats import Counts, InvalidArgument, MechanismMismatch, NotAvailable
from ldpstats.devices import flip, roll, truth, unknown
from ldpstats.pymc import observe

pytestmark = [
    pytest.mark.bayes,
    # PyTensor says so of every installation by pip; the models here need no BLAS
    pytest.mark.filterwarnings("ignore:PyTensor could not link:UserWarning"),
]

STRINGS = ("a", "b", "c", "d")
N = 30
KINDS = [  # of channels, rows and formats
    "warner", "krr-labels", "krappor", "oue", "lumped", "subsets", "hadamard", "projective",
    "custom-wide", "observed", "square-wave", "geometric", "orr", "orr-closed", "orappor",
    "orappor-closed", "urr", "urr-levels", "urap", "urap-levels", "rappor", "rappor-certain",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _quickly_compiled(pm):
    """No C code: compiling it takes longer than what it would save here."""
    import pytensor

    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


def compiled(pm: Any, shape: tuple[int, ...], *arguments: Any, **named: Any) -> Any:
    """Log-likelihood, gradient in p and a predictive draw as functions of p."""
    import pytensor
    from pytensor import tensor as pt

    p = pt.tensor("p", shape=shape, dtype="float64")
    with pm.Model() as model:
        made = observe("y", p, *arguments, **named)
    value = model.logp()
    slope = pytensor.grad(value, p)
    quick = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
    return pytensor.function([p], [value, slope], **quick), pytensor.function([p], made, **quick)


def likelihood_of(reports: Any, candidates: Any) -> Any:
    ones = np.ones(len(reports), dtype=np.int64)
    each = Counts(reports.y, ones, reports.mechanism, cohort=reports.cohort)
    return reports.mechanism.likelihood(each, candidates)


def by_row(reports: Any, p: np.ndarray) -> float:
    """The log-likelihood of reports whose respondents have a row of p each."""
    W = likelihood_of(reports, None).W
    return float((np.log((W.dense() * p).sum(axis=1)) + W.log_scale).sum())


def collected(mechanism: Any, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    candidates = STRINGS if mechanism.is_open else None
    labels = mechanism.labels(candidates)
    values = labels.take(rng.integers(0, len(labels), N))
    return mechanism.privatize(values, rng), candidates, labels


@pytest.mark.parametrize("key", KINDS)
def test_value_and_gradient_are_those_of_the_likelihood(key, pm):
    """To 1e-10, for one p and for a row each, of every mechanism; and draws have the right form."""
    rng = np.random.default_rng(5)
    reports, candidates, labels = collected(MECHANISMS[key], rng)
    exact = likelihood_of(reports, candidates)
    p = rng.dirichlet(np.ones(len(labels)))
    scored, drawn = compiled(pm, p.shape, reports, candidates)
    value, slope = scored(p)
    assert value == pytest.approx(exact.loglike(p), abs=1e-10, rel=1e-12)
    np.testing.assert_allclose(slope, exact.score(p), rtol=1e-9)
    total = drawn(p)
    assert total.shape[0] == N or total.sum() == N
    counts = reports.tally()  # which drop the bits of URAP that say nothing
    own = MECHANISMS[key].likelihood(counts, candidates).loglike(p)
    assert compiled(pm, p.shape, counts, candidates)[0](p)[0] == pytest.approx(own, rel=1e-12)
    rows = rng.dirichlet(np.ones(len(labels)), N)
    scored, drawn = compiled(pm, rows.shape, reports, candidates)
    W = exact.W.dense()
    mixed = (W * rows).sum(axis=1)
    value, slope = scored(rows)
    assert value == pytest.approx((np.log(mixed) + exact.W.log_scale).sum(), abs=1e-10, rel=1e-12)
    np.testing.assert_allclose(slope, W / mixed[:, None], rtol=1e-9)
    assert len(drawn(rows)) == N


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("key", ["krr-labels", "subsets", "orr", "rappor", "urap"])
def test_predictions_have_the_law_of_reports(key, rows, pm):
    """Mean of what is drawn, within 4 standard errors of the mean of simulated reports."""
    rng = np.random.default_rng(7)
    mechanism = MECHANISMS[key]
    candidates = STRINGS if mechanism.is_open else None
    labels = mechanism.labels(candidates)
    p = np.linspace(1.0, 3.0, len(labels))
    p, n = p / p.sum(), 4000
    reports = mechanism.privatize(rng.choice(labels, size=n, p=p), rng)
    at = np.tile(p, (n, 1)) if rows else p
    _, drawn = compiled(pm, at.shape, reports, candidates)
    with pm.Model():
        observed = observe("y", at, reports, candidates).owner.op.dtype
    values = np.asarray(drawn(at), dtype=float)
    if key in ("orr", "krr-labels") and rows:
        values = np.eye(mechanism.n_outputs)[values.astype(int)]
    if not rows and (key in ("orr", "krr-labels") or values.shape != (n, mechanism.n_bits)):
        values = values.reshape(-1, values.shape[-1]).sum(axis=0)[None] / n
        if mechanism.n_bits:  # counts of patterns: shares of the bits
            bits = np.arange(values.shape[-1])[:, None] >> np.arange(mechanism.n_bits) & 1
            values = values @ bits
    made = reports.tally()
    seen = made.bit_counts().ones.sum(axis=0) if mechanism.n_bits else made.vector()
    seen = np.asarray(seen).reshape(-1, np.shape(seen)[-1]).sum(axis=0) / n
    assert np.abs(values.mean(axis=0) - seen).max() < 4.0 * np.sqrt(2 * 0.25 / n)
    assert observed.startswith("int")


def test_many_categories_form_no_matrix(pm):
    """k = 100,000: a matrix would have 1e10 entries."""
    krr, rng = ldp.KRR(100_000, epsilon=8.0), np.random.default_rng(8)
    counts = krr.draw(np.full(krr.k, 1.0 / krr.k), 50_000, rng)
    p = rng.dirichlet(np.ones(krr.k))
    scored, drawn = compiled(pm, p.shape, counts)
    own = krr.likelihood(counts)
    value, slope = scored(p)
    assert value == pytest.approx(own.loglike(p), rel=1e-12)
    np.testing.assert_allclose(slope, own.score(p), rtol=1e-9)
    assert drawn(p).sum() == 50_000


def test_groups_of_several_mechanisms(pm):
    """One p for all, and rows of p in the order of the groups; a Series is matched by label."""
    rng, jobs = np.random.default_rng(9), ("nurse", "cook", "driver")
    makers = ldp.KRR(jobs, 1.0), ldp.KRAPPOR(jobs, 2.0), ldp.KRR(jobs, 0.5)
    groups = [
        m.privatize(rng.choice(jobs, size=n), rng) for m, n in zip(makers, (9, 5, 7), strict=True)
    ]
    p = pd.Series([0.2, 0.5, 0.3], index=["cook", "nurse", "driver"])
    total = sum(likelihood_of(group, None).loglike(p[list(jobs)].to_numpy()) for group in groups)
    with pm.Model() as model:
        made = observe("y", p, groups)
    assert [one.name for one in made] == ["y_0", "y_1", "y_2"]
    assert model.compile_logp()({}) == pytest.approx(total, abs=1e-10)
    rows = rng.dirichlet(np.ones(3), 21)
    parts = np.split(rows, [9, 14])
    with pm.Model() as model:
        observe("y", rows, groups)
    each = [by_row(group, part) for group, part in zip(groups, parts, strict=True)]
    assert model.compile_logp()({}) == pytest.approx(sum(each), abs=1e-10)


def cheaters() -> Any:
    device = flip(unknown("cheating")).when(
        {"heads": "no", "tails": roll(6).when({1: "yes"}, otherwise=truth)}
    )
    return device.mechanism(("no", "yes"))


def test_unknown_parameters_are_tensors(pm):
    device, rng = cheaters(), np.random.default_rng(10)
    reports = device.simulate(rng.choice(("no", "yes"), size=200), rng, cheating="0.2")
    p = np.array([0.6, 0.4])
    with pm.Model() as model:
        share = pm.Uniform("share", default_transform=None)
        observe("y", p, reports, parameters={"cheating": share})
        observe("z", np.tile(p, (200, 1)), reports, parameters={"cheating": share})
    law = p @ device.matrix_at(cheating=0.25)
    wanted = reports.tally().n @ np.log(law)
    found = model.compile_logp(sum=False)({"share": 0.25})
    assert [float(np.sum(one)) for one in found] == pytest.approx([0.0, wanted, wanted], abs=1e-10)
    score = reports.tally().n @ (p @ device.derivatives_at(cheating=0.25)[0] / law)
    assert model.compile_dlogp()({"share": 0.25}) == pytest.approx([2.0 * score])
    for given, remedy in ((None, "cheating"), ({"chaeting": 0.1}, "did you mean"), (3, "dict")):
        with pm.Model(), pytest.raises(InvalidArgument, match=remedy):
            observe("y", p, reports, parameters=given)
    with pm.Model(), pytest.raises(InvalidArgument, match=r"\[0, 1\]"):
        observe("y", p, reports, parameters={"cheating": 1.2})
    with pm.Model(), pytest.raises(InvalidArgument, match="no unknown"):
        observe("y", p, ldp.Warner(epsilon=1.0).counts([3, 4]), parameters={"cheating": 0.2})


@pytest.mark.parametrize(
    "p",
    [None, "p", {0.5}, [0.5], [0.5, np.nan], np.eye(3), 0.5, [[0.5, 0.5]] * 3, [True, "x"],
     pd.Series([0.5, 0.5], index=["a", "b"]), np.zeros((2, 2, 2)), [1j, 0], [0.5, 0.6],
     [-0.5, 1.5], pd.DataFrame(np.full((2, 2), 0.5), columns=["a", "b"])],
)  # fmt: skip
def test_a_bad_p_is_refused(p, pm):
    reports = ldp.Warner(epsilon=1.0).privatize(["no", "yes"], np.random.default_rng(1))
    with pm.Model(), pytest.raises(InvalidArgument, match=r"^p="):
        observe("y", p, reports)


def test_columns_of_a_frame_are_matched_by_label(pm):
    warner = ldp.Warner(epsilon=1.0)
    reports = warner.privatize(["no", "yes", "no"], np.random.default_rng(1))
    rows = pd.DataFrame({"no": [0.9, 0.2, 0.6], "yes": [0.1, 0.8, 0.4]})
    law = (rows.to_numpy() @ warner.channel().matrix())[np.arange(3), reports.y]
    for p in (rows, rows[["yes", "no"]]):
        with pm.Model() as model:
            observe("y", p, reports)
        assert model.compile_logp()({}) == pytest.approx(np.log(law).sum())


def test_what_is_wrong_is_said(pm):
    warner, p = ldp.Warner(epsilon=1.0), [0.5, 0.5]
    counts = warner.counts([3, 4])
    with pytest.raises(NotAvailable, match="inside a model"):
        observe("y", p, counts)
    sums = ldp.KRAPPOR(2, 1.0).counts([3, 4], 5)
    for given, error, words in (
        (sums, NotAvailable, "sums of bits"),
        ([3, 4], InvalidArgument, "reports="),
        ([], InvalidArgument, "at least one"),
        (pd.Series(["no"]), InvalidArgument, "Series of 1 rows"),
        (warner.counts([0, 0]), InvalidArgument, "at least one"),
        ([counts, ldp.KRR(("a", "b"), 1.0).counts([1, 1])], MechanismMismatch, "different"),
    ):
        with pm.Model(), pytest.raises(error, match=words):
            observe("y", p, given)
    with pm.Model(), pytest.raises(InvalidArgument, match="order counts"):
        observe("y", np.tile(p, (7, 1)), counts)
    with pm.Model(), pytest.raises(InvalidArgument, match="2 reports, none for the 1 who"):
        some = warner.privatize(["no", None, "yes"], np.random.default_rng(1), missing="count")
        observe("y", np.tile(p, (3, 1)), some)
    with pm.Model():
        observe("y", p, counts)
        for name in ("y", "", None, 3):
            with pytest.raises(InvalidArgument, match=r"^name="):
                observe(name, p, counts)


def test_the_example_runs_into_arviz(pm, az):
    """The docstring's hierarchy, with fewer draws, log-likelihood and predictions."""
    text = textwrap.dedent(re.split(r"row of her region::", observe.__doc__ or "")[1])
    few = "60, tune=120, chains=2, cores=1, progressbar=False"
    few += ", idata_kwargs={'log_likelihood': True}, compute_convergence_checks=False"
    text = text.replace("pm.sample(", f"pm.sample({few}, ")
    text = text.replace("draws =", "model = pm.modelcontext(None)\n    draws =")
    space: dict[str, Any] = {}
    exec(text, space)
    draws = space["draws"]
    country = draws.posterior["p"].mean(("chain", "draw", "region")).values
    assert np.abs(country - [0.5, 0.3, 0.2]).max() < 0.12
    assert draws.log_likelihood["reports"].shape == (2, 60, 600)
    assert az.loo(draws).elpd_loo < 0.0
    with space["model"]:
        predicted = pm.sample_posterior_predictive(draws, progressbar=False, random_seed=1)
    shares = (predicted.posterior_predictive["reports"] == 0).mean()
    assert abs(float(shares) - float((draws.observed_data["reports"] == 0).mean())) < 0.05


def test_random_slopes_of_the_guide(pm):
    """The recipe for what mixed logits refuse, beside the mixed logit of nearly the same law."""
    page = Path(__file__).parents[4] / "vignettes" / "guide" / "posteriors.md"
    (text,) = re.findall(r"```{code-block} python\n(.*?)```", page.read_text("utf-8"), re.S)
    few = "100, tune=300, chains=2, cores=1, progressbar=False, compute_convergence_checks=False"
    space: dict[str, Any] = {}
    import pytensor

    with pytensor.config.change_flags(mode="FAST_RUN"):  # compiling is worth it here
        exec(text.replace("pm.sample(", f"pm.sample({few}, "), space)
    found = space["draws"].posterior.mean(("chain", "draw"))
    data = pd.DataFrame({"school": space["school"], "age": space["age"]})
    like = ldp.regression("late ~ age + (1 | school)", data, {"late": space["reports"]}).fit()
    theirs = like.params.to_numpy()
    assert found["mean"].values == pytest.approx(theirs[:2], abs=0.12)
    assert found["sd"].values == pytest.approx([theirs[2], 0.2], abs=0.15)
    off = found["own"].values - np.column_stack([space["level"], space["slope"]])
    assert np.abs(off).mean(axis=0) == pytest.approx([0.2, 0.12], abs=0.1)
