"""The ``Monitor`` protocol, and the monitors by their names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from workbench.base.errors import WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.grammar.grammar import Grammar
from workbench.grammar.monitors.json_keys import KeyMonitor
from workbench.grammar.monitors.scopes import ScopeMonitor
from workbench.grammar.monitors.well_typed import TypeMonitor
from workbench.grammar.notations import Notation


@runtime_checkable
class Monitor(Protocol):
    """A recogniser of texts by their meaning, to which a grammar is joined.

    It decides names and members after a dot by their meaning. Elsewhere it may allow more than the
    grammar does. ``constraint.combined`` reads tokens with it byte by byte, so a token
    may end one name and begin another.

    A state is an immutable, hashable value; equal states allow the same continuations. To rewind,
    keep an earlier state. A mask is fast if the tokens lead to few states, and for names with
    ``ReadsNames``.
    """

    @property
    def initial(self) -> Any:  # noqa: ANN401  # each monitor has its own states
        ...

    def step(self, state: Any, byte: int) -> Any | None:  # noqa: ANN401
        """The state after a byte, or None where no text of the monitor continues with it."""
        ...

    def is_final(self, state: Any) -> bool:  # noqa: ANN401
        """Whether the text read is one of the monitor's."""
        ...

    def finish(self, state: Any) -> bytes | None:  # noqa: ANN401
        """A text that completes the text read, None where none is known.

        It proves that a token leads to the end if the grammar accepts it too; without it a search
        looks for one.
        """
        ...

    def why(self, text: bytes, token: bytes | None) -> str:
        """Why no text continues ``text`` with a token (None: the end); empty if one does."""
        ...


@runtime_checkable
class ReadsNames(Protocol):
    """What a monitor may have besides, for speed: it says where a name is read.

    In a name every token leads to another state. If names are only compared with each other, a text
    that completes one of them completes all others too, except those that are equal to a name
    before or in that text. So one text decides thousands of tokens.
    """

    def letters(self, state: Any) -> frozenset[int]:  # noqa: ANN401
        """The bytes that continue the name being read; empty outside of names.

        After any text of letters more are read, and the letters are the same.
        """
        ...

    def clashes(self, state: Any, end: bytes) -> Collection[bytes] | None:  # noqa: ANN401
        """Texts of letters after which ``end`` may fail to complete the text read.

        After every other text of letters, the empty one included, it does. None where that is not
        known.
        """
        ...


@dataclass(frozen=True, slots=True)
class MonitorKind:
    """A monitor of this package, with the texts shown by the command line and the page."""

    #: One line for the user.
    title: str
    source: str
    #: Limits → the monitor.
    make: Callable[[Limits], Monitor]
    #: Texts that every grammar it fits accepts.
    samples: tuple[str, ...]
    #: Grammars of this notation fit, whatever they accept.
    notation: Notation | None = None

    def fits(self, grammar: Grammar) -> bool:
        """Whether a grammar has the form of the texts that the monitor reads."""
        return self.rejected(grammar) is None

    def rejected(self, grammar: Grammar) -> str | None:
        """A sample that the grammar rejects; None if the monitor fits it."""
        if grammar.notation is self.notation:
            return None
        return next((text for text in self.samples if not grammar.accepts(text)), None)


#: Every monitor by its name.
MONITORS: dict[str, MonitorKind] = {
    "scope": MonitorKind(
        "only declared names, in the blocks where they are in scope",
        "Agrawal et al. 2023, monitor-guided decoding",
        lambda limits: ScopeMonitor(limits=limits),
        (
            "int f(int a) { char b = a; while(a<b) {b = f(a);}return b; }",
            'int f(){for(int i = 0; i<3; i = i+1){if(i==1){puts("a");}else{}}/* b */return 1;}',
        ),
    ),
    "types": MonitorKind(
        "only programs that are well typed",
        "Mündler et al. 2025, type-constrained code generation",
        lambda limits: TypeMonitor(limits),
        (
            'let s: string = "a" + 1;\nlet b: boolean = s.length * 2 < 3;\n',
            "function f(g: (x: number) => number): number { let y: number = g(1); return (y); }\n",
            "let h: () => string = () => (1 - 2).toFixed(3 / 4);\n",
        ),
    ),
    "keys": MonitorKind(
        "no object of a JSON text has a key twice",
        "RFC 8259, §4",
        lambda _: KeyMonitor(),
        ('{"a": 1, "b": [{"a": "x"}]}', '{"b": {}, "c": [null, 2]}'),
        Notation.JSON_SCHEMA,
    ),
}


def monitors_of(grammar: Grammar) -> tuple[str, ...]:
    """The names of the monitors that fit a grammar."""
    return tuple(name for name, kind in MONITORS.items() if kind.fits(grammar))


def monitor_named(name: str, grammar: Grammar, limits: Limits = LIMITS) -> Monitor:
    """A monitor by its name.

    Raises: WorkbenchError for an unknown name, and where the grammar has another form.
    """
    kind = MONITORS.get(name)
    if kind is None:
        hint = f"choose one of {', '.join(MONITORS)}"
        raise WorkbenchError(f"there is no monitor {name!r}", hint)
    sample = kind.rejected(grammar)
    if sample is not None:
        raise WorkbenchError(
            f"the monitor {name!r} does not fit this grammar, which rejects {sample!r}",
            "open the example 'domino_c' for scope, 'typed' for types, 'json' for keys",
        )
    return kind.make(limits)
