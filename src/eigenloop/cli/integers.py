"""``eigenloop eval --integer``: compare a network in integer arithmetic with the same one in floating point."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eigenloop.cli.answers import table
from eigenloop.errors import ConfigError
from eigenloop.text.numbers import brief

if TYPE_CHECKING:
    from eigenloop.readout import Model
    from eigenloop.tasks import Task
    from eigenloop.training import Config


def measured(
    net: Model, config: Config, splits: Sequence[str], batch_size: int, state_bits: int | None
) -> dict[str, Any]:
    """Return the size of the integer network of a run, and its scores on splits of the task, for JSON.

    Raises:
        ConfigError: the network has no integer form.
    """
    from eigenloop.cli.evaluate import of_cases
    from eigenloop.deploy.evaluation import in_integers
    from eigenloop.deploy.from_run import SEQUENCES, integer_of_task
    from eigenloop.deploy.statistics import Statistics
    from eigenloop.deploy.trained import trained_bits
    from eigenloop.training import evaluate

    if net.rnn.quantizer is None and not net.rnn.state_dtype.is_complex:
        raise ConfigError(
            "the weights of this network are in floating point, and an integer network needs quantized ones",
            "call el.quantization.quantize_(net, bits=8) first, or train it with bits=",
            flags="add --bits 8 to quantize them now, or train the network with --bits 4",
        )
    integer_net = integer_of_task(net, config.task, state_bits=state_bits, seed=config.training.seed)
    size = integer_net.report().size
    own, bits = trained_bits(net.rnn), integer_net.cells[0].formats.state.bits
    result: dict[str, Any] = {
        "state_bits": bits,
        "ranges": "ranges as trained" if own == bits else f"ranges from {SEQUENCES} training sequences at most",
        "bytes": size.bytes,
        "ram_bytes": size.ram_bytes,
    }
    for split in splits:
        watch = Statistics()
        with in_integers(net, integer_net, watch) as agreement:
            measures: dict[str, Any] = evaluate(net, config.task, split, batch_size)
        with in_integers(net, integer_net):  # without `watch`, so that nothing is counted twice
            measures |= of_cases(net, config.task, split, batch_size)
        held = [row.name for row in integer_net.report().ranges]
        saturated = {
            name: {"count": seen.beyond, "of": seen.total} for name, seen in watch.seen.items() if name in held
        }
        result[split] = {**measures, "agreement": dataclasses.asdict(agreement), "saturated": saturated}
    return result


def show(result: dict[str, Any], task: Task) -> None:
    """Print the scores of the integer network beside those in floating point."""
    integer = result["integer"]
    print(
        f"in integers: a state of {integer['state_bits']} bits, {integer['ranges']}; {integer['bytes']:,} B stored, "
        f"{integer['ram_bytes']:,} B of memory"
    )
    for split in task.splits:
        if split not in integer:
            continue
        measures, agreement = integer[split], integer[split]["agreement"]
        names = [name for name, value in measures.items() if isinstance(value, float)]
        rows = [[name, brief(result[split][name], 5), brief(measures[name], 5)] for name in names]
        table([split, "float", "integer"], rows)
        if task.metric == "accuracy" or "accuracy" in names:
            print(f"  the same class: {_share(agreement['same'], agreement['answers'])}")
            if agreement["answers"] != agreement["sequences"]:
                share = _share(agreement["same_sequences"], agreement["sequences"])
                print(f"  the same classes at all steps of a sequence: {share}")
        print(f"  largest difference of an output: {brief(agreement['largest'], 3)}")
        beyond = [f"{name} {_share(seen['count'], seen['of'])}" for name, seen in measures["saturated"].items()]
        print(f"  saturated: {'; '.join(beyond)}")


def _share(count: int, total: int) -> str:
    return f"{count:,} of {total:,} ({count / max(total, 1):.2%})"
