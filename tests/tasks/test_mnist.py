"""MNIST against loops over the files' bytes, and the published numbers where the data is at hand."""

import dataclasses
import hashlib
import math
import pickle
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from data_folders import REAL, digits, idx, mnist_files, needs, write, write_all
from fuzzing import reads_or_refuses, refuses_what_is_no_file, refuses_whatever_is_damaged

from eigenloop.tasks import DataError
from eigenloop.tasks import digits as digit_files
from eigenloop.tasks.mnist import PermutedMNIST, PixelMNIST, SequentialMNIST

needs_mnist = needs(digit_files.SOURCES["train"][0])
pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 images to train on, 20 to test."""
    return write_all(tmp_path_factory.mktemp("data") / "mnist", mnist_files())


def orders() -> dict[object, list[int]]:
    """The published orders of the pixels, each as its code makes it."""
    shuffled = list(range(784))
    random.Random(2017).shuffle(shuffled)
    return {
        "standard": np.random.RandomState(92916).permutation(784).tolist(),
        "nnrnn": np.random.RandomState(1234).permutation(784).tolist(),
        "eunn": shuffled,
        7: np.random.RandomState(7).permutation(784).tolist(),
    }


def tasks(folder: Path, **options: object) -> list[tuple[PixelMNIST, list[int], int]]:
    """Every task with its order of the pixels and the seed of its split."""
    seeds = {"standard": 92916, "nnrnn": 1234, "eunn": 92916, 7: 7}
    options = {"data_dir": folder, "verify": False, **options}
    permuted = [(PermutedMNIST(permutation=p, **options), order, seeds[p]) for p, order in orders().items()]
    return [(SequentialMNIST(**options), list(range(784)), 92916), *permuted]


def drawn(size: int, seed: int) -> list[int]:
    """nnRNN's split: the generator that drew the pixels draws the images."""
    generator = np.random.RandomState(seed)
    generator.permutation(784)
    return generator.permutation(size).tolist()


def test_batches_are_the_files_bytes(folder: Path) -> None:
    for task, order, seed in tasks(folder, shuffle=False):
        numbers = drawn(60, seed)
        train, test = digits(60, 1), digits(20, 2)
        for (images, labels), chosen, batches in (
            (train, numbers[:50], [task.train_batch(step, 16, 0) for step in range(4)]),
            (train, numbers[50:], list(task.evaluation("valid", 16))),
            (test, range(20), list(task.evaluation("test", 16))),
        ):
            assert [batch.size for batch in batches] == [16] * (len(chosen) // 16) + [len(chosen) % 16]
            inputs, targets = torch.cat([b.inputs for b in batches], 1), torch.cat([b.targets for b in batches])
            assert inputs.dtype == torch.float32
            assert targets.tolist() == [int(labels[i]) for i in chosen]
            wanted = [[images[i].reshape(-1)[pixel] / 255 for i in chosen] for pixel in order]
            torch.testing.assert_close(inputs[..., 0], torch.tensor(wanted, dtype=torch.float32), rtol=0, atol=0)


def test_sizes_and_names(folder: Path) -> None:
    for task, _, _ in tasks(folder):
        batch = task.train_batch(0, 7, 0)
        assert batch.inputs.shape == (784, 7, task.input_size)
        assert (task.output_size, task.last, task.tokens, batch.per_step) == (10, True, False, False)
        assert (task.metric, task.higher_is_better) == ("accuracy", True)
    assert (SequentialMNIST.name, PermutedMNIST.name) == ("smnist", "pmnist")


@pytest.mark.parametrize("split", ["50k", "60k"])
def test_every_epoch_sees_every_image_once(folder: Path, split: str) -> None:
    task = SequentialMNIST(data_dir=folder, verify=False, split=split)
    size = {"50k": 50, "60k": 60}[split]
    steps = task.steps_per_epoch(8)
    assert steps == math.ceil(size / 8)
    epochs = []
    for epoch in range(3):
        batches = [task.train_batch(epoch * steps + step, 8, 5) for step in range(steps)]
        epochs.append([round(255 * float(x)) for batch in batches for x in batch.inputs[0, :, 0]])
    held = [round(255 * float(x)) for split in task.splits[:-1] for b in task.evaluation(split, 9) for x in b.inputs[0]]
    assert len(held) == 60 - size
    for seen in epochs:
        assert sorted(seen + held) == list(range(60))
    assert epochs[0] != epochs[1] != epochs[2]
    assert task.train_batch(0, 8, 6).targets.tolist() != task.train_batch(0, 8, 5).targets.tolist()


def test_60k_has_no_valid_part(folder: Path) -> None:
    task = PermutedMNIST(data_dir=folder, verify=False, split="60k", shuffle=False)
    assert task.splits == ("test",)
    with pytest.raises(ValueError, match="pmnist has no split 'valid': choose test"):
        list(task.evaluation("valid", 10))
    assert task.train_batch(0, 60, 0).targets.tolist() == digits(60, 1)[1].tolist()


def test_batches_do_not_depend_on_those_before(folder: Path) -> None:
    first, second = (PermutedMNIST(data_dir=folder, verify=False) for _ in range(2))
    ahead = {step: first.train_batch(step, 8, 3) for step in range(20)}
    for step in reversed(range(20)):
        again = second.train_batch(step, 8, 3)
        assert torch.equal(again.inputs, ahead[step].inputs)
        assert torch.equal(again.targets, ahead[step].targets)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_parts_make_the_batch(folder: Path, count: int) -> None:
    batch = SequentialMNIST(data_dir=folder, verify=False).train_batch(0, 7, 0)
    parts = [batch.part(index, count) for index in range(count)]
    assert torch.equal(torch.cat([p.inputs for p in parts], 1), batch.inputs)
    assert torch.equal(torch.cat([p.targets for p in parts]), batch.targets)


def test_loss_and_accuracy_against_a_loop(folder: Path) -> None:
    task = SequentialMNIST(data_dir=folder, verify=False)
    batch = task.train_batch(0, 9, 0)
    outputs = torch.randn(9, 10, dtype=torch.float64)
    loss, hits = 0.0, 0
    for row, target in zip(outputs.tolist(), batch.targets.tolist(), strict=True):
        loss += math.log(sum(math.exp(x) for x in row)) - row[target]
        hits += max(range(10), key=row.__getitem__) == target
    assert float(task.loss(outputs, batch)) == pytest.approx(loss, rel=1e-12)
    assert task.terms(batch) == 9
    assert task.measures(outputs, batch).items() == {"accuracy": (hits, 9)}


def test_baseline_is_the_commonest_digit_in_training(folder: Path) -> None:
    for task, _, seed in tasks(folder):
        labels = digits(60, 1)[1]
        counts = Counter(int(labels[i]) for i in drawn(60, seed)[:50])
        found = task.baseline()
        assert found["accuracy"] == pytest.approx(max(counts.values()) / 50)
        assert found["loss"] == pytest.approx(-sum(n / 50 * math.log(n / 50) for n in counts.values()))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("below", ["mnist", "MNIST/raw", "."])
def test_folders(tmp_path: Path, below: str, packed: bool) -> None:
    write_all(tmp_path / "data" / below, mnist_files(12, 3), packed)
    task = SequentialMNIST(data_dir=tmp_path / "data", verify=False)
    task.prepare()
    (test,) = task.evaluation("test", 3)
    images, labels = digits(3, 2)
    assert test.targets.tolist() == labels.tolist()
    assert (255 * test.inputs[..., 0]).round().T.tolist() == images.reshape(3, 784).tolist()


def test_nothing_is_read_before_it_is_wanted(tmp_path: Path) -> None:
    task = PermutedMNIST(data_dir=tmp_path / "nowhere")
    assert (task.input_size, task.output_size, task.splits) == (1, 10, ("valid", "test"))
    with pytest.raises(DataError, match="there is no such folder"):
        task.prepare()


def test_published_files_are_wanted(folder: Path) -> None:
    with pytest.raises(DataError, match="this is not the published train-images-idx3-ubyte"):
        SequentialMNIST(data_dir=folder).prepare()


def test_own_files_are_not_mixed_with_downloads(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte: it is not in .*data_dir"):
        SequentialMNIST(data_dir=tmp_path, verify=False).prepare()


def test_a_task_is_a_value(folder: Path) -> None:
    task = PermutedMNIST(data_dir=folder, verify=False)
    task.prepare()
    again = pickle.loads(pickle.dumps(task))
    assert again == task == dataclasses.replace(task)
    assert hash(again) == hash(task)
    assert torch.equal(again.train_batch(3, 5, 1).inputs, task.train_batch(3, 5, 1).inputs)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"split": "55k"}, "one of 50k, 60k"),
        ({"permutation": "wisdom"}, "'standard', 'nnrnn', 'eunn'"),
        ({"permutation": -1}, "2\\^32"),
        ({"permutation": 2**32}, "2\\^32"),
    ],
)
def test_wrong_options(options: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        PermutedMNIST(**options)


IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
IMAGE_ARRAY, LABEL_ARRAY = digits(60, 1)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        (IMAGES, b"", "16 bytes is expected, found 0"),
        (IMAGES, idx(IMAGE_ARRAY)[:15], "16 bytes is expected, found 15"),
        (IMAGES, idx(LABEL_ARRAY), "0x00000803 .*found 0x00000801"),
        (LABELS, idx(IMAGE_ARRAY), "0x00000801 .*found 0x00000803"),
        (LABELS, b"\x00\x00\x09" + idx(LABEL_ARRAY)[3:], "0x00000801 .*found 0x00000901"),
        (IMAGES, idx(IMAGE_ARRAY[:, :27]), "n x 28 x 28 .*found 60 x 27 x 28"),
        (IMAGES, idx(IMAGE_ARRAY[:0]), "at least 1 are expected, found 0 x 28 x 28"),
        (LABELS, idx(LABEL_ARRAY[:0]), "sizes n with n at least 1 are expected, found 0"),
        (IMAGES, idx(IMAGE_ARRAY)[:-1], "47,056 bytes are expected for 60 items, found 47,055"),
        (IMAGES, idx(IMAGE_ARRAY) + b"\x00", "47,056 bytes are expected for 60 items, found 47,057"),
        (LABELS, idx(LABEL_ARRAY)[:4] + b"\xff\xff\xff\xff", "4,294,967,303 bytes are expected"),
        (LABELS, idx(LABEL_ARRAY)[:-1] + b"\x0a", "0 to 9 are expected, found 10 at number 59"),
        (LABELS, idx(LABEL_ARRAY[:59]), "60 labels are expected, one for each image, found 59"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, name: str, content: bytes, match: str) -> None:
    folder = write_all(tmp_path / "mnist", {**mnist_files(), name: content})
    with pytest.raises(DataError, match=match) as caught:
        SequentialMNIST(data_dir=folder, verify=False).prepare()
    assert str(tmp_path / "mnist" / name) in str(caught.value)


def test_too_few_images_to_hold_one_out(tmp_path: Path) -> None:
    folder = write_all(tmp_path / "mnist", mnist_files(5, 2))
    with pytest.raises(DataError, match="at least 6 images"):
        SequentialMNIST(data_dir=folder, verify=False).prepare()
    SequentialMNIST(data_dir=folder, verify=False, split="60k").prepare()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", list(mnist_files()))
def test_damaged_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, packed: bool) -> None:
    files = mnist_files(12, 3)
    known = {
        part: tuple(dataclasses.replace(s, sha256=hashlib.sha256(files[s.name]).hexdigest()) for s in sources)
        for part, sources in digit_files.SOURCES.items()
    }
    monkeypatch.setattr(digit_files, "SOURCES", known)
    folder = write_all(tmp_path / "mnist", {other: data for other, data in files.items() if other != name})
    path = write(tmp_path / "mnist" / name, files[name], packed)
    refuses_whatever_is_damaged(path, lambda: SequentialMNIST(data_dir=folder).prepare())
    refuses_what_is_no_file(path, lambda: SequentialMNIST(data_dir=folder).prepare(), monkeypatch)
    reads_or_refuses(path, lambda: SequentialMNIST(data_dir=folder, verify=False).prepare(), seed=1)


@pytest.fixture(scope="module")
def real() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The real images and labels, read by hand."""
    found = {}
    for part, sources in digit_files.SOURCES.items():
        (_, images), (_, labels) = (source.content(REAL) for source in sources)
        found[part] = np.frombuffer(images[16:], np.uint8).reshape(-1, 784), np.frombuffer(labels[8:], np.uint8)
    return found


@needs_mnist
def test_published_counts(real: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    task = PermutedMNIST(data_dir=REAL, split="60k")
    train, test = ([*task._parts[part].labels] for part in ("train", "test"))
    assert [train.count(d) for d in range(10)] == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert [test.count(d) for d in range(10)] == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    batches = list(task.evaluation("test", 1000))
    pixels = torch.cat([batch.inputs.double().flatten() for batch in batches])
    assert float(pixels.mean()) == pytest.approx(0.132515, abs=1e-6)
    assert float(pixels.std()) == pytest.approx(0.310480, abs=1e-6)
    assert real["train"][0].mean() / 255 == pytest.approx(0.130660, abs=1e-6)
    assert torch.cat([batch.targets for batch in batches]).tolist() == real["test"][1].tolist()
    assert task.baseline()["accuracy"] == 6742 / 60000
    assert task.baseline()["loss"] == pytest.approx(
        -sum(train.count(d) / 6e4 * math.log(train.count(d) / 6e4) for d in range(10))
    )
    assert task.steps_per_epoch(128) == 469


@needs_mnist
def test_the_data_of_nnrnn(real: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    images, labels = real["train"]
    generator = np.random.RandomState(1234)
    order, chosen = generator.permutation(784), generator.permutation(60000)
    task = PermutedMNIST(data_dir=REAL, permutation="nnrnn", shuffle=False)
    assert task.steps_per_epoch(100) == 500
    for step in (0, 1, 499, 500):
        batch = task.train_batch(step, 100, 0)
        wanted = chosen[step % 500 * 100 :][:100]
        assert torch.equal(batch.inputs[..., 0].t(), torch.from_numpy(images[wanted][:, order]).float() / 255)
        assert batch.targets.tolist() == labels[wanted].tolist()
    valid = list(task.evaluation("valid", 100))
    assert len(valid) == 100
    assert torch.cat([batch.targets for batch in valid]).tolist() == labels[chosen[50000:]].tolist()


@needs_mnist
def test_the_split_is_disjoint_and_complete() -> None:
    for task, _, _ in tasks(REAL, verify=True):
        parts = task._parts
        assert (len(parts["train"].items), len(parts["valid"].items), len(parts["test"].items)) == (50000, 10000, 10000)
        assert sorted([*parts["train"].items, *parts["valid"].items]) == list(range(60000))


def test_the_orders_of_the_pixels() -> None:
    first = {
        "standard": [319, 576, 323, 107, 355],
        "nnrnn": [529, 511, 328, 133, 532],
        "eunn": [231, 488, 235, 357, 342],
    }
    for permutation, numbers in first.items():
        order = PermutedMNIST(permutation=permutation).pixel_order.tolist()
        assert order[:5] == numbers
        assert order == orders()[permutation]
        assert sorted(order) == list(range(784))
    assert SequentialMNIST().pixel_order is None
