"""Files of machines: JSON records, and AT&T text with its symbol tables."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.automata.machines import dfa_of
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing import machine_files
from workbench.drawing.machine_files import (
    Att,
    detokenizer_att,
    dfa_att,
    escaped,
    token_fsa_att,
    token_names,
)
from workbench.grammar.grammar import Grammar
from workbench.pushdown.textbook_pda import pda
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

ANBN = 'start ::= "a" start? "b";'


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


def finite(pattern: str) -> Att:
    return dfa_att(dfa_of(pattern))


def walks(text: str, labels: list[int]) -> set[tuple[int, ...]]:
    """An obvious reader of the text: what is written on the ways that read just these labels."""
    rows = [line.split("\t") for line in text.splitlines()]
    finals = {row[0] for row in rows if len(row) == 2}
    found: set[tuple[int, ...]] = set()
    waiting: list[tuple[str, int, tuple[int, ...]]] = [(rows[0][0], 0, ())] if rows else []
    while waiting:
        state, read, written = waiting.pop()
        if read == len(labels) and state in finals:
            found.add(written)
        for source, target, reads, writes in (row[:4] for row in rows if len(row) == 5):
            out = (*written, int(writes)) if writes != "0" else written
            if source != state or len(out) > 40:
                continue
            if reads == "0":
                waiting.append((target, read, out))
            elif read < len(labels) and int(reads) == labels[read]:
                waiting.append((target, read + 1, out))
    return found


#   pattern           accepted            rejected
CASES = [
    ("(foo)+d",       [b"food", b"foofood"], [b"foo", b"fd", b""]),
    ("a*",            [b"", b"aaa"],         [b"b"]),
    ("é|\\x00",       ["é".encode(), b"\0"], [b"\xc3", b""]),   # 0 is ε in the format: NUL is 256
    ("",              [b""],                 [b"a"]),            # no arc at all, one final state
    ("[ \\t\\n\\\\]", [b" ", b"\\", b"\n"],  [b"n"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "accepted", "rejected"), CASES)
def test_a_dfa_written_accepts_what_it_accepts(
    pattern: str, accepted: list[bytes], rejected: list[bytes]
) -> None:
    text = finite(pattern).numbered()
    for data in accepted:
        assert walks(text, [byte or 256 for byte in data])
    for data in rejected:
        assert not walks(text, [byte or 256 for byte in data])


def test_named_text_and_tables_say_the_same_as_the_numbers() -> None:
    machine = finite("[ a\\\\é]")
    tables = [
        {name: str(label) for label, name in names.items()}
        for names in (machine.inputs, machine.outputs)
    ]
    for named, numbered in zip(
        machine.named().splitlines(), machine.numbered().splitlines(), strict=True
    ):
        named_cells, cells = named.split("\t"), numbered.split("\t")
        if len(cells) == 5:
            assert tables[0][named_cells[2]] == cells[2]
            assert tables[1][named_cells[3]] == cells[3]
        else:
            assert named_cells == cells


def test_tokens_are_arcs_and_the_end_is_a_final_state() -> None:
    vocabulary = Vocabulary((b"f", b"oo", b"foo", b"food", b"d", None), end=5)
    dfa = dfa_of("(foo)+d")
    text = token_fsa_att(compose(dfa, vocabulary)).numbered()
    assert walks(text, [4])  # food
    assert walks(text, [1, 2, 4])  # f oo food
    assert not walks(text, [3])
    assert "6" not in {cell for line in text.splitlines() for cell in line.split("\t")[2:4]}


def test_the_detokenizer_writes_the_bytes_of_the_tokens_it_reads() -> None:
    vocabulary = toy(("f", "oo", "foo", "for", "food"))
    text = detokenizer_att(vocabulary).numbered()
    assert walks(text, [1, 2, 5]) == {tuple(b"foofood")}
    assert walks(text, [4]) == {tuple(b"for")}


def test_the_archive_holds_text_tables_and_a_word() -> None:
    made = finite("ab?").archive("characters")
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.namelist() == [
            "characters.fst.txt",
            "characters.isyms.txt",
            "characters.osyms.txt",
            "README.txt",
        ]
        assert archive.read("characters.fst.txt") == b"0\t1\ta\ta\t0\n1\t2\tb\tb\t0\n1\t0\n2\t0\n"
        assert b"fstcompile" in archive.read("README.txt")
    assert made == finite("ab?").archive("characters")


@settings(max_examples=60)
@given(st.lists(st.one_of(st.none(), st.binary(min_size=1, max_size=4)), min_size=1, max_size=30))
def test_names_have_no_white_space_and_no_two_are_alike(tokens: list[bytes | None]) -> None:
    names = token_names(Vocabulary(tokens))
    assert len(set(names.values())) == len(names) == len(tokens) + 1
    assert all(
        name and not set(name) & set(" \t\n\r\v\f") and name.isascii() for name in names.values()
    )


def test_names_that_could_be_confused() -> None:
    names = token_names(Vocabulary((b"a", b"a", b"<eps>", None, b"\\#1", b"a\\#1")))
    assert names == {
        0: "<eps>",
        1: "a",
        2: "a\\#1",
        3: "<eps>\\#2",
        4: "\\special3",
        5: "\\\\#1",
        6: "a\\\\#1",
    }


@settings(max_examples=60)
@given(st.binary(max_size=12), st.binary(max_size=12))
def test_escapes_are_unique(one: bytes, other: bytes) -> None:
    assert (escaped(one) == escaped(other)) == (one == other)
