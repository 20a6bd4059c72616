"""What a grammar must be to be built: in come its rules, out come errors, each at its place.

Checked are undefined nonterminals (in unused rules too), the arguments of ``except!``, and whether
anything is left. Unused rules, ambiguity and recursion of every kind are not errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from workbench.errors import BuildError
from workbench.limits import Limits
from workbench.pushdown.cfg import Cfg, calls, least, terminals
from workbench.source import Source, Span
from workbench.syntax.grammar_tree import (
    Choice,
    Except,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)


def check_defined(tree: GrammarTree, rules: Mapping[str, Expression], start: str) -> None:
    """Every called nonterminal has a rule, and so has the start symbol.

    Raises: BuildError of kind ``undefined_nonterminal`` at the first call without one.
    """
    for rule in tree.rules:
        for call in _all_calls(rule.body):
            if call.name not in rules:
                raise BuildError(
                    f"the nonterminal {call.name!r} has no rule",
                    tree.source,
                    call.span,
                    _near(call.name, rules) or f"add a rule such as  {call.name} ::= '…';",
                    kind="undefined_nonterminal",
                )
    if start not in rules:
        whole = tree.rules[0].name_span if tree.rules else Span(0, len(tree.source.text))
        raise BuildError(
            f"the start symbol {start!r} has no rule",
            tree.source,
            whole,
            f"name the first rule {start!r}, or choose another start symbol",
            kind="undefined_nonterminal",
        )


def _all_calls(expression: Expression) -> Iterator[Nonterminal]:
    """Calls, and the nonterminals named by ``except!``."""
    match expression:
        case Except(excepted=Nonterminal() as called):
            yield called
        case Nonterminal():
            yield expression
        case Sequence(items=parts) | Choice(options=parts):
            for part in parts:
                yield from _all_calls(part)
        case Repetition(item=item):
            yield from _all_calls(item)


def _near(name: str, rules: Mapping[str, Expression]) -> str:
    """A hint naming a rule that is spelt alike, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(rules), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def excepted_strings(
    node: Except, rules: Mapping[str, Expression], source: Source, limits: Limits
) -> tuple[bytes, ...]:
    """The strings of an ``except!``: a literal, or a nonterminal fully expanded.

    Raises: BuildError of kind ``invalid_except`` for regexes, repetitions, recursion and
            empty strings; LimitError where the strings come to more than
            ``limits.unrolled`` bytes.
    """

    def refuse(place: Expression, what: str) -> BuildError:
        span = place.span if not seen else node.excepted.span
        return BuildError(
            f"except! takes an alternation of non-empty strings, not {what}",
            source,
            span,
            "name a rule that is nothing but strings and '|'",
            kind="invalid_except",
        )

    seen: list[str] = []

    def expand(expression: Expression) -> Iterator[bytes]:
        match expression:
            case Literal(value=value):
                yield value
            case Choice(options=options):
                for option in options:
                    yield from expand(option)
            case Sequence(items=items):
                pieces = [b""]
                for item in items:
                    last = list(expand(item))
                    limits.check("unrolled", len(pieces) * len(last) * max(map(len, last + pieces)))
                    pieces = [left + right for left in pieces for right in last]
                yield from pieces
            case Nonterminal(name=name):
                if name in seen:
                    raise refuse(expression, f"the recursive rule {name!r}")
                seen.append(name)
                yield from expand(rules[name])
                seen.pop()
            case _:
                raise refuse(expression, "regexes or repetitions")

    strings = tuple(expand(node.excepted))
    if not all(strings):
        raise refuse(node.excepted, "the empty string")
    return strings


def check_something_left(cfg: Cfg, tree: GrammarTree) -> None:
    """The start symbol derives a text that is not empty.

    Raises: BuildError of kind ``empty_grammar``.
    """
    place = next(rule.name_span for rule in tree.rules if rule.name == cfg.start)
    if cfg.start not in cfg.productive and _spells_something(cfg):
        raise BuildError(
            f"{cfg.start!r} never finishes: no text can be derived from it",
            cfg.source,
            place,
            "give a recursive rule an alternative that ends",
            kind="unproductive",
        )
    if cfg.start not in cfg.productive or not _derives_something(cfg):
        raise BuildError(
            "nothing is left of the grammar but the empty text",
            cfg.source,
            place,
            "let the start symbol read at least one character",
            kind="empty_grammar",
        )


def _spells_something(cfg: Cfg) -> bool:
    """Whether any rule the start symbol reaches has a terminal that reads a byte."""
    bodies = [cfg.rules[name] for name in reachable(cfg)]
    return any(map(_has_bytes, bodies)) or any(
        (cfg.machine(terminal).table >= 0).any() for body in bodies for terminal in terminals(body)
    )


def _has_bytes(expression: Expression) -> bool:
    match expression:
        case Literal(value=value):
            return bool(value)
        case Sequence(items=parts) | Choice(options=parts):
            return any(map(_has_bytes, parts))
        case Repetition(item=item):
            return _has_bytes(item)
        case _:
            return False


def _derives_something(cfg: Cfg) -> bool:
    """Whether some derivation from the start symbol reads a byte."""
    return cfg.start in least(cfg.rules, lambda body, reading: _reads(cfg, body, reading))


def _reads(cfg: Cfg, expression: Expression, reading: Set[str]) -> bool:
    match expression:
        case Literal(value=value):
            return bool(value)
        case Nonterminal(name=name):
            return name in reading
        case Sequence(items=items):
            return cfg.is_productive(expression) and any(_reads(cfg, i, reading) for i in items)
        case Choice(options=options):
            return any(_reads(cfg, option, reading) for option in options)
        case Repetition(item=item, high=high):
            return high != 0 and cfg.is_productive(item) and _reads(cfg, item, reading)
        case _:
            machine = cfg.machine(expression)
            return bool((machine.table >= 0).any())


def reachable(cfg: Cfg) -> list[str]:
    """The nonterminals the start symbol calls, itself or through others, in order of finding."""
    found = {cfg.start: None}
    waiting = [cfg.start]
    for name in waiting:  # grows while it is read
        called = dict.fromkeys(call.name for call in calls(cfg.rules[name]))
        waiting.extend(other for other in called if other not in found)
        found.update(called)
    return list(found)
