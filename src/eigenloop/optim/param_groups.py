"""Parameter groups with two learning rates, as in the papers, and nnRNN's weight decay of T."""

from __future__ import annotations

from typing import Any

from torch import nn

from eigenloop.matrices.outermost import outermost


def param_groups(
    module: nn.Module, lr: float, recurrent_lr: float | None = None, weight_decay: float | None = None
) -> list[dict[str, Any]]:
    """Sort the parameters of a network into groups for any torch optimizer.

    * ``"recurrent"``: the matrices' slow parameters, with learning rate `recurrent_lr` and without weight decay, which
      would pull W towards the identity;
    * ``"projected"``: matrices that the optimizer itself keeps on their set (`ProjUNN`, `UnitaryCayley`), with
      `recurrent_lr`;
    * ``"decay 0"``, ``"decay 1e-06"``, ...: matrix parameters with their own weight decay (`Schur`), with `lr`;
    * ``"other"``: everything else, with `lr`, and `weight_decay` if it is given.

    Args:
        module: the network, or any part of it.
        lr: learning rate.
        recurrent_lr: learning rate of the recurrent matrices; default: lr / 10, the papers' rule of thumb.
        weight_decay: weight decay of the ``"other"`` group; default: that of the optimizer.

    Returns:
        Dicts with ``name``, ``params``, ``lr`` and further options; empty groups and frozen parameters are left out.

    Raises:
        TypeError: `module` is not a module.
        ValueError: a learning rate is negative.

    >>> import torch, eigenloop as el
    >>> net = el.Model(el.build("scornn", 10, 64), output_size=9)
    >>> groups = param_groups(net, lr=1e-3, recurrent_lr=1e-4)
    >>> [(group["name"], group["lr"]) for group in groups]
    [('other', 0.001), ('recurrent', 0.0001)]
    >>> optimizer = torch.optim.RMSprop(groups)
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"param_groups takes the network itself, got {type(module).__name__}")
    for name, rate in (("lr", lr), ("recurrent_lr", recurrent_lr)):
        if rate is not None and not rate >= 0:
            raise ValueError(f"{name} must not be negative, got {rate}")
    recurrent_lr = lr / 10 if recurrent_lr is None else recurrent_lr
    slow: dict[int, nn.Parameter] = {}
    projected: dict[int, nn.Parameter] = {}
    decayed: dict[int, tuple[nn.Parameter, float]] = {}
    for _, matrix in outermost(module):
        projected |= {id(p): p for p in matrix.projected_parameters() if p.requires_grad}
        slow |= {id(p): p for p in matrix.slow_parameters() if p.requires_grad and id(p) not in projected}
        decayed |= {id(p): (p, rate) for p, rate in matrix.weight_decays() if p.requires_grad}
    sorted_out = {*slow, *projected, *decayed}
    rest = [p for p in module.parameters() if p.requires_grad and id(p) not in sorted_out]

    groups: list[dict[str, Any]] = [{"name": "other", "params": rest, "lr": lr}]
    if weight_decay is not None:
        groups[0]["weight_decay"] = weight_decay
    groups.append({"name": "recurrent", "params": list(slow.values()), "lr": recurrent_lr, "weight_decay": 0.0})
    groups.append({"name": "projected", "params": list(projected.values()), "lr": recurrent_lr, "weight_decay": 0.0})
    groups[-1]["projected"] = True
    for rate in sorted({rate for _, rate in decayed.values()}):
        parameters = [p for p, own in decayed.values() if own == rate]
        groups.append({"name": f"decay {rate:g}", "params": parameters, "lr": lr, "weight_decay": rate})
    return [group for group in groups if group["params"]]
