"""What is wrong with a KBNF text, in words.

The parser only reports the position of an error. The functions here recognize common mistakes,
such as syntax of other notations, and explain them; any other error is "expected X after Y".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from workbench.base.diagnostics import nearest, with_rewrite
from workbench.base.errors import ParseError
from workbench.base.source import Span
from workbench.syntax.kbnf.kbnf_lexer import (
    CLOSING,
    END,
    NOTHING,
    POSTFIX,
    QUOTED,
    SHOWN,
    WANTS_ITEM,
    Lexeme,
    Mistake,
)

_ITEM = "a string, a regex, a rule's name or a bracket"


def explain(mistake: Mistake) -> ParseError:
    """The first explanation that fits, as an error."""
    for explanation in _EXPLANATIONS:
        if (error := explanation(mistake)) is not None:
            return error
    return _expectation(mistake)


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
    if (joined := _joined_string(mistake)) is not None:
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


def _joined_string(mistake: Mistake) -> Lexeme | None:
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
        if match := re.match(pattern, mistake.rest):
            end = mistake.place + max(1, len(match[0].rstrip(" '\"")))
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


def _expectation(mistake: Mistake) -> ParseError:
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
