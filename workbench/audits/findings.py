"""The results of an audit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from workbench.base.visible_text import shorten


class Kind(StrEnum):
    """What a finding claims."""

    #: The engine forbids a token that a valid text needs.
    OVER = "over-constraining"
    #: The engine allows a token after which no text of the language follows.
    UNDER = "under-constraining"
    #: This library and the validator disagree: a claim about this library, not about the engine.
    OURS = "workbench differs from the validator"


class Level(StrEnum):
    """Where an engine is wrong."""

    #: Also if the text is read byte by byte: its language is another one.
    TEXT = "text"
    #: Only for tokens of several bytes: its masks contradict its language.
    TOKEN = "token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """A shorter constraint with the same difference, and a program for the engine alone."""

    #: The shortened schema or grammar.
    constraint: str
    #: The whole text on which both differ.
    text: str
    #: The text up to the difference, and the token; None for the end.
    so_far: str
    token: str | None
    program: str
    #: What the program printed, and whether it is what the finding claims.
    printed: str
    confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The first token at which an engine's mask is wrong."""

    kind: Kind
    level: Level
    #: The text before the token, and the token; None for the end of the text.
    so_far: str
    token: str | None
    #: The whole text: accepted by the validator (over), or by the engine alone (under).
    text: str
    #: Why the exact mask differs there.
    why: str
    #: JSON pointer in the schema, or the place in the grammar.
    place: str
    #: The independent judgement of the whole text.
    evidence: str
    reproduction: Reproduction | None = None

    def __str__(self) -> str:
        token = "the end of the text" if self.token is None else repr(self.token)
        verb = {Kind.OVER: "forbids", Kind.UNDER: "allows", Kind.OURS: "refuses or accepts"}
        return f"after {self.so_far!r} it {verb[self.kind]} {token}: {self.why}"


@dataclass(frozen=True, slots=True)
class Policy:
    """A difference of interpretation, with a text on which both differ."""

    #: For example "narrower by policy: white space".
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}, for example {self.text}"


class Status(StrEnum):
    """How an audit ended."""

    AUDITED = "audited"
    #: The engine raised an error when it read the constraint.
    REFUSED = "refused"
    #: The engine reads no notation in which the constraint can be written.
    NOT_READ = "not read"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    #: This library or the validator cannot judge: ``reason`` says why.
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One engine on one constraint."""

    name: str
    engine: str
    version: str
    status: Status
    reason: str = ""
    #: Valid texts that were walked, invalid ones that were tried, and masks that were compared.
    texts: int = 0
    mutants: int = 0
    masks: int = 0
    #: Texts that are too long or reached a limit.
    skipped: int = 0
    #: Masks that differ from the exact ones, for whatever reason.
    different: int = 0
    findings: tuple[Finding, ...] = ()
    #: Differences of interpretation, each once.
    policies: tuple[Policy, ...] = ()
    #: Whether time was over before all texts were tried.
    cut: bool = False
    seconds: float = 0.0

    def __repr__(self) -> str:
        name = shorten(repr(self.name), 60)
        return f"Audit({name}, {self.engine} {self.version}, {len(self.claims)} claims)"

    def found(self, kind: Kind) -> Finding | None:
        """The finding of a kind."""
        return next((finding for finding in self.findings if finding.kind is kind), None)

    @property
    def claims(self) -> tuple[Finding, ...]:
        """The findings about the engine."""
        return tuple(finding for finding in self.findings if finding.kind is not Kind.OURS)

    def as_record(self) -> dict[str, Any]:
        """The audit as JSON values."""
        return asdict(self)

    @staticmethod
    def of_record(record: dict[str, Any]) -> Audit:
        """The audit of a record."""
        findings = []
        for finding in record["findings"]:
            reproduction = finding["reproduction"]
            kinds = {"kind": Kind(finding["kind"]), "level": Level(finding["level"])}
            shown = {"reproduction": Reproduction(**reproduction) if reproduction else None}
            findings.append(Finding(**{**finding, **kinds, **shown}))
        ended = {
            "status": Status(record["status"]),
            "policies": tuple(Policy(**policy) for policy in record["policies"]),
        }
        return Audit(**{**record, **ended, "findings": tuple(findings)})
