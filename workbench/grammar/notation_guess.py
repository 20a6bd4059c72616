"""Guesses the notation of a text.

The guess uses regular expressions and only produces a hint or a note: a text is always parsed in
the chosen notation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.base.diagnostics import Advice
from workbench.base.errors import ParseError, WorkbenchError
from workbench.base.source import Source, Span
from workbench.grammar.notations import Notation
from workbench.schema.pydantic_models import is_pydantic_source
from workbench.schema.wrapped_schema import wrapped_schema
from workbench.syntax.machine_text import NAME, is_jflap
from workbench.syntax.other_notations import is_antlr
from workbench.syntax.regex.parser import parse_regex

#: The beginning of a rule; in a regex such colons would be literal, which is rarely intended.
_RULE = re.compile(
    r"^[ \t]*(?:\[\d+\w*\][ \t]*)?[A-Za-z_][\w.-]*(?:\[[^\]\n]*\])?[ \t]*::=", re.MULTILINE
)

#: A rule of Lark with a part that only a grammar has, or a statement.
_LARK = re.compile(
    r"""^[ \t]*(?: \??start[ \t]*:\s*[^\s:=]
                | [!?]{0,2}[A-Za-z_][\w-]*(?:\{[^}\n]*\})?(?:\[[^\]\n]*\])?(?:::_)?(?:\.-?\d+)?
                  [ \t]*:[ \t\n]*(?:"|/[^/\s]|\([^\n]*"|~|%)
                | %(?:import|ignore|declare|llguidance|grammar_options)\b)""",
    re.MULTILINE | re.VERBOSE,
)
_JSON = re.compile(r'\s*(?:\{\s*(?:"(?:[^"\\\n]|\\.)*"\s*:|\}\s*\Z))')
#: A member that only structural tags have.
_TAG = re.compile(
    r'"type"\s*:\s*"(?:structural_tag|const_string|any_text|triggered_tags|tags_with_separator)"'
)
_PYTHON = re.compile(r"^(?:@(?:dataclasses\.)?dataclass\b|class\s+\w+.*:)", re.MULTILINE)

#: An edge of a machine, or two words that only its first lines have.
_MACHINE = re.compile(
    rf"""^[ \t]*(?: {NAME}[ \t]*(?:->|→)[ \t]*{NAME}[ \t]*:
                | (?:initial|final)(?:[ \t,]+{NAME})+[ \t]*$)""",
    re.MULTILINE | re.VERBOSE,
)

#: The beginning of a JSON object with a keyword of schemas or of structural tags.
_TYPED = re.compile(r'\s*\{\s*"(?:\$\w+|type|properties|title|description|name|format)"\s*:\s*["{]')

#: Names with their articles.
_ARTICLES = {
    Notation.REGEX: "a regex",
    Notation.KBNF: "a KBNF grammar",
    Notation.JSON_SCHEMA: "a JSON Schema",
    Notation.DATACLASS: "a dataclass",
    Notation.GBNF: "a GBNF grammar",
    Notation.LARK: "a Lark grammar",
    Notation.MACHINE: "a machine",
    Notation.STRUCTURAL_TAG: "a structural tag",
    Notation.ABNF: "an ABNF grammar",
    Notation.EBNF: "an EBNF grammar",
    Notation.ANTLR: "an ANTLR grammar",
}

_OF_RULES = {
    Notation.KBNF, Notation.GBNF, Notation.LARK, Notation.ABNF, Notation.EBNF, Notation.ANTLR,
}  # fmt: skip

#: Strings of all notations, and line comments: their contents are ignored.
_STRINGS = re.compile(r"""#\w*(?=['"])|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\"""")
_COMMENTS = re.compile(r"#(?!\w*['\"])[^\n]*")

#: Ends of rules and quotes of KBNF only; classes, counts and names of GBNF only.
_KBNF_ONLY = re.compile(r";[ \t]*(?:$|\(\*)|#\w*['\"]|\(\*|'", re.MULTILINE)
_GBNF_ONLY = re.compile(r"\[\^?[^\]\n]|\{\s*\d|^[ \t]*root[ \t]*::=|\w-\w*[ \t]*::=", re.MULTILINE)

#: A rule of ABNF, and what only ABNF has, outside of strings and comments.
_ABNF_RULE = re.compile(r"^[ \t]*[A-Za-z][\w-]*[ \t]*=/?(?=[ \t\n]*[^\s=:])", re.MULTILINE)
_ABNF_ONLY = re.compile(
    r"""%[xdb][0-9A-Fa-f] | %[si]" | ^[ \t]*[A-Za-z][\w-]*[ \t]*=/
      | [\w)\]>"][ \t\n]*/[ \t\n]*[\w(\[<"*] | (?:^|[=(\[/\s])\d*\*\d*[A-Za-z("\[]
      | [=\s]\d*(?:ALPHA|DIGIT|HEXDIG|DQUOTE|CRLF|VCHAR|WSP|SP)\b""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
#: What only W3C's EBNF has next to ``::=``, outside of strings, and only ISO's next to ``=``.
_W3C_ONLY = re.compile(
    r"\#x[0-9A-Fa-f] | /\*[^*] | ^[ \t]*\[\s*\d+\w*\s*\]\s*\w+\s*::= | ^[ \t]*<\w[^<>\n]*>\s*::="
    r"| \[\s*(?i:wfc|vc|nsc)\s*:",
    re.MULTILINE | re.VERBOSE,
)
_ISO_RULE = re.compile(r"^[ \t]*[^\W\d][\w \t-]*=(?=[^=>])[^=;]*[;.][ \t]*$", re.MULTILINE)
_ISO_ONLY = re.compile(r"[}\]\w\"')?][ \t\n]*,|\{[^{}\n]*[^\d,\s{}]|\d[ \t]*\*|=[ \t]*\?[^?\n]+\?")
_ISO_COMMENTS = re.compile(r"""\(\*[\s\S]*?\*\)|('[^'\n]*'|"[^"\n]*")""")

_ABNF_COMMENTS = re.compile(r'("[^"\n]*")|;(?!\s*\Z)[^\n]*')

#: Not used in grammars outside strings.
_REGEX_ONLY = re.compile(r"[\\.^$]|\[[^\]\s]-|\{\d+,?\d*\}|\(\?")

#: In both; a text without any string is more likely a regex.
_EITHER = re.compile(r"[\[\](){}|*+?]")

#: The beginning of an incomplete text; KBNF takes a bare ``=`` too, and comments.
_BEGUN = {
    Notation.KBNF: re.compile(r"\s*(?:\(\*|[A-Za-z_]\w*\s*(?:=|::|:?\s*\Z))"),
    Notation.GBNF: re.compile(r"\s*(?:#|[\w-]+\s*(?:::|:?\s*\Z))"),
    Notation.ABNF: re.compile(r"\s*(?:;|[A-Za-z][\w-]*\s*(?:=|\Z))"),
    Notation.EBNF: re.compile(r"\s*(?:\(\*|/\*|\[|<|[^\W\d][\w -]*\s*(?::|=|\Z))"),
    Notation.ANTLR: re.compile(r"\s*(?:/|@|[^\W\d]\w*\s*(?:[:;{]|\w+|\Z))"),
    Notation.LARK: re.compile(r"\s*(?:[%!?#]|//|[A-Za-z_]\w*\s*(?:[:.\[{]|\Z))"),
    Notation.JSON_SCHEMA: re.compile(r"\s*(?:[{\"]|true\b|false\b|\Z)"),
    Notation.STRUCTURAL_TAG: re.compile(r"\s*(?:[{\"]|\Z)"),
    Notation.DATACLASS: re.compile(r"\s*(?:[@#\"]|class\b|from\b|import\b|\w+\s*\Z)"),
    Notation.MACHINE: re.compile(rf"\s*(?:#|(?:initial|final|place)\b|{NAME}\s*(?:->?|→|\Z))"),
}


def looks_like(text: str) -> tuple[Notation, ...]:
    """The notations a text looks like, the likeliest first; nothing marks a regex."""
    if _JSON.match(text):
        return (Notation.STRUCTURAL_TAG if _TAG.search(text) else Notation.JSON_SCHEMA,)
    if _PYTHON.search(text):
        # a JSON Schema is the way for classes of Pydantic, as the problem says there
        others = (Notation.JSON_SCHEMA,) if is_pydantic_source(text) else ()
        return Notation.DATACLASS, *others
    if _RULE.search(text) and not is_antlr(text):
        return _rules_of(text)
    if is_antlr(text):
        return (Notation.ANTLR,)
    if _is_abnf(text):
        return (Notation.ABNF,)
    closed = text.rfind("*)") + 2  # an open comment would be searched for its end at each sign
    bare = _ISO_COMMENTS.sub(lambda match: match[1] and "''", text[:closed]) + text[closed:]
    if "''" in bare and _ISO_RULE.search(bare) and _ISO_ONLY.search(bare):
        return (Notation.EBNF,)
    if is_jflap(text) or _MACHINE.search(text):
        return (Notation.MACHINE,)
    return (Notation.LARK,) if _LARK.search(text) else ()


def _is_abnf(text: str) -> bool:
    """Whether a text has a rule of ABNF and a sign that other notations with ``=`` lack."""
    bare = _ABNF_COMMENTS.sub(lambda match: match[1] and '""', text)
    return bool(_ABNF_RULE.search(bare) and "'" not in bare and _ABNF_ONLY.search(bare))


def _rules_of(text: str) -> tuple[Notation, ...]:
    """KBNF, GBNF or EBNF, which begin their rules equally; the first two if nothing tells."""
    without_strings = _STRINGS.sub(_without_content, text)
    if _W3C_ONLY.search(without_strings) and not re.search(r";[ \t]*$", without_strings, re.M):
        return (Notation.EBNF,)
    bare = _COMMENTS.sub("", _STRINGS.sub(_without_content, text))
    if _KBNF_ONLY.search(bare):
        return (Notation.KBNF,)
    # in KBNF a rule ends with a semicolon before the next one
    if _GBNF_ONLY.search(bare) or len(_RULE.findall(bare)) > 1:
        return (Notation.GBNF,)
    return Notation.KBNF, Notation.GBNF


def _without_content(string: re.Match[str]) -> str:
    """A string without its content."""
    text = string[0]
    return text if text[0] == "#" else text[0] * 2


def other_notation(text: str, chosen: Notation) -> Notation | None:
    """The notation a text looks like, if not the chosen one."""
    looks = looks_like(text)
    if looks:
        is_ebnf = chosen is Notation.EBNF and _RULE.search(text) is not None
        return None if chosen in looks or is_ebnf else looks[0]
    if chosen not in _BEGUN or _BEGUN[chosen].match(text):
        return None
    rest = _STRINGS.sub("", text)
    if not (_REGEX_ONLY.search(rest) or (rest == text and _EITHER.search(rest))):
        return None
    try:
        parse_regex(Source(text, "regex"))
    except WorkbenchError:
        return None
    return Notation.REGEX


def reading_hint(text: str, notation: Notation) -> str:
    """How a text of a notation is read."""
    option = f"{notation}-file" if notation in (Notation.REGEX, Notation.MACHINE) else notation
    flag = f"--{option.replace('_', '-')}"
    wrapped = wrapped_schema(text) if notation is Notation.JSON_SCHEMA else None
    kind = wrapped.kind if wrapped else _ARTICLES[notation]
    part = f"; {wrapped.places}: {wrapped.hint}" if wrapped else ""
    return f"this looks like {kind}: read it with from_{notation} or {flag}{part}"


def marked_notation(text: str, chosen: Notation) -> Notation | None:
    """The notation whose marks a text has, if not the chosen one; never a regex, which has none."""
    looks = looks_like(text)
    return looks[0] if looks and chosen not in looks else None


def name_likely_notation(error: WorkbenchError, text: str, chosen: Notation) -> None:
    """Name the notation that a text looks like, if it is another, in the hint of its error.

    A hint about a rule stays if the other notation has rules too: the guess may be wrong.
    """
    looks = marked_notation(text, chosen)
    if looks is None or "this looks like" in error.hint:
        return
    hint = reading_hint(text, looks)
    if {chosen, looks} <= _OF_RULES:
        error.hint = f"{error.hint}; {hint}" if error.hint else hint
        return
    error.hint = hint
    if isinstance(error, ParseError):
        error.fix = None


@contextmanager
def likely_notation_named(text: str, chosen: Notation) -> Iterator[None]:
    """Within the block, the hint of a ParseError names the notation that the text looks like."""
    try:
        yield
    except ParseError as error:
        name_likely_notation(error, text, chosen)
        raise


def literal_advice(text: str) -> tuple[Advice, ...]:
    """A note on a regex that matches the text of a grammar or schema, character by character."""
    looks = looks_like(text) if _RULE.search(text) or _TYPED.match(text) else ()
    if not looks:
        return ()
    message = f"this regex matches the text of {_ARTICLES[looks[0]]}, not what it describes"
    whole = Span(0, len(text))
    return (Advice(message, whole, "other_notation", reading_hint(text, looks[0])),)
