"""Why GORU beats NC-GRU on parenthesis here and not in NC-GRU's table 1: the weight decay of the released code?

The released script adds 1e-4 sum(w^2) / 2 over the variables whose names begin with a capital W: the read-out of every
model, the recurrent matrices of both gates of GORU and of NC-GRU (Ur, Uc), and scoRNN's W; of NC-GRU (Uc) nothing but
the read-out. An orthogonal matrix has a constant sum of squares, so that of NC-GRU (Ur, Uc) the update gate alone is
affected. The paper mentions no decay. This trains a model as table 1 does, with or without that decay, and prints the
lowest mean over 100 steps of the loss, with and without the decay in it.

    python investigations/goru_weight_decay.py --model goru --decay 1e-4
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor

from eigenloop.experiments import load, planned
from eigenloop.readout import Model
from eigenloop.training.network import build_network
from eigenloop.training.optimizers import make_optimizer

#: Gates whose free recurrent matrix the released code decays.
GATES = {"goru": ("reset", "update"), "ncgru": (), "ncgru-ur": ("update",)}


def decayed(net: Model, gates: tuple[str, ...]) -> list[Tensor]:
    """Return the parameters that the released code decays."""
    names = [name for name, _ in net.named_parameters()]
    chosen = [name for name in names if name.startswith("readout") and name.endswith("weight")]
    chosen += [name for name in names if "recurrent_l0" in name and any(gate in name for gate in gates)]
    print("decayed:", ", ".join(chosen), flush=True)
    return [net.get_parameter(name) for name in chosen]


def main() -> None:
    """Train one model and print what table 1 compares."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=GATES, required=True)
    parser.add_argument("--decay", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20_000)
    options = parser.parse_args()
    run = next(r for r in planned(load("ncgru-table1"), "full", [options.model]) if r.seed == options.seed)
    config = run.config()
    torch.manual_seed(options.seed)
    net = build_network(config)
    optimizer = make_optimizer(config.optimizer, net, options.seed)
    penalised = decayed(net, GATES[options.model])
    lowest = {"task": float("inf"), "with decay": float("inf")}
    sums = dict.fromkeys(lowest, 0.0)
    for step in range(options.steps):
        batch = config.task.train_batch(step, config.training.batch_size, options.seed)
        outputs, _ = net(batch.inputs)
        loss = config.task.loss(outputs, batch) / config.task.terms(batch)
        total = loss + options.decay / 2 * torch.stack([weight.square().sum() for weight in penalised]).sum()
        optimizer.zero_grad(set_to_none=True)
        total.backward()
        optimizer.step()
        sums["task"] += float(loss.detach()) / 100
        sums["with decay"] += float(total.detach()) / 100
        if step % 100 == 99:
            lowest = {name: min(lowest[name], sums[name]) for name in lowest}
            sums = dict.fromkeys(lowest, 0.0)
            if step % 2000 == 1999:
                print(f"{options.model}, decay {options.decay:g}, step {step + 1}: lowest {lowest}", flush=True)


if __name__ == "__main__":
    main()
