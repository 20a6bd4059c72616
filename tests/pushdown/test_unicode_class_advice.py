r"""Notes on ``\d``, ``\w`` and ``\s`` that match more than ASCII, and their fixes."""

from __future__ import annotations

import pytest

from workbench.analysis.advice import lint
from workbench.base.diagnostics import Advice
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

#   notation         text                              with all fixes
FIXED = [
    (Notation.REGEX, r"\d{4}",                         r"[0-9]{4}"),
    (Notation.REGEX, r"[\w.+-]+@\w",                   r"[A-Za-z0-9_.+-]+@[A-Za-z0-9_]"),
    (Notation.REGEX, r"[\d\s]\s",                      "[0-9 \\t\\n\\r\\f\\v][ \\t\\n\\r\\f\\v]"),
    (Notation.REGEX, r"(?i)\w",                        r"(?i)[A-Za-z0-9_]"),
    (Notation.REGEX, r"(?x) \s  # blank",              r"(?x) [\x20\t\n\r\f\v]  # blank"),
    (Notation.KBNF,  r"start ::= #'\\d' | #'[\\s]+';", r"start ::= #'[0-9]' | #'[ \\t\\n\\r\\f\\v]+';"),
    (Notation.KBNF,  r"start ::= #'(?x)a\\s';",        r"start ::= #'(?x)a[\\x20\\t\\n\\r\\f\\v]';"),
    (Notation.LARK,  r"start: /\d[\w-]/",              r"start: /[0-9][A-Za-z0-9_-]/"),
]  # fmt: skip


def notes(grammar: Grammar) -> list[Advice]:
    return [one for one in lint(grammar, seconds=0.05).advice if one.kind == "unicode_class"]


@pytest.mark.parametrize(("notation", "text", "fixed"), FIXED, ids=[row[1] for row in FIXED])
def test_the_fixes_leave_the_ascii_characters(notation: Notation, text: str, fixed: str) -> None:
    grammar = Grammar.from_text(text, notation)
    written = text
    for one in sorted(notes(grammar), key=lambda one: -one.span.start):
        assert one.severity == "note"
        assert one.fix is not None
        written = written[: one.span.start] + one.fix + written[one.span.end :]
    assert written == fixed
    ascii_only = Grammar.from_text(fixed, notation)
    assert notes(ascii_only) == []
    # Python's Unicode white space holds the separators 1C to 1F, its ASCII white space does not
    for character in map(chr, {*range(128)} - {*range(0x1C, 0x20)}):
        for sample in (character, "a" + character, character * 4):
            assert ascii_only.accepts(sample) == grammar.accepts(sample), sample
    assert not ascii_only.accepts("٣" * 4)


#   text                     why there is no note
QUIET = [
    (r"[0-9]",               "ASCII is written"),
    (r"(?a)\d\w\s",          "the flag a means ASCII"),
    (r"\D|[^\s]|[^\w.]",     "a negated class"),
    (r"\\d|[\\w]",           "an escaped backslash, then a letter"),
    (r"\p{Nd}",              "Unicode is requested"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), QUIET, ids=[row[1] for row in QUIET])
def test_no_note(text: str, why: str) -> None:
    assert notes(Grammar.from_regex(text)) == []


def test_no_note_for_a_pattern_of_a_json_schema() -> None:
    schema = r'{"type": "string", "pattern": "^\\d+$"}'
    assert notes(Grammar.from_text(schema, Notation.JSON_SCHEMA)) == []


def test_the_message_names_other_members() -> None:
    (one,) = notes(Grammar.from_regex(r"a\d"))
    assert one.message == r"\d also matches hundreds of other digits, such as ٣ and ५"
    assert one.hint == "write [0-9] for ASCII digits"
    assert (one.span.start, one.span.end) == (1, 3)
