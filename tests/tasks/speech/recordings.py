"""Recordings for tests: files in both formats, and corpora in both layouts, of noise."""

import io
import itertools
import os
import struct
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from eigenloop.tasks.speech.speakers import CORE_TEST, DEVELOPMENT

Samples = NDArray[np.int16]

SENTENCES = ("sa1", "sa2", "si1", "si20", "si3", "sx4", "sx5", "sx6", "sx7", "sx8")
SAMPLE = tuple(f"dr{region}-{name}{region}" for region in range(1, 9) for name in ("faaa", "mbbb"))


def noise(count: int, seed: int = 0) -> Samples:
    return np.random.default_rng(seed).integers(-3000, 3000, count).astype(np.int16)


def riff(samples: Samples, rate: int = 16000, channels: int = 1, bits: int = 16) -> bytes:
    data = samples.astype("<i2").tobytes()
    frame = channels * bits // 8
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * frame, frame, bits)
    return (
        struct.pack("<4sI4s", b"RIFF", 36 + len(data), b"WAVE") + form + struct.pack("<4sI", b"data", len(data)) + data
    )


def sphere(samples: Samples, order: str = "01", changes: dict[str, str | None] | None = None) -> bytes:
    fields: dict[str, str | None] = {
        "utterance_id": "-s4 test",
        "channel_count": "-i 1",
        "sample_count": f"-i {len(samples)}",
        "sample_rate": "-i 16000",
        "sample_n_bytes": "-i 2",
        "sample_byte_format": f"-s2 {order}",
        "sample_sig_bits": "-i 16",
    } | (changes or {})
    lines = [f"{name} {value}" for name, value in fields.items() if value is not None]
    header = "\n".join(["NIST_1A", "   1024", *lines, "end_head", ""]).encode().ljust(1024)
    return header + samples.astype({"01": "<i2", "10": ">i2"}[order]).tobytes()


FORMATS: dict[str, Callable[[Samples], bytes]] = {
    "riff": riff,
    "sphere little-endian": sphere,
    "sphere big-endian": lambda samples: sphere(samples, "10"),
}


def write(folder: Path, sentences: Iterable[str], encode: Callable[[Samples], bytes], seed: int, upper: bool) -> None:
    folder.mkdir(parents=True)
    for number, sentence in enumerate(sentences):
        name = f"{sentence}.wav"
        samples = noise(300 + 97 * ((seed + number) % 5), 100 * seed + number)
        (folder / (name.upper() if upper else name)).write_bytes(encode(samples))


def write_sample(folder: Path, encode: Callable[[Samples], bytes] = riff, upper: bool = False) -> Path:
    """Write 16 speakers of 10 sentences into folders dr1-faaa1, ..."""
    for seed, speaker in enumerate(SAMPLE):
        write(folder / (speaker.upper() if upper else speaker), SENTENCES, encode, seed, upper)
    return folder


def write_full(folder: Path, encode: Callable[[Samples], bytes] = sphere, upper: bool = True) -> Path:
    """Write TRAIN with 462 speakers and TEST with those of the lists and one more."""
    letters = map("".join, itertools.product("abcdefgh", repeat=3))
    speakers = [("train", f"f{next(letters)}0") for _ in range(462)]
    speakers += [("test", name) for name in sorted(DEVELOPMENT | CORE_TEST | {"fzzz9"})]
    for seed, (part, speaker) in enumerate(speakers):
        parts = (part, f"dr{seed % 8 + 1}", speaker)
        write(folder.joinpath(*(p.upper() if upper else p for p in parts)), SENTENCES, encode, seed % 20, upper)
    return folder


def packed(folder: Path) -> bytes:
    """Pack a sample into an archive, in an order that is not the alphabet's."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for path in sorted(folder.rglob("*"), reverse=True):
            archive.add(path, f"timit/{path.relative_to(folder).as_posix()}", recursive=False)
    return content.getvalue()


def real_data() -> Path:
    """Return the data folder, where there is one with the sample; else skip."""
    folder = os.environ.get("EIGENLOOP_DATA")
    if not folder or not list(Path(folder).glob("timit_sample/*.tar.gz")):
        pytest.skip("EIGENLOOP_DATA names no folder with timit_sample/, the free sample of TIMIT")
    return Path(folder)
