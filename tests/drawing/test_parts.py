from __future__ import annotations

import pytest

from tests.automata.machines import dfa_of
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing.graph import Graph
from workbench.drawing.machines import draw_dfa
from workbench.drawing.parts import Links, TokenFsaParts, TokenPdaParts, Whole, cut
from workbench.drawing.reductions import foot_of
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy

WORDS = toy([*"abcdefgxyz()0123456789", "ab", "cde", "((", "))", ")(", "äö", "xx"])


def fsa_parts(pattern: str) -> TokenFsaParts:
    dfa = dfa_of(pattern)
    return TokenFsaParts(compose(dfa, WORDS), dfa, draw_dfa(dfa))


def pda_parts(text: str) -> TokenPdaParts:
    return TokenPdaParts(compose_pda(Grammar.from_kbnf(text).rules, WORDS))


def written(graph: Graph) -> set[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    return {(e.source, e.target, e.labels, e.kinds) for e in graph.edges}


NESTED = "start ::= '(' list ')'; list ::= (pair | 'x')*; pair ::= '(' list ')' | 'a' 'b' 'c' 'd';"


@pytest.mark.parametrize(
    "parts",
    [
        fsa_parts("(ab|cde|x{1,9}|(0|1)2*3){1,4}y"),  # chains, ladders, tokens over states
        fsa_parts("[a-e]{20}"),  # tokens that pass over several states
        pda_parts(NESTED),  # pushes and pops
    ],
    ids=["branches", "row", "nested"],
)
@pytest.mark.parametrize("count", [3, 6])
def test_a_part_has_the_edges_the_whole_has_between_its_states(
    parts: TokenFsaParts | TokenPdaParts, count: int
) -> None:
    whole = parts.whole()
    for node in whole.nodes:
        part = parts.around(node.id, count)
        kept = {each.id for each in part.nodes}
        assert node.id in kept
        assert len(kept) <= count
        between = {edge for edge in written(whole) if {edge[0], edge[1]} <= kept}
        assert written(part) == between
        for each in part.nodes:
            cut_off = any(
                (edge.source == each.id) != (edge.target == each.id)
                and not {edge.source, edge.target} <= kept
                for edge in whole.edges
                if each.id in (edge.source, edge.target)
            )
            assert ("more" in each.kinds) == cut_off


def test_a_small_machine_is_its_own_part() -> None:
    parts = fsa_parts("ab")
    assert written(parts.around("", 50)) == written(parts.whole())
    graph = draw_dfa(Grammar.from_regex("ab").dfa)  # type: ignore[arg-type]
    assert Whole(graph).around("1", 2) is graph


@pytest.mark.parametrize("parts", [fsa_parts("(ab|cde|x)*y"), pda_parts(NESTED)])
def test_the_tokens_of_an_edge_are_as_many_as_it_counts(
    parts: TokenFsaParts | TokenPdaParts,
) -> None:
    whole = parts.whole()
    counted: dict[tuple[str, str], int] = {}
    for edge in whole.edges:
        ends = edge.source, edge.target
        counted[ends] = counted.get(ends, 0) + edge.count
    for (source, target), count in counted.items():
        found = parts.tokens(source, target)
        assert len(found) <= count, "a token may do several things to the stack"
        assert set(found) <= set(parts.tokens(source))
        assert found


def test_a_rung_of_a_ladder_is_found_at_its_foot() -> None:
    dfa = dfa_of("a{1,9}y|b")
    parts = fsa_parts("a{1,9}y|b")
    feet = foot_of(draw_dfa(dfa), {node.id for node in parts.whole().nodes})
    assert feet
    rung, foot = next(iter(feet.items()))
    assert {n.id for n in parts.around(rung, 2).nodes} == {
        n.id for n in parts.around(foot, 2).nodes
    }


#: No token ends where the x begin, so the state after the first x represents them.
PASSED = toy(("(x", "x", ")"))


@pytest.mark.parametrize(
    "text", ["start ::= '(' #'x{0,9}' ')';", "start ::= '(' #'x{0,9}' start? ')';"]
)
def test_a_ladder_is_drawn_by_its_first_rung_where_tokens_pass_over_its_foot(text: str) -> None:
    grammar = Grammar.from_kbnf(text)
    parts: list[TokenFsaParts | TokenPdaParts] = [TokenPdaParts(compose_pda(grammar.rules, PASSED))]
    if grammar.dfa is not None:
        fsa = compose(grammar.dfa, PASSED)
        parts.append(TokenFsaParts(fsa, grammar.dfa, draw_dfa(grammar.dfa)))
    for each in parts:
        assert each.feet
        whole = each.whole()
        names = {node.id for node in whole.nodes}
        assert set(each.feet.values()) <= names
        loops = [edge for edge in whole.edges if edge.source == edge.target]
        assert loops
        for loop in loops:
            assert any(e.source == loop.source and e.target != e.source for e in whole.edges)
        assert {node.id for node in each.around("", 3).nodes} <= names


def test_the_nearest_states_come_from_both_sides() -> None:
    row = Links({"1": ["2"], "2": ["3"], "3": ["4"], "4": ["5"], "5": []})
    assert row.near("3", 3) == {"2", "3", "4"}
    assert row.near("nowhere", 2) == {"1", "2"}


def test_a_state_outside_the_links_is_never_marked() -> None:
    graph = draw_dfa(Grammar.from_regex("ab").dfa)  # type: ignore[arg-type]
    assert all("more" not in node.kinds for node in cut(graph, {"0", "1", "2"}, Links({})).nodes)
