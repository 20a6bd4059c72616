"""Parses the statements of a Lark grammar, without resolving names.

A statement begins with ``%``, or with a name at the beginning of a line that is followed by a
colon.

A comment ``//%indenter { … }`` has the attributes of lark's class ``Indenter``, which
``lark.indentation`` implements.

Both Lark's notation and llguidance's variant are supported; where they differ, ``lark.lowering``,
``lark.lark_lexer`` and ``lark.lazy`` state the choice. Rejected by name: tokens and ``max_tokens``,
which do not define texts; other files, ``@grammars`` and modules except ``common``.
"""

from __future__ import annotations

from workbench.base.diagnostics import nearest, suggestion
from workbench.base.errors import ParseError
from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.cursor import (
    Cursor,
    Part,
)
from workbench.syntax.kbnf.kbnf_lexer import END
from workbench.syntax.lark.lark_lexer import (
    LEXEME_NAMES,
    json_value,
    lark_lexemes,
)
from workbench.syntax.lark.lark_tree import (
    MODULES,
    Body,
    Definition,
    Imported,
    LarkGrammar,
)
from workbench.syntax.lark.right_sides import ITEM_HINT, RULE_HINT, STATEMENTS, Bodies
from workbench.syntax.rule_attributes import Attribute, take_attributes

#: All statements; each begins a line.
STATEMENT_NAMES = ("%import", "%ignore", "%declare", "%override", "%extend", "%llguidance")
STATEMENT_HINT = (
    f"the statements are {', '.join(STATEMENT_NAMES[:-1])} and {STATEMENT_NAMES[-1]}; "
    "in a rule there are %json, %regex and %lark"
)
#: The options of llguidance with their supported values.
_OPTIONS: dict[str, tuple[object, ...]] = {
    "allow_initial_skip": (True, False),
    "skip_repetition": ("once",),
    "no_forcing": (True, False),  # does not change the language
    "allow_invalid_utf8": (False,),
}


def parse_statements(source: Source, clock: Clock | None = None) -> LarkGrammar:
    """The statements of a grammar.

    Raises: ParseError, LimitError.
    """
    return _Statements(Cursor.of(source, lark_lexemes(source), LEXEME_NAMES, clock)).grammar()


class _Statements(Bodies):
    """Recursive descent over a grammar and its nested grammars."""

    def grammar(self, end: str = END) -> LarkGrammar:
        """grammar = (definition | statement)*; it ends at ``end``."""
        cursor = self.cursor
        definitions: list[Definition] = []
        imports: list[Imported] = []
        ignored: list[Body] = []
        declared: list[tuple[str, Span]] = []
        indenter: tuple[object, Span] | None = None
        options: dict[str, object] | None = None
        while (kind := cursor.kinds[cursor.at]) != end:
            if kind not in STATEMENTS:
                definitions.append(self._definition())
                continue
            statement = cursor.take("STATEMENT")
            if statement is None:
                if cursor.skip("OPTIONS"):
                    options = {**(options or {}), **self._options()}
                else:
                    cursor.skip("INDENTER")
                    given = cursor.expect("OBJECT", "an object of attributes", "write {}")
                    span = Span(given.start, given.end)
                    indenter = json_value(self.source, given), span
                continue
            match cursor.text(statement):
                case "%import":
                    imports += self._imports(statement)
                case "%ignore":
                    ignored.append(self.choice())
                case "%declare":
                    while not self.at_definition() and (name := cursor.take("NAME")):
                        declared.append((cursor.text(name), Span(name.start, name.end)))
                case "%override" | "%extend" as changing:
                    definitions.append(self._definition(changing[1:]))
                case other:
                    raise self._no_statement(statement, other)
        return LarkGrammar(
            tuple(definitions),
            tuple(imports),
            tuple(ignored),
            tuple(declared),
            indenter,
            options,
        )

    def _no_statement(self, part: Part, name: str) -> ParseError:
        span, message = Span(part.start, part.end), f"there is no statement {name}"
        hint, fix = suggestion(name, STATEMENT_NAMES, STATEMENT_HINT)
        return ParseError(message, self.source, span, hint, fix=fix)

    def _options(self) -> dict[str, object]:
        """options = ("%llguidance" | "%grammar_options") JSON."""
        value = self.cursor.expect("OBJECT", "an object of options", "write {}")
        span, options = Span(value.start, value.end), json_value(self.source, value)
        if not isinstance(options, dict):
            raise self.cursor.error("expected an object of options", span, "write { … }")
        for name, given in options.items():
            if given not in _OPTIONS.get(name, ()):
                what = f"the option {name!r} like this"
                raise self.cursor.refused(
                    what, span, "leave it out, if the texts may stay the same"
                )
        return options

    def _imports(self, statement: Part) -> list[Imported]:
        """import = "%import" path ("->" name | "(" name ("," name)* ")")?."""
        cursor = self.cursor
        hint = "write for example %import common.WS"
        if dot := cursor.take("DOT", "RANGE"):
            span = Span(statement.start, dot.end)
            raise cursor.refused("another file", span, "copy the rules it has into this grammar")
        path = [cursor.expect("NAME", "a module's name", hint)]
        while cursor.take("DOT"):
            path.append(cursor.expect("NAME", "a name", hint))
        if cursor.take("LPAR"):
            names = [cursor.expect("NAME", "a name", hint)]
            while cursor.take("COMMA"):
                names.append(cursor.expect("NAME", "a name", hint))
            cursor.expect("RPAR", "',' or ')'", hint)
            return [self._import(path, name, None) for name in names]
        if len(path) == 1:
            raise cursor.unexpected("a dot and a name", hint)
        alias = cursor.take("ALIAS") and cursor.expect("NAME", "a name", hint)
        return [self._import(path[:-1], path[-1], alias)]

    def _import(self, path: list[Part], name: Part, alias: Part | None) -> Imported:
        span = Span(path[0].start, name.end)
        words = tuple(self.cursor.text(part) for part in (*path, name))
        if words[0] not in MODULES or len(words) != 2:
            error = self.cursor.refused(
                f"the module {'.'.join(words[:-1])!r}",
                span,
                "only the terminals of Lark's own modules common, python and unicode are known; "
                "copy the rules here",
            )
            if len(words) == 2 and (module := nearest(words[0], MODULES)):
                raise error.with_fix(module, Span(path[0].start, path[0].end))
            raise error
        name_span = Span(name.start, name.end)
        return Imported(words, self.cursor.text(alias or name), span, name_span)

    def _definition(self, changing: str = "") -> Definition:
        """definition = modifiers? name parameters? attributes? priority? ":" choice."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        cursor.skip("MODIFIER")
        name = cursor.expect("NAME", "a rule", RULE_HINT)
        kinds = cursor.kinds
        parameters = self._parameters() if kinds[cursor.at] == "LBRACE" else ()
        attributes: tuple[Attribute, ...] = ()
        if kinds[cursor.at] == "ATTRIBUTES":
            attributes = take_attributes(cursor, self._attribute_value)
        colons = cursor.starts[cursor.at]
        indexed = cursor.skip("PARAMETER")
        if indexed:
            if self.source.text.startswith("::=", colons):
                span = Span(colons, colons + 3)
                raise ParseError("expected ':', not '::='", self.source, span, RULE_HINT, fix=":")
            cursor.expect("NAME", "'_'", "a rule with a parameter is written name::_ : …")
        priority = cursor.take("PRIORITY")
        cursor.expect("COLON", "':'", RULE_HINT)
        body = self.choice()
        if not (self.at_definition() or cursor.ahead(END, "RBRACE", *STATEMENTS)):
            raise cursor.unexpected("'|', another item or the next rule", ITEM_HINT)
        return Definition(
            cursor.text(name),
            body,
            Span(name.start, name.end),
            cursor.since(start),
            parameters,
            indexed,
            attributes,
            changing,
            int(cursor.text(priority)[1:]) if priority else 0,
        )

    def _parameters(self) -> tuple[str, ...]:
        """parameters = "{" name ("," name)* "}"."""
        cursor = self.cursor
        hint = "a template is written name{a, b}: …"
        cursor.take("LBRACE")
        names = [cursor.expect("NAME", "a parameter's name", hint)]
        while cursor.take("COMMA"):
            names.append(cursor.expect("NAME", "a parameter's name", hint))
        cursor.expect("RBRACE", "',' or '}'", hint)
        return tuple(map(cursor.text, names))

    def _attribute_value(self) -> Body | str:
        """value = number | item."""
        start = self.cursor.here.start
        if not self.cursor.take("NUMBER", "PRIORITY"):
            return self.item()
        self.cursor.take("PRIORITY")  # 0.7 looks like a number with a priority
        return self.source.text[start : self.cursor.since(start).end]
