"""Filling in templates, so that a page is one file that needs nothing else."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def environment(package: str) -> Environment:
    """Return what fills in the templates of a package; they may extend ``base.html``."""
    found = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Values that are not finite must have become None by now: NaN is no JSON.
    found.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return found


def asset(package: str, name: str) -> str:
    """Read a file beside the templates as it is: braces mean something else in style sheets and scripts."""
    return files(package).joinpath("templates", name).read_text(encoding="utf-8")


def style(package: str, name: str) -> Markup:
    """Return the style that all pages share, and a package's own after it."""
    return Markup(asset(__package__, "base.css") + asset(package, name))


def printable(page: str) -> str:
    """Replace lone surrogates, which JSON can spell but UTF-8 cannot: they would make the file unwritable."""
    return page.encode("utf-8", errors="replace").decode("utf-8")
