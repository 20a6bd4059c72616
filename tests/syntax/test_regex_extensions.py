"""The named groups of Koo et al., each against a Python predicate for its texts."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.automata.machines import dfa_of
from tests.oracles.brute_force import texts
from workbench.base.errors import LimitError, ParseError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.grammar.grammar import Grammar
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect
from workbench.syntax.regex.tree import Group

#: Koo et al. 2024, appendix C.4.4, letter by letter.
KOO_QUOTED = r'" *(?:[^\s"\\]|\\["n\\])(?: |[^\s"\\]|\\["n\\])*"'


def is_plain_scalar(text: str) -> bool:
    """ns-plain-one-line(block-key) of YAML 1.2.2, productions 126 to 133, as they are written."""

    def seen(character: str) -> bool:  # ns-char
        code = ord(character)
        printable = (
            0x20 <= code <= 0x7E
            or code == 0x85
            or 0xA0 <= code <= 0xD7FF
            or 0xE000 <= code <= 0xFFFD
            or 0x10000 <= code <= 0x10FFFF
        )
        return printable and character not in " \ufeff"

    def is_char(at: int) -> bool:  # ns-plain-char
        if text[at] == ":":
            return at + 1 < len(text) and seen(text[at + 1])
        if text[at] == "#":
            return at > 0 and seen(text[at - 1])
        return seen(text[at])

    if not text or text[-1] in " \t":
        return False
    first = seen(text[0]) and text[0] not in "-?:,[]{}#&*!|>'\"%@`"
    if text[0] in "?:-":
        first = len(text) > 1 and seen(text[1])
    return first and all(text[at] in " \t" or is_char(at) for at in range(1, len(text)))


def subsequences(items: list[str], between: str) -> set[str]:
    """All non-empty subsequences of the items."""
    return {
        between.join(chosen)
        for count in range(1, len(items) + 1)
        for chosen in combinations(items, count)
    }


@pytest.mark.exhaustive
def test_quoted_text_is_the_regex_of_the_paper() -> None:
    quoted, written = Grammar.from_regex("(?P<QUOTED_TEXT>)"), re.compile(KOO_QUOTED)
    for text in texts('"a \\n\t', 6):
        assert quoted.accepts(text) == bool(written.fullmatch(text)), text


@given(st.text(st.sampled_from('"ab \\\nén\u00a0\u3000'), max_size=12).map(lambda t: f'"{t}"'))
def test_quoted_text_of_any_characters(text: str) -> None:
    assert Grammar.from_regex("(?P<QUOTED_TEXT>)").accepts(text) == bool(
        re.fullmatch(KOO_QUOTED, text)
    )


UNQUOTED = Grammar.from_regex("(?P<UNQUOTED_TEXT>)")


@pytest.mark.exhaustive
def test_unquoted_text_is_a_plain_scalar() -> None:
    for text in texts("a:# -,", 6):
        assert UNQUOTED.accepts(text) == is_plain_scalar(text), text


@given(st.text(st.sampled_from("ab:#-?, \t\n'\"[é\x07\x85\ufeff\U0001f600"), max_size=10))
def test_unquoted_text_of_any_characters(text: str) -> None:
    assert UNQUOTED.accepts(text) == is_plain_scalar(text)


@pytest.mark.slow
@given(
    st.text("ab", min_size=1, max_size=6),
    st.lists(st.text(st.sampled_from("abé"), max_size=12), min_size=1, max_size=6),
)
def test_text_until_ends_with_the_phrase_and_has_it_only_there(
    phrase: str, tried: list[str]
) -> None:
    grammar = Grammar.from_regex(f"(?P<TEXT_UNTIL>{phrase})")
    for text in [*tried, *(start + phrase for start in tried)]:
        ends = text.endswith(phrase) and text.find(phrase) == len(text) - len(phrase)
        assert grammar.accepts(text) == ends, text
        # any text without the phrase is a prefix of one with it
        assert grammar.is_prefix(text) == (ends or phrase not in text), text


@pytest.mark.slow
@given(st.text(st.sampled_from('ab.é"('), min_size=1, max_size=14), st.data())
def test_substring_of_accepts_the_pieces(whole: str, data: st.DataObject) -> None:
    grammar = Grammar.from_regex(f"<(?P<SUBSTRING_OF>{re.escape(whole)})>")
    for text in data.draw(st.lists(st.text(st.sampled_from('ab.é"('), max_size=5), max_size=8)):
        assert grammar.accepts(f"<{text}>") == (text in whole), text
        assert grammar.is_prefix(f"<{text}") == (text in whole), text
    begin = data.draw(st.integers(0, len(whole)))
    assert grammar.accepts(f"<{whole[begin : begin + 4]}>")


@pytest.mark.parametrize("letter", ["é", "😀"])
def test_substring_of_cuts_no_character(letter: str) -> None:
    grammar = Grammar.from_regex(f"(?P<SUBSTRING_OF>{letter}a)")
    assert grammar.accepts("a")
    assert not grammar.is_prefix(letter.encode()[1:])


def test_substring_of_is_linear() -> None:
    sizes = []
    for length in (100, 200, 400):
        text = "".join("ab"[bin(i).count("1") % 2] for i in range(length))  # Thue and Morse
        dfa = dfa_of(f"(?P<SUBSTRING_OF>{text})")
        sizes.append(len(dfa))
    assert all(size <= 2 * length for size, length in zip(sizes, (100, 200, 400), strict=True))


def test_flag_i_counts_inside() -> None:
    grammar = Grammar.from_regex("(?i)(?P<SUBSTRING_OF>aBc)")
    assert all(map(grammar.accepts, ["", "ab", "BC", "Bc", "ABC"]))
    assert not grammar.accepts("ac")
    assert Grammar.from_regex("(?i)(?P<TEXT_UNTIL>Stop)").accepts("..sTOP")


def test_flag_x_counts_inside() -> None:
    grammar = Grammar.from_regex("(?x) (?P<TEXT_UNTIL> a\\ b ) # up to 'a b'")
    assert grammar.accepts("..a b")
    assert not grammar.accepts("..ab")


@pytest.mark.parametrize("text", ["a.b", "(x)", "a|b", "{2}", "\\d", "^$", "]", "é(", "a b#"])
def test_special_signs_are_escaped(text: str) -> None:
    until = Grammar.from_regex(f"(?P<TEXT_UNTIL>{re.escape(text)})")
    assert until.accepts(f"..{text}")
    assert not until.accepts(f"{text}{text}")
    assert Grammar.from_regex(f"(?P<SUBSTRING_OF>{re.escape(text)})").accepts(text[1:])


def test_delimited_list() -> None:
    grammar = Grammar.from_regex(r"\[(?P<DELIMITED_LIST>(?P<DELIMITER>, ?)a|bc)\]")
    written = re.compile(r"\[(?:a|bc)(?:, ?(?:a|bc))*\]")
    for text in texts("abc, ", 6):
        assert grammar.accepts(f"[{text}]") == bool(written.fullmatch(f"[{text}]")), text


@pytest.mark.slow
@given(
    st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=5, unique=True),
    st.sampled_from(["", ",", ", ", "a"]),
    st.lists(st.text(st.sampled_from("abc, "), max_size=8), max_size=6),
)
def test_delimited_subsequence(items: list[str], between: str, tried: list[str]) -> None:
    pattern = f"(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>{between}){'|'.join(items)})"
    grammar, right = Grammar.from_regex(pattern), subsequences(items, between)
    assert all(map(grammar.accepts, right))
    assert {text for text in tried if grammar.accepts(text)} == right & set(tried)


def test_delimited_subsequence_is_linear_in_what_is_written() -> None:
    sizes = []
    for count in (20, 40, 80):
        items = "|".join(f"item{number:02}" for number in range(count))
        dfa = dfa_of(f"(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>, ){items})")
        sizes.append(len(dfa) / count)
    assert max(sizes) < 2 * min(sizes)


def test_items_in_parentheses_are_one_item() -> None:
    pattern = "(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>,)(?:a|b))"
    assert not Grammar.from_regex(pattern).accepts("a,b")
    assert Grammar.from_regex(pattern.replace("(?:a|b)", "a|b")).accepts("a,b")


def test_items_are_regexes_and_may_be_extensions() -> None:
    grammar = Grammar.from_regex(
        r"(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>\s*;\s*)n=\d+|s=(?P<QUOTED_TEXT>)|x(?:y)?)"
    )
    assert all(map(grammar.accepts, ["n=12", 'n=1 ; s="a;b";xy', "x", 's="q";x']))
    assert not any(map(grammar.accepts, ["x;n=1", 's=""', "n=1;"]))


@settings(max_examples=30)
@given(st.text(st.sampled_from("a\nbé"), max_size=5))
def test_labels_as_characters(text: str) -> None:
    assert Grammar.from_regex("(?P<TEXT_TOKEN>)").accepts(text) == bool(text)
    one = Grammar.from_regex("(?P<PARAGRAPH_TOKEN>)")
    assert one.accepts(text) == (bool(text) and "\n" not in text)
    assert Grammar.from_regex("<(?P<IMAGE>)>").accepts(f"<{text}>") == (not text)


def test_a_name_may_be_used_again_and_stands_in_the_tree() -> None:
    source = Source("(?P<QUOTED_TEXT>):(?P<QUOTED_TEXT>)", "regex")
    names = [part.name for part in parse_regex(source).parts if isinstance(part, Group)]  # type: ignore[union-attr]
    assert names == ["QUOTED_TEXT", "QUOTED_TEXT"]


@pytest.mark.parametrize(
    ("pattern", "accepted", "because"),
    [
        ("(?P<QUOTED>a)", "a", "no name of Koo's"),
        ("(?P<quoted_text>a)", "a", "names are upper case"),
        ("(?P<DELIMITER>a)", "a", "a group like others outside of lists"),
    ],
)
def test_other_names_are_groups(pattern: str, accepted: str, because: str) -> None:
    assert Grammar.from_regex(pattern).accepts(accepted), because


def test_patterns_of_json_schemas_have_no_extensions() -> None:
    regex = parse_regex(Source("(?<IMAGE>a)", "pattern"), dialect=Dialect.ECMA)
    assert isinstance(regex, Group)


def test_kbnf_has_them_too() -> None:
    grammar = Grammar.from_kbnf("start ::= '(' start ')' | #'(?P<SUBSTRING_OF>abc)' ';';")
    assert all(map(grammar.accepts, [";", "bc;", "((ab;))"]))
    assert not grammar.accepts("(ac;)")


ERRORS = [
    (
        "(?P<QUOTED_TEXT>a|b)c",
        "regex, line 1, column 17: expected nothing inside '(?P<QUOTED_TEXT>)'\n"
        "1 | (?P<QUOTED_TEXT>a|b)c\n"
        "                    ^^^\n"
        "hint: leave it empty, or choose another name for the group",
        "a duplicate name would be a group by accident",
    ),
    (
        "(?P<SUBSTRING_OF>)",
        "regex, line 1, column 18: expected a text inside '(?P<SUBSTRING_OF>…)'\n"
        "1 | (?P<SUBSTRING_OF>)\n"
        "                     ^\n"
        "hint: write it behind the name, as in '(?P<SUBSTRING_OF>abc)'",
        "nothing to take a piece of",
    ),
    (
        "(?P<TEXT_UNTIL>a.b)",
        "regex, line 1, column 17: expected a plain text inside '(?P<TEXT_UNTIL>…)', not a regex\n"
        "1 | (?P<TEXT_UNTIL>a.b)\n"
        "                    ^\n"
        "hint: put a backslash before each special sign, as Python's re.escape does",
        "an unescaped special character",
    ),
    (
        "(?i)(?P<TEXT_UNTIL>ab(?-i:a))",
        "regex, line 1, column 27: expected every letter inside '(?P<TEXT_UNTIL>…)' "
        "in the same cases\n"
        "1 | (?i)(?P<TEXT_UNTIL>ab(?-i:a))\n"
        "                              ^\n"
        "hint: turn the flag 'i' on or off for all of them",
        "one text could be two prefixes of the phrase",
    ),
    (
        "(?P<DELIMITED_LIST>a)",
        "regex, line 1, column 20: expected '(?P<DELIMITER>…)' first inside "
        "'(?P<DELIMITED_LIST>…)'\n"
        "1 | (?P<DELIMITED_LIST>a)\n"
        "                       ^\n"
        "hint: name the delimiter of the items, as in "
        "'(?P<DELIMITED_LIST>(?P<DELIMITER>, )…)'",
        "no delimiter",
    ),
    (
        "(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>,)a||b)",
        "regex, line 1, column 48: expected an item\n"
        "1 | (?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>,)a||b)\n"
        "                                                   ^\n"
        "hint: write the items with '|' between them, as in 'red|green|blue'",
        "an empty item",
    ),
    (
        "a(?P<QUOTED_TEXT>",
        "regex, line 1, column 2: expected ')' to close the group\n"
        "1 | a(?P<QUOTED_TEXT>\n"
        "     ^\n"
        r"hint: a parenthesis itself is written '\('",
        "an open group says so first",
    ),
]


@pytest.mark.parametrize(("pattern", "message", "because"), ERRORS, ids=[e[0] for e in ERRORS])
def test_error_messages(pattern: str, message: str, because: str) -> None:
    with pytest.raises(ParseError) as caught:
        Grammar.from_regex(pattern)
    assert str(caught.value) == message, because


def test_long_texts_are_quick_and_too_long_ones_refused() -> None:
    """5,000 letters within the public page's two seconds; past ``limits.states`` a hint."""
    text = "".join(f"{number} " for number in range(1_100))
    assert Grammar.from_regex(f'"(?P<SUBSTRING_OF>{text})"').accepts('"500 501 50"')
    few = Limits(states=500)
    with pytest.raises(LimitError, match="needs more than 500 states") as caught:
        Grammar.from_regex(f"(?P<SUBSTRING_OF>{text[:480]})", limits=few)
    assert caught.value.hint == "shorten the text"
    with pytest.raises(LimitError, match="needs more than 500 states"):
        Grammar.from_regex(f"(?P<TEXT_UNTIL>{text[:600]})", limits=few)
