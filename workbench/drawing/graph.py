r"""The data of a picture: nodes and edges, as layout, DOT and the tests use them.

Independent of machines, Graphviz and colours: ``kinds`` become class names in the SVG, and the
style sheet defines their look. ``reductions`` makes a graph smaller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from workbench.base.cached_property import cached_property
from workbench.base.limits import check_time_budget
from workbench.syntax.ranges import Ranges

#: The characters of an id: it becomes an XML id, a DOT name and part of a CSS selector.
_NAME = re.compile(r"[A-Za-z0-9_-]+")

_Item = TypeVar("_Item")


def budgeted(items: Iterable[_Item]) -> Iterator[_Item]:
    """The items; the ``time_budget`` of the picture is checked before each."""
    for item in items:
        check_time_budget("draw a smaller vocabulary, or fewer states")
        yield item


def _check_names(*names: str) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"expected letters, digits, '_' or '-', got {name!r}")


def state_kinds(*, initial: bool, final: bool) -> tuple[str, ...]:
    """The kinds of a state."""
    return (*(("initial",) if initial else ()), *(("final",) if final else ()))


@dataclass(frozen=True, slots=True)
class Node:
    """A state, or a box for a call.

    ``kinds`` in use: ``initial``, ``final``, ``rule`` (first state of a rule), ``call`` (a
    rectangular box), ``inside`` (between the bytes of one character), ``more`` (has
    neighbours that are not shown), ``refused`` and ``deeper`` (not reached by a parser, by a
    lookahead).
    """

    id: str
    label: str = ""
    kinds: tuple[str, ...] = ()
    #: Shown on hover and read by screen readers.
    title: str = ""
    #: The name of the frame the node is drawn in, or empty.
    cluster: str = ""
    #: The name of the frame a box leads into, or empty.
    calls: str = ""
    #: The stack effect of a call, such as ``▲27``: the number of the state that is pushed.
    mark: str = ""

    def __post_init__(self) -> None:
        _check_names(self.id, *self.kinds)

    @property
    def element(self) -> str:
        """The id of this node in the SVG."""
        return f"state-{self.id}"


@dataclass(frozen=True, slots=True)
class Edge:
    """An arc; each of its labels is an alternative to take it.

    A label is text for readers; a line break in it starts a new line. ``kinds`` in
    use: ``class`` (more than one character), ``chain`` (states folded into it), ``skip``
    (tokens that pass over other states), ``epsilon``, ``bytes`` (pieces of characters),
    ``push``, ``pop``, ``back`` (to the root of a transducer), ``full``, ``begins``, ``ends`` and
    ``continues`` (subterminals), ``refused`` and ``deeper`` as for nodes, ``terminal`` (a terminal
    label: the vocabulary decides which tokens it reads).
    """

    source: str
    target: str
    labels: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    #: The number of tokens the edge represents; 0 if it has no tokens.
    count: int = 0
    #: A few of them, as text.
    examples: tuple[str, ...] = ()
    #: Shown on hover.
    title: str = ""
    #: The whole text, for tables and cards; not drawn.
    detail: str = ""
    #: If states are folded in: for each label the edges that it replaces, in order.
    chains: tuple[tuple[Edge, ...], ...] = ()
    #: The states between the bytes of one character, which are not drawn.
    between: tuple[str, ...] = ()
    #: The stack effect, drawn after the labels: ``▼`` pops, ``▲`` pushes.
    mark: str = ""
    #: The popped and pushed symbols, as dotted rules, the top of the stack last.
    pops: tuple[str, ...] = ()
    pushes: tuple[str, ...] = ()
    #: The characters it reads, if they are whole characters.
    reads: Ranges = ()

    def __post_init__(self) -> None:
        _check_names(self.source, self.target, *self.kinds)
        if self.chains and len(self.chains) != len(self.labels):
            raise ValueError(f"{len(self.chains)} chains for {len(self.labels)} labels")

    @property
    def inside(self) -> tuple[str, ...]:
        """The ids of the states that are shown by this edge."""
        folded = [step.target for chain in self.chains for step in chain[:-1]]
        deeper = [state for chain in self.chains for step in chain for state in step.between]
        return tuple(dict.fromkeys((*self.between, *folded, *deeper)))


@dataclass(frozen=True, eq=False)
class Graph:
    """A picture: nodes and edges in drawing order.

    Raises: ValueError for two nodes of one id, or an edge to no node.
    """

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    #: A sentence about what is shown or left out.
    note: str = ""
    #: Whether it reads JSON, in which ``\u0041`` is another spelling of ``A``.
    is_json: bool = False

    def __post_init__(self) -> None:
        ids = {node.id for node in self.nodes}
        if len(ids) != len(self.nodes):
            raise ValueError("two nodes have the same id")
        for edge in self.edges:
            if edge.source not in ids or edge.target not in ids:
                raise ValueError(f"edge {edge.source} → {edge.target} has no node at its end")

    @cached_property
    def initial(self) -> str | None:
        """The id of the first initial node."""
        return next((node.id for node in self.nodes if "initial" in node.kinds), None)

    @cached_property
    def states(self) -> tuple[Node, ...]:
        """The nodes that are states; the others are calls."""
        return tuple(node for node in self.nodes if "call" not in node.kinds)

    @cached_property
    def clusters(self) -> tuple[str, ...]:
        """The names of the frames, in the order of their first nodes."""
        return tuple(dict.fromkeys(node.cluster for node in self.nodes if node.cluster))

    @cached_property
    def members(self) -> dict[str, tuple[dict[str, Node], list[int]]]:
        """For each frame its nodes by id, and the numbers of the edges between them."""
        members: dict[str, tuple[dict[str, Node], list[int]]] = {}
        home: dict[str, str] = {}
        for node in self.nodes:
            members.setdefault(node.cluster, ({}, []))[0][node.id] = node
            home[node.id] = node.cluster
        for number, edge in enumerate(self.edges):
            if home[edge.source] == home[edge.target]:
                members[home[edge.source]][1].append(number)
        return members

    @cached_property
    def where(self) -> dict[str, str]:
        """For each state the id of the SVG element that shows it: a node, or the edge it is in."""
        shown: dict[str, str] = {}
        for state, element in self._folded():
            shown.setdefault(state, element)
        shown.update((node.id, node.element) for node in self.nodes)
        return shown

    def _folded(self) -> Iterator[tuple[str, str]]:
        for number, edge in enumerate(self.edges):
            for state in edge.inside:
                yield state, f"edge-{number}"
