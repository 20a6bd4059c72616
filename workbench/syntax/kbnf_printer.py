"""A grammar tree becomes KBNF text, which the parser reads back as the same tree but for spans.

What KBNF cannot say is said another way with the same language: counted repetitions are written
out, an empty sequence is ``''``. A literal that is no text in UTF-8 cannot be written at all.
"""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Repetition,
    Rule,
    Sequence,
    Stop,
    Substrings,
)

_WIDTH = 100
_PREFIX = {Stop.ANYWHERE: "#", Stop.FIRST_MATCH: "#e", Stop.BEFORE_MATCH: "#ex"}
_POSTFIX = {(0, 1): "?", (0, None): "*", (1, None): "+"}
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def print_kbnf(tree: GrammarTree) -> str:
    """The grammar as text, a rule a line.

    Law:    ``parse_kbnf(print_kbnf(tree))`` is ``tree`` but for spans, for every tree the
            parser makes.
    Raises: WorkbenchError where a literal is not UTF-8.
    """
    return "".join(_rule(rule) for rule in tree.rules)


def _rule(rule: Rule) -> str:
    """One rule; a choice too long for a line has an option on each."""
    head = f"{rule.name} ::= "
    line = f"{head}{_choice(rule.body)};\n"
    if len(line) <= _WIDTH or not isinstance(rule.body, Choice):
        return line
    bar = "\n" + " " * (len(head) - 2) + "| "
    return head + bar.join(_sequence(option) for option in rule.body.options) + ";\n"


def _choice(node: Expression) -> str:
    """What may stand between brackets."""
    if isinstance(node, Choice):
        return " | ".join(_sequence(option) for option in node.options)
    return _sequence(node)


def _sequence(node: Expression) -> str:
    """What may stand between two bars."""
    if isinstance(node, Sequence) and len(node.items) > 1:
        return " ".join(_item(item) for item in node.items)
    return _item(node)


def _item(node: Expression) -> str:
    """What may stand in a sequence."""
    if not isinstance(node, Repetition):
        return _atom(node)
    part = _atom(node.item)
    if (node.low, node.high) in _POSTFIX:
        return part + _POSTFIX[node.low, node.high]
    return f"({_copies(part, node.low, node.high)})"


def _copies(part: str, low: int, high: int | None) -> str:
    """A counted repetition, written out: ``x{1,3}`` is ``x (x (x)?)?``."""
    if high is None:
        return " ".join([part] * (low - 1) + [f"{part}+"])
    required = [part] * low
    if optional := high - low:
        required.append(f"({part} " * (optional - 1) + f"{part}?" + ")?" * (optional - 1))
    return " ".join(required) or "''"


def _atom(node: Expression) -> str:
    """What a postfix sign may follow."""
    match node:
        case Literal(value):
            return _quoted(_text(value))
        case Substrings(value):
            return f"#substrs{_quoted(_text(value))}"
        case Pattern(_, stop, text):
            return _PREFIX[stop] + _quoted(text)
        case Nonterminal(name):
            return name
        case Except(excepted, limit):
            return f"except!({_atom(excepted)}{'' if limit is None else f', {limit}'})"
        case Automaton(_, label):
            raise WorkbenchError(f"KBNF has no sign for a machine, and {label!r} is one")
        case Sequence(()):
            return "''"
        case _:
            return f"({_choice(node)})"


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise WorkbenchError(
            f"expected text in UTF-8, and {value!r} is none",
            "KBNF has no way to write a single byte above 7F",
        ) from None


def _quoted(text: str) -> str:
    """The text between the quotes it holds fewer of, with what cannot be seen escaped."""
    quote = '"' if text.count("'") > text.count('"') else "'"
    return quote + "".join(_escaped(character, quote) for character in text) + quote


def _escaped(character: str, quote: str) -> str:
    if character == quote:
        return f"\\{quote}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\u{{{ord(character):X}}}"
