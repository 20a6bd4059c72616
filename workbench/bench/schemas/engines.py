"""Engines that read JSON Schema: a schema's text in; out comes what makes masks and reads texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from workbench.bench.peers.llguidance import LLGuidance
from workbench.bench.peers.ours import Ours
from workbench.bench.peers.peer import Compiled, Walker
from workbench.bench.peers.registry import OURS
from workbench.bench.peers.xgrammar import XGrammar
from workbench.constraint.compile import automaton
from workbench.limits import LIMITS
from workbench.notations import Notation
from workbench.phases import Phase, read, timed
from workbench.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Made:
    """A compiled schema."""

    compiled: Compiled
    accepts: Callable[[str], bool]
    #: Milliseconds of what it was made of, by name; empty for engines that do not tell.
    parts: dict[str, float]


class SchemaPeer(Protocol):
    """An engine made ready for one vocabulary that reads schemas."""

    def made(self, schema: str) -> Made:
        """The engine's object of a schema's text; raises whatever the engine raises."""

    def start(self, compiled: Compiled) -> Walker:
        """A text that has not begun."""


class OurSchemas(Ours):
    """The exact engine, with the limits of the page."""

    def made(self, schema: str) -> Made:
        phases: list[Phase] = []
        grammar = read(schema, Notation.JSON_SCHEMA, "start", "", LIMITS, phases)
        with timed("constraint", phases):
            compiled = automaton(grammar, self.vocabulary, LIMITS)
        return Made(compiled, grammar.accepts, {one.name: one.milliseconds for one in phases})


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


#: Those that read schemas, by their names among all engines.
SCHEMA_ENGINES: dict[str, Callable[[Vocabulary], SchemaPeer]] = {
    OURS: OurSchemas,
    "llguidance": LLGuidanceSchemas,
    "xgrammar": XGrammarSchemas,
}
