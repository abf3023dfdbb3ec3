"""Random problems, nice and ugly, for property tests."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from rawlsian._core.assignment import Assignment
from rawlsian._core.problem import Problem
from support.reference import Reference


class _Arrays(NamedTuple):
    X: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    weights: np.ndarray
    utility: str = "assigned"
    pooling: float = 0.0


class Case(_Arrays):
    """Arrays of a problem, which is checked once, however often a test asks for it."""

    @cached_property
    def problem(self):
        return Problem.from_arrays(
            self.X,
            self.groups,
            sample_weight=self.weights,
            max_distance=10.0,
            utility=self.utility,
        ).pooled(self.pooling)

    @property
    def assignment(self):
        return Assignment(self.problem, self.labels)

    @cached_property
    def reference(self):
        return Reference(
            self.X,
            self.groups,
            self.weights,
            max_distance=10.0,
            tolerance=self.problem.tolerance,
            utility=self.utility,
            pooling=self.pooling,
        )


def make_case(
    seed, n, k, n_groups, rows="continuous", weights="ones", utility="assigned"
):
    """Make a random case; every cluster and every group has a member with weight."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    if rows == "continuous":
        X = rng.normal(size=(n, d))
    elif rows == "far":  # far from the origin: cancellation
        X = rng.normal(size=(n, d)) + 1000
    elif rows == "sparse":
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    elif rows == "grid":  # ties and equal utilities
        X = rng.integers(0, 3, size=(n, d)).astype(float)
    else:  # "duplicates"
        X = rng.normal(size=(3, d))[rng.integers(0, 3, size=n)]
    # Some clusters have one member only.
    labels = _cover(rng, n, k, rng.random() < 0.5)
    groups = _cover(rng, n, n_groups, rng.random() < 0.3)
    if weights == "ones":
        w = np.ones(n)
    elif weights == "counts":
        w = rng.integers(1, 4, size=n).astype(float)
    elif weights == "floats":
        w = rng.uniform(0.1, 2.0, size=n)
    else:  # "zeros": some rows stand for nobody
        w = np.where(rng.random(n) < 0.3, 0.0, 1.0)
        w[: max(k, n_groups)] = 1.0
        labels[:k], groups[:n_groups] = np.arange(k), np.arange(n_groups)
    return Case(X, labels, groups, w, utility)


def _cover(rng, n, k, is_lopsided):
    values = np.zeros(n, dtype=np.int64) if is_lopsided else rng.integers(0, k, size=n)
    values[rng.permutation(n)[:k]] = np.arange(k)
    return values


NICE = ("continuous", "far")  # no two rows are equal
UGLY = ("sparse", "grid", "duplicates")
WEIGHTS = ("ones", "counts", "floats", "zeros")
UTILITIES = ("assigned", "nearest")
POOLINGS = (0.0, 0.5, 10.0, np.inf)


@st.composite
def cases(
    draw,
    rows=NICE + UGLY,
    weights=WEIGHTS,
    n=(2, 9),
    k=(1, 4),
    groups=(1, 4),
    utilities=UTILITIES[:1],
    poolings=POOLINGS[:1],
):
    n_samples = draw(st.integers(*n))
    case = make_case(
        seed=draw(st.integers(0, 2**32 - 1)),
        n=n_samples,
        k=draw(st.integers(k[0], min(k[1], n_samples))),
        n_groups=draw(st.integers(groups[0], min(groups[1], n_samples))),
        rows=draw(st.sampled_from(rows)),
        weights=draw(st.sampled_from(weights)),
        utility=draw(st.sampled_from(utilities)),
    )
    return case._replace(pooling=draw(st.sampled_from(poolings)))


def is_same_partition(labels, others):
    """Return True if two labellings differ only in the numbers of clusters.

    Moves can lead to mirror images of one partition, which tie but for rounding.
    """
    return len(set(zip(labels, others, strict=True))) == len(set(labels))


def spread(case):
    """Return the scale of rounding: 1 plus the total variance."""
    return 1 + float(case.X.var(axis=0).sum())
