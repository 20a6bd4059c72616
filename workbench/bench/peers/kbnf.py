"""kbnf: the engine whose notation is read here too."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from importlib import import_module

import numpy as np
import numpy.typing as npt

from workbench.bench.cases import Case
from workbench.bench.peers.peer import Compiled, Peer, Walker

#: It finishes at the first complete sentence, so every text is followed by a mark, which is
#: what its vocabulary spells the end token with.
_MARK = "\U0010ffff"


class Kbnf(Peer):
    """Reads KBNF, regexes inside it."""

    def prepare(self) -> None:
        logging.disable(logging.WARNING)  # it warns of every token that is not UTF-8
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
        """The mask without the beginnings of the mark, which are tokens too and no fault of its.

        Where any character may stand, as in a string, they are what they seem to be.
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
