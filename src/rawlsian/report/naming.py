"""Names of clusters, made from the attributes that set them apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rawlsian.preprocessing import Attribute

LONGEST_NAME = 40
LONGEST_TERM = 26
# Terms of a name at first; equal names get more.
N_TERMS, MOST_TERMS = 2, 4
# In standard deviations; a smaller difference from everyone makes no name.
LEAST_DIFFERENCE = 0.2
# A further term differs at least this much of the first.
LEAST_RELATIVE = 0.3
# Ranks of the terms of a column.
HAS, LACKS, MORE, FEWER = range(4)
# These say nothing without their column.
BARE = frozenset(
    ("true", "false", "yes", "other", "others", "none", "unknown", "missing", "nan")
)
AGE = ("younger", "older")


def cluster_names(
    means: NDArray[np.float64],
    everyone: NDArray[np.float64],
    deviation: NDArray[np.float64],
    attributes: Sequence[Attribute],
    labels: Sequence[str],
) -> list[str]:
    """Name clusters after what sets them apart from everyone.

    Parameters
    ----------
    means : ndarray of shape (n_clusters, n_features)
        Means of the encoded columns in each cluster; NaN if it is empty.
    everyone, deviation : ndarray of shape (n_features,)
        Mean and standard deviation of everyone; the latter infinite if constant.
    attributes : sequence of Attribute
        Meaning of the columns.
    labels : sequence of str
        Label of each cluster.

    Returns
    -------
    list of str
        Different names of at most 40 characters, such as "Never-married, younger";
        "cluster 3" if nothing sets the cluster apart, or nothing else than another.
    """
    terms = [
        _terms(mean, everyone, (mean - everyone) / deviation, attributes)
        for mean in means
    ]
    lengths = [N_TERMS] * len(terms)
    names = [_name(*each) for each in zip(terms, lengths, strict=True)]
    for length in range(N_TERMS + 1, MOST_TERMS + 1):
        counts = Counter(names)
        lengths = [
            length if counts[name] > 1 else now
            for name, now in zip(names, lengths, strict=True)
        ]
        names = [_name(*each) for each in zip(terms, lengths, strict=True)]
    counts = Counter(names)
    return [
        name if name and counts[name] == 1 else f"cluster {label}"
        for name, label in zip(names, labels, strict=True)
    ]


def term(attributes: Sequence[Attribute], j: int, share: float, is_more: bool) -> str:
    """Say in a word or two that column j is higher or lower than everyone's.

    ``share`` of the people have the level of the column, if it is one.
    """
    name, level = attributes[j].name, attributes[j].level
    if level is None:
        if name.lower() == "age":
            return AGE[is_more]
        return _cut(f"{'high' if is_more else 'low'} {name}")
    words = _cut(_level_words(attributes, name, str(level)))
    if not is_more:
        return f"not {words}" if share < 0.1 else f"fewer {words}"
    return words if share >= 0.5 else f"more {words}"


def _level_words(attributes: Sequence[Attribute], name: str, level: str) -> str:
    """Return a level, with its column if it could be that of another one."""
    n_letters = sum(letter.isalpha() for letter in level)
    is_elsewhere = any(a.level == level and a.name != name for a in attributes)
    if n_letters < 3 or level.lower() in BARE or is_elsewhere:
        return f"{name} {level}"
    return level


def _cut(words: str) -> str:
    words = " ".join(words.split())
    if len(words) <= LONGEST_TERM:
        return words
    return f"{words[: LONGEST_TERM - 1].rstrip()}…"


def _terms(
    mean: NDArray[np.float64],
    everyone: NDArray[np.float64],
    difference: NDArray[np.float64],
    attributes: Sequence[Attribute],
) -> list[tuple[int, str]]:
    """Return ranks and terms of different columns, those that say most first."""
    order = np.argsort(-np.abs(np.nan_to_num(difference)), kind="stable")
    found: dict[str, tuple[int, str]] = {}
    spread = np.array([attribute.spread or np.inf for attribute in attributes])
    usual = everyone / spread
    first = 0.0
    for j in order:
        size = abs(difference[j])
        if not size >= max(LEAST_DIFFERENCE, LEAST_RELATIVE * first):
            break
        attribute = attributes[j]
        share = mean[j] / attribute.spread if attribute.spread else 0.0
        is_more = bool(difference[j] > 0)
        rank = _rank(attribute, share, usual[j], is_more)
        known = found.get(attribute.name)
        if known is None or rank < known[0]:
            words = term(attributes, int(j), share, is_more)
            found[attribute.name] = (rank, words)
            first = max(first, size)
    return sorted(found.values(), key=lambda each: max(each[0], LACKS))


def _rank(attribute: Attribute, share: float, usual: float, is_more: bool) -> int:
    """Rank what most of a cluster have, then what it lacks, has more of, or fewer."""
    if attribute.level is None or (is_more and share >= 0.5):
        return HAS
    if not is_more and share < 0.1 and usual >= 0.5:
        return LACKS
    return MORE if is_more else FEWER


def _name(terms: list[tuple[int, str]], n_terms: int) -> str:
    """Join as many terms as fit; what is rare in a cluster joins only if needed."""
    name = ""
    for rank, words in terms[:n_terms]:
        if name and rank == FEWER and n_terms == N_TERMS:
            break
        longer = f"{name}, {words}" if name else words
        if len(longer) > LONGEST_NAME:
            break
        name = longer
    return name
