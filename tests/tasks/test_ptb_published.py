"""The Penn Treebank as published, where the data is at hand: counts that the papers print."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
from data_folders import REAL, needs

from eigenloop.tasks import ptb_text
from eigenloop.tasks.ptb import PTBCharacters, PTBWords

needs_characters = needs(ptb_text.CHARACTER_FILES["train"])
needs_words = needs(ptb_text.WORD_FILES["train"])
pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture(scope="module")
def real_characters() -> PTBCharacters:
    return PTBCharacters(data_dir=REAL)


@pytest.fixture(scope="module")
def real_words() -> PTBWords:
    return PTBWords(data_dir=REAL)


@needs_characters
def test_published_counts_of_characters(real_characters: PTBCharacters) -> None:
    real_characters.prepare()
    tokens = real_characters.corpus.tokens
    assert [len(tokens[split]) for split in ptb_text.SPLITS] == [5017482, 393042, 442423]
    assert [len(np.unique(tokens[split])) for split in ptb_text.SPLITS] == [50, 50, 48]
    assert real_characters.input_size == real_characters.output_size == 50
    end = real_characters.vocabulary.index("<eos>")
    assert [int((tokens[split] == end).sum()) for split in ptb_text.SPLITS] == [42068, 3370, 3761]
    assert real_characters.steps_per_epoch(128) == math.ceil((5017482 // 128 - 1) / 150)
    shares = [n / 5017482 for n in Counter(tokens["train"].tolist()).values()]
    assert real_characters.baseline()["bpc"] == pytest.approx(-sum(p * math.log2(p) for p in shares))
    assert real_characters.baseline()["accuracy"] == pytest.approx(max(shares))
    assert real_characters.decode(tokens["valid"][:40]) == "consumers_may_want_to_move_their_telephones"[:40]


@needs_words
def test_published_counts_of_words(real_words: PTBWords) -> None:
    real_words.prepare()
    tokens = real_words.corpus.tokens
    assert [len(tokens[split]) for split in ptb_text.SPLITS] == [929589, 73760, 82430]
    assert [len(np.unique(tokens[split])) for split in ptb_text.SPLITS] == [10000, 6022, 6049]
    assert real_words.output_size == 10000
    unknown = real_words.vocabulary.index("<unk>")
    assert [int((tokens[split] == unknown).sum()) for split in ptb_text.SPLITS] == [45020, 3485, 4794]
    shares = [n / 929589 for n in Counter(tokens["train"].tolist()).values()]
    assert real_words.baseline()["perplexity"] == pytest.approx(math.prod(p**-p for p in shares))
    for split in ("valid", "test"):
        text = ptb_text.WORD_FILES[split].content(REAL)[1].decode()
        assert real_words.decode(tokens[split]) == text


@needs_characters
@needs_words
def test_the_published_characters_follow_from_the_words() -> None:
    for split in ptb_text.SPLITS:
        words = ptb_text.WORD_FILES[split].content(REAL)[1]
        assert ptb_text.characters_of(words) == ptb_text.CHARACTER_FILES[split].content(REAL)[1][::2]


@needs_characters
def test_sentences_of_the_published_text(real_characters: PTBCharacters) -> None:
    predicted = {"cut": 0, "chunk": 0}
    for long in predicted:
        task = dataclasses.replace(real_characters, mode="sentences", long=long)
        predicted[long] = sum(task.terms(batch) for batch in task.evaluation("valid", 128))
    lengths = [len(line) for line in real_characters.decode(real_characters.corpus.tokens["valid"]).splitlines()]
    assert predicted == {"cut": sum(min(n, 150) for n in lengths), "chunk": sum(lengths)}
    assert 0.25 < sum(n > 150 for n in lengths) / len(lengths) < 0.27
