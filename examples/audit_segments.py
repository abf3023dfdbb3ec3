"""
Audit existing segments
=======================

Somebody made segments of people. How well do they describe women and men?
``audit`` needs only the rows, the segments and the groups.
"""

# %%
# The rows are a sample of 1000 people of the Adult census data. K-means stands for
# whoever made the segments: any labels from 0 on will do.

import pandas as pd
from sklearn.cluster import KMeans

from rawlsian import audit, load_adult, plot_audit

adult = load_adult(sample=500, random_state=0)
segments = KMeans(5, n_init=4, random_state=0).fit_predict(adult.data)

# %%
# The cost of a person is the squared distance to the mean of the segment. On the scale
# of the audit, everyone together has a cost of 100 points.

found = audit(adult.data, segments, adult.sensitive_features, random_state=0)
print(found)

# %%
# A group is *behind* if its cost is higher than that of everyone else. If the interval
# includes 0, the difference may be chance. In a notebook, ``found`` alone shows a
# table, and ``to_frame`` makes a pandas frame of it.

print(found.to_frame()[["group", "level", "behind", "low", "high"]].round(1))

# %%
# Groups may be intersections: several columns, one row per person.

sex_and_race = pd.DataFrame(adult.table)[["sex", "race"]]
by_both = audit(adult.data, segments, sex_and_race, random_state=0)
ax = plot_audit(by_both)
ax.set_title("Groups of fewer than 30 people have no interval")

# %%
# Which segment makes the gap? The parts sum to it.

print(by_both.worst_off, by_both.shortfalls().round(1))
