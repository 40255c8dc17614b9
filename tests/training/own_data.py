"""Small data sets with known answers, as files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.training import Config, make_config


def separable(path: Path, cases: int = 90, groups: int | None = None, seed: int = 0) -> Path:
    """Three classes that differ in the mean of one channel."""
    rng = np.random.default_rng(seed)
    y = np.arange(cases) % 3
    X = rng.normal(size=(cases, 12, 2)) * 0.5 + np.stack([y - 1, np.zeros(cases)], axis=1)[:, None]
    more: dict[str, NDArray[Any]] = {} if groups is None else {"groups": np.arange(cases) % groups}
    names = np.array(["low", "middle", "high"])
    np.savez(path, X=100 + 20 * X, y=names[y], channels=np.array(["ax", "ay"]), **more)
    return path


def adding(path: Path, cases: int = 600, length: int = 12, seed: int = 0) -> Path:
    """The adding problem as a file: two marked numbers, and their sum in units of its own."""
    rng = np.random.default_rng(seed)
    values, marks = rng.random((cases, length)), np.zeros((cases, length))
    first, second = rng.integers(0, length // 2, cases), rng.integers(length // 2, length, cases)
    marks[np.arange(cases), first] = marks[np.arange(cases), second] = 1
    np.savez(path, X=np.stack([values, marks], axis=2), y=1000 + 50 * (values * marks).sum(1))
    return path


def copying(path: Path, cases: int = 400, symbols: int = 3, delay: int = 2, seed: int = 0) -> Path:
    """The copying problem as a file: each symbol again `delay` steps later, a class at every step."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, symbols + 1, (cases, 10))
    X = np.eye(symbols + 1)[tokens]
    y = np.zeros_like(tokens)
    y[:, delay:] = tokens[:, :-delay]
    np.savez(path, X=X, y=y, channels=np.array(list("0123")))
    return path


def wave(path: Path, steps: int = 1500) -> Path:
    """A sine with a period of 25 steps, around 10, as one recording."""
    np.savez(path, X=10 + 3 * np.sin(2 * np.pi * np.arange(steps) / 25)[:, None])
    return path


def henon(path: Path, steps: int = 1500) -> Path:
    """A chaotic series, Henon's x' = 1 - 1.4 x^2 + 0.3 x_before: known one step ahead, lost after some twenty."""
    x = [0.1, 0.1]
    while len(x) < steps:
        x.append(1 - 1.4 * x[-1] ** 2 + 0.3 * x[-2])
    np.savez(path, X=np.array(x)[:, None])
    return path


def config_of(
    data: Path, task: dict[str, Any] | None = None, model: dict[str, Any] | None = None, **training: Any
) -> Config:
    """A configuration that trains in some seconds."""
    return make_config(
        {
            "task": {"name": "sequences", "data": str(data), **(task or {})},
            "model": {"name": "ncgru", "hidden_size": 16, **(model or {})},
            "training": {"steps": 100, "threads": 1, **training},
        }
    )
