"""Page in a real browser."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil

import numpy as np
import pytest

from rawlsian._tables.write import as_cell
from rawlsian.report import Attribute, Curve, Curves, page_html
from support.pages import make_page

NO_BROWSER = "no Chromium: apt-get install chromium (Debian) or set RAWLSIAN_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip


def find_chromium():
    named = os.environ.get("RAWLSIAN_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def browser():
    if find_chromium() is None:
        pytest.skip(NO_BROWSER)
    playwright = pytest.importorskip("playwright.sync_api", reason=NO_BROWSER)
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=find_chromium(), args=QUIET)
        yield chromium
        chromium.close()


class Opened:
    """Page opened from disk; records its requests and its errors."""

    def __init__(self, tab, address):
        self.tab, self.address = tab, address
        self.requests, self.complaints = [], []
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("console", lambda message: self.complaints.append(message.text))
        tab.goto(address)
        tab.wait_for_selector("body:not([aria-busy])")

    def text(self, selector):
        return self.tab.inner_text(selector)

    def figures(self):
        """Return the marks of each figure."""
        drawings = self.tab.locator(".figure svg").all()
        return [drawing.inner_html() for drawing in drawings]

    def figures_other_than(self, before):
        """Wait until all figures differ from `before`, and return them."""
        self.tab.wait_for_function(
            "before => [...document.querySelectorAll('.figure svg')]"
            ".every((svg, i) => svg.innerHTML !== before[i])",
            arg=before,
            timeout=5000,
        )
        return self.figures()

    def download(self):
        with self.tab.expect_download() as started:
            self.tab.click("#download")
        with open(started.value.path(), newline="", encoding="utf-8") as file:
            return file.read()


@pytest.fixture
def open_page(browser, tmp_path):
    contexts = []

    def open_it(page, **settings):
        file = tmp_path / "page.html"
        file.write_text(page_html(page), encoding="utf-8")
        contexts.append(browser.new_context(**settings))
        return Opened(contexts[-1].new_page(), file.as_uri())

    yield open_it
    for context in contexts:
        context.close()


def opened_once(browser, tmp_path_factory, page):
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(page_html(page), encoding="utf-8")
    with browser.new_context() as context:
        yield Opened(context.new_page(), file.as_uri())


@pytest.fixture(scope="module")
def only_page(browser, tmp_path_factory):
    yield from opened_once(browser, tmp_path_factory, make_page())


@pytest.fixture
def opened(only_page):
    """Return the page of make_page(), reset, because opening takes a second."""
    tab = only_page.tab
    tab.emulate_media(media="screen", color_scheme="light")
    tab.set_viewport_size({"width": 1200, "height": 700})
    tab.check("text=Step by step")
    tab.press("#slider", "End")
    return only_page


def page_of_many():
    """Return a page of three groups and many clusters, whose rows have no names."""
    return make_page(
        n_groups=3, n_clusters=20, n_rows=200, row_names=None,
        row_numbers=np.arange(200) * 2 + 5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def many(browser, tmp_path_factory):
    yield from opened_once(browser, tmp_path_factory, page_of_many())


def test_opens_from_disk_without_complaint(opened):
    assert opened.text("h1") == "Clusters of people"
    assert "The lowest utility rose." in opened.text("#summary")
    assert "Columns not used" in opened.text("#notes")
    assert opened.complaints == []


def test_no_request_leaves(opened):
    opened.tab.press("#slider", "Home")
    opened.download()

    elsewhere = [
        url for url in opened.requests if not url.startswith(("data:", "blob:"))
    ]
    assert elsewhere == [opened.address]


def test_tells_the_step_the_lowest_utility_and_who_moved(opened):
    page = make_page()
    way = page.ways[0]
    lowest = int(np.argmin(way.utilities[-1]))
    moved = int((way.labels[-1] != way.labels[0]).sum())

    assert opened.text("#status") == (
        f"Step 8 of 8: lowest utility {way.utilities[-1].min():.4f} (group {lowest}), "
        f"overall {way.overall[-1]:.4f}; {moved} people moved"
    )


def test_the_keyboard_moves_the_slider(opened):
    places = []
    for key in ["ArrowLeft", "Home", "ArrowRight", "End"]:
        opened.tab.press("#slider", key)
        places.append(opened.text("#status").split(":")[0])

    assert places == ["Step 6 of 8", "Step 0 of 8", "Step 2 of 8", "Step 8 of 8"]


def test_buttons_move_the_slider_and_stop_at_the_ends(opened):
    opened.tab.click("#first")
    assert opened.tab.is_disabled("#previous")
    opened.tab.click("#next")

    assert opened.text("#status").startswith("Step 2 of 8")
    assert opened.tab.input_value("#slider") == "1"


def test_tables_follow_the_slider(opened):
    page = make_page()

    opened.tab.press("#slider", "ArrowLeft")

    way, point = page.ways[0], len(page.ways[0].labels) - 2
    rows = opened.tab.locator("#groups-table tbody tr").all_inner_texts()
    start, now = way.utilities[0, 0], way.utilities[point, 0]
    assert rows[0].split("\t")[2:4] == [f"{start:.4f}", f"{now:.4f}"]
    assert rows[int(np.argmin(way.utilities[point]))].split("\t")[0].endswith(" lowest")
    clusters = opened.tab.locator("#clusters-table tbody tr").all_inner_texts()
    sizes = [row.split("\t")[1] for row in clusters]
    assert sizes == [str((way.labels[point] == k).sum()) for k in range(3)]
    stayed = (way.labels[0] == 0) & (way.labels[point] == 0)
    moved = opened.tab.locator("#moved-table tbody tr").first.inner_text()
    assert moved.split("\t")[1] == str(stayed.sum())


def test_figures_follow_the_slider(opened):
    before = opened.figures()

    opened.tab.press("#slider", "Home")

    after = opened.figures_other_than(before)
    assert len(after) == 4


def test_another_way_changes_text_tables_and_figures(opened):
    page = make_page()
    before = opened.figures()

    opened.tab.check("text=The trade-off")

    assert opened.text("#status").startswith("Point 3 of 3: lowest utility")
    assert f"{page.ways[1].overall[0]:.4f}" in opened.text("#groups-table")
    opened.figures_other_than(before)


def test_coming_back_shows_what_was_there_before(opened):
    before = opened.figures()

    opened.tab.check("text=The trade-off")
    away = opened.figures_other_than(before)
    opened.tab.check("text=Step by step")

    assert opened.figures_other_than(away) == before


def test_a_click_near_a_step_goes_there(opened):
    opened.tab.press("#slider", "Home")
    drawing = opened.tab.locator("#along-figure svg")
    right = drawing.bounding_box()["width"] - 10

    drawing.click(position={"x": right, "y": 100})

    assert opened.text("#status").startswith("Step 8 of 8")


def test_a_click_on_a_point_goes_there(opened):
    # Dots of the first way are drawn in order; take the second.
    dots = opened.tab.locator("#panels g.mark-symbol").nth(1).locator("path")
    dots.nth(1).dispatch_event("click")

    assert opened.text("#status").startswith("Step 2 of 8")


def test_cards_tell_shares_and_means(opened):
    page = make_page()
    cards = opened.text("#cards")

    members = page.X[page.ways[0].labels[-1] == 0]
    age = 20 + 60 * members[:, 0].mean()
    everyone = 20 + 60 * page.X[:, 0].mean()
    assert f"age: {age:.3g} (everyone {everyone:.3g})" in cards
    assert re.search(r"colour [rgb]: \d+(\.\d)?\s% \(everyone \d+\s%\)", cards)
    assert "constant" not in cards


def test_the_download_has_every_label_in_order(opened):
    page = make_page()

    opened.tab.press("#slider", "ArrowLeft")
    rows = list(csv.reader(io.StringIO(opened.download())))

    assert rows[0] == ["row", "id", "cluster"]
    labels = page.ways[0].labels[-2]
    expected = [[str(i + 1), f"row {i}", str(k)] for i, k in enumerate(labels)]
    assert rows[1:] == expected


def test_no_cell_of_the_download_is_a_formula_and_none_of_the_file(open_page):
    names = (
        "=cmd|' /C calc'!A0",
        "-1.5",
        "@a",
        '+"b"',
        "\tc",
        "a,b",
        *("+1e5", "-inf", "-1_0", "-.5", "+", "=", "-1.", "--1", "@", "-\uff11"),
        *map(str, range(44)),
    )
    text = open_page(make_page(row_names=names)).download()

    cells = [row[1] for row in csv.reader(io.StringIO(text, newline=""))][1:]
    assert cells == [as_cell(name) for name in names]
    assert cells[:3] == ["'=cmd|' /C calc'!A0", "-1.5", "'@a"]
    assert text.endswith("\r\n")


def test_names_that_look_like_markup_are_shown_and_run_nothing(open_page):
    name = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
    page = make_page(
        title=name, summary=(name,), facts=((name, name),), groups=(name, "a.b['c']\\"),
        cluster_names=(name, "</script>", '"'), notes=((name, (name,)),),
        methods=(name,), limits=(name,), bound=(name, 3.3), row_header=name,
        attributes=(
            Attribute(name, None, 0.0, 1.0),
            *(Attribute(name, level, 0.0, 2**-0.5) for level in [name, "'", '"']),
            Attribute("constant", None, 0.1, 0.0),
        ),
    )  # fmt: skip

    opened = open_page(page)
    opened.tab.press("#slider", "Home")

    assert opened.tab.evaluate("window.hacked") is None
    assert opened.tab.locator("img").count() == 0
    assert opened.complaints == []
    for selector in ["h1", "#facts", "#groups-table", "#cards", "#notes", "#limits"]:
        assert name in opened.text(selector)


def luminance(opened, selector, what):
    colour = opened.tab.eval_on_selector(
        selector, f"part => getComputedStyle(part).{what}"
    )
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


@pytest.mark.parametrize(("scheme", "is_light"), [("dark", True), ("light", False)])
def test_text_and_axes_suit_the_colour_scheme(opened, scheme, is_light):
    opened.tab.emulate_media(color_scheme=scheme)

    label = "#panels .role-axis-label text"
    for part, what in [("body", "color"), (label, "fill")]:
        assert (luminance(opened, part, what) > 128) == is_light
    assert (luminance(opened, "body", "backgroundColor") < 128) == is_light


def test_nothing_is_wider_than_a_phone(open_page):
    groups = tuple(f"a group with quite a long name, number {g}" for g in range(6))
    page = make_page(n_groups=6, n_clusters=9, groups=groups)

    opened = open_page(page, viewport={"width": 360, "height": 640})

    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_window_that_becomes_narrow_keeps_everything_inside(opened):
    opened.tab.set_viewport_size({"width": 360, "height": 640})

    opened.tab.wait_for_function("document.documentElement.scrollWidth <= 360")
    drawings = opened.tab.locator(".figure svg").all()
    widths = [drawing.bounding_box()["width"] for drawing in drawings]
    assert max(widths) <= 328  # 360 less the margins


def test_controls_stay_in_view_on_a_wide_screen(opened):
    opened.tab.evaluate("window.scrollTo(0, document.body.scrollHeight)")

    assert opened.tab.locator("#slider").bounding_box()["y"] >= 0


def test_print_has_no_controls_and_black_text(opened):
    opened.tab.emulate_media(media="print", color_scheme="dark")

    assert not opened.tab.is_visible("#slider")
    assert not opened.tab.is_visible("#download")
    assert opened.tab.is_visible("#status")
    assert luminance(opened, "body", "color") == 0


def test_three_groups_have_two_panels(many):
    assert many.tab.locator("#panels svg").count() == 2
    assert many.complaints == []


def test_many_clusters_show_the_largest_flows(many):
    assert "The table has the largest flows." in many.text("#moved-text")
    assert many.tab.locator("#moved-table tbody tr").count() <= 20


def test_the_download_of_another_way_has_its_labels(many):
    labels = page_of_many().ways[1].labels[-1]

    many.tab.check("text=The trade-off")
    rows = list(csv.reader(io.StringIO(many.download())))
    many.tab.check("text=Step by step")

    assert rows[1:] == [[str(2 * i + 5), str(k)] for i, k in enumerate(labels)]


def test_one_group_has_no_plane(open_page):
    opened = open_page(make_page(n_groups=1))

    assert not opened.tab.is_visible("#space")
    assert opened.tab.is_visible("#along-figure svg")
    assert opened.complaints == []


def test_one_clustering_has_no_slider_and_nothing_to_compare(open_page):
    opened = open_page(make_page(kind="one", n_points=(1,)))

    assert not opened.tab.is_visible("#slider")
    assert not opened.tab.is_visible("#moved")
    assert opened.text("#groups-table thead").split() == ["Group", "People", "Utility"]
    assert opened.text("#status").startswith("This clustering: lowest utility")
    assert opened.complaints == []


def test_curves_show_how_the_number_of_clusters_was_chosen(open_page):
    curves = Curves(
        (1, 2, 3),
        3,
        (
            Curve("Silhouette", "higher", (None, 0.5, 0.25), 2),
            Curve("Held-out cost", "lower", (0.9, 0.4, 0.3), None),
            Curve("No cost", "lower", (None, None, None), None),
        ),
        ("Worst-off group", ("<b>f</b>", "f", "m")),
        ("Three is enough.",),
    )

    opened = open_page(make_page(curves=curves))

    assert opened.complaints == []
    assert opened.tab.locator("#curves svg[class=marks]").count() == 3
    assert opened.text("#curves-texts") == "Three is enough."
    dash = "\N{EN DASH}"
    rows = [row.split() for row in opened.text("#curves-table tbody").splitlines()]
    assert rows == [
        ["1", dash, "0.9000", dash, "<b>f</b>"],
        ["2", "takes", "0.5000", "0.4000", dash, "f"],
        ["3,", "used", "0.2500", "0.3000", dash, "m"],
    ]
    captions = opened.tab.locator("#curves-panels .caption").all_inner_texts()
    assert captions == ["Higher is better; takes 2.", *["Lower is better."] * 2]


def test_a_page_without_a_choice_has_no_curves(opened):
    assert not opened.tab.is_visible("#curves")


def test_labels_that_are_not_carried_cannot_be_downloaded(open_page, monkeypatch):
    monkeypatch.setattr("rawlsian.report.labels.LIMIT", 10)

    opened = open_page(make_page())

    assert opened.tab.is_disabled("#download")
    assert "does not carry the labels" in opened.text("#left-out")
