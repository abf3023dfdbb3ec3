"""Remarks on a table: sentences worth knowing about its columns and groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian._tables.column import Column, Table
from rawlsian._tables.columns import FEW_ROWS, Roles, open_points
from rawlsian._tables.folding import spellings
from rawlsian._tables.given_features import unknown_levels
from rawlsian._tables.text import counted, listed
from rawlsian._tables.values import Used, level_counts
from rawlsian.preprocessing.features import Feature
from rawlsian.preprocessing.reading import number_text

FEW_PEOPLE = 10
LABELS_NAME = re.compile(r"(^|[_\W])(cluster|segment|label|kmeans)s?([_\W]|$)", re.I)
# Names of numbers that are codes: an order of them means nothing.
CODE_NAME = re.compile(
    r"(^|[_\W])(plz|postleitzahl|zip|zip_?code|post_?code|postal_?code|postal|fips|"
    r"code|codes|kod|codigo)([_\W]|$)|[a-z](Code|Zip|PLZ)$",
    re.I,
)
# One value flattens a column if all others lie within this fraction of the range.
FLAT = 0.1
# That value has at most this fraction of the rows, or one row.
OUTLYING = 0.01
# Texts of which so many are different nearly name the rows.
NEARLY_IDENTIFIER = 0.5
# Spellings that are named.
MOST_SPELLINGS = 6


# --- Values --------------------------------------------------------------------------


def remarks_on_values(table: Table, used: Sequence[Used], roles: Roles) -> list[str]:
    """Return remarks on how the values of columns look, at most one of each kind."""
    remarks = []
    for each in used:
        column = table.columns[each.name]
        if each.kind == "category":
            remarks += _on_spellings(column, each, "values")
            remarks += _on_near_identifier(column, each, roles)
        elif not each.reading.order:
            remarks += _on_outlier(column, each)
            remarks += _on_code(each, roles)
    remarks += [
        f"{name!r}: points are read as decimal points, but would also fit as points "
        f"for thousands; if they are that, say --decimal '{name}=,'."
        for name in open_points(table, used, roles.specs)
    ]
    return remarks


def remarks_on_sensitive(table: Table, sensitive: Sequence[Used]) -> list[str]:
    """Return remarks on the spellings of groups, and on their bounds."""
    remarks = []
    for each in sensitive:
        if each.reading.edges:
            names = listed(each.reading.group_names)
            remarks.append(f"{each.name!r} makes groups by bounds: {names}.")
        else:
            remarks += _on_spellings(table.columns[each.name], each, "groups")
    return remarks


def _on_spellings(column: Column, used: Used, called: str) -> list[str]:
    """Return a remark on texts that differ only in case, blanks or accents."""
    remarks = []
    if column.n_trimmed:
        remarks.append(
            f"{column.name!r}: {counted(column.n_trimmed, 'value')} had blanks around "
            f"{'it' if column.n_trimmed == 1 else 'them'}, which do not count."
        )
    counts = level_counts(column)
    several = [each for each in spellings(counts).values() if len(each) > 1]
    if not several:
        return remarks
    shown = "; ".join(
        listed([f"{text!r} ({counts[text]:,})" for text in texts[:MOST_SPELLINGS]])
        for texts in several[:MOST_SPELLINGS]
    )
    more = len(several) - MOST_SPELLINGS
    shown += f"; and {more:,} more" if more > 0 else ""
    if used.reading.spellings is not None:
        remarks.append(f"{column.name!r}: {shown} are merged, as --fold asks.")
    else:
        remarks.append(
            f"{column.name!r}: {shown} differ only in case, blanks or accents, and "
            f"count as different {called}; --fold {column.name!r} merges them."
        )
    return remarks


def _on_near_identifier(column: Column, used: Used, roles: Roles) -> list[str]:
    """Return a remark on texts of which most occur in one or two rows."""
    n_rows, n_levels = int((~used.is_missing).sum()), len(used.levels)
    is_said = column.name in roles.categorical
    if is_said or n_rows < FEW_ROWS or n_levels < NEARLY_IDENTIFIER * n_rows:
        return []
    return [
        f"{column.name!r} has {n_levels:,} different texts in {n_rows:,} rows: it is "
        "nearly an identifier, and sets almost all rows equally far apart; --drop "
        f"{column.name!r} leaves it out."
    ]


def _on_code(used: Used, roles: Roles) -> list[str]:
    """Return a remark on whole numbers whose name says that they are codes."""
    is_said = used.name in roles.numeric
    if is_said or not CODE_NAME.search(used.name) or (used.levels % 1).any():
        return []
    return [
        f"{used.name!r} is used as a number, but by its name it holds codes, whose "
        f"order means nothing; say --categorical {used.name!r} or --drop "
        f"{used.name!r}."
    ]


def _on_outlier(column: Column, used: Used) -> list[str]:
    """Return a remark on one value that leaves little of the range to all others."""
    codes = used.codes[~used.is_missing]
    if used.reading.scale != "range" or len(codes) < FEW_ROWS or len(used.levels) < 3:
        return []
    order = np.argsort(used.levels)
    sorted_levels = used.levels[order]
    full = sorted_levels[-1] - sorted_levels[0]
    counts = np.bincount(codes, minlength=len(order))
    most = max(1, OUTLYING * len(codes))
    for place, rest in ((order[-1], sorted_levels[:-1]), (order[0], sorted_levels[1:])):
        others = float(rest[-1] - rest[0])
        if counts[place] <= most and full > 0 and others <= FLAT * full:
            how = "log" if sorted_levels[0] >= 0 else "robust"
            return [
                f"{used.name!r}: {number_text(used.levels[place])} in "
                f"{column.first_row(int(place))} leaves all others within "
                f"{others / full:.1%} of the range, so that the column hardly counts; "
                f"correct it, or say --scale {used.name}={how}."
            ]
    return []


def remarks_on_weights(name: str | None, n_rows: int, people: float) -> list[str]:
    """Return how many people weighted rows stand for."""
    if name is None:
        return []
    return [
        f"Rows are weighted by {name!r}: {counted(n_rows, 'row')} "
        f"{'stands' if n_rows == 1 else 'stand'} for {people:,.1f} people."
    ]


# --- Encoding ------------------------------------------------------------------------


def remarks_on_columns(
    features: Sequence[Feature], n_missing: dict[str, int], fill: str
) -> list[str]:
    """Return remarks on numbers replaced by a ``fill``, and on older clusters."""
    remarks = [
        _on_fill(feature.name, n_missing[feature.name], fill)
        for feature in features
        if feature.fill is not None and n_missing[feature.name]
    ]
    remarks += [
        f"{feature.name!r} is used; if it holds older clusters, leave it out "
        f"with --drop {feature.name!r}."
        for feature in features
        if LABELS_NAME.search(feature.name)
    ]
    return remarks


def _on_fill(name: str, n_missing: int, fill: str) -> str:
    were, them = ("was", "it") if n_missing == 1 else ("were", "them")
    return (
        f"{name!r}: {counted(n_missing, 'missing value')} {were} replaced by {fill}, "
        f"and an extra column marks {them}, so {name!r} counts twice."
    )


def remarks_on_levels(
    features: Sequence[Feature], columns: Sequence[Used]
) -> list[str]:
    """Return remarks on values of categories that a model has not seen."""
    return [
        f"{name!r}: {counted(len(levels), 'value')} that the model has not seen "
        f"({', '.join(map(repr, levels[:3]))}{', ...' if len(levels) > 3 else ''}) "
        f"{'is' if len(levels) == 1 else 'are'} taken as equally far from all others."
        for name, levels in unknown_levels(features, columns).items()
    ]


def remarks_on_groups(names: Sequence[str], counts: NDArray[Any]) -> list[str]:
    """Return remarks on a single group, and on groups of few people."""
    remarks = []
    if len(names) == 1:
        remarks.append(
            f"Everyone is in one group, {names[0]!r}: there is nobody to compare with."
        )
    small = [name for name, n in zip(names, counts, strict=True) if n < FEW_PEOPLE]
    if small:
        remarks.append(
            f"Fewer than {FEW_PEOPLE} people are in {'; '.join(small[:10])}: figures "
            "of so small a group say little."
        )
    return remarks
