"""Character classes are labelled as in the grammar's text."""

from __future__ import annotations

import pytest

from workbench.base.source import Source
from workbench.drawing.edge_labels import MAX_LABEL, written_classes
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Characters

#   notation         text                                   labels, in the order of the text
WRITTEN = [
    (Notation.REGEX, r"[\w.+-]+@\w+\.\d{2}",                [r"[\w.+-]", r"\w", r"\d"]),
    (Notation.REGEX, r"(?i)[a-z][0-9]",                     ["[0-9]"]),
    (Notation.REGEX, r"(?s).[^x]",                          ["[^x]"]),
    (Notation.REGEX, r".\S",                                [".", r"\S"]),
    (Notation.REGEX, r"(?a)\w\p{Lu}",                       [r"\p{Lu}"]),
    (Notation.REGEX, r"[0-9]\d[a]b[9876543210]",            ["[0-9]", r"\d"]),
    (Notation.REGEX, "[abcdefghijklmnopqrstuvwxyz0123456]", []),
    (Notation.REGEX, "[\t ]",                               []),
    (Notation.KBNF,  "start ::= #'[^\"\\\\\\\\]+' | #'\\\\d';", [r'[^"\\]', r"\d"]),
    (Notation.KBNF,  r"start ::= 'a' | #'(?i)[a-z]';",      []),
    (Notation.GBNF,  'root ::= [a-z] [^"\\n] "x"',          ["[a-z]", '[^"\\n]']),
    (Notation.LARK,  'start: /[a-z]/ /[0-9]/i "a".."z" "x"', ["[a-z]", "[0-9]"]),
    (Notation.JSON_SCHEMA, '{"type": "integer"}',           []),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "labels"), WRITTEN, ids=[row[1] for row in WRITTEN])
def test_the_labels_of_a_text(notation: Notation, text: str, labels: list[str]) -> None:
    assert list(written_classes(Grammar.from_text(text, notation)).values()) == labels


def test_the_first_class_of_a_set_counts() -> None:
    (label,) = written_classes(Grammar.from_regex("[a-c]|[abc]")).values()
    assert label == "[a-c]"


@pytest.mark.parametrize("name", load_gallery())
def test_a_label_reads_exactly_its_set(name: str) -> None:
    example = load_gallery()[name]
    found = written_classes(Grammar.from_text(example.text, example.notation, example.start))
    for ranges, label in found.items():
        assert len(label) <= MAX_LABEL
        read = parse_regex(Source(label, "label"))
        assert isinstance(read, Characters)
        assert read.ranges == ranges, label
