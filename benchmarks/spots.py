"""The spots of `slow_spots.py`: what each needs, what is timed, and the numbers to compare.

Only names that the older version has are used, so that the same lines run on both.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from timing import zipf

import ldpstats as ldp

__all__ = ["CODE", "SPOTS", "Spot"]

CODE = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import spots; spots.main()"

Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Spot:
    """Something to time: `run` takes what `setup` made, and `numbers` what `run` returned."""

    setup: Callable[[], Any]
    run: Callable[[Any], Any]
    numbers: Callable[[Any], Numbers]
    warm: bool = False  # run once before it is timed: imports and compilation do not count
    cold: bool = False  # nothing compiled is found on the disk


def words(k: int) -> tuple[str, ...]:
    return tuple(f"w{i}" for i in range(k))


def rappor(n_cohorts: int, n_bits: int = 128) -> ldp.RAPPOR:
    return ldp.RAPPOR(n_bits=n_bits, n_hashes=2, n_cohorts=n_cohorts, f=0.0, p=0.25, q=0.75)


def candidates(n: int, n_cohorts: int, bits: bool, size: int = 1000) -> Any:
    """Counts of RAPPOR reports of n respondents, and the candidates."""
    rng = np.random.default_rng(1)
    values = np.array(words(size))[rng.choice(size, p=zipf(size), size=n)]
    return rappor(n_cohorts).privatize(values, rng).tally(bits=bits)


def estimates(results: Any) -> Numbers:
    """What results over categories say."""
    return {
        "params": results.params,
        "bse": results.bse,
        "linear": results.linear_params,
        "interval": results.conf_int(clip=False).to_numpy(),
    }


# -- 1: a device with a channel of its own ---------------------------------------------------------


def custom_client() -> Any:
    rng = np.random.default_rng(2)
    Q = rng.random((2000, 2000)) + 0.2
    mechanism = ldp.CustomMechanism(Q / Q.sum(axis=1, keepdims=True))
    device = mechanism.client(reports=100)
    device.report(7)
    return device


def twenty_reports(device: Any) -> Any:
    return [device.report(7) for _ in range(20)]


# -- 2: results as JSON ----------------------------------------------------------------------------


def many_candidates() -> Any:
    return ldp.FrequencyModel(candidates(20_000, 16, True), candidates=words(1000)).fit("inversion")


def million_categories(k: int = 1_000_000) -> Any:
    rng = np.random.default_rng(3)
    krr = ldp.KRR(k, epsilon=5.0)
    return ldp.FrequencyModel(krr.counts(rng.multinomial(10**8, np.full(k, 1 / k)))).fit()


def json_and_back(results: Any) -> Any:
    return ldp.FrequencyResults.from_json(results.to_json())


def read_estimates(results: Any) -> Numbers:
    return {"params": results.params, "bse": results.bse, "linear": results.linear_params}


# -- 3: standard errors over candidates ------------------------------------------------------------


def inverted(counts: Any) -> Any:
    return ldp.FrequencyModel(counts, candidates=words(1000)).fit("inversion")


def refused(counts: Any) -> Any:
    """Seven cohorts of 128 bits have 896 cells, fewer than 1,000 candidates."""
    try:
        inverted(counts)
    except ldp.NotIdentified:
        return None
    raise AssertionError("identified")


# -- 4: the first use of a process -----------------------------------------------------------------


def first(mechanism: Any, k: int = 4) -> Callable[[Any], Any]:
    values = list(words(k)) * (400_000 // k)
    return lambda _: mechanism.privatize(values, np.random.default_rng(4))


def dictionary_fit(_: Any) -> Any:
    survey = ldp.DictionarySurvey(length=6, gram=3, alphabet="abcdefgh", epsilon=9.0)
    rng = np.random.default_rng(5)
    strings = rng.choice(["abcdef", "fedcba", "aabbcc"], size=5000)
    return ldp.DictionaryModel(survey.privatize(strings, rng)).fit()


def nothing(_: Any) -> Numbers:
    return {}


# -- 5: hypotheses ---------------------------------------------------------------------------------


def named_categories() -> Any:
    k = 100_000
    krr = ldp.KRR([f"category {i}" for i in range(k)], epsilon=8.0)
    rng = np.random.default_rng(6)
    return ldp.FrequencyModel(krr.counts(rng.multinomial(10**7, zipf(k)))).fit()


def one_hypothesis(results: Any) -> Any:
    return results.t_test("category 7 = category 8, category 10 - 2 * category 99 = 0.001")


def tests(found: Any) -> Numbers:
    return {name: np.asarray(getattr(found, name)) for name in ("effect", "sd", "pvalue")}


def ten_thousand() -> Any:
    k = 10_000
    rng = np.random.default_rng(7)
    krr = ldp.KRR(k, epsilon=8.0)
    results = ldp.FrequencyModel(krr.counts(rng.multinomial(10**7, zipf(k)))).fit()
    return results, np.hstack([np.ones((k - 1, 1)), -np.eye(k - 1)])


def against_the_first(ready: Any) -> Any:
    results, contrasts = ready
    return results.t_test(contrasts)


# -- 6: exact maximum likelihood of bits -----------------------------------------------------------


def patterns(counts: Any) -> Any:
    return ldp.FrequencyModel(counts, candidates=words(1000)).fit("mle")


def pair(mechanism: Any, k: int, n: int = 100_000) -> Any:
    """Two reports of n respondents whose answers are alike in four of ten."""
    rng, names = np.random.default_rng(8), np.array(words(k))
    x = rng.choice(k, p=zipf(k), size=n)
    y = np.where(rng.random(n) < 0.4, x, rng.choice(k, p=zipf(k), size=n))
    return mechanism.privatize(names[x], rng), mechanism.privatize(names[y], rng)


def joint(method: str, listed: Any = None) -> Callable[[Any], Any]:
    """A fit of two reports."""
    how = {} if listed is None else {"candidates": (listed, listed)}
    return lambda two: ldp.AssociationModel(*two, **how).fit(method)


def table(results: Any) -> Numbers:
    return {"params": np.asarray(results.params), "llf": results.llf}


# -- 7: intervals by refitting ---------------------------------------------------------------------


def unary(k: int = 64, n: int = 20_000) -> Any:
    rng = np.random.default_rng(9)
    mechanism = ldp.KRAPPOR(k, epsilon=2.0)
    model = ldp.FrequencyModel(mechanism.privatize(rng.choice(k, p=zipf(k), size=n), rng))
    return model, model.fit("mle")


def interval(method: str, **how: Any) -> Callable[[Any], Any]:
    """Intervals of a fit by a method; a bootstrap draws the same surveys in both versions."""

    def run(fitted: Any) -> Any:
        model, results = fitted
        if method == "profile":
            return model.profile_intervals(results, 0.05)
        return model.bootstrap_intervals(results, 0.05, np.random.default_rng(10), **how)

    return run


# -- 8: large joint tables -------------------------------------------------------------------------


def associated(k: int) -> Any:
    return joint("mle")(pair(ldp.KRR(words(k), 4.0), k))


def derived(results: Any) -> Any:
    effect = results.cramers_v()
    conditional = results.conditional(on=results.names[0])
    interval = [effect.estimate, effect.lower, effect.upper]
    return {"v": interval, "conditional": np.asarray(conditional, dtype=float)}


# -- 9: dense channels, and tables of many categories ----------------------------------------------


def dense() -> Any:
    k, rng = 2000, np.random.default_rng(11)
    Q = rng.random((k, k)) + 20.0 * np.eye(k) * np.sqrt(k)
    Q /= Q.sum(axis=1, keepdims=True)
    return ldp.CustomMechanism(Q).counts(rng.multinomial(10_000_000, rng.dirichlet(np.ones(k)) @ Q))


def fitted_and_printed(counts: Any) -> Any:
    results = ldp.FrequencyModel(counts).fit()
    results.summary().as_text()
    return results


def printed(results: Any) -> Any:
    results.summary().as_text()
    return results


_K4 = words(4)
SPOTS: dict[str, Spot] = {
    "1_client_of_2000": Spot(custom_client, twenty_reports, nothing),
    "2_json_of_1000": Spot(many_candidates, json_and_back, read_estimates),
    "2_json_of_1e6": Spot(million_categories, json_and_back, read_estimates),
    "3_1024_cohorts": Spot(lambda: candidates(200_000, 1024, True), inverted, estimates, warm=True),
    "3_not_identified": Spot(lambda: candidates(50_000, 7, True), refused, nothing, warm=True),
    "4_cold_krr": Spot(lambda: None, first(ldp.KRR(_K4, 1.0)), nothing, cold=True),
    "4_cold_unary": Spot(lambda: None, first(ldp.KRAPPOR(words(64), 1.0), 64), nothing, cold=True),
    "4_cold_rappor": Spot(lambda: None, first(rappor(4)), nothing, cold=True),
    "4_cold_dictionary": Spot(lambda: None, dictionary_fit, nothing, cold=True),
    "4_warm_krr": Spot(lambda: None, first(ldp.KRR(_K4, 1.0)), nothing),
    "5_names": Spot(named_categories, one_hypothesis, tests, warm=True),
    "5_9999_rows": Spot(ten_thousand, against_the_first, tests, warm=True),
    "6_candidates": Spot(lambda: candidates(100_000, 16, False), patterns, table, warm=True),
    "6_pair_40": Spot(lambda: pair(rappor(16, 64), 40), joint("mle", words(40)), table, warm=True),
    "6_em_of_pair": Spot(
        lambda: pair(ldp.KRAPPOR(words(10), 2.0), 10), joint("em"), table, warm=True
    ),
    "7_profile": Spot(unary, interval("profile"), lambda found: {"interval": found}, warm=True),
    "7_bootstrap": Spot(
        unary, interval("bootstrap", n_boot=199), lambda found: {"interval": found}, warm=True
    ),
    "8_45_by_45": Spot(lambda: associated(45), derived, lambda found: found, warm=True),
    "8_60_by_60": Spot(lambda: associated(60), derived, lambda found: found, warm=True),
    "9_dense_2000": Spot(dense, fitted_and_printed, estimates),
    "9_summary_of_1e6": Spot(million_categories, printed, read_estimates),
}


def main() -> None:
    """Run one spot, in an interpreter of its own; write its numbers, print its seconds."""
    spot, path = SPOTS[sys.argv[1]], sys.argv[2]
    ready = spot.setup()
    if spot.warm:
        spot.run(ready)
    start = time.process_time()
    found = spot.run(ready)
    seconds = time.process_time() - start
    np.savez(path, **{name: np.asarray(value) for name, value in spot.numbers(found).items()})
    print(json.dumps({"seconds": seconds}))
