"""Pages and files outside of docs/ that the documentation links to become part of the site.

Note [One rule for both readers]
    Links in Markdown are relative to the file, so that they work where the repository is browsed. A site has the pages
    of docs/ only. A file of the repository at ``path`` that a page links to is therefore copied to ``repository/path``
    of the site, as a page if it is Markdown, and the links to it and from it are rewritten.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = "docs"
COPIES = "repository"
LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s#]+)([^)\s]*\))")
#: Pages of the repository that the site's menu shows, whether or not a page links to them.
SHOWN = ("RESULTS.md", "CHANGELOG.md", "CONTRIBUTING.md")


def root(config: MkDocsConfig) -> Path:
    """Return the folder of the repository."""
    return Path(config.docs_dir).parent


def place(source: str) -> str:
    """Return where a page of the site stands in the repository."""
    if source.startswith(f"{COPIES}/"):
        return source[len(COPIES) + 1 :]
    return f"{DOCS}/{source}"


def target(folder: Path, page: str, link: str) -> str | None:
    """Return the path in the repository that a link of a page leads to; None for an address elsewhere."""
    if re.match(r"[a-z]+:", link):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    if (folder / path).is_dir():
        path = f"{path}/README.md"
    return path if (folder / path).is_file() else None


def rewritten(folder: Path, source: str, markdown: str) -> str:
    """Return the text of a page with its links as the site needs them."""

    def replace(match: re.Match[str]) -> str:
        before, link, after = match.groups()
        path = target(folder, place(source), link)
        if path is None:
            return match[0]
        inside = path[len(DOCS) + 1 :] if path.startswith(f"{DOCS}/") else f"{COPIES}/{path}"
        return f"{before}{posixpath.relpath(inside, posixpath.dirname(source) or '.')}{after}"

    return LINK.sub(replace, markdown)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what the pages link to, and what those pages link to in turn."""
    folder = root(config)
    waiting = [(file.src_uri, Path(str(file.abs_src_path))) for file in files.documentation_pages()]
    waiting += [_add(files, config, path) for path in SHOWN]
    while waiting:
        source, page = waiting.pop()
        if page.suffix != ".md":
            continue
        for _, link, _ in LINK.findall(page.read_text(encoding="utf-8")):
            path = target(folder, place(source), link)
            if path and not path.startswith(f"{DOCS}/") and not files.get_file_from_path(f"{COPIES}/{path}"):
                waiting.append(_add(files, config, path))
    return files


def _add(files: Files, config: MkDocsConfig, path: str) -> tuple[str, Path]:
    source, page = f"{COPIES}/{path}", root(config) / path
    files.append(File.generated(config, source, abs_src_path=str(page)))
    return source, page


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page."""
    return rewritten(root(config), page.file.src_uri, markdown)
