"""The text of the Penn Treebank as prepared by Mikolov et al. (2012), as indices of characters or words.

Word files hold one sentence per line. Character files follow from them: spaces at the ends of a line are dropped, those
between words become ``_``, and every character, including the newline, is followed by a space, so that characters are
at even offsets. The newline is the token ``<eos>``. Tokens are numbered by their first occurrence in the training text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.files import Source

EOS, BLANK = "<eos>", "_"
SPLITS = ("train", "valid", "test")
_ADDRESS = "https://raw.githubusercontent.com/tomsercu/lstm/master/data/"
_PRINTABLE = bytes(range(32, 127)) + b"\n"
#: Index of a character that does not occur in the training text.
_UNKNOWN = 255

_WORD_SHA256 = {
    "train": "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
    "valid": "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
    "test": "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
}
_CHARACTER_SHA256 = {
    "train": "e313d91425e06c4f0a8fb6e881dcce0c291f2a0e9f4dda54833069b122f91da9",
    "valid": "21661f63ec355085879458b6524644d4add5573541b4be14fb52ab2e2e995eb8",
    "test": "1ef5607ac3c463b16e38bfe7900dd3bfc91de5a96e0f21e7eab5188b465b8ebe",
}
WORD_FILES = {
    split: Source(f"ptb.{split}.txt", ("ptb",), sha256, f"{_ADDRESS}ptb.{split}.txt")
    for split, sha256 in _WORD_SHA256.items()
}
CHARACTER_FILES = {
    split: Source(f"ptb.char.{split}.txt", ("ptb",), sha256) for split, sha256 in _CHARACTER_SHA256.items()
}


@dataclass(frozen=True, eq=False)
class Corpus:
    """The texts of the three splits as token indices, and the token of each index."""

    vocabulary: tuple[str, ...]
    tokens: Mapping[str, NDArray[np.integer]]


def characters(data_dir: Path | None, verify: bool) -> Corpus:
    """Read the character files, or derive them from the word files if there are none.

    Raises:
        DataError: a file is missing or damaged, or a character does not occur in the training text.
    """
    texts = {split: _characters(split, data_dir, verify) for split in SPLITS}
    train = texts["train"][1]
    counts = np.bincount(np.frombuffer(train, dtype=np.uint8))
    symbols = sorted((bytes([code]) for code in np.flatnonzero(counts)), key=train.find)
    numbers = bytearray([_UNKNOWN] * 256)
    for number, symbol in enumerate(symbols):
        numbers[symbol[0]] = number
    tokens = {}
    for split, (path, text) in texts.items():
        tokens[split] = np.frombuffer(text.translate(numbers), dtype=np.uint8)
        if (unknown := np.flatnonzero(tokens[split] == _UNKNOWN)).size:
            offset = int(unknown[0])
            raise _unknown(path, chr(text[offset]), 1 + text.count(b"\n", 0, offset), texts["train"][0])
    vocabulary = tuple(EOS if symbol == b"\n" else symbol.decode() for symbol in symbols)
    return Corpus(vocabulary, tokens)


def words(data_dir: Path | None, verify: bool) -> Corpus:
    """Read the word files.

    Raises:
        DataError: a file is missing or damaged, or a word does not occur in the training text.
    """
    texts = {}
    for split in SPLITS:
        path, text = _lines(*WORD_FILES[split].content(data_dir, verify))
        texts[split] = path, text.decode("ascii").replace("\n", f" {EOS} ").split()
    numbers = {word: number for number, word in enumerate(dict.fromkeys(texts["train"][1]))}
    tokens = {}
    for split, (path, text_words) in texts.items():
        tokens[split] = np.fromiter((numbers.get(word, -1) for word in text_words), np.int32, len(text_words))
        if (unknown := np.flatnonzero(tokens[split] < 0)).size:
            offset = int(unknown[0])
            raise _unknown(path, text_words[offset], 1 + text_words[:offset].count(EOS), texts["train"][0])
    return Corpus(tuple(numbers), tokens)


def characters_of(words: bytes) -> bytes:
    r"""Return the characters of a word file, without the spaces that a character file has between them.

    >>> characters_of(b" the <unk> said \n no \n")
    b'the_<unk>_said\nno\n'
    """
    return b"".join(line.strip().replace(b" ", b"_") + b"\n" for line in words.splitlines())


def _characters(split: str, data_dir: Path | None, verify: bool) -> tuple[Path, bytes]:
    source, origin = CHARACTER_FILES[split], WORD_FILES[split]
    if source.given(data_dir) is None and (verify or origin.given(data_dir) is not None):
        path, text = _lines(*origin.content(data_dir, verify))
        return path, characters_of(text)
    path, data = source.content(data_dir, verify)
    _printable(path, data)
    text, apart = data[::2], data[1::2]
    if strange := apart.lstrip(b" "):
        raise _found(path, data, 2 * (len(apart) - len(strange)) + 1, "a space is expected after every character")
    if (position := text.find(b" ")) >= 0:
        raise _found(path, data, 2 * position, "a character is expected at even offsets, and _ for a space")
    if len(text) != len(apart):
        raise _found(path, data, len(data) - 1, "a space is expected after the last character too")
    return _lines(path, text)


def _lines(path: Path, text: bytes) -> tuple[Path, bytes]:
    """Return a path and its text; raises DataError if the text is not printable or does not end with a newline."""
    _printable(path, text)
    if not text.endswith(b"\n"):
        raise DataError(path, f"a newline is expected at the end, found {chr(text[-1])!r}: it may be cut off")
    return path, text


def _printable(path: Path, data: bytes) -> None:
    if not data:
        raise DataError(path, "a text is expected, and the file is empty")
    if strange := data.translate(None, _PRINTABLE):
        raise _found(path, data, data.find(strange[:1]), "printable ASCII is expected")


def _found(path: Path, data: bytes, offset: int, wanted: str) -> DataError:
    line = 1 + data.count(b"\n", 0, offset)
    return DataError(path, f"{wanted}; found byte {data[offset]:#04x} in line {line}, offset {offset}")


def _unknown(path: Path, token: str, line: int, train: Path) -> DataError:
    return DataError(path, f"every token is expected to occur in {train.name} too; found {token!r} in line {line}")
