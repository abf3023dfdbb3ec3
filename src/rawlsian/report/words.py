"""Paragraphs of pages: methods and limits."""

from __future__ import annotations

from collections.abc import Mapping

_UTILITY = (
    "Utility: a person's utility is {limit:g} minus the squared distance to the center "
    "of their cluster; {limit:g} is the largest squared distance that two people in "
    "this table can have. A group's utility is the mean over its members. Higher is "
    "better, and {limit:g} is a perfect fit. {scales}{but}."
)
_BY_RANGE = (
    "Number columns are scaled to the range from 0 to 1, and two different categories "
    "are 1 apart, so that all columns have the same weight"
)
_BY_COLUMN = (
    "Two different categories are 1 apart. So are the lowest and the highest number of "
    "a column that is scaled by its range or, after log(1 + x), by logarithm; if it is "
    "scaled by its standard deviation, or robustly, two of these are 1 apart, and it "
    "may weigh more or less than other columns. Here: {columns}"
)
TRADE_OFF = (
    "The trade-off: clusterings from the one that may be kept to the one that serves "
    "the worst-off group best, pooled as in the search. None of them is better than "
    "another both for everyone together and for the worst-off group."
)
_BUT = ", except that a number column with missing values counts twice"
LIMITS = (
    "Utilities measure how closely clusters describe groups on average. They do not "
    "show whether the use of the clusters is fair, whether the columns measure what "
    "they should, or whether the clusters serve any one person well.",
    "A group's mean hides differences within the group, such as between young and old "
    "women. Name several sensitive columns to compare their intersections; each of "
    "these has fewer people.",
    "Utility depends on the columns of the table and their scale, and the ratio of two "
    "utilities depends on the utility of a perfect fit. Compare utilities within one "
    "table only.",
    "A higher lowest utility usually costs other groups something; this page shows who "
    "pays. Whether that is right is for the people concerned to decide.",
)


def utility_paragraph(
    limit: float,
    *,
    scales: Mapping[str, str] | None = None,
    some_count_twice: bool = False,
) -> str:
    """Return the paragraph on utility.

    Parameters
    ----------
    limit : float
        Utility of a perfect fit.
    scales : mapping of str to str, default=None
        How each number column is scaled; None if all are by their range.
    some_count_twice : bool, default=False
        True if a number column has missing values.
    """
    text = _BY_RANGE
    if scales:
        each = (f"{name} is {scale}" for name, scale in scales.items())
        text = _BY_COLUMN.format(columns="; ".join(each))
    but = _BUT if some_count_twice else ""
    return _UTILITY.format(limit=limit, scales=text, but=but)
