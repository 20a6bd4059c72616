"""Rewrites a grammar as rules that use only what a notation can express.

Terminals that are automata become regexes or separate rules, rule names become legal names, and
useless rules and alternatives are removed. In a notation without counts a few copies are written
out; larger counts become rules that call each other, each for twice as many copies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass, replace

from workbench.automata.code_points import CharacterFsa
from workbench.automata.to_regex import NOTHING, repeat
from workbench.base.errors import BuildError
from workbench.base.limits import Clock, check_time_budget
from workbench.base.source import Span
from workbench.grammar.export.json_strings import JsonStrings
from workbench.grammar.export.rule_names import NameRules, Names
from workbench.grammar.export.terminals import (
    Leaves,
    begins_inside,
    cuts_characters,
    machine_rules,
    spelled,
    terminal,
)
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import context_free
from workbench.pushdown.network import Network
from workbench.syntax.grammar_printer import POSTFIX, Leaf
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
    calls,
    holds,
)
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Regex

_QUOTED = r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" """
#: Quoted text, or a comment; the group ``text`` is the comment's text.
_LEXEMES = {
    Notation.KBNF: re.compile(rf"{_QUOTED} | \(\*(?P<text>.*?)\*\)", re.VERBOSE | re.DOTALL),
    Notation.GBNF: re.compile(
        rf"{_QUOTED} | \[(?:[^\]\\]|\\.)*\] | \#(?P<text>[^\n]*)", re.VERBOSE | re.DOTALL
    ),
    Notation.ABNF: re.compile(r'"[^"\n]*" | <[^>\n]*> | ;(?P<text>[^\n]*)', re.VERBOSE),
    Notation.EBNF: re.compile(
        r"""'[^'\n]*' | "[^"\n]*" | [/(]\*(?P<text>.*?)\*[/)]""", re.VERBOSE | re.DOTALL
    ),
    Notation.ANTLR: re.compile(
        r"""'(?:[^'\\\n]|\\.)*' | \[(?:[^\]\\]|\\.)*\]
          | //(?P<text>[^\n]*)""",
        re.VERBOSE | re.DOTALL,
    ),
    Notation.LARK: re.compile(
        rf"""{_QUOTED} | //(?P<text>[^\n]*) | /(?:[^/\\\n]|\\.)+/""", re.VERBOSE | re.DOTALL
    ),
}


def comments_of(tree: GrammarTree, notation: Notation) -> Mapping[str, tuple[str, ...]]:
    """The comment lines before, next to and inside each rule, by the rule's name.

    Comments after the last rule belong to it; a rule in several parts has the comments of all.
    """
    lexeme = _LEXEMES.get(notation)
    comments: dict[str, list[str]] = {}
    if lexeme is None or not tree.rules:
        return {}
    text, rules = tree.source.text, sorted(tree.rules, key=lambda rule: rule.span.start)
    owner = 0
    for match in lexeme.finditer(text):
        if match["text"] is None:
            continue
        while owner + 1 < len(rules) and "\n" in text[rules[owner].span.end : match.start()]:
            owner += 1
        lines = (line.strip() for line in match["text"].splitlines())
        comments.setdefault(rules[owner].name, []).extend(line for line in lines if line)
    return {name: tuple(lines) for name, lines in comments.items()}


#: A set of terminals: bit n is ``FollowSets.leaves[n]``. With sets of numbers the slowest tenth of
#: the schemas took 2.5 s to write as Lark, now 1.4 s.
Terminals = int
#: Terminals after which the memory of their sets is checked.
_CHECKED_EVERY = 1024


def numbers(terminals: Terminals) -> Iterator[int]:
    """The numbers of the terminals in a set, in order."""
    while terminals:
        lowest = terminals & -terminals
        yield lowest.bit_length() - 1
        terminals ^= lowest


class FollowSets:
    """The first, last and follow sets of rules.

    Terminals with equal ``key`` are one terminal.

    Raises: LimitError past the time or the megabytes of the ``clock``.
    Source: Aho & Ullman 1972, FIRST and FOLLOW.
    """

    def __init__(
        self,
        rules: Mapping[str, Expression],
        is_nullable: Callable[[Leaf], bool],
        key: Callable[[Leaf], object],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self.leaves: list[Leaf] = []
        #: The terminals that may directly follow each of ``leaves`` in some text.
        self.follow: list[Terminals] = []
        self._numbers: dict[object, int] = {}
        self._key = key
        self._is_nullable = is_nullable
        self._nullable: set[str] = set()
        self._first: dict[str, Terminals] = dict.fromkeys(rules, 0)
        self._last: dict[str, Terminals] = dict.fromkeys(rules, 0)
        self._solve(rules)
        for body in rules.values():
            self._clock.check()
            self._add_follow(body)

    def number(self, leaf: Leaf) -> int:
        """The number of a terminal among ``leaves``."""
        number = self._numbers.setdefault(self._key(leaf), len(self.leaves))
        if number == len(self.leaves):
            if number % _CHECKED_EVERY == 0:  # the sets of n terminals have up to n * n / 2 bits
                megabytes = number * number // 16_000_000
                self._clock.limits.check("megabytes", megabytes, "use fewer terminals")
            self.leaves.append(leaf)
            self.follow.append(0)
        return number

    def _solve(self, rules: Mapping[str, Expression]) -> None:
        """Compute the sets of each rule as a least fixpoint; a change re-evaluates the callers."""
        callers: dict[str, set[str]] = {}
        for name, body in rules.items():
            for call in calls(body):
                callers.setdefault(call.name, set()).add(name)
        waiting = dict.fromkeys(rules)
        while waiting:
            self._clock.check()
            name, _ = waiting.popitem()  # the last one: mostly a callee of those before it
            body = rules[name]
            before = name in self._nullable, self._first[name], self._last[name]
            if self.nullable(body):
                self._nullable.add(name)
            self._first[name] |= self.first(body)
            self._last[name] |= self.last(body)
            if before != (name in self._nullable, self._first[name], self._last[name]):
                waiting.update(dict.fromkeys(callers.get(name, ())))

    def nullable(self, node: Expression) -> bool:
        """Whether an expression derives the empty text."""
        return holds(
            node,
            lambda leaf: (
                leaf.name in self._nullable
                if isinstance(leaf, Nonterminal)
                else self._is_nullable(leaf)
            ),
        )

    def first(self, node: Expression) -> Terminals:
        """The terminals an expression may begin with."""
        return self._ends(node, self._first, reverse=False)

    def last(self, node: Expression) -> Terminals:
        """The terminals an expression may end with."""
        return self._ends(node, self._last, reverse=True)

    def _ends(
        self, node: Expression, ends_of: Mapping[str, Terminals], *, reverse: bool
    ) -> Terminals:
        match node:
            case Nonterminal(name):
                return ends_of[name]
            case Sequence(items):
                terminals = 0
                for item in reversed(items) if reverse else items:
                    terminals |= self._ends(item, ends_of, reverse=reverse)
                    if not self.nullable(item):
                        break
                return terminals
            case Choice() | Repetition():
                terminals = 0
                for part in node.children:
                    terminals |= self._ends(part, ends_of, reverse=reverse)
                return terminals
            case leaf:
                return 1 << self.number(leaf)

    def _add_follow(self, node: Expression) -> None:
        """Add the follow sets that arise inside an expression."""
        match node:
            case Sequence(items):
                self._clock.check()
                before = 0
                for item in items:
                    self._add_follow(item)
                    self._follow(before, self.first(item) if before else 0)
                    before = self.last(item) | (before if self.nullable(item) else 0)
            case Choice(options):
                for option in options:
                    self._add_follow(option)
            case Repetition(item, _, high):
                self._add_follow(item)
                if high is None or high > 1:
                    self._follow(self.last(item), self.first(item))

    def _follow(self, left: Terminals, right: Terminals) -> None:
        for number in numbers(left) if right else ():
            self.follow[number] |= right


#: At most this many copies are written out.
_MAX_COPIES = 8


class Counts:
    """Repetitions in a notation that has only ``? * +``."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._rules: list[Rule] = []
        self._known: dict[tuple[str, str, int], Expression] = {}

    def taken(self) -> list[Rule]:
        """The rules added since the last call."""
        rules, self._rules = self._rules, []
        return rules

    def repeated(self, item: Expression, low: int, high: int | None, rule: str) -> Expression:
        """From ``low`` to ``high`` copies of an item of a rule.

        The printer writes out up to ``_MAX_COPIES`` copies; larger counts are reduced to that here.
        """
        span = item.span
        few = low <= _MAX_COPIES and (high is None or high - low <= _MAX_COPIES)
        if (low, high) in POSTFIX or (few and (low, high) != (0, 0) and _is_short(item)):
            return Repetition(item, low, high, span)
        if high == 0:
            return Sequence((), span)
        copy = item if isinstance(item, Nonterminal) else self._rule(item, f"{rule}_item")
        parts: list[Expression] = [] if low == 0 else [self._times(copy, low)]
        if high is None:
            parts.append(Repetition(copy, 0, None, span))
        elif high > low:
            parts.append(self._up_to(copy, high - low))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts), span)

    def _rule(self, body: Expression, wanted: str) -> Nonterminal:
        name = self._names.fresh(wanted)
        self._rules.append(Rule(name, body, body.span, body.span))
        return Nonterminal(name, body.span)

    def _times(self, copy: Nonterminal, count: int) -> Expression:
        """Exactly ``count`` copies."""
        if count <= _MAX_COPIES:
            return copy if count == 1 else _row([copy] * count, copy.span)
        key = (copy.name, "times", count)
        if key not in self._known:
            half = self._times(copy, count // 2)
            rest = [copy] if count % 2 else []
            self._known[key] = self._rule(
                _row([half, half, *rest], copy.span), f"{copy.name}_times_{count}"
            )
        return self._known[key]

    def _up_to(self, copy: Nonterminal, count: int) -> Expression:
        """At most ``count`` copies: after each copy the rest, or nothing.

        Unambiguous, unlike ``x? x? x?``.
        """
        first = (count - 1) % _MAX_COPIES + 1
        node: Expression = Repetition(copy, 0, first, copy.span)
        for covered in range(first + _MAX_COPIES, count + 1, _MAX_COPIES):
            key = (copy.name, "up to", covered)
            if key not in self._known:
                for _ in range(_MAX_COPIES):
                    node = Repetition(_row([copy, node], copy.span), 0, 1, copy.span)
                self._known[key] = self._rule(node, f"{copy.name}_up_to_{covered}")
            node = self._known[key]
        return node


def _is_short(item: Expression) -> bool:
    """Whether copies of an item are written out rather than called as a rule."""
    return not isinstance(item, Sequence) and not hasattr(item, "options")


def _row(items: list[Expression] | list[Nonterminal], span: Span) -> Sequence:
    return Sequence(tuple(items), span)


#: The most characters of the regex of an automaton; larger automata are written as rules.
_MAX_REGEX = 600
#: The most characters of an inline regex; longer ones are a separate rule, named after the label.
_MAX_INLINE = 40
#: An automaton of JSON strings with more states is written by the unescaped contents.
_MAX_STRING_STATES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class NotationFeatures:
    """What a notation can express."""

    #: The name to display.
    title: str
    alphabet: NameRules
    #: The default name of the start rule.
    start: str
    #: The expression for a terminal the notation supports; None: use its regex or automaton.
    own: Callable[[Grammar, Leaf], Expression | None]
    #: Whether a regex can be a terminal; otherwise it becomes strings, sets and counts.
    regexes: bool
    #: The dialect of these regexes; None: the syntax common to all dialects.
    dialect: Dialect | None
    #: Whether any count can be written; otherwise only ``? * +``.
    counts: bool
    #: Whether its regexes support terminal labels.
    labels: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The rules to write, in source order."""

    rules: tuple[Rule, ...]
    #: The comments on each rule, by its new name.
    comments: Mapping[str, tuple[str, ...]]


def prepare_rules(grammar: Grammar, features: NotationFeatures) -> Prepared:
    """The rules of a grammar for one notation.

    Raises: BuildError for what the notation cannot express; LimitError.
    """
    grammar = grammar.without_phrases
    if grammar.tree is None:
        assert grammar.regex is not None, "a grammar has a regex or a tree"
        whole = Span(0, len(grammar.source.text))
        body = Pattern(grammar.regex, Stop.ANYWHERE, grammar.source.text, whole)
        return _Preparation(grammar, features, {grammar.start: body}, {}).run({})
    cfg = context_free(grammar.tree, grammar.start, grammar.limits.begun())
    rules = {name: cfg.rules[name] for name in cfg.written if name in cfg.rules}
    preparation = _Preparation(grammar, features, rules, cfg.written)
    prepared = preparation.run(comments_of(grammar.tree, grammar.notation))
    error = preparation.split_error()
    if error is None:
        return prepared
    if isinstance(grammar.machine, Network):
        raise error
    # terminals share characters: write the rules of the whole automaton
    automaton = Automaton(grammar.machine, grammar.start, Span(0, len(grammar.source.text)))
    return _Preparation(grammar, features, {grammar.start: automaton}, {}).run({})


class _Preparation:
    """Rewrites the rules of one grammar for one notation."""

    def __init__(
        self,
        grammar: Grammar,
        features: NotationFeatures,
        rules: Mapping[str, Expression],
        written: Mapping[str, Expression],
    ) -> None:
        self._grammar = grammar
        self._features = features
        self._rules = rules
        self._leaves = Leaves(
            features.title, grammar.source, written, grammar.limits.begun(), features.labels
        )
        self._names = Names.of(features.alphabet, grammar.start, rules, features.start)
        self._counts = Counts(self._names)
        #: The name of the rule being prepared.
        self._rule = ""
        self._strings = JsonStrings(
            self._names, self._add_rules, self._repeat, self._regex, self._leaves.limits
        )
        #: The expressions of large automata of JSON strings; None if the texts are no JSON strings.
        self._of_strings: dict[int, Expression | None] = {}
        #: The expressions of terminals that are automata, by ``id``.
        self._expressions: dict[int, Expression] = {}
        #: New rules, written after the rule they are for.
        self._more: list[Rule] = []
        #: The terminals that may begin or end inside a character.
        self._cutting: dict[int, CharacterFsa] = {}

    def run(self, comments: Mapping[str, tuple[str, ...]]) -> Prepared:
        rules: list[Rule] = []
        for name, body in self._rules.items():
            self._rule = self._names[name]
            rules.append(Rule(self._rule, self._of(body), body.span, body.span))
            rules += [*self._more, *self._counts.taken()]
            self._more = []
        kept = {self._names[rule]: lines for rule, lines in comments.items() if rule in self._rules}
        return Prepared(tuple(rules), kept)

    def _of(self, node: Expression) -> Expression:
        check_time_budget()
        match node:
            case Nonterminal(name, span):
                return Nonterminal(self._names[name], span)
            case Sequence() | Choice():
                return node.rebuild(self._of)
            case Repetition(item, low, high, span):
                return self._repeat(self._of(item), low, high, span)
            case leaf:
                return self._leaf(leaf)

    def _repeat(self, item: Expression, low: int, high: int | None, span: Span) -> Expression:
        if self._features.counts:
            return Repetition(item, low, high, span)
        if (low, high) not in POSTFIX and isinstance(item, Pattern | Literal):
            regex = self._leaves.regex(item)  # a count inside a regex is always possible
            if regex is not None:
                return terminal(repeat(regex, low, high), span, self._features.dialect)
        return self._counts.repeated(item, low, high, self._rule)

    def _leaf(self, leaf: Leaf) -> Expression:
        if isinstance(leaf, Literal):
            self._leaves.regex(leaf)  # raises unless it is valid UTF-8
            return leaf
        written = self._features.own(self._grammar, leaf)
        if written is not None:
            return self._rename(written) if isinstance(written, Except) else written
        regex = self._leaves.regex(leaf)
        if regex is not None:
            return self._regex(regex, leaf.span)
        if isinstance(leaf, Automaton):
            if id(leaf.machine) not in self._of_strings:
                self._of_strings[id(leaf.machine)] = self._string(leaf)
            if (string := self._of_strings[id(leaf.machine)]) is not None:
                return string
        folded = self._leaves.folded(leaf)
        if cuts_characters(folded):
            self._cutting[id(leaf)] = folded
        if id(folded) not in self._expressions:
            self._expressions[id(folded)] = self._from_machine(leaf, folded)
        return self._expressions[id(folded)]

    def _regex(self, regex: Regex, span: Span) -> Expression:
        if regex == NOTHING:
            raise self._leaves.refused("a language without texts", span, "let it have one")
        if self._features.regexes:
            return terminal(regex, span, self._features.dialect)
        return spelled(regex, span)

    def _from_machine(self, leaf: Leaf, folded: CharacterFsa) -> Expression:
        label = leaf.label if isinstance(leaf, Automaton) else f"{self._rule}_text"
        regex = self._leaves.short(leaf, _MAX_REGEX)
        if regex is not None and len(pattern(regex)) <= _MAX_INLINE:
            return self._regex(regex, leaf.span)
        names = self._names.series(label)
        if regex is not None:
            return self._add_rules(((next(names), self._regex(regex, leaf.span)),), leaf.span)
        return self._add_rules(machine_rules(folded, names, leaf.span), leaf.span)

    def _string(self, leaf: Automaton) -> Expression | None:
        """A large automaton of JSON strings, by their contents; its rule gets its name first."""
        machine = leaf.machine
        if len(machine) <= _MAX_STRING_STATES:
            return None
        name = self._names.fresh(leaf.label)
        body = self._strings.expression(machine, leaf.span)
        if body is None:
            self._names.release(name)
            return None
        return self._add_rules(((name, body),), leaf.span)

    def _add_rules(self, rules: Row[tuple[str, Expression]], span: Span) -> Nonterminal:
        """Add rules after the current one; returns a call of the first."""
        self._more += [Rule(name, body, span, span) for name, body in rules]
        return Nonterminal(rules[0][0], span)

    def split_error(self) -> BuildError | None:
        """The error for two terminals that may share a character, which no notation can express."""
        if not self._cutting:
            return None
        clock = self._leaves.limits.clock()
        sets = FollowSets(self._rules, self._leaves.is_nullable, id, clock)
        after = 0
        for leaf, behind in zip(sets.leaves, sets.follow, strict=True):
            after |= behind if id(leaf) in self._cutting else 0
        for second in (sets.leaves[number] for number in numbers(after)):
            folded = self._cutting.get(id(second))
            if folded and begins_inside(folded):
                what = "two terminals that may share a character, each some of its bytes"
                return self._leaves.refused(what, second.span, "put a character between them")
        return None

    def _rename(self, node: Except) -> Except:
        """An ``except!`` with the new name of its rule, which is added if it is missing."""
        if isinstance(node.excepted, Literal):
            return node
        if node.excepted.name in self._rules:
            name = self._names[node.excepted.name]
        else:
            texts = self._leaves.excepted(node)
            name = self._names.fresh(node.excepted.name)
            options = tuple(Literal(text, node.span) for text in texts)
            body = options[0] if len(options) == 1 else Choice(options, node.span)
            self._more.append(Rule(name, body, node.span, node.span))
        return replace(node, excepted=Nonterminal(name, node.span))
