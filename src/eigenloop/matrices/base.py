"""The base class of all recurrent matrices: free parameters, a map from them to W, and its inverse."""

from __future__ import annotations

import inspect
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from eigenloop import dtypes
from eigenloop.matrices.errors import NotFiniteError
from eigenloop.matrices.snapshot import Snapshot

M = TypeVar("M", bound="Matrix")

_AS_IT_IS = nullcontext()
#: `assign_` accepts a W this far from the set as rounding error; trained float32 weights are up to 1e-5 away.
TOLERANCE = 1e-4


class Matrix(nn.Module, ABC):
    """An n x n matrix W kept inside a set by the way it is computed from its parameters.

    A subclass names its main parameter in `_anchor` and implements `exact`, the map; `_take_`, its inverse; and
    `defect`, the distance from the set. It overrides `penalty`, `slow_parameters`, `weight_decays` and `advance_` where
    its paper needs them. All state besides parameters is in buffers, so that a state_dict restores it exactly.

    Note [One build, in double precision]
        Products of thousands of W's amplify any error in W, and in float32 the error of the maps grows with the norm
        of their argument (to 1e-3 and more). A map costs O(n^3) once per forward pass, against O(T B n^2) for the
        recurrence, so it is computed in float64 and cast down: the defect is then rounding error only.
    """

    #: The name of the parameter that determines the dtype and device of W.
    _anchor: str

    _held: tuple[Snapshot, Tensor] | None = None
    _holding: bool = False

    def __init__(self, n: int) -> None:
        super().__init__()
        if isinstance(n, bool) or not isinstance(n, int):
            raise TypeError(f"the size n of a matrix is an int, got {type(n).__name__}")
        if n < 1:
            raise ValueError(f"the size n of a matrix must be at least 1, got {n}")
        self.n = n

    # ---------------------------------------------------------------- implemented by subclasses

    @abstractmethod
    def exact(self) -> Tensor:
        """Compute W in double precision, differentiably: shape (n, n), float64 or complex128."""

    @abstractmethod
    def _take_(self, W: Tensor, tolerance: float) -> None:
        """Set the parameters so that the map gives W; raises NotInSetError if W is more than `tolerance` off the set.

        W is finite, n x n and in double precision; `tolerance` allows for the rounding error of its original dtype.
        """

    @abstractmethod
    def defect(self) -> float:
        """Return the distance of the built W from the set, computed in float64; always zero up to rounding."""

    def penalty(self) -> Tensor:
        """Return the penalty, a scalar, that the matrix's paper adds to the loss; zero for most."""
        return torch.zeros((), dtype=dtypes.real(self.dtype), device=self.device)

    def slow_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that get `recurrent_lr`, the smaller of the two learning rates."""
        return []

    def weight_decays(self) -> list[tuple[nn.Parameter, float]]:
        """Return the parameters with their own weight decay (possibly zero), each with that decay."""
        return []

    def projected_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that only certain optimizers, such as `ProjUNN`, keep on the set."""
        return []

    def advance_(self) -> None:
        """Update buffers that depend on the parameters; called before W is built in a training forward pass."""

    # ---------------------------------------------------------------- common to all matrices

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of W."""
        dtype: torch.dtype = getattr(self, self._anchor).dtype
        return dtype

    @property
    def device(self) -> torch.device:
        """The device of W."""
        device: torch.device = getattr(self, self._anchor).device
        return device

    @property
    def is_complex(self) -> bool:
        """Whether W, and so the state of a recurrence with it, is complex."""
        return self.dtype.is_complex

    def forward(self) -> Tensor:
        """Build W, or return the one that `eigenloop.cached` holds."""
        return self._held_or_built() if self._holding else self._build()

    @property
    def _has_values(self) -> bool:
        """Whether there are values to compute with: tensors on the meta device have only shapes."""
        return self.device.type != "meta"

    def _build(self) -> Tensor:
        if not self._has_values:
            W = torch.empty(self.n, self.n, dtype=self.dtype, device=self.device)
            return W + sum(parameter.sum() for parameter in self.parameters())  # with a gradient for each of them
        with full_precision(self.device):
            if self.training and torch.is_grad_enabled():
                self.advance_()
            W = self._map()
        self._check_finite([W, *self.parameters()])
        return W

    def _map(self) -> Tensor:
        """Compute W in its own dtype; overridden where computing in double precision would change nothing."""
        return self.exact().to(self.dtype)

    def _check_finite(self, tensors: list[Tensor]) -> None:
        """Raise NotFiniteError for NaN or inf; not while tracing, where there are no values."""
        if torch.compiler.is_compiling():
            return
        if not all(torch.isfinite(tensor.detach()).all() for tensor in tensors):
            raise NotFiniteError(type(self).__name__)

    def _held_or_built(self) -> Tensor:
        """Return the held W, or build it again if a parameter changed or the held W lacks a graph that is needed."""
        if self._held is not None:
            snapshot, W = self._held
            needs_graph = torch.is_grad_enabled() and snapshot.requires_grad()
            usable = torch.is_inference_mode_enabled() or not W.is_inference()
            if snapshot.unchanged() and usable and (W.requires_grad or not needs_graph):
                return W
        W = self._build().contiguous()  # some maps return it column-major, and every time step would copy it
        self._held = (Snapshot(self), W)
        if W.requires_grad:
            W.register_hook(_releasing(self))
        return W

    def _hold_(self, holding: bool) -> None:
        """Begin or end holding the built W; to be called by `eigenloop.cached`."""
        self._holding = holding
        self._held = None

    @torch.no_grad()
    def assign_(self: M, W: Tensor) -> M:
        """Set the parameters so that the map gives `W`, and return self; after an error nothing has changed.

        On the meta device there are no values to set, and `W` is ignored.

        Raises:
            TypeError: `W` is not a tensor, or is complex although the matrix is real.
            ValueError: `W` has the wrong shape, contains NaN or inf, or lies outside the set; the message says how far.
        """
        name = type(self).__name__
        if not isinstance(W, Tensor):
            raise TypeError(f"{name}.assign_ takes an {self.n} x {self.n} tensor, got {type(W).__name__}")
        if W.shape != (self.n, self.n):
            raise ValueError(f"{name}.assign_ takes a {self.n} x {self.n} tensor, got shape {tuple(W.shape)}")
        if W.is_complex() and not self.is_complex:
            raise TypeError(f"{name} holds real matrices, got {W.dtype}: give it W.real, or use a complex matrix")
        if not self._has_values:
            return self
        if not torch.isfinite(W).all():
            raise ValueError(f"the matrix given to {name}.assign_ holds NaN or inf: repair it first")
        rounding = max(torch.finfo(dtype).eps for dtype in (W.dtype, self.dtype) if not _is_integer(dtype))
        self._take_(W.to(self.device, dtypes.double(self.dtype)), max(TOLERANCE, rounding))
        return self

    def _apply(self: M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> M:
        """Convert parameters and buffers; complex ones stay complex and real ones real."""
        super()._apply(dtypes.keeping_kind(fn), recurse)
        return self

    def __getstate__(self) -> dict[str, Any]:
        # A held W may belong to an autograd graph, which neither deepcopy nor pickle accepts.
        state = self.__dict__.copy()
        state.pop("_held", None)
        state.pop("_holding", None)
        return state

    def extra_repr(self) -> str:
        """Return the size, for the printed module."""
        return str(self.n)


def made_by(
    factory: Any, name: str, n: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
) -> Matrix:
    """Return `factory(n)` on a device and in a dtype; raises TypeError or ValueError if it is no matrix of size n."""
    if isinstance(factory, nn.Module) or not callable(factory):
        raise TypeError(
            f"{name} is called with n to make a matrix, such as ScaledCayley or partial(ScaledCayley, negative=3); "
            f"got {'a finished ' if isinstance(factory, nn.Module) else ''}{type(factory).__name__}"
        )
    # Converted afterwards, the matrix would only be as accurate as the default dtype. A dtype of its own stays.
    takes = inspect.signature(factory).parameters
    free = {key for key, parameter in takes.items() if parameter.default is None}
    matrix = factory(n, **{key: value for key, value in (("device", device), ("dtype", dtype)) if key in free})
    if not isinstance(matrix, Matrix):
        raise TypeError(f"{name} must make an eigenloop Matrix of size n, got {type(matrix).__name__}")
    if matrix.n != n:
        raise ValueError(f"{name} made a matrix of size {matrix.n} where {n} is needed")
    return matrix.to(device=device, dtype=dtype)


def full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context that switches autocast off, if it is on."""
    on = device.type != "meta" and torch.is_autocast_enabled(device.type)
    return torch.autocast(device.type, enabled=False) if on else _AS_IT_IS


def _is_integer(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex)


def _releasing(matrix: Matrix) -> Callable[[Tensor], None]:
    """Return a hook that discards a held W once a backward pass has freed its graph."""
    reference = weakref.ref(matrix)

    def release(grad: Tensor) -> None:
        alive = reference()
        if alive is not None:
            alive._held = None

    return release
