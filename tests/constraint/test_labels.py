"""Terminal labels, held against derivatives of a regex over letters and labels; and their edges."""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.constraint.compile import METHODS, compile
from workbench.constraint.labelled import Labelled, longest_tokens
from workbench.constraint.labels import signed_vocabulary
from workbench.constraint.protocol import State
from workbench.errors import BuildError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.grammar import Grammar
from workbench.signs import labels_of, signed
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import Choice, Pattern, Sequence, Stop
from workbench.syntax.regex_dialect import Dialect
from workbench.syntax.regex_labels import labels_in
from workbench.syntax.regex_parser import parse_regex
from workbench.syntax.regex_tree import Bytes
from workbench.vocabulary.toy import toy
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

# -- the twin --------------------------------------------------------------------------------------

#: A regex over symbols: letters, and labels by their name. ("one", symbol), ("all", *parts),
#: ("any", *options), ("star", part); NOTHING has no text, EMPTY the empty one alone.
Tree = tuple[object, ...]
NOTHING: Tree = ("any",)
EMPTY: Tree = ("all",)
PRECEDENCE = ("IMAGE", "PARAGRAPH_TOKEN", "TEXT_TOKEN")


def both(left: Tree, right: Tree) -> Tree:
    if NOTHING in (left, right):
        return NOTHING
    parts = [p for one in (left, right) for p in (one[1:] if one[0] == "all" else (one,))]
    return parts[0] if len(parts) == 1 else ("all", *parts)  # type: ignore[return-value]


def either(options: list[Tree]) -> Tree:
    flat = {o for one in options for o in (one[1:] if one[0] == "any" else (one,))}
    return flat.pop() if len(flat) == 1 else ("any", *sorted(flat, key=repr))  # type: ignore[return-value]


@cache
def nullable(tree: Tree) -> bool:
    kind, *parts = tree
    if kind == "all":
        return all(map(nullable, parts))
    return any(map(nullable, parts)) if kind == "any" else kind == "star"


@cache
def after(tree: Tree, symbol: str) -> Tree:
    """What is left to be read after a symbol (Brzozowski 1964)."""
    kind, *parts = tree
    if kind == "one":
        return EMPTY if parts[0] == symbol else NOTHING
    if kind == "any":
        return either([after(part, symbol) for part in parts])
    if kind == "star":
        return both(after(parts[0], symbol), tree)
    found: list[Tree] = []
    for place, part in enumerate(parts):
        rest: Tree = ("all", *parts[place + 1 :])
        found.append(both(after(part, symbol), both(rest, EMPTY)))
        if not nullable(part):
            break
    return either(found)


def written(tree: Tree) -> str:
    kind, *parts = tree
    if kind == "one":
        return str(parts[0]) if len(str(parts[0])) == 1 else f"(?P<{parts[0]}>)"
    if kind == "star":
        return f"(?:{written(parts[0])})*"  # type: ignore[arg-type]
    joint = "" if kind == "all" else "|"
    return f"(?:{joint.join(written(part) for part in parts)})"  # type: ignore[arg-type]


class Twin:
    """Token by token, as the paper has it: text first, then the first label that has the token."""

    def __init__(self, tree: Tree, vocabulary: Vocabulary) -> None:
        self.tree, self.vocabulary = tree, vocabulary

    def ways(self, tree: Tree) -> Iterator[tuple[TokenId | str, Tree]]:
        """Every token as text and every label, each with what is left after it."""
        for token_id, token in enumerate(self.vocabulary.tokens):
            if token is not None:
                left = tree
                for letter in token.decode("latin-1"):
                    left = after(left, letter)
                yield token_id, left
        for label in PRECEDENCE:
            if any(self.reads(label, t) for t in range(len(self.vocabulary))):
                yield label, after(tree, label)

    def reads(self, label: str, token_id: TokenId) -> bool:
        token = self.vocabulary.tokens[token_id]
        if label == "IMAGE":
            return self.vocabulary.names.get(token_id) == "[IMG]"
        return token is not None and (label == "TEXT_TOKEN" or b"\n" not in token)

    def is_alive(self, tree: Tree) -> bool:
        """Whether tokens and labels lead to an end from here."""
        seen, waiting = {tree}, [tree]
        for here in waiting:
            if nullable(here):
                return True
            new = {left for _, left in self.ways(here)} - seen
            seen |= new
            waiting += new
        return False

    def rows(self, tree: Tree) -> dict[TokenId, Tree]:
        """The tokens that may come next, and where each leads."""
        ways = {way: left for way, left in self.ways(tree) if self.is_alive(left)}
        found = {}
        for token_id in range(len(self.vocabulary)):
            order = (token_id, *(label for label in PRECEDENCE if self.reads(label, token_id)))
            led = next((ways[way] for way in order if way in ways), None)
            if led is not None:
                found[token_id] = led
        if nullable(tree) and self.vocabulary.end is not None:
            found[self.vocabulary.end] = tree
        return found


SYMBOLS = st.sampled_from(["a", "b", "\n", "TEXT_TOKEN", "PARAGRAPH_TOKEN", "IMAGE"])
TREES = st.recursive(
    st.builds(lambda symbol: ("one", symbol), SYMBOLS),
    lambda inner: st.one_of(
        st.builds(lambda parts: ("all", *parts), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda parts: ("any", *parts), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda part: ("star", part), inner),
    ),
    max_leaves=7,
)
WORDS = st.lists(
    st.text("ab\n\xc3", min_size=1, max_size=3).map(lambda t: t.encode("latin-1")),
    min_size=1,
    max_size=6,
    unique=True,
)


def with_image(words: list[bytes]) -> Vocabulary:
    """Words, "a" among them, an end token and an image."""
    words = [b"a", *(word for word in words if word != b"a")]
    end = len(words)
    return Vocabulary((*words, None, None), end=end, special=(end + 1,), names={end + 1: "[IMG]"})


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("automaton", {}),
        ("composed", {}),
        ("domino", {}),
        ("online", {}),
        ("online", {"how": "trie"}),
        ("online", {"checker": "synchromesh"}),
    ],
)
@settings(max_examples=60, deadline=None)
@given(tree=TREES, words=WORDS)
def test_masks_and_steps_are_those_of_the_twin(
    method: str, options: dict[str, Any], tree: Tree, words: list[bytes]
) -> None:
    if "checker" in options:  # it knows no vocabulary: of tokens that lead nowhere it hears nothing
        words = [*{*words, b"b", b"\n"}]
    vocabulary = with_image(words)
    twin = Twin(tree, vocabulary)
    grammar = Grammar.from_regex(written(tree))
    try:
        constraint = compile(grammar, vocabulary, method, **options)
    except VocabularyError:
        assert not twin.is_alive(tree)
        return
    waiting: list[tuple[State, Tree, bytes, int]] = [(constraint.initial, tree, b"", 3)]
    seen = set()
    while waiting:
        state, left, text, depth = waiting.pop()
        rows = twin.rows(left)
        assert set(constraint.mask(state)) == set(rows), (text, left)
        assert constraint.is_final(state) == nullable(left), text
        # as characters the grammar reads whatever its tokens may spell
        assert grammar.is_prefix(text), text
        assert not nullable(left) or grammar.accepts(text), text
        for token_id in range(-1, len(vocabulary) + 2):
            if token_id not in rows:
                with pytest.raises(TokenNotAllowed):
                    constraint.advance(state, token_id)
            elif depth and (left, token_id) not in seen:
                seen.add((left, token_id))
                spelt = text + (vocabulary.tokens[token_id] or b"")
                there = constraint.advance(state, token_id)
                waiting.append((there, rows[token_id], spelt, depth - 1))


# -- on a stack, and their edges -------------------------------------------------------------------

AB = toy([b"a", b"b", b"ab", b"\n", b"(", b")", b"((", b"a\n", b"\xfc", b"\xf9", b"x\xff"])


def spelt(constraint: object, state: State) -> set[bytes]:
    assert isinstance(constraint, Labelled)
    return {constraint.vocabulary.tokens[i] or b"<end>" for i in constraint.mask(state)}


def test_labels_within_rules_that_nest() -> None:
    grammar = Grammar.from_kbnf("start ::= '(' start ')' | #'(?P<PARAGRAPH_TOKEN>)' #'\\n';")
    constraint = compile(grammar, AB)
    inner = constraint.advance(constraint.initial, AB.ids("((")[0])
    every = {b"a", b"b", b"ab", b"(", b")", b"((", b"\xfc", b"\xf9", b"x\xff"}
    assert spelt(constraint, inner) == every
    # '((' is read as text, though the label has it too
    assert constraint.label(inner, AB.ids("((")[0]) is None  # type: ignore[attr-defined]
    named = constraint.label(inner, AB.ids("ab")[0])  # type: ignore[attr-defined]
    assert named.name == "PARAGRAPH_TOKEN"
    read = constraint.advance(inner, AB.ids("ab")[0])
    assert spelt(constraint, read) == {b"\n"}
    with pytest.raises(TokenNotAllowed, match="not allowed"):
        constraint.advance(read, AB.ids("a\n")[0])


def test_text_goes_before_labels_and_shuts_their_way() -> None:
    """The one thing Koo's heuristic costs: 'b' ends it, and what the label could read is over."""
    constraint = compile(Grammar.from_regex("(?P<TEXT_TOKEN>)*b"), AB)
    over = constraint.advance(constraint.initial, AB.ids("b")[0])
    assert spelt(constraint, over) == {b"<end>"}


def test_a_label_behind_text_that_reads_all_its_tokens_is_never_read() -> None:
    """Its tokens go round before it: there is always one, and never an end."""
    vocabulary = toy([b"a", b"aa"])
    round_it = compile(Grammar.from_regex("a*(?P<TEXT_TOKEN>)"), vocabulary)
    assert spelt(round_it, round_it.initial) == {b"a", b"aa"}
    for token in ("a", "aa"):
        there = round_it.advance(round_it.initial, vocabulary.ids(token)[0])
        assert there == round_it.initial
    assert not round_it.is_final(round_it.initial)
    # one token that is no text before it, and there is a way out
    more = toy([b"a", b"aa", b"ab"])
    leaves = compile(Grammar.from_regex("a*(?P<TEXT_TOKEN>)"), more)
    assert leaves.is_final(leaves.advance(leaves.initial, more.ids("ab")[0]))


def test_forced_bytes_end_before_a_label() -> None:
    constraint = compile(Grammar.from_regex("ab(?P<TEXT_TOKEN>)b"), AB)
    assert constraint.forced(constraint.initial) == b"ab"
    here = constraint.advance(constraint.initial, AB.ids("ab")[0])
    assert constraint.forced(here) == b""


def test_bytes_of_signs_are_read_by_labels_alone() -> None:
    """What reads bytes would read a sign; a token of a sign's bytes would be one."""
    grammar = Grammar.from_kbnf(r"start ::= except!('b') | '(' #'(?P<TEXT_TOKEN>)' ')';")
    constraint = compile(grammar, AB)
    assert spelt(constraint, constraint.initial) == {b"a", b"\n", b"(", b")", b"((", b"a\n"}
    inside = constraint.advance(constraint.initial, AB.ids("(")[0])
    # the first half of a sign is no way to its second
    through = constraint.advance(inside, AB.ids(b"\xfc")[0])
    assert spelt(constraint, through) == {b")"}


def test_trees_that_read_bytes_read_no_signs() -> None:
    """No notation has both in one grammar; a tree that is made by hand may."""
    nowhere = Span(0, 0)
    byte = Pattern(Bytes(((0, 255),), nowhere), Stop.ANYWHERE, "", nowhere)
    grammar = Grammar.from_kbnf("start ::= 'x' | '(' #'(?P<TEXT_TOKEN>)' ')';")
    assert grammar.tree is not None
    rule = grammar.tree.rules[0]
    body = Choice((Sequence((byte, byte), nowhere), rule.body), nowhere)
    tree = replace(grammar.tree, rules=(replace(rule, body=body),))
    constraint = compile(replace(grammar, tree=tree), AB)
    assert b"\xfc" not in spelt(constraint, constraint.initial)
    assert b"a" in spelt(constraint, constraint.initial)


def test_grammars_without_labels_are_left_alone() -> None:
    grammar = Grammar.from_regex("(?P<QUOTED_TEXT>)")
    assert signed(grammar) is grammar
    assert not isinstance(compile(grammar, toy(['"', "a"])), Labelled)


def test_a_group_of_a_labels_name_is_no_label() -> None:
    """Patterns of JSON Schemas have none: there the name is somebody's own."""
    regex = parse_regex(Source("(?<TEXT_TOKEN>a)", "pattern"), dialect=Dialect.ECMA)
    assert not [*labels_in(regex)]


@pytest.mark.parametrize("method", [m for m, of in METHODS.items() if of.no_labels])
def test_error_when_a_method_reads_no_labels(method: str) -> None:
    with pytest.raises(WorkbenchError, match=f"{method}' does not read TEXT_TOKEN: .+"):
        compile(Grammar.from_regex("(?P<TEXT_TOKEN>)"), AB, method)


def test_error_when_a_vocabulary_has_no_image() -> None:
    with pytest.raises(VocabularyError) as caught:
        compile(Grammar.from_regex("a(?P<IMAGE>)?"), AB)
    assert str(caught.value) == (
        "toy has no token for IMAGE, a token that stands for an image\n"
        "hint: take the vocabulary of a model that reads images: one with a special token such as "
        "[IMG] or <image> among its names"
    )


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("[IMG]", True),
        ("<image>", True),
        ("<|image_pad|>", True),
        ("<image_soft_token>", True),
        ("[IMG_BREAK]", False),
        ("<start_of_image>", False),
        ("<s>", False),
        ("[INST]", False),
    ],
)
def test_what_a_special_token_is_called(name: str, is_one: bool) -> None:
    vocabulary = Vocabulary((b"a", None), special=(1,), names={1: name})
    names = [one.label.name for one in signed_vocabulary(vocabulary).labels]
    assert ("IMAGE" in names) is is_one


def test_error_when_a_label_stands_where_a_match_ends_by_its_text() -> None:
    grammar = Grammar.from_kbnf("start ::= #e'a(?P<TEXT_TOKEN>)' ;")
    with pytest.raises(BuildError, match="TEXT_TOKEN cannot stand where a match ends") as caught:
        compile(grammar, AB)
    assert grammar.source.text[caught.value.span.start :].startswith("(?P<TEXT_TOKEN>)")


@pytest.mark.parametrize(
    "rules",
    [
        "A: /(?P<TEXT_TOKEN>)/ & /[a-z]+/",
        "A: ~/(?P<TEXT_TOKEN>)/",
        'A[stop="x"]: /(?P<TEXT_TOKEN>)+/',
        "A[lazy]: B\nB: /(?P<TEXT_TOKEN>)/",
    ],
)
def test_error_when_a_label_is_made_into_a_machine(rules: str) -> None:
    """As characters it would be read token by token no more, and nobody would be told."""
    with pytest.raises(BuildError, match="TEXT_TOKEN cannot be combined") as caught:
        Grammar.from_lark(f"start: A\n{rules}")
    source, span = caught.value.source, caught.value.span
    assert source.text[span.start : span.end].startswith("(?P<TEXT_TOKEN>)")


@pytest.mark.parametrize(
    "grammar",
    [
        Grammar.from_lark('start: A B\nA: /(?P<TEXT_TOKEN>)/\nB: "b"\n%ignore /;+/'),
        Grammar.from_gbnf('root ::= Regex("(?P<TEXT_TOKEN>)") "b"'),
    ],
    ids=["lark", "gbnf"],
)
def test_labels_of_imported_grammars(grammar: Grammar) -> None:
    constraint = compile(grammar, AB)
    assert isinstance(constraint, Labelled)
    assert b"a\n" in spelt(constraint, constraint.initial)


def test_labels_are_told_with_their_places() -> None:
    text = "start ::= #'x(?P<IMAGE>)' | '(' (#'(?P<TEXT_TOKEN>)+')? ')';"
    found = labels_of(Grammar.from_kbnf(text))
    assert [(label.name, text[span.start : span.end]) for label, span in found] == [
        ("IMAGE", "(?P<IMAGE>)"),
        ("TEXT_TOKEN", "(?P<TEXT_TOKEN>)"),
    ]


# -- what belongs to the vocabulary ----------------------------------------------------------------


@given(st.lists(st.binary(min_size=1, max_size=3), max_size=12), st.booleans())
def test_the_trie_with_signs_is_the_trie_of_all_tokens(words: list[bytes], odd: bool) -> None:
    words = [w if odd or max(w) < 0xF8 else b"a" for w in [*words, b"z"]]
    made = signed_vocabulary(Vocabulary(words))
    right = Trie.of(made.tokens)
    for name in ("byte", "depth", "skip", "first", "token_ids"):
        assert np.array_equal(getattr(made.trie, name), getattr(right, name)), name
    assert made.trie.height == right.height


def test_masks_are_remembered_with_the_vocabulary() -> None:
    vocabulary = toy([*string.ascii_lowercase, "\n", "a\nb"])
    signed = signed_vocabulary(vocabulary)
    assert signed_vocabulary(vocabulary) is signed
    found = {one.label.name: set(one.mask) for one in signed.labels}
    assert found == {"PARAGRAPH_TOKEN": set(range(26)), "TEXT_TOKEN": set(range(28))}


# -- texts, cut into tokens ------------------------------------------------------------------------


def test_a_text_is_read_in_the_longest_tokens_that_are_allowed() -> None:
    constraint = compile(Grammar.from_regex("ab?(?P<PARAGRAPH_TOKEN>){2}"), AB)
    assert longest_tokens(constraint, b"ab") is not None
    assert longest_tokens(constraint, b"aba") == AB.ids("ab", "a")
    # with "ab" as the label's token no "b" is left, so 'a' is read by itself
    ends = compile(Grammar.from_regex(r"a(?P<TEXT_TOKEN>)b\n"), AB)
    assert longest_tokens(ends, b"aab") == AB.ids("a", "ab")
    assert longest_tokens(ends, b"aab\n") == AB.ids("a", "a", "b", "\n")
    assert longest_tokens(constraint, b"ba") is None
    assert longest_tokens(constraint, b"") == []
