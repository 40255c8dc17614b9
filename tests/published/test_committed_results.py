"""The results that are committed: readable, made with today's settings, and what RESULTS.md says."""

from pathlib import Path

import pytest

from eigenloop import experiments
from eigenloop.experiments import records
from eigenloop.published import compare, markdown

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="results are in a checkout only")


def test_every_result_belongs_to_a_row_and_was_made_with_its_settings() -> None:
    names = set(experiments.names())
    for folder in RESULTS.iterdir():
        if not folder.is_dir() or folder.name not in names:
            continue
        experiment = experiments.load(folder.name)
        for path in folder.glob("*.json"):
            assert path.stem in experiment.rows, f"{path} is of no row"
            for record in records.read(RESULTS, folder.name, path.stem):
                assert record.config_hash, path
                assert len(record.curve) <= records.POINTS
                assert record.commit, f"{path} does not say with what it was made: let a run save itself before it ends"
                assert "+" not in record.commit, f"{path} was made with uncommitted changes"
    for sheet in compare([experiments.load(name) for name in names], RESULTS):
        for line in sheet.lines:
            assert line.outcome is None or not line.outcome.outdated, f"{sheet.experiment.name}, {line.row_name}"


def test_the_text_is_what_the_results_say() -> None:
    sheets = compare([experiments.load(name) for name in experiments.names()], RESULTS)
    text = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert text == markdown.render(sheets), "run eigenloop report --published"
