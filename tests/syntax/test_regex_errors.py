"""The exact error messages of the regex parser, with the underlined line."""

from __future__ import annotations

import pytest

from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Dialect, Flags

PYTHON, RUST = Dialect.PYTHON, Dialect.RUST


def error_of(pattern: str, dialect: Dialect = PYTHON, **flags: bool) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse_regex(Source(pattern, "regex"), dialect=dialect, flags=Flags(**flags))
    return caught.value


#   pattern         column, message                                 underlined              hint
WHOLE = [
    ("(ab", """\
regex, line 1, column 1: expected ')' to close the group
1 | (ab
    ^
hint: a parenthesis itself is written '\\('"""),
    ("ab)c", """\
regex, line 1, column 3: expected '(' before this ')'
1 | ab)c
      ^
hint: a parenthesis itself is written '\\)'"""),
    ("x[a-", """\
regex, line 1, column 2: expected ']' to close the class
1 | x[a-
     ^
hint: a bracket itself is written '\\['"""),
    ("[z-a]", """\
regex, line 1, column 2: expected a range from low to high, not 'z-a'
1 | [z-a]
     ^^^
hint: swap the ends, or write a '-' itself as '\\-'"""),
    (r"[\d-x]", """\
regex, line 1, column 2: expected single characters at both ends of the range '\\d-x'
1 | [\\d-x]
     ^^^^
hint: a '-' itself is written '\\-'"""),
    ("*a", """\
regex, line 1, column 1: expected something to repeat before '*'
1 | *a
    ^
hint: the sign itself is written '\\*'"""),
    ("a**", """\
regex, line 1, column 3: expected one repetition, not a second one
1 | a**
      ^
hint: put the first one in a group, as in '(?:a+)*'"""),
    ("a{3,2}", """\
regex, line 1, column 2: expected counts in order, not 3 before 2
1 | a{3,2}
     ^^^^^
hint: write '{2,3}'"""),
    ("ab\\", """\
regex, line 1, column 3: expected a character after '\\'
1 | ab\\
      ^
hint: a backslash itself is written '\\\\'"""),
    (r"\y", """\
regex, line 1, column 1: expected a known escape, not '\\y'
1 | \\y
    ^^
hint: write 'y' without the backslash if the character itself is meant"""),
    (r"\x4", """\
regex, line 1, column 1: expected 2 hexadecimal digits after '\\x'
1 | \\x4
    ^^^
hint: any code point can be written as '\\x{1F600}'"""),
    (r"\p{Nonsense}", """\
regex, line 1, column 1: expected the name of a Unicode property, not 'Nonsense'
1 | \\p{Nonsense}
    ^^^^^^^^^^^^
hint: use a category as in '\\p{Lu}', a script as in '\\p{Greek}', or '\\p{Alphabetic}'"""),
    (r"(a)\1", """\
regex, line 1, column 4: backreferences are not supported: no automaton remembers what a group has matched
1 | (a)\\1
       ^^
hint: write the alternatives out, as in 'aa|bb' for '(a|b)\\1'"""),
    ("b++(?>(?P<TEXT_UNTIL>ab)|a)", """\
regex, line 1, column 4: this possessive repetition or atomic group needs too large a regex
1 | b++(?>(?P<TEXT_UNTIL>ab)|a)
       ^^^^^^^^^^^^^^^^^^^^^^^^
hint: use lower counts and fewer alternatives in it, and no extension"""),
    (r"\b(?P<TEXT_TOKEN>)", """\
regex, line 1, column 3: expected no assertion in a regex with TEXT_TOKEN: a label has no characters
1 | \\b(?P<TEXT_TOKEN>)
      ^^^^^^^^^^^^^^^^
hint: write the label as a separate regex"""),
    (r"(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>, )a\b)", """\
regex, line 1, column 48: expected no '\\b' inside '(?P<DELIMITED_SUBSEQUENCE_OF>…)'
1 | (?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>, )a\\b)
                                                   ^^
hint: leave it out"""),
    ("a(?i)b", """\
regex, line 1, column 2: expected flags at the start of the regex
1 | a(?i)b
     ^^^^
hint: for a part of it write them as in '(?i:…)'"""),
    ("(?P<1a>x)", """\
regex, line 1, column 5: expected a name for the group: letters, digits and '_', no digit first
1 | (?P<1a>x)
        ^^"""),
    ("a\n(b", """\
regex, line 2, column 1: expected ')' to close the group
2 | (b
    ^
hint: a parenthesis itself is written '\\('"""),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text"), WHOLE, ids=[row[0] for row in WHOLE])
def test_error_in_whole(pattern: str, text: str) -> None:
    assert str(error_of(pattern)) == text


#   pattern             dialect     message
MESSAGES = [
    ("(?R)",            PYTHON,     "recursion is not supported: a regex has no stack"),
    ("(?1)",            PYTHON,     "recursion is not supported: a regex has no stack"),
    ("(?(1)a|b)",       PYTHON,     "expected a group of number 1"),
    ("(?(x)a|b)",       PYTHON,     "expected the number or the name of a group"),
    ("(a)(?(1)a|b|c)",  PYTHON,     "expected ')' after at most two cases of a conditional"),
    ("(?=(a)).(?(1)a|b)", PYTHON,   "expected no group inside an assertion that a conditional asks about"),
    ("(a)?(?(1)a|b)",   RUST,       "a conditional '(?(' is not supported"),
    ("(?:a|ab){2}+",    PYTHON,     "this possessive repetition is not supported: dialects differ"),
    ("(?P=n)",          PYTHON,     "a backreference '(?P=' is not supported"),
    ("(?&n)",           PYTHON,     "recursion '(?&' is not supported"),
    ("(?|a)",           PYTHON,     "a branch reset '(?|' is not supported"),
    ("(*SKIP)",         RUST,       "a control verb '(*' is not supported"),
    ("(*SKIP)",         PYTHON,     "expected something to repeat before '*'"),
    ("(?#c)",           RUST,       "comments '(?#…)' are not supported in this dialect"),
    ("(?#c",            PYTHON,     "expected ')' to close the comment"),
    ("(?z)",            PYTHON,     "expected a flag out of 'aimsux', not 'z'"),
    ("(?-u:a)",         PYTHON,     "expected a flag out of 'imsx', not 'u'"),
    ("(?i",             PYTHON,     "expected ')' to close the flags"),
    ("(?)",             PYTHON,     "expected flags out of 'aimsux' after '(?'"),
    ("(?i-)",           PYTHON,     "expected flags out of 'aimsux' after '(?'"),
    ("(?P<n",           PYTHON,     "expected '>' after the name of the group"),
    ("(?P<n>a)(?P<n>)", PYTHON,     "expected a new name for the group, 'n' is taken"),
    (r"\G",             PYTHON,     r"the end of the last match '\G' is not supported"),
    (r"\K",             PYTHON,     r"the reset of the match '\K' is not supported"),
    (r"\R",             PYTHON,     r"the line break of any kind '\R' is not supported"),
    (r"\X",             PYTHON,     r"the grapheme cluster '\X' is not supported"),
    (r"\N{DASH}",       PYTHON,     "there is no character named 'DASH'"),
    (r"\N",             PYTHON,     r"expected the name of a character in braces after '\N'"),
    (r"\N{BULLET}",     RUST,       r"the named character '\N' is not supported"),
    (r"\k<n>",          PYTHON,     r"the backreference '\k' is not supported"),
    (r"\Z",             RUST,       r"the end of the text '\Z' is not supported"),
    (r"\ud83d",         PYTHON,     "expected a whole character, not one half of a surrogate pair"),
    (r"\u{110000}",     PYTHON,     "expected a code point, at most 10FFFF"),
    (r"\u{41",          PYTHON,     r"expected hexadecimal digits and '}' after '\u'"),
    (r"[\400]",         PYTHON,     r"expected an octal escape of at most '\377'"),
    (r"[\8]",           PYTHON,     "expected no octal escape here"),
    (r"\07",            RUST,       "expected no octal escape here"),
    (r"\p{Lu",          PYTHON,     "expected '}' after the name of a property"),
    ("[[:alpha:]]",     PYTHON,     "expected a class of Python's, not the POSIX class '[:alpha:]'"),
    ("a{2",             RUST,       "expected a count such as '{2}', '{2,}' or '{2,5}'"),
    ("a{12345678}",     PYTHON,     "expected a count of at most 7 digits"),
    ("^*",              PYTHON,     "expected something to repeat, not an anchor"),
    (r"(?-u)\xff",      RUST,       "expected a set of ASCII characters, for '(?-u)' turns characters into bytes"),
    ("(?-u).",          RUST,       "expected a set of ASCII characters, for '(?-u)' turns characters into bytes"),
    ("(" * 101,         PYTHON,     "expected at most 100 groups inside one another"),
    ("[" * 101,         RUST,       "expected at most 100 groups inside one another"),
    ("a" + "*" * 101,   RUST,       "expected one repetition, not a second one"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "dialect", "message"), MESSAGES, ids=[f"{d.name}-{p[:12]}" for p, d, _ in MESSAGES]
)
def test_error_messages(pattern: str, dialect: Dialect, message: str) -> None:
    assert error_of(pattern, dialect).message == message


#   pattern     message where bytes are matched
IN_BYTES = [
    ("é",       "expected an ASCII character where bytes are matched"),
    ("[é]",     "expected an ASCII character where bytes are matched"),
    (r"\u0041", r"expected no '\u' where bytes are matched"),
    (r"\x{100}", r"expected a byte, at most '\xff'"),
    (r"\pL",    r"expected no '\p' where bytes are matched"),
    (r"\İ",     r"expected a known escape, not '\İ'"),
    ("(?u)a",   "expected no flag 'u' where bytes are matched"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "message"), IN_BYTES)
def test_error_where_bytes_are_matched(pattern: str, message: str) -> None:
    assert error_of(pattern, bytes=True).message == message


def test_error_names_the_property_that_was_meant() -> None:
    assert error_of(r"\p{Greeek}").hint == r"perhaps '\p{Greek}' is meant"


#   pattern     kind                    (the categories of KBNF's specification)
KINDS = [
    ("[a-",     "bad_regex"),
    (r"(a)\1",  "bad_regex"),
    ("{2}",     "bad_regex"),
    (r"(?-u:\xff)", "unsupported_regex"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "kind"), KINDS)
def test_error_kinds(pattern: str, kind: str) -> None:
    assert error_of(pattern, RUST).kind == kind


@pytest.mark.parametrize("dialect", [PYTHON, RUST], ids=["python", "rust"])
def test_every_prefix_parses_or_raises(dialect: Dialect) -> None:
    """Every prefix of a regex with all constructs, as while typing."""
    whole = (
        r"(?i)(?P<n>[^\]a-z\d]{2,3}?|\x41\u{1F600}\p{Lu}(?:b|)*)+(?s:.)(?x: a # c" + "\n)$|[[a-c]]"
    )
    pieces = [piece for at in range(len(whole)) for piece in (whole[:at], whole[at:])]
    refused = [(piece, error) for piece in pieces if (error := _error(piece, dialect))]
    assert 0 < len(refused) < len(pieces)
    for piece, error in refused:
        assert 0 <= error.span.start <= error.span.end <= len(piece)


def _error(pattern: str, dialect: Dialect) -> ParseError | None:
    try:
        parse_regex(Source(pattern, "regex"), dialect=dialect)
    except ParseError as error:
        return error
    return None
