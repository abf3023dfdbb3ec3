"""The page of promises: each names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/\w+\.py)::(\w+)`", TEXT)))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_holds_a_promise_exists(file, name):
    content = (ROOT / file).read_text(encoding="utf-8")

    assert re.search(rf"^def {name}\(", content, re.MULTILINE)


def test_every_promise_has_a_test():
    tables = re.findall(r"^\| promise \|.*\n\|---\|---\|\n((?:\|.*\n)+)", TEXT, re.M)
    promises = [line for table in tables for line in table.splitlines()]

    assert len(tables) == 4
    assert all("`tests/" in promise for promise in promises)
