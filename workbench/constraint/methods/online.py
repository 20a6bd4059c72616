"""The method ``online``: tests every token with a recogniser at each step.

"Repeated evaluations over the entire vocabulary … a fixed O(N) cost for each token generated"
(Willard & Louf 2023, introduction): the baseline for every method with tables.

The option ``checker`` chooses the recogniser (``CHECKERS``). The mask of every checker is exact if
the vocabulary has a single-byte token for each byte of the grammar; without these only ``machine``
recognizes dead ends. Table 1 of DOMINO (Beurer-Kellner et al. 2024) calls SYNCHROMESH and GCD
minimally invasive, and LLAMA.CPP "up to implementation". PICARD, which is not, tests a few tokens:
``decoding.picard``.

``CompletionEngine`` is Synchromesh's recogniser (Poesia et al. 2022, constrained semantic
decoding). At a completion point the engine returns regexes of the terminals that may follow. A
token is matched against them byte by byte, and where a terminal is complete the engine is asked
again, so tokens may cross terminals. The state of a terminal's automaton is the derivative of its
regex. Synchromesh continues from the last completion point of a text; here all segmentations into
terminals are kept, as the grammar defines, so no text is lost. As in Synchromesh the engine for
grammars is lark's LALR(1) parser, and grammars that are not LALR(1) are refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
from workbench.base.locks import WorkLock
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.masks import TokenMask
from workbench.constraint.methods.domino.scanner import terminals_of
from workbench.constraint.methods.gcd_recogniser import ChartRecogniser
from workbench.constraint.methods.grammar_recognisers import StackRecogniser
from workbench.constraint.methods.lalr import Reader, Reading, refuse_empty_language
from workbench.constraint.methods.recogniser import (
    CachingRecogniser,
    MachineRecogniser,
    forced,
    read,
)
from workbench.constraint.plain_mask import TOO_SLOW, Recogniser, readable_tokens
from workbench.constraint.protocol import State
from workbench.constraint.token_by_token import TokenByToken
from workbench.constraint.token_machine import TokenMachine
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class CompletionEngine(CachingRecogniser[Reading]):
    """Reads a text by terminals, byte by byte.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); LimitError.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._reader = Reader(terminals_of(grammar), limits.begun())
        self.initial = self._reader.initial

    def compute(self, state: Reading, byte: int) -> Reading | None:
        return self._reader.step(state, byte)

    def is_final(self, state: Reading) -> bool:
        return self._reader.is_final(state)


#: The tokens a recogniser can read from a state, in any order, within a ``time_budget``.
Enumerate = Callable[[Recogniser, Vocabulary, State], Iterator[TokenId]]


def token_by_token(
    recogniser: Recogniser, vocabulary: Vocabulary, state: State
) -> Iterator[TokenId]:
    """Reads each token separately from its first byte.

    Cost: for each token, the bytes that can be read and one more; at worst all of its bytes.
    """
    for token_id, token in enumerate(vocabulary.tokens):
        check_time_budget(TOO_SLOW)
        if token is not None:
            target = read(recogniser, state, token)
            if target is not None and recogniser.is_coaccessible(target):
                yield token_id


#: The ways to enumerate the readable tokens, by name.
ENUMERATIONS: dict[str, Enumerate] = {"flat": token_by_token, "trie": readable_tokens}


class Online(TokenByToken[State]):
    """A constraint without cached rows: each mask tests every token again.

    Only the last mask is cached, for two requests in one step. Safe to share between threads; a
    lock serializes them, because recognisers grow as they read.
    """

    def __init__(
        self,
        recogniser: Recogniser,
        vocabulary: Vocabulary,
        enumerate_tokens: Enumerate = token_by_token,
        limits: Limits = LIMITS,
    ) -> None:
        self.recogniser = recogniser
        self.vocabulary = vocabulary
        self.limits = limits
        self._enumerate_tokens = enumerate_tokens
        self._last: tuple[State, TokenMask] | None = None
        self._lock = WorkLock()

    @property
    def initial(self) -> State:
        return self.recogniser.initial

    def mask(self, state: State) -> TokenMask:
        """The tokens the recogniser reads from a state.

        Raises: LimitError past ``limits.seconds``.
        """
        last = self._last
        if last is not None and last[0] == state:
            return last[1]
        with self._lock, time_budget(self.limits.seconds):
            ids = list(self._enumerate_tokens(self.recogniser, self.vocabulary, state))
        if self.is_final(state):
            ids.extend(self.vocabulary.ends)
        mask = TokenMask.of(ids, len(self.vocabulary))
        self._last = state, mask
        return mask

    def engine(self) -> TokenMachine:
        """The exact engine's machine, where that is what the recogniser reads."""
        checker = self.recogniser
        return checker.engine if isinstance(checker, MachineRecogniser) else self

    def target(self, state: State, token_id: TokenId) -> State | None:
        """The recogniser's state after a token."""
        token = self.bytes_of(token_id)
        if token is None:
            return None
        with self._lock:
            target = read(self.recogniser, state, token)
            return (
                target if target is not None and self.recogniser.is_coaccessible(target) else None
            )

    def is_final(self, state: State) -> bool:
        return self.recogniser.is_final(state)

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        with self._lock:
            return forced(self.recogniser, state, most, self.limits.clock())


Kind = TypeVar("Kind")

_BYTE_COUNT = 256


@dataclass(frozen=True, slots=True)
class Checker:
    """A recogniser of a paper or program."""

    #: One line for the user.
    title: str
    source: str
    #: (grammar, vocabulary, limits) → a recogniser.
    make: Callable[[Grammar, Vocabulary, Limits], Recogniser]


def _machine(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Recogniser:
    return MachineRecogniser(automaton(grammar, vocabulary, limits))


def _completions(grammar: Grammar, _: Vocabulary, limits: Limits) -> Recogniser:
    return CompletionEngine(grammar, limits)


def _stacks(grammar: Grammar, _: Vocabulary, limits: Limits) -> Recogniser:
    return StackRecogniser(grammar, limits)


def _chart(grammar: Grammar, _: Vocabulary, limits: Limits) -> Recogniser:
    return ChartRecogniser(grammar, limits)


CHECKERS: Mapping[str, Checker] = {
    "machine": Checker(
        "the grammar's own machine, byte by byte; the exact mask",
        "Koo, Liu & He 2024, §4.2: what is matched dynamically at each step",
        _machine,
    ),
    "synchromesh": Checker(
        "a completion engine: the terminals an LALR(1) parser accepts, matched by derivatives",
        "Poesia et al. 2022",
        _completions,
    ),
    "llama.cpp": Checker(
        "stacks of what is still to be read, character by character; no left recursion",
        "the grammars of llama.cpp",
        _stacks,
    ),
    "gcd": Checker(
        "an incremental chart parser, character by character; reads every grammar of characters",
        "Geng et al. 2023, on the Grammatical Framework",
        _chart,
    ),
}


def online(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    *,
    how: str = "flat",
    checker: str = "machine",
) -> Online:
    """The constraint of the method ``online``.

    Raises: WorkbenchError for an unknown name, or a grammar that the checker cannot read;
            VocabularyError where no accepted text can be tokenized; LimitError.
    """
    enumerate_tokens = _find_kind("way to test the vocabulary", how, ENUMERATIONS)
    chosen = _find_kind("checker", checker, CHECKERS)
    refuse_empty_language(grammar, vocabulary)
    if checker != "machine" and len(vocabulary.single_bytes) < _BYTE_COUNT:
        automaton(grammar, vocabulary, limits)  # raises if no text can be tokenized
    recogniser = chosen.make(grammar, vocabulary, limits)
    return Online(recogniser, vocabulary, enumerate_tokens, limits)


def _find_kind(what: str, name: str, choices: Mapping[str, Kind]) -> Kind:
    if not isinstance(name, str) or name not in choices:
        raise WorkbenchError(f"there is no {what} {name!r}", f"choose one of {', '.join(choices)}")
    return choices[name]
