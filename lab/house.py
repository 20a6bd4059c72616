"""Figures about the code base, each with its limit: ``python -m lab.house``.

With ``--names`` it prints the names without a meaning, by file.

Import cycles count type-only imports; imports inside functions are left out, because they cannot
fail when a module is loaded. An ``__init__.py`` that has a docstring alone is no module here.

For the packages that a request passes through, and its climbs, see ``RequestTrace``. The requests
are a run on the page and ``why``, for a grammar that the page has compiled and drawn, as it does
while the grammar is typed; the constraint is compiled during the run. The figure is the highest
one of a regular grammar, a grammar with a stack and a JSON Schema.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import threading
import tokenize
import tomllib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from inspect import CO_GENERATOR
from pathlib import Path
from types import FrameType
from typing import Any

from workbench.app.ui.explain_view import why
from workbench.app.ui.grammar_view import compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.model_registry import TOY, ModelRoom
from workbench.app.ui.picture_view import draw_machine
from workbench.app.ui.runs import run_batches
from workbench.automata.graphs import cyclic_components
from workbench.base import cached_property
from workbench.base.text_tables import format_table

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = _ROOT / "workbench"

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
#: Names that do not say what a value is: the noun says it (``request``, ``offset``, ``states``).
_VAGUE_NAMES = {"found", "one", "at", "here", "made", "place", "known", "left", "own", "sent"}
_PROSE = {".js", ".html", ".toml", ".md", ".css"}

#: The end of a line that opens a function's body, and what else ends so.
_JS_FUNCTION = re.compile(r"(?:=>|\)) \{$|\bfunction\b.*\{$")
_JS_BLOCK = re.compile(r"(?:\} )?(?:if|for|while|switch|else|catch|with)\b")
_MAX_JS_FUNCTION = 80


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
    scripts = sorted((_ROOT / "static").glob("*.js"))
    long = sum(len(long_js_functions(file)) for file in scripts)
    run, explanation = _traces(run_batches, {}), _traces(why, {"token": "7d7d"})
    return [
        Figure("pasted sections", sum(map(_pasted_sections, files.values())), 0),
        Figure("lines of Python", sum(map(_line_count, files.values())), 129_200),
        Figure("entries in workbench/", len(entries), 16),
        Figure("modules in import cycles", sum(map(len, _cycles(files))), 0),
        Figure("repeated file names", sum(n > 1 for f, n in names.items() if f[0] != "_"), 25),
        Figure("modules of over 700 lines", sum(_line_count(f) > 700 for f in files.values()), 0),
        Figure("lines of JavaScript", sum(map(_line_count, scripts)), 21_800),
        Figure(f"JavaScript functions of over {_MAX_JS_FUNCTION} lines", long, 0),
        Figure("unclear phrases in 1,000 lines of prose", round(1000 * hits / lines, 1), 3),
        Figure("assignments of vague names", sum(map(len, _vague_names(files).values())), 300),
        Figure("packages of a run on the page", max(len(trace.packages) for trace in run), 8),
        Figure("climbs of a run on the page", max(len(trace.climbs) for trace in run), 1),
        Figure("packages of 'why'", max(len(trace.packages) for trace in explanation), 8),
        Figure("climbs of 'why'", max(len(trace.climbs) for trace in explanation), 1),
    ]


def _module(file: Path) -> str:
    parts = file.relative_to(_ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _pasted_sections(file: Path) -> int:
    """Section bars with the description of a module below: such a section is a module."""
    return len(re.findall(r"^# -- .* -+\n# ", file.read_text("utf-8"), re.MULTILINE))


def _line_count(file: Path) -> int:
    return file.read_text("utf-8").count("\n")


def long_js_functions(file: Path) -> list[tuple[int, int]]:
    """The functions of a script that are too long: their lines, and the first line's number.

    The formatter's indentation shows where a function ends, so that no parser is needed.
    """
    lines = file.read_text("utf-8").splitlines()
    indents = [len(line) - len(line.lstrip()) if line else 1000 for line in lines]
    functions = []
    for opened, line in enumerate(lines):
        if not _JS_FUNCTION.search(line) or _JS_BLOCK.match(line.lstrip()):
            continue
        indent = indents[opened]
        first = opened
        while lines[first].lstrip().startswith((")", "}")):  # parameters on several lines
            first = next(n for n in range(first - 1, -1, -1) if indents[n] <= indent)
        end = next(n for n in range(opened + 1, len(lines)) if indents[n] <= indent)
        if end - first >= _MAX_JS_FUNCTION:
            functions.append((end - first + 1, first + 1))
    return functions


def _cycles(files: Mapping[str, Path]) -> list[frozenset[str]]:
    """The sets of modules that import each other, type-only imports included."""
    imported: dict[str, set[str]] = defaultdict(set)
    for name, file in files.items():
        for node in _outside_functions(ast.parse(file.read_text("utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if isinstance(node, ast.ImportFrom) and module in files:
                inner = {f"{module}.{alias.name}" for alias in node.names}
                imported[name] |= inner & files.keys() or {str(module)}
    return [modules for modules in cyclic_components(imported) if len(modules) > 1]


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _outside_functions(node)


def _vague_names(files: Mapping[str, Path]) -> dict[str, list[str]]:
    """Module → each assignment of a vague name in it, parameters and targets of loops included."""
    return {
        module: [
            name for name in _assigned(ast.parse(file.read_text("utf-8"))) if name in _VAGUE_NAMES
        ]
        for module, file in files.items()
    }


def _assigned(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name


def _phrases() -> tuple[int, int]:
    """The unclear phrases in the prose of the project, and its lines."""
    hits = lines = 0
    for entry in ("workbench", "static", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "app.py"):
        path = _ROOT / entry
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


#: Answers a request of the page: a record, or a run's lines.
_Handler = Callable[[Handlers, dict[str, Any]], Iterable[object]]


@dataclass(eq=False)
class RequestTrace:
    """The packages that a request passes through, and its climbs, in one traced execution.

    The request is followed: the values sent, and every object that a call returns or initializes
    after it received a followed one (the text, the grammar, the constraint, a step). A call counts
    if it receives a followed object as an argument. Its package is that of the called function, a
    callback's that of its definition; its caller is the nearest function on the stack that counts.
    A climb is a call from a package to one of a higher layer (``layers`` of the import contract);
    calls of the same function by the same one are one climb.

    Calls without such an argument are left out: they are helpers, and a reader who looks for the
    request does not need them. So are compiled kernels, which cannot be traced. Numbers, enum
    members, None, classes and texts shorter than 2 are not followed, because equal ones are one
    object.
    """

    packages: set[str] = field(default_factory=set)
    #: ``caller → function``, each with its module.
    climbs: set[str] = field(default_factory=set)
    #: By ``id``; the references keep the ids unique.
    _followed: dict[int, object] = field(default_factory=dict)
    #: The calls that count and have not returned; a generator's until the trace ends.
    _counted: set[FrameType] = field(default_factory=set)

    @staticmethod
    def of(
        handler: Callable[[dict[str, Any]], Iterable[object]], request: dict[str, Any]
    ) -> RequestTrace:
        """The trace of a handler's answer, in all threads that it starts."""
        trace = RequestTrace()
        for value in (request, *request.values()):
            trace._follow(value)
        threading.setprofile(trace._profile)
        sys.setprofile(trace._profile)
        try:
            deque(handler(request), maxlen=0)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return trace

    def _profile(self, frame: FrameType, event: str, value: object) -> None:
        if event == "call":
            layered = _package_of(frame) in _LAYERS and frame.f_code.co_filename != _CACHED
            if layered and any(id(each) in self._followed for each in _arguments(frame)):
                self._enter(frame)
        elif event == "return" and frame in self._counted:
            if not frame.f_code.co_flags & CO_GENERATOR:
                self._counted.discard(frame)
            given = _arguments(frame)
            if frame.f_code.co_name == "__init__":
                self._follow(given[0])
            elif not any(value is each for each in given):
                self._follow(value)

    def _enter(self, frame: FrameType) -> None:
        package = _package_of(frame)
        self._counted.add(frame)
        self.packages.add(package)
        caller = frame.f_back
        while caller is not None and caller not in self._counted:
            caller = caller.f_back
        if caller is not None and _LAYERS[package] > _LAYERS[_package_of(caller)]:
            self.climbs.add(f"{_function(caller)} → {_function(frame)}")

    def _follow(self, value: object) -> None:
        shared = isinstance(value, int | float | Enum | type | None)
        if not shared and not (isinstance(value, str | bytes | tuple) and len(value) < 2):
            self._followed[id(value)] = value


def _layers() -> dict[str, int]:
    """Package → its layer in the import contract, 0 at the bottom."""
    settings = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return {
        name.strip(): height
        for height, layer in enumerate(reversed(layers))
        for name in layer.split("|")
    }


_LAYERS = _layers()
#: A property that is computed once: a call from it is one from where it is read.
_CACHED = cached_property.__file__ or ""


def _package_of(frame: FrameType) -> str:
    """The package under ``workbench`` that defines a function; empty for other code."""
    root, _, name = str(frame.f_globals.get("__name__", "")).partition(".")
    return name.partition(".")[0] if root == "workbench" else ""


def _function(frame: FrameType) -> str:
    return f"{frame.f_globals['__name__']}:{frame.f_code.co_qualname}"


def _arguments(frame: FrameType) -> list[object]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [frame.f_locals.get(name) for name in names]


def _traces(handler: _Handler, given: dict[str, str]) -> list[RequestTrace]:
    """A request of the page for a regular grammar, one with a stack, and a JSON Schema."""
    return [_trace(name, handler, given) for name in ("date", "arithmetic", "weather")]


def _trace(name: str, handler: _Handler, given: dict[str, str]) -> RequestTrace:
    page = Handlers(ModelRoom(TOY))
    example = page.gallery[name]
    request = {"text": example.text, "notation": str(example.notation), "prompt": example.prompt}
    compile_grammar(page, request)
    for tab in ("characters", "rules"):
        draw_machine(page, {**request, "tab": tab})
    page.room.model()
    settings = {"max_tokens": 12, "temperature": 1, "seed": 1}
    return RequestTrace.of(partial(handler, page), {**request, **settings, **given})


def main() -> None:
    """Print the figures, and which are above their limits; then the exit status is 1."""
    if sys.argv[1:] == ["--names"]:
        files = {_module(file): file for file in sorted(_PACKAGE.rglob("*.py"))}
        counts = ((module, Counter(names)) for module, names in _vague_names(files).items())
        print(format_table([(f"{n.total()}", m, _counts_text(n)) for m, n in counts if n]))
        return
    measured = figures()
    rows = [("figure", "value", "limit", "")]
    rows += [
        (figure.name, f"{figure.value:,}", f"{figure.limit:,}", "" if figure.kept else "above")
        for figure in measured
    ]
    print(format_table(rows))
    sys.exit(not all(one.kept for one in measured))


def _counts_text(names: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in names.most_common())


if __name__ == "__main__":
    main()
