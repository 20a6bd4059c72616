"""Literals and calls as trees, and the spans of errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.schema.typed.python_values import (
    Call,
    Items,
    Number,
    Pairs,
    Text,
    Value,
    Word,
    read_value,
)


def plain(value: Value) -> object:
    """A tree without spans."""
    match value:
        case Number() | Text():
            return value.value
        case Word(name=name):
            return f"word {name}"
        case Items(bracket=bracket, items=items):
            return bracket, *map(plain, items)
        case Pairs(pairs=pairs):
            return [(plain(key), plain(each)) for key, each in pairs]
        case Call(name=name, keywords=keywords, given=given):
            return name, {word: plain(each) for word, each in keywords}, list(map(plain, given))


#: A text, its tree, and the reason.
READ = [
    ("1", 1, "a whole number"),
    ("-1.5e-3", -0.0015, "a float"),
    ("1e400", float("inf"), "beyond the largest"),
    ("-inf", float("-inf"), "as repr writes it"),
    ("info", "word info", "no number"),
    ("'a\\'\\x41\\u00e9\\U0001F600\\n'", "a'Aé😀\n", "escapes"),
    ('"\\ud83d\\ude00"', "\ud83d\ude00", "halves of a pair stay apart, as in Python"),
    ("Colour.RED", "word Colour.RED", "a name with a dot"),
    ("<Colour.RED: (1, 'a>')>", "word Colour.RED", "the repr of a member, whatever its value"),
    ("[ 1 ,\n 2, ]", ("[", 1, 2), "space, and a comma at the end"),
    ("()", ("(",), "no item"),
    ("(1)", 1, "brackets around a value"),
    ("(1,)", ("(", 1), "a comma makes the tuple"),
    ("{}", [], "a dict"),
    ("{1: 'a', 2: {3}}", [(1, "a"), (2, ("{", 3))], "a dict with a set in it"),
    ("f(a=1, b=g(2))", ("f", {"a": 1, "b": ("g", {}, [2])}, []), "calls in calls"),
    ("é(ñ=1)", ("é", {"ñ": 1}, []), "any identifier"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tree", "why"), READ)
def test_a_literal_is_read_to_its_tree(text: str, tree: object, why: str) -> None:
    assert plain(read_value(Source(text, "text"))) == tree, why


#: A text, the column of the error, its kind, and the message.
WRONG = [
    ("", 1, "syntax", "expected a Python literal or a call"),
    ("1 2", 3, "syntax", "expected the end of the text"),
    ("1 + 2", 3, "syntax", "expected a Python literal or a call"),
    ("007", 1, "syntax", "expected a Python literal or a call"),
    ("[1 2]", 4, "syntax", "expected , or ]"),
    ("[1, 2", 6, "syntax", "expected , or ]"),
    ("{1: 2, 3}", 9, "syntax", "expected :"),
    ("{1, 2: 3}", 6, "syntax", "expected , or }"),
    ("f(a=1, a=2)", 8, "syntax", "a is given twice"),
    ("f(a=1)(b=2)", 7, "syntax", "expected the end of the text"),
    ("a[1]", 2, "syntax", "expected the end of the text"),
    ("'a", 1, "syntax", "expected a Python literal or a call"),
    ("'a\\q'", 3, "bad_escape", "expected an escape such as \\n, \\x41 or \\u00e9"),
    ("'\\U00110000'", 2, "bad_escape", "expected an escape such as \\n, \\x41 or \\u00e9"),
    ("lambda: 1", 7, "syntax", "expected the end of the text"),
    ("<a>", 3, "syntax", "expected :"),
    ("1" * 5000, 1, "digits", "expected a number of fewer digits"),
    ("[" * 100_000, 1, "nesting", "nested too deeply to be made into objects"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "column", "kind", "message"), WRONG, ids=range(len(WRONG)))
def test_error_with_column(text: str, column: int, kind: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_value(Source(text, "text"))
    assert (caught.value.message, caught.value.kind) == (message, kind)
    assert caught.value.source.position(caught.value.span.start) == (1, column)


VALUES = st.recursive(
    st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_output_of_repr(value: object) -> None:
    def expected(one: object) -> object:
        if isinstance(one, list):
            return "[", *map(expected, one)
        if isinstance(one, dict):
            return [(key, expected(each)) for key, each in one.items()]
        return one

    assert plain(read_value(Source(repr(value), "text"))) == expected(value)
