"""Railroad diagrams: every rule has a diagram, and no active content."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from workbench.drawing.railroad import MAX_PARTS, Railroad, draw_railroad
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

SVG = "{http://www.w3.org/2000/svg}"
GALLERY = load_gallery()


def drawn(text: str, width: float = 760) -> tuple[Railroad, ElementTree.Element]:
    """A KBNF grammar's diagrams, and the picture read back."""
    tree = Grammar.from_kbnf(text).tree
    assert tree is not None
    made = draw_railroad(tree, width=width)
    return made, ElementTree.fromstring(made.svg)


def said(element: ElementTree.Element) -> list[str]:
    """All text that is shown, in order."""
    return [text.text or "" for text in element.iter(f"{SVG}text")]


#   grammar                                             what its picture says, name first, and why
SAID = [
    ("start ::= 'a' 'b c';",                            ["start", "a", "b·c"], "a space is seen"),
    ("start ::= x x; x ::= 'y'?;",                      ["start", "x", "x", "x", "y"], "a title a rule"),
    ("start ::= 'x' (',' 'x')*;",                       ["start", "x", ","], "a list is one loop"),
    ("start ::= 'x' (',' 'y')*;",                       ["start", "x", ",", "y"], "another end is no list"),
    ("start ::= #'[0-9]{2,4}';",                        ["start", "digit", "2 to 4 times"], "counts are said"),
    ("start ::= #'a{3}b{2,}';",                         ["start", "a", "3 times", "b", "2 times or more"], "so are bounds"),
    ("start ::= #'abc[xy]';",                           ["start", "abc", "[xy]"], "letters share a box"),
    ("start ::= #e'ab' #substrs'xy' except!('q',9);",   ["start", "ab", "up to the first match of the regex",
                                                         "piece of xy", "text without 'q', at most 9 bytes"],
                                                        "terminals that are no texts say what they are"),
    ("start ::= a | 'x'; a ::= 'y'; a ::= 'z';",        ["start", "a", "x", "a", "y", "z"], "rules of one name are one"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "why"), SAID, ids=[why for *_, why in SAID])
def test_the_note_of_a_picture(text: str, words: list[str], why: str) -> None:
    _, svg = drawn(text)
    assert said(svg) == words, why


def test_each_rule_and_each_call_has_the_span_of_the_definition() -> None:
    text = "start ::= 'a' item;\nitem ::= 'b';"
    _, svg = drawn(text)
    rules = [group for group in svg.iter(f"{SVG}g") if group.get("class") == "rule"]
    assert [(g.get("id"), g.get("data-rule")) for g in rules] == [
        ("rule-0", "start"),
        ("rule-1", "item"),
    ]
    for group in svg.iter(f"{SVG}g"):
        if name := group.get("data-rule"):
            start, end = int(group.get("data-start", "")), int(group.get("data-end", ""))
            assert text[start:end] == name
            assert text[end:].startswith(" ::=")


def test_a_picture_has_no_active_content() -> None:
    _, svg = drawn("start ::= '<script>alert(1)</script>' #'\\u202e[\"<&]';")
    assert {element.tag for element in svg.iter()} <= {
        f"{SVG}{t}" for t in ("svg", "g", "path", "rect", "text", "title")
    }
    for element in svg.iter():
        assert not {
            key for key in element.attrib if key.startswith("on") or "href" in key or key == "style"
        }
    assert "\u202e" not in "".join(svg.itertext())


def test_assertions_are_drawn_with_their_parts() -> None:
    regex = Grammar.from_regex(r"(?=.*x)\b[a-z]+(?<!y)(?m:$)").regex
    assert regex is not None
    svg = draw_railroad(regex).svg
    for text in ("what follows matches", "\\b", "what precedes does not match", "y", "(?m)$"):
        assert f">{text}<" in svg, text


def test_a_regex_has_one_diagram() -> None:
    regex = Grammar.from_regex("(?P<year>[0-9]{4})|never").regex
    assert regex is not None
    svg = ElementTree.fromstring(draw_railroad(regex).svg)
    assert said(svg) == ["regex", "digit", "4 times", "year", "never"]


@pytest.mark.parametrize(
    ("text", "message", "why"),
    [
        ("start ::= " + " ".join(["a b"] * MAX_PARTS) + "; a ::= 'x'; b ::= 'y';", "too large to draw", "too many boxes"),
        ("start ::= " + "('x' " * 30 + "'y'" + ")?" * 30 + ";", "too deep to draw", "too many brackets"),
    ],
)  # fmt: skip
def test_error_too_large_rules_are_reported(text: str, message: str, why: str) -> None:
    made, svg = drawn(text)
    assert made.drawn == made.rules - 1, why
    assert any(message in one for one in said(svg))


@pytest.mark.parametrize(("branches", "message"), [(40, "and 16 more"), (3000, "and 2,976 more")])
def test_many_branches_are_cut_and_counted(branches: int, message: str) -> None:
    _, svg = drawn("start ::= " + " | ".join(f"'w{i}'" for i in range(branches)) + ";")
    assert said(svg)[-1] == message


def test_many_rules_fill_the_picture_and_no_more() -> None:
    body = " ".join(["'x'"] * 100)
    made, svg = drawn(
        "start ::= "
        + " ".join(f"r{i}" for i in range(30))
        + ";"
        + "".join(f"r{i} ::= {body};" for i in range(30))
    )
    assert made.rules == 31
    assert 5 < made.drawn < 31
    assert len(made.svg) < 1_500_000
    assert said(svg)[-1] == f"{made.rules - made.drawn} more rules are not drawn"


def test_a_narrow_picture_breaks_its_lines() -> None:
    text = "start ::= " + " ".join(f"'word number {i}'" for i in range(12)) + ";"
    wide, narrow = drawn(text)[1], drawn(text, width=330)[1]
    assert float(narrow.get("width", "")) < 480 < float(wide.get("width", ""))
    assert float(narrow.get("height", "")) > float(wide.get("height", ""))


#: A regex without rules, which writes the same strings out at every depth.
TOO_LARGE = "json_truncated"


def test_an_example_that_is_too_large_has_a_message() -> None:
    regex = Grammar.from_regex(GALLERY[TOO_LARGE].text).regex
    assert regex is not None
    made = draw_railroad(regex)
    assert made.drawn == 0
    assert "1,097 parts: too large to draw" in made.svg


@pytest.mark.parametrize("name", [name for name in GALLERY if name != TOO_LARGE])
def test_every_example_is_drawn_whole(name: str) -> None:
    example = GALLERY[name]
    grammar = Grammar.from_text(example.text, example.notation, example.start)
    source = grammar.tree or grammar.regex
    assert source is not None
    made = draw_railroad(source)
    assert made.drawn == made.rules
    svg = ElementTree.fromstring(made.svg)
    wide, high = float(svg.get("width", "")), float(svg.get("height", ""))
    for rect in svg.iter(f"{SVG}rect"):
        assert 0 < float(rect.get("width", "")) < wide
        assert 0 < float(rect.get("height", "")) < high
