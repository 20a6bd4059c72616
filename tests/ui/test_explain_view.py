"""Why a token is forbidden: the notes in a list, and the whole answer as the page's record."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.app.ui.explain_view import explain_tokens, reasons, why
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.picture_view import draw_flags, draw_machine
from workbench.grammar.grammar import Grammar

TIME = Grammar.from_regex("[0-8]{2}:[0-8]{2}")

NESTED = """start ::= list;
list ::= '[' (item (',' item)*)? ']';
item ::= list | #'[0-9]+';"""


@pytest.mark.parametrize(
    ("so_far", "token", "reported", "why"),
    [
        (b"", b"x", "needs one of [0-8]", "it fails at its first byte"),
        (b"1", b"4x", "needs `:` after 4", "its first character is right"),
        (b"14", None, "the text is not finished", "the end comes too early"),
        (b"14:30", None, "", "the end is allowed"),
        (b"14", b":3", "", "it is allowed"),
        (b"14:30", b"1", "nothing more may follow", "nothing more may come"),
        (b"xx", b"1", "no accepted text begins with this text", "a run without a mask"),
    ],
)
def test_why_a_token_is_forbidden(
    so_far: bytes, token: bytes | None, reported: str, why: str
) -> None:
    assert reasons(TIME, so_far, [token]) == [reported], why


def test_small_tokens_forbid_what_the_grammar_allows(handlers: Handlers) -> None:
    assert reasons(TIME, b"14", [b":3", b":", b"x", None], small_tokens=True) == [
        "small tokens only", "", "needs `:`", "the text is not finished",
    ]  # fmt: skip
    sent = {"text": TIME.source.text, "so_far": b"14".hex(), "token": b":3".hex()}
    assert why(handlers, sent)["allowed"]
    reported = why(handlers, {**sent, "small_tokens": True})
    assert reported["reason"] == "the grammar allows it, but this run allows small tokens only"
    assert not reported["allowed"]


@pytest.mark.parametrize(
    ("so_far", "token", "before"),
    [(b"[1,", b"x", b"[1,"), (b"[1,", b"2 ", b"[1,"), (b"[", None, b"["), (b"", b"[ 1", b"")],
)
def test_path_of_a_reason_begins_where_its_picture_is(
    handlers: Handlers, so_far: bytes, token: bytes | None, before: bytes
) -> None:
    """The flags of the tokens are requested for the text before the path."""
    sent = {"text": NESTED, "notation": "kbnf"}
    asked = {"so_far": so_far.hex(), "token": None if token is None else token.hex()}
    found = why(handlers, {**sent, **asked})
    assert found["before"] == before.hex()
    here = found["path"]["rules"][0][0]
    asked = {**sent, "tab": "together", "centre": here, "so_far": found["before"]}
    names = draw_machine(handlers, asked)["names"]
    assert names.get(here, here) == draw_flags(handlers, asked)["state"]


def test_path_of_a_long_text_is_its_end(handlers: Handlers) -> None:
    text = b"[" + b"1," * 100
    found = why(handlers, {"text": NESTED, "notation": "kbnf", "token": (text + b"x").hex()})
    assert bytes.fromhex(found["before"]) == text[:-64]


def test_failing_character_is_shown_whole() -> None:
    grammar = Grammar.from_regex("ä+")
    assert reasons(grammar, b"", ["äö".encode()]) == ["needs `ä` or the end after ä"]


def test_a_long_list_is_cut() -> None:
    grammar = Grammar.from_regex("a{190}[acegikmoqsuwyACEGIKMOQSUWY02468!#%*+,/:;=@~]")
    (reported,) = reasons(grammar, b"", [b"a" * 190 + b"b"])
    assert reported.endswith("…")
    assert len(reported) == 200


def test_in_a_grammar_that_nests() -> None:
    grammar = Grammar.from_kbnf("start ::= '(' start? ')';")
    assert reasons(grammar, b"((", [b")))", b"x"])[0] == "nothing more may follow after ))"


def asked(handlers: Handlers, text: str, so_far: str, token: str | None) -> Any:
    hexed = None if token is None else token.encode().hex()
    notation = "kbnf" if "::=" in text else "regex"
    sent = {"text": text, "notation": notation, "so_far": so_far.encode().hex(), "token": hexed}
    return why(handlers, sent)


def test_full_answer(handlers: Handlers) -> None:
    reported = asked(handlers, NESTED, "[1", "2 x")
    assert reported["ok"]
    assert (reported["read"], reported["failing"]) == ("2", "·")
    assert reported["reason"] == "expected ',', ']' or a digit"
    assert reported["cells"] == [
        {"text": "2", "is": "read"},
        {"text": "·", "is": "fails"},
        {"text": "x", "is": "after"},
    ]
    assert [[f["rule"] for f in frames] for frames in reported["stacks"]] == [
        ["start", "list"],
        ["start", "list", "item"],
    ]
    places = [(p["line"], p["column"], p["what"], p["rule"]) for p in reported["spans"]]
    assert places == [(2, 22, ",", "list"), (2, 35, "]", "list"), (3, 19, "[0-9]", "item")]
    around = [(place["before"], place["behind"]) for place in reported["spans"]]
    assert around == [("'", "'"), ("'", "'"), ("#'", "+'")]
    # the picture follows what the token read
    assert any(len(moments) == 2 for moments in reported["path"].values())


def test_a_test_that_fails_is_a_token_after_nothing(handlers: Handlers) -> None:
    reported = asked(handlers, "[0-9]+é", "", "12x")
    assert (reported["read"], reported["failing"], reported["may_end"]) == ("12", "x", False)
    assert reported["stacks"] == []
    assert [place["what"] for place in reported["spans"]] == ["[0-9]", "é"]


def test_the_end_too_early(handlers: Handlers) -> None:
    reported = asked(handlers, NESTED, "[1", None)
    assert reported["cells"] == []
    assert reported["token"] is None
    assert reported["reason"] == "list is not finished: expected ',', ']' or a digit"


def test_bytes_that_are_no_characters_are_separate_cells(handlers: Handlers) -> None:
    sent = {"text": "aé", "notation": "regex", "so_far": "", "token": b"a\xc3(".hex()}
    reported = why(handlers, sent)
    assert [(cell["text"], cell["is"]) for cell in reported["cells"]] == [
        ("a", "read"),
        ("<0xC3>", "read"),
        ("(", "fails"),
    ]
    reported = asked(handlers, "aé", "", "aè!")
    assert [(cell["text"], cell["is"]) for cell in reported["cells"]] == [
        ("a", "read"),
        ("è", "fails"),
        ("!", "after"),
    ]


def test_long_tokens_and_deep_stacks_are_cut(handlers: Handlers) -> None:
    reported = asked(handlers, NESTED, "", "[" * 300 + "x" + "y" * 100)
    kinds = [cell["is"] for cell in reported["cells"]]
    assert (kinds[0], kinds[-1]) == ("more", "more")
    assert (kinds.count("read"), kinds.count("fails"), kinds.count("after")) == (40, 1, 24)
    assert len(reported["stacks"][0]) == 24
    assert reported["left_out"][0] > 500


@pytest.mark.parametrize(
    ("sent", "reported"),
    [
        ({"text": "(", "notation": "regex", "so_far": ""}, "cannot be read"),
        ({"text": "a", "notation": "regex", "so_far": "zz"}, "hexadecimal"),
        ({"text": "a", "notation": "regex", "so_far": "", "token": 5}, "hexadecimal"),
        (
            {"text": "a", "notation": "regex", "so_far": "62", "token": "61"},
            "no accepted text begins",
        ),
        ({"text": "a", "notation": "what", "so_far": ""}, "expected one of"),
        ({"notation": 5}, "expected one of"),
    ],
)
def test_error_becomes_a_sentence(handlers: Handlers, sent: dict[str, Any], reported: str) -> None:
    answer = why(handlers, sent)
    assert not answer["ok"]
    assert reported in answer["why"]


def test_notes_for_a_list_of_tokens(handlers: Handlers) -> None:
    sent = {"text": "[0-8]{2}", "notation": "regex", "so_far": "31", "tokens": ["61", None]}
    reported = ["needs one of [0-8]", "the text is not finished"]
    assert explain_tokens(handlers, sent)["reasons"] == reported
    assert explain_tokens(handlers, {**sent, "so_far": "zz"})["reasons"] == []
    assert explain_tokens(handlers, {**sent, "tokens": [5]})["reasons"] == []
