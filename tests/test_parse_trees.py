"""Parse trees: their number, their spans, and the trees of unfinished texts."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given

import workbench as wb
from tests.laws.test_mask_laws import grammar_of, slow, texts, trees
from tests.oracles.tree_oracle import derivation_trees, in_brackets
from workbench.analysis.parse_trees import NodeKind
from workbench.grammar.gallery import load_gallery
from workbench.pushdown.build import context_free
from workbench.syntax.grammar_tree import GrammarTree

#: Enough trees to tell a finite number from infinitely many in the grammars below.
MANY = 8

#   grammar                                                     why
GRAMMARS = [
    ("start ::= start '+' start | 'a';",                        "ambiguous and left-recursive"),
    ("start ::= start 'a' | 'a';",                              "left-recursive"),
    ("start ::= start | 'a' | start 'b';",                      "cyclic: infinitely many trees of each text"),
    ("start ::= a b; a ::= 'a'? | ''; b ::= a 'b'? a;",         "rules that read nothing, in several ways"),
    ("start ::= x* 'b'; x ::= 'a' | 'aa' | y; y ::= x | 'b';",  "a cycle of two rules inside a repetition"),
    ("start ::= ('a' 'b'? | 'b')* 'a' 'a'?;",                   "copies that begin in two ways"),
    ("start ::= ('a'? 'b'? | 'b')+ | start start 'a';",         "copies that read nothing"),
    ("start ::= 'a' start 'b' | '' | 'ab';",                    "a nested rule and its own text"),
    ("start ::= e 'a' start | e; e ::= e e | '';",              "a nullable rule that doubles itself"),
]  # fmt: skip


def checked(grammar: wb.Grammar, text: bytes) -> None:
    """Compare the trees of a text with all of them."""
    assert grammar.tree is not None
    cfg = context_free(grammar.tree, "start")
    found = wb.parse_trees(grammar, text)
    every = derivation_trees(cfg, "start", text, MANY)
    assert found.accepted == grammar.accepts(text)
    assert min(found.count, MANY) == len(every)
    assert found.first is not None
    if not found.accepted:
        assert found.count == 0
        assert found.second is None
        verdict = grammar.check(text)
        assert found.read == (len(text) if verdict.byte is None else verdict.byte)
    elif len(every) < MANY:
        looks = {in_brackets("start", one) for one in every}
        for tree in filter(None, (found.first, found.second)):
            assert tree.bracketed() in looks
    assert (found.second is not None) == (found.count > 1)
    for tree in filter(None, (found.first, found.second)):
        assert_spans(tree, text[: found.read])


def assert_spans(tree: wb.ParseNode, text: bytes) -> None:
    """The leaves spell the text, and each node spans its children."""
    leaves = [node for _, node in tree.walk() if not node.children]
    assert b"".join(leaf.text for leaf in leaves) == text
    for _, node in tree.walk():
        assert node.text == text[node.bytes.start : node.bytes.end]
        if node.children:
            assert node.bytes.start == node.children[0].bytes.start
            assert node.bytes.end == node.children[-1].bytes.end
            assert b"".join(child.text for child in node.children) == node.text
        begun = text[: node.bytes.start].decode("utf-8", "replace")
        assert len(begun) == node.characters.start


@pytest.mark.parametrize(("text", "why"), GRAMMARS, ids=[why for _, why in GRAMMARS])
def test_trees_of_all_short_texts(text: str, why: str) -> None:
    grammar = wb.Grammar.from_kbnf(text)
    letters = b"a+" if "+" in text else b"ab"
    for length in range(4):
        for letters_of in product(letters, repeat=length):
            checked(grammar, bytes(letters_of))


@pytest.mark.exhaustive
@slow
@given(trees(), texts)
def test_trees_of_random_grammars(tree: GrammarTree, text: bytes) -> None:
    checked(grammar_of(tree), text[:3])


@pytest.mark.parametrize("name", list(load_gallery()))
def test_trees_of_the_gallery(name: str) -> None:
    """Each example's texts and all their prefixes have a tree that spells them."""
    example = load_gallery()[name]
    grammar = wb.Grammar.from_text(example.text, example.notation, example.start)
    for text in example.accepts[:3]:
        data = text.encode()[:120]
        found = wb.parse_trees(grammar, text)
        assert found.accepted
        assert found.count >= 1
        assert found.first is not None
        assert_spans(found.first, text.encode())
        for end in range(0, len(data), 7):
            part = wb.parse_trees(grammar, data[:end])
            assert part.read == end
            assert part.accepted == grammar.accepts(data[:end])
            assert part.first is not None
            assert_spans(part.first, data[:end])
            assert part.accepted or part.first.is_open


def test_catalan_numbers() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= start start | 'a';")
    for leaves in range(1, 60, 7):
        expected = math.comb(2 * leaves - 2, leaves - 1) // leaves
        assert wb.parse_trees(grammar, "a" * leaves).count == expected


def test_cyclic_grammar_has_infinitely_many() -> None:
    found = wb.parse_trees(wb.Grammar.from_kbnf("start ::= start | 'a';"), "a")
    assert math.isinf(found.count)
    assert found.first is not None
    assert found.second is not None
    assert (found.first.bracketed(), found.second.bracketed()) == ("start(a)", "start(start(a))")
    assert found.counted == "infinitely many trees"
    assert found.to_json()["count"] == "infinite"


def test_where_two_trees_differ() -> None:
    found = wb.parse_trees(wb.Grammar.from_kbnf("start ::= 'x' s; s ::= s '+' s | '1';"), "x1+1+1")
    for tree in (found.first, found.second):
        assert tree is not None
        (marked,) = [node for _, node in tree.walk() if node.differs]
        assert (marked.label, marked.text) == ("s", b"1+1+1")


def test_unfinished_tree_marks_what_is_open() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= '[' item (',' item)* ']'; item ::= #'[0-9]+';")
    found = wb.parse_trees(grammar, "[12,")
    assert not found.accepted
    assert found.expected == "a digit"
    assert str(found.first).split("\n") == [
        "start …",
        "  '['",
        "  item",
        "    '12'",
        "  * …",
        "    1 …",
        "      ','",
        "      … item",
        "  … ']'",
    ]


def test_rejected_text_has_the_tree_of_its_longest_prefix() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= 'ab' 'é' 'c';")
    found = wb.parse_trees(grammar, "abéx")
    assert found.read == 4
    assert str(found).startswith("no tree; cannot read 'x'; expected 'c'")
    assert found.first is not None
    spans = [(n.text.decode(), n.characters.start, n.characters.end) for _, n in found.first.walk()]
    assert spans == [("abé", 0, 3), ("ab", 0, 2), ("é", 2, 3), ("", 3, 3)]


#   notation, grammar, text, the labels of the tree in order
NOTATIONS = [
    ("regex", "(?P<word>[a-z]+)(-[0-9]{2})?", "ab-12",
     ["regex", "word", "+", "[a-z]", "[a-z]", "?", "group", "-", "{2}", "[0-9]", "[0-9]"]),
    ("gbnf", 'root ::= "a" [0-9]+', "a1", ["root", "'a'", "+", "[0-9]"]),
    ("lark", 'start: "a" B?\nB: /[0-9]/', "a1", ["start", "'a'", "?", "B", "/[0-9]/"]),
    ("json_schema", '{"enum": ["x"]}', '"x"', ["start", "whitespace", "up to 36 blanks", "'\"x\"'"]),
    ("dataclass", "from dataclasses import dataclass\n@dataclass\nclass P:\n    age: int\n", "P(age=3)",
     ["start", "P", "'P('", "'age='", "integer"]),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "parsed", "labels"), NOTATIONS)
def test_labels_of_each_notation(notation: str, text: str, parsed: str, labels: list[str]) -> None:
    grammar = wb.Grammar.from_text(text, notation)
    found = wb.parse_trees(grammar, parsed)
    assert found.accepted
    assert found.first is not None
    assert [node.label for _, node in found.first.walk()][: len(labels)] == labels


def test_source_spans() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= 'x' digit; digit ::= #'[0-9]';")
    found = wb.parse_trees(grammar, "x7").first
    assert found is not None
    written = {
        node.label: grammar.source.text[node.source.start : node.source.end]
        for _, node in found.walk()
        if node.kind is NodeKind.RULE
    }
    assert written == {"start": "start ::= 'x' digit;", "digit": "digit ::= #'[0-9]';"}


def test_deep_text_needs_no_recursion() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= '[' start ']' | '';")
    text = "[" * 3000 + "]" * 3000
    found = wb.parse_trees(grammar, text)
    assert found.accepted
    assert str(found).count("\n") > 6000
    assert len(found.to_json()["first"]) > 6000


def test_error_too_ambiguous_text_is_stopped() -> None:
    grammar = wb.Grammar.from_kbnf("start ::= start start | start start start | 'a';")
    with pytest.raises(wb.LimitError, match="seconds"):
        wb.parse_trees(grammar, "a" * 2000, wb.Limits(seconds=0.2))


def test_language_without_texts_has_no_tree() -> None:
    found = wb.parse_trees(wb.Grammar.from_regex(r"[^\s\S]"), "a")
    assert (found.first, found.count, found.accepted) == (None, 0, False)


#: Regexes with assertions, which are conditions on the text around a position.
ASSERTED = [
    r"a(?=b)[ab]*",
    r"(a|b)*(?<=ab)a?",
    r"(?!aa)[ab]*(?<!b)",
    r"a?\b ?\B[ab]*",
    r"(a|b|\n)*(?m:^)a(?m:$)(\n|b)*",
    r"(a(?=(b|a)a)|b)+a",
    r"[ab]+\bb| ?",
]


@pytest.mark.parametrize("pattern", ASSERTED)
def test_assertions_are_exact(pattern: str) -> None:
    grammar = wb.Grammar.from_regex(pattern)
    for length in range(5):
        for letters in product("ab \n", repeat=length):
            text = "".join(letters)
            found = wb.parse_trees(grammar, text)
            assert found.accepted == grammar.accepts(text)
            verdict = grammar.check(text)
            assert found.read == (length if verdict.byte is None else verdict.byte)
            assert found.first is not None
            assert_spans(found.first, text[: found.read].encode())


def test_assertions_are_leaves_that_read_nothing() -> None:
    found = wb.parse_trees(wb.Grammar.from_regex(r"a(?=b)b"), "ab")
    assert found.first is not None
    assert [(node.label, node.text) for _, node in found.first.walk()][1:] == [
        ("a", b"a"),
        ("(?=b)", b""),
        ("b", b"b"),
    ]


@pytest.mark.parametrize("text", ["1+2+3+", "1+2+3x"])
def test_no_node_of_an_unfinished_tree_differs_from_another_tree(text: str) -> None:
    trees = wb.parse_trees(wb.Grammar.from_kbnf("start ::= start '+' start | #'[0-9]';"), text)
    assert trees.second is None
    assert trees.first is not None
    assert not any(node.differs for _, node in trees.first.walk())
