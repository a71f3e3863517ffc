"""Complex samples of privatised answers: coverage of intervals, sizes of tests, design effects.

    python -m benchmarks.complex_samples                            everything: an hour
    python -m benchmarks.complex_samples --samples 300 --design "two stages" --epsilon 1

One fixed population of 200,000 persons in 2,000 clusters and 40 strata is sampled again and again,
with probabilities that depend on the answers, and everybody in a sample privatises hers anew.
Intervals must hold the shares of that population. Tests are of hypotheses about what a population
is drawn from, as no population obeys them: what the answers are compared with is dealt anew. One
sample in 20 is also given to `ldpstats.Survey`, which must say the same.

Two controls must fail: intervals without weights, and intervals whose correction for a finite
population shrinks the randomisation as well.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

import ldpstats as ldp
from benchmarks.samples import coverage, sizes
from benchmarks.samples.asking import EPSILONS, MECHANISMS, K, Question
from benchmarks.samples.population import DESIGNS, GROUPS, Design, Drawn, population

SIZE = (200_000, 40, 2_000)  # persons, strata, clusters
CONFIRMED = 20  # one sample in so many is confirmed


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


def report(design: Design, question: Question, samples: int, seed: list[int]) -> Iterator[str]:
    """Lines on one setting."""
    said = coverage.simulate(design, question, samples, seed)
    for name, held in coverage.coverage(said, design.people, question).items():
        yield f"coverage {name:22s} {held.min():.3f} to {held.max():.3f}, mean {held.mean():.3f}"
    for name, (estimated, simulated, apart) in coverage.effects(said, design.people).items():
        pairs = ", ".join(f"{a:.2f} ({b:.2f})" for a, b in zip(estimated, simulated, strict=True))
        yield f"{name:12s} {pairs}; apart by {np.abs(apart).max():.1f} standard errors at most"
    other = Question(ldp.KRR(GROUPS.size, question.mechanism.epsilon))
    for name, found in sizes.rejections(design, (question, other), samples, seed).items():
        shares = ", ".join(
            f"{test} {share:.3f}" for test, share in zip(sizes.TESTS, found, strict=True)
        )
        yield f"size {name:26s} {shares}"


def main() -> None:
    """All settings, or those that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--design", nargs="*", choices=list(DESIGNS), default=list(DESIGNS))
    parser.add_argument(
        "--mechanism", nargs="*", choices=list(MECHANISMS), default=list(MECHANISMS)
    )
    parser.add_argument("--epsilon", nargs="*", type=float, default=list(EPSILONS))
    asked = parser.parse_args()
    people = population(*SIZE)
    for name in asked.design:
        design = DESIGNS[name](people)
        for kind in asked.mechanism:
            for epsilon in asked.epsilon:
                question = Question(MECHANISMS[kind](K, epsilon))
                seed = [*map(ord, name + kind), round(100 * epsilon)]
                start = time.process_time()
                print(f"{name}, {kind}, epsilon {epsilon:g}, {asked.samples} samples")
                confirm(design, question, asked.samples // CONFIRMED, seed)
                for line in report(design, question, asked.samples, seed):
                    print("   ", line, flush=True)
                print(f"    {time.process_time() - start:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
