"""
Dask arrays
===========

With a Dask array or frame, rows stay where Dask keeps them: on this machine, or on the
workers of a client. The search runs on a weighted sample; passes over all rows finish
it.
"""

# %%
# Here the array is in memory, in eight chunks; ``dask.dataframe.read_parquet`` or an
# array on a cluster is used the same way. With a ``distributed.Client`` the passes run
# on its workers.

import dask
import dask.array as da
import numpy as np

from rawlsian import RawlsianKMeans, audit

rng = np.random.default_rng(0)
groups = np.where(rng.random(12_000) < 0.1, "few", "many")
numbers = rng.normal(size=(12_000, 4)) * np.where(groups == "few", 2.0, 1.0)[:, None]
X = da.from_array(numbers, chunks=(1_500, -1))

# %%
# A few starts are enough to see how it works.

fair = RawlsianKMeans(3, n_init=8, n_crossings=8, pooling=0, random_state=0)
with dask.config.set(scheduler="threads"):
    fair.fit(X, sensitive_features=groups)
print(fair.n_passes_, "passes,", fair.stop_reason_)
print(dict(zip(fair.groups_.tolist(), fair.group_costs_.round(3), strict=True)))

# %%
# Labels are a Dask array, too; an audit adds up sums, and never holds all rows.

print(fair.labels_)
print(audit(X, fair.labels_, groups))
