"""Page in a real browser."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rawlsian._tables.write import as_cell
from rawlsian.report import Attribute, Curve, Curves, GroupFit, Tile, page_html
from support.pages import (
    make_audit_page,
    make_fit_page,
    make_fits,
    make_option,
    make_page,
)

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
        self._listeners = {
            "request": lambda request: self.requests.append(request.url),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "console": lambda message: self.complaints.append(message.text),
        }
        for event, listener in self._listeners.items():
            tab.on(event, listener)
        tab.goto(address)
        tab.wait_for_selector("body:not([aria-busy])")

    def leave(self):
        """Hear no more of the tab, in which another page may be opened."""
        for event, listener in self._listeners.items():
            self.tab.remove_listener(event, listener)

    def text(self, selector):
        return self.tab.inner_text(selector)

    def rows(self, selector):
        """Return the cells of each row of a table's body."""
        rows = self.tab.locator(f"{selector} tbody tr").all_inner_texts()
        return [[cell.strip() for cell in row.split("\t")] for row in rows]

    def open_fold(self, selector):
        self.tab.click(f"{selector} > summary")
        self.tab.wait_for_selector(f"{selector}[open]:not([aria-busy])")

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

    def download(self, button="#download"):
        with self.tab.expect_download() as started:
            self.tab.click(button)
        with open(started.value.path(), newline="", encoding="utf-8") as file:
            return file.read()


WINDOW = {"width": 1200, "height": 700}


@pytest.fixture(scope="module")
def context(browser):
    with browser.new_context(viewport=WINDOW) as context:
        yield context


@pytest.fixture(scope="module")
def spare(context):
    """Return a tab for pages of one test; a tab of its own would take as long again."""
    return context.new_page()


def write_page(folder, page):
    """Write a page; return its address."""
    file = folder / "page.html"
    file.write_text(page_html(page), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def open_page(spare, tmp_path):
    found = []

    def open_it(page, window=WINDOW):
        spare.set_viewport_size(window)
        found.append(Opened(spare, write_page(tmp_path, page)))
        return found[-1]

    yield open_it
    for opened in found:
        opened.leave()


@pytest.fixture(scope="module")
def open_tab(context, tmp_path_factory):
    """Return a function that opens a page in a tab of its own."""

    def open_it(page):
        address = write_page(tmp_path_factory.mktemp("page"), page)
        return Opened(context.new_page(), address)

    return open_it


@pytest.fixture(scope="module")
def only_page(open_tab):
    return open_tab(make_page())


@pytest.fixture
def opened(only_page):
    """Return the page of make_page(), reset, because opening takes a second."""
    tab = only_page.tab
    tab.emulate_media(media="screen", color_scheme="light")
    tab.set_viewport_size(WINDOW)
    tab.check("label:has-text('Step by step')")
    tab.press("#slider", "End")
    return only_page


@pytest.fixture(scope="module")
def pages(open_tab):
    """Return a function that opens a page of a kind and a number of groups once."""
    make = {"fit": make_fit_page, "audit": make_audit_page}
    return cache(lambda kind, n_groups: open_tab(make[kind](n_groups)))


@pytest.fixture
def fit(pages):
    """Return the page of a fit with two groups."""
    return pages("fit", 2)


def page_of_many():
    """Return a page of three groups and many clusters, whose rows have no names."""
    return make_page(
        n_groups=3, n_clusters=20, n_rows=200, row_names=None,
        row_numbers=np.arange(200) * 2 + 5,
    )  # fmt: skip


@pytest.fixture(scope="module")
def many(open_tab):
    return open_tab(page_of_many())


KINDS = [(kind, n) for kind in ("fit", "audit") for n in (2, 5, 12)]


def test_opens_from_disk_without_complaint(opened):
    assert opened.text("h1") == "Clusters of people"
    assert "The lowest utility rose." in opened.text("#summary")
    assert "Columns not used" in opened.text("#notes")
    assert opened.complaints == []


@pytest.mark.parametrize(("kind", "n_groups"), KINDS)
def test_pages_of_few_and_many_groups_open_without_complaint(pages, kind, n_groups):
    opened = pages(kind, n_groups)

    assert opened.complaints == []
    assert opened.requests == [opened.address]
    assert opened.tab.locator("#fits-chart .fit:not(.axis)").count() == n_groups


@pytest.mark.parametrize(("kind", "n_groups"), KINDS)
def test_no_page_has_an_empty_panel(pages, kind, n_groups):
    empty = pages(kind, n_groups).tab.evaluate(
        """() => [...document.querySelectorAll(
            "main > *, article, figure, .composition, .fit, #maps svg, .likes"
        )].filter((part) => part.checkVisibility()).filter((part) => {
            const { width, height } = part.getBoundingClientRect();
            const isDrawn = part.querySelector("circle, rect, path");
            const isText = (part.innerText || "").trim() !== "";
            return width < 1 || height < 1 || !(isText || isDrawn);
        }).map((part) => part.outerHTML.slice(0, 80))"""
    )

    assert empty == []


def test_an_audit_has_no_comparison_and_no_slider(pages):
    audit = pages("audit", 2)

    for selector in ["#options", "#explore", "#curves", "#new-people", "#slider"]:
        assert not audit.tab.is_visible(selector)
    assert audit.tab.locator("#maps svg").count() == 1
    assert audit.tab.locator(".composition").count() == 1
    assert "After" not in audit.text("main")


# --- Verdict, tiles and the chart of all groups ---


def test_the_verdict_and_the_tiles_come_first(fit):
    first = fit.text("header")

    assert "Group 0 is served worst; its gap can be halved." in first
    assert fit.tab.locator(".tile").count() == 4
    assert "24.9 → 9.8" in fit.text(".tile")


def test_the_chart_and_its_table_have_every_group(pages):
    opened = pages("fit", 5)

    opened.tab.click("#fits .numbers summary")

    rows = opened.rows("#fits-table")
    assert rows[0] == ["group 0", "30", "130.0", "124.0 to 136.0", "122.0",
                       "124.0 to 136.0", "\N{MINUS SIGN}8.0"]  # fmt: skip
    assert len(rows) == 5


def dots_of(opened, kind):
    """Return how far to the right each dot lies, in whole pixels."""
    dots = opened.tab.locator(f"#fits-chart .{kind}-dot").all()
    return [round(dot.bounding_box()["x"]) for dot in dots]


def test_dots_that_are_closer_lie_farther_left(fit):
    before, after = (dots_of(fit, kind) for kind in ("before", "after"))

    assert before[0] > before[1]
    assert all(a < b for a, b in zip(after, before, strict=True))


def test_ties_are_shown_as_ties(open_page):
    fits = (
        GroupFit("group 0", 30, 120.0, None, 98.04),
        GroupFit("group 1", 30, 90.0, None, 97.96),
    )

    opened = open_page(make_fit_page(group_fits=fits))

    assert len(set(dots_of(opened, "after"))) == 1
    assert len(set(dots_of(opened, "before"))) == 2
    assert opened.tab.locator("#fits-chart .tag").all_inner_texts() == ["tie", "tie"]
    assert "group 0 and group 1 tie at 98.0." in opened.text("#fits-caption")


def test_groups_of_too_few_people_are_faint_and_without_interval(open_page):
    opened = open_page(make_fit_page(3, group_fits=make_fits(3, n_small=1)))

    last = opened.tab.locator("#fits-chart .fit.small")
    assert "too few people (30)" in last.inner_text()
    assert last.locator(".before-bar").count() == 0


def test_a_distance_beyond_the_chart_is_a_triangle_and_no_dot(open_page):
    *fits, small = make_fits(3, n_small=1)
    opened = open_page(make_fit_page(3, group_fits=(*fits, replace(small, before=900))))

    last = opened.tab.locator("#fits-chart .fit.small")
    assert last.locator("path.before-dot").count() == 1
    assert last.locator("circle.before-dot").count() == 0
    assert "beyond the chart" in opened.text("#fits-caption")


# --- Options ---


def test_options_are_cards_with_what_they_cost_and_gain(fit):
    cards = fit.tab.locator(".option").all_inner_texts()

    assert [card.split("Option ")[1].split()[0] for card in cards] == [
        "keep", "recommended", "most",
    ]  # fmt: skip
    assert "Recommended" in cards[1]
    assert "Chosen" in cards[1]
    assert "Chosen" not in cards[0] + cards[2]
    assert "\N{MINUS SIGN}6.0%" in cards[1]
    assert "30 (50%)" in cards[1]


def test_bars_of_groups_that_come_closer_point_left(fit):
    bars = {
        key: fit.tab.locator(f"[data-option={key}] .change rect").first.bounding_box()
        for key in ("recommended", "most")
    }
    middle = {
        key: fit.tab.locator(f"[data-option={key}] .zero").first.bounding_box()["x"]
        for key in bars
    }

    left, right = bars["recommended"], bars["most"]
    assert left["x"] + left["width"] == pytest.approx(middle["recommended"], abs=2)
    assert right["x"] == pytest.approx(middle["most"], abs=2)


# --- Map, clusters and composition ---


def test_the_map_is_coloured_by_cluster_group_or_fit(pages):
    opened = pages("fit", 5)

    colours = {}
    for by in ("fit", "group", "cluster"):
        opened.tab.click(f"[data-by={by}]")
        pressed = opened.tab.locator("#map-colours [aria-pressed=true]")
        assert pressed.get_attribute("data-by") == by
        colours[by] = opened.tab.eval_on_selector_all(
            "[data-map='1'] .dots > *",
            "dots => dots.map((dot) => getComputedStyle(dot).fill)",
        )

    assert len(colours["fit"]) == 60
    assert {by: len(set(fills)) for by, fills in colours.items()} == {
        "fit": 7, "group": 5, "cluster": 3,
    }  # fmt: skip


def test_the_keyboard_colours_the_map(fit):
    fit.tab.focus("[data-by=fit]")
    fit.tab.keyboard.press("Enter")
    assert "far from it" in fit.text("#map-legend")

    fit.tab.keyboard.press("Shift+Tab")
    fit.tab.keyboard.press("Space")

    assert "group 1" in fit.text("#map-legend")
    fit.tab.click("[data-by=cluster]")


def test_a_key_of_the_map_shows_its_dots_alone(fit):
    page = make_fit_page()
    key = fit.tab.locator("#map-legend button").first

    key.click()

    n_others = int((page.after.labels != 0).sum())
    assert key.get_attribute("aria-pressed") == "true"
    assert fit.tab.locator("[data-map='1'] .off").count() == n_others
    key.click()
    assert fit.tab.locator("[data-map='1'] .off").count() == 0


def test_maps_before_and_after_are_side_by_side_or_below_each_other(fit):
    def corners():
        boxes = [svg.bounding_box() for svg in fit.tab.locator("#maps > * > svg").all()]
        return [(round(box["x"]), round(box["y"])) for box in boxes]

    fit.tab.set_viewport_size(WINDOW)
    (left, top), (right, same) = corners()
    assert left < right
    assert top == same

    fit.tab.set_viewport_size({"width": 360, "height": 700})
    (left, top), (same, below) = corners()
    assert left == same
    assert top < below
    fit.tab.set_viewport_size(WINDOW)


def test_twelve_groups_can_be_told_apart_in_bars_and_on_the_map(pages):
    opened = pages("fit", 12)

    fills = opened.tab.eval_on_selector_all(
        "#composition-legend li",
        "keys => keys.map((key) => [...key.querySelectorAll('rect')]"
        ".map((rect) => rect.getAttribute('fill')).join(' '))",
    )
    opened.tab.click("[data-by=group]")
    marks = opened.tab.eval_on_selector_all(
        "#map-legend path",
        "marks => marks.map((mark) => mark.outerHTML)",
    )

    assert len(set(fills)) == 12
    assert len({fill.split()[0] for fill in fills}) == 12
    assert {fill.partition(" ")[2] for fill in fills} == {
        "", "url(#pattern-rising)", "url(#pattern-dots)",
    }  # fmt: skip
    assert len(set(marks)) == 12
    assert opened.text("#composition-legend").splitlines()[11] == "12 group 11"


def test_the_composition_has_the_index_of_separation_and_its_formula(fit):
    assert fit.tab.locator(".composition h3").all_inner_texts() == [
        "K-means\nseparation 0.34", "Recommended\nseparation 0.34",
    ]  # fmt: skip
    assert "half the sum of all differences" in fit.text("#separation-text")


def test_the_table_below_the_composition_has_the_counts(fit):
    page = make_fit_page()

    fit.tab.click("#composition .numbers summary")

    first, second = fit.tab.locator(".counts-table").all()
    for table, shown in [(first, page.before), (second, page.after)]:
        sizes = [
            row.split("\t")[1] for row in table.locator("tbody tr").all_inner_texts()
        ]
        assert sizes == [str((shown.labels == k).sum()) for k in range(3)]


def test_bars_of_a_composition_fill_its_width(fit):
    bar = fit.tab.locator(".composition svg").first.locator("rect")
    shares = [float(rect.get_attribute("width").rstrip("%")) for rect in bar.all()]

    assert len(shares) == 2
    assert sum(shares) == pytest.approx(100)


# --- Folds ---


def test_with_options_the_slider_is_in_a_closed_fold(fit):
    assert fit.tab.is_visible("#explore > summary")
    assert not fit.tab.is_visible("#slider")
    assert fit.tab.evaluate("window.vegaEmbed") is None


def test_a_fold_draws_its_figures_when_it_is_opened(open_page):
    opened = open_page(make_fit_page())

    opened.open_fold("#explore")

    assert opened.tab.is_visible("#slider")
    assert opened.tab.locator("#panels svg").count() == 1
    assert opened.tab.locator("#along-figure svg").count() == 1
    opened.tab.press("#slider", "Home")
    assert opened.text("#status").startswith("Step 0 of 8")
    assert opened.complaints == []


def test_the_slider_opens_at_the_chosen_point(open_page):
    page = make_fit_page()
    chosen = replace(page.ways[0], opens_at=3)
    opened = open_page(replace(page, ways=(chosen, *page.ways[1:])))

    opened.open_fold("#explore")

    assert opened.text("#status").startswith("Step 6 of 8")  # steps 0, 2, 4, 6, 8


def test_without_options_the_fold_is_open(opened):
    assert opened.tab.is_visible("#slider")


def test_the_last_section_has_facts_and_provenance(fit):
    facts = fit.text("#facts").splitlines()

    assert facts[facts.index("Rows") + 1] == "60"
    assert facts[facts.index("Command") + 1] == "rawlsian fit a.csv"
    sections = fit.tab.locator("main > section:visible h2").all_inner_texts()
    assert sections[-1] == "How this page was made"


# --- Slider ---


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
    rows = opened.rows("#groups-table")
    start, now = way.utilities[0, 0], way.utilities[point, 0]
    assert rows[0][2:4] == [f"{start:.4f}", f"{now:.4f}"]
    assert rows[int(np.argmin(way.utilities[point]))][0].endswith(" lowest")
    sizes = [row[1] for row in opened.rows("#clusters-table")]
    assert sizes == [str((way.labels[point] == k).sum()) for k in range(3)]
    stayed = (way.labels[0] == 0) & (way.labels[point] == 0)
    assert opened.rows("#moved-table")[0][1] == str(stayed.sum())


def test_figures_follow_the_slider(opened):
    before = opened.figures()

    opened.tab.press("#slider", "Home")

    after = opened.figures_other_than(before)
    assert len(after) == 2


def test_another_way_changes_text_tables_and_figures(opened):
    page = make_page()
    before = opened.figures()

    opened.tab.check("label:has-text('The trade-off')")

    assert opened.text("#status").startswith("Point 3 of 3: lowest utility")
    assert f"{page.ways[1].overall[0]:.4f}" in opened.text("#groups-table")
    opened.figures_other_than(before)


def test_coming_back_shows_what_was_there_before(opened):
    before = opened.figures()

    opened.tab.check("label:has-text('The trade-off')")
    away = opened.figures_other_than(before)
    opened.tab.check("label:has-text('Step by step')")

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
    assert f"age\n{age:.3g} everyone {everyone:.3g}" in cards
    assert re.search(r"colour [rgb]\n\d+(\.\d)?% everyone \d+%", cards)
    assert "constant" not in cards


# --- Download ---


def test_the_labels_of_the_clusters_shown_can_be_downloaded(pages):
    for kind, make in [("fit", make_fit_page), ("audit", make_audit_page)]:
        page = make()

        rows = csv.reader(io.StringIO(pages(kind, 2).download("#download-shown")))

        labels = (page.after or page.before).labels
        assert [row[2] for row in rows][1:] == list(map(str, labels))


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
        verdict=name, tiles=(Tile(name, name, name),), level_text=name,
        group_fits=(GroupFit(name, 3, 120.0, None, 90.0),),
        options=(make_option("x'\"]", 2, -3.0, title=name, text=name),),
        provenance=((name, name),), separation_text=name,
        cluster_names=(name, "</script>", '"'), notes=((name, (name,)),),
        methods=(name,), limits=(name,), bound=(name, 3.3), row_header=name,
        attributes=(
            Attribute(name, None, 0.0, 1.0),
            *(Attribute(name, level, 0.0, 2**-0.5) for level in [name, "'", '"']),
            Attribute("constant", None, 0.1, 0.0),
        ),
    )  # fmt: skip

    opened = open_page(page)
    opened.open_fold("#explore")
    opened.tab.press("#slider", "Home")
    opened.tab.click("[data-by=group]")

    assert opened.tab.evaluate("window.hacked") is None
    assert opened.tab.locator("img").count() == 0
    assert opened.complaints == []
    for selector in ["h1", "#verdict", "#tiles", "#fits-chart", "#options", "#facts",
                     "#map-legend", "#compositions", "#groups-table", "#cards",
                     "#notes", "#limits"]:  # fmt: skip
        assert name in opened.text(selector)


# --- Colours, widths and paper ---


def luminance(opened, selector, what):
    """Return the relative luminance of a colour on the page, as in WCAG 2."""
    colour = opened.tab.eval_on_selector(
        selector, f"part => getComputedStyle(part).{what}"
    )
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [((x + 0.055) / 1.055) ** 2.4 if x > 0.04 else x / 12.92 for x in parts]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize(("scheme", "is_light"), [("dark", True), ("light", False)])
def test_text_and_axes_suit_the_colour_scheme(opened, scheme, is_light):
    opened.tab.emulate_media(color_scheme=scheme)

    label = "#panels .role-axis-label text"
    for part, what in [("body", "color"), (label, "fill")]:
        assert (luminance(opened, part, what) > 0.2) == is_light
    assert (luminance(opened, "body", "backgroundColor") < 0.2) == is_light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_the_paper(fit, scheme):
    fit.tab.emulate_media(color_scheme=scheme)
    paper = luminance(fit, "body", "backgroundColor")

    for part in ["#verdict", "h1", ".caption", ".figure-text", ".option h3", ".badge"]:
        text = luminance(fit, part, "color")
        low, high = sorted([text, paper])
        assert (high + 0.05) / (low + 0.05) > 4.5
    fit.tab.emulate_media(color_scheme="light")


@pytest.mark.parametrize(("kind", "n_groups"), [("fit", 12), ("audit", 5)])
def test_nothing_is_wider_than_a_phone(pages, kind, n_groups):
    opened = pages(kind, n_groups)

    opened.tab.set_viewport_size({"width": 360, "height": 640})

    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 360
    opened.tab.set_viewport_size(WINDOW)


def test_long_names_are_not_wider_than_a_phone(open_page):
    groups = tuple(f"a group with quite a long name, number {g}" for g in range(6))
    page = make_page(n_groups=6, n_clusters=9, groups=groups)

    opened = open_page(page, {"width": 360, "height": 640})

    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_window_that_becomes_narrow_keeps_everything_inside(opened):
    opened.tab.set_viewport_size({"width": 360, "height": 640})

    opened.tab.wait_for_function("document.documentElement.scrollWidth <= 360")
    drawings = opened.tab.locator(".figure svg").all()
    widths = [drawing.bounding_box()["width"] for drawing in drawings]
    assert max(widths) <= 328  # 360 less the margins


def test_controls_stay_in_view_on_a_wide_screen(opened):
    opened.tab.evaluate("document.getElementById('moved').scrollIntoView()")

    assert opened.tab.locator("#slider").bounding_box()["y"] >= 0


def test_print_has_no_controls_and_black_text(opened):
    opened.tab.emulate_media(media="print", color_scheme="dark")

    assert not opened.tab.is_visible("#slider")
    assert not opened.tab.is_visible("#download")
    assert opened.tab.is_visible("#status")
    assert not opened.tab.is_visible("#map-colours")
    assert luminance(opened, "body", "color") == 0


def test_folds_that_are_closed_are_not_printed(fit):
    fit.tab.emulate_media(media="print")

    assert not fit.tab.is_visible("#explore")
    assert fit.tab.is_visible("#fits-chart")
    fit.tab.emulate_media(media="screen")


# --- Kinds of pages ---


def test_three_groups_have_two_panels(many):
    assert many.tab.locator("#panels svg").count() == 2
    assert many.complaints == []


def test_many_clusters_show_the_largest_flows(many):
    assert "The table has the largest flows." in many.text("#moved-text")
    assert many.tab.locator("#moved-table tbody tr").count() <= 20


def test_the_download_of_another_way_has_its_labels(many):
    labels = page_of_many().ways[1].labels[-1]

    many.tab.check("label:has-text('The trade-off')")
    rows = list(csv.reader(io.StringIO(many.download())))
    many.tab.check("label:has-text('Step by step')")

    assert rows[1:] == [[str(2 * i + 5), str(k)] for i, k in enumerate(labels)]


def test_one_group_has_no_plane(open_page):
    opened = open_page(make_page(n_groups=1))

    assert not opened.tab.is_visible("#space")
    assert opened.tab.is_visible("#along-figure svg")
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
    opened.open_fold("#curves")

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
    assert opened.tab.is_disabled("#download-shown")
    assert "does not carry the labels" in opened.text("#left-out")


def test_the_page_refuses_scripts_and_styles_that_are_not_its_own(spare, tmp_path):
    file = tmp_path / "page.html"
    injected = (
        '<script>window.hacked = 1</script><img src="x" onerror="window.hacked = 1">'
        "<style>h1 { display: none }</style>"
    )
    html = page_html(make_page()).replace("<main>", f"<main>{injected}")
    file.write_text(html, encoding="utf-8")

    spare.goto(file.as_uri())
    spare.wait_for_selector("body:not([aria-busy])")

    assert spare.evaluate("window.hacked") is None
    assert spare.is_visible("h1")
