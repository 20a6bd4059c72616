"""Tables: merge rules as arrays that kernels read; rules and tokens come in, nothing is computed.

A *symbol* is what merging starts from: a byte, or a character where the table is over characters
(SentencePiece). A token is a *node* where it can stand in an encoding: a symbol, or the result of
its *live split*, the one rule that ever makes it (Berglund & van der Merwe 2023; Tran-Thien 2024).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Ranks of tokens that no rule makes: symbols, and tokens that are in no encoding.
SYMBOL, NOWHERE = -1, -2
#: Later than every rule.
NEVER = np.int32(2**31 - 1)


class RuleTable(NamedTuple):
    """Rules (left, right) → result, looked up by a hash of the pair (open addressing).

    Shape: ``keys`` (2^b,) int64, ``left << 32 | right`` or −1; ``results`` and ``ranks`` (2^b,).
    """

    keys: Numbers
    results: Ints
    ranks: Ints


class Tables(NamedTuple):
    """A normalised merge table, by token id; V tokens.

    Shape: ``left``, ``right`` (V,) the live split, −1 where there is none; ``rank`` (V,) that
           rule's rank, ``SYMBOL`` or ``NOWHERE``; equal ranks are ties, leftmost first.
           ``rules`` the live rules. Left forest (parent = left side): ``before`` (V,) the place
           of a token in preorder, −1 where it is no node; ``after`` (V,) the first place past its
           subtree; ``order`` (N,) the token at each place; ``children[first_child[t]:first_child[
           t + 1]]`` the results of the rules with left side t, by rank.
           ``judged[judged_from[t]:judged_from[t + 1]]`` the next tokens where the pair test or
           the row as such is wrong, u where it may follow and −1 − u where it may not; none in a
           monotone table.
    """

    left: Ints
    right: Ints
    rank: Ints
    rules: RuleTable
    before: Ints
    after: Ints
    order: Ints
    children: Ints
    first_child: Ints
    judged: Ints
    judged_from: Ints
