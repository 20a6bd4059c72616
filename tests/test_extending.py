"""A notation, a method and a lesson are added as CONTRIBUTING says: one definition, one entry."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import workbench as wb
from tests.ui.toy import toy_room
from workbench.app.cli.main import app
from workbench.app.lessons import lesson_reader
from workbench.app.lessons.films import film
from workbench.app.ui.compare_view import contender_list
from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.lesson_view import lesson_list
from workbench.app.ui.opening_view import page_record
from workbench.app.ui.page_files import script
from workbench.app.ui.takeaway import take_code
from workbench.base.limits import Limits
from workbench.base.source import Source, Span
from workbench.constraint.compile import METHODS, Method
from workbench.constraint.masks import TokenMask, pack
from workbench.decoding.contenders import contenders_named
from workbench.decoding.model import ToyModel
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation, ParsedGrammar
from workbench.syntax.grammar_tree import Choice, GrammarTree, Literal, Rule
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@pytest.fixture
def handlers() -> Handlers:
    return Handlers(toy_room())


# -- a notation: one line is one text --------------------------------------------------------------


def read_lines(source: Source, start: str, limits: Limits) -> ParsedGrammar:
    """The first file: a reader, text → tree."""
    lines = tuple(
        Literal(found[0].encode(), Span(*found.span())) for found in re.finditer(".+", source.text)
    )
    whole = Span(0, len(source.text))
    rule = Rule(start, Choice(lines, whole), Span(0, 0), whole)
    return ParsedGrammar(GrammarTree((rule,), source), start)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Notation:
    """The second file: the member of ``Notation``. A closed enum is opened for the test."""
    made = Notation.__dict__["__new_member__"](
        Notation, "lines", "Lines", ".lines", "Texts", read_lines
    )
    assert isinstance(made, Notation)
    made._name_ = "LINES"
    monkeypatch.setattr(Notation, "_member_names_", [*Notation._member_names_, "LINES"])
    monkeypatch.setitem(Notation._member_map_, "LINES", made)
    monkeypatch.setitem(Notation._value2member_map_, "lines", made)
    return made


def test_a_notation(lines: Notation, handlers: Handlers, tmp_path: Path) -> None:
    grammar = Grammar.from_text("yes\nno\n", lines)
    assert [grammar.accepts(text) for text in ("yes", "no", "maybe", "yes\nno")] == [1, 1, 0, 0]

    (tmp_path / "answer.lines").write_text("yes\nno\n")
    converted = CliRunner().invoke(
        app, ["convert", str(tmp_path / "answer.lines"), "--to", "regex"]
    )
    assert converted.stdout == "yes|no\n"
    unknown = CliRunner().invoke(app, ["convert", str(tmp_path / "answer.words"), "--to", "regex"])
    assert ".lines" in unknown.stderr

    sent = {"text": "yes\nno", "notation": "lines"}
    assert compile_grammar(handlers, sent)["ok"]
    listed = re.search(r"^const NOTATIONS = (.*);$", script(), re.MULTILINE)
    assert listed is not None
    assert json.loads(listed[1])[-1] == {
        "name": "lines",
        "label": "Lines",
        "suffix": ".lines",
        "choices": {},
        "numbers": [],
        "words": [],
        "finish": False,
        "rules": True,
        "written": False,
    }
    code = json.dumps(take_code(handlers, sent))
    assert "wb.Grammar.from_text(" in code


# -- a method: every token is tried ----------------------------------------------------------------


class Trying:
    """The first file: tests every token with ``Grammar.is_prefix``; a state is the text so far."""

    initial = b""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, _: Limits) -> None:
        self.grammar, self.vocabulary = grammar, vocabulary

    def mask(self, state: bytes) -> TokenMask:
        allowed = [
            self.grammar.accepts(state)
            if token_id == self.vocabulary.end
            else token is not None and self.grammar.is_prefix(state + token)
            for token_id, token in enumerate(self.vocabulary.tokens)
        ]
        return TokenMask(pack(np.array(allowed, np.bool_)), len(self.vocabulary))

    def advance(self, state: bytes, token_id: TokenId) -> bytes:
        return state + (self.vocabulary.tokens[token_id] or b"")

    def is_final(self, state: bytes) -> bool:
        return self.grammar.accepts(state)

    def forced(self, state: bytes, most: int = sys.maxsize) -> bytes:
        return b""


def test_a_method(monkeypatch: pytest.MonkeyPatch, handlers: Handlers) -> None:
    # the second file: its entry
    monkeypatch.setitem(METHODS, "trying", Method("every token is tried", "a test", Trying))
    grammar, vocabulary = wb.Grammar.from_regex("(ab|ba)+"), toy(["a", "b", "ab", "aa"])
    constraint = wb.compile(grammar, vocabulary, "trying")
    exact = wb.compile(grammar, vocabulary)
    state, same = constraint.initial, exact.initial
    for token in (0, 1, 2):
        assert constraint.mask(state).ids.tolist() == exact.mask(same).ids.tolist()
        state, same = constraint.advance(state, token), exact.advance(same, token)
    assert constraint.is_final(state)

    assert "trying" in [one["name"] for one in page_record(handlers)["methods"]]
    assert "trying" in [one["name"] for one in contender_list(handlers, {})["methods"]]
    (contender,) = contenders_named("trying")
    run = contender.prepare(ToyModel(vocabulary), grammar).start(
        "", wb.Sampling(temperature=0), max_tokens=9
    )
    assert grammar.is_prefix(b"".join(vocabulary.tokens[step.token_id] or b"" for step in run))


# -- a lesson --------------------------------------------------------------------------------------

#: The first file.
LESSON = """
title  = "Toys"
aim    = "You know one toy."
source = "a test"

[[steps]]
title  = "One word"
regex  = "(toy)+"
text   = "A machine with three states."
figure = { kind = "characters", text = "toytoy" }
"""


def test_a_lesson(monkeypatch: pytest.MonkeyPatch, handlers: Handlers, tmp_path: Path) -> None:
    content = shutil.copytree(lesson_reader.CONTENT, tmp_path / "content")
    (content / "toys.toml").write_text(LESSON)
    monkeypatch.setattr(lesson_reader, "CONTENT", content)
    # the second file: its name on a shelf
    monkeypatch.setitem(lesson_reader.SHELVES, "Toys", ("toys",))
    lesson_reader.lessons.cache_clear()
    try:
        listed = lesson_list(handlers, {})["lessons"]
        assert (listed[-1]["name"], listed[-1]["shelf"]) == ("toys", "Toys")
        (step,) = lesson_reader.lesson("toys").steps
        assert step.figure is not None
        assert film(step.figure, step.world).frames[-1].good
    finally:
        lesson_reader.lessons.cache_clear()
