"""Shared by ``train`` and ``fit``: collect settings from options and files, and run a training with a display."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import typer

from eigenloop.cli.widths import width
from eigenloop.errors import ConfigError

#: Settings by section; None for an option that was not given.
Settings = dict[str, dict[str, Any]]


def run_training(
    given: Settings,
    assignments: list[str] | None,
    *,
    config: Path | None,
    bits: str | None,
    max_bytes: int | None = None,
    out: Path | None,
    resume: bool,
    json: bool,
) -> None:
    """Collect the settings and train, or resume a run; exit with status 130 if the training was stopped.

    Raises:
        ConfigError: options contradict each other, or a setting is wrong.
    """
    from eigenloop.cli.display import display_for
    from eigenloop.training import make_config
    from eigenloop.training import resume as resume_run
    from eigenloop.training import train as train_run
    from eigenloop.training.settings.keys import set_value
    from eigenloop.training.settings.merging import merged
    from eigenloop.training.sizing import largest_hidden_size

    chosen = collected(given, config, resume, out)
    if bits is not None:
        chosen.setdefault("model", {})["bits"] = width(bits)
    for assignment in assignments or ():
        set_value(chosen, assignment)
    with closing(display_for(json)) as display:
        if max_bytes is not None:
            if resume or chosen.get("model", {}).get("hidden_size") is not None:
                raise ConfigError("--max-bytes chooses the hidden size: leave out --hidden-size and --resume")
            size = largest_hidden_size(lambda n: make_config(merged(chosen, {"model": {"hidden_size": n}})), max_bytes)
            chosen = merged(chosen, {"model": {"hidden_size": size}})
            display.notice(f"{size} units fit into {max_bytes:,} bytes")
        if resume and out is not None:
            summary = resume_run(out, chosen, display)
        else:
            summary = train_run(make_config(chosen), out, display)
    if summary["status"] == "stopped":
        raise typer.Exit(130)


def collected(given: Settings, config: Path | None, resume: bool, out: Path | None) -> Settings:
    """Return the settings of a file, overridden by the options; a resumed run has its own configuration.

    Raises:
        ConfigError: ``--resume`` without ``--out``, or a section of the file is not a mapping.
    """
    from eigenloop.training import read_settings
    from eigenloop.training.settings.merging import merged

    if resume and out is None:
        raise ConfigError("--resume continues the run in a folder: name the folder with --out")
    collected: dict[str, Any] = {}
    if config is not None:
        collected = read_settings(config)
    elif resume and out is not None and (out / "config.yaml").is_file():
        # Names that are not given are those of the run, so that --set knows which keys are valid.
        stored = read_settings(out / "config.yaml")
        collected = {
            section: {"name": (stored.get(section) or {}).get("name")} for section in ("task", "model", "optimizer")
        }
    for section, values in collected.items():
        if values is not None and not isinstance(values, dict):
            raise ConfigError(f"section {section} of {config} is a mapping of settings, got {values!r}")
    chosen = {section: {k: v for k, v in values.items() if v is not None} for section, values in given.items()}
    return merged({section: values or {} for section, values in collected.items()}, chosen)
