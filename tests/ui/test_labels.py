"""Terminal labels on the page: runs stand where pictures show them, files hold their signs."""

from __future__ import annotations

from typing import Any

from workbench.app.pipeline import compile_text
from workbench.app.ui.explain_view import explain_tokens, why
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.runs import following, run_records
from workbench.app.ui.state_view import about_state
from workbench.constraint.labels import label_vocabulary, read_by
from workbench.drawing.drawable import Machine
from workbench.drawing.whole_machines import att, automaton
from workbench.grammar.notations import Notation
from workbench.vocabulary.toy_vocabularies import toy

WORDS = toy(["a", "b", "\n", "* ", "\n* ", "word", "(", ")"])
BULLETS = r"a(\n\* (?P<PARAGRAPH_TOKEN>)+){2}"
NESTED = "start ::= '(' start ')' | #'(?P<TEXT_TOKEN>)';"


def test_run_is_in_states_of_the_picture() -> None:
    compiled = compile_text(BULLETS, Notation.REGEX)
    drawn = {node.id for node in compiled.graph(Machine.CHARACTERS).nodes}
    constraint = compiled.constraint(WORDS)
    follower = compiled.follower()
    passed = [
        follower.take(data).path["characters"]
        for data in read_by(constraint, WORDS.ids("a", "\n* ", "word", "word", "\n* ", "b"))
    ]
    assert all({state for moment in path for state in moment} <= drawn for path in passed)
    # a label is one step, the second of its kind goes around
    assert [len(path) for path in passed] == [2, 4, 2, 2, 4, 2]
    assert passed[3][0] == passed[3][1]


def test_run_has_a_stack() -> None:
    compiled = compile_text(NESTED, Notation.KBNF)
    follower = following(compiled, compiled.constraint(WORDS), WORDS.ids("(", "("))
    assert follower.take(b"").stack == ("start", "start")


def test_a_run_is_recorded_to_its_end(handlers: Handlers) -> None:
    sent: dict[str, Any] = {"text": r"x(?P<PARAGRAPH_TOKEN>){3}", "notation": "regex"}
    reported = list(run_records(handlers, sent))
    steps = [record for record in reported if record["k"] == "step"]
    assert reported[-1]["good"]
    assert all(step["path"] for step in steps)
    assert [step["label"] for step in steps if "label" in step] == ["PARAGRAPH_TOKEN"] * 3


def test_state_after_a_label(handlers: Handlers) -> None:
    sent = {"text": BULLETS, "notation": "regex", "tab": "characters"}
    graph = compile_text(BULLETS, Notation.REGEX).graph(Machine.CHARACTERS)
    behind = next(e.target for e in graph.edges if "terminal" in e.kinds and e.source == e.target)
    reported = about_state(handlers, {**sent, "state": behind})
    assert reported["ok"]
    assert "⟨PARAGRAPH_TOKEN⟩" in reported["reached"]
    assert reported["places"]


def test_machines_as_files_have_signs() -> None:
    compiled = compile_text(BULLETS, Notation.REGEX)
    assert compiled.grammar is not None
    labels = label_vocabulary(WORDS).labels
    record = automaton(compiled.grammar, Machine.TOKENS, WORDS, compiled.limits)
    sign = len(WORDS) + [one.label.name for one in labels].index("PARAGRAPH_TOKEN")
    assert record["spelling"][str(sign)] == {"label": "PARAGRAPH_TOKEN"}
    characters = automaton(compiled.grammar, Machine.CHARACTERS, None, compiled.limits)
    read = [edge["label"] for edge in characters["edges"] if "label" in edge]
    assert read == ["PARAGRAPH_TOKEN"] * 4
    arcs = att(compiled.grammar, Machine.TOKENS, WORDS, compiled.limits)
    assert "\\PARAGRAPH_TOKEN" in str(arcs)


def test_a_token_that_fits_by_its_characters_alone_is_explained(handlers: Handlers) -> None:
    sent = {"text": r"x (?P<PARAGRAPH_TOKEN>)\n", "notation": "regex", "so_far": b"x".hex()}
    fits, other = " a", "x"
    notes = explain_tokens(handlers, {**sent, "tokens": [t.encode().hex() for t in (fits, other)]})
    assert notes["reasons"] == ["PARAGRAPH_TOKEN reads whole tokens", "needs `␠`"]
    reported = why(handlers, {**sent, "token": fits.encode().hex()})
    assert reported["reason"] == (
        "' ' is read as text, and PARAGRAPH_TOKEN reads a whole token: 'a' would have to be one"
    )
