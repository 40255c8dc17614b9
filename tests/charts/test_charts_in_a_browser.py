"""Scatter plots, matrices and sequences on a page in a real browser."""

from pathlib import Path
from typing import Any

import browser
import numpy as np
import pytest

from eigenloop import charts, pages

TEMPLATE = """{% extends "base.html" %}{% block title %}charts{% endblock %}{% block rules %}{{ rules }}{% endblock %}
{% block main %}<h1>Charts</h1>{{ points }}{{ counts }}{{ sequences }}{% endblock %}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    near = [charts.Dot(10.0**-k, 10.0**-k * (1 + k % 3), f"run {k}", hollow=k == 2) for k in range(6)]
    plot = charts.scatter({"runs": near}, title="both", x_title="published", y_title="ours", diagonal="the same")
    points = charts.Figure("points", (plot,), (charts.Key(0, "c0", "runs"), charts.Key(1, "plain dotted", "the same")))
    counts = [[100 - 10 * k if k == j else 3 * k for j in range(8)] for k in range(8)]
    waves = [charts.Trace(f"sequence {k}", np.sin(np.arange(400) / (5 + k))[:, None]) for k in range(4)]
    path = tmp_path_factory.mktemp("charts") / "charts.html"
    page = pages.environment("eigenloop.charts").from_string(TEMPLATE)
    path.write_text(
        page.render(
            frame=pages.frame("eigenloop.charts"),
            colours=charts.COLOURS,
            rules=charts.rules([points]),
            points=points,
            counts=charts.matrix(counts, [f"a longer class {k}" for k in range(8)], title="Confusion"),
            sequences=charts.sequences(waves),
        ),
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(("width", "dark"), [(400, True), (1280, False)])
def test_charts_can_be_read(chromium: Any, file: Path, width: int, dark: bool) -> None:
    with browser.visit(chromium, file, width, dark=dark) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert page.locator(".chart:visible").count() == 1
        assert page.locator(".traces svg:visible").count() == 4
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "a wide matrix scrolls by itself"
        assert browser.overlaps(page, ".letters text") == []
        assert browser.cut(page, ".chart text") == []
        assert browser.barriers(page) == []


def test_the_legend_hides_points(chromium: Any, file: Path) -> None:
    with browser.visit(chromium, file) as page:
        dots = page.locator("#points .cloud circle").first
        assert dots.is_visible()
        page.get_by_role("checkbox", name="runs").uncheck(force=True)
        assert not dots.is_visible()


def test_points_are_named(chromium: Any, file: Path) -> None:
    with browser.visit(chromium, file) as page:
        figure = page.locator("#points")
        chart = figure.locator(".chart")
        chart.press("ArrowRight")
        assert figure.locator(".tip:visible").inner_text() == "run 5", "the leftmost"
        chart.press("ArrowRight")
        assert figure.locator(".tip:visible").inner_text() == "run 4"
        chart.press("Escape")
        assert figure.locator(".tip:visible").count() == 0
        figure.locator(".rings circle").hover()
        assert figure.locator(".tip:visible").inner_text() == "run 2"
        figure.get_by_role("checkbox").first.uncheck(force=True)
        assert not figure.locator(".rings circle").is_visible()
