"""Certificate of a proved bound, and a check that shares no code with the proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigvalsh
from scipy.sparse import issparse

from rawlsian.bounds.relaxation import Multiplier

# The check allows this for rounding, relative to the size of the matrix. Computed and
# claimed bound may differ by a few times as much.
MARGIN, SAME = 1e-9, 1e-7


@dataclass(frozen=True, eq=False)
class Certificate:
    """Everything that is needed to compute a proved bound again.

    Attributes
    ----------
    cost : float
        The bound that is claimed.
    n_clusters : int
        Number of clusters.
    group_weights : ndarray of shape (n_groups,)
        Lambda, for the groups in sorted order.
    pooling : float
        Strength of the pooling of costs.
    parts : ndarray of shape (n_rows,)
        The part that each distinct row of positive weight is in, rows sorted; all 0
        if the rows were not split.
    multipliers : tuple of Multiplier
        N for each part, for its rows in sorted order.
    """

    cost: float
    n_clusters: int
    group_weights: NDArray[np.float64]
    pooling: float
    parts: NDArray[np.int32]
    multipliers: tuple[Multiplier, ...]


def check_certificate(
    certificate: Certificate,
    X: Any,
    sensitive_features: ArrayLike | None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute a proved bound from its certificate and the data alone.

    This is plain NumPy and SciPy, and calls nothing else of the package, so that one
    can read it instead of trusting ``proved_bound``. For weights w of the rows, r =
    sqrt(w), K_ij = r_i r_j x_i.x_j with centered rows, and N a sum of matrices C with
    <C, Y> >= 0 for every clustering Y, no clustering costs less than sum_i w_i |x_i|^2
    less r^T (K + N) r less the k - 1 largest eigenvalues of K + N off r. The cost of
    all rows is at least the sum over parts of them. ``Multiplier`` says what N may be:
    entries >= 0, and inequalities of a row i and rows T, which hold as a cluster with i
    and m rows of T has m - m (m - 1) / 2 <= 1.

    Parameters
    ----------
    certificate : Certificate
        The ``certificate`` of a ``Bound``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The examples.
    sensitive_features : array-like of shape (n_samples,) or None
        The group of each example; several columns must be joined to one.
    sample_weight : array-like of shape (n_samples,), default=None
        How many people each example stands for.

    Returns
    -------
    float
        A lower bound on the largest mean cost of a group, of every clustering.

    Raises
    ------
    ValueError
        If the certificate is no proof of the ``cost`` that it claims for these data.

    Examples
    --------
    >>> from rawlsian import check_certificate, proved_bound
    >>> X, groups = [[0.0], [1.0], [2.0], [6.0], [7.0]], list("aabbb")
    >>> bound = proved_bound(X, groups, n_clusters=2, random_state=0)
    >>> abs(check_certificate(bound.certificate, X, groups) - bound.cost) < 1e-7
    True
    """
    X = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
    people = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
    names = np.zeros(len(X)) if sensitive_features is None else sensitive_features
    names = np.asarray(names)
    if names.shape != (len(X),) or people.shape != (len(X),):
        raise ValueError(
            f"X has {len(X)} rows; give one group and one weight for each of them, and "
            "join several columns of groups to one."
        )
    _, groups = np.unique(names, return_inverse=True)
    sizes, lam = np.bincount(groups, people), certificate.group_weights
    if lam.shape != sizes.shape:
        raise ValueError(
            f"The certificate is for {len(lam)} groups, but there are {len(sizes)}."
        )
    if not ((lam >= 0).all() and lam.sum() <= 1 + MARGIN):
        raise ValueError("The group weights of the certificate are not on the simplex.")
    if not certificate.pooling >= 0:
        raise ValueError("The pooling of the certificate is below 0.")
    own = 1 / (1 + certificate.pooling / sizes)  # share of a group in its pooled cost
    share = own * lam + (lam @ (1 - own)) * sizes / sizes.sum()
    weights = people * (share / sizes)[groups]
    rows, which = np.unique(X[weights > 0], axis=0, return_inverse=True)
    mass = np.bincount(which.ravel(), weights[weights > 0])
    n_parts = len(certificate.multipliers)
    if certificate.parts.shape != mass.shape or certificate.parts.max() >= n_parts:
        raise ValueError("The certificate is for other rows: their number differs.")
    cost = margin = 0.0
    for part, multiplier in enumerate(certificate.multipliers):
        inside = certificate.parts == part
        whole = float(mass[inside].sum())
        least, error = _least_cost(
            rows[inside] - rows[0], mass[inside] / whole, certificate.n_clusters,
            multiplier,
        )  # fmt: skip
        cost, margin = cost + whole * least, margin + whole * error
    if not abs(cost - certificate.cost) <= SAME * abs(cost) + 3 * margin:
        raise ValueError(
            f"The certificate claims a bound of {certificate.cost!r}, but proves "
            f"{cost!r}."
        )
    return cost


def _least_cost(
    rows: NDArray[np.float64],
    w: NDArray[np.float64],
    n_clusters: int,
    multiplier: Multiplier,
) -> tuple[float, float]:
    """Return what the multiplier proves of rows with weights w, and the margin in it.

    The weights sum to 1.
    """
    entries, cuts, weights = multiplier
    if not ((entries >= 0).all() and (weights >= 0).all()):
        raise ValueError("The multiplier of the certificate has a negative entry.")
    n, r = len(rows), np.sqrt(w)
    is_row = np.isin(cuts, np.arange(n))
    has_rows = is_row[:, 0].all() and (is_row | (cuts == -1)).all()
    if len(entries) != n * (n + 1) // 2 or not has_rows:
        raise ValueError("The multiplier of the certificate has another size.")
    A = r[:, None] * (rows - w @ rows)
    N, upper = np.zeros((n, n)), np.triu_indices(n)
    N[upper] = np.where(upper[0] == upper[1], 0.5, 1.0) * entries
    for s in range(cuts.shape[1]):
        for t in range(max(s, 1)):
            both = is_row[:, s] & is_row[:, t]
            a, b, sign = cuts[both, s], cuts[both, t], -0.5 if t == 0 < s else 0.5
            np.add.at(N, (a, b), sign * weights[both].astype(float) / (r[a] * r[b]))
    total = (A**2).sum()
    N = total * (N + N.T)
    P, both = np.eye(n) - np.outer(r, r), A @ A.T + N
    largest = eigvalsh(P @ both @ P)[n - min(n_clusters, n) + 1 :]
    error = MARGIN * (total + np.abs(N).sum(axis=1).max())
    cost = total - r @ both @ r - np.maximum(largest, 0).sum() - error
    return max(float(cost), 0.0), float(error)
