"""Mask rows of looping states: the self-loop cache gives the masks of reading every token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from tests.automata.machines import dfa_of
from workbench.automata.build import regex_dfa
from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS
from workbench.base.source import Source
from workbench.constraint.engine.automaton import TableMachine, automaton
from workbench.constraint.engine.mask_rows import MaskRows
from workbench.constraint.engine.self_loops import SelfLoopCache
from workbench.constraint.engine.trie_walk import Words
from workbench.constraint.masks import TokenMask
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.vocabulary import Vocabulary

PIECES = (
    *(bytes([i]) for i in range(256)),
    *(t.encode() for t in ("ab", "abc", 'ab"', '",', '"}', "é", "東京", 'é"', "\\n", 'x\\"', "a\n")),
    *(t.encode() for t in ("int", "int ", "in", "if(", "return", "_x1", "a=", "x*/", "*/", "**/", "//")),
    *(b"\xe6\x9d", b"\x9d\xb1", b"a\xe6", b"\xb1a", b"\xb1\"", b"ab\xff", b"ab", b"aab\xc3", b"\xa9b"),
    *(bytes([a, b]) for a in b'ab"\\ 1(' for b in b'ab"\\ 1('),
    *(t.encode() for t in ("abab", "ababa", "ababab", 'abababab"', "ab東京é", "京ab  ab", "  ab ab ab ab")),
    *(b"abcd\xe6", b"\xb1abcd", b"abababab\xe6\x9d", "東京東京東".encode(), b"aaaaaaaaaaaaaaaa"),
)  # fmt: skip
VOCABULARY = Vocabulary((*PIECES, b"<end>"), end=len(PIECES))
#: Half of it begins with a space, so the trie is walked in two parts.
SPACED = Vocabulary((*PIECES, *(b" " + t for t in PIECES)))

JSON = r"""
start ::= value;
value ::= '{' (string ':' value (',' string ':' value)*)? '}' | '[' (value (',' value)*)? ']' | string;
string ::= #"\"([^\"\\\\\\x00-\\x1f]|\\\\[\"\\\\/bfnrt])*\"";
"""
C = r"""
start ::= statement*;
statement ::= "int " name "=" value ";" | name "=" value ";" | "return " value ";" | "/*" comment "*/";
value ::= name | "(" value ")" | value "*" value | #"[0-9]+";
name ::= #"[a-z_][a-z_0-9]*";
comment ::= #"([^*]|\\*[^/*])*";
"""
#: Without blanks, the letters after a name may also begin a keyword.
KEYWORDS = r"""
start ::= value (("in" | "int" | "ab" | "or") value)*;
value ::= #"[a-z_][a-z_0-9]*" | "(" start ")" | "return" value;
"""

#: Every letter begins a name, and some begin a keyword: configurations loop on more than a state.
NAMES = r"""
start ::= item (',' item)*;
item ::= name (name | 'int' item | 'b=' item)? | 'if' item | 'return' name? '=' item | '(' start ')'
       | '\"' text '\"' | '  ' name | '1' '!';
name ::= #"[a-zA-Z_][a-zA-Z_0-9]*";
text ::= #"[^\"]*";
"""
#: Names, and beside each letter of them words that go on with other letters: in the rule, in one that it calls,
#: after one that returns, and after a long word.
ACCENTS = r"""
start ::= pair (',' pair)*;
pair ::= value (value | word)?;
value ::= name ('(' pair ')')? | '"' pair '"' | '  ' pair;
word ::= 'a' '東' | 'ab' inner | ab '京' | 'ababababab' ('東' | 'é') | #"[b-n]" '=' | '[' word ']';
name ::= #"[a-zA-Z_]+";
inner ::= '東京' ('é' | '(' inner ')');
ab ::= 'aab' | 'abab' | '(' ab ')';
"""
WIDE_NAMES = NAMES.replace("a-zA-Z_", "a-zA-Z_à-ÿ一-龥")

#   grammar                                          read before                 because
WIDE = [
    (r'"(?:[^"\\\x00-\x1f]|\\["n])*"',               (b'"', b'"ab', b'"\xe6', b'"\\'), "a string"),
    (r"[a-z]+@[a-z]+",                               (b"", b"a", b"a@", b"a@b"), "letters alone"),
    (r"(if|int|return|[a-z_][a-z0-9_]*)=1",          (b"", b"i", b"in", b"ret", b"x"), "keywords among names"),
    (r"\w+",                                         (b"", b"a", b"\xc3"),       "many middles of characters"),
    (r"(.|\n)*",                                     (b"", b"\xe6"),             "everything"),
    (r"[\x20-\x7e]*\xe9?",                           (b"", b"a"),                "one character past the loop"),
    (JSON,                                           (b'"', b'["a', b'{"', b'{"k":"\xc3'), "strings in a stack"),
    (C,                                              (b"", b"in", b"int a=(b*", b"/*a", b"ret"), "names in a stack"),
    (KEYWORDS, (b"", b"a", b"xi", b"(in", b"((xa", b"x1ab", b"return"), "keywords after names in a stack"),
    (NAMES,                                          (b"", b"(", b"a", b"if", b"retu", b"i,", b"\"a", b" "), "names beside names and keywords"),
    (WIDE_NAMES,                                     (b"", b"(", b"a\xc3", b"if", b"\xe6", b"i,", b"\xc3\xa9"), "the same with more letters"),
    (ACCENTS,                  (b"", b"a", b"ab", b"\"aba", b"abababab", b"a(", b"\""), "words with other letters beside names"),
    (r'"[a-z ]{0,7}"[a-z]{6}',                       (b'"', b'"abc', b'"abcdefg', b'""a'), "at most so many characters"),
    (r'"[^"]{3,8}"',                                 (b'"', b'"ab', b'"abc\xe6', b'"abcdefg', b'"abcdefgh'), "at least some"),
    (r"[a-z]{5,6}[a-c]*!",                           (b"", b"a", b"ab", b"abcde", b"abcdef"), "the last one reads more"),
    (r"([a-z][a-z])*!",                              (b"", b"a", b"ab"),         "an even number"),
    (r"([a-z]{4}[0-9a-z ]{4})*!",                    (b"", b"a", b"abcd", b"abcde"), "two kinds of links"),
    (r"start ::= '(' start ')' | #'[^()]{0,6}' '!' start?;", (b"", b"((a", b"(ab\xe6", b"(abcdef", b"(!("), "counted in a stack"),
    (r"start ::= name '=' start ';' | name; name ::= #'[a-z][a-z0-9]{0,5}';", (b"", b"a", b"a=bcd", b"abcdef"), "counted names"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "before", "because"), WIDE, ids=[row[2] for row in WIDE])
def test_masks_of_looping_states(text: str, before: tuple[bytes, ...], because: str) -> None:
    grammar = Grammar.from_kbnf(text) if "::=" in text else Grammar.from_regex(text)
    for vocabulary in (VOCABULARY, SPACED):
        constraint = automaton(grammar, vocabulary, LIMITS)
        for read in before:
            state = constraint.step_bytes(constraint.initial, read)
            assert state is not None
            tokens = enumerate(vocabulary.tokens)
            allowed = {i for i, t in tokens if t and grammar.is_prefix(read + t)}
            allowed -= {*vocabulary.ends}
            if grammar.accepts(read):
                allowed |= {*vocabulary.ends}
            assert set(constraint.mask(state)) == allowed, f"{because}, after {read!r}"


@pytest.mark.parametrize("text", [NAMES, ACCENTS, KEYWORDS, JSON, C])
def test_no_byte_that_follows_letters_is_missing(text: str) -> None:
    network = Grammar.from_kbnf(text).machine
    assert isinstance(network, Network)
    letters, others = b"abcdeint", bytes(range(128, 256)) + b"=("
    read, wanted = (np.isin(np.arange(256), list(some)) for some in (letters, others))
    found, bits = network.bytes_after(read, wanted)
    runner = Runner(network)
    for before in (b"", b"a", b"ab", b'"', b"(", b'"(', b"int ", b"/*", b"["):
        situation = runner.run(before)
        if situation == DEAD:
            continue
        stored = {state for state, _ in runner.configurations(situation)}
        here = np.bitwise_or.reduce(found[list(stored)])
        nearby = waiting = {situation}
        for _ in range(12):
            waiting = {runner.step(s, byte) for s in waiting for byte in letters} - nearby - {DEAD}
            nearby = nearby | waiting
        for byte in others:
            if any(runner.step(s, byte) != DEAD for s in nearby):
                assert here & bits[byte], (before, byte)


def test_no_other_letters_follow_a_name() -> None:
    network = Grammar.from_kbnf(NAMES).machine
    assert isinstance(network, Network)
    runner, every = Runner(network), np.arange(256)
    found, _ = network.bytes_after(np.isin(every, list(b"xyz")), every >= 128)
    states = {state for state, _ in runner.configurations(runner.run(b"xy"))}
    assert states
    assert not np.bitwise_or.reduce(found[list(states)])
    assert np.bitwise_or.reduce(found)


def test_a_loop_is_walked_once() -> None:
    vocabulary = Vocabulary(PIECES)
    loops = vocabulary.trie.shared(SelfLoopCache)
    for text in ('"[^"]*"', '<"[^"]*">', '"[^"]*"!'):
        dfa = dfa_of(text)
        marker = MaskRows(TableMachine(dfa), vocabulary, LIMITS)
        marker.row(dfa.run(b'<"' if text[0] == "<" else b'"'))
        assert len(loops) == 1, "the same bytes stay in the string"


PARTS = st.sampled_from(
    [
        '"',
        "[a-z]",
        r"[^\"\\]",
        r"\w",
        " ",
        "(if|int)",
        "[a-z_]",
        r"\\.",
        "é",
        ".",
        "=",
        "[ -~]",
        "([a-z]{0,9})",
    ]
)
PIECE = st.tuples(
    PARTS, st.sampled_from(["", "*", "+", "?", "{1,3}", "{0,6}", "{5}", "{4,7}"])
).map("".join)
REGEX = st.lists(PIECE, min_size=1, max_size=5).map("".join)


@pytest.mark.exhaustive
@example('"{1,3} {1,3}')
@given(st.lists(REGEX, min_size=1, max_size=3).map("|".join))
@settings(deadline=None, max_examples=300)
def test_rows_are_equal_for_complete_and_lazy_machines(pattern: str) -> None:
    regex = parse_regex(Source(pattern, "regex"))
    try:
        dfa = regex_dfa(regex)
    except LimitError:
        reject()  # it explodes
    lazy = LazyDfa(thompson(regex))
    markers = [MaskRows(TableMachine(machine), SPACED, LIMITS) for machine in (dfa, lazy)]
    rows: list[dict[int, Words]] = [{}, {}]
    for state, text in shortest_texts(dfa).items():
        readable = [i for i, t in enumerate(SPACED.tokens) if t and dfa.run(t, state) != DEAD]
        for marker, known, at in zip(markers, rows, (state, lazy.run(text)), strict=True):
            number, bits = marker.row(at)
            row = known[number] if bits is None else known.setdefault(number, bits)
            assert TokenMask(row, len(SPACED)).ids.tolist() == readable, (pattern, text)


def test_a_loop_without_exits() -> None:
    """Everything is read inside the loop, so it has no exits."""
    closed = Vocabulary((*(bytes([byte]) for byte in range(256)), b"ab", b"a b"))
    constraint = automaton(Grammar.from_regex(r"(.|\n)*"), closed, LIMITS)
    assert constraint.mask(constraint.initial) == automaton(
        Grammar.from_regex(r"(.|\n)*x?"), closed, LIMITS
    ).mask(0)
    ascii_only = Vocabulary(tuple(bytes([byte]) for byte in range(128)))
    everything = automaton(Grammar.from_regex(r"[\x00-\x7f]*"), ascii_only, LIMITS)
    assert len(everything.mask(everything.initial)) == 128


def test_a_trie_mostly_below_the_space_is_walked_in_two_parts() -> None:
    whole, spaced = (v.trie.shared(SelfLoopCache).parts(v.trie).runs for v in (VOCABULARY, SPACED))
    assert len(whole) == 1
    assert spaced[:, 0].tolist() == [0, 1]


def shortest_texts(dfa: Dfa) -> dict[int, bytes]:
    """A text that leads to each state."""
    texts = {dfa.initial: b""}
    for state, text in (waiting := list(texts.items())):
        for byte in range(256):
            target = dfa.step(state, byte)
            if target != DEAD and target not in texts:
                texts[target] = text + bytes([byte])
                waiting.append((target, texts[target]))
    return texts
