"""``wb.draw``: every machine of a grammar as DOT, SVG and PNG."""

from __future__ import annotations

import pytest

import workbench as wb

REGULAR = wb.Grammar.from_regex("(foo)+d")
NESTED = wb.Grammar.from_kbnf("start ::= '(' start ')' | 'x';")
TOKENS = wb.Vocabulary((b"f", b"oo", b"foo", b"d", b"(", b")", b"x", b"<end>"), end=7)


@pytest.mark.parametrize(
    ("grammar", "machine", "states"),
    [
        (REGULAR, "characters", {"0", "1", "2", "3", "4"}),
        (REGULAR, "tokens", {"0", "1", "3", "4"}),
        (REGULAR, "detokenizer", None),
        (NESTED, "rules", None),
        (NESTED, "stack", None),
        (NESTED, "tokens", None),
    ],
)
def test_draw(grammar: wb.Grammar, machine: str, states: set[str] | None) -> None:
    drawn = wb.draw(grammar, machine, TOKENS)
    assert states is None or {node.id for node in drawn.graph.nodes} == states
    assert drawn.svg().startswith("<svg")
    assert drawn.png().startswith(b"\x89PNG")
    assert all(node.id in drawn.dot() for node in drawn.graph.nodes)


def test_a_picture_of_few_states() -> None:
    drawn = wb.draw(wb.Grammar.from_regex("(?:ab|c(?:de|fg|h)){40}"))
    assert drawn.shown(5).shown_nodes == 5
    assert drawn.dot(5).count('class="state') < drawn.dot(50).count('class="state')


@pytest.mark.parametrize(
    ("grammar", "machine", "vocabulary", "message"),
    [
        (REGULAR, "dfa", None, "expected one of characters, tokens, .*, not 'dfa'"),
        (REGULAR, "tokens", None, "expected a vocabulary"),
        (REGULAR, "rules", None, "a regex has no rules"),
        (NESTED, "characters", None, "need a stack"),
        (NESTED, "proper", TOKENS, "no finite machine"),
    ],
)
def test_error_for_a_machine_that_is_not_there(
    grammar: wb.Grammar, machine: str, vocabulary: wb.Vocabulary | None, message: str
) -> None:
    with pytest.raises(wb.WorkbenchError, match=message):
        wb.draw(grammar, machine, vocabulary)
