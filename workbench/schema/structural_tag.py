"""Structural tags: the format in which xgrammar, vLLM and SGLang switch constraints on and off.

A structural tag is a JSON object ``{"type": "structural_tag", "format": …}``; a format is an object
whose ``type`` is one of ``FORMATS``, and most formats contain others. The older form has
``structures`` and ``triggers`` instead of ``format``. Every format becomes an expression of a
grammar tree: JSON Schemas, regexes and GBNF grammars inside are read by their own parsers, with
every error at its place in the whole text.

Where the documentation leaves the texts open, they are defined here as follows.

* ``any_text`` is any text in which none of its ``excludes`` occurs. Inside a ``tag`` the ends of
  the nearest one are excluded too; the content alone is tested, so with the end ``aa`` the text
  ``aaa`` is the content ``a`` and the end.
* ``triggered_tags`` is free text as defined in ``syntax.free_text``: the end of the text is allowed
  in free text only, so never between a trigger and the end of its tag. ``excludes`` and the ends of
  the enclosing tag do not occur in the free text; inside the tags they may. With ``at_least_one``
  the text begins with a tag; with ``stop_after_first`` too, it is exactly one tag.
* ``dispatch`` is the same with any formats after its patterns, but without the ends of the
  enclosing tag, which have to be in its ``excludes``.
* ``json_schema`` has no white space around the whole value. Properties that a schema does not
  mention are allowed unless ``additionalProperties`` forbids them (xgrammar forbids them always),
  and ``any_order`` still requires every required property, and each at most once.

Formats that name tokens, and budgets of tokens, are rejected: a grammar is a set of texts, whatever
the vocabulary.

Source: xgrammar 0.2, docs/structural_tag; what it leaves open was found by experiment and is
        compared by ``tests/export/test_peer_structural_tags.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from workbench.base.errors import ParseError, SourceError
from workbench.base.limits import Limits
from workbench.base.problems import Advice, suggestion
from workbench.base.source import Source, Span, Unescaped
from workbench.schema.json_schema import schema_grammar
from workbench.schema.schema_options import SchemaOptions
from workbench.schema.schema_reader import Document, Node, json_text, location
from workbench.schema.tag_parameters import parameters
from workbench.syntax.derived_rules import CountRules, written_parts
from workbench.syntax.free_text import dispatched, free_text
from workbench.syntax.gbnf import parse_gbnf
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Names,
    Nonterminal,
    Pattern,
    Rule,
    Sequence,
    Stop,
    renamed,
)
from workbench.syntax.regex.character_classes import without_javascript
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Flags
from workbench.syntax.rule_attributes import LanguageOperations

_TEXTS = "a list of strings"
_FORMAT = 'a format, such as {"type": "any_text"}'
_BOOLEAN = "true or false"
_COUNT = "a whole number from 0"
_TAGS = 'a list of tags, such as [{"type": "tag", "begin": "<a>", "content": …, "end": "</a>"}]'


@dataclass(frozen=True, slots=True)
class Fields:
    """The members of a format besides its type, each with what is expected there."""

    required: Mapping[str, str]
    optional: Mapping[str, str] = field(default_factory=dict)
    #: One sentence for the completion in the editor.
    what: str = ""

    @property
    def all(self) -> Mapping[str, str]:
        return {**self.required, **self.optional}


_CONTENT = {"content": _FORMAT}
_ELEMENTS = {"elements": "a list of formats"}
_HOW_MANY = {"at_least_one": _BOOLEAN, "stop_after_first": _BOOLEAN}
_SCHEMA = {"json_schema": "a JSON Schema"}

#: The formats that define a set of texts.
FORMATS: dict[str, Fields] = {
    "const_string": Fields({"value": "a string"}, what="exactly this text"),
    "json_schema": Fields(
        _SCHEMA,
        {
            "style": "'json' or 'qwen_xml'",
            "any_order": _BOOLEAN,
            "max_whitespace_cnt": _COUNT,
            "excludes": _TEXTS,
        },
        "an instance of a JSON Schema",
    ),
    "qwen_xml_parameter": Fields(_SCHEMA, what="<parameter=name>value</parameter> for each one"),
    "grammar": Fields({"grammar": "a GBNF grammar"}, what="a text of a GBNF grammar"),
    "regex": Fields({"pattern": "a regex"}, what="a full match of a regex"),
    "any_text": Fields(
        {}, {"excludes": _TEXTS, "max_chars": _COUNT, "max_tokens": _COUNT}, "any text"
    ),
    "sequence": Fields(_ELEMENTS, what="one format after another"),
    "or": Fields(_ELEMENTS, what="one of several formats"),
    "optional": Fields(_CONTENT, what="a format or nothing"),
    "star": Fields(_CONTENT, what="a format, any number of times"),
    "plus": Fields(_CONTENT, what="a format, once or more"),
    "repeat": Fields(
        {"min": _COUNT, "max": "a whole number, -1 without an upper bound", **_CONTENT},
        what="a format, from min to max times",
    ),
    "tag": Fields(
        {"begin": "a string", **_CONTENT, "end": "a string, or a list of strings"},
        what="begin, content, end",
    ),
    "triggered_tags": Fields(
        {"triggers": _TEXTS, "tags": _TAGS},
        {**_HOW_MANY, "excludes": _TEXTS},
        "free text in which each trigger begins a tag",
    ),
    "tags_with_separator": Fields(
        {"tags": _TAGS, "separator": "a string"}, _HOW_MANY, "tags with a separator between them"
    ),
    "dispatch": Fields(
        {"rules": "a list of pairs [pattern, format]"},
        {"loop": _BOOLEAN, "excludes": _TEXTS},
        "free text in which each pattern is followed by a format",
    ),
}
#: The formats that name tokens.
OF_TOKENS = ("token", "exclude_token", "any_tokens", "token_triggered_tags", "token_dispatch")
_NO_TOKENS = "a grammar is a set of texts, whatever the vocabulary: write the text of the token"
#: The styles of ``json_schema`` of other engines.
_STYLES = ("json", "qwen_xml")
#: The members of the whole object, in both forms.
OUTER = {"type": "'structural_tag'", "format": _FORMAT}
LEGACY = {
    "type": "'structural_tag'",
    "structures": 'a list such as [{"begin": "<f>", "schema": {…}, "end": "</f>"}]',
    "triggers": _TEXTS,
}
_STRUCTURE = {"begin": "a string", "schema": "a JSON Schema", "end": "a string"}
_TOP_HINT = '{"type": "structural_tag", "format": {"type": …}}'
#: The longest name of a rule that is made of the beginning of a tag.
_MAX_NAME = 40


@dataclass(frozen=True, slots=True, eq=False)
class ParsedTag:
    """The rules of a structural tag, with the advice on its schemas."""

    tree: GrammarTree
    notes: tuple[Advice, ...]


def parse_structural_tag(
    source: Source, limits: Limits, operations: LanguageOperations
) -> ParsedTag:
    """The rules of a structural tag; their start is ``start``.

    Raises: ParseError of kind ``json``, ``structural_tag`` or ``unsupported`` with the JSON pointer
            of the place; what the parsers of the parts raise; BuildError; LimitError.
    """
    reader = _Reader(source, limits, operations)
    root = Document(source).root
    body = reader.whole(root)
    rules = [Rule("start", body, root.span, root.span), *reader.rules, *reader.counts.rules]
    return ParsedTag(GrammarTree(tuple(rules), source), tuple(reader.notes))


def _expected(node: Node, expected: str, hint: str = "", kind: str = "structural_tag") -> NoReturn:
    where = node.pointer or "the structural tag"
    raise ParseError(f"{where}: expected {expected}", _source(node), node.span, hint, kind)


def _source(node: Node) -> Source:
    return node.document.source


def _members(node: Node, expected: str) -> dict[str, Node]:
    if node.members is None:
        _expected(node, expected)
    return node.members


def _checked(node: Node, fields: Fields, what: str) -> dict[str, Node]:
    """The members of an object without unknown or missing ones."""
    members = _members(node, "an object")
    known = {"type": "", **fields.all}
    for name, member in members.items():
        if name not in known:
            hint, fix = suggestion(name, known, f"the members are {', '.join(known)}")
            message = f"{location(member)}: {what} has no member {name!r}"
            place = member.name_span
            error = ParseError(message, _source(node), place, hint, "structural_tag")
            raise error.with_fix(json_text(fix))
    for name, expected in fields.required.items():
        if name not in members:
            where = node.pointer or "the structural tag"
            message = f"{where}: {what} needs a member {name!r}"
            place = members["type"].span if "type" in members else Span(node.start, node.start + 1)
            hint = f"it is {expected}"
            raise ParseError(message, _source(node), place, hint, "structural_tag")
    return members


def _text(node: Node, expected: str = "a string") -> str:
    if isinstance(node.value, str):
        return node.value
    if (node.members or {}).get("type") is not None:
        _refused(node, "a token instead of a text cannot be read", _NO_TOKENS)
    _expected(node, expected)


def _refused(node: Node, why: str, hint: str) -> NoReturn:
    raise ParseError(f"{location(node)}: {why}", _source(node), node.span, hint, "unsupported")


def _texts(node: Node | None, what: str = "strings that are not empty") -> list[bytes]:
    """The texts of a list, none of them empty."""
    if node is None:
        return []
    if node.items is None:
        _expected(node, _TEXTS)
    for item in node.items:
        if not _text(item):
            _expected(item, what, "an empty text occurs everywhere")
    return list(dict.fromkeys(_text(item).encode() for item in node.items))


def _flag(members: Mapping[str, Node], name: str, *, default: bool = False) -> bool:
    if name not in members:
        return default
    value = members[name].value
    if not isinstance(value, bool):
        _expected(members[name], _BOOLEAN)
    return value


def _count(node: Node, expected: str = _COUNT, least: int = 0) -> int:
    value = node.value
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        _expected(node, expected)
    return value


def _listed(node: Node, expected: str) -> list[Node]:
    if not node.items:
        _expected(node, f"{expected}, at least one")
    return node.items


def unescaped(node: Node) -> Unescaped:
    """The text of a JSON string with the place of each of its characters."""
    source, start, end = node.document.source, node.start + 1, node.end - 1
    assert isinstance(node.value, str)
    if "\\" not in source.text[start:end]:
        return Unescaped(node.value, range(start, end + 1))
    pieces = re.finditer(r"\\u[dD][89abAB]..\\u....|\\u....|\\.|[^\\]", source.text[start:end])
    places = [start + piece.start() for piece in pieces]
    return Unescaped(node.value, [*places, end], "\\\\")


class _Reader:
    """Writes the rules of one structural tag.

    ``ends`` is passed down: the ends of the nearest tag around a format.
    """

    def __init__(self, source: Source, limits: Limits, operations: LanguageOperations) -> None:
        self.source, self.limits, self.operations = source, limits, operations
        self.clock = limits.clock()
        self.names = Names(("start",))
        self.counts = CountRules(self.names.fresh)
        self.rules: list[Rule] = []
        self.notes: list[Advice] = []
        self._formats: dict[str, Callable[[Node, dict[str, Node], tuple[str, ...]], Expression]] = {
            "const_string": self._const_string,
            "json_schema": self._json_schema,
            "qwen_xml_parameter": self._json_schema,
            "grammar": self._grammar,
            "regex": self._regex,
            "any_text": self._any_text,
            "sequence": self._sequence,
            "or": self._or,
            "optional": self._repeated,
            "star": self._repeated,
            "plus": self._repeated,
            "repeat": self._repeated,
            "tag": self._tag,
            "triggered_tags": self._triggered_tags,
            "tags_with_separator": self._tags_with_separator,
            "dispatch": self._dispatch,
        }
        assert self._formats.keys() == FORMATS.keys()

    def whole(self, root: Node) -> Expression:
        """The format of the whole object, in the current or in the older form."""
        members = _members(root, f"an object such as {_TOP_HINT}")
        kind = members.get("type")
        if kind is not None and kind.value in FORMATS and "structures" not in members:
            message = f"/type: {kind.value!r} is a format: a structural tag contains it"
            text = self.source.text[root.start : root.end]
            error = ParseError(
                message, self.source, kind.span, f"write {_TOP_HINT}", "structural_tag"
            )
            raise error.with_fix(f'{{"type": "structural_tag", "format": {text}}}', root.span)
        if "structures" in members:
            return self._legacy(root)
        _checked(root, Fields(OUTER), "a structural tag")
        self._check_type(members["type"])
        return self.format(members["format"], ())

    def _check_type(self, kind: Node) -> None:
        if kind.value != "structural_tag":
            error = ParseError(
                "/type: expected 'structural_tag'",
                self.source, kind.span, f"write {_TOP_HINT}", "structural_tag",
            )  # fmt: skip
            raise error.with_fix('"structural_tag"')

    def _legacy(self, root: Node) -> Expression:
        """``structures`` and ``triggers``: triggered tags with JSON inside."""
        members = _checked(root, Fields(LEGACY), "a structural tag with structures")
        self._check_type(members["type"])
        tags = []
        for node in _listed(members["structures"], LEGACY["structures"]):
            held = _checked(node, Fields(_STRUCTURE), "a structure")
            ends = self._ends(held["end"])
            content = self._schema(held["schema"], SchemaOptions(), self._tag_name(held["begin"]))
            tags.append((held["begin"], content, ends))
        return self._triggered(root, members, tags, ())

    def format(self, node: Node, ends: tuple[str, ...]) -> Expression:
        """The texts of a format."""
        self.clock.check()
        members = _members(node, _FORMAT)
        kind = members.get("type")
        if kind is None:
            _expected(node, "a member 'type'", f"the types are {', '.join(FORMATS)}")
        name = kind.value
        if name in OF_TOKENS:
            _refused(node, f"{name} names tokens", _NO_TOKENS)
        if not isinstance(name, str) or name not in FORMATS:
            hint, fix = suggestion(str(name), FORMATS, f"the types are {', '.join(FORMATS)}")
            message = f"{location(kind)}: unknown type of format"
            error = ParseError(message, self.source, kind.span, hint, "structural_tag")
            raise error.with_fix(json_text(fix))
        return self._formats[name](node, _checked(node, FORMATS[name], name), ends)

    def _rule(self, base: str, body: Expression, span: Span) -> Nonterminal:
        name = self.names.fresh(base)
        self.rules.append(Rule(name, body, span, span))
        return Nonterminal(name, span)

    def _const_string(self, _: Node, members: dict[str, Node], __: tuple[str, ...]) -> Expression:
        return _literal(_text(members["value"]), members["value"].span)

    def _json_schema(self, node: Node, members: dict[str, Node], _: tuple[str, ...]) -> Expression:
        if _texts(members.get("excludes")):
            hint = "leave it out, or restrict the strings with 'pattern'"
            _refused(members["excludes"], "excluded texts of JSON cannot be read", hint)
        style = "qwen_xml" if node.members["type"].value == "qwen_xml_parameter" else "json"  # type: ignore[index]
        if "style" in members:
            style = _text(members["style"])
            if style not in _STYLES:
                hint, fix = suggestion(style, _STYLES, f"the styles are {', '.join(_STYLES)}")
                message = f"{location(members['style'])}: the style {style!r} cannot be read"
                span = members["style"].span
                raise ParseError(message, self.source, span, hint, "unsupported", json_text(fix))
        blanks = members.get("max_whitespace_cnt")
        spacing: dict[str, str | int] = {}
        if blanks is not None and blanks.value is not None:
            most = _count(blanks)
            spacing = {"bound": most} if most else {"whitespace": "compact"}
        order = "any" if _flag(members, "any_order") else "declared"
        options = SchemaOptions(order=order, **spacing)  # type: ignore[arg-type]
        if style == "qwen_xml":
            return self._parameters(members["json_schema"], options)
        return self._schema(members["json_schema"], options, "json")

    def _schema(self, node: Node, options: SchemaOptions, base: str) -> Expression:
        """The instances of a schema inside, without white space around them."""
        text = self.source.text
        # replace the text before by blanks, so that spans remain valid in the whole text
        blanks = "".join(c if c == "\n" else " " for c in text[: node.start])
        part = Source(blanks + text[node.start : node.end], self.source.name)
        return self._schema_rules(part, node, options, base)

    def _schema_rules(
        self, part: Source, node: Node, options: SchemaOptions, base: str, *, own: bool = True
    ) -> Expression:
        """The rules of a schema's text. Without ``own``, all places are the node's."""
        try:
            parsed = schema_grammar(part, options, self.limits)
        except SourceError as error:
            error.source = self.source
            error.message = _within(node, error.message)
            if not own:
                error.span, error.fix = node.span, None
            raise
        for one in parsed.notes:
            span = one.span if own else node.span
            message, fix = _within(node, one.message), one.fix if own else None
            self.notes.append(Advice(message, span, "schema_note", one.hint, fix))
        start, *others = parsed.tree.rules
        match start.body:
            case Sequence((before, value, after), _) if before == after:
                start = replace(start, body=value)
        return self._embedded((start, *others), base, node.span, None if own else node.span)

    def _embedded(
        self, rules: Iterable[Rule], base: str, called: Span, at: Span | None = None
    ) -> Nonterminal:
        """Rules of a part under new names; the first one is their start."""
        rules = list(rules)
        first = self.names.fresh(base)
        new = {rule.name: first for rule in rules[:1]}
        for rule in rules[1:]:
            if rule.name not in new:
                new[rule.name] = self.names.fresh(f"{first}_{rule.name}")
        for rule in rules:
            body = renamed(rule.body, new.__getitem__)
            span = rule.span if at is None else at
            name_span = rule.name_span if at is None else at
            body = body if at is None else _moved(body, lambda _: called)
            self.rules.append(Rule(new[rule.name], body, name_span, span))
        return Nonterminal(first, called)

    def _parameters(self, node: Node, options: SchemaOptions) -> Expression:
        """``<parameter=name>value</parameter>`` for each property."""
        free = free_text([b"</parameter>"], node.span, self.operations)

        def value(schema: Node, text: str) -> Expression:
            part = Source(text, self.source.name)
            return self._schema_rules(part, schema, options, "value", own=False)

        return self._rule("parameters", parameters(node, free, value), node.span)

    def _grammar(self, _: Node, members: dict[str, Node], __: tuple[str, ...]) -> Expression:
        node = members["grammar"]
        _text(node)
        written = unescaped(node)
        part = Source(written.text, self.source.name)

        def moved(span: Span) -> Span:
            return Span(written.places[span.start], written.places[span.end])

        try:
            tree = parse_gbnf(part, self.clock, self.operations)
        except SourceError as error:
            raise self._in_string(error, node, moved) from None
        names = [rule.name for rule in tree.rules]
        if "root" not in names:
            message = "the start symbol 'root' has no rule"
            raise self._in_string(
                ParseError(message, part, Span(0, 0), "name the first rule root"), node, moved
            )
        ordered = sorted(tree.rules, key=lambda rule: rule.name != "root")
        rules = (
            Rule(one.name, _moved(one.body, moved), moved(one.name_span), moved(one.span))
            for one in ordered
        )
        return self._embedded(rules, "grammar", node.span)

    def _in_string(
        self, error: SourceError, node: Node, moved: Callable[[Span], Span]
    ) -> SourceError:
        """The error of a part that is written as a JSON string, at its place in the whole text."""
        if error.fix is not None:
            error.fix, error.fix_span = json.dumps(error.fix)[1:-1], moved(error.fix_span)
        error.source, error.span = self.source, moved(error.span)
        error.message = _within(node, error.message)
        return error

    def _regex(self, _: Node, members: dict[str, Node], __: tuple[str, ...]) -> Expression:
        node = members["pattern"]
        _text(node)
        # as in the macro Regex() of GBNF
        plain = without_javascript(unescaped(node))
        flags = Flags(dotall=True, ascii=True)
        try:
            tree = parse_regex(self.source, flags=flags, written=plain, clock=self.clock)
        except SourceError as error:
            error.message = _within(node, error.message)
            raise
        pattern = Pattern(tree, Stop.ANYWHERE, f"(?s:{plain.text})", node.span)
        return self.counts.pattern(pattern, written_parts(self.source, pattern))

    def _any_text(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        if (tokens := members.get("max_tokens")) is not None and tokens.value is not None:
            hint = 'bound the characters: "max_chars": 100'
            _refused(tokens, "how many tokens a text has depends on the vocabulary", hint)
        excluded = [*_texts(members.get("excludes")), *_encoded(ends)]
        body = free_text(excluded, node.span, self.operations)
        if (most := members.get("max_chars")) is not None and most.value is not None:
            machine = self.operations.at_most(body, _count(most), {})
            body = Automaton(machine, f"up to {most.value} characters", node.span)
        return self._rule("any_text", body, node.span)

    def _elements(self, members: dict[str, Node], ends: tuple[str, ...]) -> tuple[Expression, ...]:
        nodes = _listed(members["elements"], "a list of formats")
        return tuple(self.format(node, ends) for node in nodes)

    def _sequence(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        items = self._elements(members, ends)
        return items[0] if len(items) == 1 else Sequence(items, node.span)

    def _or(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        options = self._elements(members, ends)
        return options[0] if len(options) == 1 else Choice(options, node.span)

    def _repeated(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        low, high = {"optional": (0, 1), "star": (0, None), "plus": (1, None)}.get(
            str(members["type"].value), (0, 0)
        )
        if "max" in members:
            low = _count(members["min"])
            high = _count(members["max"], "a whole number, -1 without an upper bound", -1)
            if high == -1:
                high = None
            elif high < low:
                _expected(members["max"], f"at least min, which is {low}", "swap the two")
        item = self.format(members["content"], ends)
        return self.counts.repetition(item, low, high, node.span)

    # tags

    def _ends(self, node: Node) -> tuple[str, ...]:
        if isinstance(node.value, str):
            return (node.value,)
        if node.items is None:
            return (_text(node, "a string, or a list of strings"),)
        return tuple(_text(item) for item in _listed(node, "a list of strings"))

    def _tag_name(self, begin: Node) -> str:
        name = re.sub(r"\W+", "_", _text(begin), flags=re.ASCII).strip("_")[:_MAX_NAME]
        return name if name and not name[0].isdigit() else "tag"

    def _tag_parts(self, node: Node, what: str = "tag") -> tuple[Node, Expression, tuple[str, ...]]:
        """The beginning of a tag, its content and its ends."""
        members = _members(node, _TAGS)
        kind = members.get("type")
        if kind is not None and kind.value != "tag":
            _expected(kind, f"'tag' inside {what}")
        members = _checked(node, FORMATS["tag"], "a tag")
        _text(members["begin"])
        ends = self._ends(members["end"])
        content = self.format(members["content"], ends)
        if not any(ends) and _is_unlimited(members["content"]):
            hint = "give the tag an end, or the content some excludes"
            _expected(members["end"], "an end that is not empty: the content has none", hint)
        return members["begin"], content, ends

    def _tag(self, node: Node, _: dict[str, Node], __: tuple[str, ...]) -> Expression:
        begin, content, ends = self._tag_parts(node)
        return self._whole_tag(node, begin, content, ends)

    def _whole_tag(
        self, node: Node, begin: Node, content: Expression, ends: tuple[str, ...]
    ) -> Nonterminal:
        body = self._after(_text(begin), begin, content, ends, node.span)
        return self._rule(self._tag_name(begin), body, node.span)

    def _after(
        self, begin: str, at: Node, content: Expression, ends: tuple[str, ...], span: Span
    ) -> Expression:
        """The rest of a tag: what is left of its beginning, its content, an end."""
        endings = tuple(_literal(end, at.span) for end in dict.fromkeys(ends))
        end = endings[0] if len(endings) == 1 else Choice(endings, at.span)
        return Sequence((_literal(begin, at.span), content, end), span)

    def _triggered_tags(
        self, node: Node, members: dict[str, Node], ends: tuple[str, ...]
    ) -> Expression:
        nodes = _listed(members["tags"], _TAGS)
        tags = [self._tag_parts(tag, "triggered_tags") for tag in nodes]
        return self._triggered(node, members, tags, ends)

    def _triggered(
        self,
        node: Node,
        members: dict[str, Node],
        tags: list[tuple[Node, Expression, tuple[str, ...]]],
        ends: tuple[str, ...],
    ) -> Expression:
        triggers = [text.decode() for text in _texts(members["triggers"])]
        if not triggers:
            _expected(members["triggers"], f"{_TEXTS}, at least one")
        after: dict[str, list[Expression]] = {trigger: [] for trigger in triggers}
        whole: list[Expression] = []
        for begin, content, its_ends in tags:
            text = _text(begin)
            found = [trigger for trigger in triggers if text.startswith(trigger)]
            if len(found) != 1:
                self._wrong_trigger(begin, triggers, found)
            rest = self._after(text[len(found[0]) :], begin, content, its_ends, begin.span)
            name = self._tag_name(begin)
            after[found[0]].append(self._rule(f"{name}_after_trigger", rest, begin.span))
            if _flag(members, "at_least_one"):
                whole.append(self._whole_tag(node, begin, content, its_ends))
        for trigger, its_tags in after.items():
            if not its_tags:
                at = members["triggers"]
                hint = "leave the trigger out, or add it to excludes"
                _expected(at, f"a tag that begins with the trigger {trigger!r}", hint)
        once = _flag(members, "stop_after_first")
        first = _choice(whole, node.span) if whole else None
        if once and first is not None:
            return first
        excluded = [*_texts(members.get("excludes")), *_encoded(ends)]
        rules = [(one.encode(), _choice(its, node.span)) for one, its in after.items()]
        span = node.span
        rest = dispatched(rules, excluded, span, self.operations, loop=not once)
        free = self._rule("triggered_tags", rest, span)
        return free if first is None else Sequence((first, free), span)

    def _wrong_trigger(self, begin: Node, triggers: list[str], found: list[str]) -> NoReturn:
        if found:
            several = " and ".join(map(repr, found))
            hint = "give triggers of which none begins with another"
            _expected(begin, f"a text that begins with one trigger, not with {several}", hint)
        known = " or ".join(map(repr, triggers))
        _expected(
            begin, f"a text that begins with {known}", "a trigger is the beginning of its tags"
        )

    def _tags_with_separator(
        self, node: Node, members: dict[str, Node], _: tuple[str, ...]
    ) -> Expression:
        nodes = _listed(members["tags"], _TAGS)
        parts = [self._tag_parts(tag, "tags_with_separator") for tag in nodes]
        span = node.span
        one = _choice(
            [self._whole_tag(tag, *its) for tag, its in zip(nodes, parts, strict=True)], span
        )
        separator = _literal(_text(members["separator"]), members["separator"].span)
        body: Expression = one
        if not _flag(members, "stop_after_first"):
            one = self._rule("any_tag", one, span) if len(nodes) > 1 else one
            more = self.counts.repetition(Sequence((separator, one), span), 0, None, span)
            body = Sequence((one, more), span)
        if not _flag(members, "at_least_one"):
            body = self.counts.repetition(body, 0, 1, span)
        return self._rule("tags_with_separator", body, span)

    def _dispatch(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        rules: dict[bytes, Expression] = {}
        for pair in _listed(members["rules"], "a list of pairs [pattern, format]"):
            if pair.items is None or len(pair.items) != 2:
                _expected(pair, 'a pair such as ["<a>", {"type": "any_text"}]')
            pattern, content = pair.items
            if not _text(pattern) or pattern.value.encode() in rules:  # type: ignore[union-attr]
                _expected(pattern, "a pattern that is not empty, and no other rule's")
            rules[_text(pattern).encode()] = self.format(content, ends)
        excluded = _texts(members.get("excludes"))
        loop = _flag(members, "loop", default=True)
        body = dispatched([*rules.items()], excluded, node.span, self.operations, loop=loop)
        return self._rule("dispatch", body, node.span)


def _literal(text: str, span: Span) -> Expression:
    return Literal(text.encode(), span) if text else Sequence((), span)


def _choice(options: list[Expression], span: Span) -> Expression:
    return options[0] if len(options) == 1 else Choice(tuple(options), span)


def _encoded(ends: Iterable[str]) -> list[bytes]:
    return [end.encode() for end in ends if end]


def _within(node: Node, message: str) -> str:
    """A message of a part with the pointer of the part."""
    if message.startswith("/"):  # a pointer inside a schema
        return f"{node.pointer}{message}"
    return f"{location(node)}: {message}"


def _moved(node: Expression, moved: Callable[[Span], Span]) -> Expression:
    """The expression with other spans; the regex of a pattern keeps its own."""
    inner = node.rebuild(lambda part: _moved(part, moved))
    return replace(inner, span=moved(node.span))


def _is_unlimited(node: Node) -> bool:
    """Whether a format has texts of any length and nothing that ends them."""
    members = node.members or {}
    match members["type"].value:
        case "any_text" | "triggered_tags" | "dispatch":
            bounded = (most := members.get("max_chars")) is not None and most.value is not None
            return not bounded and not (members.get("excludes") and members["excludes"].items)
        case "star" | "plus" | "tags_with_separator":
            return True
        case "optional":
            return _is_unlimited(members["content"])
        case "repeat":
            return members["max"].value == -1 or (
                members["max"].value != 0 and _is_unlimited(members["content"])
            )
        case "sequence":
            return _is_unlimited((members["elements"].items or [node])[-1])
        case "or":
            return any(map(_is_unlimited, members["elements"].items or []))
    return False
