"""The method ``proper`` against the case files and against the tokenizers themselves."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.constraint.proper.oracles import cases, of_case, toy
from tests.oracles.brute_force import texts
from workbench.base.errors import TokenNotAllowed, VocabularyError
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import AddedToken, Tokenizer, Vocabulary


def proper(regex: str, vocabulary: Vocabulary, **options: Any) -> ProperConstraint:
    found = wb.compile(Grammar.from_regex(regex), vocabulary, "proper", **options)
    assert isinstance(found, ProperConstraint)
    return found


def sequences(constraint: ProperConstraint, longest: int) -> list[tuple[str, ...]]:
    """Every sequence that the masks allow, up to a length in characters; none is a dead end."""
    vocabulary, found = constraint.vocabulary, []
    waiting: list[tuple[Any, tuple[int, ...]]] = [(constraint.initial, ())]
    while waiting:
        state, taken = waiting.pop()
        mask = constraint.mask(state)
        assert len(mask), f"a dead end after {taken}"
        assert vocabulary.end is not None
        assert (vocabulary.end in mask) == constraint.is_final(state)
        if constraint.is_final(state):
            found.append(tuple((vocabulary.tokens[t] or b"").decode() for t in taken))
        for token in mask:
            longer = (*taken, token)
            text = vocabulary.decode(longer).decode()
            if token != vocabulary.end and len(text) <= longest:
                waiting.append((constraint.advance(state, token), longer))
    return sorted(found)


@pytest.mark.parametrize("case", cases("proper.json"), ids=lambda case: case["id"])
def test_case_files(case: dict[str, Any]) -> None:
    found = sequences(proper(case["regex"], of_case(case)), case["max_len"])
    assert found == sorted(tuple(tokens) for tokens in case["proper_sequences"])


@pytest.mark.parametrize("case", cases("proper_pretokenized.json"), ids=lambda case: case["id"])
def test_case_files_with_a_pre_tokenizer(case: dict[str, Any]) -> None:
    found = sequences(proper(case["regex"], of_case(case)), case["max_len"])
    assert found == sorted(tuple(tokens) for tokens in case["proper_sequences"])


#: Regex, tokens of a prompt, tokens that may come first: the last joins with what would begin so.
JOINED = [
    ("a+", [], ["a", "aa", "aaaa"], "alone"),
    ("a+", ["b"], ["a", "aa", "aaaa"], "nothing joins with b"),
    ("a+|b", ["a"], ["b"], "a and a would have been aa"),
    ("a+", ["aa"], ["a"], "aa and aa would have been aaaa"),
    ("a+", ["aaaa"], ["a", "aa", "aaaa"], "aaaa joins with nothing"),
]


@pytest.mark.parametrize(("regex", "prompt", "wanted", "reason"), JOINED)
def test_the_first_mask_depends_on_the_prompt_it_is_joined_to(
    regex: str, prompt: list[str], wanted: list[str], reason: str
) -> None:
    vocabulary = toy("ab", [("a", "a"), ("aa", "aa")])
    found = proper(regex, vocabulary, joined=vocabulary.ids(*prompt))
    first = found.mask(found.initial)
    assert sorted(vocabulary.tokens[t] or b"" for t in first) == sorted(
        token.encode() for token in wanted
    ), reason


def test_error_when_no_text_joins_the_prompt() -> None:
    vocabulary = toy("ab", [("a", "b")])
    with pytest.raises(VocabularyError, match="all would be merged"):
        proper("b", vocabulary, joined=vocabulary.ids("a"))


def test_error_of_a_prompt_that_is_not_canonical() -> None:
    vocabulary = toy("ab", [("a", "b")])
    with pytest.raises(VocabularyError, match="b'b' joins the token before it"):
        proper("a", vocabulary, joined=vocabulary.ids("a", "b"))


def test_text_after_a_special_token_is_separate() -> None:
    vocabulary = toy("ab", [("a", "b")])
    assert vocabulary.end is not None
    found = proper("b", vocabulary, joined=[*vocabulary.ids("a"), vocabulary.end])
    assert list(found.mask(found.initial)) == vocabulary.ids("b")


def test_joined_guesses_of_a_pre_tokenizer() -> None:
    """After two spaces GPT-2's pattern asks what comes: a letter takes the last of them along."""
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    vocabulary = toy(" a", [(" ", " "), (" ", "a")], pattern=pattern)
    with pytest.raises(VocabularyError, match="all would be merged"):
        proper("a", vocabulary, joined=vocabulary.ids("  "))
    found = proper(" ?a", vocabulary, joined=vocabulary.ids("  "))
    assert list(found.mask(found.initial)) == vocabulary.ids(" a")


FORCED = [
    ("ab", b"ab", "one token"),
    ("(ab|ac)", b"a", "two tokens that begin alike"),
    ("a(bc|bd)", b"ab", "the second branches after its first byte"),
    ("a*", b"", "may end"),
    ("aab?", b"aa", "may end after them"),
]


@pytest.mark.parametrize(("regex", "wanted", "reason"), FORCED)
def test_forced_bytes_of_proper_tokens(regex: str, wanted: bytes, reason: str) -> None:
    vocabulary = toy("abcd", [("a", "b"), ("b", "c"), ("b", "d")])
    found = proper(regex, vocabulary)
    assert found.forced(found.initial) == wanted, reason


def test_forced_is_the_common_prefix_of_proper_texts() -> None:
    """After a, the text ab would have been one token: only c is left of b and c."""
    vocabulary = toy("abc", [("a", "b")])
    found = proper("a(b|c)", vocabulary)
    (a,) = vocabulary.ids("a")
    assert found.forced(found.initial) == b"a"
    assert found.forced(found.advance(found.initial, a)) == b"c"


def test_a_token_the_mask_forbids_is_refused() -> None:
    vocabulary = toy("ab", [("a", "b")])
    found = proper("ab", vocabulary)
    with pytest.raises(TokenNotAllowed):
        found.advance(found.initial, vocabulary.ids("a")[0])


def test_equal_positions_are_equal_states() -> None:
    vocabulary = toy("ab", [("a", "b")])
    found = proper("(a|b)*", vocabulary)
    b = vocabulary.ids("b")[0]
    once = found.advance(found.initial, b)
    assert found.advance(once, b) == once


def test_error_of_a_language_that_cannot_be_tokenized() -> None:
    with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
        proper("c", toy("ab", [("a", "b")]))


def test_of_two_ids_of_one_text_only_the_canonical_is_allowed() -> None:
    vocabulary = Vocabulary([b"a", b"a", None], end=2, merges=[])
    found = proper("a", vocabulary)
    assert list(found.mask(found.initial)) == [Bpe.of(vocabulary).encode("a")[0]]


_AB, _ABA = AddedToken(b"ab", 3), AddedToken(b"aba", 4)

#: Alphabet, rules, further tokens, other arguments of the vocabulary, the reason.
OTHERS: list[tuple[str, list[tuple[str, str]], list[str], dict[str, Any], str]] = [
    (
        "ab",
        [("b", "a")],
        ["ab"],
        {"added": [AddedToken(b"ab", 3)]},
        "an added token is cut out before merging",
    ),
    (
        "ab",
        [("a", "a")],
        ["aba", "ab"],
        {"added": [AddedToken(b"aba", 3), AddedToken(b"ab", 4)]},
        "the longest of added tokens",
    ),
    ("abc", [("a", "b"), ("b", "c")], ["abc"], {"ignore_merges": True}, "a word taken whole"),
]


@pytest.mark.parametrize(("alphabet", "rules", "extra", "told", "reason"), OTHERS)
def test_the_canonical_tokenization_of_every_text_is_allowed(
    alphabet: str,
    rules: list[tuple[str, str]],
    extra: list[str],
    told: dict[str, Any],
    reason: str,
) -> None:
    plain = toy(alphabet, rules, extra=extra)
    tokenizer = Tokenizer(plain.tokenizer.merges, **told)
    vocabulary = Vocabulary(plain.tokens, end=plain.end, tokenizer=tokenizer)
    bpe = Bpe.of(vocabulary)
    found = sequences(proper(f"[{alphabet}]*", vocabulary), 5)
    wanted = [
        tuple((vocabulary.tokens[t] or b"").decode() for t in bpe.encode(text))
        for text in texts(alphabet, 5)
    ]
    assert found == sorted(wanted), reason


def test_byte_fallback_encodes_whole_unknown_characters() -> None:
    """``é`` is a piece, ``è`` and the line feed are not: bytes only for those, and all of them."""
    pieces = ["a", "b", "é", "ab"]
    vocabulary = Vocabulary(
        [*(bytes([byte]) for byte in range(256)), *(p.encode() for p in pieces), None],
        end=260,
        tokenizer=Tokenizer([(b"a", b"b")], byte_fallback=range(256)),
    )
    bpe = Bpe.of(vocabulary)
    regex = "[abéè\n]{0,3}"
    constraint = proper(regex, vocabulary)
    found = []
    waiting: list[tuple[Any, list[int]]] = [(constraint.initial, [])]
    while waiting:
        state, taken = waiting.pop()
        if constraint.is_final(state):
            found.append(taken)
        ids = [token for token in constraint.mask(state) if token != vocabulary.end]
        assert ids or constraint.is_final(state), "a dead end"
        waiting += [(constraint.advance(state, token), [*taken, token]) for token in ids]
    assert sorted(found) == sorted(bpe.encode(text) for text in texts("abéè\n", 3))
