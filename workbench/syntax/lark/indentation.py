"""Indentation in Lark grammars: ``_INDENT`` and ``_DEDENT``, as lark's ``Indenter`` makes them.

``Indenter`` compares the column after each newline token with a stack of columns: at a larger
column it adds an ``_INDENT``, at a smaller one a ``_DEDENT`` for each column that ends, and at the
end of a text one for each that is open. Newline tokens between brackets are dropped.

The texts of such a grammar are context-free if columns are bounded. Every rule is read at the
column of its lines, with a copy for each column only if it needs the column. A newline token is
read before the next terminal, when it is known which open block continues. So the text of a rule
begins in one state and ends in another, and there is a copy of the rule for each pair of them:

    LINE       nothing is pending
    NEWLINE    a newline token is pending, which is not read yet
    INDENTED   the same, after its ``_INDENT``; the column is chosen
    DEDENTED   the same, after a ``_DEDENT``
    ENDED      the text has ended, and only ``_DEDENT`` may follow
    BRACKETS   between brackets; newline tokens are ignored

The last newline token of a text must begin a line at column 0. Lark also accepts blanks there that
lead to the column of an open block, which would take a second copy of every rule.

Source: lark 1.3, ``lark/indenter.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from collections.abc import Sequence as Row
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import cast

from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError, ParseError
from workbench.base.limits import Clock
from workbench.base.source import NO_SPAN, Source, Span
from workbench.syntax.cursor import NESTING
from workbench.syntax.derived_rules import CountRules
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Names,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
    Shape,
    holds,
    shape,
)
from workbench.syntax.lark.lark_tree import Indenter, no_text
from workbench.syntax.regex.tree import LeafNode
from workbench.syntax.rule_attributes import LineStart

#: Lark's names of brackets that are written as strings.
_BRACKETS = {b"(": "LPAR", b")": "RPAR", b"[": "LSQB", b"]": "RSQB", b"{": "LBRACE", b"}": "RBRACE"}


class _State(IntEnum):
    LINE, NEWLINE, INDENTED, DEDENTED, ENDED, BRACKETS = range(6)


_LINE, _NEWLINE, _INDENTED, _DEDENTED, _ENDED, _IN_BRACKETS = _State
#: The states in which a newline token is pending.
_PENDING = frozenset({_NEWLINE, _INDENTED, _DEDENTED})


@dataclass(frozen=True, slots=True)
class _Bracketed(LeafNode):
    """What is between two brackets."""

    opening: Sequence
    body: Expression
    closing: Sequence
    span: Span


@dataclass(frozen=True, slots=True)
class _Indented(LeafNode):
    """What is between ``_INDENT`` and ``_DEDENT``, which is treated as a rule of that name."""

    name: str
    span: Span


#: The texts of an expression that begin in one state, by the state they end in.
_Texts = dict[_State, Expression]
#: A copy of a rule: its name, first state, column (None if it does not matter) and last state.
_Copy = tuple[str, _State, int | None, _State]

_NOTHING = Sequence((), NO_SPAN)
#: The fields of ``LineStart``.
_BEFORE_TERMINAL, _BEFORE_NEWLINE, _BEFORE_END = range(3)
#: A rule or block that is read from a state.
_Reading = tuple[str, _State]
#: What opens, by what closes it.
_PAIRS = {"closing": "opening", "dedent": "indent"}
_UNPAIRED = "open and close it in one sequence of a rule, outside inner groups"


def _parts_of(body: Expression) -> Row[Expression]:
    if isinstance(body, _Bracketed):
        return body.opening, body.body, body.closing
    return body.children


def _choice(options: Row[Expression]) -> Expression:
    return options[0] if len(options) == 1 else Choice(tuple(options), options[0].span)


def _unite(parts: Iterable[tuple[_State, Expression]]) -> _Texts:
    """All texts, by their last state."""
    options: dict[_State, list[Expression]] = {}
    for state, text in parts:
        options.setdefault(state, []).append(text)
    return {state: _choice(texts) for state, texts in options.items()}


@dataclass(frozen=True, slots=True)
class _Rest(LeafNode):
    """The items of a sequence from an index on."""

    row: Sequence
    at: int
    span: Span


@dataclass(slots=True, eq=False)
class IndentedRules:
    """Rewrites the rules of a grammar for its indenter."""

    source: Source
    indenter: Indenter
    #: The rules by name; those of terminals are not rewritten.
    rules: Mapping[str, Rule]
    names: Names
    #: The rule of ignored text, which is called after every terminal.
    ignored: Rule
    #: What may follow it at the end of a text.
    ending: Expression
    #: The names of the terminals that are one string, by that string.
    strings: Mapping[bytes, str]
    #: The newline tokens by column and those between brackets, from the terminals around them.
    line_starts: Callable[[Row[Expression]], tuple[Row[LineStart], Dfa]]
    clock: Clock | None
    _starts: Row[LineStart] = ()
    #: By name the bodies of the rules, of the blocks between ``_INDENT`` and ``_DEDENT``, and of
    #: parts of rules that are called: repetitions, and what follows an item that may end in several
    #: states. So the size of the new rules is linear in that of the written ones.
    _bodies: dict[str, Expression] = field(default_factory=dict)
    _blocks: set[str] = field(default_factory=set)
    #: The calls of parts, by the identity of an unbounded repetition or another part, or by that
    #: of a sequence and an index in it.
    _parts: dict[int | tuple[int, int], Nonterminal] = field(default_factory=dict)
    #: The terminals, but the newline.
    _terminals: dict[Shape, Expression] = field(default_factory=dict)
    #: Whether every ``_INDENT`` directly follows a newline token of the same rule.
    _indents_directly: bool = True
    _nullable: set[str] = field(default_factory=set)
    #: The rules that may begin with a newline token or an ``_INDENT``.
    _begin_lines: set[str] = field(default_factory=set)
    #: The rules that contain a newline token or an ``_INDENT``, or call one that does.
    _with_lines: set[str] = field(default_factory=set)
    #: By the identity of the body: whether it is nullable, may begin a line, has lines.
    _known: dict[int, tuple[bool, bool, bool]] = field(default_factory=dict)
    #: Texts that do not depend on the column, by the identity of the body.
    _plain: dict[tuple[int, _State], _Texts] = field(default_factory=dict)
    #: Texts of the current rule at the current column, and whether they depend on the column.
    _made: dict[tuple[int, _State], tuple[_Texts, bool]] = field(default_factory=dict)
    #: The last states of each rule, by its first state.
    _ends: dict[_Reading, Set[_State]] = field(default_factory=dict)
    #: The rules whose texts depend on the column.
    _indexed: set[_Reading] = field(default_factory=set)
    #: The rules that depend on a rule, those to be explored (again), and the current one.
    _readers: dict[_Reading, dict[_Reading, None]] = field(default_factory=dict)
    _unread: dict[_Reading, None] = field(default_factory=dict)
    _reading: _Reading = "", _LINE
    _copies: dict[_Copy, str] = field(default_factory=dict)
    #: The copies with their names, in the order in which they are made.
    _waiting: deque[tuple[_Copy, str]] = field(default_factory=deque)
    _copy_names: set[str] = field(default_factory=set)
    _newlines: dict[tuple[int, int], Rule] = field(default_factory=dict)
    #: Whether the texts made since it was reset depend on the column.
    _reads_column: bool = False
    _exploring: bool = True
    _in_brackets: str = ""

    def rewritten(self, start: str) -> list[Rule]:
        """The rules of the start symbol and those it calls, without those of terminals.

        Raises: BuildError for brackets or blocks that one sequence opens and another one closes,
                and for terminals that cannot be separated from a newline token.
        """
        self._copy_names.add(start)
        self._structure(start)
        self._starts, ended = self.line_starts([*self._terminals.values()])
        if not self._starts:
            newline = self.rules[self.indenter.NL_type]
            name = repr(newline.name)
            message = f"some texts of the other terminals continue {name}, and some do not"
            hint = "let it end where the first terminal of a line begins"
            raise BuildError(message, self.source, newline.name_span, hint, "unsupported")
        self._in_brackets = self.names.fresh(f"{self.ignored.name}_in_brackets")
        self._explore(start)
        rule = self.rules[start]
        texts = self._rule_texts(start, _LINE, 0)
        options = [
            text
            if state in (_LINE, _ENDED)
            else self._sequence((text, self._newline(0, _BEFORE_END)), rule.span)
            for state, text in texts.items()
        ]
        whole = _choice(options) if options else no_text(rule.span)
        items = Nonterminal(self.ignored.name, self.ignored.span), whole, self.ending
        rules = [replace(rule, body=self._sequence(items, rule.span))]
        while self._waiting:
            rules.append(self._copy_rule(*self._waiting.popleft()))
        return [*rules, *self._newlines.values(), self._ignored_in_brackets(ended)]

    def _ignored_in_brackets(self, newlines: Dfa) -> Rule:
        span = self.ignored.span
        newline = Automaton(newlines, self.indenter.NL_type, span)
        body = Repetition(Choice((self.ignored.body, newline), span), 0, None, span)
        return replace(self.ignored, name=self._in_brackets, body=body)

    # the structure of the rules: brackets and blocks

    def _structure(self, start: str) -> None:
        names, waiting = {start: None}, deque([start])
        while waiting:
            name = waiting.popleft()
            self._check_clock()
            if name not in self._bodies:
                self._bodies[name] = self._structure_body(self.rules[name].body, 0)
            body = self._bodies[name]
            self._check_indents(body, after_newline=False)
            self._find_terminals(body)
            new = [other for other in self._calls(body) if other not in names]
            waiting += dict.fromkeys(new)
            names.update(dict.fromkeys(new))
        self._close(self._with_lines, self._has_line)
        counting = CountRules(self.names.fresh, 1)
        for name in names:
            self._check_clock()
            self._bodies[name] = self._with_calls(self._bodies[name], counting)
        self._close(self._nullable, self._is_nullable)
        self._close(self._begin_lines, self._begins_line)

    def _close(self, holding: set[str], holds_of: Callable[[Expression], bool]) -> None:
        """Add the rules for which a property holds, where it depends on the rules they call."""
        callers: dict[str, list[str]] = {}
        for name, body in self._bodies.items():
            for other in self._calls(body):
                callers.setdefault(other, []).append(name)
        unread = dict.fromkeys(self._bodies)
        while unread:
            these, unread = unread, {}
            for name in these:
                self._check_clock()
                if name not in holding and holds_of(self._bodies[name]):
                    holding.add(name)
                    unread.update(dict.fromkeys(callers.get(name, ())))

    def _check_clock(self) -> None:
        if self.clock is not None:
            self.clock.check("the grammar has too many rules for each column; lower Limits.columns")

    def _with_calls(self, body: Expression, counting: CountRules) -> Expression:
        """The body with calls in place of the repetitions with lines, except of one copy."""
        body = body.rebuild(lambda part: self._with_calls(part, counting))
        if not isinstance(body, Repetition) or not self._has_line(body.item):
            return body
        item, low, high, span = body.item, body.low, body.high, body.span
        if high is None and low <= 1:
            call = self._part("loop", Repetition(item, 0, None, span))
            return self._sequence((item, call), span) if low else call
        if max(low, high or 0) <= 1:
            return body
        begun = len(counting.rules)
        repetition = counting.repetition(item, low, high, span)
        for rule in counting.rules[begun:]:
            self._bodies[rule.name] = rule.body
            self._with_lines.add(rule.name)
        return self._with_calls(repetition, counting) if high is None else repetition

    def _part(self, base: str, body: Expression) -> Nonterminal:
        """The call of a new rule for a part of a rule."""
        call = Nonterminal(self.names.fresh(base), body.span)
        self._bodies[call.name] = body
        self._with_lines.add(call.name)
        self._parts[id(body)] = call
        self._known[id(call)] = False, True, True  # as far as is known
        return call

    def _calls(self, body: Expression) -> Iterator[str]:
        """The rules and blocks in a body."""
        match body:
            case _Indented(name):
                yield name
            case Nonterminal(name) if name in self.rules or name in self._bodies:
                yield name
            case _ if not self._is_token(body):
                for part in _parts_of(body):
                    yield from self._calls(part)

    def _find_terminals(self, body: Expression) -> None:
        """Record the terminals of a body, but the newline."""
        if not self._is_token(body):
            for part in _parts_of(body):
                self._find_terminals(part)
        elif self._kind(body) != "newline":
            terminal = body.children[0]
            self._terminals.setdefault(shape(terminal), terminal)

    def _sequence(self, items: Iterable[Expression], span: Span) -> Expression:
        """A sequence without empty items and, except for terminals, without inner sequences."""
        kept: list[Expression] = []
        for item in items:
            if isinstance(item, Sequence) and not self._is_token(item):
                kept += item.items
            else:
                kept.append(item)
        return kept[0] if len(kept) == 1 else Sequence(tuple(kept), span)

    def _is_token(self, node: Expression) -> bool:
        """Whether a node is a terminal with the ignored text after it."""
        match node:
            case Sequence((_, Nonterminal(name))):
                return name == self.ignored.name
        return False

    def _kind(self, node: Expression) -> str:
        """Whether a node is a bracket, the newline, an ``_INDENT`` or a ``_DEDENT``."""
        match node:
            case Nonterminal(name):
                kinds = {self.indenter.INDENT_type: "indent", self.indenter.DEDENT_type: "dedent"}
                return kinds.get(name, "")
            case Sequence((Nonterminal(name), _)) if self._is_token(node):
                pass
            case Sequence((Literal(text), _)) if self._is_token(node):
                name = self.strings.get(text) or _BRACKETS.get(text, "")
            case _:
                return ""
        if name in self.indenter.OPEN_PAREN_types:
            return "opening"
        if name in self.indenter.CLOSE_PAREN_types:
            return "closing"
        return "newline" if name == self.indenter.NL_type else ""

    def _structure_body(self, body: Expression, depth: int) -> Expression:
        """A body with its brackets and blocks as nodes; ``depth`` of them are around it."""
        if isinstance(body, Choice | Repetition):
            return body.rebuild(lambda part: self._structure_body(part, depth))
        rows: list[list[Expression]] = [[]]
        opened: list[tuple[str, Expression]] = []
        for item in self._items(body):
            kind = self._kind(item)
            if kind in _PAIRS.values():
                opened.append((kind, item))
                rows.append([])
                if depth + len(opened) > NESTING:
                    message = f"brackets and blocks are nested deeper than {NESTING}"
                    hint = "move the inner part into a separate rule"
                    raise ParseError(message, self.source, item.span, hint)
            elif kind in _PAIRS:
                if not opened or opened[-1][0] != _PAIRS[kind]:
                    raise self._unpaired(item)
                inner = self._sequence(rows.pop(), body.span)
                rows[-1].append(self._pair(opened.pop()[1], inner, item))
            else:
                if isinstance(item, Choice | Repetition):
                    item = self._structure_body(item, depth + len(opened))
                rows[-1].append(item)
        if opened:
            raise self._unpaired(opened[-1][1])
        return self._sequence(rows[0], body.span)

    def _items(self, body: Expression) -> Iterator[Expression]:
        """The items of a sequence and of the sequences in it."""
        if isinstance(body, Sequence) and not self._is_token(body):
            for item in body.items:
                yield from self._items(item)
        else:
            yield body

    def _pair(self, first: Expression, inner: Expression, last: Expression) -> Expression:
        span = first.span.to(last.span)
        if isinstance(first, Sequence) and isinstance(last, Sequence):
            return cast("Expression", _Bracketed(first, inner, last, span))
        name = self.names.fresh("block")
        self._bodies[name] = inner
        self._blocks.add(name)
        return cast("Expression", _Indented(name, span))

    def _unpaired(self, item: Expression) -> BuildError:
        what = self.source.text[item.span.start : item.span.end]
        message = f"expected {what} with its counterpart"
        return BuildError(message, self.source, item.span, _UNPAIRED, "unsupported")

    def _check_indents(self, body: Expression, *, after_newline: bool) -> None:
        """Record whether a block follows something else than a newline token."""
        match body:
            case _Indented():
                self._indents_directly &= after_newline
            case Sequence(items):
                for item in items:
                    self._check_indents(item, after_newline=after_newline)
                    after_newline = self._kind(item) == "newline"
            case Choice(options):
                for option in options:
                    self._check_indents(option, after_newline=after_newline)
            case Repetition(item, _, high):
                self._check_indents(item, after_newline=after_newline and high == 1)

    def _is_nullable(self, body: Expression) -> bool:
        def leaf(node: Expression) -> bool:
            if isinstance(node, Nonterminal):
                return node.name in self._nullable or node.name == self.ignored.name
            return node == Literal(b"", node.span)

        return holds(body, leaf)

    def _begins_line(self, body: Expression) -> bool:
        """Whether a body may begin with a newline token or an ``_INDENT``."""
        match body:
            case _Indented():
                return True
            case Nonterminal(name):
                return name in self._begin_lines
            case Sequence(items) if not self._is_token(body):
                for item in items:
                    if self._begins_line(item):
                        return True
                    if not self._is_nullable(item):
                        return False
                return False
            case Choice() | Repetition():
                return any(map(self._begins_line, body.children))
        return self._kind(body) == "newline"

    def _has_line(self, body: Expression) -> bool:
        match body:
            case _Indented():
                return True
            case Nonterminal(name):
                return name in self._with_lines
            case _ if self._is_token(body):
                return self._kind(body) == "newline"
        return any(map(self._has_line, body.children))

    # the texts of the rules, from each state to each state

    def _explore(self, start: str) -> None:
        """Find the states in which rules end, and the rules that depend on the column."""
        self._ends[start, _LINE] = frozenset()
        self._unread[start, _LINE] = None
        while self._unread:
            these, self._unread = self._unread, {}
            for rule in these:
                self._check_clock()
                self._reading, self._reads_column = rule, False
                ends = frozenset(self._rule_texts(*rule, 0))
                is_new = self._reads_column and rule not in self._indexed
                if is_new or ends != self._ends[rule]:
                    self._ends[rule] = ends
                    if is_new:
                        self._indexed.add(rule)
                    self._unread.update(self._readers.get(rule, {}))
        self._exploring = False

    def _rule_texts(self, name: str, state: _State, column: int) -> _Texts:
        self._made.clear()
        body = self._bodies[name]
        texts = self._texts(body, state, column)
        if state is _INDENTED and name in self._blocks:  # a block, with its ``_DEDENT``
            texts = _unite(
                (_DEDENTED if last in _PENDING else _ENDED, text)
                for last, text in texts.items()
                if last is not _INDENTED
            )
        if self._indents_directly and _NEWLINE in texts:  # no rule begins with an ``_INDENT``
            texts = _unite(
                (_DEDENTED if last is _NEWLINE else last, text) for last, text in texts.items()
            )
        return texts

    def _texts(self, body: Expression, state: _State, column: int) -> _Texts:
        """The texts of a body that begins in a state, by their last state."""
        key = id(body), state
        if key in self._plain:
            return self._plain[key]
        if key in self._made:
            texts, reads_column = self._made[key]
            self._reads_column |= reads_column
            return texts
        if id(body) not in self._known:
            properties = self._is_nullable(body), self._begins_line(body), self._has_line(body)
            self._known[id(body)] = properties
        nullable, begins_line, has_line = self._known[id(body)]
        if not nullable and not begins_line and state in _PENDING:
            begin = self._newline(column, _BEFORE_TERMINAL)
            texts = self._texts(body, _LINE, column)
            return {last: self._sequence((begin, text), body.span) for last, text in texts.items()}
        if not has_line and state is _ENDED:
            return {state: _NOTHING} if nullable else {}
        if not has_line and state not in _PENDING and self._exploring:
            return {state: body}
        outside, self._reads_column = self._reads_column, False
        texts = self._new_texts(body, state, column)
        self._made[key] = texts, self._reads_column
        if not self._reads_column and not self._exploring:
            self._plain[key] = texts
        self._reads_column |= outside
        return texts

    def _new_texts(self, body: Expression, state: _State, column: int) -> _Texts:
        match body:
            case _Bracketed(opening, inner, closing, span):
                between = self._texts(inner, _IN_BRACKETS, column).get(_IN_BRACKETS)
                if between is None:
                    return {}
                last = closing if state is _LINE else self._terminal_in_brackets(closing)
                parts = (self._terminal_in_brackets(opening), between, last)
                return {state: self._sequence(parts, span)}
            case _Indented(name):
                return self._indent(name, state, column)
            case Nonterminal(name) if name in self._bodies:
                return self._call(body, state, column)
            case Sequence() if not self._is_token(body):
                return self._row(body, 0, state, column)
            case _Rest(row, at):
                return self._row(row, at, state, column)
            case Choice(options):
                parts = [self._texts(option, state, column) for option in options]
                return _unite(pair for texts in parts for pair in texts.items())
            case Repetition():
                return self._repeat(body, state, column)
        if self._kind(body) == "newline":
            return self._newline_texts(state, column)
        if state is _IN_BRACKETS and self._is_token(body):
            return {state: self._terminal_in_brackets(body)}
        return {state: body}

    def _row(self, row: Sequence, begin: int, state: _State, column: int) -> _Texts:
        """The texts of the items of a sequence from an index on."""
        before: list[Expression] = []
        for index in range(begin, len(row.items)):
            self._check_clock()
            item = row.items[index]
            texts = self._texts(item, state, column)
            if len(texts) == 1:
                ((state, text),) = texts.items()
                before.append(text)
                continue
            rests = {middle: self._rest(row, index + 1, middle, column) for middle in texts}
            if not self._is_short(item) and any(len(rest) > 1 for rest in rests.values()):
                call = self._parts.get(id(item)) or self._part("part", item)
                texts = self._texts(call, state, column)
            return _unite(
                (last, self._sequence((*before, text, rest), row.span))
                for middle, text in texts.items()
                for last, rest in rests.get(middle, {}).items()
            )
        return {state: self._sequence(before, row.span)}

    def _is_short(self, item: Expression) -> bool:
        """Whether an item is a call, a terminal, or a repetition of one."""
        if isinstance(item, Repetition):
            item = item.item
        return isinstance(item, LeafNode) or self._is_token(item)

    def _rest(self, row: Sequence, begin: int, state: _State, column: int) -> _Texts:
        """As ``_row``; several items are called, because several texts lead to them."""
        if begin == len(row.items):
            return {state: _NOTHING}
        if begin + 1 == len(row.items):
            return self._texts(row.items[begin], state, column)
        key = id(row), begin
        if key not in self._parts:
            rest = cast("Expression", _Rest(row, begin, row.items[begin].span.to(row.span)))
            self._known[id(rest)] = False, True, True
            self._parts[key] = self._part("rest", rest)
        return self._texts(self._parts[key], state, column)

    def _terminal_in_brackets(self, token: Expression) -> Expression:
        ignored = Nonterminal(self._in_brackets, self.ignored.span)
        return Sequence((token.children[0], ignored), token.span)

    def _newline_texts(self, state: _State, column: int) -> _Texts:
        """A newline token; it is read later, and now the one that was pending."""
        if state is _LINE:
            return {_NEWLINE: _NOTHING}
        if state in _PENDING:
            return {_NEWLINE: self._newline(column, _BEFORE_NEWLINE)}
        return {}

    def _indent(self, name: str, state: _State, column: int) -> _Texts:
        """A block at any column further to the right."""
        if state is not _NEWLINE:
            return {}
        self._reads_column = True
        last = column + 2 if self._exploring else len(self._starts)
        blocks = [
            self._call(Nonterminal(name, NO_SPAN), _INDENTED, deeper)
            for deeper in range(column + 1, last)
        ]
        return _unite(pair for texts in blocks for pair in texts.items())

    def _call(self, call: Nonterminal, state: _State, column: int) -> _Texts:
        rule = call.name, state
        ends: Set[_State] = frozenset({state})
        if state is not _IN_BRACKETS and (call.name in self._with_lines or state in _PENDING):
            if rule not in self._ends:
                self._ends[rule] = frozenset()
                self._unread[rule] = None
            if self._exploring:
                self._readers.setdefault(rule, {})[self._reading] = None
            ends = self._ends[rule]
        indexed = rule in self._indexed
        self._reads_column |= indexed
        return {
            last: replace(call, name=self._copy((*rule, column if indexed else None, last)))
            for last in _State
            if last in ends
        }

    def _repeat(self, body: Repetition, state: _State, column: int) -> _Texts:
        """A repetition without lines, of one copy, or any number of copies with lines."""
        item, low, high, span = body.item, body.low, body.high, body.span
        first = {} if high == 0 else self._texts(item, state, column)
        if not first.keys() - {state}:
            none: _Texts = {} if low else {state: _NOTHING}
            return {s: replace(body, item=text) for s, text in first.items()} or none
        call = self._parts.get(id(body))
        if call is not None:  # copies that stay in the state, then one that leaves it
            copies = Repetition(first[state], 0, None, span) if state in first else _NOTHING
            others = (
                (last, self._sequence((copies, text, rest), span))
                for middle, text in first.items()
                if middle is not state
                for last, rest in self._texts(call, middle, column).items()
            )
            return _unite([(state, copies), *others])
        options: list[tuple[_State, Expression]] = [] if low else [(state, _NOTHING)]
        for last, text in first.items():
            if high != 1 and last is not state:  # without lines: one copy begins the line
                again = self._texts(item, last, column)[last]
                more = Repetition(again, max(low - 1, 0), None if high is None else high - 1, span)
                text = self._sequence((text, more), span)
            if (last, text) not in options:
                options.append((last, text))
        return _unite(options)

    # the rules that are made

    def _newline(self, column: int, kind: int) -> Expression:
        """The pending newline token, which begins a line at a column."""
        self._reads_column = True
        if (column, kind) not in self._newlines:
            span = self.rules[self.indenter.NL_type].name_span
            name = self.names.fresh(f"{self.indenter.NL_type}_{column}")
            pairs = self._starts[column][kind]
            options = [
                Sequence((Automaton(token, name, span), Automaton(rest, "ignored", span)), span)
                for token, rest in pairs
            ]
            body = _choice(options) if options else no_text(span)
            self._newlines[column, kind] = Rule(name, body, span, span)
        return Nonterminal(self._newlines[column, kind].name, self.ignored.span)

    def _copy(self, copy: _Copy) -> str:
        """The name of a copy of a rule, which is made later."""
        if self._exploring:
            return copy[0]
        if copy not in self._copies:
            name, _, column, last = copy
            if column is not None:
                name = f"{name}_{column}"
            if last in (_IN_BRACKETS, _ENDED):
                name += "_in_brackets" if last is _IN_BRACKETS else "_end"
            # one copy may have the name of the rule
            free = copy[0] == name and name in self._bodies and name not in self._copy_names
            self._copies[copy] = copy_name = name if free else self.names.fresh(name)
            self._copy_names.add(copy_name)
            self._waiting.append((copy, copy_name))
        return self._copies[copy]

    def _copy_rule(self, copy: _Copy, name: str) -> Rule:
        self._check_clock()
        original, first, column, last = copy
        text = self._rule_texts(original, first, column or 0).get(last)
        if text is None:  # no block fits beyond the last column, and no line begins in brackets
            text = no_text(NO_SPAN)
        rule = self.rules.get(original)
        if rule is None:
            return Rule(name, text, text.span, text.span)
        return replace(rule, name=name, body=text)
