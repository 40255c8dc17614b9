"""Durations: with units for a page, as a clock for a terminal line that is updated in place, and as axis units."""

from __future__ import annotations

import math

from eigenloop.text.typography import MISSING, THIN

MINUTE, HOUR, DAY = 60, 3600, 86400


def duration(seconds: float | None) -> str:
    """Format a duration for a page, with its two largest units; None and non-finite values give a dash.

    >>> [duration(seconds).replace(THIN, " ") for seconds in (0.42, 131, 7384, 200000)]
    ['0.42 s', '2 min 11 s', '2 h 3 min', '2 d 7 h']
    """
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 9.95:
        return f"{seconds:.2g}{THIN}s"
    whole = round(seconds)
    for unit, below, size, small in (("d", "h", DAY, HOUR), ("h", "min", HOUR, MINUTE), ("min", "s", MINUTE, 1)):
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size}{THIN}{unit}" + (f" {rest}{THIN}{below}" if rest else "")
    return f"{whole}{THIN}s"


def clock(seconds: float) -> str:
    """Format a duration for a terminal line that is updated in place: as h:mm:ss or m:ss, or as seconds.

    >>> clock(42), clock(754), clock(9000)
    ('42 s', '12:34', '2:30:00')
    """
    whole = round(seconds)
    hours, minutes, rest = whole // HOUR, whole % HOUR // MINUTE, whole % MINUTE
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}" if minutes else f"{rest} s"


def time_unit(seconds: float) -> tuple[float, str]:
    """Choose the unit for a time axis that spans this many seconds; return its length in seconds and its name.

    >>> time_unit(100), time_unit(4 * HOUR)
    ((1.0, 'seconds'), (3600.0, 'hours'))
    """
    for size, name in ((DAY, "days"), (HOUR, "hours"), (MINUTE, "minutes")):
        if seconds >= 3 * size:
            return float(size), name
    return 1.0, "seconds"
