"""The ways in which a network of rules reads a token, from given configurations.

A way names every state, call and return in order, so that a picture can light exactly what was
passed, and the stack before and after. The runner itself keeps sets of configurations; here each
way has a record. The page shows one and says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workbench.automata.dfa import DEAD, State
from workbench.pushdown.network import Network
from workbench.signs import LEAD

#: A state and the return states that wait below it, the innermost last.
Standing = tuple[State, tuple[State, ...]]

#: Places are told apart by their configuration; past so many a byte is not followed further.
_MOST = 400


@dataclass(frozen=True, slots=True)
class Way:
    """One way a token was read."""

    before: Standing
    after: Standing
    #: How many waiting states are not touched: those above were taken off, then others put on.
    kept: int
    #: What is passed in the picture of the rules: states and calls.
    passed: tuple[str, ...]


#: A way so far: where it began, what it left on the stack, and what it passed.
_Trail = tuple[Standing, int, tuple[str, ...]]

#: The configuration after a byte, the lowest the stack has been meanwhile, and what was passed.
_Step = tuple[Standing, int, tuple[str, ...]]


def ways(network: Network, standing: Iterable[Standing], token: bytes) -> list[Way]:
    """Every way to read a token, one for each place it ends at; none where there are too many.

    Cost: the configurations met, at most ``_MOST`` a byte.
    """
    here: dict[Standing, _Trail] = {
        each: (each, len(each[1]), (str(each[0]),)) for each in standing
    }
    for position, byte in enumerate(token):
        inside = stands_inside(token, position)
        there: dict[Standing, _Trail] = {}
        for at, (begun, kept, passed) in here.items():
            for end, low, more in _read(network, at, byte, inside=inside):
                there.setdefault(end, (begun, min(kept, low), (*passed, *more)))
        if len(there) > _MOST:
            return []
        here = there
    return [Way(begun, end, kept, passed) for end, (begun, kept, passed) in here.items()]


def stands_inside(token: bytes, position: int) -> bool:
    """Whether a byte ends no character and no sign: it is inside an edge of every picture."""
    after = token[position + 1 : position + 2]
    return token[position] == LEAD or b"\x80" <= after < b"\xc0"


def _read(network: Network, at: Standing, byte: int, *, inside: bool) -> Iterator[_Step]:
    """Every configuration a byte leads to, with what is passed on the way."""
    column = network.classes[byte]
    for inner, stack, calls in _opened(network, *at):
        target = int(network.table[inner, column])
        if target == DEAD:
            continue
        read = () if inside else (str(target),)
        yield from _settled(network, (target, stack), (*calls, *read))


def _opened(
    network: Network, state: State, stack: tuple[State, ...]
) -> Iterator[tuple[State, tuple[State, ...], tuple[str, ...]]]:
    """The state itself and the first states of all it can call, with the calls passed."""
    waiting: list[tuple[State, tuple[State, ...], tuple[str, ...]]] = [(state, stack, ())]
    for inner, below, passed in waiting:  # grows while it is read
        yield inner, below, passed
        for rule, back in network.calling[inner]:
            first = network.initials[rule]
            above = below
            # a return state that may be repeated anyway is put on the stack once
            if network.waits(back) and not (network.stars[back] and below[-1:] == (back,)):
                above = (*below, back)
            waiting.append((first, above, (*passed, f"call-{rule}-{back}", str(first))))


def _settled(network: Network, at: Standing, passed: tuple[str, ...]) -> Iterator[_Step]:
    """The configuration after a byte, and every one it returns to without reading more."""
    (state, stack) = at
    low = len(stack)
    while True:
        if network.stars[state]:
            while stack and stack[-1] == state:
                stack = stack[:-1]
        low = min(low, len(stack))
        if not stack or network.goes_on[state]:
            yield (state, stack), low, passed
        if not network.finals[state] or not stack:
            return
        rule, back = int(network.owner[state]), stack[-1]
        state, stack = back, stack[:-1]
        passed = (*passed, f"call-{rule}-{back}", str(back))
