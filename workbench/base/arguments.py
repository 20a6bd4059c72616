"""Checks the arguments of public functions by their annotations.

A wrong type raises ArgumentTypeError and a wrong value ArgumentValueError; each names the parameter
and what was expected. A function is checked by the decorator ``checked``, a dataclass by
``check_fields`` in its ``__post_init__``::

    @checked
    def samples(grammar: Grammar, count: Count = 5) -> tuple[str, ...]: ...

Elements of lists and tuples, and keys of mappings, are checked, up to a thousand; those of other
iterables are not. Of the names that are imported for type checkers alone, only the public ones of
the package are checked.

Cost: about a microsecond an argument.
"""

from __future__ import annotations

import collections.abc as abc
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache, wraps
from numbers import Integral, Real
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from workbench.base.errors import ArgumentTypeError, ArgumentValueError
from workbench.base.extras import raise_named
from workbench.base.visible_text import shorten

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

#: The longest container whose elements are checked: a vocabulary has 100,000 of them or more.
_MAX_CHECKED = 1_000
#: The most characters of a wrong value that a message shows.
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Between:
    """The bounds of a number, as the metadata of an annotation; nan is outside."""

    low: float
    high: float | None = None
    #: Whether the number must be above ``low``.
    above: bool = False

    def __str__(self) -> str:
        if self.high is not None:
            return (
                f"above {self.low} and up to {self.high}"
                if self.above
                else (f"from {self.low} to {self.high}")
            )
        return f"above {self.low}" if self.above else f"of at least {self.low}"

    def __contains__(self, value: Any) -> bool:  # noqa: ANN401  # any number
        is_high = value > self.low if self.above else value >= self.low
        return bool(is_high and (self.high is None or value <= self.high))


#: Numbers of things, and durations.
Count = Annotated[int, Between(0)]
PositiveCount = Annotated[int, Between(1)]
Seconds = Annotated[float, Between(0, above=True)]
Probability = Annotated[float, Between(0, 1)]


@dataclass(frozen=True, slots=True)
class _Expected:
    """What an annotation expects."""

    #: For a message: ``an integer of at least 1``.
    words: str
    is_type: Callable[[Any], bool]
    #: Whether a value of the type is allowed.
    is_value: Callable[[Any], bool] = lambda _: True

    def check(self, value: Any, name: str) -> None:  # noqa: ANN401  # whatever was given
        """Raise an error that names the parameter."""
        if not self.is_type(value):
            message = f"expected {self.words} as {name!r}, not {_display_value(value)}"
            raise ArgumentTypeError(message)
        if not self.is_value(value):
            message = f"expected {self.words} as {name!r}, not {shorten(repr(value), _SHOWN)}"
            raise ArgumentValueError(message)


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The function, with its arguments checked by its annotations at every call.

    Where a package of an extra is missing, it raises a MissingPackageError.
    """
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        expected = _parameters(function)
        for name, value in (*zip(positional, args, strict=False), *kwargs.items()):
            if name in expected:
                expected[name].check(value, name)
        try:
            return function(*args, **kwargs)
        except ModuleNotFoundError as error:
            raise_named(error)  # not a context manager: checked functions are called often

    return call


def check_fields(value: Any) -> None:  # noqa: ANN401  # any dataclass
    """Check the fields of a dataclass by their annotations."""
    cls: Any = type(value)
    expected = _parameters(cls)
    for field in fields(value):
        expected[field.name].check(getattr(value, field.name), field.name)


@cache
def _parameters(annotated: Any) -> dict[str, _Expected]:  # noqa: ANN401  # a function or a class
    """What each parameter or field expects."""
    hints = get_type_hints(annotated, localns=_Unchecked(annotated), include_extras=True)
    expected: dict[str, _Expected] = {}
    for name, hint in hints.items():
        if get_origin(hint) is Unpack:
            options = get_type_hints(get_args(hint)[0], include_extras=True)
            expected |= {option: _expectation(each) for option, each in options.items()}
        elif name != "return":
            expected[name] = _expectation(hint)
    return expected


class _Unchecked(Mapping[str, Any]):
    """Local names for annotations: those of the module, of the package, or ``_AnyOf``."""

    def __init__(self, annotated: Any) -> None:  # noqa: ANN401  # a function or a class
        self._names = vars(sys.modules[annotated.__module__])

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # any object
        for names in (self._names, vars(sys.modules["builtins"])):
            if name in names:
                return names[name]
        package = sys.modules["workbench"]
        return getattr(package, name) if name in package.__all__ else _AnyOf()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _AnyOf:
    """Stands for a name, or a module, that exists for type checkers alone."""

    def __getattr__(self, _: str) -> _AnyOf:
        return self

    def __getitem__(self, _: object) -> _AnyOf:
        return self

    def __or__(self, _: object) -> _AnyOf:
        return self

    __ror__ = __or__

    def __call__(self) -> None:
        """``typing`` accepts callables as types."""


# -- annotations -----------------------------------------------------------------------------------


def _expectation(hint: Any) -> _Expected:  # noqa: ANN401  # any annotation
    """What an annotation expects."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounded(_expectation(arguments[0]), arguments[1:])
    if origin in (Union, types.UnionType):
        return _either([_expectation(each) for each in arguments])
    if origin is Literal:
        words = f"one of {', '.join(map(repr, arguments))}"
        classes = tuple({type(each) for each in arguments})
        return _Expected(words, lambda v: isinstance(v, classes), lambda v: v in arguments)
    if origin is not None:
        return _container(origin, arguments)
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and hint not in (object, Any):
        return _of_class(hint)
    return _ANYTHING


def _bounded(base: _Expected, bounds: tuple[Any, ...]) -> _Expected:
    bound = next((each for each in bounds if isinstance(each, Between)), None)
    if bound is None:
        return base
    return _Expected(f"{base.words} {bound}", base.is_type, lambda value: value in bound)


def _either(options: list[_Expected]) -> _Expected:
    if _ANYTHING in options:
        return _ANYTHING
    words = list(dict.fromkeys(option.words for option in options))
    return _Expected(
        " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words),
        lambda value: any(option.is_type(value) for option in options),
        lambda value: any(option.is_type(value) and option.is_value(value) for option in options),
    )


def _container(origin: Any, arguments: tuple[Any, ...]) -> _Expected:  # noqa: ANN401  # any generic
    """What a generic annotation expects; see ``elements`` for what is checked of it."""
    if origin not in _CONTAINERS:
        return _expectation(origin)
    words, is_container = _CONTAINERS[origin]
    if origin not in (abc.Sequence, abc.Iterable, list, tuple):
        return _Expected(words, is_container)
    element = _expectation(arguments[0])
    if origin is tuple and arguments[1:] != (...,):
        return _Expected(words, is_container)
    plural = f"{words} of {_plural(element.words)}" if element is not _ANYTHING else words

    def elements(value: Any) -> tuple[Any, ...]:  # noqa: ANN401  # a container
        is_checked = isinstance(value, list | tuple | Mapping) and len(value) <= _MAX_CHECKED
        return tuple(value) if is_checked else ()

    return _Expected(
        plural,
        lambda value: is_container(value) and all(map(element.is_type, elements(value))),
        lambda value: all(map(element.is_value, elements(value))),
    )


def _of_class(cls: type) -> _Expected:
    article = "an" if cls.__name__[0] in "AEIOUaeiou" else "a"
    words = f"{article} {cls.__name__}"
    if is_typeddict(cls):
        return _Expected(words, lambda value: isinstance(value, Mapping))
    if getattr(cls, "_is_protocol", False):
        names = {
            name
            for each in cls.__mro__
            if getattr(each, "_is_protocol", False)
            for name in (*vars(each), *getattr(each, "__annotations__", {}))
            if not name.startswith("_")
        }
        if not names:
            return _ANYTHING
        return _Expected(
            f"{words} ({', '.join(sorted(names))})",
            lambda v: not isinstance(v, type) and all(_has(v, name) for name in names),
        )
    return _Expected(words, lambda value: isinstance(value, cls))


def _has(value: object, name: str) -> bool:
    return hasattr(type(value), name) or hasattr(value, name)


def _is_sequence(value: object) -> bool:
    is_indexed = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return is_indexed and _is_iterable(value) and not isinstance(value, Mapping)


def _is_iterable(value: object) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes | type)


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_truth(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


_ANYTHING = _Expected("anything", lambda _: True)
_SIMPLE: dict[Any, _Expected] = {
    str: _Expected("a text", lambda value: isinstance(value, str)),
    bytes: _Expected("bytes", lambda value: isinstance(value, bytes | bytearray)),
    bool: _Expected("True or False", _is_truth),
    int: _Expected("an integer", lambda value: _is_number(value, Integral)),
    float: _Expected("a number", lambda value: _is_number(value, Real)),
    type: _Expected("a class", lambda value: isinstance(value, type)),
    type(None): _Expected("None", lambda value: value is None),
}
_CONTAINERS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    abc.Sequence: ("a sequence", _is_sequence),
    abc.Iterable: ("an iterable", _is_iterable),
    abc.Mapping: ("a mapping", lambda value: isinstance(value, Mapping)),
    dict: ("a dict", lambda value: isinstance(value, dict)),
    list: ("a list", lambda value: isinstance(value, list)),
    tuple: ("a tuple", lambda value: isinstance(value, tuple)),
    type: ("a class", lambda value: isinstance(value, type)),
    os.PathLike: ("a path", lambda value: isinstance(value, os.PathLike)),
    abc.Callable: ("a function", callable),
}


def _plural(words: str) -> str:
    """The words for several values: ``an integer`` → ``integers``."""
    article, _, noun = words.partition(" ")
    if article not in ("a", "an") or " " in noun:
        return words
    return f"{noun}s"


def _display_value(value: object) -> str:
    """A value of a wrong type: its class, and what it is if that is short."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, bool):
        return repr(value)
    written = shorten(repr(value), _SHOWN)
    return f"{type(value).__name__}: {written}"
