"""Open out-of-core rows: arrays, mapped files, Parquet, Dask."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from glob import glob, has_magic
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from rawlsian._rows.blocks import ArrayReader, Blocks, LocalBlocks
from rawlsian._rows.groups import refuse_mask

# Rows of a block: some megabytes, and some milliseconds of work.
BLOCK_SIZE = 65_536

# A mapped array with up to this many rows is read into memory.
FEW_MAPPED = 30_000
# Where joblib maps the arrays that it hands to its workers.
JOBLIB_FOLDER = "joblib_memmapping_folder"


def open_blocks(
    source: Any, *, columns: Sequence[str] | None = None, block_size: int = BLOCK_SIZE
) -> Blocks:
    """Open rows of numbers that need not fit into memory.

    ``RawlsianKMeans``, ``RawlsianPostprocessor``, ``traverse`` and ``audit`` take them
    in place of X. The source must not change meanwhile.

    Parameters
    ----------
    source : str, path, list of paths or array
        A ``.npy`` file; a Parquet file, a folder or a pattern such as
        ``"people/*.parquet"``, or a list of Parquet files, in the order of their names
        or of the list; or an array of two dimensions, such as a ``numpy.memmap``.
    columns : list of str, default=None
        The columns of Parquet files that make the rows, in this order. Others can be
        named in ``sensitive_features`` and ``sample_weight``.
    block_size : int, default=65536
        Number of rows that each thread reads at a time. It changes no result. From
        Parquet, at least one row group is read.

    Returns
    -------
    Blocks
        The rows; only their number has been read so far.

    Examples
    --------
    >>> import numpy as np
    >>> from rawlsian import RawlsianKMeans, open_blocks
    >>> X = open_blocks(np.arange(40.0).reshape(20, 2), block_size=8)
    >>> X
    LocalBlocks(3 blocks, 2 columns)
    >>> fair = RawlsianKMeans(2, random_state=0)
    >>> fair.fit(X, sensitive_features=["a", "b"] * 10).group_costs_
    array([66., 66.])
    """
    if not isinstance(block_size, Integral) or isinstance(block_size, bool):
        raise ValueError(f"block_size must be a number of rows, got {block_size!r}.")
    if block_size < 1:
        raise ValueError(f"block_size must be 1 or more, got {block_size}.")
    if isinstance(source, Blocks):
        if columns is not None or block_size != BLOCK_SIZE:
            raise ValueError(
                "columns and block_size have no effect on Blocks, which are open; give "
                "the file or array that they were opened from."
            )
        return source
    if isinstance(source, (str, Path)) and str(source).endswith(".npy"):
        _refuse_columns(columns)
        return _of_array(_mapped(source), int(block_size))
    if isinstance(source, (str, Path)) or _are_paths(source):
        from rawlsian._rows.parquet import open_parquet

        return open_parquet(_files(source), columns, int(block_size))
    _refuse_columns(columns)
    return _of_array(source, int(block_size))


def as_blocks(X: Any, *, takes_mapped: bool = False) -> Blocks | None:
    """Return X as ``Blocks`` if it is out of core, else None."""
    if isinstance(X, Blocks):
        return X
    if takes_mapped and isinstance(X, np.memmap) and _is_large(X):
        return open_blocks(X)
    if "dask" in sys.modules and sys.modules["dask"].is_dask_collection(X):
        from rawlsian._rows.dask import DaskBlocks

        return DaskBlocks.of(X)
    return None


def _is_large(X: np.memmap[Any, Any]) -> bool:
    """Return True if a user, not joblib, mapped many rows."""
    is_joblibs = JOBLIB_FOLDER in str(X.filename)
    return X.ndim == 2 and len(X) > FEW_MAPPED and not is_joblibs


def refuse_blocks(
    X: Any, what: str, instead: str = "give a sample of the rows as an array"
) -> None:
    """Raise ValueError if X is out of core, which ``what`` does not take."""
    if as_blocks(X) is not None:
        raise needs_memory(X, what, instead)


def needs_memory(X: Any, what: str, instead: str) -> ValueError:
    """Return the error for out-of-core X where rows must be in memory."""
    return ValueError(
        f"{what} takes rows in memory, but X ({type(X).__name__}) is not; {instead}."
    )


def _refuse_columns(columns: object) -> None:
    if columns is not None:
        raise ValueError("columns is for Parquet files; an array has no named columns.")


def _are_paths(source: Any) -> bool:
    return isinstance(source, (list, tuple)) and all(
        isinstance(path, (str, Path)) for path in source
    )


def _mapped(path: str | Path) -> Any:
    try:
        # Copy on write: compiled code reads it as an ordinary array.
        return np.load(path, mmap_mode="c")
    except (OSError, ValueError) as error:
        raise ValueError(f"{str(path)!r} cannot be mapped: {error}.") from error


def _files(source: Any) -> list[str]:
    """Return the paths listed, or those of a pattern or folder, in order."""
    if isinstance(source, (list, tuple)):
        found = [str(path) for path in source]
    elif has_magic(str(source)):
        found = sorted(glob(str(source)))
    elif Path(source).is_dir():
        found = sorted(str(path) for path in Path(source).glob("*.parquet"))
    else:
        found = [str(source)]
    if not found:
        raise ValueError(f"no file matches {source!r}; name Parquet files.")
    return found


def _of_array(array: Any, block_size: int) -> LocalBlocks:
    refuse_mask(array, "X")
    if issparse(array):
        raise ValueError("X is sparse; out-of-core rows must be dense.")
    shape: tuple[int, ...] = getattr(array, "shape", ())
    kind = getattr(array, "dtype", np.dtype("O"))
    if len(shape) != 2 or kind.kind not in "fiub":
        raise ValueError(
            "out-of-core rows must be a numeric array of two dimensions, one row per "
            f"example, found {type(array).__name__} of shape {shape} and type {kind}."
        )
    parts = [
        ArrayReader(array, start, min(start + block_size, shape[0]))
        for start in range(0, shape[0], block_size)
    ]
    return LocalBlocks(parts, None, int(shape[1]))
