"""Versions of the arithmetic: what identifies a result besides its settings.

A *part* is a recurrence, a matrix or an optimizer. Its version is 1 plus the number of its revisions listed below. A
revision is a change after which the same settings give different numbers, by more than a different order of summation
would. A run records the versions it started with; a result with an older version is *stale*: it is marked as such, and
run again on request.

If you change what a part computes, add a line here. A new part needs no line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: For each part, what was wrong before each of its revisions, the oldest first.
REVISIONS: dict[str, tuple[str, ...]] = {
    "gated recurrence, update='write'": (
        "the candidate's gradient lost its digits where the update gate is nearly shut",
    ),
    "TFRMSprop, complex parameters": ("real and imaginary parts were divided by their common size",),
    "UnitaryCayley, complex parameters": ("real and imaginary parts were divided by their common size",),
}


def versions(parts: Iterable[str]) -> dict[str, int]:
    """Return the current version of each part.

    >>> versions(["Schur", "gated recurrence, update='write'"])
    {'Schur': 1, "gated recurrence, update='write'": 2}
    """
    return {part: 1 + len(REVISIONS.get(part, ())) for part in sorted(parts)}


def revised_since(before: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    """List what was wrong or different in a result computed with the versions `before`; empty if the result is current.

    A part missing from `before` had version 1: the oldest results recorded no versions.
    """
    return [
        f"{part}: {reason}"
        for part in now
        for reason in REVISIONS.get(part, ())[before.get(part, 1) - 1 : now[part] - 1]
    ]
