"""Predicted power against simulated surveys that run the package's own tests."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import near

import ldpstats as ldp
from ldpstats import planning

Survey = Callable[[np.random.Generator], bool]
Setting = tuple[Any, planning.ValueTest | Any, int, Survey]
Array = npt.NDArray[Any]

ABCD = ("a", "b", "c", "d")
P = np.array([0.4, 0.3, 0.2, 0.1])
RARE = np.array([0.5, 0.3, 0.15, 0.05])
GROUPS = np.array([P, [0.3, 0.3, 0.2, 0.2], [0.4, 0.25, 0.2, 0.15]])
TABLE = np.outer([0.5, 0.3, 0.2], [0.4, 0.4, 0.2]) + 0.06 * np.outer([1, 0, -1], [1, 0, -1])
ROWS = np.linspace(-1.7, 1.7, 35)
Q5 = [[5, 2, 1, 1, 1], [1, 5, 2, 1, 1], [1, 1, 5, 2, 1], [1, 1, 1, 5, 2]]
CUSTOM = ldp.CustomMechanism(np.array(Q5) / 10.0, categories=ABCD)
RAPPOR = ldp.RAPPOR(16, 2, 8, f=0.0, p=0.25, q=0.75)
ABC = ldp.KRR(("a", "b", "c"), 2.0)
R = 150


def reports(mechanism: Any, p: Array, n: int, rng: np.random.Generator) -> Any:
    labels = np.array(ABCD if mechanism.is_open else mechanism.categories)
    return mechanism.privatize(rng.choice(labels, n, p=p), rng)


def fit(mechanism: Any, p: Array, n: int, rng: np.random.Generator) -> Any:
    candidates = ABCD if mechanism.is_open else None
    data = reports(mechanism, p, n, rng)
    return ldp.FrequencyModel(data, candidates).fit(method="inversion" if candidates else None)


def named(mechanism: Any, p: Array) -> Any:
    return pd.Series(p, index=ABCD) if mechanism.is_open else p


def value(mechanism: Any, category: str, null: float, n: int) -> Setting:
    row = [[float(label == category) for label in ABCD]]

    def survey(rng: np.random.Generator) -> bool:
        return float(np.ravel(fit(mechanism, P, n, rng).t_test((row, null)).pvalue)[0]) < 0.05

    return mechanism, planning.ValueTest(named(mechanism, P), category, null), n, survey


def presence(mechanism: Any, n: int) -> Setting:
    def survey(rng: np.random.Generator) -> bool:
        return "d" in fit(mechanism, RARE, n, rng).detected(0.05)

    return mechanism, planning.PresenceTest(named(mechanism, RARE), "d"), n, survey


def groups(mechanism: Any, g: int, n: int) -> Setting:
    makers = mechanism if isinstance(mechanism, list) else [mechanism] * g
    shares = np.arange(2.0, g + 2.0) / np.arange(2.0, g + 2.0).sum()
    sizes = np.rint(n * shares).astype(int)

    def survey(rng: np.random.Generator) -> bool:
        pairs = zip(makers, GROUPS, sizes, strict=False)
        return ldp.homogeneity_test([reports(m, p, k, rng) for m, p, k in pairs]).pvalue < 0.05

    return mechanism, planning.GroupsTest(GROUPS[:g], shares), n, survey


def difference(mechanism: Any, n: int) -> Setting:
    p = np.array([P, [0.28, 0.32, 0.25, 0.15]])

    def survey(rng: np.random.Generator) -> bool:
        first, second = (reports(mechanism, row, n // 2, rng) for row in p)
        return ldp.two_sample_test(first, second).differences()["pvalue"].iloc[0] < 0.05

    return mechanism, planning.GroupsTest(p, category="a"), n, survey


def association(first: Any, second: Any, n: int) -> Setting:
    def survey(rng: np.random.Generator) -> bool:
        places = np.unravel_index(rng.choice(9, n, p=TABLE.ravel()), (3, 3))
        pair = [
            m.privatize(np.array(m.categories)[at], rng)
            for m, at in zip((first, second), places, strict=True)
        ]
        return ldp.AssociationModel(*pair).fit().test_independence().pvalue < 0.05

    return (first, second), planning.IndependenceTest(TABLE), n, survey


def coefficient(mechanism: Any, params: Any, n: int) -> Setting:
    X = pd.DataFrame({"const": 1.0, "age": ROWS})
    theta, many = np.array(params), np.ndim(params) == 2
    which: Any = ("age", "b") if many else "age"
    goal = planning.CoefficientTest(theta, X, which, "mnlogit" if many else "logit")

    def survey(rng: np.random.Generator) -> bool:
        rows = X.iloc[rng.integers(len(X), size=n)].reset_index(drop=True)
        eta = np.column_stack([np.zeros(n), rows.to_numpy() @ theta])
        y = np.array(mechanism.categories)[(eta + rng.gumbel(size=eta.shape)).argmax(axis=1)]
        model = ldp.PrivatizedMNLogit if many else ldp.PrivatizedLogit
        pvalues = model(mechanism.privatize(y, rng), rows).fit().pvalues
        return float(pvalues.loc["age", "b"] if many else pvalues["age"]) < 0.05

    return mechanism, goal, n, survey


SETTINGS: dict[str, Callable[[], Setting]] = {
    "value, uRAP": lambda: value(ldp.URAP(ABCD, ["a", "b"], 1.0), "b", 0.22, 1000),
    "value, hashed": lambda: value(ldp.ORR(8, 16, epsilon=3.0), "a", 0.35, 1000),
    "presence, any channel": lambda: presence(CUSTOM, 1500),
    "presence, hashed bits": lambda: presence(RAPPOR, 1500),
    "three groups, k-RR": lambda: groups(ldp.KRR(ABCD, 1.5), 3, 1500),
    "three groups, uRAP": lambda: groups(ldp.URAP(ABCD, ["a"], 1.0), 3, 900),
    "two groups, two epsilons": lambda: groups([ldp.KRR(ABCD, e) for e in (1.5, 3.0)], 2, 1000),
    "difference, bits": lambda: difference(ldp.KRAPPOR(ABCD, 2.0), 1200),
    "independence, bits": lambda: association(ldp.KRAPPOR(3, 3.0), ldp.KRAPPOR(3, 3.0), 250),
    "independence, uRR": lambda: association(ldp.URR(3, [0], 1.0), ldp.URR(3, [0, 1], 1.0), 300),
    "coefficient, bits": lambda: coefficient(ldp.KRAPPOR(2, 2.0), [-0.5, 0.3], 800),
    "coefficient of three": lambda: coefficient(ABC, [[0.2, -0.3], [0.25, -0.2]], 1000),
}


def check(name: str, runs: int, seed: int = 2024) -> None:
    mechanism, goal, n, survey = SETTINGS[name]()
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.mean([survey(rng) for _ in range(runs)])
    predicted = planning.power(mechanism, goal, n)
    assert 0.15 < predicted < 0.9  # where there is something to see
    assert near(found, predicted, runs), (found, predicted)
    wrong = [planning.power(mechanism, goal, m) for m in (n // 3, 4 * n)]
    assert not any(near(found, power, runs) for power in wrong)  # the control


@pytest.mark.parametrize("name", ["three groups, k-RR", "two groups, two epsilons"])
def test_power_is_that_of_a_few_simulated_surveys(name):
    check(name, 60)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_power_is_that_of_simulated_surveys(name, replications):
    check(name, replications(R, R))
