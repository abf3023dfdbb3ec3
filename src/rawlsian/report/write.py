"""Write the page: data, figures, style and script in one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from rawlsian.report.answer import answer_data
from rawlsian.report.charts import page_charts
from rawlsian.report.contents import Page
from rawlsian.report.curves import curves_data
from rawlsian.report.data import page_data
from rawlsian.report.labels import explored, pack_rows
from rawlsian.report.looks import look
from rawlsian.report.people_map import map_data
from rawlsian.report.shown import clusterings_of, shown_data

# Joined in this order; the scripts share one function's scope.
STYLES = ("base.css", "parts.css", "print.css")
SCRIPTS = ("elements.js", "answer.js", "people.js", "explore.js", "main.js")


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
    contents = page_contents(page)
    needs_vega = contents["charts"] is not None or contents["curves"] is not None
    title = html.escape(page.title).encode("ascii", "xmlcharrefreplace").decode()
    style, script = "".join(map(_text, STYLES)), _script()
    bundle = _bundle() if needs_vega else ""
    return Template(_text("page.html")).substitute(
        title=title,
        style=style,
        data=_as_json(contents),
        bundle=bundle,
        script=script,
        # The browser runs and applies these texts, and nothing else.
        scripts=f"{_hash(script)} {_hash(bundle)}",
        styles=_hash(style),
    )


def page_contents(page: Page) -> dict[str, Any]:
    """Return all data of the page's scripts as plain lists, texts and numbers."""
    shown = clusterings_of(page)
    n_looks = max(len(page.groups), len(page.cluster_names))
    return {
        **page_data(page),
        **answer_data(page),
        **pack_rows(page, shown[-1].labels),
        "shown": shown_data(page, shown),
        "map": map_data(page, shown),
        "looks": [look(place) for place in range(n_looks)],
        "charts": page_charts(page) if explored(page) else None,
        "curves": curves_data(page.curves),
        "newPeople": None if page.new_people is None else asdict(page.new_people),
    }


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


def _script() -> str:
    """Return all scripts in the scope of one function."""
    # Names of users enter the page as text and the figures as values, never as HTML.
    inside = "\n".join(map(_text, SCRIPTS))
    return f'"use strict";\n(() => {{\n{inside}}})();\n'


def _hash(text: str) -> str:
    """Return the source of a Content-Security-Policy that admits a text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


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
