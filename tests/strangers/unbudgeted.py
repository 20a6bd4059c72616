"""Finds the work that can grow and consults no budget: ``python -m tests.strangers.unbudgeted``.

Three kinds of work grow beyond the size of what they are given:

``while``      a loop with a condition, or a ``for`` over a collection that its body extends; not a
               loop that counts a number up or down to a bound.
``recursion``  a function that calls itself, directly or through others; not with a part of what it
               was given, which visits each node of a tree.
``pairs``      a loop over pairs: a ``for`` over a collection inside a ``for`` over the same one,
               ``product``, ``combinations`` or ``permutations``.

Such work consults a budget if its body, or a function that it calls, at most ``_DEPTH`` calls deep,
calls ``check`` of a clock or of limits, or ``check_time_budget``. Calls are resolved by name: of this
module, of what it imports, of the class of ``self``; a method of another object if the package has
one of that name. A kernel is one call, so its loops count as loops of a function without a clock.

What is bounded otherwise is in ``bounded.toml``, with the reason.
"""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from workbench.automata.graphs import cyclic_components

_PACKAGE = Path(__file__).resolve().parents[2] / "workbench"
#: The reviewed functions in groups, each with its reason.
BOUNDED = Path(__file__).with_name("bounded.toml")
#: Packages whose work no visitor starts with a grammar.
_OUTSIDE = frozenset({"app", "audits", "engines", "tasks"})
#: Calls between a loop and the check of its budget.
_DEPTH = 2
_PAIRS = frozenset({"product", "combinations", "permutations"})
_GROWS = frozenset({"append", "extend", "add", "appendleft", "insert", "update", "setdefault"})
_KERNELS = frozenset({"njit", "inner", "inlined"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True, slots=True, order=True)
class Work:
    """A function with work that can grow and consults no budget."""

    function: str
    #: ``while``, ``recursion``, ``pairs`` or ``kernel``.
    kind: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} (line {self.line}): {self.kind}"


@dataclass(frozen=True, eq=False)
class _Definition:
    """A function of the package."""

    name: str
    module: str
    #: The names of the classes and functions around it.
    within: tuple[str, ...]
    node: _Function

    @property
    def full(self) -> str:
        return ".".join((self.module, *self.within, self.name))

    @cached_property
    def statements(self) -> list[ast.AST]:
        """What it executes itself: without functions defined in it."""
        return list(_executed(self.node.body))

    @property
    def is_kernel(self) -> bool:
        names = {
            each.id
            for one in self.node.decorator_list
            for each in ast.walk(one)
            if isinstance(each, ast.Name)
        }
        return bool(names & _KERNELS)


def _executed(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        if not isinstance(node, _Function | ast.ClassDef):
            yield node
            yield from _executed(ast.iter_child_nodes(node))


class _Package:
    """The functions of the package, and what the names in them mean."""

    def __init__(self, root: Path) -> None:
        self.functions: list[_Definition] = []
        self._imported: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for file in sorted(root.rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            if parts[0] not in _OUTSIDE:
                module, tree = ".".join(parts), ast.parse(file.read_text("utf-8"))
                self.functions += _definitions(tree, module, ())
                self._import(tree, module)
        self._by_name: defaultdict[str, list[_Definition]] = defaultdict(list)
        for function in self.functions:
            self._by_name[function.name].append(function)
            if function.name == "__init__":
                self._by_name[function.within[-1]].append(function)

    def _import(self, tree: ast.AST, module: str) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("workbench"):
                for alias in node.names:
                    home = (node.module or "").removeprefix("workbench.")
                    self._imported[module][alias.asname or alias.name] = home

    def called(self, caller: _Definition, call: ast.Call) -> list[_Definition]:
        """The functions that a call may mean."""
        match call.func:
            case ast.Name(name):
                home = self._imported[caller.module].get(name, caller.module)
                return [one for one in self._by_name[name] if one.module == home]
            case ast.Attribute(ast.Name("self"), name):
                same = [one for one in self._by_name[name] if one.module == caller.module]
                inner = [one for one in same if one.within[:1] == caller.within[:1]]
                return inner or same
            case ast.Attribute(_, name):
                named = self._by_name[name]
                return named if len(named) == 1 else []
        return []

    def consults(self, caller: _Definition, nodes: Iterable[ast.AST], depth: int = _DEPTH) -> bool:
        """Whether some statements reach a check."""
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        if any(map(_is_check, calls)):
            return True
        # a function or method passed on is called too
        return depth > 0 and any(
            self.consults(one, one.statements, depth - 1)
            for call in calls
            for one in self.called(caller, call)
            if one is not caller
        )


def _is_check(call: ast.Call) -> bool:
    match call.func:
        case ast.Name("check_time_budget" | "check"):  # ``check`` of a clock, as an argument
            return True
        case ast.Attribute(owner, "check"):
            return any(
                word in ast.unparse(owner).lower() for word in ("clock", "limits", "work", "budget")
            )
    return False


def _definitions(tree: ast.AST, module: str, within: tuple[str, ...]) -> Iterator[_Definition]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Function):
            yield _Definition(node.name, module, within, node)
            yield from _definitions(node, module, (*within, node.name))
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node, module, (*within, node.name))
        else:
            yield from _definitions(node, module, within)


def _growing(node: ast.AST) -> str:
    """The kind of a loop that can grow; empty for others."""
    if isinstance(node, ast.While):
        return "" if _counts(node) else "while"
    if isinstance(node, ast.For) and _extends(node):
        return "while"
    loops = [node.iter] if isinstance(node, ast.For) else []
    if isinstance(node, _Comprehension):
        loops = [each.iter for each in node.generators]
    if any(_is_pairing(each) for one in loops for each in ast.walk(one)):
        return "pairs"
    inner = _executed(node.body) if isinstance(node, ast.For) else iter(())
    within = [each.iter for each in inner if isinstance(each, ast.For)]
    texts = [ast.unparse(one) for one in (*loops, *within)]
    return "pairs" if len(set(texts)) < len(texts) and texts[0] in texts[1:] else ""


def _counts(loop: ast.While) -> bool:
    """Whether a loop compares a number that its body changes by a constant each time."""
    compared = {
        each.id
        for test in ast.walk(loop.test)
        if isinstance(test, ast.Compare)
        for each in (test.left, *test.comparators)
        if isinstance(each, ast.Name)
    }
    return any(
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id in compared
        and isinstance(node.op, ast.Add | ast.Sub)
        for node in loop.body
    )


def _is_pairing(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _PAIRS


def _extends(loop: ast.For) -> bool:
    """Whether the body extends the collection that is iterated."""
    named = {each.id for each in ast.walk(loop.iter) if isinstance(each, ast.Name)}
    for node in _executed(loop.body):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), method)) if method in _GROWS:
                if name in named:
                    return True
            case ast.AugAssign(ast.Name(name)) if name in named:
                return True
    return False


def unbudgeted(root: Path = _PACKAGE) -> list[Work]:
    """All work of the package that can grow and consults no budget."""
    package = _Package(root)
    return sorted({*_loops(package), *_recursions(package)})


def _loops(package: _Package) -> Iterator[Work]:
    for function in package.functions:
        for node in function.statements:
            kind = _growing(node)
            if kind and not package.consults(function, _executed(ast.iter_child_nodes(node))):
                kind = "kernel" if function.is_kernel else kind
                yield Work(function.full, kind, node.lineno if isinstance(node, ast.stmt) else 0)


def _recursions(package: _Package) -> Iterator[Work]:
    calls = {function: _inner_calls(package, function) for function in package.functions}
    for component in cyclic_components({one: set(called) for one, called in calls.items()}):
        if any(package.consults(one, one.statements, 1) for one in component):
            continue
        for one in component:
            again = [
                call for other, made in calls[one].items() if other in component for call in made
            ]
            if not all(_is_structural(call, one) for call in again):
                yield Work(one.full, "recursion", one.node.lineno)


def _inner_calls(package: _Package, function: _Definition) -> dict[_Definition, list[ast.Call]]:
    calls: defaultdict[_Definition, list[ast.Call]] = defaultdict(list)
    for node in function.statements:
        if isinstance(node, ast.Call):
            for one in package.called(function, node):
                calls[one].append(node)
    return calls


def _is_structural(call: ast.Call, caller: _Definition) -> bool:
    """Whether an argument of a call is a part of an argument of its caller."""
    given = caller.node.args
    whole = {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)} - {"self"}
    parts: set[str] = set()
    for node in caller.statements:
        match node:
            case ast.match_case(pattern=pattern):
                captured = (
                    each
                    for each in ast.walk(pattern)
                    if isinstance(each, ast.MatchAs | ast.MatchStar)
                )
                parts |= {each.name for each in captured if each.name}
            case (
                ast.For(target=target, iter=iterated)
                | ast.comprehension(target=target, iter=iterated)
            ):
                if _has_part(iterated, whole, parts) or _names_in(iterated) & whole:
                    parts |= _names_in(target)
            case ast.Assign(targets=[target], value=value) if _has_part(value, whole, parts):
                parts |= _names_in(target)
    arguments = [*call.args, *(each.value for each in call.keywords)]
    return any(_has_part(each, whole, parts) for each in arguments)


def _has_part(node: ast.AST, whole: set[str], parts: set[str]) -> bool:
    """Whether an expression names a part, or an attribute or item of a whole."""
    return any(
        (isinstance(each, ast.Name) and each.id in parts)
        or (
            isinstance(each, ast.Attribute | ast.Subscript)
            and isinstance(each.value, ast.Name)
            and each.value.id in whole | parts
        )
        for each in ast.walk(node)
    )


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def functions() -> set[str]:
    """The names of all functions of the package."""
    return {function.full for function in _Package(_PACKAGE).functions}


def bounded() -> dict[str, str]:
    """The reviewed functions, each with the reason why its work is bounded."""
    groups = tomllib.loads(BOUNDED.read_text("utf-8"))["bounded"]
    return {name: group["reason"] for group in groups for name in group["functions"]}


def main() -> None:
    """Print what is neither budgeted nor reviewed."""
    known = bounded() if BOUNDED.exists() else {}
    for work in unbudgeted():
        if work.function not in known:
            print(work)


if __name__ == "__main__":
    main()
