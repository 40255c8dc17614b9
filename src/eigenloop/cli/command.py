"""Commands with helpful errors for unknown options."""

from __future__ import annotations

import difflib
from typing import Any

from typer.core import TyperCommand


class Command(TyperCommand):
    """A command whose error for an unknown option names a similar one, or the commands that have it.

    Names are compared without their dashes; with them, every short option would be similar to ``--help``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; improve the error for an unknown option."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = getattr(error, "option_name", None)
            if isinstance(option, str) and hasattr(error, "possibilities") and hasattr(error, "message"):
                own = {name.lstrip("-"): name for parameter in self.params for name in parameter.opts}
                near = difflib.get_close_matches(option.lstrip("-"), own, n=1, cutoff=0.6)
                error.possibilities = [own[name] for name in near]
                if not near and (holders := _holders(ctx, option)):
                    error.message = f"{error.message}. It is an option of {', '.join(holders)}"
            raise


def _holders(ctx: Any, option: str) -> list[str]:
    """Return the other commands that have an option."""
    parent = ctx.parent
    commands = getattr(parent.command, "commands", {}) if parent is not None else {}
    return [
        f"{parent.command_path} {name}"
        for name, command in commands.items()
        if any(option in parameter.opts for parameter in command.params)
    ]
