"""Language: a machine's side of a grammar; texts in, whether and why they are accepted out.

What it says is exact and knows no vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from workbench.automata.build import smallest
from workbench.automata.dfa import Dfa
from workbench.automata.lazy import LazyDfa
from workbench.checker import Checker
from workbench.errors import LimitError
from workbench.limits import Limits
from workbench.pushdown.build import network_of
from workbench.pushdown.network import Network
from workbench.pushdown.runner import Runner
from workbench.verdict import Verdict


class Language:
    """A formal language as a machine over bytes; ``str`` is read as UTF-8."""

    #: What reads texts: a plain automaton where the language needs no stack, made as it is read
    #: where it is large.
    reader: Dfa | LazyDfa | Network
    limits: Limits

    @property
    def _name(self) -> str:
        """What its one rule is called where there are no others."""
        raise NotImplementedError

    @property
    def is_regular(self) -> bool:
        """Whether the machine needs no stack, as far as that can be told within the limits."""
        if not isinstance(self.reader, Network):
            return True
        return not self.reader.together and isinstance(self._whole, Dfa)

    @property
    def machine(self) -> Dfa | Network:
        """The whole machine: the minimal automaton where the language needs no stack.

        Raises: LimitError where an automaton that is only made as it is read would explode.
        """
        whole = self._whole
        if isinstance(whole, LimitError):
            raise whole.with_traceback(None)
        return whole

    @cached_property
    def _whole(self) -> Dfa | Network | LimitError:
        """The whole machine or why there is none: a machine explodes once, not at every look."""
        reader = self.reader
        try:
            if isinstance(reader, LazyDfa):
                return smallest(reader.nfa, self.limits)
            if isinstance(reader, Network) and not reader.together:
                return self._together()
        except LimitError as error:
            return reader if isinstance(reader, Network) else error
        return reader

    def _together(self) -> Dfa | Network:
        """The machine with everything written in that needs no stack, of a reader of rules apart.

        Raises: LimitError
        """
        raise NotImplementedError

    @property
    def dfa(self) -> Dfa | None:
        """The minimal automaton of a regular grammar, None for others.

        Raises: LimitError where it would explode.
        """
        return self.machine if isinstance(self.machine, Dfa) else None

    @cached_property
    def network(self) -> Network:
        """The rules as automata that call each other; one rule where no stack is needed."""
        if isinstance(self.machine, Network):
            return self.machine
        return network_of(self.machine, self._name)

    @cached_property
    def _checker(self) -> Checker:
        machine = self.reader
        return Checker(Runner(machine, self.limits) if isinstance(machine, Network) else machine)

    def accepts(self, text: str | bytes) -> bool:
        """Whether the whole text is in the language."""
        return self._checker.accepts(utf8(text))

    def is_prefix(self, text: str | bytes) -> bool:
        """Whether some accepted text begins so."""
        return self._checker.is_prefix(utf8(text))

    def check_each(self, so_far: bytes, texts: Iterable[bytes]) -> list[Verdict]:
        """What ``check`` says of a text with each of some others after it, but for the rules.

        Cost: the text so far is read once.
        """
        return self._checker.check_each(so_far, texts)


def utf8(text: str | bytes) -> bytes:
    """A text as the bytes a machine reads; bytes are what they are."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
