"""lexemes(): kinds and positions, by the terminals of kbnf.lark."""

from __future__ import annotations

import pytest

from workbench.syntax.kbnf.kbnf_lexer import END, NOTHING, lexemes
from workbench.syntax.kbnf.kbnf_parser import _lark

#   text                        kinds                                       because
ROWS = [
    ("",                        f"{END}",                                   "nothing but the end"),
    (" (* a *) \n",             f"{END}",                                   "what is ignored has no kind"),
    ("a ::= 'b';",              f"NAME _DEFINE STRING _END {END}",          "a rule"),
    ("a='b'",                   f"NAME _DEFINE STRING {END}",               "nothing between them"),
    ("except except!",          f"NAME _EXCEPT {END}",                      "a name, and the word with its sign"),
    ("#'a'#e'b'#ex\"c\"#substrs'd'",
                                f"REGEX REGEX_FIRST REGEX_WITHOUT SUBSTRINGS {END}", "the forms of regexes"),
    ("([{}]) 12 |,?*+",         "_LPAR _LBRACKET _LBRACE _RBRACE _RBRACKET _RPAR NUMBER _BAR _COMMA"
                                f" _OPTIONAL _STAR _PLUS {END}",            "signs and numbers"),
    ("a 'b",                    f"NAME {NOTHING}",                          "a string that is not closed"),
    ("a (* b",                  f"NAME {NOTHING}",                          "a comment that is not closed"),
    ("a (**) %",                f"NAME {NOTHING}",                          "a sign of another notation"),
    (r"'\'' '\\'",              f"STRING STRING {END}",                     "an escaped quote does not close"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kinds", "because"), ROWS, ids=[row[2] for row in ROWS])
def test_kinds(text: str, kinds: str, because: str) -> None:
    found = list(lexemes(text, _lark()[1]))
    assert [part.type for part in found] == kinds.split(), because
    for part in found[:-1]:
        assert part.node == text[part.start : part.end]
    assert found[-1].start == found[-1].end


def test_nothing_has_no_length() -> None:
    *_, last = lexemes("a (**) %", _lark()[1])
    assert last.start == 7
