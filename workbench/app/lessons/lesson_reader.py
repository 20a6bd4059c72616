"""Reads lessons from their files, and checks them; the shelves and the order of lessons."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from workbench.app.lessons.films import BROAD, FILMS
from workbench.app.lessons.lesson import Kind, Lesson, LessonError, Opening, Step
from workbench.app.lessons.lesson_tables import TABLES
from workbench.app.lessons.lesson_world import World
from workbench.app.lessons.questions import QUESTIONS
from workbench.grammar.gallery import load_gallery
from workbench.grammar.notations import Notation

_HOLE = ("prefix", "suffix")
_WORLD = (
    *Notation,
    "start",
    *_HOLE,
    "tokens",
    "merges",
    "pretokenizer",
    "chances",
    "draft",
    "warm",
)
_LESSON = {"title", "aim", "source", "steps", *_WORLD}
_STEP = {
    "title",
    "text",
    "source",
    "figure",
    "caption",
    "table",
    "hidden",
    "question",
    "open",
    *_WORLD,
}
_OPEN = {"example", "prompt", "tab", "tests", "text", "notation", "start"}

_Table = Mapping[str, Any]


def read_lesson(path: Path) -> Lesson:
    """The lesson in a file, named after the file.

    Raises: LessonError with the file, the step and what was expected there.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{path.name}: this is not TOML: {error}") from None
    try:
        return lesson_of(data, path.stem)
    except LessonError as error:
        raise LessonError(f"{path.name}: {error.message}", error.hint) from None


def lesson_of(data: _Table, name: str) -> Lesson:
    """A lesson from its data.

    Raises: LessonError.
    """
    _check_keys(data, _LESSON, "the lesson")
    listed = data.get("steps")
    if not isinstance(listed, list) or not listed:
        raise LessonError("expected at least one [[steps]]")
    steps = []
    for number, step in enumerate(listed, start=1):
        try:
            steps.append(_step(step, data))
        except LessonError as error:
            raise LessonError(f"step {number}: {error.message}", error.hint) from None
    return Lesson(
        name, _text(data, "title"), _text(data, "aim"), _text(data, "source"), tuple(steps)
    )


def _step(data: _Table, lesson: _Table) -> Step:
    _check_keys(data, _STEP, "a step")
    world = _world(data, lesson)
    paragraphs = tuple(" ".join(part.split()) for part in _text(data, "text").strip().split("\n\n"))
    return Step(
        title=_text(data, "title"),
        paragraphs=paragraphs,
        source=_text(data, "source", str(lesson.get("source", ""))),
        world=world,
        figure=_kind(data, "figure", FILMS),
        caption=_text(data, "caption", ""),
        table=_kind(data, "table", TABLES),
        hidden=tuple(_list(data, "hidden")),
        question=_question(data),
        opening=_opening(data, world),
    )


def _world(data: _Table, lesson: _Table) -> World:
    """The step's world; the lesson's values are the defaults."""
    values = {key: data[key] for key in _WORLD if key in data}
    shared = {key: lesson[key] for key in _WORLD if key in lesson}
    if any(notation in values for notation in Notation):
        shared = {k: v for k, v in shared.items() if k not in (*Notation, "start", *_HOLE)}
    merged = {**shared, **values}
    written = [(_text(merged, notation), notation) for notation in Notation if notation in merged]
    if len(written) > 1:
        raise LessonError(
            f"expected one of {' and '.join(notation for _, notation in written)}, not both"
        )
    text, notation = written[0] if written else ("", Notation.REGEX)
    return World(
        text=text,
        notation=notation,
        start=_text(merged, "start", "start"),
        prefix=_text(merged, "prefix", ""),
        suffix=_text(merged, "suffix", ""),
        tokens=_tokens(merged),
        merges=_pairs(merged, "merges"),
        pretokenizer=_text(merged, "pretokenizer", ""),
        chances=merged.get("chances", {}),
        draft=merged.get("draft", {}),
        warm=tuple(tuple(map(str, run)) for run in merged.get("warm", [])),
    )


def _kind(data: _Table, key: str, kinds: Mapping[str, object]) -> Kind | None:
    """``figure = "subsets"``, or ``figure = { kind = "characters", text = "ab" }``."""
    if key not in data:
        return None
    given = data[key]
    if not isinstance(given, str | dict):
        raise LessonError(f"expected a name or a table as {key!r}")
    settings: dict[str, Any] = {"kind": given} if isinstance(given, str) else dict(given)
    name = settings.pop("kind", None)
    if name not in kinds:
        raise LessonError(f"expected a {key}, not {name!r}", f"there are {', '.join(kinds)}")
    world_data, broad = settings.pop("world", None), bool(settings.pop("broad", name in BROAD))
    return Kind(
        str(name),
        settings,
        world=None if world_data is None else _world(world_data, {}),
        broad=broad,
    )


def _question(data: _Table) -> Kind | None:
    """A question, with its text."""
    kind = _kind(data, "question", QUESTIONS)
    if kind is None:
        return None
    settings = dict(kind.settings)
    ask = settings.pop("ask", None)
    if not isinstance(ask, str) or not ask:
        raise LessonError("expected 'ask', a sentence, in the question")
    return replace(kind, settings=settings, ask=ask)


def _opening(data: _Table, world: World) -> Opening | None:
    given = data.get("open")
    if given is None:
        return None
    if not isinstance(given, dict):
        raise LessonError("expected a table as 'open', for example { tab = \"characters\" }")
    _check_keys(given, _OPEN, "open")
    if "example" in given:
        return _example(_text(given, "example"), _text(given, "tab", "characters"))
    tests = given.get("tests", [])
    return Opening(
        text=_text(given, "text", world.text),
        notation=_text(given, "notation", str(world.notation)),
        start=_text(given, "start", world.start),
        prompt=_text(given, "prompt", ""),
        tab=_text(given, "tab", "characters"),
        tests=tuple((str(t["text"]), t.get("expect")) for t in tests),
    )


def _example(name: str, tab: str) -> Opening:
    """An example of the gallery; its name lets the page show its recorded run."""
    gallery = load_gallery()
    if name not in gallery:
        raise LessonError(f"expected an example of the gallery, not {name!r}")
    example = gallery[name]
    return Opening(
        example.text, str(example.notation), example.start, example.prompt, tab, (), name
    )


def _check_keys(data: _Table, keys: set[str], what: str) -> None:
    if unknown := set(data) - keys:
        raise LessonError(
            f"{what} has no {sorted(unknown)[0]!r}", f"it has {', '.join(sorted(keys))}"
        )


def _text(data: _Table, key: str, otherwise: str | None = None) -> str:
    value = data.get(key, otherwise)
    if not isinstance(value, str) or (otherwise is None and not value.strip()):
        raise LessonError(f"expected a text as {key!r}")
    return value


def _tokens(data: _Table) -> tuple[str, ...]:
    """The listed tokens, then the sides and results of the merge rules."""
    pairs = _pairs(data, "merges")
    symbols = (symbol for pair in pairs for side in pair for symbol in side)
    results = (left + right for left, right in pairs)
    return tuple(dict.fromkeys((*_list(data, "tokens"), *symbols, *results)))


def _pairs(data: _Table, key: str) -> tuple[tuple[str, str], ...]:
    value = data.get(key, [])
    if not isinstance(value, list) or any(
        not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(s, str) for s in pair)
        for pair in value
    ):
        raise LessonError(f"expected a list of pairs of texts as {key!r}")
    return tuple((left, right) for left, right in value)


def _list(data: _Table, key: str) -> list[str]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise LessonError(f"expected a list of texts as {key!r}")
    return value


CONTENT = Path(__file__).resolve().parent / "content"

#: Shelf → lessons in the order in which they build on each other; a new lesson is added here.
SHELVES: dict[str, tuple[str, ...]] = {
    "Machines and masks": (
        "machines",
        "tokens",
        "composition",
        "stacks",
        "theorems",
        "ambiguity",
        "kbnf",
        "wide",
        "labels",
        "finishing",
        "switching",
        "holes",
        "meaning",
    ),
    "Reading a run": ("masked", "perplexity", "conditional"),
    "Older ways to a mask": ("index", "terminals", "online"),
    "Newer ways to a mask": ("engines", "auditing"),
    "DOMINO": ("bridge", "templates", "subterminals", "lookahead", "speculation"),
    "Proper tokens": ("improper", "merges", "direct", "product"),
    "Other notations": ("json_schema", "dataclasses"),
}


@cache
def lessons() -> dict[str, Lesson]:
    """Every lesson by its name, in the order of the shelves.

    Raises: LessonError for a malformed file, or one that is not on a shelf.
    """
    order = [name for shelf in SHELVES.values() for name in shelf]
    present = {path.stem for path in CONTENT.glob("*.toml")}
    if present != set(order):
        raise LessonError(f"expected the files {', '.join(order)}, found {sorted(present)}")
    return {name: read_lesson(CONTENT / f"{name}.toml") for name in order}


def lesson(name: str) -> Lesson:
    """A lesson by its name.

    Raises: LessonError for an unknown name.
    """
    if name not in lessons():
        raise LessonError(f"expected a lesson, not {name!r}", f"there are {', '.join(lessons())}")
    return lessons()[name]
