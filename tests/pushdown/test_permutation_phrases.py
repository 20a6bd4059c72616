"""Permutation phrases: elements in any order, each once, without a rule for each set of them."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tests.oracles.schema_oracle import documents
from tests.schema.test_any_order import CLOSED, NULL, SHAPES, grammar_of, members
from workbench.analysis.random_texts import samples
from workbench.base.errors import BuildError, LimitError, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS
from workbench.constraint.compile import compile
from workbench.constraint.engine.automaton import StackConstraint
from workbench.constraint.within_budget import WithinBudget
from workbench.grammar.export.registry import export
from workbench.grammar.fill import fill
from workbench.grammar.grammar import Grammar
from workbench.pushdown.cfg import derives, least
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.syntax.expand_phrases import has_phrases, without_phrases
from workbench.syntax.permutation_phrases import (
    BEGIN,
    END,
    FIRST_ELEMENT,
    Element,
    PermutationPhrase,
    Written,
)
from workbench.vocabulary.toy_vocabularies import all_bytes, toy
from workbench.vocabulary.vocabulary import Vocabulary

# -- the marks that are free, compared with all completions ------------------------------------

bits = st.integers(0, 15)
elements = st.builds(Element, bits, bits) | st.sampled_from([Element(0, 0), Element(1, 1)])
names = st.integers(0, 4).map(lambda count: [Element(1 << n, 1 << n) for n in range(count)])
counts = st.none() | st.integers(0, 4)
phrases = st.builds(
    lambda them, required, low, high, available: PermutationPhrase(
        tuple(them), required, low, high if high is None else max(low, high), available
    ),
    st.lists(elements, max_size=4) | names | names.map(lambda once: [*once, Element(0, 0)]),
    bits,
    st.integers(0, 3),
    counts,
    st.just(-1) | bits,
)


def completes(phrase: PermutationPhrase, satisfied: int, count: int) -> bool:
    """Whether some sequence of further elements completes a phrase: all of them are tried."""

    @cache
    def search(satisfied: int, count: int) -> bool:
        if not phrase.required & ~satisfied and phrase.low <= count:
            return True
        if count > len(phrase.elements) + phrase.low + 4:
            return False
        return any(
            search(satisfied | element.satisfies, count + 1)
            for number, element in enumerate(phrase.elements)
            if could_follow(phrase, number, satisfied, count)
        )

    return search(satisfied, count)


def could_follow(phrase: PermutationPhrase, number: int, satisfied: int, count: int) -> bool:
    below = phrase.high is None or count < phrase.high
    is_available = phrase.available >> number & 1
    return below and bool(is_available) and not phrase.elements[number].excluded_by & satisfied


@settings(max_examples=500, deadline=None)
@given(phrases, st.lists(st.integers(0, 4), max_size=5))
@example(PermutationPhrase((Element(1, 1), Element(3, 1)), 3), [0])  # b can only be with a
@example(PermutationPhrase((Element(1, 1), Element(2, 2)), 0, 2, 2), [0, 1])
@example(PermutationPhrase((Element(0, 1), Element(1, 1)), 1, 2), [])  # the order matters
def test_a_mark_is_free_if_the_phrase_can_be_completed_after_it(
    phrase: PermutationPhrase, order: list[int]
) -> None:
    written, satisfied, count = phrase.initial, 0, 0
    assert phrase.is_possible == completes(phrase, 0, 0)
    if not phrase.is_possible:
        return
    for number in [*order, None]:
        free = phrase.free(written)
        assert bool(free >> END & 1) == (not phrase.required & ~satisfied and phrase.low <= count)
        for each, element in enumerate(phrase.elements):
            expected = could_follow(phrase, each, satisfied, count) and completes(
                phrase, satisfied | element.satisfies, count + 1
            )
            assert bool(free >> FIRST_ELEMENT + each & 1) == expected, (satisfied, count, each)
        if (
            number is None
            or number >= len(phrase.elements)
            or not free >> FIRST_ELEMENT + number & 1
        ):
            break
        written = phrase.after(written, number)
        satisfied, count = satisfied | phrase.elements[number].satisfies, count + 1


def test_what_follows_a_mark() -> None:
    phrase = PermutationPhrase((Element(1, 1), Element(2, 2)), required=2)
    assert phrase.marks == 4
    assert phrase.following(None, BEGIN) == Written(0, 0)
    assert phrase.following(Written(0, 0), END) is None  # b is required
    assert phrase.following(Written(0, 0), FIRST_ELEMENT + 1) == Written(2, 0)
    assert phrase.following(Written(2, 0), FIRST_ELEMENT + 1) is None  # it occurs once
    assert phrase.following(Written(2, 0), END) == Written(2, 0)
    assert not phrase.restricted([BEGIN, FIRST_ELEMENT, END]).is_possible


# -- masks, compared with those of ordinary rules ----------------------------------------------

NESTED: dict[str, Any] = {
    "properties": {"a": {**CLOSED, "minProperties": 2}, "b": {"type": "integer"}, "ab": NULL},
    "required": ["ab"],
    "additionalProperties": {"type": "boolean"},
    "maxProperties": 3,
}
CHOICE = {"anyOf": [CLOSED, {**CLOSED, "required": ["a", "c"], "maxProperties": 2}, NULL]}
CONDITION = {
    **CLOSED,
    "if": {"required": ["a"]},
    "then": {"required": ["b"]},
    "dependentRequired": {"c": ["a"]},
}
UNUSUAL = {"properties": {'q"': NULL, "é": NULL, "": NULL}, "additionalProperties": False}
SCHEMAS = [*(schema for schema, _, _ in SHAPES), NESTED, CHOICE, CONDITION, UNUSUAL]
WORDS = [
    *('{"', '":', '":null', ',"', '","', '"}', "null", "null}", 'null,"', 'a":', '"a"', "}}"),
    *('{"a', '"ab', 'b":null,"', '{"b":null}', ":null,", 'c":null,"b":null'),
]
VOCABULARIES = {
    "bytes": all_bytes(),
    "words": toy([*(bytes([byte]) for byte in range(256)), *WORDS]),
    "few bytes": toy([*'{}",:abcnult', *WORDS]),
}


def same_masks(first: Any, second: Any, seed: int, steps: int = 60) -> int:
    """Compare two constraints on random walks; returns how many masks were compared."""
    random, compared = Random(seed), 0
    left, right = first.initial, second.initial
    for _ in range(steps):
        mask = first.mask(left)
        assert set(mask) == set(second.mask(right))
        compared += 1
        choices = [each for each in mask if each not in first.vocabulary.ends]
        if not choices:
            break
        token = random.choice(choices)
        left, right = first.advance(left, token), second.advance(right, token)
    return compared


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_masks_are_those_of_ordinary_rules(schema: Any, vocabulary: Vocabulary) -> None:
    grammar = grammar_of(schema)
    assert grammar.has_phrases
    plain = grammar.without_phrases
    assert plain.tree
    assert not has_phrases(plain.tree)
    first, second = compile(grammar, vocabulary), compile(plain, vocabulary)
    assert sum(same_masks(first, second, seed) for seed in range(12)) > 40


def test_a_row_is_not_shared_where_other_elements_are_written() -> None:
    grammar = grammar_of({"enum": [{"a": {}, "b": {}}]})
    constraint = compile(grammar, VOCABULARIES["words"])
    masks = []
    for text in ('{"a":{', '{"b":{},"a":{'):
        state = constraint.initial
        for byte in text.encode():
            state = constraint.advance(state, constraint.vocabulary.ids_of[bytes([byte])][0])
        masks.append({constraint.vocabulary.tokens[each] for each in constraint.mask(state)})
    assert masks == [{b"}"}, {b"}", b"}}"}]


@pytest.mark.exhaustive
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents, st.integers(0, 1_000))
def test_masks_of_generated_schemas(schema: Any, seed: int) -> None:
    try:
        grammar = grammar_of(schema)
        assume(grammar.has_phrases)
        plain = grammar.without_phrases
    except (BuildError, LimitError):
        return
    vocabulary = VOCABULARIES["words"]
    same_masks(compile(grammar, vocabulary), compile(plain, vocabulary), seed)


@pytest.mark.parametrize(
    "method", ["composed", "domino", "online", "xgrammar", "greatgramma", "pre3", "syncode"]
)
def test_other_methods_read_ordinary_rules(method: str) -> None:
    grammar = grammar_of({**CLOSED, "required": ["b"]})
    vocabulary = VOCABULARIES["bytes"]
    made = compile(grammar, vocabulary, method)
    for names in product("abc", repeat=2):
        state, text = made.initial, members(*names).encode()
        for byte in text:
            token = vocabulary.ids_of[bytes([byte])][0]
            if token not in set(made.mask(state)):
                break
            state = made.advance(state, token)
        else:
            assert made.is_final(state) == grammar.accepts(text), names
            continue
        assert not grammar.accepts(text)


def test_the_states_of_a_text_grow_with_the_text_alone() -> None:
    names = [f"property {number}" for number in range(300)]
    grammar = grammar_of({"properties": dict.fromkeys(names, NULL), "additionalProperties": False})
    assert isinstance(grammar.reader, Network)
    assert len(grammar.reader) < 5_000
    runner = Runner(grammar.reader)
    Random(0).shuffle(names)
    text = members(*names).encode()
    assert runner.is_final(runner.run(text))
    assert len(runner) < 2 * len(text)


def test_a_required_property_without_a_value_makes_an_object_impossible() -> None:
    never = {"properties": {"a": {"$ref": "#/$defs/n"}, "b": NULL}, "required": ["a"]}
    endless = {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}
    schema = {"anyOf": [{**never, "type": "object"}, NULL], "$defs": {"n": endless}}
    grammar = grammar_of(schema)
    assert grammar.accepts("null")
    assert not grammar.is_prefix("{")
    with pytest.raises(BuildError, match="no JSON value is an instance"):
        grammar_of({**never, "type": "object", "$defs": {"n": endless}})


# -- what else reads the grammar ---------------------------------------------------------------

WIDE = {"properties": {f"p{number}": NULL for number in range(40)}, "additionalProperties": False}


def test_tokens_are_counted_where_ordinary_rules_are_possible() -> None:
    vocabulary = VOCABULARIES["words"]
    constraint = compile(grammar_of({**CLOSED, "required": ["b"]}), vocabulary)
    assert isinstance(constraint, StackConstraint)
    within = WithinBudget(constraint, 3)
    assert within.fewest(within.initial) == 2
    with pytest.raises(LimitError, match="any order need more than 5,000 rules"):
        WithinBudget(compile(grammar_of(WIDE), vocabulary), 50)
    with pytest.raises(WorkbenchError, match="not counted where elements are in any order"):
        compile(grammar_of(WIDE), vocabulary).token_distances(LIMITS)


def test_random_texts_and_exports_have_ordinary_rules() -> None:
    grammar = grammar_of({**CLOSED, "required": ["b"], "minProperties": 2})
    texts = samples(grammar, 20)
    assert all(grammar.accepts(text) for text in texts)
    assert len({*json.loads(texts[0])}) >= 2
    exported = Grammar.from_kbnf(export(grammar, "kbnf"))
    assert exported.accepts(members("c", "b"))
    assert not exported.accepts(members("c", "c", "b"))
    assert not exported.accepts(members("c", "a"))
    with pytest.raises(LimitError, match="which needs no rules"):
        export(grammar_of(WIDE), "kbnf")


def test_bytes_that_no_token_has_leave_out_elements() -> None:
    grammar = grammar_of({**CLOSED, "properties": dict.fromkeys(("a", "b", "z"), NULL)})
    constraint = compile(grammar, toy('{}",:abnul'))
    assert forced_after(constraint, b'{"a":null,"') == b'b":null}'
    with pytest.raises(VocabularyError):
        compile(grammar_of({**CLOSED, "required": ["c"]}), toy('{}",:abnul'))


def forced_after(constraint: Any, text: bytes) -> bytes:
    state = constraint.step_bytes(constraint.initial, text)
    return bytes(constraint.forced(state))


def test_a_hole_in_an_object_in_any_order() -> None:
    hole = fill('{"b":', "}", grammar_of({**CLOSED, "required": ["b"]}))
    assert hole.accepts("null")
    assert hole.accepts('null,"c":null')
    assert not hole.accepts('null,"b":null')


def test_ordinary_rules_have_texts() -> None:
    schema = {**CLOSED, "required": ["b"], "maxProperties": 2}
    tree = grammar_of(schema).without_phrases.tree
    assert tree is not None
    bodies = {rule.name: rule.body for rule in tree.rules}
    assert least(bodies, lambda body, names: derives(body, names, lambda _: True)) == {*bodies}


def test_a_grammar_without_phrases_is_its_own() -> None:
    grammar = Grammar.from_json_schema(CLOSED)
    assert not grammar.has_phrases
    assert grammar.without_phrases is grammar
    assert grammar.tree
    assert without_phrases(grammar.tree) is grammar.tree


def test_a_refused_text_has_its_place() -> None:
    verdict = grammar_of({**CLOSED, "required": ["b"]}).check('{"a":null,"a":null}')
    assert verdict.offset == 11
    assert "b" in str(verdict)
    assert verdict.rules == ("start", "schema")
