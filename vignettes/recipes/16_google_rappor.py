"""
RAPPOR data from google's clients
=================================

A collection with google/rappor has left three files: the parameters, the map of candidates, and the
counts of bits by cohort. Which strings are there, and how often?
"""

# %%
# These lines write such files. Yours come from your collection.

import tempfile
from pathlib import Path

import numpy as np

import ldpstats as ldp
from ldpstats import io

rng = np.random.default_rng(16)
pages = [f"page{number}" for number in range(60)]
made = ldp.RAPPOR(64, 2, 16, f=0.25, p=0.35, q=0.65, hashing="google")
share = np.r_[[0.3, 0.2, 0.1, 0.08], np.full(16, 0.02), np.zeros(40)]
counts = made.draw(share, 100_000, rng, pages)
folder = tempfile.TemporaryDirectory()
io.write_rappor_params(made, f"{folder.name}/params.csv")
io.write_rappor_map(pages, made, f"{folder.name}/map.csv")
io.write_rappor_counts(counts, f"{folder.name}/counts.csv")

# %%
# The first two lines of each file, cut to 70 characters. A row of the map is a candidate and its
# bits, numbered over all cohorts. A row of the counts is a cohort: its number of reports, then how
# many of them have each bit.

for file in ("params.csv", "map.csv", "counts.csv"):
    lines = Path(folder.name, file).read_text("utf-8").splitlines()
    print(file, lines[0][:70], lines[1][:70], sep="\n  ")

# %%
# The analysis reads the three files. The map says which bits each candidate sets; the hash of the
# clients need not be known.

rappor = io.read_rappor_params(f"{folder.name}/params.csv")
candidates = io.read_rappor_map(f"{folder.name}/map.csv", rappor)
collected = io.read_rappor_counts(f"{folder.name}/counts.csv", rappor)
results = ldp.FrequencyModel(collected, candidates=candidates).fit()
print(list(results.detected(alpha=0.05, method="holm")))

# %%
folder.cleanup()
results.plot(most=15)
results.summary(max_rows=15)

# %%
# **For your own data**, change the names of the three files. Single reports, one a row, are read by
# `ldpstats.io.read_rappor_reports`. On the command line the whole is
# ``ldpstats fit counts.csv --params params.csv --map map.csv``. A variable of truth values has
# k = 1 in its parameters, and needs no map: `ldpstats.BooleanRAPPOR`.
#
# Reference: `ldpstats.io.read_rappor_params`, `ldpstats.io.read_rappor_map`,
# `ldpstats.io.read_rappor_counts`. Deeper: the article
# :doc:`/gallery/articles/04_rappor_candidates`.
