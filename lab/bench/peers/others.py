"""Adapters of peers that are only measured: glrmask, kbnf, OpenFst (pynini).

Each imports its engine when an instance is created. OpenFst composes this project's byte automaton,
whose construction counts in the time from text; its closed form is timed without it, like ours. Its
masks are read arc by arc in Python: that time is the binding's, not OpenFst's.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD
from workbench.base.limits import LOCAL_LIMITS
from workbench.engines.case import Case
from workbench.engines.peer import Compiled, Extras, Peer, Walker, quickest_ms
from workbench.engines.peers import lark_of
from workbench.grammar.grammar import Grammar

#: kbnf stops at the first complete sentence. Every text is therefore followed by this mark, and the
#: end token has its bytes.
_MARK = "\U0010ffff"


class Kbnf(Peer):
    """Reads KBNF, regexes inside it."""

    def prepare(self) -> None:
        logging.disable(logging.WARNING)  # kbnf warns of every token that is not UTF-8
        self.module = import_module("kbnf")
        tokens = {i: t for i, t in enumerate(self.vocabulary.tokens) if t is not None}
        tokens[self.end] = _MARK.encode()
        self.tokens = self.module.Vocabulary(
            {i: self.module.Token(t) for i, t in tokens.items()},
            {i: t.decode("utf-8", "replace") for i, t in tokens.items()},
        )

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if case.regex is not None:
            pattern = case.regex.replace("\\", "\\\\").replace('"', '\\"')
            text = f'start ::= #"{pattern}" "{_MARK}";'
        elif case.kbnf is not None:
            text = f'start ::= whole "{_MARK}";\n' + re.sub(r"\bstart\b", "whole", case.kbnf)
        else:
            return None
        return lambda: self.module.Engine(text, self.tokens)

    def start(self, compiled: Compiled) -> Walker:
        compiled.reset()
        pointer = self.buffer.ctypes.data

        def mask() -> None:
            compiled.compute_allowed_token_ids()
            compiled.fill_torch_bitmask(pointer)

        return Walker(mask, compiled.try_accept_new_token)

    def bits(self) -> npt.NDArray[np.uint32]:
        """The mask without tokens that are prefixes of the mark, an artefact of this adapter.

        Where any character is allowed, as in a string, these tokens are correct and stay.
        """
        allowed = super().bits()
        mark, ids_of = _MARK.encode(), self.vocabulary.ids_of
        if not any(_has(allowed, token_id) for token_id in ids_of.get(b"\xf3", ())):
            for length in range(1, len(mark)):
                for token_id in ids_of.get(mark[:length], ()):
                    allowed[token_id >> 5] &= ~np.uint32(1 << (token_id & 31))
        return allowed


def _has(allowed: npt.NDArray[np.uint32], token_id: int) -> bool:
    return bool(allowed[token_id >> 5] >> (token_id & 31) & 1)


class GlrMask(Peer):
    """Reads Lark."""

    strategy = "AUTO"

    def prepare(self) -> None:
        self.module = import_module("glrmask")
        tokens = {i: t for i, t in enumerate(self.vocabulary.tokens) if t is not None}
        self.tokens = self.module.Vocab.from_id_to_bytes(tokens)
        self.chosen = getattr(self.module.MaskStrategy, self.strategy)

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        text = lark_of(case)
        return None if text is None else lambda: self._constraint(text)

    def _constraint(self, text: str) -> Compiled:
        grammar = self.module.Grammar.from_lark(text)
        return grammar.compile(self.tokens, mask_strategy=self.chosen)

    def start(self, compiled: Compiled) -> Walker:
        state = compiled.start()
        return Walker(partial(state.fill_mask, self.buffer[0]), state.commit_token)


class GlrMaskTrie(GlrMask):
    """The strategy that compiles fastest."""

    strategy = "TOKEN_TRIE"


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
        dfa = Grammar.from_regex(pattern, limits=LOCAL_LIMITS).dfa
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
