"""Converts the statements of a Lark grammar to rules of a grammar tree.

Ignored text may stand after every terminal, and before the start. Lark lets it begin a text, and
so it is here, but for a grammar that sets options of llguidance's: there it begins one only if
``allow_initial_skip`` is among them. (llguidance and xgrammar let it begin none otherwise, and
llguidance lets it end none.)

Templates and rules with a parameter become a rule for each use, and what ``%ignore`` says may
stand after every terminal. A terminal is a rule like others here: wherever a text can be cut into
terminals so that the rules hold, it is read, as Lark's Earley parser does with a complete dynamic
lexer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

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
    Stop,
    called,
    renamed,
    without_unused,
)
from workbench.syntax.lark.bodies import holds
from workbench.syntax.lark.lark_parser import read
from workbench.syntax.lark.lark_tree import (
    Applied,
    Asking,
    Body,
    Both,
    Definition,
    Guarded,
    Indexed,
    LarkGrammar,
    Nested,
    Not,
    Pieces,
    Schema,
    is_terminal,
)
from workbench.syntax.lark.lazy import Competing
from workbench.syntax.lark.resolve import Scope, Terminals, Uses, named, undefined
from workbench.syntax.regex.printer import class_text
from workbench.syntax.regex.tree import Characters
from workbench.syntax.rule_attributes import LanguageOperations, rule_options


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


#: Where a terminal's own body stands.
_TERMINAL = Scope(lexical=True)


def lowered(
    source: Source,
    grammar: LarkGrammar,
    start: str,
    beyond: LanguageOperations | None,
    clock: Clock | None,
) -> tuple[Rule, ...]:
    """All rules of a grammar, and those its uses of templates, pieces and schemas come to.

    Raises: ParseError, BuildError, LimitError.
    """
    return tuple(_Lowering(source, grammar, start, beyond, clock, "", Names(())).rules())


class _Lowering:
    """One grammar with its names; those of a grammar inside another begin with a prefix."""

    def __init__(
        self,
        source: Source,
        grammar: LarkGrammar,
        start: str,
        beyond: LanguageOperations | None,
        clock: Clock | None,
        prefix: str,
        names: Names,
    ) -> None:
        self.source = source
        self.grammar = grammar
        self.start = prefix + start
        self.clock = clock
        self.prefix = prefix
        self.known = named(source, grammar)
        self.declared = dict(grammar.declared)
        self.names = names
        names.taken.update(prefix + name for name in self.known)
        self.uses = Uses(source, self.known, self._fresh)
        self.terminals = Terminals(source, self.known, prefix, self._inside(), self._written)
        self.asking = Asking(source, beyond, self.terminals.called_by)
        #: Rules that parts of terminals come to, and those of other grammars inside.
        self.more: list[Rule] = []
        self.inner: list[Rule] = []
        self.counting = CountRules(self._fresh)
        #: The places of lazy rules.
        self.lazy: dict[str, Span] = {}
        #: Uses of templates that are written.
        self.used: list[Rule] = []
        self.ignoring: Ignoring | None = None
        if grammar.ignored:
            bodies = tuple(map(self._inside(), grammar.ignored))
            self.ignoring = Ignoring.of(grammar, bodies, self._fresh("ignored"))

    def rules(self) -> list[Rule]:
        """All rules, those that were written first."""
        made = [
            self._rule(self.prefix + name, one, Scope(one.is_terminal))
            for name, one in self.known.items()
            if not one.parameters and not one.indexed
        ]
        while self.uses.waiting:
            self._write_use(*self.uses.waiting.popleft())
        made = self._apart(made + self.used)
        if self.ignoring is not None:
            made = [*self.ignoring.begun(made, self.start, self.names), self.ignoring.rule]
        made += self.more + self.counting.rules + self.inner
        # what has become part of a machine is no rule any more, nor is what a schema did not need
        idle = self.terminals.absorbed.union(rule.name for rule in self.inner)
        return without_unused(made, idle - {self.start})

    def _write_use(self, name: str, one: Definition, scope: Scope) -> None:
        self.used.append(self._rule(name, one, scope))

    def _apart(self, rules: list[Rule]) -> list[Rule]:
        """The rules, where no terminal goes on past the match of a lazy one beside it."""
        if not self.lazy or self.asking.beyond is None:
            return rules
        whole = self.terminals.found.keys() | self.terminals.cut.keys()
        bodies = {rule.name: rule.body for rule in rules if rule.name not in whole}
        if self.ignoring is not None:
            bodies[self.ignoring.rule.name] = self.ignoring.rule.body
        if self.start not in bodies:
            return rules
        inner = frozenset(rule.name for rule in self.inner)
        competing = Competing(
            self.source, bodies, self.lazy, inner, self.asking.beyond, self.terminals.called_by
        )
        return competing.resolved(rules, self.start)

    def _rule(self, name: str, one: Definition, scope: Scope) -> Rule:
        if self.clock is not None:
            self.clock.check("the grammar is very long; shorten it")
        want = rule_options(self.source, one.attributes)
        if not want.plain:
            body = self.terminals.cut[name] = self.asking.cut(one, want, self._inside(scope))
            if want.lazy:
                self.lazy[name] = one.name_span
        elif one.is_terminal and not one.parameters and not one.indexed:
            body = self.terminals.of(name, one)
        else:
            body = self._lower(one.body, scope)
        return Rule(name, body, one.name_span, one.span)

    def _skipping(self, terminal: Expression, scope: Scope) -> Expression:
        """A terminal of a rule, with what may be ignored after it."""
        if scope.lexical or self.ignoring is None:
            return terminal
        return self.ignoring.after(terminal)

    def _lower(self, body: Body, scope: Scope) -> Expression:
        match body:
            case Nonterminal():
                return self._called(body, scope)
            case Sequence(items, span):
                return Sequence(tuple(self._lower(item, scope) for item in items), span)
            case Choice(options, span):
                return self._choice(options, scope, span)
            case Repetition(item, low, high, span):
                return self.counting.repetition(self._lower(item, scope), low, high, span)
            case Pattern():
                parts = written_parts(self.source, body)
                return self._skipping(self.counting.pattern(body, parts), scope)
            case Applied():
                return self._applied(body, scope)
            case Indexed():
                return self._indexed(body, scope)
            case Guarded(_, _, span):
                return self._choice((body,), scope, span)
            case Nested(grammar, _):
                return self._nested(grammar)
            case Schema(span):
                return self._skipping(self._schema(span), scope)
            case Pieces(chunks, span):
                leaf, rules = substring_rules(chunks, self._fresh("piece"), span)
                self.more += rules
                return self._skipping(leaf, scope)
            case Both() | Not():
                return self._skipping(self.asking.operation(body, self._inside(scope)), scope)
            case _:
                return self._skipping(body, scope)

    def _choice(self, options: Iterable[Body], scope: Scope, span: Span) -> Expression:
        """The options whose conditions hold."""
        kept: list[Expression] = []
        for option in options:
            if isinstance(option, Guarded):
                if scope.parameter is None:
                    hint = "%if is allowed only in a rule with a parameter: name::_ : …"
                    raise ParseError("expected no condition", self.source, option.span, hint)
                if not holds(option.condition, scope.parameter):
                    continue
                option = option.body
            kept.append(self._lower(option, scope))
        if not kept:  # a set of no characters: no text
            return Pattern(Characters((), span), Stop.ANYWHERE, class_text(()), span)
        return kept[0] if len(kept) == 1 else Choice(tuple(kept), span)

    def _called(self, call: Nonterminal, scope: Scope) -> Expression:
        if call.name in scope.given:
            return scope.given[call.name]
        one = self.known.get(call.name)
        if one is None:
            if call.name in self.declared:
                message = f"the terminal {call.name!r} is declared and has no texts"
                hint = "define it: a lexer written in a program cannot be read"
                raise ParseError(message, self.source, call.span, hint, "unsupported")
            raise undefined(self.source, call, self.known)
        if one.parameters or one.indexed:
            how = "::0" if one.indexed else "{…}"
            message = f"expected {call.name!r} to be used as {call.name}{how}"
            raise ParseError(message, self.source, call.span, "it has a parameter")
        self._check_lexical(call.name, call.span, scope)
        node = Nonterminal(self.prefix + call.name, call.span)
        # a rule that is cut short is one terminal
        whole = is_terminal(call.name) or not rule_options(self.source, one.attributes).plain
        return self._skipping(node, scope) if whole else node

    def _check_lexical(self, name: str, span: Span, scope: Scope) -> None:
        if scope.lexical and not is_terminal(name):
            message = f"a terminal is made of terminals, and {name!r} is a rule"
            raise ParseError(message, self.source, span, "give it a name in capital letters")

    def _applied(self, use: Applied, scope: Scope) -> Expression:
        """A use of a template; what it is given is written where the template stands."""
        one = self.uses.template(use)
        self._check_lexical(use.name, use.span, scope)
        inner = Scope(one.is_terminal, scope.given, scope.parameter, scope.deep)
        arguments = [self._lower(argument, inner) for argument in use.arguments]
        node = Nonterminal(self.uses.applied(use, arguments, scope), use.span)
        return self._skipping(node, scope) if one.is_terminal else node

    def _indexed(self, use: Indexed, scope: Scope) -> Expression:
        self._check_lexical(use.name, use.span, scope)
        return Nonterminal(self.uses.indexed(use, scope.parameter), use.span)

    def _fresh(self, base: str) -> str:
        """A name no rule has."""
        return self.names.fresh(self.prefix + base)

    def _nested(self, grammar: LarkGrammar) -> Expression:
        prefix = self._fresh("inner") + "_"
        inner = _Lowering(
            self.source, grammar, "start", self.asking.beyond, self.clock, prefix, self.names
        )
        self.inner += inner.rules()
        start = grammar.definitions[0] if grammar.definitions else None
        span = start.name_span if start else Span(0, 0)
        return Nonterminal(f"{prefix}start", span)

    def _schema(self, span: Span) -> Expression:
        tree = self.asking.schema(span)
        prefix = self._fresh("json") + "_"
        self.inner += [
            Rule(prefix + rule.name, renamed(rule.body, prefix.__add__), rule.name_span, rule.span)
            for rule in tree.rules
        ]
        return Nonterminal(f"{prefix}start", span)

    def _inside(self, scope: Scope = _TERMINAL) -> Callable[[Body], Expression]:
        """How bodies are lowered that stand inside a terminal."""
        return lambda body: self._lower(body, replace(scope, lexical=True))

    def _written(self, name: str) -> Expression | None:
        """A rule that nobody wrote as such; a use of a template is written now."""
        if (use := self.uses.taken(name)) is not None:
            self._write_use(*use)
        others = (*self.used, *self.more, *self.counting.rules, *self.inner)
        return next((rule.body for rule in others if rule.name == name), None)


def parse_lark(
    source: Source,
    clock: Clock | None = None,
    beyond: LanguageOperations | None = None,
    start: str = "start",
) -> GrammarTree:
    """The rules of a grammar: those written, then those made of templates and the like.

    ``beyond`` makes what syntax cannot: ``&``, ``~``, lazy rules, ``%json``. What is ignored may
    stand before the ``start``.

    Cost:   linear in the text, but for templates and parameters: a rule for each use.
    Raises: ParseError of kind ``syntax``, ``bad_escape``, ``bad_regex``, ``unsupported_regex`` or
            ``unsupported`` (what no machine over texts can be made of, by its name); BuildError
            of kind ``undefined_nonterminal``, or what ``beyond`` raises; LimitError.
    Source: Lark 1.3, docs/grammar.md; llguidance, docs/syntax.md.
    """
    rules = lowered(source, read(source, clock), start, beyond, clock)
    return GrammarTree(rules, source, counted="~{low}..{high}")
