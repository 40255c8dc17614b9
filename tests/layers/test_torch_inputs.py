"""The inputs with which torch tests its own recurrent modules, run through ours."""

import copy
import pickle
from typing import Any

import pytest
import torch
from comparing import relative
from torch.testing._internal import common_modules
from torch.testing._internal.common_modules import ModuleInput

import eigenloop as el

KINDS = {torch.nn.RNN: "RNN", torch.nn.GRU: "GRU", torch.nn.LSTM: "LSTM"}


def cases() -> list[Any]:
    """Every input of every module, in training and in evaluation."""
    found = []
    for info in (info for info in common_modules.module_db if info.module_cls in KINDS):
        kind = KINDS[info.module_cls]
        for training in (True, False):
            settings = {"dtype": torch.float64, "requires_grad": True, "training": training}
            for number, given in enumerate(info.module_inputs_func(info, device="cpu", **settings)):
                options = given.constructor_input.kwargs
                if options.get("proj_size"):
                    continue  # refused with a sentence, see test_errors
                found.append(pytest.param(kind, training, given, id=f"{kind}-{number}-{training}"))
    return found


def ours_for(kind: str, given: ModuleInput) -> torch.nn.Module:
    arguments, options = given.constructor_input.args, dict(given.constructor_input.kwargs)
    if kind == "LSTM":
        return el.LSTM(*arguments, **options)
    if kind == "GRU":
        return el.GRU(*arguments, **options, recurrent="free")
    return el.RNN(*arguments, **{"nonlinearity": "tanh", **options}, recurrent="free")


def tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return [value.data]
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in tensors(part)]
    return []


def changed(value: Any, function: Any) -> Any:
    """The inputs with every tensor, packed ones too, replaced by a function of it."""
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return value._replace(data=function(value.data))
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (tuple, list)):
        return type(value)(changed(part, function) for part in value)
    return value


def leaf(t: torch.Tensor) -> torch.Tensor:
    return t.detach().clone().requires_grad_(t.is_floating_point())


def spread_out(t: torch.Tensor) -> torch.Tensor:
    """The same values with gaps between them, as torch's own test of non-contiguous inputs makes them."""
    return torch.stack((t, t), dim=-1)[..., 0]


@pytest.mark.parametrize(("kind", "training", "given"), cases())
def test_outputs_gradients_and_copies(kind: str, training: bool, given: ModuleInput) -> None:
    theirs = getattr(torch.nn, kind)(*given.constructor_input.args, **given.constructor_input.kwargs)
    ours = ours_for(kind, given)
    ours.load_state_dict(theirs.state_dict())
    ours, theirs = ours.double(), theirs.double()
    arguments = changed(given.forward_input.args, leaf)
    twins = changed(given.forward_input.args, leaf)

    def run(layer: torch.nn.Module, inputs: Any) -> list[torch.Tensor]:
        torch.manual_seed(0)
        layer.zero_grad()
        found = tensors(layer.train(training)(*inputs))
        sum((t.sin() * (i + 1)).sum() for i, t in enumerate(found)).backward()
        return [t.detach() for t in found]

    for mine, other in zip(run(ours, arguments), run(theirs, twins), strict=True):
        assert relative(mine, other) < 1e-10
    for mine, other in zip(tensors(arguments), tensors(twins), strict=True):
        if other.grad is not None:
            assert relative(mine.grad, other.grad) < 1e-10
    emitted = ours.torch_state_dict()
    assert all(torch.equal(emitted[name], value) for name, value in theirs.state_dict().items())

    expected = run(ours, arguments)
    gradients = [p.grad.clone() for p in ours.parameters()]
    for other in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert all(torch.equal(a, b) for a, b in zip(run(other, arguments), expected, strict=True))
    gaps = changed(changed(given.forward_input.args, lambda t: spread_out(t.detach())), lambda t: t.requires_grad_())
    for mine, other in zip(run(ours, gaps), expected, strict=True):
        assert relative(mine, other) < 1e-12
    for mine, parameter in zip(gradients, ours.parameters(), strict=True):
        assert relative(parameter.grad, mine) < 1e-12

    shapes = [t.shape for t in expected]
    meta = ours.to("meta")
    assert [
        t.shape for t in tensors(meta(*changed(given.forward_input.args, lambda t: t.detach().to("meta"))))
    ] == shapes
