"""The lessons in their order: the files of ``content``, read once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from workbench.lessons.lesson import Lesson, LessonError
from workbench.lessons.reading import read_lesson

CONTENT = Path(__file__).resolve().parent / "content"

#: The shelves, and on each the order in which lessons build on each other; a new one is named here.
SHELVES: dict[str, tuple[str, ...]] = {
    "Machines and masks": (
        "machines",
        "tokens",
        "composition",
        "stacks",
        "ambiguity",
        "kbnf",
        "wide",
        "labels",
    ),
    "Reading a run": ("masked", "perplexity"),
    "Older ways to a mask": ("index", "terminals", "online"),
    "DOMINO": ("bridge", "templates", "subterminals", "lookahead", "speculation"),
    "Proper tokens": ("improper", "merges", "direct", "product"),
    "Other notations": ("json_schema", "dataclasses"),
}

ORDER = tuple(name for shelf in SHELVES.values() for name in shelf)


@cache
def lessons() -> dict[str, Lesson]:
    """Every lesson by its name, in order.

    Raises: LessonError for a file that is not as it should be, or not listed.
    """
    present = {path.stem for path in CONTENT.glob("*.toml")}
    if present != set(ORDER):
        raise LessonError(f"expected the files {', '.join(ORDER)}, found {sorted(present)}")
    return {name: read_lesson(CONTENT / f"{name}.toml") for name in ORDER}


def lesson(name: str) -> Lesson:
    """A lesson by its name.

    Raises: LessonError for a name that is none.
    """
    if name not in lessons():
        raise LessonError(f"expected a lesson, not {name!r}", f"there are {', '.join(ORDER)}")
    return lessons()[name]
