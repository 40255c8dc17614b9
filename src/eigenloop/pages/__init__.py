"""Shared parts of the HTML pages: rendering of templates, the frame of a page, its colours and fonts."""

from eigenloop.pages.page import Frame, environment, frame, printable

__all__ = ["Frame", "environment", "frame", "printable"]
