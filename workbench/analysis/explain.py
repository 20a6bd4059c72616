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
from weakref import WeakKeyDictionary

from workbench.analysis.earley import MOST_STACKS, Frame, ExpectedPiece, SourceRecognizer, Stack
from workbench.automata.describe import expected as in_words
from workbench.automata.describe import in_brief, is_most, spoken
from workbench.base.errors import LimitError, WorkbenchError
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of
from workbench.grammar.recognition import Verdict, character_start, utf8
from workbench.syntax.ranges import Ranges
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

__all__ = ["Explanation", "Frame", "Place", "Stack", "explain", "explain_each", "explain_id"]

#: So long the places are looked for; what the machine says costs no time to speak of.
_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a grammar forbids a token after a text, or that it does not."""

    so_far: bytes
    #: The token's bytes; None for the end.
    token: bytes | None
    #: The longest prefix of the token with which some accepted text continues.
    read: bytes
    #: The first byte that cannot be read; None where all can: the token is allowed, or
    #: the end comes too early.
    byte: int | None
    #: The text the next fields speak of: all that was read, up to where a character begins.
    text: bytes
    #: The characters that could have come instead.
    expected: Ranges
    #: Whether the text could have ended there.
    may_end: bool
    #: The pieces of the grammar that could have read on, in the order they are written.
    places: tuple[ExpectedPiece, ...] = ()
    #: Whether these are all places; False where none were searched, or time ran out.
    complete: bool = False

    @property
    def allowed(self) -> bool:
        """Whether the grammar does not forbid the token; a vocabulary may still lack the rest."""
        return self.may_end if self.token is None else self.byte is None

    @property
    def failing(self) -> str:
        """What fails: a character, or ``<0xE2>`` for a byte of none; empty where nothing does."""
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
        """Whether a character has begun, and what fails is not even a byte of one."""
        inside = len(self.so_far) + len(self.read) > len(self.text)
        return inside and self.byte is not None and self.byte & 0xC0 != 0x80

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """The rules being read there, the outermost first; a few of the ways to have come there.

        The innermost rule of each is one of those that could have read on.
        """
        found = dict.fromkeys(stack for place in self.places for stack in place.stacks if stack)
        return tuple(found)[:MOST_STACKS]

    @property
    def wanted(self) -> str:
        """What was expected, in words: ``'"', '}' or a digit``."""
        return in_words([self.expected], end=self.may_end and self.token is not None)

    @property
    def reason(self) -> str:
        """One short sentence, without what was read before; empty where the token is allowed."""
        if self.allowed:
            return ""
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
        """The reason in a few words, for a list."""
        if self.allowed:
            return ""
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
        """Why the text may not end."""
        told = self._unfinished
        return told if self.text and is_most(self.expected) else f"{told}: expected {self.wanted}"

    @property
    def _unfinished(self) -> str:
        """What has begun and not ended: the innermost rule on all ways to read the text."""
        if not self.text:
            return "the text may not be empty"
        stacks = [stack[1:] for stack in self.stacks]
        shared = [same[0] for same in zip(*stacks, strict=False) if len(set(same)) == 1]
        return f"{shared[-1].rule if shared else 'the text'} is not finished"

    def __str__(self) -> str:
        begun = (self.so_far + self.read)[len(self.so_far) : len(self.text)]
        after = f"after {begun.decode('utf-8', 'replace')!r}: " if begun else ""
        return after + self.reason if self.reason else ""


def explain(grammar: Grammar, so_far: str | bytes, token: str | bytes | None) -> Explanation:
    """Why a token is forbidden after a text; None is the end of the text.

    A test that fails is explained as the token after no text at all.

    Cost:   what the machine says as ``Grammar.check``; the places some 50 µs a byte, at most a
            second. A text that continues the one explained before is read from its end.
    Raises: WorkbenchError where no accepted text begins with the text; LimitError where
            it is too ambiguous to be read.
    """
    found = explain_each(grammar, utf8(so_far), [None if token is None else utf8(token)])[0]
    return _placed(found, grammar)


def explain_each(
    grammar: Grammar, so_far: bytes, tokens: Sequence[bytes | None]
) -> list[Explanation]:
    """Why each of some tokens is forbidden, for short notes: only the end has places.

    Cost: the text is read once, and each token.
    """
    verdicts = grammar.check_each(so_far, [token or b"" for token in tokens])
    found = []
    for token, verdict in zip(tokens, verdicts, strict=True):
        if verdict.byte is not None and verdict.byte < len(so_far):
            raise WorkbenchError(
                "no accepted text begins with this text", "check() says where it fails"
            )
        one = _explained(grammar, so_far, token, verdict)
        found.append(_placed(one, grammar) if token is None else one)
    return found


def explain_id(
    grammar: Grammar, vocabulary: Vocabulary, so_far: Iterable[TokenId], token_id: TokenId
) -> Explanation:
    """The same for tokens of a vocabulary, by their ids.

    Raises: WorkbenchError also for special tokens, which have no text, and for a grammar with
            terminal labels, of which ``constraint.label_reasons`` tells.
    """
    if labels := labels_of(grammar):
        raise WorkbenchError(
            f"{labels[0][0].name} reads whole tokens, so their text explains nothing",
            "ask workbench.constraint.label_reasons.label_reason",
        )
    text = b"".join(vocabulary.tokens[i] or b"" for i in so_far)
    if token_id == vocabulary.end:
        return explain(grammar, text, None)
    token = vocabulary.tokens[token_id]
    if token is None:
        raise WorkbenchError(f"the token {token_id} is special and has no text")
    return explain(grammar, text, token)


def _explained(
    grammar: Grammar, so_far: bytes, token: bytes | None, verdict: Verdict
) -> Explanation:
    """What a verdict on both together means."""
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


def _placed(found: Explanation, grammar: Grammar) -> Explanation:
    """The same with the places, if they are found in time."""
    limits = replace(grammar.limits, seconds=min(_SECONDS, grammar.limits.seconds), began=None)
    try:
        reached = _places(grammar).after(found.text, limits)
    except LimitError:
        return found
    # of a language without any text there are none
    return replace(found, places=reached.places if reached else (), complete=True)


def _places(grammar: Grammar) -> SourceRecognizer:
    """The recogniser of a grammar, kept as long as the grammar is."""
    if (known := _PLACES.get(grammar)) is None:
        known = _PLACES[grammar] = SourceRecognizer.of(grammar)
    return known


_PLACES: WeakKeyDictionary[Grammar, SourceRecognizer] = WeakKeyDictionary()
