"""Running an experiment: what is done is skipped, what was cut goes on, what came of it is written down."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from forked import begun
from tiny_experiment import TINY, Watcher, experiment

from eigenloop.cli import main
from eigenloop.cli.watching import watcher_for
from eigenloop.experiments import Experiment, collect, planned, records, reproduce
from eigenloop.experiments.plan import config_hash
from eigenloop.experiments.reproduce import folder_of, progress_of
from eigenloop.runs import read_metrics
from eigenloop.runs.reading import METRICS
from eigenloop.training import ConfigError, RunError, evaluate, load_run, make_config

#: Steps of a run that is cut before its end, however fast the machine is.
LONG = 600


def test_the_plan() -> None:
    found = planned(experiment(), "hour")
    assert [(run.row_name, run.seed) for run in found] == [("scornn", 0), ("lstm", 0), ("scornn", 1), ("lstm", 1)]
    assert found[0].label == "made-up/scornn-hour-0"
    assert {run.config().training.steps for run in found} == {6}
    assert found[1].config().optimizer["lr"] == 0.01
    full = planned(experiment(), "full")
    assert {run.row_name: (run.seed, run.config().training.steps) for run in full} == {"scornn": (0, 8), "lstm": (7, 4)}
    assert [run.row_name for run in planned(experiment(), "smoke", ["lstm"])] == ["lstm"]
    with pytest.raises(ConfigError, match="did you mean 'scornn'"):
        planned(experiment(), "smoke", ["scorn"])


def test_the_hash_sees_what_changes_numbers_and_nothing_else() -> None:
    def hashed(**training: object) -> str:
        return config_hash(make_config({**TINY, "model": {"name": "gru"}, "training": {"steps": 2, **training}}))

    assert hashed() == hashed(threads=1, checkpoint_seconds=7.0, max_seconds=3.0)
    assert (
        len(
            {
                hashed(),
                hashed(seed=1),
                hashed(steps=3),
                hashed(clip_norm=1.0),
                hashed(batch_size=3),
                hashed(log_every=7),
            }
        )
        == 6
    )


def test_runs_once_and_keeps_what_a_run_found(tmp_path: Path) -> None:
    runs = planned(experiment(), "hour", ["scornn"])
    results, work = tmp_path / "results", tmp_path / "work"
    watcher = Watcher()
    assert reproduce(runs, results, work, watcher, jobs=2)
    assert sorted(watcher.events) == sorted(
        (kind, f"made-up/scornn-hour-{seed}") for kind in ("started", "finished") for seed in (0, 1)
    )
    first, second = records.read(results, "made-up", "scornn")
    assert (first.seed, second.seed) == (0, 1)
    assert first.value != second.value
    net, config, _ = load_run(folder_of(runs[0], work))
    assert first.value == pytest.approx(evaluate(net, config.task, "test", 4)["loss"], rel=1e-6)
    assert first.steps == first.planned_steps == 6
    assert [step for step, _ in first.curve] == [2, 4, 6]
    assert [step for step, _ in first.train_curve] == [1, 2, 3, 4, 5, 6]
    assert first.config_hash == config_hash(runs[0].config())
    assert first.machine["threads"] == 1
    assert "data_dir" not in json.dumps(first.config)
    line = progress_of(folder_of(runs[0], work))
    assert line is not None
    assert line.step == 6
    again = Watcher()
    assert reproduce(runs, results, work, again, jobs=2)
    assert {kind for kind, _ in again.events} == {"skipped"}


def test_in_this_process_it_is_the_same(tmp_path: Path) -> None:
    runs = planned(experiment(), "smoke", ["lstm"])
    for name, jobs in (("here", 0), ("elsewhere", 1)):
        folders = tmp_path / name, tmp_path / f"work-{name}"
        # A folder of data is for tasks that read one, and no mistake with this one.
        assert reproduce(runs, *folders, Watcher(), jobs=jobs, data_dir=tmp_path)
    (here,), (elsewhere,) = (records.read(tmp_path / name, "made-up", "lstm") for name in ("here", "elsewhere"))
    assert here.value == pytest.approx(elsewhere.value, rel=1e-5)  # another number of threads
    assert here.config_hash == elsewhere.config_hash
    broken = experiment(settings={**TINY, "task": {"name": "ptb-char", "data_dir": str(tmp_path / "nowhere")}})
    watcher = Watcher()
    assert not reproduce(planned(broken, "full", ["lstm"]), tmp_path / "r", tmp_path / "w", watcher, jobs=0)
    assert "nowhere" in watcher.problems[0]


def test_an_interruption_here_ends_all_of_it(tmp_path: Path) -> None:
    """By the third line of metrics: imports are over then, and an import that is cut would stay half done."""
    runs = planned(long(), "smoke")
    metrics = folder_of(runs[0], tmp_path / "work") / METRICS

    def interrupt_when_training(*_: object) -> None:
        if metrics.exists() and metrics.stat().st_size > 1000:
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.kill(os.getpid(), signal.SIGINT)

    alarm = signal.signal(signal.SIGALRM, interrupt_when_training)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where pytest runs in the background
    watcher = Watcher()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        with pytest.raises(KeyboardInterrupt):
            reproduce(runs, tmp_path / "results", tmp_path / "work", watcher, jobs=0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, interrupt)
    assert [kind for kind, _ in watcher.events] == ["started"]


def test_another_measure_is_taken_from_the_run_that_is_there(tmp_path: Path) -> None:
    for measure in ("test", "lowest-train"):
        runs = planned(experiment(measure=measure), "smoke", ["lstm"])
        assert reproduce(runs, tmp_path / "results", tmp_path / "work", Watcher(), jobs=0)
        (record,) = records.read(tmp_path / "results", "made-up", "lstm")
        assert record.measure == measure
    assert record.value == pytest.approx(min(loss for _, loss in record.train_curve if loss is not None), rel=1e-4)


def test_what_fails_is_said_and_the_rest_goes_on(tmp_path: Path) -> None:
    broken = experiment(settings={**TINY, "task": {"name": "ptb-char", "data_dir": str(tmp_path / "nowhere")}})
    runs = [*planned(broken, "smoke", ["lstm"]), *planned(experiment(), "smoke", ["scornn"])]
    watcher = Watcher()
    assert not reproduce(runs, tmp_path / "results", tmp_path / "work", watcher, jobs=1)
    assert [kind for kind, _ in watcher.events] == ["started", "failed", "started", "finished"]
    assert "nowhere" in watcher.problems[0]
    assert records.read(tmp_path / "results", "made-up", "lstm") == []


def test_divergence_is_a_result(tmp_path: Path) -> None:
    wild = experiment(
        rows={
            "rnn": {
                "label": "RNN",
                "said": "fails",
                "settings": {
                    "model": {"name": "rnn", "hidden_size": 4, "nonlinearity": "relu"},
                    "optimizer": {"name": "sgd", "lr": 1e30, "recurrent_lr": 1e30},
                },
            }
        }
    )
    assert reproduce(planned(wild, "smoke"), tmp_path / "results", tmp_path / "work", Watcher(), jobs=0)
    (record,) = records.read(tmp_path / "results", "made-up", "rnn")
    assert record.status == "diverged"
    assert record.value is None


def test_a_damaged_folder_stops_nothing_else(tmp_path: Path) -> None:
    results, work = tmp_path / "results", tmp_path / "work"
    runs = planned(experiment(), "smoke")
    assert reproduce(runs, results, work, Watcher(), jobs=0)
    (folder_of(runs[0], work) / "config.yaml").write_text("task: {na")
    assert [run.row_name for run, _ in collect(runs, tmp_path / "other", work)] == ["lstm"]
    watcher = Watcher()
    assert reproduce(runs, tmp_path / "another", work, watcher, jobs=0)
    assert [kind for kind, _ in watcher.events] == ["set aside", "started", "finished", "resumed", "finished"]


def test_results_that_cannot_be_written_are_refused_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for results in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RunError, match=r"cannot be (read|written)"):
            reproduce(planned(experiment(), "smoke"), results, tmp_path / "work", Watcher(), jobs=0)
    assert not (tmp_path / "work").exists()


def test_damaged_results_cost_a_sentence(tmp_path: Path) -> None:
    path = records.path_of(tmp_path, "made-up", "lstm")
    path.parent.mkdir()
    for content in ("", "{", "[]", '{"runs": [{}]}', '{"runs": 3}', "null"):
        path.write_text(content)
        with pytest.raises(RunError, match="damaged"):
            records.read(tmp_path, "made-up", "lstm")


@pytest.fixture(scope="module")
def never_cut(tmp_path_factory: pytest.TempPathFactory) -> records.Record:
    """What the long experiment gives in one go."""
    folder = tmp_path_factory.mktemp("never cut")
    assert reproduce(planned(long(), "smoke", ["scornn"]), folder / "results", folder / "work", Watcher(), jobs=0)
    (record,) = records.read(folder / "results", "made-up", "scornn")
    return record


@pytest.mark.slow
@pytest.mark.parametrize("background", [False, True])
def test_cut_and_taken_up_again(tmp_path: Path, background: bool, never_cut: records.Record) -> None:
    """Interrupted, collected as it is, finished by the same command: the same number as if it had never stopped.

    In a terminal by Ctrl-C, which all its processes get; in the background, where Ctrl-C is ignored, by a kill that
    only the first one gets. The rest is done in a process of its own after the one, in this one after the other.
    """
    runs = planned(long(), "smoke", ["scornn"])
    process = begun(reproduced_in, tmp_path, background)
    folder = folder_of(runs[0], tmp_path / "work")
    deadline = time.monotonic() + 120
    while not any(line.kind == "valid" for line in read_metrics(folder)):
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if background:
        process.terminate()
    else:
        assert process.pid is not None
        os.killpg(process.pid, signal.SIGINT)
    process.join(60)
    assert records.read(tmp_path / "results", "made-up", "scornn") == []
    ((_, partial),) = collect(runs, tmp_path / "results", tmp_path / "work")
    assert not partial.complete
    assert 0 < partial.steps < LONG
    assert (partial.measure, partial.value) == ("test", None)  # not the validation loss in its place
    assert partial.curve
    watcher = Watcher()
    assert reproduce(runs, tmp_path / "results", tmp_path / "work", watcher, jobs=0 if background else 1)
    assert watcher.events[0][0] == "resumed"
    (record,) = records.read(tmp_path / "results", "made-up", "scornn")
    assert record.steps == LONG
    whole = never_cut
    assert (whole.value, whole.curve, whole.train_curve) == (record.value, record.curve, record.train_curve)


def reproduced_in(folder: Path, background: bool) -> None:
    """Run the long experiment as a terminal starts it, or a shell in the background."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN if background else signal.default_int_handler)
    reproduce(planned(long(), "smoke", ["scornn"]), folder / "results", folder / "work", Watcher(), jobs=1)


def long() -> Experiment:
    """Long enough to be cut; evaluated, which takes most of the time, soon and then seldom."""
    long = {"settings": {"training": {"steps": LONG, "eval_every": 40}}}
    return experiment(budgets=dict.fromkeys(("smoke", "hour", "full"), long))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(["reproduce", *arguments])
        return ended.value.code if isinstance(ended.value.code, int) else 0

    options = ["ncgru-table3", "--budget", "smoke", "--only", "ncgru"]
    assert call(*options) == 0
    assert "a smoke run, too short to be compared" in capsys.readouterr().out
    assert call(*options, "--json") == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "skipped"
    assert call(*options) == 0
    assert "All of it is in results already. To run it again give other folders" in capsys.readouterr().out
    assert call(*options, "--collect") == 0
    assert "ncgru-table3/ncgru-smoke-0: finished" in capsys.readouterr().out
    for wrong, said in (
        (["ncgru-table3", "--budget", "day"], "smoke, hour or full"),
        (["ncgru-table33"], "did you mean 'ncgru-table3'"),
        (["ncgru-table3", "--only", "gruu"], "did you mean 'gru'"),
        (["all", "--only", "gru"], "name the experiment"),
        (["ncgru-table3", "--only", " ,"], "--only names no row"),
        (["ncgru-table3", "--only", "gru", "--budget", "smoke"], "gru of ncgru-table3 is not run at budget smoke"),
        (["ncgru-table3", "--only", "ncgru,gru", "--budget", "smoke"], "not run at budget smoke: choose budget hour"),
    ):
        assert call(*wrong) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("budget", "said"), [("smoke", "a smoke run, too short to be compared"), ("full", "published")]
)
def test_a_smoke_run_does_not_stand_beside_a_published_number(
    budget: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run, *_) = planned(experiment(), "smoke", ["lstm"])
    assert reproduce([run], tmp_path / "results", tmp_path / "work", Watcher(), jobs=0)
    (record,) = records.read(tmp_path / "results", run.experiment.name, "lstm")
    watcher_for(as_json=False).finished(run, record.model_copy(update={"budget": budget}), None)
    out = " ".join(capsys.readouterr().out.split())
    assert said in out
    assert ("published" in out) == (budget == "full")
