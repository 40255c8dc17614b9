"""What settings affect: every setting that is named exists, and each part that compares settings follows."""

import dataclasses

import pytest

from eigenloop.experiments.plan import config_hash
from eigenloop.runs import effects
from eigenloop.runs.effects import Effect, effect, settings_with, settings_without
from eigenloop.tasks import TASKS
from eigenloop.training import Config, ConfigError, make_config
from eigenloop.training.runs import changed
from eigenloop.training.settings.sections import TrainingSection

#: A setting of the loop, and another value for it.
OTHER = {
    "steps": 7,
    "until": 0.5,
    "patience": 3,
    "eval_every": 3,
    "eval_batch_size": 3,
    "seed": 3,
    "log_every": 3,
    "max_seconds": 3.0,
    "checkpoint_seconds": 3.0,
    "tensorboard": True,
    "device": "meta",
    "threads": 3,
    "batch_size": 3,
    "clip_norm": 3.0,
}


def small(**training: object) -> Config:
    return make_config(
        {"task": {"name": "adding"}, "model": {"name": "scornn"}, "training": {"steps": 5, **training}}, papers=False
    )


def test_every_setting_that_is_named_exists() -> None:
    options = {f"task.{field.name}" for task in TASKS.values() for field in dataclasses.fields(task)}  # type: ignore[arg-type]
    loop = {f"training.{name}" for name in TrainingSection.model_fields}
    assert set(effects._EFFECTS) <= options | loop
    assert Effect.NUMBERS not in effects._EFFECTS.values()


@pytest.mark.parametrize("key", OTHER)
def test_a_hash_leaves_out_the_place_only(key: str) -> None:
    same = config_hash(small()) == config_hash(small(**{key: OTHER[key]}))
    assert same == (key in ("max_seconds", "checkpoint_seconds", "tensorboard", "device", "threads"))


@pytest.mark.parametrize("key", OTHER)
def test_a_run_goes_on_with_another_length_log_or_place(key: str) -> None:
    changes = {"training": {key: OTHER[key]}}
    if key in ("eval_every", "eval_batch_size", "seed", "batch_size", "clip_norm"):
        with pytest.raises(ConfigError, match=f"training.{key} is .* in this run and cannot become"):
            changed(small(), changes)
        assert getattr(changed(small(), changes, {f"training.{key}"}).training, key) == OTHER[key]
    else:
        assert getattr(changed(small(), changes).training, key) == OTHER[key]


def test_a_run_of_steps_goes_on_for_epochs() -> None:
    config = make_config(
        {"task": {"name": "adding", "train_size": 20}, "model": {"name": "scornn"}, "training": {"steps": 5}},
        papers=False,
    )
    longer = changed(config, {"training": {"epochs": 2}})
    assert (longer.training.steps, longer.training.epochs) == (None, 2)
    with pytest.raises(ConfigError, match="exclude each other"):
        changed(config, {"training": {"epochs": 2, "steps": 9}})


def test_with_and_without_make_the_whole() -> None:
    config = small().as_dict()
    for one in Effect:
        kept, left = settings_with({one}, config), settings_without({one}, config)
        assert {section: {**kept[section], **left[section]} for section in config} == config
        assert all(effect(f"{section}.{key}") is one for section in kept for key in kept[section])
