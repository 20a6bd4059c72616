"""The constraints of the benchmark: every notation of one says the same language."""

from __future__ import annotations

import re

import pytest
from lark import Lark

from lab.bench.cases import CASES, REAL, real_texts
from tests.syntax.test_lark_itself import accepts
from workbench.constraint.compile import compile
from workbench.engines.case import Case, grammar_of
from workbench.engines.peer import greedy_tokens
from workbench.engines.peers import lark_of
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.vocabulary.toy_vocabularies import all_bytes

ALL = [*CASES.values()]
BYTES = all_bytes()


def check_walk(grammar: Grammar, case: Case) -> None:
    """Every token of the case's text is in its mask, and the text may end."""
    constraint = compile(grammar, BYTES)
    state = constraint.initial
    for token in greedy_tokens(case.walk, BYTES):
        assert token in constraint.mask(state)
        state = constraint.advance(state, token)
    assert constraint.is_final(state)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_case_compiles_and_its_walk_is_in_its_language(case: Case) -> None:
    grammar = grammar_of(case)
    check_walk(grammar, case)
    assert not grammar.accepts(case.walk + "\0")


@pytest.mark.parametrize("case", [*REAL.values()], ids=lambda case: case.name)
def test_real_grammar_accepts_and_refuses_its_texts(case: Case) -> None:
    grammar, texts = grammar_of(case), real_texts()[case.name]
    assert [text for text in texts["accepted"] if not grammar.accepts(text)] == []
    assert [text for text in texts["refused"] if grammar.accepts(text)] == []


@pytest.mark.slow
@pytest.mark.parametrize("case", [*REAL.values()], ids=lambda case: case.name)
def test_mask_along_a_real_text_allows_every_token_of_it(case: Case) -> None:
    check_walk(grammar_of(case), case)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "case", [c for c in REAL.values() if c.written and c.written[0] is Notation.LARK],
    ids=lambda case: case.name,
)  # fmt: skip
def test_lark_reads_short_texts_of_real_grammars_alike(case: Case) -> None:
    assert case.written is not None
    reader, grammar = Lark(case.written[1], parser="earley", lexer="dynamic"), grammar_of(case)
    texts = real_texts()[case.name]
    for text in [*texts["accepted"][1:], *texts["refused"]]:
        assert accepts(reader, text) == grammar.accepts(text), text


@pytest.mark.parametrize("case", [c for c in ALL if c.regex], ids=lambda case: case.name)
def test_regex_means_to_python_what_it_means_here(case: Case) -> None:
    assert case.regex is not None
    grammar = grammar_of(case)
    for text in _changed(case.walk):
        assert (re.fullmatch(case.regex, text) is not None) == grammar.accepts(text), text


@pytest.mark.parametrize("name", ["json_cfg", "anbn"])
def test_lark_text_means_what_the_kbnf_text_means(name: str) -> None:
    case = CASES[name]
    assert case.lark is not None
    reader, grammar = Lark(case.lark, parser="earley", lexer="dynamic"), grammar_of(case)
    for text in _changed(case.walk):
        assert accepts(reader, text) == grammar.accepts(text), text


@pytest.mark.exhaustive
def test_lark_text_of_c_means_what_the_kbnf_text_means() -> None:
    case = CASES["c_cfg"]
    assert case.lark is not None
    reader, grammar = Lark(case.lark, parser="earley", lexer="dynamic"), grammar_of(case)
    for text in _changed(case.walk):
        assert accepts(reader, text) == grammar.accepts(text), text


def test_slash_of_a_regex_is_escaped_for_lark() -> None:
    assert lark_of(Case("slash", "", r"a/b\/c[/]")) == "start: TEXT\nTEXT: /a\\/b\\/c[\\/]/\n"
    assert lark_of(CASES["choice"]) == f"start: TEXT\nTEXT: /{CASES['choice'].regex}/\n"


def test_text_has_its_longest_tokens() -> None:
    assert greedy_tokens("ab", BYTES) == [97, 98]
    assert BYTES.decode(greedy_tokens("é", BYTES)) == "é".encode()


def _changed(text: str) -> list[str]:
    """The text, and what it becomes where one piece of it is missing or doubled."""
    cuts = range(0, len(text), max(1, len(text) // 12))
    return [
        text,
        *(text[:at] + text[at + 1 :] for at in cuts),
        *(text[:at] + text[at] + text[at:] for at in cuts),
        *(text[:at] for at in cuts),
    ]
