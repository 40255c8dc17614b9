"""The settings that a model has on a task where none are given, and the rows of experiments that they are from.

Where they were changed on purpose, ``python tests/training/test_defaults.py`` writes golden_defaults.json again.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from eigenloop import experiments
from eigenloop.experiments import plan
from eigenloop.models import NAMES
from eigenloop.registry import EXPERIMENTS, MODELS, TASKS
from eigenloop.runs import yaml_text
from eigenloop.training import ConfigError, make_config
from eigenloop.training.settings import defaults
from eigenloop.training.settings.defaults import default_rows, defaults_for
from eigenloop.training.settings.fitting import fitting
from eigenloop.training.settings.merging import merged

GOLDEN = Path(__file__).with_name("golden_defaults.json")
STRATEGIES = ("ste-bjorck", "ste-projunn", "ptq-projunn", "ste-pen")


def pairs() -> list[tuple[str, dict[str, str]]]:
    """Every task of ours with every model of ours, qornn with each of its strategies."""
    found: list[tuple[str, dict[str, str]]] = []
    for task in TASKS.own:
        found += [(task, {"name": model}) for model in MODELS.own]
        found += [(task, {"name": "qornn", "strategy": strategy}) for strategy in STRATEGIES]
    return found


def hashes() -> dict[str, str]:
    found = {}
    for task, model in pairs():
        given: dict[str, dict[str, Any]] = {"task": {"name": task}, "model": model, "optimizer": {}, "training": {}}
        content = make_config(given).as_dict()
        # Of the task only what a default sets: a new option of a task is not another default.
        content["task"] = defaults_for(task, model["name"], given).settings.get("task", {})
        text = json.dumps(content, sort_keys=True)
        found["/".join((task, *model.values()))] = hashlib.sha256(text.encode()).hexdigest()[:12]
    return found


def test_no_default_has_changed() -> None:
    golden, now = json.loads(GOLDEN.read_text()), hashes()
    changed = sorted(pair for pair in golden.keys() & now.keys() if golden[pair] != now[pair])
    assert not changed, "a default that is changed on purpose belongs into golden_defaults.json"
    assert golden.keys() == now.keys(), "pairs came or went: write golden_defaults.json again"


# -------------------------------------------------------------------- rows of experiments


MARKED = [
    (name, row)
    for name in EXPERIMENTS.own
    for row, values in yaml_text.load(EXPERIMENTS[name].load().read_text(encoding="utf-8"))["rows"].items()
    if values.get("default")
]


def test_no_pair_has_two_rows() -> None:
    rows = {row.place: row.variant for task in TASKS.own for model in MODELS.own for row in default_rows(task, model)}
    assert sorted(rows) == sorted(f"{name}, row {row}" for name, row in MARKED)
    assert len(set(rows.values())) == len(rows)


@pytest.mark.parametrize(("name", "row"), MARKED)
def test_a_run_by_default_is_its_row(name: str, row: str) -> None:
    """With the task's options and the length of the row given, the configuration is that of `eigenloop reproduce`."""
    experiment = experiments.load(name)
    planned = plan._planned(experiment, row, "full", 0)
    complete = planned.config().as_dict()
    shown = {
        key: complete["training"][key] for key in ("steps", "epochs", "eval_every", "eval_batch_size", "log_every")
    }
    given: dict[str, dict[str, Any]] = {
        "task": complete["task"],
        "model": {"name": complete["model"]["name"]},
        "training": shown,
    }
    other = experiment.rows[row].default
    for section, values in ({} if other is True or other is None else other).items():
        given[section] = {**given.get(section, {}), **{key: complete[section][key] for key in values}}
    if "strategy" in complete["model"]:
        given["model"]["strategy"] = complete["model"]["strategy"]
    config = make_config(given)
    assert config.as_dict() == complete
    assert config.source == f"settings of {name}, row {row}"


def test_the_opening_says_what_is_other_than_in_the_row() -> None:
    config = make_config(
        {"task": {"name": "copying"}, "model": {"name": "nnrnn"}, "optimizer": {"lr": 1e-3}, "training": {"steps": 9}}
    )
    assert config.source == (
        "settings of nnrnn-table2, row nnrnn; different here: delay 1000 (published: 200), convention marker "
        "(published: after-marker), lr 0.001 (published: 0.0005), steps 9 (published: 1500 steps)"
    )
    pixels = make_config({"task": {"name": "smnist"}, "model": {"name": "rnn"}}).source
    assert pixels is not None
    assert pixels.startswith("settings of nnrnn-table3, row rnn, which is on pmnist")


@pytest.mark.parametrize(
    ("task", "model", "source"),
    [
        ("copying", "exprnn", "settings of expRNN (Lezcano-Casado, Martinez-Rubio 2019)"),
        ("denoise", "exprnn", "no paper that we follow reports exprnn on denoise"),
        ("timit", "ncgru", "no paper that we follow reports ncgru on timit"),
    ],
)
def test_where_no_row_is_marked(task: str, model: str, source: str) -> None:
    config = make_config({"task": {"name": task}, "model": {"name": model}})
    assert config.source is not None
    assert config.source.startswith(source)


@pytest.mark.parametrize("task", TASKS.own)
@pytest.mark.parametrize("model", NAMES)
def test_a_model_that_no_paper_reports_is_as_on_copying(task: str, model: str) -> None:
    given: dict[str, dict[str, Any]] = {section: {} for section in ("task", "model", "optimizer", "training")}
    found = defaults_for(task, model, given)
    if found.source is not None and found.source.startswith("no paper") and task != "ptb-word":
        copying = defaults_for("copying", model, given).settings
        assert found.settings["model"]["hidden_size"] == copying["model"]["hidden_size"]
        if model not in ("eurnn", "qornn"):  # whose rates there are found to be good for copying only
            assert found.settings["optimizer"] == copying["optimizer"]


def test_nothing_is_from_papers_where_it_is_not_wanted() -> None:
    given = {"task": {"name": "copying"}, "model": {"name": "scornn"}, "training": {"steps": 3}}
    config = make_config(given, papers=False)
    assert config.source is None
    assert config.network.hidden_size == 128
    assert config.training.batch_size == 32
    assert config.optimizer["name"] == "adam"
    with pytest.raises(ConfigError, match="exclude each other"):
        make_config({"task": {"name": "copying"}, "model": {"name": "scornn"}}, papers=False)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_complete_configuration_is_taken_as_it_is(strategy: str) -> None:
    """An option that it leaves out, as a row may, does not come from a paper when it is read again."""
    optimizer = {"name": "projunn" if "projunn" in strategy else "adam"}
    model = {"name": "qornn", "strategy": strategy, "hidden_size": 8}
    given = {"task": {"name": "pmnist"}, "model": model, "optimizer": optimizer, "training": {"epochs": 2}}
    config = make_config(given, papers=False)
    assert "nonlinearity" not in config.options
    assert make_config(config.as_dict()) == config
    shorter = make_config(merged(config.as_dict(), {"training": {"steps": 2}}))
    assert "nonlinearity" not in shorter.options
    assert shorter.source is None


@pytest.mark.parametrize(
    "text", ["rows: 3", "rows: {a: {default: true}}", "rows: {a: {default: true, settings: 3}}", "["]
)
def test_a_file_that_is_no_experiment_gives_no_defaults(text: str) -> None:
    assert defaults._rows("mine", text) == ()


# -------------------------------------------------------------------- what goes together


@pytest.mark.parametrize(
    ("layers", "training"),
    [
        ([{"steps": 5}, {"epochs": 2}], {"epochs": 2}),
        ([{"epochs": 2, "seed": 1}, {"steps": 5}], {"seed": 1, "steps": 5}),
        ([{"steps": 5}, {"seed": 1}], {"steps": 5, "seed": 1}),
        ([{"steps": 5}, {"steps": None, "epochs": 2}], {"steps": None, "epochs": 2}),
        ([{"steps": 5}, {"steps": 6, "epochs": 2}], {"steps": 6, "epochs": 2}),  # refused by make_config
    ],
)
def test_a_length_takes_the_place_of_another(layers: list[dict[str, Any]], training: dict[str, Any]) -> None:
    assert merged(*({"training": layer} for layer in layers)) == {"training": training}


@pytest.mark.parametrize(
    ("model", "published", "given", "left"),
    [
        ("ncgru", {"hidden_size": 8, "negative": 3}, {}, {"hidden_size": 8, "negative": 3}),
        ("ncgru", {"hidden_size": 8, "negative": 3}, {"hidden_size": 9}, {"hidden_size": 8}),
        ("ornn", {"hidden_size": 8, "reflections": 3}, {"hidden_size": 2}, {"hidden_size": 8}),
        ("lstm", {"hidden_size": 8, "num_layers": 3, "dropout": 0.1}, {"hidden_size": 4}, {"hidden_size": 8}),
        ("lstm", {"hidden_size": [8, 9], "dropout": 0.1}, {}, {"hidden_size": 8, "dropout": 0.1, "num_layers": 2}),
        ("eurnn", {"hidden_size": [8, 9], "dropout": 0.1}, {}, {"hidden_size": 9}),
        (
            "scornn",
            {"hidden_size": [8, 9], "dropout": 0.1, "tied": True, "embedding_size": 9},
            {"hidden_size": 5},
            {"hidden_size": [8, 9], "tied": True, "embedding_size": 5},
        ),
        ("scornn", {"hidden_size": 8, "tied": True}, {"embedding_size": 5}, {"hidden_size": 8}),
    ],
)
def test_parts_of_a_size(model: str, published: dict[str, Any], given: dict[str, Any], left: dict[str, Any]) -> None:
    assert fitting(model, published, given) == left


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(hashes(), indent=0) + "\n")
