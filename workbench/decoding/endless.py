"""A grammar tree comes in; out comes the tree of the beginnings it can read and never finish.

The exact automaton leaves out rules that derive no text, such as ``T ::= 'b' T;``. The KBNF engine
reads into them: the text stays open and no sentence ever comes. So its possible tokens are those of
the grammar together with those of this tree.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from workbench.pushdown.cfg import calls, derives, gathered, least
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)


def endless(tree: GrammarTree, start: str) -> tuple[GrammarTree, str] | None:
    """The beginnings that run into an unproductive rule, as a grammar and its start symbol.

    Of every rule there is a copy that stops inside an unproductive one: what stands
    before the call is read as it is, what stands after it is never reached. None where
    no rule that can be reached is unproductive. Terminals count as productive.
    """
    rules = gathered(tree)
    productive = least(rules, is_productive)
    unproductive = rules.keys() - productive
    opens = unproductive | least(
        rules, lambda body, known: any(c.name in known | unproductive for c in calls(body))
    )
    if start not in opens:
        return None
    opener = _Opener(opens, productive)
    span = tree.rules[0].span
    copies = [
        Rule(_copy(name), body, span, span)
        for name in sorted(opens)
        for body in opener.alternatives(name, rules[name])
    ]
    return GrammarTree((*copies, *tree.rules), tree.source), _copy(start)


def _copy(name: str) -> str:
    """The name of a rule's copy; no identifier has a space."""
    return f"{name} without end"


def is_productive(body: Expression, known: Set[str]) -> bool:
    """Whether a body derives some text, given the rules that do."""
    return derives(body, known, lambda _: True)


@dataclass(frozen=True, slots=True)
class _Opener:
    """Writes the copies."""

    #: The rules from which an unproductive one can be reached, these included.
    opens: Set[str]
    productive: Set[str]

    def alternatives(self, name: str, body: Expression) -> list[Expression]:
        """The bodies of a rule's copy."""
        ways = self.opened(body)
        # a rule that is itself says nothing, and would be left recursion
        found = [w for w in ways if not (isinstance(w, Nonterminal) and w.name == _copy(name))]
        # an unproductive rule is open as soon as it is called
        return found if name in self.productive else [*found, Literal(b"", body.span)]

    def opened(self, body: Expression) -> list[Expression]:
        """All ways to read a body until inside an unproductive rule."""
        match body:
            case Nonterminal(name=name, span=span):
                return [Nonterminal(_copy(name), span)] if name in self.opens else []
            case Choice(options=options):
                return [way for option in options for way in self.opened(option)]
            case Sequence():
                return self._in_sequence(body)
            case Repetition(item=item, high=high, span=span):
                ways = self.opened(item)
                if high == 1 or not is_productive(item, self.productive):
                    return ways
                before = Repetition(item, 0, None if high is None else high - 1, span)
                return [Sequence((before, way), span) for way in ways]
            case _:
                return []

    def _in_sequence(self, body: Sequence) -> list[Expression]:
        found: list[Expression] = []
        for place, item in enumerate(body.items):
            before = body.items[:place]
            ways = self.opened(item)
            found.extend(Sequence((*before, way), body.span) if before else way for way in ways)
            if not is_productive(item, self.productive):
                break  # nothing after it is ever reached
        return found
