"""GBNF text becomes a grammar tree, or an error a person understands.

GBNF is the notation of llama.cpp; what xgrammar's EBNF has besides is read too, as far as it is
a language of texts. Where the two differ the wider one is read: a rule may go on in a new line
anywhere, an alternative may be empty, a repetition may be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from workbench.errors import BuildError, ParseError
from workbench.limits import Clock
from workbench.source import Source
from workbench.syntax.beyond import Beyond
from workbench.syntax.called import all_called, calls, without_idle
from workbench.syntax.cursor import Cursor
from workbench.syntax.gbnf_lexemes import LEXEMES, SIGNS
from workbench.syntax.gbnf_reader import Reader
from workbench.syntax.grammar_tree import Automaton, Expression, GrammarTree, Rule, Sequence
from workbench.syntax.kbnf_scanner import lexemes
from workbench.syntax.rule_attributes import Wanted


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
        return without_idle(rules, self.absorbed)

    def _cut(self, name: str, asking: tuple[str, ...] = ()) -> Expression:
        if name in self.cut:
            return self.cut[name]
        want, body = self.wanted[name], self.bodies[name]
        if self.beyond is None or name in asking:
            raise ParseError(
                f"the attribute {want.name!r} cannot be read" + " of a rule that calls itself"
                if name in asking
                else f"the attribute {want.name!r} cannot be read",
                self.source,
                want.span,
                "only a rule whose texts need no stack can be cut short",
                "unsupported",
            )
        rules = {}
        for called in all_called(body, self.bodies):
            inner = called in self.wanted
            rules[called] = self._cut(called, (*asking, name)) if inner else self.bodies[called]
        self.absorbed.update(rules)
        if isinstance(want.end, Expression):
            body = Sequence((body, want.end), body.span)
        if want.lazy:
            body = Automaton(self.beyond.shortest(body, rules), name, body.span)
        if want.characters is not None:
            machine = self.beyond.at_most(body, want.characters, rules)
            body = Automaton(machine, name, body.span)
        self.cut[name] = body
        return body
