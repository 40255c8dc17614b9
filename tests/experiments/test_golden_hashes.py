"""The hashes of all planned runs, as they were when results were kept under them.

Settings that are added must not change them: see `_ADDED_LATER` in eigenloop.experiments.plan. Where a row itself was
changed on purpose, ``python tests/experiments/test_golden_hashes.py`` writes the file again.
"""

import json
from pathlib import Path

import pytest
from pydantic import Field

from eigenloop import experiments
from eigenloop.experiments import BUDGETS, plan, planned
from eigenloop.experiments.plan import config_hash
from eigenloop.training import make_config
from eigenloop.training.settings import config as training_config
from eigenloop.training.settings.sections import TrainingSection

GOLDEN = Path(__file__).with_name("golden_hashes.json")


def hashes() -> dict[str, str]:
    return {
        run.label: config_hash(run.config())
        for name in experiments.names()
        if (experiment := experiments.load(name)).analysis is None
        for budget in BUDGETS
        for run in planned(experiment, budget)
    }


def test_no_hash_has_changed() -> None:
    golden, now = json.loads(GOLDEN.read_text()), hashes()
    changed = sorted(label for label in golden.keys() & now.keys() if golden[label] != now[label])
    assert not changed, "a new setting belongs into _ADDED_LATER; a changed row into golden_hashes.json"
    assert golden.keys() == now.keys(), "rows came or went: write golden_hashes.json again"


def test_a_setting_that_is_added_later_stays_out_until_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Longer(TrainingSection):
        label_smoothing: float = Field(0.0, ge=0)

    def hashed(**training: object) -> str:
        section = {"steps": 5, **training}
        return config_hash(make_config({"task": {"name": "copying"}, "model": {"name": "scornn"}, "training": section}))

    before = hashed()
    monkeypatch.setattr(training_config, "TrainingSection", Longer)
    assert hashed() != before
    monkeypatch.setattr(plan, "_ADDED_LATER", (("training", "label_smoothing", 0.0),))
    assert hashed() == before
    assert hashed(label_smoothing=0.1) != before


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(hashes(), indent=0) + "\n")
