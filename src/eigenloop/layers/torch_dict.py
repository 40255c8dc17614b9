"""Exchanging weights with torch's layers: loads their state_dict, and returns one for layers that match."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from eigenloop.layers.cells import Cells


class TorchDict(Cells):
    """Cells that read and write the state_dict of torch's layer of the same name."""

    @abstractmethod
    def _assign_weight_hh(self, matrices: nn.Module, weight: Tensor) -> None:
        """Set a cell's recurrent matrices to torch's ``weight_hh``."""

    @abstractmethod
    def _difference_from_torch(self) -> str | None:
        """Return what torch's layer of the same name lacks, as text, or None if it computes the same."""

    def torch_state_dict(self) -> dict[str, Tensor]:
        """Return the state_dict of the torch.nn layer that computes the same.

        For a quantized layer it holds q(U) and q(W) in floating point; for a layer quantized in evaluation only (PTQ),
        only in evaluation mode.

        Raises:
            ValueError: no layer of torch.nn computes the same.

        >>> import torch, eigenloop as el
        >>> ours = el.RNN(3, 5, nonlinearity="tanh")
        >>> torch.nn.RNN(3, 5).load_state_dict(ours.torch_state_dict())
        <All keys matched successfully>
        """
        difference = self._difference_from_torch()
        if self.state_quantizer is not None:
            difference = "torch's layers do not round their state"
        if difference is not None:
            raise ValueError(f"no layer of torch.nn computes the same: {difference}")
        result = {}
        with torch.no_grad():
            for _, _, cell in self._cells():
                U = self._input_weight(cell)
                assert U is not None  # layers without U were rejected above: torch's always have one
                result[f"weight_ih{cell}"] = U.detach().clone()
                result[f"weight_hh{cell}"] = self._weight_hh(cell).detach().clone()
                for name in ("bias_ih", "bias_hh") * bool(self.bias):
                    result[name + cell] = getattr(self, name + cell).detach().clone()
        return result

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Also load torch's state_dict: ``weight_hh_l0`` is passed to `assign_`, which sets ``recurrent_l0.*``."""
        for _, _, cell in self._cells():
            theirs, ours = f"{prefix}weight_hh{cell}", f"{prefix}recurrent{cell}."
            if theirs not in state_dict or any(key.startswith(ours) for key in state_dict):
                continue
            weight = state_dict.pop(theirs)
            try:
                matrices = copy.deepcopy(getattr(self, f"recurrent{cell}"))
                if local_metadata.get("assign_to_params_buffers") and isinstance(weight, Tensor):
                    matrices = _taken_to(matrices, weight)
                self._assign_weight_hh(matrices, weight)
            except (ValueError, TypeError) as error:
                error_msgs.append(f"{prefix}weight_hh{cell}: {error}")
                matrices = getattr(self, f"recurrent{cell}")
            for name, tensor in matrices.state_dict().items():
                state_dict[f"{prefix}recurrent{cell}.{name}"] = tensor
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def _taken_to(matrices: nn.Module, weight: Tensor) -> nn.Module:
    """Move matrices, also from the meta device, to the device and dtype of a weight that will be assigned to them."""
    if not weight.is_meta and any(parameter.is_meta for parameter in matrices.parameters()):
        if any(True for _ in matrices.buffers()):
            raise ValueError(
                "the constrained matrix of this layer is on the meta device, where it has no values, and torch's dict "
                "holds only some of them: build the layer on the CPU, or load a state_dict of its own"
            )
        matrices = matrices.to_empty(device=weight.device)
    return matrices.to(weight.device, weight.dtype)
