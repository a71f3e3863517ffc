"""Waves of one question: chains against counts, other estimators, and sums over all histories."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import brentq
from scipy.special import xlogy
from scipy.stats import chi2

import ldpstats as ldp
from ldpstats import cells, planning

Array = npt.NDArray[Any]
YES = ("no", "yes")
# simulated: 2,000 persons with a state of two that changes and answers given in error, five waves
HISTORIES = """390 120 68 92 58 20 39 92 61 21 15 33 17 22 37 119 75 21 11 32 20 14 11 57 51 18
21 45 39 47 92 242"""


def chain(n: int, P: Array, waves: int, rng: np.random.Generator, first: Array) -> Array:
    """Answers, a wave a column, numbered from 0 on."""
    x = [rng.choice(len(P), n, p=first)]
    for _ in range(waves - 1):
        x.append((rng.random(n)[:, None] > P.cumsum(axis=1)[x[-1]]).sum(axis=1))
    return np.stack(x, axis=1)


def observed(x: Array, labels: Any) -> dict[str, ldp.Reports]:
    """Answers without noise."""
    made_by = ldp.Observed(labels)
    return {f"w{t}": ldp.Reports(column, made_by) for t, column in enumerate(x.T, 1)}


def histories() -> Array:
    every = np.array(list(product((0, 1), repeat=5)))
    return every.repeat([*map(int, HISTORIES.split())], axis=0)


@pytest.fixture(scope="module")
def threes() -> Array:
    P = np.array([[0.7, 0.2, 0.1], [0.15, 0.7, 0.15], [0.05, 0.15, 0.8]])
    return chain(3000, P, 4, np.random.default_rng(1), np.array([0.5, 0.3, 0.2]))


def counted(x: Array, order: int, stationary: bool) -> tuple[dict[str, float], float]:
    """Shares and the log-likelihood that counts give, with the names of parameters."""
    first, shares, llf = np.bincount(x[:, 0], minlength=3), {}, 0.0
    tables = [(first[None], "w1: ", [()])]
    moves: dict[tuple[str, int], Array] = {}
    for t in range(1, x.shape[1]):
        depth = min(t, order)
        head = "" if stationary and t >= order else f"w{t + 1}: "
        code = sum(x[:, t - depth + i] * 3 ** (depth - i) for i in range(depth)) + x[:, t]
        n = np.bincount(code, minlength=3 ** (depth + 1)).reshape(-1, 3)
        moves[head, depth] = moves.get((head, depth), 0) + n
    tables += [(n, head, list(product("abc", repeat=d))) for (head, d), n in moves.items()]
    for n, head, past in tables:
        llf += float((xlogy(n, n) - xlogy(n, n.sum(axis=1, keepdims=True))).sum())
        for row, before in zip(n, past, strict=True):
            arrow = f"{','.join(before)}->" if before else ""
            for share, y in zip(row / row.sum(), "abc", strict=True):
                shares[f"{head}P({arrow}{y})"] = share
    return shares, llf


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("stationary", [False, True])
def test_without_noise_transitions_are_counts(threes: Array, order: int, stationary: bool) -> None:
    structure = cells.markov(order=order, stationary=stationary)
    results = ldp.CellModel(observed(threes, ("a", "b", "c")), structure).fit()
    shares, llf = counted(threes, order, stationary)
    assert results.params.to_dict() == pytest.approx(shares, abs=1e-8)
    assert results.llf == pytest.approx(llf, abs=1e-8)
    if order == 1 and not stationary:
        found = results.conditional("w3", given="w2")
        names = [f"w3: P({a}->{b})" for a, b in product("abc", repeat=2)]
        assert found["estimate"].to_numpy() == pytest.approx(results.params[names].to_numpy())
        assert found["std_error"].to_numpy() == pytest.approx(results.bse[names].to_numpy())


def test_nested_chains_have_the_likelihood_ratio_of_counts(threes: Array) -> None:
    data = observed(threes, ("a", "b", "c"))
    kinds = [(1, True), (1, False), (2, False)]
    fits = [ldp.CellModel(data, cells.markov(order=o, stationary=s)).fit() for o, s in kinds]
    llf = [counted(threes, *kind)[1] for kind in kinds]
    for i, df in ((0, 12), (1, 24)):
        test = fits[i].lr_test(fits[i + 1])
        ratio = 2.0 * (llf[i + 1] - llf[i])
        assert (test.statistic, test.df) == pytest.approx((ratio, df), abs=1e-7)
        assert test.pvalue == pytest.approx(chi2.sf(ratio, df), abs=1e-8)


def test_movers_and_stayers_solve_the_equation_of_goodman() -> None:
    rng, n, T = np.random.default_rng(2), 4000, 5
    x = chain(n, np.array([[0.7, 0.3], [0.4, 0.6]]), T, rng, np.array([0.6, 0.4]))
    stays = rng.random(n) < np.where(x[:, 0] == 1, 0.5, 0.3)
    x[stays] = x[stays, :1]
    structure = cells.markov(stationary=True, stayers=True)
    results = ldp.CellModel(observed(x, YES), structure).fit()
    for i, (name, arrow) in enumerate((("no", "no->yes"), ("yes", "yes->no"))):
        # those who start in i, those never elsewhere, transitions from i, and those that stay
        first, never = int((x[:, 0] == i).sum()), int((x == i).all(axis=1).sum())
        since = int((x[:, :-1] == i).sum())
        same = int(((x[:, :-1] == i) & (x[:, 1:] == i)).sum())

        def score(m: float, a: int = first, b: int = never, c: int = since, d: int = same) -> float:
            steps = T - 1
            gone = (a - b) * steps * m ** (steps - 1) / (1.0 - m**steps)
            return float(gone + (d - steps * b) / m - (c - d) / (1.0 - m))

        m = brentq(score, 0.01, 0.99, xtol=1e-12)
        share = (never / first - m ** (T - 1)) / (1.0 - m ** (T - 1))
        assert results.params[f"P({arrow} | mover)"] == pytest.approx(1.0 - m, abs=1e-6)
        assert results.params[f"P(stayer | {name})"] == pytest.approx(share, abs=1e-6)
    shares = results.params["w1: P(yes)"], results.params["P(stayer | yes)"]
    mean = shares[0] * shares[1] + (1.0 - shares[0]) * results.params["P(stayer | no)"]
    assert f"Stayers: {100 * mean:.0f}% of the respondents never" in str(results.summary())


def expectation(x: Array, stationary: bool) -> tuple[Array, Array, Array, float]:
    """A latent Markov chain of two states by EM over all 32 paths."""
    kinds, n = np.unique(x, axis=0, return_counts=True)
    paths = np.array(list(product((0, 1), repeat=5)))
    first, P, E = np.array([0.6, 0.4]), np.full((4, 2, 2), 0.1) + 0.8 * np.eye(2), np.eye(2)
    E, llf = 0.8 * E + 0.1, -np.inf
    for _ in range(100_000):
        joint = first[paths[:, 0]] * np.prod(
            [E[paths[:, t], kinds[:, t, None]] for t in range(5)], 0
        )
        for t in range(4):
            joint = joint * P[t, paths[:, t], paths[:, t + 1]]
        before, llf = llf, float(n @ np.log(joint.sum(axis=1)))
        if llf - before < 1e-11:
            break
        w = joint / joint.sum(axis=1, keepdims=True) * n[:, None]
        first = np.bincount(paths[:, 0], w.sum(axis=0)) / n.sum()
        E = np.array([[sum(w[kinds[:, t] == y][:, paths[:, t] == c].sum() for t in range(5))
                       for y in (0, 1)] for c in (0, 1)])  # fmt: skip
        E = E / E.sum(axis=1, keepdims=True)
        for t in range(4):
            P[t] = np.bincount(paths[:, t] * 2 + paths[:, t + 1], w.sum(axis=0)).reshape(2, 2)
        P = np.repeat(P.sum(axis=0)[None], 4, 0) if stationary else P
        P = P / P.sum(axis=2, keepdims=True)
    return first, P, E, llf


@pytest.mark.parametrize("stationary", [True, False])
def test_hidden_states_are_those_of_em_over_all_paths(stationary: bool) -> None:
    structure = cells.markov(latent=2, stationary=stationary)
    results = ldp.CellModel(observed(histories(), YES), structure).fit()
    first, P, E, llf = expectation(histories(), stationary)
    assert results.llf == pytest.approx(llf, abs=1e-6)
    moves = P[:1] if stationary else P
    expected = [first[1], *moves[:, [0, 1], [1, 0]].reshape(-1), *E[:, 1]]
    assert results.params.to_numpy() == pytest.approx(expected, abs=1e-4)
    if stationary:  # as Python's hmmlearn 0.3.3 has it
        assert results.llf == pytest.approx(-6031.141587, abs=1e-5)
        shares = [0.396324, 0.156405, 0.106336, 0.096343, 0.858627]
        assert results.params.to_numpy() == pytest.approx(shares, abs=1e-5)


# -- Behind mechanisms, with gaps ------------------------------------------------------------------


def gapped(x: Array, rng: np.random.Generator, missing: float = 0.3) -> dict[str, Any]:
    """Reports of waves by mechanisms of two kinds; each person misses some."""
    data = {}
    for t, column in enumerate(x.T, 1):
        there = rng.random(len(x)) > missing
        krr = ldp.KRR(YES, epsilon=1.5 + t % 2)
        data[f"w{t}"] = krr.privatize(np.asarray(YES)[column[there]], rng), there
    return data


def cell(shares: Any, x: tuple[int, ...], order: int, latent: bool, stayers: bool) -> float:
    """The probability of answers x, of parameters by name: a sum over all paths."""
    states, total = ("state 1", "state 2") if latent else YES, 0.0

    def chance(word: str, happens: object) -> float:
        return float(shares[word] if happens else 1.0 - shares[word])

    for path in product((0, 1), repeat=len(x)) if latent else [x]:
        moves = 1.0
        for t in range(1, len(x)):
            past = path[max(0, t - order) : t]
            arrow = f"{','.join(states[c] for c in past)}->{states[1 - past[-1]]}"
            word = f"P({arrow}{' | mover' * stayers})"
            word = word if word in shares else f"w{t + 1}: {word}"
            moves *= chance(word, path[t] != past[-1])
        stays = chance(f"P(stayer | {states[path[0]]})", True) if stayers else 0.0
        p = chance(f"w1: P({states[1]})", path[0])
        p *= (1.0 - stays) * moves + stays * (len(set(path)) == 1)
        for c, y in zip(path, x, strict=True):
            p *= chance(f"P(yes | {states[c]})", y) if latent else 1.0
        total += p
    return total


CHAINS: list[dict[str, Any]] = [
    {},
    {"order": 2},
    {"order": 2, "stationary": True},
    {"stationary": True, "stayers": True},
    {"latent": 2},
    {"stationary": True, "latent": 2, "stayers": True},
]


@pytest.mark.parametrize("how", CHAINS, ids=str)
def test_the_likelihood_of_gapped_histories_is_the_sum_over_all_answers(how: Any) -> None:
    rng = np.random.default_rng(3)
    P = np.array([[0.85, 0.15], [0.2, 0.8]])
    data = gapped(chain(500, P, 4, rng, np.array([0.6, 0.4])), rng)
    model = ldp.CellModel(data, cells.markov(**how))
    results = model.fit(n_starts=2, unidentified="keep")
    kinds = how.get("order", 1), "latent" in how, "stayers" in how
    every = list(product((0, 1), repeat=4))
    p = [cell(results.params, x, *kinds) for x in every]
    likelihood = np.ones((500, 16))
    for t, (reports, there) in enumerate(data.values()):
        Q = reports.mechanism.matrix().to_numpy()
        likelihood[there] *= Q[np.array(every)[:, t]][:, reports.y].T
    some = np.any([there for _, there in data.values()], axis=0)
    assert results.llf == pytest.approx(float(np.log(likelihood[some] @ p).sum()), abs=1e-8)
    assert results.table.to_numpy() == pytest.approx(p, abs=1e-12)
    if "latent" in how:  # states in the order of their mean answer
        assert results.params["P(yes | state 1)"] <= results.params["P(yes | state 2)"]


@pytest.mark.parametrize("how", [{}, {"latent": 2, "stationary": True}], ids=str)
def test_waves_of_devices_that_keep_their_response_are_sums_over_it(how: Any) -> None:
    rng, n = np.random.default_rng(9), 400
    x = chain(n, np.array([[0.85, 0.15], [0.2, 0.8]]), 3, rng, np.array([0.6, 0.4]))
    first, second = ldp.KRR(YES, epsilon=2.5), ldp.KRR(YES, epsilon=3.0)
    P, Q = (made_by.matrix().to_numpy() for made_by in (first, second))
    kept = (rng.random((n, 2)) < P[:, 1]).astype(int)  # one to each answer
    y = (rng.random((n, 3)) < Q[kept[np.arange(n)[:, None], x], 1]).astype(int)
    there = rng.random((n, 3)) < 0.8
    made_by = first >> second
    data = {f"w{t + 1}": (ldp.Reports(y[there[:, t], t], made_by), there[:, t]) for t in range(3)}
    results = ldp.CellModel(data, cells.markov(**how), memoised=True).fit(
        n_starts=2, unidentified="keep"
    )
    likelihood = np.zeros((n, 8))
    every = list(product((0, 1), repeat=3))
    for b in product((0, 1), repeat=2):
        for i, path in enumerate(every):
            seen = [np.where(there[:, t], Q[b[path[t]], y[:, t]], 1.0) for t in range(3)]
            likelihood[:, i] += P[0, b[0]] * P[1, b[1]] * np.prod(seen, axis=0)
    p = [cell(results.params, path, 1, "latent" in how, False) for path in every]
    assert results.llf == pytest.approx(float(np.log(likelihood @ p).sum()), abs=1e-8)


# -- Covariates ------------------------------------------------------------------------------------


def test_covariates_without_noise_are_logits_of_the_transitions(threes: Array) -> None:
    rng = np.random.default_rng(4)
    age = rng.integers(20, 70, len(threes))
    frame = pd.DataFrame({"age": age})
    structure = cells.markov("~ age", stationary=True)
    results = ldp.CellModel(observed(threes, ("a", "b", "c")), structure, covariates=frame).fit()
    X = sm.add_constant(np.tile(age, 3).astype(float))
    before, after = threes[:, :-1].T.reshape(-1), threes[:, 1:].T.reshape(-1)
    llf = 0.0
    for i, state in enumerate("abc"):
        others = [j for j in range(3) if j != i]
        numbered = np.array([0 if j == i else 1 + others.index(j) for j in range(3)])
        mine = before == i
        fit = sm.MNLogit(numbered[after[mine]], X[mine]).fit(disp=False, tol=1e-12)
        llf += fit.llf
        names = [f"{state}->{'abc'[j]}: {one}" for j in others for one in ("const", "age")]
        assert results.params[names].to_numpy() == pytest.approx(fit.params.T.ravel(), abs=1e-6)
        assert results.bse[names].to_numpy() == pytest.approx(fit.bse.T.ravel(), abs=1e-6)
    llf += sm.MNLogit(threes[:, 0], X[: len(age)]).fit(disp=False, tol=1e-12).llf
    assert results.llf == pytest.approx(llf, abs=1e-8)


@pytest.mark.parametrize("how", [{}, {"stationary": True, "stayers": True}], ids=str)
def test_a_factor_fits_each_of_its_groups(how: Any) -> None:
    rng, n = np.random.default_rng(5), 3000
    group = rng.choice(["a", "b"], n)
    P, Q = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.9, 0.1], [0.1, 0.9]])
    start = np.array([0.6, 0.4])
    x = np.where((group == "a")[:, None], chain(n, P, 4, rng, start), chain(n, Q, 4, rng, start))
    stays = rng.random(n) < 0.3
    x[stays] = x[stays, :1]
    data, frame = gapped(x, rng, 0.2), pd.DataFrame({"group": group})
    both = ldp.CellModel(data, cells.markov("~ group", **how), covariates=frame).fit(n_starts=3)
    llf, table = 0.0, 0.0
    for name in "ab":
        mine = group == name
        some = {
            wave: (reports[mine[there]], there[mine]) for wave, (reports, there) in data.items()
        }
        own = ldp.CellModel(some, cells.markov(**how)).fit(n_starts=3)
        llf, table = llf + own.llf, table + own.table.to_numpy() * own.nobs
        for word, share in own.params.items():
            head = str(word).replace(": P(", " = " if "->" not in word else ": ")
            head = head.removeprefix("P(").removesuffix(")")
            odds = both.params[f"{head}: const"]
            odds += both.params[f"{head}: group[T.b]"] * (name == "b")
            assert 1.0 / (1.0 + np.exp(-odds)) == pytest.approx(share, abs=1e-5)
    assert both.llf == pytest.approx(llf, abs=1e-6)
    assert both.table.to_numpy() == pytest.approx(table / both.nobs, abs=1e-6)
    one = ldp.CellModel(data, cells.markov(**how)).fit()
    test = one.lr_test(both)
    assert test.df == one.df_model and test.pvalue < 1e-6


# -- Results ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def panel() -> dict[str, Any]:
    """Waves of 4,000 persons, a third of whom never change."""
    rng = np.random.default_rng(6)
    x = chain(4000, np.array([[0.75, 0.25], [0.3, 0.7]]), 5, rng, np.array([0.6, 0.4]))
    x[: len(x) // 3] = x[: len(x) // 3, :1]
    return gapped(x, rng, 0.1)


@pytest.mark.parametrize(
    ("how", "remark"),
    [
        ({"stayers": True, "stationary": True}, "Stayers: 3"),
        ({"latent": 2, "stationary": True}, "States: in the order of their mean answer"),
        ({"order": 2}, "Maximum: reached from 2 of 2 starts."),
    ],
    ids=str,
)
def test_documents_and_summaries(panel: Any, how: Any, remark: str) -> None:
    structure = cells.markov(**how)
    assert str(cells.read_structure(str(structure))) == str(structure)
    results = ldp.CellModel(panel, structure).fit(n_starts=3)
    again = ldp.CellResults.from_json(results.to_json())
    assert again.to_json() == results.to_json()
    assert str(again.summary()) == str(results.summary())
    assert remark in str(results.summary())
    assert again.margin("w2", "w4").equals(results.margin("w2", "w4"))
    share = results.effect({"w1": "yes", "w5": "yes"}, method="delta").estimate
    assert share == pytest.approx(results.margin("w1", "w5").loc[("yes", "yes"), "estimate"])


def test_stayers_have_no_chi_square_law_and_show_in_the_pairs_of_reports(panel: Any) -> None:
    none, stayers = (
        ldp.CellModel(panel, cells.markov(stationary=True, stayers=own)).fit(n_starts=2)
        for own in (False, True)
    )
    with pytest.raises(ldp.NotAvailable, match="no chi-square law"):
        none.lr_test(stayers)
    assert none.goodness_of_fit().pvalue < 0.01 < stayers.goodness_of_fit().pvalue


@pytest.mark.parametrize("how", [{"latent": 2}, {"stayers": True}], ids=str)
def test_two_waves_determine_no_hidden_states_and_no_stayers(panel: Any, how: Any) -> None:
    two = {name: panel[name] for name in ("w1", "w2")}
    with pytest.raises(ldp.NotIdentified, match="free parameters"):
        ldp.CellModel(two, cells.markov(**how)).fit()


def test_intervals_at_absorbing_answers_end_where_the_likelihood_ratio_does() -> None:
    rng = np.random.default_rng(0)
    x = chain(1500, np.array([[0.85, 0.15], [0.0, 1.0]]), 4, rng, np.array([0.7, 0.3]))
    model = ldp.CellModel(observed(x, YES), cells.markov(stationary=True, stayers=True))
    results = model.fit(n_starts=2, unidentified="keep")
    low, high = results.conf_int().loc["P(no->yes | mover)"]
    # of those who begin with no how many never move, and when the others do
    moved = np.bincount((x[x[:, 0] == 0] == 0).sum(axis=1), minlength=5)[1:]

    def llf(m: float) -> float:
        shares = np.linspace(0.0, 0.9, 4001)  # of stayers
        at = (1.0 - shares[:, None]) * m * (1.0 - m) ** np.arange(3)
        p = np.column_stack([at, 1.0 - at.sum(axis=1)])
        return float((np.log(p) @ moved).max())

    top = max(map(llf, np.linspace(0.1, 0.4, 301)))
    for end in (low, high):
        assert 2.0 * (top - llf(end)) == pytest.approx(3.8415, rel=0.01)


def test_planned_transitions_have_binomial_errors() -> None:
    P, first = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.6, 0.4])
    p = np.einsum("a,ab,bc->abc", first, P, P)
    waves = {f"w{t}": ldp.Observed(YES) for t in (1, 2, 3)}
    plan = planning.CellPlan(waves, cells.markov(stationary=True), p)
    moved = plan.precision(lambda p: p[0, 1].sum() / p[0].sum(), n=1000)
    shares = 0.6 + 0.6 * 0.9 + 0.4 * 0.2  # of those who said no before, in two waves
    assert moved["se"].item() == pytest.approx(np.sqrt(0.1 * 0.9 / shares / 1000))


def test_sixteen_waves_take_well_under_a_second_a_gradient() -> None:
    rng = np.random.default_rng(7)
    x = chain(5000, np.array([[0.9, 0.1], [0.2, 0.8]]), 16, rng, np.array([0.6, 0.4]))
    krr = ldp.KRR(YES, epsilon=2.0)
    data = {f"w{t}": ldp.Reports(column, krr) for t, column in enumerate(x.T, 1)}
    model = ldp.CellModel(data, cells.markov(latent=2))
    theta = np.random.default_rng(8).normal(size=model.law.size)
    model.evaluate(theta)
    began = time.perf_counter()
    slope = model.evaluate(theta)[1]
    assert time.perf_counter() - began < 1.0
    a = np.argmax(np.abs(slope))
    step = 1e-5 * np.eye(theta.size)[a]
    ahead, behind = model.evaluate(theta + step)[0], model.evaluate(theta - step)[0]
    assert (ahead - behind) / 2e-5 == pytest.approx(slope[a], rel=1e-5)


def other_answers(panel: Any) -> ldp.CellModel:
    reports = ldp.KRR(("yes", "no"), epsilon=1.0).privatize(["no"] * 4000, np.random.default_rng(1))
    return ldp.CellModel([panel["w1"], reports], cells.markov())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda panel: ldp.CellModel([panel["w1"]], cells.markov()), "order 1 needs 2 or more"),
        (lambda panel: ldp.CellModel(panel, cells.markov(order=5)), "order 5 needs 6 or more"),
        (lambda panel: ldp.CellModel(panel, cells.markov("~ age")), "covariates"),
        (other_answers, r"must have the answers \['no', 'yes'\]"),
        (lambda panel: cells.markov(latent=1), "latent=1"),
        (lambda panel: cells.markov(order=0), "order=0"),
        (lambda panel: cells.markov(stationary="yes"), "stationary='yes'"),
    ],
)
def test_bad_input_is_named(make: Any, message: str, panel: Any) -> None:
    with pytest.raises(ldp.InvalidArgument, match=message):
        make(panel)


def test_too_many_sequences_are_refused(panel: Any) -> None:
    waves = [ldp.KRR(8, epsilon=1.0).privatize([0, 1], np.random.default_rng(t)) for t in range(7)]
    with pytest.raises(ldp.NotAvailable, match="2,097,152 sequences of answers"):
        ldp.CellModel(waves, cells.markov())
