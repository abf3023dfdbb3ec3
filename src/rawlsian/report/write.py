"""Write the page: data, figures, style and script in one HTML file."""

from __future__ import annotations

import html
import json
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from rawlsian.report.charts import page_charts
from rawlsian.report.contents import Page
from rawlsian.report.curves import curves_data
from rawlsian.report.data import page_data


def page_html(page: Page) -> str:
    """Return a page as one HTML file, which needs no network.

    Parameters
    ----------
    page : Page
        Contents of the page.

    Returns
    -------
    str
        Text of the file; write it as UTF-8.

    Raises
    ------
    ImportError
        If altair or vl-convert is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from rawlsian import traverse
    >>> from rawlsian.report import Attribute, Page, page_html, trajectory_way
    >>> X = np.array([[0.0], [0.1], [0.2], [0.9], [1.0]])
    >>> walk = traverse(X, [0, 0, 0, 1, 1], list("abaab"), max_distance=1)
    >>> page = Page(
    ...     title="Five people", summary=("Two sentences", "that say what changed."),
    ...     groups=("a", "b"), group_codes=np.array([0, 1, 0, 0, 1]), max_distance=1.0,
    ...     cluster_names=("0", "1"), X=X,
    ...     attributes=(Attribute("age", None, lowest=20.0, spread=50.0),),
    ...     ways=(trajectory_way(walk, "One step at a time"),),
    ... )
    >>> page_html(page).startswith("<!doctype html>")
    True
    """
    require_altair()
    contents = {
        **page_data(page),
        "charts": page_charts(page),
        "curves": curves_data(page.curves),
        "newPeople": None if page.new_people is None else asdict(page.new_people),
    }
    title = html.escape(page.title).encode("ascii", "xmlcharrefreplace").decode()
    return Template(_text("page.html")).substitute(
        title=title,
        style=_text("page.css"),
        data=_as_json(contents),
        bundle=_bundle(),
        script=_text("page.js"),
    )


def require_altair() -> None:
    """Raise an ImportError that names the extra if altair is not installed."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "the page needs altair, which is not installed; "
            "pip install 'rawlsian[report]' brings it."
        ) from error


def _text(name: str) -> str:
    return files("rawlsian.report").joinpath(name).read_text(encoding="utf-8")


def _as_json(contents: dict[str, Any]) -> str:
    """Return JSON without signs that could end the enclosing script element."""
    text = json.dumps(contents, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


@cache
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed in the version that altair targets."""
    import altair
    import vl_convert

    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
