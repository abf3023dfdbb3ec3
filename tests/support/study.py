"""Studies that are small enough for tests."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from rawlsian import StudyConfig
from rawlsian.study import beyond as _beyond, data as _data, figures as _figures

SMALLEST = StudyConfig(runs=1, samples=1, clusters=2)


@contextmanager
def small_samples():
    """Draw samples of 250 people; the doctest of ``run_study`` draws 1,000.

    Pictures are coarse, too: nobody looks at them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_data, "EXAMPLES_A_CLASS", 125)
        patch.setattr(_data, "MINORITY_IN_SAMPLE", 67)
        patch.setattr(_beyond, "PROVED_ROWS", 75)
        patch.setitem(_figures.STYLE, "savefig.dpi", 40)
        yield


def without_seconds(value):
    """Return results without what differs from run to run."""
    if isinstance(value, dict):
        return {k: without_seconds(v) for k, v in value.items() if k != "seconds"}
    if isinstance(value, list):
        return [without_seconds(v) for v in value]
    return value
