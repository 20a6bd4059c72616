r"""``A & B`` and ``~A`` of terminals whose assertions look beyond them.

A terminal ``(?<=b)X(?=a)`` is split into the assertions at its beginning, the texts ``X``, and the
assertions at its end; a terminal with alternatives is a union of such parts. Then

    uXv & sYt  =  us (X & Y) vt
    W & ~(uXv) =  (W & ~X)  |  ¬u (W & X)  |  (W & X) ¬v

and the assertions, in separate terminals, see the whole text (``pushdown.contexts``). The results
are unions of the same kind, so operands may be nested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from workbench.base.dfa import Dfa
from workbench.base.errors import BuildError
from workbench.base.source import Source, Span
from workbench.syntax import grammar_tree
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    Nonterminal,
    Pattern,
    Stop,
    all_called,
)
from workbench.syntax.regex.tree import (
    Alternate,
    Concat,
    Extension,
    Group,
    Kind,
    Look,
    LookKind,
    Regex,
    asserted,
    has_look,
)
from workbench.syntax.rule_attributes import LanguageOperations, Rules

#: The most parts of a union.
_MAX_PARTS = 64

_OPPOSITE = {
    LookKind.AHEAD: LookKind.NOT_AHEAD,
    LookKind.NOT_AHEAD: LookKind.AHEAD,
    LookKind.END: LookKind.AHEAD,
    LookKind.LINE_END: LookKind.AHEAD,
    LookKind.BEHIND: LookKind.NOT_BEHIND,
    LookKind.NOT_BEHIND: LookKind.BEHIND,
    LookKind.START: LookKind.BEHIND,
    LookKind.LINE_START: LookKind.BEHIND,
    LookKind.BOUNDARY: LookKind.INSIDE,
    LookKind.INSIDE: LookKind.BOUNDARY,
}

Looks = tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class Bordered:
    """Texts, with the assertions at their beginning and at their end."""

    before: Looks
    texts: Expression
    after: Looks


@dataclass(frozen=True, slots=True, eq=False)
class BorderAssertions:
    """The operators on unions of parts with assertions at their borders."""

    source: Source
    #: The span of the result, and the text of its automata.
    span: Span
    label: str
    operations: LanguageOperations
    #: The terminals that the operands call.
    rules: Rules

    def combined(self, wholes: Sequence[Expression], others: Sequence[Expression]) -> Expression:
        """The texts of all ``wholes`` that are not texts of one of the ``others``.

        Raises: BuildError for assertions that are not at a border, and for too many cases.
        """
        found: list[Bordered] | None = None
        for whole in wholes:
            union = self._bordered(whole)
            found = union if found is None else self._intersection(found, union)
        for other in others:
            found = self._difference(found, self._bordered(other))
        return self._expression(found or [])

    def _intersection(self, left: Sequence[Bordered], right: Sequence[Bordered]) -> list[Bordered]:
        self._check(len(left) * len(right))
        pairs = [
            Bordered(
                one.before + two.before, self._both(one.texts, two.texts), one.after + two.after
            )
            for one, two in product(left, right)
        ]
        return [one for one in pairs if not _is_empty(one)]

    def _difference(
        self, whole: Sequence[Bordered] | None, part: Sequence[Bordered]
    ) -> list[Bordered]:
        """The texts of ``whole``, or all texts, that are not texts of ``part``."""
        found = list[Bordered | None]([None] if whole is None else whole)
        for one in part:
            self._check(len(found) * (1 + len(one.before) + len(one.after)))
            rest = [left for each in found for left in self._without(each, one)]
            found = [left for left in rest if not _is_empty(left)]
        return [one for one in found if one is not None]

    def _without(self, whole: Bordered | None, part: Bordered) -> Iterator[Bordered]:
        texts = None if whole is None else whole.texts
        before, after = ((), ()) if whole is None else (whole.before, whole.after)
        parts = (part.texts,) if texts is None else (texts, part.texts)
        rest = self.operations.but(texts, part.texts, self._called_by(*parts))
        yield Bordered(before, self._automaton(rest), after)
        if not part.before and not part.after:
            return
        common = self._both(*parts)
        for look in part.before:
            yield Bordered((*before, _negated(look)), common, after)
        for look in part.after:
            yield Bordered(before, common, (_negated(look), *after))

    def _bordered(self, part: Expression) -> list[Bordered]:
        """A terminal as a union; assertions that are not at a border stay in the texts."""
        found: list[Bordered] = []
        match part:
            case Nonterminal(name=name) if name in self.rules:
                return self._bordered(self.rules[name])
            case Choice(options=options):
                for option in options:
                    found += self._bordered(option)
            case grammar_tree.Sequence(items=(first, *middle, last)):
                lasts = [_at_end(one) for one in self._bordered(last)]
                pairs = list(product(self._bordered(first), lasts))
                if not any(one.after or two.before for one, two in pairs):
                    found = [
                        Bordered(one.before, _row([one.texts, *middle, two.texts]), two.after)
                        for one, two in pairs
                    ]
            case Pattern(regex=regex, stop=Stop.ANYWHERE, text=text, span=span):
                inner = asserted(regex)
                if inner is not None:
                    found = [_of_regex(option, text, span) for option in _options(inner)]
        plain = [one.texts for one in found if not one.before and not one.after]
        if len(plain) == len(found):
            return [Bordered((), part, ())]
        self._check(len(found))
        if len(plain) > 1:
            found = [one for one in found if one.before or one.after]
            found.append(Bordered((), Choice(tuple(plain), part.span), ()))
        return found

    def _both(self, *parts: Expression) -> Automaton:
        return self._automaton(self.operations.both(parts, self._called_by(*parts)))

    def _called_by(self, *parts: Expression) -> Rules:
        """The other terminals may have assertions that look beyond them."""
        return {name: self.rules[name] for part in parts for name in all_called(part, self.rules)}

    def _automaton(self, machine: Dfa) -> Automaton:
        return Automaton(machine, self.label, self.span)

    def _check(self, parts: int) -> None:
        if parts > _MAX_PARTS:
            raise BuildError(
                f"expected at most {_MAX_PARTS} cases of assertions that look beyond the terminal",
                self.source,
                self.span,
                "use fewer assertions in the operands",
                kind="unsupported_regex",
            )

    def _expression(self, union: Sequence[Bordered]) -> Expression:
        """A union as an expression of the grammar."""
        options: list[Expression] = []
        for one in union:
            before, after = (
                [self._assertions(looks)] if looks else [] for looks in (one.before, one.after)
            )
            options.append(_row([*before, one.texts, *after]))
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), self.span)

    def _assertions(self, looks: Looks) -> Expression:
        """The empty text where all assertions hold."""
        found = _pattern(Concat(looks, self.span), self.label, self.span)
        # one that tests no other text is always true or always false
        return found if self.operations.looks_beyond(found, {}) else self._both(found)


def _at_end(one: Bordered) -> Bordered:
    """Assertions without texts as those at an end."""
    match one.texts:
        case Pattern(regex=Concat(parts=())):
            return Bordered((), one.texts, one.before + one.after)
    return one


def _options(regex: Regex) -> tuple[Regex, ...]:
    """The alternatives of a regex."""
    match regex:
        case Group(part=part, name=None):
            return _options(part)
        case Alternate(options=options):
            return tuple(inner for option in options for inner in _options(option))
    return (regex,)


def _of_regex(regex: Regex, text: str, span: Span) -> Bordered:
    parts = list(_factors(regex))
    begin, end = 0, len(parts)
    while begin < end and isinstance(parts[begin], Look):
        begin += 1
    while end > begin and isinstance(parts[end - 1], Look):
        end -= 1
    looks = [part for part in parts if isinstance(part, Look)]
    before, after = looks[:begin], looks[len(looks) - (len(parts) - end) :]
    texts = Concat(tuple(parts[begin:end]), span)
    return Bordered(tuple(before), _pattern(texts, text, span), tuple(after))


def _factors(regex: Regex) -> Iterator[Regex]:
    match regex:
        case Concat(parts=parts):
            for part in parts:
                yield from _factors(part)
        case Group(part=part, name=None):
            yield from _factors(part)
        case _:
            yield regex


def _pattern(regex: Regex, text: str, span: Span) -> Pattern:
    tree = Extension(Kind.ASSERTED, (regex,), span) if has_look(regex) else regex
    return Pattern(tree, Stop.ANYWHERE, text, span)


def _negated(look: Look) -> Look:
    return Look(_OPPOSITE[look.kind], look.part, look.span)


def _row(items: list[Expression]) -> Expression:
    if len(items) == 1:
        return items[0]
    return grammar_tree.Sequence(tuple(items), items[0].span.to(items[-1].span))


def _is_empty(one: Bordered) -> bool:
    return isinstance(one.texts, Automaton) and one.texts.machine.is_empty
