"""What the HTML pages share: how templates are filled in, the frame of a page, its colours and letters."""

from eigenloop.pages.page import asset, environment, printable, style

__all__ = ["asset", "environment", "printable", "style"]
