"""
A page for respondents, and a collector
=======================================

A questionnaire becomes a web page that privatises answers in the respondent's browser. A collector
keeps the sheets, and the analyst reads its folder as a table.
"""

# %%
# ``survey.html`` is a preview: one file that works without a network and sends nothing. Its texts
# are yours, and stand in a file of their own.

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats import page

rng = np.random.default_rng(18)
jobs = ("nurse", "teacher", "driver", "cook")
sheet = ldp.Questionnaire({"job": ldp.KRR(jobs, 1.0), "late": ldp.Warner(epsilon=1.0)})
texts = {"title": "Your work", "questions": {"late": {"question": "Were you late last week?"}}}
with tempfile.TemporaryDirectory() as folder:
    sheet.to_json(f"{folder}/survey.json")
    Path(f"{folder}/texts.json").write_text(json.dumps(texts), "utf-8")
    page.write_page(sheet, f"{folder}/survey.html", f"{folder}/texts.json")

# %%
# A collector makes the page itself, from the questionnaire and the same texts, and keeps what
# arrives. Install its packages first, in the folder of the repository:
#
# .. code-block:: sh
#
#     python -m pip install '.[collect]'
#     ldpstats collect survey.json --texts texts.json --to answers
#
# :doc:`/guide/browser` runs one and sends sheets to it, and :doc:`/concepts/collector` puts it
# behind a reverse proxy. If another server shows the page, write it with
# ``post="https://survey.example/sheets"``, and name that server with ``--origin``.
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
# With a collector the table is ``ldp.Survey("answers")``: the sheets that are in files so far.

jobs_found = ldp.Survey(pd.DataFrame(sheets), sheet).frequencies("job")
jobs_found.plot()
jobs_found.summary()

# %%
# **For your own survey**, change the questions, their mechanisms and the texts, and leave
# ``rng.bytes`` out: real clients draw from the operating system's randomness.
#
# Reference: `ldpstats.Questionnaire`, `ldpstats.page.write_page`, `ldpstats.Survey`. Deeper: the
# article :doc:`/gallery/articles/09_questionnaire`.
