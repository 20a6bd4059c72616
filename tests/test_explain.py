"""explain(): how far a token is read, where it fails, what was expected, and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.analysis.earley import SourceRecognizer
from workbench.analysis.explain import explain_each
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary

JSON = Grammar.from_kbnf(
    """start ::= value;
value ::= object | array | string | number;
object ::= '{' (member (',' member)*)? '}';
member ::= string ':' value;
array ::= '[' (value (',' value)*)? ']';
string ::= '"' #'[^"\\\\x00-\\\\x1f]*' '"';
number ::= #'[0-9]+';"""
)
JSON_PLACES = SourceRecognizer.of(JSON)
DATE = Grammar.from_regex("[0-9]{4}-[0-9]{2}é?")

#   grammar  so far          token       read      fails     said
EXPLAINED = [
    (DATE,   "20",           "2x",       b"2",     "x",      "after '2': expected a digit"),
    (DATE,   "2024-0",       None,       b"",      "",       "the text is not finished: expected a digit"),
    (DATE,   "",             None,       b"",      "",       "the text may not be empty: expected a digit"),
    (DATE,   "2024-01é",     "1",        b"",      "1",      "nothing more may follow"),
    (DATE,   "2024-01",      "è",        b"\xc3",  "è",      "expected 'é' or the end"),
    (DATE,   "2024-01",      b"\xff",    b"",      "<0xFF>", "expected 'é' or the end"),
    (JSON,   "[1",           "2 ]",      b"2",     " ",      "after '2': expected ',', ']' or a digit"),
    (JSON,   "[1",           None,       b"",      "",       "array is not finished: expected ',', ']' or a digit"),
    (JSON,   '{"a": '[:-1],  "}",        b"",      "}",      "expected '\"', '[', '{' or a digit"),
    (JSON,   '"ab',          None,       b"",      "",       "string is not finished"),
    (JSON,   '"ab',          "\n",       b"",      "\n",     "a line break is not allowed here"),
    (JSON,   b'"\xc3',       b"a",       b"",      "a",      "the character before it is incomplete"),
    (JSON,   "",             '{"a":,}',  b'{"a":', ",",      "after '{\"a\":': expected '\"', '[', '{' or a digit"),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "so_far", "token", "read", "fails", "said"), EXPLAINED)
def test_a_forbidden_token_is_explained(
    grammar: Grammar, so_far: str | bytes, token: str | None, read: bytes, fails: str, said: str
) -> None:
    why = wb.explain(grammar, so_far, token)
    assert (why.read, why.failing, str(why)) == (read, fails, said)
    assert not why.allowed
    assert why.complete


def test_places_and_stacks() -> None:
    why = wb.explain(JSON, '[{"a":[1', "x")
    text = JSON.source.text
    assert [text[p.span.start : p.span.end] for p in why.places] == [",", "]", "[0-9]"]
    told = [" ".join(frame.rule for frame in stack) for stack in why.stacks]
    assert told == [
        "start value array value object member value array",
        "start value array value object member value array value number",
    ]


#   so far        token    note
NOTES = [
    ("[1",          " ",     "needs `,` `]` or a digit"),
    ("[[]",         " ",     "needs `,` or `]`"),
    ("",            "x",     'needs `"` `[` `{` or a digit'),
    ('"ab',         "\n",    "no line break here"),
    ('"ab',         None,    "string is not finished"),
    ("",            None,    "the text may not be empty"),
    ("{}",          ",",     "nothing more may follow"),
    (b'"\xc3',      b"a",    "incomplete character before it"),
    ("12",          "",      ""),
]  # fmt: skip


@pytest.mark.parametrize(("so_far", "token", "note"), NOTES)
def test_a_note_says_what_is_needed_instead(
    so_far: str | bytes, token: str | bytes | None, note: str
) -> None:
    assert wb.explain(JSON, so_far, token).note == note


def test_an_allowed_token_has_no_reason() -> None:
    why = wb.explain(DATE, "20", "24-")
    assert why.allowed
    assert (why.reason, str(why), why.failing) == ("", "", "")
    assert why.read == b"24-"
    assert wb.explain(DATE, "2024-01", None).allowed


def test_a_character_cut_between_two_tokens_is_reported_whole() -> None:
    why = wb.explain(DATE, b"2024-01\xc3", b"\xa8")
    assert why.text == b"2024-01"
    assert (why.failing, why.reason) == ("è", "expected 'é' or the end")


def test_the_empty_language() -> None:
    for token in ("a", None):
        why = wb.explain(Grammar.from_regex(r"[^\s\S]"), "", token)
        assert (why.allowed, why.places, why.expected) == (False, (), ())
        assert why.reason.endswith("expected nothing")


def test_tokens_by_id() -> None:
    vocabulary = Vocabulary([b"2", b"0", b"x", None, b"<end>"], end=4, name="five")
    assert wb.explain_id(DATE, vocabulary, [0, 1], 2).failing == "x"
    assert wb.explain_id(DATE, vocabulary, [0, 1], 4).token is None
    with pytest.raises(WorkbenchError, match="the token 3 is special"):
        wb.explain_id(DATE, vocabulary, [], 3)


def test_error_when_the_text_has_left_the_grammar() -> None:
    for token in ("1", None):
        with pytest.raises(WorkbenchError, match="no accepted text begins with this text"):
            wb.explain(DATE, "2x", token)


def test_without_the_time_for_places_the_rest_is_reported() -> None:
    grammar = Grammar.from_kbnf(
        "start ::= start start start | start start | 'a' #' *';", limits=Limits(seconds=0.02)
    )
    why = wb.explain(grammar, "a" * 2000, "b")
    assert not why.complete
    assert (why.places, why.failing) == ((), "b")
    assert "'a'" in why.reason


def test_notes_read_the_text_once_and_say_the_same() -> None:
    tokens = [b"x", b"1,", b'"', None, b"]]", b"1]"]
    told = [why.reason for why in explain_each(JSON, b"[1,", tokens)]
    assert told == [wb.explain(JSON, "[1,", token).reason for token in tokens]


@given(st.text(alphabet='{}[]",:a1é\n', max_size=8), st.text(alphabet='{}[]",:a1é\n', max_size=5))
def test_law_the_longest_beginning_is_the_longest(so_far: str, token: str) -> None:
    if not JSON.is_prefix(so_far):
        return
    why = wb.explain(JSON, so_far, token)
    data, read = so_far.encode(), why.read
    assert token.encode().startswith(read)
    assert JSON.is_prefix(data + read)
    assert why.allowed == JSON.is_prefix(so_far + token)
    if not why.allowed:
        assert not JSON.is_prefix(data + token.encode()[: len(read) + 1])
        reached = JSON_PLACES.after(why.text)
        assert reached is not None
        assert why.expected == reached.reads
