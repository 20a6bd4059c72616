"""Names: the statements of a Lark grammar in, each definition by its one name out.

``%override`` and ``%extend`` change what is there, imported terminals bring those they are made
of along; a name that would be taken twice is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import cast

from workbench.errors import BuildError, ParseError
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import Choice, Expression, Nonterminal
from workbench.syntax.lark.common import common_terminals, needed, placed
from workbench.syntax.lark.nodes import Definition, Imported, LarkGrammar
from workbench.syntax.renaming import renamed


def named(source: Source, grammar: LarkGrammar) -> dict[str, Definition]:
    """All definitions by name, in the order written; what is imported comes last.

    Raises: ParseError where a name is defined twice or changed before it is there.
    """
    own = {one.name for one in grammar.definitions if not one.changing}
    brought = _brought(source, grammar.imports, own)
    known: dict[str, Definition] = {}
    for one in grammar.definitions:
        if one.changing:
            before = known.get(one.name) or brought.pop(one.name, None)
            known[one.name] = _changed(source, one, before)
        elif (twice := known.get(one.name) or brought.get(one.name)) is not None:
            line, _ = source.position(twice.span.start)
            message = f"{one.name!r} is already defined in line {line}"
            hint = "write its alternatives together, or change it by %extend or %override"
            raise ParseError(message, source, one.name_span, hint)
        else:
            known[one.name] = one
    return {**known, **{name: one for name, one in brought.items() if name not in known}}


def _changed(source: Source, change: Definition, before: Definition | None) -> Definition:
    if before is None:
        raise ParseError(
            f"{change.name!r} cannot be changed: nothing is called so before",
            source,
            change.name_span,
            "import it, or define it without a statement",
        )
    if change.changing == "override":
        return change
    bodies = cast("tuple[Expression, ...]", (before.body, change.body))
    return replace(before, body=Choice(bodies, change.span))


def _brought(source: Source, imports: tuple[Imported, ...], own: set[str]) -> dict[str, Definition]:
    """The imported terminals under the names they are given here, with all they are made of."""
    given: dict[str, str] = {}
    spans: dict[str, Span] = {}
    for one in imports:
        name = one.path[-1]
        if name not in common_terminals():
            near = get_close_matches(name, list(common_terminals()), n=1)
            hint = f"did you mean {near[0]!r}?" if near else "it has WS, NUMBER, CNAME and others"
            message = f"Lark's module 'common' has no terminal {name!r}"
            raise ParseError(message, source, one.span, hint)
        given.setdefault(name, one.alias)
        for part in needed(name):
            spans.setdefault(part, one.span)
    for name in spans:
        given.setdefault(name, f"COMMON__{name}" if name in own else name)
    brought = {}
    for one in imports:
        brought[one.alias] = _here(one.path[-1], one.alias, one.span, given)
    for name, span in spans.items():
        brought.setdefault(given[name], _here(name, given[name], span, given))
    return brought


def _here(name: str, called: str, span: Span, given: Mapping[str, str]) -> Definition:
    """A terminal of the module as if it were written at the place of its import."""
    one = placed(common_terminals()[name], span)
    return replace(one, name=called, body=renamed(cast("Expression", one.body), given.__getitem__))


def undefined(source: Source, call: Nonterminal, known: Mapping[str, object]) -> BuildError:
    """The error for a call of a name that nothing is called by."""
    near = get_close_matches(call.name, list(known), n=1)
    if call.name in common_terminals():
        hint = f"write %import common.{call.name}"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"add a line such as  {call.name}: …"
    kind = "undefined_nonterminal"
    return BuildError(f"no rule or terminal is called {call.name!r}", source, call.span, hint, kind)
