"""Filling in templates, so that a page is one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

ASSETS = ("style.css", "script.js")


@dataclass(frozen=True)
class Frame:
    """What ``base.html`` puts around a page: its style, its script, and the hash by which alone the script may run."""

    style: Markup
    script: Markup

    @property
    def policy(self) -> str:
        """The source that the page's content security policy names."""
        digest = hashlib.sha256(self.script.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


def frame(*packages: str) -> Frame:
    """Join ``style.css`` and ``script.js`` of all pages and then those of packages, where they have them."""
    style, script = ("".join(_asset(each, name) for each in (__package__, *packages)) for name in ASSETS)
    return Frame(Markup(style), Markup(script))


def _asset(package: str, name: str) -> str:
    """Read a file beside the templates as it is: braces mean something else in style sheets and scripts."""
    path = files(package).joinpath("templates", name)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def environment(package: str) -> Environment:
    """Return what fills in the templates of a package; they may extend ``base.html``."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Values that are not finite must have become None by now: NaN is not JSON.
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return made


def printable(page: str) -> str:
    """Replace lone surrogates, which JSON can spell but UTF-8 cannot: they would make the file unwritable."""
    return page.encode("utf-8", errors="replace").decode("utf-8")
