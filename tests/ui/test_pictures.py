from __future__ import annotations

import pytest

from workbench.app.pipeline import compile_text
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import draw_flags, draw_machine
from workbench.app.ui.pictures import PictureRequest, View, flags, picture, table
from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS
from workbench.drawing.drawable import Machine, draw_tokens
from workbench.drawing.parts import TokenFsaParts
from workbench.drawing.reductions import fold_counts
from workbench.drawing.views import Level
from workbench.grammar.gallery import load_gallery
from workbench.grammar.notations import Notation
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

LONG = {
    "text": "(name|value): [a-z]{2,9};(one|two|three)x",
    "notation": "regex",
    "tab": "characters",
}


def test_chains_and_edges_are_folded_as_requested(handlers: Handlers) -> None:
    folded = draw_machine(handlers, {**LONG, "chains": True})
    apart = draw_machine(handlers, {**LONG, "chains": False})
    assert len(apart["states"]) > len(folded["states"])
    assert not any(edge["inside"] for edge in apart["edges"])
    inside = [state for edge in folded["edges"] for state in edge["inside"]]
    assert not set(inside) & {state["id"] for state in folded["states"]}


def test_a_machine_has_one_layout_whatever_is_looked_at(handlers: Handlers) -> None:
    """The box and the current state decide what is in view when a picture opens, nothing else."""
    first, *others = (
        draw_machine(
            handlers, {**LONG, "tab": tab, "centre": centre, "width": width, "height": height}
        )
        for tab in ("characters", "together")
        for centre in ("", "3", "20")
        for width, height in ((1200, 900), (700, 400))
    )
    assert first["legible"]
    for other in others:
        assert other["states"] == first["states"]
        assert other["edges"] == first["edges"]
        if "lanes" not in first["svg"]:
            assert other["svg"] == first["svg"]


def test_requested_number_of_states_is_shown(handlers: Handlers) -> None:
    sent = {**LONG, "chains": False}
    few = draw_machine(handlers, {**sent, "size": 5})
    assert len(few["states"]) <= 5
    assert few["partial"]
    assert len(draw_machine(handlers, {**sent, "size": 60})["states"]) > 20


def test_view_has_the_requested_settings() -> None:
    view = PictureRequest.of(
        {"width": 500, "height": 400.5, "level": "calls", "so_far": "6162"}
    ).view
    assert view.box == (500, 400.5)
    assert view.level is Level.CALLS
    assert PictureRequest.of({}).view.box == View().box
    assert PictureRequest.of({}).view.so_far is None
    assert PictureRequest.of({"level": "deeper"}).view.level is Level.STATES
    assert PictureRequest.of({"size": 1e9}).view.size <= 200
    assert min(PictureRequest.of({"width": 0, "height": 1}).view.box) >= 100
    assert PictureRequest.of({"tab": "together"}).view.flags


@pytest.mark.parametrize(
    "sent",
    [{"size": "many"}, {"width": "wide"}, {"level": 3}, {"centre": ["0"]}, {"so_far": "no hex"}],
)
def test_error_a_view_no_browser_asks_for(sent: dict[str, object]) -> None:
    with pytest.raises(WorkbenchError):
        PictureRequest.of(sent)


def test_states_inside_an_edge_are_in_order(handlers: Handlers) -> None:
    drawn = draw_machine(
        handlers,
        {
            "text": "start ::= 'abcdefghijklmnopqrstuvw' 'x';",
            "notation": "kbnf",
            "tab": "characters",
            "chains": True,
        },
    )
    (edge,) = [edge for edge in drawn["edges"] if edge["inside"]]
    assert edge["inside"] == sorted(edge["inside"], key=int)
    assert all(drawn["where"][state].startswith("edge-") for state in edge["inside"])


@pytest.mark.slow
def test_very_large_regex_is_shown_in_part() -> None:
    compiled = compile_text("(a|b)*a(a|b){20}", Notation.REGEX)
    drawn = compiled.drawn(Machine.CHARACTERS)
    shown = picture(drawn, Machine.CHARACTERS, View(), is_own=False)
    assert shown["partial"]
    assert "too many" in shown["count"]
    assert "too many" in shown["note"]
    assert "too many" in table(drawn)["count"]
    assert compiled.missing(Machine.STACK)
    assert not compiled.missing(Machine.TOKENS)


@pytest.mark.parametrize(
    ("of", "follow"),
    [
        ("characters", "characters"),
        ("tokens", "characters"),
        ("stack", "rules"),
        ("rules", "rules"),
    ],
)
def test_every_machine_is_a_table(handlers: Handlers, of: str, follow: str) -> None:
    nested = {"text": "start ::= '(' start? ')';", "notation": "kbnf"}
    grammar = nested if follow == "rules" else {"text": "(ab|c)+", "notation": "regex"}
    listed = draw_machine(handlers, {**grammar, "tab": "table", "of": of})
    assert listed["rows"]
    assert all(len(row) == 2 + len(listed["heads"]) for row in listed["rows"])
    assert listed["follow"] == follow


def test_ladders_are_rungs_where_no_chain_is_folded(handlers: Handlers) -> None:
    graph = compile_text("[a-z]{1,12}!", Notation.REGEX).graph(Machine.CHARACTERS)
    assert len(fold_counts(graph).nodes) < len(graph.nodes)
    sent = {"text": "[a-z]{1,12}!", "notation": "regex", "tab": "characters", "chains": False}
    assert len(draw_machine(handlers, sent)["states"]) == len(graph.nodes)


def test_a_machine_over_tokens_without_end_refers_to_together(handlers: Handlers) -> None:
    text = "start ::= start '+' start | '(' start ')' | #'[0-9]';"
    sent = {"text": text, "notation": "kbnf"}
    refused = draw_machine(handlers, {**sent, "tab": "tokens"})
    assert not refused["ok"]
    assert "the tab Together" in refused["why"]
    assert draw_machine(handlers, {**sent, "tab": "together"})["ok"]
    assert draw_flags(handlers, {**sent, "tab": "together"})["flags"]


def test_tokens_have_flags_at_every_state_of_a_counted_repetition() -> None:
    """No token leads to its first state, 1: after ``x`` alone no token of these begins."""
    compiled = compile_text("(x[a-c]{0,60}y|z)*", Notation.REGEX)
    under = compiled.drawn(Machine.CHARACTERS)
    assert compiled.grammar is not None
    words = toy(["xa", "a", "aa", "y", "z"])
    drawn = draw_tokens(compiled.grammar, under, words, LIMITS)
    assert isinstance(drawn.parts, TokenFsaParts)
    for state in map(str, range(under.parts.states)):
        shown = flags(drawn, under, View(centre=state), None)
        if state == "1":
            assert shown["count"] == "0 tokens may follow"
            assert shown["flags"] == []
            continue
        # state 1 + n is after n letters, of which 60 may be; y may follow all of them
        letters = int(state) - 1
        expected = 1 + (letters < 60) + (letters < 59) if letters > 0 else 2
        number = "1 token" if expected == 1 else f"{expected} tokens"
        assert shown["count"] == f"{number} may follow", state
        assert sum(flag["tokens"] for flag in shown["flags"]) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["koo_ip", "japanese", "email", "unicode", "json", "kbnf_paragraph"]
)
def test_as_many_tokens_may_follow_as_the_mask_has(name: str) -> None:
    """Also with pieces of characters, which lead to several states."""
    example = load_gallery()[name]
    vocabulary = Vocabulary.load("builtin")
    compiled = compile_text(example.text, example.notation, example.start)
    constraint = compiled.constraint(vocabulary)
    mask = set(constraint.mask(constraint.initial)) - set(vocabulary.ends)
    under = compiled.drawn(
        Machine.STACK if compiled.missing(Machine.CHARACTERS) else Machine.CHARACTERS
    )
    shown = flags(compiled.drawn(Machine.TOKENS, vocabulary), under, View(so_far=b""), None)
    assert shown["count"] == f"{len(mask):,} tokens may follow"


@pytest.mark.slow
def test_tokens_that_end_inside_a_rule_drawn_as_one_edge_have_flags(handlers: Handlers) -> None:
    text = load_gallery()["weather"].text
    sent = {"text": text, "notation": "json_schema", "tab": "together"}
    shown = draw_flags(handlers, {**sent, "so_far": b'{"city": "'.hex()})
    count = sum(flag["tokens"] for flag in shown["flags"])
    assert shown["count"] == f"{count:,} tokens may follow"


@pytest.mark.parametrize(("rules", "count"), [(4, "5 rules"), (400, "12 of 401 rules")])
def test_the_picture_of_calls_counts_rules(handlers: Handlers, rules: int, count: str) -> None:
    """Of hundreds of rules Graphviz lays out those near the state alone: all take half a minute."""
    calls = [f"rule_{i} ::= 'a' rule_{i + 1} | rule_{i * 7 % rules} 'b';" for i in range(rules)]
    text = "\n".join(["start ::= rule_0;", *calls[:-1], f"rule_{rules - 1} ::= 'c' start?;"])
    sent = {"text": text, "notation": "kbnf", "tab": "rules", "level": "calls"}
    drawn = draw_machine(handlers, sent)
    assert drawn["count"] == count
    assert drawn["legible"]
