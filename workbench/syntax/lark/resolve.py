"""Resolves names in a Lark grammar: imports, templates, rules with a parameter.

Imported terminals come from the modules of the installed lark, together with the terminals they
call. Two of ``common`` are redefined by what they match, without lookbehind and lazy repetitions,
so that they are read faster. ``%override`` and ``%extend`` change an earlier definition; a
duplicate name is an error.

Equal uses of a template share one rule. The rules are lowered from a queue, because a template may
use itself.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import cast

from workbench.base.diagnostics import suggestion
from workbench.base.errors import BuildError, ParseError
from workbench.base.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Nonterminal,
    called,
    calls,
    renamed,
    shape,
    with_span,
)
from workbench.syntax.lark.lark_tree import (
    Body,
    Definition,
    Imported,
    Indexed,
    LarkGrammar,
    TemplateUse,
)
from workbench.syntax.lark.right_sides import argument_value

#: Redefinitions. A string of Lark ends at the first quote after an even number of backslashes.
_REDEFINED = r"""
ESCAPED_STRING: "\"" /([^"\\\n]|\\.)*/ "\""
C_COMMENT: /\/\*([^*]|\*+[^*\/])*\*+\//
"""
_NAME = re.compile(r"^(\w+)\s*:", re.MULTILINE)


@cache
def module_terminals(module: str) -> Mapping[str, Definition]:
    """All terminals of one of lark's ``MODULES`` by name."""
    from workbench.syntax.lark.lark_parser import parse_statements

    text = files("lark").joinpath("grammars", f"{module}.lark").read_text(encoding="utf-8")
    if module == "common":
        given = set(_NAME.findall(_REDEFINED))
        kept = [line for line in text.splitlines() if line.split(":")[0].strip() not in given]
        text = "\n".join(kept) + _REDEFINED
    definitions = parse_statements(Source(text, module)).definitions
    return {each.name: each for each in definitions if each.is_terminal}


def with_dependencies(name: str, terminals: Mapping[str, Definition]) -> tuple[str, ...]:
    """A terminal of a module, then all terminals it calls."""
    names, waiting = {name: None}, [name]
    while waiting:
        calls = called(cast("Expression", terminals[waiting.pop(0)].body))
        new = [call for call in calls if call not in names]
        names |= dict.fromkeys(new)
        waiting += new
    return tuple(names)


def definitions_by_name(source: Source, grammar: LarkGrammar) -> dict[str, Definition]:
    """All definitions by name in source order, then the imported ones.

    Raises: ParseError for a name that is defined twice, or changed before it is defined.
    """
    own_names = {definition.name for definition in grammar.definitions if not definition.changing}
    imported = _import_terminals(source, grammar.imports, own_names)
    definitions: dict[str, Definition] = {}
    for definition in grammar.definitions:
        if definition.changing:
            before = definitions.get(definition.name) or imported.pop(definition.name, None)
            if before is not None and definition.changing == "override":
                imported = _with_original(before, imported)
            definitions[definition.name] = _change(source, definition, before)
        elif (
            twice := definitions.get(definition.name) or imported.get(definition.name)
        ) is not None:
            line, _ = source.position(twice.span.start)
            message = f"{definition.name!r} is already defined in line {line}"
            hint = "write its alternatives together, or change it by %extend or %override"
            raise ParseError(message, source, definition.name_span, hint)
        else:
            definitions[definition.name] = definition
    return {
        **definitions,
        **{name: definition for name, definition in imported.items() if name not in definitions},
    }


def _with_original(before: Definition, imported: Mapping[str, Definition]) -> dict[str, Definition]:
    """The imported terminals, which call the original of one that is overridden, as in Lark."""

    def name(call: str) -> str:
        return f"COMMON__{call}" if call == before.name else call

    changed = {
        key: replace(definition, body=renamed(cast("Expression", definition.body), name))
        for key, definition in imported.items()
    }
    if any(
        before.name in called(cast("Expression", definition.body))
        for definition in imported.values()
    ):
        original = name(before.name)
        changed[original] = replace(before, name=original)
    return changed


def _change(source: Source, change: Definition, before: Definition | None) -> Definition:
    if before is None:
        raise ParseError(
            f"{change.name!r} cannot be changed: it is not defined before",
            source,
            change.name_span,
            "import it, or define it without a statement",
        )
    if change.changing == "override":
        return change
    bodies = cast("tuple[Expression, ...]", (before.body, change.body))
    return replace(before, body=Choice(bodies, change.span))


def _import_terminals(
    source: Source, imports: tuple[Imported, ...], own_names: set[str]
) -> dict[str, Definition]:
    """The imported terminals and those they call, under their names in this grammar."""
    imported: dict[str, Definition] = {}
    for module in dict.fromkeys(statement.path[0] for statement in imports):
        statements = [statement for statement in imports if statement.path[0] == module]
        taken = own_names | imported.keys()
        imported |= _import_from(source, module, statements, taken)
    return imported


def _import_from(
    source: Source, module: str, statements: Sequence[Imported], taken: Set[str]
) -> dict[str, Definition]:
    terminals = module_terminals(module)
    given: dict[str, str] = {}
    spans: dict[str, Span] = {}
    for statement in statements:
        name = statement.path[-1]
        if name not in terminals:
            some = ", ".join(list(terminals)[:3])
            otherwise = "it has WS, NUMBER, CNAME and others" if module == "common" else ""
            hint, fix = suggestion(name, terminals, otherwise or f"it has {some} and others")
            message = f"Lark's module {module!r} has no terminal {name!r}"
            raise ParseError(message, source, statement.name_span, hint, fix=fix)
        given.setdefault(name, statement.alias)
        for part in with_dependencies(name, terminals):
            spans.setdefault(part, statement.span)
    taken = {*taken, *given.values()}
    for name in spans:
        given.setdefault(name, f"{module.upper()}__{name}" if name in taken else name)
    imported = {}
    for statement in statements:
        terminal = with_span(terminals[statement.path[-1]], statement.span)
        imported[statement.alias] = _renamed(terminal, statement.alias, given)
    for name, span in spans.items():
        terminal = with_span(terminals[name], span)
        imported.setdefault(given[name], _renamed(terminal, given[name], given))
    return imported


def _renamed(terminal: Definition, name: str, given: Mapping[str, str]) -> Definition:
    """A terminal of a module under another name."""
    body = renamed(cast("Expression", terminal.body), given.__getitem__)
    return replace(terminal, name=name, body=body)


def undefined_name(
    source: Source, call: Nonterminal, definitions: Mapping[str, object]
) -> BuildError:
    """The error for a call of an undefined name."""
    message = f"no rule or terminal is called {call.name!r}"
    kind = "undefined_nonterminal"
    if call.name in module_terminals("common"):
        hint = f"write %import common.{call.name}"
        end = len(source.text)
        line = ("" if source.text.endswith("\n") else "\n") + f"%import common.{call.name}\n"
        error = BuildError(message, source, call.span, hint, kind)
        # a nested grammar has its own imports
        return error if "%lark" in source.text else error.with_fix(line, Span(end, end))
    otherwise = f"add a line such as  {call.name}: …"
    # rules of other grammars and terminals that were renamed have signs no name has
    names = (name for name in definitions if name.replace("_", "").isalnum())
    hint, fix = suggestion(call.name, names, otherwise)
    return BuildError(message, source, call.span, hint, kind, fix)


@dataclass(slots=True, eq=False)
class Terminals:
    """The terminals of a grammar, lowered on first use and cached."""

    source: Source
    known: Mapping[str, Definition]
    #: The prefix of all rule names of a nested grammar.
    prefix: str
    lower: Callable[[Body], Expression]
    #: Returns the body of a generated rule by name.
    written: Callable[[str], Expression | None]
    found: dict[str, Expression] = field(default_factory=dict)
    #: Rules with attributes, which are terminals.
    cut: dict[str, Expression] = field(default_factory=dict)
    #: The names of rules that became part of an automaton.
    absorbed: set[str] = field(default_factory=set)
    _in_progress: set[str] = field(default_factory=set)

    def of(self, name: str, definition: Definition) -> Expression:
        """The expression of a terminal.

        Raises: ParseError for a recursive terminal.
        """
        if name not in self.found:
            if name in self._in_progress:
                raise self._recursion_error(definition.name, definition.name_span)
            self._in_progress.add(name)
            self.found[name] = self.lower(definition.body)
            self._in_progress.discard(name)
        return self.found[name]

    def called_by(self, *bodies: Expression) -> dict[str, Expression]:
        """All terminals that expressions call, directly or not, by name."""
        rules: dict[str, Expression] = {}
        waiting = [call for body in bodies for call in calls(body)]
        while waiting:
            call = waiting.pop()
            if call.name not in rules:
                rules[call.name] = self._body(call)
                waiting += calls(rules[call.name])
        self.absorbed.update(rules)
        return rules

    def _body(self, call: Nonterminal) -> Expression:
        if call.name in self.cut:
            return self.cut[call.name]
        if (definition := self.known.get(call.name.removeprefix(self.prefix))) is not None:
            return self.of(call.name, definition)
        body = self.written(call.name)
        if body is None:  # being lowered
            raise self._recursion_error(call.name, call.span)
        return body

    def _recursion_error(self, name: str, span: Span) -> ParseError:
        message = f"the terminal {name!r} is made of itself"
        hint = "a rule may call itself: write its name in small letters"
        return ParseError(message, self.source, span, hint)


#: The most rules of all uses, and the deepest nesting of templates.
_MAX_RULES, _MAX_DEPTH = 10_000, 64


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The context of a body."""

    #: Inside a terminal no text is ignored, and rules cannot be called.
    lexical: bool
    #: The arguments of a template, by parameter.
    given: Mapping[str, Expression] = field(default_factory=dict)
    #: The value of llguidance's parameter.
    parameter: int | None = None
    #: The nesting depth of templates.
    deep: int = 0


@dataclass(slots=True, eq=False)
class Instances:
    """Uses of templates and parametric rules: one rule per distinct use, queued for lowering."""

    source: Source
    known: Mapping[str, Definition]
    fresh: Callable[[str], str]
    waiting: deque[tuple[str, Definition, Scope]] = field(default_factory=deque)
    _names: dict[object, str] = field(default_factory=dict)

    def template(self, use: TemplateUse) -> Definition:
        """The template of a use.

        Raises: ParseError for a wrong number of arguments; BuildError for an undefined name.
        """
        template = self._definition(use.name, use.span)
        if len(template.parameters) != len(use.arguments):
            message = f"{use.name!r} takes {len(template.parameters)} parameters"
            raise ParseError(message, self.source, use.span, "give it one for each")
        return template

    def applied(self, use: TemplateUse, arguments: Sequence[Expression], around: Scope) -> str:
        """The rule name of a template with these arguments.

        Raises: ParseError for templates that are nested too deeply.
        """
        template = self.template(use)
        given = dict(zip(template.parameters, arguments, strict=True))
        scope = Scope(template.is_terminal, given, deep=around.deep + 1)
        if scope.deep > _MAX_DEPTH:
            message = f"templates are nested deeper than {_MAX_DEPTH}"
            hint = "let a template pass only its own parameters to itself"
            raise ParseError(message, self.source, use.span, hint, "unsupported")
        key = (use.name, tuple(map(shape, arguments)))
        named = [part.name for part in use.arguments if isinstance(part, Nonterminal)]
        return self._use(key, "_".join([use.name, *named[:1]]), template, scope, use.span)

    def indexed(self, use: Indexed, parameter: int | None) -> str:
        """The rule name of a use of a parametric rule; ``parameter`` is the caller's."""
        definition = self._definition(use.name, use.span)
        if not definition.indexed:
            message, hint = f"{use.name!r} takes no parameter", f"write {use.name}::_ : …"
            raise ParseError(message, self.source, use.span, hint)
        if parameter is None and use.argument.function != "number":
            hint = "write a number, as in name::0"
            raise ParseError("there is no parameter here", self.source, use.argument.span, hint)
        number = argument_value(use.argument, parameter or 0)
        scope = Scope(definition.is_terminal, parameter=number)
        return self._use((use.name, number), f"{use.name}_{number}", definition, scope, use.span)

    def taken(self, name: str) -> tuple[str, Definition, Scope] | None:
        """Remove a rule from the queue, to lower it now."""
        for index, waiting in enumerate(self.waiting):
            if waiting[0] == name:
                del self.waiting[index]
                return waiting
        return None

    def _definition(self, name: str, span: Span) -> Definition:
        if name not in self.known:
            name_span = Span(span.start, span.start + len(name))
            raise undefined_name(self.source, Nonterminal(name, name_span), self.known)
        return self.known[name]

    def _use(self, key: object, base: str, definition: Definition, scope: Scope, span: Span) -> str:
        if key not in self._names:
            if len(self._names) == _MAX_RULES:
                message = f"{definition.name!r} and others come to more than {_MAX_RULES:,} rules"
                hint = "let a parameter take fewer values"
                raise ParseError(message, self.source, span, hint, "unsupported")
            self._names[key] = self.fresh(base)
            self.waiting.append((self._names[key], definition, scope))
        return self._names[key]
