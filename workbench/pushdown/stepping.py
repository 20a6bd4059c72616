"""The numba kernels that step a running network by one byte.

They work on the arrays of ``MachineArrays``. A stack node is identified by the node below and its
symbol, a situation by its configurations; both are looked up in hash tables or added.

A step (``successor``) of a situation by a byte class:

1. ``open_state``, once for each state: everything it can call before it reads a byte, with the
   return states that these calls push, and its byte classes grouped by their targets.
2. ``_move``, for each configuration, and for those after each return that is possible there
   (``returned``): pushes the return states and reads the byte. In a permutation phrase, it leaves
   out what the elements written exclude (``phrase_rules``).
3. ``intern_situation``: looks up the resulting set of configurations, or adds it as a situation.

A situation does not store the configurations after returns: a text that ends in an operand may
return to every level of operators, and every byte of the operand would add all of them again.

A kernel that needs more room, or has computed ``STEPS_PER_CHECK`` steps, returns a negative status;
``Runner.resolve`` handles it, and the kernel is called again. ``grown`` enlarges an array.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.automata.determinize import fill_slots
from workbench.automata.lazy_dfa import UNKNOWN
from workbench.base.dfa import DEAD
from workbench.base.kernel_status import Status
from workbench.base.kernels import inner, int64, njit, of_arrays, wrapping
from workbench.pushdown.machine_arrays import (
    ACCEPTED,
    ACCEPTS,
    BEFORE,
    BEGIN,
    DEPTH,
    END,
    FLOOR,
    FROM,
    GROUPS,
    GROWING,
    GROWTH,
    HASH,
    LARGE,
    LOWEST,
    MAX_HASH,
    PARENT,
    READ,
    RETURN_READS,
    SYMBOL,
    TO,
    Ints,
    Longs,
    MachineArrays,
    Rules,
    Used,
)
from workbench.pushdown.network import FINAL, GOES_ON, GUARDED, STAR
from workbench.pushdown.phrase_rules import BEGINS, FOLLOWING, HAS_GUARD, KIND
from workbench.syntax.permutation_phrases import END as PHRASE_END

_LOW = 0xFFFFFFFF


@wrapping
@inner
def mixed(marks: int, number: int) -> int:
    """A hash combined with one more number, a non-negative int64."""
    bits = (np.uint64(marks) ^ np.uint64(number)) * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return int64(bits >> np.uint64(1))


@inner
def push(arrays: MachineArrays, node: int, symbol: int) -> int:
    """The stack with one more symbol, or ``Status.FULL_NODES`` or ``TOO_DEEP``."""
    nodes, slots = arrays.nodes, arrays.node_slots
    slot = mixed(node + 1, symbol) & (len(slots) - 1)
    while slots[slot] >= 0:
        candidate = slots[slot]
        if nodes[candidate, PARENT] == node and nodes[candidate, SYMBOL] == symbol:
            return int(candidate)
        slot = (slot + 1) & (len(slots) - 1)
    new, depth = int(arrays.used[Used.NODES]), nodes[node, DEPTH] + 1
    if new == len(nodes):
        return Status.FULL_NODES
    if depth > arrays.used[Used.DEEPEST]:
        return Status.TOO_DEEP
    nodes[new, PARENT], nodes[new, SYMBOL], nodes[new, DEPTH] = node, symbol, depth
    arrays.returns[new, ACCEPTED] = -1
    slots[slot] = new
    arrays.used[Used.NODES] += 1
    return new


@inner
def insert(candidates: Longs, count: int, configuration: int) -> int:
    """Insert a configuration into the sorted first ``count`` ones; return the new count."""
    index = count
    while index > 0 and candidates[index - 1] > configuration:
        index -= 1
    if index > 0 and candidates[index - 1] == configuration:
        return count
    if count == len(candidates):
        return Status.FULL_FOUND
    for k in range(count, index, -1):
        candidates[k] = candidates[k - 1]
    candidates[index] = configuration
    return count + 1


@njit(_nrt=False)
def intern_situation(rules: Rules, arrays: MachineArrays, count: int, floor: int) -> int:
    """The number of the situation in ``arrays.found``, or the status of a full array.

    ``floor`` is the lowest stack depth that the step examined.
    """
    candidates, configurations, about, slots = (
        arrays.found,
        arrays.configurations,
        arrays.about,
        arrays.slots,
    )
    key = hash_of(candidates, int64(0), count) & MAX_HASH
    slot = key & (len(slots) - 1)
    while slots[slot] >= 0:
        situation = slots[slot]
        begin, end = int64(about[situation, FROM]), int64(about[situation, TO])
        if about[situation, HASH] == key and _same(candidates, count, configurations, begin, end):
            arrays.floors[situation] = min(int(arrays.floors[situation]), floor)
            return int(situation)
        slot = (slot + 1) & (len(slots) - 1)
    new, begin = int64(arrays.used[Used.SITUATIONS]), int64(arrays.used[Used.CONFIGURATIONS])
    if new == len(about):
        return Status.FULL_SITUATIONS
    if begin + count > len(configurations):
        return Status.FULL_CONFIGURATIONS
    accepts, lowest = _read_returns(rules, arrays, count)
    if accepts < 0:
        return accepts
    readable, classes = arrays.alike[0], arrays.groups.shape[1]
    for byte_class in range(classes):
        reads = readable[byte_class >> 6] >> (byte_class & 63) & 1
        arrays.table[new * classes + byte_class] = UNKNOWN if reads else DEAD
    for k in range(count):
        configurations[begin + k] = candidates[k]
    about[new, FROM], about[new, TO], about[new, ACCEPTS] = begin, begin + count, accepts
    about[new, LOWEST], about[new, HASH] = lowest, key
    arrays.floors[new] = min(floor, lowest)
    slots[slot] = new
    arrays.used[Used.SITUATIONS] += 1
    arrays.used[Used.CONFIGURATIONS] += count
    return new


@inner
def _read_returns(rules: Rules, arrays: MachineArrays, count: int) -> tuple[int, int]:
    """Open all states of the configurations found, and of those after their returns.

    ``alike[0]`` receives the byte classes that any of them can read. Returns 1 if the text is
    accepted, else 0, and the lowest stack depth examined; or the status of a full array.
    """
    readable, accepts, lowest = arrays.alike[0], int64(0), int64(_NO_FLOOR)
    readable[:] = 0
    for k in range(count):
        state, node = arrays.found[k] >> 32, arrays.found[k] & _LOW
        opened = open_state(rules, arrays, state)
        if opened < 0:
            return opened, lowest
        for word in range(len(readable)):
            readable[word] |= arrays.reads[opened, word]
        lowest = min(lowest, _depth_read(rules, arrays, node))
        if not rules.flags[state] & FINAL:
            continue
        if node == 0:
            accepts, lowest = int64(1), int64(-1)
        else:
            status = _find_returns(rules, arrays, node)
            if status < 0:
                return status, lowest
            below = arrays.returns[node]
            accepts, lowest = max(accepts, below[ACCEPTED]), min(lowest, below[FLOOR])
            for word in range(len(readable)):
                readable[word] |= below[RETURN_READS + word]
    return accepts, lowest


@inner
def _depth_read(rules: Rules, arrays: MachineArrays, node: int) -> int:
    """The lowest depth that decides whether a state on this stack refuses a byte, without a return.

    A set of written elements on top decides it, so it counts as examined before any step.
    """
    is_written = arrays.nodes[node, SYMBOL] >= len(rules.flags)
    return int64(arrays.nodes[node, DEPTH]) - int64(is_written)


@inner
def _find_returns(rules: Rules, arrays: MachineArrays, top: int) -> int:
    """Fill ``arrays.returns`` of a stack whose rule has ended, and of those after its returns.

    Returns 0, or the status of a full array.
    """
    nodes, returns, node, above = arrays.nodes, arrays.returns, int64(top), int64(-1)
    while returns[node, ACCEPTED] < 0:  # down to a known stack; ``FLOOR`` is the way back
        returns[node, FLOOR] = above
        above, symbol, parent = node, int64(nodes[node, SYMBOL]), int64(nodes[node, PARENT])
        state, node, _ = settle(rules, arrays, symbol, parent)
        if state >= 0:
            opened = open_state(rules, arrays, state)
            if opened < 0:
                return opened
        if state < 0 or node == 0 or not rules.flags[state] & FINAL:
            break
    while above >= 0:
        node, above = above, int64(returns[above, FLOOR])
        symbol, parent = int64(nodes[node, SYMBOL]), int64(nodes[node, PARENT])
        state, below, floor = settle(rules, arrays, symbol, parent)
        ends, accepts = state >= 0 and rules.flags[state] & FINAL != 0, int64(0)
        if ends and below == 0:
            accepts, floor = int64(1), int64(-1)
        elif ends:
            accepts, floor = returns[below, ACCEPTED], min(floor, returns[below, FLOOR])
        elif state >= 0:
            floor = min(floor, _depth_read(rules, arrays, below))
        for word in range(arrays.reads.shape[1]):
            reads = arrays.reads[arrays.opened[state, GROUPS], word] if state >= 0 else int64(0)
            if ends and below != 0:
                reads |= returns[below, RETURN_READS + word]
            returns[node, RETURN_READS + word] = reads
        returns[node, FLOOR], returns[node, ACCEPTED] = floor, accepts
    return 0


@inner
def hash_of(configurations: Longs, begin: int, end: int) -> int:
    """A hash of a slice of configurations, a non-negative int64."""
    marks = int64(1)
    for k in range(begin, end):
        marks = mixed(marks, configurations[k])
    return marks


@inner
def _same(candidates: Longs, count: int, configurations: Longs, begin: int, end: int) -> bool:
    index = 0
    while (
        index < count and begin + index < end and candidates[index] == configurations[begin + index]
    ):
        index += 1
    return index == count == end - begin


Kind = TypeVar("Kind", bound=np.generic)


def bytes_when_grown(arrays: MachineArrays, full: int) -> int:
    """The memory of all arrays after ``grown``."""
    growing: list[npt.NDArray[Any]] = [getattr(arrays, name) for name in _growing(arrays, full)]
    return arrays.bytes + (_factor(arrays, full) - 1) * sum(array.nbytes for array in growing)


def grown(arrays: MachineArrays, full: int) -> MachineArrays:
    """The buffers with the full array (a status of a kernel) four times as long; twice if large."""
    factor = _factor(arrays, full)
    longer = {name: _longer(getattr(arrays, name), factor) for name in _growing(arrays, full)}
    if full == Status.FULL_NODES:
        count = int(arrays.used[Used.NODES])
        slots = longer["node_slots"]
        slots[:] = -1
        fill_slots(_hashes_of_nodes(arrays.nodes[1:count]), slots)
        slots += slots >= 0  # node 0, the empty stack, is not looked up
    elif full == Status.FULL_EXTENSIONS:
        slots = longer["extension_slots"]
        slots[:] = -1
        written, marks, _ = arrays.extensions.T.astype(np.int64)
        fill_slots(of_arrays(mixed)(written, marks), slots)
    elif full == Status.FULL_SITUATIONS:
        slots = longer["slots"]
        slots[:] = -1
        fill_slots(arrays.about[: arrays.used[Used.SITUATIONS], HASH].astype(np.int64), slots)
    return arrays._replace(**longer)


def _growing(arrays: MachineArrays, full: int) -> tuple[str, ...]:
    """The arrays that are enlarged, as in ``GROWING``."""
    if full == Status.FULL_OPENINGS and arrays.used[Used.OPENED] == len(arrays.groups):
        return "groups", "reads"
    return GROWING[full]


def _factor(arrays: MachineArrays, full: int) -> int:
    return 2 if getattr(arrays, _growing(arrays, full)[0]).nbytes > LARGE else GROWTH


def _longer(array: npt.NDArray[Kind], factor: int) -> npt.NDArray[Kind]:
    longer = np.empty((factor * len(array), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _hashes_of_nodes(nodes: Ints) -> Longs:
    """The hash of each stack node, as ``push`` computes it, (n,)."""
    parents, symbols = nodes[:, PARENT].astype(np.int64), nodes[:, SYMBOL].astype(np.int64)
    hashes: Longs = of_arrays(mixed)(parents + 1, symbols)
    return hashes


def add_extension(arrays: MachineArrays, written: int, mark: int, target: int) -> None:
    """Add the set of written elements after another one and a mark; there is room for it."""
    slots, row = arrays.extension_slots, int(arrays.used[Used.EXTENSIONS])
    arrays.extensions[row] = written, mark, target
    slot = int(of_arrays(mixed)(np.array([written]), np.array([mark]))[0]) & (len(slots) - 1)
    while slots[slot] >= 0:
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot] = row
    arrays.used[Used.EXTENSIONS] += 1


_NO_FLOOR = 2**31 - 1


@njit(_nrt=False)
def successor(rules: Rules, arrays: MachineArrays, situation: int, byte_class: int) -> int:
    """Compute and store a step: the next situation, ``DEAD``, or a status.

    The result is stored for all byte classes that have the same targets in every configuration.
    """
    if arrays.used[Used.STEPS_LEFT] <= 0:
        return Status.PAUSED
    arrays.used[Used.STEPS_LEFT] -= 1
    alike, classes = arrays.alike[1], arrays.groups.shape[1]
    alike[:] = -1
    word, bit = byte_class >> 6, byte_class & 63
    count, floor = int64(0), int64(_NO_FLOOR)
    for k in range(arrays.about[situation, FROM], arrays.about[situation, TO]):
        state, node = arrays.configurations[k] >> 32, arrays.configurations[k] & _LOW
        while state >= 0:
            opened = arrays.opened[state, GROUPS]
            for index in range(len(alike)):
                alike[index] &= arrays.groups[opened, byte_class, index]
            if arrays.reads[opened, word] >> bit & 1:
                count, lowest = _move(rules, arrays, state, node, byte_class, count)
                if count < 0:
                    return count
                floor = min(floor, lowest)
            if not rules.flags[state] & FINAL or node == 0:
                break
            if not arrays.returns[node, RETURN_READS + word] >> bit & 1:
                for index in range(len(alike)):
                    alike[index] &= ~arrays.returns[node, RETURN_READS + index]
                break
            state, node, _ = returned(rules, arrays, state, node)
    result = DEAD
    if count > 0:
        old_count = arrays.used[Used.SITUATIONS]
        result = intern_situation(rules, arrays, count, floor)
        if result < 0:
            return result
        if result == old_count:
            arrays.about[result, BEFORE], arrays.about[result, READ] = situation, byte_class
    for other in range(classes):
        if alike[other >> 6] >> (other & 63) & 1:
            arrays.table[situation * classes + other] = result
    return result


@inner
def _extended(arrays: MachineArrays, written: int, mark: int) -> int:
    """The set of written elements after one more, −1 if its mark is not free, or a status."""
    if not arrays.free[written, mark >> 6] >> (mark & 63) & 1:
        return int64(-1)
    slots, extensions = arrays.extension_slots, arrays.extensions
    slot = mixed(written, mark) & (len(slots) - 1)
    while slots[slot] >= 0:
        row = slots[slot]
        if extensions[row, 0] == written and extensions[row, 1] == mark:
            return int64(extensions[row, 2])
        slot = (slot + 1) & (len(slots) - 1)
    arrays.used[Used.EXTENDED], arrays.used[Used.MARK] = written, mark
    return int64(Status.NEW_WRITTEN)


@inner
def _is_free(rules: Rules, arrays: MachineArrays, state: int, written: int) -> bool:
    """Whether one of the marks that can come first after a state with a guard is free."""
    row = rules.phrases.guarded[state, FOLLOWING]
    for word in range(arrays.free.shape[1]):
        if arrays.free[written, word] & rules.phrases.guards[row, word] != 0:
            return True
    return False


@inner
def _enter(rules: Rules, arrays: MachineArrays, state: int, node: int) -> tuple[int, int]:
    """The configuration after a guarded state was reached: state and stack.

    The state is −1 if it cannot be entered; the stack is a status if an array is full.
    """
    kind = rules.phrases.guarded[state, KIND]
    if kind >= BEGINS:
        target = int64(rules.phrases.guarded[state, FOLLOWING])
        return target, push(arrays, node, len(rules.flags) + int64(kind) - BEGINS)
    written = int64(arrays.nodes[node, SYMBOL]) - len(rules.flags)
    if kind == HAS_GUARD:
        return (state if _is_free(rules, arrays, state, written) else int64(-1)), node
    if not arrays.free[written, 0] >> PHRASE_END & 1:
        return int64(-1), node
    return int64(rules.phrases.guarded[state, FOLLOWING]), int64(arrays.nodes[node, PARENT])


@inner
def _begin_element(rules: Rules, arrays: MachineArrays, node: int, mark: int) -> int:
    """The stack after an element is begun, −1 if its mark is not free, or a status."""
    states = len(rules.flags)
    written = _extended(arrays, int64(arrays.nodes[node, SYMBOL]) - states, mark)
    if written < 0:
        return written
    return push(arrays, int64(arrays.nodes[node, PARENT]), states + written)


@inner
def _move(
    rules: Rules, arrays: MachineArrays, state: int, node: int, byte_class: int, count: int
) -> tuple[int, int]:
    """Add the successors of one configuration.

    Returns the new number of configurations found, and the lowest stack depth examined.
    """
    width, column = len(rules.table) // len(rules.flags), rules.columns[byte_class]
    floor = int64(_NO_FLOOR)
    # a step may take as long as thousands of others: what counts is what it tries
    arrays.used[Used.STEPS_LEFT] -= arrays.opened[state, END] - arrays.opened[state, BEGIN]
    for opening in range(arrays.opened[state, BEGIN], arrays.opened[state, END]):
        target = int64(rules.table[arrays.openings[opening, 0] * width + column])
        if target < 0:
            continue
        inner = node
        if arrays.openings[opening, 3] >= 0:
            floor = min(floor, int(arrays.nodes[node, DEPTH]) - 1)
            inner = _begin_element(rules, arrays, node, int64(arrays.openings[opening, 3]))
            if inner == -1:
                continue
            if inner < 0:
                return inner, floor
        is_open = True
        for k in range(arrays.openings[opening, 1], arrays.openings[opening, 2]):
            symbol = arrays.pushes[k]
            if rules.flags[symbol] & GUARDED:
                floor = min(floor, int(arrays.nodes[inner, DEPTH]) - 1)
                written = int64(arrays.nodes[inner, SYMBOL]) - len(rules.flags)
                if not _is_free(rules, arrays, int64(symbol), written):
                    is_open = False
                    break
            if rules.flags[symbol] & STAR:
                floor = min(floor, int(arrays.nodes[inner, DEPTH]) - 1)
                if symbol == arrays.nodes[inner, SYMBOL]:
                    continue  # pushing r on r reads no more texts than r alone
            inner = push(arrays, inner, int64(symbol))
            if inner < 0:
                return inner, floor
        if not is_open:
            continue
        if rules.flags[target] & GUARDED:
            floor = min(floor, int(arrays.nodes[inner, DEPTH]) - 1)
            target, inner = _enter(rules, arrays, target, inner)
            if inner < 0:
                return inner, floor
            if target < 0:
                continue
        target, inner, lowest = settle(rules, arrays, target, inner)
        floor = min(floor, lowest)
        if target >= 0:
            count = insert(arrays.found, count, target << 32 | inner)
            if count < 0:
                return count, floor
    return count, floor


@inner
def settle(rules: Rules, arrays: MachineArrays, state: int, node: int) -> tuple[int, int, int]:
    """The configuration to store for one that was reached: a state without edges only returns.

    If the texts of a state may be repeated, the same state below it on the stack is dropped.
    Returns the state (−1 if nothing can follow), the stack, and the lowest depth examined.
    """
    nodes = arrays.nodes
    floor = int64(nodes[node, DEPTH])
    while True:
        if rules.flags[state] & STAR:
            while state == nodes[node, SYMBOL]:
                node = int64(nodes[node, PARENT])
            floor = min(floor, int64(nodes[node, DEPTH]) - 1)
        if node == 0 or rules.flags[state] & GOES_ON:
            return state, node, floor
        if not rules.flags[state] & FINAL:
            return int64(-1), node, floor
        state, node = int64(nodes[node, SYMBOL]), int64(nodes[node, PARENT])
        floor = min(floor, int64(nodes[node, DEPTH]))


@inner
def returned(rules: Rules, arrays: MachineArrays, state: int, node: int) -> tuple[int, int, int]:
    """The configuration after a rule ends in a state: state, stack, and lowest depth examined.

    The state is −1 if no rule ends there, or the stack is empty.
    """
    if not rules.flags[state] & FINAL:
        return int64(-1), node, int64(arrays.nodes[node, DEPTH])
    if node == 0:
        return int64(-1), node, int64(-1)
    below = int64(arrays.nodes[node, PARENT])
    return settle(rules, arrays, int64(arrays.nodes[node, SYMBOL]), below)


@njit(_nrt=False)
def find_configurations(
    rules: Rules, arrays: MachineArrays, situation: int, configurations: Longs
) -> int:
    """Write all configurations of a situation to ``configurations``, also those after returns.

    Returns their number, or ``Status.FULL_FOUND``.
    """
    count = int64(0)
    for k in range(arrays.about[situation, FROM], arrays.about[situation, TO]):
        state, node = arrays.configurations[k] >> 32, arrays.configurations[k] & _LOW
        while state >= 0:
            more = insert(configurations, count, state << 32 | node)
            if more < 0:
                return more
            if more == count:  # present already, with all its returns
                break
            count = more
            state, node, _ = returned(rules, arrays, state, node)
    return count


@inner
def open_state(rules: Rules, arrays: MachineArrays, state: int) -> int:
    """Open a state: everything it can call before it reads a byte; cached.

    Returns its row of ``groups``, or the status of a full array.
    """
    if arrays.opened[state, GROUPS] >= 0:
        return int(arrays.opened[state, GROUPS])
    openings, pushes = arrays.openings, arrays.pushes
    begin, pushed, row = (
        int(arrays.used[Used.OPENINGS]),
        int(arrays.used[Used.PUSHES]),
        int(arrays.used[Used.OPENED]),
    )
    if begin == len(openings) or row == len(arrays.groups):
        return Status.FULL_OPENINGS
    openings[begin, 0], openings[begin, 1], openings[begin, 2] = state, pushed, pushed
    openings[begin, 3] = -1
    index, end = begin, begin + 1
    if len(rules.phrases.marks) > 0:
        for k in range(rules.phrases.first[state], rules.phrases.first[state + 1]):
            if end == len(openings):
                return Status.FULL_OPENINGS
            openings[end, 0], openings[end, 1] = rules.phrases.marks[k, 1], pushed
            openings[end, 2], openings[end, 3] = pushed, rules.phrases.marks[k, 0]
            end += 1
    while index < end:
        inner = openings[index, 0]
        for k in range(rules.calls_from[inner], rules.calls_from[inner + 1]):
            low, high = openings[index, 1], openings[index, 2]
            if end == len(openings) or pushed + high - low + 1 > len(pushes):
                return Status.FULL_OPENINGS
            openings[end, 0], openings[end, 1] = rules.calls[k, 0], pushed
            for j in range(low, high):
                pushes[pushed] = pushes[j]
                pushed += 1
            if rules.calls[k, 1] >= 0:
                pushes[pushed] = rules.calls[k, 1]
                pushed += 1
            openings[end, 2], openings[end, 3] = pushed, openings[index, 3]
            end += 1
        index += 1
    _group(rules, arrays, begin, end, row)
    arrays.used[Used.OPENINGS], arrays.used[Used.PUSHES], arrays.used[Used.OPENED] = (
        end,
        pushed,
        row + 1,
    )
    arrays.opened[state, BEGIN], arrays.opened[state, END] = begin, end
    arrays.opened[state, GROUPS] = row
    return row


@inner
def _group(rules: Rules, arrays: MachineArrays, begin: int, end: int, row: int) -> None:
    """Find the byte classes that some openings read, and those with equal targets."""
    width, classes = len(rules.table) // len(rules.flags), len(rules.columns)
    groups, hashes, firsts = arrays.groups[row], arrays.marks[0], arrays.marks[1]
    groups[:], arrays.reads[row, :] = 0, 0
    last_dead = int64(-1)
    for byte_class in range(classes):
        column, hash_value, dead = rules.columns[byte_class], int64(0), True
        for opening in range(begin, end):
            target = rules.table[arrays.openings[opening, 0] * width + column]
            if target >= 0:
                hash_value, dead = mixed(hash_value, (opening << 32) + int64(target)), False
        word, bit, other = byte_class >> 6, int64(1) << (byte_class & 63), byte_class - 1
        if dead:  # as most classes
            other, last_dead = last_dead, byte_class
        else:
            arrays.reads[row, word] |= bit
            while other >= 0 and not (
                hashes[other] == hash_value
                and _same_targets(rules, arrays, begin, end, column, rules.columns[other])
            ):
                other -= 1
        hashes[byte_class] = hash_value
        firsts[byte_class] = firsts[other] if other >= 0 else byte_class
        groups[firsts[byte_class], word] |= bit
    for byte_class in range(classes):
        for word in range(groups.shape[1]):
            groups[byte_class, word] = groups[firsts[byte_class], word]


@inner
def _same_targets(
    rules: Rules, arrays: MachineArrays, begin: int, end: int, column: int, other: int
) -> bool:
    """Whether two columns have equal targets for all of some openings."""
    width = len(rules.table) // len(rules.flags)
    for opening in range(begin, end):
        row_start = arrays.openings[opening, 0] * width
        if rules.table[row_start + column] != rules.table[row_start + other]:
            return False
    return True
