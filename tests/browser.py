"""Pages in a real browser: headless Chromium, driven by Playwright, with what it complains about collected."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def executable() -> str | None:
    """Find a browser that is installed on the system; Playwright's own would have to be downloaded."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def started() -> Iterator[Any]:
    """Start a browser, or skip the test with what is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    program = executable()
    if program is None:
        pytest.skip("needs chromium, chromium-browser or google-chrome on the path")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@contextmanager
def visit(
    browser: Any,
    file: Path,
    width: int = 1100,
    height: int = 900,
    *,
    dark: bool = False,
    scripts: bool = True,
    site: Path | None = None,
) -> Iterator[Any]:
    """Open a file in a window of its own; afterwards there are no complaints, and nothing from outside its site."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        is_mobile=width < 600,
        java_script_enabled=scripts,
    )
    complaints: list[str] = []
    requests: list[str] = []
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.resolve().as_uri())
    try:
        yield page
        assert complaints == []
        own = "" if site is None else f"{site.resolve().as_uri()}/"
        assert {url for url in requests if not (own and url.startswith(own))} <= {file.resolve().as_uri()}
    finally:
        context.close()


def barriers(page: Any) -> list[str]:
    """Return what axe-core finds that is serious or critical for people with disabilities."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    # Style sheets of a folder cannot be fetched by a script; only the rule about locked orientation would need that.
    results = axe.Axe().run(page, options={"preload": False}).response
    assert results["passes"], "axe has looked at something"
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in results["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


def overlaps(page: Any, selector: str) -> list[tuple[str, str]]:
    """Return the texts among those that match which cover each other, on each chart that is shown."""
    return page.evaluate(
        """selector => [...document.querySelectorAll('.chart')].filter(c => c.checkVisibility()).flatMap(chart => {
            const boxes = [...chart.querySelectorAll(selector)].filter(t => t.checkVisibility())
              .map(t => [t.textContent, t.getBoundingClientRect()]);
            return boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
              .filter(([, q]) => Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1
                && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3)
              .map(([b]) => [a, b]));
        })""",
        selector,
    )


def cut(page: Any, selector: str) -> list[str]:
    """Return the texts among those that match which leave the window at a side."""
    return page.evaluate(
        """selector => [...document.querySelectorAll(selector)].filter(t => t.checkVisibility())
            .filter(t => { const b = t.getBoundingClientRect(); return b.left < 0 || b.right > innerWidth; })
            .map(t => t.textContent)""",
        selector,
    )
