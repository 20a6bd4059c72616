"""Drafts, references and documents of JSON Schema.

A keyword that a draft does not have is an annotation in that draft, like any unknown keyword. A
schema that names no draft may use the keywords of all of them.

Nothing is ever fetched. A reference to a document that the caller has not given is an error that
names its address.
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from workbench.base.diagnostics import suggestion
from workbench.base.errors import BuildError, WorkbenchError
from workbench.base.limits import check_time_budget
from workbench.schema.schema_reader import (
    Document,
    Node,
    invalid,
    json_text,
    schema_source,
    unsupported,
)


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Keywords that restrict instances, in draft 4 and, unless removed below, in later drafts.
_DRAFT_4 = _word_set(
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

#: Keywords that do not restrict instances: identifiers, descriptions, definitions.
ANNOTATIONS = _word_set(
    """$schema $id id $anchor $dynamicAnchor $recursiveAnchor $comment $defs definitions $vocabulary
    title description default examples example deprecated readOnly writeOnly contentEncoding
    contentMediaType contentSchema"""
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The keywords of one draft and their meaning."""

    #: The draft's number or year; None if the schema does not name one.
    draft: int | None
    #: The keywords that restrict instances.
    keywords: frozenset[str]
    #: Keywords next to ``$ref`` are ignored.
    refs_alone: bool = field(default=False, kw_only=True)
    #: ``items`` may be a list of schemas for the first items.
    items_as_list: bool = field(default=True, kw_only=True)
    #: ``exclusiveMinimum`` may be a boolean that makes ``minimum`` exclusive.
    exclusive_as_boolean: bool = field(default=False, kw_only=True)
    #: ``exclusiveMinimum`` may be a number.
    exclusive_as_number: bool = field(default=True, kw_only=True)
    #: The keyword that identifies a schema.
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
#: The dialect of schemas that name no draft.
UNNAMED = Dialect(None, _EVERY, exclusive_as_boolean=True)

_DRAFT_NAME = re.compile(
    r"https?://json-schema\.org/(?:draft-0?([3-7])|draft/(2019-09|2020-12)|(schema))/?(?:schema)?#?"
)


#: The keywords of a vocabulary that a metaschema need not have.
_VOCABULARIES = {
    "validation": _word_set(
        """type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength
        minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties
        minProperties required dependentRequired"""
    ),
    "applicator": _word_set(
        """prefixItems items additionalItems contains properties patternProperties
        additionalProperties propertyNames dependentSchemas allOf anyOf oneOf not if then else"""
    ),
    "unevaluated": _word_set("unevaluatedProperties unevaluatedItems"),
}


def dialect_of(root: Node, metaschemas: Mapping[str, Document] | None = None) -> Dialect:
    """The dialect of a document or of a schema with an identifier.

    If ``$schema`` is the address of one of the ``metaschemas``, only the keywords of the
    vocabularies in its ``$vocabulary`` restrict instances.

    Raises: BuildError for a draft before 4; ParseError if ``$schema`` is not a string.
    """
    members = root.members
    named = members.get("$schema") if members else None
    if named is None:
        return UNNAMED
    if not isinstance(named.value, str):
        raise invalid(named, "the address of a draft, as text")
    match = _DRAFT_NAME.fullmatch(named.value)
    if match is None and metaschemas and (given := metaschemas.get(named.value.rstrip("#"))):
        return _of_metaschema(given.root)
    if match is None or match[3]:
        return UNNAMED
    draft = int(match[1] or match[2][:4])
    if draft < 4:
        raise unsupported(
            named, "draft 3 is not supported", "write the schema for draft 4 or later"
        )
    return _DIALECTS.get(draft, UNNAMED)


def _of_metaschema(metaschema: Node) -> Dialect:
    """The dialect that a metaschema describes: its own draft without the missing vocabularies."""
    dialect = dialect_of(metaschema)
    named = (metaschema.members or {}).get("$vocabulary")
    if named is None or named.members is None:
        return dialect
    held = {address.rpartition("/")[2] for address in named.members}
    if dialect.draft == 2019 and "applicator" in held:  # it has these keywords there
        held.add("unevaluated")
    missing = [words for name, words in _VOCABULARIES.items() if name not in held]
    return replace(dialect, keywords=dialect.keywords.difference(*missing))


#: A character of a keyword may be written as an escape.
_ESCAPED = re.compile(r"\\u00[2-7]")
#: The value of a ``$schema``, without an empty fragment.
_NAMED_DRAFT = re.compile(r'"\$schema"[ \t\n\r]*:[ \t\n\r]*"([^"#]*)#?"')
_INDEX = re.compile("0|[1-9][0-9]*")
#: The value of these keywords is not a schema but maps names to schemas.
_MAPS = (
    "$defs",
    "definitions",
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
)
#: The value of these keywords is data: it contains no schemas, whatever it looks like.
_DATA = ("enum", "const", "default", "examples", "example")


#: The names of dynamic anchors, each with its schema; the name of a ``$recursiveAnchor`` is empty.
Anchors = Mapping[str, Node]


def given_documents(documents: Mapping[str, Any]) -> tuple[Document, ...]:
    """The documents that a caller hands in: address → schema, a text or a Python value.

    Raises: ParseError for a value that is not JSON; WorkbenchError for an address that is no text.
    """
    for address in documents:
        if not isinstance(address, str):
            raise WorkbenchError(f"expected the address of a schema, as text, not {address!r}")
    return tuple(
        Document(schema_source(schema, address), _resolve("", address.partition("#")[0]))
        for address, schema in documents.items()
    )


def pointed(node: Node, pointer: str) -> Node | None:
    """The node at a JSON pointer (RFC 6901); empty for the node itself."""
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node.value, dict) and step in node.value:
            node = node.value[step]
        elif isinstance(node.value, list) and _INDEX.fullmatch(step):
            if int(step) >= len(node.value):
                return None
            node = node.value[int(step)]
        else:
            return None
    return node


class References:
    """The possible targets of references in a document, and in documents that a caller gives."""

    def __init__(self, document: Document, others: Sequence[Document] = ()) -> None:
        self.document = document
        self.documents = (document, *others)
        #: The documents that a caller gives, by address.
        self._given = {other.address: other for other in others}
        #: The dialect of the document.
        self.dialect = dialect_of(document.root, self._given)
        #: Whether all subschemas surely have one dialect and no reference is dynamic.
        self.is_simple = self._is_simple()
        self._names: dict[Document, dict[str, Node]] = {}
        self._resources: dict[Node, Node] = {}
        #: The targets of references, by the resource in which they are and their address.
        self._targets: dict[tuple[Node, str], Node] = {}
        self._contexts: dict[Node, tuple[Dialect, Anchors]] = {}
        self._anchors: dict[Document, dict[Node, dict[str, Node]]] = {}

    def _is_simple(self) -> bool:
        text = self.document.source.text
        if len(self.documents) > 1 or _ESCAPED.search(text):
            return False
        if "$dynamicRef" in text or "$recursiveRef" in text:
            return False
        drafts = set(_NAMED_DRAFT.findall(text)) if text.count('"$schema"') > 1 else ()
        return len(drafts) == 0 or (
            len(drafts) == 1 and "$schema" in (self.document.root.members or {})
        )

    def context(self, node: Node) -> tuple[Dialect, Anchors]:
        """The dialect of the resource of a node, and the dynamic anchors in it."""
        resource = self.resource(node)
        context = self._contexts.get(resource)
        if context is None:
            anchors = self._anchors_in(node.document).get(resource, {})
            context = self._dialect(resource), anchors
            self._contexts[resource] = context
        return context

    def _dialect(self, resource: Node) -> Dialect:
        """The dialect of a resource; one that names none has that of the resource around it."""
        if "$schema" in (resource.members or {}):
            return dialect_of(resource, self._given)
        around = resource.parent
        return self.dialect if around is None else self.context(around)[0]

    def _anchors_in(self, document: Document) -> dict[Node, dict[str, Node]]:
        """The dynamic anchors of each resource of a document."""
        by_resource = self._anchors.get(document)
        if by_resource is None:
            by_resource = self._anchors[document] = {}
            text = document.source.text
            may_have = "Anchor" in text or _ESCAPED.search(text)
            for node in self._schemas(document) if may_have else ():
                for word in ("$dynamicAnchor", "$recursiveAnchor"):
                    anchor = (node.members or {}).get(word)
                    name = anchor and ("" if anchor.value is True else anchor.value)
                    if isinstance(name, str):
                        by_resource.setdefault(self.resource(node), {}).setdefault(name, node)
        return by_resource

    def target(self, reference: Node) -> Node:
        """The target of a reference.

        Raises: BuildError if it is in none of the documents; ParseError if it is not a string.
        """
        address = reference.value
        if not isinstance(address, str):
            raise invalid(reference, "the address of a schema, as text")
        around = self.resource(reference)
        target = self._targets.get((around, address))
        if target is None:
            target = self._targets[around, address] = self._new_target(reference, around, address)
        return target

    def _new_target(self, reference: Node, around: Node, address: str) -> Node:
        if address.startswith("#"):
            resource, fragment = around, address[1:]
        else:
            absolute, _, fragment = _resolve(self.base(around), address).partition("#")
            node = self._find(absolute)
            if node is None:
                raise self._not_given(reference, absolute)
            resource = node
        target = self.inside(resource, unquote(fragment))
        if target is None:
            otherwise = "correct the reference, or add the schema under '$defs'"
            hint, fix = suggestion(address, self._addresses(reference.document), otherwise)
            message = f"there is no schema {address!r} in this text"
            raise unsupported(reference, message, hint).with_fix(json_text(fix), reference.span)
        if target.document is not self.document and target.document.referred_from is None:
            target.document.referred_from = reference.shown_span
        return target

    def _not_given(self, reference: Node, absolute: str) -> BuildError:
        """The error of a reference to a document that is not given, with its resolved address."""
        address, mark, fragment = str(reference.value).partition("#")
        resolved = "" if absolute == address else f", which is {absolute!r},"
        message = f"{reference.value!r}{resolved} is not in this text, and nothing is fetched"
        hint = "copy the schema into '$defs', or give the document with 'documents' or '--document'"
        hint, near = suggestion(absolute, sorted(self._given), hint)
        fix = json_text(near + mark + fragment) if near else None
        return unsupported(reference, message, hint).with_fix(fix, reference.span)

    def _addresses(self, document: Document) -> Iterator[str]:
        """The usual addresses of the schemas of a document: its definitions."""
        yield "#"
        for node in self._schemas(document):
            for word in ("$defs", "definitions"):
                definitions = (node.members or {}).get(word)
                if definitions is not None:
                    yield from (f"#{each.pointer}" for each in (definitions.members or {}).values())

    def dynamic_target(self, reference: Node, scope: Anchors) -> Node:
        """The target of a dynamic reference in a dynamic scope.

        It depends on the scope only if its target as a ``$ref`` has a matching dynamic anchor.

        Source: JSON Schema 2020-12 Core, section 8.2.3.2; 2019-09 Core, section 8.2.4.2.2.
        """
        target = self.target(reference)
        word = "$recursiveAnchor" if reference.step == "$recursiveRef" else "$dynamicAnchor"
        anchor = (target.members or {}).get(word)
        fragment = str(reference.value).partition("#")[2]
        if anchor is None or anchor.value != (fragment or True):
            return target
        return scope.get(fragment, target)

    def inside(self, resource: Node, fragment: str) -> Node | None:
        """The node of a resource to which a fragment refers: a JSON pointer or an anchor."""
        if not fragment:
            return resource
        if not fragment.startswith("/"):
            return self._find(f"{self.base(resource)}#{fragment}")
        return pointed(resource, fragment)

    def resource(self, node: Node) -> Node:
        """The innermost schema around a node that has an identifier, or the document."""
        resource = self._resources.get(node)
        if resource is None:
            resource, value = node, node.value
            if node.parent is not None and not (
                isinstance(value, dict)
                and ("$id" in value or "id" in value)
                and self.identifier(node)
            ):
                resource = self.resource(node.parent)
            self._resources[node] = resource
        return resource

    def identifier(self, node: Node) -> str | None:
        """The identifier of a schema; None if it has none or only an anchor (``#name``)."""
        members = node.members
        if not members:
            return None
        dialect = self._identifying(node)
        named = members.get(dialect.identifier)
        if named is None or not isinstance(named.value, str) or named.value.startswith("#"):
            return None
        if dialect.refs_alone and "$ref" in members:
            return None
        return named.value

    def base(self, resource: Node) -> str:
        """The base address of the references in a resource."""
        name = self.identifier(resource)
        around = resource.document.address
        if resource.parent is not None:
            around = self.base(self.resource(resource.parent))
        return around if name is None else _resolve(around, name).partition("#")[0]

    def _find(self, address: str) -> Node | None:
        """The schema with an address: in the own text, a document, or inside a document."""
        main, *others = self.documents
        node = self._names_in(main).get(address)
        if node is None and address in self._given:
            return self._given[address].root
        inside = (self._names_in(document).get(address) for document in others if node is None)
        return node or next(filter(None, inside), None)

    def _names_in(self, document: Document) -> dict[str, Node]:
        """Every resource of a document by its address, every anchor by that of its resource."""
        names = self._names.get(document)
        if names is None:
            names = self._names[document] = {self.base(document.root): document.root}
            for node in self._schemas(document):
                members = node.members
                assert members is not None
                if self.identifier(node) is not None:
                    names.setdefault(self.base(node), node)
                for word in ("$anchor", "$dynamicAnchor", self._identifying(node).identifier):
                    anchor = members.get(word)
                    if anchor is not None and isinstance(anchor.value, str):
                        name = anchor.value.removeprefix("#")
                        if word[-2:] != "id" or name != anchor.value:
                            base = self.base(self.resource(node))
                            names.setdefault(f"{base}#{name}", node)
        return names

    def _identifying(self, node: Node) -> Dialect:
        """The dialect whose identifiers a document has."""
        if node.document is self.document:
            return self.dialect
        dialect = dialect_of(node.document.root, self._given)
        return self.dialect if dialect is UNNAMED else dialect

    def _schemas(self, document: Document) -> Iterator[Node]:
        """Every object that may be a schema, in the order of the text.

        Objects under words that this draft does not have come last: they are not schemas in this
        draft, so if one of them and a schema have the same name, it refers to the schema.
        """
        words = self.dialect.keywords | ANNOTATIONS
        # nodes, each with whether it maps names to schemas
        waiting, unknown = [(document.root, False)], deque[tuple[Node, bool]]()
        while waiting or unknown:
            check_time_budget()
            node, is_map = waiting.pop() if waiting else unknown.popleft()
            held = [(item, False) for item in node.items or ()]
            if node.members is not None:
                if not is_map:
                    yield node
                for name, member in node.members.items():
                    if is_map:
                        held.append((member, False))
                    elif name not in words:
                        unknown.append((member, name in _MAPS))
                    elif name not in _DATA:
                        held.append((member, name in _MAPS))
            waiting.extend(reversed(held))


def _resolve(base: str, address: str) -> str:
    """An address resolved against a base; an invalid one is returned unchanged.

    Between files without addresses, ``..`` may lead out of the folder of the schema, which
    addresses do not allow (RFC 3986, section 5.2.4).
    """
    try:
        is_path = base[:1] != "/" and not any((*urlsplit(base)[:2], *urlsplit(address)[:2]))
        if not is_path or not address or address[0] in "/?#":
            return urljoin(base, address)
    except ValueError:
        return address
    path, mark, rest = address.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path)) + mark + rest
