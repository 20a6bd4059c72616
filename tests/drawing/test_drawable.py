"""``wb.draw``: every machine of a grammar as DOT, SVG and PNG."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.base.cpu_time import cpu_seconds
from workbench.vocabulary.toy_vocabularies import toy

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
def test_every_machine_is_drawn_in_every_format(
    grammar: wb.Grammar, machine: str, states: set[str] | None
) -> None:
    drawn = wb.draw(grammar, machine, TOKENS)
    assert states is None or {node.id for node in drawn.graph.nodes} == states
    assert drawn.svg().startswith("<svg")
    assert drawn.png().startswith(b"\x89PNG")
    assert all(node.id in drawn.dot() for node in drawn.graph.nodes)


def test_a_picture_of_few_states() -> None:
    drawn = wb.draw(wb.Grammar.from_regex("(?:ab|c(?:de|fg|h)){40}"))
    assert drawn.shown(5).shown_nodes == 5
    assert drawn.dot(5).count('class="state') < drawn.dot(50).count('class="state')


def doubling(rules: int) -> wb.Grammar:
    """Two rules call each of the next two: 2ⁿ sequences of calls before the first byte."""
    text = "".join(
        f"r{i} ::= r{i + 1} 'x' | s{i + 1} 'y'; s{i} ::= r{i + 1} 'z' | s{i + 1} 'w';"
        for i in range(rules)
    )
    last = f"r{rules} ::= 'a' start? 'b' | 'c'; s{rules} ::= 'd' start;"
    return wb.Grammar.from_kbnf(f"start ::= r0; {text} {last}")


def test_error_of_too_many_sequences_of_calls() -> None:
    network = doubling(60).rules
    with pytest.raises(wb.LimitError, match="needs more than 20,000 sequences of calls"):
        network.openings(network.initial)
    few = doubling(4).rules
    openings = few.openings(few.initial)
    assert len(openings) == len(set(openings))
    assert set(few.opened(few.initial)) == {state for state, _ in openings}
    assert len([*network.opened(network.initial)]) == len(network.names)


#: Machines over tokens that take longer than a tenth of a second to draw.
LARGE = {
    "calls": lambda: doubling(60),
    "states": lambda: wb.Grammar.from_machine(
        "initial q0\nfinal q0\n"
        + "".join(
            f"q{i} -> q{(7 * i + 31 * k) % 300} : {chr(97 + k)}\n"
            for i in range(300)
            for k in range(20)
        )
    ),
    "schema": lambda: wb.Grammar.from_json_schema(
        {
            "type": "object",
            "properties": {f"p{i}": {"type": "string"} for i in range(14)},
            "dependentRequired": {f"p{i}": [f"p{(i + 1) % 14}"] for i in range(14)},
        }
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_error_of_a_picture_that_takes_too_long(name: str) -> None:
    """``draw`` and ``shown`` each end within their seconds."""
    grammar, vocabulary = LARGE[name](), wb.Vocabulary.load("builtin")
    wb.draw(NESTED, "tokens", TOKENS).shown()  # loads the kernels
    began = cpu_seconds()
    with pytest.raises(wb.LimitError):
        wb.draw(grammar, "tokens", vocabulary, limits=wb.Limits(seconds=0.2)).shown()
    # ``draw`` and ``shown`` have 0.2 seconds each
    assert cpu_seconds() - began < 0.8


@pytest.mark.parametrize(
    ("grammar", "machine", "vocabulary", "message"),
    [
        (REGULAR, "dfa", None, "there is no machine 'dfa'"),
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


#   edges of a drawn machine from p to the final q             the names of its picture, the note
NAMED = [
    ("p -> q : a",                                             ["p", "q"], ""),
    ("p -> p : a, b\np -> q : a",                              ["p", "{p, q}"], ""),
    ("final r\np -> q : a\np -> r : b",                        ["p", "q ≡ r"], "≡: states that the minimal machine merges"),
    ("p -> q : ab",                                            ["p", "0", "q"], ""),
    ("p -> q : é",                                             ["p", "q"], ""),
    ("p -> q : .\nq -> q : [^a]",                              ["p", "q"], ""),
    ("p -> 0 : a\n0 -> q : bc",                                ["p", "0", "1", "q"], ""),
    ("p -> a_name_that_is_long : a\na_name_that_is_long -> q : b",   ["p", "0", "q"], ""),
]  # fmt: skip


@pytest.mark.parametrize(("edges", "names", "note"), NAMED, ids=[one[0] for one in NAMED])
def test_a_drawn_machine_keeps_its_authors_names(edges: str, names: list[str], note: str) -> None:
    grammar = wb.Grammar.from_machine(f"initial p\nfinal q\n{edges}")
    drawn = wb.draw(grammar)
    assert [node.label for node in drawn.graph.nodes if node.label] == names
    assert drawn.graph.note == note
    over = wb.draw(grammar, "tokens", toy(["a", "b", "c", "é", "bc"]))
    assert over.numbers == drawn.numbers
    long = "a_name_that_is_long"
    assert any(long in node.title for node in drawn.graph.nodes) == (long in edges)


@pytest.mark.parametrize(
    "name", ["q", "odd", "even", "a_long_name", "a_name_that_is_too_long_for_a_ring"]
)
def test_a_final_state_has_two_rings_whatever_its_name(name: str) -> None:
    svg = wb.draw(wb.Grammar.from_machine(f"initial p\nfinal {name}\np -> {name} : a")).svg()
    final, other = (
        next(group for group in svg.split("<g ") if f"<title>state {state}" in group)
        for state in (f"{name} · final", "p · initial")
    )
    assert (final.count("<ellipse") or final.count("<polygon")) == 2
    assert other.count("<ellipse") == 1
