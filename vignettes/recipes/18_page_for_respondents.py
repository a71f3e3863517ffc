"""
A page for respondents, and a collector
=======================================

A questionnaire becomes a web page that privatises answers in the respondent's browser. A collector
keeps the sheets, and the analyst reads its folder as a table.
"""

# %%
# The page is one file that works without a network. Its texts are yours.

import tempfile

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import page

rng = np.random.default_rng(18)
jobs = ("nurse", "teacher", "driver", "cook")
sheet = ldp.Questionnaire({"job": ldp.KRR(jobs, 1.0), "late": ldp.Warner(1.0)})
questions = {"late": {"question": "Were you late last week?"}}
texts = {"title": "Your work", "questions": questions}
with tempfile.TemporaryDirectory() as folder:
    sheet.to_json(f"{folder}/survey.json")
    page.write_page(sheet, f"{folder}/survey.html", texts)

# %%
# Two commands serve it and keep what arrives:
#
# .. code-block:: sh
#
#     pip install 'ldpstats[collect]'
#     ldpstats collect survey.json --to answers
#
# A browser makes the same reports as the client in Python. Here 1,000 clients stand for browsers:
# each is given its answers and returns what would be sent.

job = rng.choice(jobs, p=[0.4, 0.3, 0.2, 0.1], size=1_000)
late = np.where(rng.random(1_000) < 0.2, "yes", "no")
sheets = [
    sheet.client(rng.bytes, max_epsilon=2.0).report({"job": a, "late": b})
    for a, b in zip(job, late, strict=True)
]
pd.DataFrame(sheets[:3])

# %%
# With a collector the next line is ``ldp.Survey("answers")``.

survey = ldp.Survey(pd.DataFrame(sheets), sheet)
jobs_found = survey.frequencies("job")
jobs_found.plot()
jobs_found.summary()

# %%
# **For your own survey**, change the questions, their mechanisms and the texts, and leave
# ``rng.bytes`` out: real clients draw from the operating system's randomness.
#
# Reference: `ldpstats.Questionnaire`, `ldpstats.page.write_page`, `ldpstats.Survey`. Deeper: the
# article :doc:`/gallery/articles/09_questionnaire`.
