"""The method ``lalr``: Outlines' guide for grammars, terminal by terminal.

A mask is the union of the mask rows of the terminals that lark's interactive parser accepts
(Willard & Louf 2023, the extension to LALR(1)). It is sound: a token is allowed only if it stays
inside a terminal that has begun, or begins a terminal that the parser accepts, and the terminal can
be completed. It is incomplete, as Outlines was (Koo et al. 2024, §4.2 and A.1): a token that
crosses from one terminal into the next is never allowed. With single-byte tokens no text is lost.

lark reads no text here. It builds the LALR(1) tables and refuses conflicts; its
``InteractiveParser`` returns which terminals a stack accepts and the stack after each, as in
Outlines' guide. The rules are passed as objects, because lark's own notation expands choices (2ⁿ
for n optional parts); and the construction of the tables can be interrupted only from inside.

lark's lexer would take the longest match. Here a text has every segmentation into terminals that
the grammar allows: the state is a set of configurations, one for each segmentation.
"""

from __future__ import annotations

import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from collections.abc import Sequence as List
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from lark.common import ParserConf
from lark.exceptions import GrammarError, UnexpectedToken
from lark.grammar import NonTerminal, Rule, Symbol, Terminal
from lark.lexer import LexerThread, Token
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift
from lark.parsers.lalr_interactive_parser import InteractiveParser
from lark.parsers.lalr_parser_state import ParseConf, ParserState

from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
from workbench.constraint.engine.automaton import DfaConstraint
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.masks import TokenMask, set_bits
from workbench.constraint.methods.domino.scanner import Terminals, terminals_of
from workbench.constraint.methods.recogniser import forced
from workbench.constraint.token_by_token import TokenByToken
from workbench.constraint.token_machine import CachedMasks
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)
from workbench.syntax.grammar_tree import Repetition as Repeated
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The parser's stack: states of lark's tables, the start state first.
Stack = tuple[int, ...]

#: lark's name of the end of the text.
END = "$END"

#: The most alternatives in the expansion of one sequence; parts become separate rules above it.
_MAX_ALTERNATIVES = 32

_START = "r0"


#: In a table of actions: the end of the text, in the place of a terminal.
END_OF_TEXT = -1


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction: the number of states it pops, and the nonterminal it then reads."""

    size: int
    nonterminal: str


@dataclass(frozen=True, eq=False)
class LrTable:
    """lark's tables by the numbers of terminals, for methods that read them without a stack.

    ``initial`` is the first state of every stack; ``end`` the state after the whole text, which is
    the target of ``END_OF_TEXT``.
    """

    #: By state and terminal: the state to push, or the reduction before it.
    actions: Mapping[int, Mapping[int, int | Reduction]]
    #: By state and nonterminal: the state to push after a reduction.
    gotos: Mapping[int, Mapping[str, int]]
    initial: int
    end: int

    @staticmethod
    def of(parse_table: Any) -> LrTable:  # noqa: ANN401  # lark's
        """The table of one start rule."""
        actions: dict[int, dict[int, int | Reduction]] = {}
        gotos: dict[int, dict[str, int]] = {}
        for state, row in parse_table.states.items():
            actions[state], gotos[state] = {}, {}
            for name, (action, argument) in row.items():
                if name != END and not name.startswith("T"):
                    gotos[state][name] = argument
                    continue
                terminal = END_OF_TEXT if name == END else int(name[1:])
                actions[state][terminal] = (
                    argument
                    if action is Shift
                    else Reduction(len(argument.expansion), argument.origin.name)
                )
        (initial,) = parse_table.start_states.values()
        (end,) = parse_table.end_states.values()
        return LrTable(actions, gotos, initial, end)

    @cached_property
    def predecessors(self) -> Mapping[int, tuple[int, ...]]:
        """For each state those below it on a stack."""
        below: dict[int, set[int]] = {state: set() for state in self.actions}
        for state, row in self.actions.items():
            for target in (*row.values(), *self.gotos[state].values()):
                if isinstance(target, int):
                    below[target].add(state)
        return {state: tuple(sorted(states)) for state, states in below.items()}


class Parser:
    """The LALR(1) parser of rules over terminals, by number; its stacks are plain tuples.

    With ``strict``, shift/reduce conflicts are refused. Without it lark shifts, its default: then
    some texts of the grammar are lost, and there may be stacks that accept nothing.

    Raises: WorkbenchError where the rules are not LALR(1), with lark's reason; LimitError.
    """

    def __init__(self, terminals: Terminals, limits: Limits, *, strict: bool = True) -> None:
        rules = RuleWriter(terminals)
        try:
            with time_budget(limits.seconds):
                analysis: Any = LALR_Analyzer(ParserConf(rules.rules, {}, [_START]), strict=strict)
                analysis.compute_lalr()
        except RecursionError:
            raise _too_many_rules() from None
        except GrammarError as error:
            raise WorkbenchError(
                f"the grammar is not LALR(1): {rules.with_grammar_names(str(error))}",
                "choose the method 'automaton', which reads every context-free grammar",
            ) from None
        self._conf: ParseConf[int] = ParseConf(analysis.parse_table, {}, _START)
        self._limits = limits
        self.initial: Stack = (self._conf.start_state,)
        self.table = LrTable.of(self._conf.parse_table)
        #: The names of the nonterminals, by number.
        self.names = rules.names
        self.accepts = lru_cache(maxsize=limits.rows)(self._accepts)
        self.shifted = lru_cache(maxsize=limits.rows)(self._shift)

    def _at(self, stack: Stack) -> Any:  # noqa: ANN401  # lark's has few types
        """lark's interactive parser with a given stack."""
        nothing = LexerThread(None, None)  # type: ignore[arg-type]  # it never reads
        values = [None] * (len(stack) - 1)
        state = ParserState(self._conf, nothing, list(stack), values)
        return InteractiveParser(None, state, nothing)

    def _accepts(self, stack: Stack) -> tuple[tuple[int, ...], bool]:
        """The terminals that may come next, and whether the text may end."""
        names = self._at(stack).accepts()
        return tuple(sorted(int(name[1:]) for name in names - {END})), END in names

    def _shift(self, stack: Stack, terminal: int) -> Stack | None:
        """The stack after a terminal; None if it is not accepted.

        Raises: LimitError past ``limits.stack_depth``.
        """
        parser = self._at(stack)
        try:
            parser.feed_token(Token(f"T{terminal}", ""))
        except UnexpectedToken:
            return None
        target = tuple(parser.parser_state.state_stack)
        self._limits.check("stack_depth", len(target), "the text nests too deeply")
        return target


class _TimedRule(Rule):
    """A rule that checks the budget when lark reads it, in every loop of its construction.

    Rules are compared by identity, and have a number as their hash: those of lark compare their
    symbols.
    """

    __slots__ = ("_symbols", "number")

    def __init__(self, number: int, origin: NonTerminal, symbols: List[Symbol]) -> None:
        self.number = number
        super().__init__(origin, symbols)

    @property
    def expansion(self) -> List[Symbol]:
        """The symbols that the rule derives."""
        check_time_budget()
        return self._symbols

    @expansion.setter
    def expansion(self, symbols: List[Symbol]) -> None:
        self._symbols = symbols

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        check_time_budget()
        return self.number


def _too_many_rules() -> LimitError:
    return LimitError(
        "the grammar has too many rules for LALR(1) tables",
        "states",
        "choose the method 'automaton'",
    )


class RuleWriter:
    """Writes a grammar tree over terminal codes as lark's rules, the start rule first."""

    def __init__(self, terminals: Terminals) -> None:
        self._terminals = terminals
        self.rules: list[Rule] = []
        self._helpers: dict[int, NonTerminal] = {}
        bodies = {rule.name: rule.body for rule in terminals.tree.rules}
        self._numbers = {
            name: number
            for number, name in enumerate(sorted(bodies, key=lambda name: name != terminals.start))
        }
        self._names = list(self._numbers)
        for name, body in bodies.items():
            self._add(self._nonterminal(self._numbers[name]), self._alternatives(body))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nonterminals, by number; the start rule's is the first."""
        return tuple(self._names)

    def with_grammar_names(self, message: str) -> str:
        """A message of lark in one line, with the grammar's names of terminals and rules."""

        def name(match: re.Match[str]) -> str:
            number = int(match[2])
            return self._terminals.each[number].name if match[1] == "T" else self._names[number]

        message = re.sub(r"\b([Tr])(\d+)\b", name, message.replace("[strict-mode]", ""))
        return " ".join(message.split())

    def _nonterminal(self, number: int) -> NonTerminal:
        return NonTerminal(f"r{number}")

    def _add(self, origin: NonTerminal, alternatives: list[tuple[Symbol, ...]]) -> None:
        for symbols in dict.fromkeys(alternatives):
            self.rules.append(_TimedRule(len(self.rules), origin, symbols))

    def _helper(self, name: str) -> NonTerminal:
        """A new nonterminal for a part of a rule."""
        self._names.append(name)
        return self._nonterminal(len(self._names) - 1)

    def _alternatives(self, node: Expression) -> list[tuple[Symbol, ...]]:
        match node:
            case Literal(value=code):
                return [(Terminal(f"T{int.from_bytes(code, 'big')}"),)]
            case Nonterminal(name=name):
                return [(self._nonterminal(self._numbers[name]),)]
            case Choice(options=options):
                return [symbols for option in options for symbols in self._alternatives(option)]
            case Sequence(items=items):
                parts = [self._alternatives(item) for item in items]
                if prod(map(len, parts)) > _MAX_ALTERNATIVES:
                    parts = [self._as_one(part) for part in parts]
                return [tuple(s for part in parts for s in part) for parts in product(*parts)]
            case Repeated(item=item, low=low, high=high):
                return list(self._repeat(item, low, high))
        raise AssertionError(f"expected terminals as literals, not {node}")

    def _as_one(self, alternatives: list[tuple[Symbol, ...]]) -> list[tuple[Symbol, ...]]:
        """Several alternatives as one, by a helper rule."""
        if len(alternatives) == 1:
            return alternatives
        helper = self._helper("a choice")
        self._add(helper, alternatives)
        return [(helper,)]

    def _repeat(self, item: Expression, low: int, high: int | None) -> Iterator[tuple[Symbol, ...]]:
        """``low`` to ``high`` copies; an unlimited number by left recursion, for a low stack."""
        copies = self._alternatives(item)
        if (low, high) == (0, 1):
            yield ()
            yield from copies
            return
        (copy,) = self._as_one(copies)
        if high is not None:
            yield from (copy * count for count in range(low, high + 1))
            return
        loop = self._helpers.get(id(item))
        if loop is None:
            loop = self._helpers[id(item)] = self._helper("a repetition")
            self._add(loop, [copy, (loop, *copy)])
        if low == 0:
            yield ()
        yield (*copy * (low - 1), loop)


#: The parser's stack before a terminal, the terminal, and the state of its automaton.
Configuration = tuple[Stack, int, State]

#: The configurations after a text, one for each segmentation into terminals.
Reading = frozenset[Configuration]

#: In a configuration: no terminal has begun.
NO_TERMINAL = -1


def refuse_empty_language(grammar: Grammar, vocabulary: Vocabulary) -> None:
    """Check that a grammar accepts some text, for methods that use only its terminals and rules.

    Raises: VocabularyError for a grammar of the empty language, as every method does.
    """
    if not isinstance(grammar.reader, Network) and grammar.reader.is_empty:
        raise cannot_spell(vocabulary)


class Reader:
    """Runs the parser over the automata of its terminals, byte by byte.

    A terminal begins only where the parser accepts it, and the stack of an LALR(1) parser is always
    a viable prefix. So every configuration is co-accessible for the grammar, and for the parser
    unless a conflict was resolved.
    """

    def __init__(self, terminals: Terminals, limits: Limits, *, strict: bool = True) -> None:
        self.terminals = terminals
        self.parser = Parser(terminals, limits, strict=strict)
        self.limits = limits
        self._machines = [terminal.dfa for terminal in terminals.each]
        self._has_steps = [(dfa.table != DEAD).any(axis=1).tolist() for dfa in self._machines]
        #: By byte: the terminals that can begin with it.
        self._starting: tuple[set[int], ...] = tuple(set() for _ in range(256))
        for terminal, dfa in enumerate(self._machines):
            for byte in np.flatnonzero(dfa.table[dfa.initial, dfa.classes] != DEAD).tolist():
                self._starting[byte].add(terminal)
        self.initial: Reading = frozenset({(self.parser.initial, NO_TERMINAL, 0)})

    def after_terminals(self, reading: Reading) -> Iterator[Stack]:
        """The stacks of the configurations in which the last terminal is complete, after it."""
        for stack, terminal, state in reading:
            if terminal == NO_TERMINAL:
                yield stack
            elif self._machines[terminal].is_final(state):
                shifted = self.parser.shifted(stack, terminal)
                assert shifted is not None, "a terminal that is not accepted has begun"
                yield shifted

    def configurations(self, reading: Reading) -> Iterator[Configuration]:
        """The terminals that may continue, and those that may begin, in their initial states."""
        yield from self._unfinished(reading)
        for stack in self.after_terminals(reading):
            for terminal in self.parser.accepts(stack)[0]:
                yield stack, terminal, self._machines[terminal].initial

    def _unfinished(self, reading: Reading) -> Iterator[Configuration]:
        """The terminals that have begun and may continue."""
        for stack, terminal, state in reading:
            if terminal != NO_TERMINAL and self._has_steps[terminal][state]:
                yield stack, terminal, state

    def is_final(self, reading: Reading) -> bool:
        """Whether the text read is accepted."""
        return any(self.parser.accepts(stack)[1] for stack in self.after_terminals(reading))

    def advanced(
        self, configurations: Iterable[Configuration], step: Callable[[int, State], State]
    ) -> Reading | None:
        """The configurations after a step inside the terminal of each; None if there are none.

        Raises: LimitError past ``limits.configurations``.
        """
        target = set()
        for stack, terminal, state in configurations:
            target_state = step(terminal, state)
            if target_state != DEAD:
                target.add((stack, terminal, target_state))
        self.limits.check(
            "configurations", len(target), "the text has too many divisions into terminals"
        )
        return frozenset(target) or None

    def step(self, reading: Reading, byte: int) -> Reading | None:
        """The configurations after one more byte, which may begin or continue a terminal."""
        machines = self._machines
        started = (
            configuration
            for stack in self.after_terminals(reading)
            for configuration in self._starting_with(stack, byte)
        )
        configurations = chain(self._unfinished(reading), started)
        return self.advanced(
            configurations, lambda terminal, state: machines[terminal].step(state, byte)
        )

    def _starting_with(self, stack: Stack, byte: int) -> Iterator[Configuration]:
        """The terminals that may begin with a byte, found without a loop over all terminals."""
        for terminal in sorted(self._starting[byte].intersection(self.parser.accepts(stack)[0])):
            yield stack, terminal, self._machines[terminal].initial


class ReadingConstraint(CachedMasks, TokenByToken[Reading]):
    """Base of methods over terminals and an LALR(1) parser: a state is all readings of the text."""

    reader: Reader

    @property
    def initial(self) -> Reading:
        return self.reader.initial

    @abstractmethod
    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        """The tokens with bytes that may come next, packed; a new array."""

    def _mask(self, state: Reading) -> TokenMask:
        with time_budget(self.limits.seconds):
            bits = self.allowed(state)
        set_bits(bits, self.vocabulary.ends, allowed=self.is_final(state))
        return TokenMask(bits, len(self.vocabulary))

    def is_final(self, state: Reading) -> bool:
        return self.reader.is_final(state)

    def forced(self, state: Reading, most: int = sys.maxsize) -> bytes:
        return forced(self.reader, state, most, self.limits.clock())


class LalrConstraint(ReadingConstraint):
    """A grammar by its terminals; a state is the set of all segmentations of the text into them.

    ``conflicts`` is ``refuse``, or ``shift``, the default of lark and Outlines. With ``shift`` a
    mask may become empty before the end, where the text would have needed the reduction.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); VocabularyError where no
            accepted text can be tokenized with tokens inside terminals; LimitError.
    """

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary,
        limits: Limits = LIMITS,
        *,
        conflicts: str = "refuse",
    ) -> None:
        refuse_empty_language(grammar, vocabulary)
        work = limits.begun()
        terminals = terminals_of(grammar, work)
        self.vocabulary, self.limits = vocabulary, limits
        self._rows = [_rows(terminal.dfa, vocabulary, limits) for terminal in terminals.each]
        unusable = {terminals.code(i) for i, rows in enumerate(self._rows) if rows is None}
        if unusable:
            terminals = _without(terminals, unusable, vocabulary)
        self.reader = Reader(terminals, work, strict=conflicts == "refuse")

    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        """The tokens of the terminals; also end tokens where a terminal may end."""
        bits = np.zeros((len(self.vocabulary) + 31) // 32, np.uint32)
        for terminal, inner in {last[1:] for last in self.reader.configurations(reading)}:
            bits |= self._rows_of(terminal).mask(inner).bits
        return bits

    def target(self, state: Reading, token_id: TokenId) -> Reading | None:
        """The configurations after a token, which must stay inside one terminal."""
        token = self.bytes_of(token_id)
        if token is None:
            return None

        def step(terminal: int, state: int) -> int:
            rows = self._rows_of(terminal)
            target = rows.step_bytes(state, token)
            return target if target is not None and rows.is_coaccessible(target) else DEAD

        return self.reader.advanced(self.reader.configurations(state), step)

    def _rows_of(self, terminal: int) -> DfaConstraint:
        rows = self._rows[terminal]
        assert rows is not None, "a terminal that cannot be tokenized was not removed"
        return rows


def _rows(dfa: Dfa, vocabulary: Vocabulary, limits: Limits) -> DfaConstraint | None:
    """The mask rows of a terminal; None if it cannot be tokenized."""
    try:
        return DfaConstraint(dfa, vocabulary, limits)
    except VocabularyError:
        return None


def _without(terminals: Terminals, unusable: Set[bytes], vocabulary: Vocabulary) -> Terminals:
    """The rules without alternatives that need a terminal that cannot be tokenized.

    Raises: VocabularyError where the start rule does not remain.
    """
    bodies = {rule.name: rule.body for rule in terminals.tree.rules}
    usable: dict[str, Expression] = {}
    while True:
        kept = {
            name: part
            for name, body in bodies.items()
            if (part := _usable(body, usable.keys(), unusable)) is not None
        }
        if kept.keys() == usable.keys():
            break
        usable = kept
    if terminals.start not in kept:
        raise cannot_spell(vocabulary)
    rules = (replace(r, body=kept[r.name]) for r in terminals.tree.rules if r.name in kept)
    return replace(terminals, tree=replace(terminals.tree, rules=tuple(rules)))


def _usable(node: Expression, usable: Set[str], unusable: Set[bytes]) -> Expression | None:
    """The part of an expression that can be tokenized, given the rules that can; or None."""
    match node:
        case Literal(value=code):
            return None if code in unusable else node
        case Nonterminal(name=name):
            return node if name in usable else None
        case Choice(options=options):
            kept = [p for option in options if (p := _usable(option, usable, unusable)) is not None]
            return Choice(tuple(kept), node.span) if len(kept) > 1 else next(iter(kept), None)
        case Sequence(items=items):
            parts = [p for item in items if (p := _usable(item, usable, unusable)) is not None]
            return Sequence(tuple(parts), node.span) if len(parts) == len(items) else None
        case Repetition(item=item, low=low):
            part = _usable(item, usable, unusable)
            if part is None:
                return Sequence((), node.span) if low == 0 else None
            return replace(node, item=part)
    raise AssertionError(f"expected terminals as literals, not {node}")
