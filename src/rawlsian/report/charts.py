"""Figures of a page as Vega-Lite specifications.

Users' names are values and titles, never field names, because Vega-Lite gives dots and
brackets in field names a meaning. The page's script fills named data sets with the rows
of the point shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rawlsian.report.contents import Page
from rawlsian.report.data import group_sizes
from rawlsian.report.looks import COLOURS, DASHES, INK, cycle

if TYPE_CHECKING:
    import altair as alt

WAY_COLOURS = ("#0072B2", "#CC79A7", "#009E73", "#E69F00", "#56B4E9", "#7F7F7F")
WAY_DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3), (12, 3), (4, 2))
WAY_SHAPES = (
    "circle", "square", "triangle-up", "cross", "triangle-down", "triangle-right",
)  # fmt: skip
NOW, EQUAL = "#D55E00", "#999999"
# Restarts drawn, over all panels.
N_CLOUD = 2000
N_PANELS = 11
TITLE_WIDTH = 40  # characters of a line


def page_charts(page: Page) -> dict[str, Any]:
    """Return the figures of the slider, their captions, and the looks of the ways."""
    pairs = _pairs(page)
    cloud = np.empty((0, len(page.groups))) if page.cloud is None else page.cloud
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    drawn = _sampled(cloud, N_CLOUD // max(len(pairs), 1))
    return {
        "space": [_panel(page, pair, drawn) for pair in pairs],
        "along": _along(page),
        "caption": _caption(page, pairs, len(cloud), len(drawn)),
        "hasCloud": len(drawn) > 0,
        "hasBound": _near_bound(page) is not None,
        "ways": [
            [
                *(cycle(each, way) for each in (WAY_COLOURS, WAY_DASHES)),
                cycle(WAY_SHAPES, way),
            ]
            for way in range(len(page.ways))
        ],
    }


def _range(page: Page) -> range:
    return range(len(page.groups))


def _pairs(page: Page) -> list[tuple[int, int]]:
    """Pair the worst-off group at the start with each of the largest others."""
    start = np.nan_to_num(page.ways[0].utilities[0], nan=np.inf)
    lag = int(np.argmin(start))
    sizes = group_sizes(page)
    # A group without weight has no utility.
    has_utility = np.any(
        [np.isfinite(way.utilities).any(axis=0) for way in page.ways], axis=0
    )
    largest = np.argsort(-sizes, kind="stable")
    others = [int(g) for g in largest if g != lag and has_utility[g]]
    return [(lag, g) for g in sorted(others[:N_PANELS])]


def _sampled(cloud: NDArray[np.float64], limit: int) -> NDArray[np.float64]:
    if len(cloud) <= limit:
        return cloud
    chosen: NDArray[np.float64] = cloud[
        np.linspace(0, len(cloud) - 1, limit).astype(int)
    ]
    return chosen


def _extent(page: Page) -> tuple[float, float]:
    """Return the lowest and highest utility at any point, and of a bound nearby.

    A distant bound is left out, because it would squeeze everything else together.
    """
    shown = np.concatenate([way.utilities.ravel() for way in page.ways])
    shown = shown[np.isfinite(shown)]
    low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
    span = high - low or max(abs(high), 1.0) * 1e-3
    if page.bound is not None and low - 2 * span < page.bound[1] < high + 2 * span:
        low, high = min(low, page.bound[1]), max(high, page.bound[1])
    return float(low), float(high)


def _near_bound(page: Page) -> float | None:
    low, high = _extent(page)
    if page.bound is None or not low <= page.bound[1] <= high:
        return None
    return page.bound[1]


def _caption(
    page: Page, pairs: list[tuple[int, int]], n_cloud: int, n_drawn: int
) -> list[str]:
    sentences = []
    if len(pairs) > 1:
        at_start = "" if page.ways[0].kind == "one" else " at the start"
        sentences.append(
            f"The horizontal axis is {page.groups[pairs[0][0]]}, the worst-off group"
            f"{at_start}; the vertical axis is the group in the panel's title."
        )
    if n_cloud > n_drawn:
        sentences.append(
            f"The figure shows {n_drawn:,} of {n_cloud:,} k-means restarts, evenly "
            "chosen."
        )
    n_others = len(page.groups) - 1
    if len(pairs) < n_others:
        sentences.append(
            f"The panels show the {len(pairs)} largest of {n_others} other groups."
        )
    return sentences


def _panel(
    page: Page, pair: tuple[int, int], cloud: NDArray[np.float64]
) -> dict[str, Any]:
    """Draw the plane of two groups, zoomed to the ways and the restarts near them."""
    ways = np.concatenate([way.utilities[:, pair] for way in page.ways])
    ways = ways[np.isfinite(ways).all(axis=1)]
    # A bound on the lowest utility cuts a corner off the plane of two groups. With more
    # groups, any two of them can lie in that corner.
    bound = _near_bound(page) if len(page.groups) == 2 else None
    if bound is not None:
        ways = np.append(ways, [[bound, bound]], axis=0)
    low, high, n_inside = _limits(ways, cloud[:, pair])
    x, y = (page.groups[g] for g in pair)
    return {
        "title": f"{y} against {x}" if len(page.groups) == 2 else y,
        "groups": pair,
        "caption": _outside(len(cloud) - n_inside),
        "spec": _plane(page, pair, cloud, low, high, bound),
    }


def _outside(n_restarts: int) -> str:
    if n_restarts == 0:
        return ""
    return f"{n_restarts} restart{'s lie' if n_restarts > 1 else ' lies'} outside."


def _limits(
    points: NDArray[np.float64], cloud: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return the limits of both axes, and how many restarts lie within them.

    Both axes have the same length, so that the line of equality is at 45 degrees, and
    part of it is in view. A few restarts far from everything else are left outside.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    low = np.minimum(low, high.min())
    high = np.maximum(high, low.max())
    span = (high - low).max() or max(abs(high).max(), 1.0) * 1e-3
    reach = span
    if len(cloud):
        lower, upper = np.quantile(cloud, [0.25, 0.75], axis=0)
        reach = max(span, (upper - lower).max())
    near = cloud[((cloud > low - reach) & (cloud < high + reach)).all(axis=1)]
    low, high = np.vstack([low, near]).min(axis=0), np.vstack([high, near]).max(axis=0)
    half = 0.56 * max((high - low).max(), span)
    middle = (low + high) / 2
    low, high = middle - half, middle + half
    return low, high, int(((cloud >= low) & (cloud <= high)).all(axis=1).sum())


def _plane(
    page: Page,
    pair: tuple[int, int],
    cloud: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    bound: float | None,
) -> dict[str, Any]:
    """Draw restarts, equality, bound, ways, their start and the point shown."""
    import altair as alt

    least, most = float(min(low)), float(max(high))
    data = {
        "cloud": [{"x": float(x), "y": float(y)} for x, y in cloud[:, pair]],
        "equal": _path([(least, least), (most, most)]),
    }
    layers = [
        _chart("cloud").mark_circle(
            size=14, opacity=0.22, color=INK, clip=True, aria=False
        ),
        _chart("equal", order="o:Q").mark_line(
            color=EQUAL, strokeDash=[4, 4], strokeWidth=1.5, clip=True, aria=False
        ),
    ]
    if bound is not None:
        data["bound"] = _path([(bound, most), (bound, bound), (most, bound)])
        layers.append(
            _chart("bound", order="o:Q").mark_line(
                color=INK, strokeWidth=1.5, clip=True, aria=False
            )
        )
    for place, way in enumerate(page.ways):
        data[f"way{place}"] = _way_points(way.utilities[:, pair], place)
        layers += _way_layers(place)
    layers += _markers()
    (x, across), (y, up) = (
        (_title(page.groups[g]), alt.Scale(domain=ends, nice=False, zero=False))
        for g, *ends in zip(pair, low.tolist(), high.tolist(), strict=True)
    )
    encoded = [
        layer.encode(
            x=alt.X("x:Q", title=x, scale=across), y=alt.Y("y:Q", title=y, scale=up)
        )
        for layer in layers
    ]
    drawn = specification(
        alt.layer(*encoded).properties(width="container", height="container")
    )
    # Altair would check and copy each value several times.
    for layer in drawn["layer"]:
        name = layer["data"]["name"]
        if name in data:
            layer["data"] = {"values": data[name], "name": name}
    return drawn


def _way_points(utilities: NDArray[np.float64], place: int) -> list[dict[str, float]]:
    return [
        {"x": float(a), "y": float(b), "w": place, "p": p}
        for p, (a, b) in enumerate(utilities)
        if np.isfinite(a) and np.isfinite(b)
    ]


def _way_layers(place: int) -> list[alt.Chart]:
    """Draw a line through the points of a way, and dots to click."""
    colour, dash = cycle(WAY_COLOURS, place), cycle(WAY_DASHES, place)
    way = _chart(f"way{place}")
    line = way.mark_line(color=colour, strokeDash=list(dash), aria=False)
    shape = cycle(WAY_SHAPES, place)
    dots = way.mark_point(
        shape=shape, size=28, filled=True, opacity=1, color=colour, cursor="pointer",
        aria=False,
    )  # fmt: skip
    return [line.encode(order="p:Q"), dots]


def _markers() -> list[alt.Chart]:
    """Mark the start of the way and the point shown."""
    start = _chart("start").mark_point(
        shape="square", size=130, filled=False, color=INK, strokeWidth=2, aria=False
    )
    now = _chart("now").mark_point(
        shape="diamond", size=260, filled=True, color=NOW, opacity=1, stroke=INK,
        strokeWidth=1.5, aria=False,
    )  # fmt: skip
    return [start, now]


def _chart(name: str, **encoding: str) -> alt.Chart:
    """Return a chart of the values of this name."""
    import altair as alt

    return alt.Chart(alt.NamedData(name)).encode(**encoding)


def _path(points: list[tuple[float, float]]) -> list[dict[str, float]]:
    return [{"x": x, "y": y, "o": o} for o, (x, y) in enumerate(points)]


def _along(page: Page) -> dict[str, Any]:
    """Draw the utility of each group at every point, and mark the point shown."""
    import altair as alt

    groups = [*_range(page), len(page.groups)]
    lines = alt.Chart(alt.NamedData("lines"))
    now = alt.Chart(alt.NamedData("now"))
    x = alt.X("x:Q", title="Step or point", axis=alt.Axis(tickMinStep=1, grid=False))
    y = alt.Y("u:Q", title="Utility (higher is better)", scale=_utility_scale(page))
    colour = _group_colour(page)
    dash = alt.StrokeDash(
        "g:N", legend=None,
        scale=alt.Scale(
            domain=groups,
            range=[*(list(cycle(DASHES, g)) for g in _range(page)), [1, 0]],
        ),
    )  # fmt: skip
    layers = [
        now.mark_rule(color=NOW, strokeWidth=2, aria=False).encode(x=x),
        lines.mark_line(aria=False).encode(x=x, y=y, color=colour, strokeDash=dash),
        # Invisible rules to click, one for each point.
        lines.mark_rule(strokeWidth=14, opacity=0, cursor="pointer", aria=False).encode(
            x=x
        ),
        now.mark_circle(size=70, opacity=1, aria=False).encode(x=x, y=y, color=colour),
    ]
    bound = _near_bound(page)
    if bound is not None:
        line = alt.Chart(alt.InlineData(values=[{"u": bound}], name="bound"))
        layers.append(
            line.mark_rule(color=INK, strokeDash=[2, 3], aria=False).encode(y=y)
        )
    chart = alt.layer(*layers).properties(width="container", height=320)
    return specification(chart)


def _utility_scale(page: Page) -> alt.Scale:
    """Return a scale for all points: marks move with the slider, the axis does not."""
    import altair as alt

    low, high = _extent(page)
    margin = 0.05 * (high - low) or 1e-3 * max(abs(high), 1.0)
    return alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)


def _group_colour(page: Page) -> alt.Color:
    """Return the colours of the groups, and ink for everyone, who come last."""
    import altair as alt

    colours = [cycle(COLOURS, g) for g in _range(page)]
    scale = alt.Scale(domain=[*_range(page), len(colours)], range=[*colours, INK])
    return alt.Color("g:N", legend=None, scale=scale)


def _title(group: str) -> list[str]:
    """Return the title of an axis; long names are cut, and whole in the tables."""
    name, hint = f"Utility of {group}", "(higher is better)"
    if len(name) + len(hint) < TITLE_WIDTH:
        return [f"{name} {hint}"]
    return [name if len(name) <= TITLE_WIDTH else f"{name[: TITLE_WIDTH - 1]}…", hint]


def specification(chart: alt.LayerChart | alt.FacetChart) -> dict[str, Any]:
    """Return the Vega-Lite specification, in the colours of the page's text.

    Each ``configure`` of Altair would copy the chart with its data. Its check against
    the schema is for mistakes in this module, and is left to the tests.
    """
    import altair as alt

    chart.config = alt.Config(
        background="transparent",
        font="system-ui, sans-serif",
        autosize={"type": "fit", "contains": "padding"},
        padding=4,
        axis=alt.AxisConfig(
            labelColor=INK, titleColor=INK, tickColor=INK, domainColor=INK,
            gridColor=INK, gridOpacity=0.12, tickOpacity=0.4, domainOpacity=0.4,
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal",
            titlePadding=8, labelSeparation=8,
        ),
        view=alt.ViewConfig(stroke=None),
    )  # fmt: skip
    specification: dict[str, Any] = chart.to_dict(validate=False)
    return specification
