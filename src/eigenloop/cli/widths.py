"""The options ``--bits`` and ``--state-bits``."""

from __future__ import annotations

from eigenloop.errors import ConfigError

BITS_HELP = "Bits of the quantized weights, 2 to 16, or float."
STATE_BITS_HELP = "Bits of input, state and gates, rounded at every step: 6 to 16."


def width(text: str) -> int | None:
    """Return the value of ``--bits``, None for ``float``; raise ConfigError for anything else.

    >>> width("4"), width("float")
    (4, None)
    """
    if text == "float":
        return None
    if not text.isdecimal() or not 2 <= int(text) <= 16:
        raise ConfigError(f"--bits is a whole number from 2 to 16, or float, got {text!r}")
    return int(text)
