"""The application with all commands; errors become a sentence and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from eigenloop import __version__
from eigenloop.cli import analyse, bench, compare, evaluate, export, fit, listing, predict, report, reproduce, train
from eigenloop.cli.command import Command
from eigenloop.cli.imports import HELP, without_imports
from eigenloop.errors import ConfigError, EigenloopError

app = typer.Typer(
    name="eigenloop",
    help="Recurrent networks whose spectrum you choose.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command("train", cls=Command)(train.train)
app.command("fit", cls=Command)(fit.fit)
app.command("eval", cls=Command)(evaluate.evaluate)
app.command("predict", cls=Command)(predict.predict)
app.command("compare", cls=Command)(compare.compare)
app.command("export", cls=Command)(export.export)
app.command("list", cls=Command)(listing.show)
app.command("report", cls=Command)(report.report)
app.command("bench", cls=Command)(bench.bench)
app.command("reproduce", cls=Command)(reproduce.reproduce)
app.add_typer(analyse.app, name="analyse")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"eigenloop {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
    modules: Annotated[list[str] | None, typer.Option("--import", metavar="MODULE", help=HELP)] = None,
) -> None:
    """Recurrent networks whose spectrum you choose."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run a command; exit with status 2 for a ConfigError and 1 for other errors of this library."""
    try:
        app(args=without_imports(sys.argv[1:] if arguments is None else arguments))
    except EigenloopError as error:
        rank = os.environ.get("RANK")
        print(f"eigenloop{f' (process {rank})' if rank else ''}: {error.on_command_line}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
