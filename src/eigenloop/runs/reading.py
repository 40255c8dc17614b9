"""Reading the files of a run folder, without torch.

Note [Damage]
    A file that does not exist yet is no error. An incomplete last line of ``metrics.jsonl``, left by a killed process,
    is ignored. Anything else that violates the schema is an error that names the file, the line, and what to do.
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
    """Return all settings of a run, by section.

    Raises:
        RunError: there is no such run folder, or its config.yaml is damaged.
    """
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
        yaml.safe_dump(sections)  # raises RecursionError for settings nested too deeply to be written or shown
    except (ConfigError, ValueError, RecursionError) as error:
        raise _damaged(path, error, "restore it, or run the training again") from error
    return sections


def read_metrics(folder: Path) -> list[MetricLine]:
    """Return the lines of metrics.jsonl in the order of the file; an empty list if there is no file.

    Raises:
        RunError: the file is damaged; see Note [Damage].
    """
    path = folder / METRICS
    rows = [row for row in enumerate((_content(path) or b"").split(b"\n"), 1) if row[1].strip()]
    lines = []
    for number, row in rows:
        try:
            lines.append(MetricLine.of(json.loads(row.decode("utf-8"))))
        except (ValueError, RecursionError) as error:
            if number == rows[-1][0]:
                break  # incomplete: the process was killed while it wrote this line
            fix = f"delete line {number} or restore the file; only its last line may be cut"
            raise _damaged(path, error, fix, f"line {number}: ") from error
    return lines


def read_summary(folder: Path) -> Summary | None:
    """Return the summary of a run, or None if the run has not ended."""
    return _whole(folder / SUMMARY, Summary, "delete it, and the run counts as unfinished")


def read_spectra(folder: Path) -> Spectra | None:
    """Return the eigenvalues of a run, or None if they were not recorded."""
    return _whole(folder / SPECTRA, Spectra, "delete it, and the run is shown without eigenvalues")


def _whole(path: Path, kind: type[_Content], fix: str) -> _Content | None:
    """Read a file that holds one JSON object and return it; None if there is no such file."""
    content = _content(path)
    if content is None:
        return None
    try:
        return kind.model_validate(json.loads(content))
    # RecursionError: brackets nested thousands deep. ValueError: not JSON, not UTF-8, or an integer of too many digits.
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
    """Return the error for a file that exists but violates the schema."""
    trouble = str(error).removeprefix(f"{path} ")
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        trouble = ": ".join([".".join(map(str, first["loc"])), first["msg"][0].lower() + first["msg"][1:]]).strip(": ")
    return RunError(f"{path} is damaged ({where}{trouble})", fix)


def _instead(folder: Path) -> str:
    """Return the advice for a folder that is not a run folder: the run folders inside it, if there are any."""
    inside = sorted(path.parent.name for path in folder.glob(f"*/{CONFIG}"))
    if not inside:
        return "give the folder that `eigenloop train --out` wrote"
    more = ", ..." if len(inside) > 3 else ""
    return f"give the run folders inside it ({', '.join(inside[:3])}{more})"
