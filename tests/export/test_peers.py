"""Other engines parse the exported grammars and accept the same texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from workbench.analysis.random_texts import near_misses, samples
from workbench.grammar.export.registry import export
from workbench.grammar.export.writers import rewritten_lark
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of
from workbench.vocabulary.vocabulary import Vocabulary

pytestmark = pytest.mark.peers

GALLERY = load_gallery()
#: Whether a text is accepted.
Language = Callable[[str], bool]


@cache
def grammar_of(name: str) -> Grammar:
    example = GALLERY[name]
    grammar = Grammar.from_text(example.text, example.notation, example.start)
    if labels := labels_of(grammar):
        pytest.skip(f"no other notation says {labels[0][0].name}: one token is no text")
    return grammar


@cache
def tried(name: str) -> tuple[tuple[str, bool], ...]:
    """Texts of an example, with whether they are accepted."""
    grammar, example = grammar_of(name), GALLERY[name]
    texts = [*example.accepts, *example.rejects, *samples(grammar, 6, seed=1)]
    texts += [text for text, _ in near_misses(grammar, 4, seed=1)]
    return tuple((text, grammar.accepts(text)) for text in dict.fromkeys(texts))


def in_lark(text: str) -> Language:
    lark = pytest.importorskip("lark")
    if "%declare _INDENT" in text:  # lark's dynamic lexer has no indenter
        indenter = pytest.importorskip("lark.indenter").PythonIndenter()
        parser = lark.Lark(text, parser="lalr", postlex=indenter)
    else:
        parser = lark.Lark(text, parser="earley", lexer="dynamic", ambiguity="resolve")

    def accepts(tried: str) -> bool:
        try:
            parser.parse(tried)
        except lark.exceptions.LarkError:
            return False
        return True

    return accepts


def in_xgrammar(text: str) -> Language:
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    grammar = xgrammar.Grammar.from_ebnf(text)
    return lambda tried: bool(testing._is_grammar_accept_string(grammar, tried))


@cache
def _bytes() -> Any:  # an object of its extension
    peer = pytest.importorskip("lab.bench.peers.others")
    module = pytest.importorskip("llguidance")
    every = Vocabulary((*(bytes([byte]) for byte in range(256)), b"<end>"), end=256)
    return module.LLTokenizer(module.TokenizerWrapper(peer._Tokens(every, 256)))


def in_llguidance(written: str) -> Language:
    module = pytest.importorskip("llguidance")
    matcher = module.LLMatcher(_bytes(), written, log_level=0)
    assert not matcher.is_error(), matcher.get_error()

    def accepts(tried: str) -> bool:
        fresh = matcher.deep_copy()
        tokens = list(tried.encode())
        return fresh.try_consume_tokens(tokens) == len(tokens) and bool(fresh.is_accepting())

    return accepts


def disagreements(name: str, accepts: Language) -> list[str]:
    return [text for text, expected in tried(name) if accepts(text) != expected]


@pytest.mark.slow
@pytest.mark.parametrize("name", GALLERY)
def test_lark_reads_lark(name: str) -> None:
    assert disagreements(name, in_lark(export(grammar_of(name), "lark"))) == []


@pytest.mark.parametrize("name", GALLERY)
def test_llguidance_reads_lark(name: str) -> None:
    module = pytest.importorskip("llguidance")
    written = module.LLMatcher.grammar_from_lark(rewritten_lark(grammar_of(name)))
    assert disagreements(name, in_llguidance(written)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", GALLERY)
def test_xgrammar_reads_gbnf(name: str) -> None:
    assert disagreements(name, in_xgrammar(export(grammar_of(name), "gbnf"))) == []
