"""Lowers the statements of a Lark grammar to the rules of a grammar tree.

A terminal becomes an ordinary rule: a text is accepted if it can be split into terminals in any
way that the rules allow, as in Lark's Earley parser with the complete dynamic lexer. Templates and
rules with a parameter become one rule per use.

Text that ``%ignore`` matches is allowed after every terminal and before the start rule. Lark allows
it at the beginning of a text; with options of llguidance it is allowed there only if
``allow_initial_skip`` is set. (Without that option llguidance and xgrammar do not allow it at the
beginning, and llguidance does not allow it at the end.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Row
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.base.errors import ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.derived_rules import CountRules, substring_rules, written_parts
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Names,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    all_called,
    choice,
    may_have_labels,
    renamed,
    without_unused,
)
from workbench.syntax.lark.ignored_text import EndedText, IgnoredText
from workbench.syntax.lark.indentation import IndentedRules
from workbench.syntax.lark.lark_parser import parse_statements
from workbench.syntax.lark.lark_tree import (
    Body,
    Complement,
    Definition,
    Guarded,
    Indenter,
    Indexed,
    Intersection,
    LarkGrammar,
    MachineOperators,
    Nested,
    Schema,
    SubstringChunks,
    TemplateUse,
    is_terminal,
    no_text,
)
from workbench.syntax.lark.lazy import LazyConflicts
from workbench.syntax.lark.resolve import (
    Instances,
    Scope,
    Terminals,
    definitions_by_name,
    undefined_name,
)
from workbench.syntax.lark.right_sides import condition_holds
from workbench.syntax.lark.terminal_matches import TerminalMatches
from workbench.syntax.rule_attributes import LanguageOperations, LineStart, rule_options

if TYPE_CHECKING:
    from workbench.base.dfa import Dfa

#: The scopes of a terminal's and of a rule's body.
_TERMINAL, _RULE = Scope(lexical=True), Scope(lexical=False)


class _Lowering:
    """Lowers one grammar; the names of a nested grammar have a prefix."""

    def __init__(
        self,
        source: Source,
        grammar: LarkGrammar,
        start: str,
        operations: LanguageOperations | None,
        clock: Clock | None,
        prefix: str,
        names: Names,
    ) -> None:
        self.source = source
        self.grammar = grammar
        self.start = prefix + start
        self.clock = clock
        self.prefix = prefix
        self.known = definitions_by_name(source, grammar)
        self.declared = dict(grammar.declared)
        self.names = names
        names.taken.update(prefix + name for name in self.known)
        self.uses = Instances(source, self.known, self._fresh)
        self.terminals = Terminals(source, self.known, prefix, self._in_terminal(), self._generate)
        self.operators = MachineOperators(source, operations, self.terminals.called_by)
        # llguidance's lexer reads regexes as sets of texts, and a label has no characters
        self.matches_whole = grammar.options is None and not may_have_labels(source)
        self.matches = TerminalMatches(
            self.known, self.terminals, self.operators, self.matches_whole
        )
        #: Rules generated for parts of terminals, and those of nested grammars.
        self.more: list[Rule] = []
        self.inner: list[Rule] = []
        self.counting = CountRules(self._fresh)
        #: The spans of lazy rules.
        self.lazy: dict[str, Span] = {}
        #: The lowered uses of templates.
        self.used: list[Rule] = []
        #: The names that are called, each with whether its texts are terminals.
        self.called: dict[str, bool] = {}
        self.indenter = None if prefix else Indenter.of(source, grammar, self.known)
        #: The rules before those of the indenter.
        self.written: tuple[Rule, ...] = ()
        self.ignored_text: IgnoredText | None = None
        self.ignored_bodies: tuple[Expression, ...] = ()
        if grammar.ignored or self.indenter:
            self.ignored_bodies = tuple(map(self._in_terminal(), grammar.ignored))
            bodies = self.ignored_bodies or (no_text(Span(0, 0)),)
            self.ignored_text = IgnoredText.of(grammar, bodies, self._fresh("ignored"))

    def rules(self) -> list[Rule]:
        """All rules, first the ones in the source."""
        written = {
            name: definition
            for name, definition in self.known.items()
            if not definition.parameters and not definition.indexed
        }
        bodies = {
            name: self._rule(self.prefix + name, definition, _RULE)
            for name, definition in written.items()
            if not definition.is_terminal
        }
        while self.uses.waiting:
            self._lower_use(*self.uses.waiting.popleft())
        # terminals are read last, when it is known which of them are no parts of others only
        self.matches.used.add(self.start)
        for name, definition in written.items():
            if name not in bodies:
                bodies[name] = self._rule(self.prefix + name, definition, _TERMINAL)
        rules = [bodies[name] for name in written]
        rules = self._without_lazy_conflicts(rules + self.used)
        rules = self._with_match_ends(rules)
        if self.indenter is not None:
            assert self.ignored_text is not None, "every terminal is followed by a call of it"
            others = [*self.more, *self.counting.rules, *self.inner, self.ignored_text.rule]
            for name in self.indenter.added:
                span = self.declared[name]
                others.append(Rule(name, Literal(b"", span), span, span))
            self.written = (*rules, *others)
            if self.start not in {rule.name for rule in rules}:
                return [*self.written]  # the builder reports the start symbol
            return self._indent(self.indenter, self.ignored_text)
        if self.ignored_text is not None:
            is_called = self.start.removeprefix(self.prefix) in self.called
            rules = [
                *self.ignored_text.around_start(rules, self.start, self.names, is_called),
                self.ignored_text.rule,
            ]
        rules += self.more + self.counting.rules + self.inner
        # drop unused rules that became part of an automaton or belong to a schema
        idle = self.terminals.absorbed.union(rule.name for rule in self.inner) - {self.start}
        return without_unused(rules, idle) if idle else rules

    def _with_match_ends(self, rules: list[Rule]) -> list[Rule]:
        """The rules, with ignored text whose parts end where lark's lexer ends them."""
        ignored, operations = self.ignored_text, self.operators.operations
        if ignored is None or operations is None or not self.matches_whole:
            return rules
        pairs = zip(self.grammar.ignored, self.ignored_bodies, strict=True)
        regexes = [regex for pair in pairs if (regex := self.matches.regex(*pair)) is not None]
        if len(regexes) < len(self.ignored_bodies) or not regexes:
            return rules
        others = (*rules, *self.more, *self.counting.rules, *self.inner)
        bodies = {rule.name: rule.body for rule in others}
        if self.indenter is not None:
            bodies |= {name: Literal(b"", ignored.call.span) for name in self.indenter.added}
        ends = EndedText(regexes, operations, bodies, ignored, self.source)
        if not self.terminals.cut and (changed := ends.without_assertions(rules, self.start)):
            rules, self.ignored_text = changed
        elif self.indenter is None:
            self.ignored_text = ends.atomic()
        return rules

    def _indent(self, indenter: Indenter, ignored: IgnoredText) -> list[Rule]:
        """The rules of the start symbol, with newlines and blocks as the indenter makes them."""
        operations = self.operators.required("%declare", ignored.call.span)
        rules = {rule.name: rule for rule in self.written}
        newline = Nonterminal(indenter.NL_type, ignored.call.span)

        def line_starts(terminals: Row[Expression]) -> tuple[Row[LineStart], Dfa]:
            between = ignored.rule.body
            calls = self.terminals.called_by(newline, between, *terminals)
            bodies = {name: rules[name].body if name in rules else calls[name] for name in calls}
            return operations.line_starts(newline, between, terminals, indenter.tab_len, bodies)

        strings = {r.body.value: name for name, r in rules.items() if isinstance(r.body, Literal)}
        indented = IndentedRules(
            self.source,
            indenter,
            rules,
            self.names,
            ignored.rule,
            ignored.ending or Sequence((), ignored.rule.span),
            strings,
            line_starts,
            self.clock,
        ).rewritten(self.start)
        rules |= {rule.name: rule for rule in indented}
        reached = all_called(rules[self.start].body, {n: r.body for n, r in rules.items()})
        return [rules[name] for name in dict.fromkeys((self.start, *reached))]

    def _lower_use(self, name: str, definition: Definition, scope: Scope) -> None:
        self.used.append(self._rule(name, definition, scope))

    def _without_lazy_conflicts(self, rules: list[Rule]) -> list[Rule]:
        """The rules with terminals restricted so that none continues past a lazy match."""
        if not self.lazy or self.operators.operations is None:
            return rules
        whole = self.terminals.found.keys() | self.terminals.cut.keys()
        bodies = {rule.name: rule.body for rule in rules if rule.name not in whole}
        if self.ignored_text is not None:
            bodies[self.ignored_text.rule.name] = self.ignored_text.rule.body
        if self.start not in bodies:
            return rules
        inner = frozenset(rule.name for rule in self.inner)
        competing = LazyConflicts(
            bodies,
            self.clock,
            source=self.source,
            lazy=self.lazy,
            inner=inner,
            operations=self.operators.operations,
            called_by=self.terminals.called_by,
        )
        return competing.resolved(rules, self.start)

    def _rule(self, name: str, definition: Definition, scope: Scope) -> Rule:
        if self.clock is not None:
            self.clock.check("the grammar is very long; shorten it")
        options = rule_options(self.source, definition.attributes)
        if not options.plain:
            body = self.terminals.cut[name] = self.operators.cut(
                definition, options, self._in_terminal(scope)
            )
            if options.lazy:
                self.lazy[name] = definition.name_span
        elif definition.is_terminal and not definition.parameters and not definition.indexed:
            body = self.matches.of_terminal(name)
        else:
            body = self._lower(definition.body, scope)
        return Rule(name, body, definition.name_span, definition.span, definition.priority)

    def _with_ignored(self, terminal: Expression, scope: Scope) -> Expression:
        """A terminal of a rule, followed by ignored text."""
        if scope.lexical or self.ignored_text is None:
            return terminal
        return self.ignored_text.after(terminal)

    def _lower(self, body: Body, scope: Scope) -> Expression:
        match body:
            case Nonterminal():
                return self._call(body, scope)
            case Literal():
                return self._with_ignored(body, scope)
            case Sequence():
                items = [self._lower(item, scope) for item in body.items]
                return Sequence(tuple(items), body.span)
            case Choice():
                return self._choice(body.options, scope, body.span)
            case Repetition():
                item = self._lower(body.item, scope)
                return self.counting.repetition(item, body.low, body.high, body.span)
            case Pattern():
                matches = body if scope.lexical else self.matches.of_pattern(body)
                if isinstance(matches, Pattern):
                    matches = self.counting.pattern(matches, written_parts(self.source, matches))
                return self._with_ignored(matches, scope)
            case TemplateUse():
                return self._apply(body, scope)
            case Indexed():
                return self._index(body, scope)
            case Guarded(_, _, span):
                return self._choice((body,), scope, span)
            case Nested(grammar, _):
                return self._nest(grammar)
            case Schema(span):
                return self._with_ignored(self._schema(span), scope)
            case SubstringChunks(chunks, span):
                leaf, rules = substring_rules(chunks, self._fresh("piece"), span)
                self.more += rules
                return self._with_ignored(leaf, scope)
            case Intersection() | Complement():
                return self._with_ignored(
                    self.operators.operation(body, self._in_terminal(scope)), scope
                )
            case _:
                return self._with_ignored(body, scope)

    def _choice(self, options: Iterable[Body], scope: Scope, span: Span) -> Expression:
        """The options whose conditions hold."""
        kept: list[Expression] = []
        for option in options:
            if isinstance(option, Guarded):
                if scope.parameter is None:
                    hint = "%if is allowed only in a rule with a parameter: name::_ : …"
                    raise ParseError("expected no condition", self.source, option.span, hint)
                if not condition_holds(option.condition, scope.parameter):
                    continue
                option = option.body
            kept.append(self._lower(option, scope))
        if not kept:
            return no_text(span)
        return choice(kept, span)

    def _call(self, call: Nonterminal, scope: Scope) -> Expression:
        if call.name in scope.given:
            return scope.given[call.name]
        whole = self.called.get(call.name)
        if whole is None:
            definition = self.known.get(call.name)
            if definition is None:
                return self._undefined(call, scope)
            whole = self.called[call.name] = self._is_whole(definition, call)
        if scope.lexical:
            self._check_lexical(call.name, call.span, scope)
        node = Nonterminal(self.prefix + call.name, call.span) if self.prefix else call
        if whole and not scope.lexical:
            self.matches.used.add(node.name)
        return self._with_ignored(node, scope) if whole else node

    def _is_whole(self, definition: Definition, call: Nonterminal) -> bool:
        """Whether a call is a terminal; a rule with attributes is one too."""
        if definition.parameters or definition.indexed:
            how = "::0" if definition.indexed else "{…}"
            message = f"expected {call.name!r} to be used as {call.name}{how}"
            raise ParseError(message, self.source, call.span, "it has a parameter")
        return is_terminal(call.name) or not rule_options(self.source, definition.attributes).plain

    def _undefined(self, call: Nonterminal, scope: Scope) -> Expression:
        """A call of a terminal without texts; raises if it is another one without a definition."""
        if not scope.lexical and self.indenter and call.name in self.indenter.added:
            return call
        if call.name in self.declared:
            message = f"the terminal {call.name!r} is declared and has no texts"
            hint = "define it, or write //%indenter { … } if it is that of an indentation"
            raise ParseError(message, self.source, call.span, hint, "unsupported")
        raise undefined_name(self.source, call, self.known)

    def _check_lexical(self, name: str, span: Span, scope: Scope) -> None:
        if scope.lexical and not is_terminal(name):
            message = f"a terminal is made of terminals, and {name!r} is a rule"
            raise ParseError(message, self.source, span, "give it a name in capital letters")

    def _apply(self, use: TemplateUse, scope: Scope) -> Expression:
        """A use of a template; its arguments are lowered in the scope of the use."""
        template = self.uses.template(use)
        self._check_lexical(use.name, use.span, scope)
        inner = Scope(template.is_terminal, scope.given, scope.parameter, scope.deep)
        arguments = [self._lower(argument, inner) for argument in use.arguments]
        node = Nonterminal(self.uses.applied(use, arguments, scope), use.span)
        return self._with_ignored(node, scope) if template.is_terminal else node

    def _index(self, use: Indexed, scope: Scope) -> Expression:
        self._check_lexical(use.name, use.span, scope)
        return Nonterminal(self.uses.indexed(use, scope.parameter), use.span)

    def _fresh(self, base: str) -> str:
        """An unused name."""
        return self.names.fresh(self.prefix + base)

    def _nest(self, grammar: LarkGrammar) -> Expression:
        prefix = self._fresh("inner") + "_"
        inner = _Lowering(
            self.source, grammar, "start", self.operators.operations, self.clock, prefix, self.names
        )
        self.inner += inner.rules()
        start = grammar.definitions[0] if grammar.definitions else None
        span = start.name_span if start else Span(0, 0)
        return Nonterminal(f"{prefix}start", span)

    def _schema(self, span: Span) -> Expression:
        tree = self.operators.schema(span)
        prefix = self._fresh("json") + "_"
        self.inner += [
            Rule(prefix + rule.name, renamed(rule.body, prefix.__add__), rule.name_span, rule.span)
            for rule in tree.rules
        ]
        return Nonterminal(f"{prefix}start", span)

    def _in_terminal(self, scope: Scope = _TERMINAL) -> Callable[[Body], Expression]:
        """A function that lowers bodies inside a terminal."""
        lexical = replace(scope, lexical=True)
        return lambda body: self._lower(body, lexical)

    def _generate(self, name: str) -> Expression | None:
        """The body of a generated rule; a queued use of a template is lowered now."""
        if (use := self.uses.taken(name)) is not None:
            self._lower_use(*use)
        others = (*self.used, *self.more, *self.counting.rules, *self.inner)
        return next((rule.body for rule in others if rule.name == name), None)


def parse_lark(
    source: Source,
    clock: Clock | None = None,
    operations: LanguageOperations | None = None,
    start: str = "start",
) -> GrammarTree:
    """The rules of a grammar: those in the source, then the generated ones.

    ``operations`` implements ``&``, ``~``, lazy rules and ``%json``. Ignored text is allowed before
    the rule ``start``.

    Cost:   linear in the text, except for templates and parameters: one rule per use.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex`` or
            ``unsupported`` (syntax that does not define a set of texts); BuildError of kind
            ``undefined_nonterminal``, or what ``operations`` raises; LimitError.
    Source: Lark 1.3, docs/grammar.md; llguidance, docs/syntax.md.
    """
    return lowered(source, parse_statements(source, clock), start, operations, clock)


def lowered(
    source: Source,
    grammar: LarkGrammar,
    start: str,
    operations: LanguageOperations | None,
    clock: Clock | None,
) -> GrammarTree:
    """The rules of a parsed grammar; errors as ``parse_lark``."""
    lowering = _Lowering(source, grammar, start, operations, clock, "", Names(()))
    rules = tuple(lowering.rules())
    return GrammarTree(rules, source, "~{low}..{high}", lowering.written, "{name}: {called}")
