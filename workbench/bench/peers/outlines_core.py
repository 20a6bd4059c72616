"""outlines-core: a regex becomes an index over all its states before the first mask."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from workbench.bench.cases import Case
from workbench.bench.peers.peer import Compiled, Peer, Walker


class OutlinesCore(Peer):
    """Reads regexes only."""

    def prepare(self) -> None:
        self.module = import_module("outlines_core")
        ids = {token: list(ids) for token, ids in self.vocabulary.ids_of.items()}
        self.tokens = self.module.Vocabulary(self.end, ids)

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if case.regex is None:
            return None
        return lambda: self.module.Index(case.regex, self.tokens)

    def start(self, compiled: Compiled) -> Walker:
        guide = self.module.Guide(compiled)
        pointer, words = self.buffer.ctypes.data, self.buffer.size
        return Walker(
            lambda: guide.write_mask_into(pointer, words, 4),
            lambda token: guide.advance(token, return_tokens=False),
        )
