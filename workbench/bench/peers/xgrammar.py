"""xgrammar: token masks of all rules' states are made ahead; its cache of grammars is off."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from workbench.bench.cases import Case
from workbench.bench.peers.peer import Compiled, Peer, Walker


class XGrammar(Peer):
    """Reads regexes and its EBNF.

    The EBNF texts spell strings and comments by right recursion, as its documentation
    does: a star of a group makes every mask inside it a thousand times slower.
    """

    def prepare(self) -> None:
        self.module = import_module("xgrammar")
        torch = import_module("torch")  # a tensor is what its masks are written into fastest
        torch.set_num_threads(1)
        self.tensor = torch.from_numpy(self.buffer)
        tokens = self.module.TokenizerInfo(
            [token or b"" for token in self.vocabulary.tokens],
            self.module.VocabType.RAW,
            vocab_size=len(self.vocabulary),
            stop_token_ids=[self.end],
        )
        self.grammars = self.module.GrammarCompiler(tokens, max_threads=1, cache_enabled=False)

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if case.schema is not None:
            return partial(self.of_schema, case.schema)
        if case.regex is not None:
            return partial(self.grammars.compile_regex, case.regex)
        return None if case.ebnf is None else partial(self.grammars.compile_grammar, case.ebnf)

    def of_schema(self, schema: str) -> Compiled:
        """Its own translation, any white space allowed, properties nobody names too."""
        return self.grammars.compile_json_schema(schema, any_whitespace=True, strict_mode=False)

    def start(self, compiled: Compiled) -> Walker:
        matcher = self.module.GrammarMatcher(compiled)
        return Walker(partial(self._fill, matcher), matcher.accept_token)

    def _fill(self, matcher: Any) -> None:  # noqa: ANN401  # an object of its own extension
        if not matcher.fill_next_token_bitmask(self.tensor):
            self.buffer.fill(-1)  # "no need to apply" means that every token is allowed
