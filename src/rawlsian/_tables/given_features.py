"""Find the columns of features that a model has learnt in another table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rawlsian._tables.column import Column, Table
from rawlsian._tables.columns import Unused
from rawlsian._tables.errors import TableError
from rawlsian._tables.values import Used, as_category, as_numbers
from rawlsian.preprocessing.features import MISSING, Feature


def columns_for(
    features: Sequence[Feature], columns: Mapping[str, Column]
) -> list[Used]:
    """Return the columns of these features, as numbers or categories."""
    found = []
    for feature in features:
        column = columns.get(feature.name)
        if column is None:
            raise TableError(
                f"the model needs the column {feature.name!r}, which the table does "
                "not have."
            )
        if feature.levels is None:
            found.append(as_numbers(column, feature.reading))
        else:
            categories = as_category(column, feature.reading)
            found.append(_spelled_as(feature.levels, categories))
    return found


def others_than(features: Sequence[Feature], table: Table) -> list[Unused]:
    """Return the columns of a table that these features do not use."""
    names = {feature.name for feature in features}
    return [
        Unused(name, "not used by the model")
        for name in table.columns
        if name not in names
    ]


def unknown_levels(
    features: Sequence[Feature], columns: Sequence[Used]
) -> dict[str, list[str]]:
    """Return the levels of each category that the features do not have."""
    unknown = {}
    for feature, column in zip(features, columns, strict=True):
        if feature.levels is not None:
            known = set(feature.levels)
            in_use = column.levels[np.unique(column.codes[~column.is_missing])]
            new = [level for level in in_use if level not in known]
            if new:
                unknown[feature.name] = new
    return unknown


def _spelled_as(levels: tuple[str, ...], column: Used) -> Used:
    """Spell true and false as the model does, if it knows nothing else.

    Frames and Parquet have true and false, text files often True or TRUE.
    """
    known = {level.lower(): level for level in levels if level != MISSING}
    has_others = len(known) < len({*levels} - {MISSING})
    if has_others or not known.keys() <= {"true", "false"}:
        return column
    texts = [known.get(text.lower(), text) for text in column.levels]
    return column._replace(levels=np.array(texts, object))
