r"""Advice on a grammar that builds: records with a span and a fix, from the tree and its machines.

Most advice is found in the tree, at little more than the cost of parsing the text: unused rules,
parts that derive no text, nullable patterns, unbounded loops, and classes such as ``\d`` that also
match Unicode characters (which costs an automaton over bytes hundreds of edges, and most authors
want ASCII). Conflicts (``conflicts``) and ambiguities (``ambiguity``) are converted to advice here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated

from workbench.analysis.ambiguity import Ambiguity, ambiguity
from workbench.analysis.conflicts import added_rules, conflicts
from workbench.analysis.lark_terminals import collision_advice
from workbench.analysis.lint_checks import CheapLoop, cheap_loops, cheap_regex_loops
from workbench.analysis.missing_characters import literals_and_sets, unspellable_advice
from workbench.analysis.no_text import matches_a_text, slashes_advice, unmatched_advice
from workbench.analysis.redundant_alternatives import (
    in_time,
    redundant_advice,
    redundant_regex_advice,
)
from workbench.automata.graphs import reachable
from workbench.base.arguments import Between, checked
from workbench.base.diagnostics import VERY_SIMILAR, Advice, nearest
from workbench.base.errors import LimitError
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
from workbench.base.source import Source, Span
from workbench.base.visible_text import shorten
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import context_free
from workbench.pushdown.cfg import Terminal, derives, gathered, least, terminals
from workbench.pushdown.network import Network
from workbench.syntax.gbnf import reversed_ranges
from workbench.syntax.grammar_tree import (
    Expression,
    GrammarTree,
    Pattern,
    Repetition,
    Rule,
    Stop,
    calls,
    holds,
    referenced,
)
from workbench.syntax.ranges import difference
from workbench.syntax.regex.extensions import EXTENSIONS, label_of
from workbench.syntax.regex.tree import (
    Characters,
    Extension,
    Group,
    Kind,
    Regex,
    walk,
)
from workbench.syntax.regex.unicode_sets import python_class, rust_class
from workbench.vocabulary.vocabulary import Vocabulary


def advice(tree: GrammarTree, start: str = "start") -> tuple[Advice, ...]:
    """The advice on the tree of a grammar that can be built, in the order of the text.

    What a ``time_budget`` allows: all of it for grammars of fewer than about 10,000 rules.
    """
    return _sort(list(in_time(_tree_advice(tree, start))))


def _tree_advice(tree: GrammarTree, start: str) -> Iterator[Advice]:
    rules = gathered(tree)
    used = _rules_in_use(rules, [start])
    yield from _unused(tree, start, used)
    yield from _unproductive(tree, rules, used)
    for rule in tree.rules:
        check_time_budget()
        if rule.name in used:
            yield from _nullable(rule.body)
    patterns = (part for rule in tree.rules for part in terminals(rule.body))
    regexes = (part.regex for part in patterns if isinstance(part, Pattern))
    yield from misspelt_extensions(regexes, tree.source)
    yield from map(_loop_advice, cheap_loops(tree, rules, used))


def regex_advice(regex: Regex, source: Source) -> tuple[Advice, ...]:
    """The advice on a regex."""
    return _sort(
        [
            *unmatched_advice(regex, source),
            *misspelt_extensions((regex,), source),
            *slashes_advice(source),
            *(_loop_advice(loop) for loop in cheap_regex_loops(regex, source.text)),
        ]
    )


def misspelt_extensions(regexes: Iterable[Regex], source: Source) -> Iterator[Advice]:
    """A note for each empty named group whose name is like that of an extension."""
    for regex in regexes:
        for node in walk(regex):
            if not isinstance(node, Group) or not node.name or label_of(node) is not None:
                continue
            meant = nearest(node.name, EXTENSIONS, similar=VERY_SIMILAR)
            if meant is None or node.name in EXTENSIONS:
                continue
            start = source.text.find(f"<{node.name}>", node.span.start, node.span.end) + 1
            if start:
                yield Advice(
                    f"the group {node.name!r} is like the extension {meant!r}, and is not one",
                    Span(start, start + len(node.name)),
                    "misspelt_extension",
                    f"did you mean {meant!r}?",
                    meant,
                )


def conflict_advice(
    network: Network,
    written: Callable[[], Network],
    tree: GrammarTree,
    start: str = "start",
    limits: Limits = LIMITS,
) -> tuple[Advice, ...]:
    """The conflicts of a network, each at the first of its rules; shortest examples first."""
    start_span = _name_span(tree, start)
    return tuple(
        Advice(
            conflict.message,
            conflict.spans[0] if conflict.spans else start_span,
            "conflict",
            conflict.hint,
        )
        for conflict in conflicts(network, written, tree, limits)
    )


def ambiguity_advice(tree: GrammarTree, ambiguity: Ambiguity) -> Advice:
    """The advice on an ambiguity, at its rule; rules that a parser has added are not named."""
    added, span = added_rules(tree), _name_span(tree, ambiguity.rule)
    if ambiguity.rule in added:
        message = replace(ambiguity, rule=added[ambiguity.rule]).message
        return Advice(message, span, "ambiguous", "let a text be split into copies in one way only")
    hint = ambiguity.hint
    if added:
        hint = re.sub(rf"\b(?:{'|'.join(map(re.escape, added))})\b", "copies", hint)
    return Advice(ambiguity.message, span, "ambiguous", hint)


#: llama.cpp refuses a count from this one on.
_MAX_LLAMA_COUNT = 2_000


def count_advice(tree: GrammarTree) -> tuple[Advice, ...]:
    """The counted repetitions of a GBNF grammar that llama.cpp refuses.

    Source: llama.cpp, src/llama-grammar.cpp.
    """
    added = added_rules(tree)
    spans = [rule.span for rule in tree.rules if rule.name in added]
    for rule in tree.rules:
        for node in walk(rule.body):
            if isinstance(node, Repetition) and max(node.low, node.high or 0) >= _MAX_LLAMA_COUNT:
                spans.append(node.span)
    message = f"llama.cpp refuses a repetition of {_MAX_LLAMA_COUNT:,} times or more"
    hint = "choose a smaller number, or * or +, if llama.cpp reads the grammar"
    return tuple(Advice(message, span, "large_count", hint) for span in dict.fromkeys(spans))


def reversed_range_advice(tree: GrammarTree) -> tuple[Advice, ...]:
    """The ranges of a GBNF grammar from a higher to a lower character."""
    source = tree.source
    classes = dict.fromkeys(
        node.span
        for rule in tree.rules
        for node in walk(rule.body)
        if isinstance(node, Pattern) and source.text.startswith("[", node.span.start)
    )
    message = "a range from a higher to a lower character matches nothing"
    hint = "swap its two ends, or escape the dash as \\-"
    return tuple(
        Advice(message, span, "reversed_range", hint)
        for bracketed in classes
        for span in reversed_ranges(source, bracketed)
    )


def _name_span(tree: GrammarTree, name: str) -> Span:
    """The span of a rule's name in its first definition."""
    return next(rule.name_span for rule in tree.rules if rule.name == name)


def _sort(advice: list[Advice]) -> tuple[Advice, ...]:
    return tuple(sorted(dict.fromkeys(advice), key=lambda item: (item.span.start, item.kind)))


def _loop_advice(loop: CheapLoop) -> Advice:
    return Advice(loop.message, loop.span, "unbounded_loop", loop.hint, loop.fix)


# -- unused rules ------------------------------------------------------------------------------


def unused_advice(tree: GrammarTree, start: str, roots: Iterable[str]) -> Iterator[Advice]:
    """The rules that none of some rules reaches; undefined names are left out."""
    return _unused(tree, start, _rules_in_use(gathered(tree), roots))


def _rules_in_use(rules: Mapping[str, Expression], roots: Iterable[str]) -> frozenset[str]:
    """The defined rules that some rules reach, by calls and by ``except!``."""

    def called(name: str) -> Iterator[str]:
        return (call.name for call in referenced(rules[name]) if call.name in rules)

    return frozenset(reachable([name for name in roots if name in rules], called))


def _unused(tree: GrammarTree, start: str, used: Set[str]) -> Iterator[Advice]:
    callers: dict[str, str] = {}
    writer = _writer(tree)
    for rule in tree.rules:
        name = writer(rule)
        for call in referenced(rule.body):
            if call.name not in (rule.name, name):
                callers.setdefault(call.name, name)
    for rule in tree.rules:
        if rule.name in used or not rule.is_written:
            continue
        message, hint = f"the rule {rule.name!r} is never used", "delete it"
        caller = callers.get(rule.name)
        if caller is not None:  # deleted alone, it would be missing there
            message = f"the rule {rule.name!r} is used only where {start!r} never leads"
            hint = f"delete it together with {caller!r}"
        yield Advice(
            message,
            rule.span,
            "unreachable_rule",
            f"{hint}, or call it from a rule that {start!r} reaches",
            "" if caller is None else None,
        )


def _writer(tree: GrammarTree) -> Callable[[Rule], str]:
    """A function that returns the name under which a reader finds a rule.

    It is the rule's own, or for a rule that the parser added that of the rule with its text.
    """
    written = sorted(
        (rule for rule in tree.rules if rule.is_written), key=lambda one: one.span.start
    )
    starts = [rule.span.start for rule in written]

    def name(rule: Rule) -> str:
        number = 0 if rule.is_written else bisect_right(starts, rule.span.start)
        return written[number - 1].name if number else rule.name

    return name


# -- unproductive parts ------------------------------------------------------------------------

#: From the rules that are called to the first written one without a text; None without one.
_Culprit = Callable[[Iterable[str]], str | None]


def _unproductive(
    tree: GrammarTree, rules: Mapping[str, Expression], used: Set[str]
) -> Iterator[Advice]:
    """Rules and alternatives that derive no text; machines are built without them.

    Source: the useless symbols of Hopcroft & Ullman 1979, §4.4.
    """
    ends = least(rules, _derives)
    added = added_rules(tree)

    def unending(name: str) -> Iterator[str]:
        called = calls(rules[name]) if name in rules else ()
        return (call.name for call in called if call.name not in ends)

    def culprit(names: Iterable[str]) -> str | None:
        """The first written rule without a text that some rules call."""
        direct = [*names]
        others = () if set(direct) - added.keys() else reachable(direct, unending)
        return next((name for name in (*direct, *others) if name not in added), None)

    for rule in tree.rules:
        check_time_budget()
        if rule.name not in used or not rule.is_written:
            continue
        if rule.name not in ends:
            yield _unproductive_rule(rule, unending, culprit)
        else:
            yield from _unproductive_options(rule.body, ends, culprit)


def _unproductive_rule(
    rule: Rule, unending: Callable[[str], Iterable[str]], culprit: _Culprit
) -> Advice:
    """The advice on a rule from which no text can be derived; its cause is a cycle of calls."""
    message = f"no text can be derived from the rule {rule.name!r}"
    first = culprit(unending(rule.name))
    if first is None:
        hint = "give it an alternative that matches a text"
    elif rule.name in reachable([*unending(rule.name)], unending):
        message = f"the rule {rule.name!r} never ends: no text can be derived from it"
        hint = "give it an alternative that does not call it again"
    else:
        hint = f"give {first!r} an alternative that has a text"
    return Advice(message, rule.name_span, "unproductive", hint)


def _unproductive_options(
    expression: Expression, ends: Set[str], culprit: _Culprit
) -> Iterator[Advice]:
    """The outermost unproductive parts of an expression."""
    if not _derives(expression, ends):
        first = culprit(call.name for call in calls(expression) if call.name not in ends)
        yield Advice(
            "no text can be derived from this, so it is left out",
            expression.span,
            "unproductive",
            f"give {first!r} an alternative that has a text" if first else "delete it",
        )
        return
    for part in expression.children:
        yield from _unproductive_options(part, ends, culprit)


def _derives(expression: Expression, ends: Set[str]) -> bool:
    """Whether an expression derives a text, given that the rules ``ends`` do."""
    return derives(expression, ends, _matches_something)


def _matches_something(terminal: Terminal) -> bool:
    if not isinstance(terminal, Pattern):
        return True
    return terminal.stop is Stop.BEFORE_MATCH or matches_a_text(terminal.regex)


# -- nullable regexes in complements and first matches --------------------------------------------


def _nullable(body: Expression) -> Iterator[Advice]:
    for terminal in terminals(body):
        if not isinstance(terminal, Pattern) or not _is_nullable(terminal.regex):
            continue
        if terminal.stop is Stop.BEFORE_MATCH:
            yield Advice(
                "this complement excludes every text: its regex matches the empty text, "
                "which is part of them all",
                terminal.span,
                "nullable_complement",
                "let the regex match at least one character",
            )
        elif terminal.stop is Stop.FIRST_MATCH:
            yield Advice(
                "the empty match of this regex never counts: #e reads at least one byte, "
                "up to the first match",
                terminal.span,
                "nullable_first_match",
                "write the regex without the empty match, or follow the terminal with '?'",
            )


def _is_nullable(regex: Regex) -> bool:
    """Whether a regex matches the empty text."""
    return holds(regex, _is_nullable_leaf)


def _is_nullable_leaf(leaf: Regex) -> bool:
    if not isinstance(leaf, Extension):
        return False
    if leaf.kind is Kind.DELIMITED_SUBSEQUENCE_OF:
        return any(map(_is_nullable, leaf.parts[1:]))
    return leaf.kind is Kind.SUBSTRING_OF


#: For each class: the other characters it matches, its ASCII members as they are written inside
#: brackets, and a name for these.
_CLASSES = {
    "d": ("hundreds of other digits, such as ٣ and ५", "0-9", "ASCII digits"),
    "w": ("letters and digits of all scripts, such as é and я", "A-Za-z0-9_", "ASCII alone"),
    "s": ("other white space, such as the no-break space", r" \t\n\r\f\v", "ASCII white space"),
}
#: An escape with the letter after its backslash. If the quotes around a regex resolve escapes
#: first, the backslash of the regex is written twice.
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPE_IN_QUOTES = re.compile(r"\\\\(\\\\|[^\\])|\\[^\\]")
#: The flag x: Rust then skips blanks inside brackets.
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")
#: Nested classes and set operations: a fix inside them could change more than the class.
_ALGEBRA = re.compile(r".\[|&&|--|~~", re.DOTALL)


def unicode_class_advice(
    sets: Iterable[Characters], source: Source, *, in_quotes: bool
) -> tuple[Advice, ...]:
    """A note for each class such as ``\\d`` that is read with its Unicode meaning.

    A negated class gets no note: there the Unicode meaning forbids more, not less.
    ``in_quotes`` says whether quotes around a regex resolve escapes first, as in KBNF.
    """
    notes: dict[Advice, None] = {}
    for characters in sets:
        text = source.text[characters.span.start : characters.span.end]
        if text.startswith("\\") or (text.startswith("[") and not _ALGEBRA.search(text)):
            notes |= dict.fromkeys(_class_notes(characters, text, source, in_quotes))
    return tuple(notes)


def _class_notes(
    characters: Characters, text: str, source: Source, in_quotes: bool
) -> Iterator[Advice]:
    for match in (_ESCAPE_IN_QUOTES if in_quotes else _ESCAPE).finditer(text):
        letter = match[1]
        if letter not in _CLASSES or not _is_unicode(characters, letter):
            continue
        others, members, called = _CLASSES[letter]
        if _VERBOSE.search(source.text):
            members = members.replace(" ", r"\x20")
        if in_quotes:
            members = members.replace("\\", "\\\\")
        fix = members if text.startswith("[") else f"[{members}]"
        yield Advice(
            rf"\{letter} also matches {others}",
            Span(characters.span.start + match.start(), characters.span.start + match.end()),
            "unicode_class",
            f"write {fix} for {called}",
            fix,
        )


def _is_unicode(characters: Characters, letter: str) -> bool:
    """Whether a set contains the Unicode class of Python or that of Rust."""
    return any(
        not difference(each(letter), characters.ranges) for each in (python_class, rust_class)
    )


#: The seconds for conflicts and redundant alternatives each; typical grammars take milliseconds.
_MAX_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Lint:
    """The result of ``lint``."""

    #: Warnings, then notes, both in the order of the text.
    advice: tuple[Advice, ...]
    #: All texts of up to this many pieces were tried for ambiguity; None if the search does not
    #: apply, or found an ambiguous text.
    pieces: int | None = None

    def __repr__(self) -> str:
        first = f", {shorten(repr(self.advice[0].message), 80)}" if self.advice else ""
        return f"Lint({len(self.advice)} of advice{first})"


def tree_advice(grammar: Grammar) -> tuple[Advice, ...]:
    """The advice found in the tree of a grammar without a machine, in milliseconds."""
    if grammar.tree is None:
        return regex_advice(grammar.regex, grammar.source) if grammar.regex else ()
    with time_budget(grammar.limits.seconds):
        of_rules = () if grammar.is_generated else advice(grammar.tree, grammar.start)
    return (*grammar.notes, *of_rules)


@checked
def lint(
    grammar: Grammar,
    vocabulary: Vocabulary | None = None,
    *,
    seconds: Annotated[float, Between(0)] = 1.0,
) -> Lint:
    """All advice on a grammar; each is certain, and optional: the grammar works unchanged.

    ``vocabulary``  that of the model that generates; with it, characters that its tokens cannot
                    write are reported.
    ``seconds``     the most seconds of the search for an ambiguous text.

    Cost: at most ``seconds``, and about a second for the other advice.
    """
    with time_budget(grammar.limits.seconds + seconds):
        return _all_advice(grammar, vocabulary, seconds)


def _all_advice(grammar: Grammar, vocabulary: Vocabulary | None, seconds: float) -> Lint:
    limits = grammar.limits.per_stage(_MAX_SECONDS)
    advice = [*tree_advice(grammar)]
    if vocabulary is not None:
        advice += unspellable_advice(grammar, vocabulary)
    if grammar.notation is Notation.LARK and grammar.tree is not None:
        advice += collision_advice(grammar.tree, grammar.start, limits)
    if grammar.notation is Notation.GBNF and grammar.tree is not None:
        advice += count_advice(grammar.tree)
        advice += reversed_range_advice(grammar.tree)
    if grammar.is_generated:
        return Lint(tuple(sorted(advice, key=_order)))  # its rules are generated
    literals = in_time(literals_and_sets(grammar))
    sets = (piece for piece in literals if isinstance(piece, Characters))
    in_quotes = grammar.notation is Notation.KBNF
    advice += unicode_class_advice(sets, grammar.source, in_quotes=in_quotes)
    advice += _machine_advice(grammar, limits)
    ambiguous, pieces = _ambiguity(grammar, replace(limits, seconds=seconds))
    unique = dict.fromkeys([*advice, *ambiguous])
    return Lint(tuple(sorted(unique, key=_order)), pieces)


def _order(advice: Advice) -> tuple[bool, int, str]:
    return advice.severity == "note", advice.span.start, advice.kind


def _machine_advice(grammar: Grammar, limits: Limits) -> tuple[Advice, ...]:
    """The advice found in the machines of the rules."""
    work = limits.begun()
    if grammar.tree is None:
        assert grammar.regex is not None, "a grammar has a tree or a regex"
        return redundant_regex_advice(grammar.regex, grammar.source, work)
    advice: tuple[Advice, ...] = ()
    with suppress(LimitError):  # building its terminals takes too long for lint
        advice = redundant_advice(
            context_free(grammar.tree, grammar.start, work, phrases=True), grammar.tree
        )
    try:
        network = grammar.network
    except LimitError:
        return advice  # the network exceeds a limit, so it has no conflicts to report
    conflicts = conflict_advice(
        network, lambda: grammar.rules, grammar.tree, grammar.start, limits.begun()
    )
    return (*advice, *conflicts)


def _ambiguity(grammar: Grammar, limits: Limits) -> tuple[list[Advice], int | None]:
    """An ambiguous text, if one is found in time, and up to how many pieces texts were tried."""
    if grammar.tree is None:
        return [], None
    try:
        cfg = context_free(grammar.tree, grammar.start, grammar.limits, phrases=True)
        search = ambiguity(cfg, grammar.rules, limits.begun())
    except LimitError:
        return [], 0  # the separate rules exceed a limit: no text was tried
    if search.found is not None:
        return [ambiguity_advice(grammar.tree, search.found)], None
    return [], search.pieces
