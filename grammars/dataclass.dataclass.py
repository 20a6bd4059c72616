"""A person, and the people they know."""

from dataclasses import dataclass, field


@dataclass
class Person:
    """Friends may be left out: they have a default."""

    name: str
    age: int
    job: str
    friends: list["Person"] = field(default_factory=list)
