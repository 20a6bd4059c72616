"""Our own engine through its front door, and what only it is asked: tree, closed form, memory."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import Dfa
from workbench.bench.cases import Case
from workbench.bench.peers.peer import Compiled, Extras, Peer, Walker
from workbench.constraint.compile import automaton
from workbench.constraint.compose import compose
from workbench.constraint.compose_pda import compose_pda
from workbench.constraint.mask import TokenMask
from workbench.errors import LimitError
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.pushdown.build import build
from workbench.source import Source
from workbench.syntax.kbnf_parser import parse_kbnf

#: A benchmark may take its time: the machine is its owner's.
LIMITS = Limits(seconds=30.0, megabytes=2_048, states=500_000)

#: The closed form gives up earlier: where it is long, it has no use.
_CLOSED = replace(LIMITS, seconds=10.0, token_edges=20_000_000)


class Ours(Peer):
    """Reads regexes and KBNF."""

    def prepare(self) -> None:
        self.last: Callable[[], TokenMask | None] = lambda: None

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if case.regex is None and case.kbnf is None:
            return None
        return lambda: automaton(grammar_of(case), self.vocabulary, LIMITS)

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
        closed_ms, edges, note = self._closed(case)
        return Extras(
            tree_mask_ms=self._from_tree(case),
            closed_ms=closed_ms,
            closed_edges=edges,
            closed_note=note,
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
            machine = build(tree, "start", LIMITS.begun())
            grammar = Grammar(source, "kbnf", machine, tree=tree, limits=LIMITS)
            constraint = automaton(grammar, self.vocabulary, LIMITS)
            constraint.mask(constraint.initial)
            samples.append((time.perf_counter() - begun) * 1e3)
        return min(samples)

    def _closed(self, case: Case) -> tuple[float | None, int | None, str]:
        """Milliseconds and edges of the closed form, or why there is none."""
        machine, samples, edges = grammar_of(case).machine, [], 0
        try:
            for _ in range(3):
                begun = time.perf_counter()
                if isinstance(machine, Dfa):
                    edges = compose(machine, self.vocabulary, _CLOSED).edge_count
                else:
                    edges = compose_pda(machine, self.vocabulary, _CLOSED).edge_count
                samples.append((time.perf_counter() - begun) * 1e3)
                if samples[0] > 1_000:
                    break
        except LimitError as error:
            return None, None, f"no closed form: {error.message}"
        return min(samples), edges, ""

    def _memory(self, case: Case, walk: list[int]) -> int:
        """Bytes a constraint holds after its walk, grammar included.

        Counted by tracemalloc, to which numpy reports its arrays too. Not seen: what
        compiled kernels allocate for themselves (nothing that stays), the vocabulary's
        share (its trie, remembered with it and made before), and the engines of others,
        whose memory is not Python's; for them the field stays empty.
        """
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            constraint = automaton(grammar_of(case), self.vocabulary, LIMITS)
            state = constraint.initial
            for token in walk:
                constraint.mask(state)
                state = constraint.advance(state, token)
            constraint.mask(state)
            gc.collect()
            return tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()


def grammar_of(case: Case) -> Grammar:
    """The case as our own engine reads it."""
    if case.regex is not None:
        return Grammar.from_regex(case.regex, limits=LIMITS)
    assert case.kbnf is not None
    return Grammar.from_kbnf(case.kbnf, limits=LIMITS)
