"""A folder with a CSV or WAV file for each case, and labels.csv with the label of each."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from eigenloop.errors import DataError
from eigenloop.tasks.sequences import bounded, csv_file, libraries, wav
from eigenloop.tasks.sequences.building import built
from eigenloop.tasks.sequences.columns import check_names, is_text, numbers, texts, usual
from eigenloop.tasks.sequences.data import Origin, SequenceData, stacked
from eigenloop.tasks.sequences.joining import together
from eigenloop.tasks.sequences.options import Options

#: The file that lists the cases, and the file extensions of cases.
LIST = "labels.csv"
ENDINGS = (".csv", ".csv.gz", ".wav")


def read(path: Path, options: Options) -> SequenceData:
    """Read the cases that ``labels.csv`` lists by file name, with or without extension; all files if there is no list.

    Labels are in ``labels.csv``, or per step in a column of the files of the cases.

    Raises:
        DataError: a listed file is missing, or a file cannot be read.
    """
    files = _files(path)
    listed = _listed(path / LIST, options) if (path / LIST).is_file() else {}
    names: list[str] = listed.get("case", sorted(files))
    chosen = [_file(path, files, name) for name in names]
    if not chosen:
        raise DataError(path, "the folder holds no case: put one .csv or .wav file for each into it, and labels.csv")
    if len({file.suffix == ".wav" for file in chosen}) > 1:
        raise DataError(path, "the folder mixes .csv and .wav cases: use two folders")
    labels = listed.get("label")
    columns = dataclasses.replace(options.columns, case=None, group=None, part=None, weight=None)
    within = dataclasses.replace(options, columns=columns if labels is None else dataclasses.replace(columns, label=()))
    cases = _cases(path, chosen, within, _sounds() if chosen[0].suffix == ".wav" else _table)
    if labels is not None and cases.labels is not None:
        raise DataError(path, f"labels are in {LIST} and in {chosen[0].name} too: leave one of them out")
    left = len(files) - len(set(chosen))
    data = built(
        origin=Origin(path, (*([path / LIST] if listed else []), *chosen)),
        values=cases.values,
        rows=cases.rows,
        starts=cases.starts,
        lengths=cases.lengths,
        channel_names=cases.channel_names,
        labels=labels,
        groups=listed.get("group"),
        parts=listed.get("part"),
        weights=listed.get("weight"),
        times=cases.times,
        case_names=names,
        where=lambda case: f"case {names[case]} in {LIST}",
        notes=[f"{left} files are not in {LIST} and were left out"] if left else [],
    )
    if cases.labels is None:
        return data
    return dataclasses.replace(data, labels=cases.labels, per_step=True, class_names=cases.class_names)


def _files(path: Path) -> dict[str, Path]:
    try:
        files = sorted(file for file in path.iterdir() if file.name.endswith(ENDINGS) and file.name != LIST)
    except OSError as error:
        raise DataError(path, f"the folder cannot be read: {error.strerror or error}") from error
    return {file.name: file for file in files}


def _file(path: Path, files: dict[str, Path], name: str) -> Path:
    for ending in ("", *ENDINGS):
        if (file := files.get(name + ending)) is not None:
            return file
    raise DataError(path, f"{LIST} lists {name[:60]!r}, but there is no such .csv or .wav file in the folder")


def _listed(file: Path, options: Options) -> dict[str, Any]:
    """Return the columns of labels.csv by role; the first column is the case if no name suggests another."""
    libraries.pyarrow(file)
    data = bounded.content(file, options.max_bytes)
    head, given = csv_file.header(file, data), options.columns
    check_names(file, head.names)
    own = {"case": given.case, "label": next(iter(given.label), None), "group": given.group, "part": given.part}
    chosen = {role: name if name in head.names else usual(role, head.names) for role, name in own.items()}
    chosen["weight"] = given.weight
    if given.weight is not None and given.weight not in head.names:
        raise DataError(file, f"there is no column {given.weight!r}: the columns are {', '.join(head.names)[:300]}")
    chosen["case"] = chosen["case"] or head.names[0]
    frame = csv_file.table(file, data, head, text={name for role, name in chosen.items() if name and role != "label"})

    def line(row: int) -> str:
        return f"line {row + 2}"

    columns: dict[str, Any] = {
        role: texts(file, frame, name).tolist() for role, name in chosen.items() if name and role != "label"
    }
    if len(set(columns["case"])) < len(columns["case"]):
        twice = Counter(columns["case"]).most_common(1)[0][0]
        raise DataError(file, f"case {twice[:60]!r} is listed twice: keep one line for each")
    if (label := chosen["label"]) is not None:
        columns["label"] = texts(file, frame, label) if is_text(frame, label) else numbers(file, frame, label, line)
    return columns


def _cases(
    path: Path, files: list[Path], options: Options, read_one: Callable[[Path, Options], SequenceData]
) -> SequenceData:
    """Read all files and join them; raises DataError if they exceed the memory limit together."""
    cases, left = [], options.max_bytes
    for file in files:
        cases.append(read_one(file, options))
        left -= cases[-1].values.nbytes
        if left < 0:
            raise bounded.too_large(path, "it", options.max_bytes)
    return together(cases)


def _table(file: Path, options: Options) -> SequenceData:
    """Read the CSV file of a case; labels in it are per step."""
    per_step = True if options.per_step is None else options.per_step
    data = csv_file.read(file, dataclasses.replace(options, per_step=per_step))
    if len(data) > 1:
        raise DataError(file, f"it holds {len(data)} cases: in a folder every case has a file of its own")
    return dataclasses.replace(data, notes=(), groups=None, group_names=())


def _sounds() -> Callable[[Path, Options], SequenceData]:
    """Return a reader of WAV files, which raises a DataError if their sample rates differ."""
    rates: list[int] = []

    def read_one(file: Path, options: Options) -> SequenceData:
        sound, rate = wav.samples(file, options.max_bytes)
        rates.append(rate)
        if rate != rates[0]:
            raise DataError(file, f"it has {rate:,} samples a second, the first {rates[0]:,}: bring all to one rate")
        values = sound[:, None].astype(np.float32) if options.audio is None else options.audio(sound, rate)
        rows, starts = stacked(1)
        names = tuple(f"{'mel' if options.audio else 'sound'}{n}" for n in range(values.shape[1]))
        return SequenceData(values[None], rows, starts, np.array([len(values)]), Origin(file, (file,)), names)

    return read_one
