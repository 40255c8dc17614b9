"""The page of published results in a real browser: nothing is cut, covered or unreadable."""

from pathlib import Path
from typing import Any

import browser
import pytest

from eigenloop import experiments
from eigenloop.comparison import write

PAGE = Path(__file__).parents[2] / "docs" / "results.html"
OPEN = "document.querySelectorAll('details').forEach(d => { d.open = true; })"


@pytest.mark.parametrize("width", [400, 1280])
def test_labels_can_be_read(chromium: Any, width: int) -> None:
    with browser.visit(chromium, PAGE, width) as page:
        assert page.locator(".chart:visible").count() >= 10
        assert browser.overlaps(page, ".letters text") == []
        assert browser.cut(page, ".chart text") == []
        page.evaluate(OPEN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three experiments with curves, claims and ratios: axe takes its time with all of them."""
    chosen = [experiments.load(name) for name in ("enrnn-fig4", "ncgru-table1", "nnrnn-table2")]
    return write(PAGE.parents[1] / "results", tmp_path_factory.mktemp("some"), chosen).page


@pytest.mark.parametrize(("width", "dark"), [(400, True), (1280, False)])
def test_no_serious_barriers(chromium: Any, some: Path, width: int, dark: bool) -> None:
    with browser.visit(chromium, some, width, dark=dark) as page:
        page.evaluate(OPEN)
        assert browser.barriers(page) == []


@pytest.mark.slow
def test_no_serious_barriers_on_the_whole_page(chromium: Any) -> None:
    with browser.visit(chromium, PAGE, 400, dark=True) as page:
        page.evaluate(OPEN)
        assert browser.barriers(page) == []


def test_curves_are_read_and_hidden(chromium: Any) -> None:
    with browser.visit(chromium, PAGE) as page:
        figure = page.locator(".drawings .figure").first
        figure.locator(".chart").press("ArrowLeft")
        label = figure.get_by_role("checkbox").first.get_attribute("data-short")
        assert label in figure.locator(".tip:visible").inner_text()
        assert "training" not in figure.locator(".tip:visible .kind").all_inner_texts(), "one column is enough"
        key = figure.get_by_role("checkbox").first.get_attribute("value")
        line = figure.locator(f"path.line.key-{key}").last
        assert line.is_visible()
        figure.get_by_role("checkbox").first.uncheck(force=True)
        assert not line.is_visible()


def test_what_is_wrong_is_reported(chromium: Any, tmp_path: Path) -> None:
    poor = tmp_path / "poor.html"
    letters = (
        '<svg class="chart"><text x="5" y="20">one</text><text x="8" y="20">other</text><text x="-9">cut</text></svg>'
    )
    poor.write_text(
        f'<html><body style="background: white"><p style="color: #ddd">faint</p><img alt>{letters}<input></body>'
    )
    with browser.visit(chromium, poor) as page:
        rules = {barrier.split(":")[0] for barrier in browser.barriers(page)}
        assert {"color-contrast", "html-has-lang", "label"} <= rules
        assert browser.overlaps(page, "text") == [["one", "other"]]
        assert browser.cut(page, "text") == ["cut"]
