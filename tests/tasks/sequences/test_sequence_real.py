"""Real sets, read from EIGENLOOP_DATA: activities from a phone, and spoken digits."""

import tarfile
from pathlib import Path

import numpy as np
import pytest
from data_folders import REAL, VARIABLE
from writing import csv_text

from eigenloop.tasks.sequences import batch, describe, kind_of, prepare, read, split

HAR = None if REAL is None else REAL / "har_subset" / "har_subset.npz"
DIGITS = None if REAL is None else REAL / "fsdd" / "fsdd_recordings.tar.gz"


def needs(path: Path | None, name: str) -> pytest.MarkDecorator:
    there = path is not None and path.is_file()
    return pytest.mark.skipif(not there, reason=f"set {VARIABLE} to a folder with {name}")


@needs(HAR, "har_subset/har_subset.npz")
def test_activities() -> None:
    assert HAR is not None
    data = read(HAR)
    assert describe(data).splitlines() == [
        "har_subset.npz: 3,350 cases, 128 steps each, 9 channels, float16",
        "labels: a class for each case: 1 (560), 2 (502), 3 (457), 4 (578), 5 (621), 6 (632)",
        "splits given by the file: train 2,400, test 950",
        "missing values: none",
        "note: X was taken as (cases, channels, steps), more steps than channels; layout= says otherwise",
    ]
    with np.load(HAR) as arrays:
        assert np.array_equal(data.case(7), arrays["X_train"][7].T)
        assert np.array_equal(data.case(2400 + 7), arrays["X_test"][7].T)
    parts = split(data, by="order")
    assert [len(pieces) for pieces in parts.values()] == [1976, 424, 950]
    inputs = batch(data, parts["train"], prepare(data, parts["train"]), kind_of(data)).inputs
    assert inputs.shape == (128, 1976, 9)
    assert inputs.mean((0, 1)).abs().max() < 1e-5


@needs(DIGITS, "fsdd/fsdd_recordings.tar.gz")
def test_spoken_digits(tmp_path: Path) -> None:
    assert DIGITS is not None
    listed = []
    with tarfile.open(DIGITS) as archive:
        for member in archive:
            name = Path(member.name).name
            digit, speaker, index = [*name.removesuffix(".wav").split("_"), "", ""][:3]
            if name.endswith(".wav") and int(index) < 10 and (content := archive.extractfile(member)) is not None:
                (tmp_path / name).write_bytes(content.read())
                listed.append([name, digit, speaker, "test" if int(index) < 5 else "train"])
    (tmp_path / "labels.csv").write_bytes(csv_text([["file", "label", "speaker", "part"], *listed]))
    data = read(tmp_path)
    assert (len(data), data.channels, data.class_names) == (600, 32, tuple("0123456789"))
    assert data.group_names == ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
    assert np.isfinite(data.values).all()
    parts = split(data)
    assert (len(parts["test"]), len(parts["train"]) + len(parts["valid"])) == (300, 300)
    assert data.groups is not None
    assert not set(data.groups[parts["train"].case]) & set(data.groups[parts["valid"].case])
