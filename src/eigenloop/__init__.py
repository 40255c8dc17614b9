"""eigenloop: recurrent networks whose spectrum you choose.

Every model is one sentence: free parameters become a matrix W inside a set, a recurrence carries a state with
it, a read-out looks at the state. A matrix knows nothing of time and a recurrence nothing of constraints, so
any matrix goes with any recurrence.
"""

from __future__ import annotations

from eigenloop import initializers, matrices, models, optim, quantization, recurrence, tasks
from eigenloop.layers import GRU, LSTM, RNN, Stream
from eigenloop.matrices import cached
from eigenloop.models import Model, build

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "Model",
    "Stream",
    "__version__",
    "build",
    "cached",
    "initializers",
    "matrices",
    "models",
    "optim",
    "quantization",
    "recurrence",
    "tasks",
]

__version__ = "0.1.0"
