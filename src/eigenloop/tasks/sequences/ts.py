"""The .ts files of the UEA and UCR archives: one case per line, channels separated by colons, the label at the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenloop.errors import DataError
from eigenloop.tasks.sequences import bounded
from eigenloop.tasks.sequences.building import built
from eigenloop.tasks.sequences.data import Origin, SequenceData, ragged
from eigenloop.tasks.sequences.options import Options


def read(path: Path, options: Options) -> SequenceData:
    """Read the cases after ``@data``; a question mark is a missing value.

    Raises:
        DataError: the file is not a valid .ts file, or has timestamps.
    """
    try:
        lines = bounded.content(path, options.max_bytes).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(
            path, f"it is not UTF-8 text ({error.reason} at byte {error.start}): save it as such"
        ) from error
    tags, first = _tags(path, lines)
    labelled = _flag(tags, "classlabel") or _flag(tags, "targetlabel")
    if _flag(tags, "timestamps"):
        raise DataError(
            path, "it has timestamps (@timeStamps true), which are not read: save it as CSV with a time column"
        )
    cases: list[NDArray[np.float64]] = []
    labels: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(lines[first:], first + 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split(":")
        if labelled:
            labels.append(fields.pop().strip())
        if cases and len(fields) != cases[0].shape[1]:
            raise DataError(path, f"line {number} has {len(fields)} channels where others have {cases[0].shape[1]}")
        cases.append(_case(path, number, fields))
        numbers.append(number)
    if not cases:
        raise DataError(path, "there is no case after @data: get the file again")
    _known(path, tags, labels, numbers)
    lengths = np.array([len(case) for case in cases])
    rows, starts = ragged(lengths)
    return built(
        origin=Origin(path, (path,)),
        values=np.concatenate(cases)[None],
        rows=rows,
        starts=starts,
        lengths=lengths,
        labels=_label_array(path, tags, labels, numbers) if labelled else None,
        where=lambda case: f"line {numbers[case]}",
    )


def _tags(path: Path, lines: list[str]) -> tuple[dict[str, list[str]], int]:
    """Return the words after each @tag, by tag in lower case, and the index of the first line of data."""
    tags: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if not words[0].startswith("@"):
            break
        if words[0].lower() == "@data":
            return tags, number + 1
        tags[words[0][1:].lower()] = words[1:]
    raise DataError(path, "no line says @data, so this is not a .ts file: get it again")


def _flag(tags: dict[str, list[str]], name: str) -> bool:
    return tags.get(name, ["false"])[:1] in (["true"], ["True"])


def _case(path: Path, number: int, fields: list[str]) -> NDArray[np.float64]:
    channels = [_channel(path, number, column, field) for column, field in enumerate(fields)]
    if len({len(channel) for channel in channels}) != 1:
        lengths = ", ".join(str(len(channel)) for channel in channels[:8])
        raise DataError(path, f"the channels in line {number} have different lengths ({lengths}): all need the same")
    return np.stack(channels, axis=1)


def _channel(path: Path, number: int, column: int, field: str) -> NDArray[np.float64]:
    texts = field.split(",")
    try:
        return np.array([np.nan if text.strip() == "?" else float(text) for text in texts])
    except ValueError:
        bad = next(text for text in texts if text.strip() != "?" and not _is_float(text))
        raise DataError(
            path, f"{bad[:40]!r} in line {number}, channel {column} is not a number: correct the line"
        ) from None


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _known(path: Path, tags: dict[str, list[str]], labels: list[str], numbers: list[int]) -> None:
    """Raise a DataError if a label is not one that the header lists."""
    listed = tags.get("classlabel", [])[1:]
    for label, number in zip(labels, numbers, strict=False):
        if listed and label not in listed:
            raise DataError(path, f"the label {label[:40]!r} in line {number} is not one that @classLabel lists")


def _label_array(path: Path, tags: dict[str, list[str]], labels: list[str], numbers: list[int]) -> NDArray[np.generic]:
    if not _flag(tags, "targetlabel"):
        return np.array(labels, object)
    for label, number in zip(labels, numbers, strict=True):
        if not _is_float(label):
            raise DataError(path, f"the target {label[:40]!r} in line {number} is not a number: correct the line")
    return np.array(labels, object).astype(np.float64)[:, None]
