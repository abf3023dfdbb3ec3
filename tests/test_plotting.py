"""Figures: the data drawn, not the pixels."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rawlsian import (
    audit,
    frontier,
    kmeans_restarts,
    plot_audit,
    plot_bound,
    plot_crosshairs,
    plot_frontier,
    plot_gains,
    plot_iterations,
    plot_trajectory,
    plot_utility_space,
    traverse,
)
from rawlsian.plotting import Points
from support.figures import no_windows  # noqa: F401

POINTS = Points(
    ["a", "b"], np.array([[1.0, 3.0], [2.0, 2.5], [4.0, 2.0]]), np.array([2.0, 2.2, 3])
)
THREE = Points(["a", "b", "c"], np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0]))


def test_points_are_drawn_with_the_group_that_is_worse_off_more_often_upright():
    ax = plot_utility_space(POINTS)

    assert (ax.get_xlabel(), ax.get_ylabel()) == ("utility of b", "utility of a")
    drawn = ax.collections[0].get_offsets()
    assert sorted(map(tuple, drawn)) == [(2.0, 4.0), (2.5, 2.0), (3.0, 1.0)]


def test_darker_points_have_a_higher_overall_utility():
    figure = plot_utility_space(POINTS).get_figure()
    figure.canvas.draw()

    dots = figure.axes[0].collections[0]
    brightness = dots.get_facecolors()[:, :3].sum(axis=1)
    assert np.argmin(brightness) == np.argmax(dots.get_array())


@pytest.mark.parametrize(("lag", "mag"), [("b", None), (None, "a"), ("b", "a")])
def test_the_groups_can_be_told(lag, mag):
    ax = plot_utility_space(POINTS, lag=lag, mag=mag)

    assert ax.get_ylabel() == "utility of b"


def test_of_three_groups_two_must_be_named():
    assert plot_utility_space(THREE, lag="a", mag="c").get_xlabel() == "utility of c"
    for names in ({}, {"lag": "a"}, {"lag": "a", "mag": "a"}):
        with pytest.raises(ValueError, match="name two different groups to draw"):
            plot_utility_space(THREE, **names)


def test_a_group_that_there_is_not_is_named():
    with pytest.raises(ValueError, match="lag must be one of the groups 'a', 'b', got"):
        plot_utility_space(POINTS, lag="z")


def test_histograms_show_the_points_in_view_and_limits_that_were_set_stay():
    _, ax = plt.subplots()
    ax.set_xlim(1.9, 2.6)
    ax.set_ylim(0, 10)

    plot_utility_space(POINTS, with_histograms=True, ax=ax)

    assert ax.get_xlim() == (1.9, 2.6)
    above, right = ax.get_figure().axes[-2:]
    assert sum(bar.get_height() for bar in above.patches) == 2
    assert sum(bar.get_width() for bar in right.patches) == 2


def test_restarts_and_trajectories_can_be_drawn_as_they_are():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 2)), rng.integers(0, 2, size=60)
    restarts = kmeans_restarts(X, 3, n_runs=20, sensitive_features=groups)
    trajectory = traverse(X, restarts.labels(0), groups)

    ax = plot_utility_space(restarts, lag=0)
    plot_trajectory(trajectory, operator="R1", ax=ax)

    line = next(line for line in ax.lines if line.get_label() == "R1")
    np.testing.assert_array_equal(line.get_xydata(), trajectory.utilities[:, ::-1])


def test_a_trajectory_alone_has_the_group_worse_off_at_its_start_upright():
    ax = plot_trajectory(POINTS, operator="R2", label="R2, 2 steps")

    assert ax.get_ylabel() == "utility of a"
    assert ax.get_legend_handles_labels()[1] == ["R2, 2 steps", "equal utility"]


def test_the_line_of_equality_does_not_change_what_is_in_view():
    far = POINTS._replace(utilities=np.array([[1.0, 30.0], [1.1, 30.1], [1.2, 30.0]]))

    ax = plot_utility_space(far)

    assert ax.get_ylim()[1] < 2


def test_a_group_can_be_put_on_the_horizontal_axis_only():
    assert plot_trajectory(POINTS, mag="a").get_ylabel() == "utility of b"


def test_the_line_of_equality_is_drawn_once():
    ax = plot_utility_space(POINTS)
    plot_trajectory(POINTS, lag="a", ax=ax)

    assert sum(line.get_gid() == "equality" for line in ax.lines) == 1


def test_what_is_drawn_later_keeps_to_the_axes_that_there_are():
    # At its start b is worse off, but a has the vertical axis already.
    later = Points(["a", "b"], np.array([[5.0, 4.0], [6.0, 5.0]]), np.zeros(2))

    ax = plot_utility_space(POINTS)
    plot_trajectory(later, operator="R1", ax=ax)
    plot_crosshairs({"b": 7.0, "a": 8.0}, label="here", ax=ax)

    assert (ax.get_xlabel(), ax.get_ylabel()) == ("utility of b", "utility of a")
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert drawn["R1"] == [[4.0, 5.0], [5.0, 6.0]]
    assert drawn["here"] == [[7.0, 8.0]]


def test_groups_that_disagree_with_the_axes_are_an_error():
    ax = plot_utility_space(POINTS, lag="a")

    with pytest.raises(ValueError, match="the axes has 'a' on its vertical and 'b'"):
        plot_trajectory(POINTS, lag="b", ax=ax)


def test_names_of_groups_are_plain_in_errors():
    points = POINTS._replace(groups=np.array(["a", "b"]))

    with pytest.raises(ValueError, match="one of the groups 'a', 'b', got 'z'"):
        plot_utility_space(points, mag="z")


def test_crosshairs_meet_at_the_point():
    ax = plot_crosshairs({"a": 1.0, "b": 2.0}, color="blue", label="here")

    plus, vertical, horizontal = ax.lines
    assert set(vertical.get_xdata()) == {2.0}
    assert set(horizontal.get_ydata()) == {1.0}
    assert plus.get_xydata().tolist() == [[2.0, 1.0]]


def test_a_bound_is_a_corner_that_is_in_view():
    ax = plot_trajectory(POINTS)

    plot_bound(5.0, label="proved", ax=ax)

    corner = ax.get_lines()[-1]
    assert corner.get_xdata()[:2].tolist() == [5.0, 5.0]
    assert corner.get_ydata()[1:].tolist() == [5.0, 5.0]
    assert ax.get_xlim()[1] > 5.0
    assert ax.get_ylim()[1] > 5.0
    assert ax.get_xlim()[0] < 2.0  # and what was there still is


def test_iterations_are_dots_with_their_median_and_what_was_reported():
    ax = plot_iterations({"R1": [5, 1, 3], "mine": [2]}, reported={"R1": 261})

    assert sorted(ax.collections[0].get_offsets()[:, 1]) == [1, 3, 5]
    names = [tick.get_text() for tick in ax.get_xticklabels()]
    assert names == ["R1\nmedian 3", "mine\nmedian 2"]
    assert [text.get_text() for text in ax.texts] == ["reported: 261"]


def test_gains_are_drawn_against_the_best_known():
    ax = plot_gains({"R1": [0.1, 0.2]}, [0.3, 0.4])

    assert ax.collections[0].get_offsets().tolist() == [[0.3, 0.1], [0.4, 0.2]]
    assert ax.get_xlim() == ax.get_ylim()


def test_a_loss_is_in_view():
    ax = plot_gains({"mine": [-0.5, 0.2]}, [0.3, 0.4])

    assert ax.get_ylim()[0] < -0.5


def test_operators_of_ones_own_have_colours_of_their_own():
    ax = plot_gains({"mine": [0.1], "yours": [0.2]}, [0.3])
    plot_iterations({"mine": [1], "yours": [2]})

    first, second = (dots.get_edgecolor().tolist() for dots in ax.collections)
    assert first != second


def test_numbers_that_are_missing_are_an_error():
    with pytest.raises(ValueError, match=r"gains\['R1'\] has shape \(2,\) and best"):
        plot_gains({"R1": [0.1, 0.2]}, [0.3])
    with pytest.raises(ValueError, match="iterations has no number for 'R1'"):
        plot_iterations({"R1": []})


# --- Audits and frontiers ---


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(80, 2)), 3 * rng.normal(size=(45, 2))])
    groups = np.repeat(["a", "b", "c"], [80, 40, 5])
    return audit(X, np.arange(125) % 3, groups, random_state=0)


def test_an_audit_shows_each_group_with_its_interval(found):
    ax = plot_audit(found)

    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["a (80)", "b (40)", "c (5, too few)"]
    dots = [each for each in ax.collections if hasattr(each, "get_sizes")]
    points = [each.get_offsets()[0].tolist() for each in dots if len(each.get_sizes())]
    assert points == [[found.behind[g], g] for g in range(3)]
    lines = [each.get_segments()[0] for each in ax.collections if each not in dots]
    assert [line[:, 0].tolist() for line in lines] == found.intervals[:2].tolist()


def test_groups_that_are_too_small_are_hollow_and_groups_behind_have_a_colour(found):
    *_, small = plot_audit(found).collections
    dots = [each for each in plot_audit(found).collections if len(each.get_offsets())]

    assert len(small.get_facecolor()) == 0
    assert found.is_clear.tolist() == [False, True, False]
    assert dots[0].get_edgecolor().tolist() != dots[-2].get_edgecolor().tolist()


def test_a_frontier_is_a_line_between_its_two_ends():
    X = np.arange(12.0)[:, None] ** 2
    points = frontier(X, ["a", "b", "b"] * 4, n_clusters=2, n_points=5, random_state=0)

    ax = plot_frontier(points, label="trade-off")

    line, first, last = ax.lines
    assert line.get_xdata().tolist() == points.overall.tolist()
    assert line.get_ydata().tolist() == points.utilities.min(axis=1).tolist()
    assert first.get_xydata().tolist() == line.get_xydata()[:1].tolist()
    assert last.get_xydata().tolist() == line.get_xydata()[-1:].tolist()


NEAR = Points(["a", "b"], 7.18 + np.array([[0.0, 1e-5], [2e-5, 0.0]]), np.full(2, 7.18))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot_utility_space(NEAR),
        lambda: plot_trajectory(NEAR),
        lambda: plot_frontier(NEAR),
        lambda: plot_crosshairs({"a": 7.18, "b": 7.18001}),
        lambda: plot_bound(7.18, ax=plot_trajectory(NEAR)),
    ],
)
def test_axes_have_no_offset(draw):
    figure = draw().get_figure()
    figure.canvas.draw()

    for ax in figure.axes:
        assert ax.xaxis.get_offset_text().get_text() == ""
        assert ax.yaxis.get_offset_text().get_text() == ""


ALONE = Points(["all"], np.ones((2, 1)), np.ones(2))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot_utility_space([1, 2]), "Points, but list has no groups"),
        (lambda: plot_trajectory(None), "Points, but NoneType has no groups"),
        (lambda: plot_trajectory(ALONE), "but there is one group, 'all'"),
        (lambda: plot_frontier(7), "plot_frontier draws Restarts, .* int has no group"),
        (
            lambda: plot_frontier(POINTS._replace(overall=np.array([1, np.nan, 1]))),
            "the overall in plot_frontier must be finite numbers",
        ),
        (
            lambda: plot_trajectory(POINTS._replace(groups=["a"])),
            r"utilities of shape \(3, 2\) for 3 points and 1 groups",
        ),
        (
            lambda: plot_utility_space(
                Points(["a", "b"], np.empty((0, 2)), np.empty(0))
            ),
            r"shape \(0, 2\) for 0 points",
        ),
        (lambda: plot_crosshairs({"a": "high", "b": 1}), "utilities must be numbers"),
        (lambda: plot_crosshairs([1.0, 2.0]), "utilities must be a dict"),
        (lambda: plot_bound("7"), "plot_bound draws a Bound or a finite number, got"),
        (lambda: plot_bound(np.inf), "plot_bound draws a Bound or a finite number"),
        (lambda: plot_iterations({}), "iterations must be a dict"),
        (lambda: plot_gains({"R1": [np.nan]}, [1.0]), "must be finite numbers"),
        (lambda: plot_audit(POINTS), "plot_audit draws an Audit.* got Points"),
        (
            lambda: plot_audit(audit([[0.0], [1.0]], [0, 0], None)),
            "plot_audit compares groups, but the audit has one group",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(draw, message):
    with pytest.raises(ValueError, match=message) as error:
        draw()

    assert "\n" not in str(error.value)
    assert plt.get_fignums() == [] or "one group" in message


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    # That nothing imports it before, test_package.py shows.
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"pip install 'rawlsian\[plot\]'"):
            plot_gains({"R1": [1]}, [1])
