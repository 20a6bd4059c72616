"""The forced suffix of a text, and prefixes that can never be completed.

``forced_suffix``: if only one text can follow, its tokens (used by the strategy ``JumpForward``).

``unproductive_prefixes``: the exact automaton omits rules that derive no text, such as ``T ::=
'b' T;``. The KBNF engine reads into them, although no sentence can result. Its possible tokens
are those of the grammar together with those of the grammar built here.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from workbench.constraint.masks import TokenMask
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
    calls,
)
from workbench.syntax.grammar_tree import Sequence as SequenceNode
from workbench.vocabulary.vocabulary import TokenId


def unproductive_prefixes(tree: GrammarTree, start: str) -> tuple[GrammarTree, str] | None:
    """The prefixes that lead into an unproductive rule, as a grammar and its start symbol.

    Every rule gets a copy that stops inside an unproductive rule: the part before the call is
    unchanged, the part after it is never reached. None if no reachable rule is unproductive.
    Terminals count as productive.
    """
    rules = gathered(tree)
    productive = least(rules, is_productive)
    unproductive = rules.keys() - productive
    opens = unproductive | least(
        rules, lambda body, names: any(c.name in names | unproductive for c in calls(body))
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


def is_productive(body: Expression, names: Set[str]) -> bool:
    """Whether a body derives a text, given the rules that do."""
    return derives(body, names, lambda _: True)


@dataclass(frozen=True, slots=True)
class _Opener:
    """Builds the copies."""

    #: The rules that reach an unproductive one, including the unproductive ones.
    opens: Set[str]
    productive: Set[str]

    def alternatives(self, name: str, body: Expression) -> list[Expression]:
        """The bodies of a rule's copy."""
        prefixes = self.opened(body)
        # a copy that only calls itself adds nothing and would be left recursion
        options = [
            w for w in prefixes if not (isinstance(w, Nonterminal) and w.name == _copy(name))
        ]
        # an unproductive rule has been entered once it is called
        return options if name in self.productive else [*options, Literal(b"", body.span)]

    def opened(self, body: Expression) -> list[Expression]:
        """The prefixes of a body that end inside an unproductive rule."""
        match body:
            case Nonterminal(name=name, span=span):
                return [Nonterminal(_copy(name), span)] if name in self.opens else []
            case Choice(options=options):
                return [prefix for option in options for prefix in self.opened(option)]
            case SequenceNode():
                return self._in_sequence(body)
            case Repetition(item=item, high=high, span=span):
                prefixes = self.opened(item)
                if high == 1 or not is_productive(item, self.productive):
                    return prefixes
                before = Repetition(item, 0, None if high is None else high - 1, span)
                return [SequenceNode((before, prefix), span) for prefix in prefixes]
            case _:
                return []

    def _in_sequence(self, body: SequenceNode) -> list[Expression]:
        sequences: list[Expression] = []
        for index, item in enumerate(body.items):
            before = body.items[:index]
            for prefix in self.opened(item):
                sequences.append(SequenceNode((*before, prefix), body.span) if before else prefix)
            if not is_productive(item, self.productive):
                break  # nothing after it is ever reached
        return sequences


#: The most states explored before giving up: enough for a suffix of a few dozen tokens.
_MAX_STATES = 256


def forced_suffix(constraint: Constraint, state: State) -> tuple[TokenId, ...]:
    """The tokens of the only text that can follow, an end token last; empty if texts differ.

    Every tokenization of the remainder is followed from mask to mask, so only the ``Constraint``
    protocol is needed. The tokens are the longest at each position; of equals the lowest id.
    Cost: a mask for every byte of the remainder, at most ``_MAX_STATES``; one if texts differ
          immediately.
    """
    suffix = b""
    ends: set[int] = set()
    waiting, seen = [(0, state)], {(0, state)}
    while waiting:
        position, current = waiting.pop()
        mask = constraint.mask(current)
        ids = mask.ids[:_MAX_STATES].tolist()
        if len(ids) == _MAX_STATES or len(seen) > _MAX_STATES:
            return ()
        if _only_end(constraint, current, ids):
            ends.add(position)
            continue
        for token_id in ids:
            token = constraint.vocabulary.tokens[token_id] or b""
            overlap = suffix[position : position + len(token)]
            if not token or not token.startswith(overlap):
                return ()
            suffix += token[len(overlap) :]
            there = (position + len(token), constraint.advance(current, token_id))
            if there not in seen:
                seen.add(there)
                waiting.append(there)
    return _longest_tokens(constraint, state, suffix) if ends == {len(suffix)} else ()


def _only_end(constraint: Constraint, state: State, ids: list[TokenId]) -> bool:
    """Whether the text is complete and only end tokens can follow."""
    return constraint.is_final(state) and set(ids).issubset(constraint.vocabulary.ends)


def _longest_tokens(constraint: Constraint, state: State, rest: bytes) -> tuple[TokenId, ...]:
    token_ids: list[TokenId] = []
    while rest:
        token_id = _longest(constraint, constraint.mask(state), rest)
        token_ids.append(token_id)
        rest = rest[len(constraint.vocabulary.tokens[token_id] or b"") :]
        state = constraint.advance(state, token_id)
    return (*token_ids, *constraint.vocabulary.ends[:1])


def _longest(constraint: Constraint, mask: TokenMask, rest: bytes) -> TokenId:
    """The longest allowed token that is a prefix of ``rest``; it exists."""
    ids_of = constraint.vocabulary.ids_of
    prefixes = (i for length in range(len(rest), 0, -1) for i in ids_of.get(rest[:length], ()))
    return next(token_id for token_id in prefixes if token_id in mask)
