"""Graphs of vocabularies and transducers, and the figures of Koo et al.

Labels are ``read:written`` with ε for nothing (Koo et al. 2024, Figures 3, 4, 7 and 9).

The machines here follow the captions of the figures; details that a caption leaves open (one ε more
or less) are noted with the figure. Figure 8 is a flowchart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from workbench.automata.build import regex_dfa
from workbench.automata.nfa import NfaBuilder
from workbench.automata.thompson import thompson
from workbench.base.dfa import Dfa
from workbench.base.errors import WorkbenchError
from workbench.base.source import Source
from workbench.base.visible_text import visible
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import draw_dfa, draw_nfa, draw_pda, draw_token_fsa, draw_token_pda
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import Network
from workbench.pushdown.textbook_pda import pda
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.toy_vocabularies import named_toy
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The most tokens of a drawn transducer; of larger vocabularies this many are drawn.
MAX_DRAWN_TOKENS = 24


@dataclass(frozen=True, slots=True)
class FstEdge:
    """One edge; None for ε as input or output."""

    source: int
    target: int
    reads: bytes | None
    writes: bytes | None


@dataclass(frozen=True, slots=True)
class Fst:
    """A finite-state transducer (Σ, Δ, Q, I, F, E).

    Source: Koo et al. 2024, §2.2.
    """

    states: int
    initial: int
    finals: frozenset[int]
    edges: tuple[FstEdge, ...]

    def transduce(self, text: Sequence[bytes]) -> set[bytes]:
        """All outputs of the machine for this input.

        It does not end for a machine with an ε-cycle that writes; no figure has one.
        """
        results: set[bytes] = set()
        waiting = [(self.initial, 0, b"")]
        while waiting:
            state, read, written = waiting.pop()
            if read == len(text) and state in self.finals:
                results.add(written)
            for edge in self.edges:
                if edge.source != state:
                    continue
                if edge.reads is None:
                    waiting.append((edge.target, read, written + (edge.writes or b"")))
                elif read < len(text) and text[read] == edge.reads:
                    waiting.append((edge.target, read + 1, written + (edge.writes or b"")))
        return results


def fst(edges: Iterable[tuple[int, int, str, str]], finals: Iterable[int], initial: int = 0) -> Fst:
    """A transducer from a list of edges: (source, target, read, written), empty for ε."""
    listed = tuple(
        FstEdge(source, target, reads.encode() or None, writes.encode() or None)
        for source, target, reads, writes in edges
    )
    states = 1 + max(max(edge.source, edge.target) for edge in listed)
    return Fst(states, initial, frozenset(finals), listed)


#: Koo et al. 2024, Figure 3: ab becomes x; an odd number of as becomes xox…x; runs are bracketed.
AB_TO_X = fst([(0, 1, "a", "x"), (1, 2, "b", "")], finals=[2])
ODD_TO_XOX = fst([(0, 1, "a", "x"), (1, 0, "a", "o")], finals=[1])
BRACKETED_RUNS = fst(
    [
        (0, 1, "", "["),
        (1, 1, "a", "a"),
        (1, 3, "", "]"),
        (0, 2, "", "["),
        (2, 2, "b", "b"),
        (2, 3, "", "]"),
    ],
    finals=[3],
)


def detokenizer(tokens: Iterable[bytes]) -> Fst:
    """The transducer that reads tokens and writes their characters, one cycle per token.

    Source: Koo et al. 2024, Algorithm 1 and Figure 9 (left).
    """
    edges: list[FstEdge] = []
    states = 1
    for token in tokens:
        state = 0
        for written in _characters(token)[:-1]:
            edges.append(FstEdge(state, states, None, written))
            state = states
            states += 1
        edges.append(FstEdge(state, 0, token, _characters(token)[-1]))
    return Fst(states, 0, frozenset({0}), tuple(edges))


def merged_detokenizer(tokens: Iterable[bytes]) -> Fst:
    """The same transducer with the common prefixes of the cycles merged into a trie.

    Source: Koo et al. 2024, §2.3, Appendix B.1.2 and Figures 4 and 9 (right).
    """
    edges: list[FstEdge] = []
    node_of: dict[bytes, int] = {b"": 0}
    for token in tokens:
        characters = _characters(token)
        state, read = 0, b""
        for written in characters[:-1]:
            read += written
            if read not in node_of:
                node_of[read] = len(node_of)
                edges.append(FstEdge(state, node_of[read], None, written))
            state = node_of[read]
        edges.append(FstEdge(state, 0, token, characters[-1]))
    return Fst(len(node_of), 0, frozenset({0}), tuple(edges))


def _characters(token: bytes) -> list[bytes]:
    """The characters of a token; bytes that are no characters are separate."""
    return [c.encode("utf-8", "surrogateescape") for c in token.decode("utf-8", "surrogateescape")]


def draw_fst(machine: Fst, name: str, note: str = "") -> Graph:
    """A transducer as a graph."""
    nodes = tuple(
        Node(
            str(state),
            str(state),
            (*(["initial"] if state == machine.initial else []), *_final(state in machine.finals)),
        )
        for state in range(machine.states)
    )
    grouped: defaultdict[tuple[int, int, tuple[str, ...]], list[FstEdge]] = defaultdict(list)
    for edge in machine.edges:
        grouped[edge.source, edge.target, _kinds(machine, edge)].append(edge)
    edges = tuple(
        Edge(str(source), str(target), tuple(_label(e) for e in group), kinds)
        for (source, target, kinds), group in grouped.items()
    )
    return Graph(name, nodes, edges, note)


def _final(is_final: bool) -> list[str]:
    return ["final"] if is_final else []


def _kinds(machine: Fst, edge: FstEdge) -> tuple[str, ...]:
    if edge.reads is None:
        return ("epsilon",)
    return ("back",) if edge.target == machine.initial else ()


def _label(edge: FstEdge) -> str:
    return f"{_symbol(edge.reads)}:{_symbol(edge.writes)}"


def _symbol(symbol: bytes | None) -> str:
    return "ε" if symbol is None else visible(symbol)


def draw_detokenizer(vocabulary: Vocabulary, count: int = MAX_DRAWN_TOKENS) -> Graph:
    """The vocabulary's detokenizing transducer T_V, prefixes merged; of a large one an excerpt."""
    tokens, note = _excerpt(vocabulary, count)
    return draw_fst(merged_detokenizer(tokens), "detokenizing transducer", note)


def draw_unmerged_detokenizer(vocabulary: Vocabulary, count: int = MAX_DRAWN_TOKENS) -> Graph:
    """The transducer of Algorithm 1, without merged prefixes."""
    tokens, note = _excerpt(vocabulary, count)
    return draw_fst(detokenizer(tokens), "detokenizing transducer, prefixes not merged", note)


def _excerpt(vocabulary: Vocabulary, count: int) -> tuple[list[bytes], str]:
    """The tokens to draw, and a sentence about the others."""
    usual = [(i, token) for i, token in enumerate(vocabulary.tokens) if token is not None]
    if len(usual) <= count:
        return [token for _, token in usual], ""
    chosen = sorted(_telling(usual, count))
    note = f"{len(chosen):,} of {len(usual):,} tokens of {vocabulary.name}: some that begin alike"
    return [token for _, token in chosen], note


def _telling(usual: list[tuple[TokenId, bytes]], count: int) -> Iterator[tuple[TokenId, bytes]]:
    """Tokens with common prefixes, so that the merging is visible: families with one stem."""
    families: defaultdict[bytes, list[tuple[TokenId, bytes]]] = defaultdict(list)
    for entry in usual:
        if 2 <= len(entry[1]) <= 6 and entry[1].isascii() and entry[1].isalpha():
            families[entry[1][:2]].append(entry)
    remaining = count
    for family in sorted(families.values(), key=lambda f: (-min(len(f), 6), f[0][0])):
        for entry in family[: min(6, remaining)]:
            yield entry
            remaining -= 1
        if remaining <= 0:
            return
    yield from (entry for entry in usual[:remaining] if len(entry[1]) == 1)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its caption, and a function that builds its graph."""

    caption: str
    build: Callable[[], Graph]


#: Figure 6, left; in KBNF.
ANBN = "S ::= 'ab' | 'a' S 'b';"


def figure(name: str) -> Graph:
    """A figure by its number and position: ``1-left``, ``1-center``, …, ``9-right``.

    Raises: WorkbenchError for an unknown name.
    """
    if name not in FIGURES:
        raise WorkbenchError(f"expected a figure, not {name!r}", f"there are {', '.join(FIGURES)}")
    return _build(name)


@cache
def _build(name: str) -> Graph:
    return FIGURES[name].build()


def _regex(pattern: str) -> Graph:
    return draw_dfa(_dfa(pattern), f"/{pattern}/")


def _dfa(pattern: str) -> Dfa:
    return regex_dfa(parse_regex(Source(pattern, "figure")))


def _runs() -> Graph:
    """Two ε-edges, each to a state that repeats its letter; the caption says no more."""
    builder = NfaBuilder()
    start, of_as, of_bs = builder.new_state(), builder.new_state(), builder.new_state()
    for state, letter in ((of_as, ord("a")), (of_bs, ord("b"))):
        builder.epsilon(start, state)
        builder.edge(state, letter, letter, state)
    return draw_nfa(builder.build(start, {of_as, of_bs}), "runs of as or bs")


def _nondeterministic() -> Graph:
    return draw_nfa(thompson(parse_regex(Source("a+|ab", "figure"))), "/a+|ab/")


def _tokens_of_foo() -> Graph:
    dfa = _dfa("(foo)+d")
    return draw_token_fsa(compose(dfa, named_toy("figure-4")), dfa, "/(foo)+d/ over tokens")


def _anbn() -> Network:
    return Grammar.from_kbnf(ANBN, "S").network


def _tokens_of_anbn() -> Graph:
    machine = compose_pda(_anbn(), named_toy("figure-7"))
    return draw_token_pda(machine, "aⁿbⁿ over tokens")


FIGURES: dict[str, Figure] = {
    "1-left": Figure("accepts ab", lambda: _regex("ab")),
    "1-center": Figure("accepts odd numbers of as", lambda: _regex("a(aa)*")),
    "1-right": Figure("accepts runs of as or bs", _runs),
    "2-left": Figure("/a+|ab/, nondeterministic", _nondeterministic),
    "2-right": Figure("/a+|ab/, determinized", lambda: _regex("a+|ab")),
    "3-left": Figure("ab into x", lambda: draw_fst(AB_TO_X, "ab into x")),
    "3-center": Figure(
        "odd numbers of as into xo…x", lambda: draw_fst(ODD_TO_XOX, "odd numbers of as into xo…x")
    ),
    "3-right": Figure("runs, bracketed", lambda: draw_fst(BRACKETED_RUNS, "runs, bracketed")),
    "4-right": Figure(
        "tokens into characters: f, oo, foo, for, food",
        lambda: draw_detokenizer(named_toy("figure-4")),
    ),
    "5-left": Figure("/(foo)+d/ over characters", lambda: _regex("(foo)+d")),
    "5-right": Figure("/(foo)+d/ over the tokens of figure 4", _tokens_of_foo),
    "6-right": Figure("aⁿbⁿ with a stack", lambda: draw_pda(pda(_anbn()), "aⁿbⁿ")),
    "7-center": Figure(
        "tokens into characters: a, b, bb, aaab", lambda: draw_detokenizer(named_toy("figure-7"))
    ),
    "7-right": Figure("aⁿbⁿ over the tokens of figure 7", _tokens_of_anbn),
    "9-left": Figure(
        "figure 4 as Algorithm 1 builds it",
        lambda: draw_unmerged_detokenizer(named_toy("figure-4")),
    ),
    "9-right": Figure(
        "figure 4, common beginnings merged", lambda: draw_detokenizer(named_toy("figure-4"))
    ),
}
