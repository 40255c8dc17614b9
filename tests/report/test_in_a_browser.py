"""The page in a real browser: it opens without complaints, fetches nothing, and does what its controls promise."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest
import synthetic_runs as synthetic

from eigenloop import report
from eigenloop.report import table

EVIL = "</script><img src=x onerror=\"document.title='taken'\">"
TABLE = "table.sortable"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    adding = {"name": "adding", "length": 750}
    runs = [
        synthetic.solved_scornn(folder / "copying-scornn"),
        synthetic.lstm_at_the_baseline(folder / "copying-lstm"),
        synthetic.unfinished_gru(folder / "copying-gru"),
        synthetic.diverged_rnn(folder / "copying-rnn"),
        synthetic.solved_scornn(folder / "a-folder-whose-name-is-so-long-that-it-does-not-fit-on-any-phone-at-all"),
        synthetic.write_run(
            folder / "evil", settings=synthetic.config(EVIL, adding), metrics=synthetic.lines(2.0, 0.01, steps=500)
        ),
    ]
    return report.write(runs, folder / "report.html")


@pytest.fixture
def page(chromium: Any, file: Path) -> Iterator[Any]:
    with browser.visit(chromium, file) as opened:
        yield opened
        assert opened.locator("img").count() == 0
        assert opened.title() != "taken"


def chart(page: Any) -> Any:
    return page.locator("#learning-0 .chart:visible")


def title(page: Any) -> str:
    return chart(page).locator("title").text_content()


def heading(page: Any, column: str) -> Any:
    return page.locator(TABLE).get_by_role("button", name=column, exact=True)


def keys(page: Any, column: str) -> list[str]:
    cells = page.locator(f"{TABLE} tbody tr > :nth-child({table.COLUMNS.index(column) + 1})")
    return cells.evaluate_all("cells => cells.map(cell => cell.dataset.key)")


def test_curves_have_points(page: Any) -> None:
    lengths = (
        chart(page).locator("path.line").evaluate_all("all => all.map(p => [p.getTotalLength(), p.getBBox().width])")
    )
    assert len(lengths) >= 8
    assert sum(length > 300 and width > 300 for length, width in lengths) >= 5
    widths = page.locator(".plane .after").evaluate_all("all => all.map(p => p.getBBox().width)")
    assert len(widths) == 3
    assert min(widths) > 50


def test_one_chart_and_one_table_of_values_are_shown_a_figure(page: Any) -> None:
    for figure in page.locator(".figure").all():
        assert figure.locator(".chart:visible").count() == 1
        assert figure.locator(".values:visible").count() == 1


def test_a_click_on_a_heading_sorts_and_another_reverses(page: Any) -> None:
    before = keys(page, "Run")
    heading(page, "Steps").click()
    steps = [float(key) for key in keys(page, "Steps")]
    assert steps == sorted(steps)
    assert keys(page, "Run") != before
    heading(page, "Steps").click()
    assert [float(key) for key in keys(page, "Steps")] == sorted(steps, reverse=True)
    sorts = page.locator(f"{TABLE} thead th").evaluate_all("all => all.map(th => th.getAttribute('aria-sort'))")
    assert [sort for sort in sorts if sort != "none"] == ["descending"]


def test_what_is_missing_comes_last_either_way(page: Any) -> None:
    for _ in range(2):
        heading(page, "Test").click()
        shown = keys(page, "Test")
        known = [key for key in shown if key]
        assert shown == known + [""] * (len(shown) - len(known))
        assert 2 <= len(known) < len(shown)


@pytest.mark.parametrize("key", ["Enter", " "])
def test_sorting_by_keyboard(page: Any, key: str) -> None:
    heading(page, "Run").press(key)
    names = keys(page, "Run")
    assert names == sorted(names)
    heading(page, "Run").press(key)
    assert keys(page, "Run") == sorted(names, reverse=True)


@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_button(chromium: Any, file: Path, dark: bool) -> None:
    def colours(page: Any) -> tuple[str, str]:
        return page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            "getComputedStyle(document.querySelector('path.line')).stroke]"
        )

    with browser.visit(chromium, file, dark=dark) as page:
        first = colours(page)
        page.get_by_role("button", name="Dark colours").click()
        second = colours(page)
        assert first[0] != second[0]
        assert first[1] != second[1]
        light, shade = (second, first) if dark else (first, second)
        brightness = [sum(int(part) for part in colour[0][4:-1].split(",")) for colour in (light, shade)]
        assert brightness[0] > 600 > 200 > brightness[1]
        page.reload()
        assert colours(page) == second, "the choice is remembered"
        page.get_by_role("button", name="Dark colours").click()
        assert colours(page) == first


def test_the_axis_can_be_switched(page: Any) -> None:
    curve = chart(page).locator("path.line").first
    before = curve.get_attribute("d")
    assert "training step" in title(page)
    page.locator("#learning-0").get_by_role("radio", name="time").check(force=True)
    assert "training time" in title(page)
    assert curve.get_attribute("d") != before
    page.locator("#learning-0").get_by_role("radio", name="steps").check(force=True)
    assert curve.get_attribute("d") == before


def test_the_quantity_can_be_switched_by_keyboard(page: Any) -> None:
    assert title(page).startswith("loss against")
    page.locator("#learning-0").get_by_role("radio", name="loss").press("ArrowRight")
    assert title(page).startswith("accuracy against")


def test_the_legend_hides_a_run(page: Any) -> None:
    line = chart(page).locator("path.line.strong.key-1")
    box = page.locator("#learning-0").get_by_role("checkbox", name="LSTM")
    assert line.is_visible()
    box.uncheck(force=True)
    assert not line.is_visible()
    box.check(force=True)
    assert line.is_visible()


def test_hovering_reads_all_curves(page: Any) -> None:
    chart(page).hover()
    tip = page.locator("#learning-0 .tip:visible")
    text = tip.inner_text()
    assert "training step: 2,000" in text
    assert "LSTM" in text
    assert "scoRNN" in text
    assert "GRU" not in text, "it had ended by then"
    page.mouse.move(1, 1)
    assert tip.count() == 0


def test_curves_can_be_read_by_keyboard(page: Any) -> None:
    head = page.locator("#learning-0 .tip:visible .head")
    chart(page).press("ArrowLeft")
    first = head.text_content()
    chart(page).press("ArrowLeft")
    assert head.text_content() != first
    assert page.locator("#learning-0 .tip:visible").get_attribute("role") == "status", "screen readers say it"
    chart(page).press("Escape")
    assert head.count() == 0


def test_a_link_to_a_run_unfolds_it(page: Any) -> None:
    page.locator(".says a").first.click()
    assert page.locator("details.run[open] code").text_content().startswith("eigenloop train ")


@pytest.mark.parametrize("width", [320, 400, 768])
def test_narrow_windows_do_not_scroll_sideways(chromium: Any, file: Path, width: int) -> None:
    with browser.visit(chromium, file, width, 844) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert page.evaluate("innerWidth") == width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [400, 1280])
def test_labels_can_be_read(chromium: Any, file: Path, width: int) -> None:
    with browser.visit(chromium, file, width) as page:
        heights = page.locator(".chart:visible .letters text").evaluate_all(
            "all => all.map(t => t.getBoundingClientRect().height)"
        )
        assert len(heights) > 20
        assert all(12 <= height <= 20 for height in heights), "letters keep their size"
        assert browser.overlaps(page, ".letters text, .ends text") == []
        assert browser.cut(page, ".chart text, .plane text") == []


def test_without_scripts_the_page_still_shows_everything(chromium: Any, file: Path) -> None:
    with browser.visit(chromium, file, scripts=False) as page:
        assert chart(page).locator("path.line").first.is_visible()
        page.locator("#learning-0").get_by_role("radio", name="time").check(force=True)
        assert "training time" in title(page)
        assert not page.locator("[data-theme-toggle]").is_visible()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
def test_no_serious_barriers(chromium: Any, file: Path, width: int, dark: bool) -> None:
    with browser.visit(chromium, file, width, dark=dark) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert browser.barriers(page) == []
