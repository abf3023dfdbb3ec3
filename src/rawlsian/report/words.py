"""What pages say of how figures came about, and of what they do not show."""

from __future__ import annotations

UTILITY = (
    "Utility: each person's squared distance to the center of their cluster is taken "
    "from {limit:g}, the largest squared distance that two people in this table can "
    "have, and the mean is taken over a group. Higher is better; {limit:g} would be a "
    "perfect fit. Every number column is scaled to the range from 0 to 1, and two "
    "different categories are 1 apart, so that each column counts alike."
)
TRADE_OFF = (
    "The trade-off: clusterings between the best k-means found, which has the highest "
    "overall utility, and the one that serves the worst-off group best. Of those "
    "found, none is better than another on both counts. Centers may lie anywhere here, "
    "and everyone is in the cluster of the nearest one."
)
LIMITS = (
    "These figures compare how closely clusters describe groups on average. They do "
    "not tell whether what is done with the clusters is fair, whether the columns "
    "measure what they should, or whether any one person is served well.",
    "A group's mean hides differences within it, such as between young and old women. "
    "Name several sensitive columns to look at their intersections, and mind how few "
    "people are then in each.",
    "Utility depends on which columns are in the table and how they are scaled, and "
    "the ratio of two utilities on what a perfect fit counts. Compare figures of the "
    "same table only.",
    "A higher lowest utility usually costs others something; who pays is shown above. "
    "Whether that is right is for the people concerned to decide, not for this page.",
)
