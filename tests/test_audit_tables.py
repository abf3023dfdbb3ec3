"""``audit_table`` and ``rawlsian audit``: comparisons, centers, rows left out."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rawlsian import audit_table, fit_table, plot_audit, predict_table
from rawlsian._tables.centers import save_centers
from rawlsian._tables.errors import TableError, WrongUseError
from rawlsian._tables.serving import checked_served_by
from support.commands import rawlsian

pytestmark = pytest.mark.usefixtures("short_search")

LABELED = {"sensitive": "sex", "labels": "segment"}


def people(sizes=(60, 60), spreads=(3.0, 3.0), seed=0, **columns):
    """People of groups a, b, ... in two segments around the ages 30 and 60."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    segment = np.arange(len(group)) % 2
    ages = 30 + 30 * segment + rng.normal(size=len(group)) * np.array(spreads)[group]
    table = {
        "age": ages,
        "job": np.array(["cook", "clerk", "smith"])[rng.integers(3, size=len(group))],
        "sex": [chr(97 + g) for g in group],
        "segment": [f"S{s}" for s in segment],
    }
    return pa.table(table | columns)


def with_missing(values, rows):
    return [None if i in rows else value for i, value in enumerate(values.to_pylist())]


@pytest.fixture
def fitted():
    return fit_table(people(), "sex", clusters=3, method="kmeans-free", drop="segment",
                     pooling=0, new_people=False)  # fmt: skip


# --- What is said ---


def test_the_group_that_is_served_worst_is_named_with_its_interval():
    found = audit_table(people(spreads=(3, 6)), **LABELED, drop="job")

    low, high = found.audit.gap_interval
    assert found.sentences()[0] == (
        f"b is served worst: its mean squared distance is {found.audit.gap:.1f} points "
        f"above that of everyone else (95% interval {low:.1f} to {high:.1f})."
    )
    assert low > 0


def test_an_audit_of_a_table_is_framed_and_drawn_as_its_audit():
    found = audit_table(people(), **LABELED, drop="job")

    assert found.to_frame().equals(found.audit.to_frame())
    assert found._repr_html_() == found.audit._repr_html_()
    ax = plot_audit(found)
    plt.close(ax.figure)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["a (60)", "b (60)"]


def test_a_gap_that_may_be_chance_is_called_so():
    found = audit_table(people(), **LABELED)

    assert not found.audit.is_clear_gap
    assert found.sentences()[1] == "The interval includes 0, so this gap may be chance."


def test_all_groups_that_are_clearly_behind_are_named():
    table = people((300, 150, 150), (2, 8, 9))

    found = audit_table(table, **LABELED, drop="job")

    assert found.audit.worst_off == "c"
    assert found.sentences()[1] == (
        "Also clearly behind everyone else, at a shorter distance: b "
        f"({found.audit.behind[1]:.1f} points)."
    )


def test_a_small_group_is_marked_and_the_headline_says_who_was_compared():
    found = audit_table(people((100, 100, 5), (3, 5, 12)), **LABELED, drop="job")

    assert "too few people" in str(found)
    assert found.sentences()[0].startswith(
        "Of the groups with 30 people or more, b is served worst: "
    )
    row = found.to_dict()["groups"][2]
    assert (row["low"], row["high"], row["is_small"]) == (None, None, True)


def test_without_two_large_groups_nothing_is_compared():
    found = audit_table(people((100, 5)), **LABELED)

    assert found.sentences()[0] == (
        "No group is compared with everyone else: that takes 30 people in the group, "
        "and as many outside it."
    )
    assert "too few others" in str(found)
    told = found.to_dict()
    assert (told["worst_off"], told["gap"], told["gap_interval"]) == (None, None, None)
    assert set(told["shortfalls"].values()) == {None}


def test_min_group_lets_small_groups_be_compared():
    found = audit_table(people((100, 5)), **LABELED, min_group=5)

    assert found.audit.worst_off is not None
    assert found.to_dict()["min_group"] == 5


def test_large_groups_that_are_served_well_are_not_called_worst():
    # The five people are so far out that all others are served better than the rest.
    found = audit_table(people((100, 100, 5), (3, 3, 200)), **LABELED, drop="job")

    assert found.sentences()[0] == (
        "No group of 30 people or more is served worse than everyone else."
    )
    assert "What adds most" not in str(found)


def test_groups_that_are_served_alike_have_no_worst():
    table = pa.table({"age": [20, 22, 60, 62] * 20, "sex": list("aaaabbbb") * 10,
                      "segment": list("ssttsstt") * 10})  # fmt: skip

    found = audit_table(table, **LABELED)

    assert found.sentences()[0] == "All groups are served alike."


def test_an_audit_of_single_people_says_that_every_fit_is_perfect():
    table = pa.table({"age": range(20, 36, 2), "sex": list("aabbaabb"),
                      "segment": [f"c{i}" for i in range(8)]})  # fmt: skip

    found = audit_table(table, **LABELED)

    assert found.sentences()[:2] == [
        "All groups are served alike.",
        "Every cluster has one person, so every fit is perfect.",
    ]


def test_one_group_has_nobody_to_compare_with():
    found = audit_table(people((60,)), **LABELED)

    assert found.sentences()[0].endswith("there is nobody to compare with.")
    assert not any("Separation" in each for each in found.sentences())
    assert "nobody to compare with" in found.page()


def test_separation_is_told_with_the_shares_of_a_group():
    table = people((50, 50), segment=["S0"] * 50 + ["S1"] * 50)

    found = audit_table(table, **LABELED)

    assert found.to_dict()["separation"] == pytest.approx(1)
    (sentence,) = (each for each in found.sentences() if "Separation" in each)
    assert sentence.startswith("Separation of the groups: 1.00 (0: every cluster has")
    assert "is 50.0% of everyone; by cluster: S0 " in sentence


def test_of_many_clusters_the_least_and_the_largest_share_are_told():
    table = people(segment=[f"S{i % 10}" for i in range(120)])

    found = audit_table(table, **LABELED)

    (sentence,) = (each for each in found.sentences() if "Separation" in each)
    assert sentence.count("%") == 3
    assert "; at least and at most: S" in sentence


def test_utilities_are_a_second_table():
    text = str(audit_table(people(), **LABELED))

    first = text.index("Mean squared distance to the mean of the own cluster, everyone")
    assert first < text.index("Utilities; a perfect fit is 2, higher is better")


# --- Rows that are left out ---


def test_rows_that_are_left_out_are_counted_by_group():
    table = people()
    table = table.set_column(0, "age", [with_missing(table["age"], {0, 1, 70})])
    table = table.set_column(2, "sex", [with_missing(table["sex"], {5})])

    found = audit_table(table, **LABELED, missing="drop")

    assert found.to_dict()["rows_not_clustered_by_group"] == [
        {"group": "a", "rows": 2, "of": 59},
        {"group": "b", "rows": 1, "of": 60},
        {"group": None, "rows": 1, "of": 1},
    ]
    assert (
        "Left out by group: a 2 of 59 (3.4%); b 1 of 60 (1.7%); 1 without a group."
        in str(found)
    )


def test_a_group_that_is_left_out_altogether_is_reported():
    table = people((60, 60, 4), (3, 3, 3))
    table = table.set_column(0, "age", [with_missing(table["age"], range(120, 124))])

    found = audit_table(table, **LABELED, missing="drop")

    assert {"group": "c", "rows": 4, "of": 4} in found.to_dict()[
        "rows_not_clustered_by_group"
    ]
    assert "c" not in found.audit.groups


def test_a_fit_reports_rows_that_are_left_out_by_group_too():
    table = people()
    table = table.set_column(0, "age", [with_missing(table["age"], {0})])

    fit = fit_table(table, "sex", clusters=2, method="kmeans-free", missing="drop",
                    drop="segment", new_people=False, pooling=0)  # fmt: skip

    assert "Left out by group: a 1 of 60 (1.7%); b 0 of 60 (0.0%)." in str(fit)
    assert fit.to_dict()["rows_not_clustered_by_group"][0]["rows"] == 1
    assert "Left out by group: a 1 of 60 (1.7%); b 0 of 60 (0.0%)." in fit.page()


def test_without_rows_left_out_nothing_is_said_of_them():
    found = audit_table(people(), **LABELED)

    assert "Left out by group" not in str(found)
    assert found.to_dict()["rows_not_clustered_by_group"] == []


def test_of_many_groups_those_that_lose_most_are_named():
    table = people((10,) * 12, (3,) * 12)
    table = table.set_column(0, "age", [with_missing(table["age"], {110, 111, 0})])

    text = str(audit_table(table, **LABELED, missing="drop"))

    assert "Left out by group: l 2 of 10 (20.0%); a 1 of 10 (10.0%); " in text
    assert "; and 2 other groups." in text


def test_rows_of_parts_are_counted_by_group_as_those_of_memory(tmp_path):
    table = people()
    table = table.set_column(0, "age", [with_missing(table["age"], {0, 1, 70})])
    table = table.set_column(2, "sex", [with_missing(table["sex"], {5, 80})])
    folder = parts_of(table, tmp_path)

    ours, theirs = (
        audit_table(each, **LABELED, missing="drop").to_dict()
        for each in (folder, table)
    )

    name = "rows_not_clustered_by_group"
    assert ours[name] == theirs[name]


# --- Centers ---


def parts_of(table, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(table[:50], folder / "a.parquet")
    pq.write_table(table[50:], folder / "b.parquet")
    return folder


def test_centers_of_a_fit_serve_as_the_fit_says(fitted, tmp_path):
    fitted.model.save(str(tmp_path / "m.json"))
    save_centers(str(tmp_path / "c.csv"), fitted.model.features, fitted.centers)
    files = {"centers": tmp_path / "c.csv", "drop": "segment"}

    for given in ({"centers": fitted}, {"centers": fitted.model},
                  {"centers": tmp_path / "m.json"}, files):  # fmt: skip
        found = audit_table(people(), "sex", **given)

        assert found.audit.utilities == pytest.approx(fitted.outcome.utilities[1])
        assert found.clusters == ["0", "1", "2"]
        assert found.sentences()[-1] == "Everyone is served by the nearest center."
        assert found.to_dict()["served_by"] == "center"


def test_centers_serve_parts_as_they_serve_memory(fitted, tmp_path):
    save_centers(str(tmp_path / "c.csv"), fitted.model.features, fitted.centers)
    folder = parts_of(people(), tmp_path)

    for given in ({"centers": fitted}, {"centers": tmp_path / "c.csv",
                                        "drop": "segment"}):  # fmt: skip
        ours, theirs = (
            audit_table(table, "sex", **given) for table in (folder, people())
        )

        assert ours.audit.levels == pytest.approx(theirs.audit.levels, abs=1e-3)
        assert ours.to_dict().keys() == theirs.to_dict().keys()
        assert ours.facts.unused == theirs.facts.unused


def test_a_model_has_its_own_encoding_in_another_table(fitted):
    # Ages of this table end where those of the fit do not.
    later = people(seed=1, age=np.linspace(0, 90, 120))
    model = fitted.model

    found = audit_table(later, "sex", centers=model)

    (age, job) = model.features
    X = np.zeros((120, age.width + job.width))
    X[:, 0] = (np.linspace(0, 90, 120) - age.lowest) / age.spread
    codes = [job.levels.index(each) for each in later["job"].to_pylist()]
    X[np.arange(120), 1 + np.array(codes)] = 1 / np.sqrt(2)
    nearest = ((X[:, None] - model.centers) ** 2).sum(axis=2).min(axis=1)
    expected = [nearest[:60].mean(), nearest[60:].mean()]
    assert found.audit.costs == pytest.approx(expected)


def test_values_that_a_model_has_not_seen_are_equally_far_and_told(fitted, tmp_path):
    jobs = ["pilot", "cook"] * 60
    table = people(job=jobs)

    for each in (table, parts_of(table, tmp_path)):
        found = audit_table(each, "sex", centers=fitted)

        assert found.facts.remarks[0] == (
            "'job': 1 value that the model has not seen ('pilot') is taken as equally "
            "far from all others."
        )


def test_a_prediction_tells_how_many_unseen_values_it_ignores(fitted):
    table = people()
    jobs = ["new", "new", *table["job"].to_pylist()[2:]]
    table = table.set_column(table.column_names.index("job"), "job", pa.array(jobs))

    found = predict_table(fitted, table, unknown="ignore")

    told = "are taken as equally far from all others: job in 2 rows."
    assert told in str(found)
    assert found.to_dict()["unknown_ignored"] == {"job": 2}
    assert "equally far" not in str(predict_table(fitted, people(), unknown="ignore"))


def test_rows_that_a_model_cannot_place_are_an_error_or_left_out(fitted):
    table = people()
    table = table.set_column(0, "age", [with_missing(table["age"], {3})])

    with pytest.raises(TableError, match="1 of 120 rows has missing values"):
        audit_table(table, "sex", centers=fitted)
    for missing in ("drop", "category"):
        found = audit_table(table, "sex", centers=fitted, missing=missing)

        assert found.audit.sizes.sum() == 119


def test_a_model_that_has_seen_missing_values_places_them(tmp_path):
    table = people()
    table = table.set_column(0, "age", [with_missing(table["age"], {3, 70})])
    fit = fit_table(table, "sex", clusters=2, method="kmeans-free", missing="category",
                    drop="segment", new_people=False, pooling=0)  # fmt: skip

    for each in (table, parts_of(table, tmp_path)):
        found = audit_table(each, "sex", centers=fit)

        assert found.audit.sizes.sum() == 120
        assert "replaced by the median of the table of the fit" in str(found)
    complete = audit_table(people(), "sex", centers=fit)
    assert "replaced by" not in str(complete)


def test_a_page_shows_people_in_the_cluster_of_the_nearest_center(fitted):
    found = audit_table(people(), "sex", centers=fitted)

    sizes = np.bincount(found._in_memory.served.labels, minlength=3)
    assert sizes.tolist() == found.audit.cluster_sizes.sum(axis=1).tolist()
    assert "Everyone is served by the nearest center." in found.page()


# --- Wrong use ---


def test_labels_or_centers_are_given(fitted):
    with pytest.raises(WrongUseError, match="but neither is given; give one of them"):
        audit_table(people(), "sex")
    with pytest.raises(WrongUseError, match="but both are given; give one of them"):
        audit_table(people(), **LABELED, centers=fitted)


def test_centers_cannot_be_served_by_members(fitted):
    with pytest.raises(WrongUseError, match="--served-by members goes with --labels"):
        audit_table(people(), "sex", centers=fitted, served_by="members")


def test_served_by_has_two_answers():
    assert [checked_served_by(each) for each in ("center", "members")] == [
        "center", "members",
    ]  # fmt: skip
    with pytest.raises(WrongUseError, match="--served-by must be one of center, mem"):
        checked_served_by("nearest")


@pytest.mark.parametrize("min_group", [1, -3, 2.5, True, "30"])
def test_a_least_group_has_two_people_or_more(min_group):
    with pytest.raises(WrongUseError, match="--min-group must be 2 or more, got"):
        audit_table(people(), **LABELED, min_group=min_group)


def test_columns_are_not_chosen_beside_a_model(fitted):
    with pytest.raises(WrongUseError, match="do not go with a model"):
        audit_table(people(), "sex", centers=fitted, drop="job")


def test_a_model_needs_its_columns(fitted):
    with pytest.raises(TableError, match="the model needs the column 'job'"):
        audit_table(people().drop(["job"]), "sex", centers=fitted)


def test_centers_are_a_path_or_a_model():
    with pytest.raises(WrongUseError, match=r"centers must be the path .* got ndarray"):
        audit_table(people(), "sex", centers=np.zeros((2, 3)))


def test_a_file_of_centers_must_be_there():
    with pytest.raises(WrongUseError, match=r"cannot read 'nowhere\.csv'"):
        audit_table(people(), "sex", centers="nowhere.csv")
    with pytest.raises(WrongUseError, match=r"cannot read 'nowhere\.json'"):
        audit_table(people(), "sex", centers="nowhere.json")


def test_the_command_takes_centers_and_a_least_group(fitted, tmp_path):
    fitted.model.save(str(tmp_path / "m.json"))
    pq.write_table(people((60, 60, 8), (3, 3, 3)), tmp_path / "t.parquet")

    done = rawlsian("audit", tmp_path / "t.parquet", "--sensitive", "sex", "--centers",
                    tmp_path / "m.json", "--min-group", 8, "--json")  # fmt: skip

    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["served_by"] == "center"
    assert not any(each["is_small"] for each in told["groups"])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "neither is given"),
        (("--labels", "segment", "--centers", "c.csv"), "both are given"),
        (("--labels", "segment", "--min-group", 1), "--min-group must be 2 or more"),
        (("--labels", "segment", "--served-by", "x"), "must be one of center, members"),
    ],
)
def test_wrong_options_of_the_command_are_one_line(tmp_path, options, text):
    pq.write_table(people(), tmp_path / "t.parquet")

    done = rawlsian("audit", tmp_path / "t.parquet", "--sensitive", "sex", *options)

    assert done.exit_code == 2
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
