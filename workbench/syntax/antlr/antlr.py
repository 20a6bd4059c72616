"""Parses ANTLR 4 grammars to a grammar tree, through the tree of Lark's reader.

A rule of the lexer becomes a terminal, and what ``skip`` or another channel hides from the parser
becomes ignored text. A text is accepted if it can be split into tokens in any way that the rules
allow: that ANTLR takes the longest token, and of equally long ones the first rule's, is not
enforced, and a note says so. A repetition ``x*?`` in the lexer ends where ANTLR ends it: from there
on, the first alternative that matches counts. Actions, predicates and modes are left out, with
notes; precedence and associativity choose between trees of a text, and change no text.

Source: ANTLR 4.13, ``doc/lexer-rules.md``, ``doc/parser-rules.md``, ``doc/wildcard.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

from workbench.base.diagnostics import Advice
from workbench.base.errors import BuildError, ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.antlr.antlr_parser import AntlrParser
from workbench.syntax.antlr.antlr_tree import AntlrGrammar, AntlrRule, AnyToken, EndOfText
from workbench.syntax.antlr.antlr_tree import LazyRepetition as Lazy
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    all_called,
    asserted_pattern,
    calls,
    choice,
)
from workbench.syntax.lark.lark_tree import Definition, LarkGrammar, no_text
from workbench.syntax.lark.lowering import lowered
from workbench.syntax.leaves import undefined_rule
from workbench.syntax.ranges import ANY_CHARACTER
from workbench.syntax.regex.tree import (
    Alternate,
    Characters,
    Concat,
    Look,
    LookKind,
    Operation,
    Regex,
    Repeat,
    combined,
)
from workbench.syntax.rule_attributes import LanguageOperations

#: The most nodes of a regex with a lazy repetition.
_MAX_NODES = 20_000
#: The rule of a grammar without rules of the parser: any tokens.
_TOKENS = "tokens"


@dataclass(frozen=True, slots=True, eq=False)
class ReadAntlr:
    """The rules of a text, its start, and what its reader says about them."""

    tree: GrammarTree
    start: str
    notes: tuple[Advice, ...]


def parse_antlr(
    source: Source,
    clock: Clock | None = None,
    operations: LanguageOperations | None = None,
    start: str = "start",
) -> ReadAntlr:
    """The rules of a grammar in source order, then the generated ones.

    The default ``start`` is the first rule of the parser. ``operations`` implements lazy
    repetitions.

    Cost:   linear in the text, except for lazy repetitions.
    Raises: ParseError of kind ``syntax``, ``bad_escape`` or ``unsupported`` (an import, ``more``, a
            token without a rule); BuildError of kind ``undefined_nonterminal``; LimitError.
    """
    grammar = AntlrParser(source, clock).parse()
    start = _start(grammar, start)
    translation = _Translation(source, grammar, start, operations)
    translation.check_defined()
    lark = translation.lark()
    tree = lowered(source, lark, start, operations, clock)
    tree = replace(tree, counted="", calling="{name} : {called} ;")
    return ReadAntlr(tree, start, tuple(_notes(grammar, translation.greedy)))


def _start(grammar: AntlrGrammar, start: str) -> str:
    if start != "start" or start in grammar.rules:
        return start
    return next((rule.name for rule in grammar.rules.values() if not rule.is_lexical), _TOKENS)


@dataclass(slots=True, eq=False)
class _Translation:
    """Translates the rules of a grammar to those of Lark."""

    source: Source
    grammar: AntlrGrammar
    start: str
    operations: LanguageOperations | None
    #: By name, the bodies of the rules as they are parsed.
    bodies: dict[str, Expression] = field(init=False)
    #: The tokens of the parser.
    tokens: dict[str, Expression] = field(init=False)
    is_start_called: bool = field(init=False)
    #: The lazy repetitions of rules that call themselves, which are read as others.
    greedy: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        rules = self.grammar.rules
        self.bodies = {
            name: choice([each.body for each in rule.alternatives], rule.span)
            for name, rule in rules.items()
        }
        self.is_start_called = any(
            call.name == self.start for body in self.bodies.values() for call in calls(body)
        )
        self.tokens = {
            name: Nonterminal(name, rule.name_span)
            for name, rule in rules.items()
            if rule.is_lexical
            and not rule.is_fragment
            and not all(each.is_ignored for each in rule.alternatives)
        }
        self.tokens |= {f"'{text}'": node for text, node in self.grammar.literals.items()}

    def check_defined(self) -> None:
        """Check that every called rule is defined, and every token that is used has texts.

        Raises: BuildError of kind ``undefined_nonterminal``; ParseError for a declared token.
        """
        typed = {name for name, _ in self._types()}
        for body in self.bodies.values():
            for call in calls(body):
                name = call.name
                if name in self.bodies or name in typed:
                    continue
                if name in self.grammar.declared:
                    message = f"the token {name!r} is declared and has no texts"
                    hint = "its texts are chosen by actions; write a rule for it"
                    raise ParseError(message, self.source, call.span, hint, "unsupported")
                raise self._undefined(call)

    def _undefined(self, call: Nonterminal) -> BuildError:
        vocabulary = self.grammar.vocabulary
        if vocabulary and call.name[:1].isupper():
            message = f"the rule {call.name!r} is not written"
            hint = f"put the text of {vocabulary}.g4 before this one"
            return BuildError(message, self.source, call.span, hint, "undefined_nonterminal")
        otherwise = f"add a line  {call.name} : … ;"
        return undefined_rule(self.source, call, self.bodies, otherwise)

    def _types(self) -> list[tuple[str, Nonterminal]]:
        """Pairs of a token and a rule whose texts become it by ``type(…)``."""
        return [
            (command.argument, Nonterminal(rule.name, command.span))
            for rule in self.grammar.rules.values()
            for each in rule.alternatives
            for command in each.commands
            if command.name == "type"
        ]

    def lark(self) -> LarkGrammar:
        """The grammar as Lark's reader would have it.

        Raises: ParseError for a lazy repetition in a rule that calls itself.
        """
        called = {call.name for body in self.bodies.values() for call in calls(body)}
        definitions = {
            name: Definition(name, self._body(rule), rule.name_span, rule.span)
            for name, rule in self.grammar.rules.items()
            if name in called
            or name == self.start
            or not all(each.is_ignored for each in rule.alternatives)
        }
        for name, rule in self._types():
            before = definitions.get(name)
            if before is None:
                definitions[name] = Definition(name, rule, rule.span, rule.span)
            elif name != rule.name:
                bodies = cast("tuple[Expression, ...]", (before.body, rule))
                definitions[name] = replace(before, body=Choice(bodies, before.span))
        if self.start == _TOKENS and _TOKENS not in definitions:
            span = Span(0, 0)
            tokens = Repetition(self._any_token(AnyToken((), span)), 0, None, span)
            definitions[_TOKENS] = Definition(_TOKENS, tokens, span, span)
        ignored = tuple(
            self._in_lexer(each.body)
            for rule in self.grammar.rules.values()
            if rule.is_lexical and not rule.is_fragment
            for each in rule.alternatives
            if each.is_ignored
        )
        # with options of llguidance the regexes of terminals are sets of texts
        return LarkGrammar(
            tuple(definitions.values()), ignored=ignored, options={"allow_initial_skip": True}
        )

    def _body(self, rule: AntlrRule) -> Expression:
        if not rule.is_lexical:
            return self._in_parser(self.bodies[rule.name])
        # of a rule with alternatives of both kinds, the parser has only the others
        kept = [each for each in rule.alternatives if not each.is_ignored] or rule.alternatives
        return self._in_lexer(choice([each.body for each in kept], rule.span))

    # -- the parser --------------------------------------------------------------------------------

    def _in_parser(self, node: Expression) -> Expression:
        if isinstance(node, AnyToken):
            return self._any_token(node)
        if isinstance(node, EndOfText):
            is_last = not self.is_start_called and self._is_in_start(node)
            return Sequence((), node.span) if is_last else _end(node.span)
        return node.rebuild(self._in_parser)

    def _is_in_start(self, node: EndOfText) -> bool:
        rule = self.grammar.rules.get(self.start)
        return rule is not None and rule.span.start <= node.span.start < rule.span.end

    def _any_token(self, node: AnyToken) -> Expression:
        """One of all tokens but those that are excepted."""
        excluded = {self._literal(name) for name in node.excluded} - {None}
        kept = [
            replace(token, span=node.span)
            for name, token in self.tokens.items()
            if name not in node.excluded and self._literal(name) not in excluded
        ]
        return choice(kept, node.span) if kept else no_text(node.span)

    def _literal(self, name: str) -> bytes | None:
        """The text of a token that is one string, by its name or its text between quotes."""
        if name.startswith("'"):
            return name[1:-1].encode()
        body = self.bodies.get(name)
        return body.value if isinstance(body, Literal) else None

    # -- the lexer ---------------------------------------------------------------------------------

    def _in_lexer(self, node: Expression) -> Expression:
        """The body of a rule of the lexer, with an automaton from each lazy repetition on."""
        if isinstance(node, EndOfText):
            return Sequence((), node.span)
        if isinstance(node, Choice | Nonterminal) or not self._has_lazy(node, frozenset()):
            return node.rebuild(self._in_lexer)
        items = node.items if isinstance(node, Sequence) else (node,)
        first = next(n for n, item in enumerate(items) if self._has_lazy(item, frozenset()))
        before = [self._in_lexer(item) for item in items[:first]]
        rest = items[first:]
        if self._calls_itself(rest):
            self.greedy.append(rest[0].span)
            return Sequence((*before, *map(self._as_greedy, rest)), node.span)
        last = rest[0] if isinstance(rest[0], Nonterminal) and len(rest) == 1 else self._lazy(rest)
        return Sequence((*before, last), node.span)

    def _calls_itself(self, items: tuple[Expression, ...]) -> bool:
        """Whether items call, directly or not, a rule that calls itself."""
        names = {name for item in items for name in all_called(item, self.bodies)}
        return any(name in all_called(self.bodies[name], self.bodies) for name in names)

    def _as_greedy(self, node: Expression) -> Expression:
        """A body with ordinary repetitions: its texts may continue where ANTLR's end."""
        if isinstance(node, EndOfText):
            return Sequence((), node.span)
        if isinstance(node, Lazy):
            return Repetition(self._as_greedy(node.item), node.low, node.high, node.span)
        return node.rebuild(self._as_greedy)

    def _has_lazy(self, node: Expression, visited: frozenset[str]) -> bool:
        """Whether a lazy repetition is in a body, or in a rule that it calls."""
        if isinstance(node, Nonterminal):
            name = node.name
            return name not in visited and self._has_lazy(self.bodies[name], visited | {name})
        return isinstance(node, Lazy) or any(self._has_lazy(n, visited) for n in node.children)

    def _lazy(self, items: tuple[Expression, ...]) -> Expression:
        """The matches of a lazy repetition and what follows it in its row."""
        span = items[0].span.to(items[-1].span)
        remaining = _MAX_NODES

        def regex(node: Expression) -> Regex:
            nonlocal remaining
            remaining -= 1
            if remaining < 0:
                raise self._refusal(span, "it needs too large an automaton")
            match node:
                case Literal(value):
                    letters = (
                        Characters(((code, code),), span) for code in map(ord, value.decode())
                    )
                    return Concat(tuple(letters), span)
                case Pattern(regex=tree):
                    return tree
                case Nonterminal(name=name):
                    return regex(self.bodies[name])
                case Repetition(item, low, high, _):
                    return Repeat(regex(item), low, high, span)
                case Lazy(item, low, high, _):
                    return Repeat(regex(item), low, high, span, lazy=True)
                case Sequence(parts):
                    return Concat(tuple(regex(part) for part in parts), span)
                case Choice(parts):
                    return Alternate(tuple(regex(part) for part in parts), span)
                case _:  # the end of the text
                    return Concat((), span)

        whole = Concat(tuple(regex(item) for item in items), span)
        if self.operations is None:
            raise self._refusal(span, "it needs automata")
        matches = combined(Operation.LEFTMOST_FIRST, whole)
        return self.operations.terminal(matches, self.source.text[span.start : span.end], span)

    def _refusal(self, span: Span, reason: str) -> ParseError:
        message = f"this repetition with as few copies as possible cannot be read: {reason}"
        hint = "write what it may contain, such as ~[*]* instead of .*?"
        return ParseError(message, self.source, span, hint, "unsupported")


def _end(span: Span) -> Expression:
    """The end of the text, as an assertion."""
    look = Look(LookKind.NOT_AHEAD, Characters(ANY_CHARACTER, span), span)
    return asserted_pattern(look, r"(?![\s\S])", span)


def _notes(grammar: AntlrGrammar, greedy: list[Span]) -> list[Advice]:
    lexical = [rule for rule in grammar.rules.values() if rule.is_lexical]
    notes: list[Advice] = []
    if lexical:
        message = "a text may be split into any tokens, not only into the longest ones"
        hint = "ANTLR also takes the first rule of equally long tokens: a keyword is no name there"
        notes.append(Advice(message, lexical[0].name_span, "longest_match", hint))
    if places := grammar.predicates:
        hint = "texts that they forbid are accepted"
        notes.append(Advice(_left_out("predicates", places), places[0], "predicate", hint))
    if places := grammar.actions:
        hint = "they run in a program, and may change its tokens"
        notes.append(Advice(_left_out("actions", places), places[0], "action", hint))
    if places := greedy:
        message = _left_out("ends of repetitions with as few copies as possible", places)
        hint = "in a rule that calls itself, a token may continue where ANTLR's ends"
        notes.append(Advice(message, places[0], "lazy_repetition", hint))
    if places := grammar.modes:
        hint = "a token of any mode may be anywhere"
        notes.append(Advice(_left_out("lexer modes", places), places[0], "lexer_mode", hint))
    return sorted(notes, key=lambda note: note.span.start)


def _left_out(what: str, places: list[Span]) -> str:
    count = f": {len(places):,}, the first here" if len(places) > 1 else ""
    return f"{what} are left out{count}"
