"""Sentences of table results where the usual one would be wrong."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rawlsian import audit_table, fit_table
from rawlsian._tables.analysis import Figures, Outcome
from rawlsian._tables.sentences import fit_summary, lone_people
from rawlsian._tables.text import counted


def outcome(after, n_moved, names=("f", "m"), sizes=(3.0, 7.0)):
    """A fit of ten people whose groups have utilities 4 and 5 with k-means."""
    return Outcome(
        "kmeans-free", 2, np.array(names, object), np.array([4.0, 6.0]), 9.0,
        Figures(np.array([4.0, 5.0]), 4.6), Figures(np.array(after), 4.7),
        n_moved, None, None, False, "nearest", 0.0, np.array(sizes),
    )  # fmt: skip


def people(**columns):
    table = {
        "age": [20, 22, 60, 62, 20, 22, 60, 62],
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "segment": ["a", "a", "b", "b", "a", "a", "b", "b"],
    }
    return pa.table(table | columns)


@pytest.mark.parametrize(
    ("n_moved", "end"),
    [
        (0, " to 4.7000. Nobody is in another cluster; only the centers moved."),
        (1, " to 4.7000, and 1 of 10 people (10.0%) is in another cluster."),
        (2, " to 4.7000, and 2 of 10 people (20.0%) are in another cluster."),
    ],
)
def test_a_fit_says_who_moved_or_that_only_the_centers_did(n_moved, end):
    assert end in fit_summary(outcome([4.2, 5.0], n_moved))[1]


def test_where_everyone_together_gains_k_means_was_not_the_best():
    assert (
        "k-means clusters were not the best" in fit_summary(outcome([4.2, 5.0], 1))[1]
    )


def test_a_group_without_a_value_is_named_in_quotes_instead_of_two_brackets():
    found = fit_summary(outcome([4.2, 5.0], 1, ("(missing)", "m")))

    assert "from 4.0000 ('missing') to 4.2000 ('missing')" in found[0]


@pytest.mark.parametrize(
    ("sizes", "start"),
    [
        ([1.0, 9.0], "Cluster 0 is one person: its center describes nobody else"),
        ([9.0, 0.5], "Cluster 1 is one person: "),  # a weight counts as people
        ([1.0, 8.0, 1.0], "Clusters 0 and 2 are one person each: their centers "),
        ([1.0] * 6, "6 clusters are one person each: "),
    ],
)
def test_clusters_of_one_person_are_named(sizes, start):
    (remark,) = lone_people(outcome([4.2, 5.0], 1, sizes=sizes))

    assert remark.startswith(start)


def test_clusters_of_several_people_or_of_nobody_need_no_remark():
    assert lone_people(outcome([4.2, 5.0], 1, sizes=[8.0, 2.0, 0.0])) == []


def test_a_cluster_of_one_person_is_told_in_print_as_json_and_on_the_page():
    table = people(age=[20, 22, 21, 22, 20, 22, 21, 90])

    fit = fit_table(table, "sex", clusters=2, drop="segment", method="kmeans-free")

    (remark,) = lone_people(fit.outcome)
    assert remark in str(fit)
    assert remark in fit.to_dict()["remarks"]
    assert remark in fit.page()


def test_groups_that_are_served_alike_have_no_worst():
    found = audit_table(people(), "sex", labels="segment")

    assert found.sentences() == ["All groups have the same utility, 0.9994."]


def test_an_audit_of_single_people_says_that_every_fit_is_perfect():
    labels = [f"c{i}" for i in range(8)]

    found = audit_table(people(age=range(20, 36, 2), segment=labels), "sex",
                        labels="segment")  # fmt: skip

    assert found.sentences() == [
        "All groups have the same utility, 1.0000.",
        "Every cluster has one person, so every fit is perfect.",
    ]


def test_words_of_an_audit_do_not_speak_of_clustering():
    table = people(age=[20, None, 60, 62, 20, 22, 60, 62], cluster=[1, 2] * 4)

    text = str(audit_table(table, "sex", labels="segment", missing="drop"))

    assert "Left out: sex (sensitive; --use-sensitive uses it, too)." in text
    assert "Left out: 1 row, row 2 (missing: age)." in text
    assert "'cluster' is used; if it holds older clusters, leave it out" in text
    assert "lustered" not in text


@pytest.mark.parametrize(
    ("ages", "counted_values"),
    [
        ([20, None, 60, 62] * 2, "2 missing values were replaced by the median, and an "
         "extra column marks them"),
        ([20, None, 60, 62, 20, 21, 60, 62], "1 missing value was replaced by the "
         "median, and an extra column marks it"),
    ],
)  # fmt: skip
def test_a_column_with_a_median_counts_twice(ages, counted_values):
    fit = fit_table(people(age=ages), "sex", clusters=2, missing="category")

    assert fit.facts.remarks[0] == f"'age': {counted_values}, so 'age' counts twice."
    assert "except that a number column with missing values counts twice." in fit.page()


def test_columns_without_a_median_have_the_same_weight():
    page = fit_table(people(), "sex", clusters=2).page()

    assert "so that all columns have the same weight." in page


def test_one_is_counted_without_an_s():
    assert counted(1, "row") == "1 row"
    assert counted(1000, "row") == "1,000 rows"
    assert counted(0, "row") == "0 rows"
