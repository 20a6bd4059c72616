"""Compiles a grammar and a vocabulary into a constraint, by the name of a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict, Unpack

from workbench.analysis.no_text import no_text
from workbench.base.arguments import checked
from workbench.base.diagnostics import suggestion
from workbench.base.errors import ArgumentValueError, BuildError, WorkbenchError
from workbench.base.limits import LIMITS, Limits, time_budget
from workbench.constraint.combined import SmallTokens
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.labels import labelled
from workbench.constraint.methods.composed import composed
from workbench.constraint.protocol import Constraint
from workbench.constraint.token_machine import TokenMachine, machine_of
from workbench.constraint.unconstrained import Unconstrained
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_bytes import over_bytes
from workbench.grammar.label_encoding import labels_of
from workbench.grammar.monitors.monitor import Monitor, monitor_named
from workbench.pushdown.network import Network
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


def _unconstrained(_: Grammar, vocabulary: Vocabulary, __: Limits) -> Constraint:
    return Unconstrained(vocabulary)


#: Names of ``online.ENUMERATIONS`` and ``online.CHECKERS``.
TokenTests = Literal["flat", "trie"]
CheckerName = Literal["machine", "synchromesh", "llama.cpp", "gcd"]


class MethodOptions(TypedDict, total=False):
    """The options of all methods; ``Method.options`` says what each of a method means."""

    #: ``domino``
    k: int | None
    #: ``online``
    how: TokenTests
    checker: CheckerName
    #: ``lalr``
    conflicts: Literal["refuse", "shift"]
    #: ``proper``, ``vegas``
    joined: Sequence[TokenId] | None
    #: ``template``
    healing: bool
    #: ``llguidance``
    slices: str


class CompileOptions(MethodOptions, total=False):
    """The options of a method, and the monitor that is joined to it."""

    monitor: Monitor | str | None


def _online(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    how: str = "flat",
    checker: str = "machine",
) -> Constraint:
    from workbench.constraint.methods.online import online  # lazy: imports ``compile``'s methods

    return online(grammar, vocabulary, limits, how=how, checker=checker)


def _domino(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits, k: int | None = None
) -> Constraint:
    from workbench.constraint.methods.domino.domino import domino  # lazy: rarely used

    return domino(grammar, vocabulary, limits, k)


def _lalr(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits, conflicts: str = "refuse"
) -> Constraint:
    from workbench.constraint.methods.lalr import LalrConstraint  # lazy: needs lark

    return LalrConstraint(grammar, vocabulary, limits, conflicts=conflicts)


def _xgrammar(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Constraint:
    from workbench.constraint.methods.adaptive_cache import AdaptiveCacheConstraint  # lazy: lark

    return AdaptiveCacheConstraint(grammar, vocabulary, limits)


def _llguidance(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits, **options: str
) -> Constraint:
    from workbench.constraint.methods.lexeme_earley import LexemeConstraint  # lazy: needs lark

    return LexemeConstraint(grammar, vocabulary, limits, **options)


def _greatgramma(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Constraint:
    from workbench.constraint.methods.lexer_tables import GreatGrammaConstraint  # lazy: lark

    return GreatGrammaConstraint(grammar, vocabulary, limits)


def _syncode(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Constraint:
    from workbench.constraint.methods.syncode import SynCodeConstraint  # lazy: needs lark

    return SynCodeConstraint(grammar, vocabulary, limits)


def _pre3(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Constraint:
    from workbench.constraint.methods.pre3 import Pre3Constraint  # lazy: needs lark

    return Pre3Constraint(grammar, vocabulary, limits)


def _outlines(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Constraint:
    from workbench.constraint.methods.outlines import OutlinesConstraint  # lazy: needs interegular

    return OutlinesConstraint(grammar, vocabulary, limits)


def _proper(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    joined: Sequence[TokenId] | None = None,
) -> Constraint:
    from workbench.constraint.methods.proper.proper_methods import proper  # lazy: merge tables

    return proper(grammar, vocabulary, limits, joined)


def _vegas(
    grammar: Grammar,
    vocabulary: Vocabulary,
    limits: Limits,
    joined: Sequence[TokenId] | None = None,
) -> Constraint:
    from workbench.constraint.methods.proper.proper_methods import vegas  # lazy: reads merge tables

    return vegas(grammar, vocabulary, limits, joined)


def _direct_merge(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Constraint:
    from workbench.constraint.methods.proper.proper_methods import direct  # lazy: merge tables

    return direct(grammar, vocabulary, limits)


def _template(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits, healing: bool = True
) -> Constraint:
    from workbench.constraint.forced_text import ForcedText  # lazy: reads merge tables

    return ForcedText(automaton(grammar, vocabulary, limits), healing)


@dataclass(frozen=True, slots=True)
class Method:
    """A method, with the texts shown by the command line and the page."""

    #: One line for the user.
    title: str
    #: Its authors and the place in their paper.
    source: str
    #: (grammar, vocabulary, limits, **options) → a constraint.
    make: Callable[..., Constraint]
    #: Its options, each with the meaning and the default value.
    options: Mapping[str, str] = field(default_factory=dict)
    #: Why it cannot use a grammar with terminal labels; empty if it can.
    no_labels: str = ""
    #: Whether ``workbench compare`` and the page compare it with others.
    compared: bool = True
    #: Whether it reads permutation phrases; others read ordinary rules in their place.
    reads_phrases: bool = False


_NOT_PROPER = "merges join tokens, and a label is always a single token"

_TERMINALS_ARE_CHARACTERS = "its terminals are characters"

#: Every method by its name.
METHODS: dict[str, Method] = {
    "automaton": Method(
        "the exact mask, rows on demand",
        "Koo, Liu & He 2024, Algorithms 1 to 3",
        automaton,
        reads_phrases=True,
    ),
    "composed": Method(
        "the composed machine, all rows precomputed",
        "Koo, Liu & He 2024, Algorithms 1 to 3",
        composed,
        compared=False,  # the masks of "automaton"
    ),
    "online": Method(
        "a recogniser tests every token at every step; nothing is precomputed",
        "the baselines of Willard & Louf 2023 and Beurer-Kellner et al. 2024, Table 1",
        _online,
        {
            "how": "flat: token by token; trie: tokens with a common prefix together (flat)",
            "checker": "the recogniser: machine, synchromesh, llama.cpp or gcd (machine)",
        },
    ),
    "domino": Method(
        "precomputed subterminal trees, pruned by a parser at every step",
        "Beurer-Kellner, Fischer & Vechev 2024, §3",
        _domino,
        {"k": "terminals a token may reach past its first; default: unlimited, the exact mask"},
    ),
    "lalr": Method(
        "terminal by terminal as an LALR(1) parser accepts them; no token crosses terminals",
        "Willard & Louf 2023, the extension to LALR(1); Koo, Liu & He 2024, A.1",
        _lalr,
        {"conflicts": "refuse: rules must be LALR(1); shift: as lark resolves them (refuse)"},
        _TERMINALS_ARE_CHARACTERS,
    ),
    "xgrammar": Method(
        "masks cached by position; the stack decides the tokens that leave a rule",
        "Dong et al. 2024 (XGrammar), the adaptive token mask cache",
        _xgrammar,
        compared=False,  # the masks of "automaton"
    ),
    "llguidance": Method(
        "a lexer by derivatives, Earley rows over lexemes, slices; longest match only",
        "llguidance (Moskal and others), lexer, Earley parser and slicer",
        _llguidance,
        {"slices": "tokens allowed without a walk: json (of its strings), none, a regex (json)"},
        _TERMINALS_ARE_CHARACTERS,
        compared=False,  # the masks of "automaton", where the longest match loses no text
    ),
    "greatgramma": Method(
        "sequences of terminals for each lexer state, decided by the parser's state or its stack",
        "Park, Zhou & D'Antoni 2025 (GreatGramma), the token spanner table",
        _greatgramma,
        {},
        _TERMINALS_ARE_CHARACTERS,
        compared=False,  # the masks of "automaton"
    ),
    "syncode": Method(
        "masks stored by lexer state and next terminal; the rest of a longer token is not read",
        "Ugare et al. 2024 (SynCode), the DFA mask store",
        _syncode,
        {},
        _TERMINALS_ARE_CHARACTERS,
        compared=False,  # after a token that is allowed wrongly a text cannot end
    ),
    "pre3": Method(
        "a deterministic push-down automaton whose edges look down the stack",
        "Chen et al. 2025 (Pre³), prefix-conditioned edges",
        _pre3,
        {},
        _TERMINALS_ARE_CHARACTERS,
        compared=False,  # the masks of "automaton"
    ),
    "outlines": Method(
        "an index from the states of a character machine to tokens; one regex, no recursion",
        "Willard & Louf 2023, Algorithms 3 and 4",
        _outlines,
        no_labels="its machine reads characters",
    ),
    "proper": Method(
        "only the tokens the tokenizer itself would write",
        "Tran-Thien 2024, CartesianMerge",
        _proper,
        {"joined": "the tokens of the prompt that the text continues; default: a separate text"},
        _NOT_PROPER,
    ),
    "vegas": Method(
        "proper tokens, assembled from regions cached for other grammars; no pre-tokenizer",
        "Tran-Thien 2024, Vegas configurations",
        _vegas,
        {"joined": "the tokens of the prompt that the text continues; default: a separate text"},
        _NOT_PROPER,
        compared=False,  # the masks of "proper"
    ),
    "direct_merge": Method(
        "merge rules rewrite the automaton one by one; small vocabularies without a pre-tokenizer",
        "Tran-Thien 2024, DirectMerge",
        _direct_merge,
        no_labels=_NOT_PROPER,
        compared=False,  # small vocabularies alone
    ),
    "template": Method(
        "fixed text in the tokenizer's own tokens; the model fills only the holes",
        "GUIDANCE, as in Beurer-Kellner, Fischer & Vechev 2024, §2 and appendix A",
        _template,
        {"healing": "whether the last token before a hole may join with what fills it (true)"},
        "a token of a label joins with nothing",
        reads_phrases=True,
    ),
    "unconstrained": Method(
        "the model alone", "the baseline of every paper", _unconstrained, reads_phrases=True
    ),
}


@checked
def compile(
    grammar: Grammar,
    vocabulary: Vocabulary,
    method: str = "automaton",
    limits: Limits = LIMITS,
    *,
    small_tokens: bool = False,
    monitor: Monitor | str | None = None,
    **options: Unpack[MethodOptions],
) -> TokenMachine:
    """A constraint that keeps a model's text inside a grammar.

    Compiles again at every call; data of the vocabulary alone (its trie) is cached with the
    vocabulary.

    ``vocabulary``    the model's: token ids of masks are its indices.
    ``method``        ``automaton`` (exact, the default), ``composed``, ``domino``, ``proper``,
                      ``vegas``, ``direct_merge``, ``outlines``, ``lalr``, ``online``, ``template``,
                      ``xgrammar``, ``llguidance``, ``greatgramma``, ``syncode``, ``pre3`` or
                      ``unconstrained``.
    ``limits``        of the compilation and of each mask.
    ``small_tokens``  allows tokens of a single character only.
    ``monitor``       also keeps the text's meaning: ``scope``, ``types``, ``keys``, or your own.
    ``options``       the method's own, of ``MethodOptions``; ``METHODS`` says what they mean.

    Raises: WorkbenchError for an unknown method, or an option that it does not have;
            for a monitor that does not fit; BuildError where the grammar accepts no text;
            VocabularyError where no accepted text can be tokenized; LimitError.
    """
    chosen = _method_with(method, options)

    def make(text: Grammar, tokens: Vocabulary) -> TokenMachine:
        # a method may try another way after one that took all its seconds
        with time_budget(2 * limits.seconds):
            if chosen.make is not _unconstrained:
                text = generable(text, tokens)
            if not chosen.reads_phrases:
                text = text.without_phrases
            machine = machine_of(chosen.make(text, tokens, limits, **options))
        return machine if monitor is None else _add_monitor(machine, grammar, monitor, limits)

    reader = grammar.reader
    if chosen.make is not _unconstrained and not isinstance(reader, Network) and reader.is_empty:
        raise no_text(grammar)
    if labels := labels_of(grammar):
        _check_label(labels[0][0].name, method, small_tokens, monitor)
        return labelled(grammar, vocabulary, limits, make)
    if small_tokens:
        return SmallTokens(vocabulary, lambda small: make(grammar, small))
    return make(grammar, vocabulary)


def _method_with(name: str, options: Iterable[str]) -> Method:
    """The method of a name. Raises: ArgumentValueError if it, or one of its options, is unknown."""
    method = METHODS.get(name)
    if method is None:
        hint, _ = suggestion(str(name), METHODS, f"choose one of {', '.join(METHODS)}")
        raise ArgumentValueError(f"there is no method {name!r}", hint)
    for option in options:
        if option not in method.options:
            names = f"it has {', '.join(method.options) or 'none'}"
            hint, _ = suggestion(option, method.options, names)
            raise ArgumentValueError(f"the method {name!r} has no option {option!r}", hint)
    return method


def _check_label(name: str, method: str, small_tokens: bool, monitor: Monitor | str | None) -> None:
    """Raises: WorkbenchError for what cannot be used in a grammar with the label ``name``."""
    if small_tokens:
        raise WorkbenchError(
            f"small tokens cannot be used with {name}: a label reads a whole token",
            "switch small tokens off, or write a regex in the place of the label",
        )
    if monitor is not None:
        raise WorkbenchError(
            f"a monitor cannot be used with {name}: a label matches tokens unread",
            "write a regex in the place of the label",
        )
    if reason := METHODS[method].no_labels:
        raise WorkbenchError(
            f"the method {method!r} does not read {name}: {reason}",
            "choose the method 'automaton'",
        )


def _add_monitor(
    constraint: TokenMachine, grammar: Grammar, monitor: Monitor | str, limits: Limits
) -> TokenMachine:
    from workbench.constraint.monitored import Monitored  # lazy: rarely used

    if isinstance(monitor, str):
        monitor = monitor_named(monitor, grammar, limits)
    return Monitored(constraint, monitor, limits)


def generable(grammar: Grammar, vocabulary: Vocabulary) -> Grammar:
    """The grammar of the texts whose bytes are all in the vocabulary.

    Raises: VocabularyError if the grammar has no such text; LimitError.
    """
    try:
        return over_bytes(grammar, vocabulary.alphabet)
    except BuildError as error:
        if error.kind != "unproductive":
            raise
        raise cannot_spell(vocabulary) from error
