"""Random dataclasses with instances, for round-trip tests."""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, Literal, Optional, Union

from hypothesis import strategies as st


class Colour(enum.Enum):
    RED = 1
    GREEN = "g"
    CRIMSON = 1  # noqa: PIE796  # an alias
    PAIR = (1, "it's")


class Size(enum.StrEnum):
    SMALL = enum.auto()
    LARGE = "l>arge"


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 10


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.0


@dataclasses.dataclass
class Tree:
    name: str
    parts: list["Tree"] = dataclasses.field(default_factory=list)
    parent: "Tree | None" = None


#: A type and a strategy for its values.
Drawn = tuple[Any, st.SearchStrategy[Any]]

NUMBERS = st.floats(allow_nan=False)
TEXTS = st.text(max_size=8)
POINTS = st.builds(Point, NUMBERS, NUMBERS)
TREES = st.recursive(
    st.builds(Tree, TEXTS),
    lambda inner: st.builds(Tree, TEXTS, st.lists(inner, max_size=3), st.none() | inner),
    max_leaves=5,
)
HASHED: list[Drawn] = [
    (int, st.integers()),
    (str, TEXTS),
    (bool, st.booleans()),
    (Colour, st.sampled_from(Colour)),
    (Size, st.sampled_from(Size)),
    (Rank, st.sampled_from(Rank)),
    (Point, POINTS),
    (Literal["a", "it's", '"', 7, -7], st.sampled_from(["a", "it's", '"', 7, -7])),
    (Literal[True, None, Colour.RED], st.sampled_from([True, None, Colour.RED])),
    (float, NUMBERS),
]
LEAVES: list[Drawn] = [*HASHED, (type(None), st.none()), (Tree, TREES)]


@st.composite
def drawn_types(draw: st.DrawFn, depth: int = 2) -> Drawn:
    """A type and a strategy for its values."""
    kind = draw(st.integers(0, 9)) if depth else 0
    if kind < 3:
        return draw(st.sampled_from(LEAVES))
    if kind == 3:
        of, values = draw(st.sampled_from(HASHED))
        frozen = draw(st.booleans())
        many = st.frozensets(values, max_size=3) if frozen else st.sets(values, max_size=3)
        return (frozenset if frozen else set)[of], many
    if kind == 4:
        (key, keys), (of, values) = draw(st.sampled_from(HASHED)), draw(drawn_types(depth - 1))
        return dict[key, of], st.dictionaries(keys, values, max_size=3)  # type: ignore[valid-type]
    if kind == 5:
        items = draw(st.lists(drawn_types(depth - 1), max_size=3))
        if not items:
            return tuple[()], st.just(())
        return tuple[tuple(of for of, _ in items)], st.tuples(*(values for _, values in items))  # type: ignore[misc]
    of, values = draw(drawn_types(depth - 1))
    if kind == 6:
        return list[of], st.lists(values, max_size=3)  # type: ignore[valid-type]
    if kind == 7:
        return tuple[of, ...], st.lists(values, max_size=3).map(tuple)  # type: ignore[valid-type]
    if kind == 8:
        return Optional[of], st.none() | values  # noqa: UP045
    other, others = draw(drawn_types(depth - 1))
    return Union[of, other], values | others  # noqa: UP007


@st.composite
def instances(draw: st.DrawFn) -> Any:
    """An instance of a random dataclass."""
    drawn = draw(st.lists(drawn_types(), max_size=4))
    fields: list[Any] = []
    given = {}
    for i, (of, values) in enumerate(drawn):
        value = draw(values)
        defaulted = draw(st.booleans())
        made = dataclasses.field(default_factory=_always(draw(values)))
        fields.append((f"f{i}", of, made) if defaulted else (f"f{i}", of))
        if not defaulted or draw(st.booleans()):
            given[f"f{i}"] = value
    return dataclasses.make_dataclass("Made", fields, kw_only=True)(**given)


def _always(value: Any) -> Callable[[], Any]:
    return lambda: value
