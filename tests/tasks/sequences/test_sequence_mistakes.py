"""Errors about files name the file, the place in it, and the fix."""

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from writing import wav_bytes

from eigenloop.tasks import DataError
from eigenloop.tasks.sequences import Columns, Options, describe, from_arrays, join, read

GOOD = "case,time,a,b,label\nA,0,1,2,run\nA,1,3,4,run\nB,0,5,6,walk\nB,1,7,8,walk\n"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the first line is empty"),
        ("1,2,3\n4,5,6\n", r"line 1 holds numbers \(1,2,3\): put a line before it"),
        ("case,a,b,label\n", "column names and no rows"),
        ("case,a,,label\nA,1,2,x\n", "column 3 has no name"),
        ("sep=;\ncase;a\n", "line 1 is 'sep=;', a hint for spreadsheets: delete that line"),
        ("case,a,label,,\nA,1,x,,\nB,2,y,,7\n", "entries in column 5, without a name: give it one"),
        ("case,a,label\n,,\n,,\n", "column names and no rows"),
        (GOOD.replace("B,0", ",,,,\nB,0"), "line 4 has nothing in column case"),
        ("case,a,a,label\nA,1,2,x\n", "columns 2 and 3 are both named 'a'"),
        ("case,label\nA,x\n", "no column is left for the channels"),
        (GOOD + "C,0,1\n", "line 6 has 3 columns where the first line names 5"),
        (GOOD.replace("B,0", "\n\nB,0") + "C,0,1,2,3,4\n", "line 8 has 6 columns where the first line names 5"),
        (GOOD.replace("7", "seven"), "'seven' in line 5, column a is not a number"),
        (GOOD.replace("\nB,1,7,8,walk", "\n\nB,1,7,8,run"), "case B .* walk at line 4 and run at line 6"),
        (GOOD.replace("walk", "3"), "mix text and numbers: 'run' at line 2, '3' at line 4"),
        (GOOD.replace("walk", ""), "the label of line 4 is empty"),
        (GOOD.replace("B,0,5", "B,0,inf"), "value inf at line 4, channel a is infinite"),
        (GOOD.replace("B,0,5", "B,0,1e99"), r"value 1e\+99 at line 4, channel a"),
        (GOOD.replace("B,1", "B,-1"), "out of order: 0 at line 4, then -1 at line 5"),
        (GOOD.replace("B,1", "B,0"), "out of order: 0 at line 4, then 0 at line 5"),
        (GOOD.replace("B,1", "B,"), "the time in line 5, column time is missing"),
        (GOOD.replace("B,1", "B,noon"), "column time holds text"),
        (GOOD.replace("B,1", ",1"), "line 5 has nothing in column case"),
        (GOOD.replace("label", "part"), "the split of case number 0 is 'run'"),
        ("a,b\n" + "1," * 20_000, "line 2 has 20001 columns"),
        ("a," * 20_000 + "b\n1\n", "20,001 columns: at most 10,000"),
    ],
)
def test_csv(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "watch.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=match) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_not_text(tmp_path: Path) -> None:
    path = tmp_path / "watch.csv"
    path.write_bytes("länge,a\n1,2\n".encode("latin-1"))
    with pytest.raises(DataError, match="line 1 is not UTF-8"):
        read(path)
    path.write_bytes("label,a\nlänge,2\n".encode("latin-1"))
    with pytest.raises(DataError, match="line 2 is not UTF-8"):
        read(path)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("hello\n", "no line says @data"),
        ("@classLabel true a b\n@data\n", "no case after @data"),
        ("@classLabel true a b\n@data\n1,2:3,4:a\n1,2:b\n", "line 4 has 1 channels where others have 2"),
        ("@classLabel true a b\n@data\n1,2:3,4,5:a\n", r"line 3 have different lengths \(2, 3\)"),
        ("@classLabel true a b\n@data\n1,x:3,4:a\n", "'x' in line 3, channel 0 is not a number"),
        ("@classLabel true a b\n@data\n1,2:3,4:c\n", "label 'c' in line 3 is not one"),
        ("@targetLabel true\n@data\n1,2:3,4:high\n", "target 'high' in line 3 is not a number"),
        ("@timeStamps true\n@data\n(1,2):a\n", "timestamps"),
    ],
)
def test_ts(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / "a.ts").write_text(text)
    with pytest.raises(DataError, match=match):
        read(tmp_path / "a.ts")


def test_ts_values(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text("@targetLabel true\n@data\n1,?:3,4:0.5\n1,2,3:3,4,5:7\n")
    data = read(tmp_path / "a.ts")
    assert data.labels is not None
    assert data.labels.tolist() == [[0.5], [7]]
    assert np.array_equal(data.case(0), [[1, 3], [np.nan, 4]], equal_nan=True)


X = np.random.default_rng(0).normal(size=(6, 20, 2))


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"Z": X}, "no array is named X"),
        ({"X": X, "y": np.zeros(5)}, r"y has the shape \(5,\) for 6 cases of 20 steps"),
        ({"X": X, "y": np.array([1, "a", 3, 4, 5, 6])}, "mix text and numbers: 'a' at case 1, '1' at case 0"),
        ({"X": X, "y": np.full(6, np.nan)}, "label of case 0 is missing"),
        ({"X": X.astype(str)}, "values are <U32, not numbers"),
        ({"X": X + 1j}, "dtype complex128"),
        ({"X": np.zeros((0, 3, 2))}, "no values"),
        ({"X": np.zeros((2, 2, 2, 2))}, "has the shape"),
        ({"X": X, "lengths": np.array([20, 20, 20, 20, 20, 21])}, "length of case 5 is 21"),
        ({"X": X, "lengths": np.array([20, 0, 20, 20, 20, 20])}, "length of case 1 is 0"),
        ({"X": X, "groups": np.arange(5)}, "groups has 5 entries for 6 cases"),
        ({"X": X, "channels": np.array(["a"])}, "1 names for 2 channels"),
        ({"X": X, "y": np.arange(6) % 3, "classes": np.array(["a"])}, "1 names for 3 classes"),
        ({"X": np.where(X[3, 5, 1] == X, np.inf, X)}, "value inf at case 3, step 5, channel 1"),
        ({"X_train": X, "X_test": X[:, :, :1], "y_train": np.arange(6), "y_test": np.arange(6)}, "different channels"),
        ({"X_train": X, "X_test": X, "y_train": np.arange(6)}, "one split has labels"),
    ],
)
def test_npz(tmp_path: Path, arrays: dict[str, np.ndarray], match: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=match):
        read(tmp_path / "a.npz")


class Executed:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["X", "y", "groups"])
@pytest.mark.parametrize("ending", ["npz", "npy"])
def test_pickles_are_never_loaded(tmp_path: Path, name: str, ending: str) -> None:
    marker = tmp_path / "executed"
    arrays = {"X": X, "y": np.arange(6), "groups": np.arange(6), name: np.array([Executed(marker)] * 6)}
    if ending == "npz":
        np.savez(tmp_path / "X.npz", **arrays)
    else:
        for key, array in arrays.items():
            np.save(tmp_path / f"{key}.npy", array)
    with pytest.raises(DataError, match=f"{name} holds pickled Python objects, which are never loaded, since loading"):
        read(tmp_path / f"X.{ending}")
    assert not marker.exists()


def test_bombs(tmp_path: Path) -> None:
    limit = Options(max_bytes=2**20)
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((100, 100, 100)))
    assert (tmp_path / "a.npz").stat().st_size < 2**17
    with pytest.raises(DataError, match="unpacked, X takes more than 1 MiB of memory"):
        read(tmp_path / "a.npz", limit)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 500_000))
    with pytest.raises(DataError, match="unpacked, it takes more than 1 MiB"):
        read(tmp_path / "a.csv.gz", limit)
    pq.write_table(pa.table({"a": np.zeros(10**5), "b": ["x" * 1000] * 10**5}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 2**17
    with pytest.raises(DataError, match="unpacked, it takes more than 1 MiB"):
        read(tmp_path / "a.parquet", limit)


def test_headers_that_promise_too_much(tmp_path: Path) -> None:
    def member(shape: str) -> bytes:
        head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
        return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(80)

    for shape, match in [
        ("(10000000000000,)", "cut off or damaged"),
        ("(-1, 5)", "gives the shape"),
        ("(" * 3000 + ")" * 3000, "header of .* is damaged"),
        ("(10, 1.5)", "damaged|gives the shape"),
        ("()", "gives the shape"),
    ]:
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("X.npy", member(shape))
        (tmp_path / "a.npy").write_bytes(member(shape))
        for name in ("a.npz", "a.npy"):
            with pytest.raises(DataError, match=match):
                read(tmp_path / name)
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(2**20))
    with pytest.raises(DataError, match="header of a is damaged"):
        read(tmp_path / "a.npy")


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no case"):
        read(tmp_path)
    (tmp_path / "one.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "two.csv").write_text("a,c\n1,2\n3,4\n")
    with pytest.raises(DataError, match="different channels"):
        read(tmp_path)
    (tmp_path / "labels.csv").write_text("file,label\none,x\nthree,y\n")
    with pytest.raises(DataError, match="lists 'three', but there is no such"):
        read(tmp_path)
    (tmp_path / "labels.csv").write_text("file,label\none,x\none,y\n")
    with pytest.raises(DataError, match="'one' is listed twice"):
        read(tmp_path)
    (tmp_path / "labels.csv").write_text("file,label\none.csv,x\n")
    assert "1 files are not in labels.csv" in describe(read(tmp_path))
    (tmp_path / "three.wav").write_bytes(wav_bytes(np.zeros(800, np.int16)))
    (tmp_path / "labels.csv").unlink()
    with pytest.raises(DataError, match=r"mixes \.csv and \.wav"):
        read(tmp_path)


def test_labels_at_steps_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("time,a,label\n0,1,x\n1,3,x\n")
    (tmp_path / "two.csv").write_text("time,a,label\n0,1,y\n1,3,x\n2,4,y\n")
    data = read(tmp_path)
    assert data.labels is not None
    assert data.times is not None
    assert data.per_step
    assert data.labels.tolist() == [[0, 0, 1, 0, 1]]
    assert data.times.tolist() == [[0, 1, 0, 1, 2]]
    (tmp_path / "labels.csv").write_text("file,label\none,x\ntwo,y\n")
    with pytest.raises(DataError, match=r"labels are in labels\.csv and in one\.csv too"):
        read(tmp_path)


def test_sounds_of_different_rates(tmp_path: Path) -> None:
    for name, rate in (("one", 8000), ("two", 16000)):
        (tmp_path / f"{name}.wav").write_bytes(wav_bytes(np.arange(800, dtype=np.int16), rate))
    with pytest.raises(DataError, match=r"two\.wav: it has 16,000 samples a second, the first 8,000"):
        read(tmp_path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "a.npz")
    (tmp_path / "a.xlsx").touch()
    with pytest.raises(DataError, match=r"none of those that are read: \.npz, \.npy"):
        read(tmp_path / "a.xlsx")
    (tmp_path / "b.npz").mkdir()
    with pytest.raises(DataError, match="holds no case"):
        read(tmp_path / "b.npz")


def test_what_is_odd_is_noted() -> None:
    values = X.copy()
    values[:, :, 1] = 0.1
    data = from_arrays(values, ["a", "a", "a", "b", "c", "c"])
    assert data.notes[-2:] == (
        "the same value everywhere in channel 1",
        "only one case of class b: it can be in the training or the test split, not in both",
    )


def test_rows_that_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,v\n0,1\n1,2\n2,5\n")
    assert read(tmp_path / "a.csv").notes == (
        "case is id; the other columns are channels",
        "every case has a single step: is id the column of cases?",
    )


def test_maps_are_not_joined(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    data = read(tmp_path / "a.npy")
    with pytest.raises(DataError, match=r"name_parts\.npy"):
        join({"train": data, "test": data})
    np.save(tmp_path / "a_parts.npy", ["train", "train", "val", "train", "test", "Test"])
    assert read(tmp_path / "a.npy").parts.tolist() == [0, 0, 1, 0, 2, 2]  # type: ignore[union-attr]


def test_columns_of_the_list_of_a_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("a,b\n1,2\n3,5\n")
    (tmp_path / "labels.csv").write_text("what,who,where\nx,P,two\ny,Q,one\n")
    columns = Columns(case="where", label=("what",), group="who")
    data = read(tmp_path, Options(columns=columns))
    assert (data.case_names, data.class_names, data.group_names) == (("two", "one"), ("x", "y"), ("P", "Q"))
