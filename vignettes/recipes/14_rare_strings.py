"""
Which of these strings are there?
=================================

Which of 300 medicines do people take? The list is longer than what is taken, and answers that are
not on it are possible, too. Devices hash the string; the analyst tests each candidate, with control
of the errors over the whole list.
"""

# %%
# 25 medicines are really taken, the others are not.

import numpy as np

import ldpstats as ldp

rng = np.random.default_rng(8)
candidates = [f"medicine {number}" for number in range(300)]
taken = rng.choice(candidates[:25], 60_000, p=rng.dirichlet(np.ones(25)))
rappor = ldp.RAPPOR(n_bits=64, n_hashes=2, n_cohorts=32, f=0.0, p=0.25, q=0.75)
reports = rappor.privatize(taken, rng)

# %%
# Each of those detected is there with an error probability of 5 % for all of them together.

results = ldp.FrequencyModel(reports, candidates=candidates).fit()
found = results.detected(alpha=0.05, method="holm")
print(f"{len(found)} of {len(candidates)} detected;", results.unexplained)
results.summary_frame().loc[found, ["params", "bse", "lower", "upper"]].round(4)

# %%
results.plot(most=25)

# %%
# **For your own data**, change the list of candidates and the parameters that your devices used.
# ``incomplete=True`` says that the list is known to lack strings. `ldpstats.ORR` spends the same
# epsilon on a report of a few bytes.
#
# Reference: `ldpstats.RAPPOR`, `ldpstats.ORR`, `ldpstats.FrequencyResults.detected`. Deeper: the
# articles :doc:`/gallery/articles/04_rappor_candidates` and
# :doc:`/gallery/articles/03_open_alphabets`.
