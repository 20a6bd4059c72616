"""Finite automata as text: reader, printer, JFLAP files, and the whole of every message."""

from __future__ import annotations

import pytest

from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.syntax.machine_text import (
    DrawnMachine,
    from_jflap,
    is_jflap,
    item_text,
    parse_machine,
    printed,
    read_machine,
)


def read(text: str) -> DrawnMachine:
    return parse_machine(Source(text, "machine"))


def written(machine: DrawnMachine) -> list[tuple[str, list[str], str]]:
    """The edges with the texts of their items."""
    return [(e.source, [i.text for i in e.items], e.target) for e in machine.edges]


EVEN = """# even number of a        (a comment: # to the end of a line)
initial even
final even
even -> odd : a
odd → even:a   # an arrow, and no blank before the colon
even -> even : b, c
odd -> odd : [b-c]
even -> odd : ε
place even 120 80.5
place odd -3 0
"""


def test_a_machine() -> None:
    machine = read(EVEN)
    assert [(s.name, s.is_initial, s.is_final, s.place) for s in machine.states] == [
        ("even", True, True, (120.0, 80.5)),
        ("odd", False, False, (-3.0, 0.0)),
    ]
    assert written(machine) == [
        ("even", ["a"], "odd"),
        ("odd", ["a"], "even"),
        ("even", ["b", "c"], "even"),
        ("odd", ["[b-c]"], "odd"),
        ("even", ["ε"], "odd"),
    ]
    for edge in machine.edges:
        for item in edge.items:
            assert EVEN[item.span.start : item.span.end] == item.text
        assert EVEN[edge.span.start : edge.span.end].startswith(edge.source)
        assert EVEN[edge.label_span.start : edge.label_span.end].endswith(edge.items[-1].text)
    for state in machine.states:
        assert EVEN[state.span.start : state.span.end] == state.name


#   label                items                         because
LABELS = [
    ("a",                ["a"],                        "one character"),
    ("a,b ,  c",         ["a", "b", "c"],              "white space around items is dropped"),
    ("",                 [""],                         "an empty label is ε"),
    ("ε, eps, a",        ["ε", "eps", "a"],            "names of the empty text"),
    ("a,",               ["a", ""],                    "an empty item is ε"),
    (r"\,, \#",          [r"\,", r"\#"],               "an escaped comma and number sign"),
    (r"a\\, b",          [r"a\\", "b"],                "an escaped backslash before a comma"),
    ("[,#], x # y, z",   ["[,#]", "x"],                "signs inside a class, then a comment"),
    ("[],#], x",         ["[],#]", "x"],               "a bracket first in its class"),
    ("[^],], x",         ["[^],]", "x"],               "the same, negated"),
    ("a{2,3}, b",        ["a{2,3}", "b"],              "a count has a comma"),
    ("(a,b|c), d",       ["(a,b|c)", "d"],             "a group has a comma"),
    ("ab, (ab)*",        ["ab", "(ab)*"],              "strings and regexes"),
    ("a b",              ["a b"],                      "a blank inside an item is read"),
    (r"a\ ,b",           [r"a\ ", "b"],                "an escaped blank at the end"),
    ("'",                ["'"],                        "a quote is a character"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "items"), [row[:2] for row in LABELS], ids=[row[2] for row in LABELS]
)
def test_a_label_is_read_to_its_symbols(label: str, items: list[str]) -> None:
    assert written(read(f"p -> q : {label}")) == [("p", items, "q")]


def test_an_edge_without_a_label() -> None:
    assert written(read("p -> q\nq->p # back")) == [("p", [""], "q"), ("q", [""], "p")]


def test_states_may_have_these_names() -> None:
    text = "initial: q₀, q'\nfinal q²_é′\ninitial -> final : a\n1 -> 2 : b\ninitial' -> x : c"
    names = [state.name for state in read(text).states]
    assert names == ["q₀", "q'", "q²_é′", "initial", "final", "1", "2", "initial'", "x"]


def test_an_empty_text_has_no_states() -> None:
    assert read("").states == read("# nothing\n\n").states == ()


_EDGE_HINT = "write an edge as in 'q0 -> q1 : a', or 'initial q0', 'final q1', 'place q0 120 80'"
_NAME_HINT = "a name has letters, digits, '_' and \"'\", such as q0, even or q'"

#   text                      message, the underlined text, hint
ERRORS = [
    ("q0",                    "expected an edge or a declaration", "q0", _EDGE_HINT),
    ("a ::= 'b';",            "expected an edge or a declaration", "a ::= 'b';", _EDGE_HINT),
    ("start q0",              "expected an edge or a declaration", "start q0", "write 'initial' and the names of states"),
    ("accept: q0",            "expected an edge or a declaration", "accept: q0", "write 'final' and the names of states"),
    ("initial",               "expected the name of a state after 'initial'", "initial", "as in 'initial q0'"),
    ("final # none",          "expected the name of a state after 'final'", "final", "as in 'final q0'"),
    ("initial q-0",           "expected the name of a state, not 'q-0'", "q-0", _NAME_HINT),
    ("place q0 1",            "expected a state and two numbers after 'place'", "place q0 1", "as in 'place q0 120 80'"),
    ("place q0 1 x",          "expected a number of at most 100,000, not 'x'", "x", "as in 'place q0 120 80'"),
    ("place q0 1 100001",     "expected a number of at most 100,000, not '100001'", "100001", "as in 'place q0 120 80'"),
    ("-> q0 : a",             "expected the name of a state before the arrow", "", "as in 'q0 -> q1 : a'"),
    ("q0 -> : a",             "expected the name of a state after the arrow", "", "as in 'q0 -> q1 : a'"),
    ("q0 -> q1 a",            "expected ':' between the target and the label", " ", "as in 'q0 -> q1 : a'"),
    ("q.0 -> q1 : a",         "expected the name of a state, not 'q.0'", "q.0", _NAME_HINT),
    ("q0 -> {1} : a",         "expected the name of a state, not '{1}'", "{1}", _NAME_HINT),
    ("p -> q : (a",           "expected ')' to close the group", "(", r"a parenthesis itself is written '\('"),
    ("p -> q : b, *",         "expected something to repeat before '*'", "*", r"the sign itself is written '\*'"),
    ("p -> q : a(?=b)",       "expected no assertion in a label: an edge reads its own part of the text", "a(?=b)", "leave it out, and let the states say what comes before and after"),
    ("p -> q : (?P<IMAGE>)",  "expected characters, not IMAGE, which represents one token", "(?P<IMAGE>)", "write a regex of the texts you mean"),
]  # fmt: skip


@pytest.mark.parametrize("row", ERRORS, ids=[row[0] for row in ERRORS])
def test_error_for(row: tuple[str, str, str, str]) -> None:
    text, message, underlined, hint = row
    with pytest.raises(ParseError) as caught:
        read(f"# a comment\n{text}\n")
    error = caught.value
    assert (error.message, error.hint) == (message, hint)
    assert error.source.text[error.span.start : error.span.end] == underlined
    assert error.source.position(error.span.start)[0] == 2


def test_printed_again_a_machine_is_the_same() -> None:
    again = read(printed(read(EVEN)))
    assert written(again) == written(read(EVEN))
    assert printed(again) == printed(read(EVEN))
    assert [s.place for s in again.states] == [s.place for s in read(EVEN).states]


@pytest.mark.parametrize(
    ("pattern", "item"),
    [("a", "a"), (",", r"\,"), (" ", r"\ "), ("a b", "a b"), ("[, #]", "[, #]"), ("#", r"\#"),
     ("ε", "[ε]"), ("eps", "[e]ps"), ("a{2,}", "a{2,}"), ("(?:a,b)+", "(?:a,b)+"), (r"\,", r"\,"),
     ("ε*", "ε*"), (" a ", r"\ a\ ")],
)  # fmt: skip
def test_an_item_of_a_pattern(pattern: str, item: str) -> None:
    assert item_text(pattern) == item
    assert written(read(f"p -> q : {item}, z")) == [("p", [item, "z"], "q")]


# -- JFLAP -----------------------------------------------------------------------------------------

JFF = """<?xml version="1.0" encoding="UTF-8" standalone="no"?><!--Created with JFLAP 7.1.-->
<structure>&#13;
  <type>fa</type>&#13;
  <automaton>&#13;
    <!--The list of states.-->&#13;
    <state id="0" name="q0"><x>76.0</x><y>120.0</y><initial/></state>
    <state id="1" name="even a"><x>200.0</x><y>120.0</y><final/></state>
    <state id="2" name="even-a"/>
    <transition><from>0</from><to>1</to><read>a</read></transition>
    <transition><from>1</from><to>0</to><read/></transition>
    <transition><from>1</from><to>1</to><read>[0-9]</read></transition>
    <transition><from>1</from><to>2</to><read>a,b*</read></transition>
  </automaton>
</structure>
"""


def test_a_jflap_file() -> None:
    assert is_jflap(JFF)
    assert from_jflap(Source(JFF, "a.jff")) == (
        "initial q0\nfinal even_a\n"
        "q0 -> even_a : a\neven_a -> q0 : ε\neven_a -> even_a : [0-9]\neven_a -> even_a_2 : a\\,b\\*\n"
        "place q0 114 180\nplace even_a 300 180\n"
    )
    assert len(read_machine(Source(JFF, "a.jff")).states) == 3


def test_states_without_the_element_automaton_of_old_versions() -> None:
    text = JFF.replace("<automaton>", "").replace("</automaton>", "")
    assert from_jflap(Source(text, "a.jff")) == from_jflap(Source(JFF, "a.jff"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<type>fa</type>", "<type>pda</type>", "expected a finite automaton, not JFLAP's type 'pda'"),
        ("<to>2</to>", "<to>7</to>", "a transition names the state '7', which is not in the file"),
        ("</structure>", "", "expected XML as JFLAP saves it"),
        ("<structure>", '<!DOCTYPE x [<!ENTITY a "b">]><structure>', "expected no declaration of a document type or of entities"),
        ("<structure>", "<structure></structure><x>", "expected XML as JFLAP saves it"),
    ],
)  # fmt: skip
def test_error_for_a_jflap_file(old: str, new: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        from_jflap(Source(JFF.replace(old, new), "a.jff"))
    assert caught.value.message == message


def test_error_for_a_jflap_file_without_states() -> None:
    with pytest.raises(ParseError, match="expected an automaton with a state"):
        from_jflap(Source("<structure><type>fa</type></structure>", "a.jff"))


@pytest.mark.parametrize("text", ["<structures>", "a<structure>", "", "<svg/>"])
def test_no_jflap_file(text: str) -> None:
    assert not is_jflap(text)
