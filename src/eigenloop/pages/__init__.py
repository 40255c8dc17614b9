"""What the HTML pages share: how templates are filled in, the frame of a page, its colours and letters."""

from eigenloop.pages.page import Frame, environment, frame, printable

__all__ = ["Frame", "environment", "frame", "printable"]
