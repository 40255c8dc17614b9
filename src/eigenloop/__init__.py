"""eigenloop: recurrent networks whose spectrum you choose.

Every model has the same structure: a map turns free parameters into a recurrent matrix W inside a set, a recurrence
updates the hidden state with W, and a read-out computes the outputs from the state. A matrix knows nothing of time and
a recurrence nothing of constraints, so any matrix can be combined with any recurrence.

Note [torch is imported on first use]
    The names below are imported when they are first used, so that ``eigenloop --help`` does not wait for torch. A
    program that only loads an exported graph must import `eigenloop.layers`, which registers the operators.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenloop import (
        deploy,
        initializers,
        matrices,
        models,
        optim,
        quantization,
        recurrence,
        registry,
        tasks,
        training,
    )
    from eigenloop.layers import GRU, LSTM, RNN, FastGRNN, Stream
    from eigenloop.matrices import cached
    from eigenloop.models import Model, build

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "FastGRNN",
    "Model",
    "Stream",
    "__version__",
    "build",
    "cached",
    "deploy",
    "initializers",
    "matrices",
    "models",
    "optim",
    "quantization",
    "recurrence",
    "registry",
    "tasks",
    "training",
]

__version__ = "0.1.0"


#: The module that defines each public name that is not itself a module.
_HOMES = dict.fromkeys(("GRU", "LSTM", "RNN", "FastGRNN", "Stream"), "layers")
_HOMES |= {"cached": "matrices", "Model": "models", "build": "models"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'eigenloop' has no attribute {name!r}")
    module = importlib.import_module(f"eigenloop.{_HOMES.get(name, name)}")
    return getattr(module, name) if name in _HOMES else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
