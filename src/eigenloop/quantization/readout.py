"""What a read-out is to a quantizer: a matrix V that may be quantized by itself."""

from __future__ import annotations

from torch import Tensor, nn

from eigenloop.quantization.quantizer import quantize


class QuantizableReadout(nn.Module):
    """A network that reads y = V h + c off its states; the base of `eigenloop.Model`."""

    #: The width of V; None for floating point.
    readout_bits: int | None
    #: Holds V and c.
    readout: nn.Linear

    def readout_weight(self) -> Tensor:
        """Return V as it is multiplied with: quantized if it is to be."""
        V = self.readout.weight
        return V if self.readout_bits is None else quantize(V, self.readout_bits)
