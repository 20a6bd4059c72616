"""Which draft a schema speaks: in comes its ``$schema``, out comes what its keywords are.

A keyword that a draft does not have is an annotation to it, like any other unknown word. Where
no draft is named, the spellings of all of them are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from workbench.schema.reading import Node
from workbench.schema.refusals import unsupported, wrong


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Keywords that say something about instances, in every draft from 4 on.
_DRAFT_4 = _words(
    """$ref type enum properties required additionalProperties patternProperties minProperties
    maxProperties dependencies items additionalItems minItems maxItems uniqueItems minLength
    maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf allOf
    anyOf oneOf not"""
)
_DRAFT_6 = _DRAFT_4 | {"const", "contains", "propertyNames"}
_DRAFT_7 = _DRAFT_6 | {"if", "then", "else"}
_DRAFT_2019 = (_DRAFT_7 - {"dependencies"}) | {
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "minContains",
    "maxContains",
    "$recursiveRef",
}
_DRAFT_2020 = (_DRAFT_2019 - {"$recursiveRef", "additionalItems"}) | {"prefixItems", "$dynamicRef"}
_EVERY = _DRAFT_7 | _DRAFT_2019 | _DRAFT_2020 | {"nullable"}

#: Words that say nothing about instances: they name, describe, or hold what is referred to.
ANNOTATIONS = _words(
    """$schema $id id $anchor $dynamicAnchor $recursiveAnchor $comment $defs definitions $vocabulary
    title description default examples example deprecated readOnly writeOnly contentEncoding
    contentMediaType contentSchema"""
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one draft makes of a schema's words."""

    #: The draft's number or year; None where the schema does not say.
    draft: int | None
    #: The words that say something about instances.
    keywords: frozenset[str]
    #: What stands beside ``$ref`` is ignored.
    refs_alone: bool = field(default=False, kw_only=True)
    #: ``items`` may be a list of schemas for the first items.
    items_as_list: bool = field(default=True, kw_only=True)
    #: ``exclusiveMinimum`` may be a boolean that sharpens ``minimum``.
    exclusive_as_boolean: bool = field(default=False, kw_only=True)
    #: ``exclusiveMinimum`` may be a number.
    exclusive_as_number: bool = field(default=True, kw_only=True)
    #: The word that names a schema.
    identifier: str = field(default="$id", kw_only=True)


_DIALECTS = {
    4: Dialect(
        4,
        _DRAFT_4,
        refs_alone=True,
        exclusive_as_boolean=True,
        exclusive_as_number=False,
        identifier="id",
    ),
    6: Dialect(6, _DRAFT_6, refs_alone=True),
    7: Dialect(7, _DRAFT_7, refs_alone=True),
    2019: Dialect(2019, _DRAFT_2019),
    2020: Dialect(2020, _DRAFT_2020, items_as_list=False),
}
#: What is read where no draft is named.
UNNAMED = Dialect(None, _EVERY, exclusive_as_boolean=True)

_NAME = re.compile(
    r"https?://json-schema\.org/(?:draft-0?([3-7])|draft/(2019-09|2020-12)|(schema))/?(?:schema)?#?"
)


def dialect_of(root: Node) -> Dialect:
    """The dialect of a document.

    Raises: BuildError for a draft before 4, ParseError if ``$schema`` is no text.
    """
    members = root.members
    named = members.get("$schema") if members else None
    if named is None:
        return UNNAMED
    if not isinstance(named.value, str):
        raise wrong(named, "the address of a draft, as text")
    match = _NAME.fullmatch(named.value)
    if match is None or match[3]:
        return UNNAMED
    draft = int(match[1] or match[2][:4])
    if draft < 4:
        raise unsupported(named, "draft 3 is not read", "write the schema for draft 4 or later")
    return _DIALECTS.get(draft, UNNAMED)
