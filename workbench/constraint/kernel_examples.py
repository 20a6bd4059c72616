"""A call of every kernel, with the types of arguments that occur: what a new installation compiles.

The first call of a kernel runs ``main`` in another process (``base.kernels``);
``python -m workbench.constraint.kernel_examples`` does the same, for the image of a container.
"""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np

from workbench.automata.lazy_dfa import LazyDfa
from workbench.automata.program_nfa import program_nfa
from workbench.automata.regex_program import Program, check_size
from workbench.automata.small_dfa import direct_dfa, small_dfa
from workbench.automata.substrings import suffix_automaton
from workbench.automata.thompson import thompson
from workbench.base.kernels import compile_all
from workbench.base.limits import LIMITS
from workbench.constraint.engine.automaton import DfaConstraint, LazyConstraint, StackConstraint
from workbench.constraint.engine.compose import (
    LoopingStates,
    RowWriter,
    compose,
    looping_states,
)
from workbench.constraint.engine.compose_kernel import Steps
from workbench.constraint.methods.domino.domino import DominoConstraint
from workbench.constraint.methods.proper import live_edges
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.constraint.protocol import Constraint
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import build_separately
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.merge_kernels import MAX_SHORT
from workbench.vocabulary.tokenization.pair_test import row_buffer
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import Tokenizer, Vocabulary


def main() -> None:
    """Compile all kernels for the cache, with little claim to the processor.

    Raises: OSError if the cache cannot be written.
    """
    with suppress(AttributeError, OSError):
        os.nice(5)
    compile_all(call_all_kernels)


def call_all_kernels() -> None:
    """Use everything that has kernels, on the smallest inputs."""
    _regexes()
    _grammars()
    _masks()
    _closed_form()
    _methods()


def _regexes() -> None:
    program = Program()
    program.anything()
    code, data = program.arrays()
    check_size(code, data, [0], LIMITS)
    nfa = program_nfa(code, data)
    small_dfa(nfa)
    direct_dfa(nfa)
    suffix_automaton(np.zeros(1, np.int32))


def _grammars() -> None:
    nested = Grammar.from_kbnf("start ::= 'a' | 'a' start 'a' | start 'a';")  # left-recursive too
    _ = nested.network
    twice = Grammar.from_kbnf("start ::= 'a' | start start;")
    assert twice.tree is not None
    build_separately(twice.tree, "start", LIMITS)
    Grammar.from_json_schema(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "pattern": "a", "not": {"const": "ab"}, "maxLength": 9},
                "b": {"type": "integer", "minimum": 7},
            },
        },
        order="any",
    ).accepts("{}")


def _masks() -> None:
    vocabulary = Vocabulary((*(bytes([byte]) for byte in range(256)), b"ab", b"a'"))
    pattern, counted = Grammar.from_regex("a[ab]*'|b"), Grammar.from_regex("[ -~]{9}")
    looping = Grammar.from_regex("[ -~]*")
    nesting = Grammar.from_kbnf("start ::= 'b' start 'b' | #'[0-9]*';").network
    assert pattern.dfa is not None
    assert pattern.regex is not None
    assert counted.dfa is not None
    assert looping.dfa is not None
    compose(pattern.dfa, Vocabulary((b"ab'", b"b")))
    lazy = LazyDfa(thompson(pattern.regex))
    lazy.run(b"a")
    for constraint in (
        DfaConstraint(counted.dfa, vocabulary),
        DfaConstraint(pattern.dfa, vocabulary),
        DfaConstraint(looping.dfa, vocabulary),
        LazyConstraint(lazy, vocabulary),
        StackConstraint(nesting, vocabulary),
    ):
        state = constraint.initial
        for byte in b"ab":
            constraint.mask(state)
            state = constraint.step_bytes(state, bytes([byte])) or state


def _closed_form() -> None:
    """One state with a loop on every byte."""
    trie = Trie.of([bytes([byte]) for byte in range(256)])
    table, classes = np.zeros(1, np.int32), np.zeros(256, np.uint16)
    table.flags.writeable = classes.flags.writeable = False
    steps, looping, writer = (
        Steps(table, 1, classes),
        LoopingStates(trie),
        RowWriter(trie, 1, LIMITS),
    )
    for state in looping_states(steps):
        looping.add(steps, state)
    writer.write(steps, looping.arrays(1), np.zeros(1, np.int32))
    rows = writer.edge_rows(looping.arrays(1))
    rows.targets(0)
    rows.row(0)


def _methods() -> None:
    DominoConstraint(Grammar.from_regex("a"), Vocabulary((b"a",)), LIMITS)
    toy = Vocabulary(
        [*(bytes([byte]) for byte in range(256)), b"a", b"b", b"ab", b"aa", None],
        end=260,
        tokenizer=Tokenizer([(b"a", b"b"), (b"a", b"a")], byte_fallback=range(256)),
    )
    nesting = Grammar.from_kbnf("start ::= 'a' start 'b' | #'[^a]';").machine
    bpe = Bpe.of(toy)
    halves = Grammar.from_regex('a*b?"[^"]*"').machine
    for machine, text in ((nesting, "acb"), (halves, 'aab"c"')):
        constraint: Constraint = ProperConstraint(machine, toy, LIMITS)
        state = constraint.initial
        for token in bpe.encode(text):
            state = constraint.advance(state, token)
        constraint.mask(state)
    bpe.encode("ab" * MAX_SHORT)
    bpe.pair_ok(0, 0)
    letters, early = (b"a", b"b", b"ab", b"aba"), [(b"ab", b"a"), (b"a", b"b")]
    Bpe.of(Vocabulary(letters, tokenizer=Tokenizer(early)))
    Bpe.of(Vocabulary((*letters, b"abaa"), tokenizer=Tokenizer([*early, (b"aba", b"a")])))
    tokens, words = np.zeros(1, np.int32), np.zeros(9, np.uint32)
    live_edges.may_be_followed(
        bpe.tables, tokens, words, row_buffer(bpe.tables), words.copy(), np.zeros(1, np.uint8)
    )


__all__ = ["call_all_kernels", "main"]


if __name__ == "__main__":
    main()
