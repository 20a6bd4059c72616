"""Railroad diagrams of rules or of a regex.

The package ``railroad-diagrams`` lays them out; its output is rewritten here, so that the picture
contains only shapes, text and names, and gets its colours from our style sheet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any
from xml.etree import ElementTree

import railroad

from workbench.automata.class_descriptions import describe
from workbench.base.visible_text import columns, printable, shorten, visible
from workbench.pushdown.cfg import gathered
from workbench.syntax import grammar_tree as kbnf
from workbench.syntax.grammar_tree import Expression, GrammarTree, Stop, shape
from workbench.syntax.regex import tree as regex
from workbench.syntax.regex.extensions import label_of
from workbench.syntax.regex.tree import Kind, LookKind, Regex

#: The width at which a sequence continues in the next line, in pixels.
WIDE = 760.0

#: The most characters in a box; its hover text has all of them.
_MAX_BOX_CHARACTERS = 34
#: The most branches of a choice that are drawn; the others are counted.
_MAX_BRANCHES = 24
#: A terminal's regex with at most this many parts is drawn in its rule.
_MAX_INLINE_PARTS = 10

#: An item of the package, which has no type annotations.
Item = Any
_Node = Expression | Regex

_STOPS = {
    Stop.ANYWHERE: ("#", "texts the regex matches"),
    Stop.FIRST_MATCH: ("#e", "up to the first match of the regex"),
    Stop.BEFORE_MATCH: ("#ex", "text that holds no match of the regex"),
}


_EXTENSIONS = {
    Kind.SUBSTRING_OF: "piece of {}",
    Kind.TEXT_UNTIL: "text until {}",
    Kind.DELIMITED_SUBSEQUENCE_OF: "some of {}, in this order",
}


_LOOKS = {
    LookKind.AHEAD: "what follows matches",
    LookKind.NOT_AHEAD: "what follows does not match",
    LookKind.BEHIND: "what precedes matches",
    LookKind.NOT_BEHIND: "what precedes does not match",
}
_POSITIONS = {
    LookKind.BOUNDARY: "the start or end of a word",
    LookKind.INSIDE: "not at the start or end of a word",
    LookKind.START: "the start of the text",
    LookKind.LINE_START: "the start of a line",
    LookKind.END: "the end of the text",
    LookKind.LINE_END: "the end of a line",
}


def extent(node: _Node) -> tuple[int, int]:
    """The number of nodes of an expression that would be drawn, and their depth."""
    count, deepest = 0, 0
    waiting: list[tuple[_Node, int]] = [(node, 1)]
    while waiting:
        current, deep = waiting.pop()
        count, deepest = count + 1, max(deepest, deep)
        waiting += [(part, deep + 1) for part in _parts(current)]
    return count, deepest


def _parts(node: _Node) -> Iterator[_Node]:
    match node:
        case kbnf.Pattern() if _is_small(node):
            yield node.regex
        case regex.Concat(parts=pieces):
            # adjacent letters are one box
            yield from (piece for run in _runs(pieces) for piece in run[:1])
        case kbnf.Choice() | regex.Alternate():
            yield from node.children[:_MAX_BRANCHES]
        case regex.Extension(kind=Kind.ASSERTED, parts=pieces):
            yield from pieces
        case regex.Look(kind=kind) if kind not in _LOOKS:
            pass
        case _:
            yield from node.children


@dataclass(frozen=True, slots=True)
class Tracks:
    """Builds the items of one rule.

    ``places`` are the positions of rule definitions, ``absent`` the names of rules that are not
    written yet.
    """

    places: Mapping[str, tuple[int, int]]
    width: float = WIDE
    absent: Collection[str] = ()

    def of(self, node: _Node) -> Item:
        """The item of an expression."""
        match node:
            case kbnf.Sequence(items=items):
                return self._row(list(self._separate(items)))
            case kbnf.Choice(options=options) | regex.Alternate(options=options):
                return self._choice(options)
            case kbnf.Repetition(item=part, low=low, high=high):
                return _repeat(self.of(part), low, high)
            case regex.Repeat(part=part, low=low, high=high):
                return _repeat(self.of(part), low, high)
            case regex.Concat(parts=parts):
                return self._row([self._run(run) for run in _runs(parts)])
            case regex.Group() if (label := label_of(node)) is not None:
                return _terminal(label.name, "label", label.what)
            case regex.Group(part=part, name=name):
                inner = self.of(part)
                return railroad.Group(inner, _comment(name)) if name else inner
            case kbnf.Pattern() if _is_small(node):
                return self._inside(node)
            case regex.Extension(kind=Kind.ASSERTED, parts=(inner,)):
                return self.of(inner)
            case regex.Look(kind=kind, part=part) if kind in _LOOKS:
                return railroad.Group(self.of(part), _comment(_LOOKS[kind]))
            case _:
                return self._box(node)

    def _row(self, items: list[Item]) -> Item:
        """Items in sequence, in as many lines as the width requires."""
        if not items:
            return railroad.Skip()
        lines: list[list[Item]] = [[]]
        used = 0.0
        for item in items:
            across = item.width + 20
            if lines[-1] and used + across > self.width:
                lines.append([])
                used = 0.0
            lines[-1].append(item)
            used += across
        rows = [line[0] if len(line) == 1 else railroad.Sequence(*line) for line in lines]
        return rows[0] if len(rows) == 1 else railroad.Stack(*rows)

    def _choice(self, options: Sequence[_Node]) -> Item:
        drawn = [self.of(option) for option in options[:_MAX_BRANCHES]]
        if len(options) > _MAX_BRANCHES:
            drawn.append(_comment(f"and {len(options) - _MAX_BRANCHES:,} more"))
        return _alternatives(0, *drawn)

    def _separate(self, items: Sequence[Expression]) -> Iterator[Item]:
        """The items of a sequence; ``x (',' x)*`` is one loop."""
        skip = False
        for item, following in zip_longest(items, items[1:]):
            if skip:
                skip = False
            elif (between := _separator(item, following)) is not None:
                skip = True
                yield railroad.OneOrMore(self.of(item), self._row([self.of(b) for b in between]))
            else:
                yield self.of(item)

    def _run(self, run: Sequence[Regex]) -> Item:
        if len(run) == 1:
            return self.of(run[0])
        return _terminal("".join(_letter(part) or "" for part in run), "literal")

    def _inside(self, pattern: kbnf.Pattern) -> Item:
        """A small regex, drawn in place."""
        inner = self.of(pattern.regex)
        return inner if pattern.stop is Stop.ANYWHERE else railroad.Group(inner, _stop(pattern))

    def _box(self, node: _Node) -> Item:
        match node:
            case kbnf.Literal(value=value):
                return _terminal(value, "literal") if value else railroad.Skip()
            case kbnf.Nonterminal(name=name):
                return self._call(name)
            case kbnf.Pattern(text=text, stop=stop):
                operator, meaning = _STOPS[stop]
                return _terminal(f"{operator} {text}", "pattern", f"{meaning}: {text}")
            case kbnf.Substrings(value=value):
                return _terminal(f"piece of {_text(value)}", "pattern")
            case kbnf.Except(excepted=excepted, limit=limit):
                what = excepted.name if isinstance(excepted, kbnf.Nonterminal) else _of(excepted)
                most = "" if limit is None else f", at most {limit:,} bytes"
                return _terminal(f"text without {what}{most}", "pattern")
            case kbnf.Automaton(label=label):
                return _terminal(label, "pattern")
            case regex.Characters(ranges=ranges) | regex.Bytes(ranges=ranges):
                if (letter := _letter(node)) is not None:
                    return _terminal(letter, "literal")
                label = describe(ranges, _MAX_BOX_CHARACTERS)
                label = f"bytes {label}" if isinstance(node, regex.Bytes) else label
                return _terminal(label, "set", describe(ranges, 400))
            case regex.Look(kind=kind):
                return _terminal(kind, "pattern", _POSITIONS[kind])
            case regex.Extension(kind=kind, parts=parts):
                return _terminal(_EXTENSIONS[kind].format(_extension_text(kind, parts)), "pattern")
        raise AssertionError(f"no box for {node!r}")

    def _call(self, name: str) -> Item:
        item = railroad.NonTerminal(shorten(visible(name), _MAX_BOX_CHARACTERS), title=name)
        start, end = self.places.get(name, (0, 0))
        item.attrs |= {"data-rule": name, "data-start": start, "data-end": end}
        if name in self.absent:
            item.attrs["class"] += " absent"
        return _correct_width(item)


def _repeat(item: Item, low: int, high: int | None) -> Item:
    """An item from ``low`` to ``high`` times."""
    if high == 0:
        return railroad.Skip()
    if (low, high) == (1, 1):
        return item
    if (low, high) == (0, 1):
        return _optional(item)
    times = "" if high is None and low < 2 else _times(max(low, 1), high)
    again = railroad.OneOrMore(item, _comment(times)) if times else railroad.OneOrMore(item)
    return again if low else _optional(again)


def _optional(item: Item) -> Item:
    """An optional item."""
    return _alternatives(1, railroad.Skip(), item)


def _alternatives(default: int, *items: Item) -> Item:
    """A choice, corrected for the height of the last item, which the package omits."""
    choice = railroad.Choice(default, *items)
    choice.down += choice.items[-1].height
    return choice


def _times(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} times or more"
    return f"{low:,} times" if low == high else f"{low:,} to {high:,} times"


def _separator(looped: Expression, following: Expression | None) -> Sequence[Expression] | None:
    """The separator in ``x (between x)*``; None for other items."""
    match following:
        case kbnf.Repetition(item=kbnf.Sequence(items=items), low=0, high=None):
            if len(items) > 1 and shape(items[-1]) == shape(looped):
                return items[:-1]
    return None


def _runs(parts: Sequence[Regex]) -> list[list[Regex]]:
    """Groups adjacent single characters."""
    runs: list[list[Regex]] = []
    for part in parts:
        if runs and _letter(part) is not None and _letter(runs[-1][-1]) is not None:
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _extension_text(kind: Kind, parts: Sequence[Regex]) -> str:
    """A short text for a regex extension."""
    if kind is Kind.DELIMITED_SUBSEQUENCE_OF:
        return f"{len(parts) - 1:,} items"
    return repr("".join(_letter(part) or "…" for part in parts[:_MAX_BOX_CHARACTERS]))


def _letter(node: _Node) -> str | None:
    """The character of a set of one, or None."""
    match node:
        case regex.Characters(ranges=((low, high),)) if low == high:
            return chr(low)
    return None


def _is_small(pattern: kbnf.Pattern) -> bool:
    return extent(pattern.regex)[0] <= _MAX_INLINE_PARTS


def _stop(pattern: kbnf.Pattern) -> Item:
    return _comment(_STOPS[pattern.stop][1])


def _comment(text: str) -> Item:
    return railroad.Comment(shorten(visible(text).replace("·", " "), _MAX_BOX_CHARACTERS))


def _terminal(what: str | bytes, kind: str, title: str = "") -> Item:
    """A box with text; invisible characters are escaped, long text is shortened."""
    shown = visible(what) if kind == "literal" else _text(what)
    item = railroad.Terminal(
        shorten(shown, _MAX_BOX_CHARACTERS), cls=kind, title=title or _text(what)
    )
    return _correct_width(item)


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _of(literal: kbnf.Literal) -> str:
    return repr(_text(literal.value))


def _correct_width(item: Item) -> Item:
    """Corrects the width: the package counts characters, but some take two columns or none."""
    item.width += (columns(item.text) - len(item.text)) * railroad.CHAR_WIDTH
    return item


#: The most parts and the greatest depth of one rule, the most parts of all rules, the most rules.
MAX_PARTS, MAX_DEPTH, MAX_ALL_PARTS, MAX_RULES = 240, 24, 1_200, 150

_NAMESPACE = "http://www.w3.org/2000/svg"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_TAGS = frozenset({"g", "path", "rect", "text", "title"})
_ATTRIBUTES = frozenset(
    {"class", "d", "x", "y", "width", "height", "rx", "ry", "transform"}
    | {"data-rule", "data-start", "data-end"}
)

#: Width of a letter in the name of a rule.
_LETTER = 9.0

#: Pixels around the picture, above a rule for its name, and between two rules.
_MARGIN, _NAME, _BETWEEN = 14, 26, 20


@dataclass(frozen=True, slots=True)
class Railroad:
    """The diagrams of all rules, in one column.

    ``svg`` has a group for each rule, ``g.rule`` with ``data-rule`` its name, ``data-start`` and
    ``data-end`` the span of its definition; boxes of calls, ``g.non-terminal``, have those of the
    rule they call, so that a click on them can go there.
    """

    svg: str
    rules: int
    #: The number of drawn rules; the picture says how many are left out.
    drawn: int
    #: The width of the picture, in pixels.
    width: float


@dataclass(frozen=True, slots=True)
class _Titled:
    """A rule to be drawn, and the span of its definition."""

    name: str
    body: Expression | Regex
    start: int
    end: int


def draw_railroad(
    grammar: GrammarTree | Regex, *, width: float = WIDE, absent: Collection[str] = ()
) -> Railroad:
    """The diagrams of all rules, in the order of the text; a regex has one.

    For a rule that is too large a message is drawn instead. Calls of ``absent`` rules, which an
    unfinished grammar does not define, are dashed.
    """
    titled = _rules_with_titles(grammar)
    places = {rule.name: (rule.start, rule.end) for rule in titled}
    svg = ElementTree.Element("svg", {"xmlns": _NAMESPACE})
    top, right, parts_left, drawn = float(_MARGIN), 0.0, MAX_ALL_PARTS, 0
    for number, rule in enumerate(titled):
        parts, deep = extent(rule.body)
        if number == MAX_RULES or (parts <= MAX_PARTS and deep <= MAX_DEPTH and parts > parts_left):
            sentence = f"{len(titled) - number:,} more rules are not drawn"
            _draw_sentence(svg, sentence, _MARGIN, top)
            top, right = top + 2 * _BETWEEN, max(right, 8.0 * len(sentence))
            break
        group = _group(svg, rule, number, top, width)
        if parts <= MAX_PARTS and deep <= MAX_DEPTH:
            parts_left, drawn = parts_left - parts, drawn + 1
            diagram = _diagram(Tracks(places, width, absent).of(rule.body))
            _copy(diagram.children[-1], group)
            across, down = float(diagram.attrs["width"]), float(diagram.attrs["height"])
        else:
            sentence = _too_large(parts, deep)
            _draw_sentence(group, sentence, 0, 0)
            across, down = 8.0 * len(sentence), 26.0
        right, top = (
            max(right, across, _LETTER * min(columns(rule.name), int(width / _LETTER))),
            top + _NAME + down + _BETWEEN,
        )
    wide = right + 2 * _MARGIN
    return Railroad(_frame(svg, wide, top), len(titled), drawn, wide)


def _rules_with_titles(grammar: GrammarTree | Regex) -> list[_Titled]:
    if not isinstance(grammar, GrammarTree):
        return [_Titled("regex", grammar, grammar.span.start, grammar.span.end)]
    if grammar.written:  # not the copies that the parser made of them
        grammar = replace(grammar, rules=grammar.written, written=())
    first = {rule.name: rule.name_span for rule in reversed(grammar.rules)}
    return [
        _Titled(name, body, first[name].start, first[name].end)
        for name, body in gathered(grammar).items()
    ]


def _too_large(parts: int, deep: int) -> str:
    if deep > MAX_DEPTH:
        return f"brackets {deep:,} deep: too deep to draw"
    return f"{parts:,} parts: too large to draw"


def _draw_sentence(group: ElementTree.Element, sentence: str, x: float, top: float) -> None:
    """A sentence in place of a diagram."""
    attributes = {"class": "toolarge", "x": f"{x:g}", "y": f"{top + 18:g}"}
    ElementTree.SubElement(group, "text", attributes).text = sentence


def _diagram(tracks: Item) -> Item:
    diagram = railroad.Diagram(railroad.Start("simple"), tracks, railroad.End("simple"))
    return diagram.format(4, 4, 4, 0)


def _group(
    svg: ElementTree.Element, rule: _Titled, number: int, top: float, width: float
) -> ElementTree.Element:
    """The group of a rule, with its name above the diagram."""
    outer = ElementTree.SubElement(
        svg,
        "g",
        {
            "class": "rule",
            "id": f"rule-{number}",
            "data-rule": printable(rule.name),
            "data-start": str(rule.start),
            "data-end": str(rule.end),
            "transform": f"translate({_MARGIN} {top:g})",
        },
    )
    name = ElementTree.SubElement(outer, "text", {"class": "rulename", "y": "14"})
    name.text = shorten(printable(rule.name), int(width / _LETTER))
    return ElementTree.SubElement(outer, "g", {"transform": f"translate(0 {_NAME})"})


def _frame(svg: ElementTree.Element, width: float, height: float) -> str:
    size = f"{width:g}", f"{height:g}"
    svg.attrib |= {
        "class": "machine railroad",
        "role": "group",
        "aria-label": "Railroad diagrams of the rules",
        "width": size[0],
        "height": size[1],
        "viewBox": f"0 0 {size[0]} {size[1]}",
    }
    return ElementTree.tostring(svg, encoding="unicode")


def _copy(item: Item, into: ElementTree.Element) -> None:
    """The laid-out item as new elements, with only the listed tags and attributes."""
    name = getattr(item, "name", "path")  # the package's paths have no name
    if name not in _TAGS:
        return
    attributes = {key: _number(value) for key, value in item.attrs.items() if key in _ATTRIBUTES}
    copied = ElementTree.SubElement(into, name, attributes)
    children: Sequence[Item | str] = getattr(item, "children", ())
    if name in ("text", "title"):
        copied.text = printable("".join(child for child in children if isinstance(child, str)))
        if name == "text":
            copied.set(_SPACE, "preserve")
        return
    for child in children:
        _copy(child, copied)


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).strip()
