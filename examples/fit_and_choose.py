"""
Fit and choose
==============

``fit_table`` compares k-means with clusterings that serve the worst-off group better,
and recommends one of them, or to keep k-means. It takes a file or a data frame.
"""

# %%
# The table has numbers and text. The column ``sex`` makes the groups, and stays out of
# the distances.

import pandas as pd

from rawlsian import UnitDistanceEncoder, fit_table, frontier, load_adult, plot_frontier

columns = ["age", "education-num", "hours-per-week", "workclass", "sex"]
people = pd.DataFrame(load_adult(sample=150, random_state=0).table)[columns]

# %%
# One call compares the clusterings. ``new_people=False`` leaves out the part that takes
# longest: what people who are not in the table would gain.

fit = fit_table(people, "sex", clusters=3, new_people=False)
print(fit)

# %%
# The verdict in one sentence, the options, and the cluster of each row:

print(fit.verdict)
print([option.title for option in fit.options])
print(fit.labels_table().to_pandas().head(3))

# %%
# What does it cost everyone to serve the worst-off group better? ``frontier`` has the
# whole trade-off.

X = UnitDistanceEncoder().fit_transform(people[columns[:-1]])
points = frontier(X, people["sex"], n_clusters=3, n_points=5, random_state=0)
plot_frontier(points)
print(points.to_frame().round(4))
