"""The command line.

Note [Commands start without torch]
    The modules of this folder import at their top only what ``--help`` needs; a command imports what it works with when
    it is called. Importing torch takes seconds, which a list, a version or a misspelt word should not cost.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; 2 is the status of a wrong word, 1 of anything that went wrong later, 130 of Ctrl-C."""
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    # Ctrl-C in the middle of an import may come out as any other exception.
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    try:
        if ours:
            signal.signal(signal.SIGINT, note)
        from eigenloop.cli.app import run

        run(arguments)
    except BaseException as error:
        if not interrupted and not isinstance(error, KeyboardInterrupt):
            raise
        print("eigenloop: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
