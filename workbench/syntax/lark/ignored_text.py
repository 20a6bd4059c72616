"""The rule for the text that ``%ignore`` allows between terminals.

Lark takes the one match of an ignored terminal at a position, never a shorter one: a comment
``/#[^\\n]*/`` ends at the line break, so another terminal follows it only if that begins with one.
Mostly this can be written without assertions about the text after the ignored text:

* no terminal begins with a blank, so several blanks are the same texts with and without it;
* a comment that reads up to the end of its line is followed by other ignored text, by a terminal
  that begins with a line break, or by the end of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.base.dfa import DEAD
from workbench.base.errors import ParseError
from workbench.base.source import Source
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Literal,
    Names,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Shape,
    all_called,
    called,
    choice,
    regex_of,
    renamed,
    shape,
)
from workbench.syntax.grammar_tree import Sequence as Row
from workbench.syntax.lark.lark_tree import LarkGrammar, is_terminal
from workbench.syntax.lark.terminal_matches import asserted_or_plain
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, intersection, union
from workbench.syntax.regex.match_order import MatchOrder, Unordered
from workbench.syntax.regex.one_unambiguous import first_characters, reading
from workbench.syntax.regex.tree import (
    Alternate,
    Characters,
    Concat,
    Group,
    Look,
    LookKind,
    Regex,
    Repeat,
    asserted,
    walk,
)
from workbench.syntax.rule_attributes import LanguageOperations

_BEYOND_ASCII = difference(ANY_CHARACTER, ((0, 127),))


@dataclass(frozen=True, slots=True, eq=False)
class IgnoredText:
    """The rule for ignored text; ``rule.body`` has the matches of the ignored terminals."""

    rule: Rule
    call: Nonterminal
    #: Whether a text may begin with it.
    begins: bool
    #: What may follow it at the end of a text.
    ending: Expression | None = None

    @staticmethod
    def of(grammar: LarkGrammar, bodies: tuple[Expression, ...], name: str) -> IgnoredText:
        """Any number of the bodies, or at most one with the option ``skip_repetition: once``."""
        span = bodies[0].span
        options = grammar.options or {}
        begins = grammar.options is None or options.get("allow_initial_skip") is True
        most = 1 if options.get("skip_repetition") == "once" else None
        rule = Rule(name, Repetition(choice(bodies, span), 0, most, span), span, span)
        return IgnoredText(rule, Nonterminal(name, span), begins)

    def after(self, terminal: Expression) -> Expression:
        """A terminal followed by ignored text; nothing is ignored after the empty text."""
        if isinstance(terminal, Literal) and not terminal.value:
            return terminal
        return Row((terminal, self.call), terminal.span)

    def around_start(
        self, rules: list[Rule], start: str, names: Names, is_called: bool
    ) -> list[Rule]:
        """The rules, with ignored text before and after the start rule, which they may call."""
        start_index = next((index for index, rule in enumerate(rules) if rule.name == start), None)
        if not self.begins or start_index is None:
            return rules
        rule = rules[start_index]
        body: Expression = rule.body
        if is_called and any(start in called(each.body) for each in rules):
            # the start rule is recursive: calls refer to a copy without ignored text
            again = names.fresh(f"{start}_again")

            def name(call: str) -> str:
                return again if call == start else call

            rules = [
                replace(each, name=name(each.name), body=renamed(each.body, name)) for each in rules
            ]
            body = Nonterminal(again, rule.name_span)
        else:
            rules = rules[:start_index] + rules[start_index + 1 :]
        ending = () if self.ending is None else (self.ending,)
        begun = replace(rule, body=Row((self.call, body, *ending), rule.body.span))
        return [*rules[:start_index], begun, *rules[start_index:]]


class _Part(NamedTuple):
    """Matches of an ignored terminal."""

    regex: Regex
    first: Ranges
    #: The characters that may continue them to longer matches; empty if none does.
    run: Ranges
    #: Whether each of these characters does.
    is_certain: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class EndedText:
    """Lets the parts of ignored text end where the match of the ignored terminal ends."""

    #: The regexes of the ignored terminals.
    regexes: Sequence[Regex]
    operations: LanguageOperations
    #: The bodies of all rules by name, without that of the ignored text.
    bodies: Mapping[str, Expression]
    ignored: IgnoredText
    source: Source

    def without_assertions(
        self, rules: list[Rule], start: str
    ) -> tuple[list[Rule], IgnoredText] | None:
        """The rules and the ignored text; None if that needs assertions (``atomic``)."""
        parts = self._parts()
        if parts is None:
            return None
        terminals = _terminals(self.bodies, start)
        firsts = {key: _first_of(leaf, self.bodies)[0] for key, leaf in terminals.items()}
        first = union((), *firsts.values())
        ending, plain = list[_Part](), list[_Part]()
        for part in parts:
            is_run = part.is_certain and not _is_repetition(part.regex)
            others = union((), *(other.first for other in parts if other is not part))
            again = () if _is_repetition(part.regex) else intersection(part.run, part.first)
            if intersection(part.run, first) and not is_run:
                return None
            if is_run and intersection(part.run, union(first, others, part.first)):
                ending.append(part)
            elif again or intersection(part.run, others):
                atomic = _atomic(part.regex)
                if atomic is None:
                    return None
                plain.append(part._replace(regex=atomic))
            else:
                plain.append(part)
        if any(intersection(part.run, run.first) for part in plain for run in ending):
            return None
        if [id(part.regex) for part in plain] == [*map(id, self.regexes)]:
            return rules, self.ignored
        after: dict[Shape, Expression] = {}
        for key, terminal in terminals.items():
            if any(difference(firsts[key], part.run) for part in ending):
                regex = regex_of(terminal, self.bodies)
                if regex is None or self._is_inside_others(terminal, key, rules):
                    return None
                ended = Repeat(_any_of(_ended(ending)), 0, None, terminal.span)
                after[key] = self._terminal(Concat((ended, regex), terminal.span), terminal)
        return [_with_terminals(rule, after) for rule in rules], self._between(plain, ending)

    def atomic(self) -> IgnoredText:
        """The ignored text as a regex with assertions about the text after it.

        Raises: ParseError of kind ``unsupported`` for a terminal whose one match is not known.
        """
        parts = []
        for regex in self.regexes:
            part = _atomic(regex)
            if part is None:
                message = "this ignored terminal is too large to tell where its match ends"
                hint = "write it so that the next character says whether it ends"
                raise ParseError(message, self.source, regex.span, hint, "unsupported")
            parts.append(part)
        rule = self.ignored.rule
        text = asserted_or_plain(Repeat(_any_of(parts), 0, None, rule.span), rule.name, rule.span)
        return replace(self.ignored, rule=replace(rule, body=text))

    def _parts(self) -> list[_Part] | None:
        """The matches of the ignored terminals; None if they end in another way."""
        parts: list[_Part] = []
        for regex in self.regexes:
            way = reading(regex)
            if way is not None and not way.nullable and not way.prefers_less:
                is_certain = _last_run(regex) == way.after
                if is_certain or _is_repetition(regex):
                    parts.append(_Part(regex, way.first, way.after, is_certain))
                    continue
            ends = self.operations.match_ends(regex)
            if ends is None:
                return None
            first = first_characters(regex)[0]
            if ends.alone is not None:
                parts.append(_Part(ends.alone, first, ()))
            if ends.running is not None:
                parts.append(_Part(ends.running, first, ends.run))
        return parts

    def _between(self, plain: Sequence[_Part], ending: Sequence[_Part]) -> IgnoredText:
        """The ignored text after terminals, which no run ends, and such runs at the end."""
        rule, span = self.ignored.rule, self.ignored.rule.span
        others = [part.regex for part in plain]
        text: Expression = Literal(b"", span)
        if others:
            several = Repeat(_any_of([*others, *_ended(ending)]), 0, None, span)
            last = Concat((several, _any_of(others)), span)
            text = self.operations.own_text(Repeat(last, 0, 1, span), rule.name, span)
        if not ending:
            return replace(self.ignored, rule=replace(rule, body=text))
        at_end = Repeat(_any_of(_ended(ending)), 0, None, span)
        final = self.operations.own_text(at_end, rule.name, span)
        return replace(self.ignored, rule=replace(rule, body=text), ending=final)

    def _terminal(self, regex: Regex, terminal: Expression) -> Expression:
        label = self.source.text[terminal.span.start : terminal.span.end]
        return self.operations.terminal(regex, label, terminal.span)

    def _is_inside_others(self, terminal: Expression, key: Shape, rules: list[Rule]) -> bool:
        """Whether a terminal is a part of another one, or of a rule that is not written."""
        if isinstance(terminal, Nonterminal):
            bodies = (body for name, body in self.bodies.items() if is_terminal(name))
            return any(terminal.name in called(body) for body in bodies)
        written = {rule.name for rule in rules}
        others = (body for name, body in self.bodies.items() if name not in written)
        return any(shape(node) == key for body in others for node in walk(body))


def _with_terminals(rule: Rule, instead: Mapping[Shape, Expression]) -> Rule:
    """The rule with other terminals; one with a name is replaced where it is defined."""

    def changed(body: Expression) -> Expression:
        if isinstance(body, Row | Choice | Repetition):
            return body.rebuild(changed)
        if isinstance(body, Nonterminal):
            return body
        return instead.get(shape(body), body)

    if not instead:
        return rule
    if is_terminal(rule.name):
        call = Nonterminal(rule.name, rule.name_span)
        return replace(rule, body=instead.get(shape(call), rule.body))
    return replace(rule, body=changed(rule.body))


def _atomic(regex: Regex) -> Regex | None:
    """The one match of a regex at a position; None if that takes too large a regex."""
    try:
        return MatchOrder().atomic(regex)
    except Unordered:
        return None


def _ended(parts: Sequence[_Part]) -> list[Regex]:
    """Texts that the next character does not continue."""
    return [
        Concat((part.regex, Look(LookKind.NOT_AHEAD, Characters(part.run, span), span)), span)
        for part in parts
        for span in [part.regex.span]
    ]


def _any_of(regexes: Sequence[Regex]) -> Regex:
    return regexes[0] if len(regexes) == 1 else Alternate(tuple(regexes), regexes[0].span)


def _last_run(regex: Regex) -> Ranges:
    """The set of characters by any number of which a regex ends; empty if it ends otherwise."""
    while isinstance(regex, Group | Concat) and regex.children:
        regex = regex.children[-1]
    match regex:
        case Repeat(Characters(ranges), low, None) if low <= 1:
            return ranges
    return ()


def _is_repetition(regex: Regex) -> bool:
    """Whether a regex is any number of copies: then several of its texts are one of them."""
    match regex:
        case Group(part):
            return _is_repetition(part)
        case Repeat(_, low, None):
            return low <= 1
    return False


def _terminals(rules: Mapping[str, Expression], start: str) -> dict[Shape, Expression]:
    """The terminals that the rules reached from the start rule are made of, by their shapes."""
    reached = (start, *all_called(rules[start], rules)) if start in rules else ()
    written = [rules[name] for name in reached if not is_terminal(name)]
    return {shape(leaf): leaf for body in written for leaf in _leaves(body)}


def _leaves(body: Expression) -> Iterator[Expression]:
    if isinstance(body, Row | Choice | Repetition):
        for part in body.children:
            yield from _leaves(part)
    elif not isinstance(body, Nonterminal) or is_terminal(body.name):
        yield body


def _first_of(body: Expression, rules: Mapping[str, Expression]) -> tuple[Ranges, bool]:
    """At least the characters that an expression begins with, and whether it may be empty."""
    match body:
        case Literal(value):
            begin = value.decode(errors="replace")[:1]
            return (((ord(begin), ord(begin)),), False) if begin else ((), True)
        case Pattern(regex):
            return first_characters(asserted(regex) or regex)
        case Automaton(machine):
            begins = (machine.table[machine.initial][machine.classes[:256]] != DEAD).tolist()
            ascii_first = tuple((byte, byte) for byte in range(128) if begins[byte])
            beyond = _BEYOND_ASCII if any(begins[128:]) else ()
            return union(ascii_first, beyond), bool(machine.finals[machine.initial])
        case Nonterminal(name) if name in rules:
            return _first_of(rules[name], rules)
        case Row(items):
            first: Ranges = ()
            for item in items:
                ranges, nullable = _first_of(item, rules)
                first = union(first, ranges)
                if not nullable:
                    return first, False
            return first, True
        case Choice(options):
            firsts = [_first_of(option, rules) for option in options]
            return union(*(ranges for ranges, _ in firsts)), any(empty for _, empty in firsts)
        case Repetition(item, low):
            ranges, nullable = _first_of(item, rules)
            return ranges, nullable or low == 0
        case _:
            return ANY_CHARACTER, True
