"""Forced ends of a text, and beginnings that can never be finished.

The exact automaton leaves out rules that derive no text, such as ``T ::= 'b' T;``. The KBNF engine
reads into them: the text stays open and no sentence ever comes. So its possible tokens are those of
the grammar together with those of this tree.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.pushdown.cfg import derives, gathered, least
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
    calls,
)
from workbench.vocabulary.vocabulary import TokenId


def unproductive_prefixes(tree: GrammarTree, start: str) -> tuple[GrammarTree, str] | None:
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


#: So many places are looked at before nobody cares what is left: enough for some dozen tokens.
_MOST = 256


def forced_suffix(constraint: Constraint, state: State) -> tuple[TokenId, ...]:
    """Tokens for all that may still be read, the end token last; none where texts differ.

    Every way to spell what is left is followed from mask to mask, so nothing but the protocol is
    relied on. The tokens are the longest at each place, the lowest id of equals.
    Cost: a mask for every byte of what is left, at most ``_MOST``; one where texts differ at once.
    """
    spelt = b""
    ends: set[int] = set()
    waiting, seen = [(0, state)], {(0, state)}
    while waiting:
        place, here = waiting.pop()
        mask = constraint.mask(here)
        ids = mask.ids[:_MOST].tolist()
        if len(ids) == _MOST or len(seen) > _MOST:
            return ()
        if _only_end(constraint, here, ids):
            ends.add(place)
            continue
        for token_id in ids:
            token = constraint.vocabulary.tokens[token_id] or b""
            known = spelt[place : place + len(token)]
            if not token or not token.startswith(known):
                return ()
            spelt += token[len(known) :]
            there = (place + len(token), constraint.advance(here, token_id))
            if there not in seen:
                seen.add(there)
                waiting.append(there)
    return _longest_tokens(constraint, state, spelt) if ends == {len(spelt)} else ()


def _only_end(constraint: Constraint, state: State, ids: list[TokenId]) -> bool:
    """Whether the text is complete and nothing but its end can follow."""
    end = constraint.vocabulary.end
    return constraint.is_final(state) and all(token_id == end for token_id in ids)


def _longest_tokens(constraint: Constraint, state: State, left: bytes) -> tuple[TokenId, ...]:
    found: list[TokenId] = []
    while left:
        token_id = _longest(constraint, constraint.mask(state), left)
        found.append(token_id)
        left = left[len(constraint.vocabulary.tokens[token_id] or b"") :]
        state = constraint.advance(state, token_id)
    return (*found, *constraint.mask(state).ids.tolist())


def _longest(constraint: Constraint, mask: TokenMask, left: bytes) -> TokenId:
    """The longest allowed token that ``left`` begins with (there is one)."""
    ids_of = constraint.vocabulary.ids_of
    ways = (i for length in range(len(left), 0, -1) for i in ids_of.get(left[:length], ()))
    return next(token_id for token_id in ways if token_id in mask)
