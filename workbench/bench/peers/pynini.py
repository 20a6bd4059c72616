"""pynini: Algorithms 1 and 2 of Koo et al. 2024 on OpenFst, as the paper's authors ran them.

The byte automaton is ours, and counts in the time from text; the closed form is timed without it,
as ours is. Masks are read arc by arc in Python: the binding's cost, not OpenFst's.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.bench.cases import Case
from workbench.bench.peers.ours import LIMITS
from workbench.bench.peers.peer import Compiled, Extras, Peer, Walker, quickest_ms
from workbench.grammar import Grammar


class Pynini(Peer):
    """Reads regexes, through our own automaton; push-down composition is not bound in Python."""

    def prepare(self) -> None:
        self.module = import_module("pynini")
        self.one = self.module.Weight.one("tropical")
        self.detokenizer = self._detokenizer()

    def _detokenizer(self) -> Any:  # noqa: ANN401  # an OpenFst object
        """T_V as a trie: byte arcs back to the root where a token ends; labels are one up."""
        fst = self.module.Fst()
        root = fst.add_state()
        fst.set_start(root)
        fst.set_final(root, self.one)
        inner = {b"": root}
        for token, ids in self.vocabulary.ids_of.items():
            at = root
            for end in range(1, len(token)):
                there = inner.get(token[:end])
                if there is None:
                    there = inner[token[:end]] = fst.add_state()
                    fst.add_arc(at, self.module.Arc(0, token[end - 1] + 1, self.one, there))
                at = there
            for token_id in ids:
                fst.add_arc(at, self.module.Arc(token_id + 1, token[-1] + 1, self.one, root))
        return fst.arcsort("olabel")

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if case.regex is None:
            return None
        pattern = case.regex
        return lambda: self._composed(self._acceptor(pattern))

    def _acceptor(self, pattern: str) -> Any:  # noqa: ANN401
        dfa = Grammar.from_regex(pattern, limits=LIMITS).dfa
        assert dfa is not None
        fst = self.module.Fst()
        fst.add_states(len(dfa))
        fst.set_start(dfa.initial)
        for state in range(len(dfa)):
            if dfa.finals[state]:
                fst.set_final(state, self.one)
            for byte in range(256):
                if (there := dfa.step(state, byte)) != DEAD:
                    fst.add_arc(state, self.module.Arc(byte + 1, byte + 1, self.one, there))
        return fst.arcsort("ilabel")

    def _composed(self, acceptor: Any) -> Compiled:  # noqa: ANN401
        composed = self.module.compose(self.detokenizer, acceptor)
        return self.module.determinize(composed.project("input").rmepsilon())

    def start(self, compiled: Compiled) -> Walker:
        state = [compiled.start()]
        allowed = np.zeros(self.buffer.nbytes * 8, np.uint8)

        def mask() -> None:
            allowed.fill(0)
            allowed[[arc.ilabel - 1 for arc in compiled.arcs(state[0])]] = 1
            self.buffer[0] = np.packbits(allowed, bitorder="little").view(np.int32)

        def advance(token: int) -> bool:
            there = next(
                (a.nextstate for a in compiled.arcs(state[0]) if a.ilabel == token + 1), -1
            )
            state[0] = there if there >= 0 else state[0]
            return bool(there >= 0)

        return Walker(mask, advance)

    def extras(self, case: Case, walk: list[int]) -> Extras:
        assert case.regex is not None
        acceptor = self._acceptor(case.regex)
        closed = self._composed(acceptor)
        edges = sum(closed.num_arcs(state) for state in closed.states())
        return Extras(closed_ms=quickest_ms(lambda: self._composed(acceptor)), closed_edges=edges)
