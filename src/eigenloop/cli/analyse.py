"""``eigenloop analyse``: the papers' analyses, one command each."""

from __future__ import annotations

import inspect
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from eigenloop import registry
from eigenloop.cli.checkpoints import which
from eigenloop.cli.command import Command
from eigenloop.errors import RunError
from eigenloop.text.json_text import json_line

if TYPE_CHECKING:
    from eigenloop.analysis import Result


class Analyses(TyperGroup):
    """The registered analyses: ours are the commands below, those of users are made from their signatures."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all analyses."""
        return list(registry.ANALYSES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of an analysis; None if there is none."""
        ours = super().get_command(ctx, cmd_name)
        return OwnAnalysis(cmd_name) if ours is None and cmd_name in registry.ANALYSES else ours


class OwnAnalysis(Command):
    """A user's analysis; its module is imported when it is called, a list of commands shows its registered line."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=registry.ANALYSES[name].line)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments according to the parameters of its function."""
        made = _command_of(registry.ANALYSES[str(self.name)])
        return made.make_context(info_name, args, parent=parent, **extra)


app = typer.Typer(
    cls=Analyses,
    help="Compute and draw the analyses of the papers.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path, typer.Option(help="Folder for NAME.json, NAME.png, NAME.svg; NAME-2 if other numbers are there.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the draws.")]
Runs = Annotated[list[Path], typer.Argument(help="Folders of runs; each becomes a row of pictures.")]
Checkpoint = Annotated[str, typer.Option(help="best, last or a step.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder with the data, if it has moved.")]
FOLDER = Path("analysis")


@app.command(cls=Command)
def conditioning(
    draws: Annotated[int, typer.Option(min=1, help="Matrices.")] = 1000,
    size: Annotated[int, typer.Option(min=1, help="n.")] = 10,
    seed: Seed = 0,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """QORNN figure 1: what k bits do to an orthogonal matrix, and its bounds (3) and (4).

    eigenloop analyse conditioning --draws 1000
    """
    from eigenloop import analysis

    _show(analysis.conditioning(draws, size, seed), out, json)


@app.command(cls=Command)
def fisher(
    size: Annotated[int, typer.Option(min=3, help="n; the published numbers are for 100.")] = 100,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """nnRNN figure 1c and Table 6: Fisher memory curves, exactly and in double precision.

    eigenloop analyse fisher
    """
    from eigenloop import analysis

    _show(analysis.fisher(size), out, json)


@app.command(cls=Command)
def transients(
    count: Annotated[int, typer.Option(min=1, help="Starts on the unit sphere.")] = 1000,
    size: Annotated[int, typer.Option(min=3, help="n.")] = 100,
    seed: Seed = 0,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """nnRNN figure 1b: how a triangular matrix amplifies a state before the state decays.

    eigenloop analyse transients --count 1000
    """
    from eigenloop import analysis

    _show(analysis.transients(count, size, seed), out, json)


@app.command(cls=Command)
def sensitivity(
    size: Annotated[int, typer.Option(min=10, max=150, help="n, even.")] = 100,
    seed: Seed = 0,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """nnRNN SM section C: what a computed Schur decomposition makes of Grcar's matrix and of nnRNN's own.

    eigenloop analyse sensitivity --size 100
    """
    from eigenloop import analysis

    _show(analysis.sensitivity(size, seed), out, json)


@app.command(cls=Command)
def gradients(
    runs: Runs,
    checkpoint: Checkpoint = "best",
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of a sequence, counted from its first. Default: at most 200.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Sequences to average over.")] = 10,
    data_dir: DataDir = None,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """ENRNN figures 4 and 5: how far the gradients of trained networks reach.

    eigenloop analyse gradients runs/adding-enrnn runs/adding-lstm --steps 50
    """
    from eigenloop import analysis

    _show(analysis.gradients(runs, which(checkpoint), steps, samples, data_dir), out, json)


@app.command(cls=Command)
def schur(
    runs: Runs,
    checkpoint: Checkpoint = "best",
    data_dir: DataDir = None,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """nnRNN figures 3 and 5: the Schur form that a network has learned.

    eigenloop analyse schur runs/copying-nnrnn runs/ptb-char-nnrnn
    """
    from eigenloop import analysis

    _show(analysis.schur(runs, which(checkpoint), data_dir), out, json)


@app.command(cls=Command)
def neumann(
    steps: Annotated[int, typer.Option(min=1, help="Of each training.")] = 500,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each way to keep the inverse.")] = 3,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """NC-GRU figures 5, 6 and 8: the inverse by a Neumann series, beside the exact one and the published code.

    eigenloop analyse neumann --steps 500
    """
    from eigenloop import analysis

    _show(analysis.neumann(steps, seeds), out, json)


@app.command(cls=Command)
def bounds(
    draws: Annotated[int, typer.Option(min=2, help="Of each statement.")] = 3000,
    seed: Seed = 0,
    out: Out = FOLDER,
    json: Json = False,
) -> None:
    """Bounds of NC-GRU, ENRNN and nnRNN against the bounded quantities: how often violated, and how tight.

    eigenloop analyse bounds --draws 3000
    """
    from eigenloop import analysis

    _show(analysis.bounds(draws, seed), out, json)


def _command_of(entry: registry.Entry) -> Any:
    """Return the command of a user's analysis; its parameters become arguments and options."""
    function = entry.load()

    def command(**given: Any) -> None:
        out, json = given.pop("out"), given.pop("json")
        _show(function(**given), out, json)

    hints = {**typing.get_type_hints(function, include_extras=True), "out": Out, "json": Json, "return": None}
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(kind=keyword) for p in inspect.signature(function).parameters.values()]
    parameters += [inspect.Parameter(n, keyword, default=d) for n, d in (("out", FOLDER), ("json", False))]
    parameters = [p.replace(annotation=hints.get(p.name, str)) for p in parameters]
    command.__annotations__ = hints
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    alone = typer.Typer(add_completion=False)
    alone.command(entry.name, cls=Command, help=inspect.getdoc(function) or entry.line)(command)
    return typer.main.get_command(alone)


def _show(result: Result, out: Path, json: bool) -> None:
    """Write the files, and print the table and the paths; raise RunError if they cannot be written."""
    try:
        paths = [str(path) for path in result.write(out)]
    except OSError as error:
        raise RunError(f"{out} cannot be written: {error.strerror or error}. Choose another --out") from error
    if json:
        print(json_line({"name": result.name, "files": paths, **result.numbers}))
        return
    print(result.title)
    print(result.table)
    for note in result.notes:
        print(note)
    print("written: " + ", ".join(paths))
