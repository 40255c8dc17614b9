"""Results and folders of other settings, older arithmetic or torch's own layers: told, moved aside, run again."""

import fcntl
from pathlib import Path

import pytest
from tiny_experiment import Watcher, experiment

from eigenloop import numerics
from eigenloop.experiments import planned, records, reproduce
from eigenloop.experiments.reproduce import folder_of
from eigenloop.runs import checkpoints
from eigenloop.runs.reading import SUMMARY
from eigenloop.training import checkpoint, load_run, resume, train
from eigenloop.training.reporter import Silent
from eigenloop.training.runs import numerics_of_run


def test_other_settings_are_another_run(tmp_path: Path) -> None:
    results, work = tmp_path / "results", tmp_path / "work"
    assert reproduce(planned(experiment(), "smoke", ["lstm"]), results, work, Watcher(), jobs=0)
    longer = experiment(budgets={name: {"settings": {"training": {"steps": 3}}} for name in ("smoke", "hour", "full")})
    runs = planned(longer, "smoke", ["lstm"])
    with (folder_of(runs[0], work) / ".lock").open("w") as held:  # as if another process were training there
        fcntl.flock(held, fcntl.LOCK_EX)
        for jobs in (0, 1):  # the rows after it are run nevertheless
            watcher = Watcher()
            both = [*runs, *planned(longer, "smoke", ["scornn"])]
            assert not reproduce(both, tmp_path / f"results-{jobs}", work, watcher, jobs=jobs)
            assert watcher.events[0] == ("failed", "made-up/lstm-smoke-0")
            assert watcher.events[-1] == ("finished", "made-up/scornn-smoke-0")
            assert "another process" in watcher.problems[0]
    watcher = Watcher()
    assert reproduce(runs, results, work, watcher, jobs=0)
    assert [kind for kind, _ in watcher.events] == ["set aside", "started", "finished"]
    (record,) = records.read(results, "made-up", "lstm")
    assert record.steps == 3
    assert load_run(work / "made-up" / "lstm-smoke-0-old")[1].training.steps == 2


@pytest.mark.parametrize("jobs", [0, 1])
def test_a_result_of_an_older_arithmetic_is_told_and_run_again_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    results, work = tmp_path / "results", tmp_path / "work"
    runs = planned(experiment(), "smoke")
    assert reproduce(runs, results, work, Watcher(), jobs=0)
    (before,) = records.read(results, "made-up", "scornn")
    assert before.numerics["ScaledCayley"] == 1
    monkeypatch.setitem(numerics.REVISIONS, "ScaledCayley", ("the inverse was wrong",))
    monkeypatch.setattr("eigenloop.training.numerics._known", {})

    watcher = Watcher()
    assert reproduce(runs, results, work, watcher, jobs=jobs)
    assert watcher.events == [("stale", "made-up/scornn-smoke-0"), ("skipped", "made-up/lstm-smoke-0")]
    assert watcher.problems == ["ScaledCayley: the inverse was wrong"]

    if jobs:
        return  # the trainings are other processes, in which nothing was revised
    watcher = Watcher()
    assert reproduce(runs, results, work, watcher, jobs=0, rerun_stale=True)
    assert [kind for kind, _ in watcher.events] == ["stale, again", "skipped", "set aside", "started", "finished"]
    (after,) = records.read(results, "made-up", "scornn")
    assert after.numerics["ScaledCayley"] == 2
    assert after.value == before.value  # nothing was really revised
    watcher = Watcher()
    assert reproduce(runs, results, work, watcher, jobs=0, rerun_stale=True)
    assert {kind for kind, _ in watcher.events} == {"skipped"}


def test_a_run_of_an_older_arithmetic_goes_on_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Listener(Silent):
        def __init__(self) -> None:
            self.said: list[str] = []

        def notice(self, text: str) -> None:
            self.said.append(text)

    (run,) = planned(experiment(), "smoke", ["scornn"])
    train(run.config(), tmp_path / "run")
    for part, said in (("Schur", 0), ("ScaledCayley", 1)):
        monkeypatch.setitem(numerics.REVISIONS, part, ("the inverse was wrong",))
        listener = Listener()
        resume(tmp_path / "run", {"training": {"steps": 3 + said}}, listener)
        assert sum("ScaledCayley: the inverse was wrong" in text for text in listener.said) == said
    # What was begun with the older one does not become a result of the newer one by going on.
    assert numerics_of_run(tmp_path / "run")["ScaledCayley"] == 1
    (tmp_path / "run" / SUMMARY).unlink()
    assert numerics_of_run(tmp_path / "run")["ScaledCayley"] == 1


@pytest.mark.parametrize("jobs", [0, 1])
def test_a_run_of_torchs_own_lstm_is_moved_aside(tmp_path: Path, jobs: int) -> None:
    """Its optimizer is that of other parameters, so that it could not go on; the row is trained anew."""
    results, work = tmp_path / "results", tmp_path / "work"
    runs = planned(experiment(), "smoke", ["lstm"])
    assert reproduce(runs, results, work, Watcher(), jobs=0)
    place = folder_of(runs[0], work) / "checkpoints"
    step = max(checkpoints.steps_in(place))
    kept, net = checkpoint.load(place, step), load_run(folder_of(runs[0], work), "last")[0]
    theirs = {f"rnn.{name}": tensor for name, tensor in net.rnn.torch_state_dict().items()}
    readout = {name: tensor for name, tensor in kept.weights.items() if name.startswith("readout")}
    checkpoint.save(place, step + 1, theirs | readout, kept.state)
    watcher = Watcher()
    assert reproduce(runs, tmp_path / "others", work, watcher, jobs=jobs)
    assert watcher.events[0] == ("set aside", "lstm-smoke-0-old")
    assert [kind for kind, _ in watcher.events[1:]] == ["started", "finished"]
