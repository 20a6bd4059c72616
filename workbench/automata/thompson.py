"""Thompson's construction: in comes a regex tree, out comes an Nfa over bytes."""

from __future__ import annotations

from workbench.automata.extensions import extension_nfa
from workbench.automata.measure import check_size, simple_repeat
from workbench.automata.nfa import Nfa
from workbench.automata.program import CHOICE, REPEAT, SEQUENCE, Program
from workbench.automata.writing import program_nfa
from workbench.limits import LIMITS, Limits
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Regex,
    Repeat,
)


def thompson(regex: Regex, limits: Limits = LIMITS) -> Nfa:
    """The Nfa of a regex: one state in, one state out, counted repetitions unrolled.

    Cost:   states linear in the unrolled regex; a character costs the nodes of its set.
    Raises: LimitError if unrolling needs more than ``limits.unrolled`` states, before any is made.
    Source: Thompson 1968, "Regular expression search algorithm", with the ε-edges of
            concatenation and alternation left out as in McNaughton & Yamada 1960.
    """
    program = Program()
    add(program, regex, limits)
    code, data = program.arrays()
    check_size(code, data, [0], limits)
    return program_nfa(code, data)


def add(program: Program, regex: Regex, limits: Limits = LIMITS) -> None:
    """Add a regex to a program.

    Raises: LimitError for an extension that is too large.
    """
    match regex:
        case Characters():
            program.characters(regex.ranges)
        case Concat():
            parts = regex.parts
            program.code += (SEQUENCE, len(parts), 0)
            for part in parts:
                add(program, part, limits)
        case Repeat():
            part, low, high = simple_repeat(regex)
            program.code += (REPEAT, low, -1 if high is None else high)
            add(program, part, limits)
        case Group():
            add(program, regex.part, limits)
        case Alternate():
            program.code += (CHOICE, len(regex.options), 0)
            for option in regex.options:
                add(program, option, limits)
        case Bytes():
            program.one_byte(regex.ranges)
        case Extension():
            program.nfa(extension_nfa(regex, thompson, limits))
