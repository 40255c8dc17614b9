"""QORNN's settings (appendix G) by task and strategy; the learning rate of W is `lr` over 32 or 8."""

from __future__ import annotations

from typing import Any

Settings = dict[str, dict[str, Any]]

#: The tasks of the paper, and the strategies that keep W orthogonal by the optimizer.
TASKS = ("adding", "copying", "smnist", "pmnist", "ptb-char")
PROJECTED = ("ste-projunn", "ptq-projunn")


def known_strategy(given: object) -> str:
    """Return the strategy, the recipe's own if none is given; one that is not known is refused there."""
    return given if isinstance(given, str) else "ste-bjorck"


def anywhere(strategy: str) -> Settings:
    """Return size and optimizer where the paper says nothing: those of copying."""
    projunn = {"name": "projunn", "lr": 7e-4, "recurrent_lr": 7e-4, "divider": 32.0}
    adam = {"name": "adam", "lr": 1e-3, "recurrent_lr": 1e-3}
    return {"model": {"hidden_size": 256}, "optimizer": projunn if strategy in PROJECTED else adam}


def on(task: str, strategy: str) -> Settings:
    """Return what the paper sets for a strategy on a task; nothing where it says nothing."""
    makers = {"adding": _adding, "copying": _copying, "smnist": _mnist, "pmnist": _mnist, "ptb-char": _characters}
    return makers[task](strategy) if task in makers else {}


def _adding(strategy: str) -> Settings:
    keeps = strategy in PROJECTED
    return {
        "model": {"hidden_size": 170, "init": "identity", "nonlinearity": "relu", "around_identity": keeps},
        "optimizer": {"lr": 1e-4, "recurrent_lr": 1e-4} if keeps else {"lr": 1e-3, "recurrent_lr": 1e-3 / 32},
        "schedule": {"name": "factor", "factor": 0.94, "every": 2000, "unit": "step"},
        "training": {"steps": 100_000},
    }


def _copying(strategy: str) -> Settings:
    keeps = strategy in PROJECTED
    # Only projUNN's start is given; STE-Bjorck's is that of the layer it builds on.
    return {
        "model": {"init": "henaff" if keeps else "haar", "nonlinearity": "modrelu"},
        "optimizer": {"lr": 7e-4, "recurrent_lr": 7e-4} if keeps else {"lr": 1e-4, "recurrent_lr": 1e-4 / 32},
        "schedule": {"name": "factor", "factor": 0.9, "every": 4000, "unit": "step"},
        "training": {"batch_size": 128, "steps": 40_000},
    }


def _mnist(strategy: str) -> Settings:
    pen = strategy == "ste-pen"
    return {
        "model": {"hidden_size": 170},
        "optimizer": {"lr": 1e-3, "recurrent_lr": 1e-3, **({"divider": 1.0} if strategy in PROJECTED else {})},
        "schedule": {"name": "constant"} if pen else {"name": "factor", "factor": 0.2, "every": 60},
        "training": {"epochs": 200, "batch_size": 64 if pen else 128},
    }


def _characters(strategy: str) -> Settings:
    pen, keeps = strategy == "ste-pen", strategy in PROJECTED
    rates = {"lr": 1e-3, "recurrent_lr": 1e-3 if keeps else 1e-3 / 8}
    return {
        "task": {"mode": "sentences"},
        "model": {"hidden_size": 1024, "embedding_size": None},
        "optimizer": {**rates, **({"divider": 8.0} if keeps else {})},
        "schedule": {"name": "constant"} if pen else {"name": "factor", "factor": 0.2, "every": 20},
        "training": {"epochs": 50, "batch_size": 100 if pen else 128},
    }
