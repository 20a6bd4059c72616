"""The world of a step: a language, a few tokens, a model with known probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from workbench.automata.nfa import Nfa
from workbench.automata.thompson import thompson
from workbench.base.cached_property import cached_property
from workbench.base.dfa import Dfa
from workbench.base.errors import WorkbenchError
from workbench.base.source import Source
from workbench.base.visible_text import visible
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.token_machine import TokenMachine
from workbench.decoding.model import Logits, one_by_one
from workbench.grammar.fill import fill
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The vocabulary's name in messages.
_NAME = "this lesson's"

#: A byte in a token that is not UTF-8: ``<0xC3>``.
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


#: The options of notations in lessons: JSON without white space, for small pictures.
OPTIONS: dict[Notation, dict[str, Any]] = {Notation.JSON_SCHEMA: {"whitespace": "compact"}}


#: The class of the machine that a film draws.
C = TypeVar("C", bound=TokenMachine)


def of_class(kind: type[C], machine: TokenMachine) -> C:
    """A machine whose own parts a film draws. Raises: WorkbenchError where it has another class."""
    if not isinstance(machine, kind):
        raise WorkbenchError(f"expected a step that makes a {kind.__name__}, not {machine!r}")
    return machine


@dataclass(frozen=True, eq=False)
class World:
    """A language over characters and its tokens; built on first use.

    ``chances`` is a model: for each text the probability of every token after it, the end under
    the name ``end``. A text that begins with ``…`` means all texts with this ending.
    """

    #: The text of the language; empty if the step has none.
    text: str = ""
    notation: Notation = Notation.REGEX
    start: str = "start"
    tokens: tuple[str, ...] = ()
    #: The pre-tokenizer's regex, which cuts a text before merging; empty for none.
    pretokenizer: str = ""
    #: Merge rules in rank order; single characters of the tokens need none.
    merges: tuple[tuple[str, str], ...] = ()
    chances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: The probabilities of a draft model.
    draft: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: The texts before and after a hole; with one of them the language is that of the hole.
    prefix: str = ""
    suffix: str = ""
    #: Warm-up runs as tokens, from which counts are learnt.
    warm: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the language, or of its hole.

        Raises: WorkbenchError where the step has none, ParseError; BuildError if no text fits.
        """
        if not self.text:
            raise WorkbenchError("expected a regex or a grammar in this step")
        options = OPTIONS.get(self.notation, {})
        grammar = Grammar.from_text(self.text, self.notation, self.start, **options)
        return fill(self.prefix, self.suffix, grammar)

    @property
    def regex(self) -> str:
        """The text, if it is a regex; empty for the others."""
        return self.text if self.notation is Notation.REGEX else ""

    @cached_property
    def nfa(self) -> Nfa:
        """Thompson's automaton of the regex."""
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
        tokens = [*map(token_bytes, self.tokens), None]
        merges = [(token_bytes(left), token_bytes(right)) for left, right in self.merges] or None
        return Vocabulary(tokens, len(self.tokens), merges, self.pretokenizer or None, name=_NAME)

    @cached_property
    def words(self) -> tuple[bytes, ...]:
        """The tokens that have bytes, in their order."""
        return tuple(token for token in self.vocabulary.tokens if token is not None)

    @cached_property
    def constraint(self) -> AutomatonConstraint:
        """The exact mask of the language over the tokens."""
        machine = compile_constraint(self.grammar, self.vocabulary)
        return of_class(AutomatonConstraint, machine)  # type: ignore[type-abstract]

    @cached_property
    def bpe(self) -> Bpe:
        """The tokenizer of the step's merge rules."""
        return Bpe.of(self.vocabulary)

    @cached_property
    def model(self) -> KnownModel:
        """The model with the step's probabilities."""
        return KnownModel(self.vocabulary, self.chances)

    @cached_property
    def drafter(self) -> KnownModel:
        """The draft model."""
        return KnownModel(self.vocabulary, self.draft, "draft")

    def shown(self, token_id: TokenId) -> str:
        """A token as shown to the reader."""
        token = self.vocabulary.tokens[token_id]
        return "end" if token is None else visible(token)


def token_bytes(token: str) -> bytes:
    """The bytes of a token in a lesson file: text, with ``<0xC3>`` for a single byte."""
    pieces = _BYTE.split(token)
    return b"".join(
        bytes((int(piece, 16),)) if number % 2 else piece.encode()
        for number, piece in enumerate(pieces)
    )


def ids_of(world: World, tokens: Sequence[str]) -> tuple[TokenId, ...]:
    """The ids of tokens in a lesson file's notation."""
    return tuple(world.vocabulary.ids(*(token_bytes(token) for token in tokens)))


@dataclass(frozen=True, eq=False)
class KnownModel:
    """A language model with given probabilities, so that its numbers can be checked.

    Raises: WorkbenchError where the probabilities after a text are no distribution.
    """

    vocabulary: Vocabulary
    chances: Mapping[str, Mapping[str, float]]
    name: str = "known"

    def __post_init__(self) -> None:
        names = {self._name(i) for i in range(len(self.vocabulary))}
        for text, row in self.chances.items():
            if unknown := set(row) - names:
                raise WorkbenchError(f"expected tokens of the step after {text!r}, not {unknown}")
            if not math.isclose(math.fsum(row.values()), 1, abs_tol=1e-9):
                raise WorkbenchError(f"expected chances that add up to 1 after {text!r}")

    def _name(self, token_id: TokenId) -> str:
        token = self.vocabulary.tokens[token_id]
        return "end" if token is None else token.decode("utf-8", "backslashreplace")

    def encode(self, text: str) -> list[TokenId]:
        """The end token, because a prompt must not be empty."""
        return [len(self.vocabulary) - 1]

    def session(self) -> KnownModel:
        return self

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logarithms of the probabilities, (V,)."""
        row = self._row(self.vocabulary.decode(token_ids).decode("utf-8", "backslashreplace"))
        given = [row.get(self._name(i), 0.0) for i in range(len(self.vocabulary))]
        with np.errstate(divide="ignore"):
            logits: Logits = np.log(np.array(given)).astype(np.float32)
        return logits

    def _row(self, text: str) -> Mapping[str, float]:
        """The probabilities after a text: its own, or those of its longest ending with ``…``."""
        if text in self.chances:
            return self.chances[text]
        for length in range(len(text), -1, -1):
            if (ending := "…" + text[len(text) - length :]) in self.chances:
                return self.chances[ending]
        raise WorkbenchError(f"expected chances after {text!r}")

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """See ``Session.judge``."""
        return one_by_one(self.logits, token_ids, last)
