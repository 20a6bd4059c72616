"""LALR(1) by lark: rules over a grammar's terminals in, stacks of lark's interactive parser out.

lark reads no text here. It makes the LALR(1) tables, refuses what has conflicts, and its
``InteractiveParser`` says which terminals a stack accepts and where each leads, as in Outlines'
guide for grammars. The rules are handed over as objects: lark's own notation multiplies choices out
(2ⁿ for n optional parts), and making its tables can be stopped only from within.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from lark.common import ParserConf
from lark.exceptions import GrammarError, UnexpectedToken
from lark.grammar import NonTerminal, Rule, Symbol, Terminal
from lark.lexer import LexerThread, Token
from lark.parsers.lalr_analysis import LALR_Analyzer
from lark.parsers.lalr_interactive_parser import InteractiveParser
from lark.parsers.lalr_parser_state import ParseConf, ParserState

from workbench.constraint.domino.terminals import Terminals
from workbench.errors import LimitError, WorkbenchError
from workbench.limits import Clock, Limits
from workbench.syntax.grammar_tree import Choice, Expression, Literal, Nonterminal, Sequence
from workbench.syntax.grammar_tree import Repetition as Repeated

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
