"""The page in a real browser: it opens without complaints, fetches nothing, and does what its controls promise."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import browser
import pytest
import synthetic_runs as synthetic

from eigenloop import report
from eigenloop.report import table

pytestmark = pytest.mark.skipif(
    browser.executable() is None, reason="needs chromium, chromium-browser or google-chrome on the path"
)
EVIL = "</script><img src=x onerror=\"document.title='taken'\">"
CHART = "[...document.querySelectorAll('.chart')].find(c => c.checkVisibility())"
ROWS = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent.trim())"
KEYS = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[{}].dataset.key)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Page]:
    with browser.opened(tmp_path_factory.mktemp("profile")) as found:
        yield found


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
def opened(page: browser.Page, file: Path) -> Iterator[browser.Page]:
    page.open(file)
    yield page
    assert page.problems() == []
    assert page.requests() == [file.as_uri()]
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("document.title") != "taken"


def heading(column: str) -> str:
    return f"thead th:nth-child({table.COLUMNS.index(column) + 1}) button"


def test_curves_have_points(opened: browser.Page) -> None:
    lengths = opened.run(
        f"[...{CHART}.querySelectorAll('path.line')].map(p => [p.getTotalLength(), p.getBBox().width])"
    )
    assert len(lengths) >= 8
    assert sum(length > 300 and width > 300 for length, width in lengths) >= 5
    assert opened.run("document.querySelectorAll('.plane .after').length") == 3
    assert opened.run("[...document.querySelectorAll('.plane .after')].every(p => p.getBBox().width > 50)")


def test_one_chart_is_shown_a_figure(opened: browser.Page) -> None:
    shown = "[...document.querySelectorAll('.figure')].map(f => [...f.querySelectorAll('.chart')]"
    assert set(opened.run(shown + ".filter(c => c.checkVisibility()).length)")) == {1}


def test_a_click_on_a_heading_sorts_and_another_reverses(opened: browser.Page) -> None:
    before = opened.run(ROWS)
    opened.click(heading("Steps"))
    steps = [float(key) for key in opened.run(KEYS.format(4))]
    assert steps == sorted(steps)
    assert opened.run(ROWS) != before
    opened.click(heading("Steps"))
    assert [float(key) for key in opened.run(KEYS.format(4))] == sorted(steps, reverse=True)
    sorts = "[...document.querySelectorAll('thead th')].map(th => th.getAttribute('aria-sort'))"
    assert [sort for sort in opened.run(sorts) if sort != "none"] == ["descending"]


def test_what_is_missing_comes_last_either_way(opened: browser.Page) -> None:
    for _ in range(2):
        opened.click(heading("Test"))
        keys = opened.run(KEYS.format(7))
        known = [key for key in keys if key]
        assert keys == known + [""] * (len(keys) - len(known))
        assert 2 <= len(known) < len(keys)


@pytest.mark.parametrize("key", ["Enter", " "])
def test_sorting_by_keyboard(opened: browser.Page, key: str) -> None:
    opened.run(f"document.querySelector('{heading('Run')}').focus()")
    opened.press(key)
    names = opened.run(KEYS.format(0))
    assert names == sorted(names)
    opened.press(key)
    assert opened.run(KEYS.format(0)) == sorted(names, reverse=True)


@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_button(page: browser.Page, file: Path, dark: bool) -> None:
    page.open(file, dark=dark)
    page.run("localStorage.clear()")
    page.open(file, dark=dark)
    background = "getComputedStyle(document.body).backgroundColor"
    curve = "getComputedStyle(document.querySelector('path.line')).stroke"
    first = page.run(background), page.run(curve)
    page.click("[data-theme-toggle]")
    second = page.run(background), page.run(curve)
    assert first[0] != second[0]
    assert first[1] != second[1]
    light, shade = (second, first) if dark else (first, second)
    brightness = [sum(int(part) for part in colour[0][4:-1].split(",")) for colour in (light, shade)]
    assert brightness[0] > 600 > 200 > brightness[1]
    page.open(file, dark=dark)
    assert page.run(background) == second[0], "the choice is remembered"
    page.click("[data-theme-toggle]")
    assert page.run(background) == first[0]
    page.run("localStorage.clear()")


def test_the_axis_can_be_switched(opened: browser.Page) -> None:
    curve = f"{CHART}.querySelector('path.line').getAttribute('d')"
    title = f"{CHART}.querySelector('title').textContent"
    before = opened.run(curve)
    assert "training steps" in opened.run(title)
    opened.click("#learning-0 [data-pick=axis][value=time]")
    assert "training time" in opened.run(title)
    assert opened.run(curve) != before
    opened.click("#learning-0 [data-pick=axis][value=step]")
    assert opened.run(curve) == before


def test_the_quantity_can_be_switched(opened: browser.Page) -> None:
    title = f"{CHART}.querySelector('title').textContent"
    assert "loss against" in opened.run(title)
    opened.click("#learning-0 [data-pick=quantity][value='1']")
    assert "accuracy against" in opened.run(title)


def test_the_legend_hides_a_run(opened: browser.Page) -> None:
    visible = f"{CHART}.querySelector('path.line.run-1').checkVisibility()"
    assert opened.run(visible)
    opened.click("#learning-0 [data-pick=run][value='1']")
    assert not opened.run(visible)
    opened.click("#learning-0 [data-pick=run][value='1']")
    assert opened.run(visible)


def test_hovering_reads_all_curves(opened: browser.Page) -> None:
    x, y = opened.place("#learning-0 .chart")
    opened.move(x, y)
    tip = "document.querySelector('#learning-0 .tip')"
    assert opened.run(f"{tip}.checkVisibility()")
    text = opened.run(f"{tip}.innerText")
    assert "step 2,000" in text
    assert "LSTM" in text
    assert "scoRNN" in text
    assert "GRU" not in text, "it had ended by then"
    opened.move(1, 1)
    assert not opened.run(f"{tip}.checkVisibility()")


def test_curves_can_be_read_by_keyboard(opened: browser.Page) -> None:
    opened.run("document.querySelector('#learning-0 .chart').focus()")
    tip = "document.querySelector('#learning-0 .tip .head')"
    opened.press("ArrowLeft")
    first = opened.run(f"{tip}.textContent")
    opened.press("ArrowLeft")
    assert opened.run(f"{tip}.textContent") != first


def test_a_link_to_a_run_unfolds_it(opened: browser.Page) -> None:
    opened.click(".says a")
    opened.wait("document.querySelector('details[open]') !== null")
    assert opened.run("document.querySelector('details[open] code').textContent").startswith("eigenloop train ")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_windows_do_not_scroll_sideways(opened: browser.Page, file: Path, width: int) -> None:
    opened.open(file, width, 844)
    opened.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert opened.run("innerWidth") == width
    assert opened.run("document.documentElement.scrollWidth") <= width


def test_letters_keep_their_size_on_a_phone(opened: browser.Page, file: Path) -> None:
    size = f"{CHART}.querySelector('.letters text').getBoundingClientRect().height"
    before = opened.run(size)
    opened.open(file, 390, 844)
    assert opened.run(size) == pytest.approx(before, rel=0.1)
    labels = f"[...{CHART}.querySelectorAll('.letters text[text-anchor=middle]')].map(t => {{"
    boxes = opened.run(labels + "const b = t.getBoundingClientRect(); return [b.left, b.right]; })")
    assert all(a[1] < b[0] for a, b in pairwise(boxes)), "the labels do not touch"


def test_without_scripts_the_page_still_shows_everything(page: browser.Page, file: Path) -> None:
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(file)
        visible = f"{CHART}.querySelector('path.line').checkVisibility()"
        assert page.run(visible)
        page.click("#learning-0 [data-pick=axis][value=time]")
        assert "training time" in page.run(f"{CHART}.querySelector('title').textContent")
        assert not page.run("document.querySelector('[data-theme-toggle]').checkVisibility()")
    finally:
        page.send("Emulation.setScriptExecutionDisabled", value=False)
