"""Graphs of scanners and subterminal trees: DOMINO's Figures 3(b), 3(d), 3(e) and 4.

The available text of the paper lacks the drawings. The grammar of Figure 3(a) is in §3.1 and §3.2;
of its vocabulary (c) only this is certain: numbers, ``+``, ``+1``, ``(``, ``)``, the end token,
and a token that needs k = 2 after ``(12``, here ``)+1``. The paper's boxes for
subterminals become brackets that are open where the terminal continues: ``[int]`` full, ``[int…``
start, ``…int]`` end, ``…int…`` continuation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from workbench.base.dfa import State
from workbench.base.limits import LIMITS
from workbench.base.visible_text import shorten, visible
from workbench.constraint.methods.domino.domino import DominoConstraint, allowed_nodes
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner, Terminal
from workbench.constraint.methods.domino.subterminal_trees import SubterminalTree, Trees
from workbench.drawing.edge_labels import folded
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import reading_edges, state_node
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import named_toy
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: Figure 3(a): sums of numbers, with or without brackets; a number is one terminal.
FIGURE_3 = "E ::= int | '(' E ')' | E '+' E;\nint ::= #'[1-9][0-9]*|0+';"

#: The most drawn letters of a terminal's name, and of the tokens at a node.
_MAX_NAME, _MAX_TOKENS = 16, 26
#: The most tokens of a node that are listed.
_MAX_EXAMPLES = 12


def draw_scanner(scanner: Scanner, name: str = "character scanner") -> Graph:
    """Figure 3(b): q₀, a box for every terminal, q_a, and ε-edges; each box has its frame."""
    boxes = draw_boxes(scanner, name)
    nodes, edges = list(boxes.nodes), list(boxes.edges)
    for number, terminal in enumerate(scanner.terminals):
        offset = int(scanner.initials[number]) - terminal.dfa.initial
        inside = draw_terminal(terminal)
        for node in inside.nodes:
            nodes.append(
                replace(node, id=_at(node.id, offset), label="", cluster=_frame_name(number))
            )
        for edge in inside.edges:
            between = tuple(_at(state, offset) for state in edge.between)
            ends = _at(edge.source, offset), _at(edge.target, offset)
            edges.append(replace(edge, source=ends[0], target=ends[1], between=between))
    named = {_frame_name(n): _short(terminal.name) for n, terminal in enumerate(scanner.terminals)}
    shown = (replace(node, cluster=named.get(node.cluster, "")) for node in nodes)
    return Graph(name, tuple(shown), tuple(edges))


def draw_boxes(scanner: Scanner, name: str = "character scanner") -> Graph:
    """The scanner with a plain box for each terminal."""
    begin = Node("begin", "q₀", ("initial",), "between two terminals")
    end = Node("end", "qₐ", ("final",), "a terminal has ended")
    boxes = [
        Node(f"terminal-{number}", _short(terminal.name), ("call",), f"terminal {terminal.name}")
        for number, terminal in enumerate(scanner.terminals)
    ]
    edges = [
        edge
        for box in boxes
        for edge in (
            Edge(begin.id, box.id, ("ε",), ("epsilon",)),
            Edge(box.id, end.id, ("ε",), ("epsilon",)),
        )
    ]
    back = Edge(end.id, begin.id, ("ε",), ("epsilon", "back"), title="the next terminal")
    return Graph(name, (begin, *boxes, end), (*edges, back))


def draw_terminal(terminal: Terminal) -> Graph:
    """Figure 4: the automaton of a terminal."""
    dfa = terminal.dfa
    read = folded(dfa)
    nodes = [state_node(s, dfa.initial, bool(dfa.finals[s])) for s in sorted(read.states)]
    named = (
        replace(node, label=_short(terminal.name)) if "initial" in node.kinds else node
        for node in nodes
    )
    return Graph(f"terminal {_short(terminal.name)}", tuple(named), reading_edges(read))


def draw_tree(
    scanner: Scanner, trees: Trees, vocabulary: Vocabulary, scanner_state: State, name: str = ""
) -> Graph:
    """Figure 3(d): T_q, with subterminals on its edges and their tokens at its nodes.

    If the current terminal may end, the terminals after it are drawn at the same root, as in the
    paper.
    """
    picture = _Picture(scanner, vocabulary)
    picture.root("root", scanner_state)
    for state in dict.fromkeys(
        (scanner_state, BETWEEN) if scanner.accepting[scanner_state] else (scanner_state,)
    ):
        tree = trees.get(state)
        if tree is not None:
            picture.hang("root", tree, {})
    if scanner_state == BETWEEN or scanner.accepting[scanner_state]:
        picture.end("root")
    return picture.graph(name or f"subterminals from {picture.place(scanner_state)}")


def draw_pruned(constraint: DominoConstraint, state: int, name: str = "") -> Graph:
    """Figure 3(e): the trees of a state, with the parts that the parser and k exclude.

    Edges and nodes are ``refused`` if the parser does not allow the terminal (nodes below are not
    drawn), ``deeper`` if it is allowed but beyond k; then the label has the k it takes.
    """
    scanner, parser = constraint.scanner, constraint.parser
    trees = _whole_trees(constraint)
    picture = _Picture(scanner, constraint.vocabulary)
    roots: dict[int, str] = {}
    for number, (scanner_state, parsed) in enumerate(
        sorted(constraint.readings[state], reverse=True)
    ):
        root = f"root{number}"
        if scanner_state == BETWEEN and parsed in roots:
            root = roots[parsed]  # the current terminal may end: its root has this tree as well
        else:
            picture.root(root, scanner_state)
        if scanner.accepting[scanner_state]:
            roots[parser.step(parsed, int(scanner.owner[scanner_state]))] = root
        tree = trees.get(scanner_state)
        if tree is not None:
            allowed = set(allowed_nodes(tree, parser, parsed))
            kept = {node for node in allowed if tree.depth[node] < constraint.levels}
            marks = {
                node: "" if node in kept else "deeper" if node in allowed else "refused"
                for node in range(len(tree))
            }
            picture.hang(root, tree, marks)
        if scanner_state == BETWEEN:
            picture.end(root, "" if parser.is_final(parsed) else "refused")
    return picture.graph(name or "subterminals the parser allows")


def _whole_trees(constraint: DominoConstraint) -> Trees:
    """The trees, including the part beyond the lookahead."""
    trie, limits = constraint.vocabulary.trie, constraint.limits
    if constraint.levels >= trie.height:
        return constraint.trees
    return Trees(constraint.scanner, constraint.parser.follows, trie, limits, trie.height)


@dataclass(frozen=True, slots=True)
class _Picture:
    """The builder of a graph of trees."""

    scanner: Scanner
    vocabulary: Vocabulary
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def root(self, root: str, state: State) -> None:
        self.nodes.append(Node(root, self.place(state), ("initial",), f"scanner state {state}"))

    def place(self, state: State) -> str:
        """The title of a scanner state."""
        return "q₀" if state == BETWEEN else f"…{self._name(int(self.scanner.owner[state]))}"

    def end(self, root: str, mark: str = "") -> None:
        """The node r_EOS, if a text may end."""
        node = Node(f"{root}-end", "EOS", ("final",), "the end token")
        self.nodes.append(_mark(node, mark))
        self.edges.append(_marked_edge(Edge(root, node.id, ("[$]",), ("full",)), mark, 0))

    def hang(self, root: str, tree: SubterminalTree, marks: Mapping[int, str]) -> None:
        """A tree below a root; ``marks`` says which nodes are refused or deeper."""
        node = 0
        while node < len(tree):
            mark = marks.get(node, "")
            above = int(tree.parent[node])
            source = root if above < 0 else f"{root}-{tree.state}-{above}"
            is_inner = above < 0 and tree.state != BETWEEN
            for piece in self._pieces(root, source, tree, node, is_inner):
                self.nodes.append(_mark(piece[0], mark))
                self.edges.append(_marked_edge(piece[1], mark, int(tree.depth[node])))
            node = int(tree.skip[node]) if mark == "refused" else node + 1

    def _pieces(
        self, root: str, source: str, tree: SubterminalTree, node: int, is_inner: bool
    ) -> Iterator[tuple[Node, Edge]]:
        """A drawn node: for whole terminals with its subtree, for partial ones without."""
        low, high = int(tree.first[node]), int(tree.first[node + 1])
        tokens, partial = tree.tokens[low:high].tolist(), tree.partial[low:high].tolist()
        ids = f"{root}-{tree.state}-{node}", f"{root}-{tree.state}-{node}-partial"
        for which, its_id in ((False, ids[0]), (True, ids[1])):
            its = [t for t, p in zip(tokens, partial, strict=True) if p is which]
            goes_on = not which and int(tree.skip[node]) > node + 1
            if its or goes_on:
                kind = _KINDS[is_inner, which]
                label = _BRACKETS[kind].format(self._name(int(tree.terminal[node])))
                label_text = self._token_list(its)
                shown = Node(its_id, label_text, title=f"{len(its):,} tokens: {label_text}")
                yield shown, Edge(source, its_id, (label,), (kind,), len(its), self._examples(its))

    def _token_list(self, tokens: list[TokenId]) -> str:
        label_text = " ".join(self._examples(tokens))
        more = f" +{len(tokens) - _MAX_EXAMPLES:,}" if len(tokens) > _MAX_EXAMPLES else ""
        return shorten(label_text, _MAX_TOKENS - len(more)) + more

    def _examples(self, tokens: list[TokenId]) -> tuple[str, ...]:
        return tuple(visible(self.vocabulary.tokens[t] or b"") for t in tokens[:_MAX_EXAMPLES])

    def _name(self, terminal: int) -> str:
        return _short(self.scanner.terminals[terminal].name)

    def graph(self, name: str) -> Graph:
        return Graph(name, tuple(self.nodes), tuple(self.edges))


#: The kind of a subterminal, by whether it continues a terminal and whether it is unfinished.
_KINDS = {
    (False, False): "full",
    (False, True): "begins",
    (True, False): "ends",
    (True, True): "continues",
}
_BRACKETS = {"full": "[{}]", "begins": "[{}…", "ends": "…{}]", "continues": "…{}…"}


def _mark(node: Node, mark: str) -> Node:
    return replace(node, kinds=(*node.kinds, mark)) if mark else node


def _marked_edge(edge: Edge, mark: str, depth: int) -> Edge:
    """An edge with its mark; the label has it too, since colour alone is not accessible."""
    if not mark:
        return edge
    (label,) = edge.labels
    label_text = f"✗ {label}" if mark == "refused" else f"{label} k={depth}"
    return replace(edge, labels=(label_text,), kinds=(*edge.kinds, mark))


def _short(name: str) -> str:
    return shorten(visible(name), _MAX_NAME)


def _frame_name(number: int) -> str:
    return f"frame {number}"


def _at(state: str, offset: int) -> str:
    return str(int(state) + offset)


@cache
def figure_3_constraint(k: int | None = None) -> DominoConstraint:
    """The running example of the paper with a lookahead."""
    return DominoConstraint(Grammar.from_kbnf(FIGURE_3, "E"), named_toy("domino-3"), LIMITS, k)


def figure_3b() -> Graph:
    """The scanner: a box for each terminal."""
    return draw_boxes(figure_3_constraint().scanner, "figure 3(b)")


def figure_3d(text: bytes = b"12") -> Graph:
    """The subterminal tree of the scanner after a text of one terminal; of q₀ after the empty text.

    Of R: any terminal may follow any other, because the parser is not used.
    """
    constraint = figure_3_constraint()
    scanner = constraint.scanner
    every = tuple(range(len(scanner.terminals)))
    trie = constraint.vocabulary.trie
    trees = Trees(scanner, (every,) * len(every), trie, LIMITS, trie.height)
    after = constraint.readings.after(constraint.initial, text)
    scanner_state = BETWEEN if after is None else max(constraint.subterminal(after))
    return draw_tree(scanner, trees, constraint.vocabulary, scanner_state, "figure 3(d)")


def figure_3e(k: int | None = 0, text: bytes = b"(12") -> Graph:
    """The tree after a text, pruned by the parser and by the lookahead."""
    constraint = figure_3_constraint(k)
    state = constraint.readings.after(constraint.initial, text)
    return draw_pruned(constraint, constraint.initial if state is None else state, "figure 3(e)")


def figure_4() -> Graph:
    """The automaton of ``int``."""
    terminals = figure_3_constraint().scanner.terminals
    return draw_terminal(next(terminal for terminal in terminals if terminal.name == "int"))


#: The figures, by their names in lessons.
FIGURES: dict[str, Callable[[], Graph]] = {
    "domino-3b": figure_3b,
    "domino-3d": figure_3d,
    "domino-3e": figure_3e,
    "domino-4": figure_4,
}
