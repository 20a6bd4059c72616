"""What became of one schema in one engine: plain values, one JSON object each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

#: ``compiled``: it made a first mask; ``refused``: it said no, by an error of its own;
#: ``failed``: we did, by an error that is none of ours; ``crashed``, ``timed out``: its process.
Status = Literal["compiled", "refused", "failed", "crashed", "timed out"]


@dataclass(slots=True)
class Tally:
    """How many instances of a spelling were accepted, of how many."""

    valid: int = 0
    of_valid: int = 0
    invalid: int = 0
    of_invalid: int = 0

    def add(self, other: Tally) -> None:
        """Count those of another too."""
        self.valid += other.valid
        self.of_valid += other.of_valid
        self.invalid += other.invalid
        self.of_invalid += other.of_invalid

    def count(self, valid: bool, accepted: bool) -> None:
        """Count one instance."""
        if valid:
            self.add(Tally(valid=accepted, of_valid=1))
        else:
            self.add(Tally(invalid=accepted, of_invalid=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRecord:
    """An engine on a schema.

    Unit: milliseconds from the schema's text to the first mask: ``ms`` of the quickest of some
          compilations, ``cpu_ms`` the same by the processor's time, ``first_ms`` of the first.
    """

    engine: str
    version: str
    id: str
    suite: str
    subset: str
    chars: int
    status: Status
    #: The error, and the keyword it names.
    reason: str = ""
    keyword: str = ""
    ms: float | None = None
    cpu_ms: float | None = None
    first_ms: float | None = None
    #: Milliseconds by what was made, of the quickest.
    parts: dict[str, float] = field(default_factory=dict)
    #: By spelling.
    tallies: dict[str, Tally] = field(default_factory=dict)
    #: Instances that were judged wrongly: their numbers, and in which spellings.
    wrong: dict[str, list[str]] = field(default_factory=dict)
