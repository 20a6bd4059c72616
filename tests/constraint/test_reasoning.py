"""Masks of ``Reasoning`` against a test of every token by text, on all short token sequences."""

from itertools import pairwise

import pytest

import workbench as wb
from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.constraint.protocol import Constraint
from workbench.constraint.reasoning import Reasoning
from workbench.decoding.model import ToyModel

#: Tokens that end within markers, and tokens that contain the end of a marker and more.
TOKENS = [b"<", b"t", b">", b"/", b"<t", b"t>", b"</", b"/t>", b"</t>", b"a", b"1", b">1", b"</t>a"]
TOKENS += [b"t>a1", b">/", b"t><", b"<<", b">a1a"]
ANSWERS = [b"1", b"a1", b"a11"]
END = len(TOKENS)


def vocabulary(tokens: list[bytes] = TOKENS, **more: str) -> wb.Vocabulary:
    special = {len(tokens): "<end>"}
    special |= {len(tokens) + 1 + i: name for i, name in enumerate(more.values())}
    return wb.Vocabulary(
        [*tokens, *(None for _ in special)], end=len(tokens), special=special, names=special
    )


def answer(tokens: wb.Vocabulary, method: str = "automaton") -> Constraint:
    return wb.compile(wb.Grammar.from_regex("1|a1|a11"), tokens, method)


def is_allowed(text: bytes, spent: int, token: bytes, opening: bytes, budget: int) -> bool:
    """Whether a token may follow a text, by the definition."""
    closing, new = b"</t>", text + token
    if not new.startswith(opening):
        return opening.startswith(new)
    _, closed, written = new[len(opening) :].partition(closing)
    before = text[len(opening) :]
    if closing in before:
        return any(each.startswith(written) for each in ANSWERS)
    if spent >= budget:
        begun = max(n for n in range(len(closing)) if before.endswith(closing[:n]))
        missing = opening[len(text) :] + (closing if len(text) < len(opening) else closing[begun:])
        if not (missing.startswith(token) or token.startswith(missing)):
            return False
    return not closed or any(each.startswith(written) for each in ANSWERS)


@pytest.mark.parametrize("budget", [0, 1, 2, 3, 100])
@pytest.mark.parametrize("opening", ["", "<t>"])
def test_masks_are_those_of_the_definition(opening: str, budget: int) -> None:
    tokens = vocabulary()
    constraint = Reasoning(answer(tokens), opening, "</t>", budget)
    waiting, seen = [(b"", 0, constraint.initial)], 0
    for text, spent, state in waiting:
        mask, seen = constraint.mask(state), seen + 1
        for token_id, token in enumerate(TOKENS):
            expected = is_allowed(text, spent, token, opening.encode(), budget)
            assert (token_id in mask) == expected, (text, token)
            if expected and spent < 4:
                there = constraint.advance(state, token_id)
                waiting.append((text + token, spent + 1, there))
            elif not expected:
                with pytest.raises(TokenNotAllowed):
                    constraint.advance(state, token_id)
        whole = text[len(opening) :].partition(b"</t>")[2]
        assert constraint.is_final(state) == (END in mask) == (whole in ANSWERS)
    assert seen > 20


def test_a_forced_text_begins_every_continuation() -> None:
    constraint = Reasoning(answer(vocabulary()), "<t>", "</t>", 1)
    first = constraint.initial
    assert constraint.forced(first) == b"<t>"
    over = constraint.advance(constraint.advance(first, TOKENS.index(b"<t")), TOKENS.index(b">"))
    assert constraint.forced(over) == b"</t>"
    single = Reasoning(wb.compile(wb.Grammar.from_regex("a1"), vocabulary()), "", "</t>", 0)
    assert single.forced(single.initial) == b"</t>a1"
    assert single.forced(single.initial, 5) == b"</t>a"


def test_markers_that_are_special_tokens_are_read_as_tokens() -> None:
    tokens = vocabulary(opening="<t>", closing="</t>")
    opening, closing = END + 1, END + 2
    constraint = Reasoning(answer(tokens), "<t>", "</t>", 3)
    assert list(constraint.mask(constraint.initial)) == [opening]
    assert constraint.forced(constraint.initial) == b""
    state = constraint.advance(constraint.initial, opening)
    assert set(constraint.mask(state)) == {*range(len(TOKENS)), closing}
    for token_id in [TOKENS.index(b"</t>"), TOKENS.index(b"a")]:  # the marker as text is text
        state = constraint.advance(state, token_id)
    assert list(constraint.mask(state)) == [closing]
    state = constraint.advance(state, closing)
    assert constraint.mask(state) == constraint.answer.mask(constraint.answer.initial)
    written = [opening, TOKENS.index(b"a"), closing, TOKENS.index(b"a"), TOKENS.index(b"1"), END]
    assert constraint.answer_in(written) == b"a1"
    assert constraint.answer_in(written[:2]) == b""


@pytest.mark.parametrize("marker", ["```", "**\n", "</t>"])
def test_both_markers_may_be_equal(marker: str) -> None:
    tokens = wb.Vocabulary([bytes([byte]) for byte in range(256)])
    constraint = Reasoning(answer_of_one(tokens), marker, marker)
    state = constraint.initial
    for byte in f"{marker}a{marker}1".encode():
        state = constraint.advance(state, byte)
    assert constraint.is_final(state)
    assert constraint.answer_in(f"{marker}a{marker}1".encode()) == b"1"
    assert constraint.answer_in(f"{marker}a".encode()) == b""


def test_both_markers_may_be_one_special_token() -> None:
    tokens = vocabulary(both="<t>")
    constraint = Reasoning(answer(tokens), "<t>", "<t>")
    written = [END + 1, TOKENS.index(b"a"), END + 1, TOKENS.index(b"1")]
    state = constraint.initial
    for token_id in written:
        assert not constraint.is_final(state)
        state = constraint.advance(state, token_id)
    assert constraint.is_final(state)
    assert constraint.answer_in(written) == b"1"
    assert constraint.answer_in(written[:2]) == b""


def test_a_token_may_contain_the_whole_answer_without_an_end_token() -> None:
    tokens = wb.Vocabulary([b"a", b"</t>", b"</t>1", b"1"])
    constraint = Reasoning(answer_of_one(tokens), "", "</t>")
    assert list(constraint.mask(constraint.initial)) == [0, 1, 2, 3]


def test_half_a_character_is_completed_before_the_marker() -> None:
    rest = "é</t>1".encode()
    tokens = vocabulary([bytes([byte]) for byte in sorted({*rest, 0xE2, 0x82, 0xAC})])
    constraint = Reasoning(answer_of_one(tokens), "", "</t>", 1)
    first = tokens.ids(b"\xe2")[0]
    state = constraint.advance(constraint.initial, first)
    texts = []
    for _ in range(20):
        token_id = int(constraint.mask(state).ids[-1])
        if token_id == tokens.end:
            break
        texts.append(tokens.tokens[token_id])
        state = constraint.advance(state, token_id)
    whole = b"\xe2" + b"".join(filter(None, texts))
    assert whole.decode()[1:] == "</t>1"


def answer_of_one(tokens: wb.Vocabulary) -> Constraint:
    return wb.compile(wb.Grammar.from_regex("1"), tokens)


def test_a_missing_way_to_the_marker_leaves_the_others() -> None:
    """No token continues the marker after its first byte, so other text may follow that byte."""
    tokens = vocabulary([b"<", b"a", b"a</t>", b"1"])
    constraint = Reasoning(answer_of_one(tokens), "", "</t>", 0)
    state = constraint.initial
    assert list(constraint.mask(state)) == tokens.ids(b"<")
    for token in [b"<", b"a</t>", b"1"]:
        state = constraint.advance(state, tokens.ids(token)[0])
    assert constraint.is_final(state)


@pytest.mark.parametrize("method", ["domino", "online", "proper", "outlines", "lalr", "composed"])
def test_every_method_can_give_the_answer(method: str) -> None:
    tokens = wb.Vocabulary.load("builtin")
    grammar = wb.Grammar.from_regex(r'\{"sum": [0-9]{1,3}\}')
    constraint = Reasoning(wb.compile(grammar, tokens, method), budget=4)
    generation = wb.generate(
        ToyModel(tokens, seed=1),
        constraint,
        "",
        wb.Sampling(temperature=1.0, seed=3),
        max_tokens=60,
    )
    steps = list(generation)
    text = generation.trace.text
    assert generation.trace.accepted
    assert text.startswith(b"<think>")
    assert grammar.accepts(constraint.answer_in(step.token_id for step in steps))
    assert text.endswith(constraint.answer_in(step.token_id for step in steps))
    spent = [state.spent for state in (step.state for step in steps) if state.thought is not None]
    assert all(a + 1 == b for a, b in pairwise(spent))
    assert constraint.answer.can(wb.Capability.BYTES) or method != "automaton"


def test_faults_are_named() -> None:
    tokens = vocabulary()
    with pytest.raises(WorkbenchError, match="closing marker"):
        Reasoning(answer(tokens), "", "")
    with pytest.raises(WorkbenchError, match="budget"):
        Reasoning(answer(tokens), "", "</t>", -1)
    with pytest.raises(VocabularyError, match="token"):
        Reasoning(answer(tokens), "", "[end]")
