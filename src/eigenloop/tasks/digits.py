"""The files of MNIST (LeCun, Cortes, Burges), and the choice of training images to hold out for validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks import idx
from eigenloop.tasks.files import Source

PIXELS, CLASSES = idx.SIDE**2, idx.CLASSES
#: One training image in this many is held out: 10,000 of 60,000.
HELD_OUT = 6


def _source(name: str, sha256: str, packed_sha256: str) -> Source:
    url = f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}.gz"
    return Source(name, ("mnist", "MNIST/raw"), sha256, url, packed_sha256)


#: The files with images and labels of each split.
SOURCES = {
    "train": (
        _source(
            "train-images-idx3-ubyte",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        _source(
            "train-labels-idx1-ubyte",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
    ),
    "test": (
        _source(
            "t10k-images-idx3-ubyte",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        _source(
            "t10k-labels-idx1-ubyte",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
}


@dataclass(frozen=True, eq=False)
class Digits:
    """Images (n, 784) and labels (n,) of a file, and the indices (`items`) of those in a split, in its order."""

    path: Path
    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    items: NDArray[np.int64]

    def hold_out(self, seed: int) -> tuple[Digits, Digits]:
        """Return the images to train on and those held out, chosen as in nnRNN's code.

        The generator first draws a permutation of the 784 pixels, used or not, and then one of the images.
        """
        held = len(self.images) // HELD_OUT
        if held == 0:
            raise DataError(
                self.path, f"at least {HELD_OUT} images are expected to hold one out, found {len(self.images)}"
            )
        generator = np.random.RandomState(seed)
        generator.permutation(PIXELS)
        items = generator.permutation(len(self.images))
        return replace(self, items=items[:-held]), replace(self, items=items[-held:])


def read(part: str, data_dir: Path | None, verify: bool) -> Digits:
    """Read the images and labels of ``"train"`` or ``"test"``, in the order of the file.

    Raises:
        DataError: a file is missing, damaged, or with `verify` not the published one.
    """
    (image_path, image_data), (label_path, label_data) = (source.content(data_dir, verify) for source in SOURCES[part])
    images, labels = idx.images(image_path, image_data), idx.labels(label_path, label_data)
    if len(images) != len(labels):
        raise DataError(label_path, f"{len(images):,} labels are expected, one for each image, found {len(labels):,}")
    return Digits(image_path, images, labels, np.arange(len(images)))
