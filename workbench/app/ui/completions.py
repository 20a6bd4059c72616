r"""What the editor offers while a grammar is typed: tables made of the readers' own tables.

A context is a place in a text: a pattern of the text before the caret, whose group is the part of
the word that is typed already, and the words that fit there. The script (``static/completion.js``)
applies the patterns, so they use only what the regexes of Python and JavaScript have in common. A
notation without contexts has no completion.

The text before the caret of a JSON Schema is replaced by its place in the tree: the path of the
object or array around the caret, ``key`` or ``value``, and the string that is typed, one a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from workbench.app.ui import wire
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.requests import NotationRequest
from workbench.app.ui.shares import LIGHT
from workbench.grammar.notations import Notation


@dataclass(frozen=True, slots=True)
class Completion:
    """A word that can be written."""

    text: str
    #: What it is, in a few words.
    about: str = ""
    #: What is written for it, if that is more than the word.
    insert: str = ""
    #: Characters between the caret and the end of what was written.
    back: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """A place in a text, and the words that fit there."""

    #: A regex for the text before the caret; its group is what is typed of the word.
    before: str
    items: tuple[Completion, ...] = ()
    #: Names in the text itself: ``rules``, ``missing`` (rules that are not written yet),
    #: ``definitions`` or ``properties``.
    names: str = ""
    #: ``code`` or ``quoted`` (strings and regexes); empty for both. Comments have no completion.
    where: str = ""
    #: Whether it opens before a letter of the word is typed.
    eager: bool = False


def _words(words: Iterable[str], about: str = "") -> tuple[Completion, ...]:
    return tuple(Completion(word, about) for word in words)


# -- regexes -----------------------------------------------------------------------------------

_GROUPS = (
    Completion("(?:", "a group without a number"),
    Completion("(?P<", "a named group, or an extension"),
    Completion("(?i)", "ignores case, at the start"),
    Completion("(?i:", "a part that ignores case"),
    Completion("(?s)", "'.' matches line breaks too, at the start"),
    Completion("(?x)", "skips white space and comments, at the start"),
    Completion("(?=", "followed by"),
    Completion("(?!", "not followed by"),
    Completion("(?<=", "preceded by"),
    Completion("(?<!", "not preceded by"),
    Completion("(?>", "the first match only"),
)
_ESCAPES = (
    ("d", "a digit"),
    ("D", "no digit"),
    ("w", "a letter, digit or '_'"),
    ("W", "neither letter, digit nor '_'"),
    ("s", "white space"),
    ("S", "no white space"),
    ("b", "the edge of a word"),
    ("n", "a line feed"),
    ("t", "a tab"),
    ("p{", "a Unicode property"),
    ("x", "a character by two hexadecimal digits"),
    ("u", "a character by four hexadecimal digits"),
)
_PROPERTIES = (
    Completion("L", "letters"),
    Completion("Lu", "upper-case letters"),
    Completion("Ll", "lower-case letters"),
    Completion("N", "numbers"),
    Completion("Nd", "decimal digits"),
    Completion("P", "punctuation"),
    Completion("S", "symbols"),
    Completion("Z", "separators"),
    *_words(("Alphabetic", "Uppercase", "Lowercase", "White_Space"), "a property"),
    *_words(("Latin", "Greek", "Cyrillic", "Han", "Hiragana", "Arabic", "Hebrew"), "a script"),
)


def _extensions() -> tuple[Completion, ...]:
    from workbench.syntax.regex.extensions import EXTENSIONS, LABELS

    about = {label.name: label.what for label in LABELS} | {
        "QUOTED_TEXT": "text in double quotes",
        "UNQUOTED_TEXT": "a plain scalar of YAML",
        "TEXT_UNTIL": "any text up to the first stop",
        "SUBSTRING_OF": "any substring of a text",
        "DELIMITED_LIST": "items with a delimiter between",
        "DELIMITED_SUBSEQUENCE_OF": "some of the items, in order",
    }
    closed = {"QUOTED_TEXT", "UNQUOTED_TEXT", *(label.name for label in LABELS)}
    return tuple(
        Completion(name, about.get(name, ""), f"{name}>{')' if name in closed else ''}")
        for name in sorted(EXTENSIONS)
    )


def _in_regexes(where: str, backslash: str = "\\") -> tuple[Context, ...]:
    """The contexts of regexes; ``backslash`` is how their source writes one."""
    escaped = backslash.replace("\\", r"\\")
    escapes = tuple(Completion(backslash + name, about) for name, about in _ESCAPES)
    return (
        Context(r"\(\?P?<(\w*)$", _extensions(), where=where, eager=True),
        Context(rf"{escaped}[pP]\{{(\w*)$", _with_end(_PROPERTIES, "}"), where=where, eager=True),
        Context(r"(?:^|[^\\])(\(\?[<=!:>a-zP]*)$", _GROUPS, where=where),
        Context(rf"(?:^|[^\\])(?:{escaped}{escaped})*({escaped}[a-zA-Z]?)$", escapes, where=where),
    )


def _with_end(items: Iterable[Completion], end: str) -> tuple[Completion, ...]:
    return tuple(Completion(item.text, item.about, item.text + end) for item in items)


def _regex() -> tuple[Context, ...]:
    return _in_regexes("")


# -- KBNF, GBNF and Lark -----------------------------------------------------------------------


def _kbnf() -> tuple[Context, ...]:
    forms = (
        Completion("#'…'", "a regex", "#''", 1),
        Completion("#e'…'", "a match of a regex that no shorter match begins", "#e''", 1),
        Completion("#ex'…'", "any text without a match of a regex", "#ex''", 1),
        Completion("#substrs'…'", "any substring of a text", "#substrs''", 1),
    )
    excepted = Completion(
        "except!(…)", "any text without a string or a rule's texts", "except!()", 1
    )
    plain = (
        Completion(r"\n", "a line feed"),
        Completion(r"\t", "a tab"),
        Completion(r"\\", "a backslash"),
        Completion(r"\'", "a quote"),
        Completion(r"\x", "a character by two hexadecimal digits"),
        Completion(r"\u{", "a character by its number"),
        *(Completion(rf"\\{name}", f"in a regex: {about}") for name, about in _ESCAPES),
    )
    return (
        *_in_regexes("quoted", r"\\"),
        Context(r"(?:^|[^\\])(\\[a-z]?)$", plain, where="quoted"),
        Context(r"(#\w*)$", forms, where="code"),
        Context(r"=[^;]*?(?:^|[^\w!#])([A-Za-z_]\w*)$", (excepted,), names="rules", where="code"),
        Context(r"=[^;]*?(?:^|[^\w!#])()$", (excepted, *forms), names="rules", where="code"),
        Context(r"(?:^|;)\s*([A-Za-z_]\w*)$", names="missing", where="code"),
    )


def _attributes() -> tuple[Completion, ...]:
    return (
        Completion("lazy", "the shortest match"),
        Completion("stop", "up to the first match, which is dropped", 'stop=""', 1),
        Completion("suffix", "up to the first match", 'suffix=""', 1),
        Completion("max_chars", "at most this number of characters", "max_chars="),
        *_words(("capture", "stop_capture", "temperature"), "does not change the language"),
    )


def _gbnf() -> tuple[Context, ...]:
    from workbench.syntax.gbnf import MACROS

    macros = tuple(Completion(name, example, f'{name}("")', 2) for name, example in MACROS.items())
    body = r"(?:::=|\n[ \t]+|\|)[^\n]*?"
    return (
        Context(r"(?:^|\n)[\w-]+[ \t]*\[(?:[^\]\n]*,)?[ \t]*(\w*)$", _attributes()),
        Context(rf"{body}(?:^|[^\w-])([A-Za-z_][\w-]*)$", macros, names="rules", where="code"),
        Context(rf"{body}(?:^|[^\w-])()$", macros, names="rules", where="code"),
        Context(r"(?:^|\n)([A-Za-z_][\w-]*)$", names="missing", where="code"),
    )


def _abnf() -> tuple[Context, ...]:
    from workbench.syntax.abnf import CORE_NAMES

    core = _words(sorted(CORE_NAMES), "a core rule")
    body = r"(?:=|\n[ \t]+|/)[^\n;]*?"
    return (
        Context(rf"{body}(?:^|[^\w%-])([A-Za-z][\w-]*)$", core, names="rules", where="code"),
        Context(rf"{body}(?:^|[^\w%-])()$", core, names="rules", where="code"),
        Context(r"(?:^|\n)([A-Za-z][\w-]*)$", names="missing", where="code"),
    )


def _ebnf() -> tuple[Context, ...]:
    body = r"(?:=|\n[ \t]+|\||,)[^\n;]*?"
    return (
        Context(rf"{body}(?:^|[^\w-])([A-Za-z_][\w-]*)$", names="rules", where="code"),
        Context(rf"{body}(?:^|[^\w-])()$", names="rules", where="code"),
        Context(r"(?:^|\n)([A-Za-z_][\w-]*)$", names="missing", where="code"),
    )


def _antlr() -> tuple[Context, ...]:
    commands = _words(("skip", "channel(HIDDEN)", "type()"), "what becomes of the token")
    body = r":[^;]*?"
    return (
        Context(r"->[ \t]*(\w*)$", commands, where="code", eager=True),
        Context(rf"{body}(?:^|[^\w])([A-Za-z_]\w*)$", names="rules", where="code"),
        Context(rf"{body}(?:^|[^\w])()$", names="rules", where="code"),
        Context(r"(?:^|\n|;)\s*([A-Za-z_]\w*)$", names="missing", where="code"),
    )


def _lark() -> tuple[Context, ...]:
    from workbench.syntax.lark.lark_parser import STATEMENT_NAMES
    from workbench.syntax.lark.resolve import module_terminals

    about = {
        "%import": "terminals of the module common",
        "%ignore": "text that may be between all others",
        "%declare": "terminals without a text",
        "%override": "replaces a definition",
        "%extend": "adds alternatives to a definition",
        "%llguidance": "options of llguidance",
    }
    statements = tuple(Completion(name, about[name], f"{name} ") for name in STATEMENT_NAMES)
    inside = (
        Completion("%json", "a JSON Schema", "%json {}", 1),
        Completion("%regex", "substrings of a text", '%regex {"substring_words": ""}', 2),
        Completion("%lark", "a nested grammar", "%lark {}", 1),
    )
    terminals = _words(sorted(module_terminals("common")), "of common")
    body = r"(?:^|\n)(?:[^\n:]*:|[ \t]*\||[ \t]+|%ignore[ \t]|%extend[ \t]|%override[ \t])[^\n]*?"
    return (
        Context(r"(?:^|\n)%import[ \t]+common\.(\w*)$", terminals, eager=True),
        Context(r"(?:^|\n)%import[ \t]+common[ \t]*\((?:[^)\n]*,)?[ \t]*(\w*)$", terminals),
        Context(r"(?:^|\n)%import[ \t]+(\w*)$", (Completion("common", "", "common."),), eager=True),
        Context(r"(?:^|\n)[ \t]*(%\w*)$", statements, where="code"),
        Context(r"[^\n](%\w*)$", inside, where="code"),
        Context(r"(?:^|\n)\w+[ \t]*\[(?:[^\]\n]*,)?[ \t]*(\w*)$", _attributes()),
        *_in_regexes("quoted"),
        Context(rf"{body}(?:^|[^\w%.])([A-Za-z_]\w*)$", names="rules", where="code"),
        Context(rf"{body}(?:^|[^\w%.])()$", names="rules", where="code"),
        Context(r"(?:^|\n)[?!]?([A-Za-z_]\w*)$", names="missing", where="code"),
    )


# -- JSON Schema -------------------------------------------------------------------------------

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
)
#: Objects whose names are no keywords.
_NAMES = (
    r"(?:properties|patternProperties|\$defs|definitions|dependentSchemas|dependentRequired"
    r"|dependencies)"
)
#: Their values are data, whatever it looks like.
_DATA = r"/(?:enum|const|default|examples?)(?:/[^\n]*)?\n"


def _schema() -> tuple[Context, ...]:
    from workbench.schema.algebra.keywords import (
        ARRAY_WORDS,
        NUMBER_WORDS,
        OBJECT_WORDS,
        TEXT_WORDS,
    )
    from workbench.schema.format_strings import FORMATS
    from workbench.schema.references import ANNOTATIONS, UNNAMED

    groups = (
        (TEXT_WORDS, "strings"),
        (NUMBER_WORDS, "numbers"),
        (ARRAY_WORDS, "arrays"),
        (OBJECT_WORDS, "objects"),
        (ANNOTATIONS, "not a condition"),
    )
    about = {word: name for words, name in groups for word in words}
    common = ("type", "properties", "required", "items", "enum", "const", "description")
    rest = sorted((UNNAMED.keywords | ANNOTATIONS) - set(common))
    keywords = tuple(Completion(word, about.get(word, "all values")) for word in (*common, *rest))
    return (
        Context(rf"^(?![^\n]*{_DATA})[^\n]*/{_NAMES}\nkey\n()$"),  # names are free here
        Context(r"/dependentRequired\nkey\n(.*)$", names="properties", eager=True),
        Context(
            rf"^(?![^\n]*{_DATA})(?![^\n]*/{_NAMES}\n)[^\n]*\nkey\n(.*)$", keywords, eager=True
        ),
        Context(r"/type(?:/\d+)?\nvalue\n(.*)$", _words(_TYPES, "a type"), eager=True),
        Context(r"/format\nvalue\n(.*)$", _words(sorted(FORMATS), "a format"), eager=True),
        Context(r"/\$schema\nvalue\n(.*)$", _words(_DRAFTS, "a draft"), eager=True),
        Context(r"/\$(?:ref|dynamicRef)\nvalue\n(.*)$", names="definitions", eager=True),
        Context(r"/required/\d+\nvalue\n(.*)$", names="properties", eager=True),
        Context(r"/dependentRequired/[^/\n]+/\d+\nvalue\n(.*)$", names="properties", eager=True),
    )


# -- structural tags ---------------------------------------------------------------------------

#: Inside a schema of a structural tag.
_IN_SCHEMA = r"[^\n]*/(?:json_schema|schema)(?:/|\n)"


def _structural_tag() -> tuple[Context, ...]:
    from workbench.schema.tag_formats import FORMATS, LEGACY, OUTER

    inside = [
        replace(context, before=rf"^(?={_IN_SCHEMA})(?:{context.before.removeprefix('^')})")
        if context.before.startswith("^")
        else replace(context, before=rf"^(?={_IN_SCHEMA})[^\n]*{context.before}")
        for context in _schema()
    ]
    members = {
        name: expected for fields in FORMATS.values() for name, expected in fields.all.items()
    }
    keys = tuple(Completion(name, expected) for name, expected in {"type": "", **members}.items())
    outer = tuple(Completion(name, expected) for name, expected in {**OUTER, **LEGACY}.items())
    types = tuple(Completion(name, fields.what) for name, fields in FORMATS.items())
    return (
        *inside,
        Context(r"^\nkey\n(.*)$", outer, eager=True),
        Context(r"^/type\nvalue\n(.*)$", _words(("structural_tag",)), eager=True),
        Context(r"/type\nvalue\n(.*)$", types, eager=True),
        Context(r"^[^\n]+\nkey\n(.*)$", keys, eager=True),
    )


# -- dataclasses -------------------------------------------------------------------------------


def _dataclass() -> tuple[Context, ...]:
    from workbench.schema.typed.annotations import TYPE_NAMES
    from workbench.schema.typed.python_text import KNOWN_IMPORTS

    brackets = {"list", "tuple", "dict", "set", "frozenset", "Literal", "Optional", "Union"}
    brackets |= {"Annotated", "Final", "ClassVar"}
    types = tuple(
        Completion(name, "a type", f"{name}[]", 1)
        if name in brackets
        else Completion(name, "a type")
        for name in TYPE_NAMES
    )
    decorators = (
        Completion("@dataclass"),
        Completion("@dataclass(frozen=True)", "its instances are hashable"),
        Completion("@dataclass(kw_only=True)", "its fields are written by name"),
    )
    defaults = (
        Completion("field(default_factory=list)", "a new list for each instance"),
        Completion("field(default_factory=dict)", "a new dict for each instance"),
        *_words(("None", "True", "False"), "a default"),
    )
    imports = tuple(
        Context(
            rf"(?:^|\n)from {module} import (?:[^\n]*,[ \t]*)?(\w*)$",
            _words(names, f"of {module}"),
            where="code",
            eager=True,
        )
        for module, names in KNOWN_IMPORTS.items()
    )
    modules = tuple(Completion(module, "a module", f"{module} import ") for module in KNOWN_IMPORTS)
    return (
        *imports,
        Context(r"(?:^|\n)from (\w*)$", modules, where="code", eager=True),
        Context(r"(?:^|\n)[ \t]*(@\w*)$", decorators, where="code"),
        Context(
            r"(?:^|\n)class \w+\((?:[^)\n]*,[ \t]*)?(\w*)$",
            _words(("Enum", "IntEnum", "StrEnum", "str", "int"), "a base class"),
            names="rules",
            where="code",
        ),
        Context(
            r"\n[ \t]+\w+[ \t]*:[ \t]*(?:[^=\n]*[\[|,(][ \t]*)?(\w*)$",
            types,
            names="rules",
            where="code",
        ),
        Context(r"\n[ \t]+\w+[ \t]*:[^=\n]*=[ \t]*(\w*)$", defaults, where="code"),
    )


#: The contexts of each notation, the most special ones first.
_CONTEXTS: Mapping[str, Callable[[], tuple[Context, ...]]] = {
    Notation.REGEX: _regex,
    Notation.KBNF: _kbnf,
    Notation.JSON_SCHEMA: _schema,
    Notation.STRUCTURAL_TAG: _structural_tag,
    Notation.DATACLASS: _dataclass,
    Notation.GBNF: _gbnf,
    Notation.ABNF: _abnf,
    Notation.EBNF: _ebnf,
    Notation.ANTLR: _antlr,
    Notation.LARK: _lark,
}


@cache
def contexts(notation: str) -> tuple[Context, ...]:
    """The contexts of a notation; none if it has no completion."""
    build = _CONTEXTS.get(notation)
    return () if build is None else build()


@question(LIGHT)
def completions(_: Handlers, request: NotationRequest) -> wire.Completions:
    """What the editor can offer in a notation, asked once by each page."""
    notation = request.notation
    return {"contexts": [_record(context) for context in contexts(notation)]}


def _record(context: Context) -> wire.CompletionContext:
    return {
        "before": context.before,
        "names": context.names,
        "where": context.where,
        "eager": context.eager,
        "items": [
            {
                "text": item.text,
                "about": item.about,
                "insert": item.insert or item.text,
                "back": item.back,
            }
            for item in context.items
        ],
    }
