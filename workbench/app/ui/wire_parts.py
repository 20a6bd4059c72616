"""The wire format, continued: pictures with their states."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from workbench.app.ui.wire import Span


class Opening(TypedDict):
    """The part of a picture that is seen first."""

    x: float
    y: float
    scale: float
    height: float


class State(TypedDict):
    """A state of a picture; ``kinds`` as in ``drawing.graph``."""

    id: str
    label: str
    title: str
    kinds: list[str]
    rule: NotRequired[str]


class Edge(TypedDict):
    """An edge of a picture: ``count`` labels of which some are listed, what it pops and pushes."""

    source: str
    target: str
    labels: list[str]
    title: str
    kinds: NotRequired[list[str]]
    count: NotRequired[int]
    pops: NotRequired[list[str]]
    pushes: NotRequired[list[str]]
    mark: NotRequired[str]
    detail: NotRequired[str]
    inside: NotRequired[list[str]]


class TreeNode(TypedDict):
    """A drawn node of a parse tree, with its spans (start, end); ``path`` names it."""

    path: str
    kind: str
    label: str
    text: str
    characters: list[int]
    bytes: list[int]
    source: list[int]
    open: bool
    folded: bool
    differs: bool


class Tree(TypedDict):
    """What a picture of a parse tree knows: ``trees`` 0 (unfinished), 1, or 2 for several."""

    trees: int
    counted: str
    which: int
    accepted: bool
    expected: str
    failing: str
    nodes: list[TreeNode]


class Picture(TypedDict):
    """A machine, or a part of it, as SVG or as a table, with what can be asked of it.

    ``where`` has the state that shows each state, ``names`` the ids of states by what others call
    them, ``numbers`` those that are shown for states in folded chains, ``follow`` the machine of
    the run whose states are shown.
    """

    ok: Literal[True]
    count: str
    partial: bool
    note: str
    where: dict[str, str]
    follow: str | None
    names: dict[str, str]
    numbers: NotRequired[dict[str, str]]
    ends: bool
    states: list[State]
    edges: list[Edge]
    svg: NotRequired[str]
    centre: NotRequired[str]
    heads: NotRequired[list[str]]
    rows: NotRequired[list[list[str]]]
    opening: NotRequired[Opening]
    whole: NotRequired[bool]
    legible: NotRequired[bool]
    rules: NotRequired[dict[str, str]]
    tree: NotRequired[Tree]


class FlagSegment(TypedDict):
    """The tokens of a flag with one stack effect: the server's edges, and where they end."""

    text: str
    parts: list[int]
    ends: list[str]
    edge: Edge


class Flag(TypedDict):
    """Tokens that lead to one place of a picture.

    ``anchor`` is the drawn state where it stands, ``place`` the element they lead to, ``inside``
    the label in which they end.
    """

    anchor: str
    place: str
    inside: str
    tokens: int
    segments: list[FlagSegment]


class Flags(TypedDict):
    """The tokens that may follow in a state."""

    ok: Literal[True]
    count: str
    state: str
    flags: list[Flag]


class FoundState(TypedDict):
    """A state a search found."""

    id: str
    number: str
    why: str


class FoundStates(TypedDict):
    """States a search found; ``why`` there are none."""

    ok: bool
    found: list[FoundState]
    why: NotRequired[str]


class StatePlace(Span):
    """A piece of the grammar that is read from a state."""

    what: str


class AboutState(TypedDict):
    """What may be read in a state, and a text that leads there.

    ``reads`` are the characters that the state or a rule it calls reads, ``returns`` those that may
    follow when its rule has ended.
    """

    ok: Literal[True]
    state: str
    number: str
    reads: str
    returns: str
    reached: str | None
    places: list[StatePlace]
    may_end: NotRequired[bool]
    tokens: NotRequired[int]
    examples: NotRequired[list[str]]


class AboutEdge(TypedDict):
    """The tokens of an edge, up to a limit; ``why`` there are none."""

    ok: bool
    count: int
    tokens: list[str]
    why: NotRequired[str]
