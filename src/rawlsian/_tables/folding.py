"""Spellings of one value: texts that differ only in case, blanks or accents."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray


def fold(text: str) -> str:
    """Return a text without case, blanks and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = (each for each in apart if not unicodedata.combining(each))
    return "".join("".join(bare).casefold().split())


def spellings(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Return the texts of each folded text, the most frequent first."""
    found: dict[str, list[str]] = defaultdict(list)
    for text in sorted(counts, key=lambda each: (-counts[each], each)):
        found[fold(text)].append(text)
    return dict(found)


def merged(
    texts: Iterable[str], names: Mapping[str, str], codes: NDArray[np.int32]
) -> tuple[NDArray[np.object_], NDArray[np.int32]]:
    """Return levels and codes with spellings merged.

    ``names`` has the spelling that stands for a folded text; others stand folded.
    """
    found = [names.get(key, key) for key in map(fold, texts)]
    levels = list(dict.fromkeys(found))
    place = {level: j for j, level in enumerate(levels)}
    places = np.array([*(place[each] for each in found), -1], np.int32)
    return np.array(levels, object), places[codes]
