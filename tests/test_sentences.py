"""Sentences of table results where the usual one would be wrong."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from rawlsian import audit_table, fit_table
from rawlsian._recommend.choice import Candidate
from rawlsian._recommend.effects import Effect, Served, sum_up
from rawlsian._recommend.rules import Clusters, Keep
from rawlsian._tables.outcome import Option
from rawlsian._tables.sentences import lone_people
from rawlsian._tables.text import counted
from rawlsian._tables.verdict import moved_sentence


def outcome(n_moved=0, names=("f", "m"), counts=None):
    """Ten people, of whom some move from the second cluster to the first."""
    before = np.array([0] * 5 + [1] * 5, np.int32)
    after = np.where(np.arange(10) < 5 + n_moved, 0, 1).astype(np.int32)
    served = (Served(each, np.ones(10)) for each in (before, after))
    groups = np.array([0, 1] * 5, np.int32)
    sums = sum_up(groups, np.ones(10), 2, 2, *served, 9.0)
    if counts is not None:
        sums = sums._replace(common=np.diag(counts)[None])
    effect = Effect(sums, np.zeros(2, bool))
    candidate = Candidate(Keep(), Clusters(np.zeros((2, 1))), effect)
    return SimpleNamespace(
        result=Option("most", "Most", 1, candidate, None), baseline="k-means",
        group_names=np.array(names, object),
        cluster_names=tuple(map(str, range(len(counts or before)))),
    )  # fmt: skip


def people(**columns):
    table = {
        "age": [20, 22, 60, 62, 20, 22, 60, 62],
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "segment": ["a", "a", "b", "b", "a", "a", "b", "b"],
    }
    return pa.table(table | columns)


@pytest.mark.parametrize(
    ("n_moved", "sentence"),
    [
        (0, []),
        (1, ["1 person (10.0%) in another cluster than with k-means: f 0 of 5; "
             "m 1 of 5."]),
        (2, ["2 people (20.0%) in another cluster than with k-means: f 1 of 5; "
             "m 1 of 5."]),
    ],
)  # fmt: skip
def test_a_fit_says_who_moved(n_moved, sentence):
    assert moved_sentence(outcome(n_moved)) == sentence


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
    (remark,) = lone_people(outcome(counts=sizes))

    assert remark.startswith(start)


def test_clusters_of_several_people_or_of_nobody_need_no_remark():
    assert lone_people(outcome(counts=[8.0, 2.0, 0.0])) == []


def test_a_cluster_of_one_person_is_told_in_print_as_json_and_on_the_page():
    table = people(age=[20, 22, 21, 22, 20, 22, 21, 90])

    fit = fit_table(table, "sex", clusters=2, drop="segment", method="kmeans-free")

    (remark,) = lone_people(fit.outcome)
    assert remark in str(fit)
    assert remark in fit.to_dict()["remarks"]
    assert remark in fit.page()


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
