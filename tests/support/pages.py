"""Pages for tests."""

from __future__ import annotations

import numpy as np

from rawlsian.report import (
    Attribute,
    GroupFit,
    OptionCard,
    OptionGroup,
    Page,
    Shown,
    Tile,
    Way,
)


def utilities_of(X, labels, codes, n_groups, max_distance):
    """Compute the mean utility of each group and of everyone, without kernels."""
    means = {k: X[labels == k].mean(axis=0) for k in np.unique(labels)}
    centers = np.array([means[k] for k in labels])
    u = max_distance - ((X - centers) ** 2).sum(axis=1)
    return [u[codes == g].mean() for g in range(n_groups)], u.mean()


def make_way(X, codes, n_groups, labels, kind="trajectory", title="Step by step"):
    found = [utilities_of(X, row, codes, n_groups, 4.0) for row in labels]
    return Way(
        title=title,
        kind=kind,
        steps=2 * np.arange(len(labels)),
        utilities=np.array([groups for groups, _ in found]),
        overall=np.array([overall for _, overall in found]),
        labels=labels,
    )


def walk(rng, n_rows, n_clusters, n_points):
    """Draw labels that change a little from point to point."""
    labels = np.empty((n_points, n_rows), dtype=np.uint8)
    labels[0] = rng.integers(0, n_clusters, size=n_rows)
    for p in range(1, n_points):
        labels[p] = labels[p - 1]
        moved = rng.integers(0, n_rows, size=1 + n_rows // 20)
        labels[p, moved] = rng.integers(0, n_clusters, size=len(moved))
    return labels


def make_page(
    seed=0,
    *,
    n_rows=60,
    n_clusters=3,
    n_groups=2,
    n_points=(5, 4),
    kind=None,
    **changes,
):
    """Make a page of random rows; the second way is a trade-off."""
    rng = np.random.default_rng(seed)
    # A number, a category of three levels, and a column that never changes.
    level = rng.integers(0, 3, size=n_rows)
    X = np.column_stack([rng.random(n_rows), np.eye(3)[level] / 2**0.5])
    X = np.column_stack([X, np.full(n_rows, 0.1)])
    codes = np.concatenate(
        [np.arange(n_groups), rng.integers(0, n_groups, size=n_rows - n_groups)]
    ).astype(np.int32)
    kinds = [kind] if kind else ["trajectory", "frontier"]
    ways = tuple(
        make_way(X, codes, n_groups, walk(rng, n_rows, n_clusters, n), each, title)
        for n, each, title in zip(
            n_points, kinds, ["Step by step", "The trade-off"][: len(kinds)],
            strict=True,
        )
    )  # fmt: skip
    return Page(
        **{
            "title": "Clusters of people",
            "summary": ("The lowest utility rose.", "Some people moved."),
            "facts": (("Rows", str(n_rows)), ("Clusters", str(n_clusters))),
            "groups": tuple(f"group {g}" for g in range(n_groups)),
            "group_codes": codes,
            "max_distance": 4.0,
            "cluster_names": tuple(str(k) for k in range(n_clusters)),
            "X": X,
            "attributes": (
                Attribute("age", None, 20.0, 60.0),
                *(Attribute("colour", each, 0.0, 2**-0.5) for each in "rgb"),
                Attribute("constant", None, 0.1, 0.0),
            ),
            "ways": ways,
            "cloud": 3 + 0.2 * rng.random((50, n_groups)),
            "bound": ("Proved bound", 3.9),
            "row_header": "id",
            "row_names": tuple(f"row {i}" for i in range(n_rows)),
            "row_numbers": np.arange(1, n_rows + 1),
            "notes": (("Columns not used", ("name", "address")),),
            "methods": ("k-means, then moves.",),
            "limits": ("It says nothing of causes.",),
            **changes,
        }
    )


def make_fits(n_groups, *, is_audit=False, n_small=0):
    """Make levels that fall from group to group; the last groups are small."""
    fits = []
    for g in range(n_groups):
        level, is_small = 130.0 - 5 * g, g >= n_groups - n_small
        interval = None if is_small else (level - 6.0, level + 6.0)
        after = {} if is_audit else {"after": level - 8.0, "after_interval": interval}
        fits.append(
            GroupFit(f"group {g}", 30, level, interval, is_small=is_small, **after)
        )
    return tuple(fits)


def make_option(key, n_groups, change, **changes):
    groups = tuple(
        OptionGroup(
            f"group {g}", 110.0 - g, change,
            None if change is None else (change - 2.0, change + 2.0), False,
        )
        for g in range(n_groups)
    )  # fmt: skip
    return OptionCard(
        **{
            "key": key, "title": f"Option {key}", "text": f"A sentence on {key}.",
            "is_chosen": False, "is_recommended": False, "groups": groups,
            "everyone": change, "n_people": 60, "n_gain": 30, "n_lose": 12,
            "n_moved": 9, "separation": 0.25, **changes,
        }
    )  # fmt: skip


def make_shown(page, name, labels):
    distances = np.linspace(0.1, 2.0, len(page.X))
    return Shown(name, labels, distances, 0.34)


def make_fit_page(n_groups=2, **changes):
    """Make a page with all that the engine fills in."""
    page = make_page(n_groups=n_groups)
    chosen = {"is_chosen": True, "is_recommended": True}
    return make_page(
        n_groups=n_groups,
        **{
            "verdict": "Group 0 is served worst; its gap can be halved.",
            "tiles": (
                Tile("Gap", "24.9 -> 9.8", "Interval 19.4 to 30.4 before"),
                Tile("Who gains", "group 0", "30 people"),
                Tile("Who pays", "group 1", "by 2.3 % on average"),
                Tile("Who moves", "9 people", "15 % of everyone"),
            ),
            "group_fits": make_fits(n_groups),
            "level_text": "Mean squared distance; 100 is everyone.",
            "options": (
                make_option("keep", n_groups, None),
                make_option("recommended", n_groups, -6.0, **chosen),
                make_option("most", n_groups, 4.0),
            ),
            "before": make_shown(page, "K-means", page.ways[0].labels[0]),
            "after": make_shown(page, "Recommended", page.ways[1].labels[-1]),
            "separation_text": "Separation: half the sum of all differences.",
            "provenance": (("Method", "rawls"), ("Command", "rawlsian fit a.csv")),
            **changes,
        },
    )


def make_audit_page(n_groups=2, **changes):
    """Make the page of one clustering, with all that the engine fills in."""
    page = make_page(n_groups=n_groups, kind="one", n_points=(1,))
    return make_page(
        n_groups=n_groups,
        kind="one",
        n_points=(1,),
        **{
            "cloud": None,
            "verdict": "Group 0 is served worst.",
            "tiles": (Tile("Gap", "24.9", "Interval 19.4 to 30.4"),),
            "group_fits": make_fits(n_groups, is_audit=True),
            "before": make_shown(page, "The clusters audited", page.ways[0].labels[0]),
            "provenance": (("Version", "1.0"),),
            **changes,
        },
    )
