"""Values in other processes and as copies: grammars, vocabularies, results and errors."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import workbench as wb
from workbench.constraint.compile import METHODS
from workbench.vocabulary.toy_vocabularies import all_bytes
from workbench.vocabulary.vocabulary import Tokenizer


@dataclass
class Person:
    """A class of a module, as users have it."""

    name: str
    age: int


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"$ref": "#"}}},
}
KBNF = wb.Grammar.from_kbnf('start ::= "(" start ")" | #"[0-9]+" | "x";')
TAG = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": SCHEMA}}

#: One grammar of each notation and of each kind of machine, with a text that it accepts.
GRAMMARS: dict[str, tuple[wb.Grammar, str]] = {
    "regex": (wb.Grammar.from_regex("[0-9]+(a|b)*"), "12ab"),
    "lazy": (wb.Grammar.from_regex("(a|b)*a(a|b){24}"), "a" + "b" * 24),
    "kbnf": (KBNF, "((7))"),
    "kbnf with limits": (wb.Grammar.from_kbnf('start ::= "a"*;', limits=wb.Limits(seconds=9)), "a"),
    "gbnf": (wb.Grammar.from_gbnf('root ::= "a" root "b" | "c"'), "acb"),
    "lark": (wb.Grammar.from_lark('start: "a" start | "b"'), "aab"),
    "schema": (wb.Grammar.from_json_schema(SCHEMA), '{"a": 1, "b": [{}]}'),
    "compact schema": (wb.Grammar.from_json_schema(SCHEMA, whitespace="compact"), '{"a":1}'),
    "dataclass": (wb.Grammar.from_dataclass(Person), "Person(name='Ann', age=7)"),
    "dataclass as JSON": (
        wb.Grammar.from_dataclass(Person, style="json"),
        '{"name": "Ann", "age": 7}',
    ),
    "tag": (wb.Grammar.from_structural_tag(TAG), '{"a": 1}'),
    "machine": (wb.Grammar.from_machine("initial: p\nfinal: q\np -> q : a\nq -> p : b"), "aba"),
}

#: A loaded vocabulary, and two that are made by hand.
VOCABULARIES: dict[str, wb.Vocabulary] = {
    "builtin": wb.Vocabulary.load("builtin"),
    "by hand": all_bytes(),
    "with merges": wb.Vocabulary(
        [*(bytes((b,)) for b in range(256)), b"12", b"ab", None],
        end=258,
        merges=[(b"1", b"2"), (b"a", b"b")],
        name="merged",
    ),
}

TOKENS = 8


def walk(grammar: wb.Grammar, vocabulary: wb.Vocabulary) -> list[bytes]:
    """The masks along a path of tokens."""
    constraint = wb.compile(grammar, vocabulary)
    state, masks = constraint.initial, []
    for step in range(TOKENS):
        mask = constraint.mask(state)
        masks.append(mask.bools.tobytes())
        allowed = [i for i in mask.ids.tolist() if i not in vocabulary.ends]
        if not allowed:
            break
        state = constraint.advance(state, allowed[(7 * step) % len(allowed)])
    return masks


def facts(
    name: str, grammar: wb.Grammar, text: str, vocabularies: list[wb.Vocabulary]
) -> tuple[Any, ...]:
    """What a process computes with a grammar and vocabularies that it was sent."""
    value = grammar.parse(text) if grammar.value else None
    masks = [walk(grammar, vocabulary) for vocabulary in vocabularies]
    return name, repr(grammar), grammar.check(text), grammar.limits, value, masks


@pytest.mark.slow
def test_a_spawned_process_computes_the_same_masks() -> None:
    vocabularies = list(VOCABULARIES.values())
    cases = [(name, grammar, text, vocabularies) for name, (grammar, text) in GRAMMARS.items()]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.starmap(facts, cases)
    for case, facts_there in zip(cases, there, strict=True):
        assert facts_there == facts(*case), case[0]
        masks: Any = facts_there[-1]
        assert all(len(mask) > 1 for mask in masks), case[0]


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_vocabulary_keeps_all_that_was_given(name: str) -> None:
    vocabulary = VOCABULARIES[name]
    again = copied(vocabulary)
    assert tuple(again.tokens) == tuple(vocabulary.tokens)
    for attribute in ("ends", "end", "special", "name", "names", "added"):
        assert getattr(again, attribute) == getattr(vocabulary, attribute)
    for attribute in ("merges", "patterns", "added", "prefix", "byte_fallback", "normal_form"):
        assert getattr(again.tokenizer, attribute) == getattr(vocabulary.tokenizer, attribute)
    if vocabulary.tokenizer.encoder is not None:
        text = "two words, 3 ÄÖ"
        assert again.tokenizer.encoder(text) == vocabulary.tokenizer.encoder(text)


def test_what_is_computed_later_is_not_sent() -> None:
    vocabulary = all_bytes()
    before = len(pickle.dumps(vocabulary))
    assert vocabulary.trie
    assert vocabulary.ids_of
    assert len(pickle.dumps(vocabulary)) == before


def test_copies_of_values_that_do_not_change_are_the_values() -> None:
    constraint = wb.compile(KBNF, VOCABULARIES["builtin"])
    for value in (KBNF, VOCABULARIES["builtin"], constraint):
        assert copy.copy(value) is value
        assert copy.deepcopy([value])[0] is value


def test_error_an_encoder_without_a_name() -> None:
    vocabulary = wb.Vocabulary([b"a"], tokenizer=Tokenizer(encoder=lambda _: [0]))
    with pytest.raises(wb.VocabularyError) as error:
        pickle.dumps(vocabulary)
    assert str(error.value) == (
        "the encoder of this tokenizer cannot be pickled: it is defined inside a function\n"
        "hint: define it in a module, or make the tokenizer without encoder"
    )


@pytest.mark.parametrize("method", METHODS)
def test_error_a_constraint_stays_in_its_process(method: str) -> None:
    constraint = None
    for grammar in (KBNF, GRAMMARS["regex"][0], GRAMMARS["dataclass"][0]):
        try:
            constraint = wb.compile(grammar, VOCABULARIES["with merges"], method)
            break
        except wb.WorkbenchError:
            continue
    if constraint is None:
        pytest.skip("no grammar of this test has what the method needs")
    if method == "unconstrained":  # it has nothing but the vocabulary
        again = copied(constraint)
        assert (again.mask(()).bools == constraint.mask(()).bools).all()
        return
    assert copy.deepcopy(constraint) is constraint
    with pytest.raises(wb.WorkbenchError) as error:
        pickle.dumps(constraint)
    assert str(error.value) == (
        f"{type(constraint).__name__} cannot be pickled: its states are numbers of this process\n"
        "hint: pickle the grammar and the vocabulary, and compile them in the other process"
    )


#: Results that users keep.
RESULTS: dict[str, Callable[[], Any]] = {
    "mask": lambda: (c := wb.compile(KBNF, VOCABULARIES["builtin"])).mask(c.initial),
    "verdict": lambda: KBNF.check("(1"),
    "trees": lambda: wb.parse_trees(KBNF, "(1)"),
    "picture": lambda: wb.draw(KBNF, "rules"),
    "shown picture": lambda: wb.draw(KBNF, "rules").shown(),
    "difference": lambda: wb.equivalent(KBNF, wb.Grammar.from_regex("[0-9]+")),
    "advice": lambda: wb.lint(KBNF),
    "texts": lambda: wb.samples(KBNF),
    "words": lambda: wb.in_words(KBNF),
    "limits": lambda: wb.Limits(seconds=3, states=7),
    "sampling": lambda: wb.Sampling(temperature=0.5),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_copied(name: str) -> None:
    result = RESULTS[name]()
    for again in (copied(result), copy.deepcopy(result)):
        assert type(again) is type(result)
        assert repr(again) == repr(result)
        assert str(again) == str(result)


def test_a_trace_is_copied() -> None:
    model = wb.load_model("builtin")
    constraint = wb.compile(wb.Grammar.from_regex("[a-c]{3}"), model.vocabulary)
    run = wb.generate(model, constraint, "", wb.Sampling(seed=1), max_tokens=9)
    assert list(run)
    trace = run.trace
    assert copied(trace).text == trace.text
    assert copied(trace).token_ids == trace.token_ids


#: What raises an error of each class.
ERRORS: dict[str, Callable[[], object]] = {
    "ParseError": lambda: wb.Grammar.from_regex("("),
    "BuildError": lambda: wb.Grammar.from_kbnf("start ::= b;"),
    "LimitError": lambda: wb.Grammar.from_regex("[ab]{90}", limits=wb.Limits(states=9)),
    "VocabularyError": lambda: wb.Vocabulary([]),
    "WorkbenchError": lambda: KBNF.parse("1"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_copied(name: str) -> None:
    with pytest.raises(wb.WorkbenchError) as raised:
        ERRORS[name]()
    error = raised.value
    assert type(error).__name__ == name
    for again in (copied(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.args == error.args
        assert vars(again).keys() == vars(error).keys()
