"""Token healing, prompts of holes, retokenization, and the check for canonical tokenization.

``heal``: a prompt may end inside a token. After ``"the re"`` a model rarely continues with ``ply``,
since ``reply`` is one token. So the prompt's last token is removed and its bytes become a prefix of
the grammar: the model generates them again, together with the text after them.

``infilling_prompt``: a model that was trained to fill holes reads the text after the hole too, in a
prompt with special tokens. ``grammar.fill`` says which texts fit, for this prompt or a plain one.

``first_improper``: a run chooses tokens one by one and may tokenize a word as the tokenizer never
does: "lo·vely" instead of "love·ly". A model has rarely seen such tokenizations, so its perplexity
on the following text is overstated. (Tran-Thien 2024 calls the tokenizer's tokenization a proper
token sequence.) ``retokenized`` is the tokenization that the model prefers.
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from workbench.base.arguments import checked
from workbench.base.errors import ModelError, VocabularyError, WorkbenchError
from workbench.base.source import Span
from workbench.base.visible_text import count_of, shorten
from workbench.decoding.model import (
    ChatPrompts,
    LanguageModel,
    Prompt,
    Session,
    common_prefix,
    context_of,
    padded,
)
from workbench.decoding.sampling import log_softmax
from workbench.decoding.trace import perplexity
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
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
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The start symbol of a healed grammar; no identifier has a space.
_START = "healed start"


@dataclass(frozen=True, slots=True, eq=False)
class Healed:
    """A prompt without its last token, and the grammar that begins with that token's bytes."""

    #: The tokens to generate from.
    prompt: tuple[TokenId, ...]
    #: The prefix of all texts of ``grammar``; empty if no token was removed.
    prefix: bytes
    #: The texts of the first grammar, each after ``prefix``.
    grammar: Grammar

    def __repr__(self) -> str:
        prefix = shorten(repr(self.prefix), 40)
        return f"Healed({count_of(len(self.prompt), 'token')}, {prefix}, {self.grammar!r})"

    def text(self, text: bytes) -> bytes:
        """A generated text without the prefix.

        Raises: WorkbenchError if the text does not begin with the prefix.
        """
        if not text.startswith(self.prefix):
            raise WorkbenchError(f"expected a text that begins with {self.prefix!r}")
        return text[len(self.prefix) :]


@checked
def heal(model: LanguageModel, prompt: Prompt, grammar: Grammar) -> Healed:
    """Remove the prompt's last token and force its bytes as a prefix of the generated text.

    More tokens are removed if the bytes are no whole characters. A prompt of one token is not
    changed, since a model has to read something, and neither is one that ends in a special token,
    which has no bytes.

    Raises: LimitError.
    Source: Beurer-Kellner et al. 2024 (DOMINO), §2 and §3.5, after GUIDANCE.
    """
    ids = context_of(model, prompt)
    for kept in range(len(ids) - 1, 0, -1):
        if model.vocabulary.tokens[ids[kept]] is None:
            break
        prefix = model.vocabulary.decode(ids[kept:])
        if _is_text(prefix):
            return Healed(tuple(ids[:kept]), prefix, with_prefix(grammar, prefix))
    return Healed(tuple(ids), b"", grammar)


#: The special tokens before the prefix, before the suffix and before the text of the hole.
#: Source: the tokenizers of StarCoder 2 and Granite; SantaCoder; Qwen 2.5 Coder and CodeGemma;
#:         Code Llama; DeepSeek Coder.
INFILLING_TOKENS: tuple[tuple[str, str, str], ...] = (
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>"),
    ("<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
)


@checked
def infilling_prompt(model: LanguageModel, prefix: str, suffix: str) -> str:
    """The prompt with which a model that was trained to fill holes reads both sides of one.

    The model continues it with the text of the hole.

    Raises: ModelError if the model's tokenizer has no such tokens.
    Source: Bavarian et al. 2022, "Efficient training of language models to fill in the middle".
    """
    names = set(model.vocabulary.names.values())
    for tokens in INFILLING_TOKENS:
        if all(name in names or name.encode() in model.vocabulary.ids_of for name in tokens):
            before, after, middle = tokens
            return f"{before}{prefix}{after}{suffix}{middle}"
    raise ModelError(
        f"{model.name} has no tokens for filling a hole, such as <fim_prefix>",
        "give it the text before the hole as its prompt; the grammar knows the text after it",
    )


def with_prefix(grammar: Grammar, prefix: bytes) -> Grammar:
    """A grammar of the texts of another one, each after ``prefix``.

    Raises: LimitError.
    """
    source = grammar.source
    span = Span(0, len(source.text))
    rest: Expression
    if grammar.tree is not None:
        rules, rest = grammar.tree.rules, Nonterminal(grammar.start, span)
    else:
        assert grammar.regex is not None, "a grammar has a tree or a regex"
        rules, rest = (), Pattern(grammar.regex, Stop.ANYWHERE, source.text, span)
    body = Sequence((Literal(prefix, span), rest), span)
    tree = GrammarTree((Rule(_START, body, span, span), *rules), source)
    # a regex becomes a rule; a grammar of rules keeps its notation, but its values have no prefix
    notation = Notation.KBNF if grammar.tree is None else grammar.notation
    prefixed = grammar.with_tree(tree, _START)
    return replace(prefixed, notation=notation, value=None, notes=(), is_rewritten=True)


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
    """The model's preferred tokenization of a text: at each position the likeliest matching token.

    Of equally likely tokens the lowest id is taken. The longest tokens are guessed, and a forward
    pass reads several: it decides them up to the first wrong guess.
    Cost:   a forward pass for every wrong guess, and for every ``_GUESSED`` right ones.
    Raises: VocabularyError if no tokens can produce the text; ModelError.
    Source: Beurer-Kellner et al. 2024 (DOMINO), appendix B, Algorithm 3.
    """
    rest = text.encode() if isinstance(text, str) else text
    session = model.session() if session is None else session
    context, vocabulary = context_of(model, prompt), model.vocabulary
    token_ids: list[TokenId] = []
    while rest:
        guess = list(islice(_longest_tokens(vocabulary, rest), _GUESSED))
        rows = session.score([*context, *token_ids, *guess[:-1]], len(guess))
        for row, guessed in zip(rows, guess, strict=True):
            ids = sorted(_tokens_at(vocabulary, rest))
            token_ids.append(int(ids[int(np.argmax(padded(row, len(vocabulary))[ids]))]))
            rest = rest[len(vocabulary.tokens[token_ids[-1]] or b"") :]
            if token_ids[-1] != guessed:
                break
    return token_ids


#: Tokens that one forward pass reads.
_GUESSED = 16


def _longest_tokens(vocabulary: Vocabulary, text: bytes) -> abc.Iterator[TokenId]:
    """The longest token at each position, up to a position where no token begins.

    Raises: VocabularyError where no token begins the text.
    """
    if not _tokens_at(vocabulary, text):
        raise VocabularyError(f"no token of {vocabulary.name} begins {text[:20]!r}")
    while text and (ids := _tokens_at(vocabulary, text)):
        yield ids[-1]
        text = text[len(vocabulary.tokens[ids[-1]] or b"") :]


def _tokens_at(vocabulary: Vocabulary, text: bytes) -> list[TokenId]:
    """The tokens that begin a text, the longest last."""
    lengths = range(1, min(vocabulary.longest, len(text)) + 1)
    return [i for n in lengths for i in vocabulary.ids_of.get(text[:n], ())]


def perplexity_of(
    model: LanguageModel,
    prompt: Prompt,
    token_ids: abc.Sequence[TokenId],
    session: Session | None = None,
) -> float:
    """The perplexity of tokens after a prompt, without a mask; nan of no tokens.

    Cost:   one forward pass.
    Raises: ModelError.
    """
    if not token_ids:
        return perplexity(())
    context = context_of(model, prompt)
    session = model.session() if session is None else session
    rows = session.score([*context, *token_ids[:-1]], len(token_ids))
    return perplexity(
        float(log_softmax(padded(row, len(model.vocabulary)))[token_id])
        for row, token_id in zip(rows, token_ids, strict=True)
    )


def retokenized_perplexity(model: LanguageModel, prompt: Prompt, text: bytes | str) -> float:
    """The perplexity of a text in the tokenization that the model prefers.

    Compared with the perplexity of the generated tokens it shows how much of the surprisal is due
    to the tokenization and how much to the text.

    Raises: VocabularyError, ModelError.
    Source: DOMINO, figure 2 (3).
    """
    session = model.session()
    token_ids = retokenized(model, prompt, text, session)
    return perplexity_of(model, prompt, token_ids, session)


#: The most tokens listed of the canonical tokenization.
_MAX_LISTED = 6


@dataclass(frozen=True, slots=True)
class ImproperToken:
    """The first position at which a tokenization differs from the tokenizer's."""

    #: The first token that differs, counted from 0 after the prompt.
    index: int
    #: The first tokens of the tokenizer from there on.
    proper: tuple[TokenId, ...]
    #: Whether the tokenizer would join the end of the prompt with the text.
    at_prompt: bool


def first_improper(
    model: LanguageModel, prompt: str, taken: abc.Sequence[TokenId]
) -> ImproperToken | None:
    """The first difference from the tokenizer's tokenization; None without one.

    The prompt is tokenized with the text, because a token may cross its end. Text that is not UTF-8
    cannot be compared; then the result is None.
    """
    ids = [token_id for token_id in taken if token_id not in model.vocabulary.ends]
    try:
        text = model.vocabulary.decode(ids).decode("utf-8")
    except UnicodeDecodeError:
        return None
    if isinstance(model, ChatPrompts):
        before, whole = model.encode(prompt), model.encode(prompt, text)
    else:
        before = model.encode(prompt) if prompt else []
        whole = model.encode(prompt + text) if text else before
    shared = common_prefix([*before, *ids], whole)
    if shared >= len(before) + len(ids):
        return None
    index = max(0, shared - len(before))
    return ImproperToken(index, tuple(whole[shared : shared + _MAX_LISTED]), shared < len(before))
