"""Which regex terminals have assertions that test the text around the terminal.

A terminal *looks beyond* its text if the text before it decides what it matches, or if it leaves
obligations for the text after it. That is decided by comparing its automata after all texts, so an
assertion that only seems to look beyond, such as ``a\\b-``, does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.automata.lookaround import Behind, Looks, looks_over_atoms, reads_bytes
from workbench.automata.nfa import BYTES, NfaBuilder
from workbench.automata.operations import equivalent
from workbench.automata.small_dfa import smallest
from workbench.automata.thompson import thompson
from workbench.base.errors import BuildError
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.syntax.grammar_tree import GrammarTree, Pattern, Shape, Stop, shape
from workbench.syntax.regex.tree import Regex, asserted, outermost


def first_looking_beyond(
    tree: GrammarTree, limits: Limits, results: dict[Shape, bool]
) -> Pattern | None:
    """The first pattern with an assertion that tests the text around its terminal.

    ``results`` has the results for the patterns of earlier calls, by shape, and gets the new ones.
    """
    patterns = [(shape(pattern.regex), pattern) for pattern in asserted_patterns(tree)]
    unknown = dependences([pair for pair in patterns if pair[0] not in results], limits)
    results.update((key, bool(dependence)) for key, dependence in unknown.items())
    return next((pattern for key, pattern in patterns if results[key]), None)


def check_own_text(
    tree: GrammarTree, limits: Limits, results: dict[Shape, bool], where: str
) -> None:
    """Check that all assertions test the text of their terminals only; ``results`` as above.

    ``where`` names the place in the error's message.

    Raises: BuildError at the first other one.
    """
    pattern = first_looking_beyond(tree, limits, results)
    if pattern is not None:
        raise refused(tree.source, pattern, where)


def refused(source: Source, pattern: Pattern, where: str) -> BuildError:
    """The error for an assertion in a place where it must not look beyond the terminal."""
    return BuildError(
        f"expected no assertion {where} that looks beyond the terminal",
        source,
        pattern.span,
        "let it test the terminal's text only, or write it in a separate terminal",
        kind="unsupported_regex",
    )


def asserted_patterns(tree: GrammarTree) -> Iterable[Pattern]:
    """The regexes with assertions, except those of complements, which test their own text."""
    for rule in tree.rules:
        for node in outermost(rule.body, Pattern):
            if node.stop is not Stop.BEFORE_MATCH and asserted(node.regex) is not None:
                yield node


@dataclass(frozen=True, slots=True)
class Dependence:
    """Whether a terminal depends on the text before it, or constrains the text after it."""

    regex: Regex
    on_before: bool
    on_after: bool

    def __bool__(self) -> bool:
        return self.on_before or self.on_after


def dependences(
    patterns: Iterable[tuple[Shape, Pattern]], limits: Limits
) -> dict[Shape, Dependence]:
    """The dependence of each pattern; assertions that several patterns share are compiled once."""
    regexes: dict[Shape, Regex] = {}
    for key, pattern in patterns:
        if key not in regexes:
            regex = asserted(pattern.regex)
            assert regex is not None, "a pattern with assertions"
            regexes[key] = regex
    by_shape: dict[Shape, Dependence] = {}
    over_bytes = {key: regex for key, regex in regexes.items() if reads_bytes(regex)}
    over_atoms = {key: regex for key, regex in regexes.items() if key not in over_bytes}
    for group in (over_bytes, over_atoms):
        if group is over_bytes:
            looks = Looks([*group.values()], BYTES, thompson, limits)
        else:
            looks, _ = looks_over_atoms([*group.values()], thompson, limits)
        for number, (key, regex) in enumerate(group.items()):
            by_shape[key] = _dependence(looks, number, regex, limits)
    return {key: by_shape[key] for key in regexes}


def _dependence(looks: Looks, number: int, regex: Regex, limits: Limits) -> Dependence:
    """Compare a terminal after all texts, character by character."""
    on_after, first, on_before = False, None, False
    for behind in _reachable(looks, number):
        product = looks.product(looks.bodies[number], behind)
        exits = sorted({tuple(sorted(obligations)) for obligations, _ in product.exits.values()})
        on_after = on_after or any(exits)
        builder = product.builder
        builder.symbols += len(exits)
        for state, (obligations, _) in product.exits.items():
            symbol = looks.symbols + exits.index(tuple(sorted(obligations)))
            builder.edge(state, symbol, symbol, 0)
        dfa = smallest(builder.build(1, {0}), limits)
        first = first or (exits, dfa)
        if exits != first[0] or not equivalent(dfa, first[1]):
            on_before = True
    return Dependence(regex, on_before, on_after)


def _reachable(looks: Looks, number: int) -> list[Behind]:
    """The states of the lookbehinds of a regex after all texts."""
    begin = looks.at_start(looks.inside[number])
    if not begin:
        return [begin]
    every = NfaBuilder(looks.symbols)
    state = every.new_state()
    every.edge(state, 0, looks.symbols - 1, state)
    kept = frozenset(look for look, _ in begin)
    product = looks.product(looks.body(every.build(state, {state})), begin, kept=kept)
    return list(dict.fromkeys(behind for _, behind in product.exits.values()))
