"""Penn Treebank's files: what is missing, made from others, damaged or not the published ones."""

import dataclasses
import hashlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from data_folders import character_files, needs, word_files, write, write_all
from fuzzing import reads_or_refuses, refuses_what_is_no_file, refuses_whatever_is_damaged
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.tasks import DataError, ptb_text
from eigenloop.tasks.language import LanguageModelling
from eigenloop.tasks.ptb import PTBCharacters, PTBWords

needs_characters = needs(ptb_text.CHARACTER_FILES["train"])
needs_words = needs(ptb_text.WORD_FILES["train"])
TASKS = [PTBCharacters, PTBWords]
pytestmark = pytest.mark.usefixtures("isolated")


def test_characters_follow_from_words(tmp_path: Path, ptb_folder: Path) -> None:
    theirs = PTBCharacters(data_dir=ptb_folder, verify=False)
    for missing in (["train", "valid", "test"], ["valid"]):
        names = [name for name in character_files() if name.split(".")[2] not in missing]
        files = {**word_files(), **{name: character_files()[name] for name in names}}
        ours = PTBCharacters(data_dir=write_all(tmp_path / "-".join(missing) / "ptb", files, packed=True), verify=False)
        assert ours.vocabulary == theirs.vocabulary
        for split, tokens in theirs.corpus.tokens.items():
            assert np.array_equal(ours.corpus.tokens[split], tokens)


def test_own_texts_are_not_mixed_with_downloads(tmp_path: Path) -> None:
    own = character_files()
    del own["ptb.char.valid.txt"]
    with pytest.raises(DataError, match=r"ptb\.char\.valid\.txt: it is not in"):
        PTBCharacters(data_dir=write_all(tmp_path / "ptb", own), verify=False).prepare()


@pytest.mark.parametrize("kind", TASKS)
def test_published_files_are_wanted(tmp_path: Path, ptb_folder: Path, kind: type[LanguageModelling]) -> None:
    with pytest.raises(DataError, match="this is not the published ptb"):
        kind(data_dir=ptb_folder).prepare()
    with pytest.raises(DataError, match=r"ptb\.train\.txt: it is not in .*download from https://.*no network"):
        kind(data_dir=tmp_path).prepare()


@pytest.mark.parametrize(
    ("kind", "name", "content", "match"),
    [
        (PTBCharacters, "ptb.char.train.txt", b"", "the file is empty"),
        (PTBCharacters, "ptb.char.test.txt", b"", "the file is empty"),
        (PTBWords, "ptb.valid.txt", b"", "the file is empty"),
        (PTBCharacters, "ptb.char.train.txt", b"a b \n cd", "space is expected after .* 0x64 in line 2, offset 7"),
        (PTBCharacters, "ptb.char.train.txt", b"a \n b", "after the last character too; .* in line 2, offset 4"),
        (PTBCharacters, "ptb.char.train.txt", b"a \n  \n ", "space is expected after .* 0x0a in line 2, offset 5"),
        (PTBCharacters, "ptb.char.train.txt", b"a \n   \n ", "at even offsets, .* 0x20 in line 2, offset 4"),
        (PTBCharacters, "ptb.char.train.txt", b"a \n b ", "newline is expected at the end, found 'b'"),
        (
            PTBCharacters,
            "ptb.char.train.txt",
            b"a \n \xe9 \n ",
            "ASCII is expected; found byte 0xe9 in line 2, offset 4",
        ),
        (PTBCharacters, "ptb.char.train.txt", b"a \r \n ", "ASCII is expected; found byte 0x0d in line 1, offset 2"),
        (PTBCharacters, "ptb.char.valid.txt", b"t h \n ! \n ", r"in ptb\.char\.train\.txt too; found '!' in line 2"),
        (PTBWords, "ptb.train.txt", b" the end \n caf\xc3\xa9 \n", "found byte 0xc3 in line 2, offset 14"),
        (PTBWords, "ptb.train.txt", b" the end", "newline is expected at the end, found 'd'"),
        (PTBWords, "ptb.train.txt", b" the\x00 \n", "found byte 0x00 in line 1, offset 4"),
        (PTBWords, "ptb.test.txt", b" the end \n \n the horse \n", r"in ptb\.train\.txt too; found 'horse' in line 3"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, kind: type[LanguageModelling], name: str, content: bytes, match: str
) -> None:
    folder = write_all(tmp_path / "ptb", {**word_files(), **character_files(), name: content})
    with pytest.raises(DataError, match=match) as caught:
        kind(data_dir=folder, verify=False).prepare()
    assert str(tmp_path / "ptb" / name) in str(caught.value)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("kind", "name"),
    [*((PTBCharacters, name) for name in [*character_files(), *word_files()]), *((PTBWords, n) for n in word_files())],
)
def test_damaged_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: type[LanguageModelling], packed: bool
) -> None:
    files = {**word_files(), **(character_files() if "char" in name else {})}
    for sources in (ptb_text.WORD_FILES, ptb_text.CHARACTER_FILES):
        for split, source in sources.items():
            known = hashlib.sha256(files.get(source.name, b"")).hexdigest()
            monkeypatch.setitem(sources, split, dataclasses.replace(source, sha256=known))
    folder = write_all(tmp_path / "ptb", {other: data for other, data in files.items() if other != name})
    path = write(tmp_path / "ptb" / name, files[name], packed)
    refuses_whatever_is_damaged(path, lambda: kind(data_dir=folder, eval_streams=1).prepare())
    refuses_what_is_no_file(path, lambda: kind(data_dir=folder, eval_streams=1).prepare(), monkeypatch)
    reads_or_refuses(path, lambda: kind(data_dir=folder, eval_streams=1, verify=False).baseline(), seed=1)


@given(text=st.lists(st.text("ab_'<>N ", max_size=9), min_size=1, max_size=5))
def test_any_text_is_read(text: list[str]) -> None:
    cleaned = [" ".join(line.split()) for line in text]
    files = {f"ptb.{split}.txt": "".join(f" {line} \n" for line in text).encode() for split in ptb_text.SPLITS}
    with tempfile.TemporaryDirectory() as name:
        folder = write_all(Path(name) / "ptb", files)
        characters, words = (kind(data_dir=folder, verify=False) for kind in TASKS)
        stripped = [line.strip().replace(" ", "_") for line in text]
        assert characters.decode(characters.corpus.tokens["test"]) == "".join(line + "\n" for line in stripped)
        decoded = words.decode(words.corpus.tokens["test"]).split("\n")
        assert [line.strip() for line in decoded[:-1]] == cleaned
