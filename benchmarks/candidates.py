"""Whole surveys over open alphabets, from answers or tallies to results with standard errors."""

from __future__ import annotations

import numpy as np
from timing import Row, Scale, measure, zipf

import ldpstats as ldp
from ldpstats.sampling.hashing import hash_strings, hashed_cells

__all__ = ["candidates"]


def candidates(scale: Scale) -> list[Row]:
    """Local hashing from answers to decoded frequencies; O-RR; the Lasso over a long list."""
    return [*_local_hashing(scale), _orr(scale), _lasso(scale)]


def _local_hashing(scale: Scale) -> list[Row]:
    n, k, C = scale.size(100_000, 5_000), scale.size(1_024, 64), 1_000
    rng = np.random.default_rng(8)
    words = np.array([f"value{i}" for i in range(k)], dtype=object)
    answers = words[rng.choice(k, size=n, p=zipf(k))]
    survey = ldp.ORR(n_outputs=4, n_cohorts=C, epsilon=1.0)
    reports = survey.privatize(answers, rng)
    jobs = {
        "privatise": lambda: survey.privatize(answers, rng),
        "decode": lambda: ldp.FrequencyModel(reports, candidates=list(words)).fit(),
        "numpy": lambda: _support_counts(reports, list(words)),
    }
    spent = measure(jobs, scale.size(5, 1))
    total, ratio = spent["privatise"] + spent["decode"], spent["numpy"] / spent["decode"]
    what = f"local hashing, n = {n:,}, k = {k:,}"
    return [
        Row(f"{what}: privatise and decode", "", f"{total:.2f} s", "< 3 s", total < 3.0),
        Row(
            f"{what}: decode, with standard errors and tests",
            "support counts in numpy, without",
            f"{ratio:.3g} x the speed ({spent['decode']:.2f} s, not {spent['numpy']:.2f} s)",
        ),
    ]


def _support_counts(reports: ldp.Reports, words: list[str]) -> np.ndarray:
    """The usual decoder: compare every report with the hash of every value in its cohort."""
    survey = reports.mechanism
    cells = hashed_cells(hash_strings("words", words), survey.n_cohorts, 1, survey.n_outputs)
    support = np.zeros(len(words))
    for start in range(0, len(reports), 10_000):
        part = slice(start, start + 10_000)
        support += (cells[reports.cohort[part], :, 0] == reports.y[part, None]).sum(axis=0)
    return support


def _orr(scale: Scale) -> Row:
    S, C, k = scale.size(4_096, 256), scale.size(1_024, 16), scale.size(4_096, 64)
    words = [f"candidate{i}" for i in range(S)]
    survey = ldp.ORR(k, C, epsilon=float(np.log(k)))
    counts = survey.draw(zipf(S), 10**6, np.random.default_rng(9), words)

    def decode() -> np.ndarray:
        return ldp.FrequencyModel(counts, candidates=words).fit().bse.to_numpy()

    spent = measure({"decode": decode}, scale.size(3, 1))["decode"]
    what = f"O-RR, S = {S:,}, C = {C:,}, k = {k:,}, standard errors, tests, goodness of fit"
    return Row(what, "", f"{spent:.2f} s of one thread")


def _lasso(scale: Scale) -> Row:
    S, C, present = scale.size(100_000, 2_000), scale.size(64, 8), scale.size(200, 10)
    words = [f"candidate{i}" for i in range(S)]
    survey = ldp.RAPPOR(128, 2, C, f=0.0, p=0.25, q=0.75)
    rng = np.random.default_rng(10)
    p = np.zeros(S)
    p[rng.choice(S, present, replace=False)] = zipf(present)
    counts = survey.draw(p, 10**6, rng, words)

    def decode() -> object:
        return ldp.FrequencyModel(counts, candidates=words).fit("lasso")

    spent = measure({"decode": decode}, scale.size(3, 1))["decode"]
    what = f"Lasso, S = {S:,}, {C} cohorts of 128 bits, from hashing the candidates on"
    return Row(what, "", f"{spent:.2f} s", "< 120 s", spent < 120.0)
