"""Warnings that point at the user's line."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

import joblib
import sklearn

# scikit-learn may call fit for the user, as in fit_predict or a grid search.
_INSIDE = (
    str(Path(__file__).parents[1]) + os.sep,
    *(str(Path(str(each.__file__)).parent) + os.sep for each in (joblib, sklearn)),
)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, naming the first line outside of this package, scikit-learn and joblib."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
