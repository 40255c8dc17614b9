"""The options ``--bits`` and ``--state-bits``."""

from __future__ import annotations

from eigenloop.bit_widths import STATE, WEIGHTS
from eigenloop.errors import ConfigError

BITS_HELP = f"Bits of the quantized weights, {WEIGHTS}, or float."
STATE_BITS_HELP = f"Bits of input, state and gates, rounded at every step: {STATE}."


def width(text: str) -> int | None:
    """Return the value of ``--bits``, None for ``float``; raise ConfigError for anything else.

    >>> width("4"), width("float")
    (4, None)
    """
    if text == "float":
        return None
    if not text.isdecimal() or int(text) not in WEIGHTS:
        raise ConfigError(f"--bits is a whole number from {WEIGHTS}, or float, got {text!r}")
    return int(text)
