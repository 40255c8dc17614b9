"""Render the templates of charts."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from eigenloop import pages


@cache
def _environment() -> Environment:
    return pages.environment("eigenloop.charts")


def render(template: str, **values: Any) -> Markup:
    """Return a rendered template, marked as safe HTML."""
    return Markup(_environment().get_template(template).render(**values))
