"""The constructions of any grammar as films: which there are, for which part, within which limits.

Lessons show them on examples, the page on the grammar in its editor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from workbench.app.lessons.composition_films import composition_film, few_tokens
from workbench.app.lessons.construction_films import (
    CharacterNfa,
    characters_of,
    deterministic,
    minimisation_film,
    subset_film,
)
from workbench.app.lessons.lesson import Film, Given, LessonError
from workbench.app.lessons.regex_films import elimination_film, position_film
from workbench.app.lessons.stack_films import construction_film
from workbench.app.lessons.world import World
from workbench.automata.nfa import Nfa
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.source import Source
from workbench.base.visible_text import shorten
from workbench.grammar.export.as_regex import write_regex
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.machine_text import read_machine
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.tree import Alternate, Concat, Group, Regex, Repeat, walk
from workbench.vocabulary.vocabulary import Vocabulary


class Construction(StrEnum):
    """A construction that turns one machine of a grammar into another."""

    POSITIONS = "positions"
    SUBSETS = "subsets"
    MINIMAL = "minimal"
    REGEX = "regex"
    STACK = "stack"
    TOKENS = "tokens"

    @property
    def heading(self) -> str:
        """What is built, and by which construction."""
        return _HEADINGS[self]

    @property
    def most(self) -> int:
        """The most states of the machine that the film begins with."""
        return _MAX_STATES[self]


_HEADINGS = {
    Construction.POSITIONS: "Regex → NFA: positions",
    Construction.SUBSETS: "NFA → DFA: subset construction",
    Construction.MINIMAL: "DFA → minimal DFA: partition refinement",
    Construction.REGEX: "DFA → regex: state elimination",
    Construction.STACK: "Rules → push-down automaton",
    Construction.TOKENS: "Characters → tokens: composition with a vocabulary",
}

_MAX_STATES = {
    Construction.POSITIONS: 30,
    Construction.SUBSETS: 60,
    Construction.MINIMAL: 40,
    Construction.REGEX: 24,
    Construction.STACK: 60,
    Construction.TOKENS: 24,
}


#: The most states of a machine over bytes whose states between characters are counted.
_MAX_FOLDED = 2_000


def missing_construction(grammar: Grammar, construction: Construction) -> str:
    """Why a grammar has no such construction; empty if it has one."""
    if construction is Construction.STACK:
        return "a regular language needs no stack" if grammar.is_regular else ""
    return "" if grammar.is_regular else "rules that call themselves need a stack"


def construct(
    grammar: Grammar, construction: Construction, vocabulary: Vocabulary | None = None
) -> Film:
    """The film of a construction; ``vocabulary`` is for the composition.

    Raises: WorkbenchError where the grammar has no such construction; LessonError where it reads
            bytes that are no characters; LimitError for a grammar that is too large for a film.
    """
    if why := missing_construction(grammar, construction):
        raise WorkbenchError(why)
    if construction is Construction.TOKENS:
        if vocabulary is None:
            raise WorkbenchError("expected a vocabulary for a composition")
        dfa = _minimal(grammar, construction)
        few, note = few_tokens(dfa, vocabulary)
        return composition_film(dfa, few, _name(grammar), note)
    return _FILMS[construction](grammar)


def constructed(world: World, given: Given, *, construction: str) -> Film:
    """A construction of a lesson's world, by its name.

    Raises: LessonError for an unknown name; as ``construct``.
    """
    if construction not in list(Construction):
        raise LessonError(f"expected one of {', '.join(Construction)}, not {construction!r}")
    vocabulary = world.vocabulary if world.tokens else None
    return construct(world.grammar, Construction(construction), vocabulary)


def _name(grammar: Grammar) -> str:
    text = grammar.source.text.strip()
    if grammar.notation is Notation.MACHINE:
        return "the machine"
    return f"/{shorten(text, 30)}/" if grammar.regex is not None else grammar.start


def regex_of(grammar: Grammar) -> Regex:
    """The regex of a grammar that needs no stack; of rules, one with the same texts.

    Raises: WorkbenchError if a regex of the rules would be too long.
    """
    if grammar.regex is not None:
        return grammar.regex
    return parse_regex(Source(write_regex(grammar), "rules as a regex"))


def nfa_of(grammar: Grammar) -> Nfa:
    """Thompson's automaton of ``regex_of``."""
    return thompson(regex_of(grammar), grammar.limits.begun())


def _positions(grammar: Grammar) -> Film:
    regex = regex_of(grammar)
    name = f"positions of /{shorten(pattern(regex), 40)}/"
    return position_film(regex, name, Construction.POSITIONS.most)


def character_nfa(grammar: Grammar) -> CharacterNfa:
    """The nondeterministic automaton of a grammar; a drawn one has its author's states.

    Raises: LessonError where it reads bytes that are no characters; WorkbenchError as ``nfa_of``.
    """
    if grammar.notation is Notation.MACHINE:
        return CharacterNfa.drawn(read_machine(grammar.source, grammar.limits.clock()))
    return CharacterNfa.of(nfa_of(grammar), f"{_name(grammar)} with choices")


def _subsets(grammar: Grammar) -> Film:
    machine = character_nfa(grammar)
    _check(len(machine.graph.nodes), Construction.SUBSETS)
    return subset_film(machine)


def _minimisation(grammar: Grammar) -> Film:
    machine = character_nfa(grammar)
    return minimisation_film(deterministic(machine, Construction.MINIMAL.most))


def _elimination(grammar: Grammar) -> Film:
    return elimination_film(_minimal(grammar, Construction.REGEX))


def _stack(grammar: Grammar) -> Film:
    _check(len(grammar.rules), Construction.STACK)
    return construction_film(grammar.rules)


_FILMS: dict[Construction, Callable[[Grammar], Film]] = {
    Construction.POSITIONS: _positions,
    Construction.SUBSETS: _subsets,
    Construction.MINIMAL: _minimisation,
    Construction.REGEX: _elimination,
    Construction.STACK: _stack,
}


def _minimal(grammar: Grammar, construction: Construction) -> Dfa:
    dfa = grammar.dfa
    assert dfa is not None, "missing_construction() excludes the others"
    _check_characters(dfa, construction)
    return dfa


def _check_characters(dfa: Dfa, construction: Construction) -> None:
    """Refuse a machine with too many states between two characters."""
    if len(dfa) <= _MAX_FOLDED:
        _check(len(characters_of(dfa).states), construction)
    else:
        _check(len(dfa), construction)


def _check(states: int, construction: Construction) -> None:
    if states > construction.most:
        raise LimitError(
            f"the machine has {states:,} states; the film shows at most {construction.most}",
            "states",
            "choose a smaller part of the grammar",
        )


# -- parts ------------------------------------------------------------------------------------

#: The most parts that are offered.
_MAX_PARTS = 30


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a grammar that is a grammar itself: a rule, or a piece of a regex."""

    #: ``rule:NAME``, or ``piece:FIRST:END`` of the text.
    key: str
    title: str


def parts_of(grammar: Grammar) -> tuple[Part, ...]:
    """The parts of a grammar, the whole left out."""
    if grammar.tree is not None:
        names = dict.fromkeys(rule.name for rule in grammar.tree.rules)
        rules = [Part(f"rule:{name}", name) for name in names if name != grammar.start]
        return tuple(rules[:_MAX_PARTS])
    assert grammar.regex is not None, "a grammar has a regex or a tree"
    return tuple(_pieces(grammar.regex, grammar.source.text))


def _pieces(regex: Regex, text: str) -> Iterator[Part]:
    """The pieces of a regex with several parts, the outer ones first."""
    seen = {text}
    for node in walk(regex):
        if not isinstance(node, Concat | Alternate | Repeat | Group):
            continue
        piece = text[node.span.start : node.span.end]
        if len(piece) > 2 and piece not in seen and len(seen) <= _MAX_PARTS:
            seen.add(piece)
            yield Part(f"piece:{node.span.start}:{node.span.end}", shorten(piece, 40))


def part_of(grammar: Grammar, key: str) -> Grammar:
    """A part by its key; an empty key is the whole grammar.

    Raises: LessonError for an unknown key; ParseError where a piece cannot be read alone.
    """
    if not key:
        return grammar
    if key not in {part.key for part in parts_of(grammar)}:
        raise LessonError("expected a part of the grammar")
    kind, _, rest = key.partition(":")
    if kind == "rule":
        return grammar.with_tree(grammar.tree, rest) if grammar.tree is not None else grammar
    first, _, end = rest.partition(":")
    return Grammar.from_regex(grammar.source.text[int(first) : int(end)], limits=grammar.limits)
