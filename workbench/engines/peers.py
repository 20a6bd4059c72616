"""Adapters of llguidance, outlines-core and xgrammar; each imports its engine when created."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from workbench.engines.case import Case, grammar_of
from workbench.engines.peer import Compiled, Peer, Walker, greedy_tokens
from workbench.grammar.export.writers import write_gbnf, write_lark
from workbench.vocabulary.vocabulary import Vocabulary


class _Tokens:
    """The vocabulary in the form llguidance's tokenizer wrapper expects."""

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
        return greedy_tokens(whole, self._vocabulary)


class LLGuidance(Peer):
    """Reads regexes and Lark; of forced text, it allows only the canonical tokens."""

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
        """llguidance's translation of a schema; any white space is allowed, its default."""
        return self._matcher(self.module.LLMatcher.grammar_from_json_schema(schema))

    def _of_lark(self, text: str) -> Compiled:
        return self._matcher(self.module.LLMatcher.grammar_from_lark(text))

    def _matcher(self, grammar: Any) -> Compiled:  # noqa: ANN401  # a type of llguidance
        matcher = self.module.LLMatcher(self.tokens, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def start(self, compiled: Compiled) -> Walker:
        matcher = compiled.deep_copy()
        self.kept = (
            matcher  # masks are written through a pointer: the matcher must outlive the walker
        )
        pointer, size = self.buffer.ctypes.data, self.buffer.nbytes
        return Walker(lambda: matcher.unsafe_compute_mask_ptr(pointer, size), matcher.consume_token)


class LLGuidanceExact(LLGuidance):
    """Every tokenization of forced text is allowed."""

    head = '%llguidance {"no_forcing": true}\n'

    def of_schema(self, schema: str) -> Compiled:
        """A schema inside a Lark grammar, the only notation with this option."""
        return self._of_lark(f"{self.head}start: %json {schema}\n")


def lark_of(case: Case) -> str | None:
    """The case in Lark's notation; a regex as one terminal, whose slashes have to be escaped.

    A grammar that is written in Lark is not changed.
    """
    if case.written is not None:
        return write_lark(grammar_of(case))
    if case.regex is None:
        return case.lark
    escaped = re.sub(r"\\.|/", lambda m: r"\/" if m[0] == "/" else m[0], case.regex, flags=re.S)
    return f"start: TEXT\nTEXT: /{escaped}/\n"


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


class XGrammar(Peer):
    """Reads regexes and its EBNF.

    The EBNF texts write strings and comments by right recursion, as its documentation does: a
    star of a group makes every mask inside it a thousand times slower.
    """

    def prepare(self) -> None:
        self.module = import_module("xgrammar")
        torch = import_module("torch")  # writing masks into a tensor is fastest
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
        text = case.ebnf if case.written is None else write_gbnf(grammar_of(case))
        return None if text is None else partial(self.grammars.compile_grammar, text)

    def of_schema(self, schema: str) -> Compiled:
        """xgrammar's translation, with any white space and undeclared properties allowed."""
        return self.grammars.compile_json_schema(schema, any_whitespace=True, strict_mode=False)

    def start(self, compiled: Compiled) -> Walker:
        matcher = self.module.GrammarMatcher(compiled)
        return Walker(partial(self._fill, matcher), matcher.accept_token)

    def _fill(self, matcher: Any) -> None:  # noqa: ANN401  # a type of xgrammar
        if not matcher.fill_next_token_bitmask(self.tensor):
            self.buffer.fill(-1)  # False: no mask is needed, every token is allowed
