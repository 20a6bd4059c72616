"""The page's request for a parse tree."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.app.ui.handlers import Handlers
from workbench.app.ui.tree_view import draw_parse_tree

SUMS = {"text": "start ::= start '+' start | #'[0-9]';", "notation": "kbnf"}


def asked(handlers: Handlers, text: str, **more: Any) -> dict[str, Any]:
    return draw_parse_tree(handlers, {**SUMS, "so_far": text.encode().hex(), **more})


def test_two_trees_of_an_ambiguous_text(handlers: Handlers) -> None:
    first, second = (asked(handlers, "1+2+3", which=number) for number in (1, 2))
    assert first["tree"]["counted"] == "2 trees"
    assert (first["tree"]["which"], second["tree"]["which"]) == (1, 2)
    assert first["svg"] != second["svg"]
    for answer in (first, second):
        assert [node["label"] for node in answer["tree"]["nodes"] if node["differs"]] == ["start"]
        assert len(answer["states"]) == len(answer["tree"]["nodes"])


def test_second_tree_of_an_unambiguous_text_is_the_first(handlers: Handlers) -> None:
    assert asked(handlers, "1", which=2)["tree"]["which"] == 1


def test_a_text_that_ends_inside_a_character(handlers: Handlers) -> None:
    request = {"text": "start ::= #'[é-ü]+';", "notation": "kbnf"}
    answer = draw_parse_tree(handlers, {**request, "so_far": "é".encode().hex() + "c3"})
    assert answer["ok"]
    assert json.dumps(answer, ensure_ascii=False).encode()  # no lone surrogates
    assert any("\\xc3" in node["text"] for node in answer["tree"]["nodes"])


def test_spans_of_a_node(handlers: Handlers) -> None:
    nodes = asked(handlers, "1+2", tokens=[1, 2], current=1)["tree"]["nodes"]
    plus = next(node for node in nodes if node["text"] == "+")
    assert (plus["characters"], plus["bytes"]) == ([1, 2], [1, 2])
    start, end = plus["source"]
    assert SUMS["text"][start:end] == "'+'"


def test_unfinished_and_rejected_texts(handlers: Handlers) -> None:
    assert asked(handlers, "1+")["tree"]["expected"] == "a digit"
    rejected = asked(handlers, "1+x")
    assert rejected["tree"]["failing"] == "x"
    assert rejected["count"].startswith("no tree")


BAD = [
    ({"unfolded": "0.1"}, "expected at most 200 paths"),
    ({"unfolded": [1]}, "expected paths of nodes as texts"),
    ({"tokens": [-1]}, "expected the lengths of tokens in bytes"),
    ({"tokens": [True]}, "expected the lengths of tokens in bytes"),
    ({"tokens": 3}, "expected the lengths of at most"),
    ({"so_far": "xyz"}, "expected bytes as hexadecimal digits"),
]


@pytest.mark.parametrize(("more", "why"), BAD)
def test_error_bad_requests(handlers: Handlers, more: dict[str, Any], why: str) -> None:
    answer = draw_parse_tree(handlers, {**SUMS, "so_far": "31", **more})
    assert not answer["ok"]
    assert why in answer["why"]


def test_error_too_ambiguous_text(handlers: Handlers) -> None:
    text = {"text": "start ::= start start | start start start | 'a';", "notation": "kbnf"}
    answer = draw_parse_tree(handlers, {**text, "so_far": "61" * 2000})
    assert not answer["ok"]
    assert "too many derivations, or is too long" in answer["why"]


def test_a_test_of_json_may_have_any_white_space(handlers: Handlers) -> None:
    schema = {"text": '{"type": "array"}', "notation": "json_schema"}
    trees = [
        draw_parse_tree(handlers, {**schema, "so_far": text.encode().hex()})["tree"]
        for text in ("[1, 2]", "[ 1,2 ]", "[1,,")
    ]
    assert [tree["accepted"] for tree in trees] == [True, True, False]
    assert trees[2]["failing"] == ","
