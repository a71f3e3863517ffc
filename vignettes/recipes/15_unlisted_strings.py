"""
Strings that nobody listed
==========================

Which answers are common in a field that has no list? Each device reports two noisy pieces of its
string and the noisy whole. The pieces propose strings, the wholes test them.
"""

# %%
# 20,000 people name the postcode of the clinic where they were treated. Most went to one of five.

import numpy as np

import ldpstats as ldp

rng = np.random.default_rng(15)
clinics = ["10117", "20251", "50937", "69120", "80336"]
elsewhere = [f"{number:05}" for number in rng.integers(1_000, 99_999, 2_000)]
at_clinics = rng.choice(clinics, 18_000, p=[0.4, 0.2, 0.2, 0.1, 0.1])
visited = np.r_[at_clinics, elsewhere]
digits = "0123456789"
survey = ldp.DictionarySurvey(length=6, gram=3, alphabet=digits, epsilon=9)
reports = survey.privatize(visited, rng)

# %%
# The chance of claiming even one string that nobody holds is at most 5 %.

found = ldp.DictionaryModel(reports).fit(alpha=0.05)
found.plot()
found.summary()

# %%
# **For your own data**, change the alphabet and the length of the longest string that you want to
# find. `ldpstats.planning.plan_dictionary` says which pieces and epsilon find the rarest strings.
#
# Reference: `ldpstats.DictionarySurvey`, `ldpstats.DictionaryModel`. Deeper: the article
# :doc:`/gallery/articles/08_unknown_dictionary`.
