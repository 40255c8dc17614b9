"""10,000 damaged files: each is read or refused with a sentence, nothing in them runs, memory and time are bounded.

``EIGENLOOP_FUZZ=10000`` draws them all, over all formats together; without it, 4,000 in CI and 1,000 elsewhere.
"""

import gzip
import io
import os
import pickle
import resource
import struct
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from writing import WRITERS, cases, csv_text, rows, ts_text, wav_bytes

from eigenloop.tasks import DataError
from eigenloop.tasks.sequences import Options, SequenceData, describe, read

TOTAL = int(os.environ.get("EIGENLOOP_FUZZ", "4000" if os.environ.get("CI") else "1000"))
LIMITS = Options(max_bytes=2**20)
MIB = 2**20
GOOD = cases(count=6)


def drawn(share: float) -> settings:
    """So many of all files; hypothesis may think them large or slow, and there is nothing to shrink by."""
    return settings(
        max_examples=max(20, round(TOTAL * share)),
        suppress_health_check=list(HealthCheck),
        database=None,
        deadline=None,
    )


class Marker:
    """Makes a file when it is unpickled."""

    path = Path()

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    Marker.path = folder / "executed"
    return folder


def reads_or_refuses(path: Path) -> None:
    """The one property that all damaged files share."""
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    said = None
    try:
        data = read(path, LIMITS)
        assert isinstance(data, SequenceData)
        assert len(describe(data)) < 5000
    except DataError as error:
        said = str(error)
    if said is not None:
        assert said.startswith(str(path.parent))
        assert len(said) < len(str(path)) + 600
        assert said.count(" ") > 3
        assert "\n" not in said
    assert time.process_time() - started < 5
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 256
    assert not Marker.path.exists()


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """Some bytes cut off, overwritten, flipped, inserted, taken out or repeated; perhaps gzipped and cut again."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        near = draw(st.integers(0, 40))
        what = draw(
            st.sampled_from(["cut", "flip", "overwrite", "insert", "remove", "repeat", "number", "head", "tail"])
        )
        if what == "cut":
            del data[at:]
        elif what == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif what in ("overwrite", "insert"):
            data[at : at + (near if what == "overwrite" else 0)] = draw(st.binary(min_size=1, max_size=20))
        elif what == "remove":
            del data[at : at + near]
        elif what == "repeat":
            data[at:at] = data[at : at + 10 * near]
        elif what == "number":
            number = draw(st.sampled_from([0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000]))
            data[at : at + 4] = struct.pack("<I", number)
        elif what == "head" and data:
            data[near % len(data)] = draw(st.integers(0, 255))
        elif what == "tail" and data:
            data[-1 - near % len(data)] = draw(st.integers(0, 255))
    if draw(st.integers(0, 9)) == 0:
        packed = gzip.compress(bytes(data), mtime=0)
        return packed[: draw(st.integers(0, len(packed)))] if draw(st.booleans()) else packed
    return bytes(data)


ODD = [
    *("", " ", "nan", "inf", "-inf", "1e999", "1e39", "-1e-320", "0x10", "1_000", "1,5", "1.5.2", "abc", "?", "NULL"),
    *(
        "\x00",
        "é",
        "\u202e",
        '"',
        '""',
        '"a\nb"',
        "9" * 400,
        "x" * 5000,
        "true",
        "2024-05-31",
        "12:30:00",
        "-",
        "+",
        "\\",
    ),
]


@st.composite
def odd_tables(draw: st.DrawFn) -> bytes:
    """A long table with columns swapped or taken out, odd entries, rows moved, repeated, shorter or longer."""
    table = [list(row) for row in rows(GOOD, time=draw(st.booleans()))[: draw(st.integers(1, 45))]]
    for _ in range(draw(st.integers(1, 4))):
        row, column = draw(st.integers(0, len(table) - 1)), draw(st.integers(0, len(table[0]) - 1))
        what = draw(st.sampled_from(["odd", "head", "swap", "drop", "short", "long", "move", "again", "empty", "all"]))
        if what == "odd" and table[row]:
            table[row][column % len(table[row])] = draw(st.sampled_from(ODD) | st.text(max_size=8))
        elif what == "head" and table[0]:
            table[0][column % len(table[0])] = draw(
                st.sampled_from(["", "label", "case", "time", "y", "part", "c0", "x" * 999])
            )
        elif what == "swap":
            other = draw(st.integers(0, len(table[0]) - 1)) if table[0] else 0
            for entries in table[draw(st.integers(0, 1)) :]:
                if max(column, other) < len(entries):
                    entries[column], entries[other] = entries[other], entries[column]
        elif what == "drop":
            table = [entries[:column] + entries[column + 1 :] for entries in table]
            table[0] = table[0] or ["v"]
        elif what == "short":
            del table[row][column:]
        elif what == "long":
            table[row] += draw(st.lists(st.sampled_from(ODD), min_size=1, max_size=4))
        elif what == "move":
            table.append(table.pop(row))
        elif what == "again":
            table.insert(row, list(table[row]))
        elif what == "empty":
            table.insert(row, [])
        elif what == "all":
            entry = draw(st.sampled_from(ODD))
            for entries in table[1:]:
                if column < len(entries):
                    entries[column] = entry
        if not table[0]:
            table[0] = ["v"]
    text = csv_text(table, draw(st.sampled_from(",;\t|")), draw(st.sampled_from(["\n", "\r\n", "\r"])))
    return text.decode().encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])), "replace")


@drawn(0.15)
@given(st.data())
def test_odd_tables(place: Path, data: st.DataObject) -> None:
    path = place / "odd.csv"
    path.write_bytes(data.draw(odd_tables()))
    reads_or_refuses(path)


def original(name: str, folder: Path) -> bytes:
    return WRITERS[name](folder / name, GOOD).read_bytes()


@drawn(0.10)
@given(st.data())
def test_csv(place: Path, data: st.DataObject) -> None:
    path = place / "damaged.csv"
    path.write_bytes(data.draw(damaged(csv_text(rows(GOOD)))))
    reads_or_refuses(path)


@drawn(0.15)
@given(st.data())
def test_ts(place: Path, data: st.DataObject) -> None:
    path = place / "damaged.ts"
    content = data.draw(damaged(ts_text(GOOD)))
    if data.draw(st.booleans()):
        odd = data.draw(st.sampled_from([b":", b",", b"\n", b"@data\n", b"?", *(text.encode() for text in ODD)]))
        at = data.draw(st.integers(0, len(content)))
        content = content[:at] + odd + content[at:]
    path.write_bytes(content)
    reads_or_refuses(path)


@pytest.mark.parametrize("name", ["padded.npz", "after.npz"])
@drawn(0.075)
@given(data=st.data())
def test_npz(place: Path, name: str, data: st.DataObject) -> None:
    path = place / "damaged.npz"
    path.write_bytes(data.draw(damaged(original(name, place))))
    reads_or_refuses(path)


DTYPES = [
    "f8",
    ">f8",
    "f4",
    "f2",
    "i8",
    "u1",
    "?",
    "U3",
    "S3",
    "c16",
    "M8[s]",
    "m8[s]",
    "V3",
    "O",
    "f8,i4",
    "U0",
    "longdouble",
]
SHAPES = st.lists(st.integers(0, 6), max_size=4).map(tuple)


@st.composite
def odd_arrays(draw: st.DrawFn) -> np.ndarray:
    """Arrays of any dtype and a small shape, some of them pickled objects."""
    shape, dtype = draw(SHAPES), draw(st.sampled_from(DTYPES))
    numbers = np.random.default_rng(draw(st.integers(0, 3))).normal(size=shape)
    if dtype == "O":
        objects = np.empty(shape, object)
        objects[...] = Marker()
        return objects
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = np.nan_to_num(numbers * 3).astype("i8").astype(dtype) if "f" not in dtype else numbers.astype(dtype)
    if dtype in ("f8", "f4") and array.size and draw(st.booleans()):
        array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from([np.nan, np.inf, 1e38, -0.0]))
    return array


def npy_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def huge_header(kind: int, size: int) -> bytes:
    """A header that promises, or takes, far more than there is."""
    texts = [
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**size}, 3), }}",
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({'1,' * 10 * size}), }}",
        "(" * 500 * size,
        f"{{'descr': {[('a', '<f8')] * size}, 'fortran_order': True, 'shape': (2,)}}",
        f"{{'descr': '<U{10**size}', 'fortran_order': False, 'shape': (2,), }}",
        " " * 3000 * size,
    ]
    text = texts[kind].encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + bytes(48)


@st.composite
def odd_archives(draw: st.DrawFn) -> bytes:
    """An .npz whose arrays are odd, missing, pickled, of huge headers, or zeros that unpack to more than allowed."""
    names = ["X", "y", "lengths", "groups", "channels", "classes", "parts", "X_train", "X_test", "y_train", "y_test"]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))) as archive:
        for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)):
            what = draw(st.integers(0, 9))
            if what < 6:
                member = npy_bytes(draw(odd_arrays()))
            elif what < 8:
                member = huge_header(draw(st.integers(0, 5)), draw(st.integers(1, 15)))
            elif what == 8:
                member = pickle.dumps(Marker())
            else:
                member = npy_bytes(np.zeros(draw(st.sampled_from([10, 1000, MIB // 16, MIB // 4]))))
            archive.writestr(f"{name}.npy", member)
    data = bytearray(file.getvalue())
    if draw(st.integers(0, 4)) == 0:  # sizes in the directory of the archive that are not true
        at = data.find(b"PK\x01\x02") + draw(st.sampled_from([20, 24]))
        data[at : at + 4] = struct.pack("<I", draw(st.sampled_from([0, 7, 2**31 - 1, 2**32 - 1])))
    return bytes(data)


@drawn(0.15)
@given(st.data())
def test_odd_archives(place: Path, data: st.DataObject) -> None:
    path = place / "odd.npz"
    path.write_bytes(data.draw(odd_archives()))
    reads_or_refuses(path)


@drawn(0.10)
@given(st.data())
def test_npy(place: Path, data: st.DataObject) -> None:
    folder = place / "npy"
    folder.mkdir(exist_ok=True)
    path = folder / "X.npy"
    for old in folder.iterdir():
        old.unlink()
    content = st.builds(npy_bytes, odd_arrays()) | st.builds(huge_header, st.integers(0, 5), st.integers(1, 15))
    path.write_bytes(data.draw(content | damaged(npy_bytes(np.stack([GOOD.values[0][:5]] * 4)))))
    if data.draw(st.booleans()):
        (folder / "y.npy").write_bytes(data.draw(content))
    reads_or_refuses(path)


PARQUET_COLUMNS: dict[str, Callable[[], pa.Array]] = {
    "float": lambda: pa.array(np.arange(12.0)),
    "gaps": lambda: pa.array([1.0, None, np.nan] * 4),
    "half": lambda: pa.array(np.arange(12).astype(np.float16)),
    "integer": lambda: pa.array([2**62, -(2**62), 0] * 4),
    "unsigned": lambda: pa.array([2**64 - 1, 0, 1] * 4, pa.uint64()),
    "truth": lambda: pa.array([True, False, None] * 4),
    "text": lambda: pa.array(["a", "b", None] * 4),
    "large": lambda: pa.array(["a", "7", "c"] * 4, pa.large_string()),
    "words": lambda: pa.array(["a", "b", None] * 4).dictionary_encode(),
    "codes": lambda: pa.array([1, 2, None] * 4).dictionary_encode(),
    "bytes": lambda: pa.array([b"\xff", b"", None] * 4),
    "nothing": lambda: pa.nulls(12),
    "lists": lambda: pa.array([[1.0], [], None] * 4),
    "structs": lambda: pa.array([{"a": 1}, None, {"a": 2}] * 4),
    "decimal": lambda: pa.array([1, 2, 3] * 4, pa.decimal128(5, 0)),
    "date": lambda: pa.array(list(range(12)), pa.date32()),
    "stamp": lambda: pa.array(list(range(12)), pa.timestamp("ns", "UTC")),
    "clock": lambda: pa.array(list(range(12)), pa.time32("ms")),
    "span": lambda: pa.array(list(range(12)), pa.duration("s")),
}
ROLES = ["case", "time", "c0", "c1", "label", "subject", "part"]


def parquet_bytes(columns: dict[str, str], **options: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({name: PARQUET_COLUMNS[kind]() for name, kind in columns.items()}), file, **options)
    return file.getvalue()


@drawn(0.05)
@given(st.dictionaries(st.sampled_from(ROLES), st.sampled_from(list(PARQUET_COLUMNS)), min_size=1))
def test_odd_parquet(place: Path, columns: dict[str, str]) -> None:
    path = place / "odd.parquet"
    path.write_bytes(parquet_bytes(columns))
    reads_or_refuses(path)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@drawn(0.03)
@given(data=st.data())
def test_parquet(place: Path, compression: str, data: st.DataObject) -> None:
    path = place / "damaged.parquet"
    columns = {"case": "large", "time": "float", "c0": "gaps", "c1": "integer", "label": "words"}
    path.write_bytes(data.draw(damaged(parquet_bytes(columns, compression=compression))))
    reads_or_refuses(path)


@drawn(0.06)
@given(st.data())
def test_sounds(place: Path, data: st.DataObject) -> None:
    folder = place / "sounds"
    folder.mkdir(exist_ok=True)
    (folder / "labels.csv").write_bytes(b"file,label\na,x\nb,y\n")
    good = wav_bytes((np.sin(np.arange(400)) * 9000).astype(np.int16))
    (folder / "a.wav").write_bytes(good)
    (folder / "b.wav").write_bytes(data.draw(damaged(good)))
    reads_or_refuses(folder)


@drawn(0.05)
@given(st.data())
def test_folders(place: Path, data: st.DataObject) -> None:
    folder = place / "folder"
    folder.mkdir(exist_ok=True)
    (folder / "labels.csv").write_bytes(data.draw(damaged(b"file,label,group,part\na,x,P,train\nb,y,Q,test\n")))
    (folder / "a.csv").write_bytes(b"c0,c1\n1,2\n3,4\n")
    (folder / "b.csv").write_bytes(data.draw(damaged(b"c0,c1\n1,2\n3,4\n")))
    reads_or_refuses(folder)
