"""The templates of charts, filled in."""

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
    """Fill in a template; what comes out needs no further escaping."""
    return Markup(_environment().get_template(template).render(**values))
