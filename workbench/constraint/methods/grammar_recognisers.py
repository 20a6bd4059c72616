"""llama.cpp's recogniser: grammar elements, and sets of stacks of them.

It builds no automaton. Rules are expanded during recognition, until the top of every stack is an
element that reads a character. Elements and stacks are interned, so a stack is a pair of numbers.

Source: the grammars of llama.cpp (``llama_grammar_advance_stack``, ``llama_grammar_accept``). As in
llama.cpp left recursion is refused, because its expansion does not terminate. A regex is read as
the rules it is equivalent to; terminals with lookaround have no such rules and are refused.
Beurer-Kellner et al. 2024, Table 1: minimally invasive, "up to implementation"; this
implementation's mask is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as List
from dataclasses import dataclass

from workbench.base.limits import Limits
from workbench.constraint.methods.outlines import characters_of, not_read, refused, terminal_regex
from workbench.constraint.methods.recogniser import CharacterRecogniser, Range
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
    Look,
    Regex,
    Repeat,
)


@dataclass(frozen=True, slots=True)
class Read:
    """One character of a non-empty set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Call:
    """A rule, by number."""

    rule: int


@dataclass(frozen=True, slots=True)
class Series:
    """Elements in sequence."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several elements."""

    options: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copies:
    """From ``low`` to ``high`` copies of an element; ``high`` None means unlimited."""

    item: int
    low: int
    high: int | None


Element = Read | Call | Series | OneOf | Copies


class Elements:
    """The elements of a grammar, interned, without those that derive no text.

    Raises: WorkbenchError for terminals that are not plain characters.
    """

    def __init__(self, grammar: Grammar) -> None:
        self.elements: list[Element] = []
        self._ids: dict[Element, int] = {}
        self._source = grammar.source
        self._cfg: Cfg | None = None
        #: The element of each rule.
        self.rules: list[int] = []
        if grammar.regex is not None:
            start = self._of_regex(grammar.regex)
            assert start is not None, "the language is empty"
            self.start = start
        else:
            self._of_rules(grammar)
            self.start = self.rules[self._rule_numbers[grammar.start]]

    def refuse_left_recursion(self) -> None:
        """Check for recognisers that expand rules before they read.

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
        """The number of an element, interned."""
        existing = self._ids.setdefault(element, len(self.elements))
        if existing == len(self.elements):
            self.elements.append(element)
        return existing

    def _of_rules(self, grammar: Grammar) -> None:
        assert grammar.tree is not None, "expected a regex or rules"
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
                return self.number(Series(tuple(map(self._of, items))))
            case Choice(options=options):
                return self.number(OneOf(tuple(map(self._of, options))))
            case Repetition(item=item, low=low, high=high):
                return self.number(Copies(self._of(item), low, high))
            case terminal:
                number = self._of_regex(terminal_regex(terminal, self._source))
                assert number is not None, "rules that derive no text were removed"
                return number

    def _of_regex(self, regex: Regex) -> int | None:
        """The element of a regex; None if it matches nothing."""
        match regex:
            case Characters() | Bytes():
                ranges = characters_of(regex)
                return self.number(Read(ranges)) if ranges else None
            case Group(part=part):
                return self._of_regex(part)
            case Concat(parts=parts):
                numbers = self._each_of(parts)
                return self.number(Series(numbers)) if len(numbers) == len(parts) else None
            case Alternate(options=options):
                numbers = self._each_of(options)
                return self.number(OneOf(numbers)) if numbers else None
            case Repeat(part=part, low=low, high=high):
                item = self._of_regex(part)
                if item is None:
                    return self.number(Series(())) if low == 0 else None
                return self.number(Copies(item, low, high))
            case Extension(kind=kind) | Look(kind=kind):
                raise not_read(kind)

    def _each_of(self, parts: List[Regex]) -> tuple[int, ...]:
        numbers = map(self._of_regex, parts)
        return tuple(part for part in numbers if part is not None)


#: The number of an interned stack; 0 is the empty one.
Stack = int
EMPTY: Stack = 0


class Stacks:
    """Interned stacks of the elements still to be read; stacks share their lower parts.

    Raises: LimitError past ``limits.states`` stacks.
    """

    def __init__(self, elements: Elements, limits: Limits) -> None:
        self._elements = elements
        self._limits = limits
        self._entries: list[tuple[int, Stack]] = [(-1, EMPTY)]
        self._ids: dict[tuple[int, Stack], Stack] = {}

    def pushed(self, element: int, below: Stack) -> Stack:
        """The stack with an element pushed."""
        key = element, below
        number = self._ids.setdefault(key, len(self._entries))
        if number == len(self._entries):
            self._limits.check("states", number, "the text is too long for this recogniser")
            self._entries.append(key)
        return number

    def top(self, stack: Stack) -> tuple[Element, Stack]:
        """The top element and the stack below it; not for the empty stack."""
        element, below = self._entries[stack]
        return self._elements.elements[element], below

    def expansions(self, stack: Stack) -> Iterator[Stack]:
        """The stacks equivalent to one whose top is a composite element, its parts pushed."""
        element, below = self.top(stack)
        match element:
            case OneOf(options=options):
                yield from (self.pushed(option, below) for option in options)
            case Series(parts=parts):
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
                raise AssertionError(f"not a composite element: {element}")


class StackRecogniser(CharacterRecogniser[frozenset[Stack]]):
    """llama.cpp's recogniser: the state is the set of expanded stacks.

    Raises: WorkbenchError for left recursion, and for terminals that are not plain characters;
            LimitError past ``limits.configurations`` stacks in a state, or ``limits.states`` in
            all.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._elements = Elements(grammar)
        self._elements.refuse_left_recursion()
        self._stacks = Stacks(self._elements, limits)
        begin = self._stacks.pushed(self._elements.start, EMPTY)
        self.initial = self._expand([begin]), b""

    def accepts(self, progress: frozenset[Stack]) -> bool:
        return EMPTY in progress

    def may_read(self, progress: frozenset[Stack], characters: Range) -> frozenset[Stack] | None:
        return frozenset(s for s in progress if self._reads(s, characters)) or None

    def read(self, progress: frozenset[Stack]) -> frozenset[Stack]:
        return self._expand(self._stacks.top(stack)[1] for stack in progress)

    def _reads(self, stack: Stack, characters: Range) -> bool:
        """Whether the top of a stack reads a character of a range."""
        if stack == EMPTY:
            return False
        top, _ = self._stacks.top(stack)
        assert isinstance(top, Read), "stacks are expanded"
        return bool(intersection(top.ranges, (characters,)))

    def _expand(self, stacks: Iterable[Stack]) -> frozenset[Stack]:
        """Expand stacks until each is empty or has a ``Read`` on top."""
        seen = set(stacks)
        queue = list(seen)
        expanded = set()
        while queue:
            stack = queue.pop()
            if stack == EMPTY:
                expanded.add(stack)
                continue
            match self._stacks.top(stack):
                case Read(), _:
                    expanded.add(stack)
                    continue
                case Call(rule=rule), below:
                    new_stacks = {self._stacks.pushed(self._elements.rules[rule], below)}
                case _:
                    new_stacks = set(self._stacks.expansions(stack))
            queue.extend(new_stacks - seen)
            seen |= new_stacks
            self.limits.check("configurations", len(seen), "the grammar is too ambiguous here")
        return frozenset(expanded)
