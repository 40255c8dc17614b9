"""Calls of the compiled kernel: checking and packing their arguments, and recording them to be repeated.

Note [Calling C without torch's headers]
    One binary works with every torch version: a call is a C struct of 64-bit fields (csrc/kernel.h), packed here from
    sizes, strides and addresses. `input_bias`, `bias` and `recurrent_bias` are called `shift`, `threshold` and `inner`
    in C. ctypes releases Python's global lock during the call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from eigenloop.recurrence import kernel

#: Positions of x, the initial states, the output and the final states among the fields of a call.
_CHANGING = {
    "simple_forward": (kernel.SIMPLE, (8, 15, 17, 18)),
    "gated_forward": (kernel.GATED, (11, 19, 21, 22)),
    "lstm_forward": (kernel.LSTM, (8, 15, 16, 18, 19, 20)),
}
#: Time steps between two saved cells of an LSTM, as in csrc/kernel.h.
CELL_STEPS = 8


def check(dtype: torch.dtype, **arguments: tuple[Tensor | None, tuple[int, ...]]) -> None:
    """Raise ValueError for an argument that C would misread: with a wrong shape, dtype or device.

    Args:
        dtype: dtype of W, which every argument must have.
        arguments: the tensor, or None, and its required shape.
    """
    for name, (tensor, shape) in arguments.items():
        if tensor is None:
            continue
        if tensor.shape != shape:
            raise ValueError(f"{name} must have shape {shape} to match W, got {tuple(tensor.shape)}")
        if tensor.dtype != dtype or not tensor.is_cpu:
            raise ValueError(
                f"{name} is {tensor.dtype} on {tensor.device} and W is {dtype} on the CPU: convert it with {name}.to(W)"
            )


def lengths_for_c(lengths: Tensor | None, B: int) -> Tensor | None:
    """Return the lengths in the form that C reads, contiguous int64; raises ValueError unless there are B of them."""
    if lengths is None:
        return None
    if lengths.shape != (B,):
        raise ValueError(f"lengths needs one entry for each of the {B} sequences, got shape {tuple(lengths.shape)}")
    return lengths.to("cpu", torch.int64).contiguous()


def rows(tensor: Tensor) -> Tensor:
    """Return the tensor with a contiguous last dimension, which is all that C requires of a sequence."""
    return tensor if tensor.stride(-1) == 1 or tensor.shape[-1] == 1 else tensor.contiguous()


def packed(tensor: Tensor | None) -> Tensor | None:
    """Return the tensor contiguous, as C requires for weights and states."""
    return None if tensor is None else tensor.contiguous()


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _addresses(tensors: Iterable[Tensor | None]) -> list[int]:
    return [0 if tensor is None else tensor.data_ptr() for tensor in tensors]


def _strides(tensor: Tensor | None) -> tuple[int, int]:
    return (0, 0) if tensor is None else (tensor.stride(0), tensor.stride(1))


def _head(
    x: Tensor, U: Tensor | None, n: int, activation: str, reverse: bool, slope: float
) -> tuple[int, int, int, int, int, bool, int, float]:
    T, B = x.shape[:2]
    m = 0 if U is None else U.shape[1]
    return T, B, n, m, kernel.ACTIVATIONS[activation], reverse, torch.get_num_threads(), slope


def run_simple(
    name: str,
    x: Tensor,
    U: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    options: tuple[str, bool, float],
    out: Tensor,
    h_n: Tensor | None,
    moduli: Tensor | None,
    grad_out: Tensor | None = None,
    grad_h_n: Tensor | None = None,
    grads: tuple[Tensor | None, ...] = (None,) * 8,
    slopes: Tensor | None = None,
    step: Tensor | None = None,
    input_step: Tensor | None = None,
    bits: int = 0,
) -> None:
    """Call ``el_simple_forward`` or ``el_simple_backward``; `grads` in the order of csrc/kernel.h."""
    arrays = (U, W, input_bias, bias, h0, lengths, out, h_n, moduli)
    call = kernel.SIMPLE.pack(
        *_head(x, U, W.shape[0], *options),
        x.data_ptr(),
        *_strides(x),
        *_addresses(arrays),
        _address(grad_out),
        *_strides(grad_out),
        _address(grad_h_n),
        *_addresses(grads[:-2]),
        bits,
        _address(step),
        _address(grads[-2]),
        _address(slopes),
        _address(input_step),
        _address(grads[-1]),
    )
    _call(name, call, W.dtype, (x, *arrays, step, input_step))


def run_gated(
    name: str,
    x: Tensor,
    U: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    recurrent_bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    options: tuple[str, bool, float],
    before: bool,
    keep: bool,
    biased_gates: int,
    out: Tensor,
    h_n: Tensor | None,
    gates: Tensor | None,
    grad_out: Tensor | None = None,
    grad_h_n: Tensor | None = None,
    grads: tuple[Tensor | None, ...] = (None,) * 9,
    step: Tensor | None = None,
    input_step: Tensor | None = None,
    bits: int = 0,
) -> None:
    """Call ``el_gated_forward`` or ``el_gated_backward``; `grads` in the order of csrc/kernel.h."""
    arrays = (U, W, input_bias, bias, recurrent_bias, h0, lengths, out, h_n, gates)
    call = kernel.GATED.pack(
        *_head(x, U, W.shape[1], *options),
        before,
        keep,
        biased_gates,
        x.data_ptr(),
        *_strides(x),
        *_addresses(arrays),
        _address(grad_out),
        *_strides(grad_out),
        _address(grad_h_n),
        *_addresses(grads[:-2]),
        bits,
        _address(step),
        _address(grads[-2]),
        _address(input_step),
        _address(grads[-1]),
    )
    _call(name, call, W.dtype, (x, *arrays, step, input_step))


def run_lstm(
    name: str,
    x: Tensor,
    U: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    c0: Tensor,
    lengths: Tensor | None,
    options: tuple[str, bool, float],
    out: Tensor,
    h_n: Tensor | None,
    c_n: Tensor | None,
    gates: Tensor | None,
    cells: Tensor | None,
    grad_out: Tensor | None = None,
    grad_h_n: Tensor | None = None,
    grad_c_n: Tensor | None = None,
    grads: tuple[Tensor | None, ...] = (None,) * 9,
    step: Tensor | None = None,
    input_step: Tensor | None = None,
    bits: int = 0,
) -> None:
    """Call ``el_lstm_forward`` or ``el_lstm_backward``; `grads` in the order of csrc/kernel.h."""
    arrays = (U, W, input_bias, bias, h0, c0, lengths, out, h_n, c_n, gates, cells)
    call = kernel.LSTM.pack(
        *_head(x, U, W.shape[1], *options),
        x.data_ptr(),
        *_strides(x),
        *_addresses(arrays),
        _address(grad_out),
        *_strides(grad_out),
        _address(grad_h_n),
        _address(grad_c_n),
        *_addresses(grads[:-2]),
        bits,
        _address(step),
        _address(grads[-2]),
        _address(input_step),
        _address(grads[-1]),
    )
    _call(name, call, W.dtype, (x, *arrays, step, input_step))


def _call(name: str, call: bytes, dtype: torch.dtype, arrays: tuple[Tensor | None, ...]) -> None:
    loaded = kernel.library()
    if loaded is None:
        raise RuntimeError(
            "this program was compiled or exported for eigenloop's kernel, which is not there: "
            f"{kernel.REBUILD}, or export it again with EIGENLOOP_KERNEL=reference"
        )
    loaded.run(name, call, dtype)
    tape = getattr(_recording, "tape", None)
    if tape is not None:
        tape.append(Recorded(loaded, name, call, dtype, arrays))


class Recorded:
    """A kernel call that can be repeated on the same memory, with the values that are there at that time."""

    def __init__(
        self, loaded: kernel.Library, name: str, call: bytes, dtype: torch.dtype, arrays: tuple[Tensor | None, ...]
    ) -> None:
        self._library, self._name, self._call, self._dtype = loaded, name, call, dtype
        self._arrays = arrays  # keeps them alive: the call holds only their addresses

    def __call__(self) -> None:
        """Repeat the call."""
        self._library.run(self._name, self._call, self._dtype)

    def takes(self, *tensors: Tensor) -> bool:
        """Whether this is a forward pass that read exactly these tensors, not copies of them."""
        return self._name in _CHANGING and all(any(one is array for array in self._arrays) for one in tensors)

    def fields(self) -> list[int | float]:
        """Return the fields of the call as numbers."""
        return list(_CHANGING[self._name][0].unpack(self._call))

    def run_with(self, fields: list[int | float], tensors: tuple[Tensor, ...]) -> None:
        """Make a forward call with these fields, but with other x, initial states, output and final states."""
        layout, places = _CHANGING[self._name]
        fields = fields.copy()
        for place, tensor in zip(places, tensors, strict=True):
            fields[place] = tensor.data_ptr()
        self._library.run(self._name, layout.pack(*fields), self._dtype)


_recording = threading.local()


@contextmanager
def recording() -> Iterator[list[Recorded]]:
    """Record the kernel calls that this thread makes inside the ``with``; they run as usual."""
    before, _recording.tape = getattr(_recording, "tape", None), []
    try:
        yield _recording.tape
    finally:
        _recording.tape = before
