"""Whole machines as files: JSON records, or arcs for OpenFst."""

from __future__ import annotations

from workbench.automata.dfa import Dfa
from workbench.constraint.compose import compose
from workbench.constraint.compose_pda import compose_pda
from workbench.constraint.labels import signed_vocabulary
from workbench.constraint.proper.spelt_out import SpeltOut
from workbench.drawing import as_json
from workbench.drawing.att import Att, detokenizer_att, dfa_att, token_fsa_att
from workbench.drawn import spelt_properly
from workbench.errors import LimitError, WorkbenchError
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.pipeline import Machine
from workbench.pushdown.pda import pda
from workbench.signs import labels_of, signed
from workbench.vocabulary.vocabulary import Vocabulary


def automaton(
    grammar: Grammar, machine: Machine, vocabulary: Vocabulary | None, limits: Limits
) -> as_json.Record:
    """A whole machine as a record; ``vocabulary`` is for the machines over tokens.

    Raises: WorkbenchError where the grammar has no such machine; LimitError.
    """
    grammar, vocabulary = _signed(grammar, vocabulary, machine)
    if machine is Machine.RULES:
        return as_json.network_record(grammar.rules)
    if machine is Machine.STACK:
        return as_json.pda_record(pda(grammar.rules))
    if machine is Machine.CHARACTERS:
        return as_json.dfa_record(_finite(grammar))
    if vocabulary is None:
        raise WorkbenchError("expected a vocabulary for a machine over tokens")
    if machine is Machine.DETOKENIZER:
        return as_json.detokenizer_record(vocabulary)
    if machine is Machine.PROPER:
        return as_json.token_fsa_record(_proper(grammar, vocabulary, limits), str(machine))
    if grammar.dfa is not None:
        return as_json.token_fsa_record(compose(grammar.dfa, vocabulary, limits))
    try:
        return as_json.token_pda_record(compose_pda(grammar.rules, vocabulary, limits))
    except LimitError:
        # rules as written may pop without end; without the callers that wait for nothing they end
        return as_json.token_pda_record(compose_pda(grammar.network, vocabulary, limits))


def att(grammar: Grammar, machine: Machine, vocabulary: Vocabulary | None, limits: Limits) -> Att:
    """A finite machine as OpenFst reads it; ``vocabulary`` is for the machines over tokens.

    Raises: WorkbenchError for machines that are not finite; LimitError.
    """
    grammar, vocabulary = _signed(grammar, vocabulary, machine)
    if machine is Machine.DETOKENIZER and vocabulary is not None:
        return detokenizer_att(vocabulary)
    if machine is Machine.CHARACTERS:
        return dfa_att(_finite(grammar))
    if machine is Machine.TOKENS and vocabulary is not None:
        return token_fsa_att(compose(_finite(grammar), vocabulary, limits))
    if machine is Machine.PROPER and vocabulary is not None:
        return token_fsa_att(_proper(grammar, vocabulary, limits))
    raise _no_stack()


def _signed(
    grammar: Grammar, vocabulary: Vocabulary | None, machine: Machine
) -> tuple[Grammar, Vocabulary | None]:
    """Both with a sign for each terminal label; the detokenizer has none."""
    if machine is Machine.DETOKENIZER or vocabulary is None or not labels_of(grammar):
        return signed(grammar), vocabulary
    return signed(grammar), signed_vocabulary(vocabulary)


def _proper(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> SpeltOut:
    _finite(grammar)
    return spelt_properly(grammar, vocabulary, limits)


def _finite(grammar: Grammar) -> Dfa:
    if grammar.dfa is None:
        raise _no_stack()
    return grammar.dfa


def _no_stack() -> WorkbenchError:
    return WorkbenchError(
        "only the finite machines of a regular grammar have this format",
        "choose characters, tokens, proper or the detokenizer, and a grammar without nesting",
    )
