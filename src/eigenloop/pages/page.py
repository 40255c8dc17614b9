"""Render templates to self-contained pages."""

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
    """The parts of ``base.html``: style, script, and the hash of the only script that is allowed to run."""

    style: Markup
    script: Markup

    @property
    def policy(self) -> str:
        """The script source for the page's content security policy."""
        digest = hashlib.sha256(self.script.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


def frame(*packages: str) -> Frame:
    """Return the joined ``style.css`` and ``script.js`` of this package and of those named, if they have them."""
    style, script = ("".join(_asset(each, name) for each in (__package__, *packages)) for name in ASSETS)
    return Frame(Markup(style), Markup(script))


def _asset(package: str, name: str) -> str:
    """Return a file from the templates' folder, not rendered, since style sheets and scripts contain braces."""
    path = files(package).joinpath("templates", name)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def environment(package: str) -> Environment:
    """Return the Jinja environment for the templates of a package, which may extend ``base.html``."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Values that are not finite must already be None: NaN is not valid JSON.
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return made


def printable(page: str) -> str:
    """Return a page with lone surrogates replaced, which JSON can represent but a UTF-8 file cannot."""
    return page.encode("utf-8", errors="replace").decode("utf-8")
