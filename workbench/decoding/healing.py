"""Token healing: a prompt and a grammar come in, out come a shorter prompt and what it forces.

A prompt may end inside of a word as the tokenizer would have cut it: after ``"the re"`` the model
can hardly write ``ply``, since ``reply`` is one token. So the prompt's last token is taken away,
and its bytes are put before the grammar: the model spells them again, together with what follows.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.decoding.model import LanguageModel
from workbench.errors import WorkbenchError
from workbench.grammar import Grammar
from workbench.notations import Notation
from workbench.pushdown.apart import build_apart
from workbench.pushdown.build import build
from workbench.source import Span
from workbench.syntax.grammar_tree import (
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Rule,
    Sequence,
    Stop,
)
from workbench.vocabulary.vocabulary import TokenId

#: The start symbol of a healed grammar; no identifier has a space.
_START = "healed start"


@dataclass(frozen=True, slots=True, eq=False)
class Healed:
    """A prompt without its last token, and the grammar that begins with that token's bytes."""

    prompt: tuple[TokenId, ...]
    #: What every text of ``grammar`` begins with; empty where nothing was taken away.
    prefix: bytes
    grammar: Grammar

    def text(self, text: bytes) -> bytes:
        """A generated text without the prompt's end.

        Raises: WorkbenchError where the text does not go on from the prompt.
        """
        if not text.startswith(self.prefix):
            raise WorkbenchError(f"expected a text that begins with {self.prefix!r}")
        return text[len(self.prefix) :]


def heal(model: LanguageModel, prompt: str, grammar: Grammar) -> Healed:
    """Strip a prompt to its last token boundary and force the rest as a prefix.

    One token is taken away, and more where it spells no whole characters. A prompt of a single
    token stays as it is, since a model has to read something, and so does one that ends in a
    special token, which nothing can spell.

    Raises: LimitError.
    Source: Beurer-Kellner et al. 2024 (DOMINO), §2 and §3.5, after GUIDANCE.
    """
    ids = model.encode(prompt)
    for kept in range(len(ids) - 1, 0, -1):
        if model.vocabulary.tokens[ids[kept]] is None:
            break
        prefix = model.vocabulary.decode(ids[kept:])
        if _is_text(prefix):
            return Healed(tuple(ids[:kept]), prefix, with_prefix(grammar, prefix))
    return Healed(tuple(ids), b"", grammar)


def with_prefix(grammar: Grammar, prefix: bytes) -> Grammar:
    """The texts of a grammar, each after ``prefix``.

    Raises: LimitError.
    """
    source = grammar.source
    span = Span(0, len(source.text))
    rest: Expression
    if grammar.tree is not None:
        rules, rest = grammar.tree.rules, Nonterminal(grammar.start, span)
    else:
        assert grammar.regex is not None, "a grammar is written in one notation or the other"
        rules, rest = (), Pattern(grammar.regex, Stop.ANYWHERE, source.text, span)
    body = Sequence((Literal(prefix, span), rest), span)
    tree = GrammarTree((Rule(_START, body, span, span), *rules), source)
    # a regex has become a rule; whatever was of rules stays what it is, and is built as it was
    notation = Notation.KBNF if grammar.tree is None else grammar.notation
    make = build_apart if notation.is_translated else build
    machine = make(tree, _START, grammar.limits.begun())
    return Grammar(source, notation, machine, tree=tree, start=_START, limits=grammar.limits)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return bool(data)
