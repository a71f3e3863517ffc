"""
Reports in Spark
================

Answers lie on a cluster. Spark's workers count them, and the table that comes back is the one that
the same reports give in memory.
"""

# %%
# This recipe needs Java 17 and ``pip install '.[spark]'``. It does not run when this site is
# built: what it prints is stored below, and a test runs it and compares. A local session stands for
# your cluster.

import tempfile

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

import ldpstats as ldp

rng = np.random.default_rng(20)
people = pd.DataFrame({"region": rng.choice(["north", "south"], 20_000)})
people["late"] = np.where(rng.random(20_000) < 0.2, "yes", "no")
sheet = ldp.Questionnaire({"late": ldp.Warner(epsilon=1.0)})
folder = tempfile.TemporaryDirectory()
sheet.privatize(people, rng).to_parquet(f"{folder.name}/wave_1.parquet")

# %%
# Any data frame of Spark will do: ``spark.table("answers")``, too.

spark = SparkSession.builder.master("local[2]").getOrCreate()
answers = spark.read.parquet(f"{folder.name}/wave_1.parquet")
survey = ldp.Survey(answers, sheet)
print(survey.where("region == 'south'").frequencies("late").summary())
spark.stop()
folder.cleanup()

# %%
# It prints:
#
# .. code-block:: text
#
#                            Frequencies of late
#     =================================================================
#     Mechanism:         Warner(epsilon=1)  No. Reports:           9988
#     Estimator:                       mle  Missing:                  0
#     Categories:                        2  Epsilon (nats):           1
#     =================================================================
#                  estimate    std err     [0.025     0.975]    p-value
#     -----------------------------------------------------------------
#     no             0.8057     0.0104     0.7852     0.8261     <0.001
#     yes            0.1943     0.0104     0.1739     0.2148     <0.001
#     =================================================================
#
#     Intervals: 95% exact (Clopper-Pearson).
#     p-value: of p = 0 against p > 0, not adjusted for the number of categories.
#     Goodness of fit (Bonferroni on the most negative estimate): p = 1.000.
#
# **For your own data**, put your data frame in place of ``answers``, and the name of your column of
# reports in place of ``late``. Where reports are bits, the package must be installed on the
# workers, and ``PYSPARK_PYTHON`` names their Python.
#
# Reference: `ldpstats.Survey`, `ldpstats.count`. Deeper: the article
# :doc:`/gallery/articles/10_large_data`.
