"""The method ``lalr``: Outlines' guide for grammars, terminal by terminal.

lark reads no text here. It makes the LALR(1) tables, refuses what has conflicts, and its
``InteractiveParser`` says which terminals a stack accepts and where each leads, as in Outlines'
guide for grammars. The rules are handed over as objects: lark's own notation multiplies choices out
(2ⁿ for n optional parts), and making its tables can be stopped only from within.

In come a grammar's terminals; out come sets of configurations. lark's lexer would take the longest
match and go on from there. A text is here what the grammar says it is, however it is cut, so every
cut is kept, and a configuration stands for each.

In come a grammar and a vocabulary, out comes a constraint whose mask is the union of the rows of
the terminals lark's interactive parser accepts (Willard & Louf 2023, the extension to LALR(1)).

Sound: a token is allowed only where it goes on inside a terminal that is being read, or begins one
that the parser accepts, and either can be finished. Incomplete, as Outlines was (Koo et al. 2024,
§4.2 and A.1): a token that crosses from one terminal into the next is never allowed. With single
bytes alone nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from functools import lru_cache
from itertools import chain, product
from math import prod
from typing import Any

import numpy as np
from lark.common import ParserConf
from lark.exceptions import GrammarError, UnexpectedToken
from lark.grammar import NonTerminal, Rule, Symbol, Terminal
from lark.lexer import LexerThread, Token
from lark.parsers.lalr_analysis import LALR_Analyzer
from lark.parsers.lalr_interactive_parser import InteractiveParser
from lark.parsers.lalr_parser_state import ParseConf, ParserState

from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.constraint.engine.automaton import DfaConstraint
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.mask import TokenMask
from workbench.constraint.methods.domino.scanner import Terminals, terminals_of
from workbench.constraint.methods.recogniser import forced
from workbench.constraint.token_machines import TokenByToken
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

#: The states of lark's tables on the parser's stack, the start's first.
Stack = tuple[int, ...]

#: What lark calls the end of the text.
END = "$END"

#: More alternatives than this in one rule are given rules of their own.
_MANY = 32
#: Steps of lark's look-ahead computation that may be asked of it: a loop of its own, which nothing
#: can stop, of 0.2 to 9 µs a step. The C of DOMINO's appendix C needs 7,540.
_STEPS = 200_000

_START = "r0"


class Parser:
    """The LALR(1) parser of some rules over terminals, by number; its stacks are plain tuples.

    With ``strict`` rules that leave a choice between shift and reduce are refused. Without, lark
    shifts, as it does where nobody asks: then some texts of the grammar are lost, and a stack may
    be met that accepts nothing.

    Raises: WorkbenchError where the rules are not LALR(1), with lark's reason; LimitError.
    """

    def __init__(self, terminals: Terminals, limits: Limits, *, strict: bool = True) -> None:
        rules = _Rules(terminals)
        clock = limits.clock()
        conf = ParserConf(_Watched(rules.written, clock), {}, [_START])
        try:
            analysis: Any = _Analysis(conf, clock, strict=strict)
            analysis.compute_lalr()
        except RecursionError:
            raise _too_many_rules() from None
        except GrammarError as error:
            raise WorkbenchError(
                f"the grammar is not LALR(1): {rules.in_the_authors_names(str(error))}",
                "choose the method 'automaton', which reads every context-free grammar",
            ) from None
        self._conf: ParseConf[int] = ParseConf(analysis.parse_table, {}, _START)
        self._limits = limits
        self.initial: Stack = (self._conf.start_state,)
        self.accepts = lru_cache(maxsize=limits.rows)(self._accepts)
        self.shifted = lru_cache(maxsize=limits.rows)(self._shifted)

    def _at(self, stack: Stack) -> Any:  # noqa: ANN401  # lark's has few types
        """lark's interactive parser, standing at a stack."""
        nothing = LexerThread(None, None)  # type: ignore[arg-type]  # it is never asked to read
        values = [None] * (len(stack) - 1)
        state = ParserState(self._conf, nothing, list(stack), values)
        return InteractiveParser(None, state, nothing)

    def _accepts(self, stack: Stack) -> tuple[tuple[int, ...], bool]:
        """The terminals that may come next, and whether the text may end."""
        names = self._at(stack).accepts()
        return tuple(sorted(int(name[1:]) for name in names - {END})), END in names

    def _shifted(self, stack: Stack, terminal: int) -> Stack | None:
        """The stack after a terminal; None where it does not accept it.

        Raises: LimitError past ``limits.stack_depth``.
        """
        parser = self._at(stack)
        try:
            parser.feed_token(Token(f"T{terminal}", ""))
        except UnexpectedToken:
            return None
        there = tuple(parser.parser_state.state_stack)
        self._limits.check("stack_depth", len(there), "the text nests too deeply")
        return there


class _Analysis(LALR_Analyzer):
    """lark's construction, which looks at the clock where it grows."""

    def __init__(self, conf: ParserConf, clock: Clock, *, strict: bool) -> None:
        self._clock = clock
        super().__init__(conf, strict=strict)

    def expand_rule(self, *asked: Any) -> Any:  # noqa: ANN401  # lark's own, which is asked often
        self._clock.check()
        return super().expand_rule(*asked)

    def compute_includes_lookback(self) -> None:
        if sum(len(state.closure) for state, _ in self.nonterminal_transitions) > _STEPS:
            raise _too_many_rules()
        made: Any = super()
        made.compute_includes_lookback()
        self._clock.check()


class _Watched(list[Rule]):
    """Rules that look at the clock as they are read: lark reads them all again and again."""

    def __init__(self, rules: Iterable[Rule], clock: Clock) -> None:
        super().__init__(rules)
        self._clock = clock

    def __add__(self, more: Iterable[Any]) -> _Watched:  # type: ignore[override]
        return _Watched((*self, *more), self._clock)

    def __iter__(self) -> Iterator[Rule]:
        for rule in super().__iter__():
            self._clock.check()
            yield rule


def _too_many_rules() -> LimitError:
    return LimitError(
        "the grammar has too many rules to make LALR(1) tables of it",
        "states",
        "choose the method 'automaton'",
    )


class _Rules:
    """A grammar tree over codes as plain alternatives, the start's rule first."""

    def __init__(self, terminals: Terminals) -> None:
        self._terminals = terminals
        self.written: list[Rule] = []
        self._helpers: dict[int, NonTerminal] = {}
        bodies = {rule.name: rule.body for rule in terminals.tree.rules}
        self._numbers = {
            name: number
            for number, name in enumerate(sorted(bodies, key=lambda name: name != terminals.start))
        }
        self._names = list(self._numbers)
        for name, body in bodies.items():
            self._add(self._nonterminal(self._numbers[name]), self._alternatives(body))

    def in_the_authors_names(self, told: str) -> str:
        """A message of lark's in one line, with the names of the grammar."""

        def name(match: re.Match[str]) -> str:
            number = int(match[2])
            return self._terminals.each[number].name if match[1] == "T" else self._names[number]

        told = re.sub(r"\b([Tr])(\d+)\b", name, told.replace("[strict-mode]", ""))
        return " ".join(told.split())

    def _nonterminal(self, number: int) -> NonTerminal:
        return NonTerminal(f"r{number}")

    def _add(self, origin: NonTerminal, alternatives: list[tuple[Symbol, ...]]) -> None:
        for order, symbols in enumerate(dict.fromkeys(alternatives)):
            self.written.append(Rule(origin, list(symbols), order))

    def _helper(self, called: str) -> NonTerminal:
        """A new nonterminal for a part of a rule."""
        self._names.append(called)
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
                if prod(map(len, parts)) > _MANY:
                    parts = [self._apart(part) for part in parts]
                return [tuple(s for part in parts for s in part) for parts in product(*parts)]
            case Repeated(item=item, low=low, high=high):
                return list(self._repeated(item, low, high))
        raise AssertionError("terminals are literals here")

    def _apart(self, alternatives: list[tuple[Symbol, ...]]) -> list[tuple[Symbol, ...]]:
        """Several alternatives as one, a rule of their own."""
        if len(alternatives) == 1:
            return alternatives
        helper = self._helper("a choice")
        self._add(helper, alternatives)
        return [(helper,)]

    def _repeated(
        self, item: Expression, low: int, high: int | None
    ) -> Iterator[tuple[Symbol, ...]]:
        """So many copies: without an end by left recursion, which keeps the stack low."""
        one = self._alternatives(item)
        if (low, high) == (0, 1):
            yield ()
            yield from one
            return
        (copy,) = self._apart(one)
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

#: All ways the text can have been read.
Reading = frozenset[Configuration]

#: What stands for a terminal where nothing is read yet.
NOTHING = -1


def refuse_nothing(grammar: Grammar, vocabulary: Vocabulary) -> None:
    """A grammar of no text at all has terminals and rules like one of the empty text.

    Raises: VocabularyError for it, as every method does.
    """
    if not isinstance(grammar.reader, Network) and grammar.reader.is_empty:
        raise cannot_spell(vocabulary)


class Reader:
    """The parser over the automata of its terminals.

    A terminal is only begun where the parser accepts it, and an LALR(1) parser's stack is always
    the beginning of something its grammar derives; so the grammar can finish every configuration,
    and so can the parser, where no conflict was settled.
    """

    def __init__(self, terminals: Terminals, limits: Limits, *, strict: bool = True) -> None:
        self.terminals = terminals
        self.parser = Parser(terminals, limits, strict=strict)
        self.limits = limits
        self._machines = [terminal.dfa for terminal in terminals.each]
        self._goes_on = [(dfa.table != DEAD).any(axis=1).tolist() for dfa in self._machines]
        #: By byte the terminals that can begin with it.
        self._beginning: tuple[set[int], ...] = tuple(set() for _ in range(256))
        for terminal, dfa in enumerate(self._machines):
            for byte in np.flatnonzero(dfa.table[dfa.initial, dfa.classes] != DEAD).tolist():
                self._beginning[byte].add(terminal)
        self.initial: Reading = frozenset({(self.parser.initial, NOTHING, 0)})

    def ended(self, reading: Reading) -> Iterator[Stack]:
        """The stacks of the ways in which the last terminal is whole."""
        for stack, terminal, state in reading:
            if terminal == NOTHING:
                yield stack
            elif self._machines[terminal].is_final(state):
                shifted = self.parser.shifted(stack, terminal)
                assert shifted is not None, "only accepted terminals are begun"
                yield shifted

    def ways(self, reading: Reading) -> Iterator[Configuration]:
        """The terminals that may go on, and those that may begin, nothing of them read."""
        yield from self._under_way(reading)
        for stack in self.ended(reading):
            for terminal in self.parser.accepts(stack)[0]:
                yield stack, terminal, self._machines[terminal].initial

    def _under_way(self, reading: Reading) -> Iterator[Configuration]:
        """The terminals that are begun and may go on."""
        for stack, terminal, state in reading:
            if terminal != NOTHING and self._goes_on[terminal][state]:
                yield stack, terminal, state

    def is_final(self, reading: Reading) -> bool:
        """Whether the text read so far is accepted."""
        return any(self.parser.accepts(stack)[1] for stack in self.ended(reading))

    def moved(
        self, ways: Iterable[Configuration], step: Callable[[int, State], State]
    ) -> Reading | None:
        """The ways after each has moved inside its terminal; None where none can.

        Raises: LimitError past ``limits.configurations``.
        """
        there = set()
        for stack, terminal, state in ways:
            after = step(terminal, state)
            if after != DEAD:
                there.add((stack, terminal, after))
        self.limits.check("configurations", len(there), "the grammar can be cut in too many ways")
        return frozenset(there) or None

    def step(self, reading: Reading, byte: int) -> Reading | None:
        """All ways after one more byte, which may begin a terminal or go on with one."""
        machines = self._machines
        begun = (way for stack in self.ended(reading) for way in self._begun_with(stack, byte))
        ways = chain(self._under_way(reading), begun)
        return self.moved(ways, lambda terminal, at: machines[terminal].step(at, byte))

    def _begun_with(self, stack: Stack, byte: int) -> Iterator[Configuration]:
        """The terminals that may begin with a byte; the others are often thousands of words."""
        for terminal in sorted(self._beginning[byte].intersection(self.parser.accepts(stack)[0])):
            yield stack, terminal, self._machines[terminal].initial


class LalrConstraint(TokenByToken[Reading]):
    """A grammar by its terminals; a state is the set of all ways to have cut the text into them.

    ``conflicts`` is ``refuse``, or ``shift``: what lark does by itself, and Outlines with it. Then
    a mask may come to be empty before the end, where the text shifted into needs what was reduced.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); VocabularyError where
            tokens that stay inside terminals spell no accepted text; LimitError.
    """

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary,
        limits: Limits = LIMITS,
        *,
        conflicts: str = "refuse",
    ) -> None:
        if conflicts not in ("refuse", "shift"):
            raise WorkbenchError(
                f"expected conflicts to be refused or shifted, not {conflicts!r}",
                "set conflicts to refuse or shift",
            )
        refuse_nothing(grammar, vocabulary)
        work = limits.begun()
        terminals = terminals_of(grammar)
        self.vocabulary = vocabulary
        self._rows = [_rows(terminal.dfa, vocabulary, limits) for terminal in terminals.each]
        unspelt = {terminals.code(i) for i, rows in enumerate(self._rows) if rows is None}
        if unspelt:
            terminals = _without(terminals, unspelt, vocabulary)
        self.reader = Reader(terminals, work, strict=conflicts == "refuse")
        self.mask = lru_cache(maxsize=limits.rows_of(len(vocabulary) // 8 + 1))(self._mask)

    @property
    def initial(self) -> Reading:
        return self.reader.initial

    def _mask(self, state: Reading) -> TokenMask:
        bits = np.zeros((len(self.vocabulary) + 31) // 32, np.uint32)
        for terminal, at in {way[1:] for way in self.reader.ways(state)}:
            bits |= self._rows_of(terminal).mask(at).bits
        end = self.vocabulary.end
        if end is not None:  # a terminal may end where the text may not
            bits[end >> 5] &= ~np.uint32(1 << (end & 31))
            if self.is_final(state):
                bits[end >> 5] |= np.uint32(1 << (end & 31))
        return TokenMask(bits, len(self.vocabulary))

    def target(self, state: Reading, token_id: TokenId) -> Reading | None:
        """All ways after a token, which stays inside one terminal."""
        spelt = self.bytes_of(token_id)
        if spelt is None:
            return None

        def step(terminal: int, at: int) -> int:
            rows = self._rows_of(terminal)
            there = rows.step_bytes(at, spelt)
            return there if there is not None and rows.is_coaccessible(there) else DEAD

        return self.reader.moved(self.reader.ways(state), step)

    def _rows_of(self, terminal: int) -> DfaConstraint:
        rows = self._rows[terminal]
        assert rows is not None, "terminals that cannot be spelled are left out"
        return rows

    def is_final(self, state: Reading) -> bool:
        return self.reader.is_final(state)

    def forced(self, state: Reading) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        return forced(self.reader, state)


def _rows(dfa: Dfa, vocabulary: Vocabulary, limits: Limits) -> DfaConstraint | None:
    """The rows of a terminal; None where no tokens spell it."""
    try:
        return DfaConstraint(dfa, vocabulary, limits)
    except VocabularyError:
        return None


def _without(terminals: Terminals, unspelt: Set[bytes], vocabulary: Vocabulary) -> Terminals:
    """The rules without alternatives that need a terminal no tokens spell.

    Raises: VocabularyError where none is left.
    """
    bodies = {rule.name: rule.body for rule in terminals.tree.rules}
    known: dict[str, Expression] = {}
    while True:
        left = {
            name: part
            for name, body in bodies.items()
            if (part := _part(body, known.keys(), unspelt)) is not None
        }
        if left.keys() == known.keys():
            break
        known = left
    if terminals.start not in left:
        raise cannot_spell(vocabulary)
    rules = (replace(r, body=left[r.name]) for r in terminals.tree.rules if r.name in left)
    return replace(terminals, tree=replace(terminals.tree, rules=tuple(rules)))


def _part(node: Expression, known: Set[str], unspelt: Set[bytes]) -> Expression | None:
    """What of an expression can be spelt, given the rules that can; None where nothing can."""
    match node:
        case Literal(value=code):
            return None if code in unspelt else node
        case Nonterminal(name=name):
            return node if name in known else None
        case Choice(options=options):
            left = [p for option in options if (p := _part(option, known, unspelt)) is not None]
            return Choice(tuple(left), node.span) if len(left) > 1 else next(iter(left), None)
        case Sequence(items=items):
            parts = [p for item in items if (p := _part(item, known, unspelt)) is not None]
            return Sequence(tuple(parts), node.span) if len(parts) == len(items) else None
        case Repetition(item=item, low=low):
            part = _part(item, known, unspelt)
            if part is None:
                return Sequence((), node.span) if low == 0 else None
            return replace(node, item=part)
    raise AssertionError("terminals are literals here")
