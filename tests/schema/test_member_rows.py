"""Rules written from a graph accept the same short texts as the graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.base.limits import LIMITS
from workbench.base.source import Source, Span
from workbench.pushdown.build import build
from workbench.pushdown.network import Network
from workbench.schema.algebra.subschemas import Algebra
from workbench.schema.member_graphs import write_graph
from workbench.schema.schema_options import SchemaOptions, Spacing
from workbench.schema.schema_reader import Document, schema_source
from workbench.schema.write_values import RuleWriter
from workbench.syntax.grammar_tree import (
    Expression,
    GrammarTree,
    Literal,
    Repetition,
    Rule,
    Sequence,
)

_HERE = Span(0, 0)
_STATES = 5

#: The edges of a state: a letter or nothing, and the distance of the target (0: a loop).
_Edges = dict[int, list[tuple[str, int]]]


@dataclass(frozen=True)
class Drawn:
    """A graph whose only cycles are loops; no edge leads to its first state."""

    its: _Edges
    finals: frozenset[int]

    def edges(self, state: int) -> Iterable[tuple[Expression | None, int]]:
        for letter, further in self.its.get(state, ()):
            target = min(state + further, _STATES - 1)
            if target != state or (letter and state):
                yield Literal(letter.encode(), _HERE) if letter else None, target

    def is_final(self, state: int) -> bool:
        return state in self.finals

    def name_of(self, state: int) -> str:
        return f"state_{state}"

    def accepts(self, text: str) -> bool:
        """Simulates the graph with sets of states."""
        here = self._closed({0})
        for letter in text:
            read = Literal(letter.encode(), _HERE)
            here = self._closed({t for s in here for r, t in self.edges(s) if r == read})
        return bool(here & self.finals)

    def _closed(self, states: set[int]) -> set[int]:
        waiting = list(states)
        for state in waiting:
            new = {t for r, t in self.edges(state) if r is None} - states
            states |= new
            waiting += new
        return states


_EDGE = st.tuples(st.sampled_from(["a", "b", ""]), st.integers(0, 3))
DRAWN = st.builds(
    Drawn,
    st.dictionaries(st.integers(0, _STATES - 1), st.lists(_EDGE, max_size=4), max_size=_STATES),
    st.frozensets(st.integers(0, _STATES - 1), min_size=1),
)
TEXTS = ["".join(letters) for size in range(5) for letters in product("ab", repeat=size)]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(DRAWN)
def test_rules_read_what_the_graph_reads(graph: Drawn) -> None:
    document = Document(schema_source("true"))
    options = SchemaOptions(whitespace="compact")
    writing = RuleWriter(Algebra(document, options=options), Spacing.of(options, _HERE), LIMITS)
    inside, may_be_empty = write_graph(graph, 0, writing, document.root)
    if inside is None:
        assert [text for text in TEXTS if graph.accepts(text)] == [""] * may_be_empty
        return
    body = Repetition(inside, 0, 1, _HERE) if may_be_empty else inside
    brackets = Sequence((Literal(b"(", _HERE), body, Literal(b")", _HERE)), _HERE)
    rules = (Rule("start", brackets, _HERE, _HERE), *writing.rules)
    machine = build(GrammarTree(rules, Source("", "graph")))
    assert not isinstance(machine, Network), "calls at the end of rules need no stack"
    for text in TEXTS:
        assert machine.accepts(f"({text})".encode()) == graph.accepts(text), text
