"""Names of engines → the classes that speak to them, and which of them are installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from workbench.bench.peers.peer import Peer
from workbench.errors import WorkbenchError

#: This project's own name in the tables.
OURS = "workbench"


@dataclass(frozen=True, slots=True)
class Entry:
    """An engine's distribution on the package index, and its class here."""

    distribution: str
    module: str
    name: str

    def load(self) -> type[Peer]:
        """The class; the engine itself is imported when one is made."""
        found: type[Peer] = getattr(
            import_module(f"workbench.bench.peers.{self.module}"), self.name
        )
        return found

    @property
    def version(self) -> str:
        """The installed version, empty where there is none."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""


ENGINES: dict[str, Entry] = {
    OURS: Entry("grammar-workbench", "ours", "Ours"),
    "outlines-core": Entry("outlines-core", "outlines_core", "OutlinesCore"),
    "xgrammar": Entry("xgrammar", "xgrammar", "XGrammar"),
    "llguidance": Entry("llguidance", "llguidance", "LLGuidance"),
    "llguidance-no-forcing": Entry("llguidance", "llguidance", "LLGuidanceExact"),
    "kbnf": Entry("kbnf", "kbnf", "Kbnf"),
    "glrmask": Entry("glrmask", "glrmask", "GlrMask"),
    "glrmask-trie": Entry("glrmask", "glrmask", "GlrMaskTrie"),
    "pynini": Entry("pynini", "pynini", "Pynini"),
}


def chosen_engines(peers: str) -> list[str]:
    """Ours and the peers named, separated by commas: ``all`` that are installed, or ``none``.

    Raises: WorkbenchError for a name nobody knows or a peer that is not installed.
    """
    others = [name for name in ENGINES if name != OURS]
    if peers == "none":
        return [OURS]
    if peers == "all":
        return [OURS, *(name for name in others if ENGINES[name].version)]
    wanted = [name for name in peers.split(",") if name != OURS]
    for name in wanted:
        if name not in ENGINES:
            raise WorkbenchError(f"there is no peer {name!r}", f"choose from {', '.join(others)}")
        if not ENGINES[name].version:
            raise WorkbenchError(
                f"{name} is not installed", f"pip install {ENGINES[name].distribution}"
            )
    return [OURS, *wanted]
