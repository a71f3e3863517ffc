"""
Reports in DuckDB
=================

Answers lie in a table of DuckDB, too many to read into memory. DuckDB counts them where they are,
and only the counts travel.
"""

# %%
# These lines fill a database with 200,000 sheets.

import tempfile

import duckdb
import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(19)
n = 200_000
people = pd.DataFrame({"age": rng.integers(18, 80, n)})
people["region"] = rng.choice(["north", "south"], n)
late = rng.random(n) < np.where(people["region"] == "south", 0.2, 0.1)
people["late"] = np.where(late, "yes", "no")
sheet = ldp.Questionnaire({"late": ldp.Warner(epsilon=1.0)})
collected = sheet.privatize(people, rng)
folder = tempfile.TemporaryDirectory()
with duckdb.connect(f"{folder.name}/answers.duckdb") as database:
    database.execute("CREATE TABLE wave_1 AS SELECT * FROM collected")

# %%
# The call is that of a table in memory. ``where`` and ``by`` become part of the query.

survey = ldp.Survey(f"{folder.name}/answers.duckdb", sheet, table="wave_1")
late = survey.where("age < 65").frequencies("late", by="region")
late.differences().round(4)

# %%
folder.cleanup()
late.plot()
late.summary()

# %%
# **For your own data**, change the names of the file and its table. Parquet files are named in the
# same way (``ldp.Survey("part-*.parquet", sheet)``), and a relation of DuckDB is passed as it is.
#
# Reference: `ldpstats.Survey`, `ldpstats.count`. Deeper: the article
# :doc:`/gallery/articles/10_large_data`.
