"""GBNF text becomes a grammar tree, or an error a person understands.

GBNF is the notation of llama.cpp; what xgrammar's EBNF has besides is read too, as far as it is
a language of texts. Where the two differ the wider one is read: a rule may go on in a new line
anywhere, an alternative may be empty, a repetition may be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import cast

from workbench.errors import BuildError, ParseError
from workbench.limits import Clock
from workbench.source import Source
from workbench.syntax.beyond import Beyond
from workbench.syntax.called import all_called, calls, without_idle
from workbench.syntax.cursor import Cursor
from workbench.syntax.gbnf.lexemes import LEXEMES, SIGNS
from workbench.syntax.gbnf.reader import Reader
from workbench.syntax.grammar_tree import Expression, GrammarTree, Rule
from workbench.syntax.kbnf.scanner import lexemes
from workbench.syntax.rule_attributes import Wanted, cut_short


def parse_gbnf(
    source: Source, clock: Clock | None = None, beyond: Beyond | None = None
) -> GrammarTree:
    """The rules of a grammar, in the order they were written; the start rule is usually ``root``.

    Rules that macros and large counts come to are the last. ``beyond`` makes what syntax cannot:
    lazy rules, ``TagDispatch``.

    Cost:   linear in the text, but for macros.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex`` or
            ``unsupported`` (what no machine over texts can be made of, by its name); BuildError
            where a lazy rule needs a stack; LimitError.
    Source: llama.cpp, grammars/README.md; xgrammar 0.2, "EBNF".
    """
    reader = Reader(Cursor.of(source, lexemes(source.text, LEXEMES), SIGNS, clock), beyond)
    rules = reader.rules()
    _check_called(source, rules)
    if reader.wanted:
        rules = _Cutting(source, rules, reader.wanted, beyond).rules()
    return GrammarTree(tuple(rules), source, counted="{{{low},{high}}}")


def _check_called(source: Source, rules: list[Rule]) -> None:
    """Every rule that is called is there.

    Raises: BuildError of kind ``undefined_nonterminal`` at the first call of one that is not.
    """
    names = {rule.name for rule in rules}
    for rule in rules:
        for call in calls(rule.body):
            if call.name not in names:
                near = get_close_matches(call.name, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"add a line  {call.name} ::= …"
                message = f"the rule {call.name!r} is not written"
                kind = "undefined_nonterminal"
                raise BuildError(message, source, call.span, hint, kind)


@dataclass(slots=True, eq=False)
class _Cutting:
    """Rules whose attributes cut their texts short."""

    source: Source
    written: list[Rule]
    wanted: dict[str, Wanted]
    beyond: Beyond | None
    bodies: dict[str, Expression] = field(init=False)
    cut: dict[str, Expression] = field(default_factory=dict)
    #: Rules that machines were made of.
    absorbed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.bodies = {rule.name: rule.body for rule in self.written}

    def rules(self) -> list[Rule]:
        """The rules, with a machine for each body that is cut."""
        rules = [
            replace(rule, body=self._cut(rule.name)) if rule.name in self.wanted else rule
            for rule in self.written
        ]
        # any rule may be the start that is left: the first one and "root" often are
        return without_idle(rules, self.absorbed - {"root", self.written[0].name})

    def _cut(self, name: str, asking: tuple[str, ...] = ()) -> Expression:
        if name in self.cut:
            return self.cut[name]
        want, body = self.wanted[name], self.bodies[name]
        if name in asking:
            raise self._refused(f"{want.name} of a rule that calls itself", want)
        if self.beyond is None:
            raise self._refused(f"the attribute {want.name!r}", want)
        rules = {
            called: self._cut(called, (*asking, name))
            if called in self.wanted
            else self.bodies[called]
            for called in all_called(body, self.bodies)
        }
        self.absorbed.update(rules)
        end = cast("Expression | None", want.end)
        self.cut[name] = cut_short(body, end, want, name, self.beyond, lambda _: rules)
        return self.cut[name]

    def _refused(self, what: str, want: Wanted) -> ParseError:
        message, hint = f"{what} cannot be read", "a rule is cut short whose texts need no stack"
        return ParseError(message, self.source, want.span, hint, "unsupported")
