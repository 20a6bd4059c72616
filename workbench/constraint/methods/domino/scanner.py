"""The terminals of a grammar, and the automaton that scans them.

The paper assumes that the terminals are given (§3.1: literals and regexes). Here a terminal is a
literal or a regex of the grammar, or a *character loop*, a repetition of single characters
(``#'[0-9]'+``, the inside of a JSON string, recursive white space), together with the character
before it if the loop could read that too (``#'[a-z]' #'[a-z0-9]'*``). Notations whose only regexes
are character classes, such as that of the paper's grammars, cannot express ``int`` of Figure 3 in
another way; and the paper's statements about small k (Table 4: bridge tokens are missing, not
words) hold only for such terminals. A grammar that is a regex is one terminal. Expressions with the
same language are one terminal. No terminal reads the empty text: the rules say where one is
optional.

Lemma 3.1: ``R = r+``, ``r = r_1 | … | r_n``, matches all sequences of terminals, so L_G ⊆ L_R. The
scanner is the automaton of R, in which the sub-automata of the terminals remain separate (§3.2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from workbench.automata.build import regex_dfa
from workbench.automata.minimize import minimize
from workbench.automata.nfa import Nfa, NfaBuilder
from workbench.automata.operations import difference
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import NO_SPAN, Source
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import context_free, machine
from workbench.pushdown.cfg import Cfg
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
    Substrings,
    calls,
)
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Regex,
    Repeat,
    walk,
)

#: The most subexpressions of a loop that is a terminal: larger loops have inner structure.
_MAX_LOOP_PIECES = 200


def is_character_loop(loop: Expression, rules: Mapping[str, Expression]) -> bool:
    """Whether an expression is a loop of single characters, without another loop inside."""
    if not isinstance(loop, Repetition) or loop.high == 1:
        return False
    pieces = tuple(islice(_pieces(loop.item, rules), _MAX_LOOP_PIECES + 1))
    return (
        len(pieces) <= _MAX_LOOP_PIECES
        and all(map(_is_bounded, pieces))
        and _may_be_character(loop.item, rules)
    )


def _pieces(expression: Expression, rules: Mapping[str, Expression]) -> Iterator[Expression]:
    """All subexpressions of an expression and of the rules it calls; infinite if these recurse."""
    queue = [expression]
    while queue:
        piece = queue.pop()
        yield piece
        if isinstance(piece, Nonterminal):
            queue.append(rules[piece.name])
        queue.extend(piece.children)


def _is_bounded(piece: Expression) -> bool:
    """Whether a subexpression is not itself an unlimited loop."""
    match piece:
        case Pattern(regex=regex, stop=stop):
            return stop is Stop.ANYWHERE and _is_bounded_regex(regex)
        case Repetition(high=high):
            return high is not None
    return not isinstance(piece, Substrings | Except | Automaton)


def loop_of(name: str, body: Expression) -> Expression:
    """``ws ::= (x ws)?`` as a loop; any other rule unchanged."""
    match body:
        case Repetition(
            item=Sequence(items=(*items, Nonterminal(name=called))), low=0, high=1, span=span
        ) if called == name and len(items) == 1:
            return Repetition(items[0], 0, None, span)
    return body


def _is_bounded_regex(regex: Regex) -> bool:
    return not any(
        node.high is None if isinstance(node, Repeat) else isinstance(node, Extension)
        for node in walk(regex)
    )


def _may_be_character(expression: Expression, rules: Mapping[str, Expression]) -> bool:
    """Whether an expression has an alternative that is obviously a single character."""
    match expression:
        case Literal(value=value):
            return len(value.decode("utf-8", "replace")) == 1
        case Pattern(regex=regex):
            return is_character(regex)
        case Nonterminal(name=name):
            return _may_be_character(rules[name], rules)
        case Choice(options=options):
            return any(_may_be_character(option, rules) for option in options)
        case Sequence(items=(item,)):
            return _may_be_character(item, rules)
    return False


def is_character(regex: Regex) -> bool:
    """Whether a regex, or one of its alternatives, is a class of characters."""
    match regex:
        case Characters() | Bytes():
            return True
        case Alternate(options=options):
            return any(map(is_character, options))
        case Concat(parts=(part,)) | Group(part=part):
            return is_character(part)
    return False


def inlined(expression: Expression, rules: Mapping[str, Expression]) -> Expression:
    """A non-recursive expression with all calls replaced by the rules called."""
    if isinstance(expression, Nonterminal):
        return inlined(rules[expression.name], rules)
    return expression.rebuild(lambda part: inlined(part, rules))


#: The number of terminals that codes of one and of two bytes can distinguish.
_ONE_BYTE, _TWO_BYTES = 256, 65_536

#: The most characters of a loop's source text that are used as its name.
_MAX_NAME_LENGTH = 24


@dataclass(frozen=True, slots=True, eq=False)
class Terminal:
    """A terminal: ``r_i`` of Lemma 3.1."""

    #: The rule whose whole body it is, else its source text; for a long loop the rule around it.
    name: str
    #: Its minimal automaton, which does not accept the empty text.
    dfa: Dfa


@dataclass(frozen=True, slots=True, eq=False)
class Terminals:
    """A grammar as rules over terminals."""

    each: tuple[Terminal, ...]
    #: The rules over terminals: each is the literal ``code`` of its number.
    tree: GrammarTree
    start: str
    #: The bytes of a code.
    width: int

    def code(self, terminal: int) -> bytes:
        """The bytes of a terminal in the rules."""
        return terminal.to_bytes(self.width, "big")


def terminals_of(grammar: Grammar, limits: Limits = LIMITS) -> Terminals:
    """The terminals of a grammar, in the order they are written.

    Raises: LimitError where one is too large, or there are too many.
    """
    if grammar.tree is None:
        dfa = grammar.dfa
        assert dfa is not None, "a regex has a DFA"
        return _one_terminal(dfa, grammar.source, limits)
    cfg = context_free(grammar.tree, grammar.start, limits)
    extractor = _TerminalExtractor(cfg, limits)
    rules: dict[str, Expression] = {}
    queue = deque([grammar.start])
    while queue:
        name = queue.popleft()
        if name not in rules:
            rules[name] = extractor.rule(name)
            queue.extend(call.name for call in calls(rules[name]))
    tree = GrammarTree(
        tuple(Rule(name, body, NO_SPAN, NO_SPAN) for name, body in rules.items()), grammar.source
    )
    return Terminals(tuple(extractor.terminals), tree, grammar.start, extractor.width)


def _one_terminal(dfa: Dfa, source: Source, limits: Limits) -> Terminals:
    """A regex as one terminal."""
    whole = _without_empty_text(dfa, limits)
    terminals = () if whole is None else (Terminal(source.text, whole),)
    body: Expression = Literal(bytes(1), NO_SPAN) if terminals else Sequence((), NO_SPAN)
    if terminals and dfa.is_final(dfa.initial):
        body = Repetition(body, 0, 1, NO_SPAN)
    tree = GrammarTree((Rule("start", body, NO_SPAN, NO_SPAN),), source)
    return Terminals(terminals, tree, "start", 1)


class _TerminalExtractor:
    """Replaces every terminal in a grammar's rules by its code."""

    def __init__(self, cfg: Cfg, limits: Limits) -> None:
        self.terminals: list[Terminal] = []
        self._cfg, self._limits, self._clock = cfg, limits, limits.clock()
        leaves = sum(map(_leaves, cfg.rules.values()))
        if leaves > _TWO_BYTES:
            raise LimitError(
                f"a grammar of {leaves:,} literals and regexes has too many terminals",
                "states",
                "write alternatives that are only words as one regex",
            )
        self.width = 1 if leaves <= _ONE_BYTE else 2
        self._numbers: dict[tuple[bytes, ...], int] = {}
        self._current_rule = cfg.start

    def rule(self, name: str) -> Expression:
        """The body of a rule over codes."""
        self._current_rule = name
        return self.extract(loop_of(name, self._cfg.rules[name]), name)

    def extract(self, expression: Expression, rule: str = "") -> Expression:
        """An expression over codes; ``rule`` is the name of the rule whose whole body it is."""
        span = expression.span
        match expression:
            case Nonterminal():
                return expression
            case Sequence(items=(only,)):
                return self.extract(only, rule)
            case Sequence(items=items) if not self._is_class_and_loop(expression):
                return Sequence(tuple(map(self.extract, self._with_joined_words(items))), span)
            case Choice(options=options):
                return Choice(tuple(map(self.extract, options)), span)
            case Repetition(item=item, low=low, high=high) if not is_character_loop(
                expression, self._cfg.rules
            ):
                return Repetition(self.extract(item), low, high, span)
        whole = self._machine(expression)
        nonempty = _without_empty_text(whole, self._limits)
        if nonempty is None:
            return Sequence((), span)
        code = Literal(self._number(nonempty, expression, rule).to_bytes(self.width, "big"), span)
        return Repetition(code, 0, 1, span) if whole.is_final(whole.initial) else code

    def _number(self, dfa: Dfa, expression: Expression, rule: str) -> int:
        self._clock.check()
        # the minimal automaton has a normal form: equal languages have equal tables
        language = dfa.classes.tobytes(), dfa.table.tobytes(), dfa.finals.tobytes()
        number = self._numbers.setdefault(language, len(self.terminals))
        if number == len(self.terminals):
            self.terminals.append(Terminal(self._name(expression, rule), dfa))
        return number

    def _name(self, expression: Expression, rule: str) -> str:
        if rule and not isinstance(expression, Literal):
            return rule
        if isinstance(expression, Automaton):
            return expression.label
        span = expression.span
        source_text = " ".join(self._cfg.source.text[span.start : span.end].split())
        context = f"inside {self._current_rule}"
        is_loop = isinstance(expression, Repetition | Sequence)
        if (
            not is_loop
            or len(source_text) <= _MAX_NAME_LENGTH
            or context in (t.name for t in self.terminals)
        ):
            return source_text
        return context

    def _machine(self, expression: Expression) -> Dfa:
        match expression:
            case Literal(value=value, span=span):
                letters = tuple(Bytes(((byte, byte),), span) for byte in value)
                return regex_dfa(Concat(letters, span), self._limits)
            case Pattern() | Substrings() | Except() | Automaton():
                return self._cfg.machine(expression)
        body = inlined(expression, self._cfg.rules)
        tree = GrammarTree((Rule("loop", body, NO_SPAN, NO_SPAN),), self._cfg.source)
        loop = machine(context_free(tree, "loop", self._limits), self._limits)
        assert isinstance(loop, Dfa), "an inlined loop needs no stack"
        return loop

    def _is_class_and_loop(self, expression: Expression) -> bool:
        """Whether it is a character of a class, then a loop that could read the character too."""
        match expression:
            case Sequence(items=(Pattern(regex=regex) as first, loop)):
                return (
                    is_character(regex)
                    and is_character_loop(loop, self._cfg.rules)
                    and difference(self._machine(first), self._machine(loop)).is_empty
                )
        return False

    def _with_joined_words(self, items: tuple[Expression, ...]) -> Iterator[Expression]:
        """The items of a sequence, with a character and a loop after it as one item."""
        position = 0
        while position < len(items):
            pair = items[position : position + 2]
            word = Sequence(pair, pair[0].span.to(pair[-1].span))
            is_word = self._is_class_and_loop(word)
            yield word if is_word else items[position]
            position += 2 if is_word else 1


def _leaves(expression: Expression) -> int:
    inner = Sequence | Choice | Repetition | Nonterminal
    return sum(not isinstance(node, inner) for node in walk(expression))


def _without_empty_text(dfa: Dfa, limits: Limits) -> Dfa | None:
    """The machine without the empty text; None if it accepts no other."""
    if not dfa.is_final(dfa.initial):
        return None if dfa.is_empty else dfa
    first = dfa.table[dfa.initial : dfa.initial + 1]
    if not np.any(first != DEAD):
        return None
    table, finals = np.concatenate([dfa.table, first]), np.append(dfa.finals, False)
    return minimize(Dfa(dfa.classes, table, finals, len(dfa)), limits)


#: The scanner's state between two terminals: q_0 and q_a of the paper, joined by ε-edges.
BETWEEN: State = 0


@dataclass(frozen=True, eq=False)
class Scanner:
    """The sub-automata of all terminals in one table, with one numbering of states.

    The sub-automata are deterministic, where the paper's are Thompson's: fewer states are active
    at the same time, and the languages are the same. The scanner remains nondeterministic: a state
    belongs to one terminal, and a text leads to a set of states.

    Shape: T terminals, Q states, C byte classes. ``classes`` (256,) uint16; ``table`` (Q, C)
           int32, ``DEAD`` where a byte cannot be read, row 0 (``BETWEEN``) all ``DEAD``; ``owner``
           (Q,) int32, the terminal of a state, −1 for ``BETWEEN``; ``initials`` (T,) int32;
           ``accepting`` (Q,) bool; ``goes_on`` (Q,) bool, whether a state has any step.
    """

    terminals: tuple[Terminal, ...]
    classes: npt.NDArray[np.uint16]
    table: npt.NDArray[np.int32]
    owner: npt.NDArray[np.int32]
    initials: npt.NDArray[np.int32]
    accepting: npt.NDArray[np.bool_]
    goes_on: npt.NDArray[np.bool_]

    @staticmethod
    def of(terminals: tuple[Terminal, ...]) -> Scanner:
        """The scanner of terminals.

        Cost: Q · C numbers, and a few array operations for each terminal.
        """
        joint_classes = np.zeros((256, 1), np.uint16)
        for terminal in terminals:
            joint_classes = np.column_stack([joint_classes, terminal.dfa.classes])
        columns, classes = np.unique(joint_classes, axis=0, return_inverse=True)
        tables = [np.full((1, len(columns)), DEAD, np.int32)]
        initials, size = [], 1
        for number, terminal in enumerate(terminals):
            rows = terminal.dfa.table[:, columns[:, number + 1]]
            tables.append(np.where(rows == DEAD, DEAD, rows + size).astype(np.int32))
            initials.append(terminal.dfa.initial + size)
            size += len(rows)
        table = np.ascontiguousarray(np.concatenate(tables))
        sizes = [1, *(len(terminal.dfa) for terminal in terminals)]
        return Scanner(
            terminals,
            classes.reshape(-1).astype(np.uint16),
            table,
            np.repeat(np.arange(-1, len(terminals), dtype=np.int32), sizes),
            np.array(initials, np.int32),
            np.concatenate([[False], *(terminal.dfa.finals for terminal in terminals)]),
            (table != DEAD).any(axis=1),
        )

    def __len__(self) -> int:
        """The number of states."""
        return len(self.owner)

    @cached_property
    def inside(self) -> tuple[State, ...]:
        """The states inside a terminal: part of it has been read, and more can be."""
        reached = np.zeros(len(self), np.bool_)
        reached[self.table[self.table != DEAD]] = True
        return tuple(np.flatnonzero(reached & self.goes_on).tolist())

    @cached_property
    def starting(self) -> tuple[tuple[tuple[int, State], ...], ...]:
        """For each byte class the terminals that begin with it, and the state after it."""
        first = self.table[self.initials]
        return tuple(
            tuple((int(t), int(first[t, c])) for t in np.flatnonzero(first[:, c] != DEAD))
            for c in range(self.table.shape[1])
        )

    @cached_property
    def nfa(self) -> Nfa:
        """Figure 3(b): q_0, ε-edges to every sub-automaton, from its ends to q_a, and back to q_0.

        Accepts R, and so all texts of the grammar except the empty one.
        """
        builder = NfaBuilder()
        begin, end = builder.new_state(), builder.new_state()
        for terminal in self.terminals:
            builder.embed(terminal.dfa, begin, end)
        builder.epsilon(end, begin)
        return builder.build(begin, {end})
