"""The run folder: the schema of its files, one writer, one reader, one rule for damaged files; without torch."""

from __future__ import annotations

from eigenloop.runs.folder import RunFolder
from eigenloop.runs.reading import read_config, read_metrics, read_spectra, read_summary
from eigenloop.runs.run import Run, read, read_all
from eigenloop.runs.schema import MetricLine, Spectra, Spectrum, Summary
from eigenloop.runs.settings_file import read_settings
from eigenloop.text.json_text import json_line

__all__ = [
    "MetricLine",
    "Run",
    "RunFolder",
    "Spectra",
    "Spectrum",
    "Summary",
    "json_line",
    "read",
    "read_all",
    "read_config",
    "read_metrics",
    "read_settings",
    "read_spectra",
    "read_summary",
]
