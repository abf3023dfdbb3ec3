"""Open X in memory or out of core; no other module decides which."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted, validate_data

from rawlsian._core.checks import ROW_TYPES, check_examples, clear_errors_of_x
from rawlsian._core.sparse import Matrix, as_matrix
from rawlsian._engines.engine import Rows
from rawlsian._engines.features import check_features, set_features
from rawlsian._engines.memory import ArrayRows
from rawlsian._engines.outofcore import BlockRows
from rawlsian._rows.opening import as_blocks


def open_rows(X: Any, *, takes_mapped: bool = False) -> Rows:
    """Open X; a large ``numpy.memmap`` is out of core only if ``takes_mapped``."""
    blocks = as_blocks(X, takes_mapped=takes_mapped)
    if blocks is not None:
        return BlockRows(blocks)
    return ArrayRows(X, check_examples(X))


def open_to_fit(estimator: Any, X: Any, *, takes_mapped: bool = False) -> Rows:
    """Open the rows that an estimator is fitted on; it gets their features."""
    blocks = as_blocks(X, takes_mapped=takes_mapped)
    if blocks is not None:
        return BlockRows(blocks, partial(set_features, estimator, blocks))
    return ArrayRows(X, _validated(estimator, X, ensure_min_samples=2))


def open_new(estimator: Any, X: Any, *, least_rows: int = 1) -> Rows:
    """Open rows that must have the features of a fitted estimator."""
    check_is_fitted(estimator)
    blocks = as_blocks(X, takes_mapped=True)
    if blocks is not None:
        check_features(estimator, blocks)
        return BlockRows(blocks)
    checked = _validated(estimator, X, reset=False, ensure_min_samples=least_rows)
    return ArrayRows(X, checked)


def _validated(estimator: Any, X: Any, **options: Any) -> Matrix:
    with clear_errors_of_x(X):
        checked = validate_data(
            estimator, X, accept_sparse="csr", dtype=ROW_TYPES, order="C", **options
        )
    return as_matrix(checked)
