from __future__ import annotations

import json

import pytest

from workbench.app.ui.grammar_view import MaskRequest, allowed_tokens, check_texts, compile_grammar
from workbench.app.ui.handlers import Handlers, encoded
from workbench.app.ui.opening_view import RecordedRequest, open_example, page_record, recorded_run
from workbench.app.ui.picture_view import draw_flags, draw_machine
from workbench.app.ui.pictures import MAX_ROWS
from workbench.app.ui.questions import answered
from workbench.drawing.drawable import Machine

NESTED = "start ::= '(' start? ')';"


def test_the_page_opens_with_the_gallery(handlers: Handlers) -> None:
    page = page_record(handlers)
    assert len(page["gallery"]) >= 20
    assert page["gallery"][0].keys() == {"name", "title", "group"}, (
        "the rest comes when it is opened"
    )
    assert page["first"] is not None
    assert page["first"] == open_example(handlers, {"name": page["gallery"][0]["name"]})
    assert {"text", "note", "notation", "prompt", "accepts", "breaks"} <= page["first"].keys()
    assert json.loads(encoded({**page})) == page


@pytest.mark.parametrize("name", ["no_such", "../person", "x" * 100, 7])
def test_error_for_an_unknown_example(handlers: Handlers, name: object) -> None:
    assert answered(handlers, "open_example", {"name": name}).keys() == {"fault"}


def test_regex_has_facts(handlers: Handlers) -> None:
    answer = compile_grammar(handlers, {"text": "[a-f]+", "notation": "regex"})
    assert answer["ok"]
    assert answer["facts"] == ["regular", "2 states"]
    assert answer["problems"] == []
    missing = {tab for tab, why in answer["tabs"].items() if why}
    assert missing == {"stack", "rules"}


def test_a_grammar_that_nests_has_no_character_automaton(handlers: Handlers) -> None:
    answer = compile_grammar(handlers, {"text": NESTED, "notation": "kbnf"})
    assert answer["facts"][:2] == ["1 rule", "context-free"]
    assert answer["tabs"]["characters"]
    assert not answer["tabs"]["rules"]


@pytest.mark.parametrize(
    ("text", "notation", "place"),
    [("ab[0-9", "regex", (1, 3)), ("a ::= b;\n", "kbnf", None), ("start ::= 'a\n", "kbnf", None)],
)
def test_error_of_a_grammar_has_its_place(
    handlers: Handlers, text: str, notation: str, place: tuple[int, int] | None
) -> None:
    answer = compile_grammar(handlers, {"text": text, "notation": notation})
    assert not answer["ok"]
    problem = answer["problems"][0]
    assert problem["line"] >= 1
    assert problem["column"] >= 1
    assert 0 <= problem["start"] <= problem["end"] <= len(text) + 1
    if place:
        assert (problem["line"], problem["column"]) == place


@pytest.mark.parametrize("text", ["", "  \n "])
def test_nothing_typed_is_no_mistake(handlers: Handlers, text: str) -> None:
    answer = compile_grammar(handlers, {"text": text, "notation": "regex"})
    assert answer["empty"]
    assert answer["problems"] == []


def test_error_what_no_browser_sends(handlers: Handlers) -> None:
    assert not compile_grammar(handlers, {})["ok"]
    assert compile_grammar(handlers, {"text": 1})["problems"]
    assert check_texts(handlers, {"text": "a", "texts": 7})["results"] == []
    assert not draw_machine(handlers, {"text": "a", "tab": 7})["ok"]
    assert recorded_run.function(handlers, RecordedRequest(example="../../etc/passwd")) == ""


def test_rejected_texts_have_the_place_where_they_fail(handlers: Handlers) -> None:
    sent = {"text": "[0-9]{2}:[0-9]{2}", "notation": "regex", "texts": ["12:34", "12:x4", "12:"]}
    good, bad, short = check_texts(handlers, sent)["results"]
    assert good["accepted"]
    assert (bad["accepted"], bad["column"], bad["at_end"]) == (False, 4, False)
    assert bad["expected"]
    assert (short["accepted"], short["offset"], short["at_end"]) == (False, None, True)


def test_a_text_fails_in_characters_not_bytes(handlers: Handlers) -> None:
    (reported,) = check_texts(handlers, {"text": "äö+x", "notation": "regex", "texts": ["äöüx"]})[
        "results"
    ]
    assert reported["offset"] == 2


_REGEX = {"text": "(Ada|name)+", "notation": "regex"}


@pytest.mark.parametrize("machine", [m for m in Machine if m is not Machine.PROPER])
def test_every_machine_is_drawn(handlers: Handlers, machine: Machine) -> None:
    nests = machine in (Machine.STACK, Machine.RULES)
    grammar = {"text": NESTED, "notation": "kbnf"} if nests else _REGEX
    answer = draw_machine(handlers, {**grammar, "tab": str(machine)})
    assert answer["ok"], answer
    assert answer["svg"].startswith("<svg")
    known = {state["id"] for state in answer["states"]}
    assert all(edge["source"] in known and edge["target"] in known for edge in answer["edges"])
    assert known <= answer["where"].keys()
    assert json.loads(encoded(answer)) == answer


@pytest.mark.parametrize("machine", [Machine.STACK, Machine.RULES])
def test_error_a_regex_has_no_rules_and_no_stack(handlers: Handlers, machine: Machine) -> None:
    answer = draw_machine(handlers, {**_REGEX, "tab": str(machine)})
    assert not answer["ok"]
    assert "see Characters" in answer["why"]


def test_error_a_tokenizer_without_merge_rules_has_no_proper_machine(handlers: Handlers) -> None:
    answer = draw_machine(handlers, {**_REGEX, "tab": "proper"})
    assert not answer["ok"]
    assert "no merge rules" in answer["why"]


def test_a_machine_there_is_not_is_a_sentence(handlers: Handlers) -> None:
    answer = draw_machine(handlers, {"text": NESTED, "notation": "kbnf", "tab": "characters"})
    assert answer == {"ok": False, "why": answer["why"]}
    assert "stack" in answer["why"]


def test_every_state_of_a_large_machine_has_flags_over_the_same_picture(handlers: Handlers) -> None:
    text = "[a-c]{0,9}(x|yy|zzz)[d-f]{60}[0-9]*(w|v)(a|b)(c|d)*"
    sent = {"text": text, "notation": "regex", "tab": "together"}
    whole = draw_machine(handlers, sent)
    assert not whole["partial"]
    assert draw_flags(handlers, sent)["count"] == "6 tokens may follow"
    assert set(map(str, range(76))) <= whole["where"].keys() | whole["names"].keys()
    # the last of a counted repetition, and a state in the middle
    for centre in ("10", "40"):
        assert draw_machine(handlers, {**sent, "centre": centre})["svg"] == whole["svg"]
        assert draw_flags(handlers, {**sent, "centre": centre})["flags"]
    # of a state there is not, as after an edit, there is no token
    assert draw_flags(handlers, {**sent, "centre": "999"})["flags"] == []


def test_a_machine_as_a_table(handlers: Handlers) -> None:
    answer = draw_machine(handlers, {"text": "ab|c", "notation": "regex", "tab": "table"})
    assert answer["heads"] == ["state", "reads", "goes to"]
    assert len(answer["rows"]) <= MAX_ROWS
    assert all(len(row) == 5 for row in answer["rows"])
    assert "→" in answer["rows"][0][2]
    # the state in which the text may end, and nothing more is read
    assert any("◎" in row[2] and row[3] == "nothing" for row in answer["rows"])


def test_the_mask_after_a_text(handlers: Handlers) -> None:
    answer = allowed_tokens(
        handlers,
        MaskRequest.of({"text": "[0-9]{2}:[0-9]{2}", "notation": "regex", "so_far": "14"}),
    )
    texts = {token["text"] for token in answer["tokens"]}
    assert texts == {":", ":3"}
    assert answer["allowed"] == 2
    assert not answer["final"]
    wrong = allowed_tokens(
        handlers, MaskRequest.of({"text": "[0-9]", "notation": "regex", "so_far": "x"})
    )
    assert not wrong["ok"]


def test_the_same_text_is_compiled_once(handlers: Handlers) -> None:
    sent = {"text": "[a-f]{3}", "notation": "regex"}
    assert compile_grammar(handlers, sent) == compile_grammar(handlers, sent)


@pytest.mark.slow
def test_every_example_of_the_gallery_opens(handlers: Handlers) -> None:
    for named in page_record(handlers)["gallery"]:
        example = open_example(handlers, named)
        answer = compile_grammar(handlers, example)
        assert answer["ok"], (example["name"], answer["problems"])
        tried = check_texts(handlers, {**example, "texts": example["accepts"] + example["rejects"]})
        verdicts = [result["accepted"] for result in tried["results"]]
        wanted = [True] * len(example["accepts"]) + [False] * len(example["rejects"])
        assert verdicts == wanted[:50], example["name"]


def test_working_grammar_has_advice(handlers: Handlers) -> None:
    answer = compile_grammar(handlers, {"text": "a[0-9]+", "notation": "regex"})
    assert answer["ok"]
    (advice,) = answer["problems"]
    assert (advice["severity"], advice["line"], advice["column"]) == ("warning", 1, 2)
    assert advice["fix"] == "[0-9]{1,8}"
    mended = "a[0-9]+"[: advice["start"]] + advice["fix"] + "a[0-9]+"[advice["end"] :]
    assert compile_grammar(handlers, {"text": mended, "notation": "regex"})["problems"] == []
