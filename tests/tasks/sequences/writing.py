"""Writes the same cases in every format, with libraries other than those under test where there are any."""

import csv
import gzip
import io
import wave
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Cases:
    """Cases of some steps each, with a class and a group."""

    values: list[np.ndarray]
    labels: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)


def cases(seed: int = 0, count: int = 12, channels: int = 3, equal: bool = False) -> Cases:
    """Random cases of 5 to 9 steps."""
    rng = np.random.default_rng(seed)
    lengths = [7] * count if equal else rng.integers(5, 10, count).tolist()
    values = [rng.normal(size=(length, channels)).round(6) for length in lengths]
    return Cases(values, [("run", "walk", "rest")[n % 3] for n in range(count)], [f"P{n // 3}" for n in range(count)])


def rows(found: Cases, time: bool = True) -> list[list[str]]:
    """A long table, the names of the columns first."""
    names = ["case", *(["time"] if time else []), *(f"c{n}" for n in range(found.values[0].shape[1]))]
    table = [[*names, "label", "subject"]]
    for number, (values, label, group) in enumerate(zip(found.values, found.labels, found.groups, strict=True)):
        for step, row in enumerate(values):
            clock = [repr(step * 0.5)] if time else []
            table.append([f"k{number}", *clock, *(repr(float(value)) for value in row), label, group])
    return table


def csv_text(table: Sequence[Sequence[str]], delimiter: str = ",", end: str = "\n") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows(table)
    return text.getvalue().encode()


def ts_text(found: Cases) -> bytes:
    head = "#a comment\n@problemName Walks\n@timeStamps false\n@univariate false\n"
    lines = [
        ":".join(",".join(repr(float(value)) for value in channel) for channel in values.T) + f":{label}"
        for values, label in zip(found.values, found.labels, strict=True)
    ]
    return (head + "@classLabel true rest run walk\n@data\n" + "\n".join(lines) + "\n").encode()


def wav_bytes(samples: np.ndarray, rate: int = 8000, width: int = 2, channels: int = 1) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(rate)
        sound.writeframes(samples.tobytes())
    return file.getvalue()


def npz(path: Path, found: Cases) -> Path:
    lengths = np.array([len(values) for values in found.values])
    padded = np.full((len(lengths), lengths.max(), found.values[0].shape[1]), np.nan)
    for number, values in enumerate(found.values):
        padded[number, : len(values)] = values
    names = np.array([f"c{n}" for n in range(padded.shape[2])])
    np.savez(path, X=padded, y=np.array(found.labels), lengths=lengths, groups=np.array(found.groups), channels=names)
    return path


def npz_one_after_another(path: Path, found: Cases) -> Path:
    lengths = np.array([len(values) for values in found.values])
    np.savez_compressed(
        path,
        X=np.concatenate(found.values),
        y=np.array(found.labels),
        lengths=lengths,
        groups=np.array(found.groups),
    )
    return path


def npy(path: Path, found: Cases) -> Path:
    lengths = np.array([len(values) for values in found.values])
    np.save(path, np.concatenate(found.values))
    for name, array in (("y", found.labels), ("lengths", lengths), ("groups", found.groups)):
        np.save(path.with_name(f"{path.stem}_{name}.npy"), np.array(array))
    return path


def parquet(path: Path, found: Cases) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, *table = rows(found)
    columns = [
        [float(entry) for entry in column] if name.startswith(("c0", "c1", "c2", "time")) else list(column)
        for name, column in zip(names, zip(*table, strict=True), strict=True)
    ]
    pq.write_table(pa.table(columns, names=names), path)
    return path


def folder(path: Path, found: Cases) -> Path:
    path.mkdir()
    names = [f"c{n}" for n in range(found.values[0].shape[1])]
    for number, values in enumerate(found.values):
        data = csv_text([names, *([repr(float(value)) for value in row] for row in values)])
        packed = number % 2 == 1
        (path / f"k{number}.csv{'.gz' if packed else ''}").write_bytes(gzip.compress(data) if packed else data)
    listed = [[f"k{n}", *both] for n, both in enumerate(zip(found.labels, found.groups, strict=True))]
    (path / "labels.csv").write_bytes(csv_text([["file", "label", "person"], *listed]))
    return path


def _bytes(make: Callable[[Cases], bytes]) -> Callable[[Path, Cases], Path]:
    def write(path: Path, found: Cases) -> Path:
        data = make(found)
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    return write


def _shuffled(found: Cases) -> bytes:
    """All cases at the same time: rows of different cases in turn."""
    names, *table = rows(found)
    return csv_text([names, *sorted(table, key=lambda row: float(row[1]))])


#: How each format is written: a name with the right ending, and who writes it.
WRITERS: dict[str, Callable[[Path, Cases], Path]] = {
    "padded.npz": npz,
    "after.npz": npz_one_after_another,
    "map.npy": npy,
    "long.csv": _bytes(lambda found: csv_text(rows(found))),
    "long.csv.gz": _bytes(lambda found: csv_text(rows(found))),
    "semicolons.csv": _bytes(lambda found: csv_text(rows(found), ";", "\r\n")),
    "bom.csv": _bytes(lambda found: b"\xef\xbb\xbf" + csv_text(rows(found))),
    "decimal_comma.csv": _bytes(lambda found: csv_text(rows(found), ";").replace(b".", b",")),
    "tabs.tsv": _bytes(lambda found: csv_text(rows(found), "\t")),
    "empty_lines.csv": _bytes(lambda found: csv_text(rows(found)).replace(b"\n", b"\n\n")),
    "in_turn.csv": _bytes(_shuffled),
    "table.parquet": parquet,
    "walks.ts": _bytes(ts_text),
    "walks.ts.gz": _bytes(ts_text),
    "folder": folder,
}
