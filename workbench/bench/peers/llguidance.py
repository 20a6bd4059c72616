"""llguidance: lazy derivatives and Earley rows, with forcing of canonical tokens and without."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from workbench.bench.cases import Case
from workbench.bench.peers.peer import Compiled, Peer, Walker, spelt
from workbench.vocabulary.vocabulary import Vocabulary


class _Tokens:
    """The vocabulary as its tokenizer wrapper wants to find one."""

    def __init__(self, vocabulary: Vocabulary, end: int) -> None:
        self.eos_token_id = end
        self.bos_token_id = None
        self.special_token_ids = [i for i, t in enumerate(vocabulary.tokens) if t is None]
        # a leading \xff says that the rest is a name, not text
        self.tokens = [
            b"\xff<special %d>" % i if t is None else t for i, t in enumerate(vocabulary.tokens)
        ]
        self._vocabulary = vocabulary

    def __call__(self, text: str | bytes) -> list[int]:
        whole = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return spelt(whole, self._vocabulary)


class LLGuidance(Peer):
    """Reads regexes and its Lark; where text is forced, only its canonical tokens are allowed."""

    head = ""

    def prepare(self) -> None:
        self.module = import_module("llguidance")
        wrapper = self.module.TokenizerWrapper(_Tokens(self.vocabulary, self.end))
        self.tokens = self.module.LLTokenizer(wrapper)

    def compiler(self, case: Case) -> Callable[[], Compiled] | None:
        if case.schema is not None:
            return partial(self.of_schema, case.schema)
        text = lark_of(case)
        return None if text is None else lambda: self._of_lark(self.head + text)

    def of_schema(self, schema: str) -> Compiled:
        """Its own translation of a schema; any white space is allowed, as is its custom."""
        return self._matcher(self.module.LLMatcher.grammar_from_json_schema(schema))

    def _of_lark(self, text: str) -> Compiled:
        return self._matcher(self.module.LLMatcher.grammar_from_lark(text))

    def _matcher(self, grammar: Any) -> Compiled:  # noqa: ANN401  # an object of its own
        matcher = self.module.LLMatcher(self.tokens, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, compiled: Compiled) -> Walker:
        matcher = compiled.deep_copy()
        self.kept = matcher  # masks are written through a pointer: it has to outlive the walker
        pointer, size = self.buffer.ctypes.data, self.buffer.nbytes
        return Walker(lambda: matcher.unsafe_compute_mask_ptr(pointer, size), matcher.consume_token)


class LLGuidanceExact(LLGuidance):
    """Every tokenization of forced text is allowed."""

    head = '%llguidance {"no_forcing": true}\n'

    def of_schema(self, schema: str) -> Compiled:
        """A schema inside a grammar in Lark's notation, which alone can ask for this."""
        return self._of_lark(f"{self.head}start: %json {schema}\n")


def lark_of(case: Case) -> str | None:
    """The case in Lark's notation; a regex as one terminal, whose slashes have to be escaped."""
    if case.regex is None:
        return case.lark
    escaped = re.sub(r"\\.|/", lambda m: r"\/" if m[0] == "/" else m[0], case.regex, flags=re.S)
    return f"start: TEXT\nTEXT: /{escaped}/\n"
