"""Logging the metrics of a run for TensorBoard; needs tensorboardX."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenloop.errors import ConfigError


def require_tensorboard() -> None:
    """Raise a ConfigError if tensorboardX is not installed."""
    if importlib.util.find_spec("tensorboardX") is None:
        raise ConfigError(
            "training.tensorboard needs tensorboardX: pip install 'eigenloop[tensorboard]', or leave it out"
        )


class TensorBoard:
    """Writes every number of a line of metrics as ``kind/name``."""

    def __init__(self, folder: Path, step: int) -> None:
        from tensorboardX import SummaryWriter

        # Steps that a killed run logged after its checkpoint are logged again, in a new file.
        self._writer = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1, filename_suffix=f".from-{step}")

    def write(self, record: Mapping[str, Any]) -> None:
        """Write a line of metrics."""
        for name, value in record.items():
            if isinstance(value, (int, float)) and name != "step":
                self._writer.add_scalar(f"{record['kind']}/{name}", value, record["step"])

    def close(self) -> None:
        """Close the log."""
        self._writer.close()
