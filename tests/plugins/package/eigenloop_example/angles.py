"""An analysis of one's own: the angles by which rotations start."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure

from eigenloop.analysis import Result, Table
from eigenloop_example.rotations import Rotations


def angles(size: int = 8, seed: int = 0) -> Result:
    """The angles by which rotations start."""
    found = Rotations(size, generator=torch.Generator().manual_seed(seed)).theta.tolist()
    figure = Figure()
    figure.subplots().plot(found)
    return Result("angles", "Angles", {"angles": found}, Table(("plane", "angle"), tuple(enumerate(found))), figure)
