"""eigenloop: recurrent networks whose spectrum you choose.

Every model is one sentence: free parameters become a matrix W inside a set, a recurrence carries a state with
it, a read-out looks at the state. A matrix knows nothing of time and a recurrence nothing of constraints, so
any matrix goes with any recurrence.

Note [torch comes with the first name]
    A name below is imported when it is first used, so that ``eigenloop --help`` does not wait for torch. A program that
    only loads an exported graph imports `eigenloop.layers`, which makes the operators known.
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


#: Where the names are that are not modules.
_HOMES = dict.fromkeys(("GRU", "LSTM", "RNN", "FastGRNN", "Stream"), "layers")
_HOMES |= {"cached": "matrices", "Model": "models", "build": "models"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'eigenloop' has no attribute {name!r}")
    module = importlib.import_module(f"eigenloop.{_HOMES.get(name, name)}")
    return getattr(module, name) if name in _HOMES else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
