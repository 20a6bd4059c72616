"""One state of a picture: what it reads, a text that leads to it, its places in the grammar."""

from __future__ import annotations

from collections import deque
from typing import Annotated, cast

import numpy as np

from workbench.analysis.earley import SourceRecognizer
from workbench.analysis.run_tracing import PicturedMachine
from workbench.app.pipeline import Compiled
from workbench.app.ui import wire, wire_parts
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import tokens_between
from workbench.app.ui.pictures import PictureRequest
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import up_to
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import LIGHT
from workbench.automata.class_descriptions import describe, in_brief
from workbench.automata.code_points import character_edges
from workbench.automata.graphs import reachable
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import check_time_budget
from workbench.base.source import Span
from workbench.base.visible_text import visible
from workbench.drawing.drawable import OVER_TOKENS, Machine
from workbench.grammar.label_encoding import encode_labels, plain_text, show_labels
from workbench.pushdown.runner import Runner
from workbench.syntax.ranges import Ranges, intersection, union

#: Tokens of a state that are sent as examples.
_MAX_EXAMPLES = 8

#: States visited by the search for a text that leads to a state.
_MAX_VISITED = 4_000

#: Places in the grammar that are returned for a state.
_MAX_PLACES = 4


class StateRequest(PictureRequest):
    """A picture, and a state of it."""

    state: Annotated[str, up_to(40)] = ""


@question(LIGHT)
def about_state(handlers: Handlers, request: StateRequest) -> wire_parts.AboutState | wire.Refusal:
    """What may be read in a state, a text that leads to it, and its places in the grammar."""
    state = request.state
    machine, drawn, _ = handlers.drawn(request)
    record: Record = {
        "ok": True,
        "state": state,
        "reads": "",
        "returns": "",
        "reached": None,
        "places": [],
    }
    try:
        if machine in OVER_TOKENS and machine is not Machine.DETOKENIZER:
            vocabulary = handlers.vocabulary_of(request.example)
            listed = tokens_between(vocabulary, machine, drawn, state, "")
            record |= {"tokens": len(listed), "examples": listed[:_MAX_EXAMPLES]}
        number = drawn.numbers.get(state, state)
        answer = cast("wire_parts.AboutState", {**record, "number": number})
        if drawn.followed is not None and state.isdigit():
            _add_facts(answer, handlers.compiled(request), drawn.followed, int(state))
    except (ValueError, IndexError):
        raise WorkbenchError("there is no such state") from None
    return answer


def _add_facts(
    answer: wire_parts.AboutState, compiled: Compiled, followed: PicturedMachine, state: int
) -> None:
    """Add what may be read in a state, a short text that leads to it, where that is written."""
    machine = _machine(compiled, followed)
    reads, returns = machine.read_in(state), machine.returns(state)
    answer["reads"] = describe(reads) if reads else ""
    answer["returns"] = in_brief(returns) if returns else ""
    text = _shortest(machine, state)
    if text is None:
        return
    answer["reached"] = visible(show_labels(text))
    try:
        reached = SourceRecognizer.shared(compiled.readable()).after(plain_text(text))
    except LimitError:
        return
    if reached is not None:
        answer["may_end"] = reached.may_end
        pieces = [piece for piece in reached.pieces if intersection(piece.reads, reads)]
        answer["places"] = [_place(compiled, piece.span) for piece in pieces[:_MAX_PLACES]]


def _place(compiled: Compiled, span: Span) -> wire_parts.StatePlace:
    written = compiled.text[span.start : span.end]
    return {"start": span.start, "end": span.end, "what": written[:40]}


class _Automaton:
    """A character automaton: what it reads in a state, and its steps for ``_shortest``."""

    def __init__(self, machine: Dfa | LazyDfa) -> None:
        self.initial = machine.initial
        self.classes = machine.classes
        self.step = machine.step

    def shows(self, current: int, state: int) -> bool:
        return current == state

    def read_in(self, state: int) -> Ranges:
        return _read_in(self, state)

    def returns(self, state: int) -> Ranges:
        return ()


class _Configurations:
    """A network of rules for the same questions: one state has several configurations."""

    def __init__(self, runner: Runner) -> None:
        self.initial = runner.initial
        self.classes = runner.classes
        self.step = runner.step
        self._runner = runner

    def shows(self, current: int, state: int) -> bool:
        # the first state of a called rule has no separate configuration: look at the callers
        opened = self._runner.network.opened
        return any(
            state in opened(position) for position, _ in self._runner.configurations(current)
        )

    def read_in(self, state: int) -> Ranges:
        """What the state reads, or a rule that it calls.

        Raises: LimitError past the ``time_budget``: a rule may have thousands of callers.
        """
        check_time_budget()
        return _read_in(self._runner, self._runner.situation_of(state))

    def returns(self, state: int) -> Ranges:
        """What any caller may read when the rule of a state has ended."""
        ended = reachable([state], self._states_after)
        callers = {target for each in ended for target in self._states_after(each)}
        return union((), *map(self.read_in, callers))

    def _states_after(self, ended: int) -> list[int]:
        """The states in which a caller continues when a rule ends in a state."""
        network = self._runner.network
        if not network.finals[ended]:
            return []
        calls = network.calls
        called = calls[:, 1] == network.owner[ended]
        return [int(target) for target in np.unique(calls[called, 2])]


def _read_in(machine: _Automaton | Runner, state: int) -> Ranges:
    edges = character_edges(machine.step, state, machine.classes)
    return union((), *(ranges for ranges, _ in edges))


def _machine(compiled: Compiled, followed: PicturedMachine) -> _Automaton | _Configurations:
    if followed is PicturedMachine.CHARACTERS:
        assert compiled.characters is not None, "the machine was drawn"
        return _Automaton(compiled.characters)
    grammar = compiled.readable()
    pictured = encode_labels(grammar)
    network = pictured.network if followed is PicturedMachine.NETWORK else pictured.rules
    return _Configurations(Runner(network, grammar.limits))


def _shortest(machine: _Automaton | _Configurations, state: int) -> bytes | None:
    """A shortest text that leads the machine to a state; None if the search reaches its limit.

    Breadth-first search with one byte of each class, a readable one if possible.
    """
    bytes_of: dict[int, int] = {}
    for byte in (*range(0x61, 0x7B), *range(0x30, 0x3A), *range(0x20, 0x7F), *range(256)):
        bytes_of.setdefault(int(machine.classes[byte]), byte)
    texts: dict[int, bytes] = {machine.initial: b""}
    waiting = deque([machine.initial])
    while waiting and len(texts) < _MAX_VISITED:
        current = waiting.popleft()
        if machine.shows(current, state):
            return texts[current]
        for byte in bytes_of.values():
            try:
                target = machine.step(current, byte)
            except LimitError:
                continue
            if target != DEAD and target not in texts:
                texts[target] = texts[current] + bytes([byte])
                waiting.append(target)
    return None
