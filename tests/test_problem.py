"""Problem: derived data, also of a part of the rows."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import assume, given

from rawlsian._core.problem import Problem
from support.cases import cases


def assert_same(problem, other):
    for field in fields(Problem):
        ours, theirs = (getattr(one, field.name) for one in (problem, other))
        np.testing.assert_array_equal(ours, theirs, err_msg=field.name)


@given(case=cases())
def test_everyone_in_one_group_is_what_the_arrays_without_groups_make(case):
    others = case.weights * (1 + case.groups)

    for weights in (case.weights, others):
        expected = Problem.from_arrays(
            case.X, None, sample_weight=weights, max_distance=10.0
        )
        assert_same(case.problem.as_one_group(weights), expected)
    assert_same(case.problem.as_one_group(), case.problem.as_one_group(case.weights))


@given(case=cases(n=(4, 9)))
def test_some_rows_in_one_group_are_what_their_arrays_make(case):
    rows = (case.groups == 0) & (case.weights > 0)
    assume(rows.sum() > 1)

    alone = case.problem.as_one_group(rows=rows)

    expected = Problem.from_arrays(
        case.X[rows], None, sample_weight=case.weights[rows], max_distance=10.0
    )
    assert_same(alone, expected)
