"""What ``fit_table`` recommends, writes and says: each finding of the users' trial."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from rawlsian import audit_table, fit_table, predict_table
from rawlsian._core.nearest import nearest
from rawlsian._tables.errors import WrongUseError
from rawlsian._tables.fit_page import fit_page
from rawlsian._tables.methods import METHODS
from support.commands import rawlsian

pytestmark = pytest.mark.usefixtures("short_search", "known_searches")

QUICK = {"pooling": 0, "new_people": False}


def with_a_gap(n=300, seed=0, **columns):
    """Return people in five clusters' worth of six kinds; k-means merges b's two.

    As ``built_in_gap`` of benchmarks/bench_recommendation.py, with fewer columns.
    """
    rng = np.random.default_rng(seed)
    is_b = np.arange(n) % 7 == 0
    pairs = np.where(is_b, 2, rng.integers(2, size=n))
    X = rng.standard_normal((n, 4))
    X[np.arange(n), pairs] += 9.0
    X[:, 3] += rng.choice([-0.5, 0.5], size=n) * np.where(is_b, 4.5, 3.0)
    table = {f"x{j}": X[:, j].round(6) for j in range(4)}
    return pa.table({**table, "group": np.where(is_b, "b", "a"), **columns})


def overlapping(n=160, seed=0, **columns):
    """Return people of b among those of a, spread twice as wide: a long trade-off."""
    rng = np.random.default_rng(seed)
    is_b = np.arange(n) % 3 == 0
    X = rng.standard_normal((n, 3)) * np.where(is_b, 2.0, 1.0)[:, None]
    X += is_b[:, None]
    table = {f"x{j}": X[:, j].round(6) for j in range(3)}
    return pa.table({**table, "group": np.where(is_b, "b", "a"), **columns})


def of_a_coin(seed, n=200):
    """Return people whose group is heads or tails."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) + 4 * rng.integers(3, size=n)[:, None]
    group = np.array(["heads", "tails"])[rng.integers(2, size=n)]
    return pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "group": group})


def in_segments(n=160):
    """Return people in five segments, which their values hardly explain."""
    names = np.array(["gold", "silver", "tin", "new", "old"])
    drawn = np.random.default_rng(1).integers(5, size=n)
    return overlapping(n, segment=names[drawn])


def encoded(fit):
    """Return the encoded rows of a fit, and each one's group."""
    problem = fit._in_memory.fitted.problem
    return problem.X, problem.groups


def costs(fit, option):
    return {each["group"]: each["level"] for each in option_of(fit, option)["groups"]}


def option_of(fit, option):
    (found,) = (e for e in fit.to_dict()["options"] if e["option"] == option)
    return found


@pytest.fixture(scope="module")
def gap():
    """A fit with everything measured, of a table with a gap."""
    return fit_table(with_a_gap(), "group", clusters=5)


# --- The result and its own centers --------------------------------------------------


@pytest.mark.parametrize("choose", ["keep", "recommended", "most"])
def test_nobody_is_nearer_to_another_of_the_written_centers(tmp_path, choose):
    fit = fit_table(overlapping(), "group", clusters=5, choose=choose, **QUICK,
                    out=tmp_path / "labels.csv")  # fmt: skip

    X, groups = encoded(fit)
    labels, distances = nearest(X, fit.centers)
    written = pyarrow.csv.read_csv(tmp_path / "labels.csv")["cluster"].to_numpy()
    assert np.array_equal(written, labels)
    means = np.bincount(groups, distances) / np.bincount(groups)
    assert fit.outcome.result.effect.costs == pytest.approx(means, rel=1e-12)
    assert np.array_equal(predict_table(fit, overlapping()).labels, written)


def test_no_group_is_lowered_for_nothing():
    fit = fit_table(overlapping(), "group", clusters=4, choose="most", **QUICK)

    assert fit.outcome.result.effect.changes.min() < 0
    points = fit.outcome.advice.points
    assert len(points) > 5
    for place, point in enumerate(points):
        others = [each for j, each in enumerate(points) if j != place]
        assert not any(is_better(each.effect, point.effect) for each in others)


def is_better(ours, theirs):
    """Return True if no group is worse off, and one is clearly better off."""
    no_worse = (ours.costs <= theirs.costs * (1 + 1e-9)).all()
    return no_worse and (ours.costs < theirs.costs * (1 - 1e-6)).any()


# --- The baseline --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_better_for_everyone_than_the_k_means_that_is_kept(seed):
    fit = fit_table(overlapping(seed=seed), "group", clusters=7, **QUICK)

    X, groups = encoded(fit)
    keep = fit.outcome.keep.effect
    runs = KMeans(7, n_init=50, random_state=seed).fit(X)
    assert keep.overall <= runs.inertia_ / len(X) * (1 + 1e-9)
    for point in fit.outcome.advice.points:
        assert keep.overall <= point.effect.overall * (1 + 1e-12)
    distances = ((X - runs.cluster_centers_[runs.labels_]) ** 2).sum(axis=1)
    theirs = np.bincount(groups, distances) / np.bincount(groups)
    assert not (theirs < keep.costs * (1 - 1e-9)).all()


def test_the_k_means_that_is_kept_has_as_good_starts_in_parts(tmp_path):
    table = overlapping(250)
    fit = fit_table(parts_of(table, tmp_path), "group", clusters=7, **QUICK)
    whole = fit_table(table, "group", clusters=7, **QUICK)

    keep = fit.outcome.keep.effect.overall
    assert keep <= whole.outcome.keep.effect.overall * (1 + 1e-4)
    assert all(keep <= each.effect.overall for each in fit.outcome.advice.points)


# --- What an audit finds in what was written -----------------------------------------


def walks_and_searches():
    for method, how in METHODS.items():
        for served_by in ("center", "members") if how.solver is None else (None,):
            yield {"method": method, "served_by": served_by}


ASKED = [
    *walks_and_searches(),
    *({"choose": each} for each in ("keep", "recommended", "most")),
    *({"choose": each, "served_by": "members"} for each in ("keep", "most")),
    *({"start": "segment", "choose": each} for each in ("keep", "recommended", "most")),
    {"start": "segment", "method": "batch"},
]


@pytest.mark.parametrize("ask", ASKED, ids=lambda ask: " ".join(map(str, ask.values())))
def test_an_audit_of_what_is_written_finds_what_was_told(tmp_path, ask):
    table = in_segments(33 if "R2" in str(ask.get("method")) else 100)
    ask = ask if "start" in ask else {**ask, "clusters": 4, "drop": "segment"}
    out, model = tmp_path / "labels.csv", tmp_path / "model.json"

    fit = fit_table(table, "group", **ask, **QUICK, min_group=10, out=out, save=model)

    told = fit.to_dict()
    centers = tmp_path / "labels.centers.csv"
    if told["served_by"] == "members":
        assert not centers.exists()
        labels = pyarrow.csv.read_csv(out)["cluster"]
        joined = table.append_column("found", labels.cast(pa.string()))
        given = [(joined, {"labels": "found", "drop": "segment"})]
    else:
        given = [(table, {"centers": centers, "drop": "segment"}),
                 (table, {"centers": model}), (table, {"centers": fit})]  # fmt: skip
    for audited, how in given:
        found = audit_table(audited, "group", **how, min_group=10)
        after = [each["after"] for each in told["groups"]]
        assert found.audit.utilities == pytest.approx(after, rel=1e-12)
        assert found.audit.overall == pytest.approx(told["overall"]["after"], rel=1e-12)
        told_gap = told["gap"]["after"]
        assert found.audit.worst_off == told_gap["group"]
        assert found.audit.gap == pytest.approx(told_gap["points"], rel=1e-9)
        assert list(found.audit.gap_interval) == pytest.approx(
            told_gap["interval"], rel=1e-6
        )
        names = told["cluster_names"]
        if how.get("centers") in (model, fit):  # which name no clusters
            names = list(map(str, range(len(names))))
        composition = map(sum, option_of(fit, told["chosen"])["composition"])
        in_clusters = found.audit.cluster_sizes.sum(axis=1).tolist()
        assert people_by(found.clusters, in_clusters) == people_by(names, composition)


def people_by(names, numbers):
    """Return the number of people by the name of their cluster, if there are any."""
    return {name: n for name, n in zip(names, numbers, strict=True) if n}


# --- Chance --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_coin_keeps_k_means_and_moves_nobody(seed):
    fit = fit_table(of_a_coin(seed), "group", clusters=3)

    assert fit.verdict.startswith("Keep k-means: ")
    assert fit.outcome.result.point == 0
    assert fit.to_dict()["moved"] == 0


def test_a_gap_that_is_built_in_is_not_kept(gap):
    assert gap.verdict.startswith("Replace k-means by point ")
    assert "b, served worst, comes " in gap.verdict
    assert gap.outcome.result.point == gap.outcome.advice.recommended > 0
    assert gap.outcome.recommended.new_people.is_clear_gain


def test_small_groups_are_listed_and_nothing_is_done_for_them():
    # Twelve people of c are far from everyone, which no statement can be made on.
    far = np.where(np.arange(300) % 25 == 1, 30.0, 0.0)
    table = with_a_gap(far=far)
    names = np.array(table["group"].to_pylist(), object)
    names[far > 0] = "c"
    table = table.set_column(table.column_names.index("group"), "group", [names])

    fit = fit_table(table, "group", clusters=5, **QUICK)

    told = fit.to_dict()
    sentence = (
        "Too few people for a statement (below 30), and not optimised for: c "
        f"(12, {fit.outcome.result.effect.changes[2]:+.1f}%)."
    )
    assert sentence in str(fit)
    assert sentence in told["remarks"]
    assert [each["is_small"] for each in told["groups"]] == [False, False, True]
    assert "c" not in {told["gap"][when]["group"] for when in ("before", "after")}
    for option in told["options"]:
        assert option["groups"][2]["low"] is None
    # The search sees two groups, and c counts in the larger one.
    assert fit.outcome.advice.objective.judged.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("min_group", "words"),
    [
        (150, "only one group has 150 people or more, so there is no other to compare"),
        (999, "no group has 999 people or more to compare."),
    ],
)
def test_without_two_groups_to_compare_k_means_is_kept(min_group, words):
    table = with_a_gap()

    fit = fit_table(table, "group", clusters=3, min_group=min_group, choose="most")

    assert fit.verdict.startswith(f"Keep k-means: {words}")
    assert fit.to_dict()["moved"] == 0


# --- Units, separation, screen and JSON ----------------------------------------------


def test_gains_and_losses_are_per_cent_of_distance_on_screen_and_in_json(gap):
    text = " ".join(str(gap).split())

    for option in ("recommended", "most"):
        told = option_of(gap, option)
        before = option_of(gap, "keep")["groups"]
        for group, kept in zip(told["groups"], before, strict=True):
            change = 100 * (group["level"] / kept["level"] - 1)
            assert group["change_percent"] == pytest.approx(change)
            shown = f"{change:+.1f}% ({group['low']:+.1f} to {group['high']:+.1f})"
            assert shown in text
    signs = {np.sign(each["change_percent"])
             for each in option_of(gap, "most")["groups"]}  # fmt: skip
    assert signs == {-1, 1}  # a gain and a loss


def test_the_screen_shows_the_figures_of_the_json(gap):
    told, text = gap.to_dict(), " ".join(str(gap).split())

    assert told["verdict"] in text
    for option in told["options"]:
        for group in option["groups"]:
            assert f"{group['level']:.1f}" in text
        assert f"{option['everyone']['level']:.1f}" in text
        assert f"{option['everyone']['closer']:,.0f}" in text
        assert f"{option['everyone']['moved']:,}" in text
    new = option_of(gap, "recommended")["new_people"]
    low, high = new["gain_interval"]
    assert f"{new['gain_percent']:+.1f}% ({low:+.1f} to {high:+.1f})" in text
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_separation_is_told_before_and_after(gap):
    before, after = (option_of(gap, o)["separation"] for o in ("keep", "recommended"))

    assert (
        f"Separation of the groups by the clusters: {before:.2f} before, {after:.2f} "
        "after (0: the same mix in every cluster, 1: one group in each)."
    ) in str(gap)


def test_separation_is_told_where_nothing_changes():
    fit = fit_table(of_a_coin(0), "group", clusters=3, **QUICK, choose="keep")

    separation = option_of(fit, "keep")["separation"]
    assert f"Separation of the groups by the clusters: {separation:.2f} (0: " in str(
        fit
    )


def test_k_means_is_not_sold_as_the_most_for_the_worst_off_group(gap):
    ask = {"clusters": 3, "new_people": False, "pooling": np.inf, "choose": "most"}

    fit = fit_table(overlapping(), "group", **ask)

    most = "Most for the worst-off group is k-means: the search found nothing better"
    pooled = "nothing but k-means is searched for"
    remarks = " ".join(fit.to_dict()["remarks"])
    for text in (str(fit), remarks):
        assert most in text
        assert pooled in text
    cards = fit_page(fit._in_memory).options
    assert [card.is_recommended for card in cards] == [False, True, False]
    assert cards[2].text.startswith(most)
    assert pooled in cards[2].text
    others = fit_page(gap._in_memory).options
    assert sum(card.is_recommended for card in others) == 1
    assert not any(most in card.text for card in others)


def test_the_page_names_rows_that_are_left_out():
    ages = [None, 30, 40, 50] * 40

    fit = fit_table(overlapping(age=ages), "group", clusters=3, missing="drop", **QUICK)

    assert "missing: age: 40 rows, the first is row 1" in fit.page()


# --- Dominated results ---------------------------------------------------------------


def test_a_dominated_result_is_written_only_where_its_method_was_asked_for(tmp_path):
    ask = {"clusters": 4, **QUICK}
    found = {
        method: fit_table(overlapping(), "group", **ask, method=method)
        for method in ("R1", "batch", "relocate")
    }

    dominated = {name: fit for name, fit in found.items() if fit.outcome.dominating()}
    assert dominated
    for name, fit in dominated.items():
        best = fit.outcome.dominating()
        assert is_better(best.effect, fit.outcome.result.effect)
        which = "k-means" if best.point == 0 else f"point {best.point}"
        start = f"{name} was taken because --method asked for it, but {which} is at "
        (remark,) = (each for each in fit.to_dict()["remarks"] if start in each)
        assert f"{best.effect.overall_change:+.1f}%" in remark
        assert remark in str(fit)


@pytest.mark.parametrize("choose", ["keep", "recommended", "most", 1])
def test_without_a_method_no_point_dominates_the_result(choose):
    fit = fit_table(overlapping(), "group", clusters=4, choose=choose, **QUICK)

    result = fit.outcome.result.effect
    for point in fit.outcome.advice.points:
        assert not is_better(point.effect, result)


# --- Limits --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "limits", "most_moved", "most_lost"),
    [
        (None, {"max_moved": "5%"}, 8, np.inf),
        (None, {"max_loss": "3%"}, 160, 3),
        (None, {"max_moved": 12, "max_loss": 1.5}, 12, 1.5),
        ("segment", {"max_moved": "5%"}, 8, np.inf),
        ("segment", {"max_moved": "10%", "max_loss": 5}, 16, 5),
    ],
)
def test_limits_are_kept_by_every_option(start, limits, most_moved, most_lost):
    begin = {"start": start} if start else {"clusters": 4, "drop": "segment"}
    fit = fit_table(in_segments(), "group", **begin, **limits, **QUICK, choose="most")

    assert fit.outcome.advice.reason in ("bend", "price", "limits", "gain")

    for option in fit.to_dict()["options"]:
        assert option["everyone"]["moved"] <= most_moved
        assert max(each["change_percent"] for each in option["groups"]) <= most_lost
    labels = fit.labels_table()["cluster"].to_pylist()
    kept = fit._in_memory.fitted.before.labels
    names = fit.outcome.cluster_names
    assert (
        sum(a != names[b] for a, b in zip(map(str, labels), kept, strict=True))
        == (fit.to_dict()["moved"])
    )


@pytest.mark.parametrize(
    "limits",
    [
        {"max_moved": "0.5%", "max_loss": "0.1%"},
        {"max_moved": 0, "start": "segment", "clusters": None},
    ],
)
def test_a_sentence_names_limits_that_admit_something_and_they_do(limits):
    ask = {"clusters": 4, **QUICK, **{k: limits[k] for k in limits if "max" not in k}}
    limits = {k: limits[k] for k in limits if "max" in k}
    table = in_segments() if "start" in ask else overlapping()
    fit = fit_table(table, "group", **ask, **limits)

    assert fit.outcome.advice.reason == "limits"
    assert "\n" not in fit.verdict
    start = "none that serves the worst-off group better is within "
    way = re.search(f"{start}.*?; (.*) would admit one", fit.verdict)
    for followed in way[1].split(" or "):
        named = dict(re.findall(r"--(max-moved|max-loss) ([0-9.]+%)", followed))
        assert len(named) == len(limits)
        again = {name.replace("-", "_"): limit for name, limit in named.items()}
        found = fit_table(table, "group", **ask, **again)
        assert len(found.outcome.advice.points) > 1


def test_limits_of_a_share_admit_exactly_that_share():
    # 2.9 / 100 is less than 29 / 1000.
    from rawlsian._tables.limits import GivenLimits

    for tenths in range(1001):
        limits = GivenLimits.given(f"{tenths / 10:g}%", None).of(1000)
        assert tenths / 1000 <= limits.max_moved < (tenths + 1) / 1000


# --- Start ---------------------------------------------------------------------------


def test_a_start_is_begun_from_and_keeps_its_names(tmp_path):
    table = in_segments()
    kept = fit_table(table, "group", start="segment", choose="keep", **QUICK)
    most = fit_table(table, "group", start="segment", choose="most", **QUICK,
                     out=tmp_path / "labels.csv")  # fmt: skip

    segments = table["segment"].to_pylist()
    assert kept.labels_table()["cluster"].to_pylist() == segments
    assert kept.to_dict()["moved"] == 0
    written = pyarrow.csv.read_csv(tmp_path / "labels.csv")["cluster"].to_pylist()
    assert set(written) <= set(segments)
    moved = sum(a != b for a, b in zip(written, segments, strict=True))
    assert moved == most.to_dict()["moved"] > 0
    assert most.to_dict()["served_by"] == "members"
    assert "segment" not in most.to_dict()["clustered_on"]
    assert most.verdict.startswith(("Keep the clusters of 'segment'",
                                    "Replace the clusters of 'segment'"))  # fmt: skip


def test_a_model_of_a_start_carries_the_names_of_its_clusters(tmp_path):
    model = tmp_path / "model.json"
    fit = fit_table(in_segments(), "group", start="segment", **QUICK, save=model)

    names = set(
        predict_table(model, in_segments()).labels_table()["cluster"].to_pylist()
    )
    assert names <= {"gold", "new", "old", "silver", "tin"}
    assert set(fit.centers_table()["cluster"].to_pylist()) >= names
    found = audit_table(in_segments(), "group", centers=model)
    assert set(found.clusters) >= names


# --- Wrong use -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"choose": 99}, "--choose 99 is not a point of the trade-off, whose points"),
        ({"choose": "best"}, "--choose must be keep, recommended, most or the number"),
        ({"choose": -1}, "--choose must be keep, recommended, most or the number"),
        ({"choose": 1.5}, "--choose must be keep, recommended, most or the number"),
        ({"choose": True}, "--choose must be keep, recommended, most or the number"),
        ({"choose": "most", "method": "R1"}, "--choose most chooses among the options"),
        ({"max_moved": "many"}, "--max-moved must be a number of people such as 50"),
        ({"max_moved": "101%"}, "--max-moved must be a number of people such as 50"),
        ({"max_moved": 0.05}, "--max-moved must be a number of people such as 50"),
        ({"max_moved": -3}, "--max-moved must be a number of people such as 50"),
        ({"max_moved": True}, "--max-moved must be a number of people such as 50"),
        ({"max_loss": "-1%"}, "--max-loss must be a percentage such as 10%"),
        ({"max_loss": "nan"}, "--max-loss must be a percentage such as 10%"),
        ({"max_loss": "10"}, "--max-loss must be a percentage such as 10%"),
        (
            {"start": "segment", "clusters": None, "served_by": "center"},
            "--served-by center does not go with --start",
        ),
        ({"max_loss": True}, "--max-loss must be a percentage such as 10%"),
        ({"max_loss": 5, "method": "R1"}, "with --method R1 leave them out"),
        ({"max_moved": 5, "method": "R1"}, "with --method R1 leave them out"),
        ({"min_group": 1}, "--min-group must be 2 or more, got 1"),
        ({"min_group": "ten"}, "--min-group must be 2 or more, got 'ten'"),
        ({"min_group": True}, "--min-group must be 2 or more, got True"),
        ({"served_by": "mean"}, "--served-by must be one of center, members"),
        ({"start": "segment"}, "--clusters does not go with --start"),
        ({"start": "band", "clusters": None}, "--start names 'band'"),
        ({"start": "group", "clusters": None}, "'group' is given by both"),
        ({"start": "all", "clusters": None}, "a column with one cluster, 'all'; it"),
        ({"clusters": None}, "--clusters is missing; give a number or a range"),
    ],
)
def test_what_an_option_cannot_be_is_one_sentence(options, text):
    table = in_segments(60).append_column("all", [["all"] * 60])

    with pytest.raises(WrongUseError, match=re.escape(text)) as error:
        fit_table(
            table, "group", **{"clusters": 3, "min_group": 10, **QUICK, **options}
        )

    assert "\n" not in str(error.value)


def test_a_wrong_option_is_one_line_on_the_command_line(tmp_path):
    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(in_segments(60), path)

    for wrong in (("--choose", 99), ("--max-moved", "x"), ("--max-loss", "x"),
                  ("--min-group", 1), ("--start", "segment")):  # fmt: skip
        done = rawlsian("fit", path, "--sensitive", "group", "--clusters", 3, *wrong)
        assert done.exit_code == 2
        (line,) = done.stderr.strip().splitlines()
        assert line.startswith("Error: --")


# --- The same everywhere -------------------------------------------------------------


def parts_of(table, folder):
    folder = folder / "parts"
    folder.mkdir()
    for j, first in enumerate(range(0, len(table), 110)):
        pq.write_table(table.slice(first, 110), folder / f"{j}.parquet")
    return folder


def test_any_number_of_threads_gives_the_same_labels(monkeypatch, known_searches):
    fits = []
    for n_threads in "13":
        known_searches()
        monkeypatch.setenv("NUMBA_NUM_THREADS", n_threads)
        fits.append(fit_table(with_a_gap(), "group", clusters=5))

    one, three = fits
    assert np.array_equal(one.labels, three.labels)
    assert one.to_dict() == three.to_dict()


def test_parts_get_about_the_recommendation_of_memory(tmp_path, gap):
    folder = parts_of(with_a_gap(), tmp_path)

    fit = fit_table(folder, "group", clusters=5, out=tmp_path / "labels")

    assert fit.outcome.advice.reason == gap.outcome.advice.reason == "bend"
    assert adjusted_rand_score(fit.labels, gap.labels) > 0.9
    ours, theirs = fit.outcome.result.effect, gap.outcome.result.effect
    assert ours.changes == pytest.approx(theirs.changes, abs=3)
    found = audit_table(folder, "group", centers=tmp_path / "labels.centers.csv")
    assert found.audit.utilities == pytest.approx(fit.outcome.utilities[1], abs=1e-9)
