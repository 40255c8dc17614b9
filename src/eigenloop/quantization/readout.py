"""The base of networks whose read-out matrix V can be quantized separately."""

from __future__ import annotations

from torch import Tensor, nn

from eigenloop.quantization.quantizer import quantize


class QuantizableReadout(nn.Module):
    """A network with a read-out y = V h + c; the base of `eigenloop.Model`."""

    #: The bit width of V; None for floating point.
    readout_bits: int | None
    #: The linear layer with V and c.
    readout: nn.Linear

    def readout_weight(self) -> Tensor:
        """Return V, quantized if `readout_bits` is set."""
        V = self.readout.weight
        return V if self.readout_bits is None else quantize(V, self.readout_bits)
