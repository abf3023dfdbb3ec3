"""Section of a page on the choice of the number of clusters."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rawlsian.report.charts import NOW, WAY_COLOURS, specification
from rawlsian.report.contents import Curve, Curves
from rawlsian.report.looks import INK

if TYPE_CHECKING:
    import altair as alt


def curves_data(curves: Curves | None) -> dict[str, Any] | None:
    """Return texts, numbers and figures of the section; None if there is none."""
    if curves is None:
        return None
    figures = [_figure(curves, curve) for curve in curves.curves]
    return {**asdict(curves), "figures": figures, "colour": WAY_COLOURS[0]}


def _figure(curves: Curves, curve: Curve) -> dict[str, Any]:
    """Draw one curve, the number that it takes, and the number that is used."""
    import altair as alt

    points = [
        {"k": number, "v": value}
        for number, value in zip(curves.numbers, curve.values, strict=True)
        if value is not None
    ]
    x = alt.X(
        "k:Q",
        title="Clusters",
        axis=alt.Axis(tickMinStep=1, format="d", grid=False),
        scale=alt.Scale(
            domain=[curves.numbers[0], curves.numbers[-1]], nice=False, padding=8
        ),
    )
    used = alt.Chart(alt.InlineData(values=[{"k": curves.used}], name="used"))
    rule = used.mark_rule(color=INK, strokeDash=[2, 3], aria=False).encode(x=x)
    y = alt.Y("v:Q", title=None, scale=alt.Scale(zero=False))
    marks = [each.encode(x=x, y=y) for each in _marks(points, curve.taken)]
    chart = alt.layer(rule, *marks).properties(width="container", height=220)
    return specification(chart)


def _marks(points: list[dict[str, float]], taken: int | None) -> list[alt.Chart]:
    """Draw a line with dots, and a diamond. Vega warns of marks without points."""
    import altair as alt

    if not points:
        return []
    line = alt.Chart(alt.InlineData(values=points, name="curve"))
    colour = WAY_COLOURS[0]
    marks = [
        line.mark_line(color=colour, aria=False),
        line.mark_circle(color=colour, size=40, opacity=1, aria=False),
    ]
    if taken is not None:
        best = [each for each in points if each["k"] == taken]
        diamond = alt.Chart(alt.InlineData(values=best, name="taken")).mark_point(
            shape="diamond", size=200, filled=True, color=NOW, opacity=1, stroke=INK,
            strokeWidth=1.5, aria=False,
        )  # fmt: skip
        marks.append(diamond)
    return marks
