"""The method ``online``: tests every token with a recogniser at each step.

In come a grammar's terminals, out comes a recogniser. At a completion point the engine answers with
regexes of what may follow; a token is matched against them byte by byte, and where a terminal is
whole the engine is asked again, so tokens may cross terminals (Poesia et al. 2022, constrained
semantic decoding). A state of a terminal's automaton is the derivative of its regex.

Decided: Synchromesh goes on from the last completion point of a text; here every way to cut it is
kept, which is what the grammar means, so nothing is lost (DOMINO's Table 1: minimally invasive).
Its engine for grammars is an LALR(1) parser of lark's, and so is this one: grammars that are not
are refused.

In come a recogniser and a vocabulary, out comes a constraint. "Repeated evaluations over the entire
vocabulary … a fixed O(N) cost for each token generated" (Willard & Louf 2023, introduction): the
baseline every method with tables is measured against.

In come a grammar, a vocabulary and two names, out comes the method's constraint. Where a checker
reads a grammar its mask is the exact one, wherever each byte of the grammar is a token too; else
only "machine" sees that no tokens lead on. The table calls SYNCHROMESH and GCD minimally invasive,
LLAMA.CPP "up to implementation". PICARD, which is not, checks a few tokens: ``decoding.picard``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.mask import TokenMask
from workbench.constraint.methods.chart import ChartRecogniser
from workbench.constraint.methods.domino.scanner import terminals_of
from workbench.constraint.methods.lalr import Reader, Reading, refuse_nothing
from workbench.constraint.methods.llama_stacks import StackRecogniser
from workbench.constraint.methods.recogniser import OfMachine, Recogniser, Remembering, forced, read
from workbench.constraint.protocol import State
from workbench.constraint.token_machines import TokenByToken
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class Completions(Remembering[Reading]):
    """A text read by terminals, byte by byte.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); LimitError.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._reader = Reader(terminals_of(grammar), limits.begun())
        self.initial = self._reader.initial

    def made(self, state: Reading, byte: int) -> Reading | None:
        return self._reader.step(state, byte)

    def is_final(self, state: Reading) -> bool:
        return self._reader.is_final(state)


#: How often the clock is looked at, in tokens or nodes.
_OFTEN = 64

#: The tokens a recogniser can read from a state, in any order.
Asking = Callable[[Recogniser, Vocabulary, State, Clock], Iterator[TokenId]]


def flat(
    recogniser: Recogniser, vocabulary: Vocabulary, state: State, clock: Clock
) -> Iterator[TokenId]:
    """Token after token, each from its first byte.

    Cost: all bytes of the vocabulary at worst, of each token those that can be read and one more.
    """
    for token_id, token in enumerate(vocabulary.tokens):
        if token_id % _OFTEN == 0:
            clock.check(_TOO_SLOW)
        if token is not None:
            there = read(recogniser, state, token)
            if there is not None and recogniser.is_coaccessible(there):
                yield token_id


def by_trie(
    recogniser: Recogniser, vocabulary: Vocabulary, state: State, clock: Clock
) -> Iterator[TokenId]:
    """Tokens that begin alike are read together as far as they do.

    Cost: a step for every node of the trie that is met; what cannot be read hides its subtree.
    """
    nodes = vocabulary.trie.shared(_Nodes).of(vocabulary)
    path = [state]  # the states after what was read, by depth
    node, met = 0, 0
    while node < len(nodes):
        byte, depth, skip, ending = nodes[node]
        met += 1
        if met % _OFTEN == 0:
            clock.check(_TOO_SLOW)
        there = recogniser.step(path[depth], byte)
        if there is None:
            node = skip
            continue
        if ending and recogniser.is_coaccessible(there):
            yield from ending
        del path[depth + 1 :]
        path.append(there)
        node += 1


#: How a vocabulary can be gone through, by name.
ASKING: dict[str, Asking] = {"flat": flat, "trie": by_trie}

_TOO_SLOW = "asking about every token takes too long; the method 'automaton' gives the same mask"


class Online(TokenByToken[State]):
    """A constraint that remembers no rows: each mask asks about every token again.

    The last mask alone is kept, for whoever asks twice about one step. Safe to share between
    threads, which wait for each other: recognisers grow as they read.
    """

    def __init__(
        self,
        recogniser: Recogniser,
        vocabulary: Vocabulary,
        asking: Asking = flat,
        limits: Limits = LIMITS,
    ) -> None:
        self.recogniser = recogniser
        self.vocabulary = vocabulary
        self.limits = limits
        self._asking = asking
        self._last: tuple[State, TokenMask] | None = None
        self._reading = threading.Lock()

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
        with self._reading:
            ids = list(self._asking(self.recogniser, self.vocabulary, state, self.limits.clock()))
        if self.vocabulary.end is not None and self.is_final(state):
            ids.append(self.vocabulary.end)
        mask = TokenMask.of(ids, len(self.vocabulary))
        self._last = state, mask
        return mask

    def target(self, state: State, token_id: TokenId) -> State | None:
        """The recogniser's state after a token."""
        token = self.spelt(token_id)
        if token is None:
            return None
        with self._reading:
            there = read(self.recogniser, state, token)
            return there if there is not None and self.recogniser.is_coaccessible(there) else None

    def is_final(self, state: State) -> bool:
        return self.recogniser.is_final(state)

    def forced(self, state: State) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        with self._reading:
            return forced(self.recogniser, state)


class _Nodes:
    """A trie as Python reads it fastest: (byte, depth, next node outside, tokens that end)."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, int, int, tuple[TokenId, ...]]] | None = None

    def of(self, vocabulary: Vocabulary) -> list[tuple[int, int, int, tuple[TokenId, ...]]]:
        if self._nodes is None:
            trie = vocabulary.trie
            first, ids = trie.first.tolist(), trie.token_ids.tolist()
            self._nodes = [
                (byte, depth, skip, tuple(ids[begin:end]))
                for byte, depth, skip, begin, end in zip(
                    trie.byte.tolist(),
                    trie.depth.tolist(),
                    trie.skip.tolist(),
                    first,
                    first[1:],
                    strict=False,
                )
            ]
        return self._nodes


Kind = TypeVar("Kind")

_EVERY_BYTE = 256


@dataclass(frozen=True, slots=True)
class Checker:
    """A recogniser somebody described."""

    #: One line for people.
    title: str
    source: str
    #: (grammar, vocabulary, limits) → a recogniser.
    make: Callable[[Grammar, Vocabulary, Limits], Recogniser]


def _machine(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Recogniser:
    return OfMachine(automaton(grammar, vocabulary, limits))


def _completions(grammar: Grammar, _: Vocabulary, limits: Limits) -> Recogniser:
    return Completions(grammar, limits)


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
    """The vocabulary put to a checker at every step.

    Raises: WorkbenchError for a name nobody knows, or a grammar the checker does not read;
            VocabularyError where the vocabulary spells no accepted text; LimitError.
    """
    asking = _named("way to go through the vocabulary", how, ASKING)
    asked = _named("checker", checker, CHECKERS)
    refuse_nothing(grammar, vocabulary)
    if checker != "machine" and len(vocabulary.single_bytes) < _EVERY_BYTE:
        automaton(grammar, vocabulary, limits)  # it knows whether any text can be spelt
    recogniser = asked.make(grammar, vocabulary, limits)
    return Online(recogniser, vocabulary, asking, limits)


def _named(what: str, name: str, known: Mapping[str, Kind]) -> Kind:
    if not isinstance(name, str) or name not in known:
        raise WorkbenchError(f"there is no {what} {name!r}", f"choose one of {', '.join(known)}")
    return known[name]
