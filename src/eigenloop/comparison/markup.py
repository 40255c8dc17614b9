"""Text as Markdown that GitHub and MkDocs show alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence


def escaped(text: str) -> str:
    r"""Write text so that Markdown shows it as it is, in a table too.

    >>> print(escaped("a|b <i> `c` U_c"))
    a\|b &lt;i&gt; \`c\` U\_c
    """
    plain = re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", plain)


def prose(text: str) -> str:
    r"""Write sentences, in which backticks mean code.

    >>> print(prose("uses `I + q(W - I)`, not <W>"))
    uses `I + q(W - I)`, not &lt;W&gt;
    """
    parts = re.split(r"`([^`]+)`", re.sub(r"\s+", " ", text))
    return "".join(code(part) if i % 2 else escaped(part) for i, part in enumerate(parts))


def linked(text: str, root: str) -> str:
    """Write sentences in which the pages that they name are links; `root` leads from the page to the repository.

    >>> linked("see docs/errata.md", "../../")
    'see [docs/errata.md](../errata.md)'
    """

    def link(match: re.Match[str]) -> str:
        page = match[0]
        return f"[{page}]({root.removesuffix('../') + page.removeprefix('docs/') if root else page})"

    return re.sub(r"docs/errata\.md" if root else r"docs/errata\.md|investigations/README\.md", link, prose(text))


def code(text: str) -> str:
    """Write a command; a bar would end the cell of a table even inside of it."""
    return "`" + text.replace("|", "\\|") + "`"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()) -> str:
    """Write a table; columns with numbers are aligned at the right."""
    rule = ["---:" if column in numbers else "---" for column in columns]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, rule, *(map(_whole, row) for row in rows)))


def _whole(cell: str) -> str:
    """Keep numbers such as 4.5e-4, 1.2 ± 0.1 and 0.4 x in one line, however narrow their column."""
    hyphen, space = "\N{NON-BREAKING HYPHEN}", "\N{NO-BREAK SPACE}"
    cell = re.sub(r"(?<=[\d)])e-(?=\d)", f"e{hyphen}", cell)
    return re.sub(r"(?<=\d) (?=x( |$))| (?=±)|(?<=±) ", space, cell)


def bullets(items: Sequence[str]) -> str:
    """Write a list."""
    return "\n".join(f"- {item}" for item in items)
