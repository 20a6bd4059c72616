"""Conditions on how an answer to an exercise is written: "without |", "at most 4 states".

A condition has a kind of ``CONDITIONS`` and, where the kind counts something, a number. It reads
the tree or the machine of a grammar as written, not its language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.analysis.ambiguity import ambiguity
from workbench.automata.drawn_machine import facts_of, listed
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import Limits
from workbench.base.visible_text import count_of
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import context_free
from workbench.syntax.grammar_tree import Choice, Pattern, Repetition
from workbench.syntax.machine_text import DrawnMachine, read_machine
from workbench.syntax.regex.tree import Alternate, Characters, Look, Repeat, asserted, walk

#: The most seconds of the search for an ambiguous text.
_AMBIGUITY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Condition:
    """What an answer must satisfy besides the language.

    Raises: WorkbenchError for an unknown kind, and where the number is missing or not positive.
    """

    #: A key of ``CONDITIONS``.
    kind: str
    #: The most states, rules or characters; 0 for a kind that counts nothing.
    most: int = 0

    def __post_init__(self) -> None:
        if self.kind not in CONDITIONS:
            raise WorkbenchError(
                f"there is no condition {self.kind!r}", f"there are {', '.join(CONDITIONS)}"
            )
        if CONDITIONS[self.kind].counts != (self.most > 0) or self.most < 0:
            wanted = "a number from 1" if CONDITIONS[self.kind].counts else "true"
            raise WorkbenchError(f"expected {wanted} as the condition {self.kind!r}")

    def __str__(self) -> str:
        return CONDITIONS[self.kind].words.format(most=self.most)

    def unmet(self, grammar: Grammar) -> str:
        """Why a grammar does not satisfy the condition, as a sentence; empty if it does."""
        return CONDITIONS[self.kind].unmet(grammar, self.most)

    @property
    def setting(self) -> int | bool:
        """Its value in a file: the number, or true."""
        return self.most or True


def conditions_of(settings: Mapping[str, Any]) -> tuple[Condition, ...]:
    """The conditions of a table such as ``{no_alternation = true, states = 4}``.

    Raises: WorkbenchError for an unknown kind, and for a wrong value.
    """
    conditions = []
    for kind, value in settings.items():
        if value is True:
            conditions.append(Condition(kind))
        elif type(value) is int:
            if value < 1:
                raise WorkbenchError(f"expected a number from 1 as the condition {kind!r}")
            conditions.append(Condition(kind, value))
        elif value is not False:
            raise WorkbenchError(f"expected a number or true as the condition {kind!r}")
    return tuple(conditions)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of condition: its words, whether it counts, and its test."""

    #: ``{most}`` is the number.
    words: str
    counts: bool
    #: (grammar, number) → why it is not satisfied, or empty.
    unmet: Callable[[Grammar, int], str]


def _nodes(grammar: Grammar) -> Iterator[object]:
    """Every node of a grammar as written, of the regexes in its rules too."""
    roots: list[Any] = [] if grammar.regex is None else [grammar.regex]
    if grammar.tree is not None:
        roots += [rule.body for rule in grammar.tree.rules]
    while roots:
        for node in walk(roots.pop()):
            yield node
            if isinstance(node, Pattern):
                roots.append(node.regex)
            elif (inside := asserted(node)) is not None:
                roots.append(inside)


def _without(kinds: tuple[type, ...], what: str, grammar: Grammar, _: int) -> str:
    return f"it has {what}" if any(isinstance(node, kinds) for node in _nodes(grammar)) else ""


def _without_sets(grammar: Grammar, _: int) -> str:
    """Sets of several characters; one character is a set too."""
    several = any(
        isinstance(node, Characters) and sum(high - low + 1 for low, high in node.ranges) > 1
        for node in _nodes(grammar)
    )
    return "it has a set of characters" if several else ""


def _stack(grammar: Grammar, _: int) -> str:
    return "its rules need no stack: they are a finite automaton" if grammar.is_regular else ""


def _characters(grammar: Grammar, most: int) -> str:
    length = len(grammar.source.text.strip())
    return f"it has {count_of(length, 'character')}" if length > most else ""


def _rules(grammar: Grammar, most: int) -> str:
    count = 1 if grammar.tree is None else len(grammar.tree.rules)
    return f"it has {count_of(count, 'rule')}" if count > most else ""


def _unambiguous(grammar: Grammar, _: int) -> str:
    """An ambiguous text, if one is found in time; no text of few pieces is left out."""
    if grammar.tree is None:
        return ""
    limits: Limits = grammar.limits.per_stage(_AMBIGUITY_SECONDS)
    try:
        cfg = context_free(grammar.tree, grammar.start, grammar.limits.begun(), phrases=True)
        example = ambiguity(cfg, grammar.rules, limits.begun()).found
    except LimitError:
        return "its rules are too large to search them for an ambiguous text"
    return "" if example is None else example.message


def drawn(grammar: Grammar) -> DrawnMachine | None:
    """The machine as its author drew it; None for another notation."""
    return read_machine(grammar.source) if grammar.notation is Notation.MACHINE else None


def _of_machine(test: Callable[[DrawnMachine, int], str]) -> Callable[[Grammar, int], str]:
    """A condition on the states and edges of a drawn machine."""

    def unmet(grammar: Grammar, most: int) -> str:
        machine = drawn(grammar)
        if machine is None:
            return f"it is {grammar.notation.label}, not a drawn machine"
        return test(machine, most)

    return unmet


def _states(machine: DrawnMachine, most: int) -> str:
    count = len(machine.states)
    return f"it has {count_of(count, 'state')}" if count > most else ""


def _deterministic(machine: DrawnMachine, _: int) -> str:
    facts = facts_of(machine)
    if facts.choices:
        first = facts.choices[0]
        return f"state {first.state} reads {listed(first.characters)} in two ways"
    if facts.empty_items:
        return "it has an edge that may read nothing"
    if facts.initials > 1:
        return f"it has {facts.initials} initial states"
    return "it has a label longer than a character" if facts.long_items else ""


def _complete(machine: DrawnMachine, _: int) -> str:
    lacking = facts_of(machine).lacking
    return f"state {lacking[0]} has no edge for {listed(lacking[1])}" if lacking else ""


def _single_characters(machine: DrawnMachine, _: int) -> str:
    for edge in machine.edges:
        for item in edge.items:
            if item.regex is not None and not isinstance(item.regex, Characters):
                return f"the label {item.text} from {edge.source} is a regex"
    return ""


#: Name in files and links → the condition.
CONDITIONS: dict[str, _Kind] = {
    "deterministic": _Kind("deterministic", False, _of_machine(_deterministic)),
    "complete": _Kind("complete", False, _of_machine(_complete)),
    "single_characters": _Kind(
        "labels are characters or sets", False, _of_machine(_single_characters)
    ),
    "states": _Kind("at most {most} states", True, _of_machine(_states)),
    "no_alternation": _Kind(
        "without |", False, partial(_without, (Alternate, Choice), "an alternative")
    ),
    "no_repetition": _Kind(
        "without repetition", False, partial(_without, (Repeat, Repetition), "a repetition")
    ),
    "no_sets": _Kind("without sets such as [ab]", False, _without_sets),
    "no_lookaround": _Kind(
        "without lookaround and \\b", False, partial(_without, (Look,), "an assertion")
    ),
    "stack": _Kind("rules that need a stack", False, _stack),
    "unambiguous": _Kind("no text can be read in two ways", False, _unambiguous),
    "characters": _Kind("at most {most} characters", True, _characters),
    "rules": _Kind("at most {most} rules", True, _rules),
}
