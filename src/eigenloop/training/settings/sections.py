"""The sections of a configuration whose settings are the same for every task and model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

#: All sections, in the order of ``config.yaml``.
SECTIONS = ("task", "model", "optimizer", "schedule", "training")


class Section(BaseModel):
    """Base class of a section: validated, immutable settings."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class ScheduleSection(Section):
    """The learning rate schedule, which multiplies both learning rates by the same factor."""

    name: Literal["constant", "factor", "plateau"] = "constant"
    """"factor" multiplies the learning rates at fixed intervals, "plateau" after evaluations without improvement."""
    factor: float = Field(0.5, gt=0, le=1)
    """Factor by which the learning rates are multiplied."""
    every: int = Field(1, ge=1)
    """For "factor": number of epochs or steps between changes."""
    unit: Literal["epoch", "step"] = "epoch"
    """Unit of `every`."""
    patience: int = Field(0, ge=0)
    """For "plateau": number of evaluations without improvement that are tolerated before a change."""


class TrainingSection(Section):
    """The training loop."""

    steps: int | None = Field(None, ge=1)
    """Total number of updates; exclusive with `epochs`."""
    epochs: float | None = Field(None, gt=0)
    """Number of passes over the training data; exclusive with `steps`."""
    batch_size: int = Field(32, ge=1)
    """Number of sequences (or streams) per update, over all processes and accumulated parts."""
    accumulate: int = Field(1, ge=1)
    """Compute an update in this many parts to save memory; the result is the same up to rounding."""
    truncate: int | None = Field(None, ge=1)
    """Backpropagate through at most this many time steps; the hidden state is carried on, the gradient is not."""
    clip_norm: float | None = Field(None, gt=0)
    """Scale the gradient down to at most this norm."""
    clip_value: float | None = Field(None, gt=0)
    """Clip every entry of the gradient to +- this."""
    eval_every: int | None = Field(None, ge=1)
    """Steps between evaluations. Default: an epoch, or 100 steps if there are no epochs."""
    eval_batch_size: int | None = Field(None, ge=1)
    """Sequences per batch in an evaluation. Default: `batch_size`."""
    log_every: int = Field(20, ge=1)
    """Steps between lines of metrics."""
    checkpoint_seconds: float = Field(60.0, ge=0)
    """Maximum number of seconds between checkpoints; there is also one at every evaluation."""
    patience: int | None = Field(None, ge=1)
    """Stop after this many evaluations without improvement."""
    until: float | None = Field(None, gt=0)
    """Stop once the validation loss is below this fraction of the baseline."""
    max_seconds: float | None = Field(None, gt=0)
    """Stop after this many seconds."""
    seed: int = Field(0, ge=0, lt=2**63)
    """Random seed of initial weights, data and sampling."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision of the network."""
    device: str = "cpu"
    """Device of the network, as torch names it."""
    threads: int | None = Field(None, ge=1, le=512)
    """Threads per process. Default: torch's choice."""
    tensorboard: bool = False
    """Write a log for TensorBoard too (needs the extra "tensorboard")."""


class NetworkSection(Section):
    """The network around the recurrent layer; the options of the layer are those of `eigenloop.build`."""

    name: str
    """A published model, see `eigenloop list models`."""
    hidden_size: int | Annotated[tuple[int, ...], Field(min_length=1)] = 128
    """Number of hidden units, or a list with one entry per layer."""
    embedding_size: int | None = Field(None, ge=1)
    """Size of a trained embedding of the tokens; without it tokens are one-hot vectors."""
    tied: bool = False
    """Use the embedding's weights for the read-out."""
    embedding_dropout: float = Field(0.0, ge=0, lt=1)
    """Probability of dropping a token's embedding for a whole batch."""
    input_dropout: float = Field(0.0, ge=0, lt=1)
    """Probability of dropping a feature of the embedding, the same at all time steps."""
    output_dropout: float = Field(0.0, ge=0, lt=1)
    """Probability of dropping a feature before the read-out, the same at all time steps."""
    readout_bits: int | None = Field(None, ge=2, le=16)
    """Bits of the read-out's weights. Default: floating point."""
