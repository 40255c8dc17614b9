"""Settings files: ``config.yaml`` of a run, and those that a user writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from eigenloop.errors import ConfigError, RunError
from eigenloop.runs import yaml_text
from eigenloop.runs.schema import VERSION


def text_of(settings: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of ``config.yaml`` for these settings."""
    return yaml_text.dump({"version": VERSION, **settings})


def read_settings(path: Path) -> dict[str, Any]:
    """Read a YAML file of settings and return its sections, without the version of a run folder.

    Raises:
        ConfigError: it cannot be read, is not YAML, or does not hold a mapping.
        RunError: it comes from a run folder of a newer version.
    """
    try:
        settings = yaml_text.load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    # ValueError and RecursionError: impossible dates, integers of too many digits, brackets nested thousands deep.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())[:300]}") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise ConfigError(
            f"{path} holds a {type(settings).__name__}: it should be a mapping with sections such as task and model"
        )
    version = settings.pop("version", 0)
    if not isinstance(version, int) or version > VERSION:
        raise RunError(
            f"{path} is of a run folder of version {version}, and this eigenloop reads up to version {VERSION}",
            "update eigenloop",
        )
    return settings
