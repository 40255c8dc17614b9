"""The results that are committed: readable, made with today's settings, and what RESULTS.md says."""

import re
from pathlib import Path

import pytest

from eigenloop import experiments
from eigenloop.comparison import compare, write
from eigenloop.comparison.claims import findings
from eigenloop.experiments import plan, planned, records
from eigenloop.training import make_config

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


def test_the_pages_are_what_the_results_say(tmp_path: Path) -> None:
    write(RESULTS, tmp_path)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    papers = sorted((ROOT / "docs" / "results").glob("*.md"))
    assert [path for path in made if path.parent.name == "results"] == [path.relative_to(ROOT) for path in papers]
    for path in made:
        committed = (ROOT / path).read_text(encoding="utf-8")
        assert committed == (tmp_path / path).read_text(encoding="utf-8"), f"{path}: run make results"


def test_the_summary_is_read_in_five_minutes() -> None:
    text = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "results").glob("*.md")), ids=lambda page: page.stem)
def test_links_of_the_papers_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    anchors = set(re.findall(r'<a id="([^"]+)"', text))
    pointed = re.findall(rf"docs/results/{page.name}#([a-z0-9-]+)", (ROOT / "RESULTS.md").read_text(encoding="utf-8"))
    assert set(pointed) <= anchors
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (page.parent / link).resolve().exists(), link


def test_the_readme_claims_no_more_than_there_is() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "Every result" not in readme
    assert "which published results have no row" in readme
    text = " ".join((ROOT / "RESULTS.md").read_text(encoding="utf-8").split())
    for missing in ("Table 4", "Figures 3b, 3c and 5", "SegSNR, STOI and PESQ", "validation columns", "Figure 6"):
        assert missing in text[text.index("Published results without a row") :]
    assert "trains the two networks above (two minutes)" in readme


def test_what_the_demo_gives_the_lstm_is_disclosed() -> None:
    """The rate is that of the demo over the published one for this model and task."""
    demo = (ROOT / "examples" / "demo.py").read_text(encoding="utf-8")
    (rate,) = re.findall(r'settings\("lstm", .*lr=([0-9.e-]+)', demo)
    published = make_config({"task": {"name": "copying"}, "model": {"name": "lstm"}}).as_dict()["optimizer"]["lr"]
    assert float(rate) == pytest.approx(10 * published)
    for text in (demo, (ROOT / "README.md").read_text(encoding="utf-8")):
        assert "ten times its published learning rate" in " ".join(text.split())


@pytest.mark.parametrize("page", ["docs/matrices/README.md", "docs/quantization.md", "docs/analysis.md"])
def test_a_run_at_a_changed_rate_and_a_table_without_a_log_are_not_passed_off(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert "level with the LSTM" not in text
    if page == "docs/matrices/README.md":
        assert "its log was not kept" in text[text.index("## Cost of the constraint") :]
    if page == "docs/analysis.md":
        (record,) = records.read(RESULTS, "nnrnn-readme", "nnrnn")
        best = min(value for _, value in record.curve if value is not None)
        assert f"{record.epochs:.0f} epochs of 100, {best:.2f} bpc on the validation split" in text


def test_every_yes_is_one_of_the_papers_length_settings_and_several_seeds() -> None:
    """Looked at in the records themselves, not by way of the rules that made the verdicts."""
    sheets = compare([experiments.load(name) for name in experiments.names()], RESULTS)
    decided = [f for f in findings(sheets) if f.verdict in ("yes", "no") and f.line.experiment.analysis is None]
    assert decided
    for finding in decided:
        for line in (finding.line, *([finding.other] if finding.other is not None else [])):
            every = records.read(RESULTS, line.experiment.name, line.row_name)
            runs = [run for run in every if run.budget == "full"] or every  # shorter runs stay beside them
            paper = planned(line.experiment, "full", [line.row_name])[0].config().as_dict()
            assert len({run.seed for run in runs}) >= 3
            for run in runs:
                assert run.complete
                assert run.config["task"].items() >= {"name": paper["task"]["name"], **_tasks(paper)}.items()
                for section in ("model", "optimizer", "schedule"):
                    later = {key: value for part, key, value in plan._ADDED_LATER if part == section}
                    assert later | run.config[section] == later | paper[section]
                for key in ("steps", "epochs", "batch_size", "clip_norm"):
                    assert run.config["training"].get(key) == paper["training"].get(key)


def _tasks(paper: dict[str, dict[str, object]]) -> dict[str, object]:
    return {key: paper["task"][key] for key in ("delay", "length", "bptt") if key in paper["task"]}
