"""The documentation site: every public name has its entry, and nothing is fetched from elsewhere."""

import importlib
import importlib.util
import pkgutil
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import eigenloop
from eigenloop import registry

ROOT = Path(__file__).parents[2]


def hook(name: str) -> ModuleType:
    """Import a module that the build uses."""
    pytest.importorskip("mkdocs", reason="needs mkdocs: pip install 'eigenloop[docs]'")
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public_packages() -> list[ModuleType]:
    """Import every package with ``__all__``, and the modules with one that stand in eigenloop itself."""
    every = pkgutil.walk_packages(eigenloop.__path__, "eigenloop.")
    inner = [info for info in every if not info.name.startswith("eigenloop._")]  # the start of the program, the kernel
    chosen = [info.name for info in inner if info.ispkg or info.name.count(".") == 1]
    modules = [importlib.import_module(name) for name in chosen]
    return [module for module in modules if hasattr(module, "__all__")]


def entries(page: Path) -> dict[str, str]:
    """Return the text below each entry of a page of the reference, by the name of the entry."""
    pieces = re.split(r'<h[2-6] id="(eigenloop[^"]*)"', page.read_text(encoding="utf-8"))
    return {name: re.sub(r"<[^>]+>", " ", text) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def test_every_public_name_is_described(site: Path) -> None:
    internal = hook("reference").INTERNAL
    packages = [package for package in public_packages() if package.__name__ not in internal]
    assert len(packages) > 12
    missing = []
    for package in packages:
        page = site / "api" / f"{package.__name__.removeprefix('eigenloop.')}.html"
        described = entries(page) if page.is_file() else {}
        for name in package.__all__:
            full = f"{package.__name__}.{name}"
            inner = isinstance(getattr(package, name), ModuleType) and (site / "api" / f"{full[10:]}.html").is_file()
            if not inner and len(described.get(full, "").split()) < 4:
                missing.append(full)
    assert missing == [], "these need a docstring, or #: above a constant"


def test_every_name_of_eigenloop_is_on_the_first_page(site: Path) -> None:
    text = (site / "api" / "index.html").read_text(encoding="utf-8")
    assert [name for name in eigenloop.__all__ if f"<code>eigenloop.{name}</code>" not in text] == []


def test_internal_packages_exist() -> None:
    for name in hook("reference").INTERNAL:
        importlib.import_module(name)


class _Resources(HTMLParser):
    """Collects what a browser loads for a page, without what a reader may click on."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        loaded = tag != "link" or given.get("rel") not in ("canonical", "prev", "next")
        if tag != "a" and loaded:
            self.addresses += [address for key in ("src", "href") if (address := given.get(key))]


def loaded(page: str) -> list[str]:
    """Return the addresses elsewhere from which a page loads something."""
    parser = _Resources()
    parser.feed(page)
    return [address for address in parser.addresses if re.match(r"(https?:)?//", address)]


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    assert {
        str(page.relative_to(site)): loaded(page.read_text(encoding="utf-8"))
        for page in pages
        if page.stem != "results"
    } == {str(page.relative_to(site)): [] for page in pages if page.stem != "results"}


def test_a_script_from_elsewhere_is_noticed() -> None:
    assert loaded(
        '<a href="https://x.org">x</a><script src="https://x.org/a.js"></script><link href="//x.org/b.css">'
    ) == [
        "https://x.org/a.js",
        "//x.org/b.css",
    ]


@pytest.mark.parametrize("name", registry.MATRICES.own)
def test_a_matrix_has_its_equation_its_paper_and_its_picture(name: str) -> None:
    entry = registry.MATRICES[name]
    text = (ROOT / "docs" / entry.page).read_text(encoding="utf-8")
    assert entry.title in text
    assert re.search(r"^    W = ", text, flags=re.MULTILINE), "the equation, as a block of its own"
    assert re.search(r"^!\[Eigenvalues.*\]\(\.\./images/[\w-]+\.png\)$", text, flags=re.MULTILINE)
    assert re.search(r"\*\*Papers?\.\*\* .*\d{4}", text), "where it was published"


def test_links_to_files_of_the_repository_are_rewritten(tmp_path: Path) -> None:
    rewritten = hook("repository").rewritten
    for place in ("RESULTS.md", "results/README.md", "docs/speed.md", "docs/matrices/free.md"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("# A page")
    text = "[a](../../RESULTS.md#b) [c](../speed.md) [d](https://x.org) [e](../../results) [f](#g)"
    moved = "[a](../repository/RESULTS.md#b) [c](../speed.md)"
    expected = f"{moved} [d](https://x.org) [e](../repository/results/README.md) [f](#g)"
    assert rewritten(tmp_path, "matrices/free.md", text) == expected
    assert rewritten(tmp_path, "repository/RESULTS.md", "[a](docs/speed.md)") == "[a](../speed.md)"


def test_notes_and_examples_are_set_apart() -> None:
    module = hook("docstrings")
    text = "One line.\n\nNote [Why]\n    First.\n\n    Second.\n\n>>> a[0][1]\n2\n\nEnd."
    expected = "One line.\n\n**Why.** First.\n\nSecond.\n\n```pycon\n>>> a[0][1]\n2\n```\n\nEnd."
    assert module.with_examples(module.with_notes(text)) == expected
    assert module.comment(["x = 1", "#: The", "#: rest.", "y = 2"], 4) == ["The", "rest."]
