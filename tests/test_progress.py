"""Printed progress of estimators and walks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from rawlsian import (
    FairLloyd,
    RawlsianKMeans,
    RawlsianPostprocessor,
    open_blocks,
    traverse,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
SEX = np.where(RNG.random(60) < 0.4, "f", "m")
KMEANS = KMeans(3, n_init=1, random_state=0)
ESTIMATORS = [
    FairLloyd(3, n_init=2, random_state=0),
    RawlsianKMeans(3, n_init=4, n_crossings=4, pooling=0, random_state=0),
    RawlsianPostprocessor(KMEANS, operator="R1", max_iter=3),
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_silent_fit_prints_nothing(estimator, capsys):
    estimator.set_params(verbose=0).fit(X, sensitive_features=SEX)

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_prints_stages_and_two_also_steps(estimator, capsys):
    printed = []
    for verbose in (1, 2):
        estimator.set_params(verbose=verbose).fit(X, sensitive_features=SEX)
        printed.append(capsys.readouterr().out.splitlines())

    stages, all_lines = printed
    name = type(estimator).__name__
    assert stages[0] == f"[{name}] data: 60 people: f (22), m (38)"
    assert 3 <= len(stages) < len(all_lines)
    assert [line for line in all_lines if line in stages] == stages
    assert all(line.startswith(f"[{name}] ") for line in all_lines)


def test_the_lines_of_a_walk_have_its_utilities(capsys):
    steps = []

    found = traverse(
        X, np.arange(60) % 3, SEX, max_iter=2, verbose=2, callback=steps.append
    )

    lines = capsys.readouterr().out.splitlines()
    lowest = found.utilities.min(axis=1)
    assert f"step 1: lowest utility {lowest[1]:.6g}," in lines[1]
    assert lines[-1] == (
        f"[traverse] max_iter after 2 steps: lowest utility {lowest[0]:.6g} -> "
        f"{lowest[-1]:.6g}"
    )
    assert [step.n_iter for step in steps] == [1, 2]  # the user's callback runs, too


def test_passes_and_a_chosen_pooling_are_printed(capsys):
    fair = RawlsianKMeans(2, n_init=2, n_crossings=0, random_state=0, verbose=2)

    fair.fit(open_blocks(X), sensitive_features=SEX)

    printed = capsys.readouterr().out
    assert f"pass {fair.n_passes_} of at most 30: largest cost" in printed
    assert f"pooling: {fair.pooling_:.6g}, chosen by cross-validation" in printed


def test_many_groups_are_not_all_named(capsys):
    FairLloyd(2, verbose=1).fit(X, sensitive_features=np.arange(60) % 9)

    assert "5 (7), ...\n" in capsys.readouterr().out


@pytest.mark.parametrize("verbose", [-1, 1.5, "loud", None])
def test_verbose_is_a_number(verbose):
    message = "verbose must be 0 .silent., 1 .* or 2"
    for estimator in ESTIMATORS:
        with pytest.raises(ValueError, match=message):
            estimator.set_params(verbose=verbose).fit(X)
        estimator.set_params(verbose=0)
    with pytest.raises(ValueError, match=message):
        traverse(X, [0, 1] * 30, SEX, verbose=verbose)
