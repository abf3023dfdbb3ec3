"""Features of estimators that are fitted on out-of-core rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from rawlsian._rows.blocks import Blocks


def set_features(estimator: Any, blocks: Blocks) -> None:
    """Set ``n_features_in_`` and, if columns have names, ``feature_names_in_``."""
    estimator.n_features_in_ = blocks.n_features
    if blocks.feature_names is not None:
        estimator.feature_names_in_ = np.array(blocks.feature_names, object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_features(estimator: Any, blocks: Blocks) -> None:
    """Raise ValueError if columns are not those that an estimator was fitted on."""
    n_expected = estimator.n_features_in_
    if blocks.n_features != n_expected:
        raise ValueError(
            f"X has {blocks.n_features} features, but {type(estimator).__name__} is "
            f"expecting {n_expected} features as input."
        )
    seen = getattr(estimator, "feature_names_in_", None)
    ours = blocks.feature_names
    if ours is not None and seen is not None and ours != list(seen):
        raise ValueError(
            f"X has the columns {', '.join(ours)}, but {type(estimator).__name__} "
            f"was fitted on {', '.join(seen)}, in this order; give the same columns."
        )
