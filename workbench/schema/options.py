"""SchemaOptions: how the instances of a schema may be written, and what reading one has to tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workbench.errors import WorkbenchError


class Whitespace(StrEnum):
    """What may stand between the lexemes of an instance."""

    #: Any JSON whitespace, each run at most ``SchemaOptions.bound`` characters long.
    ANY = "any"
    #: Nothing: ``{"a":1,"b":2}``.
    COMPACT = "compact"
    #: One space after commas and colons, as ``json.dumps`` writes: ``{"a": 1, "b": 2}``.
    ONE_SPACE = "one space"


#: What ``bound`` is where nobody says: a line feed and the margin of depth 8 at four spaces, and
#: what is left over takes the blank line or carriage return that some writers add. Measured with 20
#: properties and 131k tokens: a mask takes 0.02 to 0.04 ms (with 12: half of that); with 68 up to
#: 0.5 ms, for then every token of many spaces is told apart.
DEFAULT_BOUND = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """The choices a schema leaves to whoever writes instances.

    Raises: WorkbenchError for a policy there is none of, or a bound below 1.
    """

    whitespace: Whitespace | str = Whitespace.ANY
    #: Characters of a run of whitespace, at most; without one a model may write blanks for ever.
    bound: int = DEFAULT_BOUND

    def __post_init__(self) -> None:
        if self.whitespace not in [*Whitespace]:
            known = ", ".join(repr(str(policy)) for policy in Whitespace)
            raise WorkbenchError(
                f"there is no whitespace policy {str(self.whitespace)!r}", f"choose one of {known}"
            )
        if self.bound < 1:
            raise WorkbenchError(
                f"a run of whitespace of at most {self.bound} characters is none",
                "choose the policy 'compact' for no whitespace at all",
            )
