"""
A table by age group
====================

Is the private answer related to age? Ages are public numbers: cut them into groups, whose order the
test for trend uses.
"""

# %%
import numpy as np
import pandas as pd

import ldpstats as ldp

rng = np.random.default_rng(23)
age = rng.integers(18, 80, size=8_000)
used = np.where(rng.random(8_000) < 0.35 - 0.004 * (age - 18), "yes", "no")
people = pd.DataFrame({"age": age, "used": used})
sheet = ldp.Questionnaire({"used": ldp.Warner(epsilon=2.0)})
collected = sheet.privatize(people, rng)

# %%
# ``pd.cut`` makes ordered categories; as text they would lose their order.

labels = ["18-29", "30-44", "45-59", "60-79"]
collected["group"] = pd.cut(collected["age"], [17, 29, 44, 59, 79], labels=labels)
survey = ldp.Survey(collected, sheet)
groups = survey.frequencies("used", by="group")
groups.to_frame().query("used == 'yes'").set_index("group").round(3)

# %%
# ``test_equal`` asks whether any groups differ. ``test_trend`` has one degree of freedom, and more
# power where the share rises or falls with age.

print(groups.test_equal())
print(survey.association("group", "used").test_trend())
groups.plot()

# %%
# **For your own data**, change the limits, which belong to the group below them. Where age shall
# stay a number, see :doc:`06_regression`.
#
# Reference: `ldpstats.Survey.frequencies`, `ldpstats.AssociationResults.test_trend`. Deeper: the
# article :doc:`/gallery/articles/09_questionnaire`.
