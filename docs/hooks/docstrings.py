"""What the reference reads besides plain docstrings: comments ``#:`` above a name, titled notes, and examples."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)
NOTE = re.compile(r"^Note \[(?P<title>[^\]]+)\]\n(?P<body>(?:[ ]{4}.*\n?|\n)+)", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Complete the docstrings of the source before they are written to pages."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Take the comment ``#:`` above an attribute for its docstring."""
        if (
            attr.docstring is None
            and attr.lineno
            and (lines := comment(attr.lines_collection[Path(str(attr.filepath))], attr.lineno))
        ):
            attr.docstring = griffe.Docstring("\n".join(lines), parent=attr)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Set notes and examples apart from the text."""
        if obj.docstring is not None:
            obj.docstring.value = with_examples(with_notes(obj.docstring.value))


def comment(lines: list[str], number: int) -> list[str]:
    """Return the lines of the comment ``#:`` that ends above a line."""
    first = number - 1
    while first > 0 and lines[first - 1].lstrip().startswith("#:"):
        first -= 1
    return [line.lstrip()[2:].strip() for line in lines[first : number - 1]]


def with_notes(text: str) -> str:
    """Return a docstring whose notes are paragraphs with a title."""
    return NOTE.sub(lambda note: f"**{note['title']}.** {textwrap.dedent(note['body']).strip()}\n\n", text)


def with_examples(text: str) -> str:
    """Return a docstring whose sessions are blocks of code."""
    return EXAMPLE.sub(lambda session: f"```pycon\n{session[0].rstrip()}\n```\n", text)
