"""Page without a browser: numbers, size, and isolation from the network."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from html.parser import HTMLParser

import altair as alt
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jsonschema import ValidationError

from rawlsian import traverse
from rawlsian.report import (
    Attribute,
    Curve,
    Curves,
    GroupFit,
    Way,
    labels as _labels,
    page_html,
    trajectory_way,
)
from rawlsian.report.answer import answer_data, fits_data
from rawlsian.report.charts import page_charts
from rawlsian.report.curves import curves_data
from rawlsian.report.data import page_data
from rawlsian.report.looks import look, luminance
from rawlsian.report.naming import cluster_names
from rawlsian.report.people_map import map_data, project, sample_rows
from rawlsian.report.shown import clusterings_of, group_fits, shown_data
from rawlsian.report.write import page_contents
from support.pages import (
    make_audit_page,
    make_fit_page,
    make_fits,
    make_option,
    make_page,
    make_shown,
    make_way,
)

pytestmark = pytest.mark.usefixtures("short_search")

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


@given(pages())
def test_bars_start_at_everyone_and_end_at_the_cluster(page):
    shown = clusterings_of(page)
    for each, data in zip(shown, shown_data(page, shown), strict=True):
        for k, bars in data["portraits"].items():
            members = page.X[each.labels == k]
            for j, value, start, end in bars:
                _, level, lowest, spread, _ = page.attributes[j]
                mean, usual = members[:, j].mean(), page.X[:, j].mean()
                if level:
                    expected = 100 * mean / spread
                    assert (start, end) == pytest.approx(
                        (100 * usual / spread, expected), abs=0.051
                    )
                else:
                    expected = lowest + spread * mean
                    difference = (mean - usual) / page.X[:, j].std()
                    assert start == 50
                    assert end == pytest.approx(
                        np.clip(50 + 25 * difference, 0, 100), abs=0.051
                    )
                assert value == pytest.approx(expected, rel=1e-5, abs=1e-5)


@given(pages())
def test_the_first_bar_is_the_attribute_farthest_from_everyone(page):
    shown = clusterings_of(page)
    varying = page.X.min(axis=0) < page.X.max(axis=0)
    for each, data in zip(shown, shown_data(page, shown), strict=True):
        for k, bars in data["portraits"].items():
            difference = np.abs(page.X[each.labels == k].mean(axis=0) - page.X.mean(0))
            score = difference[varying] / page.X[:, varying].std(axis=0)
            if not bars:
                assert score.max(initial=0) <= 1e-6
            else:
                first = difference[bars[0][0]] / page.X[:, bars[0][0]].std()
                assert first == pytest.approx(score.max())


@given(pages())
def test_the_composition_counts_the_rows_of_each_clustering(page):
    shown = clusterings_of(page)
    for each, data in zip(shown, shown_data(page, shown), strict=True):
        counts = np.zeros((len(page.cluster_names), len(page.groups)), int)
        np.add.at(counts, (each.labels, page.group_codes), 1)
        assert data["counts"] == counts.tolist()


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
    data = _labels.pack_rows(page, page.ways[0].labels[-1])

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

    data = page_contents(page)

    np.testing.assert_array_equal(labels_in(data, 0, 2), labels)
    # Only the largest flows are listed, and people who stayed are not.
    assert len(data["ways"][0]["flows"][1]) == 20
    assert all(a != b for a, b, _ in data["ways"][0]["flows"][1])


def test_rows_without_names_are_numbered_as_in_the_table():
    numbers = np.array([2, 3, 7, *range(20, 77)])

    page = make_page(row_names=None, row_numbers=numbers)

    rows = page_contents(page)["rows"]
    assert rows["names"] is None
    np.testing.assert_array_equal(
        np.cumsum(json.loads(unpack(rows["numbers"]))), numbers
    )


def test_what_is_too_large_is_left_out_names_first(monkeypatch):
    whole = page_contents(make_page())
    labels = [len(packed) for packed in whole["labels"]]

    monkeypatch.setattr(_labels, "LIMIT", sum(labels))
    nameless = page_contents(make_page())
    monkeypatch.setattr(_labels, "LIMIT", labels[0])
    shorter = page_contents(make_page())
    monkeypatch.setattr(_labels, "LIMIT", labels[0] - 1)
    bare = page_contents(make_page())

    assert whole["leftOut"] == []
    assert nameless["rows"]["names"] is None
    assert nameless["labels"] == whole["labels"]
    assert "does not carry the names" in nameless["leftOut"][0]
    assert shorter["labels"] == [whole["labels"][0], None]
    assert "the labels of “The trade-off”" in shorter["leftOut"][0]
    assert "rawlsian fit --frontier FILE" in shorter["leftOut"][0]
    assert bare["labels"] == [None, None]


def test_the_labels_shown_are_those_of_a_way_or_carried_by_themselves():
    page = make_page()
    end, other = page.ways[1].labels[-1], 2 - page.ways[0].labels[-1]

    at_end, own = (_labels.pack_rows(page, labels) for labels in (end, other))

    assert (at_end["shownAt"], at_end["shownLabels"]) == ((1, 3), None)
    assert own["shownAt"] is None
    found = np.frombuffer(unpack(own["shownLabels"]), "u1")
    np.testing.assert_array_equal(found, other)


def test_labels_shown_are_carried_when_their_way_is_too_large(monkeypatch):
    page = make_page()
    labels = page.ways[0].labels[-1]
    whole = _labels.pack_rows(page, labels)

    monkeypatch.setattr(_labels, "LIMIT", len(whole["labels"][0]) - 1)
    small = _labels.pack_rows(page, labels)

    assert small["labels"] == [None, None]
    assert small["shownAt"] is None
    found = np.frombuffer(unpack(small["shownLabels"]), "u1")
    np.testing.assert_array_equal(found, labels)


def test_an_audit_says_so_if_it_does_not_carry_the_labels(monkeypatch):
    monkeypatch.setattr(_labels, "LIMIT", 10)

    data = page_contents(make_audit_page())

    assert (data["shownAt"], data["shownLabels"]) == (None, None)
    assert data["leftOut"] == ["To stay small, this page does not carry the labels."]


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
    for spec in [charts["space"][0]["spec"], charts["along"]]:
        used |= set(re.findall(r'"field": "([^"]*)"', json.dumps(spec)))

    assert used <= {"x", "y", "o", "p", "g", "u", "v"}


def test_figures_are_valid_vega_lite():
    charts = page_charts(make_page(bound=("Proved bound", 3.7)))
    curve = Curve("Silhouette", "higher", (None, 0.5, 0.25), 2)
    curves = curves_data(Curves((1, 2, 3), 3, (curve,), ("", ()), ()))

    for spec in [charts["space"][0]["spec"], charts["along"], *curves["figures"]]:
        alt.LayerChart.from_dict(spec, validate=True)
    with pytest.raises(ValidationError):
        alt.LayerChart.from_dict({**spec, "layer": 3}, validate=True)


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
    assert page_html(make_fit_page(5)) == page_html(make_fit_page(5))


def test_a_page_of_thirty_thousand_rows_stays_below_three_megabytes():
    page = make_page(n_rows=30_000, n_clusters=8, n_points=(60, 21))

    assert len(page_html(page).encode()) < 3e6


def test_an_audit_page_of_a_thousand_rows_stays_below_150_kilobytes():
    page = make_page(n_rows=1000, kind="one", n_points=(1,), n_clusters=8)

    assert len(page_html(page).encode()) < 150e3


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


# --- The chart of all groups, and the options ---


def test_groups_are_in_order_of_distance_and_small_ones_last():
    fits = [GroupFit(name, 9, level, None, is_small=name > "m")
            for name, level in [("a", 90.0), ("z", 300.0), ("b", 120.0)]]  # fmt: skip

    rows = fits_data(fits)["rows"]

    assert [row["name"] for row in rows] == ["b", "a", "z"]


def test_levels_that_round_to_the_same_are_ties_at_the_same_place():
    fits = [
        GroupFit("a", 9, 104.21, None, 98.04),
        GroupFit("b", 9, 120.00, None, 97.96),
        GroupFit("c", 9, 104.19, None, 91.00),
    ]

    data = fits_data(fits)

    rows = {row["name"]: row for row in data["rows"]}
    assert rows["a"]["after"] == rows["b"]["after"] == 98.0
    assert [rows[name]["isTieAfter"] for name in "abc"] == [True, True, False]
    assert [rows[name]["isTieBefore"] for name in "abc"] == [True, False, True]
    assert data["ties"] == [
        "Before, a and c tie at 104.2.", "After, b and a tie at 98.0.",
    ]  # fmt: skip


def test_many_groups_that_tie_are_counted_and_small_ones_left_out():
    fits = [GroupFit(name, 9, 100.0, None, is_small=name == "f") for name in "abcdef"]

    data = fits_data(fits)

    assert data["ties"] == ["5 groups tie at 100.0."]
    assert not data["rows"][-1]["isTieBefore"]


@pytest.mark.parametrize("n_groups", [1, 2, 5, 12])
def test_the_axis_holds_everyone_and_every_interval(n_groups):
    data = fits_data(make_fits(n_groups))

    ends = [end for row in data["rows"] for end in row["beforeInterval"]]
    assert data["low"] <= min(*ends, 100) < max(*ends, 100) <= data["high"]
    assert data["ticks"][0] == data["low"]
    assert data["ticks"][-1] == pytest.approx(data["high"])


def test_a_small_group_does_not_stretch_the_axis_and_has_no_interval():
    fits = (GroupFit("a", 99, 110.0, (105.0, 115.0)),
            GroupFit("b", 3, 900.0, (1.0, 2000.0), is_small=True))  # fmt: skip

    data = fits_data(fits)

    assert data["high"] < 200
    assert data["rows"][1]["beforeInterval"] is None


def test_options_list_the_groups_as_the_chart_does():
    page = make_page(
        group_fits=make_fits(3)[::-1], options=(make_option("most", 3, -1.0),)
    )

    (option,) = answer_data(page)["options"]

    names = [group["name"] for group in option["groups"]]
    assert names == ["group 0", "group 1", "group 2"]


def test_group_fits_are_means_of_distances_where_everyone_before_is_100():
    page = make_page()
    before, after = clusterings_of(page)

    fits = group_fits(page.groups, page.group_codes, before, after)

    for g, fit in enumerate(fits):
        own = page.group_codes == g
        everyone = before.distances.mean()
        assert fit.people == own.sum()
        assert fit.before == pytest.approx(
            100 * before.distances[own].mean() / everyone
        )
        assert fit.after == pytest.approx(100 * after.distances[own].mean() / everyone)


def test_group_fits_of_one_clustering_have_no_after():
    page = make_page()

    fits = group_fits(page.groups, page.group_codes, clusterings_of(page)[0])

    assert [fit.after for fit in fits] == [None, None]


# --- Clusterings shown ---


def test_without_clusterings_the_ends_of_the_first_way_are_shown():
    page = make_page()

    before, after = clusterings_of(page)

    np.testing.assert_array_equal(before.labels, page.ways[0].labels[0])
    np.testing.assert_array_equal(after.labels, page.ways[0].labels[-1])
    utility = page.max_distance - after.distances.mean()
    assert utility == pytest.approx(page.ways[0].overall[-1])


def test_an_audit_shows_one_clustering_and_has_no_slider():
    data = page_contents(make_audit_page())

    assert [each["name"] for each in data["shown"]] == ["The clusters audited"]
    assert data["ways"] == []
    assert data["charts"] is None


def test_an_index_of_separation_that_is_not_known_is_left_out():
    page = make_page()

    data = shown_data(page, clusterings_of(page))

    assert [each["separation"] for each in data] == [None, None]


def test_of_many_clusters_the_largest_have_portraits():
    page = make_page(n_rows=200, n_clusters=40)

    (last,) = shown_data(page, clusterings_of(page)[-1:])

    sizes = np.sum(last["counts"], axis=1)
    assert len(last["drawn"]) == 30
    assert sizes[last["drawn"]].min() >= np.sort(sizes)[-30]
    assert len(last["names"]) == 40


# --- Names of clusters ---

NUMBER, AGE = Attribute("gain", None, 0.0, 1.0), Attribute("age", None, 20.0, 50.0)
STATUS = [Attribute("status", level, 0.0, 1.0) for level in ("Married", "Single")]
OWNS = [Attribute("owns a car", level, 0.0, 1.0) for level in ("no", "yes")]


def names_of(means, everyone, attributes, labels="012345678"):
    means = np.array(means, float)
    deviation = np.full(means.shape[1], 0.5)
    return cluster_names(
        means, np.array(everyone, float), deviation, attributes, labels[: len(means)]
    )


def test_a_cluster_is_named_after_its_levels_and_numbers():
    means = [[1.0, 0.0, 0.1, 0.5], [0.0, 1.0, 0.9, 0.5], [0.5, 0.5, 0.5, 0.9]]

    names = names_of(means, [0.5, 0.5, 0.5, 0.5], [*STATUS, AGE, NUMBER])

    assert names == ["Married, younger", "Single, older", "high gain"]


def test_a_level_that_says_nothing_by_itself_comes_with_its_column():
    names = names_of([[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5], OWNS)

    assert names == ["owns a car yes", "owns a car no"]


def test_a_level_of_a_minority_is_more_and_one_that_is_gone_is_not():
    three = [
        Attribute("work", level, 0.0, 1.0) for level in ("Private", "State", "Own")
    ]

    names = names_of([[0.6, 0.4, 0.0], [0.0, 0.5, 0.5]], [0.9, 0.05, 0.05], three)

    assert names[0] == "more State"
    assert names_of([[0.0, 0.4, 0.4]], [0.9, 0.05, 0.05], three) == ["not Private"]


def test_clusters_that_nothing_sets_apart_have_their_label():
    means = [[0.5, 0.5], [np.nan, np.nan], [1.0, 0.0], [1.0, 0.0]]

    names = names_of(means, [0.5, 0.5], STATUS)

    assert names == [f"cluster {k}" for k in range(4)]


def test_equal_names_get_another_term():
    means = [[1.0, 0.0, 0.9, 0.7], [1.0, 0.0, 0.9, 0.3]]

    names = names_of(means, [0.5, 0.5, 0.5, 0.5], [*STATUS, AGE, NUMBER])

    assert names == ["Married, older, high gain", "Married, older, low gain"]


@given(pages())
def test_names_are_short_different_and_always_the_same(page):
    shown = clusterings_of(page)
    first, again = (shown_data(page, shown) for _ in range(2))

    for names, others in zip(
        (each["names"] for each in first), (each["names"] for each in again),
        strict=True,
    ):  # fmt: skip
        assert names == others
        assert len(set(names)) == len(names)
        assert all(0 < len(name) <= 40 for name in names)


def test_long_levels_are_cut():
    long = [Attribute("answer", "a" * 90, 0.0, 1.0), Attribute("answer", "b", 0.0, 1.0)]

    (name,) = names_of([[1.0, 0.0]], [0.5, 0.5], long)

    assert name == "a" * 25 + "…"


# --- Map ---


def test_the_map_has_the_two_directions_of_largest_variance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)) * [1.0, 9.0, 3.0, 0.1]

    projection = project(X, X.mean(axis=0))

    np.testing.assert_allclose(np.abs(projection.directions).round(1).T,
                               [[0, 1, 0, 0], [0, 0, 1, 0]])  # fmt: skip
    centered = X - X.mean(axis=0)
    values = np.linalg.svd(centered, compute_uv=False) ** 2
    np.testing.assert_allclose(projection.shares, values[:2] / values.sum())


@given(pages())
def test_the_largest_entry_of_each_direction_is_positive(page):
    directions = project(page.X, page.X.mean(axis=0)).directions

    for direction in directions.T:
        assert direction.max() >= -direction.min() - 1e-9


def test_a_single_column_and_equal_rows_have_a_map_too():
    column, same = np.arange(4.0)[:, None], np.ones((4, 3))

    assert project(column, column.mean(axis=0)).shares.tolist() == [1.0, 0.0]
    assert project(same, same.mean(axis=0)).shares.tolist() == [0.0, 0.0]
    caption = map_data(
        make_page(X=same, attributes=(AGE,) * 3, n_rows=4),
        [make_shown(make_page(n_rows=4), "One", np.array([0, 1, 2, 0]))],
    )["caption"]
    assert "the same values in all columns" in caption


def test_the_ends_of_the_map_are_levels_and_high_or_low_numbers():
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.1], [1.0, 0.0, 0.1]])
    gain = Attribute("gain", None, 0.0, 1.0)
    page = make_page(X=X, attributes=(*STATUS, gain), n_rows=4)

    axes = map_data(page, [make_shown(page, "One", np.zeros(4, int))])["axes"]

    assert axes == [("Single", "Married"), ("low gain", "high gain")]


def test_the_map_has_people_of_every_group_and_cluster():
    groups, labels = np.zeros(50_000, np.int32), np.zeros(50_000, np.int32)
    groups[17], labels[18], labels[19] = 1, 1, 2

    rows = sample_rows(groups, [labels])

    assert len(rows) == len(set(rows)) == 1500
    assert set(groups[rows]) == {0, 1}
    assert set(labels[rows]) == {0, 1, 2}
    np.testing.assert_array_equal(rows, sample_rows(groups, [labels]))


def test_the_map_says_whom_it_shows_and_how():
    few, many = (make_page(n_rows=n) for n in (60, 2000))

    captions = [map_data(page, clusterings_of(page))["caption"] for page in (few, many)]

    assert captions[0].startswith("Each dot is a person.")
    assert "1,500 of 2,000 people" in captions[1]
    assert re.search(r"principal components\), which hold \d+% of the", captions[0])


def test_both_maps_share_one_scale_of_distances():
    page = make_page()
    near, far = (make_shown(page, "x", page.ways[0].labels[0]) for _ in range(2))
    far.distances[:] = 2.0

    low, high = map_data(page, [near, far])["shades"]

    assert set(high) == {6}
    assert set(low) == set(range(7))


# --- Looks ---


def contrast(colour, other):
    a, b = sorted((luminance(colour), luminance(other)))
    return (b + 0.05) / (a + 0.05)


def test_twelve_groups_have_twelve_colours_and_four_share_a_pattern():
    looks = [look(g) for g in range(12)]

    assert len({each["colour"] for each in looks}) == 12
    patterns = [each["pattern"] for each in looks]
    assert all(patterns.count(pattern) == 4 for pattern in patterns)


def test_colours_stand_out_from_white_and_from_dark_paper():
    for g in range(12):
        colour = look(g)["colour"]
        assert contrast(colour, "#ffffff") > 2.5
        assert contrast(colour, "#111418") > 3
        assert contrast(colour, look(g)["text"]) > 4.5


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


def test_the_page_runs_its_own_scripts_and_loads_nothing():
    text = page_html(make_page())

    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
