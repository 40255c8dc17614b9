"""`Model`: a recurrent layer with an optional embedding before it and a linear read-out after it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from eigenloop import bit_widths, dtypes
from eigenloop.layers.base import RecurrentLayer
from eigenloop.layers.dropout import locked_dropout
from eigenloop.layers.sequences import Lengths
from eigenloop.pooling import RunningPool, checked_pool, pooled
from eigenloop.quantization.readout import QuantizableReadout
from eigenloop.scaling import Scaling


class Model(QuantizableReadout):
    """A recurrent layer with a linear read-out, y_t = V h_t + c; optionally with an embedding, or pooling over time.

    Args:
        rnn: an `eigenloop` layer.
        output_size: features of y.
        embedding: vocabulary size; the inputs are then integer tokens, each mapped to a trained vector of `input_size`.
        tied: use the embedding's weights as V (needs `embedding` = `output_size`, and as many outputs of the
            last layer as `input_size`).
        last: read out only the final state of the last layer, (B, output_size); the same as ``pool="last"``.
        pool: give one output per sequence, from its ``"last"`` state, or the ``"mean"`` or ``"max"`` of its states over
            time.
        embedding_dropout: probability of dropping a token's vector for the whole batch, in training.
        input_dropout: probability of dropping an input feature, the same features at all steps of a sequence.
        output_dropout: the same for the features before the read-out.
        complex_readout: the features of a complex state: its ``"real"`` part, or ``"both"`` its real and imaginary
            parts, concatenated; default: as in the model's paper.
        readout_bits: bits of V, 2 to 16, trained with a straight-through gradient; default: floating point, as in
            QORNN. Tied embeddings are then quantized too.
        scale_inputs: store mean and scale of every input feature (`Scaling`), so that the network takes raw inputs.
        scale_outputs: the same for the outputs, which are then in the units of the targets.

    Raises:
        TypeError: `rnn` is not an `eigenloop` layer.
        ValueError: an option is out of range, or excludes another one.

    >>> import eigenloop as el
    >>> net = el.Model(el.build("scornn", 10, 32), output_size=9)
    >>> y, h_n = net(torch.randn(20, 4, 10))
    >>> y.shape
    torch.Size([20, 4, 9])
    """

    def __init__(
        self,
        rnn: RecurrentLayer,
        output_size: int,
        *,
        embedding: int | None = None,
        tied: bool = False,
        last: bool = False,
        embedding_dropout: float = 0.0,
        input_dropout: float = 0.0,
        output_dropout: float = 0.0,
        complex_readout: str | None = None,
        readout_bits: int | None = None,
        pool: str | None = None,
        scale_inputs: bool = False,
        scale_outputs: bool = False,
    ) -> None:
        super().__init__()
        self.readout_bits = None if readout_bits is None else bit_widths.WEIGHTS.checked(readout_bits, "readout_bits")
        for name, p in (("embedding", embedding_dropout), ("input", input_dropout), ("output", output_dropout)):
            if not 0 <= p < 1:
                raise ValueError(f"{name}_dropout is a probability below 1, got {p}")
        if embedding_dropout and embedding is None:
            raise ValueError("embedding_dropout leaves out tokens: it needs embedding=, the number of tokens")
        self.embedding_dropout, self.input_dropout = embedding_dropout, input_dropout
        self.output_dropout = output_dropout
        if complex_readout not in (None, "real", "both"):
            raise ValueError(f"complex_readout={complex_readout!r} is not known: choose 'real' or 'both'")
        if not isinstance(rnn, RecurrentLayer):
            raise TypeError(
                f"Model takes el.RNN, el.GRU, el.LSTM or what el.build makes, got {type(rnn).__name__}: el.GRU(...,"
                " constrained=()) and el.LSTM(...) compute what torch's layers do and load their state_dicts"
            )
        state_dtype, device = rnn.state_dtype, rnn.device
        real = dtypes.real(state_dtype)
        if last and pool not in (None, "last"):
            raise ValueError(f"last=True and pool={pool!r} exclude each other: give one of them")
        self.rnn, self.pool = rnn, checked_pool("last" if last else pool)
        self.complex_readout = complex_readout or rnn.complex_readout
        features = (
            rnn.hidden_sizes[-1]
            * (2 if rnn.bidirectional else 1)
            * (2 if state_dtype.is_complex and self.complex_readout == "both" else 1)
        )
        self.embedding = (
            None if embedding is None else nn.Embedding(embedding, rnn.input_size, device=device, dtype=real)
        )
        if self.embedding is not None:
            # As in nnRNN and AWD-LSTM. With torch's N(0, 1) the initial loss of a tied read-out would be far above that
            # of a uniform prediction.
            nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.readout = nn.Linear(features, output_size, device=device, dtype=real)
        if tied:
            self._tie(features, output_size)
        if scale_inputs and embedding is not None:
            raise ValueError("scale_inputs is for measured values, and tokens have none: leave it out")
        # No keys where there is no scaling, so that older state_dicts still load.
        self.input_scaling = Scaling(rnn.input_size, device=device, dtype=real) if scale_inputs else None
        self.output_scaling = Scaling(output_size, device=device, dtype=real) if scale_outputs else None

    @property
    def last(self) -> bool:
        """Whether only the last state is read out."""
        return self.pool == "last"

    def _tie(self, features: int, output_size: int) -> None:
        if self.embedding is None or self.embedding.num_embeddings != output_size:
            raise ValueError(
                f"tied=True reads out with the embedding: give embedding={output_size}, as many as outputs"
            )
        if features != self.embedding.embedding_dim:
            raise ValueError(
                f"tied=True needs as many features before the read-out as in the embedding, got {features} and "
                f"{self.embedding.embedding_dim}: choose the last hidden size equal to input_size"
            )
        self.readout.weight = self.embedding.weight

    def forward(
        self, input: Tensor | PackedSequence, hx: Any = None, *, lengths: Lengths | None = None
    ) -> tuple[Any, Any]:
        """Run the network over time.

        Args:
            input: as the layer takes it, or integer tokens without the dimension of the features.
            hx: initial state, as the layer takes it.
            lengths: valid steps of each sequence of a padded batch, (B,).

        Returns:
            The outputs, in the layout of the input or, with pooling, (B, output_size); and the layer's final states.
        """
        input = _pointwise(self.entered, input)
        if self.input_dropout and self.training:
            x = _tensor(input, "input_dropout")
            input = locked_dropout(x, self.input_dropout, self._time(x))
        out, state = self.rnn(input, hx, lengths=lengths)
        read = self._pooled(out, state, lengths)
        if self.output_dropout and self.training:
            h = _tensor(read, "output_dropout")
            read = locked_dropout(h, self.output_dropout, self._time(h) if self.pool is None else None)
        V = self.readout_weight()
        return _pointwise(lambda h: self.read(h, V), read), state

    def read(self, h: Tensor, V: Tensor | None = None) -> Tensor:
        """Return the outputs V h + c for states h; `V` saves computing `readout_weight()` again."""
        y = nn.functional.linear(self.real_features(h), self.readout_weight() if V is None else V, self.readout.bias)
        return y if self.output_scaling is None else self.output_scaling.back(y)

    def entered(self, x: Tensor) -> Tensor:
        """Return the inputs of the recurrent layer: embedded tokens, or scaled values."""
        if self.embedding is not None:
            return self.embedded(x)
        return x if self.input_scaling is None else self.input_scaling(x)

    def read_last(self, state: Any) -> Tensor:
        """Return the outputs for final states as the layer returns them: (B, output_size)."""
        return self.read(self._last_of(state))

    def _time(self, sequence: Tensor) -> int:
        """Return the dimension of time of inputs or states: (T, B, n), (B, T, n) with ``batch_first``, or (T, n)."""
        return 1 if self.rnn.batch_first and sequence.dim() == 3 else 0

    def embedded(self, tokens: Tensor) -> Tensor:
        """Look up the embeddings of tokens, in training with `embedding_dropout` (Gal, Ghahramani 2016)."""
        assert self.embedding is not None
        tied = self.embedding.weight is self.readout.weight
        weight = self.readout_weight() if tied else self.embedding.weight
        if self.embedding_dropout and self.training:
            weight = locked_dropout(weight, self.embedding_dropout, time=1)
        return nn.functional.embedding(tokens, weight)

    def _pooled(self, out: Any, state: Any, lengths: Lengths | None) -> Any:
        """Return the features to read out: all states, or one vector for each sequence."""
        if self.pool is None:
            return out
        if self.pool == "last":
            return self._last_of(state)
        if isinstance(out, PackedSequence):
            time, (out, lengths) = 0, pad_packed_sequence(out)
        else:
            time = self._time(out)
        counts = None if lengths is None else torch.as_tensor(lengths, device=out.device)
        return pooled(self.real_features(out), self.pool, counts, time)

    def _last_of(self, state: Any) -> Tensor:
        """Return the final state of the last layer, both directions concatenated: (B, features) or (features,)."""
        if len(self.rnn.CARRIED) > 1:
            state = state[0]
        directions = 2 if self.rnn.bidirectional else 1
        tail = state[-directions:] if isinstance(state, Tensor) else state[-1]
        return torch.cat(list(tail), dim=-1)

    def running_pool(self) -> RunningPool | None:
        """Return what pools the states of single steps; None if the state of each step is read out by itself."""
        return None if self.pool is None or self.pool == "last" else RunningPool(self.pool)

    def real_features(self, h: Tensor) -> Tensor:
        """Return the features of states that are pooled and read out: real numbers, also for complex states."""
        if not h.is_complex():
            return h
        return h.real if self.complex_readout == "real" else torch.cat((h.real, h.imag), dim=-1)

    def penalty(self) -> Tensor:
        """Return the penalty that the model's paper adds to the loss; zero for most models."""
        return self.rnn.penalty()


def _tensor(sequence: Tensor | PackedSequence, option: str) -> Tensor:
    if isinstance(sequence, PackedSequence):
        raise TypeError(
            f"{option} drops the same features at all steps, which a PackedSequence has no place for: give "
            "a padded batch with lengths="
        )
    return sequence


def _pointwise(function: Any, sequence: Tensor | PackedSequence) -> Any:
    """Apply a function of the features to every step of a tensor or PackedSequence."""
    if isinstance(sequence, PackedSequence):
        return sequence._replace(data=function(sequence.data))
    return function(sequence)
