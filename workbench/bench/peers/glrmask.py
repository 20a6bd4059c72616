"""glrmask: a parser-stack automaton with dense bitsets, or its token trie."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from workbench.bench.cases import Case
from workbench.bench.peers.llguidance import lark_of
from workbench.bench.peers.peer import Compiled, Peer, Walker


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
