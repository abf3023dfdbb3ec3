"""Page without a browser: numbers, size, and isolation from the network."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rawlsian import traverse
from rawlsian.report import (
    Attribute,
    Way,
    labels as _labels,
    page_html,
    trajectory_way,
)
from rawlsian.report.charts import page_charts
from rawlsian.report.data import page_data
from support.pages import make_page, make_way

HOSTILE = "<script>window.hacked = 1</script>"


class Scripts(HTMLParser):
    """Parser that collects the text of each script, as a browser would."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "script":
            self.texts.append("")

    def handle_data(self, data):
        if self.lasttag == "script" and self.texts:
            self.texts[-1] += data


def data_in(text):
    return json.loads(Scripts(text).texts[0])


def unpack(text):
    return gzip.decompress(base64.b64decode(text))


def labels_in(data, way, n_points):
    """Unpack labels as the page's script does, in NumPy."""
    kind = {1: "u1", 2: "<u2", 4: "<u4"}[data["labelBytes"]]
    changes = np.frombuffer(unpack(data["labels"][way]), kind)
    return np.bitwise_xor.accumulate(changes.reshape(n_points, -1), axis=0)


@st.composite
def pages(draw):
    """Draw pages whose clusters may be empty at some or all points."""
    return make_page(
        draw(st.integers(0, 2**32 - 1)),
        n_rows=draw(st.integers(4, 12)),
        n_clusters=draw(st.integers(1, 5)),
        n_groups=draw(st.integers(1, 3)),
    )


@given(pages())
def test_counts_are_those_of_a_loop_over_rows(page):
    data = page_data(page)

    for way, points in zip(page.ways, data["ways"], strict=True):
        for p, labels in enumerate(way.labels):
            counts = np.zeros((len(page.cluster_names), len(page.groups)), int)
            for k, g in zip(labels, page.group_codes, strict=True):
                counts[k, g] += 1
            assert points["counts"][p] == counts.tolist()
    assert data["groupSizes"] == counts.sum(axis=0).tolist()


@given(pages())
def test_moves_are_those_of_a_loop_over_rows(page):
    for way, points in zip(page.ways, page_data(page)["ways"], strict=True):
        for p, labels in enumerate(way.labels):
            flows = {}
            for source, target in zip(way.labels[0], labels, strict=True):
                flows[source, target] = flows.get((source, target), 0) + 1
            assert {(a, b): n for a, b, n in points["flows"][p]} == flows
            assert points["moved"][p] == sum(n for (a, b), n in flows.items() if a != b)


def distinctive(page, labels, k):
    """Return the distances of a cluster's attributes from everyone, largest first."""
    members = page.X[labels == k]
    if len(members) == 0:
        return []
    scores = []
    for column, inside in zip(page.X.T, members.T, strict=True):
        if len(set(column)) > 1:
            scores.append(abs(inside.mean() - column.mean()) / column.std())
    return sorted((score for score in scores if score > 1e-6), reverse=True)[:6]


@given(pages())
def test_cards_tell_the_attributes_farthest_from_everyone(page):
    everyone, deviation = page.X.mean(axis=0), page.X.std(axis=0)
    for way, points in zip(page.ways, page_data(page)["ways"], strict=True):
        for p, labels in enumerate(way.labels):
            for k, likes in enumerate(points["likes"][p]):
                # Ties come in any order, so compare distances.
                means = page.X[labels == k].mean(axis=0) if likes else everyone
                scores = [abs(means - everyone)[j] / deviation[j] for j, _ in likes]
                np.testing.assert_allclose(scores, distinctive(page, labels, k))
                for j, value in likes:
                    _, level, lowest, spread = page.attributes[j]
                    share = 100 * means[j] / spread if level else 0
                    expected = share if level else lowest + spread * means[j]
                    assert value == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_everyone_is_told_in_the_users_units():
    X = np.array([[0.0, 0.5], [1.0, 0.0]])
    attributes = (Attribute("age", None, 20.0, 60.0), Attribute("sex", "f", 0.0, 0.5))
    codes = np.array([0, 1], dtype=np.int32)
    way = make_way(X, codes, 2, np.array([[0, 1]], dtype=np.uint8), "one")
    page = make_page(X=X, attributes=attributes, group_codes=codes, ways=(way,))

    data = page_data(page)

    # (20 + 80) / 2 years, and one of two people.
    assert data["attributes"] == [["age", None, 50.0], ["sex", "f", 50.0]]


@given(pages())
def test_labels_come_back_exactly(page):
    data = page_data(page)

    for place, way in enumerate(page.ways):
        got = labels_in(data, place, len(way.labels))
        np.testing.assert_array_equal(got, way.labels)
    assert json.loads(unpack(data["rows"]["names"])) == list(page.row_names)


def test_labels_of_many_clusters_come_back_exactly():
    X = np.arange(600.0)[:, None]
    codes = np.arange(600, dtype=np.int32) % 2
    labels = np.array([np.arange(600) % 300, np.arange(600) // 2], dtype=np.uint16)
    page = make_page(
        X=X, group_codes=codes, attributes=(Attribute("x", None, 0.0, 1.0),),
        ways=(make_way(X, codes, 2, labels),), row_numbers=np.arange(1, 601),
        cluster_names=tuple(map(str, range(300))), row_names=None,
    )  # fmt: skip

    data = page_data(page)

    np.testing.assert_array_equal(labels_in(data, 0, 2), labels)
    # Only the largest flows are listed, and people who stayed are not.
    assert len(data["ways"][0]["flows"][1]) == 20
    assert all(a != b for a, b, _ in data["ways"][0]["flows"][1])


def test_rows_without_names_are_numbered_as_in_the_table():
    numbers = np.array([2, 3, 7, *range(20, 77)])

    page = make_page(row_names=None, row_numbers=numbers)

    rows = page_data(page)["rows"]
    assert rows["names"] is None
    np.testing.assert_array_equal(
        np.cumsum(json.loads(unpack(rows["numbers"]))), numbers
    )


def test_what_is_too_large_is_left_out_names_first(monkeypatch):
    whole = page_data(make_page())
    labels = [len(packed) for packed in whole["labels"]]

    monkeypatch.setattr(_labels, "LIMIT", sum(labels))
    nameless = page_data(make_page())
    monkeypatch.setattr(_labels, "LIMIT", labels[0])
    shorter = page_data(make_page())
    monkeypatch.setattr(_labels, "LIMIT", labels[0] - 1)
    bare = page_data(make_page())

    assert whole["leftOut"] == []
    assert nameless["rows"]["names"] is None
    assert nameless["labels"] == whole["labels"]
    assert "does not carry the names" in nameless["leftOut"][0]
    assert shorter["labels"] == [whole["labels"][0], None]
    assert "the labels of “The trade-off”" in shorter["leftOut"][0]
    assert "rawlsian fit --frontier FILE" in shorter["leftOut"][0]
    assert bare["labels"] == [None, None]


def test_names_cannot_end_the_script_that_they_are_in():
    level = "\"'`${1}\u2028"
    page = make_page(
        title=HOSTILE,
        groups=("</script>", "<!--<script>"),
        attributes=(
            Attribute(HOSTILE, None, 0.0, 1.0),
            *(
                Attribute("a.b[0]", each, 0.0, 0.7)
                for each in ["&lt;", level, "\ud800"]
            ),
            Attribute("constant", None, 0.1, 0.0),
        ),
        row_names=tuple(["=cmd|' /C calc'!A0"] * 60),
    )

    text = page_html(page)

    text.encode()  # a lone surrogate must not come this far
    scripts = Scripts(text).texts
    assert len(scripts) == 3
    data = json.loads(scripts[0])
    assert data["title"] == HOSTILE
    assert data["groups"] == ["</script>", "<!--<script>"]
    assert data["attributes"][2][1] == level
    assert not re.search("[<>&\u2028]", scripts[0])


def test_fields_of_figures_have_names_of_ours():
    charts = page_charts(make_page(groups=("a.b", "c[0]")))

    used = set()
    for spec in [charts["space"][0]["spec"], charts["along"], charts["groups"]]:
        used |= set(re.findall(r'"field": "([^"]*)"', json.dumps(spec)))

    assert used <= {"x", "y", "o", "p", "g", "u", "v"}


def test_numbers_that_json_has_no_word_for_stay_out():
    page = make_page(bound=("No bound", np.inf))
    page.ways[0].utilities[1, 0] = np.nan
    page.cloud[0] = np.nan

    data = data_in(page_html(page))

    assert data["ways"][0]["utilities"][1][0] is None
    assert data["bound"] is None


def test_a_group_without_a_utility_has_no_panel():
    page = make_page(n_groups=3)
    for way in page.ways:
        way.utilities[:, 1] = np.nan

    charts = page_charts(page)

    assert len(charts["space"]) == 1
    assert 1 not in charts["space"][0]["groups"]


def test_the_page_lets_nothing_in_or_out():
    text = page_html(make_page())

    assert "default-src 'none'" in text
    assert set(Scripts(text).tags).isdisjoint({"a", "iframe", "img", "object"})
    outside_scripts = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="(.*?)"', outside_scripts) == ["data:,"]


def test_restarts_are_thinned_and_the_page_says_so():
    charts = page_charts(
        make_page(cloud=3 + np.random.default_rng(0).random((5000, 2)))
    )

    drawn = charts["space"][0]["spec"]["layer"][0]["data"]["values"]
    assert len(drawn) == 2000
    assert "2,000 of 5,000 k-means restarts" in charts["caption"][0]


def test_the_largest_groups_have_panels_and_the_page_says_so():
    charts = page_charts(make_page(n_rows=200, n_groups=15))

    assert len(charts["space"]) == 11
    assert "the 11 largest of 14 other groups" in " ".join(charts["caption"])


def layers_named(spec, name):
    return [layer for layer in spec["layer"] if layer["data"].get("name") == name]


def test_a_bound_that_is_near_is_a_corner_for_two_groups_only():
    bound = ("Proved bound", 3.7)

    two, three = (page_charts(make_page(n_groups=n, bound=bound)) for n in (2, 3))

    (corner,) = layers_named(two["space"][0]["spec"], "bound")
    assert {"x": 3.7, "y": 3.7, "o": 1} in corner["data"]["values"]
    assert layers_named(three["space"][0]["spec"], "bound") == []
    for charts in (two, three):
        assert layers_named(charts["along"], "bound")[0]["data"]["values"] == [
            {"u": 3.7}
        ]


def test_a_bound_that_is_far_away_is_not_drawn():
    charts = page_charts(
        make_page(bound=("Proved bound", 400.0), cloud=np.empty((0, 2)))
    )

    assert not charts["hasBound"]
    assert layers_named(charts["space"][0]["spec"], "bound") == []
    assert layers_named(charts["along"], "bound") == []


def test_both_axes_are_equally_long_and_equality_is_in_view():
    page = make_page()
    page.ways[0].utilities[:] += [0.0, 5.0]  # far from equal
    encoding = page_charts(page)["space"][0]["spec"]["layer"][0]["encoding"]

    (a, b), (c, d) = (encoding[axis]["scale"]["domain"] for axis in "xy")

    assert b - a == pytest.approx(d - c)
    assert max(a, c) < min(b, d)


@pytest.mark.parametrize(
    ("max_distance", "decimals"), [(8, 4), (0.5, 5), (2e6, 0), (0, 4)]
)
def test_utilities_have_as_many_digits_as_their_scale_asks_for(max_distance, decimals):
    assert page_data(make_page(max_distance=max_distance))["decimals"] == decimals


def test_long_notes_end_with_how_many_more_there_are():
    entries = tuple(f"line {i}" for i in range(1000))

    (note,) = page_data(make_page(notes=(("Rows not clustered", entries),)))["notes"]

    assert note == ["Rows not clustered", entries[:200], 800]


def test_the_same_page_is_written_the_same():
    assert page_html(make_page()) == page_html(make_page())


def test_a_page_of_thirty_thousand_rows_stays_below_three_megabytes():
    page = make_page(n_rows=30_000, n_clusters=8, n_points=(60, 21))

    assert len(page_html(page).encode()) < 3e6


def test_however_many_labels_there_are_the_page_stays_below_five_megabytes():
    rng = np.random.default_rng(0)
    ways = tuple(
        Way(
            "Anyhow", "frontier", np.arange(n), rng.random((n, 2)), rng.random(n),
            rng.integers(0, 8, size=(n, 200_000), dtype=np.uint8),
        )
        for n in (30, 4)
    )  # fmt: skip

    page = make_page(n_rows=200_000, n_clusters=8, n_points=(1, 1), ways=ways)
    text = page_html(page)

    assert len(text.encode()) < 5e6
    # The first way is too large for any page; the second fits.
    assert [packed is None for packed in data_in(text)["labels"]] == [True, False]


def test_without_altair_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)

    with pytest.raises(ImportError, match=r"pip install 'rawlsian\[report\]'"):
        page_html(make_page())


# --- Ways by the nearest mean ---


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 61.0)])
def test_a_way_by_the_nearest_mean_has_its_cluster_for_everyone(weights):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 2)), np.arange(60) % 3
    walk = traverse(
        X, labels, rng.integers(2, size=60), utility="nearest", sample_weight=weights
    )

    way = trajectory_way(walk, "by R1", X, weights)

    assert walk.n_iter > 0
    assert np.array_equal(way.labels[-1], walk.served_labels)
    assert not np.array_equal(way.labels[0], labels)


def test_a_way_by_the_nearest_mean_needs_the_rows():
    walk = traverse([[0.0], [1.0], [5.0]], [0, 0, 1], list("aba"), utility="nearest")

    with pytest.raises(ValueError, match="which takes the rows; give X"):
        trajectory_way(walk, "by R1")
