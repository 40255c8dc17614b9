"""Markdown that GitHub and MkDocs render alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence


def escaped(text: str) -> str:
    r"""Return text with Markdown's and HTML's special characters escaped, for prose and for table cells.

    >>> print(escaped("a|b <i> `c` U_c"))
    a\|b &lt;i&gt; \`c\` U\_c
    """
    plain = re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", plain)


def prose(text: str) -> str:
    r"""Return sentences as Markdown: text between backticks is code, everything else is escaped.

    >>> print(prose("uses `I + q(W - I)`, not <W>"))
    uses `I + q(W - I)`, not &lt;W&gt;
    """
    parts = re.split(r"`([^`]+)`", re.sub(r"\s+", " ", text))
    return "".join(code(part) if i % 2 else escaped(part) for i, part in enumerate(parts))


def linked(text: str, root: str) -> str:
    """Return sentences as Markdown with links to the pages that they name.

    `root` is the relative path from the page to the root of the repository.

    >>> linked("see docs/errata.md", "../../")
    'see [docs/errata.md](../errata.md)'
    """

    def link(match: re.Match[str]) -> str:
        page = match[0]
        return f"[{page}]({root.removesuffix('../') + page.removeprefix('docs/') if root else page})"

    return re.sub(r"docs/errata\.md" if root else r"docs/errata\.md|investigations/README\.md", link, prose(text))


def code(text: str) -> str:
    """Return text as inline code; bars are escaped, since one would end a table cell even inside of code."""
    return "`" + text.replace("|", "\\|") + "`"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()) -> str:
    """Return a table; the columns in `numbers` are right-aligned."""
    rule = ["---:" if column in numbers else "---" for column in columns]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, rule, *(map(_whole, row) for row in rows)))


def _whole(cell: str) -> str:
    """Return a cell in which no line is broken inside a number such as 4.5e-4, 1.2 ± 0.1 or 0.4 x."""
    hyphen, space = "\N{NON-BREAKING HYPHEN}", "\N{NO-BREAK SPACE}"
    cell = re.sub(r"(?<=[\d)])e-(?=\d)", f"e{hyphen}", cell)
    return re.sub(r"(?<=\d) (?=x( |$))| (?=±)|(?<=±) ", space, cell)


def bullets(items: Sequence[str]) -> str:
    """Return a bulleted list."""
    return "\n".join(f"- {item}" for item in items)


def nested(head: str, items: Sequence[str]) -> str:
    """Return a text for `bullets` that has a list of its own below it; MkDocs needs an indent of four spaces."""
    return "\n".join((head, *(f"    - {item}" for item in items)))
