"""Builds the machine of a grammar tree: a DFA if it is regular, else a network.

Undefined nonterminals are errors (also in unused rules), and a start symbol that derives no text;
``cfg.excepted_strings`` checks the arguments of ``except!``. Unused rules, ambiguity and recursion
of any kind are no errors, and the empty text may be the only text.

There are three ways to compile the rules:

* ``build_separately`` compiles quickly, for reading texts and computing masks: large rules that are
  used more than once, and terminals given as automata, stay separate rules.
* ``build`` (``machine``) inlines every rule that needs no stack, and treats a call at the end of a
  rule as a jump, so right recursion needs no stack. This gives the fewest calls, and a plain DFA
  for every grammar that is found to be regular. For a grammar that needs a stack, its states are
  limited in proportion to the rules; above the limit, the rules are compiled separately. The
  grammar of a programming language has tens of thousands of states with all its rules inlined.
* ``rule_network`` has a call for every nonterminal, for pictures and explanations: its stack names
  all rules that are being read.

``Combining`` implements operations on terminals that some notations have and a grammar tree has no
nodes for: ``A & B``, ``~A``, lazy rules, maximum lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from workbench.automata.build import regex_dfa
from workbench.automata.graphs import reachable
from workbench.automata.lookaround import reads_bytes
from workbench.automata.match_ends import match_ends, whole_matches
from workbench.automata.newline_tokens import ended_tokens, line_starts
from workbench.automata.operations import difference, first_match, intersection
from workbench.automata.small_dfa import small_dfa, smallest
from workbench.base.dfa import DEAD, Dfa
from workbench.base.diagnostics import VERY_SIMILAR, suggestion
from workbench.base.errors import BuildError, LimitError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import NO_SPAN, Source, Span
from workbench.pushdown.cfg import (
    Cfg,
    RuleProgram,
    gathered,
    rule_program,
    separate_program,
    terminals,
)
from workbench.pushdown.compile_rules import (
    Determinization,
    Writer,
    called,
    inlined,
    linked,
    proportional,
    proportional_states,
    without_calls,
)
from workbench.pushdown.looking_beyond import check_own_text, first_looking_beyond, refused
from workbench.pushdown.network import CALLS, Network
from workbench.pushdown.recursion import (
    kept_rules,
    left_recursive,
    separate_rules,
    visited_from,
    without_left_recursion,
)
from workbench.syntax.expand_phrases import without_phrases
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    GrammarTree,
    Literal,
    Pattern,
    Rule,
    Shape,
    all_called,
    any_characters,
    asserted_pattern,
    calls,
    labels_in_rules,
    may_have_labels,
    referenced,
    regex_of,
)
from workbench.syntax.regex.tree import (
    Concat,
    Operation,
    Regex,
    asserted,
    combined,
    has_look,
    walk,
    without_looks,
)
from workbench.syntax.rule_attributes import LineStart, MatchEnds, Rules


def check_defined(tree: GrammarTree, rules: Mapping[str, Expression], start: str) -> None:
    """Every called nonterminal has a rule, and so has the start symbol.

    Raises: BuildError of kind ``undefined_nonterminal`` at the first call without one.
    """
    for rule in tree.rules:
        for call in referenced(rule.body):
            if call.name not in rules:
                otherwise = f"add a rule such as  {call.name} ::= '…';"
                # a missing rule is often still to be written: only a typing error is corrected
                hint, fix = suggestion(call.name, rules, otherwise, similar=VERY_SIMILAR)
                message = f"the nonterminal {call.name!r} has no rule"
                kind = "undefined_nonterminal"
                raise BuildError(message, tree.source, call.span, hint, kind, fix)
    if start not in rules:
        raise missing_start(tree, start)


def missing_start(tree: GrammarTree, start: str) -> BuildError:
    """The error for a start symbol without a rule; its fix is a rule that calls the first one."""
    text = tree.source.text
    whole = tree.rules[0].name_span if tree.rules else Span(0, len(text))
    error = BuildError(
        f"the start symbol {start!r} has no rule",
        tree.source,
        whole,
        f"name the first rule {start!r}, or choose another start symbol",
        kind="undefined_nonterminal",
    )
    name = text[whole.start : whole.end]
    if not tree.calling or not tree.rules or name != tree.rules[0].name:
        return error
    line_start = text.rfind("\n", 0, whole.start) + 1
    fix = tree.calling.format(name=start, called=name)
    return error.with_fix(f"{fix}\n", Span(line_start, line_start))


def check_something_left(cfg: Cfg, tree: GrammarTree) -> None:
    """Check that the start symbol derives a text.

    Raises: BuildError of kind ``unproductive``, or ``empty_grammar`` if no rule reads a byte.
    """
    if cfg.program.texts_of(cfg.program.names.index(cfg.start)):
        return
    span = next(rule.name_span for rule in tree.rules if rule.name == cfg.start)
    if _reads_bytes(cfg):
        raise BuildError(
            f"{cfg.start!r} never finishes: no text can be derived from it",
            cfg.source,
            span,
            "give a recursive rule an alternative that ends",
            kind="unproductive",
        )
    raise BuildError(
        f"{cfg.start!r} has no text",
        cfg.source,
        span,
        "give it an alternative that calls no rule without a text, or write '' for the empty text",
        kind="empty_grammar",
    )


def _reads_bytes(cfg: Cfg) -> bool:
    """Whether a rule that the start symbol reaches has a terminal that reads a byte."""
    rules = reachable([cfg.start], lambda name: [call.name for call in calls(cfg.written[name])])
    bodies = [cfg.written[name] for name in rules]
    return any(map(_has_bytes, bodies)) or any(
        (cfg.machine(terminal).table != DEAD).any()
        for body in bodies
        for terminal in terminals(body)
    )


def _has_bytes(expression: Expression) -> bool:
    return any(isinstance(node, Literal) and node.value for node in walk(expression))


def build(tree: GrammarTree, start: str = "start", limits: Limits = LIMITS) -> Dfa | Network:
    """The machine of a grammar, with every rule inlined that needs no stack.

    Raises: BuildError for the errors of ``checks``; LimitError if the machine is too large.
    Source: Koo et al. 2024, §3.1; Allauzen & Riley 2012, §4.5 (replacement).
    """
    return whole_machine(context_free(tree, start, limits), limits)


def whole_machine(cfg: Cfg, limits: Limits = LIMITS) -> Dfa | Network:
    """The machine of a checked grammar; ``separate_machine`` if inlining needs too many states.

    Raises: LimitError
    """
    try:
        return machine(cfg, limits)
    except LimitError as error:
        if error.budget != "states":
            raise
        return separate_machine(cfg, limits)


def context_free(
    tree: GrammarTree,
    start: str,
    limits: Limits = LIMITS,
    programmed: Callable[
        [GrammarTree, Mapping[str, Expression], Limits], RuleProgram
    ] = rule_program,
    *,
    phrases: bool = False,
) -> Cfg:
    """The checked grammar; ``programmed`` is ``rule_program`` or ``separate_program``.

    ``phrases``  whether permutation phrases stay: most readers of rules would read an element any
                 number of times. Otherwise they are ordinary rules (``syntax.expand_phrases``).

    Raises: BuildError for the errors of ``checks``; LimitError if a terminal is too large, or a
            phrase becomes too many rules.
    """
    tree = tree if phrases else without_phrases(tree)
    rules = gathered(tree)
    try:
        program = programmed(tree, rules, limits)
        _ = rules[start]
    except KeyError:
        check_defined(tree, rules, start)
        raise
    cfg = Cfg(start, rules, program, tree.source, limits)
    check_something_left(cfg, tree)
    return cfg


def machine(cfg: Cfg, limits: Limits = LIMITS) -> Dfa | Network:
    """The machine with the fewest calls: all rules that need no stack are inlined.

    The grammar has no permutation phrases (``syntax.expand_phrases``).

    Raises: LimitError; of ``states`` also for a grammar with a stack one of whose rules needs many
            more states than its NFA has.
    """
    program = cfg.program
    visited = visited_from(program, program.names.index(cfg.start))
    order, kept = visited.order.tolist(), kept_rules(program, visited, limits)
    roots = [order[0], *(rule for rule in order[1:] if rule in kept)]
    number = {rule: i for i, rule in enumerate(roots) if rule in kept}
    jumping = kept - left_recursive(program, order)  # left recursion is removed from calls later
    writer = Writer(program, number, jumping, limits)
    determinized = smallest if not kept else proportional
    rules = inlined(_automata(roots, writer, limits, determinized), limits, determinized)
    if not called(rules[0]):
        return without_calls(rules[0])
    return linked([program.names[rule] for rule in roots], rules, limits)


def rule_network(cfg: Cfg, limits: Limits = LIMITS) -> Network:
    """Every rule as a separate automaton, for pictures and explanations.

    The same language as ``machine``, with a call for every nonterminal, so the stack names all
    rules that are being read. A left-recursive rule reads its first part and then loops, as in
    ``machine``. A permutation phrase reads each element any number of times: a picture of all sets
    of elements explains nothing.
    """
    program = cfg.program
    order = program.reached_from(program.names.index(cfg.start))
    number = {rule: i for i, rule in enumerate(order)}
    writer = Writer(program, number, frozenset(), limits, marks=False)
    names = [program.names[rule] for rule in order]
    return replace(linked(names, _automata(order, writer, limits), limits), all_wait=True)


#: The arrays of the classes of a rule's symbols: its own, and those that ``linked`` makes.
_CLASS_COPIES = 2


def _automata(
    roots: list[int], writer: Writer, limits: Limits, determinized: Determinization = smallest
) -> dict[int, Dfa]:
    """The automata of the first root and of all roots it calls, itself or through others.

    None of them calls itself before reading a byte.

    Raises: LimitError if they need more than ``limits.megabytes``: with many rules, each has a
            symbol for every other one.
    """
    clock = limits.clock()
    rules: dict[int, Dfa] = {}
    size = 0

    def compiled(number: int) -> list[int]:
        nonlocal size
        clock.check()
        machine = rules[number] = determinized(writer.rule(roots[number]), limits)
        size += machine.table.nbytes + _CLASS_COPIES * machine.classes.nbytes
        limits.check("megabytes", size / 2**20)
        return called(machine)

    reachable([0], compiled)
    return without_left_recursion(rules, limits)


def network_of(dfa: Dfa, name: str = "start") -> Network:
    """A regular language as a network of one rule that calls nothing."""
    classes = np.full(CALLS + 1, dfa.table.shape[1], np.uint16)
    classes[:CALLS] = dfa.classes[:CALLS]
    dead = np.full((len(dfa), 1), DEAD, np.int32)
    return Network(
        names=(name,),
        initials=(dfa.initial,),
        start=0,
        classes=classes,
        table=np.concatenate([dfa.table, dead], axis=1),
        finals=dfa.finals,
        owner=np.zeros(len(dfa), np.int32),
    )


#: A rule name that no notation allows.
_WHOLE = "·"
#: Where operands of the operations are, in messages.
_COMBINED = "in a combination, a negation or a lazy terminal"


@dataclass(frozen=True, slots=True, eq=False)
class Combining:
    """Operations on the languages of expressions, as ``LanguageOperations`` requires them."""

    source: Source
    limits: Limits
    #: Whether assertions look beyond their terminal, by the shape of the pattern.
    _looking: dict[Shape, bool] = field(default_factory=dict)

    def looking(self, parts: Sequence[Expression], rules: Rules) -> list[Regex] | None:
        """The regexes of the parts if an assertion of one tests the text around it.

        Raises: BuildError for such an assertion in a rule that calls itself.
        """
        trees = [self._tree(part, rules) for part in parts]
        for tree in trees:
            pattern = first_looking_beyond(tree, self.limits, self._looking)
            if pattern is not None:
                break
        else:
            return None
        candidates = [regex_of(part, rules) for part in parts]
        regexes = [regex for regex in candidates if regex is not None]
        if len(regexes) < len(parts):
            raise refused(self.source, pattern, "next to a terminal that is no regex")
        for tree in trees:
            self._refuse_labels(tree)
        return regexes

    def terminal(self, regex: Regex, label: str, span: Span) -> Expression:
        """The terminal of a regex with assertions; an automaton if it tests its own text only."""
        pattern = asserted_pattern(regex, label, span)
        if first_looking_beyond(self._tree(pattern, {}), self.limits, self._looking) is None:
            return self.own_text(regex, label, span)
        return pattern

    def own_text(self, regex: Regex, label: str, span: Span) -> Expression:
        """The terminal of a regex whose assertions see nothing around its text."""
        asserted_regex = asserted_pattern(regex, label, span).regex
        return Automaton(regex_dfa(asserted_regex, self.limits), label, span)

    def first_matches(self, regex: Regex, label: str, span: Span) -> Expression | None:
        """The texts that a backtracking matcher matches whole; None if these are all texts."""
        if has_look(regex) or reads_bytes(regex):
            return self.terminal(combined(Operation.LEFTMOST_FIRST, regex), label, span)
        dfa = whole_matches(regex, self.limits)
        return None if dfa is None else Automaton(dfa, label, span)

    def match_ends(self, regex: Regex) -> MatchEnds | None:
        """How the matches of a regex end; None if they end in another way, or if it has looks."""
        if has_look(regex) or reads_bytes(regex):
            terminal = self.terminal(combined(Operation.LEFTMOST_FIRST, regex), "", regex.span)
            if not isinstance(terminal, Automaton):
                return None
            dfa = terminal.machine
            if (dfa.table[dfa.finals] != DEAD).any():
                return None
            return MatchEnds(regex_of(terminal, {}), None, ())
        ends = match_ends(regex, self.limits)
        if ends is None:
            return None
        alone, running = (
            None if dfa.is_empty else regex_of(Automaton(dfa, "", regex.span), {})
            for dfa in ends[:2]
        )
        return MatchEnds(alone, running, ends[2])

    def overlap(self, parts: Sequence[Expression], rules: Rules) -> bool:
        """Whether two parts may match the same text, between some other texts."""
        looking = self.looking(parts, rules)
        if looking is None:
            return not self.both(parts, rules).is_empty
        around = any_characters(0, None, NO_SPAN)
        whole = Concat((around, combined(Operation.BOTH, *looking), around), NO_SPAN)
        return not regex_dfa(asserted_pattern(whole, "", NO_SPAN).regex, self.limits).is_empty

    def both(self, parts: Sequence[Expression], rules: Rules) -> Dfa:
        """The texts of all the parts."""
        first, *others = (self._machine(part, rules) for part in parts)
        for other in others:
            first = intersection(first, other, self.limits)
        return first

    def but(self, whole: Expression | None, part: Expression, rules: Rules) -> Dfa:
        """The texts of ``whole`` (all texts, if it is None) that are not texts of ``part``."""
        whole_machine = self._characters(None) if whole is None else self._machine(whole, rules)
        return difference(whole_machine, self._machine(part, rules), self.limits)

    def shortest(self, part: Expression, rules: Rules) -> Dfa:
        """The texts of a part without a shorter prefix that is also a text of it."""
        dfa = self._machine(part, rules)
        if dfa.finals[dfa.initial]:
            return self._characters(0)
        return first_match(dfa, self.limits)

    def at_most(self, part: Expression, characters: int, rules: Rules) -> Dfa:
        """The texts of a part that have at most that many characters."""
        return intersection(self._machine(part, rules), self._characters(characters), self.limits)

    def line_starts(
        self,
        newline: Expression,
        ignored: Expression,
        terminals: Sequence[Expression],
        tab: int,
        rules: Rules,
    ) -> tuple[tuple[LineStart, ...], Dfa]:
        """The newline tokens that begin a line at column 0, 1, …, and those between brackets."""
        where = "in newlines or ignored text next to indentation"
        token, rest = (self._with_called(part, rules, where) for part in (newline, ignored))
        # what looks beyond a terminal leaves some of its texts out, wherever the terminal is
        plain = {name: _without_looks(body) for name, body in rules.items()}
        others = [self._with_called(_without_looks(part), plain) for part in terminals]
        starts = line_starts(token, rest, others, tab, self.limits)
        return starts, ended_tokens(token, others, self.limits)

    def _with_called(self, part: Expression, rules: Rules, where: str = _COMBINED) -> Dfa:
        called_rules = {name: rules[name] for name in all_called(part, rules)}
        return self._machine(part, called_rules, where)

    def _characters(self, most: int | None) -> Dfa:
        """All texts of at most ``most`` characters."""
        return regex_dfa(any_characters(0, most, NO_SPAN), self.limits)

    def _machine(self, part: Expression, rules: Rules, where: str = _COMBINED) -> Dfa:
        bodies = {_WHOLE: part, **rules}
        tree = self._tree(part, rules)
        self._refuse_labels(tree)
        check_own_text(tree, self.limits, self._looking, where)
        try:
            program = rule_program(tree, bodies, self.limits)
        except KeyError:
            check_defined(tree, bodies, _WHOLE)
            raise
        result = machine(Cfg(_WHOLE, bodies, program, self.source, self.limits), self.limits)
        if isinstance(result, Dfa):
            return result
        raise BuildError(
            "expected texts that can be read without a stack",
            self.source,
            part.span,
            "only terminals can be combined, negated or cut short",
            kind="unsupported",
        )

    def _tree(self, part: Expression, rules: Rules) -> GrammarTree:
        """A part, which may call the rules, as a grammar."""
        bodies, span = {_WHOLE: part, **rules}, part.span
        written = tuple(Rule(name, body, span, span) for name, body in bodies.items())
        return GrammarTree(written, self.source)

    def _refuse_labels(self, tree: GrammarTree) -> None:
        for label, span in labels_in_rules(tree) if may_have_labels(self.source) else ():
            raise BuildError(
                f"{label.name} cannot be combined, negated or cut short: it reads one token, "
                "whatever its text",
                self.source,
                span,
                "leave it out of the combination, or write a regex of the intended texts",
                kind="unsupported",
            )


def _without_looks(body: Expression) -> Expression:
    """An expression of at least the same texts, without assertions."""
    if isinstance(body, Pattern) and asserted(body.regex) is not None:
        return replace(body, regex=without_looks(body.regex))
    return body.rebuild(_without_looks)


def build_separately(
    tree: GrammarTree, start: str = "start", limits: Limits = LIMITS
) -> Dfa | Network:
    """A machine of the same language as ``build``, compiled quickly; a Dfa if nothing is called.

    Raises: BuildError for the errors of ``checks``; LimitError if the machine is too large.
    """
    return separate_machine(
        context_free(tree, start, limits, separate_program, phrases=True), limits
    )


def separate_machine(cfg: Cfg, limits: Limits = LIMITS) -> Dfa | Network:
    """The machine of a checked grammar, compiled quickly; see ``build_separately``.

    If a kept rule becomes too large, the rules it calls are kept too.

    Raises: LimitError if the machine is too large.
    """
    program = cfg.program
    start = program.names.index(cfg.start)
    visited = visited_from(program, start)
    kept = separate_rules(program, visited)
    while True:
        roots = [start, *(rule for rule in visited.order[1:].tolist() if rule in kept)]
        number = {rule: i for i, rule in enumerate(roots) if rule in kept}
        # a call at the end of a rule pushes nothing anyway: jumps would only copy states
        writer = Writer(program, number, frozenset(), limits)
        separate, large = _separate_automata(program, roots, writer, limits)
        if not large:
            break
        kept.update(other for rule in large for other in program.calls[rule] if other != start)
    automata = without_left_recursion(separate, limits) if visited.is_left_recursive else separate
    if not called(automata[0]):
        return without_calls(automata[0])
    phrases = {i: program.phrases[rule] for i, rule in enumerate(roots) if rule in program.phrases}
    network = linked(
        [program.names[rule] for rule in roots],
        automata,
        limits,
        together=False,
        phrases=phrases,
        digits=writer.digits,
    )
    for phrase_rule in network.phrases:
        if not phrase_rule.phrase.is_possible:
            owner = network.names[int(network.owner[phrase_rule.first])]
            raise BuildError(
                f"{owner!r} never finishes: an element that it requires has no text",
                cfg.source,
                cfg.written[owner].span,
                "give the element a text, or do not require it",
                kind="unproductive",
            )
    return network


def _separate_automata(
    program: RuleProgram, roots: list[int], writer: Writer, limits: Limits
) -> tuple[dict[int, Dfa], list[int]]:
    """The automaton of every root; or some, and the roots that are too large with inlined rules."""
    clock = limits.clock()
    automata: dict[int, Dfa] = {}
    large: list[int] = []
    size = 0  # bytes of the tables, and of the classes of symbols here and in the network
    for i, rule in enumerate(roots):
        clock.check()
        machine = program.machines.get(rule)
        if machine is not None:
            automata[i] = machine
            continue
        nfa = writer.rule(rule)
        dfa = small_dfa(nfa, min(limits.states, proportional_states(nfa)))
        if dfa is None and not {*roots} >= {*program.calls[rule]}:
            large.append(rule)
        elif not large:
            automata[i] = dfa or smallest(nfa, limits, clock)
            size += automata[i].table.nbytes + 2 * automata[i].classes.nbytes
            limits.check("megabytes", size / 2**20)
    return automata, large
