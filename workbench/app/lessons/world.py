"""The world of a step: a language, a few tokens, a model with known probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from workbench.automata.nfa import Nfa
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa
from workbench.base.errors import WorkbenchError
from workbench.base.source import Source
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.decoding.model import Logits, one_by_one
from workbench.drawing.visible_text import visible
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: What messages call the tokens of a step.
_NAME = "this lesson's"

#: A byte in a token of a lesson, where the token is no text: ``<0xC3>``.
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


#: How texts are laid out in lessons: instances of a schema without blanks, for small pictures.
STYLES = {Notation.JSON_SCHEMA: "compact"}


@dataclass(frozen=True, eq=False)
class World:
    """A language over characters and its tokens; built on first use.

    ``chances`` is a model: for each text the probability of every token after it, the end under
    the name ``end``; ``…`` before a text says so of all texts that end with it.
    """

    #: The language, in one notation; each has the name it has in ``Notation``.
    regex: str = ""
    kbnf: str = ""
    json_schema: str = ""
    dataclass: str = ""
    gbnf: str = ""
    lark: str = ""
    start: str = "start"
    tokens: tuple[str, ...] = ()
    #: The regex that cuts a text into pieces before merging, where there is one.
    pretokenizer: str = ""
    #: Merge rules in rank order; single characters of the tokens need none.
    merges: tuple[tuple[str, str], ...] = ()
    chances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: The chances of a second model, which drafts what the first decides.
    draft: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: Runs, token by token, that counts are learned on.
    warm: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def grammar(self) -> Grammar:
        """The language.

        Raises: WorkbenchError where the step names none, ParseError for one that cannot be read.
        """
        if not self.text:
            raise WorkbenchError("expected a regex or a grammar in this step")
        style = STYLES.get(self.notation, "")
        return Grammar.from_text(self.text, self.notation, self.start, style=style)

    @property
    def notation(self) -> Notation:
        """The notation the language is written in."""
        return next((one for one in Notation if getattr(self, one)), Notation.REGEX)

    @property
    def text(self) -> str:
        """The language as the step writes it; empty where the step has none."""
        return str(getattr(self, self.notation))

    @cached_property
    def nfa(self) -> Nfa:
        """The regex after Thompson's construction."""
        return thompson(parse_regex(Source(self.regex, "lesson")))

    @cached_property
    def dfa(self) -> Dfa:
        """The minimal automaton.

        Raises: WorkbenchError where the language needs a stack.
        """
        if (dfa := self.grammar.dfa) is None:
            raise WorkbenchError("expected a language that needs no stack")
        return dfa

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the step, and an end token after them."""
        if not self.tokens:
            raise WorkbenchError("expected tokens in this step")
        tokens = [*map(spelt, self.tokens), None]
        merges = [(spelt(left), spelt(right)) for left, right in self.merges] or None
        return Vocabulary(tokens, len(self.tokens), merges, self.pretokenizer or None, name=_NAME)

    @cached_property
    def words(self) -> tuple[bytes, ...]:
        """The tokens that spell something, in their order."""
        return tuple(token for token in self.vocabulary.tokens if token is not None)

    @cached_property
    def constraint(self) -> AutomatonConstraint:
        """The exact mask of the language over the tokens."""
        made = compile_constraint(self.grammar, self.vocabulary)
        assert isinstance(made, AutomatonConstraint), "the usual method"
        return made

    @cached_property
    def bpe(self) -> Bpe:
        """The tokenizer of the step, by its merge rules."""
        return Bpe.of(self.vocabulary)

    @cached_property
    def model(self) -> KnownModel:
        """The model whose chances the step writes out."""
        return KnownModel(self.vocabulary, self.chances)

    @cached_property
    def drafter(self) -> KnownModel:
        """The model that drafts."""
        return KnownModel(self.vocabulary, self.draft, "draft")

    def shown(self, token_id: TokenId) -> str:
        """A token as a reader sees it."""
        token = self.vocabulary.tokens[token_id]
        return "end" if token is None else visible(token)


def spelt(token: str) -> bytes:
    """The bytes of a token as a lesson writes it: text, with ``<0xC3>`` for a single byte."""
    pieces = _BYTE.split(token)
    return b"".join(
        bytes((int(piece, 16),)) if number % 2 else piece.encode()
        for number, piece in enumerate(pieces)
    )


@dataclass(frozen=True, eq=False)
class KnownModel:
    """A language model with chances written out, so that its numbers can be checked.

    Raises: WorkbenchError where the chances after a text are no distribution over the tokens.
    """

    vocabulary: Vocabulary
    chances: Mapping[str, Mapping[str, float]]
    name: str = "known"

    def __post_init__(self) -> None:
        known = {self._name(i) for i in range(len(self.vocabulary))}
        for text, row in self.chances.items():
            if unknown := set(row) - known:
                raise WorkbenchError(f"expected tokens of the step after {text!r}, not {unknown}")
            if not math.isclose(math.fsum(row.values()), 1, abs_tol=1e-9):
                raise WorkbenchError(f"expected chances that add up to 1 after {text!r}")

    def _name(self, token_id: TokenId) -> str:
        token = self.vocabulary.tokens[token_id]
        return "end" if token is None else token.decode("utf-8", "backslashreplace")

    def encode(self, text: str) -> list[TokenId]:
        """The end token precedes the text, since a prompt is never empty."""
        return [len(self.vocabulary) - 1]

    def session(self) -> KnownModel:
        return self

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logarithms of the chances (V,)."""
        row = self._row(self.vocabulary.decode(token_ids).decode("utf-8", "backslashreplace"))
        given = [row.get(self._name(i), 0.0) for i in range(len(self.vocabulary))]
        with np.errstate(divide="ignore"):
            logits: Logits = np.log(np.array(given)).astype(np.float32)
        return logits

    def _row(self, text: str) -> Mapping[str, float]:
        """The chances after a text: its own, or those of its longest ending named with ``…``."""
        if text in self.chances:
            return self.chances[text]
        for length in range(len(text), -1, -1):
            if (ending := "…" + text[len(text) - length :]) in self.chances:
                return self.chances[ending]
        raise WorkbenchError(f"expected chances after {text!r}")

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """As ``Session`` says."""
        return one_by_one(self.logits, token_ids, last)
