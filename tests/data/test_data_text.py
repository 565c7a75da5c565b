from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from meritnas.data.texts.encoder import TextEncoder
from meritnas.data.texts.source import load_text
from meritnas.data.texts.windows import continuing
from meritnas.data.texts.words import is_tokenised, split_text
from meritnas.errors import DataError

BOOK = """\
The Project Gutenberg EBook of Nothing

*** START OF THIS PROJECT GUTENBERG EBOOK NOTHING ***

Chapter One

It was late; she didn't
know (yet).

*** END OF THIS PROJECT GUTENBERG EBOOK NOTHING ***
Licence, licence.
"""


def test_a_corpus_is_split_at_spaces_and_lines_only() -> None:
    """Penn Treebank has no marks, but <unk>; WikiText has commas that stand alone."""
    corpus = " no it was n't u.s. <unk> \n but N years \n"
    assert is_tokenised(corpus)
    assert " ".join(split_text(corpus, "word", tokenised=True)) == (
        "no it was n't u.s. <unk> <eos> but N years <eos>"
    )
    wiki = " = Title = \n \n In 1 @,@ 200 days , U.S. ships sailed . \n"
    assert is_tokenised(wiki)
    assert " ".join(split_text(wiki, "word", tokenised=True)) == (
        "= Title = <eos> In 1 @,@ 200 days , U.S. ships sailed . <eos>"
    )


def test_lines_of_running_text_are_sentences_where_none_is_blank() -> None:
    assert not is_tokenised("Yes, I do.\nOh, well")
    found = split_text("Yes, I do.\nOh, well", "word")
    assert " ".join(found) == "yes , i do . <eos> oh , well <eos>"


def test_blank_lines_end_paragraphs_and_other_line_breaks_are_spaces() -> None:
    found = split_text("Chapter One\n\nIt was late; she didn't\nknow (yet).\n\n", "word")
    expected = "chapter one <eos> it was late ; she didn't know ( yet ) . <eos>"
    assert " ".join(found) == expected


def test_characters_are_taken_as_they_are() -> None:
    assert split_text("Ab\n c", "character") == ["A", "b", "\n", " ", "c"]


def test_one_file_is_split_in_order(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(1000)]
    file = tmp_path / "numbers.txt.gz"
    file.write_bytes(gzip.compress(" ".join(words).encode()))
    source = load_text(file)
    assert source.name == "numbers"
    assert [*source.train, *source.valid, *source.test] == [*words, "<eos>"]
    assert (len(source.train), len(source.valid), len(source.test)) == (800, 100, 101)


def test_a_folder_has_a_file_for_each_part(tmp_path: Path) -> None:
    for part, count in (("train", 300), ("valid", 5), ("test", 7)):
        (tmp_path / f"ptb.{part}.txt").write_text("a b c\n" * count)
    source = load_text(tmp_path)
    assert [len(source.train), len(source.valid), len(source.test)] == [1200, 20, 28]
    other = load_text(tmp_path, "character")
    assert other.train[:6] == list("a b c\n")
    assert other.fingerprint != source.fingerprint
    (tmp_path / "ptb.valid.txt").unlink()
    with pytest.raises(DataError, match=r"for valid it has 0, among ptb.test.txt, ptb.train.txt"):
        load_text(tmp_path)


def test_all_parts_are_split_as_the_training_part_is(tmp_path: Path) -> None:
    """A short part may have no comma that would tell."""
    (tmp_path / "train.txt").write_text("The U.S. , he said , is far .\n" * 50)
    (tmp_path / "valid.txt").write_text("The U.S. is far .\n" * 3)
    (tmp_path / "test.txt").write_text("Far , far .\n" * 3)
    source = load_text(tmp_path)
    assert source.tokenised
    assert source.valid[:6] == ["The", "U.S.", "is", "far", ".", "<eos>"]
    encoder = TextEncoder.fit(source.train, "word", tokenised=source.tokenised)
    numbers = encoder.read("The U.S. is")
    assert 0 not in numbers.tolist()
    assert encoder.write(numbers.tolist()) == "The U.S. is"
    two = encoder.transform(["far", ".", "<eos>", "The"])
    assert encoder.write(two.tolist()) == "far .\nThe"
    assert TextEncoder.from_json(encoder.to_json()) == encoder


def test_the_licence_of_a_book_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "book.txt"
    file.write_text(BOOK.replace("Chapter One", "word " * 300))
    source = load_text(file)
    words = [*source.train, *source.valid, *source.test]
    assert "licence" not in words
    assert words[-3:] == [")", ".", "<eos>"]
    assert source.notes == ("the licence around the Project Gutenberg text is left out",)


@pytest.mark.parametrize(
    ("content", "level", "message"),
    [
        (b"too short", "word", "the train part of t.txt has 2 words, but at least 200"),
        (b"\x00\x01" * 900, "word", "is binary"),
        (b"a b" * 900, "syllable", "a text is made of 'word' or 'character', got 'syllable'"),
    ],
)
def test_what_is_no_text_is_refused(
    content: bytes, level: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "t.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_text(tmp_path / "t.txt", level)  # type: ignore[arg-type]


def test_the_vocabulary_has_the_most_frequent_words_and_the_unknown() -> None:
    words = ["b"] * 3 + ["c", "a"] * 2 + ["d", "<unk>"]
    encoder = TextEncoder.fit(words, "word", most=4)
    assert encoder.words == ("<unk>", "b", "a", "c")
    assert encoder.transform(["a", "d", "<unk>", "b"]).tolist() == [2, 0, 0, 1]
    assert TextEncoder.from_json(encoder.to_json()) == encoder
    with pytest.raises(DataError, match="at least 2 words"):
        TextEncoder.fit(words, "word", most=1)


def test_what_is_written_reads_the_same() -> None:
    text = "It was late; she didn't know (yet)."
    encoder = TextEncoder.fit(split_text(text, "word"), "word")
    numbers = encoder.read(text)
    assert encoder.write(numbers.tolist()) == text.lower()
    assert encoder.read(encoder.write(numbers.tolist())).tolist() == numbers.tolist()


@given(st.integers(2, 300), st.integers(1, 20), st.integers(1, 20))
def test_batches_of_pieces_go_on_where_the_last_ones_ended(
    length: int, count: int, steps: int
) -> None:
    inputs, target = continuing(torch.arange(length), count, steps)
    assert torch.equal(target, inputs + 1)
    assert int(target.max()) < length
    count = min(count, length - 1)
    assert len(inputs) % count == 0
    assert torch.equal(inputs[count:, 0], inputs[:-count, -1] + 1)
    assert len(inputs.unique()) == inputs.numel()
    # Nothing but the end of each stretch is left out.
    assert length - 1 - inputs.numel() < count * (inputs.shape[1] + 1)


def test_a_single_word_has_none_to_predict() -> None:
    with pytest.raises(DataError, match="a text of 1 words has none to predict"):
        continuing(torch.tensor([3]), 4, 4)
