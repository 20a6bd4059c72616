"""Where a single text is left: a constraint and a state come in, out come tokens that spell it."""

from __future__ import annotations

from workbench.constraint.mask import TokenMask
from workbench.constraint.protocol import Constraint, State
from workbench.vocabulary.vocabulary import TokenId

#: So many places are looked at before nobody cares what is left: enough for some dozen tokens.
_MOST = 256


def only_rest(constraint: Constraint, state: State) -> tuple[TokenId, ...]:
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
