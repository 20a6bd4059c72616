"""Engines that read JSON Schema: a schema's text in; out comes what makes masks and reads texts."""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.bench.peers.llguidance import LLGuidance
from workbench.bench.peers.ours import Ours
from workbench.bench.peers.peer import Compiled, Peer
from workbench.bench.peers.registry import OURS
from workbench.bench.peers.xgrammar import XGrammar
from workbench.constraint.compile import automaton
from workbench.grammar import Grammar
from workbench.limits import LIMITS
from workbench.notations import Notation
from workbench.pushdown.apart import build_apart
from workbench.pushdown.build import ready
from workbench.source import Source


@dataclass(frozen=True, slots=True)
class Made:
    """A compiled schema."""

    compiled: Compiled
    accepts: Callable[[str], bool]
    #: Milliseconds of what it was made of, by name; empty for engines that do not tell.
    parts: dict[str, float]


class SchemaPeer(Peer):
    """An engine made ready for one vocabulary that reads schemas."""

    @abstractmethod
    def made(self, schema: str) -> Made:
        """The engine's object of a schema's text; raises whatever the engine raises."""


class OurSchemas(Ours):
    """The exact engine, with the limits of the page."""

    def prepare(self) -> None:
        super().prepare()
        ready()

    def made(self, schema: str) -> Made:
        from workbench.schema.options import SchemaOptions
        from workbench.schema.tree import schema_tree

        clock, parts = time.perf_counter, {}
        begun = clock()
        source, work = Source(schema, "schema"), LIMITS.begun()
        tree = schema_tree(source, SchemaOptions(), work)
        parts["tree"], begun = clock() - begun, clock()
        machine = build_apart(tree, "start", work)
        parts["machine"], begun = clock() - begun, clock()
        grammar = Grammar(source, Notation.JSON_SCHEMA, machine, tree=tree, limits=LIMITS)
        compiled = automaton(grammar, self.vocabulary, LIMITS)
        parts["constraint"] = clock() - begun
        told = {name: 1e3 * seconds for name, seconds in parts.items()}
        return Made(compiled, grammar.accepts, told)


class LLGuidanceSchemas(LLGuidance):
    """Texts are put to it byte by byte, each as the token of that byte."""

    def prepare(self) -> None:
        super().prepare()
        ids_of = self.vocabulary.ids_of
        self.byte_tokens = [ids_of[bytes((byte,))][0] for byte in range(256)]

    def made(self, schema: str) -> Made:
        matcher = self.of_schema(schema)

        def accepts(text: str) -> bool:
            here = matcher.deep_copy()
            tokens = [self.byte_tokens[byte] for byte in text.encode()]
            return bool(here.try_consume_tokens(tokens) == len(tokens) and here.is_accepting())

        return Made(matcher, accepts, {})


class XGrammarSchemas(XGrammar):
    """Texts are put to it as they are; then the end token."""

    def made(self, schema: str) -> Made:
        compiled = self.of_schema(schema)

        def accepts(text: str) -> bool:
            matcher = self.module.GrammarMatcher(compiled)
            return bool(matcher.accept_string(text) and matcher.accept_token(self.end))

        return Made(compiled, accepts, {})


SCHEMA_ENGINES: dict[str, type[Any]] = {
    OURS: OurSchemas,
    "llguidance": LLGuidanceSchemas,
    "xgrammar": XGrammarSchemas,
}


def spellings(instance: object, declared: object) -> dict[str, str]:
    """An instance as texts, by what was chosen: order, separators, whether ASCII only."""
    return {
        f"{order}/{gaps}/{letters}": json.dumps(value, ensure_ascii=ascii_only, **how)
        for order, value in (("declared", declared), ("file", instance))
        for gaps, how in _GAPS.items()
        for letters, ascii_only in (("raw", False), ("ascii", True))
    }


_GAPS: dict[str, dict[str, Any]] = {
    "spaced": {},
    "compact": {"separators": (",", ":")},
    "indented": {"indent": 2},
}
