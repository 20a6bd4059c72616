"""CHECKERS: which recogniser an online method asks, by the name DOMINO's Table 1 has for it.

In come a grammar, a vocabulary and two names, out comes the method's constraint. Where a checker
reads a grammar its mask is the exact one, wherever each byte of the grammar is a token too; else
only "machine" sees that no tokens lead on. The table calls SYNCHROMESH and GCD minimally invasive,
LLAMA.CPP "up to implementation". PICARD, which is not, checks a few tokens: ``decoding.picard``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from workbench.constraint.compile import automaton
from workbench.constraint.online.chart import ChartRecogniser
from workbench.constraint.online.checker import ASKING, Online
from workbench.constraint.online.completions import Completions
from workbench.constraint.online.recogniser import OfMachine, Recogniser
from workbench.constraint.online.stacks import StackRecogniser
from workbench.constraint.outlines.reading import refuse_nothing
from workbench.errors import WorkbenchError
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.vocabulary.vocabulary import Vocabulary

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
