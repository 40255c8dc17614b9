"""Every format, round trip against the arrays that were written."""

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from writing import WRITERS, cases, csv_text, rows, wav_bytes

from eigenloop.tasks import DataError
from eigenloop.tasks.sequences import FORMATS, Columns, Options, SequenceData, describe, join, kind_of, read, recoded


def classes(data: SequenceData) -> list[str]:
    assert data.labels is not None
    assert data.class_names is not None
    return [data.class_names[number] for number in data.labels]


@pytest.mark.parametrize("name", WRITERS)
def test_round_trip(tmp_path: Path, name: str) -> None:
    found = cases()
    data = read(WRITERS[name](tmp_path / name, found))
    assert len(data) == len(found.values)
    for case, values in enumerate(found.values):
        assert np.array_equal(data.case(case), values)
    assert classes(data) == found.labels
    assert kind_of(data) == "class"
    if not name.startswith("walks"):  # .ts has no groups
        assert data.groups is not None
        assert [data.group_names[group] for group in data.groups] == found.groups
    if data.case_names is not None:
        assert data.case_names == tuple(f"k{case}" for case in range(len(data)))
    if data.times is not None:
        assert all(
            np.array_equal(data.times[data.steps(n)], 0.5 * np.arange(data.lengths[n])) for n in range(len(data))
        )
    assert data.mapped == (name == "map.npy")
    assert describe(data).startswith(f"{name}: 12 cases, 5 to 9 steps, 3 channels")
    assert len(data.origin.sha256) == 64
    if name.endswith((".npz", "csv")):
        assert data.origin.sha256 == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


def test_every_format_is_tried() -> None:
    endings = [ending for name in WRITERS for ending in FORMATS if name.endswith(ending)]
    assert set(FORMATS) - set(endings) - {"/"} == {".tsv.gz"}


@pytest.mark.parametrize("equal", [True, False])
def test_fixed_parts(tmp_path: Path, equal: bool) -> None:
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(6, 20, 2)), rng.normal(size=(4, 20 if equal else 30, 2))
    y_train, y_test = np.array([3, 3, 5, 5, 7, 7]), np.array([5, 7, 7, 5])
    np.savez(tmp_path / "a.npz", X_train=train, y_train=y_train, X_test=test, y_test=y_test)
    data = read(tmp_path / "a.npz")
    assert data.parts is not None
    assert data.parts.tolist() == [0] * 6 + [2] * 4
    assert data.class_names == ("3", "5", "7")
    assert classes(data) == [str(label) for label in (*y_train, *y_test)]
    for case, values in enumerate([*train, *test]):
        assert np.array_equal(data.case(case), values)
    np.savez(tmp_path / "b.npz", X=train, y=y_train)
    np.savez(tmp_path / "c.npz", X=test, y=y_test)
    joined = join({"train": read(tmp_path / "b.npz"), "test": read(tmp_path / "c.npz")})
    assert classes(joined) == classes(data)
    assert np.array_equal(joined.values, data.values)
    assert len(joined.origin.files) == 2
    assert recoded(read(tmp_path / "c.npz"), data.class_names).labels.tolist() == [1, 2, 2, 1]
    with pytest.raises(DataError, match="class 3 is not one of"):
        recoded(read(tmp_path / "b.npz"), ["5", "7"])


@pytest.mark.parametrize(
    ("shape", "more", "expected"),
    [
        ((10, 50, 3), {}, (10, 50, 3)),
        ((10, 3, 50), {}, (10, 50, 3)),
        ((10, 3, 50), {"channels": [str(n) for n in range(50)]}, (10, 3, 50)),
        ((10, 3, 50), {"y": np.zeros((10, 3), int)}, (10, 3, 50)),
        ((10, 50, 3), {"lengths": np.full(10, 40)}, (10, 50, 3)),
        ((10, 50), {"y": np.arange(10) % 2}, (10, 50, 1)),
        ((50, 3), {}, (1, 50, 3)),
        ((50,), {}, (1, 50, 1)),
        ((50,), {"y": np.arange(50) % 2}, (1, 50, 1)),
        ((50, 3), {"y": np.arange(50) % 2, "channels": ["a", "b", "c"]}, (1, 50, 3)),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ending", ["npz", "npy"])
def test_axes(
    tmp_path: Path,
    shape: tuple[int, ...],
    more: dict[str, np.ndarray],
    expected: tuple[int, ...],
    order: str,
    ending: str,
) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=shape).astype(np.float32), order=order)
    if ending == "npz":
        np.savez(tmp_path / "a.npz", X=X, **more)
    else:
        np.save(tmp_path / "a.npy", X)
        for name, array in more.items():
            np.save(tmp_path / f"a_{name}.npy", array)
    data = read(tmp_path / f"a.{ending}")
    assert data.values.shape == expected
    assert sorted(data.values.ravel().tolist()) == sorted(X.ravel().tolist())
    transposed = X.swapaxes(-1, -2) if expected[1:] != shape[1:] and len(shape) == 3 else X
    assert np.array_equal(data.values.ravel(), transposed.ravel())


def test_layout_is_given(tmp_path: Path) -> None:
    X = np.arange(24.0).reshape(2, 3, 4)
    np.savez(tmp_path / "a.npz", X=X, y=[0, 1])
    assert np.array_equal(read(tmp_path / "a.npz", Options(layout="cases,steps,channels")).values, X)
    assert np.array_equal(read(tmp_path / "a.npz").values, X.swapaxes(1, 2))
    with pytest.raises(DataError, match="X has 3 axes"):
        read(tmp_path / "a.npz", Options(layout="cases,steps"))


@pytest.mark.parametrize(
    ("y", "kind", "names"),
    [
        (np.arange(30) % 3, "class", ("0", "1", "2")),
        (np.arange(30) % 3 + 1.0, "class", ("1", "2", "3")),
        (np.array(["b", "a", "c"] * 10), "class", ("a", "b", "c")),
        (np.array([b"b", b"a"] * 15), "class", ("a", "b")),
        (np.arange(30) % 2 == 0, "class", ("0", "1")),
        (np.linspace(0, 1, 30), "values", None),
        (np.arange(30) * 17, "values", None),
        (np.zeros((30, 4)), "values", None),
        (np.arange(30)[:, None] % 2, "class", ("0", "1")),
        (np.zeros((30, 20), int), "step-class", ("0",)),
        (np.linspace(0, 1, 600).reshape(30, 20), "step-values", None),
        (np.zeros((30, 20, 2)), "step-values", None),
        (None, "forecast", None),
    ],
)
def test_kinds(tmp_path: Path, y: np.ndarray | None, kind: str, names: tuple[str, ...] | None) -> None:
    arrays = {} if y is None else {"y": y}
    np.savez(tmp_path / "a.npz", X=np.random.default_rng(0).normal(size=(30, 20, 3)), **arrays)
    data = read(tmp_path / "a.npz")
    assert (kind_of(data), data.class_names) == (kind, names)


def test_names_of_classes(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(6, 9, 2))
    for y, given, expected in (
        ([1, 2, 3, 1, 2, 3], ["a", "b", "c"], ["a", "b", "c", "a", "b", "c"]),
        ([0, 2, 0, 2, 0, 2], ["a", "b", "c"], ["a", "c"] * 3),
        (["b", "a"] * 3, ["b", "a"], ["b", "a"] * 3),
    ):
        np.savez(tmp_path / "a.npz", X=X, y=np.array(y), classes=np.array(given))
        data = read(tmp_path / "a.npz")
        assert data.class_names == tuple(given)
        assert classes(data) == expected


def test_labels_at_every_step_of_a_table(tmp_path: Path) -> None:
    table = rows(cases())
    for number, row in enumerate(table[1:]):
        row[-2] = "ab"[number % 2]
    (tmp_path / "a.csv").write_bytes(csv_text(table))
    data = read(tmp_path / "a.csv")
    assert kind_of(data) == "step-class"
    assert data.labels is not None
    assert data.labels[0].tolist() == [number % 2 for number in range(len(table) - 1)]


def test_columns_are_given(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,x,y,comment,out1,out2\nA,1,2,hm,5,6\nA,3,4,hm,5,6\nB,5,6,,7,8\n")
    with pytest.raises(DataError, match=r"'hm' in line 2, column comment is not a number.*ignore"):
        read(tmp_path / "a.csv", Options(columns=Columns(case="who")))
    columns = Columns(case="who", label=("out1", "out2"), ignore=("comment",))
    data = read(tmp_path / "a.csv", Options(columns=columns))
    assert data.channel_names == ("x", "y")
    assert data.labels is not None
    assert data.labels.tolist() == [[5, 6], [7, 8]]
    data = read(tmp_path / "a.csv", Options(columns=Columns(channels=("y",))))
    assert (len(data), data.channel_names, data.labels) == (1, ("y",), None)


def test_a_recording_for_each_person(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("subject,x,y,z,activity\nA,1,2,3,run\nA,1,2,4,rest\nB,5,6,7,rest\nB,5,6,8,run\n")
    data = read(tmp_path / "a.csv")
    assert (data.case_names, data.group_names, data.channel_names) == (("A", "B"), ("A", "B"), ("x", "y", "z"))
    assert kind_of(data) == "step-class"


def test_labels_still_to_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,v,label\nA,1,\nA,2,\nB,3,\n")
    assert read(tmp_path / "a.csv").labels is None


def test_dates(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("date,v\n2024-05-31 12:00:00,1\n2024-05-31 12:00:30,2\n2024-06-01 12:00:00,5\n")
    data = read(tmp_path / "a.csv")
    assert data.times is not None
    assert data.times.tolist() == [[0, 30, 86400]]
    assert data.notes[1].startswith("100.0% of the time steps are not of the usual length")


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_sound(tmp_path: Path, width: int, channels: int) -> None:
    sound = np.sin(np.arange(4000) * 0.3)
    whole = np.rint(sound * (2 ** (8 * width - 1) - 1)).astype(np.int64)
    stored = (whole + 128).astype(np.uint8) if width == 1 else whole.astype("<i4" if width > 2 else "<i2")
    raw = stored.view(np.uint8).reshape(4000, -1)[:, :width]
    (tmp_path / "a.wav").write_bytes(wav_bytes(np.repeat(raw, channels, axis=0), width=width, channels=channels))
    data = read(tmp_path, Options(audio=None))
    assert np.abs(data.case(0)[:, 0] - sound).max() < 2.0 ** (2 - 8 * width) + 1e-6
    frames = read(tmp_path)
    assert frames.values.shape == (1, 48, 32)
    # 0.3 radians a sample are 382 Hz: the band with that frequency is the loudest.
    corners = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + 4000 / 700), 34) / 2595) - 1)
    loudest = int(frames.case(0).mean(0).argmax())
    assert corners[loudest] < 0.3 * 8000 / (2 * np.pi) < corners[loudest + 2]


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("v\n1\n")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"needs pyarrow: pip install 'eigenloop\[data\]'"):
        read(tmp_path / "a.csv")


def test_what_spreadsheets_add_is_read_over(tmp_path: Path) -> None:
    """A BOM, semicolons, decimal commas, CRLF, units in names, and empty columns and rows at the end."""
    plain, sheet = tmp_path / "plain.csv", tmp_path / "sheet.csv"
    lines = [("Recording", "Time [s]", "speed (m/s)", "Label")]
    lines += [
        (f"r{case}", f"{step / 2}", f"{case + step / 8}", "ab"[case % 2]) for case in range(4) for step in range(5)
    ]
    plain.write_text("".join(",".join(line) + "\n" for line in lines))
    cells = [";".join(entry.replace(".", ",") for entry in line) + ";;" for line in lines]
    sheet.write_bytes(("\ufeff" + "\r\n".join([*cells, ";;;;;", ";;;;;", ""])).encode())
    expected, found = read(plain), read(sheet)
    assert found.channel_names == expected.channel_names == ("speed (m/s)",)
    assert np.array_equal(found.values, expected.values)
    assert found.times is not None
    assert np.array_equal(found.times, np.tile(np.arange(5) / 2, 4)[None])
    assert classes(found) == ["a", "b", "a", "b"]
    assert found.lines is not None
    assert found.lines.tolist() == [list(range(2, 22))]
