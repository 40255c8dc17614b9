"""The sentences: what they claim follows from the numbers."""

from pathlib import Path
from typing import Any

import pytest
import synthetic_runs as synthetic

from eigenloop import runs
from eigenloop.report import verdict
from eigenloop.report.groups import grouped

COMPARISONS = {
    # value, baseline, higher is better, solved: outcome, sentence
    "a thirteenth": ((0.0016, 0.0204, False, False), "solved", "a thirteenth of the baseline of 0.0204"),
    "exactly ten times": ((0.00204, 0.0204, False, False), "solved", "a tenth of the baseline of 0.0204"),
    "nearly ten times": ((0.00205, 0.0204, False, False), "better", "a tenth of the baseline of 0.0204"),
    "said to be solved": ((0.01, 0.0204, False, True), "solved", "half of the baseline of 0.0204"),
    "180 times": ((0.000113, 0.0204, False, False), "solved", "about 180 times less than the baseline of 0.0204"),
    "a little less": ((0.0163, 0.0204, False, False), "better", "% less than the baseline of 0.0204"),
    "the baseline": ((0.0203, 0.0204, False, False), "level", "baseline 0.0204"),
    "just above": ((0.0210, 0.0204, False, False), "level", "baseline 0.0204"),
    "worse": ((0.03, 0.0204, False, False), "worse", "baseline 0.0204"),
    "nothing left": ((0.0, 0.0204, False, False), "better", "baseline 0.0204"),
    "accuracy": ((0.976, 0.1135, True, False), "better", "baseline 0.114"),
    "accuracy, ten times": ((0.99, 0.05, True, False), "better", "baseline 0.05"),
    "accuracy, solved": ((0.999, 0.1135, True, True), "solved", "baseline 0.114"),
    "accuracy, guessing": ((0.11, 0.1135, True, False), "level", "baseline 0.114"),
    "accuracy, worse": ((0.05, 0.1135, True, False), "worse", "baseline 0.114"),
    "no baseline": ((0.4, None, False, False), "reached", "with no baseline"),
    "negative": ((-3.0, -2.0, False, False), "better", "baseline \N{MINUS SIGN}2"),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    (value, baseline, higher, solved), outcome, says = COMPARISONS[name]
    found, lead, rest = verdict.compare("loss", value, baseline, higher, solved=solved)
    assert found == outcome
    assert says in rest
    assert (lead == "solved it") == (outcome == "solved")


def judged(folder: Path, **rest: Any) -> verdict.Verdict:
    group = grouped([runs.read(synthetic.write_run(folder, **rest))])[0]
    return verdict.judge(group.entries[0], group)


def test_the_runs_of_the_tests(tmp_path: Path) -> None:
    folders = [
        make(tmp_path / make.__name__)
        for make in (
            synthetic.unfinished_gru,
            synthetic.lstm_at_the_baseline,
            synthetic.diverged_rnn,
            synthetic.solved_scornn,
        )
    ]
    group = grouped([runs.read(folder) for folder in folders])[0]
    found = verdict.ranked([verdict.judge(entry, group) for entry in group.entries], group.higher_is_better)
    labels = [each.entry.label for each in found]
    assert (labels[0], labels[-1]) == ("scoRNN", "GRU"), "what was never evaluated does not compete"
    sentences = {each.entry.label: each.sentence for each in found}
    assert sentences["scoRNN"] == ("solved it: loss 0.0016, a thirteenth of the baseline of 0.0204.")
    assert sentences["LSTM"] == "stayed at the baseline: loss 0.0203, baseline 0.0204."
    assert sentences["RNN"].startswith("diverged (the loss became NaN at step 1510). Before that: loss 0.02")
    assert sentences["GRU"].startswith("is not finished. So far: it has not been evaluated yet; training loss 0.0")
    assert verdict.lead(found) == "scoRNN solved it; LSTM stayed at the baseline; RNN diverged; GRU is not finished."


def test_where_the_score_comes_from(tmp_path: Path) -> None:
    base = synthetic.summary()
    valid = [{"kind": "valid", "step": 1200, "loss": 0.5}]
    cases: list[tuple[dict[str, Any], tuple[float, str]]] = [
        ({"test": {"loss": 0.1}}, (0.1, "test set")),
        ({"test": None}, (0.0203, "best validation")),
        ({"test": None, "best": {"loss": float("nan")}}, (0.0203, "last validation")),
        ({"test": None, "best": None, "final": {"test": {"loss": 0.3}}}, (0.3, "test set")),
        ({"test": None, "best": None, "final": {}}, (0.5, "validation at step 1,200")),
    ]
    for i, (changes, expected) in enumerate(cases):
        found = judged(tmp_path / str(i), end=base | changes, metrics=valid)
        assert found.score is not None
        assert (found.score.value, found.score.source) == expected


def test_runs_without_a_score(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {"test": None, "best": None, "final": {}}
    ends = {
        "finished": ("unknown", "finished (all steps are done), but was not evaluated."),
        "diverged": ("diverged", "diverged (all steps are done) and has no score."),
    }
    for status, expected in ends.items():
        found = judged(tmp_path / status, end=synthetic.summary(status=status, **nothing))
        assert (found.outcome, found.sentence) == expected
        assert found.caption == "not evaluated"
    begun = judged(tmp_path / "begun")
    assert (begun.outcome, begun.sentence) == ("unfinished", "is not finished: nothing has been measured yet.")


def test_a_stopped_run_says_why(tmp_path: Path) -> None:
    found = judged(tmp_path / "run", end=synthetic.summary(status="stopped", reason="interrupted at step 80."))
    assert found.sentence.endswith("It was stopped (interrupted at step 80).")
