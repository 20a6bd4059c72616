"""Films of online checkers: which tokens are tested for a text, and at what cost.

Source: Willard & Louf 2023, §1 and Algorithm 2; Beurer-Kellner et al. 2024 (DOMINO), §2, Table 1.
The recogniser and both tests of the vocabulary are the engine's; here the recogniser's steps are
counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.app.lessons.lesson import LessonError, Table
from workbench.app.lessons.lesson_world import World, of_class, token_bytes
from workbench.base.visible_text import visible
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.constraint.methods.online import ENUMERATIONS
from workbench.constraint.methods.recogniser import MachineRecogniser
from workbench.constraint.protocol import State as AnyState
from workbench.vocabulary.vocabulary import Vocabulary


@dataclass(slots=True)
class Counting:
    """A recogniser that counts the tested bytes."""

    inner: MachineRecogniser
    steps: int = 0
    initial: AnyState = field(init=False)

    def __post_init__(self) -> None:
        self.initial = self.inner.initial

    def step(self, state: AnyState, byte: int) -> AnyState | None:
        """The state after a byte; counts it."""
        self.steps += 1
        return self.inner.step(state, byte)

    def is_final(self, state: AnyState) -> bool:
        """Whether the text may end."""
        return self.inner.is_final(state)

    def is_coaccessible(self, state: AnyState) -> bool:
        """Whether whole tokens lead to an accepted text."""
        return self.inner.is_coaccessible(state)


def recogniser(world: World, vocabulary: Vocabulary) -> MachineRecogniser:
    """The recogniser of the step's grammar."""
    constraint = compile_constraint(world.grammar, vocabulary)
    exact = of_class(AutomatonConstraint, constraint)  # type: ignore[type-abstract]
    return MachineRecogniser(exact)


def state_after(machine: MachineRecogniser, text: bytes) -> AnyState:
    """The recogniser's state after a text.

    Raises: LessonError where the text cannot be read.
    """
    state: AnyState = machine.initial
    for byte in text:
        target = machine.step(state, byte)
        if target is None:
            raise LessonError(f"expected a text the grammar can read, not {text!r}")
        state = target
    return state


def bytes_asked(world: World, vocabulary: Vocabulary, how: str, after: str = "") -> int:
    """The bytes a recogniser tests for one mask."""
    machine = recogniser(world, vocabulary)
    counting = Counting(machine)
    state = state_after(machine, token_bytes(after))
    for _ in ENUMERATIONS[how](counting, vocabulary, state):
        pass
    return counting.steps


def asked(world: World, *, after: str = "") -> Table:
    """Every token tested by the recogniser: the part it reads, and the bytes tested."""
    machine = recogniser(world, world.vocabulary)
    begin = state_after(machine, token_bytes(after))
    rows, total = [], 0
    for token_id, token in enumerate(world.vocabulary.tokens):
        if token is None:
            continue
        counting = Counting(machine)
        state: AnyState | None = begin
        read = 0
        for byte in token:
            state = counting.step(state, byte)
            if state is None:
                break
            read += 1
        good = state is not None and machine.is_coaccessible(state)
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
    """Bytes tested for one mask over a real vocabulary, token by token and over its trie."""
    tokens = Vocabulary.load(vocabulary)
    rows = []
    for text in states:
        counts = [bytes_asked(world, tokens, how, text) for how in ENUMERATIONS]
        rows.append((visible(text) or "(nothing)", *(f"{count:,}" for count in counts)))
    heads = ("after", *(f"bytes tested, {how}" for how in ENUMERATIONS))
    return Table(f"One mask over {len(tokens):,} tokens", heads, tuple(rows))
