r"""The lexer of KBNF, the escapes inside its quotes, and the messages of its syntax errors.

KBNF resolves escapes in strings and in every ``#`` form alike, before a regex is parsed:
``#'\\d'`` is the regex ``\d``. Each character keeps its source position, so that an error inside
the regex is reported where it was written.

All lexemes are one regular expression. Its matches become three lists, since an object for each
lexeme took half of the time of reading a grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from workbench.base.errors import ParseError, nearest, with_rewrite
from workbench.base.source import SURROGATE, Source, Span, Unescaped

_SIMPLE = {
    "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "/": "/",
}  # fmt: skip

_ESCAPE = re.compile(
    r"""\\(?: (?P<simple>[nrtbf\\'"/])
            | x(?P<two>[0-9A-Fa-f]{2})
            | u(?P<four>[0-9A-Fa-f]{4})
            | u\{(?P<braced>[0-9A-Fa-f]+)\}
            | (?P<octal>[0-3][0-7]{0,2}|[4-7][0-7]?) )""",
    re.VERBOSE,
)
_SURROGATES = range(0xD800, 0xE000)
_LAST = 0x10FFFF


def unescape(source: Source, inside: Span, *, regex: bool) -> Unescaped:
    """Resolve the escapes between two quotes; ``regex`` only changes the hints.

    Raises: ParseError of kind ``bad_escape`` at the first escape that does not exist.
    Source: KBNF specification, section 1, table of escapes.
    """
    pieces: list[str] = []
    places: list[int] = []
    here = inside.start
    while True:
        escape = source.text.find("\\", here, inside.end)
        stop = inside.end if escape < 0 else escape
        pieces.append(_plain(source, here, stop))
        if escape < 0 and not places:
            return Unescaped(pieces[0], range(here, stop + 1), "\\\\")
        places += range(here, stop)
        if escape < 0:
            return Unescaped("".join(pieces), (*places, stop), "\\\\")
        match = _ESCAPE.match(source.text, escape, inside.end)
        if match is None:
            raise _unknown(source, inside, escape, regex=regex)
        pieces.append(_value(source, match))
        places.append(escape)
        here = match.end()


def _plain(source: Source, start: int, end: int) -> str:
    """A part of the text without escapes; raises for a lone surrogate."""
    text = source.text[start:end]
    if not text.isascii() and (half := SURROGATE.search(text)):
        place = start + half.start()
        raise _not_a_character(source, Span(place, place + 1), ord(half[0]))
    return text


def _value(source: Source, match: re.Match[str]) -> str:
    """The character of an escape."""
    if simple := match["simple"]:
        return _SIMPLE[simple]
    if match["octal"]:
        return chr(int(match["octal"], 8))
    code = int(match["two"] or match["four"] or match["braced"], 16)
    if code in _SURROGATES or code > _LAST:
        raise _not_a_character(source, Span(match.start(), match.end()), code)
    return chr(code)


def _not_a_character(source: Source, span: Span, code: int) -> ParseError:
    what = f"U+{code:04X}" if code <= 0xFFFFFF else "this number"
    message = f"expected the code point of a character, not {what}"
    hint = (
        "surrogates are halves of UTF-16; write the character itself, or its number: \\u{1F600}"
        if code in _SURROGATES
        else "the highest character is \\u{10FFFF}"
    )
    return ParseError(message, source, span, hint, "bad_escape")


#   after the backslash    what is expected, the hint
_UNFINISHED = {
    "x": ("two hexadecimal digits after \\x", "write exactly two, as in \\x41"),
    "u": ("four hexadecimal digits after \\u", "write four, as in \\u00e9, or braces: \\u{1F600}"),
}


def _unknown(source: Source, inside: Span, here: int, *, regex: bool) -> ParseError:
    """The error for a backslash at ``here`` without a known escape."""
    after = source.text[here + 1 : min(here + 2, inside.end)]
    span = Span(here, here + 1 + len(after))
    if after in _UNFINISHED:
        expected, hint = _UNFINISHED[after]
        return ParseError(f"expected {expected}", source, span, hint, "bad_escape")
    shown = "a line break" if after == "\n" else repr(after)[1:-1]
    message = f"expected an escape that exists after the backslash, not {shown}"
    if regex and after.isprintable():
        hint = f"a regex inside quotes doubles its backslashes: write \\\\{after}"
    elif after.isalnum():
        hint = (
            "the escapes are \\n \\r \\t \\b \\f \\\\ \\' \\\" \\/ \\xHH \\uHHHH \\u{H…} and octal"
        )
    else:
        hint = "write a backslash itself as \\\\, and any other character without one"
    error = ParseError(message, source, span, hint, "bad_escape")
    if regex and after.isprintable():
        written = source.text[inside.start : inside.end]
        return error.with_fix(_doubled(written), inside)
    return error if after.isalnum() else error.with_fix("\\" + source.text[span.start : span.end])


def _doubled(written: str) -> str:
    """A regex in which every backslash that begins no escape is doubled."""
    return re.sub(
        rf"{_ESCAPE.pattern}|(?P<other>\\)",
        lambda match: "\\\\" if match["other"] else match[0],
        written,
        flags=re.VERBOSE,
    )


#: The kinds of the end of the text, and of a position where no lexeme matches.
END, NOTHING = "END", "NOTHING"


_QUOTED = r"""(?:'(?:[^'\\]++|\\[\s\S])*+'|"(?:[^"\\]++|\\[\s\S])*+")"""
#: A group for each kind of lexeme; white space and comments before it are skipped. An unclosed
#: quote or comment fails in one pass. ``(*`` always begins a comment, closed or not: a bracket is
#: never followed by a sign.
LEXEMES = re.compile(
    rf"""(?:[ \t\r\n]++|\(\*(?:[^*]++|\*(?!\)))*+\*\))*+
    (?: (?P<_EXCEPT>except!) | (?P<NAME>[A-Za-z_][A-Za-z0-9_]*+) | (?P<STRING>{_QUOTED})
      | (?P<_BAR>\|) | (?P<_STAR>\*) | (?P<_DEFINE>::=|=) | (?P<_END>;)
      | (?P<_LPAR>\((?!\*)) | (?P<_RPAR>\)) | (?P<REGEX>\#{_QUOTED})
      | (?P<_OPTIONAL>\?) | (?P<_PLUS>\+) | (?P<_COMMA>,) | (?P<NUMBER>[0-9]++)
      | (?P<_LBRACKET>\[) | (?P<_RBRACKET>\]) | (?P<_LBRACE>\{{) | (?P<_RBRACE>\}})
      | (?P<REGEX_FIRST>\#e{_QUOTED}) | (?P<REGEX_WITHOUT>\#ex{_QUOTED})
      | (?P<SUBSTRINGS>\#substrs{_QUOTED})
      | (?P<{END}>\Z) | (?P<{NOTHING}>) )""",
    re.VERBOSE,
)


#: The kinds, starts and ends of some lexemes in a row.
Lexemes = tuple[list[str], list[int], list[int]]
#: Lexemes between two checks of the time limit.
LEXEMES_PER_CHECK = 64


def lexemes(
    text: str,
    count: int = LEXEMES_PER_CHECK,
    *,
    pattern: re.Pattern[str] = LEXEMES,
    begin: int = 0,
) -> Iterator[Lexemes]:
    """The lexemes of a text, ``count`` at a time, each the last group of a match.

    The last one is ``END``, or ``NOTHING`` where none matches.
    """
    matches = pattern.finditer(text, begin)
    while some := [*islice(matches, count)]:
        kinds = [match.lastgroup or "" for match in some]
        starts = [*map(re.Match.start, some, kinds)]
        ends = [*map(re.Match.end, some)]
        for last in (NOTHING, END):
            if last in kinds:
                size = 1 + kinds.index(last)
                yield kinds[:size], starts[:size], ends[:size]
                return
        yield kinds, starts, ends


#: The kind of closing bracket for each kind of opening bracket.
CLOSING = {"_LPAR": "_RPAR", "_LBRACKET": "_RBRACKET", "_LBRACE": "_RBRACE"}

#: The text of punctuation, by kind.
SHOWN = {
    "_DEFINE": "::=", "_END": ";", "_BAR": "|", "_COMMA": ",", "_OPTIONAL": "?", "_STAR": "*",
    "_PLUS": "+", "_LPAR": "(", "_RPAR": ")", "_LBRACKET": "[", "_RBRACKET": "]", "_LBRACE": "{",
    "_RBRACE": "}", "_EXCEPT": "except!",
}  # fmt: skip
#: The kinds of the signs after an item.
POSTFIX = {"_OPTIONAL", "_STAR", "_PLUS"}
QUOTED = {"STRING", "REGEX", "REGEX_FIRST", "REGEX_WITHOUT", "SUBSTRINGS"}
#: Kinds after which an item must follow.
WANTS_ITEM = {"_DEFINE", "_BAR", "_COMMA", *CLOSING}
#: The most characters of a lexeme in a message.
_MAX_SHOWN = 24


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A lexeme for messages; ``kind`` is its name in the lexer."""

    kind: str
    text: str
    span: Span

    @property
    def shown(self) -> str:
        """The lexeme in a message."""
        short = self.text if len(self.text) <= _MAX_SHOWN else self.text[: _MAX_SHOWN - 1] + "…"
        return short if short[0] in "'\"#" else f"'{short}'"


@dataclass(frozen=True, slots=True, eq=False)
class Mistake:
    """A syntax error: its position and the lexemes before it.

    ``kind`` is the kind of the unexpected lexeme: ``END`` at the end of the text, and ``NOTHING``
    where no lexeme matches.
    """

    source: Source
    before: tuple[Lexeme, ...]
    kind: str
    place: int

    @property
    def rest(self) -> str:
        """The next characters, enough to recognize the intention."""
        return self.source.text[self.place : self.place + _MAX_SHOWN]

    @property
    def span(self) -> Span:
        """The span of the unexpected lexeme."""
        if self.kind == END:
            end = len(self.source.text.rstrip(" \t\r\n"))
            return Span(end, end)
        length = len(SHOWN[self.kind]) if self.kind in SHOWN else 1
        if self.kind in ("_DEFINE", "NAME", "NUMBER"):
            found = re.match(r"::=|=|\w+", self.rest, re.ASCII)
            length = found.end() if found else 1
        return Span(self.place, min(self.place + length, len(self.source.text)))

    @property
    def found(self) -> str:
        """The unexpected lexeme in words."""
        if self.kind == END:
            return "the end of the text"
        if self.kind in QUOTED:
            return "a string" if self.kind == "STRING" else "a regex"
        text = self.source.text[self.span.start : self.span.end]
        return repr(text) if not text.isprintable() else f"'{text}'"

    @property
    def column(self) -> int:
        """The column of the unexpected lexeme."""
        return self.source.position(self.place)[1]

    def last(self, back: int = 1) -> Lexeme:
        """The lexeme ``back`` positions before the error."""
        if len(self.before) >= back:
            return self.before[-back]
        return Lexeme("", "", Span(0, 0))

    @property
    def open(self) -> Lexeme | None:
        """The innermost open bracket."""
        opened: list[Lexeme] = []
        for lexeme in self.before:
            if lexeme.kind in CLOSING:
                opened.append(lexeme)
            elif opened and lexeme.kind == CLOSING[opened[-1].kind]:
                opened.pop()
        return opened[-1] if opened else None

    @property
    def wants(self) -> str:
        """What is expected: ``rule``, ``define``, ``item``, or ``follow`` (after an item).

        Inside ``except!( )`` it is ``bracket``, ``excepted`` or ``closing``.
        """
        last, before = self.last(), self.last(2)
        if last.kind in ("", "_END"):
            return "rule"
        if last.kind == "NAME" and before.kind in ("", "_END"):
            return "define"
        if last.kind == "_EXCEPT":
            return "bracket"
        if before.kind == "_EXCEPT":
            return "excepted"
        if self.last(3).kind == "_EXCEPT" and last.kind in ("STRING", "NAME"):
            return "limit"
        if self.last(4).kind == "_EXCEPT" and last.kind == "_COMMA":
            return "number"
        if self.last(5).kind == "_EXCEPT" and last.kind == "NUMBER":
            return "closing"
        return "item" if last.kind in WANTS_ITEM else "follow"

    def error(self, message: str, hint: str, span: Span | None = None) -> ParseError:
        """A ParseError at the unexpected lexeme, or at ``span``."""
        return ParseError(message, self.source, span or self.span, hint)


# -- syntax errors --------------------------------------------------------------------------------
# The parser only reports the position of an error. The functions here recognize common mistakes,
# such as syntax of other notations, and explain them; any other error is "expected X after Y".


_ITEM = "a string, a regex, a rule's name or a bracket"


def explain(mistake: Mistake) -> ParseError:
    """The first explanation that fits, as an error."""
    for explanation in _EXPLANATIONS:
        if (error := explanation(mistake)) is not None:
            return error
    return _expected(mistake)


def _nothing(mistake: Mistake) -> ParseError | None:
    if mistake.before or mistake.kind != END:
        return None
    error = mistake.error("expected at least one rule", "write for example: start ::= 'a';")
    if not mistake.source.text:  # the specification's category: there is no start symbol
        error.kind = "undefined_nonterminal"
    return error


def _unclosed(mistake: Mistake) -> ParseError | None:
    """Unclosed quotes and comments."""
    opening = re.match(r"(?:#(?:e|ex|substrs)?)?(['\"])|\(\*", mistake.rest)
    if mistake.kind != NOTHING or opening is None:
        return None
    span = Span(mistake.place, mistake.place + opening.end())
    if opening[1] is None:
        error = mistake.error("this comment is never closed", "end it with *)", span)
        return with_rewrite(error, ((r"(\(\*.*)", r"\1 *)"),), mistake.place)
    what = "string" if opening[0] in "'\"" else "regex"
    if (joined := _joined(mistake)) is not None:
        hint = "a name follows the last quote without a space: a quote is missing before it"
        return mistake.error(f"this {what} is never closed", hint, joined.span)
    hint = f"end it with {opening[1]}"
    suspect = next(
        (x for x in reversed(mistake.before) if x.kind in QUOTED and re.search(r"[;\n]", x.text)),
        None,
    )
    if suspect is not None:
        line, _ = mistake.source.position(suspect.span.start)
        hint += f", unless it is the {what} opened in line {line} that lacks its closing quote"
    error = mistake.error(f"this {what} is never closed", hint, span)
    # at the end of the line, before a ';'
    closed = ((r"([^\n]*?)(?=[ \t]*;?[ \t]*(?:\n|\Z))", rf"\1{opening[1]}"),)
    return error if suspect is not None else with_rewrite(error, closed, mistake.place)


def _joined(mistake: Mistake) -> Lexeme | None:
    """The string 'yes | ' of 'yes | 'no': a name follows it without a space, in the same line."""
    line, _ = mistake.source.position(mistake.place)
    pairs = zip(mistake.before, mistake.before[1:], strict=False)
    for string, name in pairs:
        is_near = mistake.source.position(string.span.start)[0] == line
        is_joined = string.span.end == name.span.start
        if string.kind in QUOTED and name.kind == "NAME" and is_near and is_joined:
            return string
    return None


#   pattern               message, hint; tried where no lexeme matches
_FOREIGN = [
    (r"#\w*\s+['\"]", "no space may follow '#' here", "write #'…' without a space"),
    (r"//|/\*|#(?!\w*['\"])", "this is not a comment in KBNF", "comments are written (* … *)"),
    (r"#\w+\s*['\"]", "there is no such kind of regex",
     "the forms are #'…', #e'…', #ex'…' and #substrs'…'"),
    (r"\*\)", "this closes no comment", "a comment begins with (*"),
    (r"<", "a rule's name is written without angle brackets", "write name instead of <name>"),
    (r":=?(?!:)|:|->|→", "expected '::='", "a rule is written name ::= … ;"),
    (r"\.\.", "there are no ranges between strings", "write a class: #'[a-z]'"),
    (r"[‘’‚“”„`´«»]", "expected a straight quote", "write strings between ' and ' or \" and \""),
    (r"\\", "a backslash has a meaning only inside quotes", "put the text between quotes"),
    (r"\^|~|\$|@|%|&", "this sign has no meaning outside quotes",
     "put it between quotes, or write a regex: #'…'"),
    (r"\.", "this sign has no meaning outside quotes",
     "any character but a line break is the regex #'.', and a rule ends with ';'"),
    (r"/", "a regex is not written between slashes", "write #'…' instead of /…/"),
    (r"[^\S \t\r\n]|\ufeff", "this white space character is not allowed in KBNF",
     "replace it with a plain space; only spaces, tabs and line breaks are allowed here"),
]  # fmt: skip

#: Corrections of them.
_REWRITES = (
    (r"(#\w*)\s+(?=['\"])", r"\1"),
    (r"/\*(?:(?!\*\)).)*?\*/", r""),
    (r"(?://|#)(?!\w*\s*['\"]) ?(.*)", r"(* \1 *)"),
    (r"<([A-Za-z_]\w*)>", r"\1"),
    (r":=?(?!:)|->|→", "::="),
    (r"[‘‚´`’]([^'‘’´`\n]*)[’‘´`]", r"'\1'"),
    (r'[“„”«]([^"“”„«»\n]*)[”“»]', r'"\1"'),
    (r"/((?:[^/\\'\n])+)/", r"#'\1'"),
    (r"\.", "#'.'"),
    (r"[^\S \t\r\n]", " "),
    (r"\ufeff", ""),
)


def _foreign(mistake: Mistake) -> ParseError | None:
    """Syntax of other notations."""
    if mistake.kind not in (NOTHING, "NUMBER"):
        return None
    if mistake.rest[0] == "-" and not mistake.rest.startswith("->"):
        return _hyphen(mistake)
    if mistake.rest[0] == "!":
        error = mistake.error(
            "only except! has an exclamation mark", "write except!('…') or except!(name)"
        )
        name = mistake.last()
        meant = name.kind == "NAME" and nearest(name.text, ("except",))
        return error.with_fix("except", name.span) if meant else error
    for pattern, message, hint in _FOREIGN:
        if found := re.match(pattern, mistake.rest):
            end = mistake.place + max(1, len(found[0].rstrip(" '\"")))
            error = mistake.error(message, hint, Span(mistake.place, end))
            return with_rewrite(error, _REWRITES, mistake.place)
    return None


def _hyphen(mistake: Mistake) -> ParseError:
    bracket, last = mistake.open, mistake.last()
    if mistake.rest.startswith("--"):
        message, hint = "this is not a comment in KBNF", "comments are written (* … *)"
        start, rewrites = mistake.place, ((r"--+ ?(.*)", r"(* \1 *)"),)
    elif bracket is not None and bracket.kind == "_LBRACKET" and mistake.last(2) is bracket:
        message, hint = "brackets hold an optional part", "a class of characters is a regex: #'[…]'"
        start, rewrites = bracket.span.start, ((r"(\[[^\]'\\\n]*\])", r"#'\1'"),)
    elif last.kind != "NAME" or not re.match(r"-\w", mistake.rest) or last.span.end < mistake.place:
        message = "KBNF has no exception: '-' does not leave texts out"
        hint = "write a class without the characters, such as #'[a-z--b]', or except!('…')"
        return mistake.error(message, hint)
    else:
        message = "expected a name of letters, digits and '_'"
        hint = "write two_words instead of two-words"
        start, rewrites = mistake.place, ((r"(?<=\w)-(?=\w)", "_"),)
    return with_rewrite(mistake.error(message, hint), rewrites, start)


def _missing_end(mistake: Mistake) -> ParseError | None:
    """A rule without ';' before the next rule or the end of the text."""
    if mistake.kind == "_DEFINE" and mistake.last().kind == "NAME" and mistake.wants == "follow":
        before = mistake.last(2)
        if before.kind in WANTS_ITEM:
            return _no_item(mistake, before)
        if mistake.open is None:
            return _without_end(mistake, before)
        return _never_closed(mistake, mistake.open)
    if mistake.kind == END and mistake.wants == "follow" and mistake.open is None:
        return _without_end(mistake, mistake.last())
    return None


def _without_end(mistake: Mistake, last: Lexeme) -> ParseError:
    message, hint = "expected ';' after the rule", "every rule ends with ';'"
    return mistake.error(message, hint, _after(last)).with_fix(";")


def _after(lexeme: Lexeme) -> Span:
    return Span(lexeme.span.end, lexeme.span.end)


def _brackets(mistake: Mistake) -> ParseError | None:
    """Unclosed, mismatched and superfluous brackets."""
    bracket, wants = mistake.open, mistake.wants
    if mistake.kind in CLOSING.values():
        if bracket is None:
            comment = mistake.last().kind == "_STAR" and mistake.kind == "_RPAR"
            hint = "a comment begins with (*" if comment else "put the opening bracket before"
            return mistake.error(f"{mistake.found} closes nothing", hint)
        if mistake.kind != CLOSING[bracket.kind] and wants in ("follow", "item"):
            line, column = mistake.source.position(bracket.span.start)
            closing = SHOWN[CLOSING[bracket.kind]]
            return mistake.error(
                f"expected '{closing}', not {mistake.found}, to close the {bracket.shown} "
                f"of line {line}, column {column}",
                f"write '{closing}'",
            ).with_fix(closing)
    if bracket is not None and mistake.kind in ("_END", END) and wants == "follow":
        return _never_closed(mistake, bracket)
    return None


def _never_closed(mistake: Mistake, bracket: Lexeme) -> ParseError:
    closing = SHOWN[CLOSING[bracket.kind]]
    end = "the end of the rule" if mistake.kind != END else "the end of the text"
    return mistake.error(
        f"this {bracket.shown} is never closed: expected '{closing}' before {end}",
        f"add '{closing}' where the part ends",
        bracket.span,
    ).with_fix(closing, _after(mistake.last(2) if mistake.kind == "_DEFINE" else mistake.last()))


def _repetition(mistake: Mistake) -> ParseError | None:
    """Counted repetitions, and misplaced postfix operators."""
    last = mistake.last()
    if mistake.kind == "NUMBER" and last.kind == "_LBRACE":
        return mistake.error(
            "items cannot be counted, only the parts of a regex",
            "write a regex such as #'(?:ab){2,3}', or the items one after the other",
            Span(last.span.start, mistake.span.end),
        )
    if mistake.kind not in POSTFIX:
        return None
    if last.kind in POSTFIX:
        return mistake.error(
            "an item takes only one of ? * +", "put the inner repetition in brackets: ('a'?)*"
        )
    if mistake.wants == "item":
        return mistake.error(
            f"expected something before {mistake.found}", f"write for example 'a'{mistake.rest[0]}"
        )
    return None


def _no_item(mistake: Mistake, last: Lexeme) -> ParseError:
    """The error for a missing item after ``last``."""
    if last.kind == "_DEFINE":
        message, hint = "expected something after '::='", "write '' for the empty text"
    elif last.kind == "_BAR":
        message, hint = "expected an alternative after '|'", "write '' for the empty text"
    elif last.kind == "_COMMA":
        message, hint = f"expected {_ITEM} after ','", "a comma is allowed only between two items"
    else:
        message = f"expected something inside {last.shown}"
        hint = "write '' for the empty text"
    error = mistake.error(message, hint, last.span)
    return error.with_fix(" ''", _after(last)) if "''" in hint else error


def _empty(mistake: Mistake) -> ParseError | None:
    """A missing item."""
    last, kinds = mistake.last(), {"_BAR", "_END", END, "_COMMA", *CLOSING.values()}
    if mistake.wants == "item" and mistake.kind in kinds:
        if mistake.kind == "_COMMA":
            message = f"expected {_ITEM} before ','"
            return mistake.error(message, "one comma between two items").with_fix("")
        if mistake.kind == "_BAR":
            message, hint = "expected an alternative before '|'", "write '' for the empty text"
            return mistake.error(message, hint).with_fix("'' |")
        return _no_item(mistake, last)
    if mistake.wants == "rule" and mistake.kind == "_END":
        if re.match(r";+[ \t]*[^;\s]", mistake.rest) and mistake.column == 1:
            message, hint = "this is not a comment in KBNF", "comments are written (* … *)"
            error = mistake.error(message, hint)
            return with_rewrite(error, ((r";+ ?(.*)", r"(* \1 *)"),), mistake.place)
        message, hint = "expected a rule before ';'", "one ';' after each rule is enough"
        return mistake.error(message, hint).with_fix("")
    return None


#   ``Mistake.wants``    in words, the hint
_WANTED = {
    "rule": ("a rule", "a rule is written name ::= … ;"),
    "define": ("'::='", "a rule is written name ::= … ;"),
    "item": (_ITEM, "write text in quotes, as in 'text'"),
    "follow": ("';', '|' or another item", "every rule ends with ';'"),
    "bracket": ("'('", "write except!('…') or except!(name)"),
    "excepted": ("a string or a rule's name", "write except!('…') or except!(name)"),
    "limit": ("')' or ','", "write except!('…'), or except!('…', 10) for at most 10 bytes"),
    "number": ("a number of bytes", "write except!('…', 10), or leave the comma out"),
    "closing": ("')'", "write except!('…', 10)"),
}


def _expected(mistake: Mistake) -> ParseError:
    """Expected X after Y, not Z."""
    wanted, hint = _WANTED[mistake.wants]
    bracket = mistake.open
    if mistake.wants == "follow" and bracket is not None:
        closing = SHOWN[CLOSING[bracket.kind]]
        wanted = f"'{closing}', '|' or another item"
        hint = f"the {bracket.shown} before is closed by '{closing}'"
    if mistake.kind == "NUMBER" and mistake.wants in ("rule", "item", "follow"):
        hint = "put digits between quotes; a rule's name begins with a letter or '_'"
    after = f" after {mistake.last().shown}" if mistake.before else ""
    return mistake.error(f"expected {wanted}{after}, not {mistake.found}", hint)


_EXPLANATIONS: tuple[Callable[[Mistake], ParseError | None], ...] = (
    _nothing, _unclosed, _foreign, _missing_end, _repetition, _empty, _brackets,
)  # fmt: skip
