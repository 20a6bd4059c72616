"""Compares an engine's masks with the exact ones along texts and reports the first that is wrong.

Along valid texts an engine has to allow every next token (else it is *over-constraining*), and it
may allow no token after which no text of the language follows (*under-constraining*). The second
kind is claimed only for a whole text: one that the engine's own masks finish, or a mutant.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.explain import explain
from workbench.audits.engine_process import EngineProcess, MaskEngine, Walk, first_tokens
from workbench.audits.engines import AuditedEngine, case_of, engines_named
from workbench.audits.findings import Audit, Finding, Kind, Level, Policy, Status
from workbench.audits.judge import check_validator
from workbench.audits.reproduce import reproduction
from workbench.audits.texts import Opinion, Subject, Texts, texts_of
from workbench.base.arguments import PositiveCount, checked
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.source import Source, Span
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.protocol import Constraint
from workbench.engines.answering import EngineLostError
from workbench.engines.peer import greedy_tokens
from workbench.grammar.export.writers import standalone
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import labels_of
from workbench.grammar.notations import Notation
from workbench.schema.schema_reader import Document, Node
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: More than the page allows: an audit runs on its user's machine.
LIMITS = Limits(seconds=10.0, megabytes=1_024, states=200_000)

#: Tokens of the vocabulary that are audited: an index over all of them takes some engines minutes.
TOKENS = 1_000

#: Folders of packages where engines are searched too, separated as in PATH.
SITES = "WORKBENCH_ENGINES"

#: Tokens of a text that are walked, at most.
_MAX_TOKENS = 1_500

#: Tokens that the engine adds to the exact mask: tried at one place, and in one audit, at most.
_TRIED_EACH, _TRIED = 2, 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much is done."""

    #: About the number of valid texts; each has up to four mutants.
    texts: int = 6
    seed: int = 0
    #: Seconds of one engine on one constraint, and further ones to shorten each finding.
    seconds: float = 15.0
    shorten_seconds: float = 5.0


class Auditor:
    """The exact side of one constraint, shared by the audits of all engines.

    Raises: WorkbenchError where the texts cannot be judged, or a label reads whole tokens.
    """

    def __init__(self, subject: Subject, vocabulary: Vocabulary, settings: Settings) -> None:
        if labels := labels_of(subject.grammar):
            name = labels[0][0].name
            raise WorkbenchError(f"no other engine has {name}", "audit a grammar without labels")
        self.subject, self.settings = subject, settings
        self.vocabulary = vocabulary
        self.case = case_of(subject.grammar)
        self.texts = texts_of(subject, settings.texts, settings.seed)
        self.constraint: Constraint = automaton(subject.grammar, vocabulary, LIMITS)

    def audit(self, engine: AuditedEngine, version: str, answers: MaskEngine) -> Audit:
        """Audit one engine."""
        began = time.monotonic()
        about = Audit(
            name=self.subject.name, engine=engine.name, version=version, status=Status.AUDITED
        )
        try:
            refusal = answers.compile(self.case)
            if refusal is not None:
                status = Status.REFUSED if refusal else Status.NOT_READ
                return replace(about, status=status, reason=refusal, seconds=_since(began))
            comparison = _Comparison(self, answers, time.monotonic() + self.settings.seconds)
            comparison.run()
            findings = tuple(
                self._reproduce(engine, answers, finding) for finding in comparison.findings
            )
        except EngineLostError as lost:
            return replace(
                about, status=Status(lost.status), reason=lost.reason, seconds=_since(began)
            )
        return replace(
            about,
            texts=comparison.walked,
            skipped=comparison.skipped,
            mutants=comparison.mutants,
            masks=comparison.masks,
            different=comparison.different,
            findings=findings,
            policies=tuple(Policy(*policy) for policy in sorted(comparison.policies.items())),
            cut=comparison.cut,
            seconds=_since(began),
        )

    def _reproduce(self, engine: AuditedEngine, answers: MaskEngine, finding: Finding) -> Finding:
        if finding.kind is Kind.OURS:
            return finding
        ends = time.monotonic() + self.settings.shorten_seconds
        try:
            result = reproduction(self.subject.grammar, engine, answers, finding, ends)
        except (WorkbenchError, EngineLostError):
            return finding
        return replace(finding, reproduction=result)

    def exact_walk(self, tokens: Sequence[TokenId]) -> Walk:
        """The exact masks along tokens, up to the first one that is refused."""
        state, masks, taken = self.constraint.initial, [], 0
        for token in (*tokens, None):
            mask = self.constraint.mask(state)
            masks.append(mask.bools)
            if token is None or token not in mask:
                break
            state = self.constraint.advance(state, token)
            taken += 1
        return Walk(np.stack(masks), taken)

    def has_format(self, pointer: str) -> bool:
        """Whether the subschema of a pointer has the keyword ``format``."""
        if self.subject.grammar.notation is not Notation.JSON_SCHEMA:
            return False
        node = Document(self.subject.grammar.source).root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            items = node.items
            inner = (node.members or {}).get(name) if items is None else items[int(name)]
            if inner is None:
                return False
            node = inner
        return "format" in (node.members or {})

    def place(self, so_far: bytes, token: bytes | None, text: str) -> tuple[str, str]:
        """Why the exact mask allows or forbids a token of a text, and where it is written."""
        grammar = self.subject.grammar
        explanation = explain(grammar, so_far, token)
        if not explanation.allowed:
            return explanation.reason, _place_of(
                grammar, [piece.span for piece in explanation.places]
            )
        ending = explain(grammar, so_far, None)
        first = text.encode()[len(so_far) :].decode("utf-8", "replace")[:1]
        reads = [
            piece.span
            for piece in ending.places
            if first and any(low <= ord(first) <= high for low, high in piece.reads)
        ]
        why = "the text may end here" if token is None else f"a valid text needs {first!r} here"
        return why, _place_of(grammar, reads)


@checked
def audit(
    grammar: Grammar,
    engines: str = "installed",
    *,
    instances: Sequence[Any] = (),
    vocabulary: str = "builtin",
    tokens: PositiveCount = TOKENS,
    settings: Settings = Settings(),  # frozen
) -> tuple[Audit, ...]:
    """Compare other engines' masks with the exact ones; an audit for each engine.

    A finding is the first token where an engine forbids what a valid text needs, or allows what
    no text has, with a text that an independent judge accepts or refuses (``jsonschema`` for a
    schema, Earley's recogniser for a grammar) and a short program that shows it.

    ``engines``    names separated by commas, or "installed".
    ``instances``  values of a schema to walk along, besides sampled ones.
    ``tokens``     how many tokens of the vocabulary are compared, besides single bytes.

    Each engine runs in a separate process.

    Raises: WorkbenchError for an engine that is not installed or not usable, and where texts cannot
            be judged.
    """
    if grammar.notation is Notation.JSON_SCHEMA:
        check_validator()
    folders = engine_folders()
    chosen = engines_named(engines, folders)
    grammar = standalone(grammar)
    auditor = Auditor(
        Subject(grammar.source.name, grammar, tuple(instances)),
        first_tokens(vocabulary, tokens),
        settings,
    )
    with ExitStack() as stack:
        audits = []
        for engine in chosen:
            process = EngineProcess(engine, (vocabulary, tokens), folders)
            stack.enter_context(closing(process))
            audits.append(auditor.audit(engine, engine.version(folders), process))
        return tuple(audits)


def engine_folders(sites: Sequence[Path] = ()) -> tuple[str, ...]:
    """The folders of packages where engines are searched, besides this Python's."""
    named = [str(site.resolve()) for site in sites]
    return (*named, *filter(None, os.environ.get(SITES, "").split(os.pathsep)))


def _since(began: float) -> float:
    return round(time.monotonic() - began, 2)


def _place_of(grammar: Grammar, spans: Sequence[Span]) -> str:
    """The place in the constraint: a JSON pointer for a schema, else line and column."""
    if not spans:
        return ""
    least = min(spans, key=lambda span: span.end - span.start)
    start, end = least.start, least.end
    if grammar.notation is not Notation.JSON_SCHEMA:
        line, column = _line_and_column(grammar.source, start)
        return f"line {line}, column {column}"
    node = Document(grammar.source).root
    while (inner := _child_at(node, start, end)) is not None:
        node = inner
    return node.pointer


def _line_and_column(source: Source, position: int) -> tuple[int, int]:
    before = source.text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


def _child_at(node: Node, start: int, end: int) -> Node | None:
    children = (node.members or {}).values() if node.members is not None else node.items or ()
    return next(
        (child for child in children if child.name_start <= start and end <= child.end), None
    )


class _Comparison:
    """One engine compared with the exact masks."""

    def __init__(self, auditor: Auditor, engine: MaskEngine, ends: float) -> None:
        self._auditor, self._engine, self._ends = auditor, engine, ends
        self._texts: Texts = auditor.texts
        self._vocabulary = auditor.vocabulary
        tokens = auditor.vocabulary.tokens
        self._end: int = auditor.vocabulary.end or 0
        #: Tokens that are compared: those with text, and the end.
        self._compared = np.array([token is not None for token in tokens])
        self._compared[self._end] = True
        self._tried: set[TokenId] = set()
        self._attempts = 0
        self.findings: list[Finding] = []
        self.policies: dict[str, str] = {}
        self.walked = self.skipped = self.mutants = self.masks = self.different = 0
        self.cut = False

    def run(self) -> None:
        """Walk all texts, until there is a finding of both kinds or time is over."""
        for text, opinion in self._texts.doubtful[:1]:
            self._note(opinion, text, *self._first_difference_of(text))
        for step, texts in ((self._walk, self._texts.valid), (self._mutant, self._texts.invalid)):
            for text in texts:
                if time.monotonic() > self._ends:
                    self.cut = True
                    return
                try:
                    step(text)
                except WorkbenchError:  # a limit, or the validator failed
                    self.skipped += 1

    def _has(self, kind: Kind) -> bool:
        return any(finding.kind is kind for finding in self.findings)

    # -- valid texts ------------------------------------------------------------------------------

    def _walk(self, text: str) -> None:
        tokens = greedy_tokens(text, self._vocabulary)
        if len(tokens) > _MAX_TOKENS:
            self.skipped += 1
            return
        exact, theirs = self._auditor.exact_walk(tokens), self._engine.walk(tokens)
        count = min(len(exact.masks), len(theirs.masks))
        ours, other = exact.masks[:count], theirs.masks[:count]
        self.walked += 1
        self.masks += count
        self.different += int(((ours != other) & self._compared).any(axis=1).sum())
        for k, token in enumerate([*tokens, self._end][:count]):
            if not other[k][token]:
                self._note_forbidden(text, tokens, k)
                break
        if not self._has(Kind.UNDER):
            self._judge_extra_tokens(tokens, other & ~ours & self._compared)

    def _note_forbidden(self, text: str, tokens: list[TokenId], k: int) -> None:
        """A token that a valid text needs is forbidden."""
        if self._has(Kind.OVER):
            return
        so_far, token = self._at(tokens, k)
        if self._engine.accepts([text])[0]:
            opinion = self._texts.refused(text, lambda texts: [False] * len(texts))
            self._note(opinion, text, so_far, token, Level.TOKEN)
            return
        self._note(self._texts.refused(text, self._engine.accepts), text, so_far, token)

    # -- tokens that the engine adds --------------------------------------------------------------

    def _judge_extra_tokens(self, tokens: list[TokenId], added: npt.NDArray[np.bool_]) -> None:
        """Finish texts with tokens that only the engine allows, and judge them."""
        for k, row in enumerate(added):
            new = [int(i) for i in np.flatnonzero(row) if int(i) not in self._tried]
            for token in sorted(new, key=self._order)[:_TRIED_EACH]:
                if self._attempts >= _TRIED or time.monotonic() > self._ends:
                    return
                self._attempts += 1
                self._tried.add(token)
                begun = [*tokens[:k], *([] if token == self._end else [token])]
                whole = begun if token == self._end else self._engine.completed(begun, k)
                if whole is not None and self._judge_finished(whole):
                    return

    def _order(self, token: TokenId) -> tuple[bool, int, TokenId]:
        """Short tokens first, white space last."""
        text = self._vocabulary.tokens[token] or b""
        return not text.strip(), len(text), token

    def _judge_finished(self, tokens: list[TokenId]) -> bool:
        """Judge a text that the engine finished; whether it is a finding."""
        data = self._vocabulary.decode(tokens)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return False
        if self._auditor.subject.grammar.accepts(text):
            return False
        self._note(self._texts.accepted(text), text, *self._first_refused(tokens))
        return self._has(Kind.UNDER)

    # -- mutants ----------------------------------------------------------------------------------

    def _mutant(self, text: str) -> None:
        self.mutants += 1
        if self._has(Kind.UNDER) or not self._engine.accepts([text])[0]:
            return
        tokens = greedy_tokens(text, self._vocabulary)
        if self._engine.walk(tokens).taken < len(tokens):
            tokens = [self._vocabulary.ids_of[bytes((byte,))][0] for byte in text.encode()]
        self._note(self._texts.accepted(text), text, *self._first_refused(tokens))

    # -- what was found ---------------------------------------------------------------------------

    def _at(self, tokens: Sequence[TokenId], k: int) -> tuple[bytes, bytes | None]:
        token = self._vocabulary.tokens[tokens[k]] if k < len(tokens) else None
        return self._vocabulary.decode(tokens[:k]), token

    def _first_refused(self, tokens: Sequence[TokenId]) -> tuple[bytes, bytes | None]:
        """The first token that the exact mask forbids, and the text before it."""
        return self._at(tokens, self._auditor.exact_walk(tokens).taken)

    def _first_difference_of(self, text: str) -> tuple[bytes, bytes | None]:
        return self._first_refused(greedy_tokens(text, self._vocabulary))

    def _note(
        self,
        opinion: Opinion,
        text: str,
        so_far: bytes,
        token: bytes | None,
        level: Level = Level.TEXT,
    ) -> None:
        if opinion.policy:
            self.policies.setdefault(opinion.policy, text)
        if opinion.kind is None or self._has(opinion.kind):
            return
        why, location = self._auditor.place(so_far, token, text)
        if opinion.kind is Kind.OVER and self._auditor.has_format(location):
            # the validator checks few formats, and the drafts leave the details open
            self.policies.setdefault("narrower by policy: format", text)
            return
        self.findings.append(
            Finding(
                kind=opinion.kind,
                level=level,
                so_far=_display_text(so_far),
                token=None if token is None else _display_text(token),
                text=text,
                why=why,
                place=opinion.place or location,
                evidence=opinion.evidence,
            )
        )


def _display_text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
