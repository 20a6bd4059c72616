"""The page's scripts, joined in the order of their imports, its style sheets, and its versions.

The browser gets one script: each module would be a request, several round trips to a distant
server, and 20 % more bytes, since each is compressed alone (``modulepreload`` saves only the wait
for import statements). A replay is one file anyway.

The scripts in ``static/`` use a part of the language for which joining is exact: named imports of
modules in the same folder, exports at the declaration of a function or constant, no cycles.
``ModuleError`` names a module that uses more. Each module becomes a function that is called
once, after the modules it imports, and returns what it exports:

    const tokens = (() => { const { el } = dom; …; return { glyphs }; })();

A part that few visitors open is *late*: a second script, which ``late.js`` loads when it is first
needed. It has the modules of its entry that the page's script lacks; they see the constants of the
page's script, since scripts of a page share them, and the last line gives what the entry exports to
``late.js``.

Comments and the indentation are dropped; without a tokenizer that is safe only because no template
literal spans lines (checked in ``tests/ui/test_bundle.py``). A comment after code stays if it
contains a quotation mark.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from types import MappingProxyType

from workbench.app.ui import wire_cards
from workbench.app.ui.handlers import Handlers, encoded
from workbench.app.ui.question import question
from workbench.app.ui.requests import Request
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import LIGHT
from workbench.base.resources import STATIC
from workbench.grammar.export.registry import EXPORTS
from workbench.grammar.notations import FINISHING, Notation

_IMPORT = re.compile(r'^import \{([^{}]*)\} from "\./([a-z-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function\*?|const|class) (\w+))", re.MULTILINE)
#: An import or export in a form that is not joined.
_UNKNOWN = re.compile(r"^(?:import\b|export\b).*", re.MULTILINE)
_COMMENT = re.compile(r"^[ ]*(?:/\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
#: The type of an expression, and a comment after code: a string or a regular expression with such a
#: piece would end after it.
_REMARK = re.compile(r" +// [^\"'`/\n]*$|/\*\* @type \{.*?\} \*/ ?", re.MULTILINE)
_INDENTATION = re.compile(r"^ +", re.MULTILINE)


class ModuleError(ValueError):
    """A module that cannot be joined."""


def join_modules(folder: Path, entry: str, late: Mapping[str, str] = MappingProxyType({})) -> str:
    """One script that runs the module ``entry`` and all it imports.

    ``late`` has the addresses of late scripts by their entry.

    Raises: ModuleError for a form of import or export that is not supported, and for a cycle.
    """
    sources: dict[str, str] = {}
    _collect(folder, entry, sources, ())
    modules = (_wrap(name, text) for name, text in sources.items())
    constants = f"const NOTATIONS = {_notations()};", f"const LATE = {encoded(dict(late))};"
    return "\n".join(('"use strict";', *constants, *modules))


def join_late(folder: Path, entry: str, page: str) -> str:
    """The script of a late ``entry``: its modules that the script of ``page`` does not have.

    Raises: ModuleError, as ``join_modules``, and if the page's script has the entry.
    """
    page_modules = module_names(folder, page)
    if entry in page_modules:
        raise ModuleError(f"{entry} is late, and {page} imports it")
    sources: dict[str, str] = {}
    _collect(folder, entry, sources, ())
    modules = (_wrap(name, text) for name, text in sources.items() if name not in page_modules)
    arrived = f"module_late.arrived({json.dumps(entry)}, {_constant(entry)});"
    return "\n".join(('"use strict";', *modules, arrived))


def _notations() -> str:
    """The registered notations as JSON, for ``notations.js``."""
    return encoded(
        [
            {
                "name": notation,
                "label": notation.label,
                "suffix": notation.suffix,
                "choices": notation.choices,
                "numbers": [name for name, each in notation.options.items() if each.takes_number],
                "words": [name for name, each in notation.options.items() if each.takes_words],
                "finish": notation in FINISHING,
                "rules": notation.reader is not None,
                "written": notation in EXPORTS,
            }
            for notation in Notation
        ]
    )


def module_names(folder: Path, entry: str) -> tuple[str, ...]:
    """The modules that ``entry`` needs, each after those it imports; itself last."""
    sources: dict[str, str] = {}
    _collect(folder, entry, sources, ())
    return tuple(sources)


def _collect(folder: Path, name: str, sources: dict[str, str], path: tuple[str, ...]) -> None:
    """Add a module and before it what it imports, in the order of its import statements."""
    if name in sources:
        return
    if name in path:
        raise ModuleError("a cycle of imports: " + " → ".join((*path, name)))
    text = (folder / name).read_text("utf-8")
    for _, imported in _IMPORT.findall(text):
        _collect(folder, imported, sources, (*path, name))
    sources[name] = text


def _wrap(name: str, text: str) -> str:
    """A module as a constant that holds what it exports."""
    exported = _EXPORT.findall(text)
    imports = "".join(_destructuring(names, source) for names, source in _IMPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    if unknown := _UNKNOWN.search(body):
        raise ModuleError(f"{name}: this form cannot be joined: {unknown[0]}")
    body = _compact(_REMARK.sub("", body)).strip()
    result = f"return {{ {', '.join(exported)} }};\n" if exported else ""
    return f"const {_constant(name)} = (() => {{\n{imports}{body}\n{result}}})();"


def _compact(text: str) -> str:
    """A script or a style sheet without whole-line comments and without indentation."""
    return _INDENTATION.sub("", _COMMENT.sub("", text))


def _destructuring(names: str, source: str) -> str:
    """An import statement as a destructuring: ``a, b as c`` becomes ``{ a, b: c }``."""
    bindings = (name.strip().replace(" as ", ": ") for name in names.split(","))
    return f"const {{ {', '.join(filter(None, bindings))} }} = {_constant(source)};\n"


def _constant(name: str) -> str:
    """The constant of a module; the prefix keeps it apart from names inside modules."""
    return "module_" + name.removesuffix(".js").replace("-", "_")


#: The path at which the page's files are served.
FILES = "wb"

SHEETS = (
    "base.css", "grammar.css", "picture.css", "machines.css", "railroad.css", "tree.css", "run.css",
    "why.css", "takeaway.css", "learn.css", "compare.css", "drawing.css", "exercise.css",
)  # fmt: skip

#: The module that mounts the page's parts; it imports all others.
SCRIPT = "page.js"


#: The entries of late scripts.
LATE = ("drawing.js", "compare-results.js", "exercise-maker.js", "search.js")


def sheet() -> str:
    """All style sheets as one text."""
    return _sheet(_newest())


def _newest() -> int:
    """When a file of the page was changed last: a joined file is made again after that."""
    return max(path.stat().st_mtime_ns for path in STATIC.iterdir())


@lru_cache(1)
def _sheet(_: int) -> str:
    return "\n".join(_compact((STATIC / name).read_text("utf-8")) for name in SHEETS)


def skeleton(name: str) -> str:
    """The elements of a part of the page, without indentation."""
    return _INDENTATION.sub("", (STATIC / f"{name}.html").read_text("utf-8"))


def script() -> str:
    """All modules as one script, each after those it imports."""
    return _script(_newest())


@lru_cache(1)
def _script(_: int) -> str:
    addresses = {name: f"{FILES}/{name}?{digest(late_script(name))}" for name in LATE}
    return join_modules(STATIC, SCRIPT, addresses)


def late_script(name: str) -> str:
    """The script of a late part."""
    return _late_script(name, _newest())


@lru_cache(len(LATE))
def _late_script(name: str, _: int) -> str:
    return join_late(STATIC, name, SCRIPT)


def head() -> str:
    """The HTML for the head of a page: style sheet and script.

    Their addresses contain a hash of the content, so that a browser never uses old versions.
    """
    return f"""\
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="favicon.ico" type="image/svg+xml">
<link rel="stylesheet" href="{FILES}/page.css?{digest(sheet())}">
<script src="{FILES}/page.js?{digest(script())}"></script>"""


def digest(text: str) -> str:
    """A short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


_OWN = "grammar-workbench"

#: Labels of the source repository in a project's metadata, preferred ones first.
_SOURCE_LABELS = ("source", "source code", "repository", "homepage")

#: The packages the page depends on, by their names in the package index.
_PACKAGES = ("gradio", "torch", "transformers", "numba", "lark", "graphviz", "pygraphviz")


@question(LIGHT)
def about(handlers: Handlers, _: Request) -> wire_cards.About:
    """Versions of Python and of the packages, and the limits for a grammar."""
    limits = handlers.pipeline.limits
    return {
        "versions": [
            ["grammar workbench", _version(_OWN)],
            ["Python", platform.python_version()],
            *([name, _version(name)] for name in _PACKAGES),
        ],
        "limits": [
            ["seconds a grammar may take", f"{limits.seconds:g}"],
            ["states of an automaton", f"{limits.states:,}"],
        ],
    }


def release() -> Record:
    """The version and the source's address, from the metadata of the installed package.

    Both are empty if the package is not installed; the address also if none is declared.
    """
    try:
        declared = metadata(_OWN)
    except PackageNotFoundError:
        return {"version": "", "source": ""}
    return {
        "version": declared["Version"],
        "source": _source(declared.get_all("Project-URL") or []),
    }


def _source(project_urls: list[str]) -> str:
    """The web address of the source repository among lines such as ``Source, https://…``."""
    pairs = (line.partition(",")[::2] for line in project_urls)
    urls = {label.strip().lower(): url.strip() for label, url in pairs}
    addresses = (urls[label] for label in _SOURCE_LABELS if label in urls)
    return next((url for url in addresses if url.startswith(("https://", "http://"))), "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
