"""A text in the other notation is recognised; one that is only begun, or is its own, is not."""

from __future__ import annotations

import pytest

from workbench.gallery import Example, load_gallery
from workbench.pipeline import Notation
from workbench.ui.handlers import Handlers
from workbench.ui.notations import other_notation

#   text                              chosen      looks like   because
TEXTS = [
    ("[0-9]+",                        "kbnf",     "regex",     "a class with a range"),
    (r"\d{4}-\d\d",                   "kbnf",     "regex",     "backslashes outside strings"),
    (r'\{"name": "[a-z]+"\}',         "kbnf",     "regex",     "the same beside strings"),
    ("(foo)+d",                       "kbnf",     "regex",     "no rule, and signs of both"),
    ("at: [0-9]+",                    "kbnf",     "regex",     "one colon is no rule"),
    ("sta",                           "kbnf",     None,        "the beginning of a rule's name"),
    ("start :",                       "kbnf",     None,        "the beginning of a rule's sign"),
    ("start = [0-9]",                 "kbnf",     None,        "a rule, with the other sign"),
    ("start ::= [0-9]+;",             "kbnf",     None,        "a rule with a mistake"),
    ("'a' | 'b'",                     "kbnf",     None,        "strings: the rule's name is forgotten"),
    ("(* a note",                     "kbnf",     None,        "a comment not ended yet"),
    ("[0-9",                          "kbnf",     None,        "no regex either"),
    ("start ::= 'a' | #'[b-d]+';",    "regex",    "kbnf",      "a rule is a regex of letters, and meant by nobody"),
    ("start ::= ('a'",                "regex",    "kbnf",      "a rule that is not even a regex"),
    ("(* note *)\nstart ::= 'a';",    "regex",    "kbnf",      "a rule below a comment"),
    ("x = [0-9]+",                    "regex",    None,        "a text with an equals sign"),
    ("std::vector",                   "regex",    None,        "a name with colons"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "chosen", "looks"), [t[:3] for t in TEXTS], ids=[t[3] for t in TEXTS]
)
def test_what_a_text_looks_like(text: str, chosen: str, looks: str | None) -> None:
    assert other_notation(text, Notation(chosen)) == looks


@pytest.mark.parametrize("example", load_gallery().values(), ids=lambda example: example.name)
def test_no_example_looks_like_the_other(example: Example) -> None:
    assert other_notation(example.text, Notation(example.notation)) is None
    if example.notation == "kbnf":
        assert other_notation(example.text, Notation.REGEX) == "kbnf"


def test_the_page_is_told(handlers: Handlers) -> None:
    assert handlers.compile({"text": "[0-9]+", "notation": "kbnf"})["looks"] == "regex"
    assert handlers.compile({"text": "a ::= 'b';", "notation": "regex"})["looks"] == "kbnf"
    assert handlers.compile({"text": "[0-9]+", "notation": "regex"})["looks"] == ""
