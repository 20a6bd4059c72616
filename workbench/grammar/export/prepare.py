"""Rewrites a grammar as rules that use only what a notation can express.

Few copies are written out. More are rules of rules: twice as many are a rule called twice.

Terminals that are machines become regexes or rules of their own, names become names of the
notation, rules and alternatives that no text reaches are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass, replace

from workbench.automata.code_points import CharacterFsa
from workbench.automata.to_regex import NOTHING, repeat
from workbench.base.errors import BuildError
from workbench.base.limits import Clock
from workbench.base.source import Span
from workbench.grammar.export.json_strings import JsonStrings
from workbench.grammar.export.rule_names import Alphabet, Names
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
from workbench.syntax.tree_printer import POSTFIX, Leaf

_QUOTED = r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" """
#: What is quoted, or a comment: its text is the group.
_LEXEMES = {
    Notation.KBNF: re.compile(rf"{_QUOTED} | \(\*(?P<text>.*?)\*\)", re.VERBOSE | re.DOTALL),
    Notation.GBNF: re.compile(
        rf"{_QUOTED} | \[(?:[^\]\\]|\\.)*\] | \#(?P<text>[^\n]*)", re.VERBOSE | re.DOTALL
    ),
    Notation.LARK: re.compile(
        rf"""{_QUOTED} | //(?P<text>[^\n]*) | /(?:[^/\\\n]|\\.)+/""", re.VERBOSE | re.DOTALL
    ),
}


def comments_of(tree: GrammarTree, notation: Notation) -> Mapping[str, tuple[str, ...]]:
    """The lines of the comments before, beside and inside each rule, by the rule's name.

    What stands after the last rule belongs to it; a rule written in parts has those of all.
    """
    lexeme = _LEXEMES.get(notation)
    found: dict[str, list[str]] = {}
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
        found.setdefault(rules[owner].name, []).extend(line for line in lines if line)
    return {name: tuple(lines) for name, lines in found.items()}


#: Terminals: bit n stands for the one at place n among ``Neighbours.leaves``. With sets of numbers
#: the slowest tenth of the schemas took 2.5 s to be written as Lark, and now 1.4 s.
Terminals = int


def numbers(terminals: Terminals) -> Iterator[int]:
    """The places of some terminals, in order."""
    while terminals:
        lowest = terminals & -terminals
        yield lowest.bit_length() - 1
        terminals ^= lowest


class Neighbours:
    """What may begin, end and follow in the texts of some rules.

    Terminals are told apart by ``key``: those with one key are one.

    Raises: LimitError past the time of the ``clock``.
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
        #: Which may stand directly behind each of ``leaves``, in some text.
        self.behind: list[Terminals] = []
        self._numbers: dict[object, int] = {}
        self._key = key
        self._is_nullable = is_nullable
        self._nullable: set[str] = set()
        self._first: dict[str, Terminals] = dict.fromkeys(rules, 0)
        self._last: dict[str, Terminals] = dict.fromkeys(rules, 0)
        self._solve(rules)
        for body in rules.values():
            self._meet(body)

    def number(self, leaf: Leaf) -> int:
        """The number of a terminal among ``leaves``."""
        number = self._numbers.setdefault(self._key(leaf), len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(leaf)
            self.behind.append(0)
        return number

    def _solve(self, rules: Mapping[str, Expression]) -> None:
        """Grow what is known of each rule; callers are asked again when a rule has grown."""
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
        """Whether an expression may read nothing."""
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
        return self._edge(node, self._first, reverse=False)

    def last(self, node: Expression) -> Terminals:
        """The terminals an expression may end with."""
        return self._edge(node, self._last, reverse=True)

    def _edge(
        self, node: Expression, known: Mapping[str, Terminals], *, reverse: bool
    ) -> Terminals:
        match node:
            case Nonterminal(name):
                return known[name]
            case Sequence(items):
                found = 0
                for item in reversed(items) if reverse else items:
                    found |= self._edge(item, known, reverse=reverse)
                    if not self.nullable(item):
                        break
                return found
            case Choice() | Repetition():
                found = 0
                for part in node.children:
                    found |= self._edge(part, known, reverse=reverse)
                return found
            case leaf:
                return 1 << self.number(leaf)

    def _meet(self, node: Expression) -> None:
        """Note what may stand behind what, wherever both are met in an expression."""
        match node:
            case Sequence(items):
                self._clock.check()
                before = 0
                for item in items:
                    self._meet(item)
                    self._put(before, self.first(item) if before else 0)
                    before = self.last(item) | (before if self.nullable(item) else 0)
            case Choice(options):
                for option in options:
                    self._meet(option)
            case Repetition(item, _, high):
                self._meet(item)
                if high is None or high > 1:
                    self._put(self.last(item), self.first(item))

    def _put(self, left: Terminals, right: Terminals) -> None:
        for number in numbers(left) if right else ():
            self.behind[number] |= right


#: So many copies are written out.
_FEW = 8


class Counts:
    """Repetitions for a notation that has ``? * +`` and nothing else."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._rules: list[Rule] = []
        self._known: dict[tuple[str, str, int], Expression] = {}

    def taken(self) -> list[Rule]:
        """The rules made since they were taken last."""
        made, self._rules = self._rules, []
        return made

    def repeated(self, item: Expression, low: int, high: int | None, rule: str) -> Expression:
        """From ``low`` to ``high`` copies of an item of a rule.

        A printer writes few copies out; here all is brought to few.
        """
        span = item.span
        few = low <= _FEW and (high is None or high - low <= _FEW)
        if (low, high) in POSTFIX or (few and (low, high) != (0, 0) and _is_short(item)):
            return Repetition(item, low, high, span)
        if high == 0:
            return Sequence((), span)
        one = item if isinstance(item, Nonterminal) else self._rule(item, f"{rule}_item")
        parts: list[Expression] = [] if low == 0 else [self._times(one, low)]
        if high is None:
            parts.append(Repetition(one, 0, None, span))
        elif high > low:
            parts.append(self._up_to(one, high - low))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts), span)

    def _rule(self, body: Expression, wanted: str) -> Nonterminal:
        name = self._names.fresh(wanted)
        self._rules.append(Rule(name, body, body.span, body.span))
        return Nonterminal(name, body.span)

    def _times(self, one: Nonterminal, count: int) -> Expression:
        """Exactly so many copies."""
        if count <= _FEW:
            return one if count == 1 else _row([one] * count, one.span)
        key = (one.name, "times", count)
        if key not in self._known:
            half = self._times(one, count // 2)
            rest = [one] if count % 2 else []
            self._known[key] = self._rule(
                _row([half, half, *rest], one.span), f"{one.name}_times_{count}"
            )
        return self._known[key]

    def _up_to(self, one: Nonterminal, count: int) -> Expression:
        """So many copies or fewer: after each one the rest, or nothing.

        One way to read each text: ``x? x? x?`` has several.
        """
        first = (count - 1) % _FEW + 1
        node: Expression = Repetition(one, 0, first, one.span)
        for made in range(first + _FEW, count + 1, _FEW):
            key = (one.name, "up to", made)
            if key not in self._known:
                for _ in range(_FEW):
                    node = Repetition(_row([one, node], one.span), 0, 1, one.span)
                self._known[key] = self._rule(node, f"{one.name}_up_to_{made}")
            node = self._known[key]
        return node


def _is_short(item: Expression) -> bool:
    """Whether copies of an item may be written side by side."""
    return not isinstance(item, Sequence) and not hasattr(item, "options")


def _row(items: list[Expression] | list[Nonterminal], span: Span) -> Sequence:
    return Sequence(tuple(items), span)


#: A machine whose regex is longer is written as rules.
_REGEX = 600
#: A machine whose regex is longer has a rule of its own, by the name it brings.
_INLINE = 40
#: A machine of JSON strings with more states is written by what the strings say.
_STRING = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a notation has signs for."""

    #: What people call it.
    title: str
    alphabet: Alphabet
    #: The name of the start rule where nothing else is said.
    start: str
    #: What is written for a leaf as it stands; None: its regex or its machine is asked.
    own: Callable[[Grammar, Leaf], Expression | None]
    #: Whether a regex is a terminal of its own; else it is spelled in strings, sets and counts.
    regexes: bool
    #: Whose classes such a regex may name; None: those whom nobody reads otherwise.
    dialect: Dialect | None
    #: Whether any count can be written; else ``? * +`` alone.
    counts: bool
    #: Whether its regexes know terminal labels.
    labels: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The rules to write, in the order their author had them."""

    rules: tuple[Rule, ...]
    #: What the author said of a rule, by its new name.
    comments: Mapping[str, tuple[str, ...]]


def prepared(grammar: Grammar, signs: Signs) -> Prepared:
    """The rules of a grammar for one notation.

    Raises: BuildError for what cannot be said in it; LimitError.
    """
    if grammar.tree is None:
        assert grammar.regex is not None, "made from the one or the other"
        whole = Span(0, len(grammar.source.text))
        body = Pattern(grammar.regex, Stop.ANYWHERE, grammar.source.text, whole)
        return _Preparation(grammar, signs, {grammar.start: body}, {}).run({})
    cfg = context_free(grammar.tree, grammar.start, grammar.limits.begun())
    rules = {name: cfg.rules[name] for name in cfg.written if name in cfg.rules}
    preparation = _Preparation(grammar, signs, rules, cfg.written)
    made = preparation.run(comments_of(grammar.tree, grammar.notation))
    torn = preparation.torn()
    if torn is None:
        return made
    if isinstance(grammar.machine, Network):
        raise torn
    # terminals share characters: the rules are those of the whole machine
    one = Automaton(grammar.machine, grammar.start, Span(0, len(grammar.source.text)))
    return _Preparation(grammar, signs, {grammar.start: one}, {}).run({})


class _Preparation:
    """The rules of one grammar on their way to one notation."""

    def __init__(
        self,
        grammar: Grammar,
        signs: Signs,
        rules: Mapping[str, Expression],
        written: Mapping[str, Expression],
    ) -> None:
        self._grammar = grammar
        self._signs = signs
        self._rules = rules
        self._leaves = Leaves(
            signs.title, grammar.source, written, grammar.limits.begun(), signs.labels
        )
        self._names = Names.of(signs.alphabet, grammar.start, rules, signs.start)
        self._counts = Counts(self._names)
        #: The name of the rule being prepared.
        self._rule = ""
        self._strings = JsonStrings(
            self._names, self._written, self._repeated, self._regex, self._leaves.limits
        )
        #: What was made for large machines of JSON strings; None for those that are none.
        self._of_strings: dict[int, Expression | None] = {}
        #: What was made for leaves that are machines.
        self._made: dict[int, Expression] = {}
        #: Rules made on the way, which stand behind the rule they were made for.
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
        match node:
            case Nonterminal(name, span):
                return Nonterminal(self._names[name], span)
            case Sequence() | Choice():
                return node.rebuild(self._of)
            case Repetition(item, low, high, span):
                return self._repeated(self._of(item), low, high, span)
            case leaf:
                return self._leaf(leaf)

    def _repeated(self, item: Expression, low: int, high: int | None, span: Span) -> Expression:
        if self._signs.counts:
            return Repetition(item, low, high, span)
        if (low, high) not in POSTFIX and isinstance(item, Pattern | Literal):
            regex = self._leaves.regex(item)  # a count inside a regex is none of the notation's
            if regex is not None:
                return terminal(repeat(regex, low, high), span, self._signs.dialect)
        return self._counts.repeated(item, low, high, self._rule)

    def _leaf(self, leaf: Leaf) -> Expression:
        if isinstance(leaf, Literal):
            self._leaves.regex(leaf)  # it has to be text
            return leaf
        own = self._signs.own(self._grammar, leaf)
        if own is not None:
            return self._renamed(own) if isinstance(own, Except) else own
        regex = self._leaves.regex(leaf)
        if regex is not None:
            return self._regex(regex, leaf.span)
        if isinstance(leaf, Automaton):
            if id(leaf.machine) not in self._of_strings:
                self._of_strings[id(leaf.machine)] = self._string(leaf)
            if (made := self._of_strings[id(leaf.machine)]) is not None:
                return made
        folded = self._leaves.folded(leaf)
        if cuts_characters(folded):
            self._cutting[id(leaf)] = folded
        if id(folded) not in self._made:
            self._made[id(folded)] = self._from_machine(leaf, folded)
        return self._made[id(folded)]

    def _regex(self, regex: Regex, span: Span) -> Expression:
        if regex == NOTHING:
            raise self._leaves.refused("a language without texts", span, "let it have one")
        if self._signs.regexes:
            return terminal(regex, span, self._signs.dialect)
        return spelled(regex, span)

    def _from_machine(self, leaf: Leaf, folded: CharacterFsa) -> Expression:
        label = leaf.label if isinstance(leaf, Automaton) else f"{self._rule}_text"
        regex = self._leaves.short(leaf, _REGEX)
        if regex is not None and len(pattern(regex)) <= _INLINE:
            return self._regex(regex, leaf.span)
        names = self._names.series(label)
        if regex is not None:
            return self._written(((next(names), self._regex(regex, leaf.span)),), leaf.span)
        return self._written(machine_rules(folded, names, leaf.span), leaf.span)

    def _string(self, leaf: Automaton) -> Expression | None:
        """A large machine of JSON strings, by what these say; its rule is named before others."""
        machine = leaf.machine
        if len(machine) <= _STRING:
            return None
        name = self._names.fresh(leaf.label)
        body = self._strings.expression(machine, leaf.span)
        if body is None:
            self._names.free(name)
            return None
        return self._written(((name, body),), leaf.span)

    def _written(self, rules: Row[tuple[str, Expression]], span: Span) -> Nonterminal:
        """Rules that stand behind the one they are made for, the first of them called."""
        self._more += [Rule(name, body, span, span) for name, body in rules]
        return Nonterminal(rules[0][0], span)

    def torn(self) -> BuildError | None:
        """The error where two terminals can share a character: what is written knows whole ones."""
        if not self._cutting:
            return None
        clock = self._leaves.limits.clock()
        neighbours = Neighbours(self._rules, self._leaves.is_nullable, id, clock)
        after = 0
        for leaf, behind in zip(neighbours.leaves, neighbours.behind, strict=True):
            after |= behind if id(leaf) in self._cutting else 0
        for second in (neighbours.leaves[number] for number in numbers(after)):
            folded = self._cutting.get(id(second))
            if folded and begins_inside(folded):
                what = "two terminals that may share a character, each some of its bytes"
                return self._leaves.refused(what, second.span, "put a character between them")
        return None

    def _renamed(self, node: Except) -> Except:
        """An ``except!`` whose rule is there under its new name."""
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
