"""Rewrites a grammar as rules that use only what a notation can express.

Terminals that are machines become regexes or rules of their own, names become names of the
notation, rules and alternatives that no text reaches are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Row
from dataclasses import dataclass, replace

from workbench.automata.fold import CharacterFsa
from workbench.errors import BuildError
from workbench.export.comments import comments_of
from workbench.export.counts import Counts
from workbench.export.from_machine import machine_rules
from workbench.export.json_strings import JsonStrings
from workbench.export.leaves import Leaves, begins_inside, cuts_characters
from workbench.export.names import Alphabet, Names
from workbench.export.neighbours import Neighbours, numbers
from workbench.export.regex_text import pattern
from workbench.export.spelled import spelled, terminal
from workbench.export.terms import NOTHING, repeat
from workbench.grammar import Grammar
from workbench.pushdown.build import context_free
from workbench.pushdown.network import Network
from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
)
from workbench.syntax.regex.dialect import Dialect
from workbench.syntax.regex.tree import Regex
from workbench.syntax.tree_printer import POSTFIX, Leaf

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
            case Sequence(items, span):
                return Sequence(tuple(map(self._of, items)), span)
            case Choice(options, span):
                return Choice(tuple(map(self._of, options)), span)
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
