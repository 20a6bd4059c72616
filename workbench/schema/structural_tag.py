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
* ``triggered_tags`` is free text as defined in ``syntax.derived_rules``: the end of the text is
  allowed in free text only, so never between a trigger and the end of its tag. ``excludes`` and the
  ends of the enclosing tag do not occur in the free text; inside the tags they may. With
  ``at_least_one`` the text begins with a tag; with ``stop_after_first`` too, it is exactly one tag.
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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NoReturn

from workbench.base.diagnostics import Advice, suggestion
from workbench.base.errors import ParseError, SourceError
from workbench.base.limits import Limits
from workbench.base.source import Source, Span
from workbench.schema.json_schema import schema_grammar
from workbench.schema.schema_options import OPTIONS, SchemaOptions
from workbench.schema.schema_reader import Document, Node, json_text, location
from workbench.schema.tag_formats import (
    FORMAT,
    FORMATS,
    LEGACY,
    NO_TOKENS,
    OF_TOKENS,
    OUTER,
    STRUCTURE,
    STYLES,
    TAGS,
    TEXTS,
    TOP_HINT,
    Fields,
    checked,
    count_of,
    flag,
    is_unlimited,
    listed,
    members_of,
    refused,
    text_of,
    texts_of,
    unescaped,
    wrong_value,
)
from workbench.schema.xml_parameters import parameters
from workbench.syntax.derived_rules import CountRules, written_parts
from workbench.syntax.free_text import dispatched, free_text
from workbench.syntax.gbnf import parse_gbnf
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    GrammarTree,
    Literal,
    Names,
    Nonterminal,
    Pattern,
    Rule,
    Sequence,
    Stop,
    choice,
    renamed,
    sequence,
)
from workbench.syntax.regex.character_classes import without_javascript
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.reader import Flags
from workbench.syntax.rule_attributes import LanguageOperations

#: The longest name of a rule that is made of the beginning of a tag.
_MAX_NAME = 40


@dataclass(frozen=True, slots=True, eq=False)
class ParsedTag:
    """The rules of a structural tag, with the advice on its schemas."""

    tree: GrammarTree
    notes: tuple[Advice, ...]


def parse_structural_tag(
    source: Source, limits: Limits, operations: LanguageOperations, options: SchemaOptions = OPTIONS
) -> ParsedTag:
    """The rules of a structural tag; their start is ``start``.

    ``options`` are those of its schemas where the tag does not choose them.

    Raises: ParseError of kind ``json``, ``structural_tag`` or ``unsupported`` with the JSON pointer
            of the place; what the parsers of the parts raise; BuildError; LimitError.
    """
    reader = _Reader(source, limits, operations, options)
    root = Document(source).root
    body = reader.whole(root)
    rules = [Rule("start", body, root.span, root.span), *reader.rules, *reader.counts.rules]
    return ParsedTag(GrammarTree(tuple(rules), source), tuple(reader.notes))


class _Reader:
    """Writes the rules of one structural tag.

    ``ends`` is passed down: the ends of the nearest tag around a format.
    """

    def __init__(
        self,
        source: Source,
        limits: Limits,
        operations: LanguageOperations,
        options: SchemaOptions,
    ) -> None:
        self.source, self.limits, self.operations = source, limits, operations
        self.options = options
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
        members = members_of(root, f"an object such as {TOP_HINT}")
        kind = members.get("type")
        if (
            kind is not None
            and isinstance(kind.value, str)
            and kind.value in FORMATS
            and "structures" not in members
        ):
            message = f"/type: {kind.value!r} is a format: a structural tag contains it"
            text = self.source.text[root.start : root.end]
            error = ParseError(
                message, self.source, kind.span, f"write {TOP_HINT}", "structural_tag"
            )
            raise error.with_fix(f'{{"type": "structural_tag", "format": {text}}}', root.span)
        if "structures" in members:
            return self._legacy(root)
        checked(root, Fields(OUTER), "a structural tag")
        self._check_type(members["type"])
        return self.format(members["format"], ())

    def _check_type(self, kind: Node) -> None:
        if kind.value != "structural_tag":
            error = ParseError(
                "/type: expected 'structural_tag'",
                self.source, kind.span, f"write {TOP_HINT}", "structural_tag",
            )  # fmt: skip
            raise error.with_fix('"structural_tag"')

    def _legacy(self, root: Node) -> Expression:
        """``structures`` and ``triggers``: triggered tags with JSON inside."""
        members = checked(root, Fields(LEGACY), "a structural tag with structures")
        self._check_type(members["type"])
        tags = []
        for node in listed(members["structures"], LEGACY["structures"]):
            held = checked(node, Fields(STRUCTURE), "a structure")
            ends = self._ends(held["end"])
            content = self._schema(held["schema"], self.options, self._tag_name(held["begin"]))
            tags.append((held["begin"], content, ends))
        return self._triggered(root, members, tags, ())

    def format(self, node: Node, ends: tuple[str, ...]) -> Expression:
        """The texts of a format."""
        self.clock.check()
        members = members_of(node, FORMAT)
        kind = members.get("type")
        if kind is None:
            wrong_value(node, "a member 'type'", f"the types are {', '.join(FORMATS)}")
        name = kind.value
        if name in OF_TOKENS:
            refused(node, f"{name} names tokens", NO_TOKENS)
        if not isinstance(name, str) or name not in FORMATS:
            hint, fix = suggestion(str(name), FORMATS, f"the types are {', '.join(FORMATS)}")
            message = f"{location(kind)}: unknown type of format"
            error = ParseError(message, self.source, kind.span, hint, "structural_tag")
            raise error.with_fix(json_text(fix))
        return self._formats[name](node, checked(node, FORMATS[name], name), ends)

    def _rule(self, base: str, body: Expression, span: Span) -> Nonterminal:
        name = self.names.fresh(base)
        self.rules.append(Rule(name, body, span, span))
        return Nonterminal(name, span)

    def _const_string(self, _: Node, members: dict[str, Node], __: tuple[str, ...]) -> Expression:
        return _literal(text_of(members["value"]), members["value"].span)

    def _json_schema(self, node: Node, members: dict[str, Node], _: tuple[str, ...]) -> Expression:
        if texts_of(members.get("excludes")):
            hint = "leave it out, or restrict the strings with 'pattern'"
            refused(members["excludes"], "excluded texts of JSON cannot be read", hint)
        style = "qwen_xml" if members["type"].value == "qwen_xml_parameter" else "json"
        if "style" in members:
            style = text_of(members["style"])
            if style not in STYLES:
                hint, fix = suggestion(style, STYLES, f"the styles are {', '.join(STYLES)}")
                message = f"{location(members['style'])}: the style {style!r} cannot be read"
                span = members["style"].span
                raise ParseError(message, self.source, span, hint, "unsupported", json_text(fix))
        options = replace(self.options, order="any" if flag(members, "any_order") else "declared")
        blanks = members.get("max_whitespace_cnt")
        if blanks is not None and blanks.value is not None:
            options = replace(options, whitespace=count_of(blanks) or "compact")
        if style == "qwen_xml":
            return self._parameters(members["json_schema"], options)
        return self._schema(members["json_schema"], options, "json")

    def _schema(self, node: Node, options: SchemaOptions, base: str) -> Expression:
        """The instances of a schema inside, without white space around them."""
        part = self.source.part(Span(node.start, node.end))
        return self._schema_rules(part, node, options, base)

    def _schema_rules(
        self,
        part: Source,
        node: Node,
        options: SchemaOptions,
        base: str,
        *,
        is_own_text: bool = True,
    ) -> Expression:
        """The rules of a schema's text. Without ``is_own_text``, all places are the node's."""
        try:
            parsed = schema_grammar(part, options, self.limits)
        except SourceError as error:
            error.source = self.source
            error.message = _within(node, error.message)
            if not is_own_text:
                error.span, error.fix = node.span, None
            raise
        for note in parsed.notes:
            span = note.span if is_own_text else node.span
            message, fix = _within(node, note.message), note.fix if is_own_text else None
            self.notes.append(Advice(message, span, note.effect, note.hint, fix))
        start, *others = parsed.tree.rules
        match start.body:
            case Sequence((before, value, after), _) if before == after:
                start = replace(start, body=value)
        return self._embed((start, *others), base, node.span, None if is_own_text else node.span)

    def _embed(
        self, rules: Iterable[Rule], base: str, called: Span, override: Span | None = None
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
            span = rule.span if override is None else override
            name_span = rule.name_span if override is None else override
            body = body if override is None else _move(body, lambda _: called)
            self.rules.append(Rule(new[rule.name], body, name_span, span))
        return Nonterminal(first, called)

    def _parameters(self, node: Node, options: SchemaOptions) -> Expression:
        """``<parameter=name>value</parameter>`` for each property."""
        free = free_text([b"</parameter>"], node.span, self.operations)

        def value(schema: Node, text: str) -> Expression:
            part = Source(text, self.source.name)
            return self._schema_rules(part, schema, options, "value", is_own_text=False)

        return self._rule("parameters", parameters(node, free, value), node.span)

    def _grammar(self, _: Node, members: dict[str, Node], __: tuple[str, ...]) -> Expression:
        node = members["grammar"]
        text_of(node)
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
            Rule(rule.name, _move(rule.body, moved), moved(rule.name_span), moved(rule.span))
            for rule in ordered
        )
        return self._embed(rules, "grammar", node.span)

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
        text_of(node)
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
            refused(tokens, "how many tokens a text has depends on the vocabulary", hint)
        excluded = [*texts_of(members.get("excludes")), *_encode(ends)]
        body = free_text(excluded, node.span, self.operations)
        if (most := members.get("max_chars")) is not None and most.value is not None:
            self.limits.check("states", count_of(most), "allow fewer characters")
            machine = self.operations.at_most(body, count_of(most), {})
            body = Automaton(machine, f"up to {most.value} characters", node.span)
        return self._rule("any_text", body, node.span)

    def _elements(self, members: dict[str, Node], ends: tuple[str, ...]) -> tuple[Expression, ...]:
        nodes = listed(members["elements"], "a list of formats")
        return tuple(self.format(node, ends) for node in nodes)

    def _sequence(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        return sequence(self._elements(members, ends), node.span)

    def _or(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        return choice(self._elements(members, ends), node.span)

    def _repeated(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        low, high = {"optional": (0, 1), "star": (0, None), "plus": (1, None)}.get(
            str(members["type"].value), (0, 0)
        )
        if "max" in members:
            low = count_of(members["min"])
            high = count_of(members["max"], "a whole number, -1 without an upper bound", -1)
            if high == -1:
                high = None
            elif high < low:
                wrong_value(members["max"], f"at least min, which is {low}", "swap the two")
        item = self.format(members["content"], ends)
        return self.counts.repetition(item, low, high, node.span)

    # tags

    def _ends(self, node: Node) -> tuple[str, ...]:
        if isinstance(node.value, str):
            return (node.value,)
        if node.items is None:
            return (text_of(node, "a string, or a list of strings"),)
        return tuple(text_of(item) for item in listed(node, "a list of strings"))

    def _tag_name(self, begin: Node) -> str:
        name = re.sub(r"\W+", "_", text_of(begin), flags=re.ASCII).strip("_")[:_MAX_NAME]
        return name if name and not name[0].isdigit() else "tag"

    def _tag_parts(self, node: Node, what: str = "tag") -> tuple[Node, Expression, tuple[str, ...]]:
        """The beginning of a tag, its content and its ends."""
        members = members_of(node, TAGS)
        kind = members.get("type")
        if kind is not None and kind.value != "tag":
            wrong_value(kind, f"'tag' inside {what}")
        members = checked(node, FORMATS["tag"], "a tag")
        text_of(members["begin"])
        ends = self._ends(members["end"])
        content = self.format(members["content"], ends)
        if not any(ends) and is_unlimited(members["content"]):
            hint = "give the tag an end, or the content some excludes"
            wrong_value(members["end"], "an end that is not empty: the content has none", hint)
        return members["begin"], content, ends

    def _tag(self, node: Node, _: dict[str, Node], __: tuple[str, ...]) -> Expression:
        begin, content, ends = self._tag_parts(node)
        return self._whole_tag(node, begin, content, ends)

    def _whole_tag(
        self, node: Node, begin: Node, content: Expression, ends: tuple[str, ...]
    ) -> Nonterminal:
        body = self._after(text_of(begin), begin, content, ends, node.span)
        return self._rule(self._tag_name(begin), body, node.span)

    def _after(
        self, begin: str, node: Node, content: Expression, ends: tuple[str, ...], span: Span
    ) -> Expression:
        """A tag after its trigger: the remainder of its beginning, its content, an end."""
        end = choice([_literal(end, node.span) for end in dict.fromkeys(ends)], node.span)
        return Sequence((_literal(begin, node.span), content, end), span)

    def _triggered_tags(
        self, node: Node, members: dict[str, Node], ends: tuple[str, ...]
    ) -> Expression:
        nodes = listed(members["tags"], TAGS)
        tags = [self._tag_parts(tag, "triggered_tags") for tag in nodes]
        return self._triggered(node, members, tags, ends)

    def _triggered(
        self,
        node: Node,
        members: dict[str, Node],
        tags: list[tuple[Node, Expression, tuple[str, ...]]],
        ends: tuple[str, ...],
    ) -> Expression:
        triggers = [text.decode() for text in texts_of(members["triggers"])]
        if not triggers:
            wrong_value(members["triggers"], f"{TEXTS}, at least one")
        after: dict[str, list[Expression]] = {trigger: [] for trigger in triggers}
        whole: list[Expression] = []
        for begin, content, its_ends in tags:
            text = text_of(begin)
            matching = [trigger for trigger in triggers if text.startswith(trigger)]
            if len(matching) != 1:
                self._wrong_trigger(begin, triggers, matching)
            rest = self._after(text[len(matching[0]) :], begin, content, its_ends, begin.span)
            name = self._tag_name(begin)
            after[matching[0]].append(self._rule(f"{name}_after_trigger", rest, begin.span))
            if flag(members, "at_least_one"):
                whole.append(self._whole_tag(node, begin, content, its_ends))
        for trigger, its_tags in after.items():
            if not its_tags:
                triggers_node = members["triggers"]
                hint = "leave the trigger out, or add it to excludes"
                wrong_value(triggers_node, f"a tag that begins with the trigger {trigger!r}", hint)
        once = flag(members, "stop_after_first")
        first = choice(whole, node.span) if whole else None
        if once and first is not None:
            return first
        excluded = [*texts_of(members.get("excludes")), *_encode(ends)]
        rules = [(trigger.encode(), choice(its, node.span)) for trigger, its in after.items()]
        span = node.span
        rest = dispatched(rules, excluded, span, self.operations, loop=not once)
        free = self._rule("triggered_tags", rest, span)
        return free if first is None else Sequence((first, free), span)

    def _wrong_trigger(self, begin: Node, triggers: list[str], matching: list[str]) -> NoReturn:
        if matching:
            several = " and ".join(map(repr, matching))
            hint = "give triggers of which none begins with another"
            wrong_value(begin, f"a text that begins with one trigger, not with {several}", hint)
        expected = " or ".join(map(repr, triggers))
        wrong_value(
            begin, f"a text that begins with {expected}", "a trigger is the beginning of its tags"
        )

    def _tags_with_separator(
        self, node: Node, members: dict[str, Node], _: tuple[str, ...]
    ) -> Expression:
        nodes = listed(members["tags"], TAGS)
        parts = [self._tag_parts(tag, "tags_with_separator") for tag in nodes]
        span = node.span
        any_tag = choice(
            [self._whole_tag(tag, *its) for tag, its in zip(nodes, parts, strict=True)], span
        )
        separator = _literal(text_of(members["separator"]), members["separator"].span)
        body: Expression = any_tag
        if not flag(members, "stop_after_first"):
            any_tag = self._rule("any_tag", any_tag, span) if len(nodes) > 1 else any_tag
            more = self.counts.repetition(Sequence((separator, any_tag), span), 0, None, span)
            body = Sequence((any_tag, more), span)
        if not flag(members, "at_least_one"):
            body = self.counts.repetition(body, 0, 1, span)
        return self._rule("tags_with_separator", body, span)

    def _dispatch(self, node: Node, members: dict[str, Node], ends: tuple[str, ...]) -> Expression:
        rules: dict[bytes, Expression] = {}
        for pair in listed(members["rules"], "a list of pairs [pattern, format]"):
            if pair.items is None or len(pair.items) != 2:
                wrong_value(pair, 'a pair such as ["<a>", {"type": "any_text"}]')
            pattern, content = pair.items
            text = text_of(pattern).encode()
            if not text or text in rules:
                wrong_value(pattern, "a pattern that is not empty, and no other rule's")
            rules[text] = self.format(content, ends)
        excluded = texts_of(members.get("excludes"))
        loop = flag(members, "loop", default=True)
        body = dispatched([*rules.items()], excluded, node.span, self.operations, loop=loop)
        return self._rule("dispatch", body, node.span)


def _literal(text: str, span: Span) -> Expression:
    return Literal(text.encode(), span) if text else Sequence((), span)


def _encode(ends: Iterable[str]) -> list[bytes]:
    return [end.encode() for end in ends if end]


def _within(node: Node, message: str) -> str:
    """A message of a part with the pointer of the part."""
    if message.startswith("/"):  # a pointer inside a schema
        return f"{node.pointer}{message}"
    return f"{location(node)}: {message}"


def _move(node: Expression, moved: Callable[[Span], Span]) -> Expression:
    """The expression with other spans; the regex of a pattern keeps its own."""
    inner = node.rebuild(lambda part: _move(part, moved))
    return replace(inner, span=moved(node.span))
