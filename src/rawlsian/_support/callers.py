"""Warnings that point at the user's line."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

import sklearn

# A user may call fit by way of scikit-learn, as in fit_predict.
_INSIDE = (
    str(Path(__file__).parents[1]) + os.sep,
    str(Path(str(sklearn.__file__)).parent) + os.sep,
)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, naming the first line outside of this package and scikit-learn."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
