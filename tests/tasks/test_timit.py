"""TIMIT as a task: batches, masks and sums against loops, on a corpus of noise and on the free sample."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tasks.speech.recordings import SAMPLE, noise, real_data, write_sample
from torch import Tensor

from eigenloop.errors import DataError
from eigenloop.tasks.base import Batch
from eigenloop.tasks.speech.audio import halved
from eigenloop.tasks.speech.spectrogram import decibels, stft
from eigenloop.tasks.timit import TIMIT

published = pytest.mark.parametrize("published", [False, True])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_sample(folder / "timit")
    return folder


@pytest.fixture(scope="module")
def task(folder: Path) -> TIMIT:
    return TIMIT(data_dir=folder)


def of_speaker(number: int) -> list[Tensor]:
    """Features of the eight sentences of a speaker of the synthetic sample, computed from scratch."""
    signals = (halved(noise(300 + 97 * ((number + k) % 5), 100 * number + k) / 32768) for k in range(2, 10))
    return [torch.from_numpy(decibels(stft(signal))) for signal in signals]


def same(one: Batch, two: Batch) -> bool:
    assert one.lengths is not None
    assert two.lengths is not None
    return all(map(torch.equal, (one.inputs, one.targets, one.lengths), (two.inputs, two.targets, two.lengths)))


def test_the_facts_of_the_task(task: TIMIT) -> None:
    assert (task.name, task.metric, task.higher_is_better) == ("timit", "loss", False)
    assert (task.input_size, task.output_size, task.corpus) == (129, 129, "sample")
    assert task.splits == ("valid", "test")
    assert [task.steps_per_epoch(size) for size in (1, 28, 96, 97)] == [96, 4, 1, 1]


def test_a_batch_holds_frames_and_their_successors(folder: Path) -> None:
    expected = of_speaker(0)
    batch = TIMIT(data_dir=folder, shuffle=False).train_batch(0, 8, 0)
    assert batch.lengths is not None
    assert batch.lengths.tolist() == [len(frames) - 1 for frames in expected]
    assert batch.inputs.shape == batch.targets.shape == (max(batch.lengths), 8, 129)
    assert batch.inputs.dtype == torch.float32
    for column, frames in enumerate(expected):
        assert torch.equal(batch.inputs[: len(frames) - 1, column], frames[:-1])
        assert torch.equal(batch.targets[: len(frames) - 1, column], frames[1:])
        assert (batch.inputs[len(frames) :, column] == -50).all()
        assert (batch.targets[len(frames) - 1 :, column] == -50).all()


def test_as_published_the_last_frame_counts_and_silence_follows(folder: Path) -> None:
    expected = of_speaker(0)
    batch = TIMIT(data_dir=folder, shuffle=False, published=True).train_batch(0, 8, 0)
    assert batch.lengths is not None
    assert batch.lengths.tolist() == [len(frames) for frames in expected]
    assert batch.steps == max(batch.lengths)
    for column, frames in enumerate(expected):
        assert torch.equal(batch.inputs[: len(frames), column], frames)
        assert torch.equal(batch.targets[: len(frames) - 1, column], frames[1:])
        assert (batch.targets[len(frames) - 1 :, column] == -50).all()


@published
def test_loss_and_padded_average_against_loops(folder: Path, published: bool) -> None:
    task = TIMIT(data_dir=folder, published=published)
    batch = task.train_batch(1, 7, 3)
    outputs = torch.randn(batch.targets.shape, dtype=torch.float64, requires_grad=True)
    assert batch.lengths is not None
    total, count = 0.0, 0
    for column, length in enumerate(batch.lengths.tolist()):
        for step in range(length):
            total += float((outputs[step, column] - batch.targets[step, column]).detach().square().sum())
            count += 129
    assert float(task.loss(outputs, batch).detach()) == pytest.approx(total, rel=1e-9)
    assert task.terms(batch) == count
    squares = (outputs.detach() - batch.targets).square()
    for column, length in enumerate(batch.lengths.tolist()):
        squares[length:, column] = 0
    assert task.measures(outputs, batch).means()["padded_mse"] == pytest.approx(float(squares.mean()), rel=1e-9)
    assert float(squares.mean()) < total / count


def test_padding_gets_no_gradient(task: TIMIT) -> None:
    batch = task.train_batch(0, 5, 0)
    outputs = torch.randn(batch.targets.shape, requires_grad=True)
    task.loss(outputs, batch).backward()
    assert batch.lengths is not None
    assert outputs.grad is not None
    for column, length in enumerate(batch.lengths.tolist()):
        assert (outputs.grad[:length, column] != 0).all()
        assert (outputs.grad[length:, column] == 0).all()


@published
@pytest.mark.parametrize("count", [1, 2, 3, 7, 9])
def test_parts_and_segments_add_up_to_the_whole(folder: Path, published: bool, count: int) -> None:
    task = TIMIT(data_dir=folder, published=published)
    batch = task.train_batch(0, 7, 0)
    outputs = torch.randn(batch.targets.shape, dtype=torch.float64)
    whole = (
        float(task.loss(outputs, batch)),
        task.terms(batch),
        task.measures(outputs, batch).items()["padded_mse"][1],
    )
    sums = [0.0, 0.0, 0.0]
    for index in range(count):
        part = batch.part(index, count)
        low = 7 * index // count
        predicted = outputs[:, low : low + part.size]
        sums[0] += float(task.loss(predicted, part))
        sums[1] += task.terms(part)
        sums[2] += task.measures(predicted, part).items()["padded_mse"][1]
    assert sums == pytest.approx(whole, rel=1e-9)
    cuts = [(start, start + 2) for start in range(0, batch.steps, 2)]
    pieces = [(outputs[low:high], batch.segment(low, high)) for low, high in cuts]
    assert sum(float(task.loss(*piece)) for piece in pieces) == pytest.approx(whole[0], rel=1e-9)
    assert sum(task.terms(piece) for _, piece in pieces) == whole[1]


@given(data=st.data())
def test_a_batch_depends_on_its_position_only(task: TIMIT, data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=6))
    size, seed = data.draw(st.sampled_from([1, 5, 28])), data.draw(st.integers(0, 3))
    fresh = TIMIT(data_dir=task.data_dir)
    fresh.__dict__["_features"] = task._features
    there = {step: task.train_batch(step, size, seed) for step in steps}
    assert all(same(there[step], fresh.train_batch(step, size, seed)) for step in reversed(steps))


def test_every_epoch_sees_every_utterance_once(task: TIMIT) -> None:
    def seen(epoch: int, seed: int) -> list[float]:
        batches = [task.train_batch(4 * epoch + step, 28, seed) for step in range(4)]
        assert [batch.size for batch in batches] == [28, 28, 28, 12]
        return [float(batch.inputs[2, column].sum()) for batch in batches for column in range(batch.size)]

    orders = [seen(0, 0), seen(1, 0), seen(0, 1)]
    assert len(set(orders[0])) == 96
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2] != orders[0]


@pytest.mark.parametrize(("split", "first"), [("train", 0), ("valid", 12), ("test", 14)])
def test_evaluation_goes_through_a_part_in_order(task: TIMIT, split: str, first: int) -> None:
    batches = list(task.evaluation(split, 5))
    assert sum(batch.size for batch in batches) == (96 if split == "train" else 16)
    columns = [(batch, column) for batch in batches for column in range(batch.size)]
    for (batch, column), frames in zip(columns, of_speaker(first) + of_speaker(first + 1), strict=False):
        assert torch.equal(batch.inputs[: len(frames) - 1, column], frames[:-1])
    assert all(map(same, batches, task.evaluation(split, 5)))


@published
def test_baseline_and_persistence_against_arrays(folder: Path, published: bool) -> None:
    task = TIMIT(data_dir=folder, published=published)
    silence = np.full((1, 129), -50.0)
    tail = [silence] if published else []

    def pairs(speakers: range) -> tuple[np.ndarray, np.ndarray]:
        features = [frames.double().numpy() for speaker in speakers for frames in of_speaker(speaker)]
        after = [np.concatenate([frames[1:], *tail]) for frames in features]
        before = [frames[: len(targets)] for frames, targets in zip(features, after, strict=True)]
        return np.concatenate(before), np.concatenate(after)

    targets = pairs(range(12))[1]
    assert task.baseline() == {"loss": pytest.approx(((targets - targets.mean(0)) ** 2).mean(), rel=1e-9)}
    for split, speakers in (("train", range(12)), ("valid", range(12, 14)), ("test", range(14, 16))):
        before, after = pairs(speakers)
        assert task.persistence(split) == pytest.approx(((after - before) ** 2).mean(), rel=1e-9)


@published
def test_persistence_is_the_loss_of_a_network_that_repeats(folder: Path, published: bool) -> None:
    task = TIMIT(data_dir=folder, published=published)
    batches = list(task.evaluation("valid", 3))
    total = sum(float(task.loss(batch.inputs.double(), batch)) for batch in batches)
    assert task.persistence("valid") == pytest.approx(total / sum(map(task.terms, batches)), rel=1e-9)


def test_quality_counts_what_is_too_short(task: TIMIT) -> None:
    """Utterances of the synthetic corpus last less than 0.1 s."""
    found = task.quality(lambda inputs: (inputs, None), limit=3)
    assert np.isfinite(found["segsnr"])
    assert {found[name] for name in found if name.endswith("_skipped")} <= {3.0}


def test_an_unknown_part_is_refused(task: TIMIT) -> None:
    calls = (
        lambda: task.evaluation("dev", 5),
        lambda: task.persistence("dev"),
        lambda: task.quality(lambda x: (x, 0), "dev"),
    )
    for call in calls:
        with pytest.raises(ValueError, match="timit has no split 'dev': choose train or valid or test"):
            call()
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        task.quality(lambda inputs: (inputs, None), limit=0)


def test_a_task_reads_nothing_before_it_is_asked(tmp_path: Path) -> None:
    task = TIMIT(data_dir=tmp_path)
    assert task == TIMIT(data_dir=tmp_path)
    with pytest.raises(DataError, match=r"^TIMIT: it is not in"):
        task.prepare()


@pytest.mark.parametrize("content", [b"", b"random", b"RIFF1234WAVE", b"NIST_1A\n   1024\n"])
def test_prepare_names_a_damaged_file(tmp_path: Path, content: bytes) -> None:
    path = write_sample(tmp_path / "timit") / SAMPLE[-1] / "sx8.wav"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"dr8-mbbb8/sx8.wav: "):
        TIMIT(data_dir=tmp_path).prepare()


def test_features_of_the_sample_against_a_loop() -> None:
    task = TIMIT(data_dir=real_data())
    task.prepare()
    (batch,) = task.evaluation("test", 16)
    signal = task._corpus.parts["test"][0].signal()
    padded = np.concatenate([np.zeros(256), signal, np.zeros(-len(signal) % 128 + 256)])
    times = np.arange(256)
    waves = np.exp(-2j * np.pi * np.outer(np.arange(129), times) / 256) * (0.5 - 0.5 * np.cos(2 * np.pi * times / 256))
    frames = [waves @ padded[start : start + 256] for start in range(0, len(padded) - 255, 128)]
    expected = 10 * np.log10(1e-5 + np.abs(np.array(frames)) ** 2)
    assert batch.lengths is not None
    assert batch.lengths[0] == len(frames) - 1
    np.testing.assert_allclose(batch.inputs[: len(frames) - 1, 0], expected[:-1], atol=1e-4)
    np.testing.assert_allclose(batch.targets[: len(frames) - 1, 0], expected[1:], atol=1e-4)


def test_what_is_known_of_the_sample() -> None:
    task = TIMIT(data_dir=real_data())
    assert task.corpus == "sample"
    assert task.steps_per_epoch(28) == 4
    assert task.baseline()["loss"] > 2 * task.persistence("train") > 2 * 40
    found = task.quality(lambda inputs: (inputs, None), limit=2)
    assert 0 < found["segsnr"] < 10
    assert 0.7 < found.get("stoi", 0.8) < 0.95
    assert 1.5 < found.get("pesq", 2.5) < 3.5
    assert found.get("pesq_skipped", 0) == 0
