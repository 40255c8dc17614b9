"""The command line.

Note [Commands start without torch]
    The modules of this package import at the top only what ``--help`` needs; a command imports the rest when it is
    called. Importing torch takes seconds, which ``list``, ``--version`` or a misspelt option should not cost.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; the exit status is 2 for wrong arguments, 1 for later errors, 130 for Ctrl-C."""
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    # Ctrl-C during an import may turn into another exception, so a handler of ours records it.
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
