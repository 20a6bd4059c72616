"""The pair test: which tokens may be adjacent in a canonical sequence.

Without a pre-tokenizer, t1 … tn is canonical exactly if every token is canonical and every adjacent
pair is (reference, section 4). Three views of the same relation:

**Pair** (``may_follow``): may v follow u? While u and v are encoded next to each other, only the
*right spine* of u (u, its right side, the right side of that, …) and the *left spine* of v ever
touch the boundary. The walk undoes the later of the two last merges step by step, and checks
whether the two tokens now at the boundary would have merged earlier::

            u                     v            u|v is canonical if no rule joins a token of u's
          ╱   ╲                 ╱   ╲          right spine with a token of v's left spine before
         ·     u'    boundary  v'    ·         the merges that cover them
             ╱   ╲      │    ╱   ╲
            ·     u''   │   v''   ·

**Row** (``row_intervals``, ``forbid``): all tokens that may not follow u. In the left forest
(``merge_rules``) it is a union of intervals: for each rule (r, s) with r on the right spine of u,
the tokens with s on their left spine whose merge above s is later. These are the sets of forbidden
tokens of the article's `.*` automaton (Tran-Thien 2024, appendix, section 4), computed on demand
instead of merge by merge (reference, section 5).

**Column** (``may_precede``): all tokens that may not precede v, found by testing all pairs with v.

**Exceptions.** The walk assumes that ranks increase in a derivation. A token produced by an earlier
rule than one of its sides is *offending*. The walk can be wrong only if an offending token is in
one of the two derivations, or if a rule between the right spine of the first token and the left
spine of the second produces one: otherwise every merge on either side happens in the order of its
rank, and a rule across the boundary comes after the rules of its sides. ``pair_exceptions`` encodes
those pairs once and stores the results that differ (reference, section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from workbench.base.errors import VocabularyError
from workbench.base.kernels import inner, int64, njit
from workbench.base.limits import Limits, check_time_budget
from workbench.vocabulary.tokenization.merge_kernels import (
    NEVER,
    NOT_PRODUCED,
    SYMBOL,
    Bools,
    Bytes,
    Ints,
    Numbers,
    Tables,
    Words,
    find_rule,
    merge_short,
)
from workbench.vocabulary.tokenization.merge_rules import Rules, Splits


@inner
def may_follow(tables: Tables, first: int, second: int) -> bool:
    """Whether encoding the text of [first, second] gives these two tokens; for kernels.

    Cost: at most as many look-ups as both spines are deep: up to 7, for runs of spaces 14. 90 ns
          for random pairs of 32k tokens, 250 ns of 131k, whose tables exceed the processor cache.
    """
    if tables.rank[first] == NOT_PRODUCED or tables.rank[second] == NOT_PRODUCED:
        return False
    for i in range(tables.exceptions_from[first], tables.exceptions_from[first + 1]):
        if tables.exceptions[i] == second or tables.exceptions[i] == -1 - second:
            return bool(tables.exceptions[i] == second)
    return may_follow_by_spines(tables, first, second)


@inner
def may_follow_by_spines(tables: Tables, first: int, second: int) -> bool:
    """The walk over both spines, which is correct except for ``Tables.exceptions``.

    Ties are merged at the left first: a rule with equal sides forbids ``a|aa`` but not ``aa|a``.
    """
    left, right, limit = first, second, NEVER
    while True:
        slot = find_rule(tables.rules, left, right)
        if slot >= 0 and tables.rules.ranks[slot] < limit:
            return False
        left_rank, right_rank = tables.rank[left], tables.rank[right]
        if left_rank == SYMBOL and right_rank == SYMBOL:
            return True
        if left_rank > right_rank:
            limit = left_rank
            left = tables.right[left]
        else:
            limit = right_rank + 1
            right = tables.left[right]


@njit(_nrt=False)
def pairs_ok(tables: Tables, firsts: Ints, seconds: Ints, result: Bytes) -> None:
    """Write for each of n pairs whether the second token may follow the first, (n,)."""
    for i in range(len(result)):
        result[i] = may_follow(tables, firsts[i], seconds[i])


def may_precede(tables: Tables, tokens: Ints, after: int) -> Bools:
    """Whether ``after`` may follow each of n tokens, (n,)."""
    result = np.empty(len(tokens), np.uint8)
    pairs_ok(tables, tokens, np.full(len(tokens), after, np.int32), result)
    return result.view(np.bool_)


def which_follow(tables: Tables, before: int, tokens: Ints) -> Bools:
    """Whether each of n tokens may follow ``before``, (n,)."""
    result = np.empty(len(tokens), np.uint8)
    pairs_ok(tables, np.full(len(tokens), before, np.int32), tokens, result)
    return result.view(np.bool_)


@inner
def subtree_intervals(tables: Tables, token: int, least: int, out: Ints, size: int) -> int:
    """Append the token itself and the subtrees of its children of rank ``least`` or later.

    Intervals of forest indices are appended to ``out``; returns their new number: one or two more.
    """
    low, high = tables.first_child[token], tables.first_child[token + 1]
    first = low
    while low < high:
        middle = (low + high) >> 1
        if tables.rank[tables.children[middle]] < least:
            low = middle + 1
        else:
            high = middle
    out[size, 0], out[size, 1] = tables.before[token], tables.before[token] + 1
    if low == tables.first_child[token + 1]:
        return size + 1
    if low == first:
        out[size, 1] = tables.after[token]
        return size + 1
    out[size + 1, 0], out[size + 1, 1] = tables.before[tables.children[low]], tables.after[token]
    return size + 2


@njit(_nrt=False)
def row_intervals(tables: Tables, token: int, out: Ints) -> int:
    """Write the intervals of a row, unsorted and possibly overlapping; return their number.

    The row of a token that merging does not produce contains all tokens, as in the pair test, so
    that tokens with equal rows are equivalent.

    Shape: ``out`` (n, 2), from ``row_buffer``.
    """
    left, limit, size = token, NEVER, 0
    if tables.before[token] < 0:
        out[0, 0], out[0, 1] = 0, len(tables.order)
        return 1
    while True:
        for i in range(tables.first_child[left], tables.first_child[left + 1]):
            child = tables.children[i]
            rank = tables.rank[child]
            if rank >= limit:
                break
            size = subtree_intervals(tables, tables.right[child], rank, out, size)
        if tables.right[left] < 0:
            return size
        limit = tables.rank[left]
        left = tables.right[left]


@njit(_nrt=False)
def forbid(tables: Tables, token: int, room: Ints, bits: Words) -> None:
    """Remove the tokens that may not follow ``token`` from a mask, in place.

    Shape: ``room`` (n, 2), scratch from ``row_buffer``; ``bits`` as in ``TokenMask``, by token id.
    Cost:  a step for each forbidden token: 1.4 µs on average with 32k tokens, 4 µs with 131k;
           114 µs for the space in 131k, which forbids nearly all.
    """
    size = row_intervals(tables, token, room)
    exceptions = tables.exceptions[
        tables.exceptions_from[token] : tables.exceptions_from[token + 1]
    ]
    for i in range(size):
        for position in range(room[i, 0], room[i, 1]):
            after = tables.order[position]
            if len(exceptions) == 0 or not _among(exceptions, after):
                bits[after >> 5] &= ~(np.uint32(1) << np.uint32(after & 31))
    for exception in exceptions:
        if exception < 0:
            after = -1 - exception
            bits[after >> 5] &= ~(np.uint32(1) << np.uint32(after & 31))


@inner
def _among(exceptions: Ints, token: int) -> bool:
    """Whether there is an exception for a next token, of either kind."""
    for exception in exceptions:  # noqa: SIM110  # numba does not support any()
        if max(exception, -1 - exception) == token:
            return True
    return False


def row_buffer(tables: Tables) -> Ints:
    """A buffer for the intervals of any row, (n, 2): two for each rule along a right spine."""
    rules = np.diff(tables.first_child)
    left, most = np.flatnonzero(tables.before >= 0).astype(np.int32), 1
    counts = np.zeros(len(left), np.int64)
    while len(left):
        counts += rules[left]
        most = max(most, int(counts.max()))
        left = tables.right[left]
        counts, left = counts[left >= 0], left[left >= 0]
    return np.empty((2 * most, 2), np.int32)


def merged_intervals(intervals: Ints) -> Ints:
    """Intervals sorted, merged where they touch or overlap, without empty ones, (n, 2)."""
    some = intervals[intervals[:, 0] < intervals[:, 1]]
    if len(some) < 2:
        return some.copy()
    some = some[np.argsort(some[:, 0], kind="stable")]
    ends = np.maximum.accumulate(some[:, 1])
    begins = np.concatenate(([True], some[1:, 0] > ends[:-1]))
    lasts = np.concatenate((np.flatnonzero(begins)[1:] - 1, [len(some) - 1]))
    return np.stack((some[begins, 0], ends[lasts]), 1)


#: The most pairs ``pair_exceptions`` encodes: ten seconds of work.
MAX_ENCODED_PAIRS = 30_000_000

#: The pairs that are listed at a time.
_CHUNK = 20_000

#: What one call of the kernel spends at most, in squares of the symbols of a pair: about 20 ms.
_SLICE = 2_000_000

_TIME_HINT = "raise the limit: the tables of a tokenizer are made once and kept on disk"

#: Raises LimitError when the time is over.
Check = Callable[[str], None]


def pair_exceptions(
    tables: Tables, splits: Splits, rules: Rules, limits: Limits | None = None
) -> tuple[Ints, Ints]:
    """The fields ``exceptions`` and ``exceptions_from`` of ``Tables``.

    ``limits`` are those of the seconds; without them, only a ``time_budget`` ends the work.

    Cost:   a microsecond for every pair with an offending token in its derivations.
    Raises: VocabularyError if there are too many such pairs; LimitError.
    """
    check = check_time_budget if limits is None else limits.clock().check
    tokens = len(splits.rank)
    unsafe = _with_derivations(splits, splits.offending)
    nodes = splits.rank != NOT_PRODUCED
    suspects = _suspects(splits, unsafe, nodes, check)
    unsafe_count, node_count = int(unsafe.sum()), int(nodes.sum())
    if 2 * unsafe_count * node_count + len(suspects) > MAX_ENCODED_PAIRS:
        raise VocabularyError(
            f"{unsafe_count} tokens are produced by earlier rules than their sides, too many to"
            " encode every pair with one of them",
            "order the merge rules so that the sides of a rule are produced before it",
        )
    longest = int(np.diff(rules.symbols_from).max(initial=1))
    room, out = np.empty((2, 2 * longest), np.int32), np.empty((_CHUNK, 2), np.int32)
    parts = [out[:0].copy()]
    for pairs in _pairs_to_encode(unsafe, nodes, suspects):
        begin = 0
        while begin < len(pairs):
            check(_TIME_HINT)
            begin, count = _compare(tables, rules, pairs, begin, _SLICE, room, out)
            parts.append(out[:count].copy())
    exceptions = np.concatenate(parts)
    second = np.maximum(exceptions[:, 1], -1 - exceptions[:, 1])
    exceptions = exceptions[np.lexsort((second, exceptions[:, 0]))]
    starts = np.zeros(tokens + 1, np.int32)
    np.cumsum(np.bincount(exceptions[:, 0], minlength=tokens), out=starts[1:])
    return exceptions[:, 1].copy(), starts


def _pairs_to_encode(unsafe: Bools, nodes: Bools, suspects: Ints) -> Iterator[Ints]:
    """All pairs with an unsafe token, and the suspects, in arrays (n, 2) of at most ``_CHUNK``."""
    every, some, others = map(np.flatnonzero, (nodes, unsafe, nodes & ~unsafe))
    yield from _products(some, every)
    yield from _products(others, some)
    for i in range(0, len(suspects), _CHUNK):
        yield suspects[i : i + _CHUNK]


def _products(firsts: Numbers, seconds: Numbers) -> Iterator[Ints]:
    """All pairs of two tokens, in arrays (n, 2) of at most ``_CHUNK``."""
    for begin in range(0, len(firsts) * len(seconds), _CHUNK):
        pair = np.arange(begin, min(begin + _CHUNK, len(firsts) * len(seconds)))
        row, column = np.divmod(pair, len(seconds))
        yield np.stack((firsts[row], seconds[column]), 1).astype(np.int32)


def _suspects(splits: Splits, unsafe: Bools, nodes: Bools, check: Check) -> Ints:
    """The pairs of safe tokens between whose spines a rule produces an offending token, (n, 2).

    Sorted; incomplete if there are more than ``MAX_ENCODED_PAIRS``.
    """
    tokens, safe = len(nodes), nodes & ~unsafe
    keys, pending, waiting = np.empty(0, np.int64), [np.empty(0, np.int64)], 0
    for token in np.flatnonzero(splits.offending).tolist():
        check(_TIME_HINT)
        firsts = np.flatnonzero(_with_on_spine(splits.right, int(splits.left[token])) & safe)
        seconds = np.flatnonzero(_with_on_spine(splits.left, int(splits.right[token])) & safe)
        for pairs in _products(firsts, seconds):
            pending.append(pairs[:, 0] * np.int64(tokens) + pairs[:, 1])
            waiting += len(pairs)
            if waiting > len(keys) + 10 * _CHUNK:
                check(_TIME_HINT)
                keys, pending, waiting = np.union1d(keys, np.concatenate(pending)), [], 0
            if len(keys) > MAX_ENCODED_PAIRS:
                break
    keys = np.union1d(keys, np.concatenate([keys, *pending]))
    return np.stack((keys // tokens, keys % tokens), 1).astype(np.int32)


def _with_on_spine(sides: Ints, token: int) -> Bools:
    """The tokens whose left or right spine (by ``sides``) contains ``token``."""
    marked_tokens = np.zeros(len(sides), np.bool_)
    marked_tokens[token] = True
    grown = True
    while grown:
        more = marked_tokens | ((sides >= 0) & marked_tokens[sides])
        grown = bool((more != marked_tokens).any())
        marked_tokens = more
    return marked_tokens


def _with_derivations(splits: Splits, marked: Bools) -> Bools:
    """The marked tokens, and those with a marked token in their derivation."""
    is_split, marked_tokens, grown = splits.left >= 0, marked, True
    while grown:
        more = marked_tokens | (
            is_split & (marked_tokens[splits.left] | marked_tokens[splits.right])
        )
        grown = bool((more != marked_tokens).any())
        marked_tokens = more
    return marked_tokens


@inner
def _crosses(tables: Tables, first: int, second: int) -> bool:
    """Whether the row of ``first`` contains ``second``: compares both spines completely."""
    left, left_above = int64(first), int64(NEVER)
    while left >= 0:
        right, right_above = int64(second), int64(NEVER)
        while right >= 0:
            slot = find_rule(tables.rules, left, right)
            if slot >= 0 and left_above > tables.rules.ranks[slot] <= right_above:
                return True
            right_above = tables.rank[right]
            right = tables.left[right]
        left_above = tables.rank[left]
        left = tables.right[left]
    return False


@njit(_nrt=False)
def _compare(
    tables: Tables, rules: Rules, pairs: Ints, begin: int, most: int, room: Ints, out: Ints
) -> tuple[int, int]:
    """Write the exceptions among ``pairs[begin:]`` until ``most`` is spent, at least of one pair.

    Encodes each pair and compares the result with the walk and with the row. Returns the first
    pair that is left, and the number of exceptions.
    """
    count, spent = 0, 0
    for pair in range(begin, len(pairs)):
        if spent > most:
            return pair, count
        first, second, size = int64(pairs[pair, 0]), int64(pairs[pair, 1]), 0
        for token in (first, second):
            for i in range(rules.symbols_from[token], rules.symbols_from[token + 1]):
                room[0, size] = rules.symbols[i]
                size += 1
        spent += size * size
        left = merge_short(tables.rules, room[0], room[1], size, 1)
        stays = left == 2 and room[0, 0] == first and room[0, 1] == second
        if stays != may_follow_by_spines(tables, first, second) or stays == _crosses(
            tables, first, second
        ):
            out[count, 0], out[count, 1] = first, second if stays else -1 - second
            count += 1
    return len(pairs), count
