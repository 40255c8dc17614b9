"""Finding the utterances of TIMIT below a folder: the full corpus (LDC93S1) or the free sample distributed by NLTK.

File names may be in upper or lower case. The SA sentences, which all speakers read, are left out, as in all papers.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks import files
from eigenloop.tasks.speech.audio import signal
from eigenloop.tasks.speech.speakers import CORE_TEST, DEVELOPMENT, SAMPLE_REGIONS

#: The file name of the free sample as an archive, and its sha256.
ARCHIVE = "timit_sample_nltk_16speakers.tar.gz"
ARCHIVE_SHA256 = "5c60254675af4e8fd4089c0c165b3f3d605d10c96f7d6cd94c21d2224ccf1eb0"
#: Number of speakers in each split; each reads eight sentences.
SPEAKERS = {"full": {"train": 462, "valid": 50, "test": 24}, "sample": {"train": 12, "valid": 2, "test": 2}}
SENTENCES = 8

_TEST_PARTS = dict.fromkeys(DEVELOPMENT, "valid") | dict.fromkeys(CORE_TEST, "test")
_FOLDERS = re.compile("timit|timit_sample|ldc93s1|data")
_PART, _REGION, _SPEAKER = re.compile("train|test"), re.compile("dr[1-8]"), re.compile("[fm][a-z]{3}[0-9]")
_SAMPLE_SPEAKER = re.compile("dr([1-8])-([fm][a-z]{3}[0-9])")
_WAV = re.compile(r"(s[ix][0-9]+)\.wav(\.wav)?")
_MEMBER = re.compile(rf"timit/{_SAMPLE_SPEAKER.pattern}/(s[ix][0-9]+)\.wav")


@dataclass(frozen=True)
class Utterance:
    """One sentence read by one speaker.

    Attributes:
        speaker: the speaker's name, in lower case.
        path: the file, or its path in the archive.
        packed: the content if it comes from the archive; otherwise it is read from the file when needed.
    """

    speaker: str
    path: Path
    packed: bytes | None = None

    def signal(self) -> NDArray[np.float64]:
        """Return the audio, resampled to 8 kHz."""
        return signal(self.path, files.read(self.path) if self.packed is None else self.packed)


@dataclass(frozen=True)
class Corpus:
    """The full corpus or the sample, with its utterances by split, ordered by region, speaker and sentence."""

    kind: Literal["full", "sample"]
    parts: Mapping[str, tuple[Utterance, ...]]


def find_corpus(data_dir: Path | None) -> Corpus:
    """Return the full corpus, or else the free sample, from the data folder.

    Raises:
        DataError: there is neither, or it is incomplete.
    """
    folder = files.data_folder(data_dir)
    roots = list(_roots(folder)) if folder is not None else []
    for root in roots:
        if any(_below(part, _REGION) for part in _below(root, _PART)):
            return _checked(root, "full", _full(root))
    for root in roots:
        if _below(root, _SAMPLE_SPEAKER):
            return _checked(root, "sample", _sample(root))
    for root in roots:
        if (path := root / ARCHIVE).is_file():
            return _checked(path, "sample", _archive(path))
    looked = f"it is not in {folder}" if folder is not None else "no data folder is set"
    put = (
        "put the corpus (LDC93S1, from the Linguistic Data Consortium), or NLTK's free sample of it "
        "(`nltk.download('timit')`, unpacked) into a folder timit, and name the folder above with"
    )
    raise DataError(
        "TIMIT",
        f"{looked}, and its licence allows no download",
        f"{put} data_dir or {files.VARIABLE}",
        f"{put} --data-dir or {files.VARIABLE}",
    )


def _full(root: Path) -> Iterator[tuple[str, Utterance]]:
    for part in _below(root, _PART):
        for region in _below(part, _REGION):
            for folder in _below(region, _SPEAKER):
                name = folder.name.lower()
                split = "train" if part.name.lower() == "train" else _TEST_PARTS.get(name)
                if split is not None:
                    yield from ((split, Utterance(name, path)) for path in _sentences(folder))


def _sample(root: Path) -> Iterator[tuple[str, Utterance]]:
    for folder in _below(root, _SAMPLE_SPEAKER):
        region, name = folder.name.lower()[2], folder.name.lower()[4:]
        yield from ((SAMPLE_REGIONS[region], Utterance(name, path)) for path in _sentences(folder))


def _archive(path: Path) -> Iterator[tuple[str, Utterance]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(path, f"it cannot be read: {error.strerror or error}") from error
    if (digest := hashlib.sha256(data).hexdigest()) != ARCHIVE_SHA256:
        raise DataError(
            path,
            f"this is not the known archive: {len(data):,} bytes with sha256 {digest[:16]}... where "
            f"{ARCHIVE_SHA256[:16]}... is expected; unpack it instead, if it is the sample, or get it again",
        )
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            match, content = _MEMBER.fullmatch(member.name), archive.extractfile(member)
            if match and content:
                yield SAMPLE_REGIONS[match[1]], Utterance(match[2], path / member.name, content.read())


def _checked(path: Path, kind: Literal["full", "sample"], part_utterances: Iterator[tuple[str, Utterance]]) -> Corpus:
    parts: dict[str, list[Utterance]] = {part: [] for part in SPEAKERS[kind]}
    for part, utterance in part_utterances:
        parts[part].append(utterance)
    for part, speakers in SPEAKERS[kind].items():
        sentences = Counter(utterance.speaker for utterance in parts[part])
        if len(sentences) != speakers or set(sentences.values()) != {SENTENCES}:
            odd = ", ".join(f"{name} has {count}" for name, count in sentences.items() if count != SENTENCES)
            raise DataError(
                path,
                f"the {part} split has {len(sentences)} speakers with {len(parts[part]):,} sentences besides SA, where "
                f"{speakers} with {SENTENCES} each are expected{f' ({odd})' if odd else ''}: copy all of the corpus",
            )
    return Corpus(kind, {part: tuple(utterances) for part, utterances in parts.items()})


def _roots(folder: Path) -> Iterator[Path]:
    level = [folder]
    for _ in range(4):
        yield from level
        level = [child for parent in level for child in _below(parent, _FOLDERS)]


def _below(folder: Path, names: re.Pattern[str]) -> list[Path]:
    return [path for path in _listed(folder) if names.fullmatch(path.name.lower()) and path.is_dir()]


def _sentences(folder: Path) -> list[Path]:
    """List the wav files; if there are ``si943.wav`` and its copy ``si943.wav.wav``, only the first."""
    first: dict[str, Path] = {}
    for path in _listed(folder):
        if match := _WAV.fullmatch(path.name.lower()):
            first.setdefault(match[1], path)
    return list(first.values())


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir(), key=lambda path: (path.name.lower(), path.name))
    except OSError as error:
        raise DataError(folder, f"the folder cannot be read: {error.strerror or error}") from error
