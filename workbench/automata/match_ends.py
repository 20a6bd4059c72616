"""The matches of a regex without assertions, and where they end.

They end alone, or only before a character that does not continue them. A block comment ends by its
last characters. A line comment is continued by every character but a line break, so its match is
known to end when one comes next.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.automata.code_points import Alphabet, alphabet_of
from workbench.automata.leftmost_first import leftmost_first
from workbench.automata.lookaround import atom_nfa, dfa_over_bytes, of_atoms, sets_of
from workbench.automata.nfa import Nfa
from workbench.automata.small_dfa import smallest
from workbench.automata.thompson import thompson
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import Limits
from workbench.syntax.ranges import Ranges, normalized
from workbench.syntax.regex.tree import Regex


def whole_matches(regex: Regex, limits: Limits) -> Dfa | None:
    """The texts of a regex without assertions that a backtracking matcher matches as a whole.

    None if these are all its texts; otherwise a DFA over bytes.

    Raises: LimitError
    """
    nfa, alphabet, has_fewer = _matches(regex, limits)
    if not has_fewer:
        return None
    matches = smallest(nfa, limits)
    every = smallest(atom_nfa(regex, alphabet, thompson, limits), limits)
    return None if matches.data == every.data else dfa_over_bytes(matches, alphabet, limits)


def match_ends(regex: Regex, limits: Limits) -> tuple[Dfa, Dfa, Ranges] | None:
    """The matches that end alone, those that are a run, and the characters that continue a run.

    A character of that set always continues a run to a longer match, any other one never does.
    None if the matches of the regex, which has no assertions, end in another way.

    Raises: LimitError
    """
    nfa, alphabet, _ = _matches(regex, limits)
    dfa = smallest(nfa, limits)
    targets = dfa.table[:, dfa.classes[: alphabet.size]]
    continued = targets != DEAD
    rows = continued[dfa.finals]
    if not dfa.finals[targets[dfa.finals][rows]].all():
        return None
    runs = np.unique(rows[rows.any(axis=1)], axis=0)
    if len(runs) > 1:
        return None
    alone = dfa.finals & ~continued.any(axis=1)
    running = dfa.finals & continued.any(axis=1)
    pieces = [(low, high) for low, high, atom in alphabet.pieces() if len(runs) and runs[0][atom]]
    ended, others = (
        dfa_over_bytes(replace(dfa, finals=finals), alphabet, limits) for finals in (alone, running)
    )
    return ended, others, normalized(pieces)


def _matches(regex: Regex, limits: Limits) -> tuple[Nfa, Alphabet, bool]:
    """The matches over the atoms of an alphabet; False if they are certainly all texts."""
    alphabet = alphabet_of(sets_of(regex))
    tree = of_atoms(regex, alphabet, limits.clock())
    nfa, has_fewer = leftmost_first(tree, alphabet.size, alphabet.size, limits)
    return nfa, alphabet, has_fewer
