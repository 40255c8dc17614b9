"""A folder with a file for each case, CSV or WAV, and labels.csv that says what each is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenloop.tasks.errors import DataError
from eigenloop.tasks.sequences import bounded, csv_file, libraries, wav
from eigenloop.tasks.sequences.building import built
from eigenloop.tasks.sequences.columns import USUAL, numbers, roles, texts
from eigenloop.tasks.sequences.data import Origin, SequenceData, ragged
from eigenloop.tasks.sequences.options import Columns, Options

#: The list of cases in the folder, and the endings of cases.
LIST = "labels.csv"
ENDINGS = (".csv", ".csv.gz", ".wav")


def read(path: Path, options: Options) -> SequenceData:
    """Read the cases that ``labels.csv`` lists by file name (or name without ending), or all if there is none."""
    files = _files(path)
    listed = _listed(path, options) if (path / LIST).is_file() else None
    names = sorted(files) if listed is None else listed["case"]
    chosen = [_file(path, files, name) for name in names]
    if not chosen:
        raise DataError(path, "the folder holds no case: put one .csv or .wav file for each into it, and labels.csv")
    if len({file.suffix == ".wav" for file in chosen}) > 1:
        raise DataError(path, "the folder mixes .csv and .wav cases: use two folders")
    if chosen[0].suffix == ".wav":
        cases, channels = _sounds(chosen, options), None
    else:
        cases, channels = _tables(chosen, options)
    lengths = np.array([len(case) for case in cases])
    rows, starts = ragged(lengths)
    left = len(files) - len(set(chosen))
    return built(
        origin=Origin(path, (*([path / LIST] if listed else []), *chosen)),
        values=np.concatenate(cases)[None],
        rows=rows,
        starts=starts,
        lengths=lengths,
        channel_names=channels,
        labels=None if listed is None else listed.get("label"),
        groups=None if listed is None else listed.get("group"),
        parts=None if listed is None else listed.get("part"),
        case_names=names,
        where=lambda case: f"case {names[case]} in {LIST}",
        notes=[f"{left} files are not in {LIST} and were left out"] if left else [],
    )


def _files(path: Path) -> dict[str, Path]:
    try:
        found = sorted(file for file in path.iterdir() if file.name.endswith(ENDINGS) and file.name != LIST)
    except OSError as error:
        raise DataError(path, f"the folder cannot be read: {error.strerror or error}") from error
    return {file.name: file for file in found}


def _file(path: Path, files: dict[str, Path], name: str) -> Path:
    for ending in ("", *ENDINGS):
        if (file := files.get(name + ending)) is not None:
            return file
    raise DataError(path, f"{LIST} lists {name[:60]!r}, but there is no such .csv or .wav file in the folder")


def _listed(path: Path, options: Options) -> dict[str, Any]:
    """Return the columns of labels.csv by what they are."""
    libraries.pyarrow(path)
    file, given = path / LIST, options.columns
    data = bounded.content(file, options.max_bytes)
    names = csv_file.header(file, data)[0]
    own = {role: getattr(given, role) for role in ("case", "group", "part") if getattr(given, role) in names}
    usual = {role: next((n for u in USUAL[role] for n in names if n.lower() == u), None) for role in USUAL}
    chosen = {**usual, **own, "label": next((name for name in given.label if name in names), usual["label"])}
    chosen["case"] = chosen["case"] or names[0]
    frame = csv_file.table(file, data, text={name for role, name in chosen.items() if name and role != "label"})

    def line(row: int) -> str:
        return f"line {row + 2}"

    found: dict[str, Any] = {
        role: texts(file, frame, name, line).tolist()
        for role in ("case", "group", "part")
        if (name := chosen[role]) is not None
    }
    if len(set(found["case"])) < len(found["case"]):
        twice = next(name for row, name in enumerate(found["case"]) if name in found["case"][:row])
        raise DataError(file, f"case {twice[:60]!r} is listed twice: keep one line for each")
    if (label := chosen["label"]) is not None:
        is_text = roles(file, names, Columns(channels=(label,))).is_text(frame, label)
        found["label"] = texts(file, frame, label, line) if is_text else numbers(file, frame, label, line)
    return found


def _tables(files: list[Path], options: Options) -> tuple[list[NDArray[np.float64]], tuple[str, ...]]:
    """Return the channels of every CSV file; all must have the same."""
    libraries.pyarrow(files[0])
    cases: list[NDArray[np.float64]] = []
    left = options.max_bytes
    names: tuple[str, ...] = ()
    for file in files:
        data = csv_file.read(file, options)
        if len(data) > 1:
            raise DataError(file, f"it holds {len(data)} cases: in a folder every case has a file of its own")
        if cases and data.channel_names != names:
            raise DataError(
                file,
                f"its channels are {', '.join(data.channel_names)[:100]}, those of {files[0].name} "
                f"{', '.join(names)[:100]}: all cases need the same",
            )
        names = data.channel_names
        cases.append(data.values[0])
        left -= data.values.nbytes
        if left < 0:
            raise bounded.too_large(files[0].parent, "it", options.max_bytes)
    return cases, names


def _sounds(files: list[Path], options: Options) -> list[NDArray[Any]]:
    """Return the frames, or samples, of every sound; all need the same sample rate."""
    cases: list[NDArray[Any]] = []
    left, first_rate = options.max_bytes, None
    for file in files:
        sound, rate = wav.samples(file, options.max_bytes)
        first_rate = first_rate or rate
        if rate != first_rate:
            raise DataError(
                file, f"it has {rate:,} samples a second, {files[0].name} {first_rate:,}: bring all to one rate"
            )
        cases.append(sound[:, None].astype(np.float32) if options.audio is None else options.audio(sound, rate))
        left -= cases[-1].nbytes
        if left < 0:
            raise bounded.too_large(files[0].parent, "it", options.max_bytes)
    return cases
