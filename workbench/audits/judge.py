"""Independent judges of texts: the validator ``jsonschema``, and Earley's recogniser.

A difference between two engines may be one of *interpretation*: a schema says nothing about white
space, the order of properties, or how a number is spelled. Here each such difference gets a name.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from importlib.metadata import version
from random import Random
from types import ModuleType
from typing import Any

from workbench.analysis.earley import SourceRecognizer
from workbench.audits.instances import in_declared_order, spellings, undeclared_left_out
from workbench.base.cached_property import cached_property
from workbench.base.errors import LimitError, WorkbenchError
from workbench.grammar.grammar import Grammar

#: A JSON value.
Json = Any

_WORDS = {"file": "property order", "compact": "white space", "indented": "white space"}
_EXPONENT = re.compile(r"-?\d+(\.\d+)?[eE][+-]?\d+")


@dataclass(frozen=True, slots=True)
class Judged:
    """The validator's judgement."""

    valid: bool
    #: The first error and the JSON pointer of its keyword; empty if valid.
    error: str = ""
    pointer: str = ""
    #: Whether only ``format`` is violated.
    by_format: bool = False


def _validators() -> ModuleType:
    try:
        return import_module("jsonschema.validators")
    except ImportError:
        raise WorkbenchError(
            "claims about schemas are checked with the package jsonschema, which is missing",
            "pip install 'grammar-workbench[audit]'",
        ) from None


def check_validator() -> None:
    """Check that the validator of schemas is installed.

    Raises: WorkbenchError with the command that installs it.
    """
    _validators()


class SchemaJudge:
    """The package ``jsonschema`` for one schema; ``format`` is asserted.

    Raises: WorkbenchError where the package is missing or does not accept the schema.
    """

    def __init__(self, schema: Json) -> None:
        validators = _validators()
        latest = import_module("jsonschema").Draft202012Validator
        kind = validators.validator_for(schema, default=latest)
        try:
            kind.check_schema(schema)
        except Exception as error:  # the package's own classes; a bad pattern is Python's re.error
            raise WorkbenchError(f"the validator refuses the schema: {error}"[:300]) from error
        self._plain = kind(schema)
        self._strict = kind(schema, format_checker=kind.FORMAT_CHECKER)

    def judged(self, value: Json) -> Judged:
        """Whether a value is an instance.

        Raises: WorkbenchError where the validator fails itself, for example at a reference.
        """
        try:
            error = next(self._strict.iter_errors(value), None)
            if error is None:
                return Judged(True)
            by_format = self._plain.is_valid(value)
        except Exception as failure:
            raise WorkbenchError(f"the validator failed: {failure}"[:300]) from failure
        where = "".join(f"/{_escape(part)}" for part in error.absolute_schema_path)
        return Judged(False, error.message[:200], where, by_format)


def validator_name() -> str:
    """The validator and its version."""
    return f"jsonschema {version('jsonschema')}"


def _escape(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


class DuplicateNameError(ValueError):
    """An object repeats a name."""


def json_value(text: str) -> Json:
    """The value of a JSON text.

    Raises: ValueError; DuplicateNameError.
    """

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            raise DuplicateNameError("a name is repeated")
        return mapping

    def never(constant: str) -> Json:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(text, object_pairs_hook=members, parse_constant=never)


def plain_numbers(value: Json) -> Json:
    """The same value; floats without a fraction as integers."""
    if isinstance(value, dict):
        return {name: plain_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain_numbers(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def usual_text(schema: Json, value: Json) -> str:
    """The value as ``json.dumps`` writes it, properties in the declared order."""
    declared = in_declared_order(schema, plain_numbers(value))
    return json.dumps(declared, ensure_ascii=False)


def narrower_by(schema: Json, value: Json, accepts: Callable[[list[str]], list[bool]]) -> str:
    """Why an engine refuses the usual text of a valid value although it accepts the value.

    The name of the convention with which it accepts the value; empty if none was found.
    """
    value = plain_numbers(value)
    spelled = spellings(schema, value)
    decimal = _EXPONENT.sub(lambda m: format(Decimal(m[0]), "f"), usual_text(schema, value))
    closed = undeclared_left_out(schema, value)
    usual = spelled["declared/spaced/raw"]
    delete = usual.replace("\x7f", "\\u007f")
    texts = [*spelled.values(), decimal, usual_text(schema, closed), delete]
    accepted = accepts(texts)
    for name, fits in zip(spelled, accepted, strict=False):
        order, gaps, letters = name.split("/")
        if fits:
            ascii_only = "escapes" if letters == "ascii" else ""
            return _WORDS.get(order) or _WORDS.get(gaps) or ascii_only or "property order"
    if accepted[-3] and decimal != usual:
        return "number formats"
    if accepted[-2] and closed != value:
        return "undeclared properties"
    if accepted[-1] and delete != usual:
        return "escapes"
    return "property order" if any(accepts(_in_other_orders(schema, value))) else ""


#: Orders of members at random that are tried.
_RANDOM_ORDERS = 60


def _in_other_orders(schema: Json, value: Json) -> list[str]:
    """Texts with the members of objects in the orders that a schema has names in, and at random."""
    declared, required = _names_under(schema, "properties"), _names_under(schema, "required")
    literal = [*_names_under(schema, "const"), *_names_under(schema, "enum")]
    random = Random(0)
    orders: list[list[str]] = [[*declared, *required], [*required, *declared], declared[::-1]]
    values = [_sorted_by(order, value) for order in [*orders, literal]]
    values += [_shuffle(value, random) for _ in range(_RANDOM_ORDERS)]
    texts = [
        json.dumps(each, ensure_ascii=False, separators=gaps)
        for each in values
        for gaps in (None, (",", ":"))
    ]
    return [*texts, *(text.replace("\x7f", "\\u007f") for text in texts if "\x7f" in text)]


def _names_under(schema: Json, keyword: str) -> list[str]:
    """The names in the values of a keyword anywhere in a schema, in the order of the text."""
    unique: dict[str, None] = {}
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    for name, inner in schema.items() if isinstance(schema, dict) else ():
        if name == keyword:
            items = inner if isinstance(inner, list) else [inner]
            names = (each if isinstance(each, dict) else [each] for each in items)
            unique |= dict.fromkeys(
                inner_name for each in names for inner_name in each if isinstance(inner_name, str)
            )
        unique |= dict.fromkeys(_names_under(inner, keyword))
    return list(unique)


def _sorted_by(names: list[str], value: Json) -> Json:
    """The value with the members of objects in the order of names, others after them."""
    if isinstance(value, list):
        return [_sorted_by(names, each) for each in value]
    if not isinstance(value, dict):
        return value
    last = len(names)
    order = sorted(value, key=lambda name: names.index(name) if name in names else last)
    return {name: _sorted_by(names, value[name]) for name in order}


def _shuffle(value: Json, random: Random) -> Json:
    """The value with the members of objects in a random order."""
    if isinstance(value, list):
        return [_shuffle(each, random) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _shuffle(value[name], random) for name in random.sample([*value], len(value))}


def wider_by(schema: Json, text: str, ours: Callable[[str], bool]) -> str:
    """Why this library refuses a text whose value it accepts in another spelling; or empty.

    Raises: ValueError where the text is no JSON.
    """
    try:
        value = json_value(text)
    except DuplicateNameError:
        return "repeated names"
    own_order = json.dumps(value, ensure_ascii=False)
    if not own_order.isascii() and any("\ud800" <= letter <= "\udfff" for letter in own_order):
        return "lone surrogates"
    if ours(own_order) or ours(json.dumps(value, ensure_ascii=False, separators=(",", ":"))):
        bare = "".join(part.strip() if i % 2 == 0 else part for i, part in enumerate(_parts(text)))
        if bare != text and ours(bare):
            return "white space"
        return "number formats" if _parts(text)[::2] != _parts(own_order)[::2] else "escapes"
    if ours(usual_text(schema, value)):
        return "property order"
    return ""


#: Keywords that mean something for one type alone.
_TYPE_OF = {
    **dict.fromkeys(
        ("properties", "required", "patternProperties", "additionalProperties", "propertyNames",
         "unevaluatedProperties", "minProperties", "maxProperties", "dependencies",
         "dependentRequired", "dependentSchemas"),
        "object",
    ),
    **dict.fromkeys(
        ("items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems",
         "uniqueItems", "contains"),
        "array",
    ),
    **dict.fromkeys(("pattern", "minLength", "maxLength"), "string"),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"
    ),
}  # fmt: skip
#: Keywords whose values are no schemas, and those whose members are schemas by name.
_DATA = frozenset({"enum", "const", "default", "examples", "required", "type"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions"})


def with_implied_types(schema: Json) -> Json:
    """The schema as engines read it that take ``properties`` without ``type`` for an object.

    The keyword of one type that comes first gives a schema without ``type`` that type.
    """
    if isinstance(schema, list):
        return [with_implied_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Json] = {}
    for keyword, value in schema.items():
        if keyword in _DATA:
            result[keyword] = value
        elif keyword in _BY_NAME and isinstance(value, dict):
            result[keyword] = {name: with_implied_types(each) for name, each in value.items()}
        else:
            result[keyword] = with_implied_types(value)
    if not result.keys() & {"type", "enum", "const", "$ref", "anyOf", "oneOf"}:
        implied = next((kind for keyword, kind in _TYPE_OF.items() if keyword in result), None)
        if implied is not None:
            result["type"] = implied
    return result


_STRING = re.compile(r'("(?:[^"\\]|\\.)*")', re.S)


def _parts(text: str) -> list[str]:
    """Text outside strings and strings in turn; white space outside is left out."""
    return [
        part if i % 2 else re.sub(r"\s+", "", part) for i, part in enumerate(_STRING.split(text))
    ]


def mutants(value: Json, random: Random, count: int) -> Iterator[Json]:
    """Values that differ from a value in one place; whether they are valid is not known."""
    places = [*_places(value, ())]
    seen = {json.dumps(value)}
    for _ in range(6 * count):
        if count == 0:
            return
        path = random.choice(places)
        changed = copy.deepcopy(value)
        holder: Json = [changed]
        key: Any = 0
        for step in path:
            holder, key = holder[key], step
        random.choice(_CHANGES)(holder, key, random)
        changed = holder[0] if not path else changed
        text = json.dumps(changed)
        if text not in seen:
            seen.add(text)
            count -= 1
            yield changed


def _places(value: Json, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield path
    members: Any = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for key, each in members:
        yield from _places(each, (*path, key))


def _other_type(holder: Json, key: Any, random: Random) -> None:  # noqa: ANN401
    holder[key] = random.choice([None, True, 7, -1.5, "a", [], {}])


def _left_out(holder: Json, key: Any, _: Random) -> None:  # noqa: ANN401
    if isinstance(holder, dict):
        del holder[key]


def _add_member(holder: Json, key: Any, random: Random) -> None:  # noqa: ANN401
    value = holder[key]
    if isinstance(value, dict):
        value["x" * random.randint(1, 3)] = 1
    elif isinstance(value, list):
        value.append(copy.deepcopy(value[-1]) if value else 1)


def _farther(holder: Json, key: Any, random: Random) -> None:  # noqa: ANN401
    value = holder[key]
    if isinstance(value, str):
        holder[key] = random.choice(["", value + "x", value[1:], value * 9 + "#", value.swapcase()])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = random.choice([-value, value + 1, value * 1000 + 1, value - 10_000, 0])
    elif isinstance(value, list):
        holder[key] = random.choice([[], value * 2, value[1:]])
    elif isinstance(value, dict):
        holder[key] = dict([*value.items()][1:])


_CHANGES = (_other_type, _left_out, _add_member, _farther, _farther)


class GrammarJudge:
    """Earley's recogniser over the grammar's text, which shares no machine with the masks."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    @cached_property
    def _recognizer(self) -> SourceRecognizer:
        return SourceRecognizer.shared(self._grammar)

    def accepts(self, text: str) -> bool | None:
        """Whether the grammar accepts a text; None if time ran out."""
        try:
            expected = self._recognizer.after(text.encode(), self._grammar.limits.begun())
        except LimitError:
            return None
        return expected is not None and expected.may_end
