"""TIMIT on disk: both layouts, either case, duplicates, and sentences about what is missing."""

import hashlib
import io
import shutil
import tarfile
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tasks.speech.recordings import FORMATS, SAMPLE, Samples, noise, packed, real_data, riff, write_full, write_sample

from eigenloop.errors import DataError
from eigenloop.tasks.speech import corpus as module
from eigenloop.tasks.speech.audio import halved, signal
from eigenloop.tasks.speech.corpus import ARCHIVE, find_corpus
from eigenloop.tasks.speech.speakers import CORE_TEST, DEVELOPMENT


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_full(folder / "TIMIT")
    return folder


def test_the_lists_have_no_speaker_in_common() -> None:
    assert (len(DEVELOPMENT), len(CORE_TEST), len(DEVELOPMENT & CORE_TEST)) == (50, 24, 0)
    assert sum(name.startswith("f") for name in CORE_TEST) == 8


def test_the_whole_corpus_is_split_by_its_lists(full: Path) -> None:
    found = find_corpus(full)
    assert found.kind == "full"
    assert {part: len(utterances) for part, utterances in found.parts.items()} == {
        "train": 3696,
        "valid": 400,
        "test": 192,
    }
    assert {utterance.speaker for utterance in found.parts["valid"]} == DEVELOPMENT
    assert {utterance.speaker for utterance in found.parts["test"]} == CORE_TEST
    assert all("TRAIN" in utterance.path.parts for utterance in found.parts["train"])
    for utterances in found.parts.values():
        assert not any(utterance.path.name.startswith("SA") for utterance in utterances)
        paths = [utterance.path for utterance in utterances]
        assert paths == sorted(paths)
    first = found.parts["train"][0]
    assert first.path.relative_to(full).as_posix() == "TIMIT/TRAIN/DR1/FAAA0/SI1.WAV"
    np.testing.assert_array_equal(first.signal(), halved(noise(300 + 97 * 2, 2) / 32768))


@pytest.mark.parametrize("below", ["", "timit/TIMIT", "LDC93S1/TIMIT", "timit/data"])
def test_the_whole_corpus_is_found_where_it_usually_stands(tmp_path: Path, full: Path, below: str) -> None:
    (tmp_path / below).parent.mkdir(parents=True, exist_ok=True)
    if below:
        (tmp_path / below).symlink_to(full / "TIMIT")
    assert find_corpus(tmp_path if below else full / "TIMIT").kind == "full"


def test_the_whole_corpus_comes_before_the_sample(tmp_path: Path, full: Path) -> None:
    write_sample(tmp_path / "timit_sample")
    assert find_corpus(tmp_path).kind == "sample"
    (tmp_path / "TIMIT").symlink_to(full / "TIMIT")
    assert find_corpus(tmp_path).kind == "full"


def test_a_missing_sentence_of_the_whole_corpus_is_named(tmp_path: Path) -> None:
    write_full(tmp_path / "timit", upper=False)
    next(tmp_path.rglob("mdab0/sx8.wav")).unlink()
    message = r"timit: the test split has 24 speakers with 191 sentences .* 24 with 8 each .*\(mdab0 has 7\)"
    with pytest.raises(DataError, match=message):
        find_corpus(tmp_path)


@pytest.mark.parametrize("encode", FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("below", ["timit", "TIMIT", "timit_sample", "timit_sample/timit"])
def test_the_sample_is_split_by_region(
    tmp_path: Path, encode: Callable[[Samples], bytes], upper: bool, below: str
) -> None:
    write_sample(tmp_path / below, encode, upper)
    found = find_corpus(tmp_path)
    assert found.kind == "sample"
    speakers = {part: sorted({u.speaker for u in utterances}) for part, utterances in found.parts.items()}
    assert speakers["valid"] == ["faaa7", "mbbb7"]
    assert speakers["test"] == ["faaa8", "mbbb8"]
    assert len(speakers["train"]) == 12
    assert [len(utterances) for utterances in found.parts.values()] == [96, 16, 16]
    names = [utterance.path.name.lower() for utterance in found.parts["test"][:8]]
    assert names == ["si1.wav", "si20.wav", "si3.wav", "sx4.wav", "sx5.wav", "sx6.wav", "sx7.wav", "sx8.wav"]
    expected = halved(noise(300 + 97 * ((14 + 3) % 5), 1403) / 32768)
    np.testing.assert_array_equal(found.parts["test"][1].signal(), expected)


def test_copies_are_ignored(tmp_path: Path) -> None:
    folder = write_sample(tmp_path / "timit", upper=True)
    for path in sorted(folder.rglob("*.WAV")):
        path.with_name(path.name + ".wav").write_bytes(b"a copy")
    (folder / SAMPLE[0].upper() / "._SX4.WAV").write_bytes(b"no sound")
    (folder / SAMPLE[0].upper() / "SX4.PHN").write_bytes(b"no sound")
    found = find_corpus(tmp_path)
    assert len(found.parts["train"]) == 96
    assert all(utterance.path.name.count(".") == 1 for utterance in found.parts["train"])


def test_a_copy_alone_will_do(tmp_path: Path) -> None:
    folder = write_sample(tmp_path / "timit")
    for path in sorted(folder.rglob("*.wav")):
        path.rename(path.with_name(path.name + ".wav"))
    assert len(find_corpus(tmp_path).parts["train"]) == 96


def test_the_archive_gives_what_the_folder_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_sample(tmp_path / "unpacked" / "timit")
    archive = tmp_path / "packed" / "timit_sample" / ARCHIVE
    archive.parent.mkdir(parents=True)
    archive.write_bytes(packed(folder))
    monkeypatch.setattr(module, "ARCHIVE_SHA256", hashlib.sha256(archive.read_bytes()).hexdigest())
    one, two = find_corpus(tmp_path / "unpacked"), find_corpus(tmp_path / "packed")
    assert two.kind == "sample"
    for part, utterances in one.parts.items():
        assert [u.speaker for u in two.parts[part]] == [u.speaker for u in utterances]
        for ours, theirs in zip(two.parts[part], utterances, strict=True):
            np.testing.assert_array_equal(ours.signal(), theirs.signal())
    assert two.parts["test"][0].path == archive / "timit/dr8-faaa8/si1.wav"


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b random", bytes(1000)])
def test_another_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ARCHIVE).write_bytes(content)
    with pytest.raises(DataError, match=rf"{ARCHIVE}: this is not the known archive: {len(content):,} bytes"):
        find_corpus(tmp_path)


def test_without_a_corpus_the_message_says_where_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EIGENLOOP_DATA", raising=False)
    for folder, looked in ((None, "no data folder is set"), (tmp_path, f"it is not in {tmp_path}")):
        with pytest.raises(DataError, match=rf"^TIMIT: {looked}.*LDC93S1.*nltk.download\('timit'\).*data_dir"):
            find_corpus(folder)


def test_folders_of_other_data_are_not_the_corpus(tmp_path: Path) -> None:
    for name in ("train/cats", "test/dogs", "timit", "dr1"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ARCHIVE).mkdir()
    with pytest.raises(DataError, match=r"^TIMIT: it is not in"):
        find_corpus(tmp_path)


def test_a_missing_speaker_of_the_sample_is_said(tmp_path: Path) -> None:
    folder = write_sample(tmp_path / "timit")
    shutil.rmtree(folder / SAMPLE[-1])
    with pytest.raises(DataError, match=r"timit: the test split has 1 speakers with 8 sentences .* 2 with 8 each"):
        find_corpus(tmp_path)


def test_a_file_in_place_of_a_speaker_is_said(tmp_path: Path) -> None:
    folder = write_sample(tmp_path / "timit")
    shutil.rmtree(folder / SAMPLE[0])
    (folder / SAMPLE[0]).write_bytes(b"")
    with pytest.raises(DataError, match=r"timit: the train split has 11 speakers"):
        find_corpus(tmp_path)


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    folder = write_sample(tmp_path / "timit")
    path = folder / SAMPLE[0] / "sx4.wav"
    path.unlink()
    path.mkdir()
    (utterance,) = (u for u in find_corpus(tmp_path).parts["train"] if u.path == path)
    with pytest.raises(DataError, match=r"dr1-faaa1/sx4.wav: it cannot be read"):
        utterance.signal()


def test_the_real_sample_is_complete() -> None:
    found = find_corpus(real_data())
    assert found.kind == "sample"
    assert [len(utterances) for utterances in found.parts.values()] == [96, 16, 16]
    assert len({utterance.speaker for utterances in found.parts.values() for utterance in utterances}) == 16
    assert sorted({utterance.speaker for utterance in found.parts["test"]}) == ["fbcg1", "mbcg0"]


def test_the_real_archive_has_all_samples() -> None:
    path = real_data() / "timit_sample" / ARCHIVE
    lengths = []
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            if member.name.endswith(".wav") and (content := archive.extractfile(member)):
                data = content.read()
                with wave.open(io.BytesIO(data)) as file:
                    lengths.append(file.getnframes())
                assert len(signal(Path(member.name), data)) == -(-lengths[-1] // 2)
    assert (len(lengths), sum(lengths)) == (160, 7_841_548)


def test_riff_of_the_helper_is_standard() -> None:
    with wave.open(io.BytesIO(riff(noise(7)))) as file:
        assert file.getparams()[:4] == (1, 2, 16000, 7)
