"""The site in a real browser, opened from a folder: readable on a phone and at a desk, light and dark; searchable."""

from pathlib import Path
from typing import Any

import browser
import pytest

PAGES = ("index", "tutorials/first-network", "which-model", "matrices/cayley", "api/layers")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(chromium: Any, site: Path, name: str, width: int) -> None:
    with browser.visit(chromium, site / f"{name}.html", width, site=site) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.cut(page, "h1, h2, h3, .md-content p, .md-content li, .md-content img") == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "dark"), [(400, True), (1280, False)])
def test_no_serious_barriers(chromium: Any, site: Path, name: str, width: int, dark: bool) -> None:
    with browser.visit(chromium, site / f"{name}.html", width, dark=dark, site=site) as page:
        scheme = page.evaluate("document.body.getAttribute('data-md-color-scheme')")
        assert scheme == ("slate" if dark else "default")
        assert browser.barriers(page) == []


def test_search_works_without_a_server(chromium: Any, site: Path) -> None:
    with browser.visit(chromium, site / "index.html", 1280, site=site) as page:
        page.locator("input.md-search__input").click()
        page.locator("input.md-search__input").press_sequentially("Cayley")
        page.locator(".md-search-result__item").first.wait_for()
        assert "Cayley" in page.locator(".md-search-result__list").inner_text()
