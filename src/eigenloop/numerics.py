"""Versions of the arithmetic: what identifies a result besides its settings.

A *part* is a recurrence, a matrix or an optimizer. The version of a part is 1, and one more for each revision below: a
change after which the same settings give other numbers, beyond the order in which sums are rounded. A run remembers the
versions that it began with, and a result with an older one is *stale*: shown as such, and run again on request.

Whoever changes what a part computes adds a line here. Whoever adds a part adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: What changed, one sentence for each revision of a part, the oldest first.
REVISIONS: dict[str, tuple[str, ...]] = {
    "gated recurrence, update='write'": (
        "the candidate's gradient lost its digits where the update gate is nearly shut",
    ),
    "TFRMSprop, complex parameters": ("real and imaginary parts were divided by their common size",),
    "UnitaryCayley, complex parameters": ("real and imaginary parts were divided by their common size",),
}


def versions(parts: Iterable[str]) -> dict[str, int]:
    """Return the present version of each part.

    >>> versions(["Schur", "gated recurrence, update='write'"])
    {'Schur': 1, "gated recurrence, update='write'": 2}
    """
    return {part: 1 + len(REVISIONS.get(part, ())) for part in sorted(parts)}


def revised_since(before: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    """List what was wrong or different in a result that was made with the versions `before`; empty if nothing was.

    A part that `before` does not name had version 1: results from before there were versions name none.
    """
    return [
        f"{part}: {reason}"
        for part in now
        for reason in REVISIONS.get(part, ())[before.get(part, 1) - 1 : now[part] - 1]
    ]
