"""MNIST pixel by pixel (Le, Jaitly, Hinton 2015), row by row or in a fixed random order."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eigenloop.tasks import digits
from eigenloop.tasks.base import Batch, Task
from eigenloop.tasks.digits import CLASSES, PIXELS, Digits
from eigenloop.tasks.losses import correct, cross_entropy
from eigenloop.tasks.options import one_of
from eigenloop.tasks.order import batches_in, items_of
from eigenloop.tasks.tally import Tally

#: Seeds of the published pixel orders: Wisdom et al., scoRNN, expRNN, projUNN; nnRNN; EUNN (Python's generator).
STANDARD, NNRNN, EUNN = 92916, 1234, 2017
Named = Literal["standard", "nnrnn", "eunn"]


@dataclass(frozen=True, kw_only=True)
class PixelMNIST(Task):
    """Name the digit after 784 steps of one pixel, between 0 and 1.

    Args:
        split: ``"50k"`` holds out 10,000 training images for validation, as nnRNN does; ``"60k"`` trains on all of
            them, without a validation split.
        shuffle: draw a new order of the training images for every epoch; nnRNN does not.
        verify: require the published files; set ``False`` for other images of 28 x 28 pixels in the same format, of
            which a sixth is held out.
        data_dir: the folder with the data, or the one above.
    """

    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True
    last: ClassVar[bool] = True

    split: Literal["50k", "60k"] = "50k"
    shuffle: bool = True
    verify: bool = True
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        one_of("split", self.split, ("50k", "60k"))

    @property
    @abstractmethod
    def split_seed(self) -> int:
        """The seed of the generator that draws first a pixel order and then the images to hold out."""

    @property
    def pixel_order(self) -> NDArray[np.int64] | None:
        """The index of the pixel at each time step; None for row by row."""
        return None

    @property
    def input_size(self) -> int:
        """1: a pixel."""
        return 1

    @property
    def output_size(self) -> int:
        """10: the digits."""
        return CLASSES

    @property
    def splits(self) -> tuple[str, ...]:
        """Validation and test splits; with ``split="60k"`` only the test split."""
        return ("valid", "test") if self.split == "50k" else ("test",)

    @cached_property
    def _parts(self) -> dict[str, Digits]:
        """The images of each split."""
        train, test = (digits.read(part, self.data_dir, self.verify) for part in ("train", "test"))
        if self.split == "60k":
            return {"train": train, "test": test}
        train, valid = train.hold_out(self.split_seed)
        return {"train": train, "valid": valid, "test": test}

    @cached_property
    def _pixels(self) -> Tensor | None:
        return None if self.pixel_order is None else torch.from_numpy(self.pixel_order)

    def _batch(self, part: Digits, numbers: NDArray[np.int64]) -> Batch:
        items = part.items[numbers]
        images = torch.from_numpy(part.images[items])
        if self._pixels is not None:
            images = images.index_select(1, self._pixels)
        inputs = images.t().contiguous().to(torch.float32).div_(255.0)[..., None]
        return Batch(inputs, torch.from_numpy(part.labels[items]).long(), per_step=False)

    def steps_per_epoch(self, batch_size: int) -> int:
        """Return the number of batches in an epoch."""
        return batches_in(len(self._parts["train"].items), batch_size)

    def train_batch(self, step: int, batch_size: int, seed: int) -> Batch:
        """Return the images of a training step."""
        part = self._parts["train"]
        return self._batch(part, items_of(step, batch_size, len(part.items), self.shuffle, seed))

    def evaluation(self, split: str, batch_size: int) -> Iterator[Batch]:
        """Yield the images of a split."""
        part = self._parts[self.checked_split(split)]
        for start in range(0, len(part.items), batch_size):
            yield self._batch(part, np.arange(start, min(start + batch_size, len(part.items))))

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Return the sum of the cross-entropies of all images."""
        return cross_entropy(outputs, batch.targets)

    def terms(self, batch: Batch) -> float:
        """Return the number of images."""
        return float(batch.size)

    def measures(self, outputs: Tensor, batch: Batch) -> Tally:
        """Return the accuracy: the share of images with the right digit."""
        return Tally(accuracy=(correct(outputs, batch.targets), batch.size))

    def baseline(self) -> dict[str, float]:
        """Return the entropy of the training labels as the loss, and the share of their most frequent digit."""
        part = self._parts["train"]
        shares = np.bincount(part.labels[part.items], minlength=CLASSES) / len(part.items)
        seen = shares[shares > 0]
        return {"loss": float(-(seen * np.log(seen)).sum()), "accuracy": float(shares.max())}


@dataclass(frozen=True, kw_only=True)
class SequentialMNIST(PixelMNIST):
    """Name the digit after 784 steps of one pixel, row by row.

    The held-out images are those of ``pmnist`` with the standard permutation.
    """

    name: ClassVar[str] = "smnist"

    @property
    def split_seed(self) -> int:
        """The seed of Wisdom et al."""
        return STANDARD


@dataclass(frozen=True, kw_only=True)
class PermutedMNIST(PixelMNIST):
    """Name the digit after 784 steps of one pixel, in a random order: step t sees pixel p(t) of every image.

    Args:
        permutation: ``"standard"`` is NumPy's ``RandomState(92916)``, which most papers use; ``"nnrnn"`` has the seed
            1234; a number is another seed. ``"eunn"`` is Python's shuffle with seed 2017. As in nnRNN, the generator
            that draws the pixel order also chooses the images to hold out; ``"eunn"`` holds out the same images as
            ``"standard"``.
    """

    name: ClassVar[str] = "pmnist"

    permutation: Named | int = "standard"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.permutation, str):
            if self.permutation not in get_args(Named):
                raise ValueError(f"permutation must be one of {get_args(Named)} or a seed, got {self.permutation!r}")
        elif not 0 <= self.permutation < 2**32:
            raise ValueError(f"permutation must be a seed from 0 to 2^32 - 1, got {self.permutation}")

    @property
    def split_seed(self) -> int:
        """The seed of the pixel order; that of ``"standard"`` for ``"eunn"``."""
        if isinstance(self.permutation, str):
            return NNRNN if self.permutation == "nnrnn" else STANDARD
        return self.permutation

    @property
    def pixel_order(self) -> NDArray[np.int64]:
        """p, the index of the pixel at each time step."""
        if self.permutation == "eunn":
            pixels = list(range(PIXELS))
            random.Random(EUNN).shuffle(pixels)
            return np.array(pixels)
        return np.random.RandomState(self.split_seed).permutation(PIXELS)
