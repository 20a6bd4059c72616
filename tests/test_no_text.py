"""Regexes that match no text: the error of every method, its place and its cause."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.analysis.advice import tree_advice
from workbench.constraint.compile import METHODS

BYTES = wb.Vocabulary((*(bytes([byte]) for byte in range(256)), None), end=256)

#   regex             the cause         its reason                                      the hint
EMPTY = [
    ("a$b",            "$",             "no text matches the rest and fulfils $ there", "delete $, or move it to where a text can fulfil it"),
    ("(?<=a)b",        "(?<=a)",        "no text matches the rest and fulfils (?<=a) there", "delete (?<=a), or move it to where a text can fulfil it"),
    ("/^abc$/i",       "^",             "no text matches the rest and fulfils ^ there", "did you mean '(?i)^abc$'?"),
    ("(?=a)(?=b).",    "(?=a)",         "no text matches the rest and fulfils (?=a) there", "delete (?=a), or move it to where a text can fulfil it"),
    (r"x(y[^\s\S])+",  r"[^\s\S]",      "this set has no characters",                   "delete it, or add a character to its set"),
    (r"[^\s\S]|[^\w\W]", r"[^\s\S]|[^\w\W]", "",                                        "delete it, or change it so that it matches a text"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "cause", "reason", "hint"), EMPTY, ids=[e[0] for e in EMPTY])
def test_error_a_regex_that_matches_no_text(
    pattern: str, cause: str, reason: str, hint: str
) -> None:
    grammar = wb.Grammar.from_regex(pattern)
    with pytest.raises(wb.BuildError) as caught:
        wb.compile(grammar, BYTES)
    error = caught.value
    assert error.message == "this regex matches no text" + (f": {reason}" if reason else "")
    assert pattern[error.span.start : error.span.end] == cause
    assert error.hint == hint
    warning = next(one for one in tree_advice(grammar) if one.kind == "unproductive")
    assert (warning.message, warning.span) == (error.message, error.span)
    assert str(grammar.check("a")) == "no text is accepted"


@pytest.mark.parametrize("method", METHODS)
def test_error_no_method_blames_the_vocabulary(method: str) -> None:
    grammar = wb.Grammar.from_regex("a$b")
    if method == "unconstrained":
        assert wb.compile(grammar, BYTES, method)
        return
    with pytest.raises(wb.BuildError, match="this regex matches no text"):
        wb.compile(grammar, BYTES, method)


def test_error_a_vocabulary_without_the_characters_is_named() -> None:
    vocabulary = wb.Vocabulary((b"x", None), end=1, name="toy")
    with pytest.raises(wb.VocabularyError, match="no accepted text can be spelled"):
        wb.compile(wb.Grammar.from_regex("a$"), vocabulary)
