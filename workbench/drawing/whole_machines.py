"""Whole machines of a grammar as records and as text for OpenFst."""

from __future__ import annotations

from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import Limits
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.constraint.labels import label_vocabulary
from workbench.constraint.methods.proper.proper_methods import ProperAutomaton
from workbench.drawing import machine_files
from workbench.drawing.drawable import Machine, spelt_properly
from workbench.drawing.machine_files import Att, detokenizer_att, dfa_att, token_fsa_att
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import encode_labels, labels_of
from workbench.pushdown.textbook_pda import pda
from workbench.vocabulary.vocabulary import Vocabulary


def automaton(
    grammar: Grammar, machine: Machine, vocabulary: Vocabulary | None, limits: Limits
) -> machine_files.Record:
    """A whole machine as a record; ``vocabulary`` is for the machines over tokens.

    Raises: WorkbenchError where the grammar has no such machine; LimitError.
    """
    # a file is read by other programs: it has no permutation phrases
    grammar, vocabulary = _encode_labels(grammar.without_phrases, vocabulary, machine)
    if machine is Machine.RULES:
        return machine_files.network_record(grammar.rules)
    if machine is Machine.STACK:
        return machine_files.pda_record(pda(grammar.rules))
    if machine is Machine.CHARACTERS:
        return machine_files.dfa_record(_finite(grammar, machine))
    if vocabulary is None:
        raise WorkbenchError("expected a vocabulary for a machine over tokens")
    if machine is Machine.DETOKENIZER:
        return machine_files.detokenizer_record(vocabulary)
    if machine is Machine.PROPER:
        return machine_files.token_fsa_record(_proper(grammar, vocabulary, limits), str(machine))
    if grammar.dfa is not None:
        return machine_files.token_fsa_record(compose(grammar.dfa, vocabulary, limits))
    try:
        return machine_files.token_pda_record(compose_pda(grammar.rules, vocabulary, limits))
    except LimitError:
        # rules as written may pop without end; the network does not: its tail calls keep no caller
        return machine_files.token_pda_record(compose_pda(grammar.network, vocabulary, limits))


def att(grammar: Grammar, machine: Machine, vocabulary: Vocabulary | None, limits: Limits) -> Att:
    """A finite machine as OpenFst reads it; ``vocabulary`` is for the machines over tokens.

    Raises: WorkbenchError for machines that are not finite; LimitError.
    """
    grammar, vocabulary = _encode_labels(grammar.without_phrases, vocabulary, machine)
    if machine is Machine.DETOKENIZER and vocabulary is not None:
        return detokenizer_att(vocabulary)
    if machine is Machine.CHARACTERS:
        return dfa_att(_finite(grammar, machine))
    if machine is Machine.TOKENS and vocabulary is not None:
        return token_fsa_att(compose(_finite(grammar, machine), vocabulary, limits))
    if machine is Machine.PROPER and vocabulary is not None:
        return token_fsa_att(_proper(grammar, vocabulary, limits))
    raise WorkbenchError(
        f"expected a finite machine for this format, not {machine}",
        "choose the format json, or a regular grammar and its machine characters or tokens",
    )


def _encode_labels(
    grammar: Grammar, vocabulary: Vocabulary | None, machine: Machine
) -> tuple[Grammar, Vocabulary | None]:
    """Both with a code for each terminal label; the detokenizer has no labels."""
    if machine is Machine.DETOKENIZER or vocabulary is None or not labels_of(grammar):
        return encode_labels(grammar), vocabulary
    return encode_labels(grammar), label_vocabulary(vocabulary)


def _proper(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> ProperAutomaton:
    _finite(grammar, Machine.PROPER)
    return spelt_properly(grammar, vocabulary, limits)


def _finite(grammar: Grammar, machine: Machine) -> Dfa:
    if grammar.dfa is None:
        raise WorkbenchError(
            f"expected a regular grammar for this file of the machine {machine}; "
            "this one is read with a stack",
            "write its machine stack, rules or tokens, with the format json",
        )
    return grammar.dfa
