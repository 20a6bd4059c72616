"""Forced text is inserted in the tokenizer's tokens, healed before holes; no text is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.forced_text import ForcedText
from workbench.decoding.generate import generate
from workbench.decoding.model import ToyModel
from workbench.decoding.sampling import Sampling
from workbench.decoding.strategy import PLAIN, JumpForward
from workbench.decoding.template import Template
from workbench.decoding.trace import Trace
from workbench.vocabulary.toy_vocabularies import toy

LISTING = """{{
    "id": {gen('id', regex='[1-9][0-9]*')},
}}"""

WORDS = toy([*'abcdn: ",{}', "na", '"n', '":', ': "', '"}', "name", "abc", '",', '"ab'])


def ran(template: Template, sample: str, *, healing: bool = True, skip: bool = True) -> Trace:
    constraint = wb.compile(template.grammar, WORDS)
    run = generate(
        ToyModel(WORDS, sample=sample),
        wb.compile(template.grammar, WORDS, method="template", healing=healing),
        ":",
        strategy=JumpForward() if skip else PLAIN,
    )
    tokens = [step.token_id for step in run if not step.is_end]
    state = constraint.initial
    for token_id in tokens:  # the exact mask allows the inserted tokens
        state = constraint.advance(state, token_id)
    return run.trace


def spelt(trace: Trace) -> list[str]:
    return [step.token.decode() for step in trace.steps if not step.is_end]


FIXED = Template.parse("{{\"na\": \"{gen('x', regex='[abc]+')}\"}}")


def test_forced_text_is_inserted_and_its_last_token_healed() -> None:
    trace = ran(FIXED, ':{"na": "abc"}')
    assert spelt(trace) == ["{", '"n', "a", '":', " ", '"ab', "c", '"}']
    assert [step.forward for step in trace.steps] == [False] * 5 + [True, True, True, False]
    assert trace.accepted


def test_without_healing_the_last_token_is_inserted_too() -> None:
    trace = ran(FIXED, ':{"na": "abc"}', healing=False)
    assert spelt(trace) == ["{", '"n', "a", '":', " ", '"', "abc", '"}']
    assert [step.forward for step in trace.steps] == [False] * 6 + [True, True, False]


def test_a_token_may_cross_from_forced_text_into_a_hole() -> None:
    template = Template.parse("a{gen('x', regex='bc|c')}.")
    words = toy(["a", "b", "c", "ab", "abc", ".", ":"])
    model = ToyModel(words, sample=":abc.")
    exact = wb.compile(template.grammar, words)
    assert isinstance(exact, AutomatonConstraint)
    healed = generate(model, ForcedText(exact), [6])
    assert [step.token for step in healed] == [b"abc", b".", b""]
    plain = ForcedText(exact, healing=False)
    assert [step.token for step in generate(model, plain, [6])] == [b"a", b"b", b"c", b".", b""]


def test_forced_text_is_tokenized_by_the_tokenizer() -> None:
    vocabulary = wb.Vocabulary.load("builtin")
    template = Template.parse(LISTING)
    constraint = wb.compile(template.grammar, vocabulary, method="template")
    state, taken = constraint.initial, []
    while len(mask := constraint.mask(state)) == 1:
        taken.append(next(iter(mask)))
        state = constraint.advance(state, taken[-1])
    spelling = [t for t in taken if vocabulary.tokens[t] is not None]
    assert vocabulary.decode(spelling) == b'{\n    "id": ', "no token spells a space and a digit"
    assert len(spelling) < 8
    with pytest.raises(TokenNotAllowed, match="is inserted"):
        constraint.advance(constraint.initial, vocabulary.ids("}")[0])


@pytest.mark.slow
@given(st.integers(0, 20), st.booleans(), st.booleans())
def test_skipping_a_template_gives_the_same_run(seed: int, healing: bool, dense: bool) -> None:
    longer = [b"na", b'": ', b'"n', b"abc", b'"}', b'{"'] if dense else []
    vocabulary = toy([*(bytes([byte]) for byte in range(128)), *longer])
    constraint = wb.compile(FIXED.grammar, vocabulary, method="template", healing=healing)
    model, sampling = ToyModel(vocabulary, seed=seed), Sampling(1.0, seed=seed)
    runs = [
        generate(model, constraint, ":", sampling, max_tokens=40, strategy=strategy)
        for strategy in (PLAIN, JumpForward())
    ]
    plain, skipped = ([step.token_id for step in run] for run in runs)
    assert plain == skipped
    assert constraint.is_final(constraint.initial) is False
    assert FIXED.grammar.is_prefix(runs[0].trace.text)


LANGUAGES = {
    "abc(a|b)cc": ["abcacc", "abcbcc"],
    "(ab|abc)c?": ["ab", "abc", "abcc"],
    "a(b(c|d)a){1,2}": ["abca", "abda", "abcabca", "abcabda", "abdabca", "abdabda"],
    "é(a|é)b": ["éab", "ééb"],
    "a|[éè]c": ["a", "éc", "èc"],
}


@pytest.mark.parametrize("healing", [True, False])
@pytest.mark.parametrize("pattern", LANGUAGES)
def test_the_language_does_not_change(pattern: str, healing: bool) -> None:
    halves = [bytes([byte]) for byte in "éè".encode()]
    vocabulary = toy([*"abcd", *dict.fromkeys(halves), "ab", "bc", "abc", "ca", "é", "éa"])
    grammar = wb.Grammar.from_regex(pattern)
    constraint = wb.compile(grammar, vocabulary, method="template", healing=healing)
    found, waiting = set(), [(constraint.initial, b"")]
    while waiting:
        state, text = waiting.pop()
        for token_id in constraint.mask(state):
            if token_id == vocabulary.end:
                found.add(text.decode())
                assert constraint.is_final(state)
                continue
            longer = text + (vocabulary.tokens[token_id] or b"")
            waiting.append((constraint.advance(state, token_id), longer))
    assert found == set(LANGUAGES[pattern])


def test_forced_is_that_of_the_exact_constraint() -> None:
    exact = wb.compile(FIXED.grammar, WORDS)
    constraint = wb.compile(FIXED.grammar, WORDS, method="template")
    assert constraint.forced(constraint.initial) == exact.forced(exact.initial) == b'{"na": "'


def test_error_when_healing_is_not_a_boolean() -> None:
    with pytest.raises(WorkbenchError, match="expected True or False as 'healing', not str"):
        wb.compile(FIXED.grammar, WORDS, method="template", healing="no")  # type: ignore[arg-type]


@pytest.mark.slow
def test_long_forced_text_is_inserted_in_parts() -> None:
    constraint = wb.compile(
        wb.Grammar.from_regex("(ab){900}(a|c)"),
        toy(["a", "b", "c", "ab", "aba"]),
        method="template",
    )
    run = generate(
        ToyModel(constraint.vocabulary, seed=3), constraint, [0], max_tokens=9000,
        strategy=JumpForward(),
    )  # fmt: skip
    tokens = [step.token for step in run]
    assert b"".join(tokens)[:-1] == b"ab" * 900
    assert sum(not step.forward for step in run.steps) >= len(tokens) - 4


def test_text_like_a_special_token_is_tokenized_as_text() -> None:
    vocabulary = wb.Vocabulary.load("builtin")
    constraint = wb.compile(
        wb.Grammar.from_regex("x<\\|endoftext\\|>(y|z)"), vocabulary, method="template"
    )
    state, spelt = constraint.initial, b""
    while len(mask := constraint.mask(state)) == 1:
        (token_id,) = mask
        assert vocabulary.tokens[token_id] is not None
        spelt += vocabulary.tokens[token_id] or b""
        state = constraint.advance(state, token_id)
    assert b"x<|endoftext|>".startswith(spelt)
    assert len(spelt) > 5
