"""Nested state as JSON and tensors, so that it can be stored in files that cannot execute code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor


def pack(value: Any, tensors: dict[str, Tensor], name: str = "state") -> Any:
    """Return `value` in a form that JSON can hold; its tensors are moved to `tensors` under unique names.

    Raises:
        TypeError: `value` contains something other than tensors, mappings, lists, tuples and plain values.

    >>> moved_tensors = {}
    >>> pack({"steps": 3, 0: (torch.zeros(2), None)}, moved_tensors)
    {'$map': [['steps', 3], [0, {'$tuple': [{'$tensor': 'state.0.0'}, None]}]]}
    >>> list(moved_tensors)
    ['state.0.0']
    """
    if isinstance(value, Tensor):
        tensors[name] = value
        return {"$tensor": name}
    if isinstance(value, Mapping):
        return {"$map": [[key, pack(item, tensors, f"{name}.{key}")] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        items = [pack(item, tensors, f"{name}.{index}") for index, item in enumerate(value)]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}, which a checkpoint cannot hold")


def unpack(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Return the value that `pack` was given."""
    if isinstance(value, list):
        return [unpack(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "$tensor" in value:
        return tensors[value["$tensor"]]
    if "$tuple" in value:
        return tuple(unpack(item, tensors) for item in value["$tuple"])
    return {key: unpack(item, tensors) for key, item in value["$map"]}


#: Complex tensors, which older versions of the format lack, are stored as real ones with this suffix in their name.
_COMPLEX = "::complex"
#: Prefix in the file's header for the name of a tensor that is stored under another name.
_SAME = "same:"


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors to a safetensors file; those that share memory are written once."""
    stored: dict[str, Tensor] = {}
    names: dict[tuple[int, torch.Size, tuple[int, ...]], str] = {}
    same: dict[str, str] = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach()
        place = (tensor.data_ptr(), tensor.shape, tensor.stride())
        if tensor.numel() and place in names:
            same[name] = names[place]
            continue
        names[place] = name
        real = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
        # A copy, because the format rejects tensors that share memory or are not contiguous.
        stored[name + _COMPLEX if tensor.is_complex() else name] = real.cpu().contiguous().clone()
    header = {"format": "pt"} | {_SAME + name: other for name, other in same.items()}
    # Not save_file, which hides the operating system's error.
    path.write_bytes(save(stored, metadata=header))


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors that `save_tensors` wrote.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        stored = load_file(str(path))
        with safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    tensors = {
        name.removesuffix(_COMPLEX): torch.view_as_complex(tensor) if name.endswith(_COMPLEX) else tensor
        for name, tensor in stored.items()
    }
    same = {name.removeprefix(_SAME): other for name, other in header.items() if name.startswith(_SAME)}
    return tensors | {name: tensors[other] for name, other in same.items() if other in tensors}
