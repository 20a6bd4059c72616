"""Writes a regular grammar as a drawn machine: its minimal deterministic automaton.

A drawn machine can also be made deterministic alone: its states are then sets of those drawn.
"""

from __future__ import annotations

from workbench.automata.code_points import fold
from workbench.automata.drawn_machine import ItemMachines, long_item, subset_machine
from workbench.automata.graphs import coreachable
from workbench.automata.to_regex import one_of
from workbench.base.errors import BuildError
from workbench.base.source import Span
from workbench.grammar.export.regular import refuse_recursion
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.grammar_tree import Names, labels_in_rules
from workbench.syntax.machine_text import item_text, machine_text, read_machine
from workbench.syntax.ranges import Ranges
from workbench.syntax.regex.extensions import labels_in
from workbench.syntax.regex.printer import pattern
from workbench.syntax.regex.reader import Dialect

#: A machine of more states is not read by people any more.
MAX_WRITTEN_STATES = 1_000


def write_machine(grammar: Grammar, states: int = MAX_WRITTEN_STATES) -> str:
    """The minimal deterministic machine over characters, its states ``q0``, ``q1``, ….

    The initial state is ``q0``; states have their numbers in the order of a breadth-first search.
    Byte strings that are not valid UTF-8, which some languages contain, are left out.

    Raises: BuildError if the language needs a stack, has terminal labels, or the machine would have
            more than ``states`` states; LimitError.
    """
    _refuse_labels(grammar)
    grammar = grammar.without_phrases
    if not grammar.is_regular:
        refuse_recursion(grammar, "no machine without a stack reads this", "KBNF, GBNF or Lark")
    dfa = grammar.dfa
    if dfa is None:  # whether it needs a stack is not decided within the limits
        raise _too_large(grammar, f"more than {grammar.limits.states:,} states")
    folded = fold(dfa)
    useful = coreachable(folded.finals, ((source, target) for source, _, target in folded.edges))
    edges = [edge for edge in folded.edges if edge[2] in useful]
    order = {folded.initial: "q0"}
    for source, _, target in edges:  # sorted by source, and states are numbered breadth first
        assert source in order or source not in useful
        order.setdefault(target, f"q{len(order)}")
    if len(order) > states:
        raise _too_large(grammar, f"{len(order):,} states, more than {states:,}")
    return machine_text(
        ["q0"],
        [name for state, name in order.items() if state in folded.finals],
        [
            (order[source], order[target], _label(ranges))
            for source, ranges, target in edges
            if source in order
        ],
    )


def write_subsets(grammar: Grammar, states: int = MAX_WRITTEN_STATES) -> str:
    """A drawn machine made deterministic by the subset construction, without merging states.

    A state is named by the states of its set, such as ``q0_q1``. The minimal machine of any grammar
    is written by ``write_machine``.

    Raises: BuildError for another notation, for a label longer than a character, and if the machine
            would have more than ``states`` states; LimitError.
    """
    whole = Span(0, len(grammar.source.text))
    if not grammar.is_written_in(Notation.MACHINE):
        message = "only a drawn machine has states that form sets"
        hint = "write the minimal machine (machine)"
        raise BuildError(message, grammar.source, whole, hint, "unsupported_export")
    drawn = read_machine(grammar.source)
    item = long_item(drawn, ItemMachines(drawn, grammar.limits))
    if item is not None:
        message = "the subset construction reads one character at a time, and this label reads more"
        span = item.span if drawn.source is grammar.source else whole
        hint = "draw a state after each character, or write the minimal machine"
        raise BuildError(message, grammar.source, span, hint, "unsupported_export")
    subsets = subset_machine(drawn, grammar.limits)
    if len(subsets.sets) > states:
        raise _too_large(grammar, f"{len(subsets.sets):,} states, more than {states:,}")
    taken = Names(())
    names = [taken.fresh("_".join(members)) for members in subsets.sets]
    return machine_text(
        names[:1],
        [names[final] for final in subsets.finals],
        [
            (names[source], names[target], _label(ranges))
            for source, ranges, target in subsets.edges
        ],
    )


def _label(ranges: Ranges) -> str:
    return item_text(pattern(one_of(ranges), Dialect.PYTHON))


def _too_large(grammar: Grammar, size: str) -> BuildError:
    message = f"the machine would have {size}"
    hint = "write it as a regex or as rules"
    span = Span(0, len(grammar.source.text))
    return BuildError(message, grammar.source, span, hint, "unsupported_export")


def _refuse_labels(grammar: Grammar) -> None:
    of_rules = () if grammar.tree is None else labels_in_rules(grammar.tree)
    of_regex = () if grammar.regex is None else labels_in(grammar.regex)
    for label, span in (*of_rules, *of_regex):
        message = f"a machine cannot say the label {label.name}, which represents one token"
        hint = "write a regex of the texts you mean"
        raise BuildError(message, grammar.source, span, hint, "unsupported_export")
