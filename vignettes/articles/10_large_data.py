"""
Tables that are too large for memory
====================================

A survey of many respondents arrives in many files, or is kept in a database or on a cluster. The
call is the same everywhere: reports are counted where they are, and only the counts travel. This
page runs a small copy of each case, and says at its end what a trillion rows would take.
"""

import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import ldpstats as ldp

rng = np.random.default_rng(10)
folder = Path(tempfile.mkdtemp())

# %%
# Ten files, one call
# -------------------
#
# Ten collectors privatise what their respondents say, and each writes a Parquet file. The job is
# reported by k-RR, the site last visited by RAPPOR. The region stays public.

jobs = ("nurse", "teacher", "driver", "cook")
sites = [f"site{i}.example" for i in range(40)]
sheet = ldp.Questionnaire(
    {
        "job": ldp.KRR(jobs, epsilon=1.5),
        "site": ldp.RAPPOR(n_bits=64, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75),
    }
)
shares = {"north": [0.4, 0.3, 0.2, 0.1], "south": [0.25, 0.25, 0.25, 0.25]}
zipf = 1 / np.arange(1, len(sites) + 1)
answers = []
for number in range(10):
    region = rng.choice(list(shares), size=4000)
    job = np.where(region == "north", *(rng.choice(jobs, 4000, p=p) for p in shares.values()))
    site = rng.choice(sites, 4000, p=zipf / zipf.sum())
    answers.append(pd.DataFrame({"job": job, "site": site, "region": region}))
    reports = sheet.privatize(pa.Table.from_pandas(answers[-1], preserve_index=False), rng)
    pq.write_table(reports, folder / f"part-{number}.parquet")

# %%
# A pattern names all files; so do a list of their names and the name of the folder. DuckDB, which
# comes with the package, counts the labels in one grouped query. No report is held in memory.

survey = ldp.Survey(f"{folder}/part-*.parquet", sheet)
print(survey)
by_region = survey.frequencies("job", by="region")
print(by_region.summary())
by_region.plot()
people = pd.concat(answers)
truth = pd.crosstab(people["region"], people["job"], normalize="index")
print(truth[list(jobs)].round(4))
assert len(survey) == len(people) == 40_000
assert by_region.test_equal().pvalue < 1e-6

# %%
# Conditions are part of the query, and so are two-way tables. A table of two reports has at most as
# many distinct rows as the two mechanisms have pairs of outputs, for any number of respondents.

north = survey.where("region == 'north'")
print(north.frequencies("job").wald_test("driver = 2 * cook"))
print(survey.association("job", "region").test_independence())

# %%
# Bits are summed, in parallel
# ----------------------------
#
# Two reports of many bits are hardly ever equal, so that counting distinct reports would keep them
# all. Linear estimates need no more than the sums of the bits in each cohort. These are made over
# files and their row groups in parallel. The likelihood needs the reports themselves, and is
# refused where they take more than 2 GB.

found = survey.frequencies("site", candidates=sites, method="inversion")
print(found.detected(alpha=0.05)[:8].tolist())
sums = ldp.count(f"{folder}/part-*.parquet", sheet["site"], "site", bits=True)
print("cohorts and bits:", sums.ones.shape, " reports:", sums.nobs)
again = ldp.FrequencyModel(sums, candidates=sites).fit("inversion")
assert np.allclose(again.params, found.params, atol=1e-12)

# %%
# Counts add up. Whoever may not move files can move counts: 16 x 64 whole numbers for the sites and
# four for the jobs, whatever the number of respondents.

halves = [[folder / f"part-{i}.parquet" for i in which] for which in (range(5), range(5, 10))]
parts = [ldp.count(half, sheet["job"], "job") for half in halves]
total = sum(parts[1:], start=parts[0])
assert (total.vector() == ldp.count(folder, sheet["job"], "job").vector()).all()

# %%
# A file that is damaged
# ----------------------
#
# The transfer of one file broke off. The error names it. With ``on_error="report"`` the others are
# counted, each exactly once, and a warning names what was left out.

whole = (folder / "part-3.parquet").read_bytes()
(folder / "part-3.parquet").write_bytes(whole[: len(whole) // 2])
try:
    ldp.Survey(f"{folder}/part-*.parquet", sheet).frequencies("job")
except ldp.LDPError as error:
    print(str(error).replace(str(folder), "FOLDER"))
else:
    raise AssertionError
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", ldp.LDPWarning)
    rest = ldp.Survey(f"{folder}/part-*.parquet", sheet, on_error="report")
    assert rest.frequencies("job").nobs == 36_000
(folder / "part-3.parquet").write_bytes(whole)
print(len(caught), "warning:", str(caught[0].message).replace(str(folder), "FOLDER"))

# %%
# Tables in a database
# --------------------
#
# A relation of DuckDB is queried on its own connection, whatever SQL made it, joins and remote
# files included. For a database file, ``table=`` names the table.

relation = duckdb.sql(f"SELECT * FROM read_parquet('{folder}/part-*.parquet')")
from_duckdb = ldp.Survey(relation, sheet).frequencies("job", by="region")
assert str(from_duckdb.summary()) == str(by_region.summary())
with duckdb.connect(folder / "survey.duckdb") as connection:
    files = f"{folder}/part-*.parquet"
    connection.execute(f"CREATE TABLE sheets AS FROM read_parquet('{files}')")
stored = ldp.Survey(folder / "survey.duckdb", sheet, table="sheets")
assert stored.frequencies("job", by="region").to_json() == by_region.to_json()

# %%
# The same on Spark
# -----------------
#
# A data frame of Spark stays where it is, too. Labels are counted by a grouped query of Spark; bits
# by the package's own loop, which Spark's workers run on batches of Arrow (``mapInArrow``), so the
# package must be installed there: ``PYSPARK_PYTHON`` names the Python that has it. Spark needs Java
# 17, and the package its extra, ``pip install '.[spark]'``. This part takes half a minute, and runs
# only when asked for: ``python 10_large_data.py --spark`` adds the lines that follow.
#
# .. code-block:: text
#
#     Spark: the same tables, byte for byte
#     Pearson chi-square of the privatised reports
#       H0: both groups have the same distribution
#       statistic 454.9, df 3, p-value 2.865e-98


def on_spark() -> None:
    """The same survey on a local cluster of two workers."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    frame = spark.read.parquet(f"{folder}/part-*.parquet")
    there = ldp.Survey(frame, sheet)
    assert str(there.frequencies("job", by="region").summary()) == str(by_region.summary())
    bits = there.frequencies("site", candidates=sites, method="inversion")
    assert str(bits.summary()) == str(found.summary())
    print("Spark: the same tables, byte for byte")
    print(there.frequencies("job", by="region").test_equal())
    spark.stop()


if sys.argv[1:2] == ["--spark"]:
    on_spark()

# %%
# What to run where: a trillion rows, on paper
# --------------------------------------------
#
# The rates were measured on one core (``benchmarks/engines.py``), the rest is arithmetic: 1e9 rows
# of labels took 11 s from 100 files to the printed table by region, and less than 0.3 GB. A report
# of k-RR with k = 1,024 and one of four regions takes 1.5 bytes in Parquet, as dictionaries hold
# each label once; RAPPOR's 128 bits and one of 64 cohorts take 16.8, as noise cannot be compressed.

rows = 1e12
kinds = {  # bytes a row, rows a second and core, cells of a partial count
    "k-RR, k = 1,024, by region": (1.5, 1.0e8, 4 * 1024),
    "RAPPOR, 128 bits, 64 cohorts": (16.8, 6.0e7, 64 * 129),
}
read = 100e6  # bytes a second and core from an object store
task = 1e8  # rows of a task
price = 0.05  # dollars a core-hour, of rented machines
table = {}
for kind, (size, rate, cells) in kinds.items():
    hours = rows * max(1 / rate, size / read) / 3600
    table[kind] = {
        "read, TB": rows * size / 1e12,
        "partial count, kB": cells * 8 / 1e3,
        "all of them, MB": rows / task * cells * 8 / 1e6,
        "core-hours": hours,
        "dollars": hours * price,
    }
print(pd.DataFrame(table).round(1).to_string())

# %%
# Reading takes longer than counting, and both cost less than storing the table for a day. What
# decides is where the table is:
#
# - **Up to 1e8 rows**: any machine, any kind of table. It takes seconds.
# - **1e9 to 1e10**: one machine, files and DuckDB. It takes 10 s a core, and reads 1.5 to 17 GB per
#   1e9 rows.
# - **1e11 and more**: Spark, beside the files. Tens of kilobytes leave each task.
#
# One large machine can count 1e12 labels as well, if their 1.5 TB are on its own disks; it cannot
# if only a cluster may read them.
#
# What counts are enough for is the same on every engine:
#
# - Frequencies, groups, joint tables, changes and conditions of labels are exact from counts, with
#   every estimator and test of the package.
# - Bits: linear estimates (inversion, projections, least squares, the Lasso) need the sums alone.
#   The exact likelihood needs the distinct patterns: 16 bytes each and their count, 24 GB for 1e9
#   reports. It is refused beyond 2 GB; take a random part of the respondents.
# - Two questions of bits need their patterns, too. Unknown strings (``DictionarySurvey``) need the
#   reports themselves, in memory.
# - Persons are matched by the engine that holds both waves; a cluster moves rows between its
#   workers once.

shutil.rmtree(folder)
