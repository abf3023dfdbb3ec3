"""Paragraphs of pages: methods and limits."""

from __future__ import annotations

_UTILITY = (
    "Utility: a person's utility is {limit:g} minus the squared distance to the center "
    "of their cluster; {limit:g} is the largest squared distance that two people in "
    "this table can have. A group's utility is the mean over its members. Higher is "
    "better, and {limit:g} is a perfect fit. Number columns are scaled to the range "
    "from 0 to 1, and two different categories are 1 apart, so that all columns have "
    "the same weight{but}."
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


def utility_paragraph(limit: float, *, some_count_twice: bool = False) -> str:
    """Return the paragraph on utility; ``limit`` is that of a perfect fit."""
    return _UTILITY.format(limit=limit, but=_BUT if some_count_twice else "")
