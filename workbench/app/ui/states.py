"""Answers about one state, one edge or a search in a picture.

A state says what may be read in it and where in the grammar that is written; an edge lists all its
tokens; a search finds states by number, rule or label, also outside the part that is drawn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache

from workbench.analysis.earley import SourceRecognizer
from workbench.analysis.run_tracing import PicturedMachine
from workbench.app.pipeline import Compiled
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import View, leaving_edges, sentence
from workbench.app.ui.records import Record
from workbench.app.ui.requests import TextRequest, text_in
from workbench.automata.describe import describe
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.source import Span
from workbench.constraint.labels import signed_vocabulary
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.drawing.graph import Graph
from workbench.drawing.reductions import calm, fold_counts
from workbench.drawing.visible_text import visible
from workbench.grammar.label_encoding import named, signed, spelt
from workbench.pushdown.runner import Runner
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: States a search tells, and how many states of a machine made in part it looks at.
_FOUND = 12
_SEARCHED = 400

#: Tokens of one edge that are sent, and of one state as examples.
_MOST_TOKENS = 2_000
_EXAMPLES = 8

#: Situations met while a text is looked for that leads to a state.
_LOOKED_AT = 4_000

#: Places in the grammar told of a state.
_PLACES = 4


def find_states(handlers: Handlers, sent: Record) -> Record:
    """States by number, by the name of their rule, by what stands at their edges."""
    try:
        machine, drawn, _ = handlers.drawn(sent)
        query = text_in(sent, "query", 80).strip()
        if not query:
            return {"ok": True, "found": []}
        seen: dict[str, Record] = {}
        for state, why in _matches(_searched(handlers, sent, machine, drawn), query, drawn):
            number = drawn.numbers.get(state, state)
            seen.setdefault(state, {"id": state, "number": number, "why": why})
            if len(seen) == _FOUND:
                break
        return {"ok": True, "found": list(seen.values())}
    except WorkbenchError as error:
        return {"ok": False, "found": [], "why": sentence(error)}


def _searched(handlers: Handlers, sent: Record, machine: Machine, drawn: Drawn) -> Graph:
    """The graph that is looked through: for tokens the one over characters, with all labels."""
    if machine is Machine.TOKENS:
        under = (
            Machine.RULES
            if drawn.followed is not PicturedMachine.CHARACTERS
            else Machine.CHARACTERS
        )
        try:
            _, drawn, _ = handlers.drawn({**sent, "tab": str(under)})
        except WorkbenchError:
            return _searchable(drawn)
    return _searchable(drawn)


@lru_cache(maxsize=32)
def _searchable(drawn: Drawn) -> Graph:
    """Kept for the next letter somebody types."""
    return drawn.parts.around("", _SEARCHED)


def _matches(graph: Graph, query: str, drawn: Drawn) -> Iterator[tuple[str, str]]:
    """States that answer a search, the exact ones first, with why they do."""
    small = calm(fold_counts(graph))
    states = {number: state for state, number in drawn.numbers.items()}
    if query.isdigit() and (query in states or not states):
        yield states.get(query, query), "its number"
    wanted = query.casefold()
    for node in graph.nodes:
        if node.cluster.casefold() == wanted and "rule" in node.kinds:
            yield node.id, f"the first of {node.cluster}"
    sought = visible(query)
    lines = [
        (edge, line) for edge in small.edges for label in edge.labels for line in label.split("\n")
    ]
    for edge, line in lines:
        if line == sought:
            yield edge.source, f"reads {line}"
    for node in graph.nodes:
        if wanted in node.cluster.casefold() and "rule" in node.kinds:
            yield node.id, f"the first of {node.cluster}"
    for node in graph.nodes:  # where rules have no frames, a state's title names its own
        if f" · {wanted} · " in f"{node.title.casefold()} ":
            yield node.id, f"in {query}"
    for edge, line in lines:
        if sought.casefold() in line.casefold():
            yield edge.source, _does(line)
    for node in graph.nodes:
        if node.label.startswith(query) and node.label != query and "call" not in node.kinds:
            yield node.id, "its number"


def _does(line: str) -> str:
    """What a line at an edge says it does."""
    return f"reads {line}"


def about_edge(handlers: Handlers, sent: Record) -> Record:
    """All tokens of an edge of a machine over tokens."""
    try:
        machine, drawn, _ = handlers.drawn(sent)
        if "parts" in sent:
            tokens = _leaving(handlers, sent, drawn)
        else:
            source, target = text_in(sent, "source", 40), text_in(sent, "target", 40)
            tokens = _tokens(handlers, sent, machine, drawn, source, target)
        return {"ok": True, "count": len(tokens), "tokens": tokens[:_MOST_TOKENS]}
    except (WorkbenchError, ValueError, IndexError) as error:
        why = sentence(error) if isinstance(error, WorkbenchError) else "there is no such edge"
        return {"ok": False, "count": 0, "tokens": [], "why": why}


def _leaving(handlers: Handlers, sent: Record, drawn: Drawn) -> list[str]:
    """The tokens of some of the edges that leave the current state."""
    view, vocabulary = View.of(sent), handlers.vocabulary_of(sent)
    leaving = leaving_edges(drawn, view.centre, view.so_far)
    wanted = sent["parts"]
    if not isinstance(wanted, list) or not all(type(number) is int for number in wanted):
        raise WorkbenchError("expected the numbers of edges")
    ids: list[TokenId] = []
    for number in wanted:
        edge = leaving.edges[number]
        ids += leaving.tokens[number] or drawn.parts.tokens(leaving.state, edge.target)  # type: ignore[attr-defined]
    return [_token(vocabulary, token_id) for token_id in dict.fromkeys(ids)]


def _tokens(
    handlers: Handlers, sent: Record, machine: Machine, drawn: Drawn, source: str, target: str
) -> list[str]:
    tokens = getattr(drawn.parts, "tokens", None)
    if machine not in OVER_TOKENS or tokens is None:
        return []
    vocabulary = handlers.vocabulary_of(sent)
    return [_token(vocabulary, token_id) for token_id in tokens(source, target)]


def _token(vocabulary: Vocabulary, token_id: TokenId) -> str:
    if token_id < len(vocabulary):
        return visible(vocabulary.tokens[token_id] or b"")
    read = signed_vocabulary(vocabulary).label_of(token_id)
    assert read is not None, "what lies behind the last token is a sign"
    return f"⟨{read.label.name}: {len(read.mask):,} tokens⟩"


def about_state(handlers: Handlers, sent: Record) -> Record:
    """What may be read in a state, a text that leads there, and where in the grammar that is."""
    try:
        state = text_in(sent, "state", 40)
        machine, drawn, _ = handlers.drawn(sent)
        compiled = handlers.compiled(TextRequest.of(sent))
        told: Record = {"ok": True, "state": state, "reads": "", "reached": None, "places": []}
        if machine in OVER_TOKENS and machine is not Machine.DETOKENIZER:
            listed = _tokens(handlers, sent, machine, drawn, state, "")
            told |= {"tokens": len(listed), "examples": listed[:_EXAMPLES]}
        told["number"] = drawn.numbers.get(state, state)
        if drawn.followed is not None and state.isdigit():
            told |= _reached(compiled, drawn.followed, int(state))
        return told
    except (WorkbenchError, ValueError, IndexError) as error:
        why = sentence(error) if isinstance(error, WorkbenchError) else "there is no such state"
        return {"ok": False, "why": why}


def _reached(compiled: Compiled, followed: PicturedMachine, state: int) -> Record:
    """A short text that leads to a state, and what could read on after it."""
    text = _text_to(compiled, followed, state)
    if text is None:
        return {}
    told: Record = {"reached": visible(named(text))}
    try:
        reached = _places(compiled).after(spelt(text))
    except LimitError:
        return told
    if reached is None:
        return told
    told["may_end"] = reached.may_end
    told["reads"] = describe(reached.reads) if reached.reads else ""
    told["places"] = [_place(compiled, place.span) for place in reached.pieces[:_PLACES]]
    return told


def _place(compiled: Compiled, span: Span) -> Record:
    written = compiled.text[span.start : span.end]
    return {"start": span.start, "end": span.end, "what": written[:40]}


@lru_cache(maxsize=16)
def _places(compiled: Compiled) -> SourceRecognizer:
    """The places of a grammar, kept for the next state somebody looks at."""
    assert compiled.grammar is not None, "a machine was drawn of it"
    return SourceRecognizer.of(compiled.grammar)


def _text_to(compiled: Compiled, followed: PicturedMachine, state: int) -> bytes | None:
    """A shortest text after which the machine stands in a state; None where none is found soon."""
    characters = compiled.characters
    grammar = compiled.grammar
    assert grammar is not None, "a machine was drawn of it"
    if followed is PicturedMachine.CHARACTERS:
        assert characters is not None, "a machine was drawn of it"
        return _shortest(_Automaton(characters), state)
    pictured = signed(grammar)
    network = pictured.network if followed is PicturedMachine.NETWORK else pictured.rules
    return _shortest(_Situations(Runner(network, grammar.limits)), state)


class _Automaton:
    """A character automaton as something to look around in."""

    def __init__(self, machine: Dfa | LazyDfa) -> None:
        self.initial = machine.initial
        self.classes = machine.classes
        self.step = machine.step

    def shows(self, here: int, state: int) -> bool:
        return here == state


class _Situations:
    """The same of a network of rules, whose situations hold many states."""

    def __init__(self, runner: Runner) -> None:
        self.initial = runner.initial
        self.classes = runner.classes
        self.step = runner.step
        self._runner = runner

    def shows(self, here: int, state: int) -> bool:
        # what a state calls is read from as well: the first state of a rule is never stood in
        openings = self._runner.network.openings
        ways = self._runner.configurations(here)
        return any(inner == state for at, _ in ways for inner, _ in openings(at))


def _shortest(machine: _Automaton | _Situations, state: int) -> bytes | None:
    """Breadth first, one byte of each class: one that can be read easily where there is one."""
    bytes_of: dict[int, int] = {}
    for byte in (*range(0x61, 0x7B), *range(0x30, 0x3A), *range(0x20, 0x7F), *range(256)):
        bytes_of.setdefault(int(machine.classes[byte]), byte)
    found: dict[int, bytes] = {machine.initial: b""}
    waiting = deque([machine.initial])
    while waiting and len(found) < _LOOKED_AT:
        here = waiting.popleft()
        if machine.shows(here, state):
            return found[here]
        for byte in bytes_of.values():
            try:
                there = machine.step(here, byte)
            except LimitError:
                continue
            if there != DEAD and there not in found:
                found[there] = found[here] + bytes([byte])
                waiting.append(there)
    return None
