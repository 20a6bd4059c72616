"""Films of online checkers: which tokens are tested for a text, and at what cost.

Source: Willard & Louf 2023, §1 and Algorithm 2; Beurer-Kellner et al. 2024 (DOMINO), §2, Table 1.
The recogniser and both ways to ask it are the engine's own; here its steps are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.app.lessons.lesson import Film, Frame, Given, LessonError, Row, Table, View
from workbench.app.lessons.mask_films import share, turn
from workbench.app.lessons.method_films import ids_of
from workbench.app.lessons.world import World, spelt
from workbench.base.limits import LIMITS
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.methods.online import ASKING
from workbench.constraint.methods.recogniser import OfMachine
from workbench.constraint.protocol import State
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.visible_text import visible
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(slots=True)
class Counting:
    """A recogniser that counts the bytes it is asked about."""

    inner: OfMachine
    steps: int = 0
    initial: State = field(init=False)

    def __post_init__(self) -> None:
        self.initial = self.inner.initial

    def step(self, state: State, byte: int) -> State | None:
        """One byte more, counted."""
        self.steps += 1
        return self.inner.step(state, byte)

    def is_final(self, state: State) -> bool:
        """Whether the text may end."""
        return self.inner.is_final(state)

    def leads_on(self, state: State) -> bool:
        """Whether whole tokens lead to an accepted text."""
        return self.inner.leads_on(state)


def recogniser(world: World, vocabulary: Vocabulary) -> OfMachine:
    """The machine of the step's grammar, asked byte by byte."""
    made = compile_constraint(world.grammar, vocabulary)
    assert isinstance(made, AutomatonConstraint), "the usual method"
    return OfMachine(made)


def state_after(machine: OfMachine, text: bytes) -> State:
    """Where the recogniser stands after a text.

    Raises: LessonError where the text cannot be read.
    """
    state: State = machine.initial
    for byte in text:
        there = machine.step(state, byte)
        if there is None:
            raise LessonError(f"expected a text the grammar can read, not {text!r}")
        state = there
    return state


def bytes_asked(world: World, vocabulary: Vocabulary, how: str, after: str = "") -> int:
    """The bytes a recogniser reads to find one mask."""
    machine = recogniser(world, vocabulary)
    counting = Counting(machine)
    state = state_after(machine, spelt(after))
    for _ in ASKING[how](counting, vocabulary, state, LIMITS.clock()):
        pass
    return counting.steps


def asked(world: World, *, after: str = "") -> Table:
    """Every token put to the recogniser: how far it gets, and how many bytes that takes."""
    machine = recogniser(world, world.vocabulary)
    begin = state_after(machine, spelt(after))
    rows, total = [], 0
    for token_id, token in enumerate(world.vocabulary.tokens):
        if token is None:
            continue
        counting = Counting(machine)
        state: State | None = begin
        read = 0
        for byte in token:
            state = counting.step(state, byte)
            if state is None:
                break
            read += 1
        good = state is not None and machine.leads_on(state)
        total += counting.steps
        rows.append(
            (
                world.shown(token_id),
                visible(token[:read]) or "nothing",
                str(counting.steps),
                "✓" if good else "✗",
            )
        )
    rows.append(("together", "", str(total), ""))
    heads = ("token", "read", "bytes tested", "allowed")
    return Table(f"After {visible(after)}" if after else "At the beginning", heads, tuple(rows))


def costs(world: World, *, states: Sequence[str], vocabulary: str = "builtin") -> Table:
    """Bytes asked for one mask over a real vocabulary, token by token and over its trie."""
    tokens = Vocabulary.load(vocabulary)
    rows = []
    for text in states:
        counts = [bytes_asked(world, tokens, how, text) for how in ASKING]
        rows.append((visible(text) or "(nothing)", *(f"{count:,}" for count in counts)))
    heads = ("after", *(f"bytes tested, {how}" for how in ASKING))
    return Table(f"One mask over {len(tokens):,} tokens", heads, tuple(rows))


# -- the trie -----------------------------------------------------------------------------------


def trie_walk(world: World, given: Given, *, after: str = "") -> Film:
    """The trie of the tokens, node by node; where a byte cannot be read its subtree is passed."""
    machine = recogniser(world, world.vocabulary)
    words = sorted(set(world.words))
    prefixes = sorted({word[:end] for word in words for end in range(len(word) + 1)})
    graph = _trie_graph(prefixes, set(words))
    number = {prefix: str(i) for i, prefix in enumerate(prefixes)}
    states: dict[bytes, State] = {b"": state_after(machine, spelt(after))}
    found, dead, steps = list[str](), set[bytes](), 0
    frames = [_walk_frame("The walk begins at the root.", "0", found, dead, number, 0)]
    for prefix in prefixes[1:]:
        if any(prefix.startswith(one) for one in dead):
            continue
        steps += 1
        state = machine.step(states[prefix[:-1]], prefix[-1])
        if state is None:
            dead.add(prefix)
            below = sum(word.startswith(prefix) for word in words)
            passed = f"{below} token{'s are' if below != 1 else ' is'} skipped"
            say = f"{visible(prefix)} cannot be read: {passed}."
        else:
            states[prefix] = state
            say = f"{visible(prefix)} can be read."
            if prefix in words and machine.leads_on(state):
                found.append(visible(prefix))
                say = f"{visible(prefix)} can be read, and is a token: allowed."
            elif prefix in words:
                say = f"{visible(prefix)} can be read, but no tokens continue from there."
        frames.append(_walk_frame(say, number[prefix], found, dead, number, steps))
    say = f"{steps} bytes tested for {len(words)} tokens."
    frames.append(_walk_frame(say, None, found, dead, number, steps))
    return Film((graph,), tuple(frames))


def _trie_graph(prefixes: Sequence[bytes], words: set[bytes]) -> Graph:
    number = {prefix: str(i) for i, prefix in enumerate(prefixes)}
    nodes = tuple(
        Node(
            number[prefix],
            visible(prefix) if prefix in words else "",
            ("initial",) * (not prefix) + ("final",) * (prefix in words),
            visible(prefix) or "the root",
        )
        for prefix in prefixes
    )
    edges = tuple(
        Edge(number[prefix[:-1]], number[prefix], (visible(prefix[-1:]),))
        for prefix in prefixes
        if prefix
    )
    return Graph("trie of the tokens", nodes, edges)


def _walk_frame(
    say: str,
    here: str | None,
    found: Sequence[str],
    dead: set[bytes],
    number: dict[bytes, str],
    steps: int,
) -> Frame:
    gone = frozenset(
        own for prefix, own in number.items() if any(prefix.startswith(one) for one in dead)
    )
    rows = (Row("allowed", tuple(found)), Row("bytes tested", (str(steps),)))
    return Frame(say, (View((here,) if here else (), dead=gone),), rows)


# -- the model's likeliest ----------------------------------------------------------------------


def top_k(world: World, *, ks: Sequence[int], after: Sequence[str] = ()) -> Table:
    """PICARD's check: of the model's k likeliest tokens those the grammar can read.

    Source: Scholak et al. 2021 (PICARD), §3; Beurer-Kellner et al. 2024, Table 1.
    """
    ids = ids_of(world, after)
    made = turn(world, ids)
    likely = sorted(made.step.wanted, key=lambda c: -c.probability)
    rows = []
    for k in ks:
        first = likely[:k]
        names = "  ".join(world.shown(c.token_id) for c in first)
        good = [c for c in first if c.allowed]
        kept = "  ".join(world.shown(c.token_id) for c in good) or "∅"
        rows.append((str(k), names, kept, share(sum(c.probability for c in good))))
    heads = ("k", "checked", "allowed of them", "probability kept")
    return Table(f"After {visible(''.join(after)) or 'nothing'}", heads, tuple(rows))


def smallest_top(world: World, *, after: Sequence[str] = ()) -> float:
    """The smallest k with which one of the model's likeliest tokens is allowed."""
    likely: list[tuple[TokenId, bool]] = [
        (c.token_id, c.allowed) for c in turn(world, ids_of(world, after)).step.wanted
    ]
    return next(place for place, (_, good) in enumerate(likely, start=1) if good)


def asked_flat(world: World, *, after: str = "", how: str = "flat") -> float:
    """The bytes tested for one mask over the step's tokens."""
    return bytes_asked(world, world.vocabulary, how, after)
