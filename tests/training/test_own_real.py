"""Real sets, read from EIGENLOOP_DATA: activities from a phone, and spoken digits, learnt with our defaults."""

import csv
import os
import tarfile
from pathlib import Path

import pytest
from training.own_data import config_of

from eigenloop.tasks import Sequences
from eigenloop.training import load_run, outcome, train

DATA = Path(os.environ["EIGENLOOP_DATA"]) if os.environ.get("EIGENLOOP_DATA") else None
HAR, DIGITS = "har_subset/har_subset.npz", "fsdd/fsdd_recordings.tar.gz"


def needs(name: str) -> pytest.MarkDecorator:
    there = DATA is not None and (DATA / name).is_file()
    return pytest.mark.skipif(not there, reason=f"set EIGENLOOP_DATA to a folder with {name}")


def accuracy(run: Path) -> float:
    net, config, _ = load_run(run)
    assert isinstance(config.task, Sequences)
    found: float = outcome(net, config.task, "test").measures()["balanced_accuracy"]
    return found


@pytest.mark.slow
@needs(HAR)
def test_activities_in_four_bits(tmp_path: Path) -> None:
    """In 300 of the 2,000 steps; people of the test split are not in the training split."""
    assert DATA is not None
    train(config_of(DATA / HAR, model={"hidden_size": 32, "bits": 4}, steps=300), tmp_path / "run")
    assert accuracy(tmp_path / "run") > 0.75


@pytest.mark.slow
@needs(DIGITS)
def test_spoken_digits(tmp_path: Path) -> None:
    """From WAV files as log-mel frames of different lengths; a fifth of the recordings, in 300 steps."""
    assert DATA is not None
    folder = tmp_path / "digits"
    folder.mkdir()
    rows = [["file", "label", "part"]]
    with tarfile.open(DATA / DIGITS) as archive:
        for member in archive:
            name = Path(member.name).name
            if not name.endswith(".wav") or int(name.removesuffix(".wav").split("_")[2]) >= 10:
                continue
            digit, _, index = name.removesuffix(".wav").split("_")
            content = archive.extractfile(member)
            assert content is not None
            (folder / name).write_bytes(content.read())
            rows.append([name, digit, "test" if int(index) < 3 else "train"])
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    train(config_of(folder, model={"hidden_size": 32}, steps=300), tmp_path / "run")
    assert accuracy(tmp_path / "run") > 0.8
