"""All errors of the text of a grammar, and the rules that can be read.

A parser raises its first error only. Here the rule with the error is replaced by blanks, so that
all other rules keep their positions, and the text is read again: the next error is in another rule.
This is panic mode (Aho et al. 2007, §4.1.4) with the beginning of a rule as the synchronizing
token. The parsers need no change, so one mechanism serves all notations with rules.

An undefined name is reported once: then a rule of that name is appended to the text. The names that
broken rules call, and nothing defines, are called by one more rule that is appended.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from workbench.base.errors import LimitError, SourceError
from workbench.base.limits import check_time_budget
from workbench.base.source import Source, Span
from workbench.syntax.called_names import BODY_LEXEMES, BodyLexemes, called_names
from workbench.syntax.ebnf.w3c import is_w3c
from workbench.syntax.grammar_tree import GrammarTree

#: The most errors of one text: it is read once for each.
MAX_ERRORS = 50

#: Where a rule begins, in any notation: a name, then the sign of a definition or one that is often
#: written for it; or a statement such as ``%import``.
_HEAD = (
    r"(?:(?P<name>[?!]{0,2}[A-Za-z_][\w-]*+)"
    r"(?:\{[^}\n]{0,200}\}|\[[^]\n]{0,200}\])?(?:\.-?\d+)?[ \t]*+(?:::?=|=|:|->|→)|%[a-z]\w*)"
)
#: What looks like the beginning of a rule in a text that cannot be read.
_DEFINED = re.compile(r"(?<![\w-])([\w-]++)(?:\{[^}\n]{0,200}\})?[ \t]*+(?:::?=|[=:])")
#: A comment of KBNF up to its end, or a string up to the end of its line.
_COMMENT = r"\(\*[\s\S]*?(?:\*\)|\Z)"
#: A string without escapes up to the end of its line.
_PLAIN = r"""'[^'\n]*+'?|"[^"\n]*+"?"""
_QUOTED = r"""'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?"""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rules of a notation are arranged in a text."""

    #: Matches the beginning of a rule, and what may contain something like it.
    pieces: re.Pattern[str]
    #: A rule that reads its own name.
    rule: str
    #: Matches the names that a rule can have.
    names: re.Pattern[str]
    lexemes: BodyLexemes
    #: Matches the beginning of a rule, with its name.
    head: str

    def extents(self, text: str) -> list[tuple[Span, str]]:
        """The text of each rule up to the next one, with its name; a statement has none.

        What is indented more than the first rule begins no rule. The text before the first rule is
        a separate part unless it is blank.
        """
        heads = [match for match in self.pieces.finditer(text) if match["head"]]
        most = len(heads[0]["indent"] or "") if heads else 0
        heads = [match for match in heads if len(match["indent"] or "") <= most]
        starts = [match.start("head") for match in heads]
        names = [(match["name"] or "").lstrip("?!") for match in heads]
        if text[: starts[0] if starts else None].strip():
            starts, names = [0, *starts], ["", *names]
        spans = (Span(*ends) for ends in pairwise([*starts, len(text)]))
        return list(zip(spans, names, strict=True))


def _layout(
    notation: str, rule: str, name: str, skipped: str, separator: str = "", head: str = _HEAD
) -> Layout:
    begin = rf"(?:^(?P<indent>[ \t]*+){separator})(?P<head>{head})"
    pieces = re.compile(f"{skipped}|{begin}", re.MULTILINE)
    return Layout(pieces, rule, re.compile(name), BODY_LEXEMES[notation], head)


#: The notations whose rules are recovered, or their dialects, by name.
_LAYOUTS: Mapping[str, Layout] = {
    "kbnf": _layout(
        "kbnf",
        "{name} ::= '{name}';",
        r"[A-Za-z_]\w*",
        rf"{_COMMENT}|{_QUOTED}",
        r"|(?<=;)[ \t]*+",
    ),
    "gbnf": _layout("gbnf", '{name} ::= "{name}"', r"[\w-]+", r"\#.*"),
    "abnf": _layout("abnf", '{name} = "{name}"', r"[A-Za-z][\w-]*", r";.*|\"[^\"\n]*\"|<[^>\n]*>"),
    "w3c": _layout(
        "w3c",
        "{name} ::= '{name}'",
        r"[A-Za-z_][\w.-]*",
        rf"/\*[\s\S]*?\*/|{_PLAIN}",
        head=rf"(?:\[\s*\d+\w*\s*\]\s*+)?{_HEAD}",
    ),
    "iso": _layout(
        "iso",
        "{name} = '{name}';",
        r"[^\W\d][\w-]*",
        rf"{_COMMENT}|{_PLAIN}",
        r"|(?<=[;.])[ \t]*+",
        r"(?P<name>[^\W\d][\w-]*+(?:[ \t]++[^\W\d][\w-]*+)*)[ \t]*+(?:::?=|=|:)",
    ),
    "antlr": _layout(
        "antlr",
        "{name} : '{name}' ;",
        r"[^\W\d]\w*",
        rf"/\*[\s\S]*?\*/|//.*|{_QUOTED}|\[(?:[^\]\\\n]|\\.)*+\]",
        r"|(?<=;)[ \t]*+",
        r"(?:(?:fragment|protected|public|private)\s++)?(?P<name>[^\W\d]\w*+)"
        r"(?:\s*+\[[^]\n]*+\])?(?:\s++(?:returns|locals)\s*+\[[^]\n]*+\])*\s*+:(?!:)",
    ),
    "lark": _layout("lark", '{name}: "{name}"', r"_*[A-Za-z]\w*", r"//.*|\#.*"),
}


def layout_of(notation: str, source: Source) -> Layout | None:
    """How the rules of a text are arranged; None for a notation whose rules are not recovered."""
    if notation == "ebnf":
        notation = "w3c" if is_w3c(source) else "iso"
    return _LAYOUTS.get(notation)


#: The name of the appended rule that calls the names of broken rules: similar to no other name.
_CALLER = "q" + 20 * "0"


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """An error, and the span of the rule that cannot be read because of it, or None."""

    error: SourceError
    rule: Span | None = None
    #: The name without a rule that the error reports; empty for other errors.
    undefined: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Recovered:
    """All errors of a text in its order, and the rules that can be read."""

    errors: tuple[Located, ...]
    #: None if no rule can be read.
    tree: GrammarTree | None
    #: Where each rule is named first, in the order of the text, with those that cannot be read.
    names: Mapping[str, Span]
    #: The names without a rule that can be read.
    absent: frozenset[str]
    #: The words in the rules that cannot be read, without the names of these rules.
    words: frozenset[str]


def recover(source: Source, layout: Layout, read: Callable[[Source], GrammarTree]) -> Recovered:
    """All errors of a text, and the rules that can be read.

    ``read``  returns the rules of a text, or raises the first of its errors; an undefined name is
              one of kind ``undefined_nonterminal`` at that name.

    Cost: the text is read once for each error, and its rules one by one where an error is reported
          in a rule that is correct; at the end of a ``time_budget`` the other errors are left out.
    """
    return _Recovery(source, layout, read).result()


@dataclass(slots=True, eq=False)
class _Recovery:
    source: Source
    layout: Layout
    read: Callable[[Source], GrammarTree]
    parts: list[tuple[Span, str]] = field(init=False)
    #: The indices of the parts that cannot be read.
    broken: set[int] = field(default_factory=set)
    errors: list[Located] = field(default_factory=list)
    #: The names without a rule; rules of these names are appended.
    undefined: dict[str, None] = field(default_factory=dict)
    #: Whether all syntax errors are known, so that names can be looked up.
    is_parsed: bool = False
    #: By the index of a broken part the names that it calls, and those it may define.
    called: dict[int, tuple[list[tuple[str, Span]], set[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parts = self.layout.extents(self.source.text)

    def result(self) -> Recovered:
        tree = self._read_all()
        appended = {*self.undefined, *self._lost_names(), _CALLER}
        declared = {name for part in self.broken for name in self._declared_names(part)}
        absent = frozenset(appended & {*self.undefined, *declared})
        if tree is not None:
            rules = tuple(rule for rule in tree.rules if rule.name not in appended)
            tree = replace(tree, rules=rules, source=self.source) if rules else None
        ordered = sorted(self.errors, key=lambda each: each.error.span.start)
        bodies = (self._text(part).replace(self.parts[part][1], "", 1) for part in self.broken)
        words = frozenset(
            word
            for body in bodies
            for pattern in (r"\w+", r"[\w-]+")  # names of GBNF have hyphens
            for word in re.findall(pattern, body)
        )
        return Recovered(tuple(ordered), tree, self._names(), absent, words)

    def _read_all(self) -> GrammarTree | None:
        """The rules that can be read, after all errors are recorded."""
        with suppress(LimitError):
            while len(self.errors) < MAX_ERRORS:
                check_time_budget()
                try:
                    tree = self.read(self._rest())
                    if self.is_parsed or not self._calls():
                        return tree
                    self.is_parsed = True  # read once more, with the names of broken rules
                except SourceError as error:
                    if not self._handle(error):
                        return None
        return None

    def _names(self) -> dict[str, Span]:
        names: dict[str, Span] = {}
        for part, (span, name) in enumerate(self.parts):
            if name:
                start = span.start + self._text(part).index(name)
                names.setdefault(name, Span(start, start + len(name)))
        return names

    def _handle(self, error: SourceError) -> bool:
        """Record an error and leave out what causes it; whether there is anything left to read."""
        name = error.source.text[error.span.start : error.span.end]
        of_name = error.kind == "undefined_nonterminal" and self.layout.names.fullmatch(name)
        if of_name and not self.is_parsed and self._lost_names():
            self.is_parsed = True  # read once more, with a rule for each name that was lost
            return True
        self.is_parsed |= bool(of_name)
        if of_name and name not in self.undefined:
            self.undefined[name] = None
            call = self._calls().get(name, error.span)
            if call.start < error.span.start:
                error.fix_span = call if error.fix_span == error.span else error.fix_span
                error.span = call
            self._record(Located(error, undefined=name))
            return True
        if error.span.start > len(self.source.text):  # in an appended rule
            return False
        part, error = self._cause(error)
        if part is None:
            self._record(Located(error))
            return False
        self.broken.add(part)
        start = self.parts[part][0].start
        # the rule that is appended for a template has no parameters
        if "{" not in name or name.partition("{")[0] not in (*self.undefined, *self._lost_names()):
            self._record(Located(error, Span(start, start + len(self._text(part).rstrip()))))
        if len(self.broken) < len(self.parts):
            return True
        self.is_parsed = True
        return bool(self._calls())

    def _record(self, located: Located) -> None:
        """Add an error; one at the place of another is its consequence."""
        error, end = located.error, len(self.source.text)
        if any(error.span.start == each.error.span.start for each in self.errors):
            return
        error.source = self.source
        error.span, error.fix_span = (
            Span(min(span.start, end), min(span.end, end)) for span in (error.span, error.fix_span)
        )
        self.errors.append(located)

    def _cause(self, error: SourceError) -> tuple[int | None, SourceError]:
        """The part that is wrong, and its error: an earlier part if the reported one is correct.

        An open quote is noticed in a later rule.
        """
        starts = [span.start for span, _ in self.parts]
        reported = bisect_right(starts, error.span.start) - 1
        if reported < 0 or reported in self.broken:
            return None, error
        if self._error_alone(reported) is None:
            for part in range(reported - 1, -1, -1):
                if part not in self.broken and (cause := self._error_alone(part)) is not None:
                    return part, cause
        return reported, error

    def _error_alone(self, part: int) -> SourceError | None:
        """The error of a text of this part alone, besides undefined names."""
        check_time_budget()
        others = {*range(len(self.parts))} - {part}
        try:
            self.read(Source(self._without(others), self.source.name))
        except SourceError as error:
            return None if error.kind == "undefined_nonterminal" else error
        return None

    def _rest(self) -> Source:
        """The text without the broken parts, and with rules for absent names."""
        text = self._without(self.broken)
        rules = [self.layout.rule.format(name=name) for name in self._appended_names()]
        if self.is_parsed and (
            calls := [name for name in self._calls() if name not in self.undefined]
        ):
            rule = self.layout.rule.format(name=_CALLER)
            rules.append(re.sub(r"(['\"]).*\1", " ".join(calls), rule))
        if not rules and not self.broken:
            return self.source
        return Source("\n".join([text, *rules]) if rules else text, self.source.name)

    def _without(self, parts: set[int]) -> str:
        """The text with blanks for some parts."""
        pieces: list[str] = []
        end = 0
        for part in sorted(parts):
            span, _ = self.parts[part]
            pieces += self.source.text[end : span.start], re.sub(r"[^\n]", " ", self._text(part))
            end = span.end
        return "".join([*pieces, self.source.text[end:]])

    def _text(self, part: int) -> str:
        span, _ = self.parts[part]
        return self.source.text[span.start : span.end]

    def _appended_names(self) -> Iterator[str]:
        """The names of the rules that are appended to the text."""
        yield from self.undefined
        if self.is_parsed:
            yield from (name for name in self._lost_names() if name not in self.undefined)

    def _calls(self) -> dict[str, Span]:
        """Where broken parts first call each name that no part defines."""
        for part in self.broken - self.called.keys():
            self.called[part] = self._names_in(part)
        bodies = [self.called[part] for part in sorted(self.broken)]
        defined = {name for _, name in self.parts}.union(*(names for _, names in bodies))
        for part, (_, name) in enumerate(self.parts):
            defined.update(() if name else self._words(part))
        calls: dict[str, Span] = {}
        for name, span in chain.from_iterable(called for called, _ in bodies):
            if name not in defined and self.layout.names.fullmatch(name):
                calls.setdefault(name, span)
        return calls

    def _names_in(self, part: int) -> tuple[list[tuple[str, Span]], set[str]]:
        """The names that the body of a part calls, and those it may define: parameters too."""
        span, name = self.parts[part]
        head = re.compile(self.layout.head).match(self.source.text, span.start)
        if not name or head is None:  # a statement
            return [], set()
        body = Span(head.end(), span.end)
        defined = {*re.findall(r"\w+", head[0]), *self._defined_names(part)}
        return called_names(self.source.text, body, self.layout.lexemes), defined

    def _lost_names(self) -> list[str]:
        """The names that only broken parts define, or seem to; any in a statement."""
        names = dict.fromkeys(
            name for part in sorted(self.broken) for name in self._defined_names(part)
        )
        intact = {name for part, (_, name) in enumerate(self.parts) if part not in self.broken}
        return [name for name in names if name not in intact and self.layout.names.fullmatch(name)]

    def _declared_names(self, part: int) -> list[str]:
        name = self.parts[part][1]
        return [name] if name else self._words(part)

    def _defined_names(self, part: int) -> list[str]:
        """The names that a part declares, and those that a rule in its body would define."""
        names = self._declared_names(part)
        return [*names, *_DEFINED.findall(self._text(part))] if self.parts[part][1] else names

    def _words(self, part: int) -> list[str]:
        return re.findall(r"[A-Za-z_]\w*", self._text(part))
