"""``substring_rules`` against a list of all contiguous runs of chunks."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import BuildError
from workbench.base.source import Source, Span
from workbench.pushdown.build import build
from workbench.pushdown.network import Network
from workbench.syntax.derived_rules import substring_rules, words
from workbench.syntax.grammar_tree import GrammarTree, Rule, Substrings

SPAN = Span(0, 0)


@given(
    st.lists(st.sampled_from(["a", "b", "é", "ab", "ba", ""]), min_size=1, max_size=5), st.data()
)
def test_pieces_are_rows_of_chunks_joined(chunks: list[str], data: st.DataObject) -> None:
    leaf, rules = substring_rules(chunks, "piece", SPAN)
    tree = GrammarTree((Rule("start", leaf, SPAN, SPAN), *rules), Source("", "grammar"))
    joined = {"".join(chunks[i:j]) for i, j in combinations(range(len(chunks) + 1), 2)} | {""}
    text = data.draw(st.text("abé", max_size=5) | st.sampled_from(sorted(joined)))
    try:
        machine = build(tree)
    except BuildError:
        assert joined == {""}, "a grammar of the empty text alone is none"
        return
    assert not isinstance(machine, Network)
    assert machine.accepts(text.encode()) == (text in joined)


def test_letters_of_one_byte_are_one_leaf() -> None:
    assert substring_rules("a b", "piece", SPAN) == (Substrings(b"a b", SPAN), ())


def test_words_are_cut_where_letters_begin_and_end() -> None:
    assert words("foo bar. été_1  -- x") == (
        "foo", " ", "bar", ".", " ", "été_1", "  ", "--", " ", "x",
    )  # fmt: skip
