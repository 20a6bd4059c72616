r"""Escapes of JSON strings in pictures: an edge of a character also reads its escapes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from workbench.drawing.drawable import draw
from workbench.drawing.graph import Graph
from workbench.drawing.json_escapes import fold_escapes, shows_escapes
from workbench.drawing.parts import LazyParts
from workbench.grammar.grammar import Grammar
from workbench.syntax.ranges import contains

#: Strings of a schema: a pattern, a length, listed words with characters that need escapes.
STRINGS: list[dict[str, object]] = [
    {"pattern": "^INV-[0-9]{3}$"},
    {"pattern": "^[a-z]+@[a-z]+\\.(com|org)$"},
    {"pattern": '^["\\\\/]?[^x]$'},
    {"pattern": "^[\\u0000-\\u001f]{1,2}$"},
    {"pattern": "^[é-\U0001f600]*$"},
    {"type": "string"},
    {"type": "string", "maxLength": 3},
    {"enum": ["a\nb", 'a"', "\\", "café", "a/\U0001f600", "\U0001f601", ""]},
]

#: Characters of each kind: with and without short escapes, in and beyond the basic plane.
SAMPLE = (
    'a@-xI05"\\/\b\n\t\x00\x1f\x7fé\u2028\ud7ff\ue000\uffff\U00010000\U0001f600\U0001f601\U0010ffff'
)


def spellings(character: str) -> Iterator[str]:
    """The character, and all that JSON may write for it in a string."""
    if character != "\\":
        yield character
    short = json.dumps(character)[1:-1]
    if len(short) == 2:
        yield short
    if character == "/":
        yield "\\/"
    units = character.encode("utf-16-be").hex()
    for digits in {units, units.upper()}:
        yield "".join(f"\\u{digits[at : at + 4]}" for at in range(0, len(digits), 4))


def after(graph: Graph, state: str, text: str) -> str | None:
    """The state in which a machine that reads characters ends."""
    for character in text:
        ends = [
            edge.target
            for edge in graph.edges
            if edge.source == state and contains(edge.reads, ord(character))
        ]
        if not ends:
            return None
        (state,) = ends
    return state


def plain(strings: dict[str, object]) -> Graph:
    schema = json.dumps({"type": "string", **strings})
    return draw(Grammar.from_json_schema(schema), "characters").graph


@pytest.mark.parametrize("strings", STRINGS, ids=str)
def test_an_edge_reads_all_spellings_of_its_characters(strings: dict[str, object]) -> None:
    graph = plain(strings)
    folded = fold_escapes(graph)
    assert shows_escapes(folded)
    assert not shows_escapes(graph)
    assert not any(edge.labels == ("\\",) for edge in folded.edges), "every escape is folded"
    assert set(folded.where) >= {node.id for node in graph.nodes}
    for node in folded.nodes:
        for character in SAMPLE:
            ends = {after(graph, node.id, written) for written in spellings(character)} - {None}
            if character == '"' and after(graph, node.id, '"') is not None:
                continue  # the quote around a string is another one than the quote in it
            shown = after(folded, node.id, character)
            assert ends <= {shown}, (node.id, character)
            assert shown is None or ends, (node.id, character)


def test_characters_with_escapes_only_are_written_as_escapes() -> None:
    folded = fold_escapes(plain({"enum": ["\n", '"', "\U0001f600", "\x01"]}))
    labels = {label for edge in folded.edges for label in edge.labels}
    assert {"\\n", "\\u0001", "\U0001f600"} & labels == {"\U0001f600"}
    assert '\\" \\n' in labels or "\\…" in labels


def test_an_escape_with_the_current_state_is_drawn() -> None:
    graph = plain({"pattern": "^[ab]c$"})
    inside = next(edge.target for edge in graph.edges if edge.labels == ("\\",))
    assert inside in {node.id for node in fold_escapes(graph, {inside}).nodes}
    assert inside not in {node.id for node in fold_escapes(graph).nodes}


def test_only_json_has_escapes() -> None:
    graph = draw(Grammar.from_regex(r"a|\\u0061|b"), "characters").graph
    assert fold_escapes(graph) is graph


def test_part_of_a_large_machine_has_whole_escapes() -> None:
    schema = json.dumps({"type": "string", "pattern": "^INV-[0-9]{4}$"})
    dfa = Grammar.from_json_schema(schema).dfa
    assert dfa is not None
    part = fold_escapes(LazyParts(dfa, is_json=True).around("", 8))
    assert shows_escapes(part)
    labels = [edge.labels for edge in part.edges]
    assert labels.count(("I",)) == labels.count(("N",)) == 1
