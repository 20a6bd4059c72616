"""llama.cpp's recogniser: grammar elements and sets of stacks.

In comes a grammar; out come its pieces by number, so that a stack of them is a pair of numbers.

In comes a grammar, out comes a recogniser that makes no machine of it: rules are expanded as they
are met, until something that reads a character is on top of every stack.

Source: the grammars of llama.cpp (``llama_grammar_advance_stack``, ``llama_grammar_accept``). As
there left recursion is refused, for expanding it would not end. A regex is read as the rules it
stands for; terminals that say where a regex may not match have no such rules and are refused.
Beurer-Kellner et al. 2024, Table 1: minimally invasive, "up to implementation"; this one keeps to
the exact mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as List
from dataclasses import dataclass

from workbench.base.limits import Limits
from workbench.constraint.methods.outlines import characters_of, not_read, refused, terminal_regex
from workbench.constraint.methods.recogniser import ByCharacters, Range
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import context_free
from workbench.pushdown.cfg import Cfg
from workbench.pushdown.recursion import left_recursive
from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal, Repetition, Sequence
from workbench.syntax.ranges import Ranges, intersection
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Regex,
    Repeat,
)


@dataclass(frozen=True, slots=True)
class Read:
    """One character out of a set, which is not empty."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Call:
    """The rule of that number."""

    rule: int


@dataclass(frozen=True, slots=True)
class All:
    """One piece after the other."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any one of the pieces."""

    options: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copies:
    """From ``low`` to ``high`` copies of a piece; ``high`` is None where there is no end."""

    item: int
    low: int
    high: int | None


Element = Read | Call | All | OneOf | Copies


class Elements:
    """The pieces of a grammar, each once; those that derive no text are left out.

    Raises: WorkbenchError for terminals that are no plain characters.
    """

    def __init__(self, grammar: Grammar) -> None:
        self.each: list[Element] = []
        self._numbers: dict[Element, int] = {}
        self._source = grammar.source
        self._cfg: Cfg | None = None
        #: The piece each rule is.
        self.rules: list[int] = []
        if grammar.regex is not None:
            start = self._of_regex(grammar.regex)
            assert start is not None, "the language of a grammar is not empty"
            self.start = start
        else:
            self._of_rules(grammar)
            self.start = self.rules[self._rule_numbers[grammar.start]]

    def refuse_left_recursion(self) -> None:
        """For recognisers that expand rules before they read.

        Raises: WorkbenchError at the first rule that calls itself before it reads anything.
        """
        if self._cfg is None:
            return
        program = self._cfg.program
        order = program.reached_from(program.names.index(self._cfg.start))
        for rule in sorted(left_recursive(program, order)):
            name = program.names[rule]
            raise refused(
                self._source,
                self._cfg.written[name].span,
                f"left recursion: the rule {name!r} calls itself before it reads anything",
            )

    def number(self, element: Element) -> int:
        """The number of a piece, which may be a new one."""
        known = self._numbers.setdefault(element, len(self.each))
        if known == len(self.each):
            self.each.append(element)
        return known

    def _of_rules(self, grammar: Grammar) -> None:
        assert grammar.tree is not None, "made from the one or the other"
        cfg = context_free(grammar.tree, grammar.start, grammar.limits.begun())
        self._cfg = cfg
        self._rule_numbers = {name: number for number, name in enumerate(cfg.rules)}
        for body in cfg.rules.values():
            self.rules.append(self._of(body))

    def _of(self, node: Expression) -> int:
        match node:
            case Nonterminal(name=name):
                return self.number(Call(self._rule_numbers[name]))
            case Sequence(items=items):
                return self.number(All(tuple(map(self._of, items))))
            case Choice(options=options):
                return self.number(OneOf(tuple(map(self._of, options))))
            case Repetition(item=item, low=low, high=high):
                return self.number(Copies(self._of(item), low, high))
            case terminal:
                number = self._of_regex(terminal_regex(terminal, self._source))
                assert number is not None, "what derives no text is left out of the rules"
                return number

    def _of_regex(self, regex: Regex) -> int | None:
        """A piece of a regex; None where it matches nothing."""
        match regex:
            case Characters() | Bytes():
                ranges = characters_of(regex)
                return self.number(Read(ranges)) if ranges else None
            case Group(part=part):
                return self._of_regex(part)
            case Concat(parts=parts):
                made = self._each_of(parts)
                return self.number(All(made)) if len(made) == len(parts) else None
            case Alternate(options=options):
                made = self._each_of(options)
                return self.number(OneOf(made)) if made else None
            case Repeat(part=part, low=low, high=high):
                item = self._of_regex(part)
                if item is None:
                    return self.number(All(())) if low == 0 else None
                return self.number(Copies(item, low, high))
            case Extension(kind=kind):
                raise not_read(kind)

    def _each_of(self, parts: List[Regex]) -> tuple[int, ...]:
        made = map(self._of_regex, parts)
        return tuple(part for part in made if part is not None)


#: The number of an interned stack; 0 is the empty one.
Stack = int
EMPTY: Stack = 0


class Stacks:
    """What is still to be read, as stacks of elements that share what lies below.

    Raises: LimitError past ``limits.states`` of them.
    """

    def __init__(self, elements: Elements, limits: Limits) -> None:
        self._elements = elements
        self._limits = limits
        self._each: list[tuple[int, Stack]] = [(-1, EMPTY)]
        self._numbers: dict[tuple[int, Stack], Stack] = {}

    def pushed(self, element: int, below: Stack) -> Stack:
        """The stack with an element on another."""
        key = element, below
        number = self._numbers.setdefault(key, len(self._each))
        if number == len(self._each):
            self._limits.check("states", number, "the text is too long for this recogniser")
            self._each.append(key)
        return number

    def top(self, stack: Stack) -> tuple[Element, Stack]:
        """What is read next, and the stack below it; not of the empty one."""
        element, below = self._each[stack]
        return self._elements.each[element], below

    def taken_apart(self, stack: Stack) -> Iterator[Stack]:
        """The stacks that one stands for whose top is put together of others."""
        element, below = self.top(stack)
        match element:
            case OneOf(options=options):
                yield from (self.pushed(option, below) for option in options)
            case All(parts=parts):
                for part in reversed(parts):
                    below = self.pushed(part, below)
                yield below
            case Copies(item=item, low=low, high=high):
                if low == 0:
                    yield below
                if high != 0:
                    rest = Copies(item, max(low - 1, 0), None if high is None else high - 1)
                    yield self.pushed(item, self.pushed(self._elements.number(rest), below))
            case _:
                raise AssertionError("it reads, or calls")


class StackRecogniser(ByCharacters[frozenset[Stack]]):
    """The stacks of a grammar, expanded as they are met.

    Raises: WorkbenchError for left recursion, and for terminals that are no plain characters;
            LimitError past ``limits.configurations`` stacks at once, or ``limits.states`` in all.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._elements = Elements(grammar)
        self._elements.refuse_left_recursion()
        self._stacks = Stacks(self._elements, limits)
        begin = self._stacks.pushed(self._elements.start, EMPTY)
        self.initial = self._expanded([begin]), b""

    def ends(self, whole: frozenset[Stack]) -> bool:
        return EMPTY in whole

    def may_read(self, whole: frozenset[Stack], characters: Range) -> frozenset[Stack] | None:
        return frozenset(s for s in whole if self._reads(s, characters)) or None

    def read(self, whole: frozenset[Stack]) -> frozenset[Stack]:
        return self._expanded(self._stacks.top(stack)[1] for stack in whole)

    def _reads(self, stack: Stack, characters: Range) -> bool:
        """Whether what is on top of a stack reads one of some characters."""
        if stack == EMPTY:
            return False
        top, _ = self._stacks.top(stack)
        assert isinstance(top, Read), "stacks are expanded"
        return bool(intersection(top.ranges, (characters,)))

    def _expanded(self, stacks: Iterable[Stack]) -> frozenset[Stack]:
        """The stacks with something that reads on top, or empty, that some stacks stand for."""
        seen = set(stacks)
        waiting = list(seen)
        found = set()
        while waiting:
            stack = waiting.pop()
            if stack == EMPTY:
                found.add(stack)
                continue
            match self._stacks.top(stack):
                case Read(), _:
                    found.add(stack)
                    continue
                case Call(rule=rule), below:
                    further = {self._stacks.pushed(self._elements.rules[rule], below)}
                case _:
                    further = set(self._stacks.taken_apart(stack))
            waiting.extend(further - seen)
            seen |= further
            self.limits.check("configurations", len(seen), "the grammar is too ambiguous here")
        return frozenset(found)
