"""Keywords about strings and numbers: in come a subschema's members, out come Texts and Numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from workbench.errors import SourceError
from workbench.schema.numbers.numbers import Numbers
from workbench.schema.reading import Node
from workbench.schema.refusals import unsupported, wrong
from workbench.schema.strings.formats import NARROWER
from workbench.schema.strings.texts import Texts

if TYPE_CHECKING:
    from workbench.schema.algebra.subschemas import Subschemas

TEXT_WORDS = frozenset(("minLength", "maxLength", "pattern", "format"))
NUMBER_WORDS = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
)
#: Formats of the specification that ask Unicode's tables about what letters stand together.
#: What the strings of a format have in common of which fewer are read than it has.
_WIDEST = {"hostname": "^[-.0-9A-Za-z]*$"}
_UNDECIDED = ("idn-hostname", "idn-email")


def texts_of(subschemas: Subschemas, members: dict[str, Node]) -> tuple[Texts, Texts]:
    """The strings that the keywords for strings allow, and those of which that is not known."""
    texts = subschemas.algebra.all_values.texts
    low, high = count_of(members.get("minLength")), count_of(members.get("maxLength"))
    if low or high is not None:
        texts = Texts.lengths(low or 0, high)
    if "pattern" in members:
        pattern = members["pattern"]
        if not isinstance(pattern.value, str):
            raise wrong(pattern, "a regular expression, as text")
        texts &= pattern_of(subschemas, pattern, pattern.value)
    if "format" not in members:
        return texts, Texts.nothing()
    of_format, unsure = _format(subschemas, members["format"])
    return texts & of_format, texts & unsure


def pattern_of(subschemas: Subschemas, keyword: Node, pattern: str) -> Texts:
    """The strings a part of which matches a regex; ``keyword`` is where it stands."""
    try:
        return Texts.pattern(pattern, subschemas.algebra.limits)
    except SourceError as error:
        problem = unsupported(keyword, error.message, error.hint)
        raise problem from None


def _format(subschemas: Subschemas, keyword: Node) -> tuple[Texts, Texts]:
    """The strings of a format that are read, and all that it may have where these are more."""
    if not isinstance(keyword.value, str):
        raise wrong(keyword, "the name of a format, as text")
    if keyword.value in _UNDECIDED:
        raise unsupported(keyword, f"no automaton decides the format {keyword.value!r}")
    texts = Texts.format(keyword.value)
    if texts is None:
        message = f"unknown format {keyword.value!r}, treated as an annotation"
        subschemas.algebra.tell(keyword, message)
        texts = subschemas.algebra.all_values.texts
    if keyword.value in NARROWER:
        subschemas.algebra.tell(
            keyword, f"of the format {keyword.value!r} {NARROWER[keyword.value]}"
        )
        widest = _WIDEST.get(keyword.value)
        return texts, Texts.pattern(widest) if widest else subschemas.algebra.all_values.texts
    return texts, Texts.nothing()


def numbers_of(subschemas: Subschemas, members: dict[str, Node], whole: bool) -> Numbers:
    """The numbers that the keywords for numbers allow; ``whole``: of the integers."""
    numbers = Numbers.integers() if whole else subschemas.algebra.all_values.numbers
    if NUMBER_WORDS.isdisjoint(members):
        return numbers
    dialect = subschemas.dialect
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        plain, sharp = members.get(bound), members.get(exclusive)
        strict = False
        if sharp is not None and isinstance(sharp.value, bool):
            if not dialect.exclusive_as_boolean:
                raise wrong(sharp, "a number")
            strict, sharp = sharp.value, None
        elif sharp is not None and not dialect.exclusive_as_number:
            raise wrong(sharp, "true or false, in this draft")
        if plain is not None:
            numbers &= _beyond(bound, _number(plain), strict)
        if sharp is not None:
            numbers &= _beyond(bound, _number(sharp), True)
    multiple = members.get("multipleOf")
    if multiple is not None:
        step = _number(multiple)
        if step <= 0:
            raise wrong(multiple, "a number above 0")
        numbers &= Numbers.multiples(step)
    return numbers


def _beyond(bound: str, value: int | Decimal, strict: bool) -> Numbers:
    if bound == "minimum":
        return Numbers.interval(low=value, open_low=strict)
    return Numbers.interval(high=value, open_high=strict)


def _number(keyword: Node) -> int | Decimal:
    value = keyword.value
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise wrong(keyword, "a number")
    return value


def count_of(keyword: Node | None) -> int | None:
    """The value of a keyword that counts; None where it is not there."""
    if keyword is None:
        return None
    value = keyword.value
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or value < 0:
        raise wrong(keyword, "a whole number, 0 or above")
    if value != int(value):
        raise wrong(keyword, "a whole number")
    return int(value)
