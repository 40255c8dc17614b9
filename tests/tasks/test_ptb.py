"""The Penn Treebank against loops over lines and characters."""

import dataclasses
import math
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from data_folders import SENTENCES, ptb_lines
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.errors import ConfigError
from eigenloop.tasks import Batch
from eigenloop.tasks.language import LanguageModelling
from eigenloop.tasks.ptb import PTBCharacters, PTBWords
from eigenloop.tasks.sentences import pieces
from eigenloop.tasks.streams import all_segments, predictions, segment_count, train_segment

TASKS = [PTBCharacters, PTBWords]
pytestmark = pytest.mark.usefixtures("isolated")


def symbols(task: LanguageModelling, split: str) -> list[str]:
    """All tokens of a text, as strings."""
    if isinstance(task, PTBCharacters):
        return ["<eos>" if c == "\n" else c for line in ptb_lines(split) for c in line]
    return [word for line in SENTENCES[split] for word in [*line.split(), "<eos>"]]


def texts(task: LanguageModelling, tokens: torch.Tensor) -> list[str]:
    """Numbers as strings."""
    return [task.vocabulary[int(token)] for token in tokens]


@pytest.mark.parametrize("kind", TASKS)
def test_vocabulary_and_tokens(ptb_folder: Path, kind: type[LanguageModelling]) -> None:
    task = kind(data_dir=ptb_folder, verify=False)
    assert task.vocabulary == tuple(dict.fromkeys(symbols(task, "train")))
    assert task.input_size == task.output_size == len(task.vocabulary)
    assert task.tokens
    for split in ("train", "valid", "test"):
        assert texts(task, torch.from_numpy(task.corpus.tokens[split].astype(int))) == symbols(task, split)


def test_decode_gives_the_text_back(ptb_folder: Path) -> None:
    characters, words = (kind(data_dir=ptb_folder, verify=False) for kind in TASKS)
    for split in ("train", "valid", "test"):
        assert characters.decode(characters.corpus.tokens[split]) == "".join(ptb_lines(split))
        read = (ptb_folder / "ptb" / f"ptb.{split}.txt").read_text()
        assert words.decode(torch.from_numpy(words.corpus.tokens[split])) == read
    assert (characters.decode([]), words.decode([])) == ("", "")


@given(
    size=st.integers(2, 300),
    streams=st.integers(1, 12),
    bptt=st.integers(1, 60),
    varied=st.booleans(),
    carry=st.booleans(),
    seed=st.integers(0, 3),
    epoch=st.integers(0, 3),
)
def test_segments_are_the_streams(
    size: int, streams: int, bptt: int, varied: bool, carry: bool, seed: int, epoch: int
) -> None:
    tokens = np.arange(size, dtype=np.int32)
    if size // streams < 2:
        with pytest.raises(ValueError, match=f"take at most {size // 2} streams"):
            predictions(size, streams)
        return
    length = size // streams
    naive = [[stream * length + t for t in range(length)] for stream in range(streams)]
    count = segment_count(predictions(size, streams), bptt, varied)
    options = {"bptt": bptt, "varied": varied, "carry": carry, "seed": seed}
    batches = [train_segment(tokens, epoch * count + k, streams, **options) for k in range(count)]
    assert torch.cat([batch.inputs for batch in batches]).t().tolist() == [stream[:-1] for stream in naive]
    assert torch.cat([batch.targets for batch in batches]).t().tolist() == [stream[1:] for stream in naive]
    assert [batch.continues for batch in batches] == [carry and k > 0 for k in range(count)]
    for k, batch in enumerate(batches):
        assert batch.inputs.dtype == batch.targets.dtype == torch.int64
        assert batch.lengths is None
        assert batch.steps >= 1
        assert batch.lr_scale == (batch.steps / bptt if varied else 1.0)
        if not varied:
            assert batch.steps == bptt if k < count - 1 else batch.steps <= bptt
    if not varied:
        evaluated = list(all_segments(tokens, streams, bptt=bptt, carry=carry))
        assert len(evaluated) == count
        for one, other in zip(evaluated, batches, strict=True):
            assert torch.equal(one.inputs, other.inputs)
            assert torch.equal(one.targets, other.targets)
            assert (one.continues, one.lr_scale) == (other.continues, 1.0)


def test_varied_lengths_are_those_of_awd_lstm() -> None:
    tokens, lengths = np.zeros(40 * 5000, dtype=np.uint8), []
    count = segment_count(4999, 100, varied=True)
    for step in range(40 * count):
        lengths.append(train_segment(tokens, step, 40, bptt=100, varied=True, carry=True, seed=1).steps)
    found = np.array(lengths)
    assert count == round(4999 / 97.5)
    halved = (found < 75).mean()
    assert halved == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / len(found)))
    assert np.median(found) == pytest.approx(100, abs=1)
    assert found[found > 75].std() == pytest.approx(5, rel=0.15)
    assert found[found < 75].mean() == pytest.approx(50, abs=2.5)
    epochs = found.reshape(40, count)
    assert (epochs.sum(1) == 4999).all()
    assert len({tuple(epoch) for epoch in epochs.tolist()}) == 40


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("varied", [False, True])
def test_streams_of_a_task(ptb_folder: Path, kind: type[LanguageModelling], varied: bool) -> None:
    task = kind(data_dir=ptb_folder, verify=False, bptt=6, varied=varied, eval_streams=3)
    text = symbols(task, "train")
    for width in (1, 4):
        length = len(text) // width
        batches = [task.train_batch(step, width, 2) for step in range(task.steps_per_epoch(width))]
        for stream in range(width):
            wanted = text[stream * length : (stream + 1) * length]
            assert texts(task, torch.cat([batch.inputs[:, stream] for batch in batches])) == wanted[:-1]
            assert texts(task, torch.cat([batch.targets[:, stream] for batch in batches])) == wanted[1:]
        assert sum(task.terms(batch) for batch in batches) == width * (length - 1)
    for split in task.splits:
        held, batches = symbols(task, split), list(task.evaluation(split, 64))
        assert all(batch.size == 3 for batch in batches)
        assert texts(task, torch.cat([batch.inputs for batch in batches])[:, 0]) == held[: len(held) // 3 - 1]
        assert sum(task.terms(batch) for batch in batches) == 3 * (len(held) // 3 - 1)
        assert [batch.continues for batch in batches] == [False] + [True] * (len(batches) - 1)


@pytest.mark.parametrize(
    "task", [PTBWords(), PTBCharacters(), PTBCharacters(mode="sentences")], ids=["words", "characters", "sentences"]
)
def test_an_unknown_part_is_refused(ptb_folder: Path, task: LanguageModelling) -> None:
    task = dataclasses.replace(task, data_dir=ptb_folder, verify=False)
    with pytest.raises(ConfigError, match="has no split 'dev': choose train or valid or test"):
        task.evaluation("dev", 1)


def test_without_carry_no_segment_goes_on(ptb_folder: Path) -> None:
    task = PTBCharacters(data_dir=ptb_folder, verify=False, bptt=6, carry=False)
    batches = [*task.evaluation("valid", 1), *(task.train_batch(step, 2, 0) for step in range(9))]
    assert not any(batch.continues for batch in batches)


CASES = [
    (PTBCharacters, {"bptt": 7}),
    (PTBCharacters, {"bptt": 7, "varied": True}),
    (PTBCharacters, {"mode": "sentences"}),
    (PTBCharacters, {"mode": "sentences", "longest": 5, "long": "chunk"}),
    (PTBWords, {"bptt": 4, "varied": True}),
]


def equal(one: Batch, other: Batch) -> bool:
    """Whether two batches are the same."""
    return (
        torch.equal(one.inputs, other.inputs)
        and torch.equal(one.targets, other.targets)
        and (one.lengths is None) == (other.lengths is None)
        and (one.lengths is None or torch.equal(one.lengths, other.lengths))
        and (one.continues, one.lr_scale) == (other.continues, other.lr_scale)
    )


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_batches_do_not_depend_on_those_before(
    ptb_folder: Path, kind: type[LanguageModelling], options: dict[str, object]
) -> None:
    first, second = (kind(data_dir=ptb_folder, verify=False, **options) for _ in range(2))
    steps = 3 * first.steps_per_epoch(3)
    ahead = [first.train_batch(step, 3, 4) for step in range(steps)]
    assert all(equal(second.train_batch(step, 3, 4), ahead[step]) for step in reversed(range(steps)))
    assert equal(pickle.loads(pickle.dumps(first)).train_batch(steps - 1, 3, 4), ahead[-1])


@pytest.mark.parametrize(("kind", "options"), CASES)
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_parts_make_the_batch(
    ptb_folder: Path, kind: type[LanguageModelling], options: dict[str, object], count: int
) -> None:
    task = kind(data_dir=ptb_folder, verify=False, **options)
    batch = task.train_batch(1, 5, 0)
    parts = [batch.part(index, count) for index in range(count)]
    assert torch.equal(torch.cat([part.inputs for part in parts], 1), batch.inputs)
    assert torch.equal(torch.cat([part.targets for part in parts], 1), batch.targets)
    assert sum(task.terms(part) for part in parts) == task.terms(batch)
    outputs = torch.randn(batch.steps, batch.size, task.output_size, dtype=torch.float64)
    bounds = [batch.size * index // count for index in range(count + 1)]
    losses = [task.loss(outputs[:, bounds[i] : bounds[i + 1]], part) for i, part in enumerate(parts)]
    assert float(sum(losses)) == pytest.approx(float(task.loss(outputs, batch)), rel=1e-12)


@given(
    text=st.lists(st.lists(st.integers(1, 9), max_size=12), min_size=1, max_size=8),
    longest=st.integers(1, 14),
    chunk=st.booleans(),
)
def test_pieces_are_the_lines(text: list[list[int]], longest: int, chunk: bool) -> None:
    tokens = np.array([token for line in text for token in [*line, 0]], dtype=np.uint8)
    wanted, targets = [], 0
    for line in text:
        line = [*line, 0]
        starts = range(0, len(line) - 1, longest) if chunk else range(min(1, len(line) - 1))
        wanted += [(line[s : s + longest][: len(line) - 1 - s], line[s + 1 : s + 1 + longest]) for s in starts]
        targets += len(line) - 1
    if not wanted:
        with pytest.raises(ValueError, match="empty lines only"):
            pieces(tokens, 0, longest, chunk)
        return
    found = pieces(tokens, 0, longest, chunk)
    batch = found.batch(np.arange(len(found)), padding=99)
    assert batch.steps == max(len(inputs) for inputs, _ in wanted) <= longest
    for column, (inputs, outputs) in enumerate(wanted):
        padding = [99] * (batch.steps - len(inputs))
        assert len(inputs) == len(outputs) == int(batch.lengths[column])
        assert batch.inputs[:, column].tolist() == inputs + padding
        assert batch.targets[:, column].tolist() == outputs + padding
    assert len(found) == len(wanted) == batch.size
    if chunk:
        assert int(batch.lengths.sum()) == targets


@pytest.mark.parametrize("long", ["cut", "chunk"])
@pytest.mark.parametrize("longest", [4, 150])
def test_sentences_of_a_task(ptb_folder: Path, long: str, longest: int) -> None:
    task = PTBCharacters(data_dir=ptb_folder, verify=False, mode="sentences", long=long, longest=longest)
    wanted = {}
    for split in ("train", "valid", "test"):
        wanted[split] = Counter()
        for line in ptb_lines(split):
            starts = range(0, len(line) - 1, longest) if long == "chunk" else range(len(line) - 1)[:1]
            wanted[split].update(line[start : start + longest + 1] for start in starts)
    steps = task.steps_per_epoch(4)
    assert steps == math.ceil(wanted["train"].total() / 4)
    epochs = [[task.train_batch(epoch * steps + step, 4, 0) for step in range(steps)] for epoch in range(2)]
    orders = []
    for batches, split in [(epochs[0], "train"), (epochs[1], "train")] + [
        (list(task.evaluation(split, 2)), split) for split in task.splits
    ]:
        seen = []
        for batch in batches:
            assert not batch.continues
            assert batch.steps == int(batch.lengths.max())
            for column, length in enumerate(batch.lengths.tolist()):
                inputs, targets = batch.inputs[:, column], batch.targets[:, column]
                assert inputs[1:length].tolist() == targets[: length - 1].tolist()
                assert set(texts(task, [*inputs[length:], *targets[length:]])) <= {"_"}
                seen.append(task.decode([*inputs[:1], *targets[:length]]))
        assert Counter(seen) == wanted[split]
        orders.append(seen)
    assert orders[0] != orders[1]
    fixed = dataclasses.replace(task, shuffle=False)
    assert equal(fixed.train_batch(0, 4, 0), fixed.train_batch(steps, 4, 1))
    assert list(wanted["valid"]) == orders[2]


def test_masked_loss_and_accuracy_against_a_loop(ptb_folder: Path) -> None:
    for options in ({"mode": "sentences"}, {"bptt": 5}):
        task = PTBCharacters(data_dir=ptb_folder, verify=False, **options)
        batch = task.train_batch(0, 6, 0)
        outputs = torch.randn(batch.steps, 6, task.output_size, dtype=torch.float64)
        loss, hits, terms = 0.0, 0, 0
        for column in range(6):
            for t in range(batch.steps if batch.lengths is None else int(batch.lengths[column])):
                row, target = outputs[t, column].tolist(), int(batch.targets[t, column])
                loss += math.log(sum(math.exp(x) for x in row)) - row[target]
                hits += max(range(len(row)), key=row.__getitem__) == target
                terms += 1
        assert float(task.loss(outputs, batch)) == pytest.approx(loss, rel=1e-12)
        assert task.terms(batch) == terms
        assert task.measures(outputs, batch).items() == {"accuracy": (hits, terms)}


@pytest.mark.parametrize("kind", TASKS)
def test_baseline_is_the_unigram_distribution(ptb_folder: Path, kind: type[LanguageModelling]) -> None:
    task = kind(data_dir=ptb_folder, verify=False)
    counts = Counter(symbols(task, "train"))
    total = counts.total()
    loss = -sum(n / total * math.log(n / total) for n in counts.values())
    own = {"bpc": loss / math.log(2)} if kind is PTBCharacters else {"perplexity": math.exp(loss)}
    wanted = {"loss": loss, "accuracy": max(counts.values()) / total, **own}
    assert task.baseline() == pytest.approx(wanted)
    assert task.metric in wanted
    assert not task.higher_is_better


def test_metrics() -> None:
    assert PTBCharacters().metrics({"loss": math.log(8), "accuracy": 0.5})["bpc"] == pytest.approx(3)
    assert PTBWords().metrics({"loss": math.log(100)})["perplexity"] == pytest.approx(100)
    assert PTBWords().metrics({"loss": 1e4})["perplexity"] == math.inf
    assert math.isnan(PTBWords().metrics({"loss": math.nan})["perplexity"])
    assert (PTBCharacters.name, PTBCharacters().bptt) == ("ptb-char", 150)
    assert (PTBWords.name, PTBWords().bptt) == ("ptb-word", 70)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"bptt": 0}, "bptt must be at least 1"),
        ({"eval_streams": 0}, "eval_streams must be at least 1"),
        ({"longest": 0}, "longest must be at least 1"),
        ({"mode": "lines"}, "one of streams, sentences"),
        ({"long": "drop"}, "one of cut, chunk"),
        ({"mode": "sentences", "varied": True}, "varied is for streams"),
    ],
)
def test_wrong_options(options: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        PTBCharacters(**options)


def test_a_text_too_short_for_the_streams(ptb_folder: Path) -> None:
    task = PTBWords(data_dir=ptb_folder, verify=False, eval_streams=6)
    size = len(symbols(task, "train"))
    for call in (task.steps_per_epoch, lambda width: task.train_batch(0, width, 0)):
        assert call(size // 2)
        with pytest.raises(ValueError, match=f"{size} tokens is too short for {size} streams .*at most {size // 2}"):
            call(size)
    with pytest.raises(ValueError, match="10 tokens is too short for 6 streams"):
        task.prepare()
