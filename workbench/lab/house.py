"""Figures about the code base, each with its limit: ``python -m workbench.lab.house``.

The command exits with 1 where a figure is above its limit. Import cycles count type-only imports;
imports inside functions are left out, because they cannot fail when a module is loaded.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.automata.graphs import cyclic_components
from workbench.base.tables import format_table

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOT = _PACKAGE.parent

#: Phrases to replace by an exact term; each was frequent in this code base.
_PHRASES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b[Ii]n comes?\b|\bcomes? in[,;]|\bout comes?\b|\bgoes out\b|\bcomes? out\b",
        r"\btold\b",
        r"\b(no|some|every|any)body\b|\bwhoever\b|\bno one\b",
        r"\bstands? (at|in|for|there|beside|on|before|behind|above)\b|\bstood\b",
        r"\b(is|are|was|were|be) (spelt|met|asked for|gone on with|had|wished|meant)\b",
        r"\bso (many|few|much|long|far)\b(?! (as|that))",
        r"\bof (its|their|his|our|one's) own\b",
        r"\bin circles?\b|\bcircles?\b",
        r"\bnowhere\b|\bthere is none\b|\bas it (is|was|stands)\b"
        r"|\bwhat (is|was|are|were) (read|made|said|left|wanted|known)\b",
        r"\baffair\b|\bto mend\b|\bmends?\b|\bmended\b|\bwishes\b|\bgoes on\b|\bgo on\b"
        r"|\bgoes along\b|\bbeside\b",
        r"\bat hand\b|\bby hand\b|\bin hand\b|\bat once\b",
    )
)
_PROSE = {".js", ".html", ".toml", ".md", ".css"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure and the most it may be."""

    name: str
    value: float
    limit: float

    @property
    def kept(self) -> bool:
        return self.value <= self.limit


def figures() -> list[Figure]:
    """All figures of this checkout."""
    files = {_module(file): file for file in sorted(_PACKAGE.rglob("*.py"))}
    names = Counter(file.name for file in files.values())
    entries = [entry for entry in _PACKAGE.iterdir() if not entry.name.startswith((".", "__"))]
    hits, lines = _phrases()
    return [
        Figure("modules", len(files), 340),
        Figure("lines of Python", sum(map(_line_count, files.values())), 66_000),
        Figure("entries in workbench/", len(entries), 16),
        Figure("modules in import cycles", sum(map(len, _cycles(files))), 0),
        Figure("repeated file names", sum(n > 1 for f, n in names.items() if f[0] != "_"), 25),
        Figure("modules of over 700 lines", sum(_line_count(f) > 700 for f in files.values()), 0),
        Figure("unclear phrases in 1,000 lines of prose", round(1000 * hits / lines, 1), 3),
    ]


def _module(file: Path) -> str:
    parts = file.relative_to(_ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _line_count(file: Path) -> int:
    return file.read_text("utf-8").count("\n")


def _cycles(files: Mapping[str, Path]) -> list[frozenset[str]]:
    """The sets of modules that import each other, type-only imports included."""
    imported: dict[str, set[str]] = defaultdict(set)
    for name, file in files.items():
        for node in _outside_functions(ast.parse(file.read_text("utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if isinstance(node, ast.ImportFrom) and module in files:
                inner = {f"{module}.{alias.name}" for alias in node.names}
                imported[name] |= inner & files.keys() or {str(module)}
    return [found for found in cyclic_components(imported) if len(found) > 1]


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _outside_functions(node)


def _phrases() -> tuple[int, int]:
    """The unclear phrases in the prose of the project, and its lines."""
    hits = lines = 0
    for place in ("workbench", "static", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "app.py"):
        path = _ROOT / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file != Path(__file__).resolve():
                for line in _prose(file):
                    lines += 1
                    hits += sum(bool(phrase.search(line)) for phrase in _PHRASES)
    return hits, lines


def _prose(file: Path) -> Iterator[str]:
    """The lines of a file that are language: docstrings, comments, messages, page texts."""
    if file.suffix in _PROSE:
        yield from file.read_text("utf-8").splitlines()
    elif file.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(file.read_text("utf-8")).readline):
            is_text = token.type in (tokenize.COMMENT, tokenize.STRING)
            if is_text or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
                yield from token.string.splitlines()


def main() -> int:
    """Print the figures; 1 where one is above its limit."""
    found = figures()
    rows = [("figure", "value", "limit", "")]
    rows += [
        (one.name, f"{one.value:,}", f"{one.limit:,}", "" if one.kept else "above") for one in found
    ]
    print(format_table(rows))
    return int(not all(one.kept for one in found))


if __name__ == "__main__":
    sys.exit(main())
