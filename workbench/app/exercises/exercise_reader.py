"""Reads exercises from TOML files, links and the shelf, and writes them.

A file and a link hold the same table. The key of the solution is the name of its notation::

    title = "Yes or no"
    task = "The word yes or the word no."
    regex = "yes|no"
    notations = ["regex"]
    conditions = { no_lookaround = true }
    accepts = ["yes"]
    rejects = ["yesno"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from workbench.analysis.exercise import Exercise, GrammarText
from workbench.app.exercises.exercise_links import EXERCISE, Link
from workbench.base.arguments import checked
from workbench.base.errors import WorkbenchError
from workbench.grammar.notations import Notation, options_in

#: The keys of an exercise besides those of its solution.
_KEYS = {
    "title",
    "task",
    "notations",
    "conditions",
    "accepts",
    "rejects",
    "hint",
    "teaches",
    "begin",
    "wrong",
}
_GRAMMAR = {*Notation, "start", *(name for notation in Notation for name in notation.choices)}
#: Examples of one kind at most, and characters of a text at most.
MAX_EXAMPLES = 20
MAX_CHARACTERS = 50_000

_Table = Mapping[str, Any]


class ExerciseError(WorkbenchError):
    """A file or link is no exercise."""


def exercise_of(data: _Table, name: str = "") -> Exercise:
    """An exercise from its table.

    Raises: ExerciseError with what was expected; WorkbenchError for an unknown condition.
    """
    if unknown := set(data) - _KEYS - _GRAMMAR:
        raise ExerciseError(
            f"an exercise has no {sorted(unknown)[0]!r}",
            f"it has {', '.join(sorted(_KEYS))}, and its solution under the name of a notation",
        )
    begin = data.get("begin")
    return Exercise(
        name=name,
        title=_text(data, "title", ""),
        task=" ".join(_text(data, "task").split()),
        solution=grammar_text(data, "the solution"),
        notations=tuple(_notation(each) for each in _texts(data, "notations")),
        conditions=_table(data, "conditions"),
        accepts=_texts(data, "accepts"),
        rejects=_texts(data, "rejects"),
        hint=_text(data, "hint", ""),
        teaches=_text(data, "teaches", ""),
        starter=None if begin is None else grammar_text(_table(data, "begin"), "begin"),
    )


def data_of(exercise: Exercise) -> dict[str, Any]:
    """The table of an exercise, without empty values; ``exercise_of`` reads it."""
    data: dict[str, Any] = {
        "title": exercise.title,
        "task": exercise.task,
        **_grammar_data(exercise.solution),
        "notations": [str(notation) for notation in exercise.notations],
        "conditions": dict(exercise.conditions),
        "accepts": list(exercise.accepts),
        "rejects": list(exercise.rejects),
        "hint": exercise.hint,
        "teaches": exercise.teaches,
        "begin": _grammar_data(exercise.starter) if exercise.starter else None,
    }
    return {key: value for key, value in data.items() if value}


def _grammar_data(written: GrammarText) -> dict[str, Any]:
    data: dict[str, Any] = {str(written.notation): written.text}
    if written.start != "start":
        data["start"] = written.start
    return {**data, **written.options}


def grammar_text(data: _Table, what: str) -> GrammarText:
    """The grammar in a table. Raises: ExerciseError."""
    present = [notation for notation in Notation if notation in data]
    if len(present) != 1:
        raise ExerciseError(
            f"expected one grammar as {what}, not {len(present)}",
            f"its key is the name of its notation: {', '.join(Notation)}",
        )
    return GrammarText(
        _text(data, present[0], None if what == "the solution" else ""),
        present[0],
        _text(data, "start", "start"),
        options_in(data, present[0]),
    )


def _text(data: _Table, key: str, otherwise: str | None = None) -> str:
    value = data.get(key, otherwise)
    if not isinstance(value, str) or (otherwise is None and not value.strip()):
        raise ExerciseError(f"expected a text as {str(key)!r}")
    if len(value) > MAX_CHARACTERS:
        raise ExerciseError(f"expected at most {MAX_CHARACTERS:,} characters as {str(key)!r}")
    return value


def _texts(data: _Table, key: str) -> tuple[str, ...]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ExerciseError(f"expected a list of texts as {key!r}")
    if len(value) > MAX_EXAMPLES:
        raise ExerciseError(f"expected at most {MAX_EXAMPLES} texts as {key!r}")
    return tuple(value)


def _table(data: _Table, key: str) -> dict[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise ExerciseError(f"expected a table as {key!r}")
    return dict(value)


def _notation(name: str) -> Notation:
    if name not in list(Notation):
        raise ExerciseError(f"expected one of {', '.join(Notation)}, not {name!r}")
    return Notation(name)


# -- files -----------------------------------------------------------------------------------------


def read_exercise(path: Path) -> Exercise:
    """The exercise in a TOML file, named after the file.

    Raises: ExerciseError with the file and what was expected there.
    """
    return _of_file(path, _data(path))


def _data(path: Path) -> _Table:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ExerciseError(f"cannot read {path}: {error}", "name a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise ExerciseError(f"{path.name}: this is not TOML: {error}") from None


def _of_file(path: Path, data: _Table) -> Exercise:
    try:
        return exercise_of(data, path.stem)
    except WorkbenchError as error:
        raise ExerciseError(f"{path.name}: {error.message}", error.hint) from None


# -- links -----------------------------------------------------------------------------------------


def encode_exercise(exercise: Exercise) -> str:
    """The exercise as the fragment of a link: hidden from a glance, not encrypted."""
    return EXERCISE.encode(data_of(exercise))


def decode_exercise(link: str) -> Exercise:
    """The exercise of a link, of its fragment or of the part behind ``x=``.

    Raises: LinkError where it is incomplete; ExerciseError for anything but an exercise.
    """
    return exercise_of(EXERCISE.decode(link), "")


# -- the shelf -------------------------------------------------------------------------------------

CONTENT = Path(__file__).resolve().parent / "content"

#: Shelf → exercises, from easy to hard.
SHELVES: dict[str, tuple[str, ...]] = {
    "First regexes": ("yes_no", "few_digits", "identifier", "even_length", "colour"),
    "Finite automata": (
        "even_a",
        "ends_with_ab",
        "third_from_end",
        "without_aba",
        "even_a_odd_b",
        "divisible_by_3",
    ),
    "Formats": ("byte", "quoted", "greek", "person"),
    "Grammars with a stack": ("a_n_b_n", "brackets", "palindromes", "expressions", "tool_call"),
}


@cache
def exercises() -> dict[str, Exercise]:
    """Every exercise of the shelf by its name, in order.

    Raises: ExerciseError for a malformed file, or one that is not on a shelf.
    """
    order = [name for shelf in SHELVES.values() for name in shelf]
    present = {path.stem for path in CONTENT.glob("*.toml")}
    if present != set(order):
        raise ExerciseError(f"expected the files {', '.join(order)}, found {sorted(present)}")
    return {name: read_exercise(CONTENT / f"{name}.toml") for name in order}


@checked
def load_exercise(source: str | Path) -> Exercise:
    """An exercise by its name on the shelf, the path of its TOML file, or its link.

    ::

        exercise = wb.load_exercise("even_a")
        print(exercise.check("(aa)*", "regex"))  # the answer rejects 'b', which …

    Raises: WorkbenchError where there is no such exercise, or it is malformed.
    """
    text = str(source)
    if text in exercises():
        return exercises()[text]
    if isinstance(source, Path) or text.endswith(".toml"):
        return read_exercise(Path(text))
    if Link.is_link(text):
        return decode_exercise(text)
    raise ExerciseError(
        f"there is no exercise {text!r}",
        f"name a .toml file, a link, or one of {', '.join(exercises())}",
    )
