"""What there is by name: models, tasks, optimizers and experiments, known without importing torch.

An entry says where a thing is as ``module:attribute``, and is imported when it is used.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One thing.

    Attributes:
        line: what it is, in one line.
        target: where it is, ``module:attribute``.
        options: those that a configuration may set, of a target that takes others too.
    """

    line: str
    target: str
    options: tuple[str, ...] = ()

    def load(self) -> Any:
        """Import it."""
        module, _, attribute = self.target.partition(":")
        return getattr(importlib.import_module(module), attribute)


_SIMPLE, _GATED, _TASKS, _OPTIM = (
    "eigenloop.recipes.simple",
    "eigenloop.recipes.gated",
    "eigenloop.tasks",
    "torch.optim",
)

#: The published models, each with its recipe.
MODELS: dict[str, Entry] = {
    "rnn": Entry("modReLU RNN, free W, Glorot start", f"{_SIMPLE}:rnn"),
    "rnn-orth": Entry("modReLU RNN, W orthogonal only at the start", f"{_SIMPLE}:rnn_orth"),
    "lstm": Entry("LSTM, torch's equations, started as torch's or as TensorFlow's", f"{_GATED}:lstm"),
    "gru": Entry("GRU, torch's equations, started as torch's or as TensorFlow's", f"{_GATED}:gru"),
    "scornn": Entry("scaled Cayley (Helfrich et al. 2018)", f"{_SIMPLE}:scornn"),
    "exprnn": Entry("exponential map (Lezcano-Casado et al. 2019)", f"{_SIMPLE}:exprnn"),
    "dtriv": Entry("exponential map with a moving base (Lezcano-Casado 2019)", f"{_SIMPLE}:dtriv"),
    "projunn": Entry("W itself, kept orthogonal by `optim.ProjUNN` (Kiani et al. 2022)", f"{_SIMPLE}:projunn"),
    "ornn": Entry("Householder reflections (Mhammedi et al. 2017)", f"{_SIMPLE}:ornn"),
    "spectralrnn": Entry("U Sigma V^T, sigma near 1 (Zhang et al. 2018)", f"{_SIMPLE}:spectralrnn"),
    "eurnn": Entry("rotation layers, complex (Jing et al. 2017)", f"{_SIMPLE}:eurnn"),
    "urnn-full": Entry("unitary, with `optim.UnitaryCayley` (Wisdom et al. 2016)", f"{_SIMPLE}:urnn_full"),
    "nnrnn": Entry("Schur form (Kerg et al. 2019)", f"{_SIMPLE}:nnrnn"),
    "enrnn": Entry("long and short-term parts (Helfrich, Ye 2020)", f"{_SIMPLE}:enrnn"),
    "ncgru": Entry("orthogonal GRU (Mucllari et al. 2022)", f"{_GATED}:ncgru"),
    "goru": Entry("rotation layers in a GRU (Jing et al. 2019)", f"{_GATED}:goru"),
    "qornn": Entry("orthogonal in few bits (Foucault et al. 2024)", "eigenloop.recipes.quantized:qornn"),
}

#: The problems, each with its class.
TASKS: dict[str, Entry] = {
    "adding": Entry("Add the two marked numbers of a long list.", f"{_TASKS}:Adding"),
    "copying": Entry("Repeat ten symbols after `delay` blanks.", f"{_TASKS}:Copying"),
    "denoise": Entry("Pick ten symbols out of T + 9 steps of noise and repeat them.", f"{_TASKS}:Denoise"),
    "parenthesis": Entry("Count the open brackets of each type, at every step.", f"{_TASKS}:Parenthesis"),
    "smnist": Entry("Name the digit after 784 steps of one pixel, row by row.", f"{_TASKS}:SequentialMNIST"),
    "pmnist": Entry("Name the digit after 784 steps of one pixel, in a random order.", f"{_TASKS}:PermutedMNIST"),
    "ptb-char": Entry("Predict the next of 50 characters: 49, and the end of a line.", f"{_TASKS}:PTBCharacters"),
    "ptb-word": Entry("Predict the next of 10,000 words, one of which is the end of a line.", f"{_TASKS}:PTBWords"),
    "timit": Entry("Predict each frame of 129 log-powers (dB) of speech from those before.", f"{_TASKS}:TIMIT"),
}

#: The optimizers, each with its class and the options that a configuration may set.
OPTIMIZERS: dict[str, Entry] = {
    "adam": Entry("Adam (Kingma, Ba 2015)", f"{_OPTIM}:Adam", ("betas", "eps", "weight_decay", "amsgrad")),
    "adamw": Entry("Adam with decoupled weight decay", f"{_OPTIM}:AdamW", ("betas", "eps", "weight_decay")),
    "rmsprop": Entry(
        "RMSprop as torch has it", f"{_OPTIM}:RMSprop", ("alpha", "eps", "weight_decay", "momentum", "centered")
    ),
    "tf-rmsprop": Entry(
        "RMSprop as TensorFlow 1 has it", "eigenloop.optim:TFRMSprop", ("decay", "eps", "weight_decay", "momentum")
    ),
    "sgd": Entry(
        "gradient descent, with momentum", f"{_OPTIM}:SGD", ("momentum", "dampening", "weight_decay", "nesterov")
    ),
    "adagrad": Entry("Adagrad", f"{_OPTIM}:Adagrad", ("lr_decay", "weight_decay", "initial_accumulator_value", "eps")),
    "projunn": Entry(
        "low-rank steps that keep W orthogonal, for model projunn (Kiani et al. 2022)",
        "eigenloop.optim:ProjUNN",
        ("rank", "sampler", "variant", "base", "divider", "tangent", "alpha", "eps", "weight_decay"),
    ),
    "unitary-cayley": Entry(
        "Cayley steps that keep W unitary, for model urnn-full (Wisdom et al. 2016)",
        "eigenloop.optim:UnitaryCayley",
        ("base", "normalise", "alpha", "eps", "weight_decay"),
    ),
}


@functools.cache
def experiment_files() -> dict[str, Traversable]:
    """Return the file of each published table and figure."""
    found = files("eigenloop").joinpath("experiments", "data").iterdir()
    return {f.name.removesuffix(".yaml"): f for f in sorted(found, key=lambda f: f.name) if f.name.endswith(".yaml")}


def experiments() -> dict[str, str]:
    """Return the published tables and figures, each with one line."""
    import yaml  # not for every import of the models

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    read = {name: yaml.load(f.read_text(encoding="utf-8"), loader) for name, f in experiment_files().items()}
    return {name: experiment_line(content) for name, content in read.items()}


def experiment_line(content: Mapping[str, Any]) -> str:
    """Return what an experiment is, in one line."""
    return f"{content['paper']}, {content['item']}: {content['title']}"


def lines(kind: str) -> dict[str, str]:
    """Return the names of a kind, each with one line.

    >>> lines("tasks")["copying"]
    'Repeat ten symbols after `delay` blanks.'
    """
    if kind == "experiments":
        return experiments()
    return {name: entry.line for name, entry in ENTRIES[kind].items()}


ENTRIES = {"models": MODELS, "tasks": TASKS, "optimizers": OPTIMIZERS}
#: What `lines` takes.
KINDS = (*ENTRIES, "experiments")
