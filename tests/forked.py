"""Commands of eigenloop, and functions, in processes of their own which need not import torch again.

They are forked from a server that has imported what a training needs and computed nothing. That saves the seconds of
every start; otherwise they are what a shell would start. Not for tests of the start itself.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

#: Imported once, by the server: this module, the trainer, and the compiler, which torch's optimizers import.
_PRELOADED = ["forked", "eigenloop.cli.train", "eigenloop.training.trainer", "torch._dynamo"]


def started(arguments: list[str], folder: Path) -> ForkServerProcess:
    """Start ``eigenloop`` with these arguments in a folder; its output is thrown away."""
    return begun(_main, arguments, str(folder))


def begun(function: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """Start a function of a module."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=function, args=arguments)
    process.start()
    return process


def finished(arguments: list[str], folder: Path) -> None:
    """Run a command to its end, which must be a good one."""
    process = started(arguments, folder)
    process.join()
    assert process.exitcode == 0


def _main(arguments: list[str], folder: str) -> None:
    import torch

    from eigenloop.cli import main

    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    torch.set_num_threads(1)
    sys.exit(main(arguments))
