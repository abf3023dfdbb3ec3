"""Checks of out-of-core input, on a summary of each block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rawlsian._core.checks import check_weight_range, check_weight_values, refuse_text
from rawlsian._outofcore import block_sums
from rawlsian._rows.blocks import Blocks
from rawlsian._rows.executors import Column
from rawlsian._rows.groups import (
    EVERYONE,
    Encoded,
    check_number_of_groups,
    encode_block,
    merge_names,
    missing_groups,
)


class BlockSummary(NamedTuple):
    """Size, range, groups and weights of a block, and the first fault in it."""

    n_rows: int
    bad: tuple[int, int]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    members: NDArray[np.int64]
    sizes: NDArray[np.float64]
    weight_range: tuple[float, float]
    fault: str


def summarise(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    weights: NDArray[np.float64],
    n_groups: int,
    is_one: bool,
) -> BlockSummary:
    """Summarise a block; ``is_one`` if one weight holds for all rows."""
    lowest = np.full(X.shape[1], np.inf)
    highest = np.full(X.shape[1], -np.inf)
    fault = ""
    if len(groups) != len(X):
        fault = f"sensitive_features has {len(groups):,} rows but X has {len(X):,}"
    elif not is_one and weights.shape != (len(X),):
        fault = f"sample_weight has shape {weights.shape} but X has {len(X):,} rows"
    bad = block_sums.look_at(X, lowest, highest)
    members = np.zeros(n_groups, np.int64)
    sizes = np.zeros((2, n_groups))
    positive = weights[weights > 0]
    weight_range = (
        (float(positive.min()), float(positive.max())) if len(positive) else (np.inf, 0)
    )
    if not fault:
        block_sums.add_weights(groups, weights, members, sizes)
    return BlockSummary(
        len(X), bad, lowest, highest, members, sizes, weight_range, fault
    )


def check_summaries(blocks: Blocks, summaries: Sequence[BlockSummary]) -> None:
    """Raise ValueError for the first fault in the rows, groups or weights."""
    for b, summary in enumerate(summaries):
        if summary.fault:
            raise ValueError(
                f"{summary.fault}, from {blocks.name_row(b, 0)} on; give one value for "
                "each row of X."
            )
        row, column = summary.bad
        if row >= 0:
            name = blocks.feature_names[column] if blocks.feature_names else column
            raise ValueError(
                f"X must be finite numbers, but column {name!r} of "
                f"{blocks.name_row(b, row)} is NaN or infinite; fill in or drop "
                "missing values."
            )
    n_rows = sum(summary.n_rows for summary in summaries)
    if n_rows < 2:
        raise ValueError(f"X has {n_rows} row(s), but a minimum of 2 is required.")
    lightest = min(summary.weight_range[0] for summary in summaries)
    heaviest = max(summary.weight_range[1] for summary in summaries)
    check_weight_range(lightest, heaviest)


def weights_of(blocks: Blocks, sample_weight: Any) -> tuple[Column, bool]:
    """Return a column of weights; True if each is one weight for a whole block."""
    is_one = sample_weight is None or np.ndim(sample_weight) == 0
    if is_one and not isinstance(sample_weight, str):
        weight = _weights_of_block(1.0 if sample_weight is None else sample_weight)
        return [weight.reshape(1)] * blocks.n_blocks, True
    given = blocks.columns_of(sample_weight, "sample_weight")
    return blocks.executor.keep(_weights_of_block, [given]), False


def _weights_of_block(values: Any) -> NDArray[np.float64]:
    refuse_text(values, "sample_weight")
    weights = np.array(values, np.float64)
    check_weight_values(weights)
    return weights


def encode_groups_of(
    blocks: Blocks, sensitive_features: Any
) -> tuple[NDArray[Any], Column]:
    """Return the names of the groups, sorted, and a column of group codes."""
    if sensitive_features is None:
        zeros = blocks.executor.keep(no_groups, [blocks.lengths])
        return np.array([EVERYONE]), zeros
    raw = blocks.columns_of(sensitive_features, "sensitive_features")
    encoded = blocks.executor.keep(encode_block, [raw])
    known = list(blocks.executor.run(_without_codes, [encoded]))
    for b, (block, _) in enumerate(known):
        if block.missing is not None:
            first = blocks.name_row(b, block.missing[1])
            raise ValueError(missing_groups(block, first))
    names, places = merge_names([block.names for block, _ in known])
    check_number_of_groups(len(names), sum(n_rows for _, n_rows in known))
    return names, blocks.executor.keep(_recode, [encoded, places])


def _without_codes(encoded: Encoded) -> tuple[Encoded, int]:
    """Return the names of a block, and its number of rows."""
    return encoded._replace(codes=np.empty(0, np.int32)), len(encoded.codes)


def no_groups(n_rows: int) -> NDArray[np.int32]:
    """Return the group codes of a block where everyone is in one group."""
    return np.zeros(n_rows, np.int32)


def _recode(encoded: Encoded, places: NDArray[np.int32]) -> NDArray[np.int32]:
    codes: NDArray[np.int32] = places[encoded.codes]
    return codes
