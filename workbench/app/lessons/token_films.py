"""Films of machines over tokens, and of terminal labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from workbench.app.lessons.automaton_films import name_of, opens_at
from workbench.app.lessons.construction_films import arcs_between
from workbench.app.lessons.lesson import (
    Answer,
    Choice,
    Film,
    Frame,
    Given,
    LessonError,
    Question,
    Reply,
    Row,
    Table,
    View,
    options_question,
    text_of,
)
from workbench.app.lessons.lesson_world import World, ids_of, of_class, token_bytes
from workbench.automata.class_descriptions import expected
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import LIMITS
from workbench.base.visible_text import count_of, visible
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.engine.compose import compose
from workbench.constraint.labels import Labelled, label_vocabulary, read_by
from workbench.constraint.mask_answers import label_reason
from workbench.constraint.masks import TokenMask
from workbench.decoding.generate import after as state_after
from workbench.drawing.drawable import Machine, draw, draw_tokens
from workbench.drawing.graph import Edge, Graph, Node, state_kinds
from workbench.drawing.machines import describe_bytes, draw_token_fsa
from workbench.grammar.label_encoding import encode_labels
from workbench.syntax.ranges import normalized
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


def taken(world: World, given: Given, tokens: tuple[str, ...]) -> tuple[TokenId, ...]:
    """The reader's tokens, or the lesson's.

    Raises: LessonError for unknown ids.
    """
    if isinstance(given, tuple):
        if any(not 0 <= i < len(world.vocabulary) for i in given):
            raise LessonError("expected tokens of this lesson")
        return given
    return ids_of(world, tokens)


def choices(world: World, so_far: bytes) -> tuple[Choice, ...]:
    """Every token of the world after a text: allowed or not, and why not."""
    constraint = world.constraint
    state = constraint.step_bytes(constraint.initial, so_far)
    allowed = set() if state is None else set(constraint.mask(state))
    ids = range(len(world.vocabulary))
    return tuple(
        Choice(i, world.shown(i), i in allowed, "" if i in allowed else why(world, so_far, i))
        for i in ids
    )


def narrowed(
    choices: Iterable[Choice], mask: TokenMask, reason: Callable[[TokenId], str]
) -> tuple[Choice, ...]:
    """The choices under a second mask, with the reason for each token that only it forbids."""
    return tuple(
        choice
        if choice.token_id in mask or not choice.allowed
        else replace(choice, allowed=False, why=reason(choice.token_id))
        for choice in choices
    )


def allowed_question(every: Sequence[Choice]) -> Question:
    """Which of the tokens are allowed."""
    right = {i for i, choice in enumerate(every) if choice.allowed}
    return options_question(tuple(c.text for c in every), right, lambda i: every[i].why)


def why(world: World, so_far: bytes, token_id: TokenId) -> str:
    """Why the mask forbids a token."""
    token = world.vocabulary.tokens[token_id]
    if token is None:
        return f"the text may not end yet: it needs {needed(world, so_far)}"
    verdict = world.grammar.check(so_far + token)
    state = world.constraint.step_bytes(world.constraint.initial, so_far)
    read = 0
    while state is not None and read < len(token):
        if (state := world.constraint.step_bytes(state, token[read : read + 1])) is not None:
            read += 1
    if verdict.byte is None or read == len(token):
        return "no tokens lead from here to the end of an accepted text"
    before = f"reads {visible(token[:read])}, then needs" if read else "needs"
    return f"{before} {needed(world, so_far + token[:read])}"


def needed(world: World, text: bytes) -> str:
    """What may follow a text, in words; bytes if it ends inside a character."""
    verdict = world.grammar.check(text)
    try:
        text.decode()
    except UnicodeDecodeError:
        constraint = world.constraint
        state = constraint.step_bytes(constraint.initial, text)
        follow = [] if state is None else constraint.next_bytes(state)
        return describe_bytes(normalized((byte, byte) for byte in follow)) or "nothing"
    return expected([verdict.expected], end=verdict.may_end) or "nothing"


def over_tokens(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The machine over tokens; the reader takes tokens and sees the mask of every state."""
    name = f"{name_of(world)} over tokens"
    graph = draw_token_fsa(compose(world.dfa, world.vocabulary), world.dfa, name)

    def step(state: int, target: int, token_id: TokenId) -> tuple[str, tuple[int, ...]]:
        token = world.shown(token_id)
        say = f"{token} leads from state {state} to state {target}."
        return say, _arcs_of(graph, str(state), str(target), token)

    return _film(world, given, tokens, graph, "State 0: these tokens may come first.", step)


def _film(
    world: World,
    given: Given,
    tokens: tuple[str, ...],
    graph: Graph,
    say: str,
    step: Callable[[int, int, TokenId], tuple[str, tuple[int, ...]]],
) -> Film:
    """A frame for each token taken; ``step``: state, target, token → its sentence and edges."""
    state, so_far, ids = world.dfa.initial, b"", taken(world, given, tokens)
    frames = [_mask_frame(world, graph, state, ids, 0, so_far, say)]
    for position, token_id in enumerate(ids):
        token = world.vocabulary.tokens[token_id]
        if token is None:
            frames.append(_end_frame(world, graph, state, ids, so_far))
            break
        target = world.dfa.run(token, state)
        if target == DEAD or not allows(world, so_far, token_id):
            say = f"{world.shown(token_id)} is not allowed: {why(world, so_far, token_id)}."
            frames.append(_mask_frame(world, graph, state, ids, position, so_far, say))
            break
        so_far += token
        say, arcs = step(state, target, token_id)
        frames.append(_mask_frame(world, graph, target, ids, position + 1, so_far, say, arcs))
        state = target
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def allows(world: World, so_far: bytes, token_id: TokenId) -> bool:
    """Whether the mask after a text allows a token."""
    state = world.constraint.step_bytes(world.constraint.initial, so_far)
    return state is not None and token_id in world.constraint.mask(state)


def _mask_frame(
    world: World,
    graph: Graph,
    state: int,
    ids: tuple[TokenId, ...],
    position: int,
    so_far: bytes,
    say: str,
    arcs: tuple[int, ...] = (),
) -> Frame:
    rows = (taken_row(world, ids, position),)
    return Frame(say, (View((str(state),), arcs),), rows, choices(world, so_far))


def _arcs_of(graph: Graph, source: str, target: str, token: str) -> tuple[int, ...]:
    """The edge with this token; its label distinguishes parallel edges."""
    arcs = arcs_between(graph, (source,), (target,))
    return tuple(a for a in arcs if token in graph.edges[a].labels) or arcs


def _end_frame(
    world: World, graph: Graph, state: int, ids: tuple[TokenId, ...], so_far: bytes
) -> Frame:
    good = world.grammar.accepts(so_far)
    say = "The end: the text is accepted." if good else "The text may not end here."
    rows = (taken_row(world, ids, len(ids)),)
    return Frame(say, (View((str(state),)),), rows, good=good)


def taken_row(world: World, ids: tuple[TokenId, ...], position: int) -> Row:
    """The tokens taken."""
    return Row("tokens", tuple(world.shown(i) for i in ids[:position]), position - 1)


def over_bytes(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The automaton over bytes; tokens may end inside a character."""
    graph = _byte_graph(world)

    def step(state: int, target: int, token_id: TokenId) -> tuple[str, tuple[int, ...]]:
        token = world.vocabulary.tokens[token_id] or b""
        say = f"{world.shown(token_id)} is {count_of(len(token), 'byte')}: state {target}."
        passed = _path_states(world.dfa, token, state)
        return say, tuple(a for s, t in passed for a in arcs_between(graph, (str(s),), (str(t),)))

    say = "The machine starts in state 0; its edges are bytes."
    return _film(world, given, tokens, graph, say, step)


def _path_states(dfa: Dfa, token: bytes, state: int) -> Iterator[tuple[int, int]]:
    for byte in token:
        target = dfa.step(state, byte)
        yield state, target
        state = target


def _byte_graph(world: World) -> Graph:
    """The graph of the automaton over bytes, with one edge for each pair of states."""
    dfa = world.dfa
    nodes = tuple(
        Node(str(s), str(s), state_kinds(initial=s == dfa.initial, final=dfa.is_final(s)))
        for s in range(len(dfa))
    )
    ranges_of: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for state in range(len(dfa)):
        for byte in range(256):
            if (target := dfa.step(state, byte)) != DEAD:
                ranges_of.setdefault((state, target), []).append((byte, byte))
    edges = tuple(
        Edge(str(source), str(target), (_bytes_label(normalized(ranges)),))
        for (source, target), ranges in ranges_of.items()
    )
    return Graph(f"{name_of(world)} over bytes", nodes, edges)


def _bytes_label(ranges: tuple[tuple[int, int], ...]) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1] < 0x80:
        return visible(chr(ranges[0][0]))
    return describe_bytes(ranges)


_Ids = Sequence[TokenId]


def constraint_of(world: World) -> Labelled:
    """The constraint of a grammar with terminal labels.

    Raises: WorkbenchError where it has none.
    """
    return of_class(Labelled, compile_constraint(world.grammar, world.vocabulary))


def over_labels(world: World, given: Given, *, tokens: tuple[str, ...] = ()) -> Film:
    """The machine over tokens with an edge for each label; the reader takes tokens."""
    constraint, graph = constraint_of(world), token_graph(world)
    ids = taken(world, given, tokens)
    frames = [_frame(world, graph, (), "State 0: these tokens may come first.")]
    for position, token_id in enumerate(ids):
        state = state_after(constraint, ids[:position])
        shown, how = world.shown(token_id), _reason(world, ids[:position], token_id)
        if token_id not in constraint.mask(state):
            frames.append(_frame(world, graph, ids[:position], f"{shown} is not allowed: {how}."))
            break
        if token_id == world.vocabulary.end:
            view, row = (
                View((_graph_state(world, ids[:position]),)),
                taken_row(world, ids, position),
            )
            frames.append(Frame("The end: the text is accepted.", (view,), (row,), good=True))
            break
        frames.append(_frame(world, graph, ids[: position + 1], f"{shown} is {how}."))
    return Film((graph,), tuple(frames), "tokens", opens_at(given), ids)


def token_graph(world: World) -> Graph:
    """The machine over the step's tokens."""
    characters = draw(world.grammar, Machine.CHARACTERS)
    return draw_tokens(world.grammar, characters, world.vocabulary, LIMITS).graph


def _frame(world: World, graph: Graph, ids: _Ids, say: str) -> Frame:
    """A frame after some tokens, with the last edge."""
    lit = _graph_state(world, ids)
    arcs: tuple[int, ...] = ()
    if ids:
        constraint = constraint_of(world)
        label = constraint.label(state_after(constraint, ids[:-1]), ids[-1])
        name = label.name if label else world.shown(ids[-1])
        candidates = arcs_between(graph, (_graph_state(world, ids[:-1]),), (lit,))
        arcs = tuple(a for a in candidates if any(name in label for label in graph.edges[a].labels))
    row = taken_row(world, tuple(ids), len(ids))
    return Frame(say, (View((lit,), arcs),), (row,), _choices(world, ids))


def _graph_state(world: World, ids: _Ids) -> str:
    """The state of the picture after some tokens."""
    dfa = encode_labels(world.grammar).dfa
    assert dfa is not None, "it was drawn"
    return str(dfa.run(b"".join(read_by(constraint_of(world), ids))))


def _choices(world: World, so_far: _Ids) -> tuple[Choice, ...]:
    """Every token after some others: allowed or not, and why not."""
    constraint = constraint_of(world)
    mask = constraint.mask(state_after(constraint, so_far))
    return tuple(
        Choice(i, world.shown(i), i in mask, "" if i in mask else _reason(world, so_far, i))
        for i in range(len(world.vocabulary))
    )


def _reason(world: World, so_far: _Ids, token_id: TokenId) -> str:
    return str(label_reason(world.grammar, world.vocabulary, so_far, token_id))


def read(world: World, *, tokens: Sequence[str]) -> Table:
    """How each token is read."""
    ids = world.vocabulary.ids(*map(token_bytes, tokens))
    rows = [
        (
            world.shown(token_id),
            _reason(world, ids[:position], token_id),
            str(sum(choice.allowed for choice in _choices(world, ids[:position]))),
        )
        for position, token_id in enumerate(ids)
    ]
    return Table("How each token is read", ("token", "how", "tokens allowed"), tuple(rows))


def sizes(world: World, *, vocabularies: Sequence[str]) -> Table:
    """The number of tokens of each label in real vocabularies."""
    rows = [
        (name, entry.label.name, f"{len(entry.mask):,} of {len(loaded):,}")
        for name, loaded in ((name, Vocabulary.load(name)) for name in vocabularies)
        for entry in label_vocabulary(loaded).labels
    ]
    return Table("What one edge represents", ("vocabulary", "label", "tokens"), tuple(rows))


def allowed(world: World, *, after: Sequence[str] = ()) -> Question:
    """Which tokens may come next."""
    every = _choices(world, world.vocabulary.ids(*map(token_bytes, after)))
    right = {i for i, choice in enumerate(every) if choice.allowed}
    return options_question(tuple(choice.text for choice in every), right, lambda i: every[i].why)


def by_label(world: World, *, after: Sequence[str] = ()) -> Question:
    """Which tokens are read by a label, of those that may come next."""
    so_far = world.vocabulary.ids(*map(token_bytes, after))
    constraint = constraint_of(world)
    state, ids = state_after(constraint, so_far), range(len(world.vocabulary))
    right = {i for i in ids if constraint.label(state, i) is not None}
    return options_question(
        tuple(map(world.shown, ids)), right, lambda i: _reason(world, so_far, i)
    )


def instances(world: World, *, texts: Sequence[str]) -> Table:
    """Texts, whether each is accepted, and its value if it is."""
    grammar = world.grammar
    rows = tuple(
        (visible(text), "✓", repr(grammar.parse(text)))
        if grammar.accepts(text)
        else (visible(text), "✗", "nothing")
        for text in texts
    )
    return Table("The value of a text", ("text", "accepted", "value"), rows)


def same_value(world: World, *, text: str) -> Question:
    """Write another accepted text with the same value."""

    def judge(answer: Answer) -> Reply:
        written = text_of(answer)
        if written == text:
            return Reply(False, "That one is in the question; find another.")
        verdict = world.grammar.check(written)
        if not verdict.accepted:
            return Reply(False, f"The machine rejects it: it {verdict}.")
        value, wanted = world.grammar.parse(written), world.grammar.parse(text)
        if value != wanted:
            return Reply(False, f"Its value is {value!r}, not {wanted!r}.")
        return Reply(True, f"Right: both have the value {wanted!r}.")

    return Question("text", (), judge)
