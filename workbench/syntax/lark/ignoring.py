"""``%ignore``: terminals in, the same with what is ignored beside them out.

Ignored text may stand after every terminal, and before the start. Lark lets it begin a text, and
so it is here, but for a grammar that sets options of llguidance's: there it begins one only if
``allow_initial_skip`` is among them. (llguidance and xgrammar let it begin none otherwise, and
llguidance lets it end none.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.syntax.called import called
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.lark.nodes import LarkGrammar
from workbench.syntax.names import Names
from workbench.syntax.renaming import renamed


@dataclass(frozen=True, slots=True, eq=False)
class Ignoring:
    """What a grammar ignores, as a rule."""

    rule: Rule
    #: Whether it may begin a text.
    begins: bool

    @staticmethod
    def of(grammar: LarkGrammar, bodies: tuple[Expression, ...], name: str) -> Ignoring:
        """Any of the bodies, any number of them or, if the grammar says so, one."""
        span = bodies[0].span
        choice = bodies[0] if len(bodies) == 1 else Choice(bodies, span)
        options = grammar.options or {}
        begins = grammar.options is None or options.get("allow_initial_skip") is True
        most = 1 if options.get("skip_repetition") == "once" else None
        return Ignoring(Rule(name, Repetition(choice, 0, most, span), span, span), begins)

    @property
    def _call(self) -> Nonterminal:
        return Nonterminal(self.rule.name, self.rule.span)

    def after(self, terminal: Expression) -> Expression:
        """A terminal with what is ignored after it; the empty text has nothing after it."""
        if isinstance(terminal, Literal) and not terminal.value:
            return terminal
        return Sequence((terminal, self._call), terminal.span)

    def begun(self, rules: list[Rule], start: str, names: Names) -> list[Rule]:
        """The rules, with what is ignored before the start."""
        place = next((at for at, rule in enumerate(rules) if rule.name == start), None)
        if not self.begins or place is None:
            return rules
        rule = rules[place]
        body: Expression = rule.body
        if any(start in called(one.body) for one in rules):
            # it is called: the calls are of one that nothing stands before
            again = names.fresh(f"{start}_again")

            def name(call: str) -> str:
                return again if call == start else call

            rules = [
                replace(one, name=name(one.name), body=renamed(one.body, name)) for one in rules
            ]
            body = Nonterminal(again, rule.name_span)
        else:
            rules = rules[:place] + rules[place + 1 :]
        begun = replace(rule, body=Sequence((self._call, body), rule.body.span))
        return [*rules[:place], begun, *rules[place:]]
