"""Explains why a token is forbidden after a text.

::

    import workbench as wb

    grammar = wb.Grammar.from_kbnf("start ::= '[' number (',' number)* ']'; number ::= #'[0-9]+';")
    why = wb.explain(grammar, "[12", ", x")
    str(why)                   # "after ',': expected a digit"
    why.read, why.failing      # (b",", " ")
    [place.span for place in why.places]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.earley import MAX_STACKS, ExpectedPiece, Frame, SourceRecognizer, Stack
from workbench.automata.class_descriptions import expected as in_words
from workbench.automata.class_descriptions import in_brief, is_most, spoken
from workbench.base.arguments import checked
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.visible_text import shorten
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of
from workbench.grammar.monitors.monitor import Monitor, monitor_named
from workbench.grammar.recognition import Verdict, character_start, utf8
from workbench.syntax.ranges import Ranges
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

__all__ = [
    "ExpectedPiece",
    "Explanation",
    "Frame",
    "Stack",
    "explain",
    "explain_each",
    "explain_id",
]

#: The most seconds for finding ``Explanation.places``; the rest takes almost no time.
_MAX_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a grammar forbids a token after a text, or that it does not."""

    #: The text before the token.
    so_far: bytes
    #: The token's bytes; None for the end.
    token: bytes | None
    #: The longest prefix of the token with which some accepted text continues.
    read: bytes
    #: The first byte that cannot be read; None if all can be read: the token is allowed, or it is
    #: the end token and the text may not end yet.
    byte: int | None
    #: The text read, up to the last start of a character; ``expected``, ``may_end`` and ``places``
    #: say what can follow it.
    text: bytes
    #: The characters that could have come instead.
    expected: Ranges
    #: Whether the text could have ended there.
    may_end: bool
    #: The pieces of the grammar that could have read next, in the order of the grammar text.
    places: tuple[ExpectedPiece, ...] = ()
    #: Whether ``places`` is complete; False if it was not computed, or time ran out.
    complete: bool = False
    #: Why a monitor forbids a token that the grammar allows; empty without a monitor, or if it
    #: allows the token.
    meaning: str = ""

    def __repr__(self) -> str:
        allowed = "allowed" if self.allowed else f"forbidden at {self.failing or 'the end'!r}"
        after = shorten(repr(self.so_far), 40)
        return f"Explanation({shorten(repr(self.token), 40)} after {after}: {allowed})"

    @property
    def allowed(self) -> bool:
        """Whether the grammar allows the token, and the monitor if there is one.

        A mask may still forbid it, if the vocabulary has no tokens that continue the text.
        """
        return not self.meaning and self._in_grammar

    @property
    def _in_grammar(self) -> bool:
        return self.may_end if self.token is None else self.byte is None

    @property
    def failing(self) -> str:
        """The character that cannot be read, or a byte such as ``<0xE2>`` if it is in none.

        Empty for the end token, and if all of the token can be read.
        """
        if self.byte is None or self.token is None:
            return ""
        if self._is_cut:
            return chr(self.byte) if self.byte < 0x80 else f"<0x{self.byte:02X}>"
        rest = (self.so_far + self.token)[len(self.text) :]
        for length in range(1, 5):
            try:
                return rest[:length].decode("utf-8")
            except UnicodeDecodeError:
                continue
        return f"<0x{self.byte:02X}>"

    @property
    def _is_cut(self) -> bool:
        """Whether the text ends inside a character that the failing byte does not continue."""
        inside = len(self.so_far) + len(self.read) > len(self.text)
        return inside and self.byte is not None and self.byte & 0xC0 != 0x80

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The rules being read there, the outermost first; at most ``MAX_STACKS`` stacks.

        The innermost rule of each could have read next.
        """
        stacks = dict.fromkeys(stack for piece in self.places for stack in piece.stacks if stack)
        return tuple(stacks)[:MAX_STACKS]

    @property
    def wanted(self) -> str:
        """The expected characters, in words: ``'"', '}' or a digit``."""
        return in_words([self.expected], end=self.may_end and self.token is not None)

    @property
    def reason(self) -> str:
        """Why the token is forbidden, in one short sentence; empty if it is allowed."""
        if self._in_grammar:
            return self.meaning
        if self.token is None:
            return self._too_early
        if self._is_cut:
            return "the character before it is incomplete"
        failing = self.failing
        if len(failing) == 1 and is_most(self.expected):
            return f"{spoken(failing)} is not allowed here"
        if self.may_end and not self.expected:
            return "nothing more may follow"
        return f"expected {self.wanted}"

    @property
    def note(self) -> str:
        """``reason`` in a few words, for a list."""
        if self._in_grammar:
            return self.meaning
        if self.token is None:
            return self._unfinished
        if self._is_cut:
            return "incomplete character before it"
        if len(self.failing) == 1 and is_most(self.expected):
            name = spoken(self.failing).strip("'") or "'"
            return f"no {name.removeprefix('a ')} here"
        if self.may_end and not self.expected:
            return "nothing more may follow"
        return f"needs {in_brief(self.expected, end=self.may_end)}"

    @property
    def _too_early(self) -> str:
        """Why the text may not end, with what could follow if that says something."""
        if self.text and is_most(self.expected):
            return self._unfinished
        return f"{self._unfinished}: expected {self.wanted}"

    @property
    def _unfinished(self) -> str:
        """What is not finished: the innermost rule that all stacks share, or the text."""
        if not self.text:
            return "the text may not be empty"
        stacks = [stack[1:] for stack in self.stacks]
        shared = [frames[0] for frames in zip(*stacks, strict=False) if len(set(frames)) == 1]
        return f"{shared[-1].rule if shared else 'the text'} is not finished"

    def __str__(self) -> str:
        of_token = self.text[len(self.so_far) :]
        after = f"after {of_token.decode('utf-8', 'replace')!r}: " if of_token else ""
        return after + self.reason if self.reason else ""


@checked
def explain(
    grammar: Grammar,
    so_far: str | bytes,
    token: str | bytes | None,
    monitor: Monitor | str | None = None,
) -> Explanation:
    """Why a token is forbidden after a text; the token None is the end of the text.

    To explain why a whole text is rejected, pass it as the token after the empty text. A
    ``monitor``, or its name, also explains why it forbids a token that the grammar allows.

    Cost:   ``Grammar.check``, and about 50 µs a byte for the places, at most a second. If the text
            continues the one explained before, only the rest is read.
    Raises: WorkbenchError if no accepted text begins with the text; LimitError if it is too
            ambiguous to be read.
    """
    data = None if token is None else utf8(token)
    explanation = explain_each(grammar, utf8(so_far), [data])[0]
    if monitor is not None and explanation.allowed:
        if isinstance(monitor, str):
            monitor = monitor_named(monitor, grammar, grammar.limits)
        explanation = replace(explanation, meaning=monitor.why(utf8(so_far), data))
    return explanation if data is None else _with_places(explanation, grammar)


def explain_each(
    grammar: Grammar, so_far: bytes, tokens: Sequence[bytes | None]
) -> list[Explanation]:
    """Why each of several tokens is forbidden, for short notes: only the end token gets places.

    Cost:   the text is read once, and each token.
    Raises: WorkbenchError if no accepted text begins with the text.
    """
    verdicts = grammar.check_each(so_far, [token or b"" for token in tokens])
    explanations = []
    for token, verdict in zip(tokens, verdicts, strict=True):
        if verdict.byte is not None and verdict.byte < len(so_far):
            raise WorkbenchError(
                "no accepted text begins with this text", "check() says where it fails"
            )
        explanation = _explain(grammar, so_far, token, verdict)
        explanations.append(_with_places(explanation, grammar) if token is None else explanation)
    return explanations


@checked
def explain_id(
    grammar: Grammar, vocabulary: Vocabulary, so_far: Iterable[TokenId], token_id: TokenId
) -> Explanation:
    """As ``explain``, for token ids of a vocabulary; the end token is the end of the text.

    Raises: WorkbenchError also for unknown ids, for special tokens, which have no text, and for a
            grammar with terminal labels, which ``label_reason`` explains.
    """
    if labels := labels_of(grammar):
        raise WorkbenchError(
            f"{labels[0][0].name} reads whole tokens, so their text explains nothing",
            "ask workbench.constraint.mask_answers.label_reason",
        )
    so_far = tuple(so_far)
    vocabulary.check_ids(so_far, "so_far")
    vocabulary.check_ids([token_id], "token_id")
    text = b"".join(vocabulary.tokens[i] or b"" for i in so_far)
    if token_id in vocabulary.ends:
        return explain(grammar, text, None)
    token = vocabulary.tokens[token_id]
    if token is None:
        raise WorkbenchError(f"the token {token_id} is special and has no text")
    return explain(grammar, text, token)


def _explain(grammar: Grammar, so_far: bytes, token: bytes | None, verdict: Verdict) -> Explanation:
    """The explanation of a verdict on the text and the token together, without places."""
    data = so_far + (token or b"")
    failed = len(data) if verdict.byte is None else verdict.byte
    start = character_start(data, failed)
    text = data[: character_start(data[:start], start)]
    if len(text) < start:  # the failure is inside a character: it is reported at that character
        verdict = replace(grammar.check_each(text, (b"",))[0], byte=verdict.byte)
    return Explanation(
        so_far=so_far,
        token=token,
        read=data[len(so_far) : failed],
        byte=None if verdict.byte is None else data[failed],
        text=text,
        expected=verdict.expected,
        may_end=verdict.may_end,
    )


def _with_places(explanation: Explanation, grammar: Grammar) -> Explanation:
    """The same explanation with its places, if they are found in time."""
    limits = grammar.limits.per_stage(_MAX_SECONDS)
    try:
        reachable = SourceRecognizer.shared(grammar).after(explanation.text, limits)
    except LimitError:
        return explanation
    # the empty language has no places
    return replace(explanation, places=reachable.pieces if reachable else (), complete=True)
