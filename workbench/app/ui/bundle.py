"""ES modules joined to one classic script, without node.

The browser gets one file: 38 modules would be that many requests, several round trips where the
server is far, and 20 % more bytes, since each is compressed alone (``modulepreload`` saves only the
waiting for import statements). A replay is one file anyway.

The scripts in ``static/`` keep to a part of the language that makes joining exact, and
``ModuleError`` names the module that leaves it: named imports of modules beside it, exports at the
declaration of a function or constant, no cycles. Each module becomes a function that is called
once, after the modules it imports, and returns what it exports:

    const tokens = (() => { const { el } = dom; …; return { glyphs }; })();

Comments that fill their lines and the indentation are dropped; without a tokenizer that is safe
only because no template literal spans lines (``tests/ui/test_bundle.py`` looks).
"""

from __future__ import annotations

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^{}]*)\} from "\./([a-z-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (\w+))", re.MULTILINE)
#: An import or export in a form that is not joined.
_UNKNOWN = re.compile(r"^(?:import\b|export\b).*", re.MULTILINE)
_COMMENT = re.compile(r"^[ ]*(?:/\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_INDENTATION = re.compile(r"^ +", re.MULTILINE)


class ModuleError(ValueError):
    """A module that cannot be joined."""


def join_modules(folder: Path, entry: str) -> str:
    """One script that runs the module ``entry`` and all it imports.

    Raises: ModuleError for a form of import or export that is not supported, and for a cycle.
    """
    sources: dict[str, str] = {}
    _collect(folder, entry, sources, ())
    return '"use strict";\n' + "\n".join(_wrapped(name, text) for name, text in sources.items())


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


def _wrapped(name: str, text: str) -> str:
    """A module as a constant that holds what it exports."""
    exported = _EXPORT.findall(text)
    imports = "".join(_taken(names, source) for names, source in _IMPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    if unknown := _UNKNOWN.search(body):
        raise ModuleError(f"{name}: this form cannot be joined: {unknown[0]}")
    body = _INDENTATION.sub("", _COMMENT.sub("", body)).strip()
    result = f"return {{ {', '.join(exported)} }};\n" if exported else ""
    return f"const {_constant(name)} = (() => {{\n{imports}{body}\n{result}}})();"


def _taken(names: str, source: str) -> str:
    """An import statement as a destructuring: ``a, b as c`` becomes ``{ a, b: c }``."""
    found = (name.strip().replace(" as ", ": ") for name in names.split(","))
    return f"const {{ {', '.join(filter(None, found))} }} = {_constant(source)};\n"


def _constant(name: str) -> str:
    """The constant of a module; the prefix keeps it apart from names inside modules."""
    return "module_" + name.removesuffix(".js").replace("-", "_")
