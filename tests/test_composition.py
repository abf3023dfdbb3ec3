"""Separation of groups by clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rawlsian.metrics.composition import separation


@st.composite
def counts(draw, n_groups=None):
    n_groups = n_groups or draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = rng.integers(0, 9, size=(draw(st.integers(1, 5)), n_groups)).astype(float)
    found[0] += 1  # no group is empty
    return found


@given(counts(n_groups=2))
def test_with_two_groups_it_is_the_index_of_duncan(table):
    # Half the sum over clusters of |a_c / A - b_c / B|.
    shares = table / table.sum(axis=0)
    duncan = np.abs(shares[:, 0] - shares[:, 1]).sum() / 2

    assert separation(table) == pytest.approx(duncan, abs=1e-12)


@given(counts())
def test_it_is_the_sum_that_defines_it(table):
    total, shares = table.sum(), table.sum(axis=0) / table.sum()
    above = sum(
        row.sum() * abs(row[g] / row.sum() - shares[g])
        for row in table
        if row.sum()
        for g in range(len(shares))
    )
    below = 2 * total * sum(p * (1 - p) for p in shares)

    assert separation(table) == pytest.approx(above / below, abs=1e-12)


@given(counts(), st.integers(0, 2**32 - 1))
def test_order_and_number_of_people_do_not_matter(table, seed):
    rng = np.random.default_rng(seed)
    mixed = 3 * table[rng.permutation(len(table))][:, rng.permutation(len(table[0]))]

    assert separation(mixed) == pytest.approx(separation(table), abs=1e-12)


@given(counts())
def test_merging_clusters_of_one_mix_changes_nothing(table):
    split = np.vstack([table[:1] * 0.25, table[:1] * 0.75, table[1:]])

    assert separation(split) == pytest.approx(separation(table), abs=1e-12)


def test_clusters_of_one_mix_are_not_separated():
    assert separation(np.array([[2.0, 4.0], [3.0, 6.0]])) == pytest.approx(0)


def test_clusters_of_one_group_each_are_separated():
    assert separation(np.diag([5.0, 7.0, 2.0])) == pytest.approx(1)


def test_a_cluster_of_nobody_counts_for_nothing():
    table = np.array([[2.0, 1.0], [1.0, 5.0]])

    assert separation(np.vstack([table, [[0, 0]]])) == pytest.approx(separation(table))


def test_one_group_is_not_separated_from_anyone():
    assert separation(np.array([[3.0], [4.0]])) == 0
