"""Reading the files of a run folder, without torch.

Note [Damage]
    A file that is not there yet says nothing. A last line of ``metrics.jsonl`` that was cut by a kill is left out.
    Anything else that is not what the schema says is an error that names the file, the line, and what to do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from eigenloop.errors import ConfigError, RunError
from eigenloop.runs.schema import Content, MetricLine, Sections, Spectra, Summary
from eigenloop.runs.settings_file import read_settings

CONFIG, METRICS, SUMMARY, SPECTRA = "config.yaml", "metrics.jsonl", "summary.json", "spectra.json"
_Content = TypeVar("_Content", bound=Content)


def read_config(folder: Path) -> Sections:
    """Read all settings of a run, by section."""
    if not folder.is_dir():
        raise RunError(f"there is no folder {folder}", "give the folder that `eigenloop train --out` wrote")
    path = folder / CONFIG
    if not path.is_file():
        raise RunError(f"{folder} is not the folder of a run, it holds no {CONFIG}", _instead(folder))
    try:
        written = {name: {} if section is None else section for name, section in read_settings(path).items()}
        sections = TypeAdapter(Sections).validate_python(written)
        if not sections:
            raise ValueError("it holds no sections")
        yaml.safe_dump(sections)  # what is nested too deeply to be written cannot be shown either
    except (ConfigError, ValueError, RecursionError) as error:
        raise _damaged(path, error, "restore it, or run the training again") from error
    return sections


def read_metrics(folder: Path) -> list[MetricLine]:
    """Read what was measured, in the order of the file; no file means no lines."""
    path = folder / METRICS
    rows = [row for row in enumerate((_content(path) or b"").split(b"\n"), 1) if row[1].strip()]
    lines = []
    for number, row in rows:
        try:
            lines.append(MetricLine.of(json.loads(row.decode("utf-8"))))
        except (ValueError, RecursionError) as error:
            if number == rows[-1][0]:
                break  # cut by a kill in the middle of a write
            fix = f"delete line {number} or restore the file; only its last line may be cut"
            raise _damaged(path, error, fix, f"line {number}: ") from error
    return lines


def read_summary(folder: Path) -> Summary | None:
    """Read how a run ended; None where it has not."""
    return _whole(folder / SUMMARY, Summary, "delete it, and the run counts as unfinished")


def read_spectra(folder: Path) -> Spectra | None:
    """Read the eigenvalues; None where they were not recorded."""
    return _whole(folder / SPECTRA, Spectra, "delete it, and the run is shown without eigenvalues")


def _whole(path: Path, kind: type[_Content], fix: str) -> _Content | None:
    """Read a file that holds one JSON object; None where there is no such file."""
    content = _content(path)
    if content is None:
        return None
    try:
        return kind.model_validate(json.loads(content))
    # RecursionError: brackets nested thousands deep. ValueError: no JSON, no UTF-8, or an endless integer.
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error, fix) from error


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error


def _damaged(path: Path, error: Exception, fix: str, where: str = "") -> RunError:
    """Make the error of a file that is there but is not what was written."""
    trouble = str(error).removeprefix(f"{path} ")
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        trouble = ": ".join([".".join(map(str, first["loc"])), first["msg"][0].lower() + first["msg"][1:]]).strip(": ")
    return RunError(f"{path} is damaged ({where}{trouble})", fix)


def _instead(folder: Path) -> str:
    """Say what to give instead of a folder that holds run folders, or nothing of the kind."""
    inside = sorted(path.parent.name for path in folder.glob(f"*/{CONFIG}"))
    if not inside:
        return "give the folder that `eigenloop train --out` wrote"
    more = ", ..." if len(inside) > 3 else ""
    return f"give the run folders inside it ({', '.join(inside[:3])}{more})"
