"""Utility-optimised mechanisms on real tables: the simulations behind 06_utility_optimised.py.

    python -m benchmarks.studies.utility_optimised                     some settings, and compare
    python -m benchmarks.studies.utility_optimised --full [TABLE ...]  recompute and store (an hour)

Figures 5 to 7 and appendix E.3 of MK19. As in the paper, the distribution to be estimated is that
of a whole table of people; half of them are drawn without replacement and report through a
mechanism. Losses are the total variation (TV, half the l1 distance; of inversion estimates too,
which may be negative and sum to something else than one) and the squared l2 distance.

- gss: the General Social Survey, 8 ages x 5 incomes x 5 marital states x 2 sexes x unemployed or
  not. Divorced or unemployed is sensitive, which is 480 of the 800 categories: not few.
- gss, divorced: without unemployment, 80 of 400.
- census: the US Census of 1990 with the paper's 400 categories, of which 76 are sensitive
  (divorced, or no wage income at 30 to 49). The table is an estimate: a public sample of 50,000,
  adjusted to margins of all 2,458,285 people.
- location: Uber pickups in Manhattan on a grid of 25 x 25, 16 of them with a hospital, in place of
  the paper's check-ins, which are not public.

The first two come with the package. The others are read from ``shared/data`` beside the repository,
where they are there; the results for them are stored here all the same.

Counts and sums of bits are all that inversion and its thresholded form (the paper's emp+thr, level
.05) need, so they are drawn without drawing reports. The paper's EM is an iteration towards the
maximum likelihood estimate; here that is computed itself, to a certified distance of .001 nats at
most. For RR and uRR it has a closed form; for RAPPOR and uRAP it needs every report. Each setting
has 20 surveys by sums, and with bits 10 more by reports (3 where k is above 6,000).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.studies import stored
from ldpstats import datasets
from ldpstats.estimators import MLE, Inversion, Thresholded

STORED = Path(__file__).with_suffix(".csv")
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = {
    "census": "census1990/census1990_4attr.csv",
    "location": "location/nyc_uber_grid25.csv",
}
EVERY = "census1990/census1990_9attr_nonzero.csv"  # the census with five more attributes
TABLES = ["gss", "gss, divorced", "census", "location"]
PRESENT = [name for name in TABLES if name not in FILES or (SHARED / FILES[name]).exists()]
MOST = {"gss": 5, "gss, divorced": 4, "census": 4, "location": 1}  # attributes of figures 5 and 6
KINDS = {"RR": ldp.KRR, "RAPPOR": ldp.KRAPPOR, "uRR": ldp.URR, "uRAP": ldp.URAP}
METHODS = {"inversion": Inversion(), "thresholded": Thresholded(), "mle": MLE()}
EPSILONS = [0.1, 0.2, 0.5, 1.0, 2.0, 4.0, "ln k", 8.0, 10.0]
SENSITIVE = [1, 3, 10, 30, 100, 200, 400, 625]  # up to k, and k
ASKED = {"gss": 30_724, "gss, divorced": 30_724, "census": 1_229_143, "location": 238_648}
ATS = ["0.1", "0.2", "0.5", "1", "2", "4", "ln k", "8", "10"]
AGAIN = [  # table, figure, attributes, sensitive, epsilon, mechanism; surveys from sums and reports
    ("gss", 5, 5, 0, 0.1, "uRAP", (6, 2)),
    ("gss", 5, 5, 0, "ln k", "RAPPOR", (6, 2)),
    ("gss", 5, 5, 0, 1.0, "RR", (8, 0)),
    ("gss, divorced", 5, 4, 0, 1.0, "uRAP", (6, 2)),
    ("gss, divorced", 5, 4, 0, "ln k", "uRR", (8, 0)),
    ("gss", 6, 5, 100, 0.1, "uRR", (8, 0)),
    ("gss", 7, 4, 0, 1.0, "uRAP", (6, 2)),
    ("census", 5, 4, 0, 0.1, "uRR", (8, 0)),
    ("census", 5, 4, 0, 1.0, "uRAP", (6, 2)),
    ("census", 7, 6, 0, 6.0, "uRAP", (4, 2)),
    ("location", 5, 1, 0, 0.1, "uRAP", (6, 2)),
    ("location", 6, 1, 100, "ln k", "uRR", (8, 0)),
]
OTHER = {"RR": "RAPPOR", "RAPPOR": "RR", "uRR": "uRAP", "uRAP": "uRR"}


def load(name, attributes):
    """Number of people in each category, and which categories are sensitive."""
    if name.startswith("gss"):
        table = datasets.load_gss()
        chosen = ["marital5", "unemployed", "sex", "income5", "age8"][:attributes]
        if name == "gss, divorced":
            chosen = ["marital5", "sex", "income5", "age8"]
        cells = table.groupby(chosen, observed=False)["count"].sum()
        index = cells.index.to_frame(index=False)
        sensitive = index["marital5"] == "divorced"
        if "unemployed" in chosen:
            sensitive |= index["unemployed"] == "yes"
        return cells.to_numpy(), sensitive.to_numpy()
    table = pd.read_csv(SHARED / FILES[name])
    sensitive = table["sensitive"].to_numpy(bool)
    if name == "location":
        return table["pickups"].to_numpy(), sensitive
    if attributes == 4:
        return table["count_full_raked"].to_numpy(), sensitive
    further = pd.read_csv(SHARED / EVERY)  # five binary attributes: 32 cells to each of the 400
    times = 2 ** (attributes - 4)
    people = np.zeros(400 * times, dtype=np.int64)
    np.add.at(people, further["cell9"] // (32 // times), further["count_full_raked"])
    return people, np.repeat(sensitive, times)


def build(kind, sensitive, epsilon):
    """The mechanism, for categories 0, 1, ... and a mask of those that are sensitive."""
    k = sensitive.size
    if kind in ("RR", "RAPPOR"):
        return KINDS[kind](k, epsilon)
    return KINDS[kind](k, np.flatnonzero(sensitive).tolist(), epsilon)


# All four mechanisms report category x of a respondent who is in it with one probability, q, and of
# one who is not with another, r; which ones depends on whether x is sensitive. So the expected
# losses of the inversion estimate are sums over categories (Propositions 4, 7, 15 and 18 of MK19).
# Drawing without replacement takes off a part of the variance.


def rates(kind, sensitive, epsilon):
    """Probability that a category is reported by those who are in it and by others."""
    mechanism = build(kind, sensitive, epsilon)
    if kind == "uRAP":
        told = np.where(sensitive, mechanism.p1, mechanism.told)
        return told, np.where(sensitive, mechanism.d1, 0.0)
    if kind == "RAPPOR":
        return mechanism.p1, mechanism.p0
    a, b = mechanism.channel().a, mechanism.channel().b
    return a + b, b


def expected(kind, p, sensitive, epsilon, n, people=np.inf):
    """Expected TV (asymptotically) and squared l2 loss of n out of so many people."""
    q, r = (1.0, 0.0) if kind == "no privacy" else rates(kind, sensitive, epsilon)
    m = r + (q - r) * p
    saved = p * (1.0 - p) / n * (0.0 if np.isinf(people) else (n - 1.0) / (people - 1.0))
    variances = np.maximum(m * (1.0 - m) / (n * (q - r) ** 2) - saved, 0.0)
    return np.sqrt(variances / (2.0 * np.pi)).sum(), variances.sum()


def losses(p, estimate):
    """TV and squared l2 distance."""
    return 0.5 * np.abs(estimate - p).sum(), ((estimate - p) ** 2).sum()


def survey(kind, people, sensitive, epsilon, n, bits, rng):
    """Losses of each method in one survey; `bits` asks for the likelihood of bit reports."""
    p, mechanism = people / people.sum(), build(kind, sensitive, epsilon)
    true = rng.multivariate_hypergeometric(people, n, method="marginals")
    if bits:
        counts = mechanism.privatize(np.repeat(np.arange(true.size), true), rng).tally()
    else:
        counts = mechanism.simulate_counts(true, rng)
    found = {}
    for method, estimator in METHODS.items():
        if method != "mle":
            solution = estimator.solve(mechanism.moments(counts))
        elif isinstance(counts, ldp.BitCounts):
            continue
        else:
            solution = estimator.solve(mechanism.likelihood(counts))
            assert solution.converged
        found[method] = losses(p, solution.p)
    return found


def settings(name):
    """Figure, attributes, respondents, number of sensitive categories (0: given), epsilons."""
    own, n = MOST[name], ASKED[name]
    yield 5, own, n, 0, EPSILONS
    if name != "gss, divorced":
        k = load(name, own)[0].size
        for size in sorted({s for s in SENSITIVE if s < k} | {k}):
            yield 6, own, n, size, [0.1, "ln k"]
    if name == "gss":
        for attributes in (2, 3, 4, 5):
            yield 7, attributes, n, 0, [0.1, 1.0, 6.0]
    if name == "census":
        for attributes in (4, 5, 6, 7, 8, 9):
            yield 7, attributes, 240_000, 0, [0.1, 1.0, 6.0]


def surveys(kind, k):
    """How many: from sums, and from reports where the likelihood needs them."""
    return 20, 0 if kind in ("RR", "uRR") else 10 if k < 6_000 else 3


def simulate_setting(name, figure, attributes, n, size, epsilon, kind, numbers, seed):
    """Mean losses of each method, their standard errors, and what theory expects."""
    people, given = load(name, attributes)
    k, p = people.size, people / people.sum()
    value = np.log(k) if epsilon == "ln k" else epsilon
    found, theory = {}, []
    for i in range(sum(numbers)):
        bits = i >= numbers[0]
        # streams do not depend on how many surveys there are of the other form
        key = [seed, TABLES.index(name), figure, attributes, size, round(1e4 * value)]
        rng = np.random.default_rng([*key, list(KINDS).index(kind), bits, i - bits * numbers[0]])
        sensitive = given if not size else rng.permutation(np.arange(k) < size)
        theory.append(expected(kind, p, sensitive, value, n, people.sum()))
        for method, loss in survey(kind, people, sensitive, value, n, bits, rng).items():
            found.setdefault(method, []).append(loss)
    rows = []
    for method, each in found.items():
        each = np.array(each)
        row = {"table": name, "figure": figure, "attributes": attributes, "k": k, "n": n}
        row |= {"sensitive": size or int(given.sum()), "epsilon": value}
        row |= {"mechanism": kind, "method": method, "surveys": len(each)}
        row["tv"], row["l2"] = each.mean(axis=0)
        row["tv_se"], row["l2_se"] = each.std(axis=0, ddof=1) / np.sqrt(len(each))
        if method == "inversion":
            row["tv_expected"], row["l2_expected"] = np.mean(theory, axis=0)
        rows.append(row)
    return pd.DataFrame(rows)


def simulate(name, seed=2019):
    """All that is stored of one table."""
    frames = []
    for figure, attributes, n, size, epsilons in settings(name):
        people, given = load(name, attributes)
        p = people / people.sum()
        for epsilon in epsilons:
            for kind in ("uRR", "uRAP") if size else KINDS:
                numbers = surveys(kind, p.size)
                frames.append(
                    simulate_setting(
                        name, figure, attributes, n, size, epsilon, kind, numbers, seed
                    )
                )
        if not size:
            row = {"table": name, "figure": figure, "attributes": attributes, "k": p.size, "n": n}
            row |= {"sensitive": int(given.sum()), "method": "inversion"}
            none = expected("no privacy", p, given, 1.0, n, people.sum())
            guess = losses(p, np.full(p.size, 1.0 / p.size))
            for kind, loss in (("no privacy", none), ("guess", guess)):
                loss = dict(zip(("tv", "l2"), loss, strict=True))
                frames.append(pd.DataFrame([row | {"mechanism": kind} | loss]))
        print(name, figure, attributes, size, "done", flush=True)
    return pd.concat(frames)


# Reading what is stored


def load_results():
    """Mean losses by table, figure, attributes, sensitive categories, epsilon and mechanism.

    ``at`` names an epsilon as the figures do: a number, or "ln k".
    """
    results = stored.load(STORED, "table", TABLES)
    given = np.isclose(results["epsilon"], np.log(results["k"]), rtol=1e-4)
    results["at"] = results["epsilon"].map("{:g}".format).mask(given, "ln k")
    return results


def rows_of(results, **wanted):
    """The rows in which columns have the values that are asked for."""
    for column, value in wanted.items():
        results = results[results[column] == value]
    return results


def of(results, name, kind, method="mle", at=None, loss="tv", figure=5):
    """A stored mean loss, or that of all epsilons."""
    rows = rows_of(results, table=name, figure=figure, mechanism=kind, method=method)
    if at is None:
        return rows.set_index("epsilon")[loss].sort_index()
    return float(rows_of(rows, at=at)[loss].squeeze())


def alone(results, name, kind, loss="tv", figure=5):
    """The loss without privacy, or of guessing the uniform distribution."""
    return float(rows_of(results, table=name, figure=figure, mechanism=kind)[loss].iloc[0])


def by_size(results, name, kind, method, at, loss="tv"):
    """Losses by the number of sensitive categories (figure 6)."""
    rows = rows_of(results, table=name, figure=6, mechanism=kind, method=method, at=at)
    return rows.set_index("sensitive")[loss].sort_index()


def orders(results, loss="tv"):
    """How many times as large the loss is at epsilon = .1 without utility optimisation."""
    rows = {}
    for method in ("inversion", "mle"):
        for name in TABLES:
            rr, rappor, urr, urap = (of(results, name, kind, method, "0.1", loss) for kind in KINDS)
            best = min(urr, urap)
            rows[method, name] = {
                "RR / uRR": rr / urr,
                "RAPPOR / uRAP": rappor / urap,
                "best / best": min(rr, rappor) / best,
                "guess / best": alone(results, name, "guess", loss) / best,
            }
    return pd.DataFrame(rows).T


def levels(results):
    """Total variation at epsilon = ln k over that without privacy."""
    rows = {}
    for name in TABLES:
        none = alone(results, name, "no privacy")
        rows[name] = {
            f"{kind}, {method}": of(results, name, kind, method, "ln k") / none
            for method in ("inversion", "mle")
            for kind in KINDS
        }
    return pd.DataFrame(rows).T


def over_inversion(results):
    """Total variation of the other estimates over that of the inversion estimate."""
    rows = {}
    for name in TABLES:
        for kind in KINDS:
            base = of(results, name, kind, "inversion")
            for method in ("thresholded", "mle"):
                ratio = of(results, name, kind, method) / base
                rows[name, kind, method] = dict(zip(ATS, ratio, strict=True))
    return pd.DataFrame(rows).T


def stored_rows(results, new):
    """The stored results of the setting of each new row."""
    keys = ["table", "figure", "attributes", "sensitive", "mechanism", "method"]
    found = results.merge(new[keys], on=keys)
    return found[np.isclose(found["epsilon"], new["epsilon"].iloc[0], rtol=1e-4)]


def check(seed=6):
    """Other surveys agree with what is stored, and not with what is of another mechanism.

    Losses of a few surveys are compared with a mean of 10 to 30: the distance is in standard
    errors of that mean and of the few, of which the spread is the stored one.
    """
    results, scores, control = load_results(), [], []
    for name, figure, attributes, size, epsilon, kind, numbers in AGAIN:
        if name not in PRESENT:
            continue
        n = ASKED[name] if figure < 7 or name == "gss" else 240_000
        new = simulate_setting(name, figure, attributes, n, size, epsilon, kind, numbers, seed)
        old = stored_rows(results, new).set_index("method").loc[new["method"]]
        wrong = stored_rows(results, new.assign(mechanism=OTHER[kind])).set_index("method")
        new = new.set_index("method")
        spread = old["tv_se"] * np.sqrt(1.0 + old["surveys"] / new["surveys"])
        z = (new["tv"] - old["tv"]) / spread
        scores.append(z.rename(f"{name}, figure {figure}, {kind}, epsilon {epsilon}"))
        control.append(abs(new["tv"] - wrong["tv"])["inversion"] / wrong.loc["inversion", "tv_se"])
    scores = pd.DataFrame(scores)
    print("distance from the stored mean in standard errors")
    print(scores.round(1).to_string())
    print(f"the same of another mechanism: at least {min(control):.0f}")
    assert scores.abs().max(axis=None) < 5.0 and 0.5 < np.sqrt((scores**2).mean(axis=None)) < 1.5
    assert min(control) > 10.0


def main():
    made = {name: simulate(name) for name in stored.wanted(__doc__, TABLES, PRESENT)}
    if made:
        stored.renew(STORED, "table", TABLES, made)
    check()


if __name__ == "__main__":
    main()
