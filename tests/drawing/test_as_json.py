from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing import machine_files
from workbench.grammar.grammar import Grammar
from workbench.pushdown.textbook_pda import pda
from workbench.vocabulary.toy_vocabularies import toy

ANBN = 'start ::= "a" start? "b";'


def dfa_of(pattern: str) -> Any:
    return Grammar.from_regex(pattern).dfa


def characters_accept(record: Any, text: str) -> bool:
    """An obvious reader of the record."""
    states = {record["initial"]}
    for character in text:
        states = {
            edge["target"]
            for edge in record["edges"]
            if edge["source"] in states
            and any(low <= character <= high for low, high in edge["characters"])
        }
    return bool(states & set(record["finals"]))


@pytest.mark.parametrize("text", ["food", "foofood", "foo", "", "é", "x"])
def test_characters_accept_what_the_grammar_accepts(text: str) -> None:
    grammar = Grammar.from_regex("(foo)+d|é")
    assert characters_accept(
        machine_files.dfa_record(dfa_of("(foo)+d|é")), text
    ) == grammar.accepts(text)


def stack_accepts(record: Any, text: bytes) -> bool:
    """The same for a machine with a stack: all configurations together, with S first on the stack."""
    waiting, seen = [(record["initial"], (0,), 0)], set()
    while waiting:
        configuration = waiting.pop()
        if configuration in seen:
            continue
        seen.add(configuration)
        state, stack, read = configuration
        if state in record["finals"] and read == len(text):
            return True
        for edge in record["edges"]:
            pops = tuple(reversed(edge["pops"]))
            if edge["source"] != state or stack[len(stack) - len(pops) :] != pops:
                continue
            left = (*stack[: len(stack) - len(pops)], *edge["pushes"])
            if "bytes" not in edge:
                waiting.append((edge["target"], left, read))
            elif read < len(text) and any(low <= text[read] <= high for low, high in edge["bytes"]):
                waiting.append((edge["target"], left, read + 1))
    return False


@pytest.mark.parametrize("text", ["ab", "aabb", "aaabbb", "aab", "abb", "", "ba"])
def test_a_stack_machine_accepts_what_the_grammar_accepts(text: str) -> None:
    grammar = Grammar.from_kbnf(ANBN)
    assert stack_accepts(
        machine_files.pda_record(pda(grammar.rules)), text.encode()
    ) == grammar.accepts(text)


def test_tokens_name_their_vocabulary_and_spelling() -> None:
    record = machine_files.token_fsa_record(
        compose(dfa_of("(foo)+d"), toy((b"f", b"oo", b"d", b"food")))
    )
    ids = {i for edge in record["edges"] for i in edge["tokens"]}
    assert ids == {0, 1, 2, 3}
    assert record["vocabulary"] == {"name": "toy", "size": 5, "end": 4}
    assert record["spelling"] == {"0": "f", "1": "oo", "2": "d", "3": "food"}


def test_a_token_that_is_no_text_is_written_in_hexadecimal() -> None:
    record = machine_files.token_fsa_record(compose(dfa_of("é"), toy((b"\xc3", b"\xa9"))))
    assert record["spelling"] == {"0": {"hex": "c3"}, "1": {"hex": "a9"}}


def test_tokens_of_nested_rules_have_stack_effects() -> None:
    machine = compose_pda(Grammar.from_kbnf(ANBN).rules, toy(("a", "b", "ab")))
    record = machine_files.token_pda_record(machine)
    assert sum(len(edge["tokens"]) for edge in record["edges"]) == machine.edge_count
    assert any(edge["pushes"] for edge in record["edges"])
    assert max(s for edge in record["edges"] for s in (*edge["pops"], *edge["pushes"])) < len(
        record["symbols"]
    )


def test_rules_call_each_other_by_name() -> None:
    record = machine_files.network_record(
        Grammar.from_kbnf('start ::= "a" other "b"; other ::= "c" start? "d";').rules
    )
    assert {edge["calls"] for edge in record["edges"] if "calls" in edge} == {"start", "other"}
    assert {rule["name"] for rule in record["rules"]} == {"start", "other"}
    assert sorted(s for rule in record["rules"] for s in rule["states"]) == list(
        range(record["states"])
    )


def test_the_detokenizer_spells_every_token() -> None:
    vocabulary = toy(("f", "oo", "foo", "food"))
    record = machine_files.detokenizer_record(vocabulary)
    into = {edge["target"]: edge for edge in record["edges"] if edge["target"] != 0}
    for edge in (edge for edge in record["edges"] if "tokens" in edge):
        spelt, here = bytes([edge["writes"]]), edge["source"]
        while here != 0:
            spelt, here = bytes([into[here]["writes"]]) + spelt, into[here]["source"]
        assert spelt == vocabulary.tokens[edge["tokens"][0]]


def test_the_text_is_the_record_with_an_edge_a_line() -> None:
    record = machine_files.dfa_record(dfa_of('ab|"c'))
    text = machine_files.text(record)
    assert json.loads(text) == record
    assert sum(line.startswith('  {"source"') for line in text.splitlines()) == len(record["edges"])
