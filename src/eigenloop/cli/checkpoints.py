"""The option ``--checkpoint``."""

from __future__ import annotations

from eigenloop.errors import ConfigError


def which(text: str) -> str | int:
    """Return the value of ``--checkpoint``: ``"best"``, ``"last"`` or a step; raise ConfigError for anything else.

    >>> which("best"), which("300")
    ('best', 300)
    """
    if text.isdecimal():
        return int(text)
    if text not in ("best", "last"):
        raise ConfigError(f"--checkpoint is best, last or a step, got {text!r}")
    return text
