"""Examples of the documentation that show what they print."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if ">>> " in page.read_text()]


def test_there_are_some() -> None:
    assert ROOT / "docs" / "errata.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_prints_what_it_says(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0
