"""The registry of engines that the benchmark measures."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from workbench.base.errors import WorkbenchError
from workbench.engines.peer import Peer

#: This project's name in the tables.
OURS = "workbench"


@dataclass(frozen=True, slots=True)
class Entry:
    """An engine's distribution on the package index, and its class here."""

    distribution: str
    module: str
    name: str

    def load(self) -> type[Peer]:
        """The class; the engine is imported when an instance is created."""
        found: type[Peer] = getattr(import_module(self.module), self.name)
        return found

    @property
    def version(self) -> str:
        """The installed version, empty where there is none."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""


ENGINES: dict[str, Entry] = {
    OURS: Entry("grammar-workbench", "lab.bench.peers.ours", "Ours"),
    "outlines-core": Entry("outlines-core", "workbench.engines.peers", "OutlinesCore"),
    "xgrammar": Entry("xgrammar", "workbench.engines.peers", "XGrammar"),
    "llguidance": Entry("llguidance", "workbench.engines.peers", "LLGuidance"),
    "llguidance-no-forcing": Entry("llguidance", "workbench.engines.peers", "LLGuidanceExact"),
    "kbnf": Entry("kbnf", "lab.bench.peers.others", "Kbnf"),
    "glrmask": Entry("glrmask", "lab.bench.peers.others", "GlrMask"),
    "glrmask-trie": Entry("glrmask", "lab.bench.peers.others", "GlrMaskTrie"),
    "pynini": Entry("pynini", "lab.bench.peers.others", "Pynini"),
}


def chosen_engines(peers: str) -> list[str]:
    """Ours and the peers named, separated by commas: ``all`` that are installed, or ``none``.

    Raises: WorkbenchError for an unknown name or a peer that is not installed.
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
