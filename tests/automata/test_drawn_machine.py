"""Drawn machines: their language and states against a slow simulation; facts and advice."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest

import workbench as wb
from workbench.automata.drawn_machine import (
    facts_of,
    machine_advice,
    machine_dfa,
    sets_by_state,
    state_sets,
)
from workbench.base.dfa import DEAD
from workbench.base.diagnostics import AdvisedBuildError
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.grammar.export.registry import export
from workbench.grammar.notations import Notation
from workbench.syntax.machine_text import DrawnMachine, parse_machine


def read(text: str) -> DrawnMachine:
    return parse_machine(Source(text, "machine"))


# -- the slow definition: a state and a position, and every way to go on ---------------------------


def reached(machine: DrawnMachine, text: str) -> set[tuple[str, int]]:
    """Every state with every position of the text at which the machine can be in it."""
    found = {(name, 0) for name in machine.initials}
    waiting = list(found)
    while waiting:
        state, at = waiting.pop()
        for edge in machine.edges:
            for item in edge.items if edge.source == state else ():
                for end in range(at, len(text) + 1):
                    pattern = "" if item.regex is None else item.text
                    after = (edge.target, end)
                    if re.fullmatch(pattern, text[at:end]) and after not in found:
                        found.add(after)
                        waiting.append(after)
    return found


def accepts(machine: DrawnMachine, text: str) -> bool:
    return any((name, len(text)) in reached(machine, text) for name in machine.finals)


TEXTS = ["".join(letters) for n in range(6) for letters in product("ab", repeat=n)]
ITEMS = ["a", "b", "a", "b", "ε", "[ab]", "ab", "a*", "b|aa", "(ab)+", "é"]


def random_machine(seed: int) -> str:
    """A machine of up to five states: anything may be missing, and any item may occur."""
    chosen = random.Random(seed)
    names = [f"q{n}" for n in range(chosen.randint(1, 5))]
    items = ITEMS if seed % 2 else ITEMS[:4]
    lines = [f"initial {name}" for name in names if chosen.random() < 0.35]
    lines += [f"final {name}" for name in names if chosen.random() < 0.35]
    for _ in range(chosen.randint(0, 9)):
        source, target = chosen.choice(names), chosen.choice(names)
        label = ", ".join(chosen.choices(items, k=chosen.randint(1, 2)))
        lines.append(f"{source} -> {target} : {label}")
    return "\n".join(lines)


@pytest.mark.parametrize("part", range(8))
def test_random_machines(part: int) -> None:
    empty = 0
    for seed in range(part * 30, part * 30 + 30):
        text = random_machine(seed)
        machine = read(text)
        expected = [accepts(machine, one) for one in TEXTS]
        try:
            grammar = wb.Grammar.from_machine(text)
        except AdvisedBuildError:
            empty += 1
            assert not any(expected), text
            continue
        assert [grammar.accepts(one) for one in TEXTS] == expected, text
        again = wb.Grammar.from_machine(export(grammar, "machine"))
        assert wb.equivalent(grammar, again), text
        assert facts_of(read(again.source.text)).is_deterministic
        regex = wb.Grammar.from_regex(export(grammar, "regex"))
        assert wb.equivalent(grammar, regex), text
    assert empty < 25


@pytest.mark.parametrize("seed", range(60))
def test_states_along_a_text(seed: int) -> None:
    machine = read(random_machine(seed))
    for text in ["", "ab", "abba", "aabab", "éa"]:
        found = state_sets(machine, text)
        assert len(found) == len(text) + 1
        everywhere = reached(machine, text)
        for at, one in enumerate(found):
            assert {*one.states} == {name for name, end in everywhere if end == at}
            assert one.is_final == any(name in machine.finals for name in one.states)
            entered = {machine.edges[index].target for index in one.edges}
            assert entered <= {*one.states}
            if at:
                assert entered == {*one.states}
    assert [one.is_final for one in state_sets(machine, "ab")][-1] == accepts(machine, "ab")


@pytest.mark.parametrize("seed", range(120))
def test_names_of_the_states_of_the_minimal_machine(seed: int) -> None:
    """Every text ends in one of the sets that its state stands for; a part of an edge has none."""
    machine = read(random_machine(seed))
    dfa = machine_dfa(machine)
    named = sets_by_state(machine, dfa)
    met: dict[int, set[tuple[str, ...]]] = {}
    for text in (*TEXTS, "é", "éa", "aé"):
        state = dfa.run(text.encode())
        last = state_sets(machine, text)[-1]
        if state == DEAD:
            continue
        if last.inside:
            assert state not in named
        met.setdefault(state, set()).add(last.states)
    for state, sets in named.items():
        assert met.get(state, set()) <= set(sets)
        assert {bool(machine.finals & set(one)) for one in sets} == {dfa.is_final(state)}
    if all(
        item.regex is None or item.text in {"a", "b"} for e in machine.edges for item in e.items
    ):
        assert met.keys() == named.keys(), "each state has a name where each label is a character"


@pytest.mark.parametrize("label", [".", "[^a]", "[\\uD7FF-\\uE000]", "[\U0010ffff]"])
def test_characters_around_the_surrogates_lead_to_named_states(label: str) -> None:
    machine = read(f"initial p\nfinal q\np -> q : {label}")
    assert set(sets_by_state(machine, machine_dfa(machine)).values()) == {(("p",),), (("q",),)}


@pytest.mark.parametrize("budget", ["_MAX_SETS", "_MAX_READ"])
def test_a_machine_with_too_many_sets_has_no_names(
    monkeypatch: pytest.MonkeyPatch, budget: str
) -> None:
    machine = read("initial p\nfinal q\np -> p : a, b\np -> q : a")
    assert sets_by_state(machine, machine_dfa(machine))
    monkeypatch.setattr(f"workbench.automata.drawn_machine.{budget}", 1)
    assert sets_by_state(machine, machine_dfa(machine)) == {}


def test_part_of_an_edge() -> None:
    machine = read("initial p\nfinal q\np -> q : ab\np -> p : a")
    sets = state_sets(machine, "aab")
    assert [one.states for one in sets] == [("p",), ("p",), ("p",), ("q",)]
    assert [one.inside for one in sets] == [(), (0,), (0,), ()]
    assert [one.edges for one in sets] == [(), (1,), (1,), (0,)]
    assert state_sets(machine, "b")[-1].states == ()


# -- facts -----------------------------------------------------------------------------------------

EVEN = "initial even\nfinal even\neven -> odd : a\nodd -> even : a\n"

#   machine                                    its sentence
FACTS = [
    (EVEN,                                     "2 states, deterministic, complete over {a}"),
    (EVEN + "even -> even : b",                "2 states, deterministic, partial: no edge from odd for b"),
    (EVEN + "even -> even : [b-z]\nodd -> odd : [b-z]", "2 states, deterministic, complete over [a-z]"),
    (EVEN + "even -> odd : ε\nodd -> even:",   "2 states, nondeterministic, 2 ε-edges"),
    (EVEN + "even -> even : a",                "2 states, nondeterministic"),
    (EVEN + "even -> even : b, [a-c]",         "2 states, nondeterministic"),
    (EVEN + "even -> even : bb",               "2 states, nondeterministic, 1 label longer than a character"),
    (EVEN + "even -> even : b*",               "2 states, nondeterministic, 1 ε-edge"),
    (EVEN + "even -> even : b|c\nodd -> odd: c|b", "2 states, deterministic, complete over {a, b, c}"),
    (EVEN + "initial odd",                     "2 states, nondeterministic, 2 initial states"),
    ("initial p\nfinal p",                     "1 state, deterministic, no characters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), FACTS)
def test_facts_of_a_machine_are_a_sentence(text: str, sentence: str) -> None:
    assert facts_of(read(text)).sentence == sentence


# -- advice ----------------------------------------------------------------------------------------

#   machine                               the underlined text, kind, message
ADVICE = [
    (EVEN, []),
    (EVEN + "odd -> trap : b\n",          [("trap", "trap_state", "no path from trap leads to a final state: a text that comes here is refused")]),
    (EVEN + "lost -> odd : b\n",          [("lost", "unreachable_state", "no path from an initial state leads to lost")]),
    (EVEN + "place alone 1 2\n",          [("alone", "unreachable_state", "no path from an initial state leads to alone")]),
    (EVEN + "even -> even : [a-c]\n",     [("[a-c]", "nondeterministic", "state even reads a in two ways")]),
    (EVEN + "odd -> odd : b,\n",          [("b,", "epsilon", "an item of this label is empty, so the edge may read nothing")]),
    (EVEN + "odd -> odd : λ\n",           [("λ", "epsilon", "this is the text 'λ', not the empty text")]),
    (EVEN + "odd -> odd : b\nodd -> odd : c, b\n", [
        ("b", "duplicate_edge", "this edge from odd to odd reads b already"),
        ("b", "nondeterministic", "state odd reads b in two ways"),
    ]),
    (EVEN + "odd -> odd :\nodd -> odd : ε\n", [("ε", "duplicate_edge", "this edge from odd to odd reads ε already")]),
    (EVEN + "final even\n",               [("even", "duplicate_state", "even is final already")]),
    (EVEN + "place odd 1 2\nplace odd 3 4\n", [("odd", "duplicate_state", "odd has a place already")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ADVICE, ids=[str(n) for n in range(len(ADVICE))])
def test_advice_has_its_place_and_its_fix_removes_it(
    text: str, expected: list[tuple[str, str, str]]
) -> None:
    found = machine_advice(read(text))
    places = [(text[one.span.start : one.span.end], one.kind, one.message) for one in found]
    assert places == expected
    assert all(one.hint for one in found)
    grammar = wb.Grammar.from_machine(text)
    assert wb.lint(grammar).advice == grammar.notes == found
    for one in found:
        if one.fix is not None:
            mended = text[: one.span.start] + one.fix + text[one.span.end :]
            assert one not in machine_advice(read(mended))


#   machine                    message, the underlined text, kinds of the other advice
EMPTY = [
    ("",                       "no state is initial, so no text is accepted", "", ["no_final_state"]),
    ("# only this",            "no state is initial, so no text is accepted", "# only this", ["no_final_state"]),
    ("p -> q : a",             "no state is initial, so no text is accepted", "p", ["no_final_state"]),
    ("final q\np -> q : a",    "no state is initial, so no text is accepted", "q", []),
    ("initial p\np -> q : a",  "no state is final, so no text is accepted", "p", []),
    ("initial p\nfinal q\nq -> p : a", "no path leads from an initial state to a final one, so no text is accepted", "p", ["trap_state", "unreachable_state"]),
    ("initial p\nfinal q\np -> q : [^\\s\\S]", "no path leads from an initial state to a final one, so no text is accepted", "p", []),
]  # fmt: skip


@pytest.mark.parametrize("row", EMPTY, ids=[str(n) for n in range(len(EMPTY))])
def test_error_for_a_machine_without_texts(row: tuple[str, str, str, list[str]]) -> None:
    text, message, underlined, others = row
    with pytest.raises(AdvisedBuildError) as caught:
        wb.Grammar.from_machine(text)
    error = caught.value
    assert error.message == message
    assert error.hint
    assert text[error.span.start : error.span.end] == underlined
    assert [one.kind for one in error.notes] == others


# -- limits and exports ----------------------------------------------------------------------------


def nth_from_the_end(n: int) -> str:
    lines = ["initial q0", f"final q{n}", "q0 -> q0 : a, b", "q0 -> q1 : a"]
    return "\n".join([*lines, *(f"q{i} -> q{i + 1} : a, b" for i in range(1, n))])


def test_a_machine_whose_deterministic_one_is_large() -> None:
    grammar = wb.Grammar.from_machine(nth_from_the_end(9))
    assert len(grammar.machine) == 2**9
    assert export(grammar, "machine").count("->") == 2**9 * 2
    with pytest.raises(wb.BuildError, match="512 states, more than 100"):
        export(grammar, "machine", states=100)
    with pytest.raises(LimitError):
        wb.Grammar.from_machine(nth_from_the_end(20), limits=Limits(states=1000))


def test_the_subset_construction() -> None:
    text = export(wb.Grammar.from_machine(nth_from_the_end(2)), "subsets")
    assert text == (
        "initial q0\nfinal q0_q1_q2 q0_q2\nq0 -> q0_q1 : a\nq0 -> q0 : b\nq0_q1 -> q0_q1_q2 : a\n"
        "q0_q1 -> q0_q2 : b\nq0_q1_q2 -> q0_q1_q2 : a\nq0_q1_q2 -> q0_q2 : b\n"
        "q0_q2 -> q0_q1 : a\nq0_q2 -> q0 : b\n"
    )


@pytest.mark.parametrize("seed", range(120))
def test_sets_of_states_are_those_along_each_text(seed: int) -> None:
    chosen = random.Random(seed)
    text = random_machine(2 * seed) + "".join(
        f"\nq0 -> q{chosen.randint(0, 4)} : {chosen.choice(['ε', '[a-b]', '[^b]', 'a|b'])}"
        for _ in range(seed % 4)
    )
    machine = read(text + "\ninitial q0\nfinal q0")
    made = export(wb.Grammar.from_machine(machine.source.text), "subsets")
    deterministic = read(made)
    assert facts_of(deterministic).is_deterministic
    for one in TEXTS[:31]:
        states = state_sets(machine, one)[-1].states
        now = [*state_sets(deterministic, one)[-1].states]
        assert now == (["_".join(sorted(states))] if states else [])


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (wb.Grammar.from_regex("a"), "only a drawn machine has states that form sets"),
        (wb.Grammar.from_machine("initial p\nfinal q\np -> q : a, bc"), "one character at a time"),
    ],
)
def test_error_for_what_has_no_subsets(grammar: wb.Grammar, message: str) -> None:
    with pytest.raises(wb.BuildError, match=message):
        export(grammar, "subsets")


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (wb.Grammar.from_kbnf("start ::= 'a' start 'b' | '';"), "no machine without a stack reads"),
        (wb.Grammar.from_regex("(?P<PARAGRAPH_TOKEN>)"), "cannot say the label PARAGRAPH_TOKEN"),
    ],
)
def test_error_for_what_no_machine_reads(grammar: wb.Grammar, message: str) -> None:
    with pytest.raises(wb.BuildError, match=message):
        export(grammar, "machine")


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        ("", "initial q0\nfinal q0\n"),
        (
            "[, #]x|é+",
            "initial q0\nfinal q2 q3\nq0 -> q1 : [ #,]\nq0 -> q2 : é\nq1 -> q3 : x\nq2 -> q2 : é\n",
        ),
        (",| |#|ε", "initial q0\nfinal q1\nq0 -> q1 : [ #,ε]\n"),
        (",", "initial q0\nfinal q1\nq0 -> q1 : \\,\n"),
    ],
)
def test_a_regex_as_a_machine(regex: str, text: str) -> None:
    made = export(wb.Grammar.from_regex(regex), "machine")
    assert made == text
    assert wb.equivalent(wb.Grammar.from_regex(regex), wb.Grammar.from_machine(made))


def test_the_notation_of_a_file_name() -> None:
    assert Notation.of_file("a.fsa") is Notation.of_file("b.jff") is Notation.MACHINE
