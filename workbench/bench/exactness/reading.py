"""A tree becomes nodes: in comes a regex or a grammar tree, out come the bodies of its rules.

Alternatives that derive no text are left out here, so whatever can still be read leads to an
accepted text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from workbench.automata.build import regex_dfa
from workbench.bench.exactness.terms import NOTHING, List, Node, Terms
from workbench.syntax import grammar_tree as g
from workbench.syntax.grammar_tree import Expression, GrammarTree, Stop
from workbench.syntax.regex import tree as r
from workbench.syntax.regex.tree import Regex

#: A rule's name → its body as a list; rules that derive no text are not there.
Bodies = Mapping[str, List]


def bodies_of_grammar(tree: GrammarTree, terms: Terms) -> Bodies:
    """The rules of a grammar that derive some text."""
    rules: dict[str, list[Expression]] = {}
    for rule in tree.rules:
        rules.setdefault(rule.name, []).append(rule.body)
    reader = _Reader(terms, rules)
    grows = True
    while grows:  # the rules that derive a text by derivations of growing height
        found = {
            name: terms.node("any", *nodes)
            for name, options in rules.items()
            if (nodes := [n for n in map(reader.expression, options) if n is not None])
        }
        grows = found.keys() != reader.known
        reader.known = frozenset(found)
    return {name: terms.before(node) for name, node in found.items()}


def body_of_regex(regex: Regex, terms: Terms) -> Bodies:
    """The one rule of a regex."""
    node = _Reader(terms, {}).regex(regex)
    return {} if node is None else {"start": terms.before(node)}


class _Reader:
    """Nodes of trees; None where a tree derives no text."""

    def __init__(self, terms: Terms, rules: Mapping[str, list[Expression]]) -> None:
        self.terms = terms
        self.rules = rules
        #: The rules known to derive some text.
        self.known: frozenset[str] = frozenset()

    def expression(self, tree: Expression) -> Node | None:
        match tree:
            case g.Literal(value=value):
                return self.terms.node("text", value)
            case g.Nonterminal(name=name):
                return self.terms.node("call", name) if name in self.known else None
            case g.Sequence(items=items):
                return self._all(map(self.expression, items))
            case g.Choice(options=options):
                return self._any(map(self.expression, options))
            case g.Repetition(item=item, low=low, high=high):
                return self._repeat(self.expression(item), low, high)
            case g.Pattern(regex=regex, stop=stop):
                return self._pattern(regex, stop)
            case g.Substrings(value=value):
                return self.terms.node("pieces", value, frozenset(range(len(value))))
            case g.Except(excepted=excepted, limit=limit):
                strings = tuple(sorted(self._strings(excepted)))
                node = self.terms.node("except", strings, b"", limit, False)
                return node if self._reads_something(node) else None
            case g.Automaton(machine=machine):
                return (
                    None
                    if machine.is_empty
                    else self.terms.node("machine", machine, machine.initial)
                )

    def regex(self, tree: Regex) -> Node | None:
        match tree:
            case r.Characters(ranges=ranges):
                return self.terms.node("character", ranges, b"") if ranges else None
            case r.Bytes(ranges=ranges):
                return self.terms.node("byte", ranges) if ranges else None
            case r.Concat(parts=parts):
                return self._all(map(self.regex, parts))
            case r.Alternate(options=options):
                return self._any(map(self.regex, options))
            case r.Repeat(part=part, low=low, high=high):
                return self._repeat(self.regex(part), low, high)
            case r.Group(part=part):
                return self.regex(part)
            case r.Extension():
                machine = regex_dfa(tree)
                return None if machine.is_empty else self.terms.node("machine", machine, 0)

    def _all(self, nodes: Iterable[Node | None]) -> Node | None:
        found = list(nodes)
        return None if None in found else self.terms.node("all", *found)

    def _any(self, nodes: Iterable[Node | None]) -> Node | None:
        found = [node for node in nodes if node is not None]
        return self.terms.node("any", *found) if found else None

    def _repeat(self, node: Node | None, low: int, high: int | None) -> Node | None:
        if node is None:
            return self.terms.node("all") if low == 0 else None
        return self.terms.node("repeat", node, low, high)

    def _pattern(self, regex: Regex, stop: Stop) -> Node | None:
        node = self.regex(regex)
        lists = frozenset(() if node is None else self.terms.unfolded(self.terms.before(node)))
        if stop is Stop.ANYWHERE:
            return node
        if stop is Stop.FIRST_MATCH:  # the empty match is none
            node = self.terms.node("first", lists - {NOTHING})
            return node if self._reads_something(node) else None
        if NOTHING in lists:
            return None  # the empty piece of every text is matched
        node = self.terms.node("without", lists, lists, False)
        return node if self._reads_something(node) else None

    def _reads_something(self, node: Node) -> bool:
        return any(self.terms.read(node, byte) is not None for byte in range(256))

    def _strings(self, tree: Expression) -> set[bytes]:
        """What an alternation of strings spells."""
        match tree:
            case g.Literal(value=value):
                return {value}
            case g.Nonterminal(name=name):
                return set().union(*map(self._strings, self.rules[name]))
            case g.Choice(options=options):
                return set().union(*map(self._strings, options))
            case g.Sequence(items=items):
                return {b"".join(parts) for parts in product(*map(self._strings, items))}
        raise TypeError(f"except! takes strings, not {type(tree).__name__}")
