"""People of two groups, and an estimator's parameters that make a short search."""

from __future__ import annotations

import numpy as np

FEW = {"pooling": 0, "n_init": 3, "n_crossings": 2, "random_state": 0}


def people(n=3000, d=4, seed=0):
    """Return rows of two groups, one spread wider than the other."""
    rng = np.random.default_rng(seed)
    groups = np.where(rng.random(n) < 0.3, "b", "a")
    X = rng.normal(size=(n, d)) * np.where(groups == "b", 1.5, 1.0)[:, None]
    X[:, 0] += 4 * rng.integers(0, 3, n)
    return X, groups
