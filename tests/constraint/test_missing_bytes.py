"""Vocabularies in which some bytes have no token: every method, against texts counted by hand."""

from __future__ import annotations

from itertools import product

import pytest

import workbench as wb
from workbench.base.errors import VocabularyError
from workbench.constraint.protocol import Constraint, State
from workbench.grammar.label_bytes import over_bytes

#: There is no ``b``, no line feed, and no è, whose last byte is missing.
HELD = b'ac"()' + "é".encode()
VOCABULARY = wb.Vocabulary(
    (*(bytes((byte,)) for byte in HELD), b"aa", b'"a', "é".encode(), None), end=len(HELD) + 3
)

#   grammar, what it tests
GRAMMARS = [
    (wb.Grammar.from_regex("[abcéè]{1,3}"), r"a regex of characters"),
    (wb.Grammar.from_regex(".{0,2}c"), "any character"),
    (wb.Grammar.from_regex("ab|ac|é"), "an option cannot be written"),
    (wb.Grammar.from_regex("(?P<TEXT_UNTIL>cc)|a"), "an extension becomes a machine"),
    (wb.Grammar.from_kbnf("start ::= 'a' start 'c' | 'é' | 'b' start;"), "rules that nest"),
    (wb.Grammar.from_kbnf("start ::= x | 'a'; x ::= 'c' y; y ::= 'b' | 'b' y;"), "rules without a text"),
    (wb.Grammar.from_kbnf("start ::= '\"' except!('c') '\"';"), "what is excepted"),
    (wb.Grammar.from_kbnf("start ::= #e'[abc]*c' 'a'?;"), "the shortest match"),
    (wb.Grammar.from_kbnf("start ::= '(' start ')' | #'[^()]';"), "complements"),
    (wb.Grammar.from_kbnf("start ::= #'a(?=b).' | 'ac' | start 'c';"), "an option needs a byte only for a lookahead"),
    (wb.Grammar.from_kbnf("start ::= 'a' except!('aa', 1) | #substrs'bcb' 'a' | #'(?<=b)a' | 'é';"), "machines"),
    (wb.Grammar.from_json_schema({"enum": ["a", "b", "é", "è", "c"]}), "a schema"),
]  # fmt: skip
READ_BY_OUTLINES = [
    "a regex of characters",
    "any character",
    "an option cannot be written",
    "rules without a text",
]
METHODS = ["automaton", "composed", "domino", "online", "outlines", "lalr", "template"]


def texts_of(constraint: Constraint, most: int) -> set[bytes]:
    """The accepted texts of at most so many bytes, by following every token of every mask."""
    found: set[bytes] = set()
    waiting: list[tuple[State, bytes]] = [(constraint.initial, b"")]
    known = set(waiting)
    while waiting:
        state, text = waiting.pop()
        mask = constraint.mask(state)
        assert len(mask), f"a dead end after {text!r}"
        for token_id in mask:
            token = constraint.vocabulary.tokens[token_id]
            if token is None:
                found.add(text)
            elif len(text + token) <= most:
                step = constraint.advance(state, token_id), text + token
                if step not in known:
                    known.add(step)
                    waiting.append(step)
    return found


def expected(grammar: wb.Grammar, most: int) -> set[bytes]:
    bytes_ = sorted(VOCABULARY.alphabet)
    texts = (bytes(t) for n in range(most + 1) for t in product(bytes_, repeat=n))
    return {text for text in texts if grammar.accepts(text)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("grammar", "why"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_every_method_allows_the_texts_that_tokens_spell(
    grammar: wb.Grammar, why: str, method: str
) -> None:
    if method == "outlines" and why not in READ_BY_OUTLINES:
        with pytest.raises(wb.WorkbenchError, match="this method does not read"):
            wb.compile(grammar, VOCABULARY, method)
        return
    constraint = wb.compile(grammar, VOCABULARY, method)
    assert texts_of(constraint, 4) == expected(grammar, 4)


def test_a_grammar_that_is_not_concerned_stays_itself() -> None:
    grammar = wb.Grammar.from_regex("[ac]*")
    assert over_bytes(grammar, VOCABULARY.alphabet) is grammar
    narrowed = wb.Grammar.from_regex("[abc]*")
    found = over_bytes(narrowed, VOCABULARY.alphabet)
    assert found is over_bytes(narrowed, VOCABULARY.alphabet), "cached"
    assert wb.equivalent(found, grammar).same


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "text",
    ["start ::= 'b';", "start ::= 'a' x; x ::= 'b' | x 'a';", "start ::= 'a' #'(?=[ab]b)a?.*';"],
)
def test_error_no_text_can_be_spelled(text: str, method: str) -> None:
    with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
        wb.compile(wb.Grammar.from_kbnf(text), VOCABULARY, method)


def test_the_empty_text_alone_can_be_left() -> None:
    for grammar in (wb.Grammar.from_regex("b*"), wb.Grammar.from_gbnf('root ::= "b" root | ""')):
        constraint = wb.compile(grammar, VOCABULARY)
        assert constraint.mask(constraint.initial).ids.tolist() == [VOCABULARY.end]
