"""Tiny data folders in the published formats, and tests kept away from the network and from data of the user's."""

import gzip
import os
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pooch
import pytest

from eigenloop.tasks.files import VARIABLE, Source

#: The folder with real data, as it is before `isolate` hides it.
REAL = Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None


def needs(source: Source) -> pytest.MarkDecorator:
    """Skip where the real data is not at hand."""
    there = REAL is not None and source.given(REAL) is not None
    return pytest.mark.skipif(not there, reason=f"set {VARIABLE} to a folder with {source.folders[0]}/{source.name}")


def isolate(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """No data folder from outside, an empty folder of downloads, and no network."""

    def no_network(*_: object, **__: object) -> str:
        raise ConnectionError("no network in tests")

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: cache / project)
    monkeypatch.setattr(pooch, "retrieve", no_network)


def write(path: Path, data: bytes, packed: bool = False) -> Path:
    """Write a file, gzipped under a name of its own if wanted."""
    path = path.with_name(path.name + ".gz") if packed else path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    return path


def idx(array: np.ndarray) -> bytes:
    """Write an array of bytes in the idx format."""
    return struct.pack(f">{1 + array.ndim}I", 0x0800 + array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def digits(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random images, told apart by their first two pixels, and labels."""
    generator = np.random.default_rng(seed)
    images = generator.integers(0, 256, (size, 28, 28))
    images[:, 0, 0], images[:, 0, 1] = np.arange(size) % 256, np.arange(size) // 256
    return images, generator.integers(0, 10, size)


def mnist_files(train: int = 60, test: int = 20) -> dict[str, bytes]:
    """The four files, by name."""
    files = {}
    for part, size, seed in (("train", train, 1), ("t10k", test, 2)):
        images, labels = digits(size, seed)
        files[f"{part}-images-idx3-ubyte"], files[f"{part}-labels-idx1-ubyte"] = idx(images), idx(labels)
    return files


#: Every word and character of valid and test occurs in train; one line is empty, and some are long.
SENTENCES = {
    "train": ["the cat sat on the mat", "a dog", "", "it 's N <unk> of the day , or was it ?", "x", "the end"] * 3,
    "valid": ["the dog sat", "x", "on the mat"],
    "test": ["a cat or a dog ?", "", "the end of the day"],
}


def ptb_lines(split: str) -> list[str]:
    """The characters of each line, with its end."""
    return [line.replace(" ", "_") + "\n" for line in SENTENCES[split]]


def word_files(sentences: Mapping[str, list[str]] = SENTENCES) -> dict[str, bytes]:
    """The word files, by name: a space before the first and after the last word."""
    return {
        f"ptb.{split}.txt": "".join(f" {line} \n" if line else " \n" for line in lines).encode()
        for split, lines in sentences.items()
    }


def character_files(sentences: Mapping[str, list[str]] = SENTENCES) -> dict[str, bytes]:
    """The character files, by name: a space after every character."""
    return {
        f"ptb.char.{split}.txt": "".join(c + " " for line in lines for c in line.replace(" ", "_") + "\n").encode()
        for split, lines in sentences.items()
    }


def write_all(folder: Path, files: Mapping[str, bytes], packed: bool = False) -> Path:
    """Write files into a folder and return the folder above."""
    for name, data in files.items():
        write(folder / name, data, packed)
    return folder.parent
