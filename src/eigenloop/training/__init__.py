"""Training: the configuration, the training loop, and run folders from which a training can resume."""

from __future__ import annotations

from eigenloop.errors import ConfigError, DivergedError, RunError
from eigenloop.runs import read_settings
from eigenloop.training.answers import outcome, predict, run_outcome
from eigenloop.training.evaluation import evaluate
from eigenloop.training.runs import load_run, resume, train
from eigenloop.training.settings.config import Config, make_config

__all__ = [
    "Config",
    "ConfigError",
    "DivergedError",
    "RunError",
    "evaluate",
    "load_run",
    "make_config",
    "outcome",
    "predict",
    "read_settings",
    "resume",
    "run_outcome",
    "train",
]
