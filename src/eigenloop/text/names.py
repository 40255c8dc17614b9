"""Lists of names in a sentence, and shortening of long names."""

from __future__ import annotations

from collections.abc import Sequence


def enumeration(names: Sequence[str]) -> str:
    """Join names with commas and a final "and".

    >>> enumeration(["scoRNN", "LSTM", "GRU"])
    'scoRNN, LSTM and GRU'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def shortened(name: str, length: int) -> str:
    """Shorten a name to at most `length` characters by cutting its middle, because names of runs differ at the end.

    >>> shortened("scoRNN", 20), shortened("scoRNN (copying-1000-seed-3)", 20)
    ('scoRNN', 'scoRNN (c…00-seed-3)')
    """
    head = length * 9 // 20
    return name if len(name) <= length else f"{name[:head]}\N{HORIZONTAL ELLIPSIS}{name[head + 1 - length :]}"
