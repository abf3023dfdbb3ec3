"""Folds: rows dealt so that every group is spread over all folds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def deal(
    groups: NDArray[np.int32],
    rows: NDArray[np.intp],
    n_folds: int,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Return the fold of each of the rows.

    The rows of a group are shuffled and dealt one by one. Dealing goes on with the next
    fold for the next group, so that folds differ by at most one row, in all and within
    each group. A group with fewer rows than folds is in some folds only.
    """
    shuffled = rng.permutation(len(rows))
    order = shuffled[np.argsort(groups[rows][shuffled], kind="stable")]
    folds = np.empty(len(rows), np.intp)
    folds[order] = np.arange(len(rows)) % n_folds
    return folds
