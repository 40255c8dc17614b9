"""Layers whose input, state and gates are rounded at every step: their ranges and quantization steps."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn

from eigenloop.quantization import StateQuantizer
from eigenloop.quantization.layer import QuantizableLayer
from eigenloop.recurrence import Rounding
from eigenloop.recurrence.rounding import rounded, unit_step


class RoundedState(QuantizableLayer):
    """A layer that can round its state.

    The ranges are ``input_range``, for the first layer's input, and one for each cell with an unbounded state:
    ``state_range_l0``, or ``cell_range_l0`` for the cell of an LSTM. They exist only if states are rounded, as
    parameters if they are learned and as buffers if not. Gates and tanh have a fixed range, which is not stored.
    """

    #: Prefix of the ranges' names; ``"cell_range"`` in an LSTM, whose state lies in [-1, 1] but whose cell does not.
    _RANGE = "state_range"

    @abstractmethod
    def _cells(self) -> tuple[tuple[int, bool, str], ...]:
        """Return the layer, whether it runs in reverse, and the suffix of the parameter names of each cell."""

    @abstractmethod
    def _sizes(self, layer: int) -> tuple[int, int]:
        """Return input and hidden size of a layer."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The device of the weights."""

    @property
    @abstractmethod
    def _bounded(self) -> bool:
        """Whether the carried state (in an LSTM the cell c) lies in [-1, 1]."""

    def round_state_(self, quantizer: StateQuantizer | None) -> None:
        """Round input, state and gates with `quantizer` from now on, starting with its initial ranges.

        Args:
            quantizer: bit widths and ranges; None for no rounding.

        Raises:
            ValueError: the state is complex.
        """
        if quantizer is not None and self.state_dtype.is_complex:
            raise ValueError("state_bits= rounds real states, and this one is complex: leave state_bits out")
        names = ["input_range"] + [f"{self._RANGE}{cell}" for _, _, cell in self._cells() if not self._bounded]
        for name in names:
            if hasattr(self, name):
                delattr(self, name)
        self.state_quantizer = quantizer
        if quantizer is None:
            return
        for name in names:
            start = quantizer.input_range if name == "input_range" else quantizer.state_range
            value = torch.full((), start, dtype=self.state_dtype, device=self.device)
            if quantizer.learned:
                self.register_parameter(name, nn.Parameter(value))
            else:
                self.register_buffer(name, value)

    def state_step(self, layer: int = 0, reverse: bool = False) -> Tensor:
        """Return the quantization step of the state (in an LSTM of the cell c), of which all its values are multiples.

        Raises:
            ValueError: the layer does not round its state, or has no such cell.
        """
        for number, direction, cell in self._cells():
            step = self._carried_step(cell, number)
            if (number, direction) == (layer, reverse) and step is not None:
                return step.detach()
        raise ValueError("this layer does not round its state, or has no such cell")

    def _rounds(self) -> StateQuantizer | None:
        """Return the quantizer in use; None, too, during calibration, which runs without rounding."""
        return self.state_quantizer if self.observed is None else None

    def _carried_step(self, cell: str, layer: int) -> Tensor | None:
        """Return the step of the state (in an LSTM of the cell c), a scalar tensor; None if it is not rounded."""
        quantizer = self._rounds()
        if quantizer is None:
            return None
        if self._bounded:
            return self._unit_step(quantizer)
        return quantizer.step(getattr(self, f"{self._RANGE}{cell}"), self._sizes(layer)[1])

    def _unit_step(self, quantizer: StateQuantizer) -> Tensor:
        return torch.full((), unit_step(quantizer.bits), dtype=self.state_dtype, device=self.device)

    def _rounding(self, step: Tensor | None, input_step: Tensor | None) -> Rounding | None:
        """Return the `Rounding` for the recurrence, given the steps of the state and of the input."""
        quantizer = self._rounds()
        return None if quantizer is None or step is None else Rounding(quantizer.bits, step, input_step)

    def _input_step(self, layer: int) -> Tensor | None:
        """Return the step of the first layer's input; None for other layers, whose inputs are rounded states."""
        quantizer = self._rounds()
        if quantizer is None or layer > 0:
            return None
        return quantizer.step(self.input_range, self._sizes(0)[0])  # type: ignore[arg-type]

    def _rounded_start(self, carried: tuple[Tensor, ...], cell: str, layer: int) -> tuple[Tensor, ...]:
        """Round the initial state of a cell."""
        quantizer, step = self._rounds(), self._carried_step(cell, layer)
        if quantizer is None or step is None:
            return carried
        unit = (self._unit_step(quantizer),) * (len(carried) - 1)  # the state of an LSTM
        return tuple(rounded(h, s, quantizer.bits) for h, s in zip(carried, (*unit, step), strict=True))

    def _observe(self, name: str, values: Tensor) -> None:
        """Record values from which a range is chosen."""
        if self.observed is not None and (name == "input_range" or not self._bounded):
            self.observed.setdefault(name, []).append(values)
