"""The effect of each setting: does it change what a network learns? Everything that compares settings uses this table.

Options of tasks are identified by name alone, because a name means the same in every task. Run folders can thus be
compared without importing the task, or even having it installed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any


class Effect(Enum):
    """What changes with a setting."""

    NUMBERS = "what is learned, and from what: another experiment"
    SAMPLE = "which examples of the same problem are trained on"
    MEASURE = "on how much, and how often, the result is measured"
    LENGTH = "how long the training lasts"
    SEED = "the random draws: a repetition of the same experiment"
    LOG = "which of the numbers are written down"
    PLACE = "where it runs and is saved, and how much time it may take there"


#: The effect of every setting other than those with Effect.NUMBERS, by ``section.key``.
_EFFECTS = {
    "task.train_size": Effect.SAMPLE,
    "task.shuffle": Effect.SAMPLE,
    "task.verify": Effect.SAMPLE,
    "task.valid_size": Effect.MEASURE,
    "task.test_size": Effect.MEASURE,
    "task.eval_streams": Effect.MEASURE,
    "task.data_dir": Effect.PLACE,
    "training.steps": Effect.LENGTH,
    "training.epochs": Effect.LENGTH,
    "training.until": Effect.LENGTH,
    "training.patience": Effect.LENGTH,
    "training.eval_every": Effect.MEASURE,
    "training.eval_batch_size": Effect.MEASURE,
    "training.seed": Effect.SEED,
    "training.log_every": Effect.LOG,
    "training.max_seconds": Effect.PLACE,
    "training.checkpoint_seconds": Effect.PLACE,
    "training.tensorboard": Effect.PLACE,
    "training.device": Effect.PLACE,
    "training.threads": Effect.PLACE,
}


def effect(place: str) -> Effect:
    """Return the effect of a setting, given as ``section.key``.

    >>> effect("training.device"), effect("optimizer.lr")
    (<Effect.PLACE: 'where it runs and is saved, and how much time it may take there'>, \
<Effect.NUMBERS: 'what is learned, and from what: another experiment'>)
    """
    return _EFFECTS.get(place, Effect.NUMBERS)


def settings_with(effects: Collection[Effect], settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return, by section, the settings that have one of these effects.

    >>> settings_with({Effect.LENGTH}, {"task": {"name": "adding"}, "training": {"steps": 5, "seed": 1}})
    {'task': {}, 'training': {'steps': 5}}
    """
    return {
        section: {key: value for key, value in values.items() if effect(f"{section}.{key}") in effects}
        for section, values in settings.items()
    }


def settings_without(
    effects: Collection[Effect], settings: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return, by section, the settings that have none of these effects."""
    return settings_with(set(Effect) - set(effects), settings)
