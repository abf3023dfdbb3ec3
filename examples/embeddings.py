"""
Embeddings
==========

Sentences in two languages are embedded by one model. Fewer sentences are in the second
language, and they are about topics of their own. K-means merges these topics first, as
that costs the whole least: the second language is described worse.
"""

# %%
# Random vectors stand for embeddings: twelve topics in 96 dimensions, four of them in
# the second language only. Rows of length 1 make the squared distance 2 - 2 cos, so
# k-means groups by angle.

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from rawlsian import RawlsianKMeans, audit

rng = np.random.default_rng(0)
topics = rng.normal(size=(12, 96))
is_second = rng.random(800) < 0.2
language = np.where(is_second, "second", "first")
topic = np.where(is_second, rng.integers(8, 12, 800), rng.integers(0, 8, 800))
vectors = normalize(topics[topic] + 0.8 * rng.normal(size=(800, 96)))

# %%
# Most of the 96 dimensions are noise. Principal components make the search faster, and
# keep the distances between topics.

X = PCA(12, random_state=0).fit_transform(vectors)

# %%
# Ten clusters for twelve topics: with k-means, and with centers for the language that
# is worst off.

plain = KMeans(10, n_init=10, random_state=0).fit(X)
print(audit(X, plain.labels_, language, random_state=0))

fair = RawlsianKMeans(10, n_init=32, n_crossings=64, pooling=0, random_state=0)
fair.fit(X, sensitive_features=language)
for name, cost in zip(fair.groups_, fair.group_costs_, strict=True):
    print(f"{name}: mean squared distance {cost:.3f} with fair centers")

# %%
# A sentence that comes later is placed by its nearest center.

print(fair.predict(X[:5]))
