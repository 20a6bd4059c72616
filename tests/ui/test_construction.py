"""The requests for constructions of the grammar in the editor."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.app.ui.construction_view import construction_film, construction_list, frame_tikz
from workbench.app.ui.handlers import Handlers

REGEX = {"text": "(ab)+|c", "notation": "regex", "start": "start", "options": {}}


def test_a_list_says_why_a_construction_is_missing(handlers: Handlers) -> None:
    answer = construction_list(handlers, REGEX)
    missing = {one["name"]: one["missing"] for one in answer["constructions"]}
    assert missing.pop("stack") == "a regular language needs no stack"
    assert set(missing.values()) == {""}
    assert [part["title"] for part in answer["parts"]] == ["(ab)+", "(ab)"]


def test_a_part_has_its_own_constructions(handlers: Handlers) -> None:
    text = "start ::= name | '(' start ')'; name ::= 'a' | 'b';"
    sent = {"text": text, "notation": "kbnf"}
    for part, lacking in (
        ("", {"positions", "subsets", "minimal", "regex", "tokens"}),
        ("rule:name", {"stack"}),
    ):
        answer = construction_list(handlers, {**sent, "part": part})
        assert {one["name"] for one in answer["constructions"] if one["missing"]} == lacking
        assert [one["title"] for one in answer["parts"]] == ["name"]
    assert construction_list(handlers, {**sent, "part": "rule:x"})["ok"] is False


@pytest.mark.parametrize(
    ("text", "notation", "whys"),
    [
        (
            "[a-z]{35}",
            "regex",
            {
                "positions": "the regex has more positions than the film shows, at most 30",
                "subsets": "",
                "minimal": "",
                "regex": "the machine has 36 states; the film shows at most 24",
                "tokens": "the machine has 36 states; the film shows at most 24",
            },
        ),
        (
            "start ::= #'[a-z]{500}';",
            "kbnf",
            dict.fromkeys(
                ("positions", "subsets", "minimal"),
                "the automaton of these rules has 501 states; a film begins with at most 400",
            ),
        ),
    ],
)
def test_a_list_says_before_it_is_chosen_why_a_construction_is_too_large(
    handlers: Handlers, text: str, notation: str, whys: dict[str, str]
) -> None:
    sent = {"text": text, "notation": notation}
    answer = construction_list(handlers, sent)
    missing = {one["name"]: one["missing"] for one in answer["constructions"]}
    assert {name: missing[name] for name in whys} == whys
    for name, why in whys.items():
        film = construction_film(handlers, {**sent, "construction": name})
        assert film["ok"] is not bool(why)
        assert film.get("why", "").partition(" — ")[0] == why


def test_the_first_example_has_a_film(handlers: Handlers) -> None:
    """*Steps* is the first thing that a teacher presses."""
    first = next(iter(handlers.gallery.values()))
    sent = {"text": first.text, "notation": str(first.notation), "construction": "subsets"}
    assert construction_film(handlers, sent)["ok"]


def test_a_frame_is_written_with_what_it_shows(handlers: Handlers) -> None:
    sent = {**REGEX, "construction": "subsets"}
    frames = construction_film(handlers, sent)["frames"]
    first = frame_tikz(handlers, {**sent, "frame": 0})["tikz"]
    last = frame_tikz(handlers, {**sent, "frame": len(frames) - 1})["tikz"]
    assert first.startswith(f"% {frames[0]['say']}\n")
    assert first.count("\\begin{tikzpicture}") == last.count("\\begin{tikzpicture}") == 2
    assert first.count("\\node[state") < last.count("\\node[state")


def test_only_the_picture_of_its_frame_is_written(handlers: Handlers) -> None:
    sent = {**REGEX, "construction": "regex", "frame": 2}
    assert frame_tikz(handlers, sent)["tikz"].count("\\begin{tikzpicture}") == 1


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"construction": "?"}, "expected one of positions, subsets"),
        ({"construction": "stack"}, "a regular language needs no stack"),
        ({"construction": "subsets", "part": "rule:x"}, "expected a part of the grammar"),
        ({"construction": "subsets", "frame": "1"}, "expected the number of a frame"),
        ({"construction": "subsets", "frame": -1}, "expected the number of a frame"),
        ({"construction": "subsets", "text": "("}, "the grammar cannot be read yet"),
    ],
)
def test_error_for_what_there_is_not(handlers: Handlers, sent: dict[str, Any], why: str) -> None:
    answer = frame_tikz(handlers, {**REGEX, "frame": 0, **sent})
    assert answer["ok"] is False
    assert answer["why"].startswith(why)
