"""Token healing, retokenization, and canonical spelling of finished texts.

A prompt may end inside of a word as the tokenizer would have cut it: after ``"the re"`` the model
can hardly write ``ply``, since ``reply`` is one token. So the prompt's last token is taken away,
and its bytes are put before the grammar: the model spells them again, together with what follows.

A run picks tokens one by one and may spell a word as the tokenizer never would: "lo·vely" for
"love·ly". A model has hardly seen such spellings, so what follows is judged worse than the text
deserves. (Tran-Thien 2024 calls what the tokenizer writes proper token sequences.)
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass

import numpy as np

from workbench.base.errors import VocabularyError, WorkbenchError
from workbench.base.source import Span
from workbench.decoding.model import LanguageModel, Prompt, Session, context_of, padded
from workbench.decoding.sampling import log_softmax
from workbench.decoding.sessions import common
from workbench.decoding.trace import perplexity
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build, build_separately
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
    make = build_separately if notation.is_translated else build
    machine = make(tree, _START, grammar.limits.begun())
    return Grammar(source, notation, machine, tree=tree, start=_START, limits=grammar.limits)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return bool(data)


def retokenized(
    model: LanguageModel,
    prompt: Prompt,
    text: bytes | str,
    session: Session | None = None,
) -> list[TokenId]:
    """The model's own spelling of a text after a prompt: its likeliest token that fits, each time.

    Cost:   a forward pass a token.
    Raises: VocabularyError where the tokens cannot spell the text; ModelError.
    Source: Beurer-Kellner et al. 2024 (DOMINO), appendix B, Algorithm 3. Of equals the lowest id.
    """
    left = text.encode() if isinstance(text, str) else text
    session = model.session() if session is None else session
    context, found = context_of(model, prompt), list[TokenId]()
    while left:
        lengths = range(1, min(model.vocabulary.longest, len(left)) + 1)
        ids = sorted(i for n in lengths for i in model.vocabulary.ids_of.get(left[:n], ()))
        if not ids:
            raise VocabularyError(f"no token of {model.vocabulary.name} begins {left[:20]!r}")
        logits = session.logits([*context, *found])
        found.append(int(ids[int(np.argmax(padded(logits, len(model.vocabulary))[ids]))]))
        left = left[len(model.vocabulary.tokens[found[-1]] or b"") :]
    return found


def perplexity_of(
    model: LanguageModel,
    prompt: Prompt,
    token_ids: abc.Sequence[TokenId],
    session: Session | None = None,
) -> float:
    """The perplexity of tokens after a prompt, under the model alone; nan of none.

    Cost:   one forward pass.
    Raises: ModelError.
    """
    if not token_ids:
        return perplexity(())
    context = context_of(model, prompt)
    session = model.session() if session is None else session
    rows = session.judge([*context, *token_ids[:-1]], len(token_ids))
    return perplexity(
        float(log_softmax(padded(row, len(model.vocabulary)))[token_id])
        for row, token_id in zip(rows, token_ids, strict=True)
    )


def naturalised(model: LanguageModel, prompt: Prompt, text: bytes | str) -> float:
    """The perplexity of a text in the spelling the model prefers.

    Beside that of the tokens it was generated in it tells how much of the surprise is the spelling
    and how much the text.

    Raises: VocabularyError, ModelError.
    Source: DOMINO, figure 2 (3).
    """
    session = model.session()
    token_ids = retokenized(model, prompt, text, session)
    return perplexity_of(model, prompt, token_ids, session)


#: Tokens told of what the tokenizer would have written.
_TOLD = 6


@dataclass(frozen=True, slots=True)
class Improper:
    """Where a text is spelt otherwise than by the tokenizer."""

    #: The first token that differs, counted from 0 after the prompt.
    index: int
    #: What the tokenizer would have written from there on, the first few.
    proper: tuple[TokenId, ...]
    #: Whether it would have joined the end of the prompt with the text.
    at_prompt: bool


def improper(model: LanguageModel, prompt: str, taken: abc.Sequence[TokenId]) -> Improper | None:
    """The first difference from the tokenizer's own spelling; None where there is none.

    The prompt is read with it, because tokens may join over its end. Text that is not UTF-8
    cannot be compared and is not spoken of.
    """
    ids = [token_id for token_id in taken if token_id != model.vocabulary.end]
    try:
        text = model.vocabulary.decode(ids).decode("utf-8")
    except UnicodeDecodeError:
        return None
    before = model.encode(prompt) if prompt else []
    whole = model.encode(prompt + text) if text else before
    here = common([*before, *ids], whole)
    if here >= len(before) + len(ids):
        return None
    index = max(0, here - len(before))
    return Improper(index, tuple(whole[here : here + _TOLD]), here < len(before))
