"""Our own engine through its public API, with the time from a tree, closed form and memory."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import LOCAL_LIMITS
from workbench.base.source import Source
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.engine.compose import TokenFsa, compose
from workbench.constraint.engine.compose_pda import TokenPda, compose_pda
from workbench.constraint.engine.self_loops import SelfLoopCache
from workbench.constraint.masks import TokenMask
from workbench.engines.case import Case, grammar_of
from workbench.engines.peer import Compiled, Extras, Peer, Walker, quickest_ms
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.pushdown.network import Network
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.vocabulary.vocabulary import Vocabulary

#: The closed form has a lower limit: a very large one is of no use.
_CLOSED = replace(LOCAL_LIMITS, seconds=10.0, token_edges=20_000_000)


class Ours(Peer):
    """Reads every notation."""

    def prepare(self) -> None:
        self.last: Callable[[], TokenMask | None] = lambda: None

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if not any((case.regex, case.kbnf, case.schema, case.written)):
            return None
        return lambda: automaton(grammar_of(case), self.vocabulary, LOCAL_LIMITS)

    def start(self, compiled: Compiled) -> Walker:
        state, mask_of, advance_of = compiled.initial, compiled.mask, compiled.advance
        last = None

        def mask() -> None:
            nonlocal last
            last = mask_of(state)

        def advance(token: int) -> None:
            nonlocal state
            state = advance_of(state, token)

        self.last = lambda: last
        return Walker(mask, advance)

    def bits(self) -> npt.NDArray[np.uint32]:
        mask = self.last()
        assert mask is not None
        return mask.bits.copy()

    def extras(self, case: Case, walk: list[int]) -> Extras:
        return replace(
            self._closed(case),
            tree_mask_ms=self._from_tree(case),
            memory_bytes=self._memory(case, walk),
        )

    def _from_tree(self, case: Case) -> float | None:
        """Milliseconds from the parsed grammar to the first mask."""
        if case.kbnf is None:
            return None
        source = Source(case.kbnf, case.name)
        tree, samples = parse_kbnf(source), []
        for _ in range(5):
            begun = time.perf_counter()
            machine = build(tree, "start", LOCAL_LIMITS.begun())
            grammar = Grammar(source, Notation.KBNF, machine, tree=tree, limits=LOCAL_LIMITS)
            constraint = automaton(grammar, self.vocabulary, LOCAL_LIMITS)
            constraint.mask(constraint.initial)
            samples.append((time.perf_counter() - begun) * 1e3)
        return min(samples)

    def _closed(self, case: Case) -> Extras:
        """The closed form with full and with empty caches, or the limit that it reached.

        Not of real grammars: none has one within the limit.
        """
        if case.written is not None:
            return Extras()
        machine = grammar_of(case).machine
        try:
            made = _composed(machine, self.vocabulary)
        except LimitError as error:
            return Extras(closed_note=f"no closed form: {error.message}")
        loops = self.vocabulary.trie.shared(SelfLoopCache)
        compose_it = partial(_composed, machine, self.vocabulary)
        return Extras(
            closed_ms=quickest_ms(compose_it),
            closed_first_ms=quickest_ms(compose_it, before=loops.clear),
            closed_told_ms=quickest_ms(made.rows.all_rows),
            closed_edges=made.edge_count,
            closed_bytes=made.nbytes,
        )

    def _memory(self, case: Case, walk: list[int]) -> int:
        """Bytes a constraint holds after its walk, grammar included.

        Counted by tracemalloc, to which numpy reports its arrays too. Not counted: temporary
        memory of compiled kernels, and the vocabulary's share (its trie, built before). Peers
        do not allocate through Python; for them the field stays empty.
        """
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            constraint = automaton(grammar_of(case), self.vocabulary, LOCAL_LIMITS)
            state = constraint.initial
            for token in walk:
                constraint.mask(state)
                state = constraint.advance(state, token)
            constraint.mask(state)
            gc.collect()
            return tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()


def _composed(machine: Dfa | Network, vocabulary: Vocabulary) -> TokenFsa | TokenPda:
    """Every edge of a machine over a vocabulary."""
    if isinstance(machine, Dfa):
        return compose(machine, vocabulary, _CLOSED)
    return compose_pda(machine, vocabulary, _CLOSED)
