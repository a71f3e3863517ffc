"""Complex samples of privatised answers: coverage of intervals, sizes of tests, design effects.

    python -m benchmarks.complex_samples                            everything: an hour
    python -m benchmarks.complex_samples --samples 300 --design "two stages" --epsilon 1
    python -m benchmarks.complex_samples --samples 300 --mechanism k-RR --epsilon 1 --store

One fixed population of 200,000 persons in 2,000 clusters and 40 strata is sampled again and again,
with probabilities that depend on the answers, and everybody in a sample privatises hers anew.
Intervals must hold the shares of that population. Tests are of hypotheses about what a population
is drawn from, as no population obeys them: what the answers are compared with is dealt anew. One
sample in 20 is also given to `ldpstats.Survey`, which must say the same.

Two controls must fail: intervals without weights, and intervals whose correction for a finite
population shrinks the randomisation as well. `--store` writes what is shown beside this file.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.samples import coverage, sizes
from benchmarks.samples.asking import EPSILONS, MECHANISMS, K, Question
from benchmarks.samples.population import DESIGNS, GROUPS, Design, Drawn, population

SIZE = (200_000, 40, 2_000)  # persons, strata, clusters
CONFIRMED = 20  # one sample in so many is confirmed
STORED = Path(__file__).with_suffix(".csv")
COMMAND = "python -m benchmarks.complex_samples --samples 300 --mechanism k-RR --epsilon 1 --store"


def confirm(design: Design, question: Question, samples: int, seed: list[int]) -> None:
    """Refuse samples of which `ldpstats.Survey` says something else."""
    rng, people = np.random.default_rng(seed), design.people
    margins = {name: dict(enumerate(np.bincount(getattr(people, name)))) for name in ("sex", "age")}
    for _ in range(samples):
        drawn, state = design.draw(rng), rng.bit_generator.state
        said = coverage.intervals(design, question, drawn, rng)
        rng.bit_generator.state = state  # the same reports again
        y = question.ask(people.answer[drawn.person], rng)
        survey = surveyed(design, question, drawn, y)
        both = np.array([said["estimate"], said["V"]])
        for results, (estimate, V) in (
            (survey.frequencies("answer"), both[:, :K]),
            (survey.frequencies("answer", by="region"), both[:, K : 4 * K]),
            (survey.calibrate(margins).frequencies("answer"), said["calibrated"]),
        ):
            np.testing.assert_allclose(results.params, estimate, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(results.bse**2, V, rtol=1e-8)


def surveyed(design: Design, question: Question, drawn: Drawn, y: np.ndarray) -> ldp.Survey:
    """A sample as a table, and its survey."""
    people, mechanism = design.people, question.mechanism
    names = question.names
    table = pd.DataFrame(
        {
            "answer": names[y],
            "w": drawn.weight,
            "stratum": drawn.strata[drawn.unit],
            "unit": drawn.unit,
            "clusters": drawn.existing[drawn.strata[drawn.unit]],
            **{name: getattr(people, name)[drawn.person] for name in ("region", "sex", "age")},
        }
    )
    fpc = None if np.isinf(drawn.existing).all() else ["clusters"]
    if drawn.inside is not None:
        table["persons"] = drawn.inside[1][drawn.unit]
        fpc = ["clusters", "persons"]
    return ldp.Survey(
        table, {"answer": mechanism}, weights="w", strata="stratum", clusters="unit", fpc=fpc
    )


def figures(design: Design, question: Question, samples: int, seed: list[int]) -> pd.DataFrame:
    """What one setting shows, a row for each figure: of how many cells, their least and most.

    "coverage" has a share of the samples by kind of interval, "size" one by hypothesis and test;
    "estimated" and "simulated" are design effects, and "apart" how many standard errors are between
    them.
    """
    said = coverage.simulate(design, question, samples, seed)
    found: dict[tuple[str, str, str], Any] = {}
    for name, held in coverage.coverage(said, design.people, question).items():
        found["coverage", name, ""] = held
    for name, each in coverage.effects(said, design.people).items():
        for what, values in zip(("estimated", "simulated", "apart"), each, strict=True):
            found[what, name, ""] = values
    other = Question(ldp.KRR(GROUPS.size, question.mechanism.epsilon))
    for name, shares in sizes.rejections(design, (question, other), samples, seed).items():
        for test, share in zip(sizes.TESTS, shares, strict=True):
            found["size", name, test] = np.array([share])
    rows = [(*key, v.size, v.min(), v.mean(), v.max()) for key, v in found.items()]
    return pd.DataFrame(rows, columns=["what", "name", "test", "cells", "least", "mean", "most"])


def setting(design: Design, kind: str, epsilon: float, samples: int) -> pd.DataFrame:
    """The figures of a setting, whose random numbers follow from its name."""
    question = Question(MECHANISMS[kind](K, epsilon))
    seed = [*map(ord, design.name + kind), round(100 * epsilon)]
    confirm(design, question, samples // CONFIRMED, seed)
    table = figures(design, question, samples, seed)
    for place, (name, value) in enumerate(
        {"design": design.name, "mechanism": kind, "epsilon": epsilon, "samples": samples}.items()
    ):
        table.insert(place, name, value)
    return table


def main() -> None:
    """All settings, or those that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--design", nargs="*", choices=list(DESIGNS), default=list(DESIGNS))
    parser.add_argument(
        "--mechanism", nargs="*", choices=list(MECHANISMS), default=list(MECHANISMS)
    )
    parser.add_argument("--epsilon", nargs="*", type=float, default=list(EPSILONS))
    parser.add_argument("--store", action="store_true", help=f"write {STORED.name}")
    asked = parser.parse_args()
    people, tables = population(*SIZE), []
    for name in asked.design:
        for kind in asked.mechanism:
            for epsilon in asked.epsilon:
                start = time.process_time()
                tables.append(setting(DESIGNS[name](people), kind, epsilon, asked.samples))
                print(tables[-1].to_string(index=False, float_format="{:.3f}".format))
                print(f"{time.process_time() - start:.0f} CPU s", flush=True)
    if asked.store:
        text = pd.concat(tables).to_csv(index=False, float_format="%.4g", lineterminator="\n")
        STORED.write_text(f"# Made by: {COMMAND}\n{text}", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
