"""Labels and row names in a page, compressed, for download."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rawlsian.report.contents import Page, Way

# In characters; keeps the page of a million rows below 5 MB.
LIMIT = 2_500_000
GZIP = 31  # wbits of zlib for the gzip format


def explored(page: Page) -> tuple[Way, ...]:
    """Return the ways of the slider: none if there is a single clustering."""
    return page.ways if any(way.kind != "one" for way in page.ways) else ()


def pack_rows(page: Page, shown: NDArray[np.integer]) -> dict[str, Any]:
    """Return labels and row names as base64 of gzip, and sentences on omissions.

    Labels are XORed with those of the point before, which are mostly equal. ``shown``
    has the labels of the clusters on the page. If all of it is too large, row names are
    left out first, then labels from the last way on, then those shown.
    """
    dtype, ways = label_type(len(page.cluster_names)), explored(page)
    labels = [pack_labels(way.labels, dtype) for way in ways]
    own = None if _is_an_end(shown, ways) else pack_labels(shown[None], dtype)
    numbers = _numbers(page)
    names = None
    if page.row_names is not None:
        names = _pack(json.dumps(list(page.row_names)).encode())
        if _size([own, *labels, numbers, names]) > LIMIT:
            names = None
    for way in reversed(range(len(labels))):
        if _size([own, *labels, numbers, names]) > LIMIT:
            labels[way] = None
    at = _place(shown, ways, labels)
    if at is None:
        own = own or pack_labels(shown[None], dtype)
        if _size([own, numbers, names]) > LIMIT:
            own = None
    return {
        "labels": labels,
        "labelBytes": dtype.itemsize,
        "shownAt": at,  # way and point that have the labels shown
        "shownLabels": own,
        "rows": {
            "count": len(page.X),
            "numbers": numbers,  # differences between neighbours; null: from 1 on
            "header": page.row_header,
            "names": names,
        },
        "leftOut": _left_out(
            page, labels, names is not None, at is not None or own is not None
        ),
    }


def _is_an_end(shown: NDArray[np.integer], ways: Sequence[Way]) -> bool:
    return any(np.array_equal(shown, way.labels[-1]) for way in ways)


def _place(
    shown: NDArray[np.integer], ways: Sequence[Way], labels: list[str | None]
) -> tuple[int, int] | None:
    """Return the way and the point that have the labels, if the page carries them."""
    for place, (way, packed) in enumerate(zip(ways, labels, strict=True)):
        if packed is not None and np.array_equal(shown, way.labels[-1]):
            return place, len(way.labels) - 1
    return None


def label_type(n_clusters: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest little-endian unsigned type for the labels."""
    return np.min_scalar_type(max(n_clusters - 1, 0)).newbyteorder("<")


def pack_labels(
    labels: NDArray[np.integer], dtype: np.dtype[np.unsignedinteger]
) -> str | None:
    """Compress the labels of all points; None if they exceed the limit."""
    packer = zlib.compressobj(wbits=GZIP)
    before = np.zeros(labels.shape[1], dtype)
    packed = bytearray()
    for point in labels:
        now = point.astype(dtype)
        packed += packer.compress((now ^ before).tobytes())
        before = now
        if len(packed) > LIMIT:
            return None
    packed += packer.flush()
    return b64encode(packed).decode()


def _numbers(page: Page) -> str | None:
    if page.row_numbers is None:
        return None
    steps = np.diff(page.row_numbers, prepend=0)
    if (steps == 1).all():
        return None
    return _pack(json.dumps(steps.tolist(), separators=(",", ":")).encode())


def _pack(text: bytes) -> str:
    return b64encode(zlib.compress(text, wbits=GZIP)).decode()


def _size(packed: list[str | None]) -> int:
    return sum(len(each) for each in packed if each is not None)


def _left_out(
    page: Page, labels: list[str | None], has_names: bool, has_shown: bool
) -> list[str]:
    sentences = []
    titles = [
        f"“{way.title}”"
        for way, packed in zip(explored(page), labels, strict=True)
        if packed is None
    ]
    if titles:
        sentences.append(
            f"To stay small, this page does not carry the labels of "
            f"{' and '.join(titles)}; “rawlsian fit --frontier FILE” and “--out FILE” "
            "write them."
        )
    elif not has_shown:
        sentences.append("To stay small, this page does not carry the labels.")
    has_labels = has_shown or len(titles) < len(labels)
    if page.row_names is not None and not has_names and has_labels:
        sentences.append(
            "To stay small, this page does not carry the names of the rows; a download "
            "has their numbers in the table, from 1."
        )
    return sentences
