"""Host names: nothing comes in, the machine of all host names goes out.

Source: RFC 1123, section 2.1; RFC 5890, section 2.3.1.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from workbench.automata.dfa import DEAD
from workbench.automata.explore import trimmed
from workbench.schema.strings.alphabet import alphabet_of
from workbench.schema.strings.contents import Content
from workbench.syntax.regex.unicode_sets import POSIX

#: Characters of a label, and those that a name's budget is counted by.
_LABEL, _BLOCK = 63, 8
#: 253 characters and the dot that does not end the last label.
_BLOCKS = 254 // _BLOCK
#: After so many characters of a label, the last a hyphen, another one would be reserved.
_RESERVED = 3


@cache
def hostnames() -> Content:
    """Labels of letters, digits and hyphens, with dots between.

    A state is what is spent of the budget, the length of the label so far, and whether that ends
    with a hyphen: 3,427 of them. Counted to the character there were 27,595, and every schema with
    a host name took 13 ms to build in place of 3.

    Shape: the states are (blocks, length of the label, ends with a hyphen).
    """
    letters, hyphen, dot = POSIX["alnum"], ((0x2D, 0x2D),), ((0x2E, 0x2E),)
    alphabet = alphabet_of([letters, hyphen, dot])
    states = np.arange((_BLOCKS + 1) * (_LABEL + 1) * 2).reshape(_BLOCKS + 1, _LABEL + 1, 2)
    table = np.full((*states.shape, alphabet.size), DEAD, np.int32)
    for length in range(_LABEL):
        # a label's first character begins a block, and so does every eighth with the dot to come
        more = int(length == 0 or (length + 1) % _BLOCK == 0)
        spent = states[more:, length + 1]
        for atom in alphabet.atoms_of(letters):
            table[: _BLOCKS + 1 - more, length, :, atom] = spent[:, :1]
        for atom in alphabet.atoms_of(hyphen):
            ends = 1 if length == _RESERVED else 2
            table[: _BLOCKS + 1 - more, length, :ends, atom] = spent[:, 1:] if length else DEAD
    for atom in alphabet.atoms_of(dot):
        table[:, 1:, 0, atom] = states[:, :1, 0]
    finals = np.zeros(states.shape, np.bool_)
    finals[:, 1:, 0] = True
    classes = np.arange(alphabet.size, dtype=np.uint16)
    flat = table.reshape(-1, alphabet.size)
    return Content(alphabet, trimmed(classes, flat, finals.reshape(-1), 0))
