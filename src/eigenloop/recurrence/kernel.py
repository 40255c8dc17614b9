"""The compiled kernel (csrc/): loading it, choosing an instruction set, and what it can compute.

The environment variable ``EIGENLOOP_KERNEL`` is read at the first use: ``reference`` for plain PyTorch, ``portable``,
``avx2`` or ``avx512`` for that instruction set; unset or empty, the best that the machine supports.
"""

from __future__ import annotations

import ctypes
import os
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

#: The dtypes of W that the kernel supports.
_DTYPES = frozenset((torch.float32, torch.float64, torch.complex64, torch.complex128))
#: Instruction sets in the order of the C enumeration.
VARIANTS = ("portable", "avx2", "avx512")

#: The activations that the kernel implements, in the order of the C enumeration.
ACTIVATIONS = {"identity": 0, "relu": 1, "leaky_relu": 2, "tanh": 3, "modrelu": 4, "complex modrelu": 5}

# T, B, n, m, activation, reverse, threads, slope, ... as in csrc/kernel.h
SIMPLE = struct.Struct("=7qd28q")
GATED = struct.Struct("=7qd32q")
LSTM = struct.Struct("=7qd32q")
#: What to do if the kernel is missing.
REBUILD = "reinstall eigenloop with a C compiler at hand (docs/building.md)"


class Library:
    """The loaded kernel and the instruction set in use."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.el_workspace_bytes.restype = ctypes.c_int64
        self._functions = {}
        for name, layout in (("simple", SIMPLE), ("gated", GATED), ("lstm", LSTM)):
            for direction in ("forward", "backward"):
                function = getattr(self._library, f"el_{name}_{direction}")
                function.argtypes = (ctypes.c_char_p, ctypes.c_int, ctypes.c_int)
                self._functions[f"{name}_{direction}"] = function
            size = getattr(self._library, f"el_{name}_size")
            size.restype = ctypes.c_int64
            if size() != layout.size:
                raise OSError(f"{path.name} was built from other sources than this version")
        self.best = VARIANTS[self._library.el_best_variant()]
        self.variant = self.best

    def run(self, name: str, call: bytes, dtype: torch.dtype) -> None:
        """Call ``el_<name>``."""
        if self._functions[name](call, VARIANTS.index(self.variant), dtype == torch.float64) != 0:
            raise MemoryError("no memory for the workspace of the recurrence: use a smaller batch or fewer threads")

    def workspace_bytes(self) -> int:
        """Return the number of bytes that are kept between calls."""
        return int(self._library.el_workspace_bytes())

    def release_workspace(self) -> None:
        """Free the memory that is kept between calls."""
        self._library.el_release_workspace()


_loaded: list[Library | None] = []
_reference = False


def library() -> Library | None:
    """Return the kernel, or None if the reference path is to be used."""
    if not _loaded:
        _loaded.append(_load(os.environ.get("EIGENLOOP_KERNEL", "")))
    return None if _reference else _loaded[0]


def _loads() -> bool:
    """Whether there is a kernel. torch.compile calls this without tracing it: it cannot trace the loading."""
    return library() is not None


# Does what torch.compiler.assume_constant_result does, without importing the compiler, which takes as long as torch.
_loads._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _load(choice: str) -> Library | None:
    if choice == "reference":
        return None
    libraries = sorted(Path(__file__).parents[1].glob("_kernel*.so"))
    if not libraries:
        warnings.warn(
            f"the compiled kernel is missing, so recurrences run several times slower in plain PyTorch: {REBUILD}, "
            "or set EIGENLOOP_KERNEL=reference to silence this warning",
            stacklevel=2,
        )
        return None
    try:
        loaded = Library(libraries[0])
    except (OSError, AttributeError) as error:
        warnings.warn(f"the compiled kernel cannot be used ({error}): {REBUILD}", stacklevel=2)
        return None
    if choice in VARIANTS:
        _check_variant(loaded, choice)
        loaded.variant = choice
    elif choice:
        raise ValueError(f"EIGENLOOP_KERNEL={choice!r} is none of reference, {', '.join(VARIANTS)}")
    return loaded


def _check_variant(loaded: Library, name: str) -> None:
    if VARIANTS.index(name) > VARIANTS.index(loaded.best):
        raise ValueError(f"this machine has no {name}: choose {loaded.best}, its best, or one before it of {VARIANTS}")


@contextmanager
def using(name: str) -> Iterator[None]:
    """Use a given instruction set, or ``"reference"``, inside the ``with``."""
    global _reference
    loaded, before = library(), _reference
    variant = loaded.variant if loaded is not None else ""
    if name == "reference":
        _reference = True
    elif loaded is None:
        raise RuntimeError(f"there is no compiled kernel here: {REBUILD}")
    else:
        _check_variant(loaded, name)
        loaded.variant = name
    try:
        yield
    finally:
        _reference = before
        if loaded is not None:
            loaded.variant = variant


def serves(W: Tensor, activation: str) -> bool:
    """Whether the kernel can run a recurrence with this matrix and activation."""
    return activation in ACTIVATIONS and takes(W)


def takes(tensor: Tensor) -> bool:
    """Whether the kernel supports this tensor: its dtype, on the CPU, outside functorch's transforms."""
    return (
        tensor.dtype in _DTYPES
        and tensor.is_cpu
        and not _reference
        and _loads()
        and not torch._C._are_functorch_transforms_active()
    )


def reachable(*arguments: object) -> bool:
    """Whether the tensors among these can be passed to C directly: plain tensors, and nothing intercepts operators."""
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0:
        return False
    if torch._C._are_functorch_transforms_active():
        return False
    for one in arguments:
        kind = type(one)
        if kind is not Tensor and kind is not torch.nn.Parameter and isinstance(one, Tensor):
            return False
    return True
