"""Results as pandas frames and as HTML tables."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from rawlsian import audit, frontier, group_bound, open_blocks, traverse

X = np.array([[0.0], [1.0], [2.0], [6.0], [7.0], [9.0]])
LABELS = [0, 0, 0, 1, 1, 1]
SEX = ["<b>f</b>", "m", "<b>f</b>", "m", "m", "<b>f</b>"]


@pytest.fixture(scope="module")
def results():
    large = traverse(open_blocks(X), LABELS, SEX, operator="batch")
    return {
        "audit": audit(X, LABELS, SEX, min_group=2, random_state=0),
        "trajectory": traverse(X, LABELS, SEX),
        "large trajectory": large,
        "frontier": frontier(X, SEX, n_clusters=2, n_points=3, random_state=0),
        "bound": group_bound(X, SEX, n_clusters=2, random_state=0),
    }


def test_an_audit_has_a_row_for_each_group(results):
    found = results["audit"]

    pd.testing.assert_frame_equal(found.to_frame(), pd.DataFrame(found.by_group()))


@pytest.mark.parametrize("name", ["trajectory", "large trajectory"])
def test_a_trajectory_has_a_row_for_each_step(results, name):
    trajectory = results[name]

    frame = trajectory.to_frame()

    assert frame["step"].tolist() == list(range(trajectory.n_iter + 1))
    assert frame["lowest"].tolist() == trajectory.utilities.min(axis=1).tolist()
    assert frame["utility of m"].tolist() == trajectory.utilities[:, 1].tolist()
    assert frame["n_moved"].iloc[0] == 0


def test_a_frontier_has_a_row_for_each_point(results):
    points = results["frontier"]

    assert points.to_frame()["overall"].tolist() == points.overall.tolist()


def test_a_bound_has_one_row(results):
    bound = results["bound"]

    row = bound.to_frame().iloc[0]

    assert (row["kind"], row["cost"]) == ("group", bound.cost)


def test_tables_in_html_escape_the_names_of_groups(results):
    for name, result in results.items():
        html = result._repr_html_()

        assert html.startswith("<table"), name
        assert "<b>" not in html
        assert "nan" not in html.lower()
    assert "&lt;b&gt;f&lt;/b&gt;" in results["audit"]._repr_html_()


def test_a_long_table_shows_its_beginning_and_its_end():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(80, 2)), np.arange(80) % 2
    trajectory = traverse(X, rng.permutation(np.arange(80) % 3), groups)

    html = trajectory._repr_html_()

    assert trajectory.n_iter > 12
    assert html.count("<tr>") == 1 + 10 + 1
    assert f"<td>{trajectory.n_iter}</td>" in html


def test_without_pandas_the_sentence_names_it(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ImportError, match="to_frame needs pandas, which is not inst"):
        results["bound"].to_frame()
    assert results["bound"]._repr_html_()
