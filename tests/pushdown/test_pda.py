"""The PDA of Koo et al. 2024, Figure 6: S → ab | a S b."""

from __future__ import annotations

from workbench.base.source import Source
from workbench.pushdown.build import build
from workbench.pushdown.network import Network
from workbench.pushdown.textbook_pda import BOTTOM, pda
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf


def network(text: str) -> Network:
    built = build(parse_kbnf(Source(text, "g")), "S")
    assert isinstance(built, Network)
    return built


def test_figure_6() -> None:
    machine = pda(network("S ::= 'ab' | 'a' S 'b';"))
    a, b = ((97, 97),), ((98, 98),)
    assert machine.symbols == ("S", "S → a S • b")
    assert machine.initial == 0
    assert machine.finals == {4}
    assert {(e.source, e.ranges, e.pops, e.pushes, e.target) for e in machine.edges} == {
        (0, a, (), (), 1),
        (1, a, (), (1,), 1),  # a call, and the first byte read inside it
        (1, b, (), (), 2),
        (2, (), (1,), (), 3),  # the return
        (2, (), (BOTTOM,), (), 4),
        (3, b, (), (), 2),
    }


def accepts(text: str, grammar: str) -> bool:
    """Run the PDA by the definition of Koo et al. 2024, §3.1."""
    machine = pda(network(grammar))
    here: set[tuple[int, tuple[int, ...]]] = {(machine.initial, (BOTTOM,))}
    for character in [*text.encode(), None]:
        waiting = list(here)
        while waiting:  # ε edges first
            at, stack = waiting.pop()
            for e in machine.edges:
                if e.source == at and not e.ranges and stack[len(stack) - len(e.pops) :] == e.pops:
                    there = e.target, stack[: len(stack) - len(e.pops)]
                    if there not in here:
                        here.add(there)
                        waiting.append(there)
        if character is None:
            return any(at in machine.finals for at, _ in here)
        here = {
            (e.target, stack + e.pushes)
            for at, stack in here
            for e in machine.edges
            if e.source == at and any(low <= character <= high for low, high in e.ranges)
        }
    raise AssertionError


def test_the_pda_runs() -> None:
    grammar = "S ::= 'a' S 'b' | '[' S ',' S ']' | 'x';"
    assert accepts("a[x,axb]b", grammar)
    assert accepts("x", grammar)
    assert not accepts("a[x,axb]", grammar)
    assert not accepts("a[x,x]bb", grammar)
    assert not accepts("", grammar)
