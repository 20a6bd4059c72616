"""DirectMerge against the case files, every figure, and the encoder itself."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import (
    cases,
    encode,
    figures,
    labels,
    live_rules,
    proper_sequences,
)
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.direct_merge import (
    Rule,
    TokenDfa,
    direct_merge,
    minimal,
    permissive,
    steps,
)
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary


def merged(regex: str, alphabet: str, rules: list[tuple[str, str]]) -> TokenDfa:
    return direct_merge(symbols(regex, alphabet), as_labels(rules))


def symbols(regex: str, alphabet: str) -> TokenDfa:
    return permissive(dfa_of(regex), labels(alphabet))


def as_labels(rules: list[Any]) -> list[Rule]:
    return [(left.encode(), right.encode()) for left, right in rules]


def edges_of(fsa: TokenDfa) -> set[tuple[int, str, int]]:
    return {
        (source, label.decode(), target)
        for source, row in fsa.edges.items()
        for label, target in row.items()
    }


@pytest.mark.parametrize("case", cases("proper.json"), ids=lambda case: case["id"])
def test_case_files(case: Any) -> None:
    found = merged(case["regex"], case["alphabet"], case["merges"])
    least = minimal(found)
    assert (len(least), least.edge_count) == (
        case["dfa_min_states"],
        case["dfa_min_transitions"],
    )
    widest = max(len(c.encode()) for c in case["alphabet"])
    spelt = [
        tokens
        for tokens in found.sequences(case["max_len"] * widest)
        if len(b"".join(tokens).decode()) <= case["max_len"]
    ]
    assert sorted(spelt) == sorted(labels(tokens) for tokens in case["proper_sequences"])


def fragment(figure: dict[str, Any]) -> TokenDfa:
    """A figure's piece of an automaton."""
    return TokenDfa(figure["start"], frozenset(figure["accept"]), rows_of(figure["before"]))


@pytest.mark.parametrize("figure", figures()["figure_4"], ids=lambda figure: figure["name"])
def test_figure_4(figure: dict[str, Any]) -> None:
    left, right = figure["merge"]
    found = direct_merge(fragment(figure), [(left.encode(), right.encode())])
    assert edges_of(found) == {tuple(edge) for edge in figure["after"]}
    assert sorted(found.edges) == figure["after_states"]
    assert sorted(found.finals) == figure["after_accept"]


@pytest.mark.parametrize("number", [0, 2], ids=["odd run", "loops"])
def test_figures_of_a_token_merged_with_itself(number: int) -> None:
    """Adds a start state with edges to 0 and 1 by separate letters."""
    figure = figures()["figure_4_same_token"][number]
    rows = rows_of(figure["before"])
    rows[-1] = {b"p": 0, b"r": 1}
    ends = frozenset(state for state, row in rows.items() if not row)
    found = direct_merge(TokenDfa(-1, ends, rows), [(b"a", b"a")])
    assert {edge for edge in edges_of(found) if edge[0] >= 0} == {
        tuple(edge) for edge in figure["after"]
    }


def test_an_even_run_does_not_change() -> None:
    """The same piece as the figure's, an a before it: that one merges, the next stays."""
    rows = rows_of(figures()["figure_4_same_token"][1]["before"])
    rows |= {-1: {b"p": 0, b"q": -2}, -2: {b"a": 1}}
    found = direct_merge(TokenDfa(-1, frozenset({3, 4}), rows), [(b"a", b"a")])
    assert found.sequences(4) == [
        (b"p", b"z", b"a"), (b"p", b"z", b"y"), (b"q", b"aa", b"a"), (b"q", b"aa", b"y")
    ]  # fmt: skip


def rows_of(edges: list[Any]) -> dict[int, dict[bytes, int]]:
    """A figure's edges; every state has a row."""
    rows: dict[int, dict[bytes, int]] = {}
    for source, label, target in edges:
        rows.setdefault(source, {})[label.replace("▁", " ").encode()] = target
        rows.setdefault(target, {})
    return rows


def test_figure_1() -> None:
    wanted = figures()["figure_1"]["proper_token_dfa"]
    rules = [("a", "b"), ("b", "b"), ("a", "a"), ("aa", "aa"), ("ab", "b"), ("aaaa", "aaaa")]
    found = merged("a*b*", "ab", rules)
    least = minimal(found)
    assert (len(least), least.edge_count) == (8, 26)
    assert is_renamed(least, wanted)
    assert found.finals == frozenset(found.edges)


def is_renamed(fsa: TokenDfa, wanted: dict[str, Any]) -> bool:
    """Whether an automaton is a figure's, up to the names of states."""
    rows = rows_of(wanted["edges"])
    drawn = TokenDfa(wanted["start"], frozenset(wanted["accept"]), rows)
    one, other = minimal(fsa), minimal(drawn)
    return one.edges == other.edges and one.finals == other.finals


FIGURE_2_RULES = (
    "▁,t a,n a,l ▁,f l,e o,l s,e t,r u,e ▁t,r r,u o,ol al,s al,se ▁tr,ue o,le ▁f,alse b,o ole,an"
    " tr,ue o,o ▁f,a f,alse l,s b,ool f,a le,an bo,olean e,a ▁f,al ▁f,als"
)


def test_figure_3() -> None:
    rules = [
        tuple(part.replace("▁", " ") for part in rule.split(",")) for rule in FIGURE_2_RULES.split()
    ]
    found = merged("boolean: ((true)|(false))", " :abeflnorstu", rules)  # type: ignore[arg-type]
    assert found.edge_count == 4
    assert is_renamed(found, figures()["figure_3"]["minimal"])


def test_figure_9() -> None:
    wanted = figures()["figure_9"]["dfa"]
    found = merged("[abc]*", "abc", [("a", "b"), ("a", "a"), ("a", "c")])
    assert is_renamed(found, wanted)
    assert (len(minimal(found)), minimal(found).edge_count) == (3, 12)


def test_every_token_of_one_letter() -> None:
    wanted = figures()["notebook_graphs"]["a* (the .* automaton over {a})"]["proper"]
    found = merged("a*", "a", [("a", "a"), ("aa", "aa"), ("aaaa", "aaaa")])
    assert is_renamed(found, wanted)


RULES_OF_TWO_LETTERS = "a,b b,b b,a a,a ab,a aa,aa ab,b"


def test_six_letters() -> None:
    wanted = figures()["notebook_graphs"]["(a|b){6}"]["proper"]
    rules = [tuple(r.split(",")) for r in RULES_OF_TWO_LETTERS.split(" ")]
    assert is_renamed(merged("(a|b){6}", "ab", rules), wanted)  # type: ignore[arg-type]


def test_table_1_rule_by_rule() -> None:
    table = figures()["table_1"]
    found = list(steps(symbols(table["text"], "abc"), as_labels(table["merges"])))
    spelt = [step.automaton.sequences(99) for step in found]
    assert spelt == [[labels(row)] for _, row in table["rows"][1:]]


def test_a_step_records_the_change_of_each_state() -> None:
    (found,) = steps(symbols("(a|c)(b|d)", "abcd"), [(b"a", b"b")])
    (split,) = found.splits
    assert split.case == "both"
    assert split.twin is not None
    assert split.sources == (0,)
    assert found.automaton.edges[0][b"ab"] == split.target
    assert found.automaton.edges[0][b"a"] == split.twin
    assert set(found.automaton.edges[split.twin]) == {b"d"}


@pytest.mark.parametrize(
    ("regex", "case"),
    [("ab", "neither"), ("ab|ac", "left"), ("ab|bb", "entered"), ("[ac][bd]", "both")],
    ids=["goes", "loses its b", "loses its a", "is split"],
)
def test_the_four_cases(regex: str, case: Any) -> None:
    (found,) = steps(symbols(regex, "abcd"), [(b"a", b"b")])
    assert [split.case for split in found.splits] == [case]


def test_a_rule_without_an_effect_is_a_step() -> None:
    before = symbols("ab", "ab")
    (found,) = steps(before, [(b"b", b"a")])
    assert found.splits == ()
    assert found.automaton is before


def test_runs_entered_by_another_letter_from_a_concerned_state_are_counted() -> None:
    """The notebook leaves a last b, b unmerged here."""
    found = merged("b(a|b)*b", "ab", [("b", "b")])
    assert found.accepts([b"b", b"a", b"bb"])
    assert not found.accepts([b"b", b"a", b"b", b"b"])


def test_new_states_are_not_sources() -> None:
    """As printed, Algorithm 2 would accept a, aa."""
    found = merged("a*", "a", [("a", "a")])
    assert found.sequences(3) == [(), (b"a",), (b"aa",), (b"aa", b"a")]


def test_an_explosion_is_stopped() -> None:
    letters = "abcdefgh"
    rules = [(a, b) for a in letters for b in letters]
    with pytest.raises(LimitError, match="token edges"):
        direct_merge(symbols("[a-h]{6}", letters), as_labels(rules), Limits(token_edges=500))


SHAPES = (
    "(a|b)*", "a*b*", "(ab|ba)*", "a(a|b)*b", "(aab|b)*a?", "b{2,4}", "(a|bb)*", "(a|b){0,5}", "",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_tables(seed: int) -> None:
    """Rules with equal sides, dead rules and two rules for one token among them."""
    choose = random.Random(seed)
    tokens, rules = ["a", "b"], []
    for _ in range(choose.randint(0, 6)):
        rule = choose.choice(tokens), choose.choice(tokens)
        rules.append(rule)
        tokens.append(rule[0] + rule[1])
    live = live_rules(rules)
    if not _in_rank_order(live):
        pytest.skip("rules do not fire in rank order: DirectMerge needs a strict table")
    for regex in SHAPES:
        found = merged(regex, "ab", live)
        wanted = proper_sequences(lambda text: encode(rules, text), regex, "ab", 6)
        assert found.sequences(6) == sorted(
            map(labels, wanted), key=lambda s: (len(b"".join(s)), s)
        )
        assert all(re.fullmatch(regex, b"".join(s).decode()) for s in found.sequences(6))


def _in_rank_order(live: list[tuple[str, str]]) -> bool:
    place = {left + right: i for i, (left, right) in enumerate(live)}
    return all(
        place.get(side, -1) < place[left + right] for left, right in live for side in (left, right)
    )


@pytest.mark.parametrize(
    ("letters", "states", "edges", "permissive_edges"),
    [
        (2, 28, 755, 601),
        (3, 421, 16_902, 3_153),
        pytest.param(4, 1_553, 258_980, 8_818, marks=pytest.mark.exhaustive),
    ],
)
def test_growth_over_the_rules_of_mistral(
    letters: int, states: int, edges: int, permissive_edges: int
) -> None:
    pytest.importorskip("mistral_common")
    alphabet = b"abcdefghijklmnopqrstuvwxyz "
    bpe = Bpe.of(Vocabulary.load("mistral-v1"))
    rules = [rule for rule in bpe.merges if set(alphabet).issuperset(rule[0] + rule[1])]
    dfa = dfa_of(f"[a-z ]{{{letters}}}")
    single = [bytes([byte]) for byte in alphabet]
    found = direct_merge(permissive(dfa, single), rules, Limits(seconds=60))
    assert (len(found), found.edge_count) == (states, edges)
    everything = permissive(dfa, [*single, *(left + right for left, right in rules)])
    assert everything.edge_count == permissive_edges
