"""The API reference: a page for every public package, with every name of its ``__all__``.

Note [Nothing can be left out]
    The pages are made from ``__all__`` when the site is built, read from the source without importing it. A new name
    is on its page without a change here, and a new package gets a page unless it is listed as internal below.
"""

from __future__ import annotations

import ast
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

#: Packages that serve the others, and are not meant to be imported by users.
INTERNAL = frozenset(
    {
        "eigenloop.cli",  # the commands
        "eigenloop.pages",  # the frame of a page
        "eigenloop.recipes",  # behind eigenloop.models
        "eigenloop.trials",  # behind eigenloop compare
    }
)
#: Where a name of the package itself is described.
HOMES = ("eigenloop.layers", "eigenloop.models", "eigenloop.matrices")


def public(source: Path) -> dict[str, list[str]]:
    """Return the names of every public package below a folder, in the order in which they are exported."""
    packages = {}
    for file in sorted(source.rglob("*.py")):
        name = ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        names = exported(file)
        package = file.name == "__init__.py" or file.parent.name == "eigenloop"
        if names and package and name not in INTERNAL:
            packages[name] = names
    return packages


def exported(file: Path) -> list[str]:
    """Return the names of ``__all__`` of a module; none where it has no such list."""
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return []


def summary(file: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def file_of(source: Path, package: str) -> Path:
    """Return the file of a package or module."""
    path = source.joinpath(*package.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def address(package: str) -> str:
    """Return the page of a package, below api/."""
    return f"{package.removeprefix('eigenloop.')}.md"


def page_text(package: str, names: list[str], packages: dict[str, list[str]]) -> str:
    """Return the Markdown of a package's page."""
    lines = [
        f"# {package}",
        "",
        f"::: {package}",
        "    options:",
        "      members: false",
        "      show_root_heading: false",
        "      show_root_toc_entry: false",
        "",
    ]
    for name in names:
        if f"{package}.{name}" not in packages:  # a package within has a page of its own
            lines += [f"::: {package}.{name}", ""]
    return "\n".join(lines)


def overview(source: Path) -> str:
    """Return the tables of the reference's first page."""
    packages = public(source)
    lines = ["", "## In `eigenloop` itself", "", "| name | described in |", "|---|---|"]
    for name in packages["eigenloop"]:
        home = next((home for home in HOMES if name in packages[home]), None)
        if f"eigenloop.{name}" in packages:
            lines.append(f"| `eigenloop.{name}` | [the package]({address(f'eigenloop.{name}')}) |")
        elif home:
            lines.append(f"| `eigenloop.{name}` | [`{home}.{name}`]({address(home)}#{home}.{name}) |")
        else:
            lines.append(f"| `eigenloop.{name}` | the version, as a string |")
    lines += ["", "## Packages", "", "| package | what it is |", "|---|---|"]
    lines += [
        f"| [`{package}`]({address(package)}) | {summary(file_of(source, package))} |"
        for package in packages
        if package != "eigenloop"
    ]
    return "\n".join(lines)


def _source(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent / "src"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages into the menu."""
    for section in config.nav or []:
        if isinstance(section, dict) and "API reference" in section:
            section["API reference"] += [
                {package: f"api/{address(package)}"} for package in public(_source(config)) if package != "eigenloop"
            ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    packages = public(_source(config))
    for package, names in packages.items():
        if package != "eigenloop":
            text = page_text(package, names, packages)
            files.append(File.generated(config, f"api/{address(package)}", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Complete the first page of the reference."""
    return markdown + overview(_source(config)) if page.file.src_uri == "api/README.md" else markdown
