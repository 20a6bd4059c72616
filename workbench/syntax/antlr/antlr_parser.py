"""Parses an ANTLR 4 grammar, or those of a lexer and a parser one after the other.

Source: ANTLR 4.13, ``ANTLRv4Parser.g4`` and its documentation.
"""

from __future__ import annotations

import re
from typing import cast

from workbench.base.limits import Clock
from workbench.base.source import Source, Span
from workbench.syntax.antlr.antlr_lexer import (
    LEXEME_NAMES,
    antlr_lexemes,
    set_ranges,
    text_of,
    with_cases,
)
from workbench.syntax.antlr.antlr_tree import (
    Alternative,
    AntlrGrammar,
    AntlrRule,
    AnyToken,
    Command,
    EndOfText,
    LazyRepetition,
)
from workbench.syntax.cursor import POSTFIX, Cursor, Part
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Sequence,
    Stop,
)
from workbench.syntax.kbnf.kbnf_lexer import END
from workbench.syntax.leaves import one_of
from workbench.syntax.ranges import ANY_CHARACTER, Ranges, difference, normalized, union
from workbench.syntax.regex.printer import class_text
from workbench.syntax.regex.tree import Characters, Concat

_ITEM = "a string, a set, a rule's name or a bracket"
_HINT = "write text in quotes, as in 'text'"
_RULE_HINT = "a rule is written name : … ;"
_COMMANDS = ("skip", "channel", "type", "mode", "pushMode", "popMode", "more")
_MODIFIERS = frozenset({"fragment", "public", "private", "protected"})
#: Words before arguments, exceptions or variables of a rule.
_ATTRIBUTES = frozenset({"returns", "locals", "throws", "options"})
_OPTION = re.compile(r"(\w+)\s*=\s*('[^']*'|[\w.]+)")


class AntlrParser:
    """Recursive descent; the docstring of each method is the rule that it parses."""

    def __init__(self, source: Source, clock: Clock | None) -> None:
        self.cursor = Cursor.of(source, antlr_lexemes(source), LEXEME_NAMES, clock)
        self.source = source
        self.grammar = AntlrGrammar()
        #: Whether the rule that is read is one of the lexer.
        self._lexical = False
        self._ignores_case = self._rule_ignores_case = False

    def parse(self) -> AntlrGrammar:
        """grammar = (header | options | tokens | action | mode | rule)*."""
        cursor = self.cursor
        while not cursor.ahead(END):
            word = cursor.text(cursor.here) if cursor.ahead("NAME") else ""
            if cursor.skip("AT"):
                self._named_action()
            elif cursor.ahead("ACTION", by=1) and word in ("options", "tokens", "channels"):
                cursor.skip("NAME")
                self._prequel(word)
            elif word == "import" and cursor.ahead("NAME", by=1):
                span = Span(cursor.here.start, cursor.ends[cursor.at + 1])
                raise cursor.refused("an imported grammar", span, "write its rules here")
            elif word == "mode" and cursor.ahead("NAME", by=1):
                cursor.at += 2
                self.grammar.modes.append(cursor.since(cursor.starts[cursor.at - 2]))
                cursor.expect("STOP", "';'", "a mode begins with mode NAME;")
            elif not self._header(word):
                self._rule()
        if not self.grammar.rules:
            raise cursor.unexpected("at least one rule", "write for example: greeting : 'hello' ;")
        return self.grammar

    def _header(self, word: str) -> bool:
        """header = ("lexer" | "parser")? "grammar" name ";"."""
        cursor = self.cursor
        by = 1 if word in ("lexer", "parser") else 0
        if not (cursor.ahead("NAME", by=by + 1) and cursor.ahead("STOP", by=by + 2)):
            return False
        if cursor.text(cursor.part(cursor.at + by)) != "grammar":
            return False
        cursor.at += by + 3
        self._ignores_case = False
        return True

    def _named_action(self) -> None:
        """action = "@" name ("::" name)? { … }."""
        cursor = self.cursor
        cursor.expect("NAME", "a name", "an action is written @header { … }")
        if cursor.skip("SCOPE"):
            cursor.expect("NAME", "a name", "an action is written @parser::members { … }")
        part = cursor.expect("ACTION", "'{'", "an action is written @header { … }")
        self.grammar.actions.append(Span(part.start, part.end))

    def _prequel(self, word: str) -> None:
        """prequel = ("options" | "tokens" | "channels") { … }."""
        part = self.cursor.expect("ACTION", "'{'", f"write {word} {{ … }}")
        if word == "tokens":
            for match in re.finditer(r"\w+", self.source.text[part.start : part.end]):
                span = Span(part.start + match.start(), part.start + match.end())
                self.grammar.declared.setdefault(match[0], span)
        elif word == "options":
            options = self._options(part)
            self.grammar.vocabulary = options.get("tokenVocab", self.grammar.vocabulary)
            self._ignores_case = options.get("caseInsensitive") == "true"

    def _options(self, part: Part) -> dict[str, str]:
        return dict(_OPTION.findall(self.source.text[part.start : part.end]))

    def _rule(self) -> None:
        """rule = modifier* name attributes ":" alternatives ";" handlers."""
        cursor = self.cursor
        start, is_fragment = cursor.starts[cursor.at], False
        while cursor.ahead("NAME", by=1) and cursor.text(cursor.here) in _MODIFIERS:
            is_fragment |= cursor.text(cursor.here) == "fragment"
            cursor.skip("NAME")
        name = cursor.expect("NAME", "a rule", _RULE_HINT)
        text, name_span = cursor.text(name), Span(name.start, name.end)
        self._lexical = text[:1].isupper()
        self._rule_ignores_case = self._ignores_case
        self._attributes()
        cursor.expect("COLON", "':'", _RULE_HINT)
        alternatives = [self._alternative()]
        while cursor.skip("BAR"):
            alternatives.append(self._alternative())
        cursor.expect("STOP", "'|', ';' or another item", _HINT)
        rule = AntlrRule(text, tuple(alternatives), name_span, cursor.since(start), is_fragment)
        self._handlers()
        if text in self.grammar.rules:
            line, _ = self.source.position(self.grammar.rules[text].span.start)
            message = f"the rule {text!r} is already written in line {line}"
            raise cursor.error(message, name_span, "write its alternatives in one rule")
        self.grammar.rules[text] = rule

    def _attributes(self) -> None:
        """attributes = (arguments | "returns" … | "locals" … | "throws" … | options | action)*."""
        cursor = self.cursor
        while not cursor.ahead("COLON", END):
            if cursor.skip("SET") or cursor.skip("COMMA") or cursor.skip("DOT"):
                continue
            if cursor.skip("AT"):
                self._named_action()
            elif cursor.ahead("NAME") and cursor.text(cursor.here) == "options":
                cursor.skip("NAME")
                options = self._options(cursor.expect("ACTION", "'{'", "write options { … }"))
                if "caseInsensitive" in options:
                    self._rule_ignores_case = options["caseInsensitive"] == "true"
            elif cursor.ahead("NAME") and (
                cursor.text(cursor.here) in _ATTRIBUTES
                or cursor.text(cursor.part(cursor.at - 1)) in ("throws", ",", ".")
            ):
                cursor.skip("NAME")
            else:
                return

    def _handlers(self) -> None:
        """handlers = ("catch" "[" … "]" { … })* ("finally" { … })?."""
        cursor = self.cursor
        while cursor.ahead("NAME") and cursor.text(cursor.here) in ("catch", "finally"):
            if not cursor.ahead("SET", "ACTION", by=1):
                return
            cursor.skip("NAME")
            cursor.skip("SET")
            part = cursor.expect("ACTION", "'{'", "write catch [ … ] { … }")
            self.grammar.actions.append(Span(part.start, part.end))

    def _alternative(self) -> Alternative:
        """alternative = item* ("#" name)? ("->" command ("," command)*)?."""
        cursor = self.cursor
        body = self._sequence()
        if cursor.skip("LABEL"):
            cursor.expect("NAME", "a label", "a label is written # Name")
        commands: list[Command] = []
        if cursor.skip("ARROW"):
            commands.append(self._command())
            while cursor.skip("COMMA"):
                commands.append(self._command())
        return Alternative(body, tuple(commands))

    def _command(self) -> Command:
        """command = name ("(" name ")")?."""
        cursor = self.cursor
        hint = f"the commands are {', '.join(_COMMANDS)}"
        name = cursor.expect("NAME", "a command", hint)
        argument = ""
        if bracket := cursor.take("LPAR"):
            cursor.enter(bracket)
            part = cursor.take("NUMBER") or cursor.expect("NAME", "a name", "write type(NAME)")
            argument = cursor.text(part)
            cursor.leave("')'", hint)
        command = Command(cursor.text(name), argument, cursor.since(name.start))
        if command.name not in _COMMANDS:
            raise cursor.error(f"there is no command {command.name!r}", command.span, hint)
        if command.name == "more":
            hint = "write the whole token in one rule"
            raise cursor.refused("the command 'more'", command.span, hint)
        if "ode" in command.name:
            self.grammar.modes.append(command.span)
        return command

    def _choice(self, start: int) -> Expression:
        """choice = alternative ("|" alternative)*, without commands."""
        options = [self._alternative()]
        while self.cursor.skip("BAR"):
            options.append(self._alternative())
        bodies = tuple(option.body for option in options)
        return bodies[0] if len(bodies) == 1 else Choice(bodies, self.cursor.since(start))

    def _sequence(self) -> Expression:
        """sequence = (element options? | action | predicate | item)*."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        items: list[Expression] = []
        while not cursor.ahead("BAR", "RPAR", "STOP", "ARROW", "LABEL", "COLON", END):
            if part := cursor.take("ACTION"):
                is_predicate = cursor.skip("OPTIONAL")
                places = self.grammar.predicates if is_predicate else self.grammar.actions
                places.append(cursor.since(part.start))
                cursor.skip("ELEMENT")
            elif not cursor.skip("ELEMENT"):
                items.append(self._item())
        if len(items) == 1:
            return items[0]
        return Sequence(tuple(items), cursor.since(start) if items else Span(start, start))

    def _item(self) -> Expression:
        """item = (name ("=" | "+="))? atom (("?" | "*" | "+") "?"?)?."""
        cursor = self.cursor
        if cursor.ahead("NAME") and cursor.ahead("EQUALS", "APPEND", by=1):
            cursor.at += 2
        start = cursor.starts[cursor.at]
        item = self._atom()
        kind = cursor.kinds[cursor.at]
        if kind not in POSTFIX:
            return item
        cursor.skip(kind)
        low, high = POSTFIX[kind]
        is_lazy = cursor.skip("OPTIONAL")
        repetition = LazyRepetition if is_lazy and self._lexical else Repetition
        return cast("Expression", repetition(item, low, high, cursor.since(start)))

    def _atom(self) -> Expression:
        """atom = string (".." string)? | set | name args? | "." | "~" atom | "(" choice ")"."""
        cursor = self.cursor
        part = cursor.take("STRING", "SET", "NAME", "DOT", "TILDE", "LPAR")
        if part is None:
            raise cursor.no_item(_ITEM, _HINT)
        span = Span(part.start, part.end)
        match part.type:
            case "STRING":
                return self._string(span)
            case "SET":
                if not self._lexical:
                    hint = "write a rule of the lexer, whose name begins with a capital letter"
                    raise cursor.error(
                        "only rules of the lexer have sets of characters", span, hint
                    )
                return self._characters(set_ranges(self.source, span), span)
            case "NAME":
                return self._call(part)
            case "DOT":
                return one_of(ANY_CHARACTER, span) if self._lexical else _token((), span)
            case "TILDE":
                return self._complement(span)
        return self._group(part)

    def _group(self, bracket: Part) -> Expression:
        """group = "(" (options? action* ":")? choice ")"."""
        cursor = self.cursor
        cursor.enter(bracket)
        is_option = cursor.ahead("NAME") and cursor.text(cursor.here) == "options"
        if is_option and cursor.ahead("ACTION", by=1):
            cursor.at += 2
            cursor.skip("COLON")
        body = self._choice(cursor.starts[cursor.at])
        cursor.leave("'|' or another item", _HINT)
        return body

    def _call(self, name: Part) -> Expression:
        cursor = self.cursor
        text, span = cursor.text(name), Span(name.start, name.end)
        if not self._lexical and not text[:1].isupper() and cursor.ahead("SET"):
            cursor.skip("SET")  # the arguments
        if text == "EOF":
            return cast("Expression", EndOfText(span))
        return Nonterminal(text, span)

    def _string(self, span: Span) -> Expression:
        cursor = self.cursor
        cursor.check_length(span)
        text = text_of(self.source, span)
        if cursor.skip("RANGE"):
            end = cursor.expect("STRING", "a string", "write for example 'a'..'z'")
            last = text_of(self.source, Span(end.start, end.end))
            whole = cursor.since(span.start)
            if len(text) != 1 or len(last) != 1 or text > last:
                message = "expected a range from a lower to a higher character"
                raise cursor.error(message, whole, "write for example 'a'..'z'")
            return self._characters(((ord(text), ord(last)),), whole)
        literal: Expression = Literal(text.encode("utf-8", "replace"), span)
        if self._rule_ignores_case and text:
            letters = [Characters(with_cases(((ord(c), ord(c)),)), span) for c in text]
            regex = letters[0] if len(letters) == 1 else Concat(tuple(letters), span)
            written = "".join(class_text(letter.ranges) for letter in letters)
            literal = Pattern(regex, Stop.ANYWHERE, written, span)
        if not self._lexical:
            self.grammar.literals.setdefault(text, literal)
        return literal

    def _characters(self, ranges: Ranges, span: Span) -> Pattern:
        return one_of(with_cases(ranges) if self._rule_ignores_case else ranges, span)

    def _complement(self, sign: Span) -> Expression:
        """complement = "~" atom: characters in the lexer, tokens in the parser."""
        cursor = self.cursor
        start = cursor.starts[cursor.at]
        part = self._atom()
        span = sign.to(cursor.since(start))
        options = part.options if isinstance(part, Choice) else (part,)
        if not self._lexical:
            return _token(tuple(map(self._token_name, options)), span)
        sets = [_one_character(option) for option in options]
        characters = [each for each in sets if each is not None]
        if len(characters) < len(sets):
            message = "expected single characters after '~'"
            raise cursor.error(message, span, "write for example ~[a-z] or ~'a'")
        return one_of(difference(ANY_CHARACTER, union(*characters)), span)

    def _token_name(self, option: Expression) -> str:
        if isinstance(option, Nonterminal) and option.name[:1].isupper():
            return option.name
        if isinstance(option, EndOfText):
            return "EOF"
        if isinstance(option, Literal | Pattern):
            return f"'{text_of(self.source, option.span)}'"
        hint = "write for example ~ID or ~(ID | ';')"
        raise self.cursor.error("expected tokens after '~'", option.span, hint)


def _one_character(node: Expression) -> Ranges | None:
    match node:
        case Pattern(regex=Characters(ranges)):
            return ranges
        case Literal(value) if len(value.decode()) == 1:
            code = ord(value.decode())
            return normalized([(code, code)])
        case _:
            return None


def _token(excluded: tuple[str, ...], span: Span) -> Expression:
    return cast("Expression", AnyToken(excluded, span))
