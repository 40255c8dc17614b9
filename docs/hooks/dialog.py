"""The search box of the theme is a dialog without a name; screen readers need one."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

NAMELESS = 'data-md-component="search" role="dialog">'


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the dialog; a new version of the theme that changes it is noticed here."""
    if NAMELESS not in output:
        raise ValueError(f"the theme has no {NAMELESS!r} any more: see whether its search dialog has a name now")
    return output.replace(NAMELESS, NAMELESS.replace(">", ' aria-label="Search">'))
