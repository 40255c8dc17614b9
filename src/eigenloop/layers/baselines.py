"""torch's own LSTM and GRU with the two things our layers add: `lengths=` and `penalty()`."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from eigenloop.layers.sequences import Lengths, arrange


class _Baseline(nn.RNNBase):
    def forward(
        self, input: Tensor | PackedSequence, hx: Any = None, *, lengths: Lengths | None = None
    ) -> tuple[Any, Any]:
        """Run torch's layer; with `lengths` the batch is packed on the way in and padded on the way out."""
        if lengths is None:
            result: tuple[Any, Any] = super().forward(input, hx)
            return result
        batch = arrange(input, lengths, self.batch_first, type(self).__name__)
        assert batch.lengths is not None
        packed = pack_padded_sequence(batch.x, batch.lengths.cpu(), enforce_sorted=False)
        out, state = super().forward(packed, hx)
        padded, _ = pad_packed_sequence(out, total_length=len(batch.x))
        return batch.restore(padded), state

    def penalty(self) -> Tensor:
        """Return zero: nothing is constrained."""
        return next(self.parameters()).new_zeros(())


class TorchLSTM(_Baseline, nn.LSTM):
    """torch.nn.LSTM as a baseline, with `lengths=` and `penalty()`."""


class TorchGRU(_Baseline, nn.GRU):
    """torch.nn.GRU as a baseline, with `lengths=` and `penalty()`."""
